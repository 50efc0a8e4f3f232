"""A published load that ended before RocksDB's first merge has no tail of merges."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.results.tails import TABLES_TO_MERGE, puts_before_a_merge


@given(st.integers(1, 10**7), st.data())
def test_a_merge_needs_more_puts_than_are_said_whatever_the_memtable_held_before(
    memtable: int, data: st.DataObject
) -> None:
    before = data.draw(st.integers(0, 10 * memtable))
    puts = data.draw(st.integers(1, 20 * memtable))
    flushes = (before + puts) // memtable - before // memtable
    assert puts_before_a_merge(puts, flushes) < TABLES_TO_MERGE * memtable


@given(st.integers(1, 10**7), st.integers(1, 50))
def test_after_many_flushes_nearly_all_puts_of_a_merge_are_said(memtable: int, flushes: int) -> None:
    assert puts_before_a_merge(flushes * memtable, flushes) >= TABLES_TO_MERGE * memtable * flushes / (flushes + 1)
