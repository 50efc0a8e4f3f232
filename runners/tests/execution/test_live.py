"""A load is followed while it runs: what was written since the last look, whole lines alone, servers together."""

from __future__ import annotations

import io
import math
import pickle
import xml.etree.ElementTree as ET
from pathlib import Path

from hdrh.histogram import HdrHistogram

from runners.execution.progress import BarSink, Event, LineSink, Moment, drawing, followed

HEAD = "#[Histogram log format version 1.3]\n#[Written by truepace; values in nanoseconds; tags: response]\n"


def second(first: float, bins: dict[int, int], tag: str = "response") -> str:
    """Ten lines of the log with these counts by microsecond, after one of service times that count for nothing."""
    times = HdrHistogram(1, 3_600_000_000_000, 3)
    for us, count in bins.items():
        times.record_value(us * 1_000, count)
    payload = times.encode().decode()
    tenths = "".join(f"Tag={tag},{first + tenth / 10:.3f},0.100,1.000,{payload}\n" for tenth in range(10))
    return f"Tag={tag.replace('response', 'service')},{first:.3f},1.000,1.000,{payload}\n{tenths}"


def shown(moment: Moment | None) -> tuple[float, float, float]:
    assert moment is not None
    return round(moment.rate_rps), round(moment.p50_us), round(moment.p99_us)


def test_nothing_is_known_where_the_generator_wrote_nothing(tmp_path: Path) -> None:
    moments = followed(tmp_path / "load.hlog")
    assert next(moments) is None
    (tmp_path / "load.hlog").write_text(HEAD)
    assert next(moments) is None


def test_each_look_sees_what_was_added_since_the_last(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    moments = followed(path)
    begun = second(0, {100: 9, 900: 1})
    path.write_text(HEAD + begun + second(1, {200: 2})[:40])  # a line that is being written
    assert shown(next(moments)) == (100, 100, 900)
    path.write_text(HEAD + begun + second(1, {200: 2}))
    assert shown(next(moments)) == (20, 200, 200)
    assert next(moments) is None


def test_servers_that_share_a_schedule_count_together_and_a_second_without_responses_is_zero(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    moments = followed(path)
    text = HEAD + second(0, {100: 1}, "response@a") + second(0, {300: 1}, "response@b")
    path.write_text(text)
    seen = next(moments)
    assert shown(seen) == (20, 100, 300)
    path.write_text(text + second(1, {}, "response@a"))
    empty = next(moments)
    assert seen is not None and empty is not None and empty.rate_rps == 0 and math.isnan(empty.p99_us)
    ET.fromstring(drawing([seen, empty]))  # an own file


def test_the_figure_says_the_last_second_and_draws_three_lines() -> None:
    moments = [Moment(1_000.0 + place, 100.0, 1_000.0 * (1 + place % 3)) for place in range(300)]
    figure = ET.fromstring(drawing(moments))
    assert moments[-1].text() in str(figure.get("aria-label"))
    lines = [element.get("points", "").split() for element in figure.iter("polyline")]
    assert len(lines) == 3 and all(len(points) == 120 for points in lines)
    ET.fromstring(drawing(moments[:1]))


def test_terminals_logs_and_kernels_carry_the_second() -> None:
    event = Event(1.0, 10.0, "a GET", Moment(990.0, 100.0, 900.0))
    assert pickle.loads(pickle.dumps(event)) == event
    for sink in (LineSink, BarSink):
        out = io.StringIO()
        sink(out).show(event)
        assert "a GET: 990/s, p50 100" in out.getvalue()
