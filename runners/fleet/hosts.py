"""Work of a fleet's hosts besides sending load: they measure a campaign's jobs, and run the nodes of a cluster.

A host measures one job at a time, and a lost host's job is measured elsewhere. A lab of its own on the host measures
the job; its run folder comes back whole and is moved into place last. So a result is complete or absent, however often
its job was begun, and nothing is counted twice.

The worker of a host starts, kills and restarts a node. A task in the host's slot for a server keeps the node's data as
long as the run renews its lease. When the run ends, or can't reach the host any more, the node is stopped and its
folder removed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import secrets
import shutil
import sys
import tarfile
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from runners.design.experiment import LISTEN, OF_HOST
from runners.errors import LabError, MeasureError
from runners.execution.campaign import JOB_FILE, OUTCOME_FILE, Ended, Job, JobOutcome, Results, Watch
from runners.fleet.shares import LostHostError
from runners.fleet.workers import LEASE_S, SERVER, Fleet, Host, environment, lease_over
from runners.process.supervisor import Child, start
from runners.storage.run_folder import RunFolder
from runners.targets.base import log_tail
from runners.targets.lab_server import ServerSpec, launch, secret_file

#: A job that was lost with so many hosts is given up: it may be the cause.
ATTEMPTS = 3
#: A campaign ends after so long without any host.
ALONE_S = 30.0
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class HostRunner:
    """Measures a job on one host of the fleet."""

    fleet: Fleet
    host: Host
    halted: threading.Event = field(default_factory=threading.Event)

    def run(self, job: Job, folder: Path) -> JobOutcome:
        """Measure a job into a run folder of this machine. Raises LostHostError where the host is gone."""
        if job.parameters.get(LISTEN.name) == OF_HOST:
            job = msgspec.structs.replace(job, parameters={**job.parameters, LISTEN.name: self.host.ip})
        known = environment(self.fleet, self.host)
        outcome, packed = self.fleet.run_on(self.host, SERVER, self.halted, _measure, msgspec.json.encode(job), known)
        result = msgspec.structs.replace(msgspec.json.decode(outcome, type=JobOutcome), host=self.host.name)
        if result.status == "complete":
            _unpack(packed, folder, job.folder, result)
        return result


def _unpack(packed: bytes, folder: Path, name: str, outcome: JobOutcome) -> None:
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
        shutil.rmtree(folder, ignore_errors=True)  # of an unfinished attempt
        run.path.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _measure(job: bytes, known: dict[str, str], lease: str) -> tuple[bytes, bytes]:
    """As a worker: measure a job in a lab of its own; return its outcome, and its run folder as an archive."""
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
                if lease_over(lease, began):  # the host was out of reach; whoever still waits measures the job again
                    raise LostHostError("the job's host", "its lease was not renewed", "begin the campaign again")
        finally:
            child.stop()
        if not (home / OUTCOME_FILE).exists():
            raise MeasureError("the job", f"its lab ended:\n{log_tail(log)}", "correct what it names")
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
        self.outcomes: dict[str, JobOutcome] = {}
        self.failure: MeasureError | None = None
        self._lost: dict[str, list[str]] = {}
        for job in jobs:
            if (there := results.outcome(job)) is not None:
                self.outcomes[job.address] = there
                watch.end(job, there, there=True)
            else:
                self.waiting.append(job)

    def next(self, fits: Callable[[Job], bool]) -> Job | None:
        """Take the next job; None where no job waits, or the next does not fit into the budget."""
        with self.lock:
            if self.failure or not self.waiting or not fits(self.waiting[0]):
                return None
            job = self.waiting.popleft()
            self.under_way += 1
            self._watch.begin(job)
            return job

    def ended(self, job: Job, outcome: JobOutcome) -> None:
        with self.lock:
            self.under_way -= 1
            self.outcomes[job.address] = outcome
            if outcome.stop:
                cause = f"{outcome.cause} (on host {outcome.host})"
                self.failure = MeasureError(str(self.results.root), cause, "free some room, then call it again")
            self._watch.end(job, outcome, there=False)

    def lost(self, job: Job, why: LostHostError) -> None:
        """Put a job whose host is gone first in line, or give it up where that has happened too often."""
        with self.lock:
            self.under_way -= 1
            causes = self._lost.setdefault(job.address, [])
            causes.append(f"{why.thing}: {why.cause}")
            cause = f"lost: {causes[-1]}"
            if len(causes) < ATTEMPTS:
                self.waiting.appendleft(job)
                self._watch.lose(job, cause)
                return
            outcome = JobOutcome(address=job.address, status="failed", cause=cause, host=why.thing)
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

    A lost host takes part again once it responds, and so does a host that joins later. Raises MeasureError where no
    host is left, or the folder can no longer be written to; results so far are kept.
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
                outcome = JobOutcome(address=job.address, status="failed", cause=str(error), host=host.name)
            except OSError as error:
                outcome = JobOutcome(address=job.address, status="failed", cause=str(error), stop=True, host=host.name)
            state.ended(job, outcome)

    serving: dict[str, threading.Thread] = {}
    lost_s: dict[str, float] = {}
    seen_s = time.monotonic()

    def may_serve(host: Host) -> bool:
        """Return whether a host has nothing to do, and if it was lost, responds again."""
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
                remedy = "start its workers, then call it again: what is measured is kept"
                raise MeasureError("the fleet", cause, remedy)
            time.sleep(_LOOK_S)
    finally:
        halted.set()
        for thread in serving.values():
            thread.join()
    if state.failure:
        raise state.failure
    done = [state.outcomes[job.address] for job in jobs if job.address in state.outcomes]
    return Ended(tuple(done), tuple(job for job in jobs if job.address not in state.outcomes))


_NODE_LOOK_S, _KEPT_WITHIN_S = 0.2, 20.0
#: The nodes of this process, which is a worker, by the names of the runs' places on it.
_kept: dict[str, _Kept] = {}


@dataclass(slots=True)
class _Kept:
    """A folder for a node, and the node's process while it runs."""

    folder: Path
    child: Child | None = None


def _keep(name: str, lease: str) -> None:
    """As a worker: keep a place for a node until nobody renews its lease."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-node-") as folder:
        kept = _kept[name] = _Kept(Path(folder))
        try:
            while not lease_over(lease, began):
                time.sleep(_NODE_LOOK_S)
        finally:
            del _kept[name]
            if kept.child is not None:
                kept.child.stop()


def _start(name: str, spec: ServerSpec, secret: str, again: str, _lease: str) -> dict[str, Any]:
    """As a worker: start a node, on an empty store or `again` on its data; return its ready line."""
    give_up = time.monotonic() + _KEPT_WITHIN_S
    while name not in _kept:
        if time.monotonic() > give_up:
            raise MeasureError("a node's host", "its slot for a server is taken", "end what else uses the fleet")
        time.sleep(_NODE_LOOK_S)
    kept = _kept[name]
    if kept.child is not None:
        kept.child.stop()
    data = kept.folder / "data"
    if not again:
        shutil.rmtree(data, ignore_errors=True)
    flag = f"--cluster-secret-file={secret_file(kept.folder, secret)}"
    own = dataclasses.replace(
        spec, folder=kept.folder / f"start-{again}", data=data, server_flags=(*spec.server_flags, flag)
    )
    server = launch(own, under_load=bool(again))
    kept.child = server.child
    return server.ready


def _end(name: str, at_once: bool, _lease: str) -> int:
    """As a worker: stop or kill a node, but keep its data; return its exit code."""
    kept = _kept.get(name)
    if kept is None or kept.child is None:
        return 0
    if at_once:
        kept.child.kill()
    return kept.child.stop()


@dataclass(frozen=True, slots=True)
class RemoteNode:
    """A node that was ready on another host when this was made."""

    place: FleetHost
    url: str
    pid: int

    def crash(self) -> None:
        self.place.end(at_once=True)

    def stop(self) -> int:
        return self.place.end(at_once=False)


@dataclass(slots=True)
class FleetHost:
    """A place for a node on a host of the fleet (a `NodeHost`)."""

    fleet: Fleet
    host: Host
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)
    _halted: threading.Event = field(default_factory=threading.Event)
    _keeping: threading.Thread | None = None
    _ended: LabError | None = None

    @property
    def name(self) -> str:
        return self.host.name

    @property
    def address(self) -> str:
        return self.host.ip

    @property
    def seen_from(self) -> str:
        return str(urlsplit(self.fleet.client.scheduler_comm.comm.local_address).hostname)

    def start(self, spec: ServerSpec, secret: str, again: str) -> RemoteNode:
        if self._keeping is None:
            self._keeping = threading.Thread(target=self._keep, name=f"node-{self.name}", daemon=True)
            self._keeping.start()
        if self._ended is not None:
            raise self._ended
        ready = self.fleet.run_on(self.host, "", self._halted, _start, self._name, spec, secret, again)
        return RemoteNode(self, f"http://{spec.listen}:{ready['port']}", int(ready["pid"]))

    def _keep(self) -> None:
        try:
            self.fleet.run_on(self.host, SERVER, self._halted, _keep, self._name)
        except LabError as error:
            self._ended = error

    def end(self, at_once: bool) -> int:
        """Stop or kill the node, where its host still responds; return its exit code."""
        with contextlib.suppress(LostHostError):
            return self.fleet.run_on(self.host, "", threading.Event(), _end, self._name, at_once)
        return 0

    def close(self) -> None:
        """Release the place on the host."""
        self._halted.set()
        if self._keeping is not None:
            self._keeping.join()
