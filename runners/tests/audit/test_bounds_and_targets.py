"""Time-outs, ends that came late, targets and loops, as the lines of an output and of its command show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import audit
from runners.audit.listing import as_text, plain
from runners.readers.documents import Document
from runners.readers.outputs import outputs_of
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced


def said(text: str, code: str) -> str:
    return plain(remarks(text)[code].seen.text)


VEGETA = """{above}
Requests      [total, rate, throughput]         900, 90.10, {throughput}
Duration      [total, attack, wait]             {total}s, 9.989s, {wait}
Latencies     [min, mean, 50, 90, 95, 99, max]  9ms, 2s, {times}
Status Codes  [code:count]                      0:{lost}  200:{good}
{below}
"""
CLIENT = 'Error Set:\nGet "http://host/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'


def vegeta(above: str = "", below: str = "", lost: int = 500, limit: str = "5", median: str = "4.1s") -> str:
    times = ", ".join((median, *[f"{limit}.001s"] * 3, f"{limit}.004s"))
    total = 9.989 + float(limit)
    figures = {"throughput": round((900 - lost) / total, 2), "total": round(total, 3), "wait": f"{limit}s"}
    return VEGETA.format(above=above, below=below, times=times, lost=lost, good=900 - lost, **figures)


@pytest.mark.parametrize(
    ("text", "limit_s"),
    [
        (vegeta("vegeta attack -rate=90 -duration=10s -timeout=5s | vegeta report"), 5),
        (vegeta("Duration: 10s\nTimeout: 5s\n"), 5),
        (vegeta("- **Time-out:** 5s\n"), 5),
        (vegeta(below=CLIENT), 5),
        (vegeta(limit="30"), 30),  # vegeta's own
        (vegeta(), None),
        (vegeta("Timeout: 5s", lost=0), None),  # nothing failed
        (vegeta("The server's timeout is 5s"), None),
    ],
)
def test_what_vegeta_waited_for_until_its_time_out_is_no_queue(text: str, limit_s: int | None) -> None:
    named = said(text, "SMP003") if limit_s else ""
    assert named.endswith(f"lies at vegeta's time-out of {limit_s} s: what took longer is not in it") is bool(limit_s)
    assert ("RAT002" in remarks(text)) is (limit_s is None)


def test_of_vegeta_successes_over_the_whole_time_were_achieved() -> None:
    assert said(vegeta("Timeout: 5s"), "RAT001").startswith("27/s of 90/s was achieved, 29.6 %")
    assert "SUM001" not in remarks(vegeta("Timeout: 5s"))
    assert "RAT001" in remarks(vegeta("Timeout: 5s", lost=700, median="5.001s"))
    assert "RAT001" not in remarks(vegeta("Timeout: 5s", lost=900, median="5.001s"))  # no response at all


def test_a_single_request_exceeds_no_rate_and_is_cut_by_nothing() -> None:
    text = "Requests      [total, rate, throughput]  1, 1.00, {}\nDuration      [total, attack, wait]  0.4s, 0s, 0.4s\n"
    text += "Latencies     [min, mean, 50, 90, 95, 99, max]  0.4s, 0.4s, 0.4s, 0.4s, 0.4s, 0.4s, 0.4s\n"
    for throughput in ("1.00", "2.50"):
        assert {"RAT011", "SMP003"}.isdisjoint(remarks(text.format(throughput)))
        assert "highest rate" not in as_text(audit([outputs_of(Document(text.format(throughput), Path("a")))]))
    hey = "Summary:\n  Total: 4.0 secs\n  Slowest: 4.0 secs\n  Average: 4.0 secs\n"
    hey += "  Requests/sec: {}\n  [200] {} responses\n"
    assert "SMP003" not in remarks(hey.format(0.25, 1))
    assert "SMP003" in remarks(hey.format(0.75, 3))


BOMBARDIER = """Bombarding http://host:80 for 10s using 20 connections
Reqs/sec 40.00 4.00 90.00
Latency 400.00ms 90.00ms {longest}
1xx - 0, 2xx - {good}, 3xx - 0, 4xx - 0, 5xx - 0
others - {lost}
{errors}
"""


@pytest.mark.parametrize(
    ("longest", "lost", "errors", "command", "limit_s"),
    [
        ("1.98s", 0, "", "", None),  # whatever took longer would be counted
        ("1.98s", 9, "", "", 2),
        ("1.98s", 9, "", "bombardier -c 20 -d 10s -t 7s http://host:80", None),
        ("6.95s", 9, "", "bombardier -c 20 -d 10s -t 7s http://host:80", 7),
        ("6.95s", 9, "", "bombardier --timeout=7s http://host:80", 7),
        ("6.95s", 9, "", "", None),
        ("6.95s", 9, "Errors:\n  timeout - 9", "", 7),
    ],
)
def test_a_maximum_is_at_a_time_out_only_where_requests_failed(
    longest: str, lost: int, errors: str, command: str, limit_s: int | None
) -> None:
    text = f"{command}\n{BOMBARDIER.format(longest=longest, lost=lost, good=400 - lost, errors=errors)}"
    remark = remarks(text).get("SMP003")
    assert (remark.seen.evidence["timeout_s"] if remark else None) == limit_s


@pytest.mark.parametrize(("late", "seen"), [(0, False), (4, True)])
def test_wrk_prints_what_exceeds_its_time_out(late: int, seen: bool) -> None:
    lost = f"  Socket errors: connect 0, read 3, write 0, timeout {late}\nRequests/sec"
    assert ("SMP003" in remarks(replaced(CLOSED, ("48.51ms", " 1.97s "), ("Requests/sec", lost)))) is seen


@pytest.mark.parametrize(("longest", "seen"), [("19.98", True), ("18.98", False)])
def test_a_table_of_hey_leaves_out_what_exceeds_its_time_out(longest: str, seen: bool) -> None:
    head = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    rows = (f"{took},0,0,0,0,0,200,{second}\n" for second, took in enumerate(["0.2"] * 40 + [longest]))
    assert ("SMP003" in remarks(head + "".join(rows))) is seen


PLAIN = replaced(CLOSED, (" -s get.lua", ""), ("-t2 -c2", "-t2 -c8"), ("2 threads and 2", "2 threads and 8"))


@pytest.mark.parametrize(("late", "hung"), [(60, True), (1_200, False)])
def test_a_mean_without_late_responses_shows_no_connections_that_hung(late: int, hung: bool) -> None:
    lost = f"  Socket errors: connect 0, read 0, write 0, timeout {late}\nRequests/sec"
    assert ("connections hung" in said(replaced(PLAIN, ("Requests/sec", lost)), "RAT004")) is hung


HEY = "Summary:\n  Total: {total} secs\n  Slowest: 6.1 secs\n  Average: 0.1 secs\n  Requests/sec: 60.00\n"
HEY += "  50% in 0.01 secs\n  99% in 0.2 secs\n  [200] 900 responses\n  [500] 90 responses\n"


@pytest.mark.parametrize(
    ("command", "total", "hung"),
    [
        ("hey -z 10s -c 20 http://host/", "16.5", "10 s took 16.5 s"),
        ("hey -z 10s -c 20 http://host/", "10.1", ""),
        ("hey -n 990 -c 20 http://host/", "16.5", ""),
        ("./hey_linux_amd64 -c 20 -z 10s http://host/", "16.5", "10 s took 16.5 s"),
    ],
)
def test_an_end_of_hey_that_came_late_is_named(command: str, total: str, hung: str) -> None:
    text = f"{command}\n\n{HEY.format(total=total)}"
    assert said(text, "RAT004").partition("; connections hung: ")[2] == hung
    assert outputs(text)[0].connections == 20
    assert "SMP003" not in remarks(text)


def test_a_number_of_samples_is_not_said_to_be_unknown_next_to_an_estimate_of_it() -> None:
    cut = HEALTHY[: HEALTHY.index("  Detailed")]
    assert said(cut, "SMP002") == (
        "percentiles without their number of samples: on how many responses p99.9 rests is not printed"
    )
    assert outputs(cut)[0].report.requests is None


GHZ = "ghz -c 10 -z 30s host:1\nSummary:\n  Count: 3000\n  Total: 30.00 s\n  Average: 9.85 ms\n  Requests/sec: 100.00\n"


def test_the_highest_rate_is_what_was_achieved_and_stands_by_a_run_that_had_one() -> None:
    paced = replaced(HEALTHY, ("-R2000", "-R2010"))
    text = as_text(audit([outputs_of(Document(f"{paced}\n# gRPC\n\n{GHZ}", Path("report.md")))]))
    (line,) = [line for line in text.splitlines() if "highest rate achieved" in line]
    assert line == "report.md: highest rate achieved: put 2 000/s"
    assert "[RAT004]" in text


AB = """Document Path:          /
Document Length:        1000 bytes
Concurrency Level:      10
Time taken for tests:   20.000 seconds
Complete requests:      500
Failed requests:        40
   (Connect: 0, Receive: 0, Length: 40, Exceptions: 0)
{non_2xx}HTML transferred:       {bodies} bytes
Requests per second:    25.00 [#/sec] (mean)
"""


@pytest.mark.parametrize(
    ("non_2xx", "bodies", "fault"),
    [
        ("", 460_000, "responses (8.00 %) failed by their length: their bodies are missing"),
        ("Non-2xx responses:      40\n", 460_000, "responses (8.00 %) are not 2xx or 3xx"),
    ],
)
def test_bodies_that_are_missing_have_no_bad_status(non_2xx: str, bodies: int, fault: str) -> None:
    assert said(AB.format(non_2xx=non_2xx, bodies=bodies), "ERR001").startswith(f"40 of 500 {fault}")


YCSB = """[OVERALL], RunTime(ms), {ms}
[OVERALL], Throughput(ops/sec), {rate}
[READ], Operations, 6000
[READ], AverageLatency(us), 412.5
[READ], 99thPercentileLatency(us), 900
[UPDATE], Operations, 6000
[UPDATE], AverageLatency(us), 512.5
[UPDATE], 99thPercentileLatency(us), 950
"""


@pytest.mark.parametrize(
    ("ms", "target"),
    [(40_090, "300/s"), (40_490, None), (41_090, None)],  # 12 000 operations in 40 s and its start, or not
)
def test_a_target_of_ycsb_shows_in_the_time_of_its_operations(ms: int, target: str | None) -> None:
    remark = remarks(YCSB.format(ms=ms, rate=12_000_000 / ms))["RAT004"]
    named = plain(remark.seen.text).partition("a target of ")[2].partition(",")[0]
    assert (named or None) == target
    assert remark.remedy.startswith("count response time" if target else "offer a fixed rate (YCSB's -target, with")


K6 = """█ THRESHOLDS

  http_req_duration
  ✓ 'p(95)<500' p(95)=33ms
  ✓ 'p(99)<900' p(99)=71ms

█ TOTAL RESULTS

http_req_duration..............: avg=12ms min=2ms med=9ms max=90ms p(90)=21ms p(95)=33ms
http_reqs......................: 9000 300/s
vus_max........................: 70 min=20 max=70

"""
LOOPS = "browse ✓ [======================] 00/20 VUs  30s\n"
ARRIVALS = "steady ✓ [======================] 00/50 VUs  30s  100.00 iters/s\n"


@pytest.mark.parametrize(
    ("scenarios", "senders"),
    [
        (LOOPS, "each of the 70 users sends"),
        (LOOPS + ARRIVALS, "each of the looping users sends"),
        (ARRIVALS + LOOPS, "each of the looping users sends"),
        (ARRIVALS, None),
    ],
)
def test_users_of_k6_that_arrive_at_a_rate_are_in_no_closed_loop(scenarios: str, senders: str | None) -> None:
    text = K6 + scenarios
    assert ("RAT004" in remarks(text)) is (senders is not None)
    assert senders is None or senders in said(text, "RAT004")


def test_percentiles_of_k6s_thresholds_are_printed_too() -> None:
    assert "RUN005" not in remarks(K6)
    assert "percentiles beyond p95" in said(K6.partition("█ TOTAL")[2], "RUN005")


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("Running 10s test @ http://h\n10 connections with 4 pipelining factor\n", 4),
        ("Running 10s test @ http://h\n10 connections\n", None),
    ],
)
def test_a_pipeline_in_a_closed_loop_says_its_depth(text: str, depth: int | None) -> None:
    rows = "│ Stat    │ 2.5% │ 50%  │ 97.5% │ 99%   │ Avg     │ Stdev   │ Max    │\n"
    rows += "│ Latency │ 9 ms │ 9 ms │ 11 ms │ 12 ms │ 9.30 ms │ 0.36 ms │ 272 ms │\n\n"
    piped = f", with up to {depth} requests at once," if depth else ""
    assert f"each of the 10 connections{piped} sends" in said(text + rows + "9k requests in 10.02s\n", "RAT004")


H2LOAD = (
    "finished in 20.00s, 500.00 req/s, 1.0MB/s\n"
    "requests: 10000 total, 10000 started, 10000 done, 10000 succeeded, 0 failed, 0 errored, 0 timeout\n"
    "time for request: 1ms 90ms 9ms 1ms 90%\n"
)
SIEGE = (
    "Transactions: 9000 hits\nElapsed time: 30.00 secs\nResponse time: 0.01 secs\nTransaction rate: 300.00 trans/sec\n"
)
JMETER = "summary =   9000 in 00:00:30 =  300.0/s Avg:     9 Min:     2 Max:    90 Err:     0 (0.00%)\n"


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (H2LOAD, "read its --log-file: its summary has no percentiles"),
        (SIEGE, "measure with another tool: siege prints no percentiles"),
        (JMETER, "give its samples (.jtl): its summary has no percentiles"),
    ],
)
def test_no_more_is_asked_of_a_summary_than_its_tool_prints(text: str, remedy: str) -> None:
    assert remarks(text)["RUN005"].remedy == remedy


FORTIO = """{0}Aggregated Sleep Time : count 900 avg -2.1 +/- 1.2 min -5 max -0.1 sum -900
{0}WARNING 100.00% of sleep were falling behind
{0}Aggregated Function Time : count 900 avg 0.16 +/- 0.006 min 0.15 max 0.21 sum 144
{0}# target 50% 0.17
{0}# target 99.9% 0.20
{0}Code 200 : 900 (100.0 %)
{0}All done 900 calls (plus 4 warmup) 160 ms avg, 30.0 qps
"""


@pytest.mark.parametrize("prefix", ["", "load load-1 ", "fortio fortio ", "[pod/load-7/main] "])
def test_a_log_of_fortio_may_begin_each_line_with_pod_and_container(prefix: str) -> None:
    command = (
        "kubectl run load --image=fortio/fortio \\\n  --restart=Never -- load -t 30s \\\n  -c 5 -qps 400 http://host/\n"
    )
    (output,) = outputs(command.replace("run load", "run fortio") + "\n" + FORTIO.format(prefix))
    assert (output.report.requests, output.report.requests_per_s, output.report.latencies.at(0.5)) == (900, 30, 170_000)
    assert (output.offered_rps, output.connections) == (400, 5)
    assert {"RAT001", "RUN003", "SMP001"} <= set(remarks(f"fortio load -qps 400 http://host/\n{FORTIO.format(prefix)}"))


def test_responses_of_artillery_are_counted_by_status_where_its_requests_are_cut() -> None:
    text = "## Summary report @ 12:00:00(+0000)\n\nhttp.codes.200: ..... 800\nhttp.codes.500: ..... 200\n"
    text += (
        "http.response_time:\nhttp.downloaded_bytes: ..... 90000\nmin: ..... 1.9\nmax: ..... 303.4\np95: ..... 51.9\n"
    )
    (output,) = outputs(text)
    assert (output.report.requests, output.report.non_2xx, output.report.max_us) == (1_000, 200, 303_400)


def test_other_names_of_a_tools_program_are_its_own() -> None:
    loop = f"k6-v0.49.0-linux-amd64 run -u 20 load.js\n\n{K6.partition('█ TOTAL')[2].replace('vus_max', 'x')}"
    assert outputs(loop)[0].report.closed_loop is True
    assert outputs(loop.replace("run -u 20", "runs -u 20"))[0].report.closed_loop is None
