"""What may be quoted of a load: by what failed, by its generator and by the machine."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pandas as pd
import pytest

from runners.analysis.validity import Aspect, Cause, cause, why_not, withheld, worth_another_try
from runners.readers.run import Step
from runners.storage.schema import Ended
from runners.tests.fixtures.fake_rounds import RATE_RPS, round_of, with_summary

LATENCIES = {Aspect.MEDIAN, Aspect.TAIL}
EVERY_ASPECT = set(Aspect)
NEITHER_CPU_NOR_LATENCY = {*LATENCIES, Aspect.CPU}


def during_other_work(step: Step, cores: float = 0.9) -> Step:
    telemetry = pd.DataFrame({"foreign_cpu_cores": [cores] * 3, "steal_share": [0.0] * 3})
    return dataclasses.replace(step, frames={**step.frames, "telemetry": telemetry})


def ended(step: Step, how: Ended) -> Step:
    return dataclasses.replace(step, record=msgspec.structs.replace(step.record, ended=how))


@pytest.fixture
def load(tmp_path: Path) -> Step:
    """A load of 10 000 requests that kept its rate, none failed, nothing else ran."""
    return during_other_work(with_summary(round_of(tmp_path, "truepace", 1), completed=10_000.0), 0.0)


def test_a_load_that_went_well_is_quoted_for_everything(load: Step) -> None:
    assert cause(load) is None and withheld(load) == set() and not worth_another_try(load)


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        (Cause.REFUSED, "non_2xx"),
        (Cause.TIME_OUT, "timeouts"),
        (Cause.CONNECTION, "read_errors"),
        (Cause.PROTOCOL, "parse_errors"),
    ],
)
def test_more_than_one_failed_request_of_a_thousand_leaves_only_counts(load: Step, kind: Cause, column: str) -> None:
    few, many = (with_summary(load, **{column: float(count)}) for count in (9, 12))
    assert cause(few) is None and withheld(few) == set()
    assert cause(many) is kind and withheld(many) == EVERY_ASPECT


@pytest.mark.parametrize(
    ("how", "kind"),
    [(Ended.DIED, Cause.DEATH), (Ended.SKIPPED, Cause.SKIPPED), (Ended.INTERRUPTED, Cause.INTERRUPTED)],
)
def test_how_a_load_ended_comes_before_its_shortfall(load: Step, how: Ended, kind: Cause) -> None:
    short = ended(with_summary(load, achieved_rps=RATE_RPS / 2), how)
    assert cause(short) is kind and withheld(short) == EVERY_ASPECT


def test_saturation_is_a_statement_about_the_rate_alone(load: Step) -> None:
    full = with_summary(load, achieved_rps=RATE_RPS / 2)
    assert cause(full) is Cause.SATURATION and withheld(full) == NEITHER_CPU_NOR_LATENCY


def test_a_busy_generator_and_a_busy_machine_come_before_saturation(load: Step) -> None:
    short = with_summary(load, achieved_rps=RATE_RPS * 0.7)
    busy = with_summary(short, elapsed_s=1.0, generator_cpu_s=0.95)
    assert cause(busy) is Cause.GENERATOR and withheld(busy) == {*NEITHER_CPU_NOR_LATENCY, Aspect.RATE}
    assert cause(during_other_work(short)) is Cause.DISTURBED


def test_a_late_generator_keeps_what_lateness_does_not_touch(load: Step) -> None:
    late = with_summary(load, kept_up=False)
    assert cause(late) is Cause.LATE and withheld(late) == LATENCIES
    assert withheld(with_summary(late, kept_up_to=90.0)) == {Aspect.TAIL}


def test_another_try_is_for_what_a_quiet_machine_would_change(load: Step) -> None:
    busy = during_other_work(load)
    assert worth_another_try(busy) and worth_another_try(with_summary(load, kept_up=False))
    assert worth_another_try(with_summary(busy, timeouts=500.0))
    assert not worth_another_try(with_summary(busy, non_2xx=9_000.0))
    assert not worth_another_try(ended(busy, Ended.DIED))
    silent = with_summary(load, completed=0.0)
    assert cause(silent) is Cause.NO_RESPONSE and worth_another_try(silent)


@pytest.mark.parametrize(
    ("columns", "looks"),
    [({"protocol": "HTTP/2"}, " (it looks like HTTP/2)"), ({"protocol": None}, ""), ({}, "")],
    ids=["known", "not known", "a run from before"],
)
def test_the_protocol_that_responses_look_like_is_a_field_and_nothing_is_read_out_of_the_bytes_that_came(
    load: Step, columns: dict[str, str | None], looks: str
) -> None:
    other = with_summary(load, parse_errors=500.0)
    row = {"cause": "no HTTP/1.1 response", "counted_as": "parse", "count": 500, "first_s": 0.1}
    row |= {"first": 'it looks like SSH: "it looks like SMTP: 220"'}
    frames = {**other.frames, "failures": pd.DataFrame([row | columns])}
    assert why_not(dataclasses.replace(other, frames=frames)).startswith(f"the response is no HTTP/1.1{looks}: 4.76")
