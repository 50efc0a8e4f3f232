"""A planted cause is named, and a cause that only happens to be there is not."""

from __future__ import annotations

import numpy as np
import pytest

from runners.analysis.latency_spikes import find
from runners.analysis.tail_attribution import Attribution, attribute
from runners.tests.counts import rounds
from runners.tests.fixtures.history import anywhere, apart, as_cause, bystanders, history

HISTORIES = rounds(10, 1000)
LENGTH_S = 60.0


def planted(seed: int, *, stops: bool) -> Attribution:
    random = np.random.default_rng(seed)
    stalls = apart(random, 6, LENGTH_S, 0.03, 0.2)
    tail = find(history(random, LENGTH_S, stalls).slices)
    assert tail is not None
    others = [cause for cause in bystanders(random, LENGTH_S) if not (stops and cause.stops)]
    return attribute(tail, [as_cause("planted", stalls, stops), *others])


def unrelated(seed: int) -> Attribution:
    random = np.random.default_rng(seed)
    tail = find(history(random, LENGTH_S, apart(random, 6, LENGTH_S, 0.03, 0.2)).slices)
    assert tail is not None
    strangers = [
        as_cause("flush", anywhere(random, 6, LENGTH_S, 0.05, 0.3)),
        as_cause("long stops", anywhere(random, 6, LENGTH_S, 0.03, 0.2), stops=True),
    ]
    return attribute(tail, [*strangers, *bystanders(random, LENGTH_S)])


@pytest.mark.parametrize("stops", [False, True], ids=["contention", "stop"])
def test_a_planted_cause_is_named_and_no_other(stops: bool, capsys: pytest.CaptureFixture[str]) -> None:
    attributions = [planted(seed, stops=stops) for seed in range(HISTORIES)]
    named = [[share.cause.name for share in attribution.named] for attribution in attributions]
    right = sum("planted" in names for names in named)
    alone = sum(names == ["planted"] for names in named)
    explained = np.mean([1 - attribution.unexplained for attribution in attributions])
    with capsys.disabled():
        print(
            f"\n  planted cause named in {right} of {HISTORIES}, alone in {alone}; explains {explained:.3f} on average"
        )
    assert right >= 0.95 * HISTORIES
    assert alone >= 0.95 * HISTORIES
    assert explained > 0.8


def test_causes_that_are_merely_there_are_not_named(capsys: pytest.CaptureFixture[str]) -> None:
    none = sum(not unrelated(seed).named for seed in range(HISTORIES))
    with capsys.disabled():
        print(f"\n  unrelated events: none named in {none} of {HISTORIES}")
    assert none >= 0.95 * HISTORIES


def test_without_a_stall_there_is_nothing_to_name(capsys: pytest.CaptureFixture[str]) -> None:
    none = 0
    for seed in range(HISTORIES):
        random = np.random.default_rng(seed)
        tail = find(history(random, LENGTH_S, []).slices)
        assert tail is not None
        none += not attribute(tail, bystanders(random, LENGTH_S)).named
    with capsys.disabled():
        print(f"\n  nothing planted: none named in {none} of {HISTORIES}")
    assert none >= 0.95 * HISTORIES


def test_a_cause_that_is_active_half_of_the_time_explains_nothing() -> None:
    attribution = unrelated(3)
    (half,) = [share for share in attribution.shares if share.cause.name == "compaction"]
    assert not half.named


def test_a_stall_keeps_the_queue_that_it_left_behind() -> None:
    random = np.random.default_rng(5)
    tail = find(history(random, 20.0, [(8.03, 0.25)]).slices)
    assert tail is not None
    worst = max(tail.spikes, key=lambda spike: spike.excess_ms)
    assert worst.excess_ms > 0.99 * tail.excess_ms
    assert worst.begin_s == pytest.approx(8.03, abs=0.11)
    assert worst.end_s == pytest.approx(8.03 + 2 * 0.25, abs=0.11)
    assert worst.peak_us == pytest.approx(250_000, rel=0.06)
    attribution = attribute(tail, [as_cause("GC pause", [(8.03, 0.25)], stops=True)])
    (share,) = attribution.named
    assert share.share.value > 0.95


def test_two_causes_share_a_spike_and_a_short_one_gets_nothing() -> None:
    random = np.random.default_rng(6)
    stalls = apart(random, 8, LENGTH_S, 0.2, 0.2)
    tail = find(history(random, LENGTH_S, stalls).slices)
    assert tail is not None
    halves = [
        as_cause(name, [(begin + at, 0.1) for begin, _ in stalls]) for name, at in (("first", 0.0), ("second", 0.1))
    ]
    attribution = attribute(tail, [*halves, as_cause("short", [(begin, 0.01) for begin, _ in stalls])])
    assert {share.cause.name for share in attribution.named} == {"first", "second"}
    for share in attribution.named:
        assert share.share.value == pytest.approx(0.5, abs=0.08)
    assert attribution.unexplained < 0.15


def test_shares_never_add_up_to_more_than_the_tail() -> None:
    random = np.random.default_rng(7)
    stalls = apart(random, 8, LENGTH_S, 0.05, 0.1)
    tail = find(history(random, LENGTH_S, stalls).slices)
    assert tail is not None
    attribution = attribute(tail, [as_cause(f"cause {k}", stalls) for k in range(4)])
    assert sum(share.share.value for share in attribution.named) <= 1 + 1e-9
