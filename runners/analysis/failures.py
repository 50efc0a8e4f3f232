"""Count the responses that failed, and estimate by how much more of one side failed than of the other.

A request failed that had no response, or one with a status of 400 and above; a 404 did not where the workload asks for
keys that are not there. What had no response when the load ended, or was never sent, says nothing of the server.

The difference of two shares has the wider of two intervals: Student's over starts, for errors come in bursts, and
Newcombe's for all requests together, which knows that no error among few requests says little (R. G. Newcombe, 1998,
*Interval estimation for the difference between independent proportions*, Statistics in Medicine 17, method 10).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from runners.analysis.counts import failures
from runners.analysis.intervals import Bounded, difference, expected_hits, student_reach
from runners.design.load import HALF_ABSENT
from runners.design.objective import MOST_FAILED
from runners.readers.run import Step
from runners.readers.stacks import wilson

#: Requests that ended, and those of them that failed.
Counts = tuple[int, int]


def of_step(step: Step) -> Counts:
    """Count a load on one server."""
    counted = failures(step)
    return int(counted.requests), int(counted.failed)


def of_targets(step: Step, names: Sequence[str]) -> dict[str, Counts]:
    """Count a load that several servers shared, by the name of each server that was in it."""
    fates = step.frames["requests"].groupby("target", observed=True)["fate"].value_counts()
    counts_of = {}
    for row in step.frames["targets"].fillna({"non_2xx": 0, "completed": 0}).to_dict("records"):
        if (name := row["target"]) in names:
            completed, without = (int(fates.get((name, fate), 0)) for fate in ("completed", "failed"))
            completed, refused = completed if len(fates) else int(row["completed"]), int(row["non_2xx"])
            if step.workload == HALF_ABSENT:  # by chance, half of its keys are absent
                refused = max(0, refused - int(expected_hits(completed, 2).high))
            counts_of[name] = completed + without, refused + without
    return counts_of


def share(counts: Sequence[Counts]) -> float:
    """Return the share of all requests that failed; 0 without any."""
    ended, failed = _total(counts)
    return failed / ended if ended else 0.0


def _total(counts: Sequence[Counts]) -> Counts:
    return sum(ended for ended, _ in counts), sum(failed for _, failed in counts)


def failing(failed: Mapping[str, Sequence[Counts]]) -> dict[str, float]:
    """Return the sides of which too many responses failed for anything else to be compared, and their shares."""
    shares = {name: share(counts) for name, counts in failed.items()}
    return {name: failed_share for name, failed_share in shares.items() if failed_share > MOST_FAILED}


def more(treatment: Sequence[Counts], baseline: Sequence[Counts], *, paired: bool) -> Bounded:
    """Estimate by how much more of the requests to a treatment failed than of those to the baseline, as a share of 1.

    Each side has the counts of its starts, or runs; `paired`: in the same order, and what disturbs a start disturbs
    both sides. NaN where no request ended on a side.
    """
    if paired:
        pairs = [pair for pair in zip(treatment, baseline, strict=True) if all(ended for ended, _ in pair)]
        treatment, baseline = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    sides = [[counts for counts in side if counts[0]] for side in (treatment, baseline)]
    if not all(sides):
        return Bounded(math.nan)
    pooled = difference(*map(_proportion, sides))
    shares = [np.array([failed / ended for ended, failed in side]) for side in sides]
    if (fewest := min(map(len, shares))) < 2:
        return pooled
    apart = [shares[0] - shares[1]] if paired else shares
    reach = student_reach(sum(float(values.var(ddof=1)) / len(values) for values in apart), fewest - 1)
    return Bounded(pooled.value, min(pooled.low, pooled.value - reach), max(pooled.high, pooled.value + reach))


def _proportion(counts: Sequence[Counts]) -> Bounded:
    ended, failed = _total(counts)
    return Bounded(failed / ended, *wilson(failed / ended, ended))
