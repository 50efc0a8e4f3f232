"""Events of the JDK's flight recorder, as `measure` printed them, to the `events` frame on the step's clock.

The recorder stamps with the machine's time stamp counter, tied to the wall clock at the beginning of each chunk, so
its events stand on the same clock as the generator's window; a test holds the two against each other.
"""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why

KINDS = {
    "lab.Flush": "flush",
    "lab.Compaction": "compaction",
    "lab.LogSync": "log sync",
    "lab.Stall": "stall",
    "jdk.Compilation": "compilation",
    "jdk.FileForce": "file force",
    "jdk.FileWrite": "file write",
    "jdk.FileRead": "file read",
    "jdk.ZAllocationStall": "allocation stall",
}
_WHAT = ("method", "path", "type")
_BYTES = ("bytes", "bytesWritten", "bytesRead", "size")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.](\d+))?(Z|[+-]\d\d:?\d\d)$")
_DURATION = re.compile(r"PT(?:(?P<h>[\d.]+)H)?(?:(?P<m>[\d.]+)M)?(?:(?P<s>[\d.]+)S)?$")


def read_events(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """The `events` frame: those that touch the window of `elapsed_s` seconds from `start_unix_us` (all without it).

    Raises ReadError when the file is no JSON of events; an event of another kind is left out.
    """
    try:
        events = json.loads(path.read_text(encoding="utf-8"))["events"]
        rows = [row for event in events if (row := _row(event, start_unix_us)) is not None]
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "run the step again") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ReadError(path, f"holds no events ({error})", "convert the recording again") from error
    inside = [
        row
        for row in rows
        if elapsed_s is None or (row["t_s"] + row["duration_ms"] / 1000 >= 0 and row["t_s"] <= elapsed_s)
    ]
    return frame("events", sorted(inside, key=lambda row: (row["t_s"], row["kind"])))


def _row(event: dict[str, Any], start_unix_us: int) -> dict[str, Any] | None:
    kind = KINDS.get(event["type"])
    if kind is None:
        return None
    values = event["values"]
    size = next((values[name] for name in _BYTES if values.get(name) is not None), None)
    return {
        "t_s": unix_s(values["startTime"], start_unix_us / 1e6),
        "duration_ms": duration_s(values.get("duration")) * 1000,
        "kind": kind,
        "what": next((_name(name, str(values[name])) for name in _WHAT if values.get(name)), ""),
        "bytes": float(size) if size is not None else math.nan,
    }


def _name(field: str, value: str) -> str:
    """What an event is about; of a file only the last two parts, which say the same on any machine."""
    return "/".join(value.replace("\\", "/").split("/")[-2:]) if field == "path" else value


def unix_s(stamp: str, origin_s: float = 0.0) -> float:
    """Seconds from `origin_s` (since 1970) to a stamp with up to nanoseconds: 2026-11-21T12:00:00.123456789Z."""
    match = _STAMP.match(stamp)
    if match is None:
        raise ValueError(f"no time stamp: {stamp!r}")
    whole = datetime.fromisoformat(match[1] + match[3].replace("Z", "+00:00")).timestamp()
    return (whole - origin_s) + float("0." + (match[2] or "0"))


def duration_s(text: str | None) -> float:
    """Seconds of an ISO 8601 duration; zero for an event without one."""
    match = _DURATION.match(text) if text else None
    if match is None:
        return 0.0
    return sum(float(match[unit] or 0) * scale for unit, scale in (("h", 3600), ("m", 60), ("s", 1)))
