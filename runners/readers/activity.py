"""Readers of files recorded during a load: JVM log, flight recording, samples of threads and machine, core stalls.

The columns of the data frames are in frames.toml. Times are in seconds from `start_unix_us`, the start of the recorded
window, which lasts `elapsed_s`. Rows outside of the window are left out.
"""

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


def read_activity(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `activity` data frame: how long CPUs and disk were busy, by time in seconds since `start_unix_us`.

    If `elapsed_s` is given, only rows from 0 to this time are returned. Raises ReadError if a line but the last is bad.
    """
    pairs = pairwise(_samples(path))
    table = frame("activity", (row for before, after in pairs for row in _rows(before, after, start_unix_us)))
    return _within(table, table["length_s"], elapsed_s)


def _within(table: pd.DataFrame, length_s: "pd.Series[float]", elapsed_s: float | None) -> pd.DataFrame:
    if elapsed_s is not None:
        table = table[(table["t_s"] + length_s >= 0) & (table["t_s"] <= elapsed_s)]
    return table.reset_index(drop=True)


def _samples(path: Path) -> list[dict[str, Any]]:
    """Return the samples in a file of JSON lines, without a broken last line. Another broken line raises ReadError."""
    samples: list[dict[str, Any]] = []
    lines = text_of(path).splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            sample = json.loads(line)
            float(sample["unix_us"])
            samples.append(sample)
        except (ValueError, KeyError, TypeError) as error:
            if number < len(lines):
                raise ReadError(path, f"line {number} is no sample ({error})", "run the step again") from error
    return samples


def _rows(before: dict[str, Any], after: dict[str, Any], start_unix_us: int) -> Iterator[dict[str, Any]]:
    length_s = (after["unix_us"] - before["unix_us"]) / 1e6
    if length_s <= 0:
        return  # the wall clock was set back

    def grown_ms(counter: str, unit_ms: float) -> float | None:
        first, last = before.get(counter), after.get(counter)
        return None if first is None or last is None else (last - first) * unit_ms

    def grown_by_part_ms(counter: str) -> dict[str, float]:
        first_ns = before.get(counter) or {}
        parts = sorted((after.get(counter) or {}).items())
        return {name: max(0.0, (last_ns - first_ns.get(name, 0)) / 1e6) for name, last_ns in parts}

    ran, waited, sender = grown_by_part_ms("ran_ns"), grown_by_part_ms("waited_ns"), grown_ms("generator_s", 1000)
    busy_ms = {
        "steal": grown_ms("steal_s", 1000),
        "foreign": None
        if sender is None
        else (after["busy_s"] - before["busy_s"]) * 1000 - (sum(ran.values()) + sender),
        "disk": grown_ms("disk_busy_ms", 1),
        "io stall": grown_ms("io_stall_us", 0.001),
        "memory stall": grown_ms("memory_stall_us", 0.001),
        **ran,
        **{f"process {name}": ms for name, ms in grown_by_part_ms("others_ns").items() if ms > 0},
        "wait": waited.get("serving", 0.0),
        "sending wait": waited.get("sending") if "sending" in (before.get("waited_ns") or {}) else None,
    }
    at = {"t_s": (before["unix_us"] - start_unix_us) / 1e6, "length_s": length_s}
    yield from ({**at, "kind": kind, "busy_ms": max(0.0, float(ms))} for kind, ms in busy_ms.items() if ms is not None)


KINDS = {
    "lab.Flush": "flush", "lab.Compaction": "compaction", "lab.LogSync": "log sync", "lab.Stall": "stall",
    "jdk.Compilation": "compilation", "jdk.FileForce": "file force", "jdk.FileWrite": "file write",
    "jdk.FileRead": "file read", "jdk.ZAllocationStall": "allocation stall",
}  # fmt: skip
_WHAT = ("method", "path", "type")
_BYTES = ("bytes", "bytesWritten", "bytesRead", "size")


def read_events(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `events` data frame of a flight recording in JSON, with times in seconds since `start_unix_us`.

    If `elapsed_s` is given, only events from 0 to this time are returned. Raises ReadError for any other file.
    """
    text = text_of(path)
    try:
        rows = [_row(event, start_unix_us) for event in json.loads(text)["events"] if event["type"] in KINDS]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(path, f"holds no events ({error})", "convert the recording again") from error
    table = frame("events", sorted(rows, key=lambda row: (row["t_s"], row["kind"])))
    return _within(table, table["duration_ms"] / 1000, elapsed_s)


def _row(event: dict[str, Any], start_unix_us: int) -> dict[str, Any]:
    values = event["values"]
    if path := values.get("path"):  # only the last two parts of a path are the same on any machine
        values = {**values, "path": "/".join(str(path).replace("\\", "/").split("/")[-2:])}
    return {
        "t_s": (pd.Timestamp(values["startTime"]).value - 1000 * start_unix_us) / 1e9,
        "duration_ms": pd.Timedelta(values.get("duration") or 0).value / 1e6, "kind": KINDS[event["type"]],
        "what": next((str(values[name]) for name in _WHAT if values.get(name)), ""),
        "bytes": next((float(values[name]) for name in _BYTES if values.get(name) is not None), math.nan),
    }  # fmt: skip


_LINE = re.compile(r"^\[(?P<stamp>\d{4}-\d\d-\d\dT[\d:.]+[+-]\d{4})\].*?\[(?P<tags>[a-z,]+)\s*\] (?P<text>.*)$")
_GC = re.compile(r"^GC\(\d+\) (?P<cause>Pause .*?)(?: \d+\w->\d+\w\(\d+\w\))? (?P<ms>[\d.]+)ms$")
_SAFEPOINT = re.compile(r'^Safepoint "(?P<cause>[^"]+)",.*\bTotal: +(?P<ns>\d+) ns')


def read_pauses(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `pauses` data frame: the garbage collections and safepoints in a JVM log.

    Times are in seconds since `start_unix_us`. If `elapsed_s` is given, only pauses from 0 to this time are returned.
    Raises ReadError if the log can't be read, or if none of its lines has a wall-clock time stamp.
    """
    lines = text_of(path).splitlines()
    stamped = [match for line in lines if (match := _LINE.match(line))]
    if lines and not stamped:
        remedy = "start the JVM with -Xlog:gc,safepoint:file=…:utctime,level,tags"
        raise ReadError(path, "has no line with a wall clock", remedy)
    rows = []
    for match in stamped:
        end_s = datetime.strptime(match["stamp"], "%Y-%m-%dT%H:%M:%S.%f%z").timestamp() - start_unix_us / 1e6
        if pause := _GC.match(match["text"]):
            duration_ms, kind = float(pause["ms"]), "gc"
        elif pause := _SAFEPOINT.match(match["text"]):
            duration_ms, kind = int(pause["ns"]) / 1e6, "safepoint"
        else:
            continue
        rows.append({
            "t_s": end_s - duration_ms / 1000, "duration_ms": duration_ms, "kind": kind, "cause": pause["cause"],
        })  # fmt: skip
    table = frame("pauses", sorted(rows, key=lambda row: row["t_s"]))
    return _within(table, table["duration_ms"] / 1000, elapsed_s)


_COUNTERS = ("server.cpu_s", "generator.cpu_s", "machine.busy_s", "machine.steal_s")


def read_telemetry(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """Return the `telemetry` data frame: memory, and CPU use since the previous sample, for every sample but the first.

    Times are in seconds since `start_unix_us`. If `elapsed_s` is given, only rows from 0 to this time are returned. A
    last line that was cut short is left out. Raises ReadError for any other broken line.
    """
    names = ("unix_us", "cores", *_COUNTERS, "server.rss_bytes")
    after = pd.json_normalize(_samples(path)).reindex(columns=list(names)).astype(float)
    t_s, grown = (after["unix_us"] - start_unix_us) / 1e6, after.diff()
    used = grown[list(_COUNTERS)].div(grown["unix_us"] / 1e6, axis=0)
    server, generator, busy, steal = (used[name] for name in _COUNTERS)
    table = pd.DataFrame({
        "t_s": t_s, "server_cpu_s": after["server.cpu_s"], "generator_cpu_s": after["generator.cpu_s"],
        "server_rss_bytes": after["server.rss_bytes"], "steal_share": steal / after["cores"],
        "machine_busy_share": busy / after["cores"], "server_cpu_cores": server, "generator_cpu_cores": generator,
        "foreign_cpu_cores": (busy - server.fillna(0.0) - generator.fillna(0.0)).clip(lower=0.0),
    })  # fmt: skip
    table = table[grown["unix_us"] > 0]  # the wall clock may have been set back
    inside = slice(None) if elapsed_s is None else table["t_s"].between(-0.05, elapsed_s + 0.05)
    return table.loc[inside].reset_index(drop=True)


_HEAD = "#stall-witness/1 period_ns="
_MOMENT = re.compile(r"#(?:begin|end) monotonic_ns=(\d+) unix_ns=(\d+)$")
_CORE = re.compile(r"#core (\d+) cpu_ns=(\d+)$")


@dataclass(frozen=True, slots=True)
class StallLog:
    """The log of the stall witness, a program with a thread on each core that records how late the thread wakes up."""

    moments: tuple[tuple[int, int], tuple[int, int]]  # CLOCK_MONOTONIC and wall clock (ns), at the begin and the end
    used_ns: dict[int, int]  # the CPU time that the witness used, by core
    cpu: npt.NDArray[np.int64]  # the core of each late wake-up
    woke_ns: npt.NDArray[np.int64]  # the time of each late wake-up, by CLOCK_MONOTONIC
    late_ns: npt.NDArray[np.int64]  # by how much each wake-up was late

    def frame(self, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
        """Return the `stalls` data frame, a row for each late wake-up from 0 to `elapsed_s` s after `start_unix_us`."""
        (begin_ns, begin_unix_ns), (end_ns, end_unix_ns) = self.moments
        drift = ((end_unix_ns - begin_unix_ns) - (end_ns - begin_ns)) / max(1, end_ns - begin_ns)
        since_ns = self.woke_ns - self.late_ns - begin_ns
        unix_ns = begin_unix_ns + since_ns + np.round(since_ns * drift).astype(np.int64)
        t_s = (unix_ns - start_unix_us * 1000) / 1e9
        table = pd.DataFrame({"cpu": self.cpu, "t_s": t_s, "duration_ms": self.late_ns / 1e6})
        table = table.sort_values("t_s", kind="stable")
        return _within(table, table["duration_ms"] / 1000, elapsed_s)


def read_stall_log(path: Path) -> StallLog:
    """Return the log of a stall witness (see StallLog) in a file. Raises ReadError for any other or a broken file."""
    lines = text_of(path, strict=True).splitlines()
    moments = [moment for line in lines[1:3] if (moment := _MOMENT.match(line))]
    if not lines or not lines[0].startswith(_HEAD) or len(moments) != 2:
        raise ReadError(path, "does not begin with '#stall-witness/1' and two moments", "build the witness again")
    used_ns = {int(core[1]): int(core[2]) for line in lines if (core := _CORE.match(line))}
    try:
        rows = [tuple(map(int, line.split())) for line in lines if not line.startswith("#")]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    except ValueError as error:
        raise ReadError(path, f"has a line that is no stall ({error})", "run the step again") from error
    begin, end = ((int(moment[1]), int(moment[2])) for moment in moments)
    return StallLog((begin, end), used_ns, table[:, 0], table[:, 1], table[:, 2])
