"""Stacks to shares: by category and by frame, each with its samples and a 95 % interval.

The intervals are Wilson's score intervals (E. B. Wilson, 1927, *Probable inference*, J. Am. Stat. Assoc. 22). Where
the recording tells when each sample was taken, they rest on how shares vary over time (see batches.py). Else they treat
samples as independent: long stretches of one kind of work (a compaction, a collection) make the truth less certain.

cpu stacks are weighted by samples. alloc stacks are weighted by bytes and lock stacks by nanoseconds, so their share
is a share of the weight, and the interval rests on the *effective* number of samples: what the recording counted
where that is known, else Kish's (sum of weights)^2 / (sum of squared weights) over the distinct stacks, a low guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from scipy.stats import norm

from runners.readers.batches import Batches, Floats, batches
from runners.readers.collapsed import CATEGORIES, Classifier, classifier
from runners.readers.columns import frame

UNIT_WEIGHT_EVENTS = ("cpu", "wall", "itimer", "ctimer")


def wilson(share: float, samples: float, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds of a proportion seen as `share` in `samples` trials; NaN without trials."""
    if samples <= 0 or math.isnan(share):
        return math.nan, math.nan
    z = float(norm.ppf(0.5 + confidence / 2))
    middle = share + z * z / (2 * samples)
    spread = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    scale = 1 + z * z / samples
    low = (middle - spread) / scale if share > 0 else 0.0  # exactly zero, not what rounding leaves
    high = (middle + spread) / scale if share < 1 else 1.0
    return max(0.0, low), min(1.0, high)


def effective_samples(stacks: pd.DataFrame, event: str, recorded: int | None) -> float:
    """The number of samples on which shares of `event` rest; `recorded` is the recording's own count, if known."""
    weights = stacks["count"]
    total = float(weights.sum())
    if event in UNIT_WEIGHT_EVENTS:
        return total if not recorded else min(total, float(recorded))
    if recorded:
        return float(recorded)
    squares = float((weights**2).sum())
    return total * total / squares if squares else 0.0


def shares_frame(
    stacks: pd.DataFrame,
    recorded: Mapping[str, int] | None = None,
    rules: Classifier | None = None,
    timed: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """The `shares` frame of all events in a `stacks` frame; every category has a row, be its share zero.

    `timed` is the `samples` frame: with it the bounds know how shares vary over time.
    """
    return frame("shares", _shares(stacks, recorded or {}, rules or classifier(), timed))


def _batches(timed: pd.DataFrame | None, event: str) -> Batches | None:
    return None if timed is None or timed.empty else batches(timed, event, event not in UNIT_WEIGHT_EVENTS)


def _shares(
    stacks: pd.DataFrame, recorded: Mapping[str, int], rules: Classifier, timed: pd.DataFrame | None
) -> Iterator[dict[str, Any]]:
    for event, group in stacks.groupby("event", sort=False):
        total = float(group["count"].sum())
        if not total:
            continue
        samples = effective_samples(group, str(event), recorded.get(str(event)))
        weights = dict.fromkeys(CATEGORIES, 0.0)
        for stack, count in zip(group["stack"], group["count"], strict=True):
            weights[rules.stack(stack.split(";"))] += count
        by_batch = _batches(timed, str(event))
        parts = _by_category(by_batch, rules) if by_batch else {}
        for category, weight in weights.items():
            resting_on = by_batch.effective(parts[category]) if by_batch and category in parts else samples
            low, high = wilson(weight / total, resting_on)
            yield {
                "event": event,
                "category": category,
                "samples": round(weight / total * samples),
                "weight": weight,
                "share": weight / total,
                "low": low,
                "high": high,
            }


def _by_category(by_batch: Batches, rules: Classifier) -> dict[str, Floats]:
    parts: dict[str, Floats] = {}
    for stack, weights in by_batch.of.items():
        category = rules.stack(stack.split(";"))
        parts[category] = parts[category] + weights if category in parts else weights.copy()
    return parts


def by_frame(by_batch: Batches) -> dict[str, Floats]:
    """The weights by batch of each frame; a frame that recurs within one stack counts once."""
    parts: dict[str, Floats] = {}
    for stack, weights in by_batch.of.items():
        for name in set(stack.split(";")):
            if name in parts:
                parts[name] += weights
            else:
                parts[name] = weights.copy()
    return parts


def frames_frame(
    stacks: pd.DataFrame, recorded: Mapping[str, int] | None = None, timed: pd.DataFrame | None = None
) -> pd.DataFrame:
    """The `frames` frame: for each frame the share of stacks that hold it and the share in which it is the leaf.

    A frame that recurs within one stack counts once. Bounds are those of the inclusive share; `timed` as above.
    """
    return frame("frames", _frames(stacks, recorded or {}, timed))


def _frames(stacks: pd.DataFrame, recorded: Mapping[str, int], timed: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    for event, group in stacks.groupby("event", sort=False):
        total = float(group["count"].sum())
        if not total:
            continue
        samples = effective_samples(group, str(event), recorded.get(str(event)))
        by_batch = _batches(timed, str(event))
        parts = by_frame(by_batch) if by_batch else {}
        holding: dict[str, float] = {}
        leaf: dict[str, float] = {}
        for stack, count in zip(group["stack"], group["count"], strict=True):
            names = stack.split(";")
            leaf[names[-1]] = leaf.get(names[-1], 0.0) + count
            for name in set(names):
                holding[name] = holding.get(name, 0.0) + count
        for name in sorted(holding, key=lambda name: (-holding[name], name)):
            share = holding[name] / total
            low, high = wilson(share, by_batch.effective(parts[name]) if by_batch and name in parts else samples)
            yield {
                "event": event,
                "frame": name,
                "samples": round(share * samples),
                "share": share,
                "self_share": leaf.get(name, 0.0) / total,
                "low": low,
                "high": high,
            }
