"""Read figures in forms other than tables and lists of one run: sentences, charts, rates alone or offered."""

from __future__ import annotations

import pytest

from runners.readers.documents import text_document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(text_document(text)).outputs


def test_rates_listed_one_below_the_other_are_runs() -> None:
    rates = "- Gin: 12,000 req/s\n- Echo: 11,500 req/s\n- Fiber: 19,000 req/s\n"
    found = outputs(f"# Benchmark\n\nMeasured with wrk.\n\n{rates}")
    assert [(output.label.split(" (")[0], output.report.requests_per_s) for output in found] == [
        ("Gin", 12000.0),
        ("Echo", 11500.0),
        ("Fiber", 19000.0),
    ]
    assert not outputs(f"# Benchmark\n\nMeasured with a script of ours.\n\n{rates}")


def test_a_chart_of_rates_is_read() -> None:
    chart = '```mermaid\nxychart-beta\n    title "Requests per second"\n    x-axis [one, two, three]\n'
    chart += "    bar [1200, 1100, 900]\n```\n"
    found = outputs(f"# Benchmark\n\nMeasured with wrk.\n\n{chart}")
    assert [output.report.requests_per_s for output in found] == [1200, 1100, 900]


def test_a_sentence_with_a_rate_and_a_latency_is_a_run() -> None:
    found = outputs("# Load\n\nWith hey the server reached 2500 requests per second at a p99 latency of 12 ms.\n")
    assert [(output.report.requests_per_s, output.report.latencies.rows) for output in found] == [
        (2500.0, ((0.99, 12000.0),))
    ]
    assert not outputs("# Load\n\nWith hey the server should reach 2500 requests per second at a p99 of 12 ms.\n")
    assert not outputs("# Load\n\nWith Artillery:\n\n- Warmup (60s): 2 requests per second for the API\n")


def test_an_offered_rate_and_the_achieved_one_are_of_one_run() -> None:
    table = "| Target | Achieved | p99 |\n|---|---|---|\n| 1000 req/s | 998 req/s | 4 ms |\n"
    table += "| 2000 req/s | 1400 req/s | 9 s |\n"
    found = outputs(f"# Load\n\nMeasured with k6, by constant-arrival-rate.\n\n{table}")
    assert [(output.offered_rps, output.report.requests_per_s) for output in found] == [(1000, 998), (2000, 1400)]


def test_rates_in_thousands_by_load_are_runs() -> None:
    table = "| Connections | Go | Rust |\n|---|---|---|\n| 64 | 81 krps | 95 krps |\n| 256 | 85 krps | 99 krps |\n"
    found = outputs(f"# Throughput\n\nMeasured with wrk.\n\n{table}")
    assert sorted(output.report.requests_per_s or 0 for output in found) == [81e3, 85e3, 95e3, 99e3]
    assert {output.connections for output in found} == {64, 256}


def test_figures_that_are_estimates_are_no_measurement() -> None:
    figures = "- P50 Latency: 1.2ms\n- P95 Latency: 2.5ms\n- Sustained Req/Sec: 12,400 rps\n"
    assert outputs(f"# Results of k6\n\n{figures}")
    assert not outputs(f"# Results of k6\n\n> The numbers below are **estimates** and not measured.\n\n{figures}")


def test_times_of_parts_of_a_request_are_no_other_run() -> None:
    rows = "| p50 | 4.0 ms | 4.1 ms |\n| p95 | 109.8 ms | 109.6 ms |\n"
    kinds = "| Percentile | Report Latency | HTTP Duration |\n|---|---|---|\n"
    states = "| Percentile | Old | New |\n|---|---|---|\n"
    assert len(outputs(f"# Results of k6\n\n{kinds}{rows}")) == 1
    assert len(outputs(f"# Results of k6\n\n{states}{rows}")) == 2


def test_rows_named_by_groups_are_distinguished() -> None:
    rows = "| 25 June | local | search | 21.1 | 6330 |\n| 25 June | local | smoke | 7.5 | 1560 |\n"
    found = outputs(f"# Results of k6\n\n| Date | Place | Scenario | RPS | p95 (ms) |\n|---|---|---|---|---|\n{rows}")
    assert len({output.label for output in found}) == 2


def test_a_table_whose_cells_tabs_part_is_read() -> None:
    rows = "Prueba\tUsuarios\tTiempo Promedio\tTiempo Máximo\nCarga\t25\t~75 ms\t1300 ms\nPico\t500\t1364 ms\t9 s\n"
    found = outputs(f"# Pruebas de carga\n\nMedido con JMeter.\n\n{rows}")
    assert [(run.connections, run.report.latency and run.report.latency.max) for run in found] == [
        (25, 1_300_000.0),
        (500, 9_000_000.0),
    ]


@pytest.mark.parametrize(
    ("other", "median_us"),
    [("29.6 %", 5_731_000.0), ("1,234,567", 5_731_000.0), ("29,6 %", None), ("nothing", None)],
)
def test_a_comma_in_a_time_is_of_thousands_where_fractions_have_a_point(other: str, median_us: float | None) -> None:
    table = f"| Metric | Result |\n|---|---|\n| Req/s | 221 |\n| p50 | 5,731 ms |\n| max | 9 s |\n| Other | {other} |\n"
    (run,) = outputs(f"# Load\n\nMeasured with k6.\n\n{table}")
    assert run.report.latencies.at(0.5) == median_us


@pytest.mark.parametrize(
    ("took", "seconds"),
    [
        ("1 Hour", 3600),
        ("16 m 56 s", 1016),
        ("9m0s", 540),
        ("90 seconds", 90),
        ("3분 20초", 200),
        ("2 мин", 120),
        ("30s (steady)", 30),
        ("~20 min", None),
        ("a while", None),
    ],
)
def test_how_long_a_run_took_is_read(took: str, seconds: float | None) -> None:
    table = f"| Metric | Result |\n|---|---|\n| Duration | {took} |\n| Req/s | 221 |\n| p50 | 5 ms |\n"
    (run,) = outputs(f"# Load\n\nMeasured with k6.\n\n{table}")
    assert run.report.elapsed_s == seconds


def test_what_is_measured_next_to_what_is_wanted_is_read() -> None:
    figures = "- p(95): 105.48ms\n- http_reqs: 1561\n"
    assert outputs(f"# Load by k6\n\n## SLO & Results\n\n{figures}")
    assert not outputs(f"# Load by k6\n\n## SLO\n\n{figures}")


USERS = "## Soak\n\nRamp to 2 000 VUs.\n\n| Metric | Value |\n|---|---|\n| p95 | 9 ms |\n| Req/s | 20 |\n\n"
ARRIVALS = (
    "## Burst\n\nA constant-arrival-rate of 2000.\n\n| Metric | Value |\n|---|---|\n| p99 | 7 ms |\n| Errors | 4 |\n\n"
)


def test_each_section_says_whether_its_requests_leave_at_a_rate() -> None:
    found = outputs(f"# Load by k6\n\n{USERS}{ARRIVALS}")
    assert [run.report.closed_loop for run in found] == [True, None]


def test_sections_of_other_loads_are_other_runs() -> None:
    assert len(outputs(f"# Load by k6\n\n{USERS}{ARRIVALS}")) == 2
    same = ARRIVALS.replace("A constant-arrival-rate of 2000.\n\n", "")
    assert len(outputs(f"# Load by k6\n\n{USERS}{same}")) == 1


def test_the_tool_of_a_heading_made_the_figures() -> None:
    table = "| Test | p50 | p95 |\n|---|---|---|\n| one | 4 ms | 9 ms |\n| two | 5 ms | 9 ms |\n"
    others = "Locust needs hooks; hey has no limits."
    assert {run.tool for run in outputs(f"# Load\n\n## Tooling: Grafana k6\n\n{others}\n\n{table}")} == {"k6"}


@pytest.mark.parametrize(
    ("head", "rows", "closed", "rates"),
    [
        ("| QPS | p99 | Throughput |", ("| 1,000 | 4 ms | 998/s |", "| 5,000 | 12 s | 2,327/s |"), None, [998, 2327]),
        (
            "| 目标 QPS | 实际吞吐 | P99 |",
            ("| 5,000 | 4,983/s | 4 ms |", "| 8,000 | 4,000/s | 1 s |"),
            None,
            [4983, 4000],
        ),
        ("| QPS | p99 | Throughput |", ("| 1,000 | 4 ms | 1,300/s |", "| 5,000 | 12 s | 2,327/s |"), None, None),
    ],
)
def test_round_rates_next_to_achieved_ones_were_offered(
    head: str, rows: tuple[str, str], closed: bool | None, rates: list[float] | None
) -> None:
    table = "\n".join((head, "|---|---|---|", *rows))
    found = outputs(f"# Load by vegeta\n\n{table}\n")
    assert [run.report.closed_loop for run in found] == [closed, closed]
    if rates:
        assert [run.report.requests_per_s for run in found] == rates
        assert [run.offered_rps for run in found] == [
            1000 if rates[0] == 998 else 5000,
            5000 if rates[0] == 998 else 8000,
        ]
    else:
        assert [run.offered_rps for run in found] == [None, None]


@pytest.mark.parametrize(
    ("said", "closed"),
    [
        ("It sent 15,001 requests at 50/s for 5m.", None),
        ("All connections held, with 0 dropped iterations.", None),
        ("- 요청 속도: 1,000 TPS", None),
        ("- 요청 속도: 1,037 TPS", True),
        ("It answered 15,001 requests, 50/s.", True),
    ],
)
def test_what_says_that_requests_left_at_a_rate(said: str, closed: bool | None) -> None:
    (run,) = outputs(f"# Load by k6\n\n{said}\n\n| Metric | Value |\n|---|---|\n| p50 | 4 ms |\n| p95 | 9 ms |\n")
    assert run.report.closed_loop is closed


def test_rates_next_to_dropped_iterations_were_offered() -> None:
    rows = "| 1000/s | 4 ms | 0 |\n| 1350/s | 2 s | 10,016 |\n"
    found = outputs(f"# Load by k6\n\n| Rate | p95 | Dropped |\n|---|---|---|\n{rows}")
    assert [(run.report.closed_loop, len(run.report.extra)) for run in found] == [(None, 0), (None, 1)]


@pytest.mark.parametrize(("achieved", "offered"), [("57.4 /s", 600.0), ("400 /s", None)])
def test_a_ramp_held_no_quarter_of_its_highest_rate(achieved: str, offered: float | None) -> None:
    table = f"| 지표 | 풀 40 |\n|---|---|\n| 성공 처리량 | {achieved} |\n| 성공 요청 p95 | 186 ms |\n"
    (run,) = outputs(f"# k6\n\n## B\n\nk6 ramping-arrival-rate, offered 600 rps.\n\n{table}")
    assert run.offered_rps == offered


def test_an_offered_rate_in_a_sentence_was_not_achieved() -> None:
    said = "offered 1,200 rps, and 14 req/s succeeded at an average of 60s."
    assert [run.report.requests_per_s for run in outputs(f"# Load by k6\n\n{said}\n")] == [14.0]


@pytest.mark.parametrize(
    ("head", "cells", "requests"),
    [
        ("| API | 請求數 | 失敗率 | 平均 | P95 |", "| 登入 | 25 | 0% | 706ms | 820ms |", 25),
        ("| API | 요청 수 | 실패율 | 평균 | P95 |", "| a | 25 | 0% | 706ms | 820ms |", 25),
        ("| API | http_req_failed | P95 |", "| a | 0.00% (0/60) | 8 ms |", 60),
        ("| API | http_req_failed | P95 |", "| a | 2 % (2 of 1,100) | 8 ms |", 1100),
        ("| API | http_req_failed | P95 |", "| a | 2 % (2/min) | 8 ms |", None),
    ],
)
def test_how_many_requests_a_row_is_of(head: str, cells: str, requests: int | None) -> None:
    rule = "|---" * (head.count("|") - 1) + "|"
    found = outputs(f"# Load by Locust\n\n{head}\n{rule}\n{cells}\n{cells}\n")
    assert {run.report.requests for run in found} == {requests}
