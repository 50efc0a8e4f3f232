"""Any data draws: one sample, equal values, NaN, nothing at all; and the same data draw the same bytes."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runners.readers.published import published
from runners.report import style
from runners.report.fixed_rate import cpu
from runners.report.flamegraph import FlameGraph, boxes, short, tree
from runners.report.latency import curve, spectrum, timeline
from runners.tests.counts import rounds
from runners.tests.report import steps

NOWHERE = Path("nowhere")
values = st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=40)
few = settings(max_examples=rounds(4, 8), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def svg(picture: style.Picture) -> str:
    return style.svg(picture, "test")


@few
@given(values, st.text(max_size=12))
@example([50.0], "rocksdb")
@example([50.0] * 30, "lsm")
@example([math.nan], "a")
@example([0.0, -1.0, math.inf], "_x")
@example([1e-30, 1e30], "$x$")
def test_any_spectrum_draws(times: list[float], engine: str) -> None:
    with np.errstate(all="ignore"):
        step = steps.step(NOWHERE, "put", times, engine=engine)
        assert svg(spectrum(step, floor=step)).startswith("<svg")


@few
@given(values)
@example([math.nan])
@example([0.0])
@example([5.0])
def test_any_timeline_draws(times: list[float]) -> None:
    with np.errstate(all="ignore"):
        step = steps.step(NOWHERE, "put", times, frames={"pauses": pauses((0.5, 6.5), (2.0, 1.0))})
        assert svg(timeline(step)).startswith("<svg")


def pauses(*rows: tuple[float, float]) -> pd.DataFrame:
    return pd.DataFrame([{"t_s": t, "duration_ms": ms, "kind": "gc", "cause": "Pause Young"} for t, ms in rows])


@few
@given(st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1), st.integers(0, 10**6)), max_size=9))
def test_any_shares_draw(rows: list[tuple[str, float, int]]) -> None:
    frame = pd.DataFrame(
        [
            {"event": "cpu", "category": name, "samples": n, "weight": n, "share": part, "low": part, "high": math.nan}
            for name, part, n in {row[0]: row for row in rows}.values()
        ],
        columns=steps.COLUMNS["shares"],
    )
    assert svg(cpu([("put", 50.0, frame)])).startswith("<svg")


@few
@given(st.lists(st.tuples(st.text(max_size=60), st.integers(-3, 10**12)), max_size=12))
@example([("a;b;c", 3), ("a;b", 2), ("", 1), (";;;", 4)])
def test_any_stacks_draw(rows: list[tuple[str, int]]) -> None:
    stacks = pd.DataFrame(
        [{"event": "cpu", "stack": stack, "count": n} for stack, n in rows], columns=steps.COLUMNS["stacks"]
    )
    step = steps.step(NOWHERE, "put-rocksdb", steps.times())
    step.frames["stacks"] = stacks
    drawn = FlameGraph(step, "cpu").drawing()
    assert len(minidom.parseString(drawn).getElementsByTagName("svg")) == 1


def test_the_same_data_draw_the_same_bytes() -> None:
    def once() -> tuple[str, bytes]:
        step = steps.step(NOWHERE, "put-rocksdb", steps.times())
        picture = spectrum(step, published=published("report-1/put"), floor=step)
        return svg(picture), style.png(picture)

    assert once() == once()


def test_drawing_leaves_no_trace_in_the_settings_of_a_notebook() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    style.png(spectrum(steps.step(NOWHERE, "put", [50.0])))
    assert dict(mpl.rcParams) == before


def test_a_spectrum_says_in_title_and_alternative_text_what_was_sent_and_no_percentile_without_a_floor() -> None:
    picture = spectrum(steps.step(NOWHERE, "put-rocksdb", [100.0] * 2000))
    for text in (picture.heading, picture.alt):
        assert "PUT: response time" in text and "p99" not in text
    text = svg(picture)
    for label in ("percentile", "latency", "99 %", "RocksDB response"):
        assert label in text
    assert "<text" in text


def test_ids_of_two_figures_never_meet() -> None:
    step = steps.step(NOWHERE, "put-rocksdb", steps.times(2000))
    ids = [set(re.findall(r'\bid="([^"]+)"', style.svg(spectrum(step), name))) for name in ("a", "b")]
    assert ids[0] and not ids[0] & ids[1]
    text = style.svg(spectrum(step), "a")
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', text)) <= set(re.findall(r'\bid="([^"]+)"', text))


def test_invalid_and_saturated_steps_have_no_curve() -> None:
    bad = steps.step(NOWHERE, "put-lsm", [1.0, 2.0], engine="lsm", valid=False)
    full = steps.step(NOWHERE, "put-files", [1.0, 2.0], engine="files", saturated=True)
    good = steps.step(NOWHERE, "put-rocksdb", [1.0, 2.0])
    text = svg(spectrum(good, bad, full))
    assert "RocksDB" in text and "LSM" not in text and "files" not in text
    assert "nothing to draw" in svg(spectrum(bad, full))
    assert "no valid step" in svg(timeline(bad))


def test_where_answers_are_missing_the_curve_is_marked_as_a_bound() -> None:
    step = steps.step(NOWHERE, "put-rocksdb", steps.times(5000))
    assert "without a response" not in svg(spectrum(step))
    step.frames["summary"]["censored"] = 50
    assert "50 without a response" in svg(spectrum(step))


def test_a_curve_turns_faint_where_fewer_than_ten_samples_lie_beyond() -> None:
    line = curve(steps.spectrum_of(steps.times(5000)), "response", "x", style.BLUE)
    assert line is not None
    assert line.count == 5000
    assert line.few_from == 500
    assert line.x.max() == 5000  # the maximum is seen once in all samples


@pytest.mark.parametrize(
    ("name", "shortened"),
    [
        ("one/nio/http/HttpSession.processRead", "HttpSession.processRead"),
        ("rocksdb::DBImpl::Write(rocksdb::WriteOptions const&, rocksdb::WriteBatch*)", "DBImpl::Write"),
        ("java/lang/Thread.<init>", "Thread.<init>"),
        ("AccessInternal::Dispatch<G1BarrierSet::Barrier<1ul, G1>, 3>::access", "Dispatch::access"),
        ("epoll_wait", "epoll_wait"),
        ("byte[]", "byte[]"),
    ],
)
def test_frames_have_short_names(name: str, shortened: str) -> None:
    assert short(name) == shortened


def test_boxes_lie_within_their_parents() -> None:
    stacks = pd.DataFrame({"event": "cpu", "stack": ["a;b;c", "a;b", "a;d", "e"], "count": [5, 3, 2, 10]})
    by_name: dict[str, Any] = {box.node.name: box for box in boxes(tree(stacks))}
    assert by_name["all"].node.share == 1
    assert by_name["a"].node.share == pytest.approx(0.5)
    assert by_name["b"].left == by_name["a"].left and by_name["b"].node.share == pytest.approx(0.4)
    assert by_name["d"].left == pytest.approx(0.4)
    assert by_name["e"].left == pytest.approx(0.5)


@given(st.lists(st.sampled_from([*style.ENGINE_COLOURS, "lsm-wal-sync", "zgc", "x", "no-log"]), max_size=4))
def test_two_settings_of_one_figure_have_colours_of_their_own(engines: list[str]) -> None:
    colours = style.colours_of(engines)
    assert list(colours) == list(dict.fromkeys(engines))
    assert len({*colours.values()}) == len(colours)
    assert not engines or colours[engines[0]] == style.colour_of(engines[0])


def test_a_long_heading_with_dollar_signs_is_broken_into_lines_and_is_no_formula() -> None:
    frame = "Pool$$Lambda.run takes 12.4 percentage points more of the cpu profile of all-new PUT than of all-old PUT"
    heading = f"{frame}, and Pool$$Lambda.call less."
    picture = style.styled(lambda: style.Picture(4.0, 2.0).headed(heading))()
    drawn = style.svg(picture, "dollars")
    texts = re.findall(r">([^<>]*(?:Lambda|percentage|less)[^<>]*)</", drawn)
    assert len(texts) > 1 and "Pool$$Lambda.run" in drawn and "Pool$$Lambda.call" in drawn
    assert picture.heading == heading and picture.alt == f"{heading}."
    assert all(len(line) < 60 for line in texts)


def test_a_legend_takes_as_many_columns_as_fit() -> None:
    figure = style.Picture(8.4, 4.4)
    axes = figure.add_subplot()
    for place in range(4):
        axes.plot([0, 1], [place, place], label=f"JDK 17, cached pool, nodelay response {place}")
    style.legend(figure, 4)
    style.png(figure)
    (legend,) = figure.legends
    assert legend.get_window_extent().width <= figure.bbox.width and legend.get_window_extent().x0 >= 0
