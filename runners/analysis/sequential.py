"""Keep the error rate of a comparison that is looked at after every start, and may end at each look.

The rate is spent over the looks by the O'Brien-Fleming-type function of K. Lan and D. DeMets (1983, *Discrete
sequential boundaries for clinical trials*, Biometrika 70): 2 (1 - Phi(z(alpha/4) / sqrt(t))) for each side, with t the
share of the most starts that may be made. An early look takes a very clear difference, the last one costs almost
nothing. Boundaries come from the joint distribution of the looks by recursive integration (P. Armitage, C. McPherson
and B. Rowe, 1969, *Repeated significance tests on accumulating data*, JRSS A 132). They are those of normal
deviates; as the variance is estimated, each look takes Student's or Dunnett's critical value at the same nominal level
(C. Jennison and B. Turnbull, 2000, *Group Sequential Methods*, section 3.3), which keeps the rate as the tests
simulate. Intervals at these levels are repeated confidence intervals (the same authors, 1989, JRSS B 51): all hold at
once, whichever rule ends the measurement, so that "the same within the margin" may end it as "differs" does.

Assumed: starts are independent and alike, and the most that may be made is fixed before the first.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm

Floats = npt.NDArray[np.float64]

NODES = 801  # of the integration
WIDEST = 8.0  # standard deviations


def spent(share: float, alpha: float = 0.05) -> float:
    """The part of the error rate that is spent when this share of the starts has been made."""
    return float(4 * norm.sf(norm.isf(alpha / 4) / np.sqrt(share)))


@cache
def nominal_levels(looks: tuple[int, ...], alpha: float = 0.05) -> dict[int, float]:
    """Compute the two-sided level of each look, by its number of starts; the last look is at the most starts.

    Raises ValueError for looks that don't rise.
    """
    if not looks or looks[0] < 1 or list(looks) != sorted(set(looks)):
        raise ValueError(f"looks after {list(looks)} starts don't rise")
    levels, gone, before = dict[int, float](), 0.0, 0
    # the density of the sum of so many normal deviates, on a grid; of it, what crossed at a look is cut off
    at = np.linspace(-WIDEST, WIDEST, NODES) * np.sqrt(looks[-1])
    step = at[1] - at[0]
    density = np.zeros(NODES)
    for starts in looks:
        if before == 0:
            density = norm.pdf(at, scale=np.sqrt(starts))
        else:
            density = norm.pdf(at[:, None] - at[None, :], scale=np.sqrt(starts - before)) @ density * step
        due, scale = spent(starts / looks[-1], alpha) - gone, np.sqrt(starts)

        def beyond(bound: float, scale: float = scale) -> Floats:
            """What of each node's cell lies beyond the bound: parts of a cell, so that there is no step."""
            return np.asarray(np.clip((np.abs(at) - bound * scale) / step + 0.5, 0, 1))

        def excess(bound: float, density: Floats = density, due: float = due) -> float:
            return float((density * beyond(bound)).sum() * step) - due

        bound = float(brentq(excess, 0.0, WIDEST))
        density = density * (1 - beyond(bound))
        gone, before = gone + due, starts
        levels[starts] = float(2 * norm.sf(bound))
    return levels
