"""Figures that a report states in whatever spelling are read, and what nobody measured is not."""

from __future__ import annotations

from itertools import product

import pytest

from runners.readers.documents import text_document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.readers.stated_figures import Stated, stated_figures

NUMBERS = {"1200": 1200.0, "1,200": 1200.0, "~1200": 1200.0, "1.2k": 1200.0, "1200+": 1200.0, "1200-1500": 1200.0}
UNITS = {
    "req/s": 1, "requests/sec": 1, "requests per second": 1, "RPS": 1, "QPS": 1, "TPS": 1, "ops/s": 1, "msg/s": 1,
    "events per second": 1, "запросов/с": 1, "запросов в секунду": 1, "requests/min": 60, "rpm": 60,
    "requisições por segundo": 1, "istek/sn": 1,
}  # fmt: skip
FORMS = (
    "The server handled {} under load.",
    "- Throughput: **{}**",
    "| Throughput | {} |",
    "Нагрузка: сервер показал {}.",
    "最高达到 {}。",
)
TIMES = {"40 ms": 40e3, "~40ms": 40e3, "1.2 s": 1.2e6, "40-60 ms": 40e3, "800µs": 800.0, "40 мс": 40e3, "40 毫秒": 40e3}
LATENCIES = {
    "p95 latency was {}.": "p:0.95",
    "| p99 | {} |": "p:0.99",
    "- Average response time: {}": "mean_us",
    "95th percentile latency stayed at {}": "p:0.95",
    "Средняя задержка составила {}": "mean_us",
    "平均响应时间 {}": "mean_us",
    "평균 응답 시간 {}": "mean_us",
}


def figures(body: str, title: str = "Load test results") -> list[Stated]:
    return stated_figures(text_document(f"# {title}\n\n{body}\n").lines)


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(text_document(text)).outputs


@pytest.mark.parametrize("form", FORMS)
def test_a_rate_is_read_in_any_spelling(form: str) -> None:
    for (number, value), (unit, seconds) in product(NUMBERS.items(), UNITS.items()):
        said = form.format(f"{number} {unit}")
        if "|" in form:
            said = f"| Metric | Value |\n|---|---|\n{said}"
        found = figures(f"{said}\n\nThe mean latency was 4 ms.")
        assert [each.value for each in found if each.name == "rate"] == [pytest.approx(value / seconds)], said


@pytest.mark.parametrize("form", LATENCIES)
def test_a_latency_is_read_in_any_spelling(form: str) -> None:
    for text, value in TIMES.items():
        said = form.format(text)
        if "|" in form:
            said = f"| Metric | Value |\n|---|---|\n{said}"
        found = figures(f"{said}\n\nIt reached 900 req/s.")
        assert [(each.name, each.value) for each in found if each.name != "rate"] == [(LATENCIES[form], value)], said


@pytest.mark.parametrize(
    "said",
    [
        "The target is 1200 req/s at a p95 latency of 40 ms.",
        "It should handle 1200 req/s with a p99 latency of 50 ms.",
        "Rate limit: 1200 requests per minute; the latency alert is at 40 ms.",
        "## Goals\n\n- 1200 req/s\n- p95 latency 40 ms",
        "## Thresholds\n\n| Metric | Value |\n|---|---|\n| p95 | 40 ms |\n| p99 | 60 ms |",
        "| Metric | Target |\n|---|---|\n| p95 latency | 40 ms |\n| Throughput | 1200 req/s |",
        "```js\nthresholds: { http_req_duration: ['p(95)<500'] }, // latency 40 ms, 30 req/s\n```",
        "The build took 40 s and 12 ms.",
    ],
)
def test_what_nobody_measured_is_not_read(said: str) -> None:
    assert figures(said) == []


def test_bounds_are_figures_of_results_and_no_limits_elsewhere() -> None:
    table = "| Users | p95 |\n|---|---|\n| 50 | <100ms |\n| 100 | <200ms |"
    assert [each.value for each in figures(table)] == [100e3, 200e3]
    assert figures(table, "Load test") == []
    assert len(figures("It handled 12k req/s with a p99 latency <50 ms.", "Load test")) == 2


def test_a_page_that_is_of_no_load_has_no_figures() -> None:
    assert figures("It handled 1200 req/s with a p99 latency of 50 ms.", "A queue for Go") == []


def test_a_report_of_which_nothing_else_is_read_is_one_of_a_run() -> None:
    said = "```text\nsale-data latency ≈ 600–800 ms\n```\n\n## After\n\nThe latency fell to 3-4 ms."
    found = outputs(f"# Load testing\n\nThe shop was loaded with k6.\n\n## Before\n\n{said}\n")
    assert [(each.label, each.report.latency and each.report.latency.mean) for each in found] == [
        ("Before", 600e3),
        ("After", 3e3),
    ]
    assert not outputs(f"# Load testing\n\nThe shop was loaded with a script.\n\n{said}\n")


def test_a_table_that_is_to_be_filled_in_says_that_nothing_was_measured() -> None:
    said = "# Load test\n\nBy k6.\n\nError rate: 2%. A call took a latency of 100 ms at 300 req/s.\n\n"
    for cell in ("-", "", "TODO"):
        assert not outputs(f"{said}| Metric | Value |\n|---|---|\n| p95 | {cell} |\n| Requests/sec | {cell} |\n")
    assert outputs(f"{said}| Metric | Value |\n|---|---|\n| p95 | 12 ms |\n| Requests/sec | 300 |\n")


def test_figures_below_a_heading_that_explains_an_output_are_none() -> None:
    for heading in ("Interpreting results", "예상 결과", "출력 결과 해석", "結果のテンプレート"):
        assert figures(f"## {heading}\n\n- p95 latency: 40 ms\n- Throughput: 1200 req/s") == []
