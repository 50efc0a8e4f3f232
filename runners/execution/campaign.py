"""Carry out a campaign, many runs from one file: measure its jobs in order, and resume where an earlier call stopped.

A job's result is the run folder whose name has the hash of the job's content, if the folder's manifest has the status
`complete`. Jobs that have a result are not measured again.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

import msgspec

from runners import words
from runners.design.experiment import Value
from runners.errors import MeasureError
from runners.execution.progress import BarSink, Event, LineSink, Sink
from runners.storage.run_folder import RunFolder, StoreError

LOCK = ".campaign.lock"
#: The files with a job and with its outcome, in the folder of a lab that measures this job for another host's lab.
JOB_FILE, OUTCOME_FILE = "job.json", "outcome.json"
#: Error numbers of a folder that can't be written to: every later job would fail for the same reason.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
REMEDY = "free some room, or name another folder by LAB_RUNS, and call it again: what is measured is kept"


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a campaign: the experiment or command `kind` with its parameters. Equal jobs have equal addresses."""

    name: str
    kind: str
    parameters: dict[str, Value]
    repeat: int
    planned_s: float
    address: str  # hash of what it measures
    changed: dict[str, Value] = {}  # parameters that are not at their defaults
    report: bool = False

    @property
    def folder(self) -> str:
        """The name of the result's run folder."""
        return f"{self.kind}-{self.address}"


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended."""

    address: str  # of the job
    status: Literal["complete", "failed"]
    cause: str = ""
    stop: bool = False  # later jobs would fail too
    took_s: float = 0.0  # of the whole job
    loaded_s: float = 0.0  # of its loads alone
    trials: int = 0
    invalid: int = 0  # trials that are not valid
    sentinel_us: float | None = None  # p50 of the run's sentinel
    host: str = ""  # that measured the job


def outcome_of(job: Job, runs: Path) -> JobOutcome | None:
    """Return the outcome of a job whose run below `runs` is complete; None if the job has yet to be measured."""
    try:
        manifest = RunFolder.open(runs / job.folder).manifest()
    except StoreError:
        return None
    if manifest.get("status") != "complete" or manifest.get("address") != job.address:
        return None
    return msgspec.convert(manifest.get("outcome") or {"address": job.address, "status": "complete"}, JobOutcome)


@contextlib.contextmanager
def held(runs: Path) -> Iterator[None]:
    """Lock the folder `runs` for one lab while the body runs. Raises MeasureError if another lab has locked it."""
    try:
        runs.mkdir(parents=True, exist_ok=True)
        lock = (runs / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        raise MeasureError(str(runs), f"it can't be written to ({error.strerror})", REMEDY) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            cause = f"process {lock.read().strip() or 'of another lab'} is measuring into it"
            raise MeasureError(str(runs), cause, "wait for it, or end it") from error
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


@dataclass(frozen=True, slots=True)
class Ended:
    """How a campaign ended."""

    outcomes: tuple[JobOutcome, ...]  # of the jobs that have ended, now or before
    left: tuple[Job, ...]  # jobs for which the budget had no time


def carry_out(
    jobs: Sequence[Job], measure: Callable[[Job, Path], JobOutcome], runs: Path, watch: "Lines",
    minutes: float | None = None,
) -> Ended:  # fmt: skip
    """Measure the jobs without a result, as long as `minutes` (None: no limit) allow; return how the campaign ended.

    `measure` measures a job into a folder. `watch` shows when jobs begin and end. Raises MeasureError if an outcome
    says that later jobs would fail too.
    """
    begun_s = time.monotonic()
    outcomes: list[JobOutcome] = []
    for at, job in enumerate(jobs):
        if (there := outcome_of(job, runs)) is not None:
            outcomes.append(there)
            watch.end(job, there, there=True)
            continue
        if minutes is not None and time.monotonic() - begun_s + job.planned_s > minutes * 60:
            return Ended(tuple(outcomes), tuple(left for left in jobs[at:] if outcome_of(left, runs) is None))
        watch.begin(job)
        outcome = measure(job, runs / job.folder)
        outcomes.append(outcome)
        watch.end(job, outcome, there=False)
        if outcome.stop:
            raise MeasureError(str(runs), outcome.cause, REMEDY)
    return Ended(tuple(outcomes), ())


def duration(seconds: float) -> str:
    """Return a duration by its two largest units: 2 h 05 min, 3 min 20 s, 12 s."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def settings(job: Job) -> str:
    """Return as text the parameters of a job that are not at their defaults."""
    return " ".join(f"{name}={str(value).rpartition('/')[2]}" for name, value in job.changed.items())


def plan_lines(jobs: Sequence[Job], runs: Path, minutes: float | None, ordered: bool = False) -> Iterator[str]:
    """Yield a plan's lines: one per combination of settings; if `ordered`, also one per job; then the planned time."""
    measured = {job.folder for job in jobs if outcome_of(job, runs) is not None}
    cells: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        cells.setdefault((job.name, settings(job)), []).append(job)
    for (name, given), own in cells.items():
        left = [job for job in own if job.folder not in measured]
        planned = f"{len(left)} of {len(own)} to measure, {duration(sum(job.planned_s for job in left))}"
        yield f"{name}: {own[0].kind} {given}: {planned}"
    for number, job in enumerate(jobs if ordered else (), 1):
        state = "there already" if job.folder in measured else duration(job.planned_s)
        yield f"{number:>4}  {job.name} {settings(job)}, repeat {job.repeat}, {job.address}: {state}"
    left_s = sum(job.planned_s for job in jobs if job.folder not in measured)
    budget = "" if minutes is None or left_s <= minutes * 60 else f"; the budget is {duration(minutes * 60)} a call"
    yield f"{len(jobs)} runs, {len(measured)} there already; planned length {duration(left_s)}{budget}"


class Lines(Sink):
    """Shows a line when a job begins and when it ends; on a terminal, also a bar with the progress of the run."""

    def __init__(self, jobs: Sequence[Job], out: TextIO) -> None:
        self._left, self._whole = {job.folder: job.planned_s for job in jobs}, len(jobs)
        self._under_way = set[str]()
        self._shown = BarSink(out) if out.isatty() else LineSink(out)

    def begin(self, job: Job) -> None:
        self._under_way.add(job.folder)
        at = f"[{self._whole - len(self._left) + len(self._under_way)}/{self._whole}]"
        self.note(f"{at} {job.name} {settings(job)}, repeat {job.repeat}: planned {duration(job.planned_s)}")

    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None:
        """Show how a job ended, unless its result was `there` already."""
        del self._left[job.folder]
        self._under_way.discard(job.folder)
        if there:
            return
        seen = [f"failed: {outcome.cause}" if outcome.status == "failed" else "done"]
        if outcome.status == "complete":
            invalid = f", {outcome.invalid} invalid" if outcome.invalid else ""
            seen += [duration(outcome.took_s), f"trials {outcome.trials}{invalid}"]
            if outcome.sentinel_us is not None:
                seen.append(f"sentinel p50 {words.latency(outcome.sentinel_us)}")
        self.note(f"      {', '.join(seen)}; at most {duration(sum(self._left.values()))} planned for the rest")

    def lose(self, job: Job, cause: str) -> None:
        self._under_way.discard(job.folder)
        self.note(f"      {settings(job)}, repeat {job.repeat}: {cause}; it begins again")

    def show(self, event: Event) -> None:
        if isinstance(self._shown, BarSink):
            self._shown.show(event)

    def say(self, line: str) -> None:
        print(line, flush=True)

    def note(self, line: str) -> None:
        self._shown.say(line)

    def stop(self) -> None:
        self._shown.close()
