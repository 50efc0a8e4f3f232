"""Outputs are found in any text, in any state: cut short, garbled, quoted, several to a text."""

from __future__ import annotations

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from runners.readers.console_report import ConsoleReport
from runners.readers.published import ROOT
from runners.readers.wrk_console import find_reports
from runners.tests.fixtures.outputs import read_console

PUT = (ROOT / "report-1" / "put.txt").read_text(encoding="utf-8")
CLOSED = """Running 1m test @ http://localhost:8080
  2 threads and 2 connections
^[[A^[[  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    45.37ms   15.85ms 384.21ms   99.08%
    Req/Sec    22.49      4.56    30.00     72.86%
  Latency Distribution
     50%   44.04ms
     75%   44.27ms
     90%   44.89ms
     99%   52.67ms
  2693 requests in 1.00m, 218.12KB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 7
Requests/sec:     44.82
Transfer/sec:      3.63K
"""


def test_several_outputs_in_one_text_with_prose_between() -> None:
    text = f"""# Отчёт
Запуск:
```
$ wrk --latency -t2 -c2 -d1m -s get.lua http://localhost:8080
{CLOSED}```
Wieder, mit `wrk -t1` im Text:
```
{PUT}```
**after**
{CLOSED}
The end: 50% better.
"""
    first, second, third = find_reports(text)
    assert first.command is not None
    assert first.command.script == "get.lua"
    assert first.tool == "wrk"
    assert second.requests == 4_499_986
    assert second.command is not None
    assert third.command is None
    assert third.requests == 2_693


def test_every_field_of_a_closed_loop_output() -> None:
    report = read_console(CLOSED)
    assert report.latency is not None
    assert report.latency.mean == 45_370
    assert report.requests_per_thread is not None
    assert report.requests_per_thread.mean == 22.49
    assert report.socket_errors is not None
    assert (report.socket_errors.connect, report.socket_errors.timeout) == (1, 4)
    assert report.non_2xx == 7
    assert report.diagnostics == ()


def test_output_may_end_after_any_line() -> None:
    lines = PUT.splitlines()
    full = read_console(PUT)
    for end in range(len(lines)):
        report = read_console("\n".join(lines[:end]))
        assert report.requests in (None, full.requests)
        assert report.latencies.spectrum == full.latencies.spectrum[: len(report.latencies.spectrum)]
        assert (report.requests_per_s is not None) == (end > lines.index("Requests/sec:  24999.93"))


def test_output_may_end_after_any_character() -> None:
    for end in range(0, len(CLOSED), 3):
        find_reports(CLOSED[:end])


def test_a_diagnostic_in_the_middle_is_kept_and_costs_nothing() -> None:
    broken = PUT.replace("  Latency Distribution", "unable to record 123 us\n  Latency Distribution")
    report = read_console(broken)
    assert report.diagnostics == ("unable to record 123 us",)
    assert report.requests == 4_499_986
    assert len(report.latencies.spectrum) == 100


def test_numbers_that_are_none() -> None:
    text = """Running 10s test @ http://127.0.0.1:1
  1 threads and 1 connections
  Thread calibration: mean lat.: -nanms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     -nanus    -nanus   0.00us     -nan%
    Req/Sec      -nan      -nan     0.00      -nan%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    0.00us
100.000%    0.00us

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.000     1.000000            0          inf
#[Mean    =         -nan, StdDeviation   =         -nan]
#[Max     =        0.000, Total count    =            0]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  0 requests in 10.00s, 0.00B read
Requests/sec:      0.00
Transfer/sec:       0.00B
"""
    report = read_console(text)
    assert report.latency is not None
    assert math.isnan(report.latency.mean or 0)
    assert report.latency.max == 0
    assert math.isnan(report.calibrations_us[0] or 0)
    assert report.latencies.spectrum[0].inverse == math.inf
    assert (report.requests, report.requests_per_s) == (0, 0)


def test_a_list_of_percentiles_without_a_head_is_an_output() -> None:
    text = "## 10K\n```\n 50.000%  664.00us\n 99.000%    2.00ms\n100.000%   25.25ms\n```\n## 45K\n 50.000%  926.21ms\n"
    first, second = find_reports(text)
    assert first.latencies.rows == ((0.5, 664), (0.99, 2_000), (1.0, 25_250))
    assert second.latencies.rows == ((0.5, 926_210),)


def test_a_command_above_a_heading_belongs_to_something_else() -> None:
    text = "$ wrk -t1 -c1 -R5 -s a.lua http://h\n## Another matter\n" + CLOSED
    assert read_console(text).command is None


def test_a_command_with_other_threads_belongs_to_something_else() -> None:
    assert read_console("$ wrk -t8 -c8 -s a.lua http://h\n" + CLOSED).command is None


def test_a_command_on_several_lines() -> None:
    report = read_console("$ wrk -t2 -c2 \\\n   -d1m \\\n   http://localhost:8080\n" + CLOSED)
    assert report.command is not None
    assert report.command.duration_s == 60


def test_quotes_windows_line_ends_and_colours() -> None:
    quoted = "".join(f"> \x1b[32m{line}\x1b[0m\r\n" for line in CLOSED.splitlines())
    assert read_console(quoted).requests == 2_693


def test_nothing_is_an_empty_report() -> None:
    assert read_console("") == ConsoleReport()
    assert find_reports("no output here, 50% of nothing\n```\nls\n```") == []


def test_numbers_too_long_for_a_number_are_no_error() -> None:
    digits = "9" * 5_000
    for line in CLOSED.splitlines():
        for number in re.findall(r"\d+", line):
            find_reports(CLOSED.replace(line, line.replace(number, digits, 1)))
    find_reports(PUT.replace("4249896", digits).replace("27,", digits + ","))


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    find_reports(text)


@given(st.lists(st.sampled_from((*PUT.splitlines()[:60], *CLOSED.splitlines(), "", "```", "prose")), max_size=40))
def test_no_order_of_lines_is_an_error(lines: list[str]) -> None:
    for report in find_reports("\n".join(lines)):
        report.spectrum_frame()
        report.percentiles_frame()
        report.summary_frame()


@given(st.integers(0, len(PUT) - 1), st.characters())
def test_one_wrong_character_is_no_error(position: int, character: str) -> None:
    find_reports(PUT[:position] + character + PUT[position + 1 :])
