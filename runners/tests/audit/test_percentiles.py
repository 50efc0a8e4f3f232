"""Percentiles, their samples and the timers behind them in published documents: each pattern in small, read right."""

from __future__ import annotations

import pytest

from runners.audit.rule import Severity
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS, replaced


def test_a_run_that_ended_in_its_calibration_is_too_short() -> None:
    calibrated = "  Thread calibration: mean lat.: 5.199ms, rate sampling interval: 30ms\n"
    thread = "    Req/Sec     2.11k     1.04k    3.00k    72.60%"
    early = replaced(HEALTHY, (calibrated, ""), (thread, "    Req/Sec        nan       nan   0.00      0.00%"))
    assert "RUN001" in remarks(early)
    assert "RUN001" not in remarks(replaced(HEALTHY, (calibrated, "")))


def test_a_run_that_is_too_short_has_no_warm_up_to_be_left_out() -> None:
    findings = remarks(HEALTHY.replace("-d60", "-d10").replace("Running 1m", "Running 10s"))
    assert "RUN001" in findings
    assert "RUN004" not in findings


def test_a_percentile_that_a_tool_prints_unasked_is_only_noted() -> None:
    few = HEALTHY.replace("100.000%   61.31ms", " 99.990%   55.20ms\n100.000%   61.31ms")
    assert remarks(few)["SMP001"].severity is Severity.NOTE


def test_three_points_on_a_line_are_mostly_the_timer() -> None:
    three = " 50.000%  650us\n 75.000%  960us\n 90.000%  1.14ms\n"
    assert "mostly the generator's timer" in remarks(three)["TIM001"].seen.text


def test_a_median_at_the_timer_is_not_to_the_point_where_the_tail_is_far_away() -> None:
    text = " 50.000%  1.60ms\n 75.000%  6.00ms\n 90.000%  29.90ms\n"
    assert "TIM002" not in remarks(text)
    assert "RAT007" in remarks(text)


def test_a_mean_near_40_ms_is_a_plateau_only_with_little_spread() -> None:
    lines = replaced(CLOSED, ("Latency    10.00ms", "Latency    41.00ms")).splitlines()
    bare = "".join(f"{line}\n" for line in lines[:6] + lines[11:])
    stdev = lines[4].split()[2]
    assert "NET001" in remarks(bare.replace(stdev, "1.10ms"))
    assert "NET001" not in remarks(bare.replace(stdev, "8.80ms"))


def test_a_plateau_at_40_ms_needs_a_percentile_above_it() -> None:
    k6 = "     http_req_duration..............: avg=44ms min=9ms med=41ms max=380ms p(90)={} p(95)=90ms\n"
    http = k6 + "     http_reqs......................: 4000   66.6/s\n"
    assert "NET001" not in remarks(http.format("58ms"))
    assert "NET001" in remarks(http.format("43ms"))


def test_of_a_queue_nothing_is_said_about_the_maximum() -> None:
    late = "  Socket errors: connect 0, read 0, write 0, timeout 3\nRequests/sec"
    assert "SMP003" in remarks(replaced(CLOSED, ("48.51ms", " 1.98s "), ("Requests/sec", late)))
    text = (
        "$ wrk2 -t1 -c8 -d60 -R100000 -s put.lua -L http://localhost:8080\nRunning 1m test @ http://localhost:8080\n"
        "  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        "    Latency    33.70s    16.00s    59.90s    60.00%\n    Req/Sec    40.00     1.00    41.00     70.00%\n"
        "  9600 requests in 1.00m, 7.53MB read\nRequests/sec:    160.00\nTransfer/sec:    128.52KB\n"
    )
    assert {"RAT001", "RAT002"} <= set(remarks(text))
    assert "SMP003" not in remarks(text)


def test_a_run_of_so_many_requests_waits_for_the_last() -> None:
    text = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    waited = replaced(text, ("100%     24", "100%    950"))
    assert "SMP003" not in remarks(waited)


K6 = """http_req_duration..............: avg=500ms med=450ms max={}
http_req_failed................: {} out of 9500
http_reqs......................: 9500 942.2/s
"""


@pytest.mark.parametrize(
    ("longest", "failed", "at_bound"), [("60s", "0.02% 2", True), ("60s", "0.00% 0", False), ("5s", "0.02% 2", False)]
)
def test_a_latency_at_the_time_out_of_its_tool_is_at_a_bound(longest: str, failed: str, at_bound: bool) -> None:
    assert ("SMP003" in remarks(K6.format(longest, failed))) is at_bound


def runs_of(*levels: str) -> str:
    """Runs of one setting with these values of p99."""
    return "\n".join(replaced(CLOSED, ("99%   24.10ms", f"99%   {level}")) for level in levels)


@pytest.mark.parametrize(("p90_ms", "named"), [(0, True), (1, True), (20, False)])
def test_a_median_of_nothing_is_what_ab_can_print_of_a_fraction(p90_ms: int, named: bool) -> None:
    ab = "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      10000\n"
    rows = f"Percentage of the requests served within a certain time (ms)\n  50%  0\n  90%  {p90_ms}\n  99%  21\n"
    text = f"This is ApacheBench, Version 2.3\n{ab}Requests per second:    5000.00 [#/sec] (mean)\n\n{rows}"
    assert ("TIM002" in remarks(text)) is named


def test_the_columns_of_a_markdown_table_of_percentiles_are_read() -> None:
    text = (
        "|          | PUT before | PUT after |\n|----------|---------   |---------  |\n"
        "| 50.000%  |   11.53ms  |   0.91ms  |\n| 75.000%  |   20.05ms  |   1.18ms  |\n"
        "| 99.000%  |   76.54ms  |   1.55ms  |\n| timeout% |   3.38e-3  |   13.53   |\n"
    )
    before, after = outputs(text)
    assert (before.report.latencies.at(0.5), after.report.latencies.at(0.99)) == (11_530, 1_550)
    assert {"SMP002", "TIM002"} <= set(remarks(text))


@pytest.mark.parametrize(("late", "named"), [(1_200, "p90"), (66, "p99.5"), (3, "p99.98")])
def test_the_percentile_from_which_time_outs_hide_the_rest_is_as_fine_as_their_share(late: int, named: str) -> None:
    line = f"  Socket errors: connect 0, read 0, write 0, timeout {late}\nRequests/sec"
    assert f"{named} and above" in remarks(replaced(CLOSED, ("Requests/sec", line)))["ERR004"].seen.text


def test_a_median_rests_on_half_of_the_samples_however_few() -> None:
    few = replaced(
        CLOSED,
        ("  12000 requests in 1.00m", "  17 requests in 1.00m"),
        ("Requests/sec:    200.00", "Requests/sec:      0.28"),
    )
    assert "beyond p50" not in remarks(few)["SMP001"].seen.text


TIMED_OUT = "  Socket errors: connect 0, read 0, write 0, timeout 66\nRequests/sec"


@pytest.mark.parametrize(
    ("largest", "asked", "limit"), [("  9.74s", "", "9.74"), (" 1.74s", "", "2"), ("  9.74s", " --timeout 10s", "10")]
)
def test_the_limit_of_time_outs_is_not_below_a_response_that_was_recorded(largest: str, asked: str, limit: str) -> None:
    late = replaced(CLOSED, ("48.51ms", largest), ("--latency", f"--latency{asked}"), ("Requests/sec", TIMED_OUT))
    assert f"took over {limit}\N{NO-BREAK SPACE}s" in remarks(late)["ERR004"].seen.text
