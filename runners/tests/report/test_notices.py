"""What a reader learns before the first number: a step that was held up is not called saturated, and the other way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners import words
from runners.analysis import facts, validity
from runners.analysis.validity import Cause
from runners.readers.run import Step
from runners.report.document import limits
from runners.report.validity import notices
from runners.tests.report import steps

OFFERED_RPS = 12_600.0
LSM = "LSM PUT at 12\u202f600/s"
HELD_UP = "Held up for a while (9\u202f198/s of 12\u202f600/s)."
SATURATED = "Saturated (8\u202f820/s of 12\u202f600/s)."


def answering(folder: Path, shares: Sequence[float], name: str = "put-lsm", **meta: Any) -> Step:
    """A step that answered this share of what was offered in each of its seconds."""
    frames = steps.frames_of([60.0] * 20_000, seconds=len(shares))
    meta = {"engine": name.rpartition("-")[2], **meta}
    frames["intervals"]["completed"] = [round(share * OFFERED_RPS) for share in shares]
    frames["intervals"]["count"] = frames["intervals"]["completed"]
    frames["summary"]["offered_rps"] = OFFERED_RPS
    frames["summary"]["achieved_rps"] = OFFERED_RPS * sum(shares) / len(shares)
    return steps.step(folder, name, [60.0], frames=frames, **meta)


def said(folder: Path, *measured: Step) -> list[str]:
    """The notices of a run of these steps, without those on profiles."""
    return [line for line in notices(steps.run(folder, measured)) if "no profile" not in line]


@pytest.mark.parametrize(("shares", "expected"), [([1.0] * 7 + [0.1] * 3, HELD_UP), ([0.7] * 10, SATURATED)])
@pytest.mark.parametrize("recorded", [{}, {"saturated": True, "invalid_reasons": ["achieved less than offered"]}])
def test_a_step_that_kept_its_rate_half_of_the_time_was_held_up_and_one_that_never_did_saturated(
    shares: list[float], expected: str, recorded: dict[str, Any], tmp_path: Path
) -> None:
    step = answering(tmp_path, shares, **recorded)
    assert said(tmp_path, step) == [f"{LSM}: {expected} Latency is not shown."]


def test_steps_of_which_the_same_is_said_share_a_line_and_others_do_not(tmp_path: Path) -> None:
    held = [answering(tmp_path, [1.0] * 7 + [0.1] * 3, name) for name in ("put-lsm", "put-rocksdb")]
    full = answering(tmp_path, [0.5] * 10, "get-lsm", workload="get")
    dead = answering(tmp_path, [1.0] * 10, "get-rocksdb", workload="get", valid=False, invalid_reasons=["server died"])
    assert said(tmp_path, *held, full, dead) == [
        f"{LSM}; RocksDB PUT at 12\u202f600/s: {HELD_UP} Latency is not shown.",
        "LSM GET at 12\u202f600/s: Saturated (6\u202f300/s of 12\u202f600/s). Latency is not shown.",
        "RocksDB GET at 12\u202f600/s: Server died. Latency is not shown.",
    ]


@pytest.mark.parametrize("kind", ["probe", "warm-up"])
def test_what_only_prepares_a_load_is_noticed_where_no_load_follows(kind: str, tmp_path: Path) -> None:
    failed = {"role": kind, "valid": False, "invalid_reasons": ["2 % of the responses failed"]}
    before = answering(tmp_path, [1.0] * 10, f"{kind}-put-lsm", engine="lsm", **failed)
    assert len(said(tmp_path, before)) == 2, "and no load"
    assert said(tmp_path, before, answering(tmp_path, [1.0] * 10)) == []


def test_a_step_at_its_rate_needs_no_notice(tmp_path: Path) -> None:
    assert said(tmp_path, answering(tmp_path, [1.0] * 10)) == []


@given(shares=st.lists(st.floats(0.01, 1.0), min_size=4, max_size=20))
@settings(deadline=None)
def test_a_notice_stands_where_a_cause_does_for_any_course(shares: list[float]) -> None:
    step = answering(Path("run"), shares)
    cause = validity.cause(step)
    (head, *more) = [*said(Path("run"), step), ""]
    assert head == (f"{LSM}: {words.sentence(facts.why_not(step))} Latency is not shown." if cause else "")
    assert not more or more == [""]
    if cause is Cause.HELD_UP:
        assert sorted(shares)[len(shares) // 2] > 0.9  # at least half of its seconds achieved the rate


def test_the_conditions_say_what_a_loss_of_power_takes_of_each_store(tmp_path: Path) -> None:
    def load(engine: str, wal: str) -> Step:
        server = {"command": ["java"], "ready": {"engine_settings": {"wal": wal}}}
        return steps.whole(steps.step(tmp_path, f"put-{engine}", [], engine=engine, server=server))

    run = steps.run(tmp_path, [load("rocksdb", "buffered"), load("lsm", "off"), load("leveldb", "buffered")])
    (line,) = (text for text in limits(run) if text.startswith("Durability"))
    assert "RocksDB and LevelDB" in line and "loss of power" in line.partition("LSM")[0]
    assert "no log" in line.partition("LSM")[2]
