"""A campaign that is killed at any moment resumes to the same set of results, each measured once."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.design.experiment import Value
from runners.errors import MeasureError
from runners.execution.campaign import (
    LOCK,
    Ended,
    Job,
    JobOutcome,
    Lines,
    carry_out,
    duration,
    held,
    outcome_of,
    plan_lines,
)
from runners.execution.progress import Event
from runners.storage.run_folder import RunFolder

PLANNED_S = 10.0


class KilledError(BaseException):
    """What ends a lab in the midst of something."""


def job(number: int, repeat: int = 1) -> Job:
    parameters: dict[str, Value] = {"size": "smoke", "rate_rps": number}
    address = f"{number:08}{repeat:08}"
    return Job(
        name="one", kind="01", parameters=parameters, repeat=repeat, planned_s=PLANNED_S, address=address,
        changed=parameters,
    )  # fmt: skip


@dataclass
class Fake:
    """Writes the folder of a run in four moments, at any of which it may be killed, and counts what it measured."""

    kills: list[int] = field(default_factory=list)
    refused: frozenset[str] = frozenset()
    stops: frozenset[str] = frozenset()
    moments: int = 0
    completed: list[str] = field(default_factory=list)

    def _moment(self) -> None:
        self.moments += 1
        if self.kills and self.moments == self.kills[0]:
            self.kills.pop(0)
            self.moments = 0
            raise KilledError

    def __call__(self, job: Job, folder: Path) -> JobOutcome:
        if job.address in self.refused | self.stops:
            return JobOutcome(address=job.address, status="failed", cause="it is ill", stop=job.address in self.stops)
        self._moment()
        folder.mkdir(exist_ok=True)
        self._moment()
        run = RunFolder(folder)
        run.steps_path.mkdir(exist_ok=True)
        run.write_manifest({"schema": "run/1", "run": folder.name, "status": "running", "address": job.address})
        self._moment()
        run.update_manifest(outcome={"address": job.address, "status": "complete", "trials": 3})
        self._moment()
        run.finish("complete")
        self.completed.append(job.address)
        return JobOutcome(address=job.address, status="complete", trials=3)


class Seen(Lines):
    """Remembers what a campaign showed."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.there: list[str] = []

    def begin(self, job: Job) -> None:
        self.begun.append(job.address)

    def lose(self, job: Job, cause: str) -> None:
        raise AssertionError("this machine is no host that can be lost")

    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None:
        assert outcome.address == job.address
        if there:
            self.there.append(job.address)


def failed(ended: Ended) -> int:
    return sum(outcome.status == "failed" for outcome in ended.outcomes)


def manifests(root: Path) -> dict[str, tuple[str, str]]:
    by_name = {path.name: RunFolder(path).manifest() for path in root.iterdir() if path.is_dir()}
    return {name: (manifest["status"], manifest["address"]) for name, manifest in by_name.items()}


JOBS = [job(number, repeat) for repeat in (1, 2) for number in (3, 1, 2)]


@settings(max_examples=60)
@given(kills=st.lists(st.integers(1, 4 * len(JOBS)), max_size=6))
def test_a_campaign_killed_at_any_moments_resumes_to_the_undisturbed_set(
    tmp_path_factory: pytest.TempPathFactory, kills: list[int]
) -> None:
    whole, disturbed = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("disturbed")
    carry_out(JOBS, Fake(), whole, Seen())
    fake = Fake(kills=list(kills))
    for _ in range(len(kills) + 1):
        try:
            with held(disturbed):
                ended = carry_out(JOBS, fake, disturbed, Seen())
            break
        except KilledError:
            pass
    assert manifests(disturbed) == manifests(whole)
    assert sorted(fake.completed) == sorted(planned.address for planned in JOBS), "nothing is measured twice"
    assert [outcome.address for outcome in ended.outcomes] == [planned.address for planned in JOBS]


def test_what_is_there_is_not_measured_again_whichever_campaign_made_it(tmp_path: Path) -> None:
    carry_out(JOBS[:2], Fake(), tmp_path, Seen())
    fake, seen = Fake(), Seen()
    ended = carry_out(JOBS, fake, tmp_path, seen)
    assert seen.there == [planned.address for planned in JOBS[:2]]
    assert seen.begun == [planned.address for planned in JOBS[2:]]
    assert {outcome.trials for outcome in ended.outcomes} == {3}, "what a manifest keeps is read back"


def test_a_folder_that_holds_another_result_or_a_broken_manifest_does_not_count(tmp_path: Path) -> None:
    results = tmp_path
    carry_out(JOBS[:1], Fake(), results, Seen())
    RunFolder(results / JOBS[0].folder).update_manifest(address="another")
    assert outcome_of(JOBS[0], results) is None
    RunFolder(results / JOBS[0].folder).manifest_path.write_text("{", encoding="utf-8")
    assert outcome_of(JOBS[0], results) is None


def test_a_job_that_fails_is_tried_again_by_the_next_call_and_the_others_are_measured(tmp_path: Path) -> None:
    fake = Fake(refused=frozenset({JOBS[1].address}))
    assert failed(carry_out(JOBS, fake, tmp_path, Seen())) == 1
    assert len(fake.completed) == len(JOBS) - 1
    seen = Seen()
    assert failed(carry_out(JOBS, Fake(), tmp_path, seen)) == 0
    assert seen.begun == [JOBS[1].address]


def test_a_full_disk_ends_the_campaign_and_the_next_call_goes_on(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="free some room") as full:
        carry_out(JOBS, Fake(stops=frozenset({JOBS[2].address})), tmp_path, Seen())
    assert full.value.cause == "it is ill"
    seen = Seen()
    carry_out(JOBS, Fake(), tmp_path, seen)
    assert seen.begun == [planned.address for planned in JOBS[2:]]


def test_what_does_not_fit_into_the_budget_is_left_to_the_next_call_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = iter(range(0, 1_000, 5))  # each look at the clock takes five seconds
    monkeypatch.setattr("runners.execution.campaign.time", SimpleNamespace(monotonic=lambda: float(next(now_s))))
    seen = Seen()
    ended = carry_out(JOBS, Fake(), tmp_path, seen, minutes=0.5)
    assert seen.begun and [planned.address for planned in ended.left] == [
        planned.address for planned in JOBS[len(seen.begun) :]
    ]
    assert 5.0 * len(seen.begun) + PLANNED_S <= 30.0 < 5.0 * (len(seen.begun) + 1) + PLANNED_S
    assert carry_out(JOBS, Fake(), tmp_path, Seen()).left == ()


def test_a_clock_that_is_stepped_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([2e9, 1.0, 3e9, 0.0] * 100)
    monkeypatch.setattr(time, "time", lambda: next(times))
    seen = Seen()
    assert carry_out(JOBS, Fake(), tmp_path, seen, minutes=60).left == ()
    assert seen.begun == [planned.address for planned in JOBS]


def test_two_labs_do_not_measure_into_one_folder(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from runners.execution.campaign import held\n"
        "with held(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "held\n"
    try:
        with pytest.raises(MeasureError, match=f"process {other.pid} is measuring into it; wait for it"):
            held(tmp_path).__enter__()
    finally:
        other.kill()  # kill -9: the kernel lets go
        other.wait()
        other.stdout.close()
    with held(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(MeasureError, match="LAB_RUNS") as refused:
        held(tmp_path).__enter__()
    assert refused.value.thing == str(tmp_path)


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MeasureError, match="can't be written to"):
        held(tmp_path / "file" / "runs").__enter__()


def test_the_lock_is_in_no_list_of_runs(tmp_path: Path) -> None:
    with held(tmp_path), (tmp_path / LOCK).open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK]


def test_the_plan_says_what_is_left_and_how_long_it_takes(tmp_path: Path) -> None:
    carry_out(JOBS[:2], Fake(), tmp_path, Seen())
    *cells, whole = plan_lines(JOBS, tmp_path, minutes=0.5)
    assert cells[0] == "one: 01 size=smoke rate_rps=3: 1 of 2 to measure, 10 s" and len(cells) == 3
    assert whole == "6 runs, 2 there already; planned length 40 s; the budget is 30 s a call"
    ordered = [line.split() for line in plan_lines(JOBS, tmp_path, None, ordered=True)][3:-1]
    assert [line[-4:-2] for line in ordered][:2] == [["1,", f"{JOBS[0].address}:"], ["1,", f"{JOBS[1].address}:"]]


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("out", [StringIO(), Terminal()], ids=["log", "terminal"])
def test_a_campaign_is_shown_on_a_terminal_and_in_a_log(tmp_path: Path, out: StringIO) -> None:
    shown = Lines(JOBS, out)
    carry_out(JOBS[:1], Fake(), tmp_path, Seen())
    carry_out(JOBS, Fake(refused=frozenset({JOBS[1].address})), tmp_path, shown)
    shown.show(Event(1.0, 2.0, "GET at 200/s"))
    shown.stop()
    text = out.getvalue()
    assert "it is ill" in text and text.count("planned 10 s") == 5 and "at most 0 s planned for the rest" in text
    assert ("GET at 200/s" in text) == out.isatty()


def test_jobs_that_are_lost_with_their_hosts_are_shown_and_left_to_do() -> None:
    out = StringIO()
    shown = Lines(JOBS, out)
    for job in JOBS[:3]:
        shown.begin(job)
    for _ in range(2):
        shown.lose(JOBS[1], "lost: host b")
        shown.begin(JOBS[1])
    shown.end(JOBS[2], JobOutcome(address=JOBS[2].address, status="complete", trials=3), there=False)
    shown.end(JOBS[1], JobOutcome(address=JOBS[1].address, status="failed", cause="lost: host b"), there=False)
    shown.stop()
    text = out.getvalue()
    assert "lost: host b" in text and "at most 40 s planned for the rest" in text
    assert text.count("it begins again") == 2 and text.count("[3/6]") == 3, text


@pytest.mark.parametrize(("seconds", "text"), [(9.6, "10 s"), (75, "1 min 15 s"), (7_260, "2 h 01 min")])
def test_a_duration_is_written_as_far_as_it_matters(seconds: float, text: str) -> None:
    assert duration(seconds) == text
