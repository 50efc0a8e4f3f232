"""`Measured`, which `Lab.run` and `open_run` return: one block of a run with its figures and its pandas frames."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from runners import ROOT, report, words
from runners.analysis import counts, facts
from runners.design.load import SENTINEL
from runners.design.session import ALONE, EVENTS, FLOOR, LOAD, LOOP, OUTAGE, PAIRED, RATE_STEP, ROUND, SOLO, STALL
from runners.errors import PlanError
from runners.experiments.references import outputs_of
from runners.readers.reading import read_run
from runners.readers.run import COLUMNS, Run, Step, frame
from runners.readers.stacks import classifier_of
from runners.report.document import own_sections
from runners.report.fixed_rate import latency_section, loads_table, where_section
from runners.report.flamegraph import Differential, FlameGraph, stacks_of
from runners.report.latency import as_treatments
from runners.report.style import Picture
from runners.report.tables import Section, Table
from runners.results.results import Results
from runners.storage.run_folder import RUNS, RunFolder

#: Roles of trials whose latencies may be quoted: no fills, probes or warm-ups, and no loads that several servers share.
QUOTED_ROLES = frozenset({LOAD, FLOOR, RATE_STEP, LOOP, ROUND, STALL, OUTAGE, PAIRED, ALONE, SOLO})


@dataclass(frozen=True, eq=False)  # without slots: cached_property needs a __dict__
class Measured:
    """The data of one block, which is a group of measurements. A notebook shows its figures and a small table.

    The first column of every frame is `load`, the name of the load's folder (`put-lsm`). Latencies are in microseconds.
    Times are in seconds from the start of the recorded window (after the warm-up), and shares are from 0 to 1.
    """

    name: str
    run: Run
    steps: tuple[Step, ...]  # all trials of the block, as read from disk; `step.frames` has their raw data

    def __add__(self, other: "Measured") -> "Measured":
        """Return one `Measured` with the data of this block and of `other`, a block of the same run."""
        return Measured(f"{self.name}, {other.name}", self.run, (*self.steps, *other.steps))

    @property
    def loads(self) -> tuple[Step, ...]:
        """The loads that ran without a profiler and whose latencies may be quoted. All others are only in `steps`."""
        return tuple(step for step in self.steps if step.kind in QUOTED_ROLES and not step.profiled)

    @property
    def percentiles(self) -> pd.DataFrame:
        """Latency percentiles that may be quoted: a row for each `load` and `percentile` (0.5 to 1).

        `response_us` counts from the intended start of a request. `service_us` counts from its actual send; it is NaN
        if the generator does not record it. `low` and `high` are the 95 % interval of `response_us` in us, or NaN if
        none can be computed. `samples` is the number of response times. `at_least` is True if `response_us` is only a
        lower bound, because some requests had no response.
        """
        rows = [
            {
                "load": step.name, "percentile": level, "response_us": value.value,
                "service_us": service.value if (service := facts.quoted(step, level, counts.SERVICE)) else float("nan"),
                "low": value.low, "high": value.high, "samples": facts.samples(step), "at_least": value.at_least,
            }
            for step in self.loads
            for level in sorted(set(step.frames["percentiles"]["percentile"]))
            if (value := facts.quoted(step, level)) is not None
        ]  # fmt: skip
        columns = ["load", "percentile", "response_us", "service_us", "low", "high", "samples", "at_least"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def spectrum(self) -> pd.DataFrame:
        """The percentile spectrum (latency by percentile) of each `load`, some hundred rows per load.

        `kind` is response or service. `percentile` (0 to 1) is the share of requests that took at most `value_us`, and
        `total_count` is the number of these requests. `quotable` is False if the report draws no curve, because the
        load is not valid or the server did not achieve the offered rate.
        """
        quotable = {step.name: facts.quotable(step) for step in self.loads}
        spectra = self._joined_frames("spectrum", self.loads)
        return spectra.assign(quotable=spectra["load"].map(quotable).astype(bool))

    @property
    def series(self) -> pd.DataFrame:
        """Latency percentiles and counts of every second of every `load`; a second begins at `t_s`.

        `kind` is response or service. `count` is the number of recorded latencies of this kind, and `p50_us`, `p90_us`,
        `p99_us`, `p999_us` and `max_us` are their percentiles. `completed` is the number of requests that ended in this
        second, and `errors` is how many of these failed; both are NaN if the generator does not report them.
        """
        return self._joined_frames("intervals", self.loads)

    @property
    def requests(self) -> pd.DataFrame:
        """The requests of interleaved trials, in which one `load` goes to several servers; empty without such trials.

        `t_s` is the intended start, `target` is the server, and `predecessor` is the server of the request before.
        `response_us` and `service_us` are as in `percentiles`, but `service_us` is NaN for valid trials in an archive.
        `fate` is completed, failed, censored (no response before the load ended) or unsent.
        """
        return self._joined_frames("requests", self.steps)

    @property
    def telemetry(self) -> pd.DataFrame:
        """CPU and memory use in every step (`load`), about one row per second `t_s`.

        `server_cpu_s` and `generator_cpu_s` are counters in CPU seconds. `server_cpu_cores`, `generator_cpu_cores` and
        `foreign_cpu_cores` are the cores that server, generator and all other processes use. `steal_share` and
        `machine_busy_share` are shares of all cores. `server_rss_bytes` is the server's memory.
        """
        return self._joined_frames("telemetry", self.steps)

    def profile(self, event: str = "cpu") -> pd.DataFrame:
        """Return a row for each stack frame of every profiled `load`; within a load, the widest frame is first.

        `event`: cpu, alloc (bytes) or lock (wait time). `self` is the share (0 to 1) in stacks with `frame` on top,
        `total` in stacks with it anywhere, and `category` the main one of these. Raises PlanError if no profile exists.
        """
        profiled = self._steps_with_profile(event)
        frames = pd.concat([_frames_of(step, event).assign(load=step.name) for step in profiled], ignore_index=True)
        return frames[["load", "frame", "self", "total", "category"]]

    @property
    def plot(self) -> "Plot":
        """An object with one method for every kind of figure."""
        return Plot(self)

    @cached_property
    def results(self) -> Results:
        """Typed results of this block's steps and of all the run's floors (loads on a server that does nothing)."""
        own = {step.name for step in self.steps}
        floors = [step for step in self.run.steps if step.kind in (FLOOR, SENTINEL) and step.name not in own]
        return Results(replace(self.run, steps=(*floors, *self.steps), frames={}), outputs_of(self.run.manifest))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The report sections that are made of this block's data alone."""
        own = own_sections(self.results.run)
        return (latency_section(self.results), *own, where_section(self.results))

    @property
    def figures(self) -> tuple[Picture | FlameGraph, ...]:
        """The pictures of all `sections`, then their flame graphs."""
        pictures = [picture for section in self.sections for picture in section.figures]
        return (*pictures, *(graph for section in self.sections for graph in section.graphs))

    @property
    def table(self) -> Table | None:
        """The block's table of loads, else the first table of `sections`; None if there is no table."""
        return loads_table(self.results) or next((table for section in self.sections for table in section.tables), None)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        for shown in (*self.figures, *([self.table] if self.table else ())):
            display(shown)  # type: ignore[no-untyped-call]
        if not self.steps:
            print(self)

    def __repr__(self) -> str:
        if not self.steps:
            return f"{self.name}: not measured in this size"
        return f"<Measured {self.name} of {self.run.name}: {words.several(len(self.steps), 'step')}>"

    def _joined_frames(self, name: str, steps: Sequence[Step]) -> pd.DataFrame:
        kept = [step.frames[name].assign(load=step.name) for step in steps if not step.frames[name].empty]
        joined = pd.concat(kept, ignore_index=True) if kept else frame(name).assign(load="")
        return joined[["load", *COLUMNS[name]]]

    def _steps_with_profile(self, event: str) -> list[Step]:
        profiled = [step for step in self.steps if not stacks_of(step, event).empty]
        if not profiled:
            there = [known for known in EVENTS if any(not stacks_of(step, known).empty for step in self.steps)]
            cause = f"no {event} profile was taken"
            raise PlanError(f"block {self.name}", cause, f"events there are: {', '.join(there) or 'none'}")
        return profiled


def _frames_of(step: Step, event: str) -> pd.DataFrame:
    """Return a row for each stack frame of a step's profile, the widest first. Columns are as in `Measured.profile`."""
    stacks, rules = stacks_of(step, event), classifier_of(step.record.server)
    names = stacks["stack"].str.split(";")
    columns = {"frame": names.map(set), "top": names.str[-1], "category": names.map(rules.stack)}
    rows = pd.DataFrame({**columns, "total": stacks["count"]}).explode("frame", ignore_index=True)
    rows = rows[~rows["frame"].str.startswith("[") & rows["frame"].ne("")]  # brackets hold the names of threads
    rows = rows.assign(own=rows["total"].where(rows["frame"] == rows["top"], 0))
    sums = rows.groupby("frame")[["own", "total"]].sum().rename(columns={"own": "self"})
    shares = sums / stacks["count"].sum()
    by_category = rows.groupby(["frame", "category"])["total"].sum()
    shares["category"] = by_category.groupby("frame").idxmax().map(lambda at: at[1])
    return shares.reset_index().sort_values(["total", "self"], ascending=False, ignore_index=True)


@dataclass(frozen=True, slots=True)
class Plot:
    """The figures of one block, `measured`. A notebook shows the figure that a cell's last line returns."""

    measured: Measured

    def spectrum(self, with_: Measured | None = None) -> Picture:
        """Draw latency by percentile of the loads in this block and in block `with_`, and of a do-nothing server."""
        own = self._loads()
        output = self.measured.results.published_output(own[0][0].workload) if own else None
        return report.overlay([*own, *(with_.plot._loads() if with_ else ())], output[1] if output else None)

    def timeline(self, load: str = "") -> Picture:
        """Draw latency over time of the load called `load` (empty: the first one), and the causes of slow responses."""
        return report.timeline(*self._steps_called([step for step, _ in self._loads()], load)[:1])

    def flamegraph(self, event: str = "cpu", load: str = "") -> FlameGraph:
        """Return the flame graph of the load called `load` (empty: the first one with a profile of the event).

        `event` is cpu, alloc or lock. Raises PlanError if there is no such profile.
        """
        return report.flamegraph(self._steps_called(self.measured._steps_with_profile(event), load)[0], event)

    def differential(self, with_: Measured, event: str = "cpu") -> Differential:
        """Compare the first profile of this block with the first profile of `with_`, a block of any run.

        `event` is cpu, alloc or lock. Raises PlanError if one of the two blocks has no profile of this event.
        """
        pair = [(measured._steps_with_profile(event)[0], measured.run) for measured in (self.measured, with_)]
        first, second = as_treatments(pair)
        return report.differential(first, second, event)

    def _loads(self) -> list[tuple[Step, Run]]:
        # figures add the nearest floor themselves
        return [(s, self.measured.run) for s in self.measured.loads if facts.quotable(s) and s.kind != FLOOR]

    def _steps_called(self, steps: list[Step], load: str) -> list[Step]:
        chosen = [step for step in steps if load in ("", step.name)]
        if load and not chosen:
            names = ", ".join(step.name for step in steps) or "none"
            raise PlanError(f"load {load!r}", f"block {self.measured.name} has none such", f"there are: {names}")
        return chosen


def open_run(run: Path | str) -> dict[str, Measured]:
    """Return a run's blocks by name (see `runners.open_run`). Steps that belong to no block are grouped by kind."""
    places = [Path(run), ROOT / run, RUNS / run]
    path = next((path for path in places if (path / "manifest.json").is_file()), Path(run))
    whole = read_run(RunFolder.open(path))
    blocks = facts.grouped(whole.steps, lambda step: step.record.block or step.kind)
    return {name: Measured(name, whole, tuple(steps)) for name, steps in blocks.items()}
