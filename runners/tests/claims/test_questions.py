"""Questions: the verdict follows from the interval, and every experiment's questions are answered from its run."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import msgspec
import pytest

from runners.analysis.quantities import changed
from runners.claims.answers import TAIL_MARGIN, contradicted, searched, tail_by
from runners.claims.question import Answer, Asked, Evidence, Question, Verdict, answered, verdict_of
from runners.claims.verdicts import changes_with_rate
from runners.experiments.question_table import criteria
from runners.experiments.registry import EXPERIMENTS, questions_of
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.reading import read_run
from runners.tests.fixtures.ladder_run import make_ladder
from runners.tests.fixtures.references import KEPT, concluded, reference
from runners.tests.tiers import in_short


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.3, Verdict.YES),
        (-0.3, -0.1, Verdict.NO),
        (-0.1, 0.3, Verdict.INCONCLUSIVE),
        (math.nan, 0.3, Verdict.INCONCLUSIVE),
        (0.1, math.nan, Verdict.YES),
    ],
)
def test_the_verdict_is_taken_from_the_interval(low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(low, high) == verdict


def test_a_wide_ratio_is_reported_by_its_nearer_bound() -> None:
    assert changed(4.7, 0.228, 25.5) == "at least +22.8\u00a0%"
    assert changed(5_000.0, 1_442.0, 20_000.0) == "at least 1\u202f443 times the baseline"
    assert changed(0.34, -0.655, 4.2) == "+34.0\u00a0% (\u221265.5\u00a0% to +420.0\u00a0%)"
    assert changed(0.4, 0.33, 0.49).startswith("+40.0\u00a0% (+33.0")
    assert "not bounded" in changed(0.4, math.nan, math.nan)


def test_what_a_run_did_not_measure_is_inconclusive() -> None:
    asked = Asked(Question("key", "Does it help?"), lambda _: None)
    run = reference("09")
    (found,) = answered((asked,), Evidence(run, ()))
    assert found.answer.verdict == Verdict.INCONCLUSIVE and "not measured" in found.answer.effect


@pytest.mark.parametrize(
    ("cpus", "verdict"), [((0,), Verdict.INCONCLUSIVE), ((0, 1), Verdict.YES), (None, Verdict.YES)]
)
def test_parallelism_is_answered_where_a_server_of_the_run_had_the_cores(
    cpus: tuple[int, ...] | None, verdict: Verdict
) -> None:
    run = reference("09")
    first, *others = run.steps
    server = msgspec.structs.replace(first.record.server, command=("java",), cpus=cpus)
    one = dataclasses.replace(first, record=msgspec.structs.replace(first.record, server=server))
    seen = Evidence(dataclasses.replace(run, steps=(one, *others)), ())
    pool = Asked(Question("pool", "More?", cores=2), lambda _: Answer(Verdict.YES, "+150 %", "one search of both"))
    assert [each.answer.verdict for each in answered([pool], seen)] == [verdict]


def test_findings_are_looked_up_by_rule_evidence_and_step() -> None:
    one = Finding("H04", Severity.GOOD, "One.", {"acks": "2of3"}, ("a",))
    two = Finding("H04", Severity.GOOD, "Two.", {"acks": "3of3"}, ("b",))
    evidence = Evidence(reference("09"), (one, two))
    assert evidence.first("H04", acks="3of3") is two and evidence.about("H04", "a") is one
    assert evidence.first("H01") is None


def test_every_experiment_has_questions_with_keys_of_their_own() -> None:
    for asked in map(questions_of, EXPERIMENTS):
        assert 2 <= len(asked) <= 12
        assert len({each.question.key for each in asked}) == len(asked)
        assert all(each.question.text.endswith("?") for each in asked)


@pytest.mark.parametrize("number", in_short(KEPT, ("01", "05")))
def test_a_reference_answers_the_questions_of_its_experiment(number: str) -> None:
    _, conclusion, _ = concluded(number)
    assert len(conclusion.answers) == len(questions_of(number))
    for each in conclusion.answers:
        assert isinstance(each.answer, Answer) and "not measured" not in each.answer.effect, each.question.text
        assert any(letter.isdigit() for letter in each.answer.effect) or each.answer.finding is not None
        assert bool(each.answer.needed) == (each.answer.verdict == Verdict.INCONCLUSIVE), each.question.text


def test_failures_of_a_dead_node_count_the_seconds_wholly_without_it() -> None:
    """A third of the keys fails; with the seconds in which the node died or was back but unused it would be less."""
    _, conclusion, _ = concluded("05")
    found = {each.question.key: each.answer for each in conclusion.answers}
    share = found["sharded-death"].effect.partition(" of ")[0]
    assert 30 < float(share.removesuffix("\u00a0%")) < 37 and share in conclusion.answer
    assert found["copies-death"].verdict == Verdict.NO


@pytest.mark.parametrize(
    ("share", "low", "high", "p", "verdict"),
    [
        (0.4, 0.2, 0.6, 0.01, Verdict.YES),
        (0.4, 0.2, 0.6, 0.2, Verdict.INCONCLUSIVE),  # chance does as well
        (0.04, 0.0, 0.12, 0.2, Verdict.INCONCLUSIVE),  # it may be more than matters
        (0.04, 0.01, 0.08, 0.01, Verdict.NO),  # less than matters, with certainty
        (0.04, math.nan, math.nan, 0.2, Verdict.INCONCLUSIVE),  # too few spikes for an interval
        (0.0, 0.0, 0.0, 1.0, Verdict.NO),
        (math.nan, math.nan, math.nan, math.nan, Verdict.INCONCLUSIVE),  # there was no flush
    ],
)
def test_a_cause_makes_no_tail_where_its_whole_interval_is_less_than_matters(
    share: float, low: float, high: float, p: float, verdict: Verdict
) -> None:
    about = {"flush: share": share, "flush: low": low, "flush: high": high, "flush: p": p}
    found = Finding("W04", Severity.NOTE, "PUT (9 responses): no cause.", {**about}, ("put-lsm",))
    run = reference("09")
    answer = tail_by("flush", "put-lsm")(Evidence(run, (found,)))
    assert answer is not None and answer.verdict == verdict and bool(answer.needed) == (verdict == Verdict.INCONCLUSIVE)


def test_the_share_of_a_tail_that_would_matter_is_that_of_the_table() -> None:
    asked = [each for by_key in criteria().values() for each in by_key.values() if "above p99" in each.quantity]
    assert len(asked) >= 4 and {each.margin for each in asked} == {TAIL_MARGIN}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({"profiler change": -0.05}, Verdict.INCONCLUSIVE),  # the lab's own, not a request's
        ({"profiler change": -0.05, "storage change": 0.01}, Verdict.INCONCLUSIVE),  # less than matters
        ({"polling change": -0.03, "at most": 0.04}, Verdict.YES),
        ({"storage change": 0.01, "at most": 0.015}, Verdict.NO),  # no room for more
        ({"at most": 0.03}, Verdict.INCONCLUSIVE),
        ({}, Verdict.INCONCLUSIVE),
    ],
)
def test_the_work_of_a_request_changes_where_a_share_of_its_own_moves(
    evidence: dict[str, float], verdict: Verdict
) -> None:
    found = Finding("R01", Severity.NOTE, "LSM PUT, CPU samples.", {**evidence}, ("a",))
    run = reference("09")
    answer = changes_with_rate(Evidence(run, (found,)))
    assert answer is not None and answer.verdict == verdict and bool(answer.needed) == (verdict == Verdict.INCONCLUSIVE)


def test_a_published_rate_beyond_the_knee_there_is_not_one_to_keep() -> None:
    _, conclusion, _ = concluded("04")
    (answer,) = (each.answer for each in conclusion.answers if each.question.key == "rates")
    assert "of 20\u202f000/s" in answer.effect and "25\u202f000" not in answer.effect
    assert answer.verdict == Verdict.NO and "in closed loop" in answer.effect, "no rate above that of a closed loop"


def test_a_rate_step_that_contradicts_a_knee_leaves_open_only_what_it_would_change(tmp_path: Path) -> None:
    rates = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}

    def said(noop_rps: float) -> str:
        folder = make_ladder(tmp_path / f"{noop_rps:g}", rates)
        make_ladder(
            tmp_path, (1_200.0, 1_500.0), searched=False, base=base, name="rates", knee_rps=1_000.0, into=folder
        )
        own = tuple(rate * noop_rps / 2_000 for rate in rates)
        make_ladder(tmp_path, own, name="put-noop", subject="noop", knee_rps=noop_rps, into=folder)
        run = read_run(folder)
        lsm, noop = (searched(run, "put", name) for name in ("lsm", "noop"))
        assert lsm is not None and noop is not None and lsm.answer is not None and lsm.answer.known_below
        return contradicted(run, Verdict.YES, lsm, noop)

    assert write.rate(1_500.0) in said(2_000.0), "its knee may be lower than it was found"
    assert said(400.0) == "", "also at that rate it would be higher"
