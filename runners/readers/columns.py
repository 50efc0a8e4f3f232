"""The columns of every frame of a step, in one place, so that an empty frame has the same form as a full one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from pandas.api.types import pandas_dtype

TEXT, NUMBER, COUNT, FLAG = "str", "float64", "int64", "boolean"
SHORT = "float32"  # of what there is a row a request

SUMMARY = {
    "offered_rps": NUMBER,
    "achieved_rps": NUMBER,
    "elapsed_s": NUMBER,
    "scheduled": NUMBER,
    "sent": NUMBER,
    "completed": NUMBER,
    "censored": NUMBER,
    "unsent": NUMBER,
    "non_2xx": NUMBER,
    "connect_errors": NUMBER,
    "read_errors": NUMBER,
    "write_errors": NUMBER,
    "timeouts": NUMBER,
    "parse_errors": NUMBER,
    "bytes_read": NUMBER,
    "kept_up": FLAG,
    "kept_up_to": NUMBER,
    "lag_max_us": NUMBER,
    "lag_p99_us": NUMBER,
    "generator_cpu_s": NUMBER,
    "receive_clock": TEXT,
    "coalesce_us": NUMBER,
    "held": NUMBER,
}

COLUMNS: dict[str, dict[str, str]] = {
    "summary": SUMMARY,
    "status": {"code": TEXT, "count": COUNT},
    "spectrum": {"kind": TEXT, "value_us": NUMBER, "percentile": NUMBER, "total_count": NUMBER},
    "percentiles": {
        "kind": TEXT,
        "percentile": NUMBER,
        "value_us": NUMBER,
        "low_us": NUMBER,
        "high_us": NUMBER,
        "samples_beyond": NUMBER,
        "at_least": FLAG,
        "most_us": NUMBER,
    },
    "intervals": {
        "t_s": NUMBER,
        "kind": TEXT,
        "count": NUMBER,
        "p50_us": NUMBER,
        "p90_us": NUMBER,
        "p99_us": NUMBER,
        "p999_us": NUMBER,
        "max_us": NUMBER,
        "errors": NUMBER,
        "completed": NUMBER,
    },
    "histograms": {"t_s": NUMBER, "kind": TEXT, "value_us": NUMBER, "count": COUNT},
    "shares": {
        "event": TEXT,
        "category": TEXT,
        "samples": NUMBER,
        "weight": NUMBER,
        "share": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
    },
    "frames": {
        "event": TEXT,
        "frame": TEXT,
        "samples": NUMBER,
        "share": NUMBER,
        "self_share": NUMBER,
        "low": NUMBER,
        "high": NUMBER,
    },
    "stacks": {"event": TEXT, "stack": TEXT, "count": NUMBER},
    "pauses": {"t_s": NUMBER, "duration_ms": NUMBER, "kind": TEXT, "cause": TEXT},
    "slices": {"t_s": NUMBER, "us": NUMBER, "count": NUMBER},
    "events": {"t_s": NUMBER, "duration_ms": NUMBER, "kind": TEXT, "what": TEXT, "bytes": NUMBER},
    "activity": {"t_s": NUMBER, "length_s": NUMBER, "kind": TEXT, "busy_ms": NUMBER},
    "stalls": {"cpu": COUNT, "t_s": NUMBER, "duration_ms": NUMBER},
    "targets": {
        "target": TEXT,
        "offered_rps": NUMBER,
        "achieved_rps": NUMBER,
        "scheduled": NUMBER,
        "completed": NUMBER,
        "served": NUMBER,
        "non_2xx": NUMBER,
    },
    "rate_steps": {
        "t_s": NUMBER,
        "length_s": NUMBER,
        "offered_rps": NUMBER,
        "requests": COUNT,
        "achieved": NUMBER,
        "lost": NUMBER,
        "stalled": NUMBER,
        "p50_us": NUMBER,
        "p90_us": NUMBER,
        "p99_us": NUMBER,
        "p999_us": NUMBER,
    },
    "requests": {
        "t_s": SHORT,
        "target": TEXT,
        "predecessor": TEXT,
        "response_us": SHORT,
        "service_us": SHORT,
        "fate": TEXT,
    },
    "samples": {"event": TEXT, "t_s": NUMBER, "stack": TEXT, "samples": NUMBER, "weight": NUMBER},
    "telemetry": {
        "t_s": NUMBER,
        "server_cpu_s": NUMBER,
        "generator_cpu_s": NUMBER,
        "server_rss_bytes": NUMBER,
        "steal_share": NUMBER,
        "machine_busy_share": NUMBER,
        "server_cpu_cores": NUMBER,
        "generator_cpu_cores": NUMBER,
        "foreign_cpu_cores": NUMBER,
    },
}


def frame(name: str, rows: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Rows as the frame `name`, with exactly its columns; a value that a row lacks is missing, not zero."""
    found = list(rows)
    return _typed(name, found) if found else _empty(name).copy()


def _typed(name: str, rows: list[Mapping[str, Any]]) -> pd.DataFrame:
    # each column in its type at once: DataFrame(rows).astype(columns) makes each twice
    types: dict[str, Any] = {at: pandas_dtype(of) for at, of in COLUMNS[name].items()}
    return pd.DataFrame({at: pd.array([row.get(at) for row in rows], dtype=of) for at, of in types.items()})


@functools.cache
def _empty(name: str) -> pd.DataFrame:
    """Most steps lack most frames, and giving each column its type takes milliseconds."""
    return _typed(name, [])


def complete(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """`frames` plus an empty frame for each that is not there."""
    return {name: frames[name] if name in frames else frame(name) for name in COLUMNS}
