"""Measure a step, read it, judge it, and store it in the run folder; warm a server up.

Under a closed loop, a JVM's compiler threads compete with its serving threads for the server's cores. So until the
server is warm, compiler threads may use every core; and between two loops nothing is sent until they are idle.
"""

import contextlib
import dataclasses
import errno
import shutil
import time
from collections.abc import Callable

from msgspec.structs import replace

from runners import words
from runners.analysis.facts import line, writes_rps
from runners.analysis.steady_state import not_warm
from runners.analysis.validity import Aspect, judged, may_quote
from runners.design.load import BURST_S, FILL, SENTINEL, WARM_BOUND, Shape, Workload
from runners.design.session import LOAD, Trial
from runners.errors import MeasureError, ReadError, ServerError
from runners.execution.progress import Progress, followed
from runners.generators.load import Generator, LoadSpec, Sender, generators, run_load
from runners.process.cpu_placement import compiling_anywhere
from runners.readers.load_json import read_load_json
from runners.readers.reading import read_step, store_frames
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import FillRecord, StepRecord, overlaid, write_record
from runners.targets.group import Target
from runners.targets.lab_server import RunningServer, check_filled
from runners.toolchain.build import Workshop
from runners.trial.activity import BackgroundClock, available
from runners.trial.faults import Happening
from runners.trial.profiler import SERVER_CPU_SHARE, Profiler, ProfileSpec, Recorder
from runners.trial.step import Instrument, measure_step, skipped, store_status
from runners.trial.telemetry import disk_bytes, processes, rest_s

FILL_CONNECTIONS = 8
FILL_BOUND_S = 120.0
FILL_LEAST_RPS = 1_000.0  # a store that takes less has stalled
NOTHING_KNOWN = StepRecord()
REST_BOUND_S = 60.0  # a store that still merges after this time is measured as it is


def load_of(trial: Trial, server: Target) -> LoadSpec:
    """Return the load that a trial sends to one server."""
    shape, workload, rate = trial.shape, trial.workload, trial.rate
    return LoadSpec(
        server.url + workload.path, workload.script, rate.rps if rate else None, shape.duration_s or 0.0,
        (shape.warmup_s or 0.0) if rate else 0.0, shape.connections, shape.threads, shape.requests,
        workload.arguments, parts_rps=trial.sweep.parts_rps if trial.sweep else (),
    )  # fmt: skip


class Measurement:
    """Measures the steps of one run, all with the same generator, profiler and cores."""

    def __init__(
        self, shop: Workshop, generator: str, generator_cpus: tuple[int, ...] | None, folder: RunFolder,
        progress: Progress, send: Sender = run_load,
    ) -> None:  # fmt: skip
        self._shop, self._folder, self._progress = shop, folder, progress
        profiler = Profiler(shop.java, shop.profiler_jars) if shop.java and shop.profiler_jars else None
        recorder = Recorder(shop.java) if shop.java else None
        self._instrument = Instrument(self._generator(generator), profiler, generator_cpus, recorder, send)
        self._measure = measure_step
        self._taken: dict[str, Step] = {}

    def step(
        self, trial: Trial, server: Target, profile: ProfileSpec | None = None, known: StepRecord = NOTHING_KNOWN,
        happening: Callable[[float], Happening] = lambda _lead_s: Happening(), load: LoadSpec | None = None,
    ) -> Step:  # fmt: skip
        """Measure a trial, store it as a step, print a line about it, and return the step.

        `known`: fields of the step's record. `happening` returns the faults, given the seconds for which the generator
        sends before it records. `load`: what to send in place of the trial's own load, if several servers share it.
        Raises MeasureError if the disk is full.
        """
        load = load or load_of(trial, server)
        instrument = self._for(trial, load, profile)
        during = happening(instrument.generator.lead_s(load))
        label = trial.label or f"{server.subject} {trial.workload.label}" + (" profiled" if profile else "")
        folder = self._folder.begin_step(trial.name)
        try:
            # if a number of requests ends the load, its duration is only a bound
            length_s = 0.0 if load.requests is not None else instrument.generator.lead_s(load) + load.duration_s
            moments = followed(folder.hlog)
            in_plan_s = 0.0 if trial.role == SENTINEL else None  # no plan counts the sentinel of every run
            paced = ", closed loop" if load.rate_rps is None else f" at {words.rate(load.rate_rps)}"
            text = label + ("" if trial.generator or load.targets or load.parts_rps else paced)
            with self._progress.part(text, length_s + trial.around_s, in_plan_s) as tick:

                def show(elapsed_s: float) -> None:
                    tick(elapsed_s, next(moments))

                try:
                    record = self._measure(folder, server, load, instrument, profile, lambda _: during.begin(), show)
                except ServerError as gone:
                    record = skipped(server, load, instrument, gone)
                planned = StepRecord(
                    label=label, role=trial.role, workload=trial.workload.name, round=trial.round,
                    sweep=trial.sweep,
                    rate_basis=trial.rate.basis if trial.rate else "", expected_status=trial.expected_status,
                )  # fmt: skip
                record = overlaid(record, planned, known, during.record(_start_us(folder) if trial.faults else None))
                step = self._keep(folder, record)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            shutil.rmtree(folder.path, ignore_errors=True)  # room for the run's manifest
            raise MeasureError(str(self._folder.path), "the disk is full", "free some room and run again") from error
        finally:
            during.end()
        self._taken[trial.name] = step
        self._progress.say(line(step))
        return step

    def has_generator(self, name: str) -> bool:
        return name in generators(self._shop)

    def has_jdk(self, release: int) -> bool:
        return self._shop.jdk_of(release) is not None

    def _generator(self, name: str) -> Generator:
        return generators(self._shop)[name]

    def _for(self, trial: Trial, load: LoadSpec, profile: ProfileSpec | None) -> Instrument:
        """Return the programs for a trial: its generator, the profiler, and, for an unprofiled load, the recorder.

        truepace sends each sentinel (a small load that is the same in every run), each load that several servers
        share, and each load whose rate changes. Any other load is sent by the trial's generator, else by the run's.
        """
        generator = self._generator(trial.generator) if trial.generator else self._instrument.generator
        if load.targets or load.parts_rps or trial.role == SENTINEL:  # only truepace can share or change a schedule
            generator = self._generator("truepace")
        recorder = self._instrument.recorder if trial.role == LOAD and profile is None else None
        send = run_load if trial.role == SENTINEL else self._instrument.send
        return dataclasses.replace(self._instrument, generator=generator, recorder=recorder, send=send)

    def _keep(self, folder: StepFolder, record: StepRecord) -> Step:
        write_record(folder, record)
        step = read_step(folder)
        kept = judged(step)
        store_frames(step)
        if record.sweep is not None:
            folder.requests.unlink(missing_ok=True)  # the figures of each rate step are kept, not a row per request
        final = self._folder.commit_step(folder, kept)
        return dataclasses.replace(step, folder=final, record=kept)

    def fill(self, server: Target, workload: Workload) -> None:
        """Write all keys of the workload and check that they are stored. Raises MeasureError if one is missing."""
        keys, times = workload.filled_keys, 1 + workload.rewrites
        seen_rps = writes_rps(self._taken.values(), server.subject, server.engine)
        takes_s = workload.fill_s(seen_rps) if seen_rps else workload.fill_s()
        text = f"fill {server.subject} with {words.several(keys, 'key')}"
        with self._progress.part(text, takes_s, in_plan_s=workload.fill_s()) as tick:
            puts = dataclasses.replace(FILL, arguments=(str(keys), str(workload.filled_value_bytes)))
            sent, bound_s = workload.fill_with or puts, max(FILL_BOUND_S, times * keys / FILL_LEAST_RPS)
            load = LoadSpec(
                server.url, sent.script, None, bound_s, connections=FILL_CONNECTIONS, requests=times * keys,
                script_arguments=sent.arguments,
            )  # fmt: skip
            folder = self._folder.begin_step(f"fill-{server.subject}")
            own = dataclasses.replace(self._instrument, recorder=None, generator=self._generator("truepace"))
            measured = measure_step(folder, server, load, own, tick=tick)
            label, filled = f"{server.subject} fill", FillRecord(keys=keys)
            record = replace(measured, label=label, role="fill", workload="fill", fill=filled)
            if workload.rewrites:  # the store merges these in the background
                settled_s, live_bytes = rest_s(server, REST_BOUND_S), workload.filled_bytes
                data_bytes = disk_bytes(server.data) if server.data else None
                filled = FillRecord(
                    keys=keys, settled_s=settled_s, given_bytes=times * live_bytes, live_bytes=live_bytes,
                    data_bytes=data_bytes,
                )  # fmt: skip
                store, process = store_status(server.status()), processes(server.pids)
                record = replace(record, fill=filled, store_after=store, process_after=process)
            step = self._taken[folder.name] = self._keep(folder, record)
            if workload.fill_with is None:
                check_filled(server.url, server.engine, keys)
            else:
                summary = step.frames["summary"]
                counts = [0, 0] if summary.empty else summary[["completed", "non_2xx"]].iloc[0].astype(int).tolist()
                done, errors = counts
                if done < keys or errors:
                    cause = f"of {keys:,} requests of its fill {done:,} had a response, {errors:,} of them an error"
                    remedy = "see its log; `fill` in its description says what is sent"
                    raise MeasureError(f"target {server.subject}", cause, remedy)

    def profile_of(self, trial: Trial) -> ProfileSpec | None:
        """Return profiler settings by a trial's rate and by its CPU use in the unprofiled load; None: no profile."""
        if not trial.profile:
            return None
        clean, rps, cpu_share = self._taken.get(trial.name.partition("-profiled")[0]), 0.0, 0.0
        if clean is not None and may_quote(clean, Aspect.RATE):
            rps = float(clean.frames["summary"]["achieved_rps"].iloc[0])
        if clean is not None and not clean.frames["telemetry"].empty:
            cpu_share = float(clean.frames["telemetry"]["server_cpu_cores"].mean())
        rps = trial.rate.rps if trial.rate is not None else rps or 1.0
        share = cpu_share if cpu_share > 0 else SERVER_CPU_SHARE
        return ProfileSpec.for_load(trial.profile, rps, trial.length_s, share)


def _start_us(folder: StepFolder) -> float | None:
    for path in (folder.load_json, folder.console):
        with contextlib.suppress(ReadError):
            if (start_unix_us := read_load_json(path).start_unix_us) is not None:
                return start_unix_us
    return None


LOOK_S = 0.2
AT_REST = 0.05  # of a core: a compiler that uses no more counts as idle


def await_rest_s(read_s: Callable[[], float | None], bound_s: float) -> float | None:
    """Wait until the JIT compiler is idle; return the seconds waited, or None if it is still busy after `bound_s`.

    `read_s` returns the compiler's CPU time in s. If that time is not known, None is returned too.
    """
    began_s = time.monotonic()
    before_s, read_at_s = read_s(), began_s
    while before_s is not None and time.monotonic() - began_s + LOOK_S <= bound_s:
        time.sleep(LOOK_S)
        used_s, now_s = read_s(), time.monotonic()
        if used_s is None or used_s - before_s <= AT_REST * (now_s - read_at_s):
            return now_s - began_s
        before_s, read_at_s = used_s, now_s
    return None


KIND = "warm-up"
REST_S = 2.0


def warm_up(
    measurement: Measurement,
    name: str,
    server: Target,
    workload: Workload,
    shape: Shape,
    whole_s: float,  # how long the warm-up is planned to take
    *,
    kind: str = KIND,  # the role of its steps
    known: StepRecord = NOTHING_KNOWN,  # fields of their records
) -> Step:
    """Warm a server by closed loops until its compiler is idle, up to WARM_BOUND x `whole_s`; return the last step."""
    loop_s, bound_s = (min(BURST_S, whole_s), WARM_BOUND * whole_s) if available() else (whole_s, 0.0)
    loop, began = dataclasses.replace(shape, duration_s=loop_s, warmup_s=None), time.monotonic()
    with _compiler_on_all_cores(server):
        while True:
            step = measurement.step(Trial(name, kind, workload, None, loop), server, known=known)
            left_s = bound_s - (time.monotonic() - began) - loop_s
            if not not_warm(step) or left_s < 0 or not server.alive():
                return step
            _await_compiler(server, left_s)


def let_rest(server: Target, step: Step) -> None:
    """If a step left JIT compilation unfinished, wait until the server has finished compiling, for at most REST_S."""
    if not_warm(step) and server.alive():
        with _compiler_on_all_cores(server):
            _await_compiler(server, REST_S)


def _compiler_on_all_cores(server: Target) -> contextlib.AbstractContextManager[None]:
    return compiling_anywhere(server.pid) if isinstance(server, RunningServer) else contextlib.nullcontext()


def _await_compiler(server: Target, bound_s: float) -> None:
    if isinstance(server, RunningServer):
        clock = BackgroundClock((server.pid,))
        await_rest_s(lambda: (clock.read_s() or {}).get("jit"), bound_s)
