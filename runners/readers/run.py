"""A run as read from its folder: records, and frames, whose columns are listed in one place."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import StepRecord


@dataclass(frozen=True, slots=True, repr=False)
class Step:
    """One measured step: what was asked, how it ended, and its frames.

    Frames (each may be empty, none is missing; times in seconds from the start of the recorded window):

    - ``summary``: one row; `offered_rps` (NaN in closed loop), `achieved_rps`, `elapsed_s`, `scheduled`, `sent`,
      `completed`, `censored`, `unsent`, `non_2xx`, `connect_errors`, `read_errors`, `write_errors`, `timeouts`,
      `parse_errors`, `bytes_read`, `kept_up` (bool, may be NA), `kept_up_to` (percentile up to which it did),
      `lag_max_us`, `lag_p99_us`, `generator_cpu_s`, `receive_clock` (whose clock said when a response came: `kernel` or
      `user`; may be NA), `held` (sends that the generator held back so that they left with the next) and `coalesce_us`
      (for how long at most); both may be NaN. `reconnects` (connections made anew), `closed_idle` (of them, closed by
      the server while idle) and how long connecting took (`reconnect_p50_us`, `reconnect_max_us`, which is in response
      time); `waited` (requests that were due while their connection was busy or down) and for how long
      (`waited_p50_us`, `waited_max_us`); NaN where the generator does not tell.
    - ``failures``: one row a cause; `cause` in words, `counted_as` (connect | read | write | timeout | parse), `count`,
      `first_s`, `first` (what the system said of the first, or the bytes that came).
    - ``spectrum``: `kind` (response | service), `value_us`, `percentile` (0..1), `total_count`.
    - ``percentiles``: `kind`, `percentile` (0.5 ... 1.0), `value_us`, `low_us`, `high_us` (95 % order-statistic
      bounds where the log allows, else NaN), `samples_beyond`, `at_least` (True where requests without a response
      make the value a lower bound; NA where the output does not tell), `most_us` (what it would be had they waited for
      ever: the value itself where they do not matter, NaN where that has no end or is not known).
    - ``intervals``: one row a second and kind; `t_s`, `kind`, `count`, `p50_us`, `p90_us`, `p99_us`, `p999_us`,
      `max_us`, `errors`, `completed`.
    - ``histograms``: `t_s`, `kind` (response | censored), `value_us`, `count`: one row a value and line of the log.
    - ``shares``: `event` (cpu | alloc | lock), `category`, `samples`, `weight`, `share`, `low`, `high` (95 %).
    - ``frames``: `event`, `frame`, `samples` (stacks that hold the frame), `share`, `self_share`, `low`, `high`.
    - ``stacks``: `event`, `stack` (frames joined by ';', root first), `count` (samples; bytes for alloc, ns for lock).
    - ``pauses``: `t_s`, `duration_ms`, `kind` (gc | safepoint), `cause`.
    - ``slices``: response times by tenths of a second in which they came: `t_s` (start), `us` (middle of a bin 6 %
      wide), `count`; a tenth without responses is one row with `count` 0.
    - ``lateness``: of an open loop, how late a request left at most, by tenths of a second in which it left: `t_s`
      (start), `lag_max_us`.
    - ``events``: what the JVM's flight recorder saw: `t_s`, `duration_ms`, `kind` (flush, compaction, log sync, stall,
      compilation, file force, file write, file read, allocation stall), `what` (a name), `bytes`.
    - ``activity``: about ten samples a second: `t_s` (start), `length_s`, `kind` (steal, foreign, disk, io stall,
      memory stall, or what the server's threads are for: jit, gc, flush, compaction, serving, profiler, other; `wait`
      of serving threads for a core), `busy_ms` (CPU time, or time, within that length).
    - ``stalls``: late wake-ups of the stall witness: `cpu`, `t_s` (when its thread was due), `duration_ms` (by how much
      it was late); the core may have stalled since the wake-up before.
    - ``targets``: of a load on several servers, one row each: `target`, `offered_rps`, `achieved_rps`, `scheduled`,
      `completed`, `served` (responses of the warm-up too) and `non_2xx`.
    - ``rate_steps``: of a load whose rate changes, one row a step: `t_s` (start), `length_s`, `offered_rps`,
      `requests`, `achieved` (share that had its response in time), `lost` (share that failed or was refused), `stalled`
      (share of its time in which the witness saw a core stall), `p50_us`, `p90_us`, `p99_us`, `p999_us`; and bounds of
      what a generator on time would have read, NaN where its lateness is not known: `achieved_most`, `p50_least_us`,
      `p90_least_us`, `p99_least_us`, `p999_least_us`.
    - ``requests``: of a load on several servers, one row a request: `t_s` (intended start), `target`, `predecessor`
      (target of the request before; missing where the order does not go by request), `response_us`, `service_us`,
      `fate`.
    - ``samples``: the profiler's samples by fiftieths of a second: `event`, `t_s`, `stack` (as in ``stacks``),
      `samples`, `weight` (bytes for alloc, ns for lock).
    - ``telemetry``: `t_s`, `server_cpu_s`, `generator_cpu_s` (counters as read), `server_rss_bytes`, `steal_share`,
      `machine_busy_share` (of all cores), `server_cpu_cores`, `generator_cpu_cores`, `foreign_cpu_cores` (in use).
    - ``status``: `code`, `count` (responses by HTTP status; empty where the generator does not tell).

    `record` is step.json; `unreadable` names each raw file which could not be read, and why.
    """

    name: str
    record: StepRecord
    folder: StepFolder
    frames: dict[str, pd.DataFrame]
    unreadable: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Step {self.name}, {'valid' if self.valid else 'not valid'}>"

    @property
    def valid(self) -> bool:
        return self.record.valid

    @property
    def label(self) -> str:
        """The step's name as a reader knows it, e.g. "RocksDB PUT"."""
        return self.record.label or self.name

    @property
    def saturated(self) -> bool:
        """Return whether the server achieved less than was offered."""
        return self.record.saturated

    @property
    def engine(self) -> str:
        return self.record.engine

    @property
    def subject(self) -> str:
        """The name of the measured server in reports: its setting's, else its engine."""
        return self.record.treatment or self.engine

    @property
    def workload(self) -> str:
        return self.record.workload

    @property
    def kind(self) -> str:
        """probe, fill, load or floor."""
        return self.record.role

    @property
    def profiled(self) -> tuple[str, ...]:
        """Events that were profiled during the step; empty for a clean measurement."""
        return self.record.profiled


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """A whole run: its manifest, and its complete steps in the order in which they started. It equals only itself.

    `frames` are those of the run as a whole, by name, where an experiment keeps any (the history does).
    `unfinished` names steps that were begun and never completed: the run was interrupted there.
    """

    folder: RunFolder
    manifest: dict[str, Any]
    steps: tuple[Step, ...]
    unfinished: tuple[str, ...] = ()
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Run {self.name}, {self.manifest.get('status')}, {len(self.steps)} steps>"

    @property
    def name(self) -> str:
        return self.folder.name

    def find(
        self,
        *,
        kind: str = "load",
        subject: str | None = None,
        workload: str | None = None,
        profiled: bool | None = None,
    ) -> list[Step]:
        """Return steps that match what is given."""
        return [
            step
            for step in self.steps
            if step.kind == kind
            and (subject is None or step.subject == subject)
            and (workload is None or step.workload == workload)
            and (profiled is None or bool(step.profiled) == profiled)
        ]


#: Of each frame its columns, each with its type where that is not float64. `requests` has a row a request, and so less
#: exact numbers.
_FORMS = {
    "summary": (
        "offered_rps achieved_rps elapsed_s scheduled sent completed censored unsent non_2xx connect_errors "
        "read_errors write_errors timeouts parse_errors bytes_read kept_up:boolean kept_up_to lag_max_us lag_p99_us "
        "generator_cpu_s receive_clock:str coalesce_us held reconnects closed_idle reconnect_p50_us reconnect_max_us "
        "waited waited_p50_us waited_max_us"
    ),
    "failures": "cause:str counted_as:str count:int64 first_s first:str",
    "status": "code:str count:int64",
    "spectrum": "kind:str value_us percentile total_count",
    "percentiles": "kind:str percentile value_us low_us high_us samples_beyond at_least:boolean most_us",
    "intervals": "t_s kind:str count p50_us p90_us p99_us p999_us max_us errors completed",
    "histograms": "t_s kind:str value_us count:int64",
    "shares": "event:str category:str samples weight share low high",
    "frames": "event:str frame:str samples share self_share low high",
    "stacks": "event:str stack:str count",
    "pauses": "t_s duration_ms kind:str cause:str",
    "slices": "t_s us count",
    "lateness": "t_s lag_max_us",
    "events": "t_s duration_ms kind:str what:str bytes",
    "activity": "t_s length_s kind:str busy_ms",
    "stalls": "cpu:int64 t_s duration_ms",
    "targets": "target:str offered_rps achieved_rps scheduled completed served non_2xx",
    "rate_steps": (
        "t_s length_s offered_rps requests:int64 achieved lost stalled p50_us p90_us p99_us p999_us achieved_most "
        "p50_least_us p90_least_us p99_least_us p999_least_us"
    ),
    "requests": "t_s:float32 target:str predecessor:str response_us:float32 service_us:float32 fate:str",
    "samples": "event:str t_s stack:str samples weight",
    "telemetry": (
        "t_s server_cpu_s generator_cpu_s server_rss_bytes steal_share machine_busy_share server_cpu_cores "
        "generator_cpu_cores foreign_cpu_cores"
    ),
}
COLUMNS: dict[str, dict[str, str]] = {
    name: {column: kind or "float64" for column, _, kind in (word.partition(":") for word in form.split())}
    for name, form in _FORMS.items()
}


def frame(name: str, rows: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Return rows as the frame `name`, with exactly its columns; a value that a row lacks is missing, not zero."""
    listed = list(rows)
    return _typed(name, listed) if listed else _empty(name).copy(deep=False)


def _typed(name: str, rows: list[Mapping[str, Any]]) -> pd.DataFrame:
    # each column in its type at once: DataFrame(rows).astype(columns) makes each twice
    return pd.DataFrame({at: _column([row.get(at) for row in rows], kind) for at, kind in _types(name).items()})


def _column(values: list[Any], kind: Any) -> Any:
    # numpy takes None for NaN too, and is faster
    return np.array(values, np.float64) if kind == np.float64 else pd.array(values, dtype=kind)


@functools.cache
def _types(name: str) -> dict[str, Any]:
    return {at: pandas_dtype(kind) for at, kind in COLUMNS[name].items()}


@functools.cache
def _empty(name: str) -> pd.DataFrame:
    """Return the frame without rows, kept: most steps lack most frames, and typing the columns takes milliseconds."""
    return _typed(name, [])


def complete(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return `frames` with an empty frame for each name that is missing."""
    return {name: frames[name] if name in frames else frame(name) for name in COLUMNS}
