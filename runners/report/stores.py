"""The stores side by side: bytes written and taken, memory beside the heap, and the table in which all ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from runners.analysis.intervals import Bounded
from runners.claims.comparing import signed
from runners.claims.conclusion import Conclusion
from runners.claims.stores import AMPLIFICATION, MEMORY, TABLE, Store, gain, reference, stores, times, verdict
from runners.readers import write
from runners.readers.run import Run
from runners.report import numbers, style
from runners.report.section import Section, Shown
from runners.report.tables import Table

AMPLIFICATION_TEXT = (
    "Each key is written several times, then the store is left alone until it writes no more. Written bytes are the "
    "kernel's count of what the process sends to the disk: log, tables and merging. Room is what the files take, "
    "without what is only reserved."
)
MEMORY_TEXT = (
    "Memory of the process by kind, the most after any of its steps. Its own holds heap, code and what a store takes "
    "outside the heap; mapped files the kernel may take back."
)
TABLE_TEXT = "The gain is how far the knee lies above or below, from the least to the most that both searches leave."
MB = 1e6


def data(found: Sequence[Store]) -> pd.DataFrame:
    """A row a store: `store`, `written` and `room` (a byte), `tables`, `own_bytes`, `file_bytes`, `heap_bytes`."""
    columns = ["store", "written", "room", "tables", "own_bytes", "file_bytes", "heap_bytes"]
    rows = [
        (s.subject, s.written, s.room, s.tables, s.rss["anon"], s.rss["file"], s.heap_bytes) for s in found
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


@style.styled
def amplification(found: Sequence[Store]) -> style.Picture:
    """Draw what each store with files writes for a byte, and the room that a live byte takes."""
    kept = [store for store in found if store.on_disk]
    figure = style.Picture(8.4, 1.7 + 0.42 * max(1, len(kept)))
    axes = figure.add_subplot()
    _bars(axes, kept, [[s.written for s in kept], [s.room for s in kept]], ("written", "room on the disk"), times)
    axes.axvline(1, color=style.INK, linewidth=1.0)
    axes.set_xlabel("bytes for each byte given (written) and for each live byte (room); 1 is the least there can be")
    known = [store for store in kept if write.known(store.written)]
    title = "What a byte costs on the disk"
    if known:
        least = min(known, key=lambda store: store.written)
        title = f"{style.plain(least.name, 24)} writes least for a byte: {times(least.written)}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.alt = f"Bytes written and room taken, store by store. {title}."
    return figure


@style.styled
def memory(found: Sequence[Store]) -> style.Picture:
    """Draw the memory of each store's process: its own, and that of mapped files."""
    figure = style.Picture(8.4, 1.7 + 0.42 * max(1, len(found)))
    axes = figure.add_subplot()
    own, files = ([store.rss[kind] / MB for store in found] for kind in ("anon", "file"))
    _bars(axes, found, [own, files], ("its own", "mapped files"), lambda value: numbers.size(value * MB))
    for heap in dict.fromkeys(store.heap_bytes for store in found if write.known(store.heap_bytes)):
        axes.axvline(heap / MB, color=style.INK, linewidth=1.0, linestyle="--")
    axes.set_xlabel("memory of the process (MB); dashed: the limit of the heap")
    known = [store for store in found if write.known(store.rss["anon"])]
    title = "Memory beside the heap"
    if known:
        most = max(known, key=lambda store: store.rss["anon"])
        title = f"{style.plain(most.name, 24)} takes most memory of its own: {numbers.size(most.rss['anon'])}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.alt = f"Memory of each store's process by kind. {title}."
    return figure


def _bars(
    axes: Axes,
    found: Sequence[Store],
    values: Sequence[Sequence[float]],
    labels: Sequence[str],
    unit: Callable[[float], str],
) -> None:
    """Two bars a store, one under the other, each with its value."""
    at = np.arange(len(found))
    for index, (own, label, colour) in enumerate(zip(values, labels, (style.BLUE, style.ORANGE), strict=True)):
        place = at + (index - 0.5) * 0.36
        shown = np.nan_to_num(np.array(own, float))
        axes.barh(place, shown, 0.34, color=colour, label=label)
        for x, y in zip(own, place, strict=True):
            if write.known(x):
                style.beside(axes, unit(x), x, float(y))
    axes.set_yticks(at, [style.plain(store.name, 24) for store in found])
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(0, 1.18 * max([1e-9, *(x for own in values for x in own if write.known(x))]))
    axes.grid(visible=False, axis="y")


def table(found: Sequence[Store]) -> Table:
    """Each store: gain with its interval, cost, verdict."""
    against = reference(found)
    rows = tuple(
        (
            store.name,
            *(_gain(gain(store, against, work), store, work) for work in ("put", "get")),
            numbers_or_dash(store.written),
            numbers_or_dash(store.room),
            numbers.size(store.rss["anon"]),
            verdict(store, against),
        )
        for store in found
    )
    head = ("store", "PUT", "GET", "written for a byte", "room for a byte", "memory of its own", "verdict")
    note = (
        f"Gains are against {against.name}. A dash: a store without files, a knee that was not found, or nothing that "
        "tells."
    )
    return Table("Gain, cost and verdict of each store", head, rows, note)


def _gain(more: Bounded | None, store: Store, workload: str) -> str:
    if more is None:
        knee = store.knees.get(workload)
        return numbers.rate(float(f"{knee.answer.rps:.3g}")) if knee is not None else numbers.NONE
    return f"{signed(more.value)} ({signed(more.low)} to {signed(more.high)})"


def numbers_or_dash(value: float) -> str:
    """A ratio, or a dash where nothing tells."""
    return times(value) if write.known(value) else numbers.NONE


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Amplification, memory and the table; none for a run of other things."""
    found = stores(run)
    if not found:
        return
    told = {place: tuple(each for each in conclusion.findings if each.figure == place) for place in _PLACES}
    rows = data(found)
    if any(store.on_disk for store in found):
        shown = Shown(AMPLIFICATION, amplification(found), rows)
        yield Section(
            "amplification", "What is written, and what it takes", text=AMPLIFICATION_TEXT,
            findings=told[AMPLIFICATION], figures=(shown,),
        )  # fmt: skip
    if any(write.known(store.rss["anon"]) for store in found):
        shown = Shown(MEMORY, memory(found), rows)
        yield Section("memory", "Memory", text=MEMORY_TEXT, findings=told[MEMORY], figures=(shown,))
    yield Section(TABLE, "All in one table", text=TABLE_TEXT, findings=told[TABLE], tables=(table(found),))


_PLACES = (AMPLIFICATION, MEMORY, TABLE)
