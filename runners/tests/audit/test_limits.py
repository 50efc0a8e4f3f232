"""What an author says of limits, of load and of his counts is held against the figures that he gives."""

from __future__ import annotations

import pytest

from runners.audit.audit import examine
from runners.audit.rule import Remark
from runners.readers.documents import text_document
from runners.readers.outputs import outputs_of

RUN = "| Metric | Result |\n|---|---|\n| Requests | 8,856 |\n| p95 | 196 ms |\n| Max | 652 ms |\n| Req/s | 16 |\n"


def remarks(text: str) -> dict[str, Remark]:
    report = f"# Load test\n\nWe ran k6 against the shop.\n\n## Results\n\n{text}\n"
    return {remark.code: remark for remark in examine(outputs_of(text_document(report)).outputs)}


LIMITS = "\n| Metric | Target | Actual | Status |\n|---|---|---|---|\n"


@pytest.mark.parametrize(
    ("row", "overturned"),
    [
        ("| p95 | < 100 ms | 196 ms | PASS |", True),
        ("| p95 | < 0.1 s | 196 ms | ✅ met |", True),
        ("| p95 | ≤ 500 ms | 196 ms | ✅ PASSED (60% margin) |", False),
        ("| p95 | < 100 ms | 196 ms | ❌ |", False),
        ("| p95 | < 100 ms | 196 ms | near target |", False),
        ("| p95 | < 100 ms | 196 ms | |", False),
        ("| p95 | < 100 ms | ~102 ms | ✅ |", False),
        ("| Throughput | >= 50 req/s | 16 req/s | ✅ |", True),
        ("| Throughput | at least 10 req/s | 16 req/s | ✅ |", False),
        ("| Errors | < 1 % | 1.34 % | 통과 |", True),
        ("| Errors | < 1 % | 0.34 % | 达标 |", False),
        ("| 응답 시간 | 100ms 이하 | 196ms | 달성 |", True),
        ("| Errors and p95 | < 1 %, < 1 s | 1.34 % | ✅ |", False),
        ("| p50 and p95 | < 100 ms | 90 ms, 196 ms | ✅ |", False),
    ],
)
def test_a_limit_that_is_said_to_be_kept_is_held_against_its_figure(row: str, overturned: bool) -> None:
    assert ("DOC004" in remarks(f"{RUN}{LIMITS}{row}")) is overturned


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("- P95: 196ms (목표: <100ms) ✓", True),
        ("- P95: 196ms (목표: <500ms) ✓", False),
        ("p(95)<100ms ✓ (196 ms)", True),
        ("p(95)<2000ms ✓ (196 ms)", False),
        ("All requests stayed under 500 ms.", True),
        ("All requests stayed under 700 ms.", False),
        ("Almost all requests stayed under 500 ms.", False),
        ("On average all requests stayed under 500 ms.", False),
        ("All requests should stay under 500 ms.", False),
        ("모든 요청이 500ms 이내에 처리되었다.", True),
        ("所有请求的响应时间均在 500ms 以内。", True),
        ("p95 of all endpoints stayed under 500 ms.", False),
    ],
)
def test_what_is_said_of_all_responses_is_held_against_the_longest(said: str, overturned: bool) -> None:
    assert ("DOC004" in remarks(f"{RUN}\n{said}")) is overturned


@pytest.mark.parametrize(
    ("row", "said", "overturned"),
    [
        ("| p95 | < 100 ms | 196 ms | ❌ |", "All thresholds passed.", True),
        ("| p95 | < 500 ms | 196 ms | ✅ |", "All thresholds passed.", False),
        ("| p95 | < 100 ms | 196 ms | ❌ |", "All thresholds but one passed.", False),
        ("| p95 | < 100 ms | 196 ms | ❌ |", "If all thresholds passed we would ship it.", False),
        ("| p95 | < 100 ms | 196 ms | ❌ |", "모든 목표를 달성했다.", True),
        ("| p95 | < 100 ms | 196 ms | ❌ |", "Все требования выполнены.", True),
    ],
)
def test_that_all_limits_are_kept_is_held_against_each(row: str, said: str, overturned: bool) -> None:
    assert ("DOC004" in remarks(f"{RUN}{LIMITS}{row}\n\n{said}")) is overturned


def test_checks_that_none_failed_are_held_against_the_maximum() -> None:
    checks = "\n| Check | Passed | Failed |\n|---|---|---|\n| response time < {} ms | 8,856 | 0 |\n"
    assert "652" in remarks(RUN + checks.format(500))["DOC004"].seen.text
    assert "DOC004" not in remarks(RUN + checks.format(700))


LOADS = "| Users | Req/s | p95 | Errors |\n|---|---|---|---|\n| 100 | 200 | 9 ms | 0 % |\n| 800 | {} | 90 ms | {} |\n"


@pytest.mark.parametrize(
    ("rate", "errors", "said", "overturned"),
    [
        ("300", "0 %", "Throughput scales linearly with the users.", True),
        ("1500", "0 %", "Throughput scales linearly with the users.", False),
        ("300", "0 %", "Throughput does not scale linearly with the users.", False),
        ("300", "0 %", "吞吐随用户数线性增长。", True),
        ("300", "12 %", "The shop handles 800 concurrent users.", True),
        ("300", "0.1 %", "The shop handles 800 concurrent users.", False),
        ("300", "12 %", "The shop handles 100 concurrent users.", False),
        ("300", "12 %", "The shop should handle 800 concurrent users.", False),
        ("300", "12 %", "It fails to handle 800 concurrent users.", False),
        ("300", "0 %", "The shop handles 2,000+ concurrent users.", True),
        ("300", "0 %", "The shop handles 1000 concurrent users.", False),
        ("300", "0 %", "The shop could handle 2,000 concurrent users.", False),
        ("300", "0 %", "系统支持 2000 用户。", True),
        ("300", "0 %", "这样的配置应该能够支持 2000 用户。", False),
    ],
)
def test_what_is_said_of_load_is_held_against_the_runs(rate: str, errors: str, said: str, overturned: bool) -> None:
    assert ("DOC004" in remarks(f"{LOADS.format(rate, errors)}\n{said}")) is overturned


@pytest.mark.parametrize(
    ("counts", "named"),
    [
        (("1,000", "900", "100"), False),
        (("1,000", "900", "200"), True),
        (("1,000", "999", "2"), False),
        (("1,000", "900 (90%)", "100 (10%)"), False),
        (("1,000", "900 (90%)", "100 (20%)"), True),
        (("1,000", "70 %", "100"), False),
    ],
)
def test_counts_of_one_run_are_held_against_each_other(counts: tuple[str, str, str], named: bool) -> None:
    total, succeeded, failed = counts
    rows = f"| Requests | {total} |\n| Successful | {succeeded} |\n| Failed | {failed} |\n| p95 | 9 ms |\n"
    assert ("SUM003" in remarks(f"| Metric | Result |\n|---|---|\n{rows}")) is named


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("A page went from 2377 ms to 52 ms, which is 45x.", False),
        ("A page went from 2377 ms to 52 ms, which is 20x.", True),
        ("It went from 100 req/s to 350 req/s, 3.5 times more.", False),
        ("It went from 100 req/s to 120 req/s, 3 times faster.", True),
        ("\n| Metric | 5 workers | 20 workers | Change |\n|---|---|---|---|\n| Rate | 100/s | 350/s | 3.5× |", False),
        ("\n| Metric | 5 workers | 20 workers | Change |\n|---|---|---|---|\n| Rate | 100/s | 350/s | 7× |", True),
        ("\n| Metric | 5 workers | 20 workers | Change |\n|---|---|---|---|\n| Rate | 100/s | 350/s | +60% |", True),
    ],
)
def test_factors_are_held_against_their_figures(said: str, overturned: bool) -> None:
    assert ("DOC004" in remarks(f"{RUN}\n{said}")) is overturned


ARRIVING = "A {} of the shop.\n\n| Metric | Result |\n|---|---|\n| Req/s achieved | 87 |\n| p95 | 9 ms |\n{}"


@pytest.mark.parametrize(
    ("how", "more", "short"),
    [
        ("constant-arrival-rate at 2 000 req/s", "", True),
        ("load of an open model, offered 600 rps,", "", True),
        ("постоянная нагрузка с постоянной интенсивностью 500 RPS", "", True),
        ("开环压测，固定 2000 QPS 的速率", "", True),
        ("고정 RPS 600 rps 부하", "", True),
        ("constant-arrival-rate at 87 req/s", "", False),
        ("load of 2000 VUs", "", False),
        ("constant-arrival-rate", "| Dropped iterations | 55,057 |\n", True),
        ("constant-arrival-rate", "| Dropped | 12 |\n", False),
        ("constant-arrival-rate", "| Requests | 1,000,000 |\n| Dropped | 1,200 |\n", False),
        ("load of 2000 VUs", "| Dropped | 55,057 |\n", False),
    ],
)
def test_a_rate_that_a_section_says_was_offered_is_held_against_the_achieved(how: str, more: str, short: bool) -> None:
    assert bool({"RAT001", "RAT006"} & set(remarks(ARRIVING.format(how, more)))) is short


@pytest.mark.parametrize(
    "said", ["7/931 requests hit `connection reset`.", "3 of 200 requests failed.", "12 out of 400 requests timed out."]
)
def test_a_number_of_requests_that_failed_is_an_error(said: str) -> None:
    assert "ERR001" in remarks(f"| Metric | Result |\n|---|---|\n| p95 | 196 ms |\n| Req/s | 16 |\n\n{said}")


def test_who_gives_many_figures_tells_of_a_measurement_in_any_language() -> None:
    said = "Serverul are 4 fire.\n\nLa 50 de conexiuni ajunge la 260 req/s.\n\nApoi 330 ms pe cerere la 99 %.\n"
    table = (
        "| Endpoint | req/s | p50 | p99 |\n|---|---|---|---|\n| a | 260 | 9 ms | 12 ms |\n| b | 300 | 9 ms | 13 ms |\n"
    )
    report = f"# Test de sarcină\n\nCu autocannon.\n\n{table}\n{said}"
    assert "SMP004" in {remark.code for remark in examine(outputs_of(text_document(report)).outputs)}


def test_states_before_and_after_are_named_in_more_languages() -> None:
    for was, became in (("înainte de fix", "după fix"), ("prima", "dopo"), ("önce", "sonra")):
        table = f"| | {was} | {became} |\n|---|---|---|\n| req/s | 11.5 | 197 |\n| p99 | 4545 ms | 333 ms |\n"
        report = f"# Test\n\nRulat cu autocannon.\n\n{table}\n"
        assert "CMP003" in {remark.code for remark in examine(outputs_of(text_document(report)).outputs)}


@pytest.mark.parametrize(
    ("users", "overturned"), [("50 VUs", True), ("50 users", True), ("50명", True), ("200 VUs", False)]
)
def test_the_peak_of_users_is_the_load_of_a_run(users: str, overturned: bool) -> None:
    rows = f"| Peak Concurrent Users | {users} |\n| Error rate | 50% |\n| p95 | 9 ms |\n"
    said = "The shop handles 50 concurrent users."
    assert ("DOC004" in remarks(f"| Metric | Result |\n|---|---|\n{rows}\n{said}")) is overturned


@pytest.mark.parametrize(
    ("largest", "named"), [("30 s (timeouts)", True), ("30 s (超时)", True), ("30 s", False), ("30 s (once)", False)]
)
def test_a_maximum_that_is_called_a_time_out_is_a_bound(largest: str, named: bool) -> None:
    rows = f"| Requests | 10,000 |\n| p95 | 9 ms |\n| max | {largest} |\n"
    assert ("SMP003" in remarks(f"| Metric | Result |\n|---|---|\n{rows}")) is named
