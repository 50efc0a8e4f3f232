"""Two settings compared by request: what the sentences say of a block of interleaved trials."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from runners import words
from runners.analysis.comparison import Comparison, Form
from runners.analysis.interleaved import UNFINISHED_JIT, comparisons
from runners.analysis.interleaved import _refuse_cold as refuse_cold
from runners.analysis.intervals import Direction
from runners.analysis.quantities import QUANTITIES, Reason, Refusal, Row, absolute, signed
from runners.design.session import SHARED
from runners.readers.run import Run, Step, frame
from runners.report.comparison import lines, sentence
from runners.report.sentences import words_of
from runners.results.answer import Answer, Asked, Needed, Question, Verdict
from runners.results.checks import CheckName, Consequence, of_comparison
from runners.results.cluster import passing_weighs_more
from runners.results.comparisons import Cost, answer_of, costs_anything, difference_of, differs
from runners.results.conclusion import conclude
from runners.results.results import Results
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.report import steps

STARTS, REQUESTS, LENGTH_S = 6, 12_000, 5.0


def _start(folder: Path, number: int, medians_us: Mapping[str, float]) -> Step:
    """A start in which one schedule offers each request to one of the settings, in a random order."""
    names, count, rate_rps = list(medians_us), REQUESTS * len(medians_us), REQUESTS / LENGTH_S
    order = np.random.default_rng(number).permutation(count)
    target = np.repeat(names, REQUESTS)[order]
    each_us = [steps.times(REQUESTS, us, 2 * number + at) for at, us in enumerate(medians_us.values())]
    taken_us = np.concatenate(each_us)[order]
    requests = pd.DataFrame(
        {
            "t_s": np.arange(count) * LENGTH_S / count, "target": target, "predecessor": np.roll(target, 1),
            "response_us": taken_us, "service_us": taken_us, "fate": "completed",
        }
    )  # fmt: skip
    rates = {"offered_rps": rate_rps, "achieved_rps": rate_rps, "served": REQUESTS, "non_2xx": 0}
    frames = {"requests": requests, "targets": frame("targets", ({"target": name, **rates} for name in names))}
    about = {
        "name": "compare", "treatments": names, "primary": "p50_us", "planned_rounds": STARTS,
        "smallest_difference": 0.02,
    }  # fmt: skip
    name = f"compare-{number:02d}"
    return steps.whole(
        steps.step(folder, name, taken_us.tolist(), frames=frames, role=SHARED, round=number, interleaved=about)
    )


def _run(folder: Path, two_us: float) -> Run:
    return steps.run(folder, [_start(folder, n, {"one": 60.0, "two": two_us}) for n in range(1, STARTS + 1)])


def row(quantity: str, direction: Direction, ratio: float = 1.5, treatment: str = "new") -> Row:
    return Row(
        QUANTITIES[quantity], "old", treatment, ratio, 0.9 * ratio, 1.1 * ratio, direction, 100.0, 100.0 * ratio, 3
    )


@pytest.fixture
def block(tmp_path: Path) -> Comparison:
    (comparison,) = comparisons(_run(tmp_path, two_us=90.0))
    return comparison


@pytest.mark.parametrize(
    ("quantity", "direction", "text"),
    [
        ("p50_us", Direction.HIGHER, "New is slower than old in p50: "),
        ("p50_us", Direction.LOWER, "New is faster than old in p50: "),
        ("closed_loop_rps", Direction.HIGHER, "New is higher than old in closed-loop rate: "),
        ("cpu_us", Direction.LOWER, "New is lower than old in CPU per request: "),
        ("cpu_us", Direction.SAME, "New and old are the same in CPU per request within 2\u00a0%: "),
        ("p90_us", Direction.INCONCLUSIVE, "It is inconclusive whether new and old differ in p90: "),
    ],
)
def test_a_row_is_worded_by_its_direction(block: Comparison, quantity: str, direction: Direction, text: str) -> None:
    assert sentence(block, row(quantity, direction)).startswith(text)


@pytest.mark.parametrize(
    ("in_all", "ratio", "text"),
    [
        (Direction.HIGHER, 1.2, "; server CPU per request +20 % (+8 to +32)"),
        (Direction.INCONCLUSIVE, 1.1, "; server CPU per request +10 % (\u22121 to +21)"),
        (Direction.LOWER, 0.8, ""),
    ],
)
def test_cpu_time_of_responding_threads_is_not_reported_alone_where_that_of_all_comes_out_otherwise(
    block: Comparison, in_all: Direction, ratio: float, text: str
) -> None:
    rows = (row("cpu_us", Direction.LOWER, 0.7), row("all_cpu_us", in_all, ratio))
    of_rows = dataclasses.replace(block, rows=rows)
    said = words_of(difference_of(of_rows, rows[0])).replace("\u00a0", " ")
    assert f"against old 100 us, \u221230 % (\u221237 to \u221223){text} at " in said
    assert "; server CPU" not in words_of(difference_of(of_rows, rows[1]))


@pytest.mark.parametrize("share", [0.5 * UNFINISHED_JIT, 2 * UNFINISHED_JIT])
@pytest.mark.parametrize("cold", ["old", "new"])
def test_cpu_time_of_all_threads_is_compared_of_warm_servers_alone_and_that_of_responding_threads_always(
    share: float, cold: str
) -> None:
    cpu_us = {"old": 100.0, "new": 70.0}
    compiling_us = {cold: share * cpu_us[cold]}
    for quantity in ("cpu_us", "all_cpu_us", "background_cpu_us"):
        marked = refuse_cold(row(quantity, Direction.LOWER, 0.7), compiling_us, cpu_us)
        assert marked.decided == (quantity == "cpu_us" or share < UNFINISHED_JIT), (quantity, marked.refused)


def test_of_a_rate_that_the_generator_limited_cpu_time_leads_and_the_rate_is_at_least_that(block: Comparison) -> None:
    rate = dataclasses.replace(row("closed_loop_rps", Direction.HIGHER), at_least=frozenset({"new"}))
    rows = (rate, row("cpu_us", Direction.LOWER, 0.7))
    closed = dataclasses.replace(
        block, form=Form.SLICES, rows=rows, baseline="old", treatments=("new",), primary="closed_loop_rps", late=(1, 2)
    )  # fmt: skip
    assert closed.leading == "cpu_us" and dataclasses.replace(closed, rows=rows[1:]).leading == "closed_loop_rps"
    answer = answer_of(closed, rate, (Direction.HIGHER,))
    assert answer.verdict == Verdict.YES
    cpu, text, *_ = words_of(answer.evidence[0]).replace("\u00a0", " ").split("; ")
    assert cpu.startswith("CPU per request of new 70 us against old 100 us, \u221230 %")
    assert text.startswith(
        "closed-loop rate of new at least 150/s against old 100/s, at least 35.0 % higher (measured: 50.0 % or more"
    )
    both = dataclasses.replace(rate, at_least=frozenset({"old", "new"}), refused=(Refusal(Reason.GENERATOR_LIMITED),))
    answer = answer_of(dataclasses.replace(closed, rows=(both, rows[1])), both, (Direction.HIGHER,))
    assert answer.verdict == Verdict.INCONCLUSIVE and words_of(answer.evidence[0]).startswith("CPU")


def test_numbers_are_written_without_an_exponent_and_zero_without_a_sign() -> None:
    counts = QUANTITIES["read_write_calls"]
    assert [absolute(counts, value) for value in (1.12e-05, 1.8, 0.0)] == ["0.0000112", "1.80", "0"]
    assert [signed(value) for value in (-0.00001, 0.00001, -0.001)] == [
        "0.00\u00a0%",
        "0.00\u00a0%",
        "\u22120.10\u00a0%",
    ]
    assert (words.given_share(0.99), words.given_share(0.025)) == ("99\u00a0%", "2.5\u00a0%")
    assert (words.given_latency(10_000), words.given_latency(2.5e6)) == ("10\u00a0ms", "2.5\u00a0s")
    spans = [words.span(ends, words.percent) for ends in ((0.3333, 0.33331), (0.3, 0.4), ())]
    assert spans == ["33.3\u00a0%", "30.0\u00a0% to 40.0\u00a0%", words.UNKNOWN]


def test_the_answer_is_the_difference_in_the_median(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    assert {step.kind for step in run.steps} == {SHARED}
    (comparison,) = comparisons(run)
    row = comparison.row("p50_us")
    assert row is not None and row.direction == Direction.HIGHER and row.low < 1.5 < row.high and row.starts == 6
    assert comparison.row("p99_us") is not None
    answer = differs(("compare",), "two", "p50_us")(Results(run))
    assert answer is not None and answer.verdict == Verdict.YES and set(answer.steps) == {s.name for s in run.steps}
    (text,) = (words_of(evidence).replace("\u00a0", " ") for evidence in answer.evidence)
    assert re.search(r"of two \d\S* us against one \d\S* us, \S+ % \(.*\) at 2.400/s on each server$", text), (
        "each value says whose it is"
    )
    assert differs(("another",), "two", "p50_us")(Results(run)) is None


def test_loads_alone_are_quoted_with_their_rate_and_do_not_count(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    loads = [
        with_summary(
            steps.whole(steps.step(tmp_path, f"get-{name}", steps.times(5_000, us, 1), engine=name)),
            offered_rps=4_000.0, achieved_rps=4_000.0,
        )
        for name, us in (("one", 50.0), ("two", 45.0))
    ]  # fmt: skip
    both = dataclasses.replace(run, steps=(*run.steps, *loads))
    answer = differs(("compare",), "two", "p50_us")(Results(both))
    assert answer is not None and answer.verdict == Verdict.YES
    _, alone = words_of(answer.evidence[0]).replace("\u00a0", " ").split("; ")
    assert re.match(r"in a load of one server alone, at 4.000/s: 4.* against .*, \u221210", alone)


def test_without_a_valid_start_nothing_is_compared(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    invalid = [dataclasses.replace(step, record=replace(step.record, valid=False)) for step in run.steps]
    broken = dataclasses.replace(run, steps=tuple(invalid))
    (comparison,) = comparisons(broken)
    assert not comparison.rows and len(comparison.left_out) == STARTS


def test_a_treatment_whose_responses_fail_is_not_faster(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=30.0)
    failing = []
    for step in run.steps:
        targets = step.frames["targets"].copy()
        targets.loc[targets["target"] == "two", "non_2xx"] = round(0.58 * REQUESTS)
        failing.append(dataclasses.replace(step, frames={**step.frames, "targets": targets}))
    bad = dataclasses.replace(run, steps=tuple(failing))
    (comparison,) = comparisons(bad)
    assert comparison.failing == pytest.approx({"two": 0.58}, rel=1e-3)
    assert not any(row.decided for row in comparison.rows)
    answer = differs(("compare",), "two", "p50_us")(Results(bad))
    assert lines(comparison)[0].startswith("Responses that failed: 58")
    assert answer is not None and answer.verdict == Verdict.INCONCLUSIVE and answer.needed == Needed.SUCCESSES
    assert [check.ok for check in of_comparison(comparison) if check.about == CheckName.FAILED] == [False]


def test_a_treatment_that_fails_marks_the_answer_on_itself_and_none_on_another_treatment(tmp_path: Path) -> None:
    run = steps.run(
        tmp_path, [_start(tmp_path, n, {"one": 60.0, "two": 30.0, "three": 90.0}) for n in range(1, STARTS + 1)]
    )
    for step in run.steps:
        targets = step.frames["targets"]
        targets.loc[targets["target"] == "two", "non_2xx"] = round(0.58 * REQUESTS)
    questions = (Asked(Question(name, "?"), differs(("compare",), name, "p50_us")) for name in ("two", "three"))
    conclusion = conclude(run, {}, tuple(questions))
    verdicts = {given.question.key: given.answer.verdict for given in conclusion.answers}
    assert verdicts == {"two": Verdict.INCONCLUSIVE, "three": Verdict.YES}
    (check,) = (check for check in conclusion.checks if check.about == CheckName.FAILED and check.failed)
    assert check.consequence == Consequence.EXCLUDES and check.steps == conclusion.answers[1].answer.steps
    assert conclusion.touched(check) == (1,)


def test_a_start_that_is_left_out_is_no_step_of_the_answer(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    first, *others = run.steps
    broken = dataclasses.replace(first, record=replace(first.record, valid=False))
    answer = differs(("compare",), "two", "p50_us")(Results(dataclasses.replace(run, steps=(broken, *others))))
    assert answer is not None and answer.verdict == Verdict.YES
    assert answer.steps == tuple(step.name for step in others) and answer.count == STARTS - 1


def test_what_gains_in_a_comparison_whose_control_differs_is_no_gain_that_may_cost_something(
    block: Comparison, tmp_path: Path
) -> None:
    gain, cost = row("closed_loop_rps", Direction.HIGHER), row("cpu_us", Direction.HIGHER)
    fine = dataclasses.replace(
        block, name="fine", rows=(gain, cost), baseline="old", treatments=("new",), primary="closed_loop_rps",
        steps=("fine-01",),
    )  # fmt: skip
    control = (row("closed_loop_rps", Direction.LOWER, 0.8, "old-control"),)
    doubtful = dataclasses.replace(fine, name="doubtful", control=control, steps=("doubtful-01",))
    (check,) = (check for check in of_comparison(doubtful) if check.about == CheckName.CONTROL)
    assert check.failed and check.consequence == Consequence.EXCLUDES

    def costs(*blocks: Comparison) -> Answer:
        answer = costs_anything(_with(blocks, tmp_path))
        assert answer is not None
        return answer

    both, alone = costs(fine, doubtful), costs(doubtful)
    assert both.verdict == Verdict.YES and both.steps == ("fine-01",) and set(both.steps).isdisjoint(check.steps)
    (worst,) = (piece for piece in both.evidence if isinstance(piece, Cost))
    assert (worst.count, worst.gaining, worst.quantity.name) == (1, 1, "cpu_us")
    assert alone.verdict == Verdict.INCONCLUSIVE and alone.steps == ()


def test_of_cpu_time_that_is_not_compared_no_share_is_made(block: Comparison, tmp_path: Path) -> None:
    cpu = dataclasses.replace(row("cpu_us", Direction.HIGHER), treatment="all-new")
    less = dataclasses.replace(cpu, ratio=1.1, low=1.05, high=1.15)
    blocks = [dataclasses.replace(block, name=name, rows=(own,)) for name, own in (("get", cpu), ("put", less))]
    asked = passing_weighs_more("get", "put")
    given = asked(_with(blocks, tmp_path))
    assert given is not None and given.verdict == Verdict.YES
    refused = dataclasses.replace(cpu, refused=(Refusal(Reason.FAILED, "all-new", (0.5,)),))
    assert asked(_with((dataclasses.replace(blocks[0], rows=(refused,)), blocks[1]), tmp_path)) is None


def _with(blocks: Sequence[Comparison], folder: Path) -> Results:
    """Results of a run that measured these comparisons."""
    results = Results(steps.run(folder, []))
    results.__dict__["comparisons"] = tuple(blocks)
    return results
