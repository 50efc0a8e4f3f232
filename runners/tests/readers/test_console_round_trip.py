"""What is rendered in the tools' layout is read back as it was."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.readers import units
from runners.readers.wrk_console import find_reports
from runners.tests.fixtures import wrk2_text as text

times_us = st.floats(0, 7.2e9, allow_nan=False)
shares = st.floats(0, 100)
counts = st.integers(0, 10**12)


@given(times_us)
def test_times(value: float) -> None:
    assert units.time_us(text.time_us(value)) == pytest.approx(value, rel=0.006, abs=0.006)


@given(st.floats(0, 1e12))
def test_counts_and_sizes(value: float) -> None:
    assert units.count(text.metric(value)) == pytest.approx(value, rel=0.006, abs=0.006)
    assert units.size_bytes(text.size(value)) == pytest.approx(value, rel=0.006, abs=0.006)


@given(st.text(max_size=8))
def test_no_text_is_an_error(word: str) -> None:
    for read in (units.time_us, units.time_s, units.count, units.size_bytes, units.number):
        read(word)


def rows(draw: st.DrawFn) -> list[text.Row]:
    values = sorted(draw(st.lists(st.floats(0, 1e5), min_size=1, max_size=20)))
    total = draw(st.integers(len(values), 10**9))
    leading = [
        (round(value, 3), round(index / len(values), 6), max(1, total * index // len(values)))
        for index, value in enumerate(values)
    ]
    return [*leading, (round(values[-1], 3), 1.0, total)]


@st.composite
def outputs(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    """An output of wrk2 and what it says."""
    duration, threads, connections = draw(st.integers(1, 600)), draw(st.integers(1, 64)), draw(st.integers(1, 999))
    spectrum = rows(draw)
    uncorrected = rows(draw) if draw(st.booleans()) else None
    requests, read, errors = draw(counts), draw(st.floats(0, 1e12)), draw(st.integers(0, 10**6))
    socket = tuple(draw(st.lists(st.integers(0, 10**6), min_size=4, max_size=4)))
    rate = draw(st.floats(0, 1e7))
    percentiles = (50, 75, 90, 99, 99.9, 99.99, 99.999, 100)
    values = sorted(draw(st.lists(times_us, min_size=8, max_size=8)))

    def block(label: str, distribution: list[text.Row]) -> list[str]:
        return [
            f"  Latency Distribution (HdrHistogram - {label})",
            *(f"{p:7.3f}% {text.time_us(v):>9}" for p, v in zip(percentiles, values, strict=True)),
            "",
            *text.spectrum(distribution, 1.5, 2.5, distribution[-1][0]),
        ]

    lines = [
        f"$ wrk2 -t{threads} -c {connections} -d{duration}s -R{rate:.0f} -L http://127.0.0.1:8080",
        f"Running {text.duration_s(duration, 0)} test @ http://127.0.0.1:8080",
        f"  {threads} threads and {connections} connections",
        *("  Thread calibration: mean lat.: 1.234ms, rate sampling interval: 10ms" for _ in range(threads)),
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev",
        "    Latency   " + " ".join(f"{text.time_us(values[index]):>9}" for index in (0, 1, 7)) + "   97.50%",
        f"    Req/Sec   {text.metric(rate):>9}    -nan     1.00k   80.00%",
        *block("Recorded Latency", spectrum),
        *(
            ["", *block("Uncorrected Latency (measured without taking delayed starts into account)", uncorrected)]
            if uncorrected
            else []
        ),
        f"  {requests} requests in {text.duration_s(duration)}, {text.size(read)} read",
        f"  Socket errors: connect {socket[0]}, read {socket[1]}, write {socket[2]}, timeout {socket[3]}",
        *([f"  Non-2xx or 3xx responses: {errors}"] if errors else []),
        f"Requests/sec: {rate:9.2f}",
        f"Transfer/sec: {text.size(read / duration):>10}",
    ]
    return "\n".join(lines), {
        "spectrum": spectrum,
        "uncorrected": uncorrected,
        "requests": requests,
        "errors": errors or None,
        "socket": socket,
        "rate": rate,
        "threads": threads,
        "connections": connections,
        "values": values,
    }


@settings(max_examples=60)
@given(outputs())
def test_rendered_output_is_read_back(output: tuple[str, dict[str, object]]) -> None:
    printed, said = output
    (report,) = find_reports(printed)
    assert report.tool == "wrk2"
    assert (report.threads, report.connections) == (said["threads"], said["connections"])
    assert len(report.calibrations_us) == said["threads"]
    assert (report.requests, report.non_2xx) == (said["requests"], said["errors"])
    assert report.socket_errors is not None
    errors = report.socket_errors
    assert (errors.connect, errors.read, errors.write, errors.timeout) == said["socket"]
    assert report.requests_per_s == pytest.approx(said["rate"], abs=0.006)
    assert [(row.value_ms, row.percentile, row.total_count) for row in report.latencies.spectrum] == said["spectrum"]
    assert report.latencies.spectrum[-1].inverse == math.inf
    uncorrected = [(row.value_ms, row.percentile, row.total_count) for row in report.uncorrected.spectrum]
    assert uncorrected == (said["uncorrected"] or [])
    read_values = [value for _, value in report.latencies.rows]
    assert read_values == pytest.approx(said["values"], rel=0.006, abs=0.006)
    assert report.requests_per_thread is not None
    assert math.isnan(report.requests_per_thread.stdev or 0)
    assert report.diagnostics == ()


def test_the_maximum_of_wrk_is_that_of_its_table() -> None:
    report = find_reports((Path(__file__).parents[1] / "data" / "wrk.txt").read_text())[0]
    rows = report.percentiles_frame().set_index("percentile")["value_us"]
    assert rows[1.0] == 6_140 and rows[0.99] == 2_000
