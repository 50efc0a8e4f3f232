"""Measure a campaign's jobs on the hosts of a fleet.

A job's result is complete or absent: its whole run folder is fetched first, and only then moved into place.
"""

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
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from runners.design.experiment import LISTEN, OF_HOST
from runners.errors import MeasureError
from runners.execution.campaign import JOB_FILE, OUTCOME_FILE, Ended, Job, JobOutcome, Lines, outcome_of
from runners.fleet.shares import LostHostError
from runners.fleet.workers import LEASE_S, SERVER, Fleet, Host, environment, lease_over
from runners.process.supervisor import start
from runners.storage.run_folder import RunFolder
from runners.targets.base import log_tail

#: A job is given up if so many hosts were lost while they measured it: the job may be the cause.
ATTEMPTS = 3
#: A campaign ends after this time without any host.
ALONE_S = 30.0
MOST_HOSTS = 1_000
_LOOK_S = 0.5


def measure_on(host: Host, fleet: Fleet, job: Job, folder: Path, halted: threading.Event) -> JobOutcome:
    """Measure a job on a host, fetch its run into `folder`, return the outcome. Raises LostHostError for a lost host.

    If `halted` is set, the measurement ends early.
    """
    if job.parameters.get(LISTEN.name) == OF_HOST:
        job = replace(job, parameters={**job.parameters, LISTEN.name: host.ip})
    outcome, packed = fleet.run_on(host, SERVER, halted, _measure, msgspec.json.encode(job), environment(fleet, host))
    result = replace(msgspec.json.decode(outcome, type=JobOutcome), host=host.name)
    if result.status == "complete":
        _unpack(packed, folder, job.folder, result)
    return result


def _unpack(packed: bytes, folder: Path, name: str, outcome: JobOutcome) -> None:
    """Unpack run folder `name` from a tar archive as `folder`, unless that is complete; its manifest gets `outcome`."""
    partial = folder.with_name(f"{folder.name}.partial-{secrets.token_hex(3)}")
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(partial, filter="data")
        run = RunFolder(partial / name)
        run.update_manifest(outcome=msgspec.to_builtins(outcome), host=outcome.host)
        there = RunFolder(folder)
        if there.manifest_path.is_file() and there.manifest().get("status") == "complete":
            return
        shutil.rmtree(folder, ignore_errors=True)  # an unfinished attempt may have left it
        run.path.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _measure(job: bytes, variables: dict[str, str], lease: str) -> tuple[bytes, bytes]:
    """Measure a job on a worker, in a new process. Return the outcome as JSON and the run folder as a tar archive."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lab-job-") as scratch:
        home = Path(scratch)
        (home / JOB_FILE).write_bytes(job)
        log = home / "log"
        with log.open("wb") as out:
            child = start(
                [sys.executable, "-m", "runners.jobs", str(home)],
                stdout=out, stderr=out, env={**os.environ, **variables, "LAB_RUNS": str(home)},
            )  # fmt: skip
        try:
            while not child.wait_up_to(_LOOK_S):
                if lease_over(lease, began):  # this host was out of reach, and the campaign measures the job again
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


def spread(jobs: Sequence[Job], fleet: Fleet, runs: Path, watch: Lines, minutes: float | None = None) -> Ended:
    """Measure jobs that have no result in `runs`, on the free hosts of a fleet, as `carry_out` does on this machine.

    `minutes`: limit of the whole campaign. A lost host takes part again once it responds; a host that joins later
    takes part too. Raises MeasureError if no host is left, or `runs` can't be written to; results so far are kept.
    """
    begun_s = seen_s = time.monotonic()
    outcomes = {job.address: known for job in jobs if (known := outcome_of(job, runs)) is not None}
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
                            measured = pool.submit(measure_on, host, fleet, job, runs / job.folder, halted)
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
                        failure = MeasureError(str(runs), cause, "free some room, then call it again")
                    watch.end(job, outcome, there=False)
        finally:
            halted.set()
    if failure:
        raise failure
    done = tuple(outcomes[job.address] for job in jobs if job.address in outcomes)
    return Ended(done, tuple(job for job in jobs if job.address not in outcomes))
