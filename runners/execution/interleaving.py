"""Measure treatments by one schedule that they share: fresh processes of all for each start, all up at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec.structs import replace

from runners.analysis import facts
from runners.analysis.interleaved import comparison
from runners.claims.interleaved import headline
from runners.design.block import FEWEST_STARTS, Interleaved
from runners.design.load import Shape
from runners.design.session import SharedSession
from runners.design.setting import Setting
from runners.errors import MeasureError
from runners.execution.adaptive import Request, Requests
from runners.execution.measurement import Measurement
from runners.execution.warming import let_rest, warm_up
from runners.generators.load import LoadSpec, LoadTarget
from runners.process.cpu_placement import equal_groups
from runners.readers import write
from runners.readers.run import Step
from runners.storage.schema import InterleavedRecord
from runners.targets.base import Target, TargetGroup


class Launch(Protocol):
    """Start a setting's server; `beside` those that are up, or in their place."""

    def __call__(self, setting: Setting, *, beside: bool) -> Target: ...


def starts(block: Interleaved, say: Callable[[str], None], reached_rps: Mapping[str, float] | None = None) -> Requests:
    """Ask for the closed loops that the rate follows from, then for each start. Raises MeasureError without a rate.

    `reached_rps`: what each treatment reached in the closed loops of the block that this one is like.
    """
    capacity_rps = dict(reached_rps or {})
    for session in block.probes():
        (probe,) = yield Request(session)
        if not facts.achieved_rps(probe) > 0:
            raise MeasureError(f"probe of {session.treatment.name}", facts.why_not(probe), "see the server's log")
        capacity_rps[session.treatment.name] = facts.achieved_rps(probe)
    rate = block.rate(capacity_rps)
    if rate is not None:
        say(f"{block.workload.label}: {write.rate(rate.rps)} will be offered to each: {rate.basis}")
    sessions = tuple(block.sessions(rate))
    about = InterleavedRecord(
        name=block.name, treatments=tuple(each.name for each in block.ordered),
        planned_rounds=len(sessions), smallest_difference=block.margin, seed=block.seed,
        rate_rps=rate.rps if rate else 0.0, rate_basis=rate.basis if rate else "",
        control=block.control_setting.name if block.control_setting else "",
        reference=block.reference.name if block.reference else "", primary=block.primary, until=block.until,
        slice_s=block.slice_s,
    )  # fmt: skip
    measured = list[Step]()
    for start in sessions:
        measured += yield Request(start, interleaved=about)
        if block.until and start.number >= FEWEST_STARTS:
            found = comparison(measured)
            say(headline(found))
            if found.answered:
                return


def measure(
    measurement: Measurement,
    launch: Launch,
    session: SharedSession,
    about: InterleavedRecord,
    more: Mapping[str, object],
) -> list[Step]:
    """Start all servers, warm those that are not to be cold, load each alone as asked, then all by one schedule."""
    servers: dict[str, Target] = {}
    for member in session.members:
        servers[member.name] = launch(member.treatment, beside=bool(servers))
        if member.workload.filled_keys:
            measurement.fill(servers[member.name], member.workload)
    shape = session.load.shape
    loops, own = Shape(shape.connections, shape.threads), {"block": more["block"], "round": session.number}
    for member in (each for each in session.members if not each.cold):
        name, server = f"{session.load.name}-warm-{member.name}", servers[member.name]
        let_rest(server, warm_up(measurement, name, server, member.workload, loops, session.warm_s, more=own))
    more = {**more, "round": session.number}
    steps = []
    trials = [
        *((each.alone, each) for each in session.members if each.alone is not None),
        *((each.solo, each) for each in session.members if each.solo is not None),
    ]
    for trial, member in trials:
        arm = {**more, "interleaved": replace(about, arm=member.name)}
        server = servers[member.name]
        step = measurement.step(trial, server, more=arm)
        let_rest(server, step)
        steps.append(step)
    with equal_groups({name: server.pids for name, server in servers.items()}) as groups:
        group = TargetGroup(write.listed(each.name for each in session.compared), servers)
        label = f"{group.subject} {session.load.workload.label}, start {session.number}"
        more = {**more, "label": label, "interleaved": replace(about, cpu_groups=groups)}
        shared = measurement.step(session.load, group, more=more, load=_shared(session, servers))
    return [*steps, shared]


def _shared(session: SharedSession, servers: Mapping[str, Target]) -> LoadSpec:
    """What all servers of a start are sent by one schedule."""
    trial = session.load
    return LoadSpec(
        "", None, trial.rate.rps if trial.rate else None, trial.shape.duration_s or 0.0,
        trial.shape.warmup_s or 0.0, trial.shape.connections,
        trial.shape.threads, script_arguments=trial.workload.arguments,
        targets=tuple(
            LoadTarget(each.name, servers[each.name].url, each.workload.script)
            for each in session.members
        ),
        seed=session.seed, slice_s=session.slice_s,
    )  # fmt: skip
