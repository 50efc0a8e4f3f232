"""Measure one job (one run of a campaign) in this process, and compute the hash that identifies a job's result."""

import contextlib
import hashlib
import json
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from runners.design.experiment import REPORT_S, Value
from runners.design.load import SENTINEL_PLANNED_S
from runners.design.target import foreign, target_of
from runners.errors import LabError, PlanError
from runners.execution.campaign import JOB_FILE, OUTCOME_FILE, UNWRITABLE, Job, JobOutcome
from runners.execution.progress import Sink, sink
from runners.experiments.commands import SERVERS
from runners.experiments.registry import plan_of
from runners.lab import Lab, circumstances
from runners.readers.history import machine_class
from runners.storage.run_folder import RunFolder, StoreError
from runners.storage.schema import read_record
from runners.storage.step_folder import replace_file
from runners.targets.external import content_hash
from runners.toolchain.build import Workshop, prepare, present_loadgen_sources, source_hash, truepace_tool
from runners.toolchain.tools import CHECKOUT, SERVER_JAVA, TRUEPACE, find_wrk, find_wrk2, require_jdk
from runners.trial import machine


class Appraisal:
    """A callable that returns (content address, planned seconds) of a job. It examines machine and tools only once."""

    def __init__(self) -> None:
        self._machine = machine_class(machine.facts())
        self._target = cache(lambda text: content_hash(file) if (file := target_of(text)) is not None else text)
        self._generator = cache(_versions_by_tool)
        # the hash and version are known without building anything
        self._server = cache(lambda: f"{source_hash(SERVER_JAVA) if CHECKOUT else ''} {require_jdk().version}")

    def __call__(self, kind: str, parameters: Mapping[str, Value], repeat: int) -> tuple[str, float]:
        """Return a job's content address and its planned seconds. Raises LabError if the job can't be run.

        The address has 16 hex digits. It is a hash of all that determines the job's result. `kind` is an experiment or
        a command, such as load. `repeat` is the number of the job among equal jobs of its campaign, from 1.
        """
        plan = plan_of(kind)
        if not plan.blocks_of(parameters):
            raise PlanError(f"measure {kind}", "it measures nothing", "name an experiment that loads a server")
        named = {key: self._target(str(value)) for key, value in parameters.items() if key in SERVERS}
        chosen = str(parameters.get("generators", parameters.get("generator", "truepace")))
        content = {
            "kind": kind, "parameters": {**parameters, **named}, "repeat": repeat, "machine": self._machine,
            "generator": self._generator(chosen), "server": None if foreign(parameters) else self._server(),
        }  # fmt: skip
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        planned_s = SENTINEL_PLANNED_S + plan.planned_s(dict(parameters)) - REPORT_S
        return hashlib.sha256(text.encode()).hexdigest()[:16], planned_s


def _versions_by_tool(tools: str) -> dict[str, str]:
    versions = {"truepace": present_loadgen_sources() if CHECKOUT else truepace_tool(TRUEPACE).version}
    for name, find in (("wrk2", find_wrk2), ("wrk", find_wrk)):
        if name in tools.split(",") and (tool := find()) is not None:
            versions[name] = tool.version
    return versions


class LocalRunner:
    """A runner that measures jobs one by one in this process. `shown_in` displays progress, `say` prints messages."""

    def __init__(self, shown_in: Sink, say: Callable[[str], None]) -> None:
        self._shown_in, self._say = shown_in, say
        self._prepared: dict[tuple[str, bool], tuple[Workshop, dict[str, Any]]] = {}

    def run(self, job: Job, folder: Path) -> JobOutcome:
        """Measure a job into `folder` or resume an attempt there; the outcome is `failed` after OSError or LabError."""
        begun_s = time.monotonic()
        try:
            return self._measured(job, folder, begun_s)
        except (OSError, LabError) as error:
            cause, of_system = str(error) or repr(error), error if isinstance(error, OSError) else error.__cause__
            with contextlib.suppress(OSError, LabError):
                RunFolder.open(folder).update_manifest(cause=cause)
            return JobOutcome(
                address=job.address, status="failed", cause=cause,
                stop=isinstance(of_system, OSError) and of_system.errno in UNWRITABLE,
                took_s=time.monotonic() - begun_s, host=socket.gethostname(),
            )  # fmt: skip

    def _measured(self, job: Job, folder: Path, begun_s: float) -> JobOutcome:
        run, resume = self._opened(job, folder)
        # trials of an earlier attempt: `loaded_s` leaves out their time
        kept = {(step.name, read_record(step).started_unix_us) for step in run.steps()}
        try:
            lab = self._begun(job, run, resume)
        except PlanError as error:
            if not resume:
                raise
            self._say(f"{folder.name} is measured anew: {error.cause}")
            run, _ = self._opened(job, folder, anew=True)
            lab = self._begun(job, run, resume=False)
        with _printing_into(run):
            try:
                for block in lab.blocks:
                    lab.run(block)
                took_s, records = time.monotonic() - begun_s, [read_record(step) for step in run.steps()]
                own = (record for record in records if (record.name, record.started_unix_us) not in kept)
                loaded_us = sum(max(0, record.ended_unix_us - record.started_unix_us) for record in own)
                outcome = JobOutcome(
                    address=job.address, status="complete", took_s=took_s, loaded_s=loaded_us / 1e6,
                    trials=len(records), invalid=sum(not record.valid for record in records),
                    sentinel_us=(run.manifest().get("sentinel") or {}).get("p50_us"), host=socket.gethostname(),
                )  # fmt: skip
                fields = msgspec.to_builtins(outcome)
                if job.report:
                    run.update_manifest(outcome=fields)
                    lab.conclude()
                else:
                    lab.finish(outcome=fields)
            finally:
                lab.close()
        return outcome

    def _opened(self, job: Job, folder: Path, anew: bool = False) -> tuple[RunFolder, bool]:
        """Return a job's run folder, and whether it holds an attempt to resume. If `anew`, an attempt is removed."""
        if not anew:
            with contextlib.suppress(StoreError):
                run = RunFolder.open(folder)
                manifest = run.manifest()
                if manifest.get("address") == job.address and "machine" in manifest:  # recorded before the first load
                    run.update_manifest(status="interrupted")
                    return run, True
        shutil.rmtree(folder, ignore_errors=True)
        plan = plan_of(job.kind)
        about = {"title": plan.title, "address": job.address, "job": msgspec.to_builtins(job)}
        size = plan.size_of(job.parameters)
        return RunFolder.create(folder.parent, plan.number, size, about, name=folder.name), False

    def _begun(self, job: Job, run: RunFolder, resume: bool) -> Lab:
        generator, own = str(job.parameters.get("generator", "truepace")), not foreign(job.parameters)
        if (generator, own) not in self._prepared:
            shop = prepare(generator, self._say, own_servers=own)
            self._prepared[generator, own] = shop, circumstances(shop)
        shop, about = self._prepared[generator, own]
        with _printing_into(run):
            return Lab(
                job.kind, job.parameters, resume=run.path if resume else None, folder=None if resume else run,
                shop=shop, shown_in=self._shown_in, about=about,
            )  # fmt: skip


@contextlib.contextmanager
def _printing_into(run: RunFolder) -> Iterator[None]:
    with run.lab_log.open("a", encoding="utf-8", buffering=1) as log, contextlib.redirect_stdout(log):
        yield


def main(home: Path) -> None:
    """Measure the job in `home`/JOB_FILE for a lab on another host; write the job's outcome to `home`/OUTCOME_FILE."""
    job = msgspec.json.decode((home / JOB_FILE).read_bytes(), type=Job)
    outcome = LocalRunner(sink(notebook=False), print).run(job, home / job.folder)
    replace_file(home / OUTCOME_FILE, msgspec.json.encode(outcome))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
