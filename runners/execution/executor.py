"""Run the blocks of an experiment, except sessions that the run folder holds already; start and stop the servers."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

from msgspec.structs import replace as record_with

from runners import words
from runners.analysis import facts
from runners.analysis.validity import REMEDIES, cause, disturbance, unusable, why_not, worth_another_try
from runners.design.block import Block, FaultInjection, FixedRate, Interleaved
from runners.design.description import HOST, LOOPBACK, TargetWorkload
from runners.design.description import Target as Description
from runners.design.experiment import Value
from runners.design.ladder import KneeSearch
from runners.design.load import Rate, Shape
from runners.design.session import (
    FILL,
    QUOTED_ALONE,
    RATE_STEP,
    Session,
    SharedSession,
    Trial,
    specification,
    step_name,
)
from runners.design.setting import JDK_FRONT, Setting
from runners.design.target import EXTERNAL, TargetFile, read_target
from runners.design.two_generators import NAME, WRK2
from runners.errors import MeasureError, PlanError, ToolError
from runners.execution import adaptive
from runners.execution.adaptive import Request, Requests
from runners.execution.measurement import KIND, Measurement, let_rest, load_of, warm_up
from runners.execution.progress import Progress
from runners.generators.load import LoadTarget
from runners.process.cpu_placement import equal_groups
from runners.process.supervisor import free_port
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.storage.schema import FaultRecord, FillRecord, StepRecord, read_record
from runners.targets import external, lab_server
from runners.targets.group import Target, TargetGroup
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec
from runners.toolchain.build import DIST, JDK17_DIST, JDK17_MAIN, Workshop
from runners.trial.faults import happening, heads

#: The most tries of a fill, and of a load that the machine disturbed; the share of a block's planned time that repeats
#: of its loads may take.
TRIES, SPARE_SHARE = 3, 0.2
#: A load that did not achieve its rate while it was profiled is repeated at this share of the rate.
LOWER_SHARE = 0.6
#: A function that starts the server of a setting, as `Servers.launch` does.
Launch = Callable[..., Target]


class Executor:
    """Measures blocks into one run folder. After a resume, it reads back the sessions that were measured before."""

    def __init__(self, folder: RunFolder, measurement: Measurement, launch: Launch, progress: Progress) -> None:
        self._folder, self._measurement, self._launch, self._progress = folder, measurement, launch, progress
        self._earlier = {step.name: step for step in folder.steps()}
        self._warm: list[tuple[Session, Target]] = []
        self._absent: set[str] = set()
        self._spare_s = 0.0

    def run(self, block: Block) -> list[Step]:
        """Measure a block's trials in order and return their steps. Raises MeasureError if no treatment responds."""
        if block.name == NAME and not self._measurement.has_generator(WRK2):
            self._progress.say(f"{block.name}: left out, for {WRK2} is not on this machine (lab build wrk2 makes it)")
            self._progress.extend(-block.planned_s)
            self._folder.update_manifest(left_out=[block.name])
            return []
        requests, steps, self._warm = self._requests(block), list[Step](), []
        self._spare_s = SPARE_SHARE * block.planned_s
        with self._progress.block(block.planned_s):
            try:
                request = next(requests)
                while True:
                    measured = list[Step]()
                    if (possible := self._without_absent_tools(request)) is not None:
                        together = isinstance(possible.session, SharedSession)
                        measure = self._measured_together if together else self._measured
                        measured = self._measured_before(possible.session) or measure(block, possible)
                    steps += measured
                    request = requests.send(measured)
            except StopIteration:  # an earlier rate step of the block that is not in `steps` would count in its ladder
                present = {step.name for step in steps}
                for folder in self._folder.complete():
                    record = read_record(folder)
                    if record.ladder is not None and record.block == block.name and folder.name not in present:
                        self._folder.supersede(folder)
        return steps

    def _requests(self, block: Block) -> Requests:
        say = self._progress.say
        if isinstance(block, FixedRate):
            return self._fixed_rate(block)
        if isinstance(block, FaultInjection):
            return self._on_a_warm_server(block)
        if isinstance(block, KneeSearch):
            return adaptive.search(block, say)
        if block.like is None:
            return adaptive.starts(block, say) if isinstance(block, Interleaved) else adaptive.ladder(block, say)
        like = block.like.name
        steps = [read_step(folder) for folder in self._folder.complete() if read_record(folder).block == like]
        unmeasured = MeasureError(f"rates of {block.name}", f"block {like} has measured none", f"run {like} before")
        if isinstance(block, Interleaved):
            names = [session.trials[0].name for session in block.like.probes()]
            reached_rps = {step.subject: facts.achieved_rps(step) for step in steps if step.name in names}
            if len(reached_rps) < len(names) or not all(rps > 0 for rps in reached_rps.values()):
                raise unmeasured
            return adaptive.starts(block, say, reached_rps)
        if block.shares and isinstance(block.like, KneeSearch):
            if (base := adaptive.base_of(block.like, steps, block.server)) is None:
                raise unmeasured
            return adaptive.ladder(block, say, base)
        rate_steps = [step for step in steps if step.kind == RATE_STEP]
        # if the block searched a knee, only the rate steps around that knee
        around = [step for step in rate_steps if step.record.ladder is not None and step.record.ladder.base is not None]
        rates = tuple(sorted({facts.offered_rps(step) for step in around or rate_steps}))
        if not rates:
            raise unmeasured
        return adaptive.ladder(replace(block, rates=rates), say)

    def _fixed_rate(self, block: FixedRate) -> Requests:
        capacity_rps, probes = dict[str, float](), list[Step]()
        for session in block.probes():
            (probe,) = yield Request(session)
            probes.append(probe)
            if not unusable(probe):
                capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
        if probes and not capacity_rps:
            raise _no_response(f"probe of {block.workload.label}", probes)
        if (rate := block.rate(capacity_rps)) is not None:
            self._progress.say(f"{block.workload.label}: {words.rate(rate.rps)} will be offered: {rate.basis}")
        for session in block.loads(rate):
            yield Request(session)

    def _on_a_warm_server(self, block: FaultInjection) -> Requests:
        (closed,) = yield Request(block.warm_up())
        for session in block.loads(block.rate(facts.achieved_rps(closed))):
            yield Request(session)

    def _without_absent_tools(self, request: Request) -> Request | None:
        """Return the `Request` without trials of absent generators; None if no trial is left or the JDK is absent."""
        session = request.session
        if isinstance(session, SharedSession):
            return request
        if (jdk := session.treatment.jdk) and not self._measurement.has_jdk(jdk):
            self._progress.note(f"No JDK {jdk} on this machine: {session.treatment.name} is left out")
            return None
        generators = {trial.generator for trial in session.trials} - {""}
        absent = {name for name in generators if not self._measurement.has_generator(name)}
        if new := absent - self._absent:
            self._absent |= new
            self._progress.note(f"Not on this machine, and so left out: {words.listed(sorted(new))}")
        trials = tuple(trial for trial in session.trials if trial.generator not in absent)
        return replace(request, session=replace(session, trials=trials)) if trials else None

    def _measured_before(self, session: Session | SharedSession) -> list[Step]:
        kept = [self._earlier.pop(trial.name, None) for trial in session.trials]
        steps = [read_step(folder) for folder in kept if folder is not None]
        if len(steps) < len(kept) or any(step.record.specification != specification(session) for step in steps):
            return []
        self._progress.say(f"{', '.join(step.name for step in steps)}: measured in an earlier session of this run")
        self._progress.extend(-session.planned_s)
        return steps

    def _measured(self, block: Block, request: Request) -> list[Step]:
        session = request.session
        assert isinstance(session, Session)
        known = StepRecord(block=block.name, specification=specification(session), ladder=request.ladder)
        if session.warm_up is not None:
            server, warmed = self._warm_server(session, session.warm_up, known)
            if warmed is not None:
                return [warmed]
        else:
            if session.heads:
                faulty = cast("RunningServer", self._launch(session.treatment))
                fault = FaultRecord(switch=block.name, heads=tuple(heads(faulty, session.heads)))
                known = record_with(known, fault=fault)
            server = self._started(session)
        return [self._trial(block, server, trial, known) for trial in session.trials]

    def _started(self, session: Session) -> Target:
        server = self._launch(session.treatment, keep_others=session.keep_others)
        if session.fill is not None:
            self._measurement.fill(server, session.fill)
            if session.restart:
                server = self._launch(session.treatment, keep_data=True)
        return server

    def _warm_server(self, session: Session, warming: Trial, known: StepRecord) -> tuple[Target, Step | None]:
        """Return (warm server, new or kept; step of `warming` if this is the session's only trial, else None)."""
        like, first = replace(session, trials=()), session.trials == (warming,)
        server = next((target for key, target in self._warm if key == like and target.alive()), None)
        if server is not None and not first:
            return server, None
        self._warm = [(key, target) for key, target in self._warm if session.keep_others and key != like]
        server, whole_s = self._started(session), warming.shape.duration_s or 0.0
        name, role = (warming.name, warming.role) if first else (f"re-{warming.name}", KIND)
        loops = Shape(warming.shape.connections, warming.shape.threads)
        own = known if first else StepRecord(block=known.block)
        step = warm_up(self._measurement, name, server, warming.workload, loops, whole_s, kind=role, known=own)
        if not facts.achieved_rps(step) > 0:
            raise _no_response(f"warm-up of {session.treatment.name}", [step])
        self._warm.append((like, server))
        return server, step if first else None

    def _trial(self, block: Block, server: Target, trial: Trial, known: StepRecord) -> Step:
        """Measure a trial and return its step.

        An incomplete fill and a disturbed load are repeated. A profiled load that fell short is repeated at a lower
        rate. Raises MeasureError if a fill stays incomplete.
        """
        fills, keys = trial.role == FILL, trial.shape.requests or 0
        if fills:
            known = record_with(known, fill=FillRecord(keys=keys))
        for number in range(1, 1 + TRIES):
            during = partial(happening, trial, server, stage=(block.name, block.title))
            profile, tried = self._measurement.profile_of(trial), record_with(known, tries=number)
            step = self._measurement.step(trial, server, profile, tried, during)
            if trial.profile and trial.rate and number < TRIES and server.alive() and facts.fell_short(step):
                self._progress.say(f"{step.label}: its rate was not kept while profiled: again at a lower one")
                rps = float(f"{LOWER_SHARE * trial.rate.rps:.2g}")
                trial = replace(trial, rate=Rate(rps, "lowered until it is kept while profiled"))
            elif fills:
                if facts.number(step, "completed") >= keys and not facts.number(step, "non_2xx"):
                    return step
            elif not self._again(trial, server, step):
                return step
        raise MeasureError(f"store of {server.subject}", f"not all of {keys} keys could be written", "see its log")

    def _again(self, trial: Trial, server: Target, step: Step) -> bool:
        disturbed = trial.role in QUOTED_ALONE and worth_another_try(step) and server.alive()
        if not disturbed or step.record.tries == TRIES or self._spare_s <= 0:
            return False
        self._spare_s -= trial.planned_s
        self._progress.extend(trial.planned_s)
        self._progress.say(f"{step.label}: {why_not(step) or disturbance(step)}, so it is measured again")
        return True

    def _measured_together(self, block: Block, request: Request) -> list[Step]:
        """Start all servers, warm and load them one by one, then load all by one schedule; return the loads' steps."""
        session, about = request.session, request.interleaved
        assert isinstance(session, SharedSession) and about is not None
        measurement, load, servers = self._measurement, session.load, dict[str, Target]()
        targets = list[LoadTarget]()
        for member in session.members:
            server = servers[member.name] = self._launch(member.treatment, keep_others=bool(servers))
            targets.append(LoadTarget(member.name, server.url + member.workload.path, member.workload.script))
            if member.workload.filled_keys:
                measurement.fill(server, member.workload)
        loops = Shape(load.shape.connections, load.shape.threads)
        own = StepRecord(block=block.name, round=session.number)
        for member in session.members:
            if not member.cold:
                name, server = step_name(load.name, "warm", member.name), servers[member.name]
                warmed = warm_up(measurement, name, server, member.workload, loops, session.warm_s, known=own)
                let_rest(server, warmed)
        known = record_with(own, specification=specification(session))
        steps = []
        alone = [(member.name, member.alone) for member in session.members]
        for name, trial in (*alone, *((member.name, member.solo) for member in session.members)):
            if trial is not None:
                arm = record_with(known, interleaved=record_with(about, arm=name))
                steps.append(self._trial(block, servers[name], trial, arm))
                let_rest(servers[name], steps[-1])
        group = TargetGroup(words.listed(member.name for member in session.compared), servers)
        warmup_s = load.shape.warmup_s or 0.0  # also for slices: `load_of` gives closed loops none
        shared = replace(load_of(load, group), warmup_s=warmup_s, targets=tuple(targets))
        sent = replace(shared, seed=session.seed, slice_s=session.slice_s)
        with equal_groups({name: server.pids for name, server in servers.items()}) as groups:
            label = f"{group.subject} {load.workload.label}, start {session.number}"
            known = record_with(known, label=label, interleaved=record_with(about, cpu_groups=groups))
            return [*steps, measurement.step(load, group, known=known, load=sent)]


def _no_response(thing: str, steps: Sequence[Step]) -> MeasureError:
    reasons = dict.fromkeys(f"{step.subject}: {why_not(step)}" for step in steps)
    first = cause(steps[0])
    remedy = REMEDIES.get(first, "See the server's log.") if first is not None else "Run again."
    return MeasureError(thing, "; ".join(reasons), remedy[0].lower() + remedy[1:].removesuffix("."))


NOOP = "noop"


class Servers:
    """Starts and stops the servers of a run, one or several at once. `note` prints a message for the user."""

    def __init__(
        self, shop: Workshop, folder: RunFolder, parameters: Mapping[str, Value], cpus: tuple[int, ...] | None,
        note: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._shop, self._folder, self._parameters, self.cpus, self._note = shop, folder, parameters, cpus, note
        self.has_own = bool(shop.server_sources)
        self._listen = str(parameters.get("listen", LOOPBACK))
        self._targets: dict[Path, TargetFile] = {}
        self._up: list[RunningServer | external.RunningTarget] = []
        self._starts = sum(1 for _ in folder.path.glob("servers/*/start-*"))  # starts of earlier sessions

    def launch(self, setting: Setting, keep_data: bool = False, keep_others: bool = False) -> Target:
        """Start a setting's server and return it. Raises LabError if it does not start.

        Before, the setting's data is removed unless `keep_data`, and other servers are stopped unless `keep_others`.
        """
        if not keep_others:
            self.stop()
        self._starts += 1
        target: RunningServer | external.RunningTarget
        if setting.target is not None:
            target = self._by_description(self._described(setting.target), setting.name)
            left_out = words.listed(target.record().left_out)
            self._note(f"{setting.name}: left out, as it can't give them: {left_out}")
        elif setting.engine == NOOP and not self.has_own:  # then the generator's own idle server, which needs no JDK
            reference = self._shop.reference
            assert reference is not None, "the workshop has a JDK where there is none"
            url = f"http://{HOST}:{free_port()}"
            command = (str(reference.path), "--kind", "server", url)
            idle = Description(name=setting.name, url=url, workloads={"get": TargetWorkload()}, command=command)
            target = self._by_description(TargetFile(reference.path, idle, ""), setting.name, NOOP)
        else:
            spec = self._specified(setting, keep_data)
            if keep_others and setting.nodes == 1:  # only the first server gets the port that the user gave
                spec = replace(spec, port=0)
            if setting.processes > 1:
                first = free_port(setting.processes)
                target = lab_server.launch_nodes(spec, range(first, first + setting.processes))
            else:
                target = lab_server.launch(spec)
        self._up.append(target)
        return target

    def _described(self, path: Path) -> TargetFile:
        if (file := self._targets.get(path)) is None:
            file = self._targets[path] = read_target(path)
            recorded = {target["name"]: target for target in self._folder.manifest().get("targets", ())}
            if recorded.setdefault(file.name, file.described())["sha256"] != file.digest:
                raise PlanError(str(file.path), "it has changed since this run was begun", "begin a new run")
            self._folder.update_manifest(targets=[*recorded.values()])
            external.build(file, self._folder.server_folder(file.name) / "build.log")
        return file

    def _by_description(self, file: TargetFile, name: str, engine: str = EXTERNAL) -> external.RunningTarget:
        folder = self._folder.server_folder(name) / f"start-{self._starts}"
        return external.launch(file, folder, self.cpus, name, engine, self._listen)

    def stop(self) -> None:
        """Stop all servers that are up, the last started one first; they flush their data."""
        while self._up:
            self._up.pop().stop()

    def drop_data(self) -> None:
        """Remove the data that the servers of all settings have stored."""
        for data in self._folder.path.glob("servers/*/data"):
            shutil.rmtree(data, ignore_errors=True)

    def _specified(self, setting: Setting, keep_data: bool) -> ServerSpec:
        if (jdk := self._shop.jdk_of(setting.jdk)) is None:
            remedy = f"install a JDK {setting.jdk}, then run again"
            raise ToolError(f"JDK {setting.jdk}", f"setting {setting.name} needs it, and it was not found", remedy)
        own = setting.front == JDK_FRONT
        home = self._folder.server_folder(setting.name)
        if not keep_data:
            shutil.rmtree(home / "data", ignore_errors=True)
        port = int(self._parameters.get("port", 0))
        return ServerSpec(
            java=jdk.java, class_path=JDK17_DIST if own else DIST, main_class=JDK17_MAIN if own else MAIN,
            engine=setting.engine, folder=home / f"start-{self._starts}", data=home / "data",
            heap_mb=setting.heap_mb or int(self._parameters["heap_mb"]),
            selectors=int(self._parameters.get("selectors", 0)),
            port=free_port(setting.nodes) if setting.nodes > 1 and not port else port,
            cpus=None if setting.all_cores else self.cpus, server_flags=setting.server_flags,
            more_jvm_flags=setting.jvm_flags, subject=setting.name, listen=self._listen,
        )  # fmt: skip
