"""What a reader must know before the first number of a report."""

from __future__ import annotations

import os
from collections.abc import Iterable

from runners.analysis import facts
from runners.analysis.facts import quotable
from runners.design.session import RATE_STEP
from runners.readers.run import Run, Step
from runners.report import numbers
from runners.report.shares import events_of


def notices(run: Run, told_otherwise: bool = False) -> list[str]:
    """What a reader must know before the first number: an unfinished run, invalid steps, missing profiles.

    `told_otherwise`: the experiment has sections of its own, so a run without a load step lacks nothing.
    """
    found = []
    status = str(run.manifest.get("status", "not known"))
    if status != "complete":
        count = numbers.count(len(run.steps))
        found.append(f"This run is not complete (status: {status}). It holds {count} finished steps.")
    found += [f"{name}: was begun and not finished; nothing of it is shown." for name in run.unfinished]
    measured = [step for step in run.steps if step.kind in ("load", "floor")]
    found += _grouped((step.name, f"{reason(step)} Latency is not shown.") for step in measured if not quotable(step))
    others = [step for step in run.steps if step not in measured and not step.record.own_section]
    found += _grouped((step.name, reason(step)) for step in others if not step.valid and step.kind != RATE_STEP)
    found += _grouped(
        (step.name, str(problem).replace(f"{run.folder.path}{os.sep}", ""))
        for step in run.steps
        for problem in step.unreadable
    )
    unprofiled = []
    for step in run.find(kind="load", profiled=False):
        profiled = run.find(kind="load", subject=step.subject, workload=step.workload, profiled=True)
        if not any(events_of([other]) for other in profiled):
            unprofiled.append((step.name, "there is no profile of this load."))
    found += _grouped(unprofiled)
    if not run.find(kind="load") and not told_otherwise:
        found.append("No load step is in this run, so there is no latency to show.")
    return found


def _grouped(said: Iterable[tuple[str, str]]) -> list[str]:
    """Steps of which the same is said, in one line; a step's own name within the text does not set it apart."""
    steps: dict[str, list[str]] = {}
    for step, text in said:
        steps.setdefault(text.replace(f"steps{os.sep}{step}{os.sep}", ""), []).append(step)
    return [f"{', '.join(names)}: {text}" for text, names in steps.items()]


def reason(step: Step) -> str:
    """Why a step can't be quoted."""
    reasons = "; ".join(step.record.invalid_reasons)
    if facts.fell_short(step):
        head = "saturated" if facts.is_saturated(step) else "held up for a while, so it fell short of its rate"
    else:
        head = "invalid" if not step.valid else "no latencies recorded"
    return f"{head} ({reasons})." if reasons else f"{head}."
