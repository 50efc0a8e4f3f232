"""Latency spikes, stretches of time with slow responses, and events such as pauses that can have caused them.

The threshold of a step is the median p99 of its slices of time, plus five robust standard deviations (F. R. Hampel,
1974, J. Am. Stat. Assoc. 69) or plus half of that median, whichever is more. A slice is slow if its p99 exceeds the
threshold. A slow slice makes a spike, which begins earlier by the longest response of the slice. Spikes that touch are
merged. The excess is the time above the threshold, summed over slow responses. The capacity of an event is the longest
delay that it can have caused (docs/0010-tail-attribution.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import median_abs_deviation

from runners.analysis import machine_stalls
from runners.analysis.intervals import Floats
from runners.analysis.machine_stalls import SLICE_S
from runners.analysis.tables import TABLES
from runners.readers.run import Step
from runners.storage.schema import OWN_BACKGROUND

ROBUST_DEVIATIONS = 5
LEAST_EXCESS = 0.5
FEWEST_RESPONSES = 100
FEWEST_SLICES = 20
WIDER = (1, 2, 5, 10)
#: Events as (begin in s, end in s, capacity in ms): the capacity is the longest delay that an event can have caused.
Spans = list[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Spike:
    """One latency spike: a stretch of time in which responses were slow."""

    begin_s: float  # seconds after the begin of the recorded window, like end_s
    end_s: float
    peak_us: float  # the slowest response
    excess_ms: float  # time above the threshold, summed over its slow responses


@dataclass(frozen=True, slots=True)
class Tail:
    """The slow responses of a step, and the latency spikes in which they came."""

    slice_s: float  # length of a slice, the piece of time that is judged as slow or not
    length_s: float  # of all slices together
    usual_us: float  # median p99 of the slices
    threshold_us: float
    spikes: tuple[Spike, ...]
    slow: float  # number of responses above the threshold
    excess_ms: float  # time above the threshold, summed over all slow responses


@dataclass(frozen=True, slots=True)
class Grid:
    """The number of responses by slice of time and by response time."""

    slice_s: float
    us: Floats  # ascending
    counts: Floats  # [k, b]: responses of about us[b] in the slice from k * slice_s on

    def at(self, level: float) -> Floats:
        """Return in us a percentile (0..1; 1: the slowest response) of every slice; NaN if it has no response."""
        total = self.counts.sum(axis=1)
        below = np.cumsum(self.counts, axis=1)
        index = (below >= np.maximum(level * total, 1e-9)[:, None]).argmax(axis=1)
        return np.where(total > 0, self.us[index] if len(self.us) else np.nan, np.nan)


def tenths(slices: pd.DataFrame) -> Grid | None:
    """Return the `slices` frame as a grid of tenths of a second; None if the frame is empty."""
    if slices.empty:
        return None
    index = np.round(slices["t_s"].to_numpy(float) / SLICE_S).astype(int)
    us, bins = np.unique(slices["us"].to_numpy(float), return_inverse=True)
    counts = np.zeros((index.max() + 1, len(us)))
    np.add.at(counts, (index, bins), slices["count"].to_numpy(float))
    return Grid(SLICE_S, us, counts)


def grid(slices: pd.DataFrame) -> Grid | None:
    """Return the `slices` frame as a grid of the shortest slices that have enough responses; None if none have."""
    if (fine := tenths(slices)) is None:
        return None
    for factor in WIDER:
        whole = len(fine.counts) // factor * factor
        wide = fine.counts[:whole].reshape(-1, factor, len(fine.us)).sum(axis=1)
        if len(wide) < FEWEST_SLICES:
            return None
        if np.median(wide.sum(axis=1)) >= FEWEST_RESPONSES:
            return Grid(SLICE_S * factor, fine.us, wide)
    return None


def find(slices: pd.DataFrame) -> Tail | None:
    """Return the tail of a step from its `slices` frame; None if there are too few slices or responses."""
    if (seen := grid(slices)) is None:
        return None
    p99 = seen.at(0.99)
    usual = float(np.nanmedian(p99))
    sigma = float(median_abs_deviation(p99, scale="normal", nan_policy="omit"))
    threshold = usual + max(ROBUST_DEVIATIONS * sigma, LEAST_EXCESS * usual)
    slow = seen.counts * (seen.us > threshold)
    over = np.maximum(seen.us - threshold, 0) / 1000
    longest = seen.at(1.0)
    above = np.flatnonzero(p99 > threshold).tolist()  # never where it is NaN
    spans = [(k * seen.slice_s - longest[k] / 1e6, (k + 1) * seen.slice_s, k) for k in above]
    spikes = []
    for stretch in machine_stalls.joined(spans):
        members, end_s = [member for *_, member in stretch], max(end for _, end, _ in stretch)
        excess_ms = float((slow[members] * over).sum())
        spikes.append(Spike(max(0.0, stretch[0][0]), end_s, float(longest[members].max()), excess_ms))
    whole_ms = float((slow * over).sum())
    length_s = seen.slice_s * len(seen.counts)
    return Tail(seen.slice_s, length_s, usual, threshold, tuple(spikes), float(slow.sum()), whole_ms)


STALLED = "stalls of the machine"
(STEAL, _), (FOREIGN, FOREIGN_SHARE) = (TABLES["activity"][kind] for kind in ("steal", "foreign"))
#: A cause: late sends. In each tenth of a second they delayed responses by no more than the largest lateness.
LATE = "lateness of the generator"
#: A cause: serving threads waited for a core longer than other processes and the server's background threads explain.
CROWDED = "serving threads waiting for a core"
CROWDED_SHARE = 0.2
#: Causes that are neither the server, nor its store, nor its JVM.
MACHINE = (STALLED, STEAL, FOREIGN, LATE)
GC, SAFEPOINT, STALL = "GC pause", "other safepoint", "writers held back"
FEWEST_EVENT_MS = 1.0


@dataclass(frozen=True, slots=True)
class Cause:
    """A possible cause of delays, such as garbage collection, with its events; index i of every array is event i."""

    name: str
    stops: bool  # no response comes while an event lasts
    begin_s: Floats  # of every event
    end_s: Floats
    capacity_ms: Floats  # the longest delay that the event can have caused

    def __len__(self) -> int:
        return len(self.begin_s)


def cause(name: str, events: Spans, stops: bool = False) -> Cause:
    """Return the cause with these events (begin s, end s, capacity ms); `stops`: no response comes while one lasts."""
    rows = np.array(events, float).reshape(-1, 3)
    return Cause(name, stops, rows[:, 0], rows[:, 1], rows[:, 2])


def causes_of(step: Step) -> list[Cause]:
    """Return the causes that have at least one event in the step's frames."""
    return [cause for cause in (*_stops(step), *_contention(step)) if len(cause)]


def _stops(step: Step) -> Iterator[Cause]:
    pauses, events = step.frames["pauses"], step.frames["events"]
    collections = _spans(pauses[pauses["kind"] == "gc"])
    safepoints = _spans(pauses[pauses["kind"] == "safepoint"])
    near = [(begin - 0.002, end + 0.002) for begin, end, _ in collections]
    others = [span for span in safepoints if not any(span[0] <= end and span[1] >= begin for begin, end in near)]
    yield cause(GC, _long(collections), stops=True)
    yield cause(SAFEPOINT, _long(others), stops=True)
    yield cause(STALL, _long(_spans(events[events["kind"].isin(("stall", "allocation stall"))])), stops=True)


def _contention(step: Step) -> Iterator[Cause]:
    events, activity, pauses = step.frames["events"], step.frames["activity"], step.frames["pauses"]
    named = {name: _long(_spans(events[events["kind"].isin(kinds)])) for name, kinds in TABLES["events"].items()}
    if machine_stalls.watched(step):  # it sees what the hypervisor takes too, and a hundred times as finely
        windows = machine_stalls.windows(machine_stalls.stalls_of(step))
        named[STALLED] = _long([(begin, end, (end - begin) * 1000) for begin, end in windows.tolist()])
    for kind, (name, share) in TABLES["activity"].items():
        if name == STEAL and STALLED in named:
            continue
        if not named.get(name):  # the store's own events are finer than the CPU time of its threads
            rows = activity[activity["kind"] == kind].sort_values("t_s")
            named[name] = _active(rows, share, _spans(pauses) if kind == "gc" else [])
    late = step.frames["lateness"]
    begin_s = late["t_s"].to_numpy(float)
    named[LATE] = _long(list(zip(begin_s, begin_s + SLICE_S, late["lag_max_us"].to_numpy(float) / 1000, strict=True)))
    if len(waits := _run_queue_waits(activity)):
        rows = activity[activity["kind"] == "foreign"].merge(waits[["t_s", "behind_others_ms"]], on="t_s")
        named[FOREIGN] = _long(_active(rows, FOREIGN_SHARE, [], "behind_others_ms"))
        named[CROWDED] = _active(waits.assign(busy_ms=waits["behind_its_own_ms"]), CROWDED_SHARE, [])
    if activity.empty:
        named["JIT compilation"] = _long(_spans(events[events["kind"] == "compilation"]))
    for name, spans in named.items():
        yield cause(name, sorted(spans))


def _spans(frame: pd.DataFrame) -> Spans:
    begin, length = frame["t_s"].to_numpy(float), frame["duration_ms"].to_numpy(float)
    return list(zip(begin.tolist(), (begin + length / 1000).tolist(), length.tolist(), strict=True))


def _long(spans: Spans) -> Spans:
    return [span for span in spans if span[2] >= FEWEST_EVENT_MS]


def _run_queue_waits(activity: pd.DataFrame) -> pd.DataFrame:
    """Return a row per sample: ms that threads waited for a core behind other processes, and behind serving threads."""
    known = activity[activity["kind"] == "sending wait"]["t_s"]
    samples = activity[activity["t_s"].isin(known)]
    table = samples.pivot_table(index=["t_s", "length_s"], columns="kind", values="busy_ms", aggfunc="sum").fillna(0.0)
    if not {"wait", "foreign", "serving"} <= set(table.columns) or not table["serving"].sum() > 0:
        return pd.DataFrame(columns=["t_s", "length_s", "behind_others_ms", "behind_its_own_ms"])
    background = table[[kind for kind in OWN_BACKGROUND if kind in table]].sum(axis=1)
    others = np.minimum(table["wait"] + table["sending wait"], table["foreign"])
    own = (table["wait"] - others - background).clip(lower=0.0)
    return table.assign(behind_others_ms=others, behind_its_own_ms=own).reset_index()


def _active(rows: pd.DataFrame, share: float, excluded: Spans, column: str = "busy_ms") -> Spans:
    """Return spans (begin s, end s, ms in `column`) in which at least `share` of a core was busy outside `excluded`."""
    stretches: Spans = []
    for begin, length, busy, most in zip(rows["t_s"], rows["length_s"], rows["busy_ms"], rows[column], strict=True):
        end = begin + length
        another = 1000 * sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop, _ in excluded)
        if busy - another < share * length * 1000:
            continue
        if stretches and begin <= stretches[-1][1] + 1e-6:
            stretches[-1] = (stretches[-1][0], end, stretches[-1][2] + most - another)
        else:
            stretches.append((begin, end, most - another))
    return stretches
