"""Show a campaign: its plan by cells, then its jobs as a live table on a terminal or a line each in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from runners.design.campaign import Job
from runners.execution.campaign import Outcome, Results
from runners.execution.progress import Event
from runners.readers import write

ENDED_SHOWN, NEXT_SHOWN = 12, 4
COLUMNS = ("run", "repeat", "settings", "planned", "took", "state", "trials", "sentinel p50", "stalled")


def duration(seconds: float) -> str:
    """Hours, minutes and seconds as far as they matter."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def settings(job: Job) -> str:
    """What of a job is not at its default."""
    return " ".join(f"{name}={str(value).rpartition('/')[2]}" for name, value in job.changed.items())


def plan_lines(jobs: Sequence[Job], results: Results, minutes: float | None, ordered: bool = False) -> Iterator[str]:
    """The plan: a line a cell, with `ordered` then one a job in its order, and the planned length of what is left."""
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


def _cells(job: Job, state: str, outcome: Outcome | None = None) -> list[str]:
    took, trials, sentinel, stalled = "", "", "", ""
    if outcome is not None and outcome.status == "complete":
        took = duration(outcome.took_s)
        trials = f"{outcome.trials}, {outcome.invalid} invalid" if outcome.invalid else str(outcome.trials)
        sentinel = "" if outcome.sentinel_us is None else write.latency(outcome.sentinel_us)
        stalled = "" if outcome.stalled_share is None else write.percent(outcome.stalled_share)
    return [job.name, str(job.repeat), settings(job), duration(job.planned_s), took, state, trials, sentinel, stalled]


class _OfOneRun:
    """What a run says is kept in its own folder, which standard output is turned to meanwhile."""

    def say(self, line: str) -> None:
        print(line, flush=True)

    def rest(self) -> None:
        """Nothing follows below."""

    def close(self) -> None:
        """Go on: there is another run, until `stop`."""


class LiveTable(_OfOneRun):
    """The last jobs that ended, the one that is measured, and the next ones; drawn anew when something is shown.

    It draws when it is called and has no thread of its own: beside a load nothing may run that is not asked for.
    """

    def __init__(self, jobs: Sequence[Job], console: Console) -> None:
        self._jobs = list(jobs)
        self._rows: list[list[str]] = []
        self._now: tuple[Job, float] | None = None
        self._ended, self._failed, self._moment = 0, 0, ""
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
        self._live.start()

    def begin(self, job: Job) -> None:
        self._now, self._moment = (job, time.monotonic()), ""
        self._draw()

    def end(self, job: Job, outcome: Outcome, there: bool) -> None:
        state = "there already" if there else "done" if outcome.status == "complete" else f"failed: {outcome.cause}"
        self._rows = [*self._rows, _cells(job, state, outcome)][-ENDED_SHOWN:]
        self._now, self._ended = None, self._ended + 1
        self._failed += outcome.status == "failed"
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
            style = "red" if row[5].startswith("failed") else "dim" if row[5] != "done" else ""
            table.add_row(*map(Text, row), style=style)
        ahead = self._jobs[self._ended :]
        if self._now is not None:
            since = f"since {duration(time.monotonic() - self._now[1])}"
            table.add_row(*map(Text, _cells(ahead[0], since)), style="bold")
            ahead = ahead[1:]
        for job in ahead[:NEXT_SHOWN]:
            table.add_row(*map(Text, _cells(job, "")), style="dim")
        left_s = sum(job.planned_s for job in self._jobs[self._ended :])
        failed = f", {self._failed} failed" if self._failed else ""
        foot = f"{self._ended} of {len(self._jobs)} ended{failed}; at most {duration(left_s)} planned for the rest"
        self._live.update(Group(table, Text(self._moment, style="cyan"), Text(foot)), refresh=True)


class Lines(_OfOneRun):
    """A line when a job begins and when it ends, for a log."""

    def __init__(self, jobs: Sequence[Job], out: TextIO) -> None:
        self._left, self._whole, self._out = {job.folder: job.planned_s for job in jobs}, len(jobs), out

    def begin(self, job: Job) -> None:
        at = f"[{self._whole - len(self._left) + 1}/{self._whole}]"
        self.note(f"{at} {job.name} {settings(job)}, repeat {job.repeat}: planned {duration(job.planned_s)}")

    def end(self, job: Job, outcome: Outcome, there: bool) -> None:
        del self._left[job.folder]
        if there:
            return
        *_, took, state, trials, sentinel, stalled = _cells(job, outcome.cause or "done", outcome)
        seen = ", ".join(part for part in (
            state, took, trials and f"trials {trials}", sentinel and f"sentinel p50 {sentinel}",
            stalled and f"stalled {stalled} of its time",
        ) if part)  # fmt: skip
        self.note(f"      {seen}; at most {duration(sum(self._left.values()))} planned for the rest")

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
