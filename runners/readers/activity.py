"""Read what happened during a load: JVM log, flight recording, samples of threads and machine, stalls of the cores.

All times are on the step's own clock, which begins with the recorded window.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from runners.errors import ReadError, text_of
from runners.readers.run import frame

#: Before the name of a process that is none of the load's, in `kind` of the `activity` frame.
PROCESS = "process "


def read_activity(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `activity` frame. A cut last line is left out; any other broken line raises ReadError."""
    rows = [
        row
        for before, after in pairwise(_samples(path))
        for row in _rows(before, after, start_unix_us)
        if elapsed_s is None or (row["t_s"] + row["length_s"] >= 0 and row["t_s"] <= elapsed_s)
    ]
    return frame("activity", rows)


def _samples(path: Path) -> list[dict[str, Any]]:
    """Read samples, one a line of JSON. A cut last line is left out; any other broken line raises ReadError."""
    samples: list[dict[str, Any]] = []
    lines = text_of(path).splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            sample = json.loads(line)
            float(sample["unix_us"])
            samples.append(sample)
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break
            raise ReadError(path, f"line {number} is no sample ({error})", "run the step again") from error
    return samples


def _rows(before: dict[str, Any], after: dict[str, Any], start_unix_us: int) -> Iterator[dict[str, Any]]:
    length_s = _seconds(before, after)
    if length_s <= 0:
        return  # the wall clock was set back
    at = {"t_s": (before["unix_us"] - start_unix_us) / 1e6, "length_s": length_s}
    ran = {part: _grown(before, after, "ran_ns", part) / 1e6 for part in after.get("ran_ns") or {}}
    busy = (after["busy_s"] - before["busy_s"]) * 1000
    yield {**at, "kind": "steal", "busy_ms": max(0.0, (after["steal_s"] - before["steal_s"]) * 1000)}
    if before.get("generator_s") is not None and after.get("generator_s") is not None:
        own = sum(ran.values()) + (after["generator_s"] - before["generator_s"]) * 1000
        yield {**at, "kind": "foreign", "busy_ms": max(0.0, busy - own)}
    if before.get("disk_busy_ms") is not None and after.get("disk_busy_ms") is not None:
        yield {**at, "kind": "disk", "busy_ms": max(0.0, float(after["disk_busy_ms"] - before["disk_busy_ms"]))}
    for resource in ("io", "memory"):
        first, last = before.get(f"{resource}_stall_us"), after.get(f"{resource}_stall_us")
        if first is not None and last is not None:
            yield {**at, "kind": f"{resource} stall", "busy_ms": max(0.0, (last - first) / 1000)}
    for part, ms in sorted(ran.items()):
        yield {**at, "kind": part, "busy_ms": ms}
    for name in sorted(after.get("others_ns") or {}):
        if (ms := _grown(before, after, "others_ns", name) / 1e6) > 0:
            yield {**at, "kind": PROCESS + name, "busy_ms": ms}
    yield {**at, "kind": "wait", "busy_ms": _grown(before, after, "waited_ns", "serving") / 1e6}
    if all("sending" in (sample.get("waited_ns") or {}) for sample in (before, after)):
        yield {**at, "kind": "sending wait", "busy_ms": _grown(before, after, "waited_ns", "sending") / 1e6}


def _grown(before: dict[str, Any], after: dict[str, Any], counter: str, part: str) -> float:
    values = [(sample.get(counter) or {}).get(part, 0) for sample in (before, after)]
    return max(0.0, float(values[1] - values[0]))


KINDS = {
    "lab.Flush": "flush", "lab.Compaction": "compaction", "lab.LogSync": "log sync", "lab.Stall": "stall",
    "jdk.Compilation": "compilation", "jdk.FileForce": "file force", "jdk.FileWrite": "file write",
    "jdk.FileRead": "file read", "jdk.ZAllocationStall": "allocation stall",
}  # fmt: skip
_WHAT = ("method", "path", "type")
_BYTES = ("bytes", "bytesWritten", "bytesRead", "size")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.](\d+))?(Z|[+-]\d\d:?\d\d)$")
_DURATION = re.compile(r"PT(?:(?P<h>[\d.]+)H)?(?:(?P<m>[\d.]+)M)?(?:(?P<s>[\d.]+)S)?$")


def read_events(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `events` frame of a window of `elapsed_s` seconds from `start_unix_us`; of all time without a length.

    Raises ReadError when the file is no JSON of events; an event of another kind is left out.
    """
    text = text_of(path)
    try:
        rows = [row for event in json.loads(text)["events"] if (row := _row(event, start_unix_us)) is not None]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(path, f"holds no events ({error})", "convert the recording again") from error
    inside = (row for row in rows if _touches(row, elapsed_s))
    return frame("events", sorted(inside, key=lambda row: (row["t_s"], row["kind"])))


def _row(event: dict[str, Any], start_unix_us: int) -> dict[str, Any] | None:
    kind = KINDS.get(event["type"])
    if kind is None:
        return None
    values = event["values"]
    size = next((values[name] for name in _BYTES if values.get(name) is not None), None)
    return {
        "t_s": unix_s(values["startTime"], start_unix_us / 1e6),
        "duration_ms": duration_s(values.get("duration")) * 1000, "kind": kind,
        "what": next((_name(name, str(values[name])) for name in _WHAT if values.get(name)), ""),
        "bytes": float(size) if size is not None else math.nan,
    }  # fmt: skip


def _name(field: str, value: str) -> str:
    """Return what an event is about; of a file only the last two parts, which say the same on any machine."""
    return "/".join(value.replace("\\", "/").split("/")[-2:]) if field == "path" else value


def unix_s(stamp: str, origin_s: float = 0.0) -> float:
    """Return seconds from `origin_s` (since 1970) to a stamp with up to nanoseconds: 2026-11-21T12:00:00.123456789Z."""
    match = _STAMP.match(stamp)
    if match is None:
        raise ValueError(f"no time stamp: {stamp!r}")
    whole = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp()
    return (whole - origin_s) + float("0." + (match[2] or "0"))


def duration_s(text: str | None) -> float:
    """Return seconds of an ISO 8601 duration; zero for an event without one."""
    match = _DURATION.match(text) if text else None
    if match is None:
        return 0.0
    return sum(float(match[unit] or 0) * scale for unit, scale in (("h", 3600), ("m", 60), ("s", 1)))


_LINE = re.compile(r"^\[(?P<stamp>\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4})\].*?\[(?P<tags>[a-z,]+)\s*\] (?P<text>.*)$")
_GC = re.compile(r"^GC\(\d+\) (?P<cause>Pause .*?)(?: \d+\w->\d+\w\(\d+\w\))? (?P<ms>[\d.]+)ms$")
_SAFEPOINT = re.compile(r'^Safepoint "(?P<cause>[^"]+)",.*\bTotal: +(?P<ns>\d+) ns')


def read_pauses(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `pauses` frame of a window of `elapsed_s` seconds from `start_unix_us`; of all time without a length.

    Raises ReadError when the file can't be read, or when none of its lines carries a wall clock.
    """
    lines = text_of(path).splitlines()
    if lines and not any(_LINE.match(line) for line in lines):
        raise ReadError(
            path, "has no line with a wall clock", "start the JVM with -Xlog:gc,safepoint:file=…:utctime,level,tags"
        )
    rows = [row for row in _pauses(lines, start_unix_us) if _touches(row, elapsed_s)]
    return frame("pauses", sorted(rows, key=lambda row: row["t_s"]))


def _touches(row: dict[str, Any], elapsed_s: float | None) -> bool:
    if elapsed_s is None:
        return True
    return bool(row["t_s"] + row["duration_ms"] / 1000 >= 0 and row["t_s"] <= elapsed_s)


def _pauses(lines: list[str], start_unix_us: int) -> Iterator[dict[str, Any]]:
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        end_s = datetime.strptime(match["stamp"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() - start_unix_us / 1e6
        if pause := _GC.match(match["text"]):
            duration_ms, kind = float(pause["ms"]), "gc"
        elif pause := _SAFEPOINT.match(match["text"]):
            duration_ms, kind = int(pause["ns"]) / 1e6, "safepoint"
        else:
            continue
        yield {"t_s": end_s - duration_ms / 1000, "duration_ms": duration_ms, "kind": kind, "cause": pause["cause"]}


def read_telemetry(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `telemetry` frame, one row a pair of neighbouring samples, stamped with the end of the pair.

    `*_cpu_s` are the processes' counters as read, `*_cpu_cores` what was used between the samples, in cores.
    `foreign_cpu_cores` is what neither server nor generator used. Rows outside the window are left out, if it is
    known. Half a last line of an interrupted run is left out; any other broken line raises ReadError.
    """
    rows = [
        row
        for row in _sampled(_samples(path), start_unix_us)
        if elapsed_s is None or -0.05 <= row["t_s"] <= elapsed_s + 0.05
    ]
    return frame("telemetry", rows)


def _number(sample: dict[str, Any], part: str, name: str) -> float:
    value = (sample.get(part) or {}).get(name)
    return float(value) if isinstance(value, (int, float)) else math.nan


def _sampled(samples: list[dict[str, Any]], start_unix_us: int) -> Iterator[dict[str, Any]]:
    for before, after in pairwise(samples):
        cores = float(after.get("cores") or math.nan)
        if not _seconds(before, after) > 0:
            continue  # the wall clock was set back
        server, generator = (_used(before, after, part, "cpu_s") for part in ("server", "generator"))
        busy, steal = (_used(before, after, "machine", name) for name in ("busy_s", "steal_s"))
        own = (0.0 if math.isnan(server) else server) + (0.0 if math.isnan(generator) else generator)
        yield {
            "t_s": (float(after["unix_us"]) - start_unix_us) / 1e6, "server_cpu_s": _number(after, "server", "cpu_s"),
            "generator_cpu_s": _number(after, "generator", "cpu_s"),
            "server_rss_bytes": _number(after, "server", "rss_bytes"), "steal_share": steal / cores,
            "machine_busy_share": busy / cores, "server_cpu_cores": server, "generator_cpu_cores": generator,
            "foreign_cpu_cores": max(0.0, busy - own) if not math.isnan(busy) else math.nan,
        }  # fmt: skip


def _seconds(before: dict[str, Any], after: dict[str, Any]) -> float:
    return (float(after["unix_us"]) - float(before["unix_us"])) / 1e6


def _used(before: dict[str, Any], after: dict[str, Any], part: str, name: str) -> float:
    """Return how fast a counter grew between two samples, in units a second."""
    return (_number(after, part, name) - _number(before, part, name)) / _seconds(before, after)


_HEAD = re.compile(r"#stall-witness/1 period_ns=(\d+) late_ns=(\d+)$")
_MOMENT = re.compile(r"#(?:begin|end) monotonic_ns=(\d+) unix_ns=(\d+)$")
_CORE = re.compile(r"#core (\d+) cpu_ns=(\d+)$")


@dataclass(frozen=True, slots=True)
class StallLog:
    """The late wake-ups that the stall witness recorded.

    `cpu`, `woke_ns` (CLOCK_MONOTONIC) and `late_ns`: its late wake-ups, core after core. `moments`: begin and end of
    the watch, each by CLOCK_MONOTONIC and by the wall clock, in nanoseconds. `used_ns`: the witness's CPU time by core.
    """

    moments: tuple[tuple[int, int], tuple[int, int]]
    used_ns: dict[int, int]
    cpu: npt.NDArray[np.int64]
    woke_ns: npt.NDArray[np.int64]
    late_ns: npt.NDArray[np.int64]

    def unix_ns(self, monotonic_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Convert to the wall clock, whose adjustment during the watch is taken for steady."""
        (begin_ns, begin_unix_ns), (end_ns, end_unix_ns) = self.moments
        drift = ((end_unix_ns - begin_unix_ns) - (end_ns - begin_ns)) / max(1, end_ns - begin_ns)
        since_ns = monotonic_ns - begin_ns
        unix: npt.NDArray[np.int64] = begin_unix_ns + since_ns + np.round(since_ns * drift).astype(np.int64)
        return unix

    def frame(self, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
        """Return the `stalls` frame, of the late wake-ups within the window."""
        t_s = (self.unix_ns(self.woke_ns - self.late_ns) - start_unix_us * 1000) / 1e9
        rows = [
            {"cpu": cpu, "t_s": begin, "duration_ms": late / 1e6}
            for cpu, begin, late in zip(self.cpu.tolist(), t_s.tolist(), self.late_ns.tolist(), strict=True)
            if elapsed_s is None or (begin + late / 1e9 >= 0 and begin <= elapsed_s)
        ]
        return frame("stalls", sorted(rows, key=lambda row: float(row["t_s"])))


def read_stall_log(path: Path) -> StallLog:
    """Read the file. Raises ReadError when it is none, or broken."""
    lines = text_of(path, strict=True).splitlines()
    head = _HEAD.match(lines[0]) if lines else None
    moments = [moment for line in lines[1:3] if (moment := _MOMENT.match(line))]
    if head is None or len(moments) != 2:
        raise ReadError(path, "does not begin with '#stall-witness/1' and two moments", "build the witness again")
    used_ns = {int(core[1]): int(core[2]) for line in lines if (core := _CORE.match(line))}
    try:
        rows = [tuple(map(int, line.split())) for line in lines if not line.startswith("#")]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    except ValueError as error:
        raise ReadError(path, f"has a line that is no stall ({error})", "run the step again") from error
    begin, end = ((int(moment[1]), int(moment[2])) for moment in moments)
    return StallLog((begin, end), used_ns, table[:, 0], table[:, 1], table[:, 2])
