"""Stores side by side: the bytes that they write and take for each byte given, and their knees.

Written bytes are the kernel's (`write_bytes` of /proc/PID/io, counted when a page becomes dirty), so that they mean the
same for every store, whether it writes by calls or through a mapping: log, tables, merging and all. A store's own
counters come with them where it has any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.design.session import PROFILED_RATE_STEP, RATE_STEP
from runners.design.setting import REFERENCE_STORE
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Answering, Basis, Measure, Unit, Verdict
from runners.results.ladders import SearchedKnee, between, knees

if TYPE_CHECKING:
    from runners.results.results import Results

AMPLIFICATION, MEMORY, TABLE = "stores-amplification", "stores-memory", "stores-table"


@dataclass(frozen=True, slots=True)
class Store:
    """One store of a run: the step that filled it, its other steps, its knees by workload."""

    run: Run = field(repr=False, compare=False)
    subject: str
    fill: Step
    steps: tuple[Step, ...]
    knees: Mapping[str, SearchedKnee]

    @property
    def name(self) -> str:
        return facts.engine_name(self.subject)

    @property
    def on_disk(self) -> bool:
        """Whether it keeps its data in files."""
        return _number(self.fill.record.fill.data_bytes) > 0

    @property
    def written(self) -> float:
        """The bytes that its process has written for each byte given; NaN without files, or where nothing tells."""
        wrote = _number(self.fill.record.process_after.written_bytes)
        return wrote / _number(self.fill.record.fill.given_bytes) if self.on_disk and wrote > 0 else math.nan

    @property
    def room(self) -> float:
        """The bytes on the disk for each byte of the newest values and their keys, when the store is at rest."""
        filled = self.fill.record.fill
        return _number(filled.data_bytes) / _number(filled.live_bytes) if self.on_disk else math.nan

    @property
    def tables(self) -> float:
        """The files that a read may have to look into, after the fill."""
        return _number(self.fill.record.store_after.tables) if self.on_disk else math.nan

    @property
    def searched(self) -> float:
        """The tables searched by a read that goes to tables, by the store's own count; NaN where it has none."""
        read = [step for step in self.steps if step.workload == "get"]
        return _number(read[-1].record.statistics_after.get("read_amplification")) if read else math.nan

    @property
    def rss(self) -> Mapping[str, float]:
        """The most memory of its own (`anon`) and of mapped files (`file`) after any of its steps, in bytes."""
        after = [step.record.process_after for step in self.steps]
        anon = [process.rss_anon_bytes for process in after if process.rss_anon_bytes is not None]
        file = [process.rss_file_bytes for process in after if process.rss_file_bytes is not None]
        return {"anon": float(max(anon, default=math.nan)), "file": float(max(file, default=math.nan))}

    @property
    def heap_bytes(self) -> float:
        """The limit of the server's heap."""
        limits = (step.record.server.ready.get("heap_max_bytes") for step in self.steps)
        return _number(next((limit for limit in limits if limit is not None), None))


def _number(value: float | None) -> float:
    return float(value) if value is not None else math.nan


def stores(results: Results) -> list[Store]:
    """Return the stores of a run that were filled more than once over and climbed, in order; none of any other run."""
    run = results.run
    fills = {step.subject: step for step in run.find(kind="fill") if step.record.fill.given_bytes is not None}
    measured = facts.grouped(run.steps, lambda step: step.subject)
    climbed = dict.fromkeys(step.subject for step in run.steps if step.kind in (RATE_STEP, PROFILED_RATE_STEP))
    known, filled = knees(run), []
    for subject in (name for name in climbed if name in fills):
        own = {work: knee for work, row in known.items() for knee in row if knee.ladder.steps[0].subject == subject}
        filled.append(Store(run, subject, fills[subject], tuple(measured[subject]), own))
    return filled


def reference(filled: Sequence[Store]) -> Store:
    """Return the store that the others are compared with: the published one, or where it was not measured the first."""
    return next((store for store in filled if store.subject == REFERENCE_STORE), filled[0])


def gain(store: Store, against: Store, workload: str) -> Bounded | None:
    """Return how far a store's knee lies above another's, as a share with its interval; None without both."""
    if workload not in store.knees or workload not in against.knees or store.subject == against.subject:
        return None
    apart = between(store.run, store.knees[workload].ladder, against.knees[workload].ladder)
    return None if apart is None else apart.less(1)


def less(label: str, unit: Unit, value: Callable[[Store], float], of: str, against: str, figure: str) -> Answering:
    """Answer: is a value of one store, counted once, lower than that of another?"""

    def answer(results: Results) -> Answer | None:
        by_name = {store.subject: store for store in results.stores}
        if of not in by_name or against not in by_name:
            return None
        here, there = by_name[of], by_name[against]
        own, other = value(here), value(there)
        if not (math.isfinite(own) and math.isfinite(other)):
            return None
        measure = Measure(f"{here.name}, {label}", own, unit).against(Measure(there.name, other, unit))
        verdict = Verdict.YES if own < other else Verdict.NO
        steps = (here.fill.name, there.fill.name)
        return Answer(verdict, (measure,), Basis.FILLS, 1, steps=steps, figure=figure)

    return answer
