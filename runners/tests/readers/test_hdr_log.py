"""Interval logs: written by the package and by our generator, merged and never averaged."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import ReadError
from runners.readers.console_report import rank
from runners.readers.hdr_log import read_hdr_log

DATA = Path(__file__).parents[1] / "data" / "loadgen"


def histogram(values: list[int]) -> HdrHistogram:
    result = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        result.record_value(value)
    return result


def line(tag: str | None, at: float, values: list[int], length_s: float = 1.0) -> str:
    head = f"Tag={tag}," if tag else ""
    return f"{head}{at:.3f},{length_s:.3f},{max(values, default=0)}.000,{histogram(values).encode().decode()}\n"


def test_percentiles_come_from_merged_histograms(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    fast, slow = [100] * 990 + [200] * 10, [100] * 10 + [50_000] * 990
    path.write_text(
        "#[StartTime: 1795000000.0 (seconds since epoch)]\n" + line("response", 0, fast) + line("response", 1, slow)
    )
    log = read_hdr_log(path)
    merged = log.merged("response")
    assert merged.total == 2_000
    assert merged.percentile(0.5) == 100
    assert merged.percentile(0.51) == pytest.approx(50_000, rel=0.001)  # an average of the two would be near 25 000
    assert list(log.intervals_frame()["p99_us"]) == pytest.approx([100, 50_000], rel=0.001)
    assert list(log.intervals_frame()["t_s"]) == [0, 1]


def test_a_log_in_nanoseconds_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    head = "#[Histogram log format version 1.3]\n#[Written by truepace; values in nanoseconds; tags: response]\n"
    path.write_text(head + line("response", 0, [25_400] * 90 + [25_600] * 10))
    samples = read_hdr_log(path).merged("response")
    assert samples.percentile(0.5) == pytest.approx(25.4, rel=0.001)
    assert samples.percentile(0.99) == pytest.approx(25.6, rel=0.001)


@pytest.mark.parametrize("before", [True, False])
def test_a_later_comment_changes_neither_unit_nor_clock(tmp_path: Path, before: bool) -> None:
    path, first = tmp_path / "load.hlog", line("response", 0, [25_400])
    head = "#[StartTime: 1795000000.0 (seconds since epoch)]\n#[values in nanoseconds]\n"
    later = "# a pause of 20 millis\n#[StartTime: 1795000009.0 (seconds since epoch)]\n"
    path.write_text(head + (later + first if before else first + later) + line("response", 1, [25_400]))
    log = read_hdr_log(path)
    assert [interval.samples.max_us for interval in log.intervals] == pytest.approx([25.4, 25.4], rel=0.001)
    assert log.start_unix_s == 1_795_000_000.0


def test_a_comment_after_the_first_interval_states_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(line("response", 0, [25_400]) + "# a pause of 20 millis\n" + line("response", 1, [25_400]))
    log = read_hdr_log(path)
    assert not log.unit_stated
    assert [interval.samples.max_us for interval in log.intervals] == pytest.approx([25_400, 25_400], rel=0.001)


IN_NS = "#[Written by truepace; values in nanoseconds; tags: response, service, censored]\n"


def test_tenths_are_a_second_together_and_each_keeps_its_responses(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    tenths = [[100_000 + 1_000 * at] * at for at in range(10)]  # the first is empty
    lines = [line("response", 3 + at / 10, tenth, 0.1) for at, tenth in enumerate(tenths)]
    head = IN_NS + "#[StartTime: 1795000000.0 (seconds since epoch)]\n"
    path.write_text(head + line("service", 3, [90_000] * 45) + "".join(lines))
    log = read_hdr_log(path)
    seconds = log.intervals_frame()
    assert list(zip(seconds["t_s"], seconds["kind"], seconds["count"], strict=True)) == [
        (3.0, "service", 45), (3.0, "response", 45),
    ]  # fmt: skip
    whole = seconds["p50_us"].iloc[1]
    assert whole == log.merged("response").percentile(0.5) == pytest.approx(107, rel=0.001)
    slices = log.slices_frame()
    assert slices.groupby("t_s")["count"].sum().tolist() == list(range(10))
    assert slices["t_s"].iloc[0] == 3.0 and slices["us"].iloc[0] == 0
    assert set(log.spectrum_frame()["kind"]) == {"response", "service"}


@given(st.lists(st.integers(1, 3_600_000_000_000), min_size=1, max_size=50))
def test_slices_have_the_bins_of_a_histogram_with_one_digit(
    tmp_path_factory: pytest.TempPathFactory, ns: list[int]
) -> None:
    path = tmp_path_factory.mktemp("slices") / "load.hlog"
    fine, coarse = HdrHistogram(1, 3_600_000_000_000, 3), HdrHistogram(1, 3_600_000_000_000, 1)
    for value in ns:
        fine.record_value(value)
        coarse.record_value(value)
    path.write_text(f"{IN_NS}Tag=response,0.000,0.100,1.000,{fine.encode().decode()}\n")
    slices = read_hdr_log(path).slices_frame()
    bins = [(at.value_iterated_to, at.count_at_value_iterated_to) for at in coarse.get_recorded_iterator()]
    assert slices["count"].tolist() == [count for _, count in bins]
    lowest = [coarse.get_lowest_equivalent_value(value) for value, _ in bins]
    highest = [coarse.get_highest_equivalent_value(value) for value, _ in bins]
    middles = [(low + high + 1) / 2 for low, high in zip(lowest, highest, strict=True)]
    assert slices["us"].tolist() == pytest.approx([ns / 1_000 for ns in middles])


def test_a_log_of_whole_seconds_has_no_slices(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(IN_NS + line("response", 0, [5]) + line("response", 1, [6]))
    assert read_hdr_log(path).slices_frame().empty


def test_targets_count_together_in_series_and_spectrum(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    lines = [line(f"response@{name}", 0, [us] * 10, 0.1) for name, us in (("a", 100), ("b", 300))]
    path.write_text("".join(lines) + line("censored@b", 0, [900]))
    log = read_hdr_log(path)
    assert log.intervals_frame()["count"].tolist() == [20]
    assert log.spectrum_frame()["total_count"].max() == 21, "requests without a response count"
    assert log.slices_frame().empty and log.histograms_frame().empty, "every request is in a log of its own"


def test_counts_are_those_of_the_package(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    values = [int(value) for value in random.lognormal(8, 3, 3_000).clip(1, 3e9)]
    path = tmp_path / "load.hlog"
    path.write_text(line("response", 0, values))
    samples, known = read_hdr_log(path).merged("response"), histogram(values)
    assert samples.total == known.get_total_count() == len(values)
    for level in (0.1, 0.5, 0.9, 0.99, 0.999):
        assert samples.percentile(level) == known.get_highest_equivalent_value(
            known.get_value_at_percentile(level * 100)
        )


def test_a_log_of_the_packages_own_writer_without_tags(tmp_path: Path) -> None:
    out = io.StringIO()
    writer = HistogramLogWriter(out)
    writer.output_log_format_version()
    writer.output_legend()
    for second in range(3):
        writer.output_interval_histogram(histogram([10, 20, 30]), 1000 + second, 1001 + second, 1)
    path = tmp_path / "load.hlog"
    path.write_text(out.getvalue())
    log = read_hdr_log(path)
    assert log.kinds == ("response",)
    assert [interval.t_s for interval in log.intervals] == [0, 1, 2]
    assert log.merged("response").total == 9


def test_time_stamps_that_are_relative_to_a_base(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    head = "#[StartTime: 1795000000.500 (seconds since epoch)]\n#[BaseTime: 1795000000.500 (seconds since epoch)]\n"
    path.write_text(head + line("response", 0.25, [1]))
    assert read_hdr_log(path).intervals[0].t_s == 0.25
    path.write_text(head.splitlines()[0] + "\n" + line("response", 0.25, [1]))
    assert read_hdr_log(path).intervals[0].t_s == 0.25
    path.write_text(head.splitlines()[0] + "\n" + line("response", 1_795_000_001.5, [1]))
    assert read_hdr_log(path).intervals[0].t_s == 1


def test_requests_without_an_answer_count_for_response_times(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(line("response", 0, [10] * 99) + line("service", 0, [5] * 99) + line("censored", 0, [900]))
    log = read_hdr_log(path)
    assert log.kinds == ("response", "service")
    frame = log.percentiles_frame()
    top = frame[frame["percentile"] == 1]
    assert list(zip(top["kind"], top["value_us"], top["at_least"], strict=True)) == [
        ("response", 900, True),
        ("service", 5, False),
    ]
    assert len(log.intervals_frame()) == 2


def test_half_a_last_line_costs_that_line_only(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    whole = line("response", 0, [10] * 5)
    path.write_text(whole + line("response", 1, [10] * 5)[:-30])
    log = read_hdr_log(path)
    assert log.merged("response").total == 5
    assert log.torn is not None
    assert "line 2" in log.torn


@pytest.mark.parametrize("text", ["", "#[StartTime: 1.0 (seconds)]\n", "garbage\n"])
def test_a_log_without_intervals_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(text)
    with pytest.raises(ReadError, match=r"load\.hlog"):
        read_hdr_log(path)


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "load.hlog"
    path.write_text(line("response", 0, [1]) + "Tag=response,1.000,1.000,9.0,HISTFAAAA\n" + line("response", 2, [1]))
    with pytest.raises(ReadError, match="line 2"):
        read_hdr_log(path)


def test_our_generators_log_agrees_with_its_json() -> None:
    log = read_hdr_log(DATA / "load.hlog")
    document = json.loads((DATA / "load.json").read_text(encoding="utf-8"))
    assert log.start_unix_s == pytest.approx(document["start_unix_us"] / 1e6, abs=0.001)
    for kind in ("response", "service"):
        samples, reported = log.merged(kind), document["latency_us"][kind]
        assert samples.total == reported["count"]
        for level, name in ((0.5, "p50"), (0.99, "p99"), (0.999, "p99_9")):
            place = rank(samples.total, level)  # binary fractions may put a percentile one sample further
            low, high = samples.at_rank(place - 1), samples.at_rank(place + 1)
            assert low * 0.998 - 1 <= reported[name] <= high * 1.002 + 1
    seconds = log.intervals_frame()
    assert len(seconds) == 2 * len(document["intervals"])
    assert seconds["count"].iloc[0] == document["intervals"][0]["response"]["count"]
