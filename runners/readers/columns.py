"""The columns of every frame of a step, in one place, so that an empty frame has the same form as a full one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

#: Of each frame its columns, each with its type where that is not float64. `requests` has a row a request, and so less
#: exact numbers.
_FORMS = {
    "summary": (
        "offered_rps achieved_rps elapsed_s scheduled sent completed censored unsent non_2xx connect_errors "
        "read_errors write_errors timeouts parse_errors bytes_read kept_up:boolean kept_up_to lag_max_us lag_p99_us "
        "generator_cpu_s receive_clock:str coalesce_us held"
    ),
    "status": "code:str count:int64",
    "spectrum": "kind:str value_us percentile total_count",
    "percentiles": "kind:str percentile value_us low_us high_us samples_beyond at_least:boolean most_us",
    "intervals": "t_s kind:str count p50_us p90_us p99_us p999_us max_us errors completed",
    "histograms": "t_s kind:str value_us count:int64",
    "shares": "event:str category:str samples weight share low high",
    "frames": "event:str frame:str samples share self_share low high",
    "stacks": "event:str stack:str count",
    "pauses": "t_s duration_ms kind:str cause:str",
    "slices": "t_s us count",
    "events": "t_s duration_ms kind:str what:str bytes",
    "activity": "t_s length_s kind:str busy_ms",
    "stalls": "cpu:int64 t_s duration_ms",
    "targets": "target:str offered_rps achieved_rps scheduled completed served non_2xx",
    "rate_steps": "t_s length_s offered_rps requests:int64 achieved lost stalled p50_us p90_us p99_us p999_us",
    "requests": "t_s:float32 target:str predecessor:str response_us:float32 service_us:float32 fate:str",
    "samples": "event:str t_s stack:str samples weight",
    "telemetry": (
        "t_s server_cpu_s generator_cpu_s server_rss_bytes steal_share machine_busy_share server_cpu_cores "
        "generator_cpu_cores foreign_cpu_cores"
    ),
}
COLUMNS: dict[str, dict[str, str]] = {
    name: {column: kind or "float64" for column, _, kind in (each.partition(":") for each in form.split())}
    for name, form in _FORMS.items()
}


def frame(name: str, rows: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Rows as the frame `name`, with exactly its columns; a value that a row lacks is missing, not zero."""
    found = list(rows)
    return _typed(name, found) if found else _empty(name).copy(deep=False)


def _typed(name: str, rows: list[Mapping[str, Any]]) -> pd.DataFrame:
    # each column in its type at once: DataFrame(rows).astype(columns) makes each twice
    return pd.DataFrame({at: _column([row.get(at) for row in rows], of) for at, of in _types(name).items()})


def _column(values: list[Any], of: Any) -> Any:
    # numpy takes None for NaN too, and is faster
    return np.array(values, np.float64) if of == np.float64 else pd.array(values, dtype=of)


@functools.cache
def _types(name: str) -> dict[str, Any]:
    return {at: pandas_dtype(of) for at, of in COLUMNS[name].items()}


@functools.cache
def _empty(name: str) -> pd.DataFrame:
    """Most steps lack most frames, and giving each column its type takes milliseconds."""
    return _typed(name, [])


def complete(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """`frames` plus an empty frame for each that is not there."""
    return {name: frames[name] if name in frames else frame(name) for name in COLUMNS}
