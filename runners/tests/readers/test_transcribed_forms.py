"""Read figures in forms other than tables and lists of one run: sentences, charts, rates alone or offered."""

from __future__ import annotations

from runners.readers.documents import text_document
from runners.readers.outputs import Output, outputs_of


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
