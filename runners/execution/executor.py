"""Run the blocks of an experiment: sessions in their order, and none that the run folder holds already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from runners.analysis import facts
from runners.design.block import Block, FixedRate, Interleaved, KneeSearch, Session, SharedSession, Trial
from runners.design.rate import choose_rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.errors import MeasureError
from runners.execution import adaptive, interleaving
from runners.execution.adaptive import Request, Requests
from runners.execution.campaign import Campaign
from runners.execution.progress import Progress
from runners.execution.warming import KIND, warm_up
from runners.readers import write
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.storage.schema import read_record
from runners.targets.base import Target
from runners.trial.profiler import ProfileSpec


class Launch(Protocol):
    """Start a setting's server, on an empty store or on what its last server left; `beside`: those that are up stay."""

    def __call__(self, setting: Setting, keep_data: bool = False, beside: bool = False) -> Target: ...


class Executor:
    """Runs blocks into one run folder.

    What an earlier session of the run measured under the same specification is read back, once: who runs a block twice
    wants it measured twice. Trials that shared one server are read back together or not at all.
    """

    def __init__(self, folder: RunFolder, campaign: Campaign, launch: Launch, progress: Progress) -> None:
        self._folder, self._campaign, self._launch, self._progress = folder, campaign, launch, progress
        self._earlier = {step.name: step for step in folder.steps()}
        self._warm: tuple[Session, Target] | None = None

    def run(self, block: Block) -> list[Step]:
        """Measure every trial of a block, in order. Raises MeasureError where no treatment responds."""
        requests, steps, self._warm = self._requests(block), list[Step](), None
        try:
            request = next(requests)
            while True:
                measured = self._kept(request.session) or self._measured(block, request)
                steps += measured
                request = requests.send(measured)
        except StopIteration:
            self._retire(block, steps)
            return steps

    def _requests(self, block: Block) -> Requests:
        if isinstance(block, FixedRate):
            return self._fixed_rate(block)
        say = self._campaign.say
        if isinstance(block, Interleaved):
            return interleaving.starts(block, say)
        return adaptive.search(block, say) if isinstance(block, KneeSearch) else adaptive.ladder(block, say)

    def _retire(self, block: Block, steps: list[Step]) -> None:
        """Set rate steps aside that this block measured before and no longer has: they would count to its ladder."""
        present = {step.name for step in steps}
        for folder in self._folder.complete():
            record = read_record(folder)
            if record.ladder is not None and record.block == block.name and folder.name not in present:
                self._folder.supersede(folder)

    def _fixed_rate(self, block: FixedRate) -> Requests:
        capacity_rps = {}
        for session in block.probes():
            (probe,) = yield Request(session)
            if probe.valid:
                capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
        if not capacity_rps and not block.rate_rps:
            raise MeasureError(f"probe of {block.workload.label}", "no engine responded", "read the reasons above")
        rate = choose_rate(block.workload.published_rate_rps, capacity_rps, block.rate_rps)
        self._progress.say(f"{block.workload.label}: {write.rate(rate.rps)} will be offered: {rate.basis}")
        for session in block.loads(rate):
            yield Request(session)

    def _kept(self, session: Session | SharedSession) -> list[Step]:
        """The trials of a session as an earlier one measured them; none where one of them is missing or another."""
        kept = [self._earlier.pop(trial.name, None) for trial in session.trials]
        folders = [folder for folder in kept if folder is not None]
        steps = [read_step(folder) for folder in folders]
        if len(steps) < len(kept) or any(step.record.specification != session.specification for step in steps):
            return []
        self._progress.say(f"{', '.join(step.name for step in steps)}: measured in an earlier session of this run")
        self._progress.shorten(session.planned_s)
        return steps

    def _measured(self, block: Block, request: Request) -> list[Step]:
        session = request.session
        more = {"block": block.name, "specification": session.specification, "ladder": request.ladder}
        if isinstance(session, SharedSession):
            assert request.interleaved is not None, "what is shared belongs to an interleaved block"
            return interleaving.measure(self._campaign, self._launch, session, request.interleaved, more)
        if session.warm_up is not None:
            return self._on_warm_server(session, session.warm_up, more)
        server = self._started(session)
        return [self._trial(server, trial, more) for trial in session.trials]

    def _started(self, session: Session) -> Target:
        """The server of a session, filled where it asks for that."""
        server = self._launch(session.treatment)
        if session.fill is not None:
            self._campaign.fill(server, session.fill)
            if session.restart:
                server = self._launch(session.treatment, keep_data=True)
        return server

    def _on_warm_server(self, session: Session, warming: Trial, more: Mapping[str, object]) -> list[Step]:
        """Measure on the warm server of the sessions before; it is started and warmed where it is not up, or died.

        The warm-up that a block begins with is a step of it, from which its first rate follows; a later one is not.
        """
        like, first = replace(session, trials=()), session.trials == (warming,)
        if first or self._warm is None or self._warm[0] != like or not self._warm[1].alive():
            server, whole_s = self._started(session), warming.shape.duration_s or 0.0
            name, role = (warming.name, warming.role) if first else (f"re-{warming.name}", KIND)
            loops = Shape(warming.shape.connections, warming.shape.threads)
            own = more if first else {"block": more["block"]}
            step = warm_up(
                self._campaign, name, server, warming.workload, loops, whole_s, kind=role, more=own
            )  # fmt: skip
            if not facts.achieved_rps(step) > 0:
                raise MeasureError(f"warm-up of {session.treatment.name}", facts.why_not(step), "see the server's log")
            self._warm = (like, server)
            if first:
                return [step]
        server = self._warm[1]
        return [self._trial(server, trial, more) for trial in session.trials]

    def _trial(self, server: Target, trial: Trial, more: Mapping[str, object]) -> Step:
        spec = None
        if trial.profile:
            assert trial.rate is not None, "a profiled trial has a rate"
            share = self._campaign.server_cpu_share(trial.name.removesuffix("-profiled"))
            spec = ProfileSpec.for_load(trial.profile, trial.rate.rps, trial.length_s, share)
        return self._campaign.step(trial.name, trial.role, server, trial.workload, trial.rate, spec, trial.shape, more)
