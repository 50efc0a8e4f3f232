"""Run the blocks of an experiment: sessions in their order, and none that the run folder holds already."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from runners.analysis import facts
from runners.design.block import Block, FixedRate, Session, Trial
from runners.design.rate import choose_rate
from runners.design.setting import Setting
from runners.errors import MeasureError
from runners.execution.campaign import Campaign
from runners.execution.progress import Progress
from runners.readers import write
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.targets.lab_server import RunningServer
from runners.trial.profiler import ProfileSpec

#: Yields the sessions of a block and is sent the trials of each as they were measured.
Sessions = Generator[Session, list[Step], None]


class Launch(Protocol):
    """Start a setting's server, on an empty store or on what its last server left."""

    def __call__(self, setting: Setting, keep_data: bool = False) -> RunningServer: ...


class Executor:
    """Runs blocks into one run folder.

    What an earlier session of the run measured under the same specification is read back, once: who runs a block twice
    wants it measured twice. Trials that shared one server are read back together or not at all.
    """

    def __init__(self, folder: RunFolder, campaign: Campaign, launch: Launch, progress: Progress) -> None:
        self._folder, self._campaign, self._launch, self._progress = folder, campaign, launch, progress
        self._earlier = {step.name: step for step in folder.steps()}

    def run(self, block: Block) -> list[Step]:
        """Measure every trial of a block, in order. Raises MeasureError where no treatment responds."""
        sessions, steps = self._sessions(block), list[Step]()
        try:
            session = next(sessions)
            while True:
                measured = self._kept(session) or self._measured(block, session)
                steps += measured
                session = sessions.send(measured)
        except StopIteration:
            return steps

    def _sessions(self, block: Block) -> Sessions:
        return self._fixed_rate(block)

    def _fixed_rate(self, block: FixedRate) -> Sessions:
        capacity_rps = {}
        for session in block.probes():
            (probe,) = yield session
            if probe.valid:
                capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
        if not capacity_rps and not block.rate_rps:
            raise MeasureError(f"probe of {block.workload.label}", "no engine responded", "read the reasons above")
        rate = choose_rate(block.workload.published_rate_rps, capacity_rps, block.rate_rps)
        self._progress.say(f"{block.workload.label}: {write.rate(rate.rps)} will be offered: {rate.basis}")
        for session in block.loads(rate):
            yield session

    def _kept(self, session: Session) -> list[Step]:
        """The trials of a session as an earlier one measured them; none where one of them is missing or another."""
        kept = [self._earlier.pop(trial.name, None) for trial in session.trials]
        folders = [folder for folder in kept if folder is not None]
        steps = [read_step(folder) for folder in folders]
        if len(steps) < len(kept) or any(step.record.specification != session.specification for step in steps):
            return []
        self._progress.say(f"{', '.join(step.name for step in steps)}: measured in an earlier session of this run")
        self._progress.shorten(session.planned_s)
        return steps

    def _measured(self, block: Block, session: Session) -> list[Step]:
        server = self._launch(session.treatment)
        if session.fill is not None:
            self._campaign.fill(server, session.fill)
            if session.restart:
                server = self._launch(session.treatment, keep_data=True)
        more = {"block": block.name, "specification": session.specification}
        return [self._trial(server, trial, more) for trial in session.trials]

    def _trial(self, server: RunningServer, trial: Trial, more: dict[str, str]) -> Step:
        spec = None
        if trial.profile:
            assert trial.rate is not None, "a profiled trial has a rate"
            share = self._campaign.server_cpu_share(trial.name.removesuffix("-profiled"))
            spec = ProfileSpec.for_load(trial.profile, trial.rate.rps, trial.length_s, share)
        return self._campaign.step(trial.name, trial.role, server, trial.workload, trial.rate, spec, trial.shape, more)
