"""What is said of a run is true of its tool, its load and its failures; each document in small, with its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import audit
from runners.audit.listing import as_text, plain
from runners.audit.rule import Severity
from runners.readers.documents import Document
from runners.readers.outputs import outputs_of
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced


def said(text: str, code: str) -> str:
    return plain(remarks(text)[code].seen.text)


def lines_of(text: str, path: str = "report.md") -> list[str]:
    return as_text(audit([outputs_of(Document(text, Path(path)))])).splitlines()


VEGETA = """Requests      [total, rate, throughput]         9000, 300.03, 12.02
Duration      [total, attack, wait]             30.1s, 29.997s, 103ms
Latencies     [min, mean, 50, 90, 95, 99, max]  0.1ms, 4.2ms, 0.5ms, 1.1ms, 7.2ms, 121.9ms, 310ms
Status Codes  [code:count]                      {codes}
"""


@pytest.mark.parametrize(("codes", "seen"), [("200:8950  0:50", True), ("200:400  0:8600", False)])
def test_percentiles_of_failures_are_no_bursts(codes: str, seen: bool) -> None:
    by_code = remarks(VEGETA.format(codes=codes))
    assert ("RAT007" in by_code) is seen
    assert "ERR001" in by_code


def test_bursts_are_named_only_where_the_rate_was_achieved() -> None:
    assert "stalled in bursts" in said(VEGETA.format(codes="200:9000"), "RAT007")
    bare = " 50.000%  0.90ms\n 90.000%  29.90ms\n 99.000%  60.00ms\n"
    assert said(bare, "RAT007") == "p90 of 29.9 ms is 33 times the p50 of 900 us"


AUTOCANNON = """Running 30s test @ http://{host}:3000
100 connections{pipelining}

│ Stat    │ 2.5%   │ 50%      │ 97.5%    │ 99%      │ Avg         │ Stdev      │ Max      │
│ Latency │ 802 ms │ 13870 ms │ 26484 ms │ 26854 ms │ {mean} ms   │ 7723.85 ms │ 27210 ms │

│ Stat      │ 1%     │ 2.5%   │ 50%    │ 97.5%  │ Avg    │ Stdev   │ Min    │
│ Req/Sec   │ 1481   │ 1481   │ 1742   │ 1843   │ 1712.1 │ 85.01   │ 1481   │

566k requests in 30.2s, 22.9 MB read
"""


def autocannon(mean_ms: float, pipelining: str = "", host: str = "host") -> str:
    return AUTOCANNON.format(mean=mean_ms, pipelining=pipelining, host=host)


def test_a_request_without_a_response_stands_in_no_rate() -> None:
    by_code = remarks(f"{autocannon(13_797.32)}41k errors (0 timeouts)\n")
    assert "ERR001" not in by_code
    assert plain(by_code["ERR004"].seen.text) == "41 000 requests failed, in neither rate nor latency"
    assert by_code["ERR004"].severity is Severity.ERROR
    few = remarks(f"{autocannon(13_797.32)}1 errors (0 timeouts)\n")["ERR004"]
    assert few.seen.text == "1 request failed, in neither rate nor latency"
    assert few.severity is Severity.WARNING


HEY = """Summary:
  Total:        10.0 secs
  Average:      0.0100 secs
  Requests/sec: 100.0

Status code distribution:
  [200] 890 responses
  [404] 10 responses

Error distribution:
  [100] Get "http://host/": connection refused
"""


def test_failures_with_and_without_a_response_are_two_findings() -> None:
    assert said(HEY, "ERR001") == "10 of 1 000 requests (1.00 %) failed, and stand in rate and latency like the others"
    assert said(HEY, "ERR004") == "100 requests failed, in neither rate nor latency"


def test_where_a_tool_does_not_say_what_its_latency_counts_nothing_is_said_of_it() -> None:
    ycsb = "[READ], Operations, 400\n[READ], AverageLatency(us), 412.5\n[READ], Return=NOT_FOUND, 10\n"
    assert said(ycsb, "ERR001") == "10 of 400 requests (2.50 %) failed"


def test_a_late_response_is_in_wrk2s_percentiles() -> None:
    errors = "  Socket errors: connect 0, read 0, write 0, timeout 134\nRequests/sec"
    text = said(replaced(HEALTHY, ("Requests/sec", errors)), "ERR004")
    assert text.endswith("Percentiles hold the responses that came late, and leave out those that never came")


def test_a_small_share_has_digits_enough_and_no_samples_are_counted() -> None:
    late = "  Socket errors: connect 0, read 0, write 0, timeout 1\nRequests/sec"
    text = said(replaced(CLOSED, ("Requests/sec", late)), "ERR004")
    assert "1 of 12 000 responses (1 in 12 000) took over 2 s" in text
    assert "samples" not in text


YCSB = """[OVERALL], RunTime(ms), 40000
[READ], Operations, 500
[READ], AverageLatency(us), 412.5
[READ], 99thPercentileLatency(us), 1900
[UPDATE], Operations, 500
[UPDATE], AverageLatency(us), 512.5
[UPDATE], 99thPercentileLatency(us), 2900
"""
STRESS = "Op rate                   :    6,200 op/s\nLatency mean              :    3.1 ms\n"
MEMTIER = """Type       Ops/sec   Hits/sec  Misses/sec      Latency      KB/sec
Totals    24000.00       0.00    21000.00   {mean:.5f}    1000.00
"""
K6_VUS = """iteration_duration.............: avg={iteration}s min=1s med=4s max=17s
iterations.....................: 9000 {rate}/s
vus............................: {vus}
vus_max........................: 1000 min=1000 max=1000
"""
K6 = "http_req_duration..............: avg=2s min=1ms med=3s max=9s p(90)=5s p(95)=6s\nhttp_reqs......: 9000 300/s\n"


@pytest.mark.parametrize(
    ("text", "option"),
    [
        (CLOSED, "with wrk2 or truepace"),
        (YCSB, "YCSB's -target"),
        (STRESS, "cassandra-stress's -rate fixed="),
        (MEMTIER.format(mean=1), "memtier's --rate-limiting"),
        (HEY, "hey's -q"),
        (autocannon(10), "autocannon's -R"),
    ],
)
def test_a_closed_loops_reader_is_named_the_option_of_his_tool(text: str, option: str) -> None:
    assert option in remarks(text)["RAT004"].remedy


def test_percentiles_that_were_asked_for_and_cut_off_are_not_advised_again() -> None:
    cut = "\n".join(line for line in HEALTHY.splitlines() if "%  " not in line or "Latency  " in line)
    cut = cut[: cut.index("  Detailed")] + cut[cut.index("#[Mean") :]
    bare = cut.replace(" -L", "")
    footless = "".join(f"{line}\n" for line in bare.splitlines() if "#[" not in line)
    remedies = [remarks(text)["RUN005"].remedy for text in (cut, bare, footless)]
    assert remedies == ["publish the whole output"] * 2 + ["publish the whole output; add -L to wrk2"]


def test_each_rule_has_its_own_line_with_its_sentence_and_its_places() -> None:
    lost = replaced(CLOSED, ("-t2 -c2", "-t2 -c3"), ("2 threads and 2", "2 threads and 3"))
    late = replaced(CLOSED, ("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 9\nRequests/sec"))
    late = replaced(late, ("99%   24.10ms", "99%   25.10ms"))
    failed = replaced(CLOSED, ("Requests/sec", "  Non-2xx or 3xx responses: 700\nRequests/sec"), ("24.10", "26.10"))
    listed = [line for line in lines_of(f"{lost}\n{late}\n{failed}") if line.startswith("report.md:")]
    codes = [line.rpartition("[")[2] for line in listed if line.endswith("]")]
    assert codes == ["ERR001]", "ERR004]", "RAT004 at 2, 17, 33]", "RUN002]"]
    assert [line.split(":")[1] for line in listed[:4]] == ["33", "17", "2", "2"]


GHZ = """Summary:
  Count:        20
  Total:        {total} s
  Average:      3.53 s
  Requests/sec: {rate}

Latency distribution:
  50 % in 3.58 s
  99 % in 3.91 s

"""


def test_a_command_gives_the_rate_of_each_output_that_it_explains() -> None:
    command = "ghz --call a.B.c --rps 2 --concurrency 2 --total 20 host:443\n\n"
    first, second = GHZ.format(total="36.77", rate="0.54"), GHZ.format(total="36.64", rate="0.55")
    text = f"{command}## Monday\n{first}\n## Friday\n{second}"
    assert [output.offered_rps for output in outputs(text)] == [2, 2]
    assert "RAT004" not in remarks(text)
    (line,) = [line for line in lines_of(text) if "[RAT001" in line]
    assert "0.54/s of 2/s was achieved, 27.0 % (offered: by its command)" in line
    assert line.endswith("[RAT001 at 4, 16]")
    more = second.replace("Count:        20", "Count:        30")
    assert [output.offered_rps for output in outputs(f"{command}{first}\n{more}")] == [2, None]


OHA = HEY.replace("Summary:", "Summary:\n  Success rate: 100.00%").partition("Status")[0]
FORTIO = """Fortio 1.60.3 running at {qps} queries per second, 8->8 procs, for 3s: http://localhost/
Aggregated Function Time : count 1723 avg 0.013 +/- 0.006 min 0.001 max 0.056 sum 22.96
# target 50% 0.0128
# target 99% 0.0353
Code 200 : 1723 (100.0 %)
All done 1723 calls (plus 8 warmup) 13.329 ms avg, 571.9 qps
"""


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        (f"oha -n 1000 -c 10 -q 500 http://host/\n{OHA}", 500),
        (f"oha -n 1000 -c 10 http://host/\n{OHA}", None),
        (f"oha \\\n  -n 1000 \\\n  -q 500 http://host/\n{OHA}", 500),
        (FORTIO.format(qps=1_000), 1_000),
        (FORTIO.format(qps=0), None),
        (f"fortio load -qps 2000 http://host/\n{FORTIO.partition(chr(10))[2]}", 2_000),
        (f"cassandra-stress read n=1000 -rate threads=8 fixed=9000/s\n{STRESS}", 9_000),
    ],
)
def test_a_rate_that_was_asked_for_takes_the_place_of_a_closed_loop(text: str, rate: float | None) -> None:
    assert outputs(text)[0].offered_rps == rate
    assert ("RAT004" in remarks(text)) is (rate is None)
    if rate:
        assert {"RAT001", "RAT006"} & set(remarks(text))


def test_a_ycsb_run_is_one_closed_loop_or_has_one_target() -> None:
    (line,) = [line for line in lines_of(YCSB) if "[RAT004" in line]
    assert line.endswith("[RAT004]")
    assert len([line for line in lines_of(f"{YCSB}\n{YCSB}") if line.endswith("[RAT004 at 2, 10]")]) == 1
    paced = f"$ ycsb run cassandra-cql -target 25 -P workloada\n{YCSB}"
    assert [output.offered_rps for output in outputs(paced)] == [25, 25]
    remark = remarks(paced)["RAT004"]
    assert plain(remark.seen.text).startswith("a target of 25/s, and latency counts from when a request was sent")
    assert remark.remedy == "count response time from the intended start: -p measurement.interval=intended"
    assert "RAT004" not in remarks(paced.replace("workloada", "workloada -p measurement.interval=intended"))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (autocannon(13_797.32, " with 10 pipelining factor"), True),  # 23 600 in flight of at most 1 000
        (autocannon(580.0, " with 10 pipelining factor"), False),
        (autocannon(580.0), True),
        (autocannon(58.0), False),
        (f"memtier_benchmark -s host\n{MEMTIER.format(mean=1_296.9)}", True),  # 31 100 of 200
        (f"memtier_benchmark -s host\n{MEMTIER.format(mean=8.3)}", False),
        (f"memtier_benchmark -s host -c 500\n{MEMTIER.format(mean=1_296.9)}", False),  # how many, is not known
        (MEMTIER.format(mean=1_296.9), False),
    ],
)
def test_rate_and_mean_latency_need_no_more_connections_than_there_are(text: str, seen: bool) -> None:
    by_code = remarks(text)
    assert ("SUM004" in by_code) is seen
    if seen:
        assert by_code["SUM004"].severity is Severity.ERROR
        assert "latency and rate contradict each other" in by_code["SUM004"].seen.text


def test_a_mean_that_was_rounded_up_to_a_millisecond_contradicts_no_rate() -> None:
    ab = (
        "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      32000\n"
        "Requests per second:    16000.00 [#/sec] (mean)\nTotal:          0    {mean}   0.2      1       3\n"
    )
    assert "SUM004" not in remarks(ab.format(mean=1))
    assert "SUM004" in remarks(ab.format(mean=2))


JMETER = "summary {} {:6} in 00:{}:{:02} = {:6.1f}/s Avg: {:5} Min:     7 Max: {:5} Err: {:5} (1.00%)\n"


def test_an_interval_after_the_last_total_of_jmeter_counts() -> None:
    total = JMETER.format("=", 7_000, "01", 10, 100.0, 1_900, 61_004, 116)
    last = JMETER.format("+", 1_000, "00", 30, 33.3, 4_500, 60_007, 17)
    (output,) = outputs(f"{JMETER.format('+', 7_000, '01', 10, 100.0, 1_900, 61_004, 116)}{total}{last}")
    report = output.report
    assert (report.requests, report.non_2xx, report.elapsed_s, report.requests_per_s) == (8_000, 133, 100, 80)
    assert (report.max_us, report.latency and report.latency.mean) == (61_004_000, 2_225_000)
    assert outputs(f"{JMETER.format('=', 7_000, '01', 10, 100.0, 1_900, -5, 116)}{last}")[0].report.max_us == 60_007_000
    next_run = JMETER.format("=", 1_000, "00", 30, 33.3, 4_500, 60_007, 17)
    assert [output.report.requests for output in outputs(f"{total}{last}{next_run}")] == [7_000, 1_000]


def test_a_run_without_a_request_measured_nothing() -> None:
    nothing = (
        "summary =      0 in 00:00:00 = ******/s Avg:     0 Min: 9223372036854775807 Max: -9223372036854775808 Err:"
        "     0 (0.00%)\n"
    )
    by_code = remarks(nothing)
    assert by_code.keys() == {"RUN001"}
    assert by_code["RUN001"].seen.text == "nothing was measured: the run had 0 requests"


@pytest.mark.parametrize(
    ("seconds", "severity"),
    [("0.66", Severity.WARNING), ("2.9", Severity.WARNING), ("3.1", Severity.NOTE), ("9.99", None), ("10", None)],
)
def test_a_run_of_a_few_seconds_is_too_short(seconds: str, severity: Severity | None) -> None:
    remark = remarks(HEY.replace("10.0 secs", f"{seconds} secs")).get("RUN001")
    assert (remark.severity if remark else None) is severity
    if remark:
        assert plain(remark.seen.text) == f"the whole run took {seconds} s"


AB = (
    "Complete requests:      100\nTime taken for tests:   20.000 seconds\nRequests per second:    5.00 [#/sec] (mean)\n"
)
TABLE = """Stat │ 2.5% │ 50% │ 97.5% │ 99% │ Avg │ Stdev │ Max │

Latency │ 144 ms │ {p50} ms │ 768 ms │ 907 ms │ 449.14 ms │ 141 ms │ 1143 ms │

---

Stat │ 1% │ 2.5% │ 50% │ 97.5% │ Avg │ Stdev │ Min │

Req/Sec │ 856 │ 856 │ 2277 │ 2561 │ 2215.74 │ 332.22 │ 856 │

"""


def test_tables_of_autocannon_without_their_frames_are_outputs() -> None:
    first, second = outputs(TABLE.format(p50=476) + "### Large\n\n" + TABLE.format(p50=429))
    assert [output.report.latencies.at(0.5) for output in (first, second)] == [476_000, 429_000]
    assert first.report.requests_per_s == second.report.requests_per_s == 2_215.74


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        (autocannon(10), False),
        (autocannon(10, host="127.0.0.1"), True),
        (HEALTHY, True),
        (HEALTHY.replace("localhost", "localhost.example.com"), True),  # a remote host
        (HEALTHY.replace("localhost", "web.default.svc.cluster.local"), False),
        (f"ab -n 100 http://127.0.0.1:84/\n\nDocument Path:          /\n{AB}", True),
        (f"The page is at http://127.0.0.1:84/.\n\nDocument Path:          /\n{AB}", False),
        (f"ab -n 100 http://far:84/ # not localhost.\n\nDocument Path:          /\n{AB}", False),
        (f'{VEGETA.format(codes="0:9000")}Get "http://127.0.0.1/a": EOF\n\n{VEGETA.format(codes="0:9000")}', True),
        (f"{HEALTHY}\n{HEALTHY.replace('localhost', 'far')}", False),
        (f"oha -n 1000 http://[::1]:80/\n{OHA}", True),
    ],
)
def test_a_servers_address_says_whether_it_shares_the_machine(text: str, shared: bool) -> None:
    (line,) = [line for line in lines_of(text) if "not in its outputs" in line]
    assert ("whether server and generator shared one machine" not in line) is shared


def test_an_operation_without_a_name_has_its_rate_alone_and_each_url_its_own() -> None:
    bare = HEALTHY.replace(" -s put.lua", "")
    assert "report.md: highest rate achieved: 2 000/s" in lines_of(bare)
    (line,) = [line for line in lines_of(f"{bare}\n{bare.replace(':8080', ':8080/next')}") if "highest" in line]
    assert line.endswith("http://localhost:8080 2 000/s and http://localhost:8080/next 2 000/s")


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        (K6 + K6_VUS.format(iteration=3.3, rate=300, vus="1000 min=1000 max=1000"), True),  # 990 of 1 000 are busy
        (K6 + K6_VUS.format(iteration=1.3, rate=300, vus="1000 min=1000 max=1000"), None),
        (K6 + K6_VUS.format(iteration=1.3, rate=300, vus="101 min=10 max=1000"), True),  # they grow from 10 to 1 000
        (K6 + K6_VUS.format(iteration=1.3, rate=300, vus="12 min=12 max=1000"), None),
        (K6 + "dropped_iterations.: 9 1/s\n" + K6_VUS.format(iteration=3.3, rate=300, vus="9 min=1 max=9"), None),
    ],
)
def test_users_of_k6_that_are_busy_all_the_time_loop(text: str, closed: bool | None) -> None:
    assert outputs(text)[0].report.closed_loop is closed
    assert ("RAT004" in remarks(text)) is bool(closed)


ARTILLERY = (
    "Summary report @ 12:00:00(+0000)\nhttp.requests: .... 5000\nhttp.response_time:\n  mean: ... 9\n  p99: ... 20\n"
)


def test_artillery_quick_without_a_rate_is_a_closed_loop() -> None:
    command = "artillery quick \\\n\t--count 20 \\\n\t--num 100 \\\n\thttps://host\n"
    assert "RAT004" in remarks(f"{command}\n{ARTILLERY}")
    assert "RAT004" not in remarks(f"{command.replace('--num 100', '--rate 100')}\n{ARTILLERY}")


SIEGE = """   siege -c 500 -r 10 -f url.txt
   Transactions:               4844 hits
  Availability:              96.88 %
  Elapsed time:              38.50 secs
  Response time:              {response}
  Transaction rate:         125.82 trans/sec
   Concurrency:               94.33
  Failed transactions:             156
   Longest transaction:           {longest}
"""


@pytest.mark.parametrize(("response", "longest"), [("0.75 secs", "18.59"), ("750.00 ms", "18590.00 ms")])
@pytest.mark.parametrize("quote", ["", "> "])
def test_siege_is_read(response: str, longest: str, quote: str) -> None:
    text = "".join(f"{quote}{line}\n" for line in SIEGE.format(response=response, longest=longest).splitlines())
    (output,) = outputs(text)
    report = output.report
    assert (output.tool, report.requests, report.requests_per_s, report.elapsed_s) == ("siege", 4_844, 125.82, 38.5)
    assert report.latency is not None
    assert (report.latency.mean, report.max_us) == pytest.approx((750_000, 18_590_000))
    assert {"RAT004", "ERR004", "RUN005"} == set(remarks(text))


NIGHTHAWK = """Nighthawk - A layer 7 protocol benchmarking tool.

Queueing and connection setup latency (30000 samples)
  min: 0s 000ms 005us | mean: 0s 000ms 009us | max: 0s 000ms 516us | pstdev: 0s 000ms 003us

  Percentile  Count       Value
  0.5         15007       0s 000ms 009us

Request start to response end (29999 samples)
  min: 0s 000ms 360us | mean: 0s 000ms 545us | max: 0s 010ms 440us | pstdev: 0s 000ms 198us

  Percentile  Count       Value
  0.5         15003       0s 000ms 512us
  0.990625    29718       0s 001ms 028us

Initiation to completion (29999 samples)
  min: 0s 000ms 372us | mean: 0s 000ms 563us | max: 0s 010ms 468us | pstdev: 0s 000ms 201us

Counter                                 Value       Per second
benchmark.http_2xx                      29999       999.97
"""


def test_nighthawks_text_is_read() -> None:
    (output,) = outputs(NIGHTHAWK)
    report = output.report
    assert (output.tool, report.requests, report.requests_per_s) == ("nighthawk", 29_999, 999.97)
    assert report.latencies.rows == ((0.5, 512), (0.990625, 1_028))
    assert (report.max_us, report.latency and report.latency.mean) == (10_440, 545)
    assert "RAT004" in remarks(NIGHTHAWK)
    assert "RAT004" not in remarks(f"nighthawk_client --open-loop --rps 1000 http://host/\n{NIGHTHAWK}")


LOCUST = """Type     Name    # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
         Aggregated  1100     0(0.00%) |     25       3     350     18 |   40.00        0.00

Type     Name      50%    90%    99%   100% # reqs
GET      /a         20     60    210    350   1067
GET      /b         20     60    310    310     33
         Aggregated 20     60    210    350   1100
"""
LOCUST_CSV = """Type,Name,Request Count,Failure Count,50%,90%,99%,100%
GET,/a,1067,0,20,60,210,350
GET,/b,33,0,20,60,310,310
,Aggregated,1100,0,20,60,210,350
"""


@pytest.mark.parametrize("text", [LOCUST, LOCUST_CSV])
def test_a_row_of_locust_has_its_own_samples(text: str) -> None:
    (output,) = outputs(text)
    assert (output.report.requests, output.report.latencies.at(0.99)) == (1_100, 210_000)
    assert said(text, "SMP001").startswith("row /b: 33 samples, 3 beyond p90 and 0 beyond p99")
    assert "SMP001" not in remarks(text.replace("33\n", "1067\n").replace(",33,", ",1067,"))
