"""A gain of more connections and a pool is taken apart: rounds of closed loops, ratios within each round."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.analysis.facts import achieved_rps
from runners.experiments import e03_executor_and_selectors as e03
from runners.readers.reading import read_run
from runners.results.answer import Measure, Verdict
from runners.results.loads import more_than, times
from runners.results.results import Results
from runners.tests.execution.test_executor import Bench
from runners.tests.fixtures.fake_measurement import Server

NONE, POOL = ("selector-one", 64), ("blocking-one", 64)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.machine.servers |= {"selector-one": Server(40_000.0), "blocking-one": Server(20_000.0)}
    return bench


def test_each_round_has_a_fresh_start_of_each_and_the_pool_and_the_connections_are_apart(bench: Bench) -> None:
    bench.session().run(e03.closed_loops("published", 64))
    rounds = e03.LOOPS["published"].starts
    launched = [each.subject for each in bench.machine.launched]
    assert len(launched) == 2 * rounds
    assert all(set(launched[at : at + 2]) == {NONE[0], POOL[0]} for at in range(0, len(launched), 2))
    run = read_run(bench.folder)
    by_pool = times(run, POOL, NONE)
    assert by_pool is not None and by_pool[0].value == pytest.approx(0.5, rel=0.01)
    answer = more_than("by the pool", POOL, NONE, ((achieved_rps, "by both", POOL, ("selector-one", 1)),))(Results(run))
    assert answer is not None and answer.verdict == Verdict.NO and answer.count == rounds
    labels = [measure.label for measure in answer.evidence if isinstance(measure, Measure)]
    assert labels == ["by the pool", "by both"] and len(answer.steps) == 2 * rounds


def test_a_run_without_such_loops_says_nothing(bench: Bench) -> None:
    assert more_than("by the pool", POOL, NONE)(Results(read_run(bench.folder))) is None
