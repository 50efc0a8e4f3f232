"""Carry out a campaign: its jobs in order, without those that have a result, so that it can be ended at any moment.

A result is a run folder named by the job's content address. It counts once its manifest says `complete`, which is
written last. The state of a campaign is the set of these folders and nothing else.

The plan is shown by cells, the progress as a live table of jobs on a terminal, or as lines in a log.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

import msgspec
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runners import words
from runners.design.experiment import Value
from runners.errors import MeasureError
from runners.execution.progress import Event, Sink
from runners.storage.run_folder import RunFolder, StoreError

LOCK = ".campaign.lock"
#: The job and the outcome in the folder of a lab that measures one job for another.
JOB_FILE, OUTCOME_FILE = "job.json", "outcome.json"
#: Errors of a folder that can't be written to, by which every later job would fail too.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
REMEDY = "free some room, or name another folder by LAB_RUNS, and call it again: what is measured is kept"


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a campaign: of the plan named `kind`, with these parameters.

    `address` identifies the result: equal jobs on equal machines have equal addresses in all campaigns. `changed`: the
    parameters that are not at their defaults, for tables.
    """

    name: str
    kind: str
    parameters: dict[str, Value]
    repeat: int
    planned_s: float
    address: str
    changed: dict[str, Value] = {}
    report: bool = False

    @property
    def folder(self) -> str:
        """The name of the result's run folder."""
        return f"{self.kind}-{self.address}"


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended. `stop`: every later job would fail in the same way.

    `loaded_s`: the part of `took_s` in which a load ran. `invalid`: how many of the `trials` may not be quoted.
    `stalled_share`: the share of the sentinel's time in which a core stalled.
    """

    address: str
    status: Literal["complete", "failed"]
    cause: str = ""
    stop: bool = False
    took_s: float = 0.0
    loaded_s: float = 0.0
    trials: int = 0
    invalid: int = 0
    sentinel_us: float | None = None
    stalled_share: float | None = None
    host: str = ""


class Runner(Protocol):
    """Measures one job at a time into a run folder, which may hold what an unfinished attempt has left.

    A job that can't be measured has a failed outcome. The manifest says `complete` only when everything is written. An
    exception ends the campaign.
    """

    def run(self, job: Job, folder: Path) -> JobOutcome: ...


class Watch(Protocol):
    """Follows the jobs of a campaign. `there`: a job's result was there already. A lost job begins again."""

    def begin(self, job: Job) -> None: ...
    def lose(self, job: Job, cause: str) -> None: ...
    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Results:
    """The results below one folder."""

    root: Path

    def folder(self, job: Job) -> Path:
        """Return the run folder for the result of a job."""
        return self.root / job.folder

    def outcome(self, job: Job) -> JobOutcome | None:
        """Return the outcome of a complete job; None for a job that is to be measured."""
        try:
            manifest = RunFolder.open(self.folder(job)).manifest()
        except StoreError:
            return None
        if manifest.get("status") != "complete" or manifest.get("address") != job.address:
            return None
        return msgspec.convert(manifest.get("outcome") or outcome_of(job), JobOutcome)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder while the body runs: two loads on one machine would measure each other.

        Raises MeasureError where another lab holds it, or it can't be written to. The kernel releases the lock when
        this process ends, by whatever death.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / LOCK).open("a+", encoding="utf-8")
        except OSError as error:
            raise MeasureError(str(self.root), f"it can't be written to ({error.strerror})", REMEDY) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                cause = f"process {lock.read().strip() or 'of another lab'} is measuring into it"
                raise MeasureError(str(self.root), cause, "wait for it, or end it") from error
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield


def outcome_of(job: Job, **fields: Any) -> dict[str, Any]:
    """Return the fields of a complete job's outcome, as a manifest keeps them."""
    return {"address": job.address, "status": "complete", **fields}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a campaign ended: the outcomes of its jobs, and the jobs that are left for want of time."""

    outcomes: tuple[JobOutcome, ...]
    left: tuple[Job, ...]

    @property
    def failed(self) -> int:
        return sum(outcome.status == "failed" for outcome in self.outcomes)


def carry_out(
    jobs: Sequence[Job],
    runner: Runner,
    results: Results,
    watch: Watch,
    minutes: float | None = None,
    clock_s: Callable[[], float] = time.monotonic,
) -> Ended:
    """Measure the jobs that have no result yet, in order, until the next does not fit into the budget.

    Call it within `results.held()`. Raises MeasureError where the folder can no longer be written to.
    """
    begun_s = clock_s()
    outcomes: list[JobOutcome] = []
    for at, job in enumerate(jobs):
        there = results.outcome(job)
        if there is not None:
            outcomes.append(there)
            watch.end(job, there, there=True)
            continue
        if minutes is not None and clock_s() - begun_s + job.planned_s > minutes * 60:
            return Ended(tuple(outcomes), tuple(left for left in jobs[at:] if results.outcome(left) is None))
        watch.begin(job)
        outcome = runner.run(job, results.folder(job))
        outcomes.append(outcome)
        watch.end(job, outcome, there=False)
        if outcome.stop:
            raise MeasureError(str(results.root), outcome.cause, REMEDY)
    return Ended(tuple(outcomes), ())


ENDED_SHOWN, NEXT_SHOWN = 12, 4
COLUMNS = ("run", "repeat", "settings", "planned", "took", "state", "trials", "sentinel p50", "stalled")


def duration(seconds: float) -> str:
    """Return hours, minutes and seconds as far as they matter."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def settings(job: Job) -> str:
    """Return the parameters of a job that are not at their defaults."""
    return " ".join(f"{name}={str(value).rpartition('/')[2]}" for name, value in job.changed.items())


def plan_lines(jobs: Sequence[Job], results: Results, minutes: float | None, ordered: bool = False) -> Iterator[str]:
    """Yield the plan: a line a cell, with `ordered` a line a job in its order, and the planned length of the rest."""
    measured = {job.folder for job in jobs if results.outcome(job) is not None}
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


def _cells(job: Job, state: str, outcome: JobOutcome | None = None) -> list[str]:
    took, trials, sentinel, stalled = "", "", "", ""
    if outcome is not None and outcome.status == "complete":
        took = duration(outcome.took_s)
        trials = f"{outcome.trials}, {outcome.invalid} invalid" if outcome.invalid else str(outcome.trials)
        sentinel = "" if outcome.sentinel_us is None else words.latency(outcome.sentinel_us)
        stalled = "" if outcome.stalled_share is None else words.percent(outcome.stalled_share)
    return [job.name, str(job.repeat), settings(job), duration(job.planned_s), took, state, trials, sentinel, stalled]


class _Printing(Sink):
    """Prints the lines of a run to standard output, which goes to the run's own folder meanwhile."""

    def say(self, line: str) -> None:
        print(line, flush=True)


class LiveTable(_Printing):
    """The last jobs that ended, those that are measured, and the next ones.

    It is drawn when it is called and has no thread of its own, which would run during a load.
    """

    def __init__(self, jobs: Sequence[Job], console: Console) -> None:
        self._waiting, self._whole = {job.folder: job for job in jobs}, len(jobs)
        self._under_way: dict[str, tuple[Job, float]] = {}
        self._rows: list[list[str]] = []
        self._failed, self._moment = 0, ""
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._live.start()

    def begin(self, job: Job) -> None:
        self._waiting.pop(job.folder, None)
        self._under_way[job.folder], self._moment = (job, time.monotonic()), ""
        self._draw()

    def lose(self, job: Job, cause: str) -> None:
        self._under_way.pop(job.folder, None)
        self._waiting = {job.folder: job, **self._waiting}
        self._row(_cells(job, cause))

    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None:
        state = "there already" if there else "done" if outcome.status == "complete" else f"failed: {outcome.cause}"
        self._waiting.pop(job.folder, None)
        self._under_way.pop(job.folder, None)
        self._failed += outcome.status == "failed"
        self._row(_cells(job, state, outcome))

    def _row(self, cells: list[str]) -> None:
        self._rows = [*self._rows, cells][-ENDED_SHOWN:]
        self._draw()

    def show(self, event: Event) -> None:
        self._moment = event.whole_text
        self._draw()

    def note(self, line: str) -> None:
        """Show a line above the table."""
        self._live.console.print(line, markup=False, highlight=False)

    def stop(self) -> None:
        self._draw()
        self._live.stop()

    def _draw(self) -> None:
        table = Table(*COLUMNS, box=None, pad_edge=False)
        for row in self._rows:
            style = "red" if row[5].startswith(("failed", "lost")) else "dim" if row[5] != "done" else ""
            table.add_row(*map(Text, row), style=style)
        under_way, waiting = list(self._under_way.values()), list(self._waiting.values())
        for job, begun_s in under_way:
            table.add_row(*map(Text, _cells(job, f"since {duration(time.monotonic() - begun_s)}")), style="bold")
        for job in waiting[:NEXT_SHOWN]:
            table.add_row(*map(Text, _cells(job, "")), style="dim")
        left = [*(job for job, _ in under_way), *waiting]
        failed = f", {self._failed} failed" if self._failed else ""
        foot = (
            f"{self._whole - len(left)} of {self._whole} ended{failed}; "
            f"at most {duration(sum(job.planned_s for job in left))} planned for the rest"
        )
        self._live.update(Group(table, Text(self._moment, style="cyan"), Text(foot)), refresh=True)


class Lines(_Printing):
    """A line when a job begins and when it ends, for a log."""

    def __init__(self, jobs: Sequence[Job], out: TextIO) -> None:
        self._left, self._whole, self._out = {job.folder: job.planned_s for job in jobs}, len(jobs), out
        self._under_way = set[str]()

    def begin(self, job: Job) -> None:
        self._under_way.add(job.folder)
        at = f"[{self._whole - len(self._left) + len(self._under_way)}/{self._whole}]"
        self.note(f"{at} {job.name} {settings(job)}, repeat {job.repeat}: planned {duration(job.planned_s)}")

    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None:
        del self._left[job.folder]
        self._under_way.discard(job.folder)
        if there:
            return
        *_, took, state, trials, sentinel, stalled = _cells(job, outcome.cause or "done", outcome)
        seen = ", ".join(part for part in (
            state, took, trials and f"trials {trials}", sentinel and f"sentinel p50 {sentinel}",
            stalled and f"stalled {stalled} of its time",
        ) if part)  # fmt: skip
        self.note(f"      {seen}; at most {duration(sum(self._left.values()))} planned for the rest")

    def lose(self, job: Job, cause: str) -> None:
        self._under_way.discard(job.folder)
        self.note(f"      {settings(job)}, repeat {job.repeat}: {cause}; it begins again")

    def show(self, event: Event) -> None:
        """A log has no progress within a run."""

    def stop(self) -> None:
        """The last line is the end."""

    def note(self, line: str) -> None:
        print(line, file=self._out, flush=True)


def table(jobs: Sequence[Job], out: TextIO) -> LiveTable | Lines:
    """Return a live table for a terminal, else lines."""
    return LiveTable(jobs, Console(file=out)) if out.isatty() else Lines(jobs, out)
