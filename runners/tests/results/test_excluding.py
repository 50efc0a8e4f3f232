"""What a failed check excludes decides nothing: no verdict rests on it, in kept references and in runs made here."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from runners.analysis.steady_state import steadiness
from runners.design.objective import MOST_FAILED
from runners.readers.run import Run, Step
from runners.report.validity import check_words, failed_checks, marks_of
from runners.results import published
from runners.results.answer import Answering, Asked, Question, Verdict
from runners.results.checks import Check, CheckName, Consequence, checks
from runners.results.conclusion import Conclusion, conclude
from runners.results.loads import medians_apart, servers_apart
from runners.results.results import Results
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.fixtures.references import KEPT, concluded
from runners.tests.report import steps
from runners.tests.tiers import in_short

SECONDS, REQUESTS = 20, 40_000


def load(
    folder: Path, engine: str, median_us: float, drift: float = 0.0, *, failed: int = 0, workload: str = "put"
) -> Step:
    """A load whose response times grow by the share `drift`, and of whose responses `failed` have an error status."""
    random = np.random.default_rng(len(engine))
    values = median_us * random.lognormal(0, 0.1, REQUESTS) * np.linspace(1, 1 + drift, REQUESTS)
    frames = {"intervals": steps.frames_of(list(values), SECONDS)["intervals"]}
    name = f"{workload}-{engine}"
    made = steps.whole(steps.step(folder, name, list(values), frames=frames, engine=engine, workload=workload))
    return with_summary(made, non_2xx=float(failed))


def asked(run: Run, *answerings: Answering) -> Conclusion:
    questions = (Asked(Question(f"key-{place}", "Is it so?"), given) for place, given in enumerate(answerings))
    return conclude(run, {}, tuple(questions))


def of_name(conclusion: Conclusion, name: CheckName) -> list[Check]:
    return [check for check in conclusion.checks if check.about == name]


def decided_by_what_is_excluded(conclusion: Conclusion) -> list[tuple[str, str]]:
    """(Check, question) of each answer yes or no that a failed check touches which excludes its steps."""
    excluding = [check for check in conclusion.checks if check.failed and check.consequence == Consequence.EXCLUDES]
    touched = ((check, conclusion.answers[number - 1]) for check in excluding for number in conclusion.touched(check))
    return [
        (check.about, given.question.key) for check, given in touched if given.answer.verdict != Verdict.INCONCLUSIVE
    ]


@pytest.mark.parametrize("number", in_short(KEPT, ("00", "01", "04", "07")))
def test_no_decided_answer_of_a_reference_is_touched_by_what_excludes_its_steps(number: str) -> None:
    """In all four that run by default such a check failed, on steps on which some answers rest in three of them."""
    assert decided_by_what_is_excluded(concluded(number)) == []


def test_the_texts_are_of_all_checks_that_can_fail_and_of_no_other() -> None:
    for name in CheckName:
        if name != CheckName.CPU_GROUPS:  # servers without such groups are only named
            assert check_words(Check(name, False)).endswith("."), name


@pytest.mark.parametrize(("drift", "verdict"), [(0.0, Verdict.YES), (0.5, Verdict.INCONCLUSIVE)])
def test_medians_of_loads_that_never_became_steady_are_not_apart(
    drift: float, verdict: Verdict, tmp_path: Path
) -> None:
    pair = [load(tmp_path, "one", 60.0), load(tmp_path, "two", 120.0, drift)]
    assert steadiness(pair[1]).steady is not bool(drift)
    conclusion = asked(steps.run(tmp_path, pair), medians_apart(("put",), "one", "two"), servers_apart)
    assert [given.answer.verdict for given in conclusion.answers] == [verdict] * 2
    (check,) = of_name(conclusion, CheckName.STEADY)
    assert check.consequence == Consequence.EXCLUDES and check.steps == (("put-two",) if drift else ())
    assert conclusion.touched(check) == ((1, 2) if drift else ())
    assert decided_by_what_is_excluded(conclusion) == []
    assert len(marks_of(1, conclusion)) == bool(drift)


def test_medians_that_are_alike_are_never_no_and_one_server_is_not_compared(tmp_path: Path) -> None:
    alike = Results(steps.run(tmp_path, [load(tmp_path, "one", 60.0), load(tmp_path, "two", 60.0)]))
    given = servers_apart(alike)
    assert given is not None and given.verdict == Verdict.INCONCLUSIVE and given.count == 2
    single = Results(steps.run(tmp_path, [load(tmp_path, "one", 60.0)]))
    assert servers_apart(single) is None and medians_apart(("put",), "one", "two")(single) is None


def test_both_workloads_have_to_be_apart_and_one_that_is_not_steady_leaves_the_whole_open(tmp_path: Path) -> None:
    puts = [load(tmp_path, "one", 60.0), load(tmp_path, "two", 120.0)]
    gets = [load(tmp_path, "one", 60.0, workload="get"), load(tmp_path, "two", 120.0, 0.5, workload="get")]
    given = medians_apart(("put", "get"), "one", "two")(Results(steps.run(tmp_path, [*puts, *gets])))
    assert given is not None and given.verdict == Verdict.INCONCLUSIVE and given.count == 4
    given = medians_apart(("put",), "one", "two")(Results(steps.run(tmp_path, [*puts, *gets])))
    assert given is not None and given.verdict == Verdict.YES and given.count == 2


def test_of_three_servers_the_answer_rests_on_those_that_are_apart_and_is_not_touched_by_the_third(
    tmp_path: Path,
) -> None:
    three = [load(tmp_path, "one", 60.0), load(tmp_path, "two", 120.0, 0.5), load(tmp_path, "three", 200.0)]
    conclusion = asked(steps.run(tmp_path, three), servers_apart)
    (given,) = conclusion.answers
    assert given.answer.verdict == Verdict.YES and given.answer.steps == ("put-one", "put-three")
    assert given.answer.count == 2 and len(given.answer.evidence) == 2, "the third is shown"
    assert decided_by_what_is_excluded(conclusion) == []
    assert any("never became steady" in text and "No answer uses" in text for text in failed_checks(conclusion))


FEW, MANY = round(MOST_FAILED * REQUESTS), round(MOST_FAILED * REQUESTS) + 1


@pytest.mark.parametrize(
    ("failed", "consequences"),
    [
        ((0, 0), {Consequence.NOTES: ()}),
        ((1, 0), {Consequence.NOTES: ("put-one",)}),
        ((FEW, 0), {Consequence.NOTES: ("put-one",)}),
        ((MANY, 1), {Consequence.EXCLUDES: ("put-one",), Consequence.NOTES: ("put-two",)}),
        ((MANY, 0), {Consequence.EXCLUDES: ("put-one",), Consequence.NOTES: ()}),
        ((MANY, MANY), {Consequence.EXCLUDES: ("put-one", "put-two")}),
    ],
)
def test_failed_responses_exclude_a_load_above_one_of_a_thousand_and_are_noted_below(
    failed: tuple[int, int], consequences: dict[Consequence, tuple[str, ...]], tmp_path: Path
) -> None:
    pair = [load(tmp_path, "one", 60.0, failed=failed[0]), load(tmp_path, "two", 120.0, failed=failed[1])]
    conclusion = asked(steps.run(tmp_path, pair), servers_apart)
    assert {check.consequence: check.steps for check in of_name(conclusion, CheckName.FAILED)} == consequences
    (given,) = conclusion.answers
    assert given.measured == (MANY not in failed), "of a load that failed no median is compared"
    assert decided_by_what_is_excluded(conclusion) == []


def test_what_a_load_whose_responses_failed_read_from_the_disk_is_not_known(tmp_path: Path) -> None:
    for failed, known in ((FEW, True), (MANY, False)):
        made = load(tmp_path, "one", 60.0, failed=failed, workload="get")
        after = replace(made.record.process_after, read_bytes=4_096)
        made = dataclasses.replace(made, record=replace(made.record, process_after=after))
        conclusion = asked(steps.run(tmp_path, [made]), published.reads_the_disk("get-one"))
        assert conclusion.answers[0].measured is known
        assert decided_by_what_is_excluded(conclusion) == []


def test_what_excludes_no_step_is_only_noted(tmp_path: Path) -> None:
    """No load is left out because its server still compiled, was faster than one that does nothing, or had no data."""
    consequences = {check.about: check.consequence for check in checks(Results(concluded("01").results.run))}
    for name in (CheckName.WARM, CheckName.FASTER, CheckName.DATA, CheckName.READABLE):
        assert consequences.get(name, Consequence.NOTES) == Consequence.NOTES
    assert {CheckName.WARM, CheckName.READABLE} <= consequences.keys()
    left = {name for name, consequence in consequences.items() if consequence == Consequence.EXCLUDES}
    excluding = {CheckName.COMPLETE, CheckName.ACHIEVED, CheckName.STEADY, CheckName.PROFILED_RATE, CheckName.CONTROL}
    assert left == excluding
