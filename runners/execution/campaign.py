"""Carry out a campaign: its jobs in order, none whose result is there already, so that it can be ended at any moment.

A result is a run folder whose name is the job's content address; it counts once its manifest says `complete`, which is
the last thing that is written. The state of a campaign is the set of these folders and nothing else.
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
from typing import Any, Literal, Protocol

import msgspec

from runners.design.campaign import Job
from runners.errors import MeasureError, PlanError
from runners.storage.run_folder import RunFolder, StoreError

LOCK = ".campaign.lock"
#: What a lab that measures one job for another finds in its folder, and how it says how that ended.
JOB_FILE, OUTCOME_FILE = "job.json", "outcome.json"
#: What a folder that can't be written to says; every later job would end in the same way.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
REMEDY = "free some room, or name another folder by LAB_RUNS, and call it again: what is measured is kept"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended. `stop`: every later one would end so too.

    `loaded_s` is the time in which a load ran, of the `took_s` in all; `invalid` of its `trials` may not be quoted.
    `stalled_share` is the share of the sentinel's time in which a core stood still.
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

    def run(self, job: Job, folder: Path) -> Outcome: ...


class Watch(Protocol):
    """Sees the jobs of a campaign come and go; `there`: its result was there already."""

    def begin(self, job: Job) -> None: ...
    def end(self, job: Job, outcome: Outcome, there: bool) -> None: ...


@dataclass(frozen=True, slots=True)
class Results:
    """The results below one folder, by content."""

    root: Path

    def folder(self, job: Job) -> Path:
        """Where the result of a job is, or will be."""
        return self.root / job.folder

    def outcome(self, job: Job) -> Outcome | None:
        """How a job ended that is complete; None for one that is to be measured."""
        try:
            manifest = RunFolder.open(self.folder(job)).manifest()
        except StoreError:
            return None
        if manifest.get("status") != "complete" or manifest.get("address") != job.address:
            return None
        return msgspec.convert(manifest.get("outcome") or outcome_of(job), Outcome)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other labs away while the body runs: two loads on one machine would measure each other.

        Raises PlanError where another lab is at it, or the folder can't be written to. The kernel lets go of it when
        this process ends, by whatever death.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            lock = (self.root / LOCK).open("a+", encoding="utf-8")
        except OSError as error:
            raise PlanError(str(self.root), f"it can't be written to ({error.strerror})", REMEDY) from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                lock.seek(0)
                cause = f"process {lock.read().strip() or 'of another lab'} is measuring into it"
                raise PlanError(str(self.root), cause, "wait for it, or end it") from error
            lock.truncate(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            yield


def outcome_of(job: Job, **fields: Any) -> dict[str, Any]:
    """The fields of a complete job's outcome, as a manifest keeps them."""
    return {"address": job.address, "status": "complete", **fields}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a campaign ended: the results that there are, the jobs that failed, and those left for want of time."""

    outcomes: tuple[Outcome, ...]
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
    outcomes: list[Outcome] = []
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
