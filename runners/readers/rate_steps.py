"""Cut a load whose rate changes (`-R` with several rates, `--requests-log`) into its steps, a row of figures each."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from runners.readers.columns import frame
from runners.readers.levels import rank
from runners.storage.schema import SweepRecord

#: A response that comes so long after its step's end still counts to its achieved rate.
GRACE_S = 0.01
LEVELS = {0.5: "p50_us", 0.9: "p90_us", 0.99: "p99_us", 0.999: "p999_us"}
_REFUSED = 400  # from this status on


def rate_steps_frame(requests: pd.DataFrame, stalls: pd.DataFrame, sweep: SweepRecord) -> pd.DataFrame:
    """Give the `rate_steps` frame. The rests between the steps are left out.

    `requests`: a row a request with `t_s`, `response_us`, `fate` and `status` (see readers.requests_log); `stalls`:
    what the witness saw, with `t_s` and `duration_ms`, by the same clock. A request without a response took longer than
    any with one.
    """
    requests = requests.sort_values("t_s", kind="stable")
    at_s = requests["t_s"].to_numpy(float)
    completed = (requests["fate"] == "completed").to_numpy()
    lost = (requests["fate"] == "failed").to_numpy() | (completed & (requests["status"] >= _REFUSED).to_numpy())
    response_us = np.where(completed, requests["response_us"].to_numpy(float), math.inf)
    began_s = stalls["t_s"].to_numpy(float)
    ended_s = began_s + stalls["duration_ms"].to_numpy(float) / 1000
    rows = []
    for index, rps in enumerate(sweep.rates):
        begin = index * (sweep.step_s + sweep.rest_s)
        end = begin + sweep.step_s
        mine = slice(*np.searchsorted(at_s, [begin, end]))
        if mine.start == mine.stop:
            continue
        values = np.sort(response_us[mine])
        stood_s = float(np.clip(np.minimum(ended_s, end) - np.maximum(began_s, begin), 0, None).sum())
        rows.append(
            {
                "t_s": begin,
                "length_s": sweep.step_s,
                "offered_rps": rps,
                "requests": len(values),
                "achieved": float((at_s[mine] + response_us[mine] / 1e6 <= end + GRACE_S).mean()),
                "lost": float(lost[mine].mean()),
                "stalled": stood_s / sweep.step_s,
                **{name: float(values[rank(len(values), level) - 1]) for level, name in LEVELS.items()},
            }
        )
    return frame("rate_steps", rows)
