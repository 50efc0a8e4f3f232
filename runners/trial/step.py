"""One step: load a server, observe it, and profile it if wanted; the raw files go into the step's folder."""

import contextlib
import dataclasses
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from runners.errors import LabError, MeasureError, ServerError
from runners.generators.load import Generator, LoadOutcome, LoadSpec, LoadTarget, Sender, run_load
from runners.process.supervisor import ProcessClock, activity, tree
from runners.storage.run_folder import StepFolder
from runners.storage.schema import Ended, GeneratorRecord, ProfileRecord, StepRecord, StoreStatus, TargetRecord
from runners.targets.base import log_tail
from runners.targets.group import Target, TargetGroup
from runners.targets.lab_server import RunningServer
from runners.trial.activity import Activity, BackgroundClock, idle_thread, stalls_watched
from runners.trial.profiler import Profiler, ProfileSpec, Recorder
from runners.trial.sampler import CPU, Sampler, sampler_of
from runners.trial.telemetry import processes, telemetry

Tick = Callable[[float], None]
_ENDING_S = 1.0  # time for a server's process to end after its port is closed


@dataclasses.dataclass(frozen=True, slots=True)
class Instrument:
    """The programs that send and observe a load."""

    generator: Generator
    profiler: Profiler | None
    cpus: tuple[int, ...] | None = None  # the generator's cores; None: not pinned
    recorder: Recorder | None = None
    send: Sender = run_load


@contextlib.contextmanager
def _log_slices(copies: Mapping[Path, Path]) -> Iterator[None]:
    offsets = {source: source.stat().st_size if source.exists() else 0 for source in copies}
    yield
    for source, target in copies.items():
        if source.exists():
            with source.open("rb") as log, target.open("wb") as out:
                log.seek(offsets[source])
                shutil.copyfileobj(log, out)


class _Counters:
    """The growth of one server's counters (CPU time, calls, allocation) during a load that several servers share."""

    def __init__(self, server: Target) -> None:
        self._server = server
        self._clocks = ProcessClock(server.pids), BackgroundClock(server.pids)
        self._before, self._before_s = self._counted(), self.tick()

    def tick(self) -> tuple[float | None, dict[str, float] | None]:
        """Return (CPU seconds of server, CPU seconds of background threads by role). Call often: threads may end."""
        return self._clocks[0].read_s(), self._clocks[1].read_s()

    def end(self, target: LoadTarget) -> TargetRecord:
        """Return the server's record: by how much its counters have grown, and its memory and disk sizes now."""
        server, before = self._server, self._before
        (cpu_begun_s, begun_s), (cpu_end_s, end_s) = self._before_s, self.tick()
        background_s = {role: used_s - (begun_s or {}).get(role, 0.0) for role, used_s in (end_s or {}).items()}
        counts = ((key, before[key], value) for key, value in self._counted().items())
        risen = {k: end - start for k, start, end in counts if start is not None and end is not None and end >= start}
        return TargetRecord(
            name=target.name, engine=server.engine,
            cpu_s=None if cpu_end_s is None else cpu_end_s - (cpu_begun_s or 0.0),
            background_cpu_s=None if end_s is None else sum(background_s.values()), background_by_role_s=background_s,
            rss_bytes=processes(tree(server.pids)).rss_anon_bytes,
            disk_bytes=store_status(server.status()).disk_bytes if server.alive() else None, server=server.record(),
            **risen,
        )  # fmt: skip

    def _counted(self) -> dict[str, int | None]:
        counters: dict[str, int | None] = {"allocated_bytes": None, **activity(self._server.pids)}
        with contextlib.suppress(ServerError):
            counters["allocated_bytes"] = self._server.status().get("allocated_bytes")
        return counters


def measure_step(
    folder: StepFolder,
    server: Target,
    load: LoadSpec,
    instrument: Instrument,
    profile: ProfileSpec | None = None,  # None: without a profiler
    tick: Tick = lambda _elapsed_s: None,
    show: Tick = lambda _elapsed_s: None,
) -> StepRecord:
    """Measure a load into `folder`; return the trial's record, without fields from the plan and without a verdict.

    If the server dies under load, the load ends early and the record's `ended` says so. `tick` is called at the start
    and once a second; `show` too, but only when a core is idle, for it takes milliseconds. Raises ServerError if the
    server ended before the generator reached it, MeasureError if the generator refuses the load.
    """
    before = server.status()
    logs = {server.log: folder.server_log}
    if isinstance(server, RunningServer):
        logs[server.gc_log] = folder.gc_log
    activity = Activity(folder.activity, server.pids, server.data)

    def look(generator_pid: int, elapsed_s: float) -> None:
        sample_usage(generator_pid)
        for counter in counters.values():
            counter.tick()
        show(elapsed_s)

    def watch(generator_pid: int, elapsed_s: float) -> bool:
        tick(elapsed_s)
        if activity.generator_pid is None:  # before anything is measured
            activity.generator_pid = generator_pid
            look(generator_pid, elapsed_s)
        else:
            request_look(generator_pid, elapsed_s)
        return server.alive()

    members = server.members if isinstance(server, TargetGroup) else {}
    counters: dict[str, _Counters] = {}
    # requests of a closed loop are not logged: it sends as many as it can, and their log would have gigabytes
    logged = bool(load.parts_rps or (load.targets and load.rate_rps is not None))
    load = dataclasses.replace(load, log_requests=logged, cpus=instrument.cpus)
    profiling = _Profiling(folder, server, instrument, profile)
    with (
        _log_slices(logs),
        _events_recorded(folder, server, instrument.recorder),
        profiling,
        telemetry(folder.telemetry, server.pids) as sample_usage,
        activity,
        idle_thread(look) as request_look,
        stalls_watched(folder.stalls) as watched,
    ):
        counters |= {name: _Counters(member) for name, member in members.items()}
        try:
            outcome = instrument.send(instrument.generator, load, folder, tick=watch)
        except MeasureError as refusal:
            if server.ended_within(_ENDING_S):
                raise server.death() from refusal
            raise
    record = replace(
        _record(server, load, instrument, outcome), store_before=store_status(before),
        cluster_before=before.get("cluster") or {}, others=activity.busiest(), witness=watched[0],
        targets=tuple(counters[target.name].end(target) for target in load.targets if target.name in counters),
    )  # fmt: skip
    if server.alive():
        after = server.status()
        window_ms = (int(outcome.started_unix_us / 1000 + load.warmup_s * 1000), outcome.ended_unix_us // 1000)
        if instrument.recorder is not None and folder.causes_recording.exists():
            with contextlib.suppress(MeasureError):
                instrument.recorder.convert(folder.causes_recording, folder.events)
        record = replace(
            record, ended=Ended.INTERRUPTED if outcome.interrupted else Ended.WHOLE,
            invalid_reasons=("interrupted",) if outcome.interrupted else (), store_after=store_status(after),
            cluster_after=after.get("cluster") or {}, process_after=processes(tree(server.pids)),
            profiler=profiling.converted(window_ms),
        )  # fmt: skip
    else:
        log = tuple(log_tail(server.log).splitlines())
        reason = f"the server died under load (exit code {server.exit_code()})"
        record = replace(record, ended=Ended.DIED, invalid_reasons=(reason,), server_log_tail=log)
    return replace(record, profiled=profiling.events, profiler_note=profiling.note)


def store_status(status: Mapping[str, Any]) -> StoreStatus:
    return msgspec.convert(status.get("store") or {}, StoreStatus)


@contextlib.contextmanager
def _events_recorded(folder: StepFolder, server: Target, recorder: Recorder | None) -> Iterator[None]:
    with contextlib.suppress(MeasureError):
        if recorder is not None and isinstance(server, RunningServer):
            recorder.start(server.pid)
    try:
        yield
    finally:
        with contextlib.suppress(MeasureError):
            if recorder is not None and isinstance(server, RunningServer) and server.alive():
                recorder.stop(server.pid, folder.causes_recording)


class _Profiling:
    """A context manager that profiles the server. `events`: recorded kinds of event; `note`: why it failed, or None."""

    def __init__(self, folder: StepFolder, server: Target, instrument: Instrument, profile: ProfileSpec | None) -> None:
        self._folder, self._server, self._profiler, self._profile = folder, server, instrument.profiler, profile
        self._sampler: Sampler | None = None
        self.events: tuple[str, ...] = ()
        self.note: str | None = None

    def __enter__(self) -> None:
        try:
            if self._profile is not None:
                sampler = sampler_of(self._server, self._profiler)
                sampler.start(self._profile, self._folder)
                self._sampler, self.events = sampler, self._profile.events if isinstance(sampler, Profiler) else (CPU,)
        except MeasureError as refusal:
            self.note = str(refusal)

    def __exit__(self, *_: object) -> None:
        if self._sampler and (self._server.alive() or not isinstance(self._sampler, Profiler)):
            self._sampler.stop(self._folder)

    def converted(self, window_ms: tuple[int, int]) -> ProfileRecord:
        """Return a profile's record of a window (Unix ms). On failure raise MeasureError for a JVM, else set `note`."""
        try:
            if self._sampler and self._profile:
                return self._sampler.convert(self._profile, self._folder, window_ms)
        except MeasureError as refusal:
            if isinstance(self._sampler, Profiler):
                raise
            self.note, self.events = str(refusal), ()
        return ProfileRecord()


def generator_record(generator: Generator, outcome: LoadOutcome, cpus: tuple[int, ...] | None) -> GeneratorRecord:
    return GeneratorRecord(
        tool=generator.name, version=generator.version, command=outcome.command, exit_code=outcome.exit_code,
        cpu_s=outcome.cpu_s, cpus=cpus,
    )  # fmt: skip


def _record(server: Target, load: LoadSpec, instrument: Instrument, outcome: LoadOutcome) -> StepRecord:
    return StepRecord(
        engine=server.engine, treatment=server.subject, started_unix_us=outcome.started_unix_us,
        ended_unix_us=outcome.ended_unix_us, offered_rps=load.rate_rps, connections=load.connections,
        threads=load.threads, warmup_s=load.warmup_s, duration_s=load.duration_s,
        generator=generator_record(instrument.generator, outcome, instrument.cpus),
        shares=outcome.shares, server=server.record(),
    )  # fmt: skip


def skipped(server: Target, load: LoadSpec, instrument: Instrument, why: LabError) -> StepRecord:
    """Return the record of a trial that was not measured, as its server had ended or been replaced (error `why`)."""
    now_us = time.time_ns() // 1000
    return replace(
        _record(server, load, instrument, LoadOutcome((), -1, now_us, now_us, stopped_early=True)),
        ended=Ended.SKIPPED,
        invalid_reasons=(f"skipped: {why.thing}: {why.cause.splitlines()[0]}",),
        server_log_tail=tuple(log_tail(server.log).splitlines()),
    )
