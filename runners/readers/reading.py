"""A run folder to a `Run`: every frame of every step, from the raw files or from the frames stored with them.

A raw file that is missing or broken costs the frames that need it and nothing else: the step is read all the same, and
`Step.unreadable` names each such file and the cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from runners.design.session import EVENTS
from runners.errors import ReadError
from runners.readers.activity import read_activity, read_events, read_pauses, read_stall_log, read_telemetry
from runners.readers.hdr_log import HdrLog, read_hdr_log
from runners.readers.load_json import LoadReport, read_load_json
from runners.readers.requests_log import rate_steps_frame, read_requests_log, requests_frame
from runners.readers.run import COLUMNS, Run, Step, complete, frame
from runners.readers.stacks import classifier_of, frames_frame, read_collapsed, read_timed_stacks, shares_frame
from runners.readers.wrk_console import find_reports
from runners.storage.archive import Content
from runners.storage.run_folder import RunFolder, StepFolder, StoreError
from runners.storage.schema import Ended, StepRecord, read_record, to_document

REFERENCES = ("blocking", "epoll")  # clients that print their JSON on the console
_UNREADABLE = "unreadable"
_T = TypeVar("_T")


def read_run(folder: RunFolder) -> Run:
    """Read a run. Raises StoreError only when its manifest, or an archive's list of steps, can't be read.

    Broken steps are in it and say so.
    """
    manifest = folder.manifest()
    try:
        step_folders = folder.steps()
    except StoreError:
        step_folders = folder.complete()
    steps = sorted((read_step(step) for step in step_folders), key=lambda step: step.record.started_unix_us)
    return Run(folder, manifest, tuple(steps), folder.unfinished(), folder.read_frames())


def read_step(folder: StepFolder, *, from_raw: bool = False) -> Step:
    """Read a step, from its stored frames if all are there (unless `from_raw`), else from its raw files."""
    unreadable: list[str] = []
    try:
        record = read_record(folder)
    except StoreError:
        problem = f"{folder.meta.name}: can't be read"
        unreadable.append(problem)
        record = StepRecord(name=folder.name, invalid_reasons=(problem,), ended=Ended.UNREADABLE)
    stored = None if from_raw else _stored(folder, unreadable)
    if stored is None:
        stored = _Reader(folder, record, unreadable).frames()
    return Step(folder.name, record, folder, stored, tuple(unreadable))


def store_frames(step: Step) -> None:
    """Write a step's frames with its raw files, as Parquet."""
    step.folder.write_frames({**step.frames, _UNREADABLE: _unreadable(step)})


def archived_content(step: Step) -> Content:
    """Return what an archive keeps of a step: its record, its frames and what its generator printed.

    Left out are the latencies of all rates together where each short step has rows of its own, and those of a warm-up,
    which nobody quotes. Times of single requests have three significant digits, as those of the histograms have, and
    times of activities hundredths of a millisecond: digits beyond them are noise, and take most of an archive.
    """
    left_out = ("histograms", "slices") if step.record.sweep is not None or step.record.role == "warm-up" else ()
    frames = {**step.frames, **{name: frame(name) for name in left_out}, _UNREADABLE: _unreadable(step)}
    requests, activity = frames["requests"], frames["activity"]
    frames["requests"] = requests.assign(
        response_us=_three_digits(requests["response_us"]), service_us=_three_digits(requests["service_us"])
    )
    frames["activity"] = activity.assign(busy_ms=activity["busy_ms"].round(2))
    return Content(to_document(step.record), frames, step.folder.console_text())


def _three_digits(times_us: pd.Series[float]) -> pd.Series[float]:
    """Round times to three significant digits; zero and what is unknown stay."""
    known = times_us.where(times_us > 0)
    unit = 10.0 ** (np.floor(np.log10(known)) - 2)
    # a multiple of a power of ten is rounded again, for the nearest number of so few decimals
    return ((known / unit).round() * unit).round(3).fillna(times_us)


def _with_counts(intervals: pd.DataFrame, reported: pd.DataFrame) -> pd.DataFrame:
    """Return the intervals of a log with the errors and the completed requests of each second, which no log has."""
    # a second has few rows: pandas would take ten milliseconds to join them
    counted = {
        (t_s, kind): (errors, completed)
        for t_s, kind, errors, completed in zip(
            *(reported[column] for column in ("t_s", "kind", "errors", "completed")), strict=True
        )
    }
    seconds = zip(intervals["t_s"], intervals["kind"], strict=True)
    known = [counted.get(second, (math.nan, math.nan)) for second in seconds]
    counts = np.array(known, float).reshape(-1, 2)
    return intervals.assign(errors=counts[:, 0], completed=counts[:, 1])


def _unreadable(step: Step) -> pd.DataFrame:
    return pd.DataFrame({"text": step.unreadable}, dtype="str")


def _stored(folder: StepFolder, unreadable: list[str]) -> dict[str, pd.DataFrame] | None:
    frames: dict[str, pd.DataFrame] = {}
    empty = folder.empty_frames()
    for name, columns in COLUMNS.items():
        try:
            content = folder.read_frame(name)
        except Exception as error:  # pyarrow has many errors for one cause: this is no Parquet file
            unreadable.append(f"{folder.frame(name).name}: {error}; read again from the raw files")
            return None
        # kept by an earlier lab, without its raw files: what it did not store is not known
        unknown = folder.frame("summary").exists() and not folder.load_json.exists()
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


class _Reader:
    """Makes the frames of one step from its raw files, noting what can't be read."""

    def __init__(self, folder: StepFolder, record: StepRecord, unreadable: list[str]) -> None:
        self.folder = folder
        self.record = record
        self.unreadable = unreadable

    def tried(self, read: Callable[..., _T], default: _T, *arguments: Any) -> _T:
        try:
            return read(*arguments)
        except ReadError as error:
            self.unreadable.append(str(error))
        except Exception as error:  # a raw file that is broken in a way nobody thought of must not cost the run
            self.unreadable.append(f"{type(error).__name__} while reading {self.folder.name}: {error}")
        return default

    def frames(self) -> dict[str, pd.DataFrame]:
        load: LoadReport | None = None
        log: HdrLog | None = None
        files = (self.folder.load_json, self.folder.hlog, self.folder.console)
        if not self.record.valid and not any(file.exists() for file in files):
            return complete({"summary": frame("summary")} | self._profile())  # skipped; its metadata says why
        tool = self.record.generator.tool
        own = tool == "truepace"
        if own or self.folder.load_json.exists():
            load = self.tried(read_load_json, None, self.folder.load_json)
        elif tool in REFERENCES:
            load = self.tried(read_load_json, None, self.folder.console)
        if own or self.folder.hlog.exists():
            log = self.tried(read_hdr_log, None, self.folder.hlog)
        if log and log.torn:
            self.unreadable.append(f"{self.folder.hlog.name}: {log.torn}")
        frames = self._latency(load, log)
        start_us, elapsed_s = self._window(load, frames["summary"])
        frames |= self._during(start_us, elapsed_s)
        frames |= self._profile(frames.get("samples"))
        return complete(frames)

    def _during(self, start_us: int, elapsed_s: float | None) -> dict[str, pd.DataFrame]:
        """Return the frames of what happened during the load; a step may have none of them."""
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
        return {name: self.tried(read, frame(name), path) for name, (path, read) in sources.items() if path.exists()}

    def _rate_steps(self, path: Path, start_us: int, elapsed_s: float | None) -> pd.DataFrame:
        """Return the figures of each short step, from its requests and from what the witness saw."""
        assert self.record.sweep is not None, "only such a load is asked"
        watched = self.folder.stalls
        stalls = read_stall_log(watched).frame(start_us, elapsed_s) if watched.exists() else frame("stalls")
        return rate_steps_frame(read_requests_log(path).frame, stalls, self.record.sweep)

    def _latency(self, load: LoadReport | None, log: HdrLog | None) -> dict[str, pd.DataFrame]:
        frames: dict[str, pd.DataFrame] = {"summary": frame("summary")}
        if load is None and self.folder.console.exists():
            frames |= self._console()
        if load is not None:
            sources = {
                "summary": load.summary_frame, "status": load.status_frame, "targets": load.targets_frame,
                "spectrum": load.spectrum_frame, "percentiles": load.percentiles_frame,
                "intervals": load.intervals_frame, "lateness": load.lateness_frame, "failures": load.failures_frame,
            }  # fmt: skip
            frames |= {name: self.tried(read, frame(name)) for name, read in sources.items()}
        if log is not None:
            counted = frames.get("intervals")
            frames |= {
                "percentiles": log.percentiles_frame(), "spectrum": log.spectrum_frame(),
                "intervals": log.intervals_frame(), "histograms": log.histograms_frame(),
                "slices": log.slices_frame(),
            }  # fmt: skip
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
        return {
            "summary": summary, "spectrum": report.spectrum_frame(), "percentiles": report.percentiles_frame(),
        }  # fmt: skip

    def _profile(self, timed: pd.DataFrame | None = None) -> dict[str, pd.DataFrame]:
        wanted = self.record.profiled
        parts = []
        for event in EVENTS:
            path = self.folder.collapsed(event)
            if path.exists() or event in wanted:
                parts.append(self.tried(read_collapsed, frame("stacks"), path, event))
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
        """Return start and length of the recorded window; without load.json those of the step with its warm-up."""
        if load is not None and load.start_unix_us is not None:
            return load.start_unix_us, load.elapsed_s
        elapsed_s = summary["elapsed_s"].iloc[0] if len(summary) else math.nan
        return self.record.started_unix_us, None if pd.isna(elapsed_s) else float(elapsed_s)
