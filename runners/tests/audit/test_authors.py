"""What documents of many authors have in common: when conditions and repeats may be asked for, and forms of figures."""

from __future__ import annotations

import pytest

from runners.audit.audit import examine
from runners.audit.rule import Remark
from runners.readers.documents import text_document
from runners.readers.finding import Severity
from runners.readers.load_tools import OF_SEVERAL
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import CLOSED, HEALTHY

ASKED = {"SMP004", "RUN006"}


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(text_document(text)).outputs


def remarks(text: str) -> dict[str, Remark]:
    return {remark.code: remark for remark in examine(outputs(text))}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("We ran it on a shop.\nThe rest is known.", True),
        ("The shop handles this load.\nThe rest is known.", True),
        ("Сервер запускался дважды.\nОстальное известно.", True),
        ("我们测试了两个接口，结果如上所示。\n其余的东西大家都已经知道了。", True),
        ("상점 서버를 부하 도구로 실측 했다.\n나머지 내용은 모두 알려져 있다.", True),
        ("-n is the number of requests of a session.\n-c is how many of them are sent at once.", False),
        ("Install the tool from its page.\nRun it against your own server.", False),
        ("You should see about 100 requests here.\nThis means that the server works well.", False),
        ("This is the shop of a friend.\nIt sells what nobody needs.", False),
    ],
)
def test_conditions_and_repeats_are_asked_of_who_tells_of_a_measurement(said: str, asked: bool) -> None:
    text = f"# Shop\n\n## One\n\n{said}\n\n## Two\n\n{CLOSED.replace('localhost', '10.0.0.7')}"
    assert (set(remarks(text)) >= ASKED) is asked
    assert "RAT004" in remarks(text)


def test_a_heading_of_a_report_needs_a_sentence() -> None:
    far = CLOSED.replace("localhost", "10.0.0.7")
    assert set(remarks(f"# Report\n\n## Shop\n\nThis is the shop of a friend.\n\n{far}")) >= ASKED
    assert not set(remarks(f"# Report\n\n## Shop\n\n## More\n\n{far}")) & ASKED


TABLE = "| Framework | Requests/sec | Latency |\n|---|---|---|\n| One | 51,234.5 | 2 ms |\n| Two | 40k | 3 ms |\n"


def test_a_table_alone_is_no_report_unless_the_machine_is_stated() -> None:
    bare = f"# Frameworks\n\n```\nwrk -t2 -c4 -d30s http://host/\n```\n\n{TABLE}"
    assert not set(remarks(bare)) & ASKED
    assert "SMP004" in remarks(f"# Frameworks\n\n- MacBook Pro, 8 cores\n\n{bare}")


@pytest.mark.parametrize(
    ("machine", "named"),
    [
        ("It ran on a t3.medium.", False),
        ("It ran on an n2-standard-4.", False),
        ("Container memory limit: 64 MB.", False),
        ("It ran on a server.", True),
    ],
)
def test_the_type_of_a_machine_states_it(machine: str, named: bool) -> None:
    text = f"# Report\n\nThe shop was loaded on my laptop.\n{machine}\n\n{HEALTHY}"
    found = remarks(text).get("RUN006")
    assert (found is not None and found.severity.value == "warning") is named


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("## Comparison\n\nBoth were loaded.", True),
        ("## 4. Сравнение\n\nОба нагружены.", True),
        ("| Framework | Requests/sec |\n|---|---|\n| One | 12 |\n| Two | 13 |", True),
        ("| 框架 | 平均延迟 |\n|---|---|\n| One | 12 |\n| Two | 13 |", True),
        ("| Framework | Stars |\n|---|---|\n| One | 12 |\n| Two | 13 |", False),
        ("| Endpoint | Requests/sec |\n|---|---|\n| /a | 12 |\n| /b | 13 |", False),
        ("Время ответа в 37 раз быстрее требований SLI.", False),
        ("Время ответа в 37 раз быстрее.", True),
        ("### С тремя хостами и балансировкой\n\nОпыт.\n\n### С одним хостом и без балансировки\n\nОпыт.", True),
        ("### Shop with a cache\n\nSome.\n\n### Shop without caching\n\nSome.", True),
        ("## Set up a cache\n\nSome.\n\n### Start without caching\n\nSome.", False),
        ("| Configuration | Max RPS | Safety margin |\n|---|---|---|\n| One | 12 | 2x |\n| Two | 13 | 3x |", False),
        ("A small project to compare threads and coroutines.", True),
        ("结果表明 One 的表现比 Two 要好。", True),
        ("One 的表现比较好。", False),
        ("**Errors:**\n\nSome.\n\n**No errors:**\n\nNone.", False),
    ],
)
def test_what_is_set_side_by_side_is_compared(said: str, compared: bool) -> None:
    text = f"# Отчёт\n\nСервер был нагружен долго.\nПамять была почти свободна.\n\n{said}\n\n{HEALTHY}"
    assert ("CMP003" in remarks(text)) is compared


ALPHA = (
    "| Server | RPS | p99 |\n|---|---|---|\n| Alpha | 200 | 20 ms |\n| Beta | 400 | 10 ms |\n| Gamma | 100 | 40 ms |\n"
)


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("Alpha is the fastest server here.", True),
        ("Alpha 的性能最高。", True),
        ("Beta is the fastest server here.", False),
        ("Among the others Alpha is the fastest.", False),
        ("Alpha should be the fastest server.", False),
    ],
)
def test_what_is_called_the_best_is_held_against_each_of_the_others(said: str, overturned: bool) -> None:
    text = f"# Servers\n\nThey were loaded by autocannon.\n\n{ALPHA}\n## Conclusion\n\n{said}\n"
    assert ("DOC004" in remarks(text)) is overturned


def test_figures_are_read_with_the_signs_of_other_languages() -> None:
    text = "# 压测\n\n使用wrk压测。\n\n总请求数： 10000\n每秒处理： 1505\nP50： 24.2 ms\n最慢的一个： 1.16 s\n"
    (output,) = outputs(text)
    assert (output.report.requests, output.report.requests_per_s, output.report.max_us) == (10_000, 1_505, 1.16e6)
    assert output.report.latencies.rows == ((0.5, 24_200.0),)


def test_the_names_of_figures_may_stand_in_the_second_column() -> None:
    table = "| Scénario | Mesure | A : One | B : Two |\n|---|---|---|---|\n| **READ** | **RPS** | 2.0/s | 3.0/s |\n"
    table += "| **READ** | **p50 (ms)** | ~27 | ~30 |\n| **READ** | **Err %** | 0% | 60% |\n"
    one, two = outputs(f"# Résultats\n\nMesuré par JMeter.\n\n{table}")
    assert (one.report.requests_per_s, one.report.latencies.rows) == (2, ((0.5, 27_000.0),))
    assert two.report.error_share == 0.6
    assert {"RAT004", "ERR001"} <= set(remarks(f"# Résultats\n\nMesuré par JMeter.\n\n{table}"))


def test_responses_that_are_counted_by_their_status_are_errors() -> None:
    listed = "Total requests:  40\n200 OK:          30 (75%)\n503 Server Busy: 10 (25%)\nmax: 170 ms\n"
    (output,) = outputs(f"# Load\n\nBy k6.\n\n```\n{listed}```\n")
    assert output.report.non_2xx == 10
    lost = listed.replace("30 (75%)", "6 (15%)").replace("10 (25%)", "0")
    assert outputs(f"# Load\n\nBy k6.\n\n```\n{lost}```\n")[0].report.non_2xx == 34
    classes = "Requests/sec (avg): 2731\nLatency p50: 10ms  p99: 18ms\n2xx: 20  3xx: 0  4xx: 21826  5xx: 0\n"
    text = f"# Load\n\nBy autocannon.\n\n```\n{classes}Total requests: 21846\n```\n"
    assert outputs(text)[0].report.non_2xx == 21_826
    assert "ERR001" in remarks(text)

    limited = f"# Load\n\nBy autocannon.\n\n{ONE_COLUMN.format('200 成功', '30 次', '429 限流', '1,970 次')}"
    assert outputs(limited)[0].report.non_2xx == 1_970
    assert "ERR001" in remarks(limited)


ONE_COLUMN = "| 指标 | 值 |\n|---|---|\n| 吞吐量 | 9,181 req/s |\n| P50 | 2.5ms |\n| {} | {} |\n| {} | {} |\n"
PACED = (
    "# 부하\n\nk6 constant-arrival-rate 로 측정했다.\n\n| 단계 | 목표 RPS | 실제 RPS | p95 |\n|---|---|---|---|\n"
    "| 하나 | 200 | **199** | 89ms |\n| 둘 | 500 | **428** | 808ms |\n"
)


def test_a_rate_that_a_table_says_was_offered_is_held_against_the_achieved_one() -> None:
    held, missed = outputs(PACED)
    assert [held.offered_rps, missed.offered_rps] == [200, 500]
    assert "428/s of 500/s" in remarks(PACED)["RAT001"].seen.text
    assert "as its author says" in remarks(PACED)["RAT001"].seen.text
    assert "RAT001" not in remarks(PACED.replace("constant-arrival-rate 로", "로"))  # a closed loop aims at none
    assert "RAT001" not in remarks(PACED.replace("constant", "ramping"))


def test_the_heading_above_a_table_names_its_tool() -> None:
    table = "| 并发数 | one | two |\n|---|---|---|\n| 10 | 21.94k | 15.42k |\n| 100 | 28.21k | 16.95k |\n"
    text = f"# Servers\n\n工具为wrk和`ab`。\n\n### 使用wrk测试Req/Sec\n\n{table}\n### 使用`ab`测试Req/Sec\n\n{table}"
    found = outputs(text)
    assert [output.tool for output in found] == ["wrk"] * 4 + ["ab"] * 4
    assert [output.connections for output in found[:4]] == [10, 10, 100, 100]
    unknown = outputs(text.replace("使用wrk测试", "").replace("使用`ab`测试", ""))
    assert {output.tool for output in unknown} == {OF_SEVERAL}


def test_rows_without_a_name_repeat_what_their_caption_names() -> None:
    table = "| QPS | P50 | P99 |\n|---|---|---|\n" + "".join(f"| 18{n}4 | 2{n} ms | 6{n} ms |\n" for n in range(4))
    said = "# Report\n\nIt was measured by `hey`.\n\nAll runs through the gateway:\n\n"
    assert len({output.label for output in outputs(said + table)}) == 1
    assert "SMP004" not in remarks(said + table)


@pytest.mark.parametrize(
    ("title", "read"),
    [
        ("# Load results", True),
        ("# Load results (simulated)", False),
        ("# 부하 테스트 결과 (시뮬레이션)", False),
        ("# Load\n\nThe values below are illustrative.", False),
        ("# Load\n\n## Expected performance\n\n### API", False),
    ],
)
def test_what_nobody_measured_is_not_read(title: str, read: bool) -> None:
    table = "| Metric | Value |\n|---|---|\n| RPS | 90 |\n| p95 | 40 ms |\n"
    assert bool(outputs(f"{title}\n\nBy k6.\n\n{table}")) is read


ARTILLERY = (
    "# Test\n\n```yaml\n  phases:\n    - duration: 10\n      arrivalRate: 50\n```\n\n```\n"
    "Summary report @ 20:59:01(-0800) 2020-11-16\n  Scenarios launched:  500\n  Scenarios completed: 500\n"
    "  Requests completed:  500\n  Mean response/sec: 7.23\n  Response time (msec):\n    min: 290.9\n    max: 59250.4\n"
    "    median: 6937\n    p95: 38483.4\n    p99: 57588.4\n  Codes:\n    200: 500\n```\n"
)


def test_an_arrival_rate_in_a_scenario_is_what_artillery_offered() -> None:
    (output,) = outputs(ARTILLERY)
    assert (output.offered_rps, output.offered_by) == (50, "as line 6 says: arrivalRate: 50")
    assert "RAT001" in remarks(ARTILLERY)
    assert "RAT001" not in remarks(ARTILLERY.replace("7.23", "49.9"))
    assert "RAT001" not in remarks(ARTILLERY.replace("arrivalRate: 50", "arrivalRate: 50\n      rampTo: 90"))


TUTORIAL = (
    "# wrk\n\n- -t: threads to use\n- -c: connections to keep open\n- -d: how long it runs\n\n"
    f"Then:\n\n```\n{CLOSED}```\n"
)


def test_the_output_in_a_page_that_explains_a_tool_is_no_run() -> None:
    assert not remarks(TUTORIAL)
    assert "RAT004" in remarks(TUTORIAL.replace("Then:", "## Results"))
    assert "RAT004" in remarks(TUTORIAL.replace("# wrk", "# A shop"))
    assert "RAT004" in remarks(TUTORIAL.replace("- -d: how long it runs\n", ""))


PLAIN = """Running 5s test @ http://127.0.0.1:3000
100 connections with 10 pipelining factor

Stat    2.5% 50%  97.5%  99%    Avg     Stdev    Max
Latency 0 ms 1 ms 105 ms 121 ms 4.42 ms 22.51 ms 255.63 ms

Stat      1%      2.5%    50%     97.5%   Avg     Stdev  Min
Req/Sec   18655   18655   22783   23295   22113.6 1755.8 18641
Bytes/Sec 4.07 MB 4.07 MB 4.97 MB 5.08 MB 4.82 MB 383 kB 4.06 MB

Req/Bytes counts sampled once per second.

111k requests in 5s, 24.1 MB read
"""


def test_autocannons_tables_are_read_without_their_bars() -> None:
    (output,) = outputs(f"# Shop\n\n```\n{PLAIN}```\n")
    report = output.report
    assert (output.tool, output.connections, report.requests, report.requests_per_s) == (
        "autocannon",
        100,
        111_000,
        22_113.6,
    )
    assert (report.latencies.at(0.5), report.latencies.at(0.99), report.max_us) == (1_000, 121_000, 255_630)


def test_commas_between_the_figures_of_k6_are_passed_over() -> None:
    text = "http_req_duration: avg=4.99ms, min=1ms, med=4ms, max=30ms, p(90)=8ms, p(95)=9.5ms\nhttp_reqs: 100 10/s\n"
    (output,) = outputs(f"# Shop\n\n```\n{text}```\n")
    assert (output.report.latencies.at(0.95), output.report.max_us) == (9_500, 30_000)


@pytest.mark.parametrize(
    "printed",
    [
        "All VUs finished. Total time: 1 minute, 2 seconds",
        "Metrics for period to: 20:59:00(-0800) (width: 9.8s)",
        "     ✗ the response time is under 200 ms",
        "      ↳  97% — ✓ 970 / ✗ 30",
        "** Preparing 25 concurrent users for battle.",
        "The server is now under siege...",
        "  [3]\tGet http://host/: dial tcp: the connection was refused",
        'Get "http://host/": context deadline exceeded',
        "503 Service Unavailable",
        "Completed 500 requests",
        "Licensed to The Apache Software Foundation, http://www.apache.org/",
    ],
)
def test_what_tools_print_around_their_summaries_is_no_prose(printed: str) -> None:
    (output,) = outputs(f"# Shop\n\n{printed}\nIt held.\n\n{CLOSED}")
    said = [line.text for line in output.prose]
    assert "It held." in said
    assert printed not in said


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("About 12.5% of requests failed at the end.", True),
        ("The error rate climbed to 4 % at the end.", True),
        ("- **Error rate:** 4.2% (while users came)", True),
        ("На пике было 3,5 % ошибок.", True),
        ("高峰时错误率达到 3.5%，之后恢复。", True),
        ("| Metric | Before | After |\n|---|---|---|\n| Success rate | 90% | 100% |", True),
        ("The error rate was 0 % at the end.", False),
        ("The error rate should be below 1 %.", False),
        ("The error rate stayed under 1% of all.", False),
        ("Success Rate: 100%\nErrors: 0", False),
        ("| Metric | Target | Actual |\n|---|---|---|\n| Error rate | 1% | 0% |", False),
    ],
)
def test_errors_that_an_author_gives_in_a_sentence_or_a_table_count(said: str, named: bool) -> None:
    assert ("ERR001" in remarks(f"# Shop\n\nWe ran it on a shop.\n\n{CLOSED}\n{said}\n")) is named


OF_AB = """This is ApacheBench, Version 2.3
Document Length:        1000 bytes
Concurrency Level:      10
Time taken for tests:   2.000 seconds
Complete requests:      100
Failed requests:        20
   (Connect: 0, Receive: 0, Length: 20, Exceptions: 0)
HTML transferred:       {bodies} bytes
Requests per second:    50.00 [#/sec] (mean)
"""


@pytest.mark.parametrize(("bodies", "failed"), [(80_000, True), (100_310, False), (99_000, False)])
def test_responses_of_ab_without_a_body_failed_and_other_lengths_vary(bodies: int, failed: bool) -> None:
    assert ("ERR001" in remarks(OF_AB.format(bodies=bodies))) is failed


@pytest.mark.parametrize(
    ("machine", "asked"),
    [
        ("Its pool is sized by the CPU cores.", True),
        ("It took 35 % of the RAM.", True),
        ("| CPU | 12% |\n|---|---|", True),
        ("It has 8 cores and 16 GB of RAM.", False),
        ("It has RAM: 16 GB and runs on a multi-core machine.", False),
    ],
)
def test_use_of_a_machine_states_neither_its_cores_nor_its_memory(machine: str, asked: bool) -> None:
    far = CLOSED.replace("localhost", "10.0.0.7")
    found = remarks(f"# Report\n\nWe ran it on a shop.\n{machine}\n\n{far}").get("RUN006")
    assert (found is not None and found.severity is Severity.WARNING) is asked


def test_rows_of_one_name_are_distinguished_by_their_other_columns() -> None:
    rows = "| a | 1 | none | 900 | 2 ms |\n| b | 1 | half | 800 | 3 ms |\n| b | 2 | all | 700 | 4 ms |\n"
    found = outputs(f"# Load of k6\n\n| Service | Scenario | Plugins | RPS | p95 |\n|---|---|---|---|---|\n{rows}")
    assert len({output.label for output in found}) == len(found) == 3
    again = rows.replace("| 2 | all |", "| 1 | half |")
    same = outputs(f"# Load of k6\n\n| Service | Run | Plugins | RPS | p95 |\n|---|---|---|---|---|\n{again}")
    assert len({output.label for output in same}) == 2


def test_what_k6_complains_of_stands_between_its_lines() -> None:
    scenario = "     * one: 15000.00 iterations/s for 1m0s (maxVUs: 100-300)\n"
    complaint = "WARN[0032] Insufficient VUs, reached 300 active VUs and cannot initialize more\n"
    figures = "     http_req_duration..: avg=3ms min=1ms med=2ms max=9ms p(90)=5ms p(95)=6ms\n"
    figures += "     http_reqs..........: 100 1.5/s\n"
    assert "RUN003" in remarks(scenario + complaint + figures)
    assert "RUN003" not in remarks(scenario + figures)


@pytest.mark.parametrize("built", ["./gradlew bootRun", "mvn package", "Its pool is Hikari.", "A Spring Boot service."])
def test_a_server_on_the_jvm_is_known_by_what_builds_and_runs_it(built: str) -> None:
    said = "We ran it on a shop.\nIt has 8 cores and 16 GB of RAM, and ran after a warm-up on localhost."
    assert "heap" in remarks(f"# Report\n\n{said}\n{built}\n\n{CLOSED}")["RUN006"].seen.text
    assert "RUN006" not in remarks(f"# Report\n\n{said}\n\n{CLOSED}")


def test_pictures_of_figures_lack_no_percentile() -> None:
    said = (
        "# Report of k6\n\nWe ran it on a shop.\n\n## Two hundred users\n\n12 % of the requests failed.\n\n![](a.png)\n"
    )
    found = remarks(said)
    assert "ERR001" in found
    assert "RUN005" not in found


def of_an_author(*rows: str) -> str:
    table = "".join(f"| {row} |\n" for row in ("Metric | Result", "---|---", *rows))
    return f"# Load test\n\nWe ran k6 against the shop.\n\n{table}"


@pytest.mark.parametrize(
    ("rate", "named"),
    [("277 req/s", False), ("258 req/s", False), ("240 req/s", True), ("290 req/s", False), ("310 req/s", True)],
)
def test_an_authors_requests_time_and_rate_are_checked_against_each_other(rate: str, named: bool) -> None:
    text = of_an_author("Duration | 1 Hour", "Total requests | 1,000,000", f"Throughput | {rate}", "p95 | 4 ms")
    assert ("SUM001" in remarks(text)) is named


def test_a_time_without_its_ramp_contradicts_no_rate() -> None:
    text = of_an_author("Duration | 20s", "Total requests | 71", "Throughput | 2.15 req/s", "p95 | 4 ms")
    assert "SUM001" not in remarks(text)
    several = of_an_author("Duration | 30s", "Iterations | 300", "Throughput | 90 req/s", "p95 | 4 ms")
    assert "SUM001" not in remarks(several)


def test_other_figures_are_no_repeated_run() -> None:
    both = of_an_author("p50 | 2 ms", "p95 | 4 ms", "Req/s | 200")
    assert "SMP004" in remarks(f"{both}\nThen whole journeys:\n\n- p50: 4 s\n- p95: 9 s\n")


@pytest.mark.parametrize(
    "said",
    [
        "# 3. Pre-flight: verify end-to-end before committing to a test",
        "| Percentile | Notes |\n|---|---|\n| p90 | 90 % of requests were faster than this |",
        "| Area | Change |\n|---|---|\n| Lists | pages of 25 |",
        "A single response time of 652 ms (vs 245 ms p99) was a cold start.",
        "Users: Date: No required: Owner:\n\n## Required users:",
    ],
)
def test_what_compares_no_two_states_of_figures(said: str) -> None:
    assert "CMP003" not in remarks(f"{of_an_author('p95 | 4 ms', 'Req/s | 200')}\n{said}\n")


def test_changes_of_figures_compare() -> None:
    table = "| Metric | 5 workers | 20 workers | Change |\n|---|---|---|---|\n| p95 | 4 ms | 2 ms | -50 % |\n"
    assert "CMP003" in remarks(f"{of_an_author('p95 | 4 ms', 'Req/s | 200')}\n{table}")


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("You had 20,918 checks and 114 failed (0.54% failed, 99.45% passed).", True),
        ("Each level is 30% of the one before, which matches the 30% failure rate exactly.", False),
    ],
)
def test_shares_that_failed_are_errors_unless_they_were_made(said: str, named: bool) -> None:
    assert ("ERR001" in remarks(f"{of_an_author('p95 | 4 ms', 'Req/s | 200')}\n{said}\n")) is named


@pytest.mark.parametrize(("row", "known"), [("Java | 21", True), ("Java | yes", False)])
def test_the_jdk_of_a_table_is_known(row: str, known: bool) -> None:
    found = remarks(of_an_author("p95 | 4 ms", "Req/s | 9", "CPU | 8 cores", row))["RUN006"]
    assert ("JDK" in found.seen.text) is not known


@pytest.mark.parametrize(("beyond", "named"), [("p95 | 44 ms", True), ("p95 | 546 ms", False), ("max | 44 ms", False)])
def test_a_plateau_needs_a_higher_percentile(beyond: str, named: bool) -> None:
    assert ("NET001" in remarks(of_an_author("p50 | 43 ms", beyond, "Req/s | 200"))) is named


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ("| Rate Limit Hits | 8,538 | expected |", True),
        ("| Rate-limited responses (429) | 835 | |", True),
        ("| 429 rate (of all posts) | 87.4 % | |", True),
        ("| Error rate | 100% (429)\u00b9 | |", True),
        ("| Rate Limit Hits | 0 | expected |", False),
        ("| Rate limit | 60 | per minute |", False),
        ("| 429 rate | 0 % | |", False),
    ],
)
def test_refused_requests_are_errors(row: str, named: bool) -> None:
    table = f"| Metric | Value | Remark |\n|---|---|---|\n| p50 | 4 ms | |\n| p95 | 9 ms | |\n{row}\n"
    assert ("ERR001" in remarks(f"# Load test results\n\nWe measured with k6.\n\n{table}")) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("| Profile | Metric | vs Kong | vs Nginx |\n|---|---|---|---|\n| steady | p99 | 33 % | 52 % |", True),
        ("Amélioration mesurée par rapport à la première exécution : p95 -37%.", True),
        ("La latence p95 a baissé de 30 % depuis.", True),
        ("La latence p95 devrait baisser de 30 %.", False),
        ("## 11. 裸机 vs 容器 vs 内网对比", True),
        ("结果：较优化前 35.69% 总失败率有下降。", True),
        ("같은 엔드포인트가 쓰기 때문에 58배 느려졌다.", True),
        ("Результаты в сравнение с первым этапом лучше, но нагрузка другая.", True),
        ("총 58배 더 많은 요청을 보냈다.", False),
        ("See the [throughput view](a.png)\nand [drop, memory, and latency view](b.png).", False),
        ("This test does not isolate cache-hit vs cache-miss latency.", False),
    ],
)
def test_what_compares_states_in_other_forms(said: str, named: bool) -> None:
    table = "| Metric | Value |\n|---|---|\n| p50 | 4 ms |\n| p95 | 9 ms |\n"
    assert ("CMP003" in remarks(f"# Load test results\n\nWe measured with k6.\n\n{table}\n{said}\n")) is named


@pytest.mark.parametrize(
    ("machine", "asked"),
    [
        ("Memory: 122 MB RSS usage", True),
        ("max 500 profiles (~10MB memory footprint)", True),
        ("16 GB memory", False),
        ("Memory: 16 GB", False),
    ],
)
def test_memory_that_is_used_is_no_memory_that_there_is(machine: str, asked: bool) -> None:
    table = "| Metric | Value |\n|---|---|\n| p50 | 4 ms |\n| p95 | 9 ms |\n"
    said = f"8 cores, {machine}, all on localhost, after a warm-up."
    assert ("RUN006" in remarks(f"# Load test results\n\nWe measured with k6.\n\n{said}\n\n{table}")) is asked


@pytest.mark.parametrize(("requests", "named"), [("100,000", False), ("99,989", False), ("90,000", True)])
def test_a_few_lost_requests_leave_enough_beyond_a_percentile(requests: str, named: bool) -> None:
    table = f"| Metric | Value |\n|---|---|\n| Requests | {requests} |\n| p99.99 | 9 ms |\n"
    assert ("SMP001" in remarks(f"# Load test results\n\nWe measured with k6.\n\n{table}")) is named


def test_a_report_that_is_interpreted_is_an_example() -> None:
    assert remarks(f"# Results\n\nWe measured it.\n\n## Interpreting the `wrk` report\n\n{CLOSED}") == {}


def test_a_time_of_k6_that_is_cut_is_not_in_minutes() -> None:
    trend = "avg=14.56ms min=10.25ms med=13.44ms max=36.87ms p(90)=18.9ms p(95)=21.44m"
    (run,) = outputs(f"# Run\n\n```\n     http_req_duration..............: {trend}\n```\n")
    assert [level for level, _ in run.report.latencies.rows] == [0.5, 0.9, 1.0]
