"""How long a fill takes is estimated from what the run has seen of the store, not from what stores usually take.

A fill's server has just been started and is not warm, and so takes longer than the loop before says.
"""

from __future__ import annotations

import pytest

from runners.analysis.facts import achieved_rps, writes_rps
from runners.design.load import FILL_RPS
from runners.design.session import FILL
from runners.design.setting import STORES
from runners.experiments.e06_storage_engines import loads
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import REFERENCE, RunFolder


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    """The writes of the kept run of experiment 06, in the order in which they were taken."""
    kept = RunFolder.open(REFERENCE / "06").steps()
    writes = [read_step(folder) for folder in kept if folder.name.startswith((FILL, "probe-put"))]
    return sorted(writes, key=lambda step: step.record.ended_unix_us)


def test_every_store_fills_about_as_fast_as_it_took_the_load_before(steps: list[Step]) -> None:
    loads = [step for step in steps if step.kind != FILL]
    fills = {step.subject: achieved_rps(step) for step in steps if step.kind == FILL}
    stores = set(fills) & set(STORES)
    assert len(stores) >= 2
    for name in stores:
        took_rps, expected_rps = fills[name], writes_rps(loads, name, STORES[name].engine)
        assert expected_rps is not None and 0.2 < took_rps / expected_rps < 2, name


def test_the_slowest_that_a_store_took_writes_is_what_its_next_fill_is_expected_to_be(steps: list[Step]) -> None:
    took = [achieved_rps(step) for step in steps if step.subject == "lsm"]
    assert len(took) > 2 and writes_rps(steps, "lsm", "lsm") == min(took) < max(took)


def test_another_setting_of_an_engine_is_expected_to_fill_alike(steps: list[Step]) -> None:
    last = [achieved_rps(s) for s in steps if s.kind == FILL and s.record.engine == "rocksdb"][-1]
    assert writes_rps(steps, "rocksdb-not-run-yet", "rocksdb") == last
    assert writes_rps(steps, "none", "none") is None and writes_rps([], "lsm", "lsm") is None


def test_a_fill_takes_as_long_as_its_writes_take() -> None:
    _, workload = loads("quick")
    writes = (1 + workload.rewrites) * workload.filled_keys
    assert workload.fill_s(writes) == 1.0 and workload.fill_s() == writes / FILL_RPS
