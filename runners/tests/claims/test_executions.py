"""Knees side by side: ranked, set against the published way beyond their intervals only; what a queue refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from runners.claims.answers import knees_apart
from runners.claims.conclude import conclude
from runners.claims.question import Evidence, Verdict
from runners.claims.verdicts import longer_queue
from runners.design import ladder as ladder_4
from runners.design.block import FEWEST_STARTS, Interleaved
from runners.design.experiment import validate
from runners.design.ladder import seconds_of_a_batch
from runners.design.load import SIZES, Shape
from runners.experiments.e03_executor_and_selectors import (
    EXECUTIONS,
    LADDERS,
    OVERLOAD_SHARES,
    get,
    put,
    queues,
)
from runners.experiments.registry import EXPERIMENTS
from runners.readers.published import published_names
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report import render
from runners.tests.fixtures.ladder_run import make_ladder

QUICK_S = 600.0
SHARES = (0.5, 1.0, 2.0, 1.4, 1.05, 0.95, 1.0, 1.02, 0.97, 1.03)


def _run(root: Path, knees: Mapping[str, float]) -> Run:
    folder = None
    for subject, knee in knees.items():
        rates = [round(share * knee, 1) for share in SHARES]
        folder = make_ladder(root, rates, name=f"put-{subject}", subject=subject, knee_rps=knee, into=folder)
    assert folder is not None
    return read_run(folder)


def test_the_answer_ranks_the_knees_and_says_which_lie_apart(tmp_path: Path) -> None:
    run = _run(tmp_path, {"blocking-one": 1_000.0, "selector": 2_000.0})
    conclusion = conclude(run, {})
    assert conclusion.answer.startswith("PUT over 64 connections: selector has the highest knee, ")
    assert conclusion.answer.count(".") == 1 + conclusion.answer.count("\u00a0%")  # one sentence, two percentages
    assert "; below it lies blocking-one by " in conclusion.answer
    (ranked,) = (finding for finding in conclusion.findings if finding.code == "E01")
    assert ranked.sentence.startswith("Knee of PUT over 64 connections: selector ")
    (apart,) = (finding for finding in conclusion.findings if finding.code == "E02")
    assert "selector lies above that of blocking-one" in apart.sentence
    low, high = apart.evidence["low"], apart.evidence["high"]
    assert isinstance(low, float) and isinstance(high, float) and 0 < low < 1.0 < high


def test_a_knee_many_times_as_high_is_reported_as_a_factor(tmp_path: Path) -> None:
    conclusion = conclude(_run(tmp_path, {"blocking-one": 1_000.0, "selector": 9_000.0}), {})
    (apart,) = (finding for finding in conclusion.findings if finding.code == "E02")
    assert re.search(r"the knee of selector is [\d.]+ to [\d.]+ times that of blocking-one", apart.sentence)


def test_knees_whose_intervals_meet_are_not_said_to_differ(tmp_path: Path) -> None:
    conclusion = conclude(_run(tmp_path, {"blocking-one": 1_000.0, "blocking-many": 1_004.0}), {})
    (same,) = (finding for finding in conclusion.findings if finding.code == "E02")
    assert "is inconclusive (" in same.sentence
    assert "highest knee" in conclusion.answer and "; inconclusive against it: " in conclusion.answer


def test_profiles_of_two_ways_are_drawn_side_by_side_and_their_differences_reported(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
    folder = None
    for subject, waiting in (("blocking-one", 600), ("selector", 200)):
        folder = make_ladder(
            tmp_path, (900.0, 1_400.0), searched=False, name=f"put-{subject}", subject=subject, base=base,
            polling={1_400.0: waiting}, into=folder,
        )  # fmt: skip
    assert folder is not None
    run = read_run(folder)
    conclusion = conclude(run, {})
    (apart,) = (finding for finding in conclusion.findings if finding.code == "P02")
    assert "PUT differ in CPU samples" in apart.sentence and "40.0" in apart.sentence
    assert "selector" in apart.sentence.lower()
    render(run, conclusion, {})
    assert len(list(run.folder.figures_path.glob("flame-*.png"))) == 2  # one of each treatment
    assert list(run.folder.figures_path.glob("differential-put-selector*.csv"))


def test_one_knee_alone_is_not_a_comparison(tmp_path: Path) -> None:
    conclusion = conclude(_run(tmp_path, {"selector": 1_000.0}), {})
    assert not [finding for finding in conclusion.findings if finding.code.startswith("E")]


def test_a_queue_that_is_offered_too_much_tells_its_refusals(tmp_path: Path) -> None:
    name = queues("full")[0].name
    folder = make_ladder(
        tmp_path, (800.0, 1_500.0), searched=False, name=f"put-{name}", subject=name, knee_rps=1_000.0, refused=600
    )
    (queue,) = (finding for finding in conclude(read_run(folder), {}).findings if finding.code == "E03")
    assert queue.evidence["refused"] == 0.2 and "20.0\u00a0% of its responses are refusals" in queue.sentence


def test_a_longer_queue_refuses_less_though_it_answers_no_more(tmp_path: Path) -> None:
    folder = None
    for name, refused in zip((each.name for each in queues("quick")), (600, 0, 0), strict=True):
        folder = make_ladder(
            tmp_path, (800.0, 1_500.0), searched=False, name=f"put-{name}", subject=name, knee_rps=1_000.0,
            refused=refused, into=folder,
        )  # fmt: skip
    assert folder is not None
    answer = longer_queue(Evidence(read_run(folder), ()))
    assert answer is not None and answer.verdict == Verdict.YES and "20.0\u00a0% refused" in answer.effect


def test_both_reports_show_the_knees_side_by_side(tmp_path: Path) -> None:
    run = _run(tmp_path, {"blocking-one": 1_000.0, "selector": 2_000.0})
    render(run, conclude(run, {}), {})
    for report in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        assert "Ways to run a request" in report
    assert len((run.folder.figures_path / "knees-put.csv").read_text().splitlines()) == 3


def test_the_plan_of_report_3_names_outputs_that_are_there_and_overloads() -> None:
    for size in SIZES:
        for workload in (put(size), get(size)):
            assert (
                workload.script
                and workload.script.is_file()
                and set(workload.published_rates) <= set(published_names())
            )
        for plan in (LADDERS[size], ladder_4.LADDERS[size]):
            if plan.knee_minutes:  # a search that has the time for its probes
                probe = Shape(1, 1, plan.probe_s)
                assert seconds_of_a_batch(plan.knee_minutes, probe, 100.0, 1e6) < plan.knee_minutes * 60
        asked = validate(EXPERIMENTS["03"].parameters, {"size": size})
        hand_over, *_ = EXPERIMENTS["03"].blocks_of(asked)
        assert isinstance(hand_over, Interleaved) and hand_over.starts >= FEWEST_STARTS
        assert size != "quick" or EXPERIMENTS["03"].planned_s(asked) <= QUICK_S
    assert next(iter(EXECUTIONS)) == "blocking-one" and OVERLOAD_SHARES[0] < 1 < OVERLOAD_SHARES[1]


@pytest.mark.parametrize(
    ("blocks", "basis", "needed"),
    [
        (("put", "put"), "one search of both, 3 starts", "a longer search"),
        (("put", "put-again"), "one search of each, 3 starts", "longer searches, or one search of both"),
    ],
)
def test_only_knees_of_two_searches_are_advised_to_be_searched_together(
    blocks: tuple[str, str], basis: str, needed: str, tmp_path: Path
) -> None:
    run = _run(tmp_path, {"blocking-one": 1_000.0, "blocking-many": 1_004.0})
    run = _started(run, FEWEST_STARTS, dict(zip(("blocking-one", "blocking-many"), blocks, strict=True)))
    answer = knees_apart("put", "blocking-many", "blocking-one")(Evidence(run, ()))
    assert answer is not None and answer.verdict == Verdict.INCONCLUSIVE
    assert (answer.confidence, answer.needed) == (basis, needed)


@pytest.mark.parametrize(
    ("starts", "verdict"), [(1, Verdict.INCONCLUSIVE), (2, Verdict.INCONCLUSIVE), (3, Verdict.YES)]
)
def test_a_verdict_from_knees_takes_three_starts_of_each(starts: int, verdict: Verdict, tmp_path: Path) -> None:
    run = _started(_run(tmp_path, {"blocking-one": 1_000.0, "selector": 2_000.0}), starts, {})
    answer = knees_apart("put", "selector", "blocking-one")(Evidence(run, ()))
    assert answer is not None and answer.verdict == verdict
    assert (answer.needed == "3 starts of each") == (starts < FEWEST_STARTS)


def _started(run: Run, starts: int, blocks: Mapping[str, str]) -> Run:
    """The run as if its rate steps were of so many starts, one step after the other, and of these blocks."""
    steps = []
    for number, step in enumerate(run.steps):
        record = structs.replace(step.record, block=blocks.get(step.subject, step.record.block))
        if record.ladder is not None:
            record = structs.replace(record, ladder=structs.replace(record.ladder, start=1 + number % starts))
        steps.append(replace(step, record=record))
    return replace(run, steps=tuple(steps))
