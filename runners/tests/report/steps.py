"""Steps made of frames alone, for tests of figures and reports: no raw file, no reader."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from runners.readers.run import COLUMNS as EVERY
from runners.readers.run import Run, Step, complete, frame
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import record_of

PERCENTILES = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0)
COLUMNS = {
    "summary": ["offered_rps", "achieved_rps", "scheduled", "completed", "censored"],
    "spectrum": ["kind", "value_us", "percentile", "total_count"],
    "percentiles": ["kind", "percentile", "value_us", "low_us", "high_us", "samples_beyond", "at_least", "most_us"],
    "intervals": ["t_s", "kind", "count", "p50_us", "p90_us", "p99_us", "p999_us", "max_us", "errors", "completed"],
    "shares": ["event", "category", "samples", "weight", "share", "low", "high"],
    "frames": ["event", "frame", "samples", "share", "self_share", "low", "high"],
    "stacks": ["event", "stack", "count"],
    "pauses": ["t_s", "duration_ms", "kind", "cause"],
    "slices": ["t_s", "us", "count"],
    "telemetry": ["t_s", "server_cpu_s", "generator_cpu_s", "server_rss_bytes", "steal_share", "machine_busy_share"],
}
CATEGORIES = {"storage": 480, "socket write": 430, "poll": 520, "socket read": 240, "HTTP parsing": 130, "GC": 18}


_EMPTY = {name: pd.DataFrame(columns=columns) for name, columns in COLUMNS.items()}


def empty_frames() -> dict[str, pd.DataFrame]:
    return {name: frame.copy(deep=False) for name, frame in _EMPTY.items()}


def spectrum_of(values: Any, kind: str = "response") -> pd.DataFrame:
    """The spectrum of raw values (any floats): five rows a half distance, then the maximum."""
    ordered = np.sort(np.asarray(values, dtype=float))
    n = len(ordered)
    levels, level = [0.0], 0.0
    while level < 1 - 1 / max(n, 1):
        level += 1 / (5 * 2 ** (math.floor(math.log2(1 / (1 - level))) + 1))
        levels.append(level)
    levels.append(1.0)
    at = [min(n - 1, max(0, math.ceil(level * n) - 1)) for level in levels]
    rows = {"kind": kind, "value_us": ordered[at], "percentile": levels, "total_count": [i + 1 for i in at]}
    return pd.DataFrame(rows)


def frames_of(values: Sequence[float], seconds: int = 5) -> dict[str, pd.DataFrame]:
    """Frames of a load step whose response times are `values`."""
    frames = empty_frames()
    response = np.asarray(values, dtype=float)
    service = response * 0.9
    frames["spectrum"] = pd.concat([spectrum_of(response, "response"), spectrum_of(service, "service")])
    n = len(response)
    frames["summary"] = pd.DataFrame(
        [{"offered_rps": 12_600.0, "achieved_rps": 12_599.0, "scheduled": n, "completed": n, "censored": 0}]
    )
    rows = []
    for kind, times in (("response", response), ("service", service)):
        for p, us in zip(PERCENTILES, np.quantile(times, PERCENTILES).tolist(), strict=True):
            row = {"kind": kind, "percentile": p, "value_us": us, "low_us": us * 0.98, "high_us": us * 1.02}
            rows.append({**row, "samples_beyond": int(n * (1 - p)), "at_least": False, "most_us": us})
    frames["percentiles"] = pd.DataFrame(rows)
    intervals = []
    for second, part in enumerate(np.array_split(response, seconds)):
        if len(part):
            p50, p90, p99, p999 = np.quantile(part, [0.5, 0.9, 0.99, 0.999])
            intervals.append(
                {"t_s": float(second), "kind": "response", "count": len(part), "p50_us": p50, "p90_us": p90}
                | {"p99_us": p99, "p999_us": p999, "max_us": part.max(), "errors": 0, "completed": len(part)}
            )
    frames["intervals"] = pd.DataFrame(intervals, columns=COLUMNS["intervals"])
    return frames


def profile_frames(events: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Shares and stacks of invented profiles."""
    shares, stacks = [], []
    total = sum(CATEGORIES.values())
    for event in events:
        for name, count in CATEGORIES.items():
            part = count / total
            row = {"event": event, "category": name, "samples": count, "weight": count, "share": part}
            shares.append({**row, "low": max(0.0, part - 0.02), "high": part + 0.02})
            stacks.append({"event": event, "stack": f"java/lang/Thread.run_[j];lab/{name}.run_[j]", "count": count})
    return {"shares": pd.DataFrame(shares), "stacks": pd.DataFrame(stacks)}


def step(
    folder: Path, name: str, values: Sequence[float], *, frames: dict[str, pd.DataFrame] | None = None, **meta: Any
) -> Step:
    """A step; `meta` overrides what a clean, valid load of RocksDB's PUT says of itself."""
    base = {
        "name": name,
        "label": name,
        "role": "load",
        "engine": "rocksdb",
        "workload": "put",
        "profiled": [],
        "valid": True,
        "invalid_reasons": [],
        "saturated": False,
        "offered_rps": 12_600.0,
        "rate_basis": "given",
        "connections": 1,
        "threads": 1,
        "warmup_s": 2.0,
        "duration_s": 5.0,
        "generator": {"tool": "truepace", "version": "0.1.0", "command": ["truepace", "-R", "12600"], "exit_code": 0},
        "server": {"command": ["java", "-jar", "server.jar"], "ready": {"transport": "native"}},
    }
    made = frames_of(values) if len(values) else empty_frames()
    return Step(
        name, record_of({**base, **meta}), StepFolder(folder / "steps" / name), complete({**made, **(frames or {})})
    )


def floor(folder: Path, **meta: Any) -> Step:
    """The instrument floor of a load: fast, and the same throughout."""
    return whole(step(folder, "floor-put", [20.0] * 20_000, role="floor", engine="noop", **meta))


def whole(step: Step) -> Step:
    """With every column that a step has which was read from a folder."""
    frames = {name: step.frames.get(name, frame(name)).reindex(columns=list(EVERY[name])) for name in EVERY}
    return dataclasses.replace(step, frames=frames)


def run(folder: Path, steps: Sequence[Step], **manifest: Any) -> Run:
    """A run of these steps."""
    base = {"run": folder.name, "experiment": "01", "title": "One connection", "size": "quick", "status": "complete"}
    return Run(RunFolder(folder), {**base, **manifest}, tuple(steps))


def times(n: int = 20_000, median_us: float = 60.0, seed: int = 1) -> list[float]:
    """Latencies with a body and a tail."""
    random = np.random.default_rng(seed)
    body = median_us * random.lognormal(0, 0.12, n)
    slow = random.random(n) < 0.002
    body[slow] += random.exponential(median_us * 30, int(slow.sum()))
    return [float(value) for value in body]
