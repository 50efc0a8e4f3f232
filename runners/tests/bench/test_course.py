"""A benchmark tells before it begins what its parts take together, and each part when it begins."""

from __future__ import annotations

import pytest

from runners.bench import store
from runners.bench.course import Course, Part

PLAN = store.Plan(2, 1_000_000, (128, 1200), 2, ("put", *store.READS, "tail", "open", "http"))


def test_the_time_of_a_benchmark_is_the_sum_of_its_parts() -> None:
    said: list[str] = []
    course = Course([Part("put", 60.0), Part("http", 90.0), Part("put", 30.0)], said.append)
    course.announce()
    assert said == ["This takes about 3 min in 3 parts (put 1.5, http 1.5)."]


def test_each_part_is_told_with_how_far_the_benchmark_is_and_what_it_took_is_kept() -> None:
    now = [100.0]
    said: list[str] = []
    course = Course([Part("put", 60.0), Part("put", 60.0)], said.append, lambda: now[0])
    with course.part("put", "fill lsm"):
        now[0] += 90.0
    with pytest.raises(ValueError, match="broken"), course.part("put", "fill rocksdb"):
        now[0] += 30.0
        raise ValueError("broken")
    assert said == ["[1 of 2, 0.0 of about 2 min] fill lsm", "[2 of 2, 1.5 of about 2 min] fill rocksdb"]
    assert course.took_s() == {"put": 120.0}


def test_the_store_bench_plans_what_it_is_asked_for() -> None:
    all_of_it = store.parts(PLAN)
    fills = len(store.ENGINES) * 2 * 2
    assert [part.work for part in all_of_it].count("put") == fills
    assert [part.work for part in all_of_it].count("reads") == fills
    # The tail is measured with one size of values only, the last two once whatever the rounds are.
    assert [part.work for part in all_of_it].count("tail") == 2 * 2 * store.TAIL_ROUNDS
    assert [part.work for part in all_of_it][-3:] == ["open", "http", "http"]
    only_http = store.parts(store.Plan(1, 1_000_000, (128,), 2, ("http",)))
    assert {part.work for part in only_http} == {"http"}


def test_more_to_write_takes_longer() -> None:
    def seconds(keys: int, rewrites: int, value_bytes: int) -> float:
        return sum(part.duration_s for part in store.parts(store.Plan(1, keys, (value_bytes,), rewrites, ("put",))))

    assert seconds(1_000_000, 2, 128) < seconds(1_000_000, 2, 1200)
    assert seconds(1_000_000, 0, 128) < seconds(1_000_000, 2, 128) < seconds(2_000_000, 2, 128)
