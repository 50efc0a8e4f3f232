"""Published and recorded outputs are read to the last figure."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.console_report import SpectrumRow, ThreadStats
from runners.readers.published import published, published_names, published_of
from runners.tests.fixtures.outputs import read_console

DATA = Path(__file__).parents[1] / "data"


def test_published_put_is_read_to_the_last_figure() -> None:
    report = published("report-1/put")
    assert report.tool == "wrk2"
    assert report.command is not None
    assert (report.command.rate_rps, report.command.connections, report.command.threads) == (25_000, 1, 1)
    assert report.command.duration_s == 180
    assert (report.duration_s, report.url) == (180, "http://localhost:19234")
    assert (report.threads, report.connections) == (1, 1)
    assert report.calibrations_us == (5_199,)
    assert report.latency == ThreadStats(870, 2_480, 54_500)
    assert report.requests_per_thread == ThreadStats(25_440, 1_040, 31_000)
    assert report.latencies.label == "Recorded Latency"
    assert report.latencies.rows == (
        (0.5, 635),
        (0.75, 930),
        (0.9, 1_110),
        (0.99, 6_820),
        (0.999, 44_480),
        (0.9999, 52_640),
        (0.99999, 54_370),
        (1.0, 54_530),
    )
    assert len(report.latencies.spectrum) == 100
    assert report.latencies.spectrum[1] == SpectrumRow(0.155, 0.1, 425_234, 1.11)
    assert report.latencies.spectrum[-1] == SpectrumRow(54.527, 1.0, 4_249_896, math.inf)
    footer = (report.latencies.max_ms, report.latencies.total_count, report.latencies.buckets)
    assert footer == (54.496, 4_249_896, 27)
    assert (report.requests, report.elapsed_s) == (4_499_986, 180)
    assert report.bytes_read == pytest.approx(287.53 * 1024**2)
    assert (report.non_2xx, report.socket_errors) == (None, None)
    assert report.requests_per_s == 24_999.93
    assert report.diagnostics == ()
    assert not report.uncorrected


def test_published_get_has_its_errors() -> None:
    report = published("report-1/get")
    assert (report.requests, report.non_2xx, report.requests_per_s) == (3_959_100, 372, 21_995.02)
    assert report.latencies.at(0.5) == 675
    assert report.latencies.at(0.99) == 49_250
    assert report.latencies.count == 3_740_827
    assert len(report.latencies.spectrum) == 81
    frame = report.spectrum_frame()
    assert set(frame["kind"]) == {"response"}
    assert frame["value_us"].iloc[5] == pytest.approx(675)
    assert report.summary_frame()["non_2xx"].iloc[0] == 372


def test_a_name_that_was_not_published_is_refused_with_those_that_were() -> None:
    assert published_names()[:2] == ["report-1/get", "report-1/put"]
    assert set(published_of("report-1")) == {"report-1/get", "report-1/put"}
    with pytest.raises(ReadError, match="report-1/put"):
        published("report-1/patch")


def test_recorded_output_of_wrk() -> None:
    report = read_console((DATA / "wrk.txt").read_text(encoding="utf-8"))
    assert (report.threads, report.connections, report.duration_s) == (1, 1, 2)
    assert [level for level, _ in report.latencies.rows] == [0.5, 0.75, 0.9, 0.99]
    assert not report.latencies.spectrum
    assert report.requests is not None
    assert report.requests_per_s is not None
    assert report.requests_per_s * report.elapsed_s == pytest.approx(report.requests, rel=0.01)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["loadgen", "truepace"])
def test_recorded_output_of_our_generator_agrees_with_its_json(name: str) -> None:
    import json

    text = (DATA / "loadgen" / "console.txt").read_text(encoding="utf-8")
    report = read_console(text.replace("loadgen: ", f"{name}: "))
    document = json.loads((DATA / "loadgen" / "load.json").read_text(encoding="utf-8"))
    assert report.tool == "truepace"
    assert report.requests == document["requests"]["completed"]
    assert report.latencies.count == document["latency_us"]["response"]["count"]
    assert report.uncorrected.count == document["latency_us"]["service"]["count"]
    assert report.latencies.at(0.5) == pytest.approx(document["latency_us"]["response"]["p50"], abs=0.01)
    assert report.uncorrected.at(0.99) == pytest.approx(document["latency_us"]["service"]["p99"], abs=0.01)
    assert any("lag" in line for line in report.extra)
    assert report.diagnostics == ()
    ours = report.spectrum_frame()
    assert len(ours) == sum(len(rows) for rows in document["spectrum"].values())
