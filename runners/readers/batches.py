"""Shares with intervals that know how a profile varies over time.

Samples of a profile come in bursts: a compaction, a collection, a stretch of slow requests. Bounds that treat them as
independent draws are then too narrow. So the recording is cut into batches of equal length, the share is the ratio of
two sums over batches, and its variance is that of a ratio estimator with batches as clusters (W. G. Cochran, 1977,
*Sampling Techniques*, 3rd ed., section 6.3). Batches are long against most bursts; where neighbours still vary
together, their covariance is added (W. K. Newey and K. D. West, 1987, Econometrica 55, with one lag and full weight).
Residuals add up to nothing, so neighbours seem to vary against each other by one in as many as there are batches; that
is given back (F. H. C. Marriott and J. A. Pope, 1954, Biometrika 41). The variance is turned into an effective number
of samples, lowered for the few batches it is known from (half of them, as pairs are asked whether they vary together or
not), and put into Wilson's interval in place of the number of samples (E. L. Korn and B. I. Graubard, 1998, Survey
Methodology 24), which keeps bounds within 0 and 1 and honest for small shares. It is never taken to be more than the
samples that were recorded. Weights (bytes, nanoseconds) need no further care: that a few large ones carry a share shows
in how it varies from batch to batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import norm, t

BATCHES = 20
SHORTEST_S = 0.5
FEWEST = 6

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Batches:
    """One event's weights by batch: `whole` is all of it, `of` maps each stack to its own; `samples` in all."""

    whole: Floats
    of: dict[str, Floats]
    samples: float

    def effective(self, part: Floats) -> float:
        """How many independent samples would vary as the share of `part` does from batch to batch."""
        total = float(self.whole.sum())
        share = float(part.sum()) / total
        return effective(part, self.whole, self.samples) if 0 < share < 1 else self.samples

    def variance(self, part: Floats) -> float:
        """Variance of the share of `part`, at least that of independent samples."""
        share = float(part.sum()) / float(self.whole.sum())
        return share * (1 - share) / self.effective(part)


def batches(samples: pd.DataFrame, event: str, weighted: bool) -> Batches | None:
    """The batches of one event; None when the recording is too short for them."""
    rows = samples[samples["event"] == event]
    rows = rows[rows["t_s"] >= 0]
    if rows.empty:
        return None
    length = float(rows["t_s"].max()) + 1e-9
    count = min(BATCHES, int(length / SHORTEST_S))
    if count < FEWEST:
        return None
    index = np.minimum((rows["t_s"].to_numpy(float) / length * count).astype(int), count - 1)
    weight = rows["weight" if weighted else "samples"].to_numpy(float)
    of: dict[str, Floats] = {}
    for stack, batch, value in zip(rows["stack"], index, weight, strict=True):
        of.setdefault(str(stack), np.zeros(count))[batch] += value
    whole = np.bincount(index, weight, count).astype(float)
    return Batches(whole, of, float(rows["samples"].sum())) if whole.sum() > 0 else None


def effective(part: Floats, whole: Floats, samples: float, confidence: float = 0.95) -> float:
    """Effective number of samples of the share part / whole, not above `samples`."""
    count, total = len(whole), float(whole.sum())
    share = float(part.sum()) / total
    residual = part - share * whole
    alone = float((residual**2).sum())
    together = max(0.0, float((residual[1:] * residual[:-1]).sum()) + alone / count)
    variance = count / (count - 1) * (alone + 2 * together) / total**2
    if variance <= 0:
        return samples
    tail = 0.5 + confidence / 2
    known = (float(norm.ppf(tail)) / float(t.ppf(tail, count // 2))) ** 2
    found = share * (1 - share) / variance * known
    return min(samples, found) if math.isfinite(found) else samples
