"""Throughput by slices on a machine that stalls in bursts: what a comparison finds, and what it must not find.

Each start of a simulated comparison has fresh processes, whose throughput differs by chance, and one schedule of slices
in random order; while the core stalls, nobody is served. Slices, seconds and starts are those of the experiments.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from runners.analysis.intervals import Direction
from runners.analysis.treatments import Effects, Start, compare, start_from
from runners.design import cluster
from runners.design.block import Interleaved
from runners.experiments import e05_sharded_cluster
from runners.experiments import e07_ablations as ablations
from runners.tests.fixtures.queue_model import stalls

Floats = npt.NDArray[np.float64]

#: Of a process's throughput, on the logarithmic scale, from one start to the next.
BETWEEN_STARTS = 0.02
#: Some ten stalls of 1 to 12 ms each: the core stalls for about 3 % of the time.
BURSTS_A_SECOND = 0.5
#: To cut time into.
GRAIN_S = 0.001
SIMULATED = 60
PLANTED = 0.1

READS = ablations.SWITCHES["reads"].block("reads", "quick", 64)
WRITES = ablations.SWITCHES["wal"].block("wal", "quick", 64)
CHANGES = e05_sharded_cluster.compared(
    "changes", "", tuple(cluster.setting(change, 2) for change in cluster.CHANGES), "quick", 120, ()
)


def throughput(chance: np.random.Generator, rps: Floats, length_s: float, slice_s: float) -> Floats:
    """What each server reaches in its slices of a load in closed loop."""
    grains = round(slice_s / GRAIN_S)
    blocks = max(1, round(length_s / slice_s / len(rps)))
    order = np.concatenate([chance.permutation(len(rps)) for _ in range(blocks)])
    runs = np.ones(len(order) * grains)
    for begin_s, stood_s in stalls(chance, BURSTS_A_SECOND, len(runs) * GRAIN_S):
        runs[round(begin_s / GRAIN_S) : round((begin_s + stood_s) / GRAIN_S)] = 0.0
    ran = runs.reshape(len(order), grains).mean(axis=1)
    return np.array([rps[server] * ran[order == server].mean() for server in range(len(rps))])


def simulated(block: Interleaved, seed: int, planted: float = 0.0) -> Effects:
    """One comparison as a block makes it; all treatments but the baseline differ from it by what is planted."""
    chance = np.random.default_rng(seed)
    control = block.control_setting
    assert control is not None and block.shape.duration_s is not None
    names = [*(setting.name for setting in block.ordered), control.name]
    true = {name: 1_000.0 * (1.0 if name in (block.baseline, control.name) else 1.0 + planted) for name in names}
    starts = list[Start]()
    for session in block.sessions(None):
        members = [member.name for member in session.members]
        rps = np.array([true[name] for name in members]) * np.exp(chance.normal(0, BETWEEN_STARTS, len(members)))
        reached = throughput(chance, rps, block.shape.duration_s, session.slice_s)
        starts.append(start_from(dict(zip(members, reached.tolist(), strict=True)), names))
    return compare(starts, names, block.baseline, block.margin, control.name)


@pytest.mark.parametrize("block", [READS, WRITES, CHANGES], ids=["reads", "writes", "changes"])
def test_a_planted_difference_is_found_and_none_where_there_is_none(block: Interleaved) -> None:
    planted = [simulated(block, seed, -PLANTED) for seed in range(SIMULATED)]
    detected = sum(effect.direction == Direction.LOWER for comparison in planted for effect in comparison.effects)
    count = sum(len(comparison.effects) for comparison in planted)
    assert detected >= binom.ppf(0.001, count, 0.9), f"{detected} of {count}"
    middles = [effect.change.value for comparison in planted for effect in comparison.effects]
    assert float(np.median(middles)) == pytest.approx(-PLANTED, abs=0.01)

    alike = [simulated(block, seed) for seed in range(SIMULATED)]
    differ = (Direction.HIGHER, Direction.LOWER)
    false = sum(any(effect.direction in differ for effect in comparison.effects) for comparison in alike)
    assert false <= binom.ppf(0.999, SIMULATED, 0.05), "the treatments of a block share the error rate"
    called_apart = sum(comparison.control is None or not comparison.control.change.holds_zero for comparison in alike)
    assert called_apart <= binom.ppf(0.999, SIMULATED, 0.05)


def test_slices_shorter_than_a_burst_share_it_and_longer_ones_do_not() -> None:
    def spread(slice_s: float) -> float:
        chance, rps = np.random.default_rng(1), np.full(len(READS.ordered) + 1, 1_000.0)
        reached = [throughput(chance, rps, READS.shape.duration_s or 0.0, slice_s) for _ in range(SIMULATED)]
        return float(np.std([np.log(rates[1] / rates[0]) for rates in reached]))

    assert READS.slice_s < 0.1
    assert spread(READS.slice_s) < 0.5 * spread(0.1)
