"""What can have held up requests during a step: each cause as events on the step's clock.

An event has a stretch of time and a capacity, the longest delay that it can have made: the whole of its length for
what stops the JVM or blocks a request, the CPU time that it took for what shares a core with the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from runners.analysis import machine_stalls
from runners.readers.run import Step

STALLED, STEAL, FOREIGN = "stalls of the machine", "CPU steal", "other processes"
#: Causes that are neither the server, nor its store, nor its JVM.
MACHINE = (STALLED, STEAL, FOREIGN)
#: Of `activity`: kind, what it is called, and from which share of a core on it counts as an event.
SHARES = (
    ("jit", "JIT compilation", 0.2),
    ("gc", "GC beside the application", 0.2),
    ("flush", "flush", 0.2),
    ("compaction", "compaction", 0.2),
    ("steal", STEAL, 0.2),
    ("foreign", FOREIGN, 0.4),
    ("disk", "disk busy", 0.8),
    ("io stall", "waits for the disk", 0.2),
    ("memory stall", "waits for memory", 0.2),
)
#: Of `events`: kind and what it is called.
KINDS = (
    ("flush", "flush"),
    ("compaction", "compaction"),
    ("log sync", "log sync"),
    ("file force", "slow file access"),
    ("file write", "slow file access"),
    ("file read", "slow file access"),
)
STALLS = ("stall", "allocation stall")
GC, SAFEPOINT, STALL = "GC pause", "other safepoint", "writers held back"
FEWEST_EVENT_MS = 1.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause and its events. `stops`: while it lasts nothing is answered, so it must leave a trace."""

    name: str
    stops: bool
    begin_s: Floats
    end_s: Floats
    capacity_ms: Floats

    def __len__(self) -> int:
        return len(self.begin_s)

    @property
    def busy_s(self) -> float:
        return float((self.end_s - self.begin_s).sum())


def cause(name: str, events: list[tuple[float, float, float]], stops: bool = False) -> Cause:
    """A cause from (begin_s, end_s, capacity_ms) rows."""
    rows = np.array(events, float).reshape(-1, 3)
    return Cause(name, stops, rows[:, 0], rows[:, 1], rows[:, 2])


def of(step: Step) -> list[Cause]:
    """Every cause that the step's raw files tell of, those with no event left out."""
    return [one for one in (*_stops(step), *_contention(step)) if len(one)]


def _stops(step: Step) -> Iterator[Cause]:
    pauses, events = step.frames["pauses"], step.frames["events"]
    collections = _spans(pauses[pauses["kind"] == "gc"])
    others = [
        span
        for span in _spans(pauses[pauses["kind"] == "safepoint"])
        if not any(span[0] <= end + 0.002 and span[1] >= begin - 0.002 for begin, end, _ in collections)
    ]
    yield cause(GC, _long(collections), stops=True)
    yield cause(SAFEPOINT, _long(others), stops=True)
    yield cause(STALL, _long(_spans(events[events["kind"].isin(STALLS)])), stops=True)


def _contention(step: Step) -> Iterator[Cause]:
    events, activity, pauses = step.frames["events"], step.frames["activity"], step.frames["pauses"]
    named: dict[str, list[tuple[float, float, float]]] = {}
    for kind, name in KINDS:
        named.setdefault(name, []).extend(_long(_spans(events[events["kind"] == kind])))
    if machine_stalls.watched(step):  # it sees what the hypervisor takes too, and a hundred times as finely
        found = machine_stalls.windows(step.frames["stalls"])
        named[STALLED] = _long([(begin, end, (end - begin) * 1000) for begin, end in found.tolist()])
    for kind, name, share in SHARES:
        if name == STEAL and STALLED in named:
            continue
        if not named.get(name):  # the store's own events are finer than the CPU time of its threads
            rows = activity[activity["kind"] == kind].sort_values("t_s")
            named[name] = _active(rows, share, _spans(pauses) if kind == "gc" else [])
    if activity.empty:
        named["JIT compilation"] = _long(_spans(events[events["kind"] == "compilation"]))
    for name, spans in named.items():
        yield cause(name, sorted(spans))


def _spans(frame: pd.DataFrame) -> list[tuple[float, float, float]]:
    begin, length = frame["t_s"].to_numpy(float), frame["duration_ms"].to_numpy(float)
    return list(zip(begin.tolist(), (begin + length / 1000).tolist(), length.tolist(), strict=True))


def _long(spans: list[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    return [span for span in spans if span[2] >= FEWEST_EVENT_MS]


def _active(
    rows: pd.DataFrame, share: float, but: list[tuple[float, float, float]]
) -> list[tuple[float, float, float]]:
    """Samples with at least that share of a core, neighbours joined; time within `but` is another cause's."""
    found: list[tuple[float, float, float]] = []
    for begin, length, busy in zip(rows["t_s"], rows["length_s"], rows["busy_ms"], strict=True):
        end = begin + length
        busy -= 1000 * sum(max(0.0, min(end, stop) - max(begin, start)) for start, stop, _ in but)
        if busy < share * length * 1000:
            continue
        if found and begin <= found[-1][1] + 1e-6:
            found[-1] = (found[-1][0], end, found[-1][2] + busy)
        else:
            found.append((begin, end, busy))
    return found
