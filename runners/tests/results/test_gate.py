"""Limits of change are judged by intervals alone, the control included; the forms for other tools hold the figures."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.analysis.comparison import Comparison, Form, refuse_failing
from runners.analysis.intervals import Direction
from runners.analysis.quantities import QUANTITIES, Reason, Refusal, Row
from runners.design.objective import ChangeLimit, Outcome
from runners.report.comparison import judged, reason
from runners.report.exports import comment
from runners.results.checks import Check, CheckName, Consequence
from runners.results.limits import Judgement, exit_code
from runners.results.limits import judge as judge_all

LIMIT = ChangeLimit.parse("cpu>+3%")
THROUGHPUT = ChangeLimit.parse("throughput<-5%")


def row(quantity: str, change: float, half: float, treatment: str = "new", starts: int = 4) -> Row:
    low, high = (1 + change) * math.exp(-half), (1 + change) * math.exp(half)
    base = 100.0
    return Row(
        QUANTITIES[quantity], "old", treatment, 1 + change, low, high, Direction.INCONCLUSIVE, base,
        base * (1 + change), starts,
    )  # fmt: skip


def compared(*rows: Row, control: tuple[Row, ...] = (), **changes: Any) -> Comparison:
    values = {
        (entry.quantity.name, name): (value * 0.99, value, value * 1.01)
        for entry in rows
        for name, value in (("old", entry.baseline_value), (entry.treatment, entry.treatment_value))
    }
    failed: Mapping[str, tuple[tuple[int, int], ...]] = {"old": ((1_000, 0),) * 4, "new": ((1_000, 0),) * 4}
    whole: dict[str, Any] = {
        "name": "compare", "form": Form.REQUESTS, "baseline": "old", "treatments": ("new",), "margin": 0.02,
        "planned": 4, "starts": (1, 2, 3, 4), "rows": rows, "control": control, "cpu_groups": "equal",
        "utilisation": 0.4, "values": values, "failed": failed, "start_s": 30.0, **changes,
    }  # fmt: skip
    return Comparison(**whole)


def judge(comparison: Comparison, limits: Sequence[ChangeLimit]) -> tuple[Judgement, ...]:
    return judge_all([comparison], limits)


@pytest.mark.parametrize(
    ("change", "half", "outcome"),
    [
        (0.10, 0.02, Outcome.FAILED),
        (0.10, 0.08, Outcome.INCONCLUSIVE),
        (0.00, 0.02, Outcome.PASSED),
        (-0.20, 0.05, Outcome.PASSED),
        (0.02, 0.03, Outcome.INCONCLUSIVE),
        (0.10, math.inf, Outcome.INCONCLUSIVE),
    ],
)
def test_a_limit_fails_and_passes_only_where_the_interval_says_so(change: float, half: float, outcome: Outcome) -> None:
    (judgement,) = judge(compared(row("cpu_us", change, half)), [LIMIT])
    assert judgement.outcome == outcome


def test_less_throughput_fails_and_more_passes() -> None:
    outcomes = [judge(compared(row("closed_loop_rps", by, 0.02)), [THROUGHPUT])[0].outcome for by in (-0.1, 0.0, 0.4)]
    assert outcomes == [Outcome.FAILED, Outcome.PASSED, Outcome.PASSED]


def test_what_the_control_breaks_too_is_inconclusive() -> None:
    control = row("cpu_us", 0.09, 0.02, "old-control")
    (judgement,) = judge(compared(row("cpu_us", 0.10, 0.02), control=(control,)), [LIMIT])
    assert judgement.outcome == Outcome.INCONCLUSIVE and "second process of the baseline" in reason(judgement)


def test_too_few_starts_and_what_was_not_measured_are_inconclusive() -> None:
    few, none = judge(compared(row("cpu_us", 0.5, 0.01, starts=2)), [LIMIT, ChangeLimit.parse("p99>+1%")])
    assert (few.outcome, few.starts_needed) == (Outcome.INCONCLUSIVE, 3)
    assert none.outcome == Outcome.INCONCLUSIVE and "not known" in reason(none)
    (left,) = judge(compared(left_out=((1, "the server died"),)), [LIMIT])
    assert "the server died" in reason(left)


def test_an_inconclusive_limit_says_what_an_answer_would_take() -> None:
    (judgement,) = judge(compared(row("cpu_us", 0.10, 0.14)), [LIMIT])
    assert judgement.starts_needed is not None and judgement.starts_needed > 4
    assert judgement.minutes_needed == pytest.approx(judgement.starts_needed / 2)
    assert f"{judgement.starts_needed} starts" in judged(judgement)
    (near,) = judge(compared(row("cpu_us", 0.0301, 0.14)), [LIMIT])
    assert near.starts_needed is None and "too near" in judged(near)


def test_exit_codes() -> None:
    failed = judge(compared(row("cpu_us", 0.10, 0.02)), [LIMIT, ChangeLimit.parse("p99>+1%")])
    passed, unknown = judge(compared(row("cpu_us", 0.0, 0.02)), [LIMIT, ChangeLimit.parse("p99>+1%")])
    assert exit_code(failed, inconclusive_passes=True) == 3
    assert exit_code([passed, unknown], inconclusive_passes=False) == 4
    assert exit_code([passed, unknown], inconclusive_passes=True) == 0
    assert exit_code([passed], inconclusive_passes=False) == 0
    assert exit_code([], inconclusive_passes=False) == 0


def test_errors_are_judged_by_their_share_and_few_requests_say_little() -> None:
    limit = ChangeLimit.parse("errors>+0.1%")
    many, none = ((100_000, 500),) * 4, ((100_000, 0),) * 4
    outcomes = [
        judge(compared(failed={"old": none, "new": new}), [limit])[0].outcome
        for new in (many, none, ((100, 0),) * 4, ((100_000, 0),) * 3 + ((100_000, 2_000),))
    ]  # the last: all in one burst
    assert outcomes == [Outcome.FAILED, Outcome.PASSED, Outcome.INCONCLUSIVE, Outcome.INCONCLUSIVE]


def test_more_failed_responses_than_the_baselines_fail_without_being_asked_for() -> None:
    faster = row("p50_us", -0.617, 0.01)
    some, none = ((1_000, 580),) * 4, ((1_000, 0),) * 4
    failed = {"old": none, "new": some}
    bad = compared(refuse_failing(faster, failed), failed=failed)
    assert not bad.rows[0].decided and bad.failing == {"new": 0.58}
    judgements = judge(bad, [ChangeLimit.parse("p50>+10%")])
    assert [(judgement.limit.quantity, judgement.outcome) for judgement in judgements] == [
        ("errors", Outcome.FAILED), ("p50_us", Outcome.INCONCLUSIVE)
    ]  # fmt: skip
    assert exit_code(judge(bad, []), inconclusive_passes=True) == 3
    assert judge(compared(failed={"old": some, "new": none}), []) == (), "fewer are no harm"
    assert judge(compared(failed={"old": some, "new": some}), []) == (), "nor are as many"
    assert judge(compared(faster, failed={"old": none, "new": ((100, 0),) * 4}), []) == (), "few requests say little"
    (named,) = judge(bad, [ChangeLimit.parse("errors>+80%")])
    assert named.outcome == Outcome.PASSED, "a limit that is named stands in its place"


def test_few_failed_responses_leave_the_rest_compared() -> None:
    slower = row("p50_us", 0.1, 0.01)
    for failed, refused in ((10, ()), (11, (Refusal(Reason.FAILED, "new", (0.0011,)),))):
        assert refuse_failing(slower, {"old": ((10_000, 0),), "new": ((10_000, failed),)}).refused == refused
        assert refuse_failing(slower, {"new": ((10_000, failed),)}).refused == refused


@given(st.lists(st.tuples(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=6))
def test_the_interval_of_errors_holds_their_difference(counts: list[tuple[int, float, float]]) -> None:
    failed = {
        name: tuple((count, round(count * shares[place])) for count, *shares in counts)
        for place, name in enumerate(("old", "new"))
    }
    difference = compared(failed=failed).more_errors("new")
    assert difference.low <= difference.value <= difference.high


def test_a_comment_is_short_and_says_every_change() -> None:
    rows = [row(name, 0.1, 0.02) for name in QUANTITIES]
    control = tuple(row(name, 0.0, 0.02, "old-control") for name in QUANTITIES)
    comparison = compared(*rows, control=control)
    limits = [ChangeLimit.parse(text) for text in ("p50>+1%", "p90>+1%", "p99>+10%", "cpu>+3%", "errors>+1%")]
    checks = [Check(CheckName.CONTROL, False, place=name) for name in "abcdefgh"]
    text = comment(comparison, judge(comparison, limits), checks)
    assert len(text.splitlines()) < 60
    assert rows[0].change in text and "failed" in text.splitlines()[0]


def test_a_comment_names_the_checks_that_exclude_evidence_before_all_others() -> None:
    notes = [Check(CheckName.STARTS, False, place=name) for name in "abcd"]
    checks = [*notes, Check(CheckName.CONTROL, False, Consequence.EXCLUDES, place="last")]
    assert "“last”" in comment(compared(row("p50_us", 0.1, 0.02)), (), checks)


HOSTILE = "<script>alert(1)</script>[x](javascript:1)`|@all"


def test_hostile_names_reach_no_comment_unescaped() -> None:
    from dataclasses import replace

    rows = (replace(row("p50_us", 0.1, 0.02, HOSTILE), baseline=HOSTILE),)
    comparison = compared(
        *rows, baseline=HOSTILE, treatments=(HOSTILE,), values={}, failed={}, left_out=((1, HOSTILE),)
    )
    text = comment(
        comparison,
        judge(comparison, [ChangeLimit.parse("p99>+1%")]),
        [Check(CheckName.CONTROL, False, place=HOSTILE)],
    )
    assert "alert(1)" in text and "<script" not in text and "[x](" not in text and " @all" not in text


def test_what_is_counted_costs_nothing_where_a_request_makes_next_to_none() -> None:
    calls = Row(
        QUANTITIES["read_write_calls"], "old", "new", 3_240.0, 1_670.0, 6_000.0, Direction.HIGHER, 1.12e-5, 0.0363, 4
    )
    assert calls.decided and not compared(calls).costs("new")
    several = dataclasses.replace(calls, treatment_value=2.0)
    assert compared(several).costs("new") == [several]


@pytest.mark.parametrize(("low", "high", "outcome"), [(1.2, 1.4, Outcome.FAILED), (0.99, 1.01, Outcome.PASSED)])
def test_a_limit_of_what_is_not_compared_is_inconclusive(low: float, high: float, outcome: Outcome) -> None:
    limit = ChangeLimit.parse("p99>+10%")
    ratio = (low + high) / 2
    p99 = Row(QUANTITIES["p99_us"], "old", "new", ratio, low, high, Direction.HIGHER, 100.0, 100 * ratio, 4)
    assert judge(compared(p99), [limit])[0].outcome == outcome
    (floor,) = judge(compared(dataclasses.replace(p99, refused=(Refusal(Reason.WITHIN_FLOOR),))), [limit])
    assert floor.outcome == Outcome.INCONCLUSIVE and "not compared: neither lies" in reason(floor)
