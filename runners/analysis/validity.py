"""Is a measured step valid? Decided from its frames, before anything is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from runners.readers.run import Step

#: Below this share of the offered rate, latency says how long the queue grew, not how fast the server is.
ACHIEVED_SHARE = 0.99
NOT_KEPT_UP = "the generator did not keep up with its own schedule"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reasons` is empty for a valid step. A saturated step is valid as a statement about rate, not about latency."""

    reasons: tuple[str, ...]
    saturated: bool

    @property
    def valid(self) -> bool:
        return not self.reasons


def judge(step: Step) -> Verdict:
    """The verdict on a step: what its metadata already says against it, and what its numbers say."""
    reasons = list(step.record.invalid_reasons)
    summary = step.frames.get("summary")
    if summary is None or summary.empty or not summary["completed"].iloc[0] > 0:
        return Verdict((*reasons, "no response was recorded"), saturated=False)
    row = summary.iloc[0]
    saturated = bool(row["offered_rps"] > 0 and row["achieved_rps"] < ACHIEVED_SHARE * row["offered_rps"])
    kept_up = row["kept_up"]
    if not saturated and not pd.isna(kept_up) and not bool(kept_up):
        reasons.append(NOT_KEPT_UP)
    return Verdict(tuple(reasons), saturated)
