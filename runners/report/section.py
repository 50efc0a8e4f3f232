"""A figure with its data, and a section of a report: what an experiment adds to the parts that every report has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from runners.analysis.finding import Finding
from runners.readers.run import Step
from runners.report import style
from runners.report.flamegraph import FlameGraph
from runners.report.tables import Table


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure with the data that it draws."""

    anchor: str
    picture: style.Picture
    data: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: its heading, text, findings, figures, flame graphs and tables, in this order.

    `anchor` is the place that findings link to, beside those of the figures. `text` is one plain paragraph, or empty.
    """

    anchor: str
    title: str
    text: str = ""
    findings: tuple[Finding, ...] = ()
    figures: tuple[Shown, ...] = ()
    tables: tuple[Table, ...] = ()
    graphs: tuple[FlameGraph, ...] = ()


def shown_of(
    anchor: str, picture: style.Picture, steps: Sequence[Step], frame: str, more: Sequence[pd.DataFrame] = ()
) -> Shown:
    """The figure with one frame of its steps, and whatever more was drawn, as its data."""
    data = pd.concat([*(step.frames[frame].assign(step=step.name) for step in steps), *more], ignore_index=True)
    return Shown(anchor, picture, data[["step", *(name for name in data.columns if name != "step")]])
