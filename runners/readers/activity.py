"""Samples of threads and machine (activity.jsonl) to what each used between two samples, on the step's clock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why


def read_activity(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """The `activity` frame. A cut last line is left out; any other broken line raises ReadError."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "run the step again") from error
    samples: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            sample = json.loads(line)
            float(sample["unix_us"])
            samples.append(sample)
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break
            raise ReadError(path, f"line {number} is no sample ({error})", "run the step again") from error
    rows = [
        row
        for before, after in pairwise(samples)
        for row in _rows(before, after, start_unix_us)
        if elapsed_s is None or (row["t_s"] + row["length_s"] >= 0 and row["t_s"] <= elapsed_s)
    ]
    return frame("activity", rows)


def _rows(before: dict[str, Any], after: dict[str, Any], start_unix_us: int) -> Iterator[dict[str, Any]]:
    length_s = (after["unix_us"] - before["unix_us"]) / 1e6
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
    yield {**at, "kind": "wait", "busy_ms": _grown(before, after, "waited_ns", "serving") / 1e6}
    if all("sending" in (sample.get("waited_ns") or {}) for sample in (before, after)):
        yield {**at, "kind": "sending wait", "busy_ms": _grown(before, after, "waited_ns", "sending") / 1e6}


def _grown(before: dict[str, Any], after: dict[str, Any], counter: str, part: str) -> float:
    values = [(sample.get(counter) or {}).get(part, 0) for sample in (before, after)]
    return max(0.0, float(values[1] - values[0]))
