"""Outputs of other load tools, as the tools printed them on a loopback server, are read figure by figure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.audit.audit import audit, examine
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import find_outputs, outputs_of
from runners.readers.units import go_time_us
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS


def read(name: str) -> Output:
    (output,) = find_outputs(TOOLS / f"{name}.txt").outputs
    return output


def test_ab_is_read() -> None:
    output = read("ab-2.4.71")
    report = output.report
    assert (output.tool, output.connections, report.requests, report.non_2xx) == ("ab", 4, 2_000, 200)
    assert (report.requests_per_s, report.elapsed_s) == (2056.04, 0.973)
    assert report.latencies.rows[0] == (0.5, 1_000)
    assert report.latencies.at(0.98) == 20_000
    assert report.max_us == 24_000
    assert report.latency is not None
    assert report.latency.mean == 2_000


def test_what_of_abs_output_people_keep_is_read() -> None:
    whole = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    kept = whole[whole.index("Concurrency Level") : whole.index("Connection Times")]
    (output,) = outputs_of(Document(kept)).outputs
    assert output.report.latency is not None
    assert output.report.latency.mean == 1_945
    assert output.report.url is None
    (output,) = outputs_of(Document(f"Document Path:  /xn\nDocument Length:  17 bytes\n\n{kept}")).outputs
    assert (output.line, output.report.url) == (1, "///xn")
    assert outputs_of(Document("Server Software:  nginx\nServer Hostname:  localhost\n")).outputs == ()


def test_counts_that_people_write_into_k6s_output_are_counts() -> None:
    text = (
        "http_req_duration..............: avg=89ms min=3ms med=61ms max=1.2s p(90)=198ms p(95)=312ms p(99)=621ms\n"
        "http_req_failed................: 2.15%   ✓ 47,312  ✗ 2,156,048\n"
        "http_reqs......................: 2,203,360  5,831/s\n"
    )
    (output,) = outputs_of(Document(f"## Stress: 10,000 TPS\n\n{text}")).outputs
    assert (output.report.requests, output.report.non_2xx) == (2_203_360, 47_312)
    assert output.report.requests_per_s == 5_831
    assert output.offered_rps is None  # stages change it


def test_k6s_waiting_is_read_where_an_author_kept_it_alone() -> None:
    rate = "http_reqs......................: 9500 942.2/s\n"
    waiting = "http_req_waiting...............: avg=10.26ms med=9.67ms p(90)=14.03ms p(99)=20.61ms\n"
    (output,) = outputs_of(Document(f"{waiting}{rate}")).outputs
    assert output.report.latencies.at(0.5) == pytest.approx(9_670)
    duration = waiting.replace("waiting.", "duration").replace("med=9.67ms", "med=9.99ms")
    (whole,) = outputs_of(Document(f"{duration}{rate}{waiting}")).outputs
    assert whole.report.latencies.at(0.5) == pytest.approx(9_990)


def test_k6_without_its_scenarios_says_nothing_of_its_loop() -> None:
    (output,) = outputs_of(
        Document(
            "http_req_duration..............: avg=10.26ms med=9.67ms p(90)=14.03ms p(99)=20.61ms\n"
            "http_reqs......................: 9500 942.2/s\n"
        )
    ).outputs
    assert output.report.closed_loop is None


LOCUST = """Type     Name    # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|------|-------|-------------|-------|-------|-------|-------|--------|-----------
GET      /a          400     4(1.00%) |     25       3     350     18 |   40.00        0.40
         Aggregated  400     4(1.00%) |     25       3     350     18 |   40.00        0.40

Type     Name    # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s
--------|------|-------|-------------|-------|-------|-------|-------|--------|-----------
GET      /a          800     8(1.00%) |     30       3     450     20 |   40.00        0.40
         Aggregated  800     8(1.00%) |     30       3     450     20 |   40.00        0.40

Response time percentiles (approximated)
Type     Name      50%    66%    90%    95%    99%  99.9%   100% # reqs
--------|------|------|------|------|------|------|------|------|------
GET      /a         20     25     60     90    210    450    450    800
         Aggregated 20     25     60     90    210    450    450    800
"""
ARTILLERY = """All VUs finished. Total time: 31 seconds

--------------------------------
Summary report @ 12:00:00(+0000)
--------------------------------

errors.ETIMEDOUT: ........................................................... 50
http.codes.200: ............................................................. 900
http.codes.503: ............................................................. 50
http.request_rate: .......................................................... 32/sec
http.requests: .............................................................. 1000
http.response_time:
  min: ...................................................................... 2
  max: ...................................................................... 950
  mean: ..................................................................... 45.5
  median: ................................................................... 30.5
  p95: ...................................................................... 150.5
  p99: ...................................................................... 600.5
http.response_time.2xx:
  min: ...................................................................... 2
  median: ................................................................... 99
vusers.session_length:
  min: ...................................................................... 3
  median: ................................................................... 88
"""
ARTILLERY_1 = """All virtual users finished
Summary report @ 12:00:00(+0000) 2020-01-01
  Scenarios launched:  1000
  Scenarios completed: 950
  Requests completed:  950
  Mean response/sec: 32
  Response time (msec):
    min: 2
    max: 950
    median: 30.5
    p95: 150.5
    p99: 600.5
  Scenario counts:
    0: 1000 (100%)
  Codes:
    200: 900
    503: 50
  Errors:
    ETIMEDOUT: 50
"""


def one_of(text: str) -> Output:
    (output,) = outputs_of(Document(f"# Load\n\n```\n{text}```\n\nThat was all.\n")).outputs
    return output


def test_wrks_output_below_another_tools_is_its_own() -> None:
    hey = (TOOLS / "hey-0.1.5.txt").read_text(encoding="utf-8")
    text = f"{hey}\n==> once more\n{CLOSED.partition(chr(10))[2]}"
    first, second = outputs_of(Document(text)).outputs
    assert (first.tool, second.tool) == ("hey", "wrk")


def test_the_last_table_of_locust_stands() -> None:
    output = one_of(LOCUST)
    report = output.report
    assert (output.tool, report.requests, report.non_2xx, report.requests_per_s) == ("Locust", 800, 8, 40)
    assert report.latencies.rows[0] == (0.5, 20_000)
    assert (report.latencies.at(0.999), report.max_us) == (450_000, 450_000)
    rounded = one_of(LOCUST.replace("3     450     20", "3     446     20"))
    assert rounded.report.latencies.at(0.999) == 446_000
    assert "SUM003" not in {remark.code for remark in examine([rounded])}


def test_where_no_request_had_a_response_there_is_no_latency() -> None:
    text = (
        "Bombarding http://h for 5s using 40 connection(s)\n  Reqs/sec  100.00\n  Latency  {0}  0us  {0}\n  99%  {0}\n"
    )
    assert "RAT004" in {remark.code for remark in examine([one_of(text.format("5ms"))])}
    assert "RAT004" not in {remark.code for remark in examine([one_of(text.format("0us"))])}


@pytest.mark.parametrize("text", [ARTILLERY, ARTILLERY_1], ids=["2", "1"])
def test_artillery_is_read_by_its_summary(text: str) -> None:
    output = one_of(text)
    report = output.report
    assert (output.tool, report.requests_per_s, report.max_us) == ("Artillery", 32, 950_000)
    assert (report.non_2xx, report.requests) == (100, 1_000)
    assert report.latencies.rows == ((0.5, 30_500.0), (0.95, 150_500.0), (0.99, 600_500.0), (1.0, 950_000.0))
    assert "RAT004" not in {remark.code for remark in examine([output])}


def test_hey_is_read() -> None:
    output = read("hey")
    report = output.report
    assert (output.tool, report.requests, report.non_2xx) == ("hey", 2_000, 200)
    assert (report.requests_per_s, report.elapsed_s) == (69.4511, 28.7973)
    assert report.latencies.at(0.5) == pytest.approx(51_900)
    assert report.latencies.at(0.99) == pytest.approx(151_900)
    assert report.max_us == pytest.approx(212_200)


def test_bombardier_is_read() -> None:
    output = read("bombardier")
    report = output.report
    assert (output.tool, output.connections, report.requests, report.non_2xx) == ("bombardier", 4, 253, 25)
    assert (report.requests_per_s, output.duration_s) == (96.31, 3)
    assert report.latencies.at(0.95) == pytest.approx(68_060)
    assert report.max_us == pytest.approx(168_180)


def test_vegeta_is_read_with_the_rate_that_it_offered() -> None:
    output = read("vegeta")
    report = output.report
    assert (output.tool, report.requests, report.non_2xx) == ("vegeta", 500, 50)
    assert (output.offered_rps, output.offered_by) == (100.22, "as vegeta says")
    assert report.requests_per_s == pytest.approx(450 / 5.065, abs=0.01)  # of successes
    assert report.latencies.at(0.99) == pytest.approx(77_460)
    assert report.max_us == pytest.approx(91_210)
    codes = {remark.code for remark in audit([find_outputs(TOOLS / "vegeta.txt")]).remarks}
    assert codes == {"ERR001", "NET001", "RUN001", "SMP001"}  # the server of this run wrote head and body apart


@pytest.mark.parametrize("name", ["ab-2.4.71", "bombardier", "hey"])
def test_a_closed_loop_and_its_errors_are_named(name: str) -> None:
    codes = {remark.code for remark in audit([find_outputs(TOOLS / f"{name}.txt")]).remarks}
    assert {"RAT004", "ERR001"} <= codes
    assert not codes & {"RUN005", "TIM001", "SUM001", "SUM003"}
    assert ("TIM002" in codes) is name.startswith("ab")  # which prints whole milliseconds


def test_several_tools_in_one_document_are_kept_apart() -> None:
    text = "\n".join(
        [
            "# ab",
            "```",
            (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8"),
            "```",
            "# wrk2",
            HEALTHY,
            "# hey",
            "```",
            (TOOLS / "hey.txt").read_text(encoding="utf-8"),
            "```",
        ]
    )
    outputs = outputs_of(Document(text)).outputs
    assert [output.tool for output in outputs] == ["ab", "wrk2", "hey"]
    assert outputs[1].report == outputs_of(Document("\n" * (outputs[1].line - 2) + HEALTHY)).outputs[0].report


def test_oha_is_named_by_its_success_rate() -> None:
    text = (TOOLS / "hey.txt").read_text(encoding="utf-8").replace("Summary:", "Summary:\n  Success rate:\t100.00%")
    (output,) = outputs_of(Document(text)).outputs
    assert output.tool == "oha"
    assert output.report.latencies == read("hey").report.latencies


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RUN\tcomputerdatabase\t1700000000000\t \t3.10\n", "Gatling"),
        ("var stats = {\n  type: 'GROUP'\n}\n", "Gatling"),
        ("Timestamp,User Count,Type,Name,Requests/s\n1,2,GET,/,3\n", "Locust"),
    ],
)
def test_a_file_that_is_not_read_is_named_with_what_to_give(text: str, name: str) -> None:
    file = outputs_of(Document(text))
    assert file.outputs == ()
    assert [name in problem.text and "not read; give " in problem.text for problem in file.problems] == [True]


def test_a_cut_summary_says_what_is_left() -> None:
    text = (TOOLS / "hey.txt").read_text(encoding="utf-8")
    (output,) = outputs_of(Document(text.partition("Response time")[0])).outputs
    assert output.report.requests_per_s == 69.4511
    assert output.report.latencies.rows == ()


@pytest.mark.parametrize(
    ("text", "time_us"),
    [("3m59.5s", 239_500_000), ("681.097878ms", 681_097.878), ("0s", 0), ("1m", 60e6), ("12", None)],
)
def test_durations_of_go_are_read(text: str, time_us: float | None) -> None:
    assert go_time_us(text) == (None if time_us is None else pytest.approx(time_us))


def test_autocannon_is_read() -> None:
    output = read("autocannon-9.0.0")
    report = output.report
    assert (output.tool, report.requests, report.non_2xx) == ("autocannon", 32_335, 505)
    assert (report.requests_per_s, report.elapsed_s) == (6467.6, 5.01)
    assert report.latencies.at(0.975) == 2_000
    assert report.max_us == 18_000
    assert report.latency is not None
    assert report.latency.mean == 1_030
    codes = {remark.code for remark in audit([find_outputs(TOOLS / "autocannon-9.0.0.txt")]).remarks}
    assert {"RAT004", "ERR001", "TIM002"} <= codes
    assert "SUM001" not in codes  # its rate is the mean of one-second samples


def test_an_ab_that_broke_off_lacks_nothing_and_complains() -> None:
    broken = """This is ApacheBench, Version 2.3
Benchmarking 10.0.0.7 (be patient)
apr_socket_recv: Connection timed out (110)
Total of 990 requests completed
"""
    for text in (broken, broken.replace("apr_socket_recv: Connection timed out (110)\n", "")):
        codes = {remark.code for remark in examine([one_of(text)])}
        assert "RUN003" in codes
        assert "RUN005" not in codes


K6_NOW = """     * default: 20 looping VUs for 1m0s (gracefulStop: 30s)

  █ THRESHOLDS

    http_req_duration
    ✓ 'p(99)<500' p(99)=212.4ms

  HTTP
    http_req_duration....: avg=28.5ms min={least} med=2.61ms max=313ms p(90)=116.21ms p(95)=124ms
    http_req_failed......: 2.00%  20 out of 1000
    http_reqs............: 1000 33.1/s
"""


def test_k6s_thresholds_and_failures_out_of_a_number_are_read() -> None:
    report = one_of(K6_NOW.format(least="1ms")).report
    assert (report.requests, report.non_2xx, report.latencies.at(0.99)) == (1000, 20, 212_400)


def test_a_time_below_zero_is_named() -> None:
    codes = {
        least: {remark.code for remark in examine([one_of(K6_NOW.format(least=least))])} for least in ("1ms", "-9ms")
    }
    assert "SUM003" not in codes["1ms"]
    assert "SUM003" in codes["-9ms"]


def test_autocannon_lists_its_percentiles_when_it_is_asked_to() -> None:
    report = read("autocannon-9.0.0-latency").report
    assert report.latencies.at(0.9) == 3_000
    assert report.latencies.at(0.999) == 10_000


def test_autocannons_command_line_says_what_was_asked() -> None:
    text = (TOOLS / "autocannon-9.0.0.txt").read_text(encoding="utf-8")
    (output,) = outputs_of(Document(f"$ autocannon -c 10 -d 5 -R 500 http://localhost:8080\n{text}")).outputs
    assert (output.connections, output.offered_rps) == (10, 500)
    assert "RAT004" not in {remark.code for remark in examine([output])}


def test_a_list_that_an_author_made_of_abs_lines_is_read() -> None:
    text = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    listed = "\n".join(f"- {line.lstrip()}" if line.strip() else "" for line in text.splitlines())
    (output,) = outputs_of(Document(listed)).outputs
    assert output.report.latencies == read("ab-2.4.71").report.latencies
    assert output.report.non_2xx == read("ab-2.4.71").report.non_2xx


AUTOCANNON = """Running 10s test @ http://localhost:3000
{connections} connections

┌─────────┬──────┬───────┬───────┬───────┬─────────┬────────┬───────┐
│ Stat    │ 2.5% │ 50%   │ 97.5% │ 99%   │ Avg     │ Stdev  │ Max   │
├─────────┼──────┼───────┼───────┼───────┼─────────┼────────┼───────┤
│ Latency │ 2 ms │ {p50} ms │ 30 ms │ 40 ms │ 21.5 ms │ 9.1 ms │ 75 ms │
└─────────┴──────┴───────┴───────┴───────┴─────────┴────────┴───────┘

Req/Bytes counts sampled once per second.

{requests} requests in 10.05s, 4.2 MB read
"""


def test_each_output_of_a_session_of_autocannon_is_read() -> None:
    first = AUTOCANNON.format(connections=100, p50=20, requests="47k") + "9k errors (0 timeouts)\n"
    text = first + AUTOCANNON.format(connections=200, p50=25, requests="52k")
    earlier, later = (output.report for output in outputs_of(Document(text)).outputs)
    assert (earlier.connections, earlier.requests, earlier.non_2xx) == (100, 47_000, 9_000)
    assert (later.connections, later.requests, later.non_2xx) == (200, 52_000, None)
    assert (earlier.latencies.at(0.5), later.latencies.at(0.5)) == (20_000, 25_000)


K6_END = """  EXECUTION
    vus_max..............: {vus} min={vus} max={vus}
  NETWORK
    data_received........: 9.6 MB 27 kB/s
"""


def test_each_output_of_a_session_of_k6_is_read() -> None:
    text = "".join(K6_NOW.format(least="1ms") + K6_END.format(vus=vus) + "$ k6 run again.js\n" for vus in (20, 30))
    assert [output.connections for output in outputs_of(Document(text)).outputs] == [20, 30]


def test_k6_is_an_open_loop_only_where_each_scenario_has_a_rate() -> None:
    paced = K6_NOW.replace("20 looping VUs for", "200.00 iterations/s for").format(least="1ms")
    assert "RAT004" not in {remark.code for remark in examine([one_of(paced)])}
    mixed = one_of(f"     * other: 200.00 iterations/s for 1m0s (maxVUs: 20-50)\n{K6_NOW.format(least='1ms')}")
    assert {"RAT004", "RAT007"} & {remark.code for remark in examine([mixed])} == {"RAT004"}


def test_ghz_is_a_closed_loop_unless_it_has_a_rate() -> None:
    text = (
        "Summary:\n  Count:\t40000\n  Total:\t10.00 s\n  Slowest:\t49.65 ms\n  Fastest:\t0.71 ms\n"
        "  Average:\t7.85 ms\n  Requests/sec:\t4000.00\n\n"
        "Latency distribution:\n  50% in 7.27 ms\n  99% in 14.51 ms\n\n"
        "Status code distribution:\n  [OK]\t40000 responses\n"
    )
    assert "RAT004" in {remark.code for remark in examine([one_of(text)])}
    written = (
        '{"count": 40000, "total": 10000000000, "average": 7850000, "slowest": 49650000, "rps": 400.0,'
        ' "options": {"rps": 400, "concurrency": 10}, "statusCodeDistribution": {"OK": 40000},'
        ' "latencyDistribution": [{"percentage": 50, "latency": 7270000}, {"percentage": 99, "latency": 14510000}]}'
    )
    (paced,) = outputs_of(Document(written, Path("ghz.json"))).outputs
    assert "RAT004" not in {remark.code for remark in examine([paced])}


FORTIO_CUT = """# target 50% 0.0251004
# target 99.9% 0.0815562
Code  -1 : {lost} (0.0 %)
Code 200 : {good} (100.0 %)
All done {calls} calls (plus 1 warmup) 37.373 ms avg, 26.8 qps

"""


def test_what_of_fortios_outputs_people_keep_is_read() -> None:
    text = FORTIO_CUT.format(lost=9, good=1_791, calls=1_800) + FORTIO_CUT.format(lost=3, good=5_000, calls=5_003)
    earlier, later = outputs_of(Document(text)).outputs
    assert (earlier.report.requests, earlier.report.non_2xx, earlier.report.latencies.at(0.999)) == (1_800, 9, 81_556.2)
    assert (later.report.requests, later.report.non_2xx) == (5_003, 3)
    assert {"RAT004", "ERR001", "SMP001"} <= {remark.code for remark in examine([earlier])}
    paced = (
        f"Sleep times : count 99 avg 0.9 +/- 0.02 min 0.9 max 1 sum 95\n{FORTIO_CUT.format(lost=0, good=9, calls=9)}"
    )
    assert "RAT004" not in {remark.code for remark in examine([one_of(paced)])}


def test_ab_that_doubts_its_own_result_is_repeated() -> None:
    text = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    doubt = "WARNING: The median and mean for the processing time are not within a normal deviation\n"
    line = next(line for line in text.splitlines() if "Percentage of the requests" in line)
    assert "RUN003" not in {remark.code for remark in examine([one_of(text)])}
    assert "RUN003" in {remark.code for remark in examine([one_of(text.replace(line, f"{doubt}{line}"))])}


def test_an_error_page_is_no_varying_page_of_ab() -> None:
    text = (
        "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      1000\n"
        "Failed requests:        {odd}\n   (Connect: 0, Receive: 0, Length: {odd}, Exceptions: 0)\n"
        "Non-2xx responses:      300\nRequests per second:    500.00 [#/sec] (mean)\n"
    )
    named = {
        odd: {remark.code for remark in examine([one_of(text.format(odd=odd))])} & {"ERR001", "ERR006"}
        for odd in (300, 400)
    }
    assert named == {300: {"ERR001"}, 400: {"ERR001", "ERR006"}}


def test_a_tool_that_prints_nought_for_no_response_has_no_median() -> None:
    text = (TOOLS / "autocannon-9.0.0.txt").read_text(encoding="utf-8")
    output = one_of(re.sub(r"\d[\d.]* ms", "0 ms", text))
    assert "TIM002" not in {remark.code for remark in examine([output])}


def test_percentiles_of_ghz_with_a_space_before_the_sign_are_read() -> None:
    text = "Summary:\n  Count:        500\n  Requests/sec: 264.70\n\n  50 % in 75.33 ms\n  99 % in 0.1 s\n"
    assert one_of(text).report.latencies.rows == ((0.5, 75_330), (0.99, 100_000))


def test_an_ab_that_broke_off_is_not_of_the_run_after_it() -> None:
    broken = "This is ApacheBench, Version 2.3\napr_recv: Connection reset\nTotal of 990 requests completed\n"
    first, second = outputs_of(Document(broken + (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8"))).outputs
    assert (first.report.requests, len(first.report.diagnostics), first.report.latencies.rows) == (990, 2, ())
    assert second.report.latencies == read("ab-2.4.71").report.latencies


def test_the_figures_of_k6_are_read_in_the_order_that_was_asked_for() -> None:
    text = (
        "     * default: 500 iterations shared among 10 VUs (maxDuration: 10m0s, gracefulStop: 30s)\n"
        "     http_req_duration....: min=1ms  avg=18ms med=17ms p(99)=44ms max=60ms count=500\n"
        "     http_reqs............: 500 364.5/s\n"
    )
    report = one_of(text).report
    assert (report.latencies.at(0.99), report.max_us, report.closed_loop) == (44_000, 60_000, True)


def test_a_single_response_is_no_queue() -> None:
    text = (
        "Summary report @ 11:42:53(-0800) 2020-11-13\n  Requests completed:  {count}\n  Mean response/sec: 0.4\n"
        "  Response time (msec):\n    min: 90\n    max: 2451.5\n    median: 1451.5\n  Codes:\n    200: {count}\n"
    )
    named = [{remark.code for remark in examine([one_of(text.format(count=count))])} for count in (1, 400)]
    assert ["RAT002" in codes for codes in named] == [False, True]
