"""Rates that tools could not keep, exceeded or never offered, and whose failures and senders they count."""

from __future__ import annotations

import pytest

from runners.audit.listing import plain
from runners.audit.rule import Severity
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced


def said(text: str, code: str) -> str:
    return plain(remarks(text)[code].seen.text)


K6 = """     * steady: {rate:.2f} iterations/s for 30s (maxVUs: 20-40, gracefulStop: 30s)
http_req_duration..............: avg=12ms min=2ms med=9ms max=90ms p(90)=21ms p(95)=33ms
http_reqs......................: {requests} {achieved}/s
iterations.....................: {iterations} {begun}/s
vus_max........................: 40 min=40 max=40
"""
FORTIO = """Starting at {rate} qps with 4 thread(s) [gomax 8] : exactly {requests}, 100 calls each (total {requests})
Aggregated Sleep Time : count 4 avg {sleep} +/- 0.001 min -0.02 max 0.9 sum -0.04
Aggregated Function Time : count {requests} avg 0.004 +/- 0.001 min 0.001 max 0.095 sum 16
# target 50% 0.0039
# target 99% 0.0152
Code 200 : {requests} (100.0 %)
All done {requests} calls (plus 0 warmup) 4 ms avg, {achieved} qps
"""
BOMBARDIER = """$ bombardier -c 10 -d 20s -r {rate} http://host:80
Bombarding http://host:80 for 20s using 10 connections
Reqs/sec {achieved} 4.00 500.00
Latency 10.00ms 1.00ms 40ms
1xx - 0, 2xx - {requests}, 3xx - 0, 4xx - 0, 5xx - 0
"""
ARTILLERY = """$ artillery quick -d 30 -r {rate} http://host/
Summary report @ 12:00:00(+0000) 2020-01-01
  Requests completed:  {requests}
  Mean response/sec: {achieved}
"""
VEGETA = """$ vegeta attack -rate={rate} -duration=30s | vegeta report
Requests      [total, rate, throughput]         {requests}, {achieved}, 299.02
Duration      [total, attack, wait]             30s, 29.997s, 3ms
Latencies     [min, mean, 50, 90, 95, 99, max]  1.1ms, 4.2ms, 3.5ms, 6.1ms, 7.2ms, 21.9ms, 110ms
Status Codes  [code:count]                      200:{requests}
"""


def k6(rate: float, iterations: int, of_one: int = 1) -> str:
    requests = iterations * of_one
    figures = {"requests": requests, "achieved": requests / 30, "iterations": iterations, "begun": iterations / 30}
    return K6.format(rate=rate, **figures)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (k6(200, 9_000), True),
        (k6(300, 9_000), False),
        (k6(300, 9_000, of_one=3), False),  # 900 requests in 300 iterations per second
        (k6(200, 9_000, of_one=3), True),
        (FORTIO.format(rate=200, requests=9_000, sleep=0.5, achieved=300), True),
        (FORTIO.format(rate=300, requests=9_000, sleep=0.5, achieved=300), False),
        (FORTIO.format(rate=100, requests=12, sleep=0.5, achieved=150), False),  # all 4 threads begin at once
        (BOMBARDIER.format(rate=200, requests=6_000, achieved=300.0), True),
        (BOMBARDIER.format(rate=300, requests=6_000, achieved=300.0), False),
        (BOMBARDIER.format(rate=250, requests=5_000, achieved=300.0), False),  # a mean of intervals
        (ARTILLERY.format(rate=200, requests=9_000, achieved=300), True),
        (ARTILLERY.format(rate=300, requests=9_000, achieved=300), False),
        (VEGETA.format(rate=200, requests=9_000, achieved=300.03), True),
        (VEGETA.format(rate="300/1s", requests=9_000, achieved=300.03), False),
        (replaced(HEALTHY, ("-R2000", "-R500")), True),
    ],
)
def test_a_rate_that_a_tool_keeps_is_not_exceeded_by_a_tenth(text: str, seen: bool) -> None:
    assert ("RAT011" in remarks(text)) is seen


def test_a_rate_of_iterations_is_missed_though_each_sends_three_requests() -> None:
    assert {"RAT001", "RAT006"} & set(remarks(k6(300, 6_000, of_one=3)))
    (output,) = outputs(k6(300, 6_000, of_one=3))
    assert (output.offered_rps, output.report.requests_per_s) == pytest.approx((900, 600))
    assert output.offered_by == "as k6 says, in requests"


@pytest.mark.parametrize(
    ("scenarios", "closed", "users"),
    [
        ("     * late: 100.00 iterations/s for 10s (maxVUs: 9, startTime: 20s)\n", False, 40),
        ("     * more: Up to 500.00 iterations/s for 30s over 2 stages (maxVUs: 9)\n", False, 40),
        ("     * loop: 20 looping VUs for 30s (gracefulStop: 30s)\n", True, None),  # 40 are those of both
    ],
)
def test_of_several_scenarios_of_k6_neither_rate_nor_users_are_those_of_one(
    scenarios: str, closed: bool, users: int | None
) -> None:
    for text in (scenarios + k6(300, 9_000), k6(300, 9_000).replace("http_req_d", f"{scenarios}http_req_d", 1)):
        (output,) = outputs(text)
        assert (output.offered_rps, output.report.closed_loop, output.connections) == (None, closed, users)
        assert "RAT011" not in remarks(text)


@pytest.mark.parametrize(("connections", "severity"), [(200, None), (1_000, Severity.NOTE), (1_600, Severity.WARNING)])
def test_any_opening_of_over_a_second_is_reported(connections: int, severity: Severity | None) -> None:
    text = replaced(HEALTHY, ("-c8", f"-c{connections}"), ("8 connections", f"{connections} connections"))
    remark = remarks(text).get("RUN008")
    assert (remark.severity if remark else None) is severity
    if severity is Severity.NOTE:
        assert "1 000 over 1 thread take 5 s of 60 s" in said(text, "RUN008")


@pytest.mark.parametrize(
    ("connections", "timeouts", "waiting"),
    [(1_024, 22_649, "about 781 of 1 024 connections"), (8, 232, "all of them")],
)
def test_what_wrk2_counts_as_time_outs_is_said_in_two_short_sentences(
    connections: int, timeouts: int, waiting: str
) -> None:
    text = replaced(HEALTHY, ("-c8", f"-c{connections}"), ("8 connections", f"{connections} connections"))
    lost = f"  Socket errors: connect 0, read 0, write 0, timeout {timeouts}\nRequests/sec"
    first, second, third = said(replaced(text, ("Requests/sec", lost)), "ERR004").split(". ")
    assert first.startswith("socket errors: ")
    assert second == f"Every 2 s, wrk2 counts the connections that wait too long: {waiting}"
    assert third == "Percentiles hold the responses that came late, and leave out those that never came"
    assert max(len(sentence.split()) for sentence in (second, third)) <= 18


def test_a_negative_sleep_of_fortio_says_that_its_rate_was_not_kept() -> None:
    behind = FORTIO.format(rate=300, requests=9_000, sleep="-0.01", achieved=299)
    stands = "between the lines of the output stands: 'Aggregated Sleep Time : count 4 avg -0.01'"
    assert said(behind, "RUN003") == f"{stands}; the generator was late"
    assert outputs(behind)[0].report.closed_loop is False
    assert "RUN003" not in remarks(FORTIO.format(rate=300, requests=9_000, sleep=0.01, achieved=299))


GHZ = """ghz --call a.B.c --concurrency {workers} --total 500 host:443
Summary:
  Count:        500
  Total:        36.77 s
  Average:      3.53 s
  Requests/sec: 13.60

Latency distribution:
  50 % in 3.58 s
  99 % in 3.91 s
"""


@pytest.mark.parametrize(("workers", "sender"), [(48, "each of the 48 workers"), (1, "the worker")])
def test_ghz_sends_by_workers_and_not_by_connections(workers: int, sender: str) -> None:
    assert said(GHZ.format(workers=workers), "RAT004").startswith(f"closed loop: {sender} sends its next request")


@pytest.mark.parametrize(
    ("text", "sender"),
    [
        ("[READ], Operations, 500\n[READ], AverageLatency(us), 412.5\n", "each of the threads sends"),
        (
            "* a: 20 looping VUs for 1m0s\nhttp_req_duration: avg=9ms med=9ms\nhttp_reqs: 9000 300/s\n",
            "of the looping users",
        ),
        (CLOSED, "each of the 2 connections sends"),
    ],
)
def test_a_closed_loop_is_of_what_its_tool_sends_with(text: str, sender: str) -> None:
    assert sender in said(text, "RAT004")


GATLING = """---- Global Information ----
> request count                                       2000 (OK=1960   KO=40    )
> max response time                                  10003 (OK=9000   KO=10003 )
> response time 50th percentile                         80 (OK=70     KO=7001  )
> response time 95th percentile                        900 (OK=99     KO=10001 )
> mean requests/sec                                     20 (OK=19     KO=1     )
---- Errors ----
> i.n.c.ConnectTimeoutException: connection timed out: host/10.0.0.1:80 after 10000 ms     20 (50.00%)
> i.g.h.c.i.RequestTimeoutException: Request timeout to host/10.0.0.     10 (25.00%)
1:80 after 60000 ms
> status.find.in(200), found 503                                                   10 (25.00%)
================================================================================
"""


def test_time_outs_of_gatling_are_time_outs_and_its_other_failures_are_not() -> None:
    (output,) = outputs(GATLING)
    assert output.report.socket_errors
    assert (output.report.non_2xx, output.report.socket_errors.timeout) == (10, 30)
    assert said(GATLING, "ERR001").startswith("10 of 2 000 requests (0.50 %) failed")
    assert said(GATLING, "ERR004") == "socket errors: 30 timeout"
    assert "RUN003" not in remarks(GATLING)
    assert said(GATLING, "SMP003").startswith("the maximum of 10.0 s lies at Gatling's time-out of 10 s")


def test_errors_of_gatlings_next_run_are_not_those_of_the_one_before() -> None:
    line = next(line for line in GATLING.splitlines() if "ConnectTimeout" in line)
    progress = f"\n---- Requests ----\n> Global   (OK=1   KO=5)\n---- Errors ----\n{line}\n" * 3
    assert outputs(GATLING + progress)[0].report.socket_errors == outputs(GATLING)[0].report.socket_errors


NIGHTHAWK = """Nighthawk - A layer 7 protocol benchmarking tool.

{blocking}Request start to response end (29999 samples)
  min: 0s 000ms 360us | mean: 0s 000ms 545us | max: 0s 010ms 440us | pstdev: 0s 000ms 198us

  Percentile  Count       Value
  0.5         15003       0s 000ms 512us
  0.990625    29718       0s 001ms 028us

Counter                                 Value       Per second
benchmark.http_2xx                      29999       999.97
{overflow}"""
BLOCKING = """Blocking. Results are skewed when significant numbers are reported here. ({count} samples)
  min: 0s 000ms 005us | mean: 0s 000ms 009us | max: 0s 000ms 516us | pstdev: 0s 000ms 003us

"""


@pytest.mark.parametrize(("count", "seen"), [(3_450, True), (3, False)])
def test_nighthawk_says_that_it_was_blocked(count: int, seen: bool) -> None:
    text = NIGHTHAWK.format(blocking=BLOCKING.format(count=count), overflow="")
    assert ("RUN003" in remarks(text)) is seen
    (output,) = outputs(text)
    assert (output.report.requests, output.report.max_us) == (29_999, 10_440)


def test_requests_that_found_nighthawks_pool_full_were_never_sent() -> None:
    text = NIGHTHAWK.format(blocking="", overflow="benchmark.pool_overflow                 1200        40.00\n")
    assert said(text, "RAT001").startswith("1 200 iterations were due and never began")
    assert "RAT001" not in remarks(NIGHTHAWK.format(blocking="", overflow=""))


AUTOCANNON = """$ autocannon -c 100 -d 30 -R 1700 http://host:3000
Running 30s test @ http://host:3000
100 connections

│ Stat    │ 2.5%   │ 50%      │ 97.5%    │ 99%      │ Avg         │ Stdev      │ Max      │
│ Latency │ 802 ms │ {median} │ 26484 ms │ 26854 ms │ 13797.32 ms │ 7723.85 ms │ 27210 ms │

│ Stat      │ 1%     │ 2.5%   │ 50%    │ 97.5%  │ Avg    │ Stdev   │ Min    │
│ Req/Sec   │ 1481   │ 1481   │ 1742   │ 1843   │ 1712.1 │ 85.01   │ 1481   │

51k requests in 30.2s, 22.9 MB read
"""


@pytest.mark.parametrize(("median", "even"), [("13870 ms", True), ("2870 ms", False)])
def test_waits_that_are_spread_evenly_are_those_of_a_queue_that_grew_or_shrank(median: str, even: bool) -> None:
    text = said(AUTOCANNON.format(median=median), "RAT010")
    assert text.startswith("the rate of 1 700/s was met, yet responses took 13.8 s on average")
    assert ("waits spread evenly up to 27.2 s: a queue grew or shrank all the time" in text) is even


@pytest.mark.parametrize("requests", [1, 9])
def test_a_whole_output_of_few_responses_needs_more_of_them(requests: int) -> None:
    text = f"Summary:\n  Total: 20 secs\n  Average: 0.4 secs\n  Requests/sec: {requests / 20}\n"
    text += f"  [200] {requests} responses\n"
    assert remarks(text)["RUN005"].remedy == "measure more responses"
    many = text.replace(f"[200] {requests}", "[200] 2000").replace(f"{requests / 20}", "100.0")
    assert remarks(many)["RUN005"].remedy.startswith("publish the whole output; ")


@pytest.mark.parametrize(("asked", "rate"), [(1_000, 300.03), (300, 300.03), (200, 200)])
def test_the_rate_that_an_output_says_goes_before_that_of_a_command_unless_it_exceeds_it(
    asked: int, rate: float
) -> None:
    (output,) = outputs(VEGETA.format(rate=asked, requests=9_000, achieved=300.03))
    assert output.offered_rps == rate
