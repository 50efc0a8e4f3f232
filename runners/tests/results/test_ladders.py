"""Knees of invented runs and of the kept references: none above what met, what a longer step missed, or a closed loop
reached.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.analysis.knee import Kind, Knee, Limit
from runners.analysis.rate_steps import ERRORS, StepOutcome
from runners.design.experiment import validate
from runners.design.ladder import KneeSearch
from runners.design.ladder import Ladder as RateLadder
from runners.design.objective import Objective
from runners.experiments.references import readme_findings
from runners.experiments.registry import EXPERIMENTS
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report.fixed_rate import published_section
from runners.report.ladder import search_table, title
from runners.report.sentences import evidence_of
from runners.report.validity import check_words
from runners.results.answer import Bound, Verdict
from runners.results.checks import Consequence, checks
from runners.results.knees import knees_apart, longer_queue
from runners.results.ladders import Ladder, between, ladders, missed_above
from runners.results.profiles import polling_halves
from runners.results.results import Results
from runners.tests.fixtures.ladder_run import make_ladder
from runners.tests.fixtures.references import concluded, reference
from runners.tests.tiers import LONG, in_short

RATES = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)
BASE = {"what": "knee", "rps": 2_000.0}
SEARCHED = ["03", "04", "05", "06"]
#: In the short form one on whose knees longer steps bear, and one in which a closed loop does.
FEW = ("05", "06")


def searches(run: Run) -> dict[str, Ladder]:
    """The searches of a run, by name."""
    return {ladder.name: ladder for ladder in ladders(run) if ladder.search is not None}


def kept(number: str) -> dict[str, Ladder]:
    """The searches of a kept reference, by name; they are worked out once."""
    return {ladder.name: ladder for ladder in concluded(number).results.ladders if ladder.search is not None}


def knee_of(run: Run, name: str) -> Knee:
    knee = searches(run)[name].knee
    assert knee is not None
    return knee


def test_a_search_shows_a_knee_and_what_the_steps_just_above_it_missed(tmp_path: Path) -> None:
    (ladder,) = ladders(read_run(make_ladder(tmp_path, RATES)))
    assert ladder.knee is not None and ladder.knee.kind == Kind.FOUND
    assert ladder.knee.low_rps <= 2_020 <= ladder.knee.high_rps
    kinds, count = missed_above(ladder)
    assert count and kinds["achieved"] == count


@pytest.fixture(scope="module")
def contradicted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two servers with knees near 2 000/s and 1 000/s; of the first a longer step at 1 500/s missed."""
    root = tmp_path_factory.mktemp("contradicted")
    folder = make_ladder(root, RATES)
    make_ladder(
        root, (1_200.0, 1_500.0), searched=False, base=BASE, name="put-lsm-rates", knee_rps=1_300.0, into=folder
    )
    own = tuple(rate_rps / 2 for rate_rps in RATES)
    make_ladder(root, own, name="put-noop", subject="noop", knee_rps=1_000.0, into=folder)
    return read_run(folder)


def test_a_knee_below_whose_interval_a_longer_step_missed_is_at_most_that_rate(contradicted: Run) -> None:
    knee = knee_of(contradicted, "put-lsm")
    assert knee.kind == Kind.BELOW and knee.high_rps == knee.repeated_rps == knee.quoted_rps == 1_500
    assert knee.limit == Limit.LONGER_STEP and not knee.confirmed
    (check,) = (
        check for check in checks(Results(contradicted)) if check.about == "rates offered again agree with the knee"
    )
    assert check.failed and check.consequence == Consequence.BOUNDS
    assert "1\u202f500/s" in check_words(check) and "rate-step-put-lsm-rates-002" in check.steps


def test_a_bound_from_above_leaves_a_ratio_open_below(contradicted: Run) -> None:
    first, second = (searches(contradicted)[name] for name in ("put-lsm", "put-noop"))
    apart, inverse = between(contradicted, first, second), between(contradicted, second, first)
    assert apart is not None and apart.low == 0 and 1.3 < apart.high < 1.9
    assert inverse is not None and inverse.high == float("inf") and 0.5 < inverse.low < 0.8
    assert first.knee is not None and second.knee is not None
    assert apart.high == first.knee.high_rps / second.knee.low_rps, "as a reader works it out from what is quoted"
    answer = knees_apart("put", "lsm", "noop")(Results(contradicted))
    assert answer is not None and answer.verdict == Verdict.INCONCLUSIVE
    said = evidence_of(answer)
    assert "at most 1\u202f500/s" in said


def test_a_rate_whose_requests_were_refused_is_missed_and_never_stands_under_no_errors(tmp_path: Path) -> None:
    folder = make_ladder(tmp_path, RATES)
    make_ladder(
        tmp_path, (1_000.0, 4_000.0), searched=False, name="queue-array-16", subject="queue-array-16", refused=380,
        into=folder,
    )  # fmt: skip
    by_name = {ladder.name: ladder for ladder in ladders(read_run(folder))}
    met, refused = by_name["queue-array-16"].points
    assert met.outcome == StepOutcome.MET and refused.outcome == StepOutcome.MISSED
    assert refused.missed == (ERRORS,)
    table = search_table(list(by_name.values()))
    assert table.rows[-1][-1] == "rate kept: 1\u202f000/s, not 4\u202f000/s"
    alone = search_table([by_name["queue-array-16"]]).caption
    assert "no errors" not in alone and "errors up to 0.1\u00a0%" in alone


@pytest.mark.parametrize(
    ("refused", "verdict"), [((380, 60), Verdict.YES), ((380, 375), Verdict.NO), ((380, 0), Verdict.INCONCLUSIVE)]
)
def test_queues_are_compared_where_more_was_offered_than_fits(
    refused: tuple[int, int], verdict: Verdict, tmp_path: Path
) -> None:
    folder = None
    for length, count in zip((16, 32), refused, strict=True):
        name = f"queue-array-{length}"
        knee_rps = 2_000.0 if count else 9_000.0
        folder = make_ladder(
            tmp_path, (1_000.0, 4_000.0), searched=False, name=name, subject=name, refused=count, knee_rps=knee_rps,
            into=folder,
        )  # fmt: skip
    assert folder is not None
    answer = longer_queue(Results(read_run(folder)))
    assert answer is not None and answer.verdict == verdict


def test_probes_of_a_late_generator_are_counted_and_bound_the_knees(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (1_000.0, 1_800.0, 1_900.0, 1_900.0), late=(1_900.0,)))
    (check,) = (check for check in checks(Results(run)) if check.about == "generator on time in the probes of ladders")
    (measure,) = check.measures
    assert check.failed and check.consequence == Consequence.BOUNDS and measure.bound == Bound.EXACT
    assert measure.other is not None and (measure.value, measure.other.value) == (2, 4)
    assert "2 of 4" in check_words(check)


@pytest.mark.parametrize("number", in_short(SEARCHED, FEW))
def test_a_knee_of_a_kept_reference_lies_below_what_refuted_it(number: str) -> None:
    refuted = {ladder.known.refuting: ladder.knee for ladder in kept(number).values() if ladder.known}
    for rate_step, knee in refuted.items():
        if rate_step is not None and knee is not None:
            assert not knee.rps > rate_step.rps and not knee.low_rps > rate_step.rps
            assert knee.kind != Kind.BELOW or knee.high_rps <= rate_step.rps / rate_step.busy


@pytest.mark.parametrize("number", in_short(SEARCHED, FEW))
def test_no_knee_of_a_kept_reference_lies_above_a_closed_loop_or_above_all_that_met(number: str) -> None:
    searched = kept(number).values()
    assert searched
    for ladder in searched:
        knee, met = ladder.knee, ladder.outcomes[0]
        assert knee is not None and knee.closed_loop_rps == ladder.closed_loop_rps
        assert not knee.rps > ladder.closed_loop_rps and not knee.low_rps > ladder.closed_loop_rps
        assert not knee.rps > max(met)


def test_a_knee_above_a_closed_loop_is_at_most_that_and_what_differs_is_said() -> None:
    searched = [ladder for number in (SEARCHED if LONG else FEW) for ladder in kept(number).values()]
    limited = [ladder for ladder in searched if ladder.knee is not None and ladder.knee.limit == Limit.CLOSED_LOOP]
    assert limited and all(ladder.knee.high_rps == ladder.closed_loop_rps for ladder in limited if ladder.knee)
    for ladder in limited:
        if ladder.knee is not None and ladder.knee.kind == Kind.BELOW:
            assert "at most" in title(ladder) and ("JIT compilation" in title(ladder)) == ladder.compiling


def test_a_higher_rate_than_the_knee_that_was_met_for_a_shorter_time_is_said_to_confirm_nothing() -> None:
    kept = searches(reference("05"))
    titles = {name: re.sub(r"[\u00a0\u202f]", " ", title(ladder)) for name, ladder in kept.items()}
    at = r"for \d+ s at [\d ]+/s"
    assert re.search(rf"met {at}, {at} \(too short to confirm it\), objective missed {at}", titles["get-all-new"])
    assert "too short" not in titles["put-all-new"]


@pytest.mark.parametrize("number", in_short(["03", "04", "05"], ("05",)))
def test_next_to_published_rates_a_knee_is_bounded_by_what_its_search_says(number: str) -> None:
    text = published_section(concluded(number).results).text
    named = [ladder for ladder in searches(reference(number)).values() if f"{ladder.title}: " in text]
    assert named and all(f"{title(ladder)}." in text for ladder in named)


@pytest.mark.parametrize("size", ["smoke", "quick", "full"])
def test_a_pool_under_overload_has_more_connections_than_places(size: str) -> None:
    plan = EXPERIMENTS["03"]
    blocks = plan.blocks_of(validate(plan.parameters, {"size": size}))
    pools = [block for block in blocks if "queue" in block.questions]
    assert pools
    for block in pools:
        assert isinstance(block, RateLadder) and max(block.shares) >= 2
        assert block.shape.connections > int(block.name.rpartition("-")[2])


def test_a_step_that_confirms_a_knee_lasts_ten_seconds_or_ten_times_the_longest_response_allowed() -> None:
    assert Objective.parse("p99<=10ms").sustained_s == 10 and Objective.parse("p50<=10ms,p99<=3s").sustained_s == 30
    plan = EXPERIMENTS["06"]
    for size, confirm_s in (("quick", 10.0), ("full", 10.0)):
        blocks = plan.blocks_of(validate(plan.parameters, {"size": size}))
        searched = [block for block in blocks if isinstance(block, KneeSearch)]
        assert searched and {block.confirm_s for block in searched} == {confirm_s}
        assert all(block.least_minutes <= block.minutes for block in searched), "and two of them fit"


@pytest.mark.parametrize("number", in_short(SEARCHED, FEW))
def test_a_knee_is_quoted_with_its_interval_or_as_a_bound(number: str) -> None:
    quoted = [title(ladder) for ladder in kept(number).values()]
    quoted += [line for line in readme_findings().splitlines() if "knee" in line.lower()]
    for line in quoted:
        for rate in re.finditer(r"knee (?:at )?\d[\d\u202f]*/s(?P<rest>.{0,2})", line):
            assert rate["rest"] == " (", line


@pytest.mark.parametrize(
    ("waiting", "verdict"),
    [((600, 100), Verdict.YES), ((300, 600), Verdict.NO), ((600, 550), Verdict.NO), ((600, 300), Verdict.INCONCLUSIVE)],
)
def test_polling_halves_only_where_its_share_at_the_higher_rate_is_below_half_of_that_at_the_lower(
    tmp_path: Path, waiting: tuple[int, int], verdict: Verdict
) -> None:
    polling = dict(zip((1_000.0, 1_500.0), waiting, strict=True))
    run = read_run(make_ladder(tmp_path, (1_000.0, 1_500.0), searched=False, base=BASE, polling=polling))
    answer = polling_halves(Results(run))
    assert answer is not None and answer.verdict == verdict
    assert f"{waiting[0] / 10:.0f}" in evidence_of(answer) and f"{waiting[1] / 10:.0f}" in evidence_of(answer)
