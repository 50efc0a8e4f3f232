"""Is a latency spectrum the server's, or the generator's timer?

A generator that rounds its waits up to a timer tick sends each request late by an amount that is spread evenly over
one tick. If the server is much faster than the tick, response times are then uniform: the latency grows linearly with
the percentile, from almost nothing to about a tick, and the median is half a tick, whatever the server does.

The test fits a straight line through the spectrum up to p90 (the tail is not the timer's). It gives the line's slope,
which is the width of the uniform range, how well the line fits (R^2), and the largest deviation from it as a share of
the width, which is the Kolmogorov distance between the measured distribution and the uniform one over that range.
No p-value is given: with millions of samples every real distribution differs "significantly" from a uniform one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]

UP_TO = 0.9
FEWEST_ROWS = 8
STRAIGHT_R2 = 0.995
LARGEST_DEVIATION = 0.05
TICK_US = (700.0, 1_600.0)  # widths that a millisecond tick produces, with what wake-up and server add


@dataclass(frozen=True, slots=True)
class TimerFit:
    """A straight line through a spectrum; widths in microseconds, deviation as a share of the width."""

    width_us: float
    start_us: float
    r_squared: float
    deviation: float
    rows: int

    @property
    def uniform(self) -> bool:
        """Whether latencies are spread evenly over a range."""
        return self.rows >= FEWEST_ROWS and self.r_squared >= STRAIGHT_R2 and self.deviation <= LARGEST_DEVIATION

    @property
    def is_millisecond_timer(self) -> bool:
        """Uniform over about one millisecond, starting near zero."""
        low, high = TICK_US
        return self.uniform and low <= self.width_us <= high and abs(self.start_us) <= 0.25 * self.width_us


def fit(spectrum: pd.DataFrame) -> TimerFit | None:
    """Fit one kind of a `spectrum` frame; None when fewer than three rows lie below p90."""
    if spectrum["kind"].nunique() > 1:
        return None
    return straight_line(spectrum["percentile"].to_numpy(float), spectrum["value_us"].to_numpy(float))


def straight_line(percentiles: Sequence[float] | Floats, values_us: Sequence[float] | Floats) -> TimerFit | None:
    """Fit percentiles (0..1) and their latencies; None when fewer than three of them lie below p90."""
    x, y = np.asarray(percentiles, float), np.asarray(values_us, float)
    below = (x <= UP_TO) & np.isfinite(y)
    x, y = x[below], y[below]
    if len(x) < 3 or x[0] == x[-1]:
        return None
    middle = x - x.mean()
    slope = float(middle @ y / (middle @ middle))
    start = float(y.mean() - slope * x.mean())
    residual = y - (slope * x + start)
    total = float(((y - y.mean()) ** 2).sum())
    r_squared = 1 - float((residual**2).sum()) / total if total else math.nan
    deviation = float(np.abs(residual).max()) / slope if slope > 0 else math.inf
    return TimerFit(slope, start, r_squared, deviation, len(x))
