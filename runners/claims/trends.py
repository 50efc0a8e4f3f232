"""What many runs say together: trends by machine class, where they changed level, and which runs were disturbed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from runners.analysis import facts
from runners.analysis.steady_state import CHANGE_LEVEL, FEWEST_RUNS, Change, changes, usual_before
from runners.claims.conclusion import Claims
from runners.design.load import SENTINEL
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.history import LEAST_SHARE
from runners.readers.run import Run

KEY = ("machine_class", "experiment", "size", "kind", "subject", "workload", "connections", "metric")
#: Latencies under rates that are further apart than this are not one series.
SAME_RATE = 1.25
#: What the sentinel is judged by. Its tail is too noisy in two seconds to judge anything.
JUDGED = "p50"
METRICS = ("p50", "p99", "p99.9", "achieved")
#: How the figure of a frame is called: its share of the profiled processor time.
SHARE_OF = "CPU share of "
#: So many frames of a series are looked at: those whose share differs most between runs, in whatever order they came.
MOST_FRAMES = 30
#: By less than this part of the processor time no frame is said to have changed.
SMALLEST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure over the runs, oldest first.

    `frame`: `run`, `started`, `value`, `low`, `high`, `offered_rate_rps`, `disturbed` (the sentinel before that run
    was out of its usual range), `git_commit`. `found` holds the changes between undisturbed runs, with indices into
    `frame`; `why_not` says in words why none were looked for.
    """

    machine_class: str
    experiment: str
    size: str
    kind: str
    subject: str
    workload: str
    metric: str
    frame: pd.DataFrame
    found: tuple[Change, ...]
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
        """Tell whether a change is to the worse: a lower capacity, or a higher latency."""
        return (change.ratio > 1) != (self.metric == "achieved")

    def worse_within(self, runs: int) -> bool:
        """Tell whether the figure got worse in its last so many runs."""
        return any(self.worse(change) and change.index >= len(self.frame) - runs for change in self.found)

    def written(self, value: float) -> str:
        if self.metric.startswith(SHARE_OF):
            return write.percent(value)
        return write.rate(value) if self.metric == "achieved" else write.latency(value)


def trends(measurements: pd.DataFrame, runs: pd.DataFrame, metrics: Sequence[str] = METRICS) -> list[Trend]:
    """Return the series of `measurements` (see runners.readers.history), one for each thing that was measured twice
    or more.

    The sentinel is the same in every experiment and size, so it is one series a machine class.
    """
    disturbed = {name for name, ok in sentinels(measurements).items() if ok is False}
    rows = measurements[measurements["metric"].isin(metrics)].copy()
    sentinel = rows["kind"] == SENTINEL
    rows.loc[sentinel, ["experiment", "size"]] = ""
    rows["disturbed"] = rows["run"].isin(disturbed)
    rows = rows.merge(runs[["run", "git_commit"]], on="run", how="left").sort_values("started_unix_s", kind="stable")
    found = []
    for key, group in rows.groupby(list(KEY), sort=True, dropna=False):
        if len(group) < 2:
            continue
        machine, experiment, size, kind, subject, workload, _, metric = (str(part) for part in key)
        names = ["run", "step", "started", "value", "low", "high", "offered_rate_rps", "disturbed", "git_commit"]
        frame = group[names].reset_index(drop=True)
        points, why_not = _changes(frame, kind)
        found.append(Trend(machine, experiment, size, kind, subject, workload, metric, frame, points, why_not))
    return found


def frame_trends(shares: pd.DataFrame, measurements: pd.DataFrame, runs: pd.DataFrame) -> list[Trend]:
    """Return the series of frames' shares of processor time (`frame_shares`), of those that differ most between runs.

    A frame that a profile does not hold has the least share that one can have there. The more frames of one series
    there are, the rarer by chance a change has to be (Bonferroni). A higher share is a change to the worse.
    """
    disturbed = {name for name, ok in sentinels(measurements).items() if ok is False}
    found = []
    for key, group in shares.groupby(list(KEY[:-1]), sort=True, dropna=False):
        profiles = group.drop_duplicates("run").sort_values("started_unix_s", kind="stable").set_index("run")
        if len(profiles) < 2:
            continue
        table = group.pivot_table(index="run", columns="frame", values="share", aggfunc="last")
        table = table.reindex(profiles.index).fillna(LEAST_SHARE)
        moved = table.max() - table.min()
        chosen = moved[moved >= SMALLEST_SHARE].nlargest(MOST_FRAMES).index
        about = profiles[["step", "started", "offered_rate_rps"]].reset_index()
        about["disturbed"] = about["run"].isin(disturbed)
        about = about.merge(runs[["run", "git_commit"]], on="run", how="left")
        machine, experiment, size, kind, subject, workload, _ = (str(part) for part in key)
        for name in chosen:
            frame = about.assign(value=table[name].to_numpy(), low=math.nan, high=math.nan)
            points, why_not = _changes(frame, kind, CHANGE_LEVEL / len(chosen))
            points = tuple(each for each in points if abs(each.after - each.before) >= SMALLEST_SHARE)
            metric = f"{SHARE_OF}{name}"
            found.append(Trend(machine, experiment, size, kind, subject, workload, metric, frame, points, why_not))
    return found


def _changes(frame: pd.DataFrame, kind: str, level: float = CHANGE_LEVEL) -> tuple[tuple[Change, ...], str]:
    rates = frame["offered_rate_rps"].dropna()
    if len(rates) and rates.max() > SAME_RATE * rates.min():
        spread = f"{write.rate(rates.min())} to {write.rate(rates.max())}"
        return (), f"the offered rates differ too much to compare ({spread}); give rate_rps"
    quiet = frame if kind == SENTINEL else frame[~frame["disturbed"]]
    if len(quiet) < FEWEST_RUNS:
        return (), f"{len(quiet)} undisturbed runs are too few to tell a change from noise; it takes {FEWEST_RUNS}"
    places = list(quiet.index)
    points = changes([float(value) for value in quiet["value"]], level=level)
    return tuple(replace(point, index=int(places[point.index])) for point in points), ""


def sentinels(measurements: pd.DataFrame) -> dict[str, bool | None]:
    """For each run with a sentinel: whether it lay in the usual range of those before it since the last change.

    None where too few came before to say what is usual.
    """
    rows = measurements[(measurements["kind"] == SENTINEL) & (measurements["metric"] == JUDGED)]
    judged: dict[str, bool | None] = {}
    for _, group in rows.sort_values("started_unix_s", kind="stable").groupby(["machine_class", "subject"]):
        values = [float(value) for value in group["value"]]
        for place, run in enumerate(group["run"]):
            bounds = usual_before(values[:place])
            judged[str(run)] = None if bounds is None else bounds[0] <= values[place] <= bounds[1]
    return judged


def findings(history: Sequence[Trend]) -> Iterator[Finding]:
    """Yield a sentence for each change of level, largest first, then one for the disturbed runs."""
    points = [(trend, change) for trend in history for change in trend.found]
    for trend, change in sorted(points, key=lambda pair: -abs(pair[1].ratio - 1)):
        row, last = trend.frame.iloc[change.index], trend.frame.iloc[change.index - 1]
        sizes = sorted((abs(1 - change.low), abs(1 - change.high)))
        direction = "higher" if change.ratio > 1 else "lower"
        moved = f"{trend.title} became {direction} by {write.percent_interval(abs(1 - change.ratio), *sizes)}"
        text = (
            f"{moved} with run {row['run']}: {trend.written(change.before)} before, {trend.written(change.after)} after"
        )
        evidence: dict[str, write.Value] = {"ratio": change.ratio, "low": change.low, "high": change.high}
        evidence |= {"p_value": change.p_value, "runs": len(trend.frame)}
        commits = [str(c)[:12] for c in (last["git_commit"], row["git_commit"]) if isinstance(c, str)]
        remedy = f"Compare the commits {commits[0]} and {commits[1]}." if len(set(commits)) == 2 else None
        severity = Severity.WARNING if trend.worse(change) else Severity.GOOD
        yield Finding("H01", severity, write.sentence(text), evidence, (str(row["run"]),), "trends", remedy)
    marked = sorted({str(run) for trend in history for run in trend.frame.loc[trend.frame["disturbed"], "run"]})
    if marked:
        text = (
            f"In {write.count(len(marked))} of the runs the sentinel lay outside its usual range, so the machine was "
            f"not as usual; they are drawn hollow and take no part in changes: {write.listed(marked)}"
        )
        yield Finding("H04", Severity.WARNING, write.sentence(text), {"runs": len(marked)}, tuple(marked), "trends")


def trends_of(run: Run) -> list[Trend] | None:
    """Return the trends in a run that looked at the history; None for any other run."""
    if not {"measurements", "runs"} <= set(run.frames):
        return None
    asked = str((run.manifest.get("parameters") or {}).get("metrics") or ",".join(METRICS))
    return trends(run.frames["measurements"], run.frames["runs"], asked.split(","))


def analyse(run: Run) -> Claims | None:
    """Return the history's own answer and findings."""
    found = trends_of(run)
    if found is None:
        return None
    every = run.frames["runs"]
    classes = every["machine_class"].nunique()
    looked = [trend for trend in found if not trend.why_not]
    moved = [trend for trend in looked if trend.found]
    if not looked:
        what = "no figure was measured often enough to tell a change from noise"
    elif not moved:
        what = f"none of the {write.count(len(looked))} trends that are long enough changed level"
    else:
        names = write.listed(trend.title for trend in moved[:3])
        what = f"{write.count(len(moved))} of {write.count(len(looked))} trends changed level, among them {names}"
    machines = "one class of machine" if classes == 1 else f"{write.count(classes)} classes of machine"
    answer = write.sentence(f"In {write.count(len(every))} runs on {machines}, {what}")
    return Claims(answer, tuple(findings(found)))
