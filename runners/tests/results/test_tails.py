"""A cause makes a tail where chance does not; a load that ended before RocksDB's first merge has no tail of merges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.analysis.intervals import Bounded
from runners.analysis.latency_spikes import cause
from runners.analysis.tail_attribution import Share
from runners.results.answer import Verdict
from runners.results.tails import TABLES_TO_MERGE, explains, puts_before_a_merge


@pytest.mark.parametrize(
    ("share", "named", "verdict"),
    [
        (Bounded(0.99, 0.42, 1.0), False, Verdict.INCONCLUSIVE),
        (Bounded(0.99, 0.42, 1.0), True, Verdict.YES),
        (Bounded(0.3, 0.0, 0.6), True, Verdict.INCONCLUSIVE),
        (Bounded(0.0, 0.0, 0.49), False, Verdict.INCONCLUSIVE),
        (Bounded(0.0, 0.0, 0.05), False, Verdict.NO),
        (Bounded(0.06, 0.02, 0.09), True, Verdict.NO),
        (Bounded(0.0, math.nan, math.nan), False, Verdict.INCONCLUSIVE),
    ],
)
def test_a_cause_explains_a_tail_by_its_interval_and_only_beyond_chance(
    share: Bounded, named: bool, verdict: Verdict
) -> None:
    assert explains(Share(cause("flush", [(1.0, 2.0, 1_000.0)]), share, 0.01, named)) == verdict


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
