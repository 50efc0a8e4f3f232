"""Carry out a campaign: its jobs in order, none whose result is there already, so that it can be ended at any moment.

A result is a run folder whose name is the job's content address; it counts once its manifest says `complete`, which is
the last thing that is written. The state of a campaign is the set of these folders and nothing else.

It is shown as a plan by cells, then as a live table of jobs on a terminal, or a line each in a log.
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
#: What a lab that measures one job for another finds in its folder, and how it says how that ended.
JOB_FILE, OUTCOME_FILE = "job.json", "outcome.json"
#: What a folder that can't be written to says; every later job would end in the same way.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
REMEDY = "free some room, or name another folder by LAB_RUNS, and call it again: what is measured is kept"


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a campaign: what the plan of that name (`kind`) measures with these parameters.

    `address` names the result by its content: equal jobs on equal machines have equal addresses, whichever campaign
    they belong to. `changed` are the parameters that are not at their defaults, for tables.
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
        """The name of the run folder that holds the result."""
        return f"{self.kind}-{self.address}"


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended. `stop`: every later one would end so too.

    `loaded_s` is the time in which a load ran, of the `took_s` in all; `invalid` of its `trials` may not be quoted.
    `stalled_share` is the share of the sentinel's time in which a core stalled.
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
    """Measures one job at a time.

    `folder` is the run folder to measure into; it may hold what an attempt that did not end has left. A job that can't
    be measured gives a failed outcome, and the manifest says `complete` only when all of it is there. An exception
    ends the campaign.
    """

    def run(self, job: Job, folder: Path) -> JobOutcome: ...


class Watch(Protocol):
    """Sees the jobs of a campaign come and go; `there`: its result was there already.

    A job that is lost with its host begins again.
    """

    def begin(self, job: Job) -> None: ...
    def lose(self, job: Job, cause: str) -> None: ...
    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Results:
    """The results below one folder, by content."""

    root: Path

    def folder(self, job: Job) -> Path:
        """Where the result of a job is, or will be."""
        return self.root / job.folder

    def outcome(self, job: Job) -> JobOutcome | None:
        """Return how a job ended that is complete; None for one that is to be measured."""
        try:
            manifest = RunFolder.open(self.folder(job)).manifest()
        except StoreError:
            return None
        if manifest.get("status") != "complete" or manifest.get("address") != job.address:
            return None
        return msgspec.convert(manifest.get("outcome") or outcome_of(job), JobOutcome)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other labs away while the body runs: two loads on one machine would measure each other.

        Raises MeasureError where another lab is at it, or the folder can't be written to. The kernel lets go of it when
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
    """How a campaign ended: the results that there are, the jobs that failed, and those left for want of time."""

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
            return Ended(tuple(outcomes), tuple(each for each in jobs[at:] if results.outcome(each) is None))
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
    """Return what of a job is not at its default."""
    return " ".join(f"{name}={str(value).rpartition('/')[2]}" for name, value in job.changed.items())


def plan_lines(jobs: Sequence[Job], results: Results, minutes: float | None, ordered: bool = False) -> Iterator[str]:
    """Yield the plan: a line a cell, with `ordered` then one a job in its order, and the planned length of what is
    left.
    """
    there = {job.folder for job in jobs if results.outcome(job) is not None}
    cells: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        cells.setdefault((job.name, settings(job)), []).append(job)
    for (name, given), own in cells.items():
        left = [job for job in own if job.folder not in there]
        planned = f"{len(left)} of {len(own)} to measure, {duration(sum(job.planned_s for job in left))}"
        yield f"{name}: {own[0].kind} {given}: {planned}"
    for number, job in enumerate(jobs if ordered else (), 1):
        state = "there already" if job.folder in there else duration(job.planned_s)
        yield f"{number:>4}  {job.name} {settings(job)}, repeat {job.repeat}, {job.address}: {state}"
    left_s = sum(job.planned_s for job in jobs if job.folder not in there)
    budget = "" if minutes is None or left_s <= minutes * 60 else f"; the budget is {duration(minutes * 60)} a call"
    yield f"{len(jobs)} runs, {len(there)} there already; planned length {duration(left_s)}{budget}"


def _cells(job: Job, state: str, outcome: JobOutcome | None = None) -> list[str]:
    took, trials, sentinel, stalled = "", "", "", ""
    if outcome is not None and outcome.status == "complete":
        took = duration(outcome.took_s)
        trials = f"{outcome.trials}, {outcome.invalid} invalid" if outcome.invalid else str(outcome.trials)
        sentinel = "" if outcome.sentinel_us is None else words.latency(outcome.sentinel_us)
        stalled = "" if outcome.stalled_share is None else words.percent(outcome.stalled_share)
    return [job.name, str(job.repeat), settings(job), duration(job.planned_s), took, state, trials, sentinel, stalled]


class _OfOneRun(Sink):
    """What a run says is kept in its own folder, which standard output is turned to meanwhile; it closes nothing."""

    def say(self, line: str) -> None:
        print(line, flush=True)


class LiveTable(_OfOneRun):
    """The last jobs that ended, those that are measured, and the next ones; drawn anew when something is shown.

    It draws when it is called and has no thread of its own: during a load nothing may run that is not asked for.
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


class Lines(_OfOneRun):
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
        """Leave the progress within a run to the table."""

    def stop(self) -> None:
        """End with the last line."""

    def note(self, line: str) -> None:
        """Show a line."""
        print(line, file=self._out, flush=True)


def table(jobs: Sequence[Job], out: TextIO) -> LiveTable | Lines:
    """The right way to show a campaign here."""
    return LiveTable(jobs, Console(file=out)) if out.isatty() else Lines(jobs, out)
