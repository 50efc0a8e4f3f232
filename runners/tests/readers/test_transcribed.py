"""Runs that an author retells in tables and lists are read as he states them, and nothing is guessed."""

from __future__ import annotations

import pytest

from runners.audit.audit import examine
from runners.readers.documents import text_document
from runners.readers.figure_names import figure_name
from runners.readers.load_tools import OF_SEVERAL
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import HEALTHY

ONE = """# Load

The shop was loaded with k6 once.

| Metric | Value |
|--------|-------|
| Total requests | 5456 |
| Error rate | 1.68% |
| p(50) latency | 1.94s |
| p(95) latency | 11.84s |
| Avg latency | 4.19s |
"""
ROWS = """# Ergebnis

Tool: autocannon. Alles lief auf derselben Maschine.

| Connections | Total requests | Avg RPS | Avg latency | p50 | p99 | Non-2xx |
|---|---|---|---|---|---|---|
| 100 | 1,075,854 | 35,864 | 2.32 ms | 2 ms | 5 ms | 0 |
| 500 | 857,635 | 28,588 | 17.13 ms | 17 ms | 32 ms | 12 |
"""
COLUMNS = """# Bun и Express

Серверы нагружались командой `wrk` по очереди.

| Метрика              | **Bun**    | **Express** | Change |
|----------------------|------------|-------------|--------|
| Requests/sec         | **36 387** | 6 985       | -80%   |
| Средняя задержка (мс) | 2,15       | 13,81       | +542%  |
| Max latency          | 40 мс      | 191 мс      |        |
| Timeouts             | 0          | 135         |        |
"""
LIST = """# Baseline

It was measured by `hey` on a laptop.

- **Total requests:** 980
- **RPS**: 24.5
- p50 latency: 4ms
- p99 latency: 7ms
"""


KOREAN = """# 부하 테스트

k6 로 측정했다.

| 지표 | WAS 1대 | WAS 3대 | 변화 |
|------|---------|---------|------|
| http_reqs | 20.5/s | 80.1/s | +290% |
| p95 응답시간 | 30.9s | 10.5s | -66% |
| 에러율 | 15.5% | 0% | |
"""
JAPANESE = """# 負荷試験

ツールは k6 である。

| 最大VU | HTTPリクエスト数 | p95応答時間 | 最大応答時間 | HTTP失敗率 |
| ---: | ---: | ---: | ---: | ---: |
| 10 | 900 | 3.08ms | 0.6秒 | 0.00% |
| 500 | 20,000 | 1.5秒 | 40秒 | 2.00% |
"""
SPANISH = """# Informe

Medido con JMeter.

| Servidor | Promedio (ms) | P95 (ms) | Throughput (req/s) | % Error |
|----------|---------------|----------|--------------------|---------|
| uno | 17.5 | 32 | 563.3 | 0.00% |
| otro | 55.5 | 131 | 400.0 | 0.25% |
"""


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(text_document(text)).outputs


def codes(text: str) -> set[str]:
    return {remark.code for remark in examine(outputs(text))}


def test_a_table_of_figures_and_values_is_a_run() -> None:
    (output,) = outputs(ONE)
    report = output.report
    assert output.tool == "k6"
    assert report.requests == 5_456
    assert report.non_2xx == 92
    assert report.latencies.rows == ((0.5, 1.94e6), (0.95, 11.84e6))
    assert report.latency is not None
    assert report.latency.mean == pytest.approx(4.19e6)
    assert report.requests_per_s is None


def test_each_row_is_a_run_where_the_figures_are_the_head() -> None:
    first, second = outputs(ROWS)
    assert [first.connections, second.connections] == [100, 500]
    assert first.report.requests == 1_075_854
    assert second.report.non_2xx == 12
    assert second.report.requests_per_s == 28_588
    assert second.report.latencies.rows == ((0.5, 17_000.0), (0.99, 32_000.0))
    assert "500" in second.label


def test_a_row_that_begins_with_an_empty_cell_keeps_its_columns() -> None:
    table = "| Query | Server | Requests/sec | Latency (ms) |\n|---|---|---|---|\n|| [One] | `2,092.70` | `4.5` |\n"
    (output,) = outputs(f"# Servers\n\nLoaded by wrk.\n\n{table}")
    assert (output.label.partition(" (")[0], output.report.requests_per_s) == ("[One]", 2_092.7)
    assert output.report.latency is not None
    assert output.report.latency.mean == 4_500


def test_each_column_is_a_run_and_a_change_is_none() -> None:
    first, second = outputs(COLUMNS)
    assert [first.report.requests_per_s, second.report.requests_per_s] == [36_387, 6_985]
    assert first.report.latency is not None
    assert first.report.latency.mean == pytest.approx(2_150)
    assert first.report.latency.max == pytest.approx(40_000)
    assert second.report.socket_errors is not None
    assert second.report.socket_errors.timeout == 135


def test_figures_are_understood_in_other_languages() -> None:
    one, three = outputs(KOREAN)
    assert (one.report.error_share, one.report.latencies.rows) == (0.155, ((0.95, 30.9e6),))
    assert three.report.latencies.rows == ((0.95, 10.5e6),)
    few, many = outputs(JAPANESE)
    assert (few.connections, few.report.requests, few.report.max_us) == (10, 900, 600_000)
    assert (many.report.non_2xx, many.report.latencies.rows) == (400, ((0.95, 1.5e6),))
    first, second = outputs(SPANISH)
    assert (first.report.requests_per_s, first.report.latencies.rows) == (563.3, ((0.95, 32_000.0),))
    assert second.report.error_share == 0.0025


def test_counts_and_times_are_read_as_languages_write_them() -> None:
    korean = "# 결과\n\nk6 로 측정했다.\n\n- 총 요청: 12,500개\n- 실패: 15개 (0.12%)\n- P95: 1분 5초\n"
    (output,) = outputs(korean)
    assert (output.report.requests, output.report.non_2xx) == (12_500, 15)
    assert output.report.latencies.rows == ((0.95, 65e6),)
    table = "| Metric | Before | After |\n|---|---|---|\n| p95 | 3m 48s | 4.16s |\n| Max | 1分50秒 | 6s |\n"
    before, after = outputs(f"Loaded by k6.\n\n{table}")
    assert (before.report.latencies.at(0.95), before.report.max_us) == (228e6, 110e6)
    assert (after.report.latencies.at(0.95), after.report.max_us) == (4.16e6, 6e6)


@pytest.mark.parametrize(
    ("said", "share"),
    [
        ("| Success rate | 97.5% |", 0.025),
        ("| Success rate | 99.95% |", None),  # rounded, and hardly any
        ("| Success rate | 97.5% |\n| Error rate | 1.5% |", 0.015),
        ("| 성공률 | 90% |", 0.1),
        ("| Check success | 90% |", None),
    ],
)
def test_who_gives_the_share_of_successes_gives_that_of_errors(said: str, share: float | None) -> None:
    (output,) = outputs(f"Loaded by k6.\n\n| Metric | Value |\n|---|---|\n| p95 | 40 ms |\n| RPS | 90 |\n{said}\n")
    assert output.report.error_share == (None if share is None else pytest.approx(share))
    counted = f"Loaded by k6.\n\n| Metric | Value |\n|---|---|\n| p95 | 40 ms |\n| Requests | 2,000 |\n{said}\n"
    assert outputs(counted)[0].report.non_2xx == (None if share is None else round(2_000 * share))


def test_errors_that_are_a_share_are_errors_and_none_is_none() -> None:
    assert "ERR001" in codes(KOREAN)
    assert "ERR001" not in codes(KOREAN.replace("15.5%", "0.00%"))


def test_a_tool_is_named_between_characters_without_spaces() -> None:
    (output,) = outputs(f"# 压测\n\n使用wrk压测接口\n\n{ONE.partition('once.')[2]}")
    assert output.tool == "wrk"


def test_virtual_users_alone_are_those_of_k6() -> None:
    (output,) = outputs(ONE.replace("with k6", "by 50 VUs"))
    assert (output.tool, output.report.closed_loop) == ("k6", True)


KEPT = """# Servers

The hosts are known.
They were loaded one by one.

```
First
wrk2/wrk -d2 -c10 -t4 -R 100000 "http://localhost:8085/a"
Requests/sec: 77811.25

Second
wrk2/wrk -d2 -c10 -t4 -R 100000 "http://localhost:8081/a"
Requests/sec:  40018.5
```
"""


def test_the_last_lines_of_outputs_are_runs_of_the_command_above_them() -> None:
    first, second = outputs(KEPT)
    assert (first.tool, first.offered_rps, first.duration_s, first.connections) == ("wrk2", 100_000, 2, 10)
    assert [first.report.requests_per_s, second.report.requests_per_s] == [77_811.25, 40_018.5]
    assert {"RUN001", "RUN002", "RAT001", "RUN005", "SMP004"} <= codes(KEPT)


def test_rates_without_a_command_are_of_the_documents_only_one() -> None:
    said = "# Loads\n\nBy `wrk -t12 -c400 -d1m <URL>` each.\n\n## /a\n\n"
    text = f"{said}one   Requests/sec: 10.5\ntwo   Requests/sec: 9.5\n"
    one, two = outputs(text)
    assert (one.tool, one.label, one.threads, two.label) == ("wrk", "one", 12, "two")
    assert outputs(text.replace("two   Requests/sec: 9.5", "")) == ()
    assert outputs(text.replace("wrk", "a script")) == ()


@pytest.mark.parametrize(
    ("line", "levels"),
    [
        ("- GET /a: p50 4ms, p99 7.5ms (max: 13ms)", {0.5: 4_000, 0.99: 7_500}),
        ("It came to p50=4ms and p99=7.5ms.", {0.5: 4_000, 0.99: 7_500}),
        ("- GET /a: P95 280ms", {0.95: 280_000}),  # nothing else is given in the document
        ("The target is p50 4ms, p99 7.5ms.", None),
        ("p99 went from p99 9ms to p99 7.5ms.", {0.99: 9_000}),  # as it was at first
    ],
)
def test_figures_of_one_line_are_a_run(line: str, levels: dict[float, float] | None) -> None:
    found = outputs(f"# Load\n\nBy k6.\n\n{line}\n")
    assert [dict(output.report.latencies.rows) for output in found] == ([] if levels is None else [levels])


def test_figures_of_one_line_in_a_list_are_of_its_run() -> None:
    (output,) = outputs("# Load\n\nBy k6.\n\n- Requests: 2,000\n- Latency: p50 4ms, p99 7ms\n- Error rate: 1%\n")
    assert (output.report.requests, output.report.non_2xx) == (2_000, 20)
    assert output.report.latencies.rows == ((0.5, 4_000.0), (0.99, 7_000.0))


RATES = """# Frameworks

Loaded by `wrk -t12 -c100 -d30s http://host/`.

| Place | Framework | Requests/sec | Memory |
|---|---|---|---|
| 1. | One | 51,234.5 | 8 MB |
| 2. | Two | 40k | 9 MB |
"""


def test_rates_alone_are_runs_of_the_command_that_the_document_holds() -> None:
    one, two = outputs(RATES)
    assert [one.report.requests_per_s, two.report.requests_per_s] == [51_234.5, 40_000]
    assert (one.label.partition(" (")[0], one.threads, one.connections, one.duration_s) == ("One", 12, 100, 30)
    assert {"RUN002", "RUN005"} <= codes(RATES)
    assert outputs(RATES.replace(" -t12 -c100 -d30s http://host/", "")) == ()
    assert outputs(RATES.replace("| 2. | Two | 40k | 9 MB |\n", "")) == ()
    assert outputs(RATES.replace("# Frameworks", "# Scenarios")) == ()
    assert outputs(RATES.replace("# Frameworks", "# Rate limiting")) == ()


def test_a_table_of_nothing_but_rates_is_one_of_runs() -> None:
    table = "| Scenario | One | Two | One vs Two |\n|---|---|---|---|\n| JSON | 51,897 | 22,775 | 2.28x |\n"
    first, second = outputs(f"# Servers\n\nBy autocannon.\n\n## Throughput by scenario\n\n{table}")
    assert [each.label for each in (first, second)] == ["One (JSON)", "Two (JSON)"]
    assert [each.report.requests_per_s for each in (first, second)] == [51_897, 22_775]
    assert outputs(f"# Servers\n\nBy autocannon.\n\n## Lines of code\n\n{table}") == ()
    assert outputs(f"# Servers\n\nBy a script.\n\n## Throughput by scenario\n\n{table}") == ()
    assert outputs(f"# Servers\n\nBy autocannon.\n\n## Throughput\n\n{table.replace('22,775', '~22k')}") == ()


def test_a_list_of_names_with_rates_is_one_of_runs() -> None:
    said = "# Frameworks\n\nEach by `wrk -t2 -c4 http://host/`:\n\n"
    listed = "- [One](https://one) - 12,345.5 req/sec\n- Two: 9000 req/s\n- **Three** 0.8k req/s (slow)\n"
    first, second, third = outputs(f"{said}{listed}")
    assert [each.report.requests_per_s for each in (first, second, third)] == [12_345.5, 9_000, 800]
    assert (second.label, third.label) == ("Two", "Three")
    assert len(outputs(f"{said}{listed}".replace("wrk -t2 -c4 http://host/", "wrk"))) == 3


def test_a_command_is_not_that_of_a_run_at_another_number_of_connections() -> None:
    text = ROWS.replace("autocannon", "wrk").replace("Alles", "`wrk -t8 -c100 -d5s http://host/`. Alles")
    first, second = outputs(text)
    assert (first.threads, second.threads) == (8, None)


def test_of_several_tools_the_one_that_is_called_made_the_figures() -> None:
    named = ONE.replace("with k6", "with k6, as one could with wrk or hey,")
    unknown = outputs(named)
    assert [(output.tool, output.report.closed_loop) for output in unknown] == [(OF_SEVERAL, None)]
    (output,) = outputs(f"{named}\n```\nk6 run load.js\n```\n")
    assert output.tool == "k6"
    (both,) = outputs(f"{named}\n```\nk6 run load.js\nwrk -t2 -c4 http://host/\n```\n")
    assert both.tool == OF_SEVERAL


def test_a_unit_in_the_head_of_a_column_is_that_of_its_figures() -> None:
    table = "| Métrica | Valor (ms) |\n|---|---|\n| **Tiempo medio (mean)** | 6.5 |\n| p95 (percentil 95) | 10.5 |\n"
    (output,) = outputs(f"# Informe\n\nMedido con Artillery.\n\n{table}")
    assert (output.tool, output.report.closed_loop) == ("Artillery", None)
    assert output.report.latencies.rows == ((0.95, 10_500.0),)
    (closed,) = outputs(f"# Informe\n\nMedido con Locust.\n\n{table}")
    assert closed.report.closed_loop


def test_a_list_of_figures_is_a_run() -> None:
    (output,) = outputs(LIST)
    assert (output.tool, output.report.requests, output.report.requests_per_s) == ("hey", 980, 24.5)
    assert output.report.latencies.rows == ((0.5, 4_000.0), (0.99, 7_000.0))


def test_tables_that_state_other_figures_of_one_run_are_one() -> None:
    head = "Run by k6.\n\n| Metric | Value |\n|---|---|\n| Max VUs | 1000 |\n| Requests | 92,742 |\n"
    (output,) = outputs(
        f"{head}\n## Latency\n\n| Metric | Value |\n|---|---|\n| Average | 2,458.31 ms |\n| P95 | 5.9 s |\n"
    )
    assert (output.connections, output.report.requests) == (1_000, 92_742)
    assert output.report.latencies.rows == ((0.95, 5.9e6),)


def test_a_run_that_is_reported_twice_is_one() -> None:
    assert len(outputs(f"{ROWS}\n## In detail\n\nAvg RPS: 35864\np50: 2 ms\np99: 5 ms\n")) == 2


@pytest.mark.parametrize(
    "text",
    [
        ONE.replace("k6", "a script"),
        ONE.replace("# Load", "# Expected results"),
        ONE.replace("Value", "Target"),
        ONE.replace("1.94s", "<1.94s").replace("11.84s", "<11.84s").replace("4.19s", ">4.19s"),
        ONE.replace("1.94s", "fast").replace("11.84s", "slow").replace("4.19s", "4.19"),
        ONE.replace("latency", "of the price"),
    ],
    ids=["no tool", "expected", "target", "limits", "no unit", "another figure"],
)
def test_nothing_is_read_where_it_would_be_a_guess(text: str) -> None:
    found = [output.report for output in outputs(text) if output.report.transcribed]
    assert not [report for report in found if report.latencies.rows or report.latency or report.requests_per_s]


def test_tables_next_to_an_output_are_no_runs() -> None:
    found = outputs(f"{ROWS.replace('autocannon', 'wrk2')}\n```\n{HEALTHY}```\n")
    assert not any(output.report.transcribed for output in found)


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("P(95)", "p:0.95"),
        ("Latency (p99.9)", "p:0.999"),
        ("p999", "p:0.999"),
        ("95th Percentile", "p:0.95"),
        ("Медиана", "p:0.5"),
        ("Latency", "mean_us"),
        ("Queue latency", None),
        ("http_req_duration p(90)", "p:0.9"),
        ("P95 延迟", "p:0.95"),
        ("Max response time (ms)", "max_us"),
        ("**Requests/sec**", "rate"),
        ("Запросов в секунду", "rate"),
        ("Процент ошибок", "errors"),
        ("p(95) ms", "p:0.95"),
        ("p50_ms", "p:0.5"),
        ("99%ile\uff08ms\uff09", "p:0.99"),
        ("RPS / пропускная способность", "rate"),
        ("Success rate", "success"),
        ("VUs", "connections"),
        ("p(95) < 300", None),
        ("Redis GET P95", None),
        ("Requests/sec per core", None),
        ("Min latency", None),
    ],
)
def test_a_name_is_understood_word_by_word_or_not_at_all(name: str, figure: str | None) -> None:
    found = figure_name(name)
    assert (found[0] if found else None) == figure


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ONE, "RAT004"),
        (ONE, "ERR001"),
        (ONE, "RUN006"),
        (ONE, "SMP004"),
        (LIST, "SMP001"),
        (COLUMNS, "ERR004"),
        (COLUMNS, "RUN005"),
        (ONE.replace("p(95)", "Minimum"), "RUN005"),
        (f"{COLUMNS}\nThroughput dropped by 80 % compared to Bun.\n", "CMP003"),
    ],
)
def test_rules_that_need_only_such_figures_run(text: str, code: str) -> None:
    assert code in codes(text)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ONE.replace("with k6", "with k6 (constant-arrival-rate)"), "RAT004"),
        (ONE.replace("k6", "Gatling"), "RAT004"),
        (ONE, "RAT002"),
        (ONE.replace("k6", "Gatling"), "RAT002"),
        (ONE, "SMP002"),
        (ONE.replace("1.68%", "0%"), "ERR001"),
        (LIST.replace("980", "98000"), "SMP001"),
        (ROWS, "SMP002"),
        (ROWS, "RUN005"),
    ],
)
def test_rules_that_can_not_be_sure_are_silent(text: str, code: str) -> None:
    assert outputs(text)
    assert code not in codes(text)
