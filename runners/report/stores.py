"""The stores side by side: bytes written and taken, memory beside the heap, and the table in which all ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from runners.analysis.intervals import Bounded
from runners.analysis.quantities import signed
from runners.claims.conclusion import Conclusion
from runners.claims.settings import AMPLIFICATION, MEMORY, TABLE, Store, gain, reference, stores, times, verdict
from runners.readers import write
from runners.readers.run import Run
from runners.report import style, tables
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
TABLE_TEXT = "The gain is how far the knee lies above or below, with its 95 % interval."
MB = 1e6


def data(found: Sequence[Store]) -> pd.DataFrame:
    """A row a store: `store`, `written` and `room` (a byte), `tables`, `own_bytes`, `file_bytes`, `heap_bytes`."""
    columns = ["store", "written", "room", "tables", "own_bytes", "file_bytes", "heap_bytes"]
    rows = [
        (s.subject, s.written, s.room, s.tables, s.rss["anon"], s.rss["file"], s.heap_bytes) for s in found
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def amplification(found: Sequence[Store]) -> style.Picture:
    """Draw what each store with files writes for a byte, and the room that a live byte takes."""
    kept = [store for store in found if store.on_disk]
    known = [store for store in kept if write.known(store.written)]
    heading = "What a byte costs on the disk"
    if known:
        least = min(known, key=lambda store: store.written)
        heading = f"{style.plain(least.name, 24)} writes least for a byte: {times(least.written)}"
    series = (
        ("written, for each byte given", style.BLUE, [s.written for s in kept]),
        ("room on the disk, for each live byte", style.ORANGE, [s.room for s in kept]),
    )
    marks = [("the least there can be", 1.0, style.INK, "-")]
    return style.bars([store.name for store in kept], series, times, "bytes per byte", heading, marks)


def memory(found: Sequence[Store]) -> style.Picture:
    """Draw the memory of each store's process: its own, and that of mapped files."""
    known = [store for store in found if write.known(store.rss["anon"])]
    heading = "Memory beside the heap"
    if known:
        most = max(known, key=lambda store: store.rss["anon"])
        heading = f"{style.plain(most.name, 24)} takes most memory of its own: {tables.size(most.rss['anon'])}"
    series = [
        (name, colour, [store.rss[kind] / MB for store in found])
        for name, colour, kind in (("its own", style.BLUE, "anon"), ("mapped files", style.ORANGE, "file"))
    ]
    heaps = dict.fromkeys(store.heap_bytes for store in found if write.known(store.heap_bytes))
    marks = [("limit of the heap", heap / MB, style.INK, "--") for heap in heaps]
    names = [store.name for store in found]
    axis = "memory of the process (MB)"
    return style.bars(names, series, lambda value: tables.size(value * MB), axis, heading, marks)


def table(found: Sequence[Store]) -> Table:
    """Each store: gain with its interval, cost, verdict."""
    against = reference(found)
    rows = tuple(
        (
            store.name,
            *(_gain(gain(store, against, work), store, work) for work in ("put", "get")),
            *(times(ratio) if write.known(ratio) else tables.NONE for ratio in (store.written, store.room)),
            tables.size(store.rss["anon"]),
            verdict(store, against),
        )
        for store in found
    )
    head = ("store", "PUT knee", "GET knee", "written per byte", "room per byte", "memory of its own", "verdict")
    note = (
        f"Gains are against {against.name}. A dash: a store without files, a knee that was not found, or nothing that "
        "tells."
    )
    return Table("Gain, cost and verdict of each store", head, rows, note)


def _gain(more: Bounded | None, store: Store, workload: str) -> str:
    if more is None:
        knee = store.knees.get(workload)
        return tables.rate(float(f"{knee.answer.rps:.3g}")) if knee is not None else tables.NONE
    return f"{signed(more.value)} ({signed(more.low)} to {signed(more.high)})"


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """Amplification, memory and the table; none for a run of other things."""
    found = stores(run)
    if not found:
        return
    rows = data(found)
    if any(store.on_disk for store in found):
        shown = (Shown(AMPLIFICATION, amplification(found), rows),)
        about = conclusion.about(AMPLIFICATION)
        yield Section("amplification", "What is written, and what it takes", AMPLIFICATION_TEXT, about, shown)
    if any(write.known(store.rss["anon"]) for store in found):
        shown = (Shown(MEMORY, memory(found), rows),)
        yield Section("memory", "Memory", MEMORY_TEXT, conclusion.about(MEMORY), shown)
    yield Section(TABLE, "All in one table", TABLE_TEXT, conclusion.about(TABLE), tables=(table(found),))
