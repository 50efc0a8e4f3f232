"""Stacks of a profile, and the shares of categories and of stack frames, with 95 % intervals by batch means.

Categories: categories.toml. Intervals are Wilson's with the effective sample size as the number of samples (E. L. Korn
and B. I. Graubard, 1998, Survey Methodology 24), because samples come in bursts and so are not independent.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from runners.errors import ReadError, text_of
from runners.readers.batch_means import share_variance, t_factor
from runners.readers.run import frame
from runners.storage.schema import ServerRecord

OTHER = "other"
CATEGORIES = (
    "socket read", "socket write", "poll", "HTTP parsing", "handler", "hand-over", "cluster", "storage", "cache", "log",
    "flush", "compaction", "response", "GC", "JIT", "VM", "profiler", OTHER,
)  # fmt: skip
RULES = Path(__file__).with_name("categories.toml")
_SUFFIX = re.compile(r"_\[[a-z0-9]\]$")


def plain(name: str) -> str:
    """Return a stack frame's name without async-profiler's suffix for its type, such as `_[j]` for compiled code."""
    return _SUFFIX.sub("", name)


@dataclass(frozen=True, slots=True)
class Rule:
    """A category and the pattern of its frames. `anywhere`: one such frame at any depth gives a stack the category."""

    category: str
    pattern: re.Pattern[str]
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Classifier:
    """Ordered rules that give a stack a category. Frames' categories are cached, because stacks share most frames."""

    rules: tuple[Rule, ...]
    _known: dict[tuple[str, bool], str | None] = field(default_factory=dict)

    def _category(self, name: str, anywhere: bool) -> str | None:
        key = (name, anywhere)
        if key not in self._known:
            rules, plain_name = (rule for rule in self.rules if rule.anywhere == anywhere), plain(name)
            self._known[key] = next((rule.category for rule in rules if rule.pattern.search(plain_name)), None)
        return self._known[key]

    def stack(self, frames: Sequence[str]) -> str:
        """Return a stack's category; `frames` begin with the root.

        The first frame that an `anywhere` rule matches decides, else the last that another rule matches; else OTHER.
        """
        by_job = (category for name in frames if (category := self._category(name, anywhere=True)))
        by_frame = (category for name in reversed(frames) if (category := self._category(name, anywhere=False)))
        return next(by_job, None) or next(by_frame, OTHER)


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{text})" for text in patterns))


@cache
def classifier() -> Classifier:
    """Return the classifier of stacks by the lab's own rules (categories.toml)."""
    entries = tomllib.loads(RULES.read_text(encoding="utf-8"))["rule"]
    rules = (
        Rule(entry["category"], _any_of(entry.get("anywhere") or entry["frames"]), "anywhere" in entry)
        for entry in entries
    )
    return Classifier(tuple(rules))


def classifier_of(server: ServerRecord) -> Classifier:
    """Return a classifier of stacks that tries the rules in a server's description before the lab's own rules."""
    if not server.categories:
        return classifier()
    own = (Rule(name, _any_of(patterns)) for name, patterns in server.categories.items())
    return Classifier((*own, *classifier().rules))


def read_collapsed(path: Path, event: str) -> pd.DataFrame:
    """Return an event's `stacks` data frame from collapsed stacks. Raises ReadError if a line but the last is bad."""
    lines = text_of(path, "convert the recording again").splitlines()
    merged = Counter[str]()
    for number, line in enumerate(lines, start=1):
        stack, _, weight = line.rstrip().rpartition(" ")
        if stack and weight.isdigit():
            merged[";".join(map(plain, stack.split(";")))] += int(weight)
        elif line.strip() and number < len(lines):
            raise ReadError(path, f"line {number} is no collapsed stack", "convert the recording again")
    return frame("stacks", ({"event": event, "stack": stack, "count": weight} for stack, weight in merged.items()))


UNIT_WEIGHT_EVENTS = ("cpu", "wall", "itimer", "ctimer")


def wilson(share: float, samples: float) -> tuple[float, float]:
    """Return Wilson's 95 % bounds (low, high) of a proportion: `share` in `samples` samples; NaN without samples.

    E. B. Wilson, 1927, *Probable inference*, J. Am. Stat. Assoc. 22. scipy's function takes whole numbers of samples.
    """
    if samples <= 0 or math.isnan(share):
        return math.nan, math.nan
    z = float(ndtri(0.975))  # norm.ppf takes a hundred times as long
    middle = share + z * z / (2 * samples)
    spread = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    scale = 1 + z * z / samples
    low = (middle - spread) / scale if share > 0 else 0.0  # exactly zero, not what rounding leaves
    high = (middle + spread) / scale if share < 1 else 1.0
    return max(0.0, low), min(1.0, high)


def shares_frame(
    stacks: pd.DataFrame, recorded: Mapping[str, int] | None = None, rules: Classifier | None = None,
    timed: pd.DataFrame | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the `shares` data frame: for each event (such as cpu) and category, the category's share (0..1) of stacks.

    `recorded` has the number of samples by event. `timed`, the `samples` data frame, gives bounds by batch means.
    `rules` are the lab's own by default.
    """
    rules = rules or classifier()
    rows = _shares(stacks, recorded or {}, timed, lambda frames: [rules.stack(frames)], CATEGORIES)
    return frame("shares", ({**row, "category": row["name"]} for row in rows))


def frames_frame(
    stacks: pd.DataFrame, recorded: Mapping[str, int] | None = None, timed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the `frames` data frame, a row for each event (such as cpu) and function.

    A row has the share of the stacks that contain the function, and the share of the stacks that have it on top.
    `recorded` and `timed` are as for `shares_frame`.
    """
    leaves = stacks["stack"].str.rsplit(";", n=1).str[-1]
    at_leaf = stacks["count"].groupby([stacks["event"], leaves]).sum().to_dict()
    events = list(stacks["event"].unique())
    rows = list(_shares(stacks, recorded or {}, timed, set))
    rows.sort(key=lambda row: (events.index(row["event"]), -row["weight"], row["name"]))
    for row in rows:
        row |= {"frame": row["name"], "self_share": at_leaf.get((row["event"], row["name"]), 0.0) / row["total"]}
    return frame("frames", rows)


Names = Callable[[list[str]], Iterable[str]]  # from a stack's frames, root first, to names that the stack counts for


def _shares(
    stacks: pd.DataFrame, recorded: Mapping[str, int], timed: pd.DataFrame | None, names: Names,
    known: Iterable[str] = (),
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Yield a row for each event (such as cpu) and name: what share of the weight the name's stacks have, with bounds.

    `names` returns the names that a stack counts for, such as its category. A `known` name has a row even if no stack
    counts for it. `recorded` and `timed` are as for `shares_frame`.
    """
    for event, group in stacks.groupby("event", sort=False):
        if not (total := float(group["count"].sum())):
            continue
        samples = float(recorded.get(str(event)) or 0.0)
        if event in UNIT_WEIGHT_EVENTS:
            samples = min(total, samples or total)
        elif not samples:
            samples = total * total / float((group["count"] ** 2).sum())  # Kish's effective sample size
        by_batch = batches(timed, str(event)) if timed is not None else None
        parts = by_batch.by_name(names) if by_batch else {}
        weights = dict.fromkeys(known, 0.0)
        for stack, count in zip(group["stack"], group["count"], strict=True):
            for name in names(stack.split(";")):
                weights[name] = weights.get(name, 0.0) + count
        for name, weight in weights.items():
            share = weight / total
            low, high = wilson(share, by_batch.effective(parts[name]) if by_batch and name in parts else samples)
            yield {
                "event": event, "name": name, "samples": round(share * samples), "weight": weight, "total": total,
                "share": share, "low": low, "high": high,
            }  # fmt: skip


PER_SECOND = 50
_STACK = re.compile(r"S (\d+) (.+)$")
_EVENT = re.compile(r"E (\w+) (\d+) (\d+) (\d+) (\d+)$")


def read_timed_stacks(path: Path, start_unix_us: int) -> pd.DataFrame:
    """Return the `samples` data frame of a file of timed stacks, with times in seconds since `start_unix_us`.

    Raises ReadError if a line other than the last is broken.
    """
    lines = text_of(path, "convert the recording again").splitlines()
    stacks: dict[str, str] = {}
    samples, weights = Counter[tuple[str, int, str]](), Counter[tuple[str, int, str]]()
    for number, line in enumerate(lines, start=1):
        if stack := _STACK.match(line):
            stacks[stack[1]] = ";".join(plain(name) for name in stack[2].split(";"))
        elif (event := _EVENT.match(line)) and event[3] in stacks:
            slot = (int(event[2]) - start_unix_us) * PER_SECOND // 1_000_000
            key = event[1], slot, stacks[event[3]]
            samples[key] += int(event[4])
            weights[key] += int(event[5])
        elif number < len(lines):
            raise ReadError(path, f"line {number} is no sample", "convert the recording again")
    rows = (
        {"event": key[0], "t_s": key[1] / PER_SECOND, "stack": key[2], "samples": samples[key], "weight": weights[key]}
        for key in sorted(samples)
    )
    return frame("samples", rows)


BATCHES = 20
SHORTEST_S = 0.5
FEWEST = 6

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Batches:
    """The weights of one event's stacks in batches, which are equal parts of the recorded window."""

    whole: Floats  # of all stacks together, by batch
    by_stack: dict[str, Floats]  # of each stack, by batch
    samples: float  # the number of samples

    def by_name(self, names: Names) -> dict[str, Floats]:
        """Return {name: weight in each batch}, summed over all stacks with the name; `names` gives a stack's names."""
        parts: dict[str, Floats] = {}
        for stack, weights in self.by_stack.items():
            for name in names(stack.split(";")):
                parts[name] = parts.get(name, 0.0) + weights
        return parts

    def effective(self, part: Floats) -> float:
        """Return how many independent samples would give a share with the same variance; at most `samples`.

        `part`: the weight, in each batch, of the stacks whose share it is. The variance of the share includes the
        covariance of neighbouring batches; simulated 95 % intervals covered 95.2 to 97.4 %.
        """
        share, variance = self._share(part), share_variance(part, self.whole, neighbours=True)
        if not 0 < share < 1 or variance.value <= 0:
            return self.samples
        return min(self.samples, share * (1 - share) / (variance.value * t_factor(variance.degrees)))

    def variance(self, part: Floats) -> float:
        """Return the variance of the share of the stacks that have the weight `part` by batch (see `effective`)."""
        share = self._share(part)
        return share * (1 - share) / self.effective(part)

    def _share(self, part: Floats) -> float:
        return float(part.sum()) / float(self.whole.sum())


def batches(samples: pd.DataFrame, event: str) -> Batches | None:
    """Return one event's `Batches` from a `samples` frame; None if its samples span under 3 s or have no weight."""
    rows = samples[(samples["event"] == event) & (samples["t_s"] >= 0)]
    index, count = _batches_of(rows["t_s"].to_numpy(float))
    if count < FEWEST:
        return None
    weight = rows["samples" if event in UNIT_WEIGHT_EVENTS else "weight"].to_numpy(float)
    by_stack: dict[str, Floats] = {}
    for stack, batch, value in zip(rows["stack"], index, weight, strict=True):
        by_stack.setdefault(str(stack), np.zeros(count))[batch] += value
    whole = np.bincount(index, weight, count).astype(float)
    return Batches(whole, by_stack, float(rows["samples"].sum())) if whole.sum() > 0 else None


def _batches_of(at_s: Floats) -> tuple[npt.NDArray[np.int64], int]:
    length = float(at_s.max(initial=0.0)) + 1e-9
    count = min(BATCHES, int(length / SHORTEST_S))
    return np.minimum((at_s / length * count).astype(np.int64), count - 1), count


def in_batches(samples: pd.DataFrame) -> pd.DataFrame:
    """Return a `samples` data frame's rows from time 0 on, summed: a row per event, stack and batch (see Batches)."""
    kept = samples[samples["t_s"] >= 0]
    parts = []
    for _, rows in kept.groupby("event"):
        batch, _ = _batches_of(rows["t_s"].to_numpy(float))
        rows = rows.assign(t_s=rows.groupby(batch)["t_s"].transform("max"))
        parts.append(rows.groupby(["event", "stack", "t_s"], as_index=False)[["samples", "weight"]].sum())
    return pd.concat(parts, ignore_index=True)[list(samples.columns)] if parts else samples.iloc[:0]
