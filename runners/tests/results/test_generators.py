"""What experiment 00 answers is what its rounds and stalls hold; hosts of generators that matter are named."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runners.analysis import facts, instrument
from runners.analysis.instrument import stall
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report.validity import notices
from runners.results import generators
from runners.results.answer import Verdict
from runners.results.checks import checks
from runners.results.generators import host_networks
from runners.results.results import Results
from runners.storage.schema import ClockRecord, NetworkRecord, ShareRecord, WitnessRecord
from runners.tests.fixtures.fake_rounds import FREEZES_S, STALL_RPS, round_of, run_of, stall_of
from runners.tests.fixtures.fake_run import make_run
from runners.tests.report import steps


def test_a_run_without_rounds_answers_nothing_of_generators(tmp_path: Path) -> None:
    results = Results(steps.run(tmp_path, [steps.step(tmp_path, "put-rocksdb", steps.times())]))
    assert generators.generator_adds("wrk2")(results) is None and generators.generator_costs(results) is None


def test_what_ours_adds_to_the_blocking_client_is_measured_and_wrk2_adds_its_tick(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    floors = instrument.floors(run.steps)
    point = instrument.at_point(floors, 1, 5_000.0)
    reference = instrument.reference_of(point)
    assert reference is point["blocking"]
    more = instrument.added(point["truepace"], reference, 0.5)
    assert more is not None and more.low <= more.value <= more.high and more.value == pytest.approx(4, abs=1)
    tick = generators.generator_adds("wrk2")(Results(run))
    assert tick is not None and tick.verdict == Verdict.YES
    (at,) = tick.evidence
    assert isinstance(at, generators.AtRate) and at.measure.value == pytest.approx(540, abs=30)


def test_an_interval_over_six_rounds_is_their_range_and_fewer_are_called_a_range(tmp_path: Path) -> None:
    six, three = (instrument.floors(run_of(tmp_path, ("truepace",), count).steps)[0] for count in (6, 3))
    for floor in (six, three):
        medians = [value.value for step in floor.good if (value := facts.at(step, 0.5))]
        value = floor.at(0.5)
        assert value is not None and (value.low, value.high) == (min(medians), max(medians))


def test_processor_time_is_of_the_window_where_reported_else_of_the_process(tmp_path: Path) -> None:
    assert instrument.cpu_s_a_million(round_of(tmp_path, "truepace", 1)) == pytest.approx(20)
    assert instrument.cpu_s_a_million(round_of(tmp_path, "wrk2", 1)) == pytest.approx(50)


def test_a_generator_that_sees_the_whole_stall_lies_on_the_schedule(tmp_path: Path) -> None:
    seen = stall(stall_of(tmp_path, "truepace"))
    assert seen is not None
    for wait_s in (0.1, 0.25, 0.4, 0.7, 1.0):
        assert seen.counted_above(wait_s) == pytest.approx(seen.expected_above(wait_s), rel=0.02, abs=8)
    assert seen.seen_share == pytest.approx(1, abs=0.02)
    assert seen.censored == STALL_RPS


def test_a_generator_that_loses_the_end_counts_the_middle_alone(tmp_path: Path) -> None:
    seen = stall(stall_of(tmp_path, "wrk2"))
    assert seen is not None
    middle_s, long_s = FREEZES_S[0][1], seen.long_s
    assert seen.counted_above(long_s) == pytest.approx(STALL_RPS * (middle_s - long_s), rel=0.03)
    assert seen.expected_above(long_s) == pytest.approx(STALL_RPS * (middle_s - long_s + 1 - long_s))
    assert seen.seen_share == pytest.approx(0.25, abs=0.02)


def test_who_counts_a_stall_is_answered_of_every_generator(tmp_path: Path) -> None:
    results = Results(run_of(tmp_path))
    ours, wrk2 = (generators.counts_a_stall(tool)(results) for tool in ("truepace", "wrk2"))
    assert ours is not None and ours.verdict == Verdict.YES
    assert wrk2 is not None and wrk2.verdict == Verdict.NO


def test_a_generator_that_was_asked_for_and_not_found_fails_a_check(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    run.manifest["parameters"] = {"generators": "truepace,epoll"}
    (check,) = [check for check in checks(Results(run)) if check.about == "generators found"]
    assert check.ok is False and [measure.label for measure in check.measures] == ["epoll"]


CLOCK = ClockRecord(offset_us=5_000.0, uncertainty_us=90.0, round_trip_us=180.0, exchanges=32)
NEAR = NetworkRecord(round_trips_us=(4.0, 1.0, 900.0), sent_segments=20_000, repeated_segments=5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(make_run(tmp_path_factory.mktemp("runs"), engines=("lsm",), profiled=()))


def shared(run: Run, *shares: ShareRecord) -> Run:
    """Give the run with its first load sent by these hosts."""
    load = run.find(kind="load")[0]
    changed = (
        dataclasses.replace(step, record=replace(step.record, shares=shares)) if step is load else step
        for step in run.steps
    )
    return dataclasses.replace(run, steps=tuple(changed))


def share(host: str = "b", **of: Any) -> ShareRecord:
    fields: dict[str, Any] = {"host": host, "clock": CLOCK, "network": NEAR, **of}
    return ShareRecord(**fields)


def test_a_load_of_one_generator_has_no_network(run: Run) -> None:
    assert host_networks(shared(run)) == [] and host_networks(shared(run, ShareRecord(host="local-1"))) == []


def test_hosts_that_are_near_are_one_instrument(run: Run) -> None:
    near = shared(run, share("b"), share("c", began_us=40.0))
    assert not any(host.matters for host in host_networks(near))
    assert [check.ok for check in checks(Results(near)) if check.about == "generators began together"] == [True]


@pytest.mark.parametrize(
    ("field", "of"),
    [
        ("round_trip_us", {"network": replace(NEAR, round_trips_us=(90_000.0, 80_000.0, 95_000.0))}),
        ("repeated_share", {"network": replace(NEAR, repeated_segments=400)}),
        ("off_us", {"clock": replace(CLOCK, stepped_us=-2_000_000.0)}),
        ("off_us", {"began_us": 30_000.0}),
        ("stalled_share", {"witness": WitnessRecord(cpus=(0, 1)), "stalled_ms": 9_000.0}),
    ],
)
def test_what_a_host_adds_is_seen_of_it_alone(run: Run, field: str, of: dict[str, Any]) -> None:
    far_run = shared(run, share("near"), share("far", **of))
    near, far = host_networks(far_run)
    assert not near.matters and far.matters and getattr(far, field) is not None
    (check,) = [check for check in checks(Results(far_run)) if check.about == "generators began together"]
    assert check.ok is (field != "off_us")
    (line,) = [line for line in notices(far_run) if "of the host far," in line]
    assert "of the host near" not in line
