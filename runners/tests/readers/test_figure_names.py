"""Names and values of figures are understood as authors write them, and a limit or a guess is none."""

from __future__ import annotations

import pytest

from runners.readers.figure_names import figure_name, status_classes, value


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("Средний RPS", "rate"),
        ("Суммарный throughput", "throughput"),
        ("실제 RPS", "rate"),
        ("목표 RPS", "offered"),
        ("Target RPS", "offered"),
        ("Max RPS", None),
        ("Tempo Médio de Resposta", "mean_us"),
        ("p(95) - 95º Percentil", "p:0.95"),
        ("95% Line", "p:0.95"),
        ("응답시간 중간값", "p:0.5"),
        ("最慢的一个", "max_us"),
        ("Err %", "errors"),
        ("# Fails", "errors"),
        ("并发连接", "connections"),
        ("Virtual users (VUs)", "connections"),
        ("线程数", "threads"),
        ("# Samples", "requests"),
        ("Total requests sent", "requests"),
        ("503 Server Busy", "status:5:503"),
        ("HTTP 429", "status:4:http 429"),
        ("4xx", "status:4:4xx"),
        ("200 OK", "status:2:200"),
        ("500 users", None),
        ("200 connections", None),
        ("300 동시 사용자", None),
        ("404", None),
    ],
)
def test_a_name_is_understood_in_several_languages(name: str, figure: str | None) -> None:
    found = figure_name(name)
    assert (found[0] if found else None) == figure


@pytest.mark.parametrize(
    ("text", "name", "read"),
    [
        ("8.09ms (limit: <300ms) - 37x better", "p:0.95", 8_090.0),
        ("8.09ms (p50) - 12 ms", "p:0.95", None),
        ("1.06 min", "p:0.95", 63.6e6),
        ("5 m", "p:0.95", None),
        ("~27", "p:0.95", 27_000.0),
        ("около 30 мс", "p:0.95", 30_000.0),
        ("<27", "p:0.95", None),
        ("~1.5k req/s", "rate", 1_500.0),
        ("~200", "requests", None),
        ("10 (25%)", "status:5:503", 10.0),
        ("30 次", "status:4:429", 30.0),
        ("500", "offered", 500.0),
    ],
)
def test_a_value_may_be_rounded_and_remarked_upon(text: str, name: str, read: float | None) -> None:
    scale_us = 1e3 if name.startswith("p:") and text.endswith("27") else None
    found = value(text, name, scale_us, rough=True)
    assert (found[1] if found else None) == (None if read is None else pytest.approx(read))


def test_a_rounded_value_counts_where_it_may() -> None:
    assert value("~27 ms", "p:0.95", None) is None


def test_counts_by_the_class_of_their_status_stand_in_one_line() -> None:
    assert status_classes("2xx: 20  3xx: 0  4xx: 1,826  5xx: 0  errors: 0")["status:4:4xx"] == 1_826
    assert status_classes("4xx: 5") == {}
    assert status_classes("2xx: 5, then 2xx: 7") == {}


def test_a_percentile_of_some_requests_counts_where_it_may() -> None:
    assert figure_name("login p95", of_some=True) == ("p:0.95", None)
    assert figure_name("읽기 P95", of_some=True) == ("p:0.95", None)
    assert figure_name("login p95") is None
    for other in ("CPU p95", "consumer lag p99", "heap usage p95"):
        assert figure_name(other, of_some=True) is None


def test_rates_by_the_minute_and_shares_of_a_count_are_values() -> None:
    assert value("~4,200/min", "rate", None) == ("rate", 70.0)
    assert value("1.2k req/min", "requests", None) == ("rate", 20.0)
    assert value("98.31/s", "requests", None) == ("rate", 98.31)
    assert value("0.50%, 3 out of 600", "errors", None) == ("error_share", 0.005)
