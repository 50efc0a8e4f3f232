"""Samples of machine, server and generator (telemetry.jsonl) to a frame: counters become use between two samples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why


def read_telemetry(path: Path, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
    """The `telemetry` frame, one row a pair of neighbouring samples, stamped with the end of the pair.

    `*_cpu_s` are the processes' counters as read, `*_cpu_cores` what was used between the samples, in cores.
    `foreign_cpu_cores` is what neither server nor generator used. Rows outside the window are left out, if it is
    known. Half a last line of an interrupted run is left out; any other broken line raises ReadError.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "run the step again") from error
    samples = []
    for number, line in enumerate(lines, start=1):
        try:
            sample = json.loads(line)
            samples.append((float(sample["unix_us"]), sample))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break
            raise ReadError(path, f"line {number} is no sample ({error})", "run the step again") from error
    rows = [
        row for row in _rows(samples, start_unix_us) if elapsed_s is None or -0.05 <= row["t_s"] <= elapsed_s + 0.05
    ]
    return frame("telemetry", rows)


def _number(sample: dict[str, Any], part: str, name: str) -> float:
    value = (sample.get(part) or {}).get(name)
    return float(value) if isinstance(value, (int, float)) else math.nan


def _rows(samples: list[tuple[float, dict[str, Any]]], start_unix_us: int) -> Iterator[dict[str, Any]]:
    for (before_us, before), (after_us, after) in pairwise(samples):
        step_s = (after_us - before_us) / 1e6
        cores = float(after.get("cores") or math.nan)
        if step_s <= 0:
            continue  # the wall clock was set back

        def used(
            part: str, name: str, before: dict[str, Any] = before, after: dict[str, Any] = after, step_s: float = step_s
        ) -> float:
            return (_number(after, part, name) - _number(before, part, name)) / step_s

        server, generator = used("server", "cpu_s"), used("generator", "cpu_s")
        busy, steal = used("machine", "busy_s"), used("machine", "steal_s")
        own = (0.0 if math.isnan(server) else server) + (0.0 if math.isnan(generator) else generator)
        yield {
            "t_s": (after_us - start_unix_us) / 1e6,
            "server_cpu_s": _number(after, "server", "cpu_s"),
            "generator_cpu_s": _number(after, "generator", "cpu_s"),
            "server_rss_bytes": _number(after, "server", "rss_bytes"),
            "steal_share": steal / cores,
            "machine_busy_share": busy / cores,
            "server_cpu_cores": server,
            "generator_cpu_cores": generator,
            "foreign_cpu_cores": max(0.0, busy - own) if not math.isnan(busy) else math.nan,
        }
