"""Work of a fleet's hosts besides sending load: they measure a campaign's jobs, and run the nodes of a cluster.

A result is complete or absent, however often its job was begun: its run folder comes back whole and is moved into
place last. A node's data is kept as long as the run renews the lease of a task in its host's slot for a server.
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
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

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
MOST_HOSTS = 1_000
_LOOK_S = 0.5


def measure_on(host: Host, fleet: Fleet, job: Job, folder: Path, halted: threading.Event) -> JobOutcome:
    """Measure a job on a host into a run folder of this machine. Raises LostHostError where the host is gone."""
    if job.parameters.get(LISTEN.name) == OF_HOST:
        job = replace(job, parameters={**job.parameters, LISTEN.name: host.ip})
    known = environment(fleet, host)
    outcome, packed = fleet.run_on(host, SERVER, halted, _measure, msgspec.json.encode(job), known)
    result = replace(msgspec.json.decode(outcome, type=JobOutcome), host=host.name)
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


def spread(jobs: Sequence[Job], fleet: Fleet, results: Results, watch: Watch, minutes: float | None = None) -> Ended:
    """Measure the jobs that have no result yet, as many at a time as there are hosts, as `carry_out` does one by one.

    A lost host takes part again once it responds, and so does a host that joins later. Raises MeasureError where no
    host is left, or the folder can no longer be written to; results so far are kept.
    """
    begun_s = seen_s = time.monotonic()
    outcomes = {job.address: known for job in jobs if (known := results.outcome(job)) is not None}
    waiting = deque(job for job in jobs if job.address not in outcomes)
    for job in jobs:
        if job.address in outcomes:
            watch.end(job, outcomes[job.address], there=True)
    halted, failure = threading.Event(), None
    under_way = dict[Future[JobOutcome], tuple[Host, Job]]()
    lost_s, losses = dict[str, float](), Counter[str]()

    def next_fits() -> bool:
        if not waiting or failure:
            return False
        return minutes is None or time.monotonic() - begun_s + waiting[0].planned_s <= minutes * 60

    def responds(host: Host) -> bool:
        if time.monotonic() - lost_s.get(host.address, -LEASE_S) < LEASE_S:
            return False
        with contextlib.suppress(LostHostError):
            fleet.renew(host, "is it there", 0.0)
            return True
        lost_s[host.address] = time.monotonic()
        return False

    with ThreadPoolExecutor(MOST_HOSTS, thread_name_prefix="host") as pool:
        try:
            while under_way or next_fits():
                busy = {host.address for host, _ in under_way.values()}
                with contextlib.suppress(OSError, RuntimeError, TimeoutError):
                    for host in fleet.hosts(SERVER):
                        if host.address not in busy and next_fits() and responds(host):
                            watch.begin(job := waiting.popleft())
                            measured = pool.submit(measure_on, host, fleet, job, results.folder(job), halted)
                            under_way[measured] = host, job
                if not under_way:
                    if time.monotonic() - seen_s > ALONE_S:
                        cause = f"no host is left, and {len(waiting)} jobs are"
                        remedy = "start its workers, then call it again: what is measured is kept"
                        raise MeasureError("the fleet", cause, remedy)
                    time.sleep(_LOOK_S)
                    continue
                seen_s = time.monotonic()
                for measured in wait(under_way, _LOOK_S, FIRST_COMPLETED).done:
                    host, job = under_way.pop(measured)
                    failed = partial(JobOutcome, address=job.address, status="failed")
                    try:
                        outcome = measured.result()
                    except LostHostError as loss:
                        lost_s[host.address] = time.monotonic()
                        losses[job.address] += 1
                        cause = f"lost: {loss.thing}: {loss.cause}"
                        if losses[job.address] < ATTEMPTS:
                            waiting.appendleft(job)
                            watch.lose(job, cause)
                            continue
                        outcome = failed(cause=cause, host=loss.thing)
                    except Exception as error:
                        outcome = failed(cause=str(error), stop=isinstance(error, OSError), host=host.name)
                    outcomes[job.address] = outcome
                    if outcome.stop:
                        cause = f"{outcome.cause} (on host {outcome.host})"
                        failure = MeasureError(str(results.root), cause, "free some room, then call it again")
                    watch.end(job, outcome, there=False)
        finally:
            halted.set()
    if failure:
        raise failure
    done = tuple(outcomes[job.address] for job in jobs if job.address in outcomes)
    return Ended(done, tuple(job for job in jobs if job.address not in outcomes))


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


@dataclass(slots=True)
class FleetHost:
    """A place for a node on a host of the fleet (a `NodeHost`), and once it has started the `Node` itself."""

    fleet: Fleet
    host: Host
    url: str = ""
    pid: int = 0
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

    def start(self, spec: ServerSpec, secret: str, again: str) -> FleetHost:
        if self._keeping is None:
            self._keeping = threading.Thread(target=self._keep, name=f"node-{self.name}", daemon=True)
            self._keeping.start()
        if self._ended is not None:
            raise self._ended
        ready = self.fleet.run_on(self.host, "", self._halted, _start, self._name, spec, secret, again)
        self.url, self.pid = f"http://{spec.listen}:{ready['port']}", int(ready["pid"])
        return self

    def _keep(self) -> None:
        try:
            self.fleet.run_on(self.host, SERVER, self._halted, _keep, self._name)
        except LabError as error:
            self._ended = error

    def crash(self) -> None:
        self._end(at_once=True)

    def stop(self) -> int:
        return self._end(at_once=False)

    def _end(self, at_once: bool) -> int:
        """Stop or kill the node, where its host still responds; return its exit code."""
        with contextlib.suppress(LostHostError):
            return self.fleet.run_on(self.host, "", threading.Event(), _end, self._name, at_once)
        return 0

    def close(self) -> None:
        """Release the place on the host."""
        self._halted.set()
        if self._keeping is not None:
            self._keeping.join()
