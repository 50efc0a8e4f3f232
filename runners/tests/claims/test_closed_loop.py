"""What experiment 02 concludes is what its loops hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runners.analysis import loops
from runners.audit.rules.draws import integers
from runners.claims.closed_loop import analyse
from runners.claims.conclude import conclude
from runners.claims.conclusion import RULES
from runners.experiments.e02_closed_loop_jdk import GET_FEW, PUT, STAGES
from runners.readers.published import published_of
from runners.readers.run import Step
from runners.storage.schema import StepRecord
from runners.tests.fixtures.fake_loops import FAST_US, WAIT_US, loop_of, run_of
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.report import steps

BEFORE, AFTER, FLAG, NEW_JDK, DELAYED, ONE_WRITE = (
    STAGES[name] for name in ("before", "after", "nodelay", "jdk25", "delayed", "one-write")
)


def of_loop(step: Step, **fields: object) -> StepRecord:
    record: StepRecord = replace(step.record, loop=replace(step.record.loop, **fields))
    return record


def test_a_run_without_loops_is_none_of_its_business(tmp_path: Path) -> None:
    assert analyse(steps.run(tmp_path, [steps.step(tmp_path, "put-rocksdb", steps.times())])) is None


def test_the_published_404s_are_those_of_the_scripts_numbers() -> None:
    counted = {name: out for name, out in published_of("report-2").items() if out.non_2xx}
    assert len(counted) == 3
    for name, out in counted.items():
        assert out.requests and out.threads
        assert loops.absent(out.requests, out.threads, 10_000, 1_000) == out.non_2xx, name


@given(st.integers(0, 3_000), st.integers(1, 5), st.integers(1, 100), st.integers(0, 100))
def test_absent_keys_are_counted_thread_by_thread(requests: int, threads: int, drawn: int, held: int) -> None:
    shares = [requests // threads + (1 if index < requests % threads else 0) for index in range(threads)]
    hits = sum(int((integers(share, drawn) <= held).sum()) for share in shares if share)
    assert loops.absent(requests, threads, drawn, held) == requests - hits


def test_the_answer_names_the_cause_and_what_one_flag_gives(tmp_path: Path) -> None:
    conclusion = conclude(run_of(tmp_path), {})
    assert conclusion.answer.startswith("The 44.0\u00a0ms are Nagle's algorithm against delayed ACK")
    assert f"gives {WAIT_US / FAST_US:.0f} times as many" in conclusion.answer
    assert "JDK 25 needs no flag" in conclusion.answer
    assert "not measured" not in conclusion.answer


def test_every_finding_has_a_rule_and_its_evidence(tmp_path: Path) -> None:
    conclusion = conclude(run_of(tmp_path), {})
    every = (*conclusion.findings, *conclusion.missed, *conclusion.next_steps)
    codes = {finding.code for finding in every}
    assert codes <= set(RULES)
    assert {f"D{number:02}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15)} <= codes
    by_code = {finding.code: finding for finding in every}
    assert by_code["D02"].evidence["expected_us"] == pytest.approx(44_000)
    assert "22.7" in by_code["D02"].sentence
    assert by_code["D03"].severity == "good"
    assert by_code["D07"].evidence["non_2xx"] == by_code["D07"].evidence["replayed"]
    assert by_code["D10"].evidence["puts"] == 0 and by_code["D10"].evidence["share_each"] == pytest.approx(
        0.5, abs=0.01
    )
    assert {check.name: check.ok for check in conclusion.checks} | {"closed loop": True, "responses": True} == {
        check.name: check.ok for check in conclusion.checks
    }


def test_without_jdk_17_it_says_so_and_tells_what_it_can(tmp_path: Path) -> None:
    conclusion = conclude(run_of(tmp_path, (NEW_JDK, DELAYED)), {})
    assert conclusion.answer.startswith("Without the loops on JDK 17 the published wait is not shown")
    codes = {finding.code for finding in (*conclusion.findings, *conclusion.missed, *conclusion.next_steps)}
    assert {"D05", "D08", "D13", "D16"} <= codes and not codes & {"D01", "D02", "D03", "D04", "D06", "D07"}
    (check,) = [check for check in conclusion.checks if check.name == "JDKs"]
    assert check.ok is False and "No JDK 17" in check.text


def test_which_cure_the_new_jdk_has_is_reported_by_its_control(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    (finding,) = [finding for finding in conclude(run, {}).findings if finding.code == "D05"]
    assert "It is not the flag" in finding.sentence and "sends head and body at once" in finding.sentence
    slow = loop_of(tmp_path, AFTER, PUT)
    held_up = dataclasses.replace(slow, name="delayed-put-1", record=of_loop(slow, stage="delayed"))
    others = [step for step in run.steps if step.record.loop.stage != "delayed"]
    claims = analyse(dataclasses.replace(run, steps=(*others, held_up)))
    assert claims is not None
    (finding,) = [finding for finding in claims.findings if finding.code == "D05"]
    assert "its default made the difference" in finding.sentence


def test_a_machine_without_the_wait_has_no_finding_of_one(tmp_path: Path) -> None:
    run = run_of(tmp_path, (FLAG, NEW_JDK), (1,))
    quick = [
        dataclasses.replace(
            step, record=of_loop(step, stage="after" if step.record.loop.stage == "nodelay" else "nodelay")
        )
        for step in run.steps
    ]
    conclusion = conclude(dataclasses.replace(run, steps=tuple(quick)), {})
    assert conclusion.answer.startswith("There is no wait on this machine")
    codes = {finding.code for finding in (*conclusion.findings, *conclusion.missed)}
    assert not codes & {"D01", "D02", "D03", "D04"}


def test_a_disturbed_count_of_acknowledgements_is_a_warning(tmp_path: Path) -> None:
    slow, fast = loop_of(tmp_path, AFTER, PUT), loop_of(tmp_path, FLAG, PUT)
    noisy = dataclasses.replace(fast, record=of_loop(fast, tcp={"DelayedACKs": 10**9}))
    claims = analyse(steps.run(tmp_path, [slow, noisy]))
    assert claims is not None
    (finding,) = [finding for finding in claims.findings if finding.code == "D03"]
    assert finding.severity == "warning" and finding.remedy


def test_404s_that_the_script_does_not_make_fail_the_check(tmp_path: Path) -> None:
    few, put = loop_of(tmp_path, AFTER, GET_FEW), loop_of(tmp_path, BEFORE, PUT)
    for steps_of_run, ok in (([few, put], True), ([few, with_summary(put, non_2xx=1)], False)):
        claims = analyse(steps.run(tmp_path, steps_of_run))
        assert claims is not None
        (check,) = [check for check in claims.checks if check.name == "responses"]
        assert check.ok is ok, check.text
    off = with_summary(few, non_2xx=few.frames["summary"]["completed"].iloc[0] // 2)
    claims = analyse(steps.run(tmp_path, [off]))
    assert claims is not None and not next(check for check in claims.checks if check.name == "responses").ok


def test_an_interrupted_run_tells_what_it_has(tmp_path: Path) -> None:
    for stages in ((BEFORE,), (ONE_WRITE,), (BEFORE, AFTER)):
        conclusion = conclude(run_of(tmp_path, stages, (1,)), {})
        assert conclusion.answer == "Too little was measured to tell what the 44 ms are."
    nothing = dataclasses.replace(loop_of(tmp_path, AFTER, PUT), record=StepRecord(role="loop"))
    assert conclude(steps.run(tmp_path, [nothing]), {}).answer.startswith("Too little")
