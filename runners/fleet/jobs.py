"""Spread a campaign's jobs over the hosts of a fleet: each host measures one at a time, and a lost host's job goes on.

A job is measured by a lab of its own on its host, whose run folder comes back whole and is moved into place as the last
step. So a result is there or it is not, however often a job was begun, and nothing is counted twice.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import shutil
import sys
import tarfile
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from runners.design.campaign import Job
from runners.design.experiment import LISTEN, OF_HOST
from runners.errors import MeasureError
from runners.execution.campaign import JOB_FILE, OUTCOME_FILE, Ended, Outcome, Results, Watch
from runners.fleet.shares import LostHostError
from runners.fleet.workers import LEASE_S, SERVER, Fleet, Host, environment, lease_over
from runners.process.supervisor import start
from runners.storage.run_folder import RunFolder
from runners.targets.base import log_tail

#: A job whose host was lost so often is given up: it may be what ends them.
ATTEMPTS = 3
#: Without any host for so long a campaign ends; what is measured is kept.
ALONE_S = 30.0
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class HostRunner:
    """Measures a job on one host of the fleet."""

    fleet: Fleet
    host: Host
    halted: threading.Event = field(default_factory=threading.Event)

    def run(self, job: Job, folder: Path) -> Outcome:
        """Measure a job into a run folder of this machine. Raises LostHostError where the host is gone."""
        if job.parameters.get(LISTEN.name) == OF_HOST:
            job = msgspec.structs.replace(job, parameters={**job.parameters, LISTEN.name: self.host.ip})
        known = environment(self.fleet, self.host)
        outcome, packed = self.fleet.on(self.host, SERVER, self.halted, _measure, msgspec.json.encode(job), known)
        found = msgspec.structs.replace(msgspec.json.decode(outcome, type=Outcome), host=self.host.name)
        if found.status == "complete":
            _unpack(packed, folder, job.folder, found)
        return found


def _unpack(packed: bytes, folder: Path, name: str, outcome: Outcome) -> None:
    """Move a run folder into place, unless an equal result has come there first."""
    partial = folder.with_name(f"{folder.name}.partial-{secrets.token_hex(3)}")
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(partial, filter="data")
        run = RunFolder(partial / name)
        run.update_manifest(outcome=msgspec.to_builtins(outcome), host=outcome.host)
        there = RunFolder(folder)
        if there.manifest_path.is_file() and there.manifest().get("status") == "complete":
            return
        shutil.rmtree(folder, ignore_errors=True)  # what an attempt left that did not end
        run.path.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _measure(job: bytes, known: dict[str, str], lease: str) -> tuple[bytes, bytes]:
    """As a worker: measure a job in a lab of its own; give its outcome, and its run folder as an archive."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-job-") as scratch:
        home = Path(scratch)
        (home / JOB_FILE).write_bytes(job)
        log = home / "log"
        with log.open("wb") as out:
            child = start(
                [sys.executable, "-m", "runners.jobs", str(home)],
                stdout=out, stderr=out, env={**os.environ, **known, "LAB_RUNS": str(home)},
            )  # fmt: skip
        try:
            while not child.wait_up_to(_LOOK_S):
                if lease_over(lease, began):
                    # who still waits for it gets this, and measures it again: the host was only out of reach
                    raise LostHostError("the job's host", "its lease was not renewed", "begin the campaign again")
        finally:
            child.stop()
        if not (home / OUTCOME_FILE).exists():
            raise MeasureError("the job", f"its lab ended:\n{log_tail(log)}", "mend what it names")
        packed = io.BytesIO()
        name = msgspec.json.decode(job, type=Job).folder
        if (home / name).is_dir():
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(home / name, name)
        return (home / OUTCOME_FILE).read_bytes(), packed.getvalue()


class _Spread:
    """The jobs of a campaign that wait, are under way, and are done."""

    def __init__(self, jobs: Sequence[Job], results: Results, watch: Watch) -> None:
        self.lock = threading.Lock()
        self.results, self._watch = results, watch
        self.waiting = deque[Job]()
        self.under_way = 0
        self.outcomes: dict[str, Outcome] = {}
        self.failure: MeasureError | None = None
        self._lost: dict[str, list[str]] = {}
        for job in jobs:
            if (there := results.outcome(job)) is not None:
                self.outcomes[job.address] = there
                watch.end(job, there, there=True)
            else:
                self.waiting.append(job)

    def next(self, fits: Callable[[Job], bool]) -> Job | None:
        """Take the next job; None where none waits, or it does not fit into the budget."""
        with self.lock:
            if self.failure or not self.waiting or not fits(self.waiting[0]):
                return None
            job = self.waiting.popleft()
            self.under_way += 1
            self._watch.begin(job)
            return job

    def ended(self, job: Job, outcome: Outcome) -> None:
        """Keep a job's outcome."""
        with self.lock:
            self.under_way -= 1
            self.outcomes[job.address] = outcome
            if outcome.stop:
                cause = f"{outcome.cause} (on host {outcome.host})"
                self.failure = MeasureError(str(self.results.root), cause, "free some room, then call it again")
            self._watch.end(job, outcome, there=False)

    def lost(self, job: Job, why: LostHostError) -> None:
        """Mark a job whose host is gone, and put it first in line; give it up where that has happened too often."""
        with self.lock:
            self.under_way -= 1
            causes = self._lost.setdefault(job.address, [])
            causes.append(f"{why.thing}: {why.cause}")
            cause = f"lost: {causes[-1]}"
            if len(causes) < ATTEMPTS:
                self.waiting.appendleft(job)
                self._watch.lose(job, cause)
                return
            outcome = Outcome(address=job.address, status="failed", cause=cause, host=why.thing)
            self.outcomes[job.address] = outcome
            self._watch.end(job, outcome, there=False)


def spread(
    jobs: Sequence[Job],
    fleet: Fleet,
    results: Results,
    watch: Watch,
    minutes: float | None = None,
    clock_s: Callable[[], float] = time.monotonic,
) -> Ended:
    """Measure the jobs that have no result yet, as many at a time as there are hosts, as `carry_out` does one by one.

    A host that is lost takes part again once it answers, and one that joins later does too. Raises MeasureError where
    no host is left, or where the folder can no longer be written to; what was measured by then is kept.
    """
    begun_s = clock_s()
    state, halted = _Spread(jobs, results, watch), threading.Event()

    def fits(job: Job) -> bool:
        return minutes is None or clock_s() - begun_s + job.planned_s <= minutes * 60

    def serve(host: Host) -> None:
        runner = HostRunner(fleet, host, halted)
        while not halted.is_set() and (job := state.next(fits)) is not None:
            try:
                outcome = runner.run(job, results.folder(job))
            except LostHostError as why:
                lost_s[host.address] = time.monotonic()
                state.lost(job, why)
                return
            except MeasureError as error:
                outcome = Outcome(address=job.address, status="failed", cause=str(error), host=host.name)
            except OSError as error:
                outcome = Outcome(address=job.address, status="failed", cause=str(error), stop=True, host=host.name)
            state.ended(job, outcome)

    serving: dict[str, threading.Thread] = {}
    lost_s: dict[str, float] = {}
    seen_s = time.monotonic()

    def may_serve(host: Host) -> bool:
        """Whether a host has nothing to do, and if it was lost, answers again."""
        if host.address in serving and serving[host.address].is_alive():
            return False
        if time.monotonic() - lost_s.get(host.address, -LEASE_S) < LEASE_S:
            return False
        with contextlib.suppress(LostHostError):
            fleet.renew(host, "is it there", 0.0)
            return True
        lost_s[host.address] = time.monotonic()
        return False

    try:
        while state.under_way or (state.waiting and not state.failure and fits(state.waiting[0])):
            with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                for host in fleet.hosts(SERVER):
                    if may_serve(host):
                        serving[host.address] = threading.Thread(target=serve, args=(host,), name=f"host-{host.name}")
                        serving[host.address].start()
            if any(thread.is_alive() for thread in serving.values()):
                seen_s = time.monotonic()
            elif time.monotonic() - seen_s > ALONE_S:
                cause = f"no host is left, and {len(state.waiting)} jobs are"
                raise MeasureError(
                    "the fleet", cause, "start its workers, then call it again: what is measured is kept"
                )
            time.sleep(_LOOK_S)
    finally:
        halted.set()
        for thread in serving.values():
            thread.join()
    if state.failure:
        raise state.failure
    done = [state.outcomes[job.address] for job in jobs if job.address in state.outcomes]
    return Ended(tuple(done), tuple(job for job in jobs if job.address not in state.outcomes))
