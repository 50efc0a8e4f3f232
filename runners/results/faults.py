"""Faults: a node that dies under load and comes back, and a response object that all requests share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from runners import words
from runners.analysis import facts
from runners.design.session import FAULT, OUTAGE
from runners.readers.run import Step
from runners.readers.stacks import wilson
from runners.results.answer import Answer, Basis, Measure, Unit, answering

if TYPE_CHECKING:
    from runners.results.results import Results

OUTAGES, SHARED_RESPONSE = "outages", "ablation-fault"
SETTLED_S = 1.0  # after the node responds again: by then the other nodes have probed it and use it again
EVENTS = ("killed", "started", "responds")


@dataclass(frozen=True, slots=True)
class Outage:
    """A load in which a node was killed and came back; times are in seconds of the recorded window."""

    step: Step
    killed_s: float
    started_s: float  # NaN if the node was never started again
    back_s: float  # when the node responded again; NaN if it never did

    @property
    def events(self) -> list[tuple[float, str]]:
        """The events of the outage that happened, in their order, as (time in seconds, name)."""
        times = (self.killed_s, self.started_s, self.back_s)
        return [(at, word) for at, word in zip(times, EVENTS, strict=True) if words.known(at)]

    def part(self, which: str) -> pd.DataFrame:
        """Return the per-second rows of one part of the load.

        `which` is `before` (until the kill), `after` (since the node is used again), `between` (all other seconds), or
        `without` (the whole seconds in which the node was down).
        """
        rows = facts.per_second(self.step)
        back_s = self.back_s if words.known(self.back_s) else math.inf
        before, after = rows["t_s"] + 1 <= self.killed_s, rows["t_s"] >= back_s + SETTLED_S
        without = (rows["t_s"] >= self.killed_s) & (rows["t_s"] + 1 <= back_s)
        return rows[{"before": before, "without": without, "after": after, "between": ~before & ~after}[which]]

    def failed(self, which: str) -> tuple[float, float]:
        """Return the numbers of failed and of all responses in a part of the load (see `part`)."""
        rows = self.part(which)
        return float(rows["errors"].sum()), float(rows["completed"].sum())

    def p99_us(self, which: str) -> float:
        """Return the median of the p99s of the seconds in a part of the load, in us; NaN if the part has no second."""
        return float(self.part(which)["p99_us"].median())


def outages(steps: Sequence[Step]) -> list[Outage]:
    """Return the loads in which a node was killed. Loads that ended before the kill are left out."""
    killed = []
    for step in steps:
        about = step.record.outage if step.kind == OUTAGE and not step.frames["intervals"].empty else None
        if about is not None and about.start_unix_us and about.killed_unix_us:
            events = (about.killed_unix_us, about.launched_unix_us, about.ready_unix_us)
            times = [((at_us or math.nan) - about.start_unix_us) / 1e6 for at_us in events]
            killed.append(Outage(step, *times))
    return killed


@answering
def fails(results: "Results", subject: str) -> Answer | None:
    """Answer: do requests to setting `subject` fail while a node is down? None if none was down for a whole second."""
    outage = next((outage for outage in results.outages if outage.step.subject == subject), None)
    if outage is None:
        return None
    failed, ended = outage.failed("without")
    if not ended:
        return None
    share = failed / ended
    label = f"failed responses at {words.rate(facts.offered_rps(outage.step))}:"
    measure = Measure(label, share, Unit.SHARE, *wilson(share, int(ended))).out_of(ended, Unit.COUNT)
    away = Measure("node away for", outage.back_s - outage.killed_s, Unit.TIME_S)
    return Answer.by((outage.step,), Basis.OUTAGES, failed > 0, measure, away, figure=OUTAGES)


def shared_response(results: "Results") -> Answer | None:
    """Answer: can all requests share one response object? No if the responses' heads grow; None if not tried."""
    for step in results.run.find(kind=FAULT):
        heads = step.record.fault.heads if step.record.fault else ()
        if len(heads) >= 2:
            first, last = heads[0], heads[-1]
            return Answer.by(
                (step,), Basis.LOADS, last["bytes"] <= first["bytes"],
                Measure("head of the first response", first["bytes"], Unit.SIZE_BYTES),
                Measure("head of the last", last["bytes"], Unit.SIZE_BYTES),
                Measure("responses", last["number"], Unit.COUNT),
                figure=SHARED_RESPONSE,
            )  # fmt: skip
    return None
