"""Reader of a run folder as a `Run`: every data frame of every step, from raw files or as stored earlier.

If a raw file is missing or broken, only the data frames that need it are lost; `Step.unreadable` names file and cause.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from runners.design.session import EVENTS
from runners.errors import ReadError
from runners.readers.activity import read_activity, read_events, read_pauses, read_stall_log, read_telemetry
from runners.readers.hdr_log import HdrLog, read_hdr_log
from runners.readers.load_json import LoadReport, read_load_json
from runners.readers.requests_log import rate_steps_frame, read_requests_log, requests_frame, successions, time_blocks
from runners.readers.run import COLUMNS, Run, Step, complete, frame
from runners.readers.stacks import (
    classifier_of,
    frames_frame,
    in_batches,
    read_collapsed,
    read_timed_stacks,
    shares_frame,
)
from runners.readers.wrk_console import find_reports
from runners.storage.archive import Content
from runners.storage.run_folder import RunFolder, StepFolder, StoreError
from runners.storage.schema import Ended, StepRecord, read_record, to_document

REFERENCES = ("blocking", "epoll")  # clients that print their JSON on the console
#: The frames that a generator's JSON gives, and those of its HdrHistogram log; a frame in both is taken from the log.
OF_LOAD = ("summary", "status", "targets", "spectrum", "percentiles", "intervals", "lateness", "failures")
OF_LOG = ("percentiles", "spectrum", "intervals", "histograms", "slices")
_UNREADABLE = "unreadable"
_T = TypeVar("_T")


def read_run(folder: RunFolder) -> Run:
    """Return the run in a folder; steps with a broken record are marked unreadable.

    Raises StoreError if the manifest or a data frame about the whole run is broken.
    """
    manifest = folder.manifest()
    try:
        step_folders = folder.steps()
    except StoreError:
        step_folders = folder.complete()
    steps = sorted((read_step(step) for step in step_folders), key=lambda step: step.record.started_unix_us)
    return Run(folder, manifest, tuple(steps), folder.unfinished(), folder.read_frames())


def read_step(folder: StepFolder) -> Step:
    """Return a step with its stored data frames; if any is absent, all are read from the step's raw files."""
    unreadable: list[str] = []
    try:
        record = read_record(folder)
    except StoreError:
        problem = f"{folder.meta.name}: can't be read"
        unreadable.append(problem)
        record = StepRecord(name=folder.name, invalid_reasons=(problem,), ended=Ended.UNREADABLE)
    frames = _stored(folder, unreadable) or _Reader(folder, record, unreadable).frames()
    return Step(folder.name, record, folder, frames, tuple(unreadable))


def store_frames(step: Step) -> None:
    """Write a step's data frames into the step's folder, as Parquet files."""
    step.folder.write_frames({**step.frames, _UNREADABLE: pd.DataFrame({"text": step.unreadable}, dtype="str")})


#: Roles of loads that prepare other loads, or whose latencies nobody quotes.
_PREPARING = ("warm-up", "outage-warm", "paired-warm", "fill", "probe", "sentinel")
#: If an archive does not keep a step's latencies over time, it keeps of the step's activity only these kinds.
_READ_ALONE = ("disk", "jit")


def keeps_latencies(record: StepRecord) -> bool:
    """Return whether an archive keeps a step's histograms; false for rate sweeps, preparing and profiled loads."""
    return record.sweep is None and record.role not in _PREPARING and not record.profiled


def archived_content(step: Step) -> Content:
    """Return the content for an archive of a step: its record, its data frames and its generator's console output.

    Values are rounded to the digits above noise: response times to three significant digits, activity to hundredths of
    a millisecond, shares to six or seven decimals. Requests in one twentieth of a second lose their order. Left out are
    histograms and slices (unless `keeps_latencies`), most activity without slices, and service times of valid steps.
    """
    kept = step.record.sweep is None and step.kind not in _PREPARING and not step.profiled
    left_out = () if kept else ("histograms", "slices")
    frames = {
        **step.frames,
        **{name: frame(name) for name in left_out},
        _UNREADABLE: pd.DataFrame({"text": step.unreadable}, dtype="str"),
    }
    requests, activity, telemetry = frames["requests"], frames["activity"], frames["telemetry"]
    rounded = frames["histograms"].assign(value_us=_three_digits(frames["histograms"]["value_us"]))
    frames["histograms"] = rounded.groupby(["t_s", "kind", "value_us"])["count"].sum().reset_index()
    service_us = requests["service_us"].mask(pd.Series(step.valid, requests.index))
    times_us = {"response_us": _three_digits(requests["response_us"]), "service_us": _three_digits(service_us)}
    frames["requests"] = together(requests.assign(**times_us))
    if frames["slices"].empty:
        activity = activity[activity["kind"].isin(_READ_ALONE)].reset_index(drop=True)
    frames["activity"] = activity.assign(busy_ms=activity["busy_ms"].round(2))
    shares = [name for name in telemetry.columns if name.endswith(("_share", "_cores"))]
    frames["telemetry"] = telemetry.round(dict.fromkeys(shares, 6))
    frames["frames"] = frames["frames"].round({"low": 7, "high": 7})
    frames["samples"] = in_batches(frames["samples"])
    return Content(to_document(step.record), frames, step.folder.console_text())


def _three_digits(times_us: "pd.Series[float]") -> "pd.Series[float]":
    known = times_us.where(times_us > 0)
    unit = 10.0 ** (np.floor(np.log10(known)) - 2)
    # rounded again: the product may differ from the nearest decimal number in the last bit
    return ((known / unit).round() * unit).round(3).fillna(times_us)


_TENTHS, _TOGETHER = 10, 2  # tenths in a second, and in a tenth parts whose requests get one start


def together(requests: pd.DataFrame) -> pd.DataFrame:
    """Return requests sorted by start and server; all requests in a twentieth of a second get the first one's start.

    The last request keeps its own start, and so does a request that started and ended in different tenths of a second:
    the analysis needs the length of the log, and the tenth in which a response came.
    """
    at_s, completed = requests["t_s"], requests["fate"] == "completed"
    came_s = at_s + requests["response_us"].where(completed, 0.0) / 1e6
    tenth = (at_s.astype(float) * _TENTHS).astype(int)
    stays = (tenth != (came_s.astype(float) * _TENTHS).astype(int)) | (at_s == at_s.max())
    part = (at_s.astype(float) * _TENTHS * _TOGETHER).astype(int)
    block, blocks = time_blocks(at_s.to_numpy(float))
    first_s = at_s.mask(stays).groupby([tenth, part, block if blocks else 0 * part]).transform("min")
    moved = requests.assign(t_s=at_s.where(stays, first_s).astype(at_s.dtype))
    return moved.sort_values(["t_s", "target", "predecessor", "response_us", "service_us"], ignore_index=True)


def _with_counts(intervals: pd.DataFrame, reported: pd.DataFrame) -> pd.DataFrame:
    # without pandas' join, which would take ten milliseconds for these few rows
    columns = ("t_s", "kind", "errors", "completed")
    counted = {(t_s, kind): counts for t_s, kind, *counts in zip(*(reported[name] for name in columns), strict=True)}
    seconds = zip(intervals["t_s"], intervals["kind"], strict=True)
    known = np.array([counted.get(second, (math.nan, math.nan)) for second in seconds], float).reshape(-1, 2)
    return intervals.assign(errors=known[:, 0], completed=known[:, 1])


def _stored(folder: StepFolder, unreadable: list[str]) -> dict[str, pd.DataFrame] | None:
    frames: dict[str, pd.DataFrame] = {}
    empty = folder.empty_frames()
    for name, columns in COLUMNS.items():
        try:
            content = folder.read_frame(name)
        except Exception as error:  # pyarrow has many errors for one cause: this is no Parquet file
            unreadable.append(f"{folder.frame(name).name}: {error}; read again from the raw files")
            return None
        # stored by an earlier version of the lab, and without raw files: frames or columns that it lacked are unknown
        unknown = folder.archived or (folder.frame("summary").exists() and not folder.load_json.exists())
        if content is None and (name in empty or unknown):
            content = frame(name)
        if content is not None and unknown and set(content.columns) < set(columns):
            content = content.reindex(columns=list(columns)).astype(columns)
        if content is None or list(content.columns) != list(columns):
            return None
        frames[name] = content
    problems = folder.read_frame(_UNREADABLE)
    unreadable.extend([] if problems is None else [str(text) for text in problems["text"]])
    return frames


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of one step's raw files; for each file that can't be read it adds a message to `unreadable`."""

    folder: StepFolder
    record: StepRecord
    unreadable: list[str]

    def tried(self, read: Callable[..., _T], default: _T, *arguments: Any) -> _T:
        try:
            return read(*arguments)
        except ReadError as error:
            self.unreadable.append(str(error))
        except Exception as error:  # a raw file that is broken in a way nobody thought of must not cost the run
            self.unreadable.append(f"{type(error).__name__} while reading {self.folder.name}: {error}")
        return default

    def frames(self) -> dict[str, pd.DataFrame]:
        folder, tool = self.folder, self.record.generator.tool
        files = (folder.load_json, folder.hlog, folder.console)
        if not self.record.valid and not any(file.exists() for file in files):
            return complete(self._profile())  # skipped; its metadata says why
        own = tool == "truepace"
        reported = own or folder.load_json.exists()
        path = folder.load_json if reported else folder.console
        load = self.tried(read_load_json, None, path) if reported or tool in REFERENCES else None
        log = self.tried(read_hdr_log, None, folder.hlog) if own or folder.hlog.exists() else None
        if log and log.torn:
            self.unreadable.append(f"{folder.hlog.name}: {log.torn}")
        frames = self._latency(load, log)
        frames |= self._during(*self._window(load, frames["summary"]))
        return complete(frames | self._profile(frames.get("samples")))

    def _during(self, start_us: int, elapsed_s: float | None) -> dict[str, pd.DataFrame]:
        """Return the data frames on events during the load (pauses, stalls, requests …) that the step has files for."""
        sources = {
            "events": (self.folder.events, lambda path: read_events(path, start_us, elapsed_s)),
            "activity": (self.folder.activity, lambda path: read_activity(path, start_us, elapsed_s)),
            "pauses": (self.folder.gc_log, lambda path: read_pauses(path, start_us, elapsed_s)),
            "telemetry": (self.folder.telemetry, lambda path: read_telemetry(path, start_us, elapsed_s)),
            "stalls": (self.folder.stalls, lambda path: read_stall_log(path).frame(start_us, elapsed_s)),
            "requests": (self.folder.requests, requests_frame),
            "rate_steps": (self.folder.requests, lambda path: self._rate_steps(path, start_us, elapsed_s)),
            "samples": (self.folder.timed_stacks, lambda path: read_timed_stacks(path, start_us)),
        }
        sources.pop("rate_steps" if self.record.sweep is None else "requests")
        frames = {name: self.tried(read, frame(name), path) for name, (path, read) in sources.items() if path.exists()}
        return frames | ({"successions": successions(frames["requests"])} if "requests" in frames else {})

    def _rate_steps(self, path: Path, start_us: int, elapsed_s: float | None) -> pd.DataFrame:
        assert self.record.sweep is not None, "only such a load is asked"
        watched = self.folder.stalls
        stalls = read_stall_log(watched).frame(start_us, elapsed_s) if watched.exists() else frame("stalls")
        return rate_steps_frame(read_requests_log(path).frame, stalls, self.record.sweep)

    def _latency(self, load: LoadReport | None, log: HdrLog | None) -> dict[str, pd.DataFrame]:
        frames: dict[str, pd.DataFrame] = {"summary": frame("summary")}
        if load is not None:
            frames |= {name: self.tried(getattr(load, f"{name}_frame"), frame(name)) for name in OF_LOAD}
        elif self.folder.console.exists():
            frames |= self._console()
        if log is not None:
            counted = frames.get("intervals")
            frames |= {name: getattr(log, f"{name}_frame")() for name in OF_LOG}
            if counted is not None:
                frames["intervals"] = _with_counts(frames["intervals"], counted)
        return frames

    def _console(self) -> dict[str, pd.DataFrame]:
        text = self.tried(lambda: self.folder.console.read_text(encoding="utf-8", errors="replace"), "")
        report = next(iter(find_reports(text)), None)
        if report is None:
            self.unreadable.append(f"{self.folder.console.name}: holds no output of a load generator")
            return {}
        summary = report.summary_frame()
        if report.rate_rps is None and self.record.offered_rps is not None:
            summary["offered_rps"] = self.record.offered_rps  # a console does not repeat its command line
        return {"summary": summary, "spectrum": report.spectrum_frame(), "percentiles": report.percentiles_frame()}

    def _profile(self, timed: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
        paths = {event: self.folder.collapsed(event) for event in EVENTS}
        there = {event: path for event, path in paths.items() if path.exists() or event in self.record.profiled}
        parts = [self.tried(read_collapsed, frame("stacks"), path, event) for event, path in there.items()]
        if not parts:
            return {}
        stacks = pd.concat(parts, ignore_index=True)
        recorded = self.record.profiler.samples
        return {
            "stacks": stacks,
            "shares": shares_frame(stacks, recorded, classifier_of(self.record.server), timed),
            "frames": frames_frame(stacks, recorded, timed),
        }

    def _window(self, load: LoadReport | None, summary: pd.DataFrame) -> tuple[int, float | None]:
        """Return (start in us since 1970, length in s or None) of the recorded window, else of the whole load."""
        if load is not None and load.start_unix_us is not None:
            return load.start_unix_us, load.elapsed_s
        elapsed_s = summary["elapsed_s"].iloc[0] if len(summary) else math.nan
        return self.record.started_unix_us, None if pd.isna(elapsed_s) else float(elapsed_s)
