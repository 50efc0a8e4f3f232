"""What is said of outputs that no rule was made from: each pattern in small, with numbers of its own."""

from __future__ import annotations

import pytest

from runners.audit.listing import plain
from runners.tests.audit.planted import remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced


def said(text: str, code: str) -> str:
    return plain(remarks(text)[code].seen.text)


VEGETA = """Requests      [total, rate, throughput]         2000, 200.10, {throughput}
Duration      [total, attack, wait]             {total}s, 9.995s, {wait}ms
Latencies     [min, mean, 50, 90, 95, 99, max]  {times}
"""
SLOW = "401.1ms, 402.9ms, 402.7ms, 404.1ms, 404.9ms, 407.2ms, 409.9ms"
QUEUE = "3.1ms, 402.9ms, 402.7ms, 704.1ms, 754.9ms, 797.2ms, 809.9ms"
BURSTS = "0.2ms, 88.2ms, 0.6ms, 790.1ms, 1.001s, 1.002s, 1.003s"


@pytest.mark.parametrize(
    ("throughput", "total", "wait", "times", "codes"),
    [
        ("192.31", "10.400", "405", SLOW, {"RAT001": False, "RAT002": False, "ERR001": False}),
        ("185.20", "10.799", "804", QUEUE, {"RAT001": True, "RAT002": True, "ERR001": False}),
        ("0.00", "9.996", "1", BURSTS, {"RAT007": False, "ERR001": True}),
        ("200.08", "9.996", "1", BURSTS, {"RAT007": True, "ERR001": False}),
    ],
)
def test_vegeta_waits_for_responses_and_counts_successes(
    throughput: str, total: str, wait: str, times: str, codes: dict[str, bool]
) -> None:
    by_code = remarks(VEGETA.format(throughput=throughput, total=total, wait=wait, times=times))
    assert {code: code in by_code for code in codes} == codes
    if codes["ERR001"]:
        assert plain(by_code["ERR001"].seen.text).startswith("2 000 of 2 000 requests (100 %) failed")


@pytest.mark.parametrize(("least", "seen"), [("2.4ms", True), ("1.2ms", False)])
def test_the_shortest_latency_is_above_no_mean_or_median(least: str, seen: bool) -> None:
    times = f"{least}, 1.3ms, 1.2ms, 2.5ms, 2.6ms, 2.9ms, 9.9ms"
    by_code = remarks(VEGETA.format(throughput="200.0", total="9.999", wait="1", times=times))
    assert ("SUM003" in by_code) is seen
    if seen:
        assert (
            plain(by_code["SUM003"].seen.text) == "the shortest latency of 2.40 ms lies above mean or median, 1.20 ms"
        )


@pytest.mark.parametrize(("threads", "seen"), [(1, False), (4, True)])
def test_each_thread_opens_its_connections_by_itself(threads: int, seen: bool) -> None:
    text = HEALTHY.replace("-t1 -c8", f"-t{threads} -c320").replace("1 threads and 8", f"{threads} threads and 320")
    text = replaced(text, ("-R2000", "-R2060"))  # 1.75 s of load are missing
    assert ("RAT006" in remarks(text)) is seen


H2LOAD = """finished in 21.70s, {rate} req/s, 3.01MB/s
requests: {total} total, {total} started, {total} done, {good} succeeded, {bad} failed, 0 errored, 0 timeout
status codes: {good} 2xx, 0 3xx, 0 4xx, {bad} 5xx
time for request:       69us      20.93s       {mean}       5.51s    92.39%
"""


@pytest.mark.parametrize(("total", "bad", "seen"), [(50_000, 0, False), (50_000, 10, True), (50_137, 0, True)])
def test_a_run_of_a_round_number_of_requests_waits_for_the_last(total: int, bad: int, seen: bool) -> None:
    rate = round(total / 21.7, 2)
    text = H2LOAD.format(rate=rate, total=total, good=total - bad, bad=bad, mean="1.57s")
    assert ("SMP003" in remarks(text)) is seen


PLAIN = CLOSED.replace(" -s get.lua", "")
HUNG = replaced(PLAIN, ("-t2 -c2", "-t2 -c9"), ("2 threads and 2", "2 threads and 9"), ("10.00ms", "2.00ms"))
UNEVEN = replaced(PLAIN, ("12000", "24000"), ("200.00", "400.00"), ("Req/Sec   100.00", "Req/Sec   800.00"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HUNG, "rate and mean latency keep 0.4 busy"),
        (PLAIN, ""),
        (replaced(HUNG, ("-d1m ", "-d1m -s think.lua ")), ""),  # the script may pause
        (replaced(PLAIN, ("12000 requests in 1.00m", "13800 requests in 1.15m")), "60 s took 69 s"),
        (UNEVEN, "Req/Sec makes 1 600/s in all"),
    ],
)
def test_connections_of_a_closed_loop_that_hung_are_named(text: str, shown: str) -> None:
    loop = said(text, "RAT004")
    assert loop.startswith("closed loop: each of the ")
    assert loop.partition("; connections hung: ")[2] == shown


BOMBARDIER = """Bombarding http://host:80 for 20s using 10 connections
Reqs/sec 300.00 4.00 500.00
Latency 10.00ms 1.00ms 40ms
1xx - 0, 2xx - 6000, 3xx - 0, 4xx - 0, 5xx - 0
"""


@pytest.mark.parametrize(
    ("command", "hung"), [("bombardier -c 10 -d 20s http://host:80", True), ("The rate is kept at 300.", False)]
)
def test_only_a_loop_whose_command_gives_no_rate_must_be_busy(command: str, hung: bool) -> None:
    assert ("connections hung" in said(f"{command}\n\n{BOMBARDIER}", "RAT004")) is hung


def test_connections_are_those_that_were_opened() -> None:
    assert "each of the 8 connections" in said(HUNG, "RAT004")


@pytest.mark.parametrize(
    ("above", "counted"),
    [
        ("* wrk 3.1.1\n\n", "wrk 3 counts the connections that wait too long: all of them"),
        ("* wrk 4.2.0\n\n", "90 of 12 000 responses (0.75 %) took over 2 s"),
    ],
)
def test_wrk_3_counts_connections_and_wrk_4_responses(above: str, counted: str) -> None:
    lost = "  Socket errors: connect 0, read 0, write 0, timeout 90\nRequests/sec"
    assert counted in said(f"{above}{replaced(CLOSED, ('Requests/sec', lost))}", "ERR004")


ARTILLERY = "Summary report @ 12:00:00(+0000)\nerrors.ETIMEDOUT: ..... {failed}\nhttp.codes.200: ..... {good}\n"
ARTILLERY += "http.request_rate: ..... 200/sec\nhttp.requests: ..... 5000\nhttp.response_time:\n"
ARTILLERY += "  max: ..... 4800\n  median: ..... 1900\n  p99: ..... 4600\n"


def test_failed_requests_of_artillery_are_in_its_rate_and_show_no_queue() -> None:
    text = ARTILLERY.format(failed=600, good=4_400)
    assert said(text, "ERR004") == "600 of 5 000 requests (12.0 %) failed, in the rate and not in latency"
    assert "RAT002" not in remarks(text)
    assert "RAT002" in remarks(ARTILLERY.format(failed=2, good=4_998))


GATLING = """---- Global Information ----
> request count                                       2000 (OK=1990   KO=10    )
> max response time                                  18000 (OK=9000   KO=18000 )
> response time 50th percentile                       7001 (OK=70     KO=7001  )
> response time 95th percentile                      14000 (OK=99     KO=14000 )
> mean requests/sec                                     20 (OK=10     KO=10    )
---- Errors ----
> a.b.ConnectTimeoutException: connection timed out after {limit} ms       10 (100%)
"""


@pytest.mark.parametrize(("limit", "queue"), [(7_000, False), (5_000, True)])
def test_a_median_at_a_printed_time_out_is_no_queue(limit: int, queue: bool) -> None:
    assert ("RAT002" in remarks(GATLING.format(limit=limit))) is queue


AB = (
    "Concurrency Level:      10\nTime taken for tests:   20.000 seconds\nComplete requests:      1000\n"
    "Failed requests:        {odd}\n   (Connect: 0, Receive: 0, Length: {odd}, Exceptions: 0)\n"
    "Non-2xx responses:      300\nRequests per second:    50.00 [#/sec] (mean)\n"
)


@pytest.mark.parametrize(("odd", "rest"), [(310, None), (400, "100 of 1 000 responses (10.0 %)")])
def test_pages_of_another_length_are_counted_without_error_pages(odd: int, rest: str | None) -> None:
    remark = remarks(AB.format(odd=odd)).get("ERR006")
    assert (plain(remark.seen.text).partition(" count")[0] if remark else None) == rest


def test_a_mean_of_few_responses_needs_more_of_them_and_no_percentiles() -> None:
    bare = "".join(f"{line}\n" for line in CLOSED.splitlines() if "%  " not in line or "Latency  " in line)
    bare = replaced(bare.replace(" --latency", ""), ("12000", "10"), ("200.00", "0.17"))
    late = replaced(bare, ("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 9\nRequests/sec"))
    assert said(late, "RUN005").endswith("percentiles; its mean is that of 1 response")
    assert remarks(late)["RUN005"].remedy == "measure more responses"
    assert remarks(bare)["RUN005"].remedy == "publish the whole output; add --latency to wrk"


@pytest.mark.parametrize(("requests", "seen"), [(40, False), (4_000, True)])
def test_few_samples_have_no_percentile_that_could_be_lacking(requests: int, seen: bool) -> None:
    text = f"Summary:\n  Total: 20 secs\n  Requests/sec: {requests / 20}\n  95% in 0.4 secs\n"
    text += f"  [200] {requests} responses\n"
    assert ("RUN005" in remarks(text)) is seen


def test_the_time_of_a_run_follows_from_its_requests_and_rate() -> None:
    text = "Statistics Avg Stdev Max\nReqs/sec 4000.00 90.00 5000.00\nLatency 10.00ms 1.00ms 40ms\n"
    assert said(f"{text}1xx - 0, 2xx - 8000, 3xx - 0, 4xx - 0, 5xx - 0\n", "RUN001") == "the whole run took 2 s"
