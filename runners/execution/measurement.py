"""Steps in a row: measure each, read it, judge it, and keep it in the run folder."""

from __future__ import annotations

import dataclasses
import errno
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from runners.analysis.facts import judge
from runners.claims.answer import line, writes_rps
from runners.design.experiment import AROUND_A_LOAD_S
from runners.design.load import FILL, SENTINEL, Size, Workload
from runners.design.session import LOAD, Trial
from runners.errors import MeasureError, ServerError, ToolError
from runners.execution.happening import NOTHING, Happening
from runners.execution.progress import Follower, Progress
from runners.generators.generators import generators
from runners.generators.load import Generator, LoadSpec, Sender, planned_s, run_load
from runners.readers import write
from runners.readers.reading import read_step, store_frames
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import FillRecord, StepRecord, SweepRecord, write_record
from runners.targets.base import Target
from runners.targets.lab_server import check_filled, check_written, fill_by_hand
from runners.toolchain.tools import TRUEPACE
from runners.toolchain.workshop import Workshop
from runners.trial import machine
from runners.trial.profiler import SERVER_CPU_SHARE, Profiler, ProfileSpec
from runners.trial.recording import Recorder
from runners.trial.step import Instrument, Measure, measure_step, skipped, statistics, store_status
from runners.trial.telemetry import disk_bytes, processes, rest
from runners.trial.witness import StallWitness

FILL_CONNECTIONS = 8
FILL_BOUND_S = 120.0
FILL_LEAST_RPS = 1_000.0  # a store that takes less has stalled
REST_BOUND_S = 60.0  # a store that still merges then is measured as it is


def _at_rest(record: StepRecord, server: Target, workload: Workload) -> StepRecord:
    """What the store takes when its background work is done, beside what it was given."""
    settled_s = rest(server, REST_BOUND_S)
    filled = replace(
        record.fill,
        given_bytes=(1 + workload.rewrites) * workload.filled_bytes,
        live_bytes=workload.filled_bytes,
        settled_s=settled_s,
        data_bytes=disk_bytes(server.data) if server.data else None,
    )
    return replace(
        record,
        fill=filled,
        store_after=store_status(server.status()),
        statistics_after=statistics(server),
        process_after=processes(server.pids),
    )


def _paced(trial: Trial, load: LoadSpec) -> str:
    """How a load is paced, for its line of progress; nothing where its generator is not the run's."""
    if trial.generator or load.targets or load.parts_rps:
        return ""
    return ", closed loop" if load.rate_rps is None else f" at {write.rate(load.rate_rps)}"


def _about(trial: Trial, label: str) -> dict[str, Any]:
    """The fields of a step's record that its trial gives."""
    about: dict[str, Any] = {
        "label": label,
        "role": trial.role,
        "workload": trial.workload.name,
        "rate_basis": trial.rate.basis if trial.rate else "",
    }
    if trial.round is not None:
        about["round"] = trial.round
    if trial.sweep is not None:
        about["sweep"] = SweepRecord(**dataclasses.asdict(trial.sweep), rest_s=trial.sweep.rest_s)
    return about


def _generator(shop: Workshop, name: str) -> Generator:
    found = generators(shop)
    return found[name] if name in found else found["wrk2"]  # the workshop refuses to open without either


class Measurement:
    """Takes the steps of one run, all with the same instrument."""

    def __init__(
        self,
        shop: Workshop,
        generator: str,
        generator_cpus: tuple[int, ...] | None,
        size: Size,
        folder: RunFolder,
        progress: Progress,
        send: Sender = run_load,
    ) -> None:
        self._shop, self._size, self._folder, self._progress = shop, size, folder, progress
        self._instrument = Instrument(
            _generator(shop, generator),
            Profiler(shop.java, shop.profiler_jars) if shop.java and shop.profiler_jars else None,
            generator_cpus,
            machine.taskset(),
            Recorder(shop.java) if shop.java else None,
            StallWitness(TRUEPACE.with_name("stall-witness")),
            send,
        )
        self._measure: Measure = measure_step
        self._taken: dict[str, Step] = {}

    def step(
        self,
        trial: Trial,
        server: Target,
        profile: ProfileSpec | None = None,
        more: Mapping[str, object] | None = None,
        beside: Callable[[float], Happening | None] = lambda _lead_s: None,
        load: LoadSpec | None = None,
    ) -> Step:
        """Measure a trial and keep it as a step, with the fields `more` of its record. Says so when it is not valid.

        `beside` gives, from the seconds for which a load is sent before it is recorded, what happens meanwhile. `load`
        is what is sent where several servers share it.
        """
        load = load or self._load(trial, server)
        instrument = self._for(trial, load, profile)
        during = beside(instrument.generator.lead_s(load)) or NOTHING
        label = trial.label or f"{server.subject} {trial.workload.label}" + (" profiled" if profile else "")
        folder = self._folder.begin_step(trial.name)
        try:
            # a number of requests takes what it takes; its duration is a bound
            length_s = 0.0 if load.requests is not None else planned_s(instrument.generator, load)
            follower = Follower(folder.slices)
            with self._progress.part(label + _paced(trial, load), length_s + AROUND_A_LOAD_S) as part:

                def show(elapsed_s: float) -> None:
                    part.tick(elapsed_s, follower.read())

                try:
                    record = self._measure(
                        folder, server, load, instrument, profile, lambda _elapsed_s: during.begin(), show
                    )
                except ServerError as gone:
                    record = skipped(server, load, instrument, gone)
                about = _about(trial, label) | dict(more or {}) | during.record(folder)
                step = self._keep(folder, replace(record, **about))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            shutil.rmtree(folder.path, ignore_errors=True)  # makes the room to write the end of the run down
            raise MeasureError(str(self._folder.path), "the disk is full", "free some room and run again") from error
        finally:
            during.end()
        self._taken[trial.name] = step
        self._progress.say(line(step))
        return step

    def _load(self, trial: Trial, server: Target) -> LoadSpec:
        """What a trial sends to one server; how long, where the trial leaves that to the run's size."""
        shape, rate = trial.shape, trial.rate
        warmup_s, duration_s = self._size.times_s(trial.role, open_loop=rate is not None)
        return LoadSpec(
            server.url + trial.workload.path,
            trial.workload.script,
            rate.rps if rate else None,
            duration_s if shape.duration_s is None else shape.duration_s,
            shape.warmup_s if rate and shape.warmup_s is not None else warmup_s,
            shape.connections,
            shape.threads,
            shape.requests,
            trial.workload.arguments,
            parts_rps=trial.sweep.parts_rps if trial.sweep else (),
        )

    def has_generator(self, name: str) -> bool:
        """Whether a generator of that name was found on this machine."""
        return name in generators(self._shop)

    def has_jdk(self, release: int) -> bool:
        """Whether there is a JDK of that feature release; 0 is the lab's own."""
        return self._shop.jdk_of(release) is not None

    def _sender(self, name: str) -> Generator:
        return generators(self._shop)[name] if name else self._instrument.generator

    def _for(self, trial: Trial, load: LoadSpec, profile: ProfileSpec | None) -> Instrument:
        """What a trial is sent and observed with.

        Only where latency is quoted and explained are the causes of its tail recorded. The sentinel asks for this
        machine, and so comes from it alone.
        """
        ours_alone = load.targets or load.parts_rps  # to share a schedule, or to change its rate
        generator = self._ours() if ours_alone else self._sender(trial.generator)
        recorder = self._instrument.recorder if trial.role == LOAD and profile is None else None
        send = run_load if trial.role == SENTINEL else self._instrument.send
        return dataclasses.replace(self._instrument, generator=generator, recorder=recorder, send=send)

    def _ours(self) -> Generator:
        return _generator(self._shop, "truepace")

    def _keep(self, folder: StepFolder, record: StepRecord) -> Step:
        write_record(folder, record)
        step = read_step(folder)
        verdict = judge(step)
        judged = replace(step.record, valid=verdict.valid, invalid_reasons=verdict.reasons, saturated=verdict.saturated)
        store_frames(step)
        if record.sweep is not None:
            folder.requests.unlink(missing_ok=True)  # its figures by rate step are kept, a row a request is too much
        final = self._folder.commit_step(folder, judged)
        return dataclasses.replace(step, folder=final, record=judged)

    def fill(self, server: Target, workload: Workload) -> None:
        """Write the workload's keys once each, and see that they are there. Raises MeasureError when one is missing.

        Of the lab's own servers some are read back; of others every request must have a response that is no error.
        """
        if workload.fill_with is not None and self._shop.truepace is None:
            raise ToolError("truepace", f"the fill of {server.subject} needs it", "install Rust, then `lab build`")
        keys, times = workload.filled_keys, 1 + workload.rewrites
        seen_rps = writes_rps(self._taken.values(), server.subject, server.engine)
        takes_s = workload.fill_s(seen_rps) if seen_rps else workload.fill_s()
        text = f"fill {server.subject} with {write.several(keys, 'key')}"
        with self._progress.part(text, takes_s, in_plan_s=workload.fill_s()) as part:
            if self._shop.truepace is None:
                fill_by_hand(server, keys, workload.filled_value_bytes)
            else:
                own_requests = dataclasses.replace(FILL, arguments=(str(keys), str(workload.filled_value_bytes)))
                sent = workload.fill_with or own_requests
                load = LoadSpec(
                    server.url,
                    sent.script,
                    None,
                    max(FILL_BOUND_S, times * keys / FILL_LEAST_RPS),
                    connections=FILL_CONNECTIONS,
                    requests=times * keys,
                    script_arguments=sent.arguments,
                )
                folder = self._folder.begin_step(f"fill-{server.subject}")
                own = dataclasses.replace(self._instrument, recorder=None, generator=self._ours())
                measured = measure_step(folder, server, load, own, tick=part.tick)
                label, filled = f"{server.subject} fill", FillRecord(keys=keys)
                record = replace(measured, label=label, role="fill", workload="fill", fill=filled)
                if workload.rewrites:
                    record = _at_rest(record, server, workload)
                step = self._taken[folder.name] = self._keep(folder, record)
            if workload.fill_with is None:
                check_filled(server, keys)
            else:
                summary = step.frames["summary"]
                completed, refused = (
                    (0, 0) if summary.empty else (int(summary[of].iloc[0]) for of in ("completed", "non_2xx"))
                )
                check_written(server.subject, keys, completed, refused)

    def say(self, line: str) -> None:
        """A line beside the progress."""
        self._progress.say(line)

    def achieved_rps(self, name: str) -> float | None:
        """What an earlier step of this run achieved, where it was valid."""
        taken = self._taken.get(name)
        return float(taken.frames["summary"]["achieved_rps"].iloc[0]) if taken is not None and taken.valid else None

    def server_cpu_share(self, name: str) -> float:
        """CPU seconds a second that the server used in an earlier step of this run, or a guess when there is none."""
        taken = self._taken.get(name)
        if taken is None or taken.frames["telemetry"].empty:
            return SERVER_CPU_SHARE
        share = float(taken.frames["telemetry"]["server_cpu_cores"].mean())
        return share if share > 0 else SERVER_CPU_SHARE
