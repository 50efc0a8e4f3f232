"""Draw the knees of several settings under one load side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from runners import words
from runners.analysis.knee import Kind, rate_interval, rounded_rate
from runners.design.setting import CEILING
from runners.readers.run import Run
from runners.report import style
from runners.report.tables import Section, Shown
from runners.results.ladders import SearchedKnee, between, knees, knees_anchor, searched_together

KNEES_TEXT = "{search}. Bars are the estimates of the knees, lines their 95 % intervals."
BOUNDS_TEXT = " A bar without a line is a bound: the knee lies above it, or at most at it."
TOGETHER = "One search finds the knees of all {what}s under a load, by slices in random order, each on its own server"
APART = "Each {what} has its own search for the knee, on a server of its own"


def knee_data(searched: Sequence[SearchedKnee]) -> pd.DataFrame:
    """Return a row a setting: `setting`, `rps`, `low_rps`, `high_rps`, `probes`."""
    rows = [(s.name, s.knee.rps, s.knee.low_rps, s.knee.high_rps, len(s.ladder.points)) for s in searched]
    return pd.DataFrame(rows, columns=["setting", "rps", "low_rps", "high_rps", "probes"])


def knee_picture(run: Run, workload: str, searched: Sequence[SearchedKnee]) -> style.Picture:
    """Draw the knees of one workload, one bar a setting, in the order in which they were measured.

    The heading says who is ahead by the ratios of the knees, as the answers do: intervals that overlap don't decide it.
    A server that stores nothing is no store, so it is not in the race, nor is one of whose knee only a bound is known.
    """
    stores = [store for store in searched if store.ladder.steps[0].subject != CEILING] or searched
    racing = [store for store in stores if store.knee.kind == Kind.FOUND]
    bounded = [store for store in stores if store.knee.kind != Kind.FOUND]
    parts = [f"{style.plain(store.name, 24)} {rate_interval(store.knee)}" for store in bounded]
    if racing:
        best = max(racing, key=lambda store: store.knee.rps)
        ratios = {store.name: between(run, store.ladder, best.ladder) for store in racing if store is not best}
        near = [style.plain(name, 24) for name, apart in ratios.items() if apart is None or not apart.high < 1]
        of = (" of the others" if bounded else " of the stores") if len(searched) > len(racing) else ""
        parts.append(f"{style.plain(best.name, 24)} has the highest knee{of}, {rate_interval(best.knee)}")
        parts += [f"inconclusive against it: {words.listed(near)}"] if near else []
    heading = f"{style.plain(workload.upper(), 12)}: {'; '.join(parts)}"
    all_knees = [store.knee for store in searched]
    values = [knee.quoted_rps for knee in all_knees]
    nothing = (math.nan, math.nan)  # a bound has no line
    ends = [(knee.low_rps, knee.high_rps) if knee.kind == Kind.FOUND else nothing for knee in all_knees]
    labels = dict(zip(values, map(rate_interval, all_knees), strict=True))
    return style.bars(
        [store.name for store in searched], [("knee, 95 % interval", style.BLUE, values)],
        lambda rps: labels.get(rps, rounded_rate(rps)), "requests per second", heading, ends=ends,
    )  # fmt: skip


def knee_sections(run: Run) -> Iterator[Section]:
    """Yield the knees of a run's settings, side by side; none for a run of one setting."""
    by_workload = knees(run)
    if not by_workload:
        return
    figures = [
        Shown(knees_anchor(workload), knee_picture(run, workload, searched), knee_data(searched))
        for workload, searched in by_workload.items()
    ]
    every = [(searched[0].ladder, store) for searched in by_workload.values() for store in searched]
    engines = {store.ladder.steps[0].engine for _, store in every}
    heading, what = ("Ways to run a request", "way") if len(engines) == 1 else ("The knees of the stores", "store")
    paired = all(searched_together(first, store.ladder) for first, store in every)
    text = KNEES_TEXT.format(search=(TOGETHER if paired else APART).format(what=what))
    text += BOUNDS_TEXT if any(store.knee.kind != Kind.FOUND for _, store in every) else ""
    yield Section("knees", heading, text=text, figures=tuple(figures))
