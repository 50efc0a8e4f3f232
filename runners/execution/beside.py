"""Several settings under one load at one rate: each clean, then with the profiler, so that profiles can be compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from runners.analysis import facts
from runners.claims.climbing import Ladder
from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.campaign import Campaign
from runners.execution.warming import warm_up
from runners.readers.run import Step
from runners.targets.lab_server import RunningServer
from runners.trial.profiler import ProfileSpec


def carried_rps(ladder: Ladder) -> float:
    """What a ladder says that its server carries: its knee, or without one its highest achieved rate."""
    answer = ladder.answer
    if answer is not None and answer.rps > 0:  # NaN is not
        return answer.rps
    return max(facts.achieved_rps(step) for step in ladder.steps)


def common_rate(climbed: Sequence[Ladder], settings: Sequence[Setting], share: float) -> Rate:
    """`share` of what the weaker of these settings carries. Raises MeasureError when none of them was climbed."""
    names = [setting.name for setting in settings]
    carried = [carried_rps(ladder) for ladder in climbed if ladder.steps[0].subject in names]
    if not carried or not min(carried) > 0:
        raise MeasureError("the common rate", f"no ladder of {', '.join(names)}", "climb with one of them first")
    return Rate(float(f"{share * min(carried):.3g}"), f"{share:.0%} of the lower knee of {' and '.join(names)}")


def in_time(
    campaign: Campaign, name: str, kind: str, server: RunningServer, workload: Workload, rate: Rate, shape: Shape
) -> Step:
    """One load, and once more if nothing speaks against it but that its generator was late.

    The second counts and says in the basis of its rate that it is one; the first is kept under steps/superseded/.
    """
    step = campaign.step(name, kind, server, workload, rate, shape=shape)
    if not facts.only_late(step) or not server.alive():
        return step
    again = Rate(rate.rps, f"{rate.basis}; taken again, for the generator was late in the first")
    return campaign.step(name, kind, server, workload, again, shape=shape)


def beside(
    campaign: Campaign,
    launch: Callable[[Setting], RunningServer],
    ready: Callable[[Setting], RunningServer],
    settings: Sequence[Setting],
    workload: Workload,
    rate: Rate,
    shape: Shape,
    events: Sequence[str],
    floor_s: float,
    warm_s: float = 0.0,
) -> list[Step]:
    """Measure each setting on a server of its own; with `events`, once more while the profiler records.

    `ready` starts a server that holds what the load asks for, `launch` an empty one. With `warm_s`, each is warmed up
    for about so long before its load.

    Before them, for `floor_s`, the instrument's floor: the same load against a handler that does nothing.
    """
    floor = dataclasses.replace(shape, duration_s=floor_s)
    server = launch(Setting.of("noop"))
    in_time(campaign, f"floor-{workload.name}", "floor", server, workload, rate, floor)
    steps = []
    for setting in settings:
        server = ready(setting)
        name = f"{workload.name}-{setting.name}"
        if warm_s:
            warm_up(campaign, f"warm-{name}", server, workload, Shape(shape.connections), warm_s)
        steps.append(in_time(campaign, name, "load", server, workload, rate, shape))
        if events and server.alive():
            length_s = (shape.duration_s or 0.0) + (shape.warmup_s or 0.0)
            spec = ProfileSpec.for_load(tuple(events), rate.rps, length_s, campaign.server_cpu_share(name))
            steps.append(campaign.step(f"{name}-profiled", "load", server, workload, rate, spec, shape))
    return steps
