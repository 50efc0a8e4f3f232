"""Write a comparison's treatment as other tools keep benchmarks: Bencher's metric format, github-action-benchmark's.

Each value is the geometric mean over fresh starts, with Student's 95 % interval of its logarithm.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
from scipy.stats import t

from runners.analysis.comparison import Quantity
from runners.analysis.interleaved import ALPHA
from runners.analysis.intervals import Bounded
from runners.claims.interleaved import QUANTITIES, Comparison


def bencher(found: Comparison, benchmark: str) -> str:
    """Bencher's metric format: `{benchmark: {measure: {value, lower_value, upper_value}}}`."""
    measures = {}
    for quantity, value in _levels(found):
        bounds = {"lower_value": value.low, "upper_value": value.high} if value.bounded else {}
        measures[quantity.name] = {"value": value.value, **bounds}
    return json.dumps({benchmark: measures}, indent=1, allow_nan=False)


def benchmark_action(found: Comparison, benchmark: str) -> str:
    """github-action-benchmark's `customSmallerIsBetter`: a list of names, units, values and ranges.

    Throughput, of which more is better, is left out: the format holds one direction.
    """
    entries = [
        {
            "name": f"{benchmark} {quantity.label}",
            "unit": quantity.unit,
            "value": value.value,
            **({"range": f"{value.low:.4g} to {value.high:.4g}"} if value.bounded else {}),
        }
        for quantity, value in _levels(found)
        if quantity.lower_is_better
    ]
    return json.dumps(entries, indent=1, allow_nan=False)


#: By the name that `--format` takes.
FORMATS = {"bencher": bencher, "benchmark-action": benchmark_action}


def _levels(found: Comparison) -> Iterator[tuple[Quantity, Bounded]]:
    for (name, treatment), values in found.values.items():
        if treatment in found.treatments and all(0 < value < math.inf for value in values):
            logs = np.log(values)
            count, mean = len(logs), float(logs.mean())
            half = math.nan
            if count > 1:
                half = float(t.ppf(1 - ALPHA / 2, count - 1) * logs.std(ddof=1) / math.sqrt(count))
            yield QUANTITIES[name], Bounded(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
