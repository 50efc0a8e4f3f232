"""A gain of more connections and a pool is taken apart: rounds of closed loops, ratios within each round."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.analysis.facts import achieved_rps
from runners.experiments import e03_executor_and_selectors as e03
from runners.readers.reading import read_run
from runners.report.sections import rounds_sections
from runners.results.answer import Asked, Measure, Question, Verdict
from runners.results.checks import CheckName, Consequence
from runners.results.conclusion import conclude
from runners.results.loads import more_than, rates, times
from runners.results.results import Results
from runners.tests.execution.test_executor import Bench
from runners.tests.fixtures.fake_measurement import Server
from runners.tests.fixtures.references import answer

NONE, POOL, ONE = ("selector-one", 64, "put"), ("blocking-one", 64, "put"), ("selector-one", 1, "put")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    bench.machine.servers |= {"selector-one": Server(40_000.0), "blocking-one": Server(20_000.0)}
    return bench


def test_each_round_has_a_fresh_start_of_each_and_the_pool_and_the_connections_are_apart(bench: Bench) -> None:
    bench.session().run(e03.closed_loops("published", 64))
    rounds = e03.LOOPS["published"].starts
    launched = [server.subject for server in bench.machine.launched]
    assert len(launched) == 4 * rounds, "for PUT and for GET"
    assert all(set(launched[at : at + 4]) == {NONE[0], POOL[0]} for at in range(0, len(launched), 4))
    assert {keys for _, keys in bench.machine.filled} == {e03.SMALL_GET.filled_keys}, "PUT begins on an empty store"
    run = read_run(bench.folder)
    by_pool = times(run, POOL, NONE)
    assert by_pool is not None and by_pool[0].value == pytest.approx(0.5, rel=0.01)
    given = more_than("by the pool", POOL, NONE, (achieved_rps, "by both", POOL, ONE))(Results(run))
    assert given is not None and given.verdict == Verdict.NO and given.count == rounds
    labels = [measure.label for measure in given.evidence if isinstance(measure, Measure)]
    assert labels == ["by the pool", "by both"] and len(given.steps) == 2 * rounds
    means = rates(run)
    assert len(means) == 6, "PUT on one connection and on many, GET on one, each with a pool and without"
    assert means[NONE].value == pytest.approx(40_000, rel=0.01) and means[POOL].value == pytest.approx(20_000, rel=0.01)
    (section,) = rounds_sections(run)
    (drawn,) = section.figures
    assert drawn.anchor == given.figure and len(drawn.axes[0].patches) == len(means)


def test_the_rate_on_one_connection_is_decided_by_get_which_the_author_sent(bench: Bench) -> None:
    asked = next(question for question in e03.questions() if question.question.key == "one-connection")
    bench.session().run(e03.closed_loops("published", 64))
    given = asked.answer(Results(read_run(bench.folder)))
    assert given is not None and given.verdict == Verdict.YES
    get, put = given.evidence
    assert isinstance(get, Measure) and get.label.startswith("GET") and get.value == pytest.approx(0.5, rel=0.01)
    assert isinstance(put, Measure) and put.label.startswith("PUT") and put.value == pytest.approx(0.5, rel=0.01)


def test_a_run_that_measured_puts_alone_still_answers_for_one_connection() -> None:
    (put,) = answer("03", "one-connection").evidence[-1:]
    assert isinstance(put, Measure) and put.label.startswith("PUT") and put.high < 1


def test_a_run_without_such_loops_says_nothing(bench: Bench) -> None:
    run = read_run(bench.folder)
    assert more_than("by the pool", POOL, NONE)(Results(run)) is None and not list(rounds_sections(run))


@pytest.mark.parametrize(("share", "rounds"), [(0.0, 0), (0.0009, 0), (0.0011, 1)])
def test_a_loop_whose_responses_failed_is_of_no_round(bench: Bench, share: float, rounds: int) -> None:
    bench.session().run(e03.closed_loops("published", 64))
    run, starts = read_run(bench.folder), e03.LOOPS["published"].starts
    loop = next(step for step in run.steps if step.name == "closed-put-64-blocking-one-r1")
    summary = loop.frames["summary"]
    loop.frames["summary"] = summary.assign(timeouts=share * summary["completed"])
    left = times(run, POOL, NONE)
    assert left is not None and len(left[1]) == 2 * (starts - rounds)
    asked = more_than("by the pool", POOL, NONE)
    conclusion = conclude(run, {}, (Asked(Question("pool", "More?"), asked),))
    failing = [check for check in conclusion.checks if check.about == CheckName.FAILED and check.failed]
    assert [check.steps for check in failing] == [(loop.name,)] * bool(share)
    assert [check.consequence == Consequence.EXCLUDES for check in failing] == [bool(rounds)] * bool(share)
    assert [conclusion.touched(check) for check in failing] == [() if rounds else (1,)] * bool(share)
