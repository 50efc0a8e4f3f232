"""Stores side by side: their knees, and the bytes that they write and take on the disk for each byte given to them.

The kernel counts the written bytes when a page becomes dirty (`write_bytes` of /proc/PID/io). So the counts of
stores that write by calls or through a memory mapping are comparable. They include log, tables and merges.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.design.session import PROFILED_RATE_STEP, RATE_STEP
from runners.design.setting import REFERENCE_STORE
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Basis, Measure, Unit, Verdict, answering
from runners.results.ladders import Ladder, between, knees

if TYPE_CHECKING:
    from runners.results.results import Results

AMPLIFICATION, MEMORY, TABLE = "stores-amplification", "stores-memory", "stores-table"


@dataclass(frozen=True, slots=True)
class Store:
    """One store of a run, with its sizes; a size is NaN if it is not known."""

    run: Run = field(repr=False, compare=False)
    fill: Step  # the step that filled the store
    searches: Mapping[str, Ladder]  # the searches for its knees, by workload
    on_disk: bool
    written: float  # bytes written by the store's process for each byte given to it
    room: float  # bytes on the disk for each live byte
    rss: Mapping[str, float]  # the most bytes of memory after any step: the process's own (anon), mapped files (file)
    heap_bytes: float  # the limit of the JVM's heap

    @property
    def subject(self) -> str:
        return self.fill.subject

    @property
    def name(self) -> str:
        return facts.engine_name(self.subject)


def stores(run: Run) -> Iterator[Store]:
    """Yield the stores that were loaded at several rates after a fill whose record says how many bytes it gave them."""
    fills = {step.subject: step for step in run.find(kind="fill") if step.record.fill.given_bytes is not None}
    measured = facts.grouped(run.steps, lambda step: step.subject)
    climbed = dict.fromkeys(step.subject for step in run.steps if step.kind in (RATE_STEP, PROFILED_RATE_STEP))
    known = knees(run)
    for subject in (name for name in climbed if name in fills):
        fill, steps = fills[subject], measured[subject]
        own = {work: search for work, row in known.items() for search, _ in row if search.steps[0].subject == subject}
        data, after = fill.record.fill, [step.record.process_after for step in steps]
        wrote, on_disk = _number(fill.record.process_after.written_bytes), _number(data.data_bytes) > 0
        written = wrote / _number(data.given_bytes) if on_disk and wrote > 0 else math.nan
        room = _number(data.data_bytes) / _number(data.live_bytes) if on_disk else math.nan
        rss = {kind: [getattr(process, f"rss_{kind}_bytes") for process in after] for kind in ("anon", "file")}
        most = {kind: max(filter(math.isfinite, map(_number, sizes)), default=math.nan) for kind, sizes in rss.items()}
        heaps = (step.record.server.ready.get("heap_max_bytes") for step in steps)
        heap_bytes = _number(next((heap for heap in heaps if heap is not None), None))
        yield Store(run, fill, own, on_disk, written, room, most, heap_bytes)


def _number(value: float | None) -> float:
    return float(value) if value is not None else math.nan


def reference(filled: Sequence[Store]) -> Store:
    """Return the store that all others are compared with: the original report's store if measured, else the first."""
    return next((store for store in filled if store.subject == REFERENCE_STORE), filled[0])


def gain(store: Store, against: Store, workload: str) -> Bounded | None:
    """Return the relative change of knee from `against` to `store`; None if a knee is missing or both are one store."""
    if workload not in store.searches or workload not in against.searches or store.subject == against.subject:
        return None
    apart = between(store.run, store.searches[workload], against.searches[workload])
    return None if apart is None else apart.less(1)


@answering
def less(
    results: "Results", label: str, unit: Unit, value: Callable[[Store], float], of: str, against: str, figure: str
) -> Answer | None:
    """Answer: is the `value` of store `of` less than the `value` of store `against`? None if one is unknown.

    The two values are compared without an interval. `label` names the value; `figure`: the anchor of its figure.
    """
    by_name = {store.subject: store for store in results.stores}
    here, there = by_name.get(of), by_name.get(against)
    if here is None or there is None:
        return None
    own, other = value(here), value(there)
    if not (math.isfinite(own) and math.isfinite(other)):
        return None
    measure = Measure(f"{here.name}, {label}", own, unit).against(Measure(there.name, other, unit))
    verdict, steps = Verdict.YES if own < other else Verdict.NO, (here.fill.name, there.fill.name)
    return Answer(verdict, (measure,), Basis.FILLS, 1, steps=steps, figure=figure)
