"""Generators on several hosts: a network that matters is named with its host, and one that does not is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from runners.claims.validation import analyse_hosts
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.storage.schema import ClockRecord, NetworkRecord, ShareRecord, WitnessRecord
from runners.tests.fixtures.fake_run import make_run

CLOCK = ClockRecord(offset_us=5_000.0, uncertainty_us=90.0, round_trip_us=180.0, exchanges=32)
NEAR = NetworkRecord(round_trips_us=(4.0, 1.0, 900.0), sent_segments=20_000, repeated_segments=5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(make_run(tmp_path_factory.mktemp("runs"), engines=("lsm",), profiled=()))


def shared(run: Run, *shares: ShareRecord) -> Run:
    """The run, its first load sent by these hosts."""
    load = run.find(kind="load")[0]
    steps = tuple(
        dataclasses.replace(step, record=replace(step.record, shares=shares)) if step is load else step
        for step in run.steps
    )
    return dataclasses.replace(run, steps=steps)


def share(host: str = "b", **of: Any) -> ShareRecord:
    fields: dict[str, Any] = {"host": host, "clock": CLOCK, "network": NEAR, **of}
    return ShareRecord(**fields)


def test_a_load_of_one_generator_says_nothing(run: Run) -> None:
    assert analyse_hosts(shared(run)) is None
    assert analyse_hosts(shared(run, ShareRecord(host="local-1"))) is None


def test_hosts_that_are_near_are_one_instrument(run: Run) -> None:
    claims = analyse_hosts(shared(run, share("b"), share("c", began_us=40.0)))
    assert claims is not None and not claims.findings
    (check,) = claims.checks
    assert check.ok and "b and c began within" in check.text


@pytest.mark.parametrize(
    ("code", "of"),
    [
        ("F01", {"network": replace(NEAR, round_trips_us=(90_000.0, 80_000.0, 95_000.0))}),
        ("F02", {"network": replace(NEAR, repeated_segments=400)}),
        ("F03", {"clock": replace(CLOCK, stepped_us=-2_000_000.0)}),
        ("F03", {"began_us": 30_000.0}),
        ("F04", {"witness": WitnessRecord(cpus=(0, 1)), "stalled_ms": 9_000.0}),
    ],
)
def test_what_a_host_adds_is_found_and_named_with_it(run: Run, code: str, of: dict[str, Any]) -> None:
    claims = analyse_hosts(shared(run, share("near"), share("far", **of)))
    assert claims is not None
    assert [finding.code for finding in claims.findings] == [code]
    (finding,) = claims.findings
    assert "far" in finding.sentence and "near" not in finding.sentence
    assert finding.remedy and finding.evidence
    assert claims.checks[0].ok is (code != "F03")
