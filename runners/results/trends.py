"""Trends of metrics over many runs on one class of machine: where the level changed, and which runs were disturbed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from runners import words
from runners.analysis import facts
from runners.analysis.steady_state import FEWEST_RUNS, Change, Sentinel, changes, usual_before
from runners.design.load import SENTINEL
from runners.readers.run import Run
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering

if TYPE_CHECKING:
    from runners.results.results import Results

#: The anchor of the trends in a report.
FIGURE = "trends"
KEY = ("machine_class", "experiment", "size", "kind", "subject", "workload", "connections", "metric")
COLUMNS = ("run", "step", "started", "value", "low", "high", "offered_rate_rps", "disturbed", "git_commit")
#: In one series the highest offered rate is at most this many times the lowest; else latencies can't be compared.
SAME_RATE = 1.25
#: The metric by which a sentinel (a small fixed load) is judged: in its two seconds, a tail is too noisy to judge by.
JUDGED = "p50"
METRICS = ("p50", "p99", "p99.9", "achieved")


@dataclass(frozen=True, slots=True)
class Trend:
    """One metric of one load over many runs on one class of machine."""

    machine_class: str
    experiment: str
    size: str
    kind: str  # the role of the steps, such as load
    subject: str  # the server's setting
    workload: str
    metric: str
    frame: pd.DataFrame  # a row with COLUMNS for each run, oldest first
    changes: tuple[Change, ...]  # changes of level between undisturbed runs, with indices into `frame`
    why_not: str = ""  # why no changes were looked for, in words

    @property
    def title(self) -> str:
        """The title in words, such as `RocksDB PUT p99, experiment 01, quick`."""
        what = "capacity in closed loop" if self.metric == "achieved" else self.metric
        kind = f" {self.kind}" if self.kind in ("floor", SENTINEL) else ""
        name = facts.engine_name(self.subject)
        where = "" if self.kind == SENTINEL else f", experiment {self.experiment}, {self.size}"
        return f"{name} {self.workload.upper()}{kind} {what}{where}"

    def worse_within(self, runs: int) -> bool:
        """Return whether the capacity fell, or the latency rose, in the last `runs` runs."""
        late = (change for change in self.changes if change.index >= len(self.frame) - runs)
        return any((change.ratio > 1) != (self.metric == "achieved") for change in late)

    def written(self, value: float) -> str:
        return words.rate(value) if self.metric == "achieved" else words.latency(value)


def trends(measurements: pd.DataFrame, runs: pd.DataFrame, metrics: Sequence[str] = METRICS) -> list[Trend]:
    """Return a trend for each load and metric in frames of readers.history; for a sentinel, over all experiments."""
    disturbed = [name for name, ok in sentinels(measurements).items() if ok is False]
    rows = measurements[measurements["metric"].isin(metrics)].merge(runs[["run", "git_commit"]], on="run", how="left")
    rows = rows.assign(disturbed=rows["run"].isin(disturbed)).sort_values("started_unix_s", kind="stable")
    rows.loc[rows["kind"] == SENTINEL, ["experiment", "size"]] = ""
    series = []
    for key, group in rows.groupby(list(KEY), sort=True, dropna=False):
        machine, experiment, size, kind, subject, workload, _, metric = map(str, key)
        if len(group) > 1:
            frame = group[list(COLUMNS)].reset_index(drop=True)
            own = machine, experiment, size, kind, subject, workload, metric
            series.append(Trend(*own, frame, *_changes(frame, kind)))
    return series


def _changes(frame: pd.DataFrame, kind: str) -> tuple[tuple[Change, ...], str]:
    rates = frame["offered_rate_rps"].dropna()
    if len(rates) and rates.max() > SAME_RATE * rates.min():
        spread = f"{words.rate(rates.min())} to {words.rate(rates.max())}"
        return (), f"the offered rates differ too much to compare ({spread}); give rate_rps"
    quiet = frame if kind == SENTINEL else frame[~frame["disturbed"]]
    if len(quiet) < FEWEST_RUNS:
        return (), f"{len(quiet)} undisturbed runs are too few to tell a change from noise; it takes {FEWEST_RUNS}"
    places = list(quiet.index)
    points = changes([float(value) for value in quiet["value"]])
    return tuple(replace(point, index=int(places[point.index])) for point in points), ""


def sentinels(measurements: pd.DataFrame) -> dict[str, bool | None]:
    """Return {run: whether its sentinel, a small fixed load, was as usual}; None if too few runs came before it."""
    rows = measurements[(measurements["kind"] == SENTINEL) & (measurements["metric"] == JUDGED)]
    judged: dict[str, bool | None] = {}
    for _, group in rows.sort_values("started_unix_s", kind="stable").groupby(["machine_class", "subject"]):
        values = [float(value) for value in group["value"]]
        for place, run in enumerate(group["run"]):
            judged[str(run)] = Sentinel(values[place], usual_before(values[:place]), place).ok
    return judged


def trends_of(run: Run) -> tuple[Trend, ...] | None:
    """Return the trends over the past runs that `run` collected; None for a run that collected none."""
    if not {"measurements", "runs"} <= set(run.frames):
        return None
    asked = str((run.manifest.get("parameters") or {}).get("metrics") or ",".join(METRICS))
    return tuple(trends(run.frames["measurements"], run.frames["runs"], asked.split(",")))


@answering
def trends_change(results: "Results", *, sentinel: bool) -> Answer | None:
    """Answer: did any trend change its level? None without trends, inconclusive if none can be judged.

    If `sentinel`, only trends of sentinels count: one small load, the same in every run. Else only other trends count.
    """

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
