"""A load is followed while it runs: what was written since the last look, whole lines alone, servers together."""

from __future__ import annotations

import io
import math
import pickle
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from runners.execution.progress import BarSink, Event, Follower, LineSink, Moment, drawing, percentile

HEAD = "#truepace-slices/1 start_unix_us=1 slices_per_s=10\n"


def second(first: int, bins: str) -> str:
    return "".join(f"{first + tenth} {bins}\n" for tenth in range(10))


def test_nothing_is_known_where_the_generator_wrote_nothing(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "load.slices")
    assert follower.read() is None
    (tmp_path / "load.slices").write_text(HEAD)
    assert follower.read() is None


def test_each_look_sees_what_was_added_since_the_last(tmp_path: Path) -> None:
    path = tmp_path / "load.slices"
    follower = Follower(path)
    path.write_text(HEAD + second(0, "100.0:9 900.0:1") + "10 100.0:")  # a line that is being written
    seen = follower.read()
    assert seen is not None
    assert (seen.rate_rps, seen.p50_us, seen.p99_us) == (100.0, 100.0, 900.0)
    path.write_text(HEAD + second(0, "100.0:9 900.0:1") + second(10, "200.0:2"))
    seen = follower.read()
    assert seen is not None
    assert (seen.rate_rps, seen.p50_us, seen.p99_us) == (20.0, 200.0, 200.0)
    assert 0 <= seen.stolen_share <= 1
    assert follower.read() is None


def test_servers_that_share_a_schedule_count_together_and_a_second_without_responses_is_zero(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "load.slices")
    for name, bins in (("a", "100.0:1"), ("b", "300.0:1")):
        (tmp_path / f"load.slices.{name}").write_text(HEAD + second(0, bins))
    seen = follower.read()
    assert seen is not None and (seen.rate_rps, seen.p50_us, seen.p99_us) == (20.0, 100.0, 300.0)
    (tmp_path / "load.slices.a").write_text(HEAD + second(0, "100.0:1") + second(10, ""))
    empty = follower.read()
    assert empty is not None and empty.rate_rps == 0 and math.isnan(empty.p99_us)
    ET.fromstring(drawing([seen, empty]))  # an own file


@pytest.mark.parametrize(("level", "expected"), [(0.5, 1.0), (0.9, 2.0), (0.99, 3.0)])
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(level: float, expected: float) -> None:
    assert percentile({3.0: 5, 1.0: 50, 2.0: 45}, level) == expected


def test_the_figure_says_the_last_second_and_draws_four_lines() -> None:
    moments = [Moment(1_000.0 + place, 100.0, 1_000.0 * (1 + place % 3), 0.01) for place in range(300)]
    figure = ET.fromstring(drawing(moments))
    assert moments[-1].text() in str(figure.get("aria-label"))
    lines = [element.get("points", "").split() for element in figure.iter("polyline")]
    assert len(lines) == 4 and all(len(points) == 120 for points in lines)
    ET.fromstring(drawing(moments[:1]))


def test_terminals_logs_and_kernels_carry_the_second() -> None:
    event = Event(1.0, 10.0, "a GET", Moment(990.0, 100.0, 900.0, 0.0))
    assert pickle.loads(pickle.dumps(event)) == event
    for sink in (LineSink, BarSink):
        out = io.StringIO()
        sink(out).show(event)
        assert "a GET: 990/s, p50 100" in out.getvalue()
