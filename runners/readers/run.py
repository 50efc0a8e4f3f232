"""A run as read from its folder: a Run has Steps; a Step has a record and data frames (columns: frames.toml)."""

import functools
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import StepRecord


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, repr=False)
class Step:
    """One measured step: its record (step.json) and its data frames. Steps compare by identity."""

    name: str
    record: StepRecord
    folder: StepFolder
    frames: dict[str, pd.DataFrame]  # all of frames.toml, by name; a data frame may be empty
    unreadable: tuple[str, ...] = ()  # a message for each raw file that could not be read

    def __repr__(self) -> str:
        return f"<Step {self.name}, {'valid' if self.valid else 'not valid'}>"

    @property
    def valid(self) -> bool:
        return self.record.valid

    @property
    def label(self) -> str:
        """The step's name in reports, e.g. "RocksDB PUT"."""
        return self.record.label or self.name

    @property
    def subject(self) -> str:
        """The measured server's name in reports, for example lsm: the name of its setting, else of its engine."""
        return self.record.treatment or self.record.engine

    @property
    def workload(self) -> str:
        return self.record.workload

    @property
    def kind(self) -> str:
        """The role of the step, e.g. load, fill, probe, floor, sentinel or warm-up."""
        return self.record.role

    @property
    def profiled(self) -> tuple[str, ...]:
        """The kinds of event (cpu, alloc, lock) that were profiled during the step; empty if no profiler ran."""
        return self.record.profiled


T = TypeVar("T")


def once_a_step(work: Callable[[Step], T]) -> Callable[[Step], T]:
    """Decorate a function of a step so that its result is computed once, and cached as long as the step exists."""
    results: WeakKeyDictionary[Step, T] = WeakKeyDictionary()

    @functools.wraps(work)
    def kept(step: Step) -> T:
        if step not in results:
            results[step] = work(step)
        return results[step]

    return kept


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """A whole run: its manifest, and its complete steps in the order of their start. Runs compare by identity."""

    folder: RunFolder
    manifest: dict[str, Any]
    steps: tuple[Step, ...]
    unfinished: tuple[str, ...] = ()  # names of steps that an interruption left incomplete
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)  # about the whole run, by name; most runs have none

    def __repr__(self) -> str:
        return f"<Run {self.name}, {self.manifest.get('status')}, {len(self.steps)} steps>"

    @property
    def name(self) -> str:
        return self.folder.name

    def find(
        self,
        *,
        kind: str = "load",  # the step's role, for example fill
        subject: str | None = None,  # the server's name in reports
        workload: str | None = None,  # for example put
        profiled: bool | None = None,  # whether a profiler ran
    ) -> list[Step]:
        """Return the steps of a kind that meet all other conditions; None stands for any value."""
        alike = (step for step in self.steps if step.kind == kind and subject in (None, step.subject))
        loads = (step for step in alike if workload in (None, step.workload))
        return [step for step in loads if profiled in (None, bool(step.profiled))]


FRAMES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("frames.toml").read_text(encoding="utf-8"))
COLUMNS: dict[str, dict[str, str]] = {
    name: {column: kind or "float64" for column, _, kind in (word.partition(":") for word in form["columns"].split())}
    for name, form in FRAMES.items()
}


def frame(name: str, rows: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """Return rows as the data frame `name` of frames.toml. A value that a row lacks is missing, not 0."""
    listed = list(rows)
    return _typed(name, listed) if listed else _empty(name).copy(deep=False)


def _typed(name: str, rows: list[Mapping[str, Any]]) -> pd.DataFrame:
    # each column has its type at once, where DataFrame(rows).astype(columns) makes it twice; numpy makes NaN of None
    columns = {at: [row.get(at) for row in rows] for at in COLUMNS[name]}
    kinds: dict[str, Any] = COLUMNS[name]
    return pd.DataFrame({
        at: np.array(values, np.float64) if kinds[at] == "float64" else pd.array(values, dtype=kinds[at])
        for at, values in columns.items()
    })  # fmt: skip


@functools.cache  # most steps lack most frames, and typing columns takes time
def _empty(name: str) -> pd.DataFrame:
    return _typed(name, [])


def complete(frames: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return `frames`, with an empty data frame for each name in frames.toml that is missing."""
    return {name: frames[name] if name in frames else frame(name) for name in COLUMNS}
