"""Where each engine's time, memory and waiting go, in short: a line a category, with the frames that say why."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from runners.analysis.profile import shares_of, usable
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.collapsed import Classifier, classifier
from runners.readers.run import Run, Step
from runners.report import numbers, style
from runners.report.section import Place, Section
from runners.report.tables import Table, name_of

WHAT = {"cpu": "CPU time", "alloc": "allocated bytes", "lock": "waiting for locks"}
LEAST_SHARE = 0.01
MOST_FRAMES = 3


def sections(run: Run, _: Conclusion) -> Iterator[Section]:
    """One section with a table for each profiled step."""
    tables = [table(step) for step in run.find(kind="load", profiled=True) if usable(step)]
    if tables:
        text = (
            "Categories with less than a hundredth are left out; frames are those that put a stack into its category."
        )
        yield Section("in-short", "In short", Place.SHORT, text, tables=tuple(tables))


def table(step: Step) -> Table:
    """Category, share with its interval, and its top frames, for each event."""
    rows = []
    for event in dict.fromkeys(step.frames["shares"]["event"]):
        frames = telling_frames(step.frames["stacks"], str(event), classifier())
        shares = shares_of(step, str(event))
        for category, share, low, high in zip(
            shares["category"], shares["share"], shares["low"], shares["high"], strict=True
        ):
            if share >= LEAST_SHARE:
                top = ", ".join(style.plain(name, 60) for name in frames.get(str(category), []))
                part = write.percent_interval(float(share), float(low), float(high))
                rows.append((f"{WHAT.get(str(event), str(event))}: {category}", part, top or numbers.NONE))
    return Table(name_of(step), ("", "share (95 %)", "most of it in"), tuple(rows), numeric=False)


def telling_frames(stacks: pd.DataFrame, event: str, rules: Classifier) -> dict[str, list[str]]:
    """For each category the frames that decided it, those with most weight first."""
    weights: dict[str, dict[str, float]] = {}
    rows = stacks[stacks["event"] == event]
    for stack, count in zip(rows["stack"], rows["count"], strict=True):
        names = str(stack).split(";")
        category = rules.stack(names)
        frame = next((name for name in reversed(names) if rules.frame(name) == category), names[-1])
        of = weights.setdefault(category, {})
        short = frame.rpartition("/")[2] if "::" not in frame else frame
        of[short] = of.get(short, 0.0) + float(count)
    return {
        category: [name for name, _ in sorted(of.items(), key=lambda item: (-item[1], item[0]))[:MOST_FRAMES]]
        for category, of in weights.items()
    }
