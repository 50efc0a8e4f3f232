"""Say before the first number what a reader must know: an unfinished run, invalid steps, missing profiles."""

from __future__ import annotations

import os
from collections.abc import Iterable

from runners import words
from runners.analysis import facts
from runners.analysis.facts import quotable
from runners.design.session import RATE_STEP
from runners.readers.run import Run, Step
from runners.report import tables
from runners.results.generators import HostNetwork, host_networks


def notices(run: Run, has_sections: bool = False) -> list[str]:
    """Return what a reader must know before the first number: an unfinished run, invalid steps, missing profiles.

    `has_sections`: the experiment has sections of its own, so a run without a load step lacks nothing.
    """
    lines = []
    status = str(run.manifest.get("status", "not known"))
    if status != "complete":
        count = tables.count(len(run.steps))
        lines.append(f"This run is not complete (status: {status}). It holds {count} finished steps.")
    lines += [f"{name}: was begun and not finished; nothing of it is shown." for name in run.unfinished]
    lines += _grouped((network.step, _network(network)) for network in host_networks(run) if network.matters)
    measured = [step for step in run.steps if step.kind in ("load", "floor")]
    lines += _grouped((step, f"{reason(step)} Latency is not shown.") for step in measured if not quotable(step))
    others = [step for step in run.steps if step not in measured and not step.record.own_section]
    lines += _grouped((step, reason(step)) for step in others if not step.valid and step.kind != RATE_STEP)
    lines += _grouped(
        (step, str(problem).replace(f"{run.folder.path}{os.sep}", ""))
        for step in run.steps
        for problem in step.unreadable
    )
    lines += _grouped(
        (step, "there is no profile of this load.")
        for step in run.find(kind="load", profiled=False)
        if all(
            other.frames["shares"].empty
            for other in run.find(kind="load", subject=step.subject, workload=step.workload, profiled=True)
        )
    )
    if not run.find(kind="load") and not has_sections:
        lines.append("No load step is in this run, so there is no latency to show.")
    return lines


def _grouped(remarks: Iterable[tuple[Step, str]]) -> list[str]:
    """Return a line a remark, with all steps that it is about; a step's own name in a remark does not set it apart."""
    steps: dict[str, list[str]] = {}
    for step, text in remarks:
        steps.setdefault(text.replace(f"steps{os.sep}{step.name}{os.sep}", ""), []).append(_name_of(step))
    return [f"{', '.join(dict.fromkeys(names))}: {text}" for text, names in steps.items()]


def _name_of(step: Step) -> str:
    """Return a step as a reader calls it: RocksDB PUT at 9 000/s, profiled."""
    rate_rps, kind = facts.offered_rps(step), {"load": "", RATE_STEP: ""}.get(step.kind, f" ({step.kind})")
    at = f" at {words.rate(rate_rps)}" if words.known(rate_rps) else ""
    title = facts.title(step)
    return f"{title}{at}{', profiled' if step.profiled else kind}" if title else step.name  # of one that can't be read


def _network(network: HostNetwork) -> str:
    """Return what a host adds to the figures of a load that its generator shared in."""
    parts = []
    if network.round_trip_us is not None:
        took = words.latency(network.round_trip_us)
        parts.append(f"its round trip to the server, in every response time, takes {took}")
    if network.repeated_share is not None:
        parts.append(f"TCP sent {words.percent(network.repeated_share)} of its segments again")
    if network.off_us is not None:
        parts.append(f"its clock or its begin was off by {words.latency(abs(network.off_us))}")
    if network.stalled_share is not None:
        parts.append(f"its cores stalled {words.percent(network.stalled_share)} of the time")
    return f"of the host {network.host}, {words.listed(parts)}."


def reason(step: Step) -> str:
    """Return why a step can't be quoted."""
    return words.sentence(facts.why_not(step))
