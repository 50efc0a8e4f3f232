"""What experiment 02 answers is what its loops hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runners.audit.rules.draws import integers
from runners.experiments.e02_closed_loop_jdk import GET_FEW, PUT, STAGES
from runners.readers.published import published_of
from runners.readers.run import Run, Step
from runners.results import loops
from runners.results.answer import Answer, Measure, Verdict
from runners.results.checks import checks
from runners.results.results import Results
from runners.storage.schema import StepRecord
from runners.tests.fixtures.fake_loops import FAST_US, WAIT_US, loop_of, run_of
from runners.tests.fixtures.fake_rounds import with_summary
from runners.tests.report import steps

BEFORE, AFTER, FLAG, NEW_JDK, DELAYED, ONE_WRITE = (
    STAGES[name] for name in ("before", "after", "nodelay", "jdk25", "delayed", "one-write")
)
ANSWERS = (
    loops.one_flag, loops.executor, loops.timer_and_tick, loops.one_write,
    loops.errors_are_the_scripts, loops.mixed,
)  # fmt: skip


def measures(answer: Answer | None) -> dict[str, Measure]:
    assert answer is not None
    return {part.label: part for part in answer.evidence if isinstance(part, Measure)}


def of_loop(step: Step, **fields: object) -> StepRecord:
    record: StepRecord = replace(step.record, loop=replace(step.record.loop, **fields))
    return record


def test_a_run_without_loops_answers_nothing_of_them(tmp_path: Path) -> None:
    results = Results(steps.run(tmp_path, [steps.step(tmp_path, "put-rocksdb", steps.times())]))
    assert [answer(results) for answer in ANSWERS] == [None] * len(ANSWERS)


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


def test_one_flag_gives_as_many_times_the_rate_as_the_wait_is_long(tmp_path: Path) -> None:
    answer = loops.one_flag(Results(run_of(tmp_path)))
    assert answer is not None and answer.verdict == Verdict.YES
    assert measures(answer)[
        "PUT rate with the flag nodelay, as a multiple of that without it on as many connections:"
    ].value == pytest.approx(WAIT_US / FAST_US, rel=0.05)


def test_the_wait_is_the_timer_and_one_tick_and_the_kernel_counts_it(tmp_path: Path) -> None:
    answer = loops.timer_and_tick(Results(run_of(tmp_path)))
    assert answer is not None and answer.verdict == Verdict.YES
    seen = measures(answer)
    assert seen["computed wait"].value == pytest.approx(44_000)
    assert seen["delayed ACKs per request that waits"].low > 0.5 > seen["per request that does not"].high


def test_the_404s_are_the_scripts_and_the_mix_is_none(tmp_path: Path) -> None:
    results = Results(run_of(tmp_path))
    script, mix = loops.errors_are_the_scripts(results), loops.mixed(results)
    assert script is not None and script.verdict == Verdict.NO
    absent, replayed = script.evidence
    assert isinstance(absent, Measure) and isinstance(replayed, Measure) and absent.value == replayed.value
    assert mix is not None and mix.verdict == Verdict.NO and measures(mix)["responses to PUT"].value == 0


def test_404s_that_the_script_does_not_make_leave_it_open(tmp_path: Path) -> None:
    few = loop_of(tmp_path, AFTER, GET_FEW)
    off = with_summary(few, non_2xx=few.frames["summary"]["completed"].iloc[0] // 2)
    answer = loops.errors_are_the_scripts(Results(steps.run(tmp_path, [off])))
    assert answer is not None and answer.verdict == Verdict.INCONCLUSIVE and answer.needed is not None


def test_without_jdk_17_the_published_stages_are_not_answered_and_a_check_says_so(tmp_path: Path) -> None:
    results = Results(run_of(tmp_path, (NEW_JDK, DELAYED)))
    assert loops.one_flag(results) is None and loops.timer_and_tick(results) is None
    assert [check.ok for check in checks(results) if check.about == "JDK of the report found"] == [False]


def test_a_machine_without_the_wait_says_nothing_of_one(tmp_path: Path) -> None:
    run = run_of(tmp_path, (FLAG, NEW_JDK), (1,))

    def swapped(step: Step) -> Step:
        stage = "after" if step.record.loop.stage == "nodelay" else "nodelay"
        return dataclasses.replace(step, record=of_loop(step, stage=stage))

    quick: Run = dataclasses.replace(run, steps=tuple(map(swapped, run.steps)))
    results = Results(quick)
    assert loops.one_flag(results) is None and loops.executor(results) is None


def test_an_interrupted_run_answers_what_it_has(tmp_path: Path) -> None:
    for stages in ((BEFORE,), (ONE_WRITE,), (BEFORE, AFTER)):
        results = Results(run_of(tmp_path, stages, (1,)))
        assert loops.one_flag(results) is None
    nothing = dataclasses.replace(loop_of(tmp_path, AFTER, PUT), record=StepRecord(role="loop"))
    assert loops.one_flag(Results(steps.run(tmp_path, [nothing]))) is None
