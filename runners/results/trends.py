"""Trends over many runs by machine class: where they changed level, and the runs that were disturbed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from runners import words
from runners.analysis import facts
from runners.analysis.steady_state import CHANGE_LEVEL, FEWEST_RUNS, Change, changes, usual_before
from runners.design.load import SENTINEL
from runners.readers.history import LEAST_SHARE
from runners.readers.run import Run
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering

if TYPE_CHECKING:
    from runners.results.results import Results

#: Where a report draws the trends.
FIGURE = "trends"
KEY = ("machine_class", "experiment", "size", "kind", "subject", "workload", "connections", "metric")
COLUMNS = ("run", "step", "started", "value", "low", "high", "offered_rate_rps", "disturbed", "git_commit")
#: Latencies under rates that are further apart than this are not one series.
SAME_RATE = 1.25
#: The figure by which the sentinel is judged. Its tail is too noisy in two seconds to judge anything.
JUDGED = "p50"
METRICS = ("p50", "p99", "p99.9", "achieved")
#: Begins the metric of a frame: its share of the profiled processor time.
SHARE_OF = "CPU share of "
#: So many frames of a series are looked at: those whose share differs most between runs, in whatever order they came.
MOST_FRAMES = 30
#: The least change of a frame's share of the processor time.
SMALLEST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure over the runs, oldest first.

    `frame` has COLUMNS. `changes`: those between undisturbed runs, with indices into `frame`; `why_not`: in words, why
    none were looked for.
    """

    machine_class: str
    experiment: str
    size: str
    kind: str
    subject: str
    workload: str
    metric: str
    frame: pd.DataFrame
    changes: tuple[Change, ...]
    why_not: str = ""

    @property
    def title(self) -> str:
        """ "RocksDB PUT p99, experiment 01, quick"."""
        what = "capacity in closed loop" if self.metric == "achieved" else self.metric
        kind = f" {self.kind}" if self.kind in ("floor", SENTINEL) else ""
        name = facts.engine_name(self.subject)
        where = "" if self.kind == SENTINEL else f", experiment {self.experiment}, {self.size}"
        return f"{name} {self.workload.upper()}{kind} {what}{where}"

    def worse(self, change: Change) -> bool:
        """Return whether a change is to the worse: a lower capacity, or a higher latency."""
        return (change.ratio > 1) != (self.metric == "achieved")

    def worse_within(self, runs: int) -> bool:
        """Return whether the figure got worse in its last so many runs."""
        return any(self.worse(change) and change.index >= len(self.frame) - runs for change in self.changes)

    def written(self, value: float) -> str:
        if self.metric.startswith(SHARE_OF):
            return words.percent(value)
        return words.rate(value) if self.metric == "achieved" else words.latency(value)


def trends(measurements: pd.DataFrame, runs: pd.DataFrame, metrics: Sequence[str] = METRICS) -> list[Trend]:
    """Return the series of `measurements` (see runners.readers.history); one of the sentinel for each machine class."""
    rows = _by_age(measurements[measurements["metric"].isin(metrics)], measurements, runs)
    rows.loc[rows["kind"] == SENTINEL, ["experiment", "size"]] = ""
    groups = rows.groupby(list(KEY), sort=True, dropna=False)
    return [_trend(key, group) for key, group in groups if len(group) > 1]


def frame_trends(shares: pd.DataFrame, measurements: pd.DataFrame, runs: pd.DataFrame) -> list[Trend]:
    """Return the series of frames' shares of processor time (`frame_shares`), of those that differ most between runs.

    The more frames a series has, the rarer by chance a change has to be (Bonferroni).
    """
    series = []
    for key, group in _by_age(shares, measurements, runs).groupby(list(KEY[:-1]), sort=True, dropna=False):
        profiles = group.drop_duplicates("run").set_index("run", drop=False).rename_axis(None)
        table = group.pivot_table(index="run", columns="frame", values="share", aggfunc="last")
        table = table.reindex(profiles.index).fillna(LEAST_SHARE)
        moved = table.max() - table.min()
        chosen = moved[moved >= SMALLEST_SHARE].nlargest(MOST_FRAMES).index if len(profiles) > 1 else ()
        for name in chosen:
            rows = profiles.assign(value=table[name], low=math.nan, high=math.nan)
            trend = _trend((*key, f"{SHARE_OF}{name}"), rows, CHANGE_LEVEL / len(chosen))
            large = tuple(step for step in trend.changes if abs(step.after - step.before) >= SMALLEST_SHARE)
            series.append(replace(trend, changes=large))
    return series


def _by_age(rows: pd.DataFrame, measurements: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, oldest first, with the commit of their run and whether the machine disturbed it."""
    disturbed = [name for name, ok in sentinels(measurements).items() if ok is False]
    rows = rows.assign(disturbed=rows["run"].isin(disturbed))
    return rows.merge(runs[["run", "git_commit"]], on="run", how="left").sort_values("started_unix_s", kind="stable")


def _trend(key: tuple[object, ...], rows: pd.DataFrame, level: float = CHANGE_LEVEL) -> Trend:
    """Return the series of these rows; `key` has the values of KEY."""
    machine, experiment, size, kind, subject, workload, _, metric = map(str, key)
    frame = rows[list(COLUMNS)].reset_index(drop=True)
    points, why_not = _changes(frame, kind, level)
    return Trend(machine, experiment, size, kind, subject, workload, metric, frame, points, why_not)


def _changes(frame: pd.DataFrame, kind: str, level: float) -> tuple[tuple[Change, ...], str]:
    rates = frame["offered_rate_rps"].dropna()
    if len(rates) and rates.max() > SAME_RATE * rates.min():
        spread = f"{words.rate(rates.min())} to {words.rate(rates.max())}"
        return (), f"the offered rates differ too much to compare ({spread}); give rate_rps"
    quiet = frame if kind == SENTINEL else frame[~frame["disturbed"]]
    if len(quiet) < FEWEST_RUNS:
        return (), f"{len(quiet)} undisturbed runs are too few to tell a change from noise; it takes {FEWEST_RUNS}"
    places = list(quiet.index)
    points = changes([float(value) for value in quiet["value"]], level=level)
    return tuple(replace(point, index=int(places[point.index])) for point in points), ""


def sentinels(measurements: pd.DataFrame) -> dict[str, bool | None]:
    """Return by run whether its sentinel lay in the usual range of those before it; None where too few came before."""
    rows = measurements[(measurements["kind"] == SENTINEL) & (measurements["metric"] == JUDGED)]
    judged: dict[str, bool | None] = {}
    for _, group in rows.sort_values("started_unix_s", kind="stable").groupby(["machine_class", "subject"]):
        values = [float(value) for value in group["value"]]
        for place, run in enumerate(group["run"]):
            bounds = usual_before(values[:place])
            judged[str(run)] = None if bounds is None else bounds[0] <= values[place] <= bounds[1]
    return judged


def trends_of(run: Run) -> tuple[Trend, ...] | None:
    """Return the trends in a run that looked at the history; None for any other run."""
    if not {"measurements", "runs"} <= set(run.frames):
        return None
    asked = str((run.manifest.get("parameters") or {}).get("metrics") or ",".join(METRICS))
    return tuple(trends(run.frames["measurements"], run.frames["runs"], asked.split(",")))


@answering
def trends_change(results: Results, *, sentinel: bool) -> Answer | None:
    """Answer: did trends change their level: those of the machine's sentinel, or those of the servers?"""

    def wanted(trend: Trend) -> bool:
        return trend.kind == SENTINEL and trend.metric == JUDGED if sentinel else trend.kind != SENTINEL

    series = [trend for trend in results.trends or () if wanted(trend)]
    if not series:
        return None
    looked = [trend for trend in series if not trend.why_not]
    changed = [trend for trend in looked if trend.changes]
    evidence = (Measure("trends that changed level", len(changed), Unit.COUNT).out_of(len(looked)),)
    runs = max(len(trend.frame) for trend in series)
    verdict = Verdict.YES if changed else Verdict.NO if looked else Verdict.INCONCLUSIVE
    return Answer(verdict, evidence, Basis.TRENDS, runs, Needed.MORE_RUNS, FEWEST_RUNS, figure=FIGURE)
