"""A benchmark says before it begins what its parts take together, and each part when it begins."""

from __future__ import annotations

import pytest

from runners.bench.fixture import Course, Part


def test_the_time_of_a_benchmark_is_the_sum_of_its_parts() -> None:
    said: list[str] = []
    course = Course([Part("put", 60.0), Part("http", 90.0), Part("put", 30.0)], said.append)
    course.announce()
    assert said == ["This takes about 3 min in 3 parts (put 1.5, http 1.5)."]


def test_each_part_says_how_far_the_benchmark_is_and_what_it_took_is_kept() -> None:
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
