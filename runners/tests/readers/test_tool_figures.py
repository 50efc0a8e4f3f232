"""Figures of load tools' summaries that more than one line decides: commands above, totals of a run, cut blocks."""

from __future__ import annotations

from typing import Any

import pytest

from runners.readers.console_report import SocketErrors
from runners.tests.audit.planted import outputs

HEY = "Summary:\n  Total:\t10.0 secs\n  Average:\t0.01 secs\n  Requests/sec:\t99.0\n  [200]\t990 responses\n"
HEY_CUT = "  Total:\t{total} secs\n  Slowest:\t0.02 secs\n  Average:\t0.01 secs\n  Requests/sec:\t{rate}\n"
BOMBARDIER = "Statistics        Avg      Stdev        Max\n  Reqs/sec  100.00  1.00  120.00\n  Latency  5ms  1ms  9ms\n"
GHZ = "Summary:\n  Count:\t500\n  Total:\t5.00 s\n  Average:\t7.85 ms\n  Requests/sec:\t100.00\n"
H2LOAD = (
    "finished in 1.00s, 500.00 req/s, 1.0MB/s\n"
    "requests: 500 total, 500 started, 500 done, 500 succeeded, 0 failed, 0 errored, 0 timeout\n"
)
SIEGE = "Transactions:  100 hits\nElapsed time:  10.00 secs\nTransaction rate:  10.00 trans/sec\n"
YCSB = "[READ], Operations, 300\n[READ], AverageLatency(us), 412.5\n[READ], Return={good}, 300\n"
LOCUST = "  Name   # reqs  # fails |\n  Aggregated  60  1(1.67%)  |  20  5  90  18  |  6.00  0.10\n"
FORTIO = "# target 50% 0.025\nCode 200 : 100 (100.0 %)\nAll done 100 calls (plus 1 warmup) 37.373 ms avg, 26.8 qps\n"


@pytest.mark.parametrize(
    ("command", "printed", "connections", "depth"),
    [
        ("hey -n 30 -c 7 http://host/", HEY, 7, None),
        ("$hey -z 1m -c7 http://host/", HEY, 7, None),
        ("oha http://host/ -c 7 -z 10s", HEY.replace("Total", "Success rate:\t100.00%\n  Total"), 7, None),
        ("bombardier -n 1000 -c 7 http://host/", BOMBARDIER, 7, None),
        ("bombardier --connections=7 http://host/", BOMBARDIER, 7, None),
        ("ghz --insecure --concurrency=7 --total 500 host:1", GHZ, 7, None),
        ("ghz -c 7 -n 500 host:1", GHZ, 7, None),
        ("./h2load -t 2 -m 10 -c 7 -n 500 https://host/", H2LOAD, 7, 10),
        ("h2load --clients=7 https://host/", H2LOAD, 7, None),
        ("siege -c 7 -t 10S http://host/", SIEGE, 7, None),
        ("fortio load -c 7 -n 100 http://host/", FORTIO, 7, None),
        ("locust --headless -u 7 -f users.py\nThen run the locust command.", LOCUST, 7, None),
        ("bin/ycsb run basic -P workloada -threads 7 -s", YCSB.format(good="OK"), 7, None),
        ("hey -c 5 http://host/\nhey -c 7 http://host/", HEY, None, None),  # whose output is it?
        ("hey -n 30 http://host/", HEY, None, None),
    ],
)
def test_connections_are_read_from_the_command_above(
    command: str, printed: str, connections: int | None, depth: int | None
) -> None:
    (output,) = outputs(f"{command}\n{printed}")
    assert (output.connections, output.report.depth) == (connections, depth)


@pytest.mark.parametrize(("threads", "connections"), [(1, 100), (2, None)])
def test_h2loads_clients_are_read_where_one_thread_has_them_all(threads: int, connections: int | None) -> None:
    spawned = "".join(
        f"spawning thread #{index}: 100 total client(s). 500 total requests\n" for index in range(threads)
    )
    (output,) = outputs(f"starting benchmark...\n{spawned}progress: 100% done\n\n{H2LOAD}")
    assert output.connections == connections


VEGETA = """Requests      [total, rate, throughput]         1000, 100.10, {throughput}
Duration      [total, attack, wait]             {total}, 9.99s, 103ms
Latencies     [min, mean, 50, 90, 95, 99, max]  0.1ms, 4.2ms, 0.5ms, 1.1ms, 7.2ms, 121.9ms, 310ms
"""
YCSB_RUN = "[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), {rate}\n[CLEANUP], Operations, 2\n"
FAILED = "[READ], Return=NOT_FOUND, 100\n[READ-FAILED], Operations, 100\n[READ-FAILED], AverageLatency(us), 9.5\n"
AB = (
    "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      1000\n"
    "Failed requests:        {failed}\n   (Connect: {connect}, Receive: 3, Length: 90, Exceptions: 4)\n"
    "Non-2xx responses:      30\nRequests per second:    500.00 [#/sec] (mean)\n"
)
DRILL = """Time taken for tests      0.2 seconds
Total requests            1000
Successful requests       970
Failed requests           30
Requests per second       4000.00 [#/sec]
Median time per request   41ms
Average time per request  47ms
Sample standard deviation 18ms
99.0'th percentile        104ms
99.9'th percentile        125ms
"""
AUTOCANNON = """Running 10s test @ http://host:3000
100 connections
│ Stat    │ 2.5% │ 50%  │ 97.5% │ 99%  │ Avg  │ Stdev   │ Max   │
│ Latency │ 1 ms │ 1 ms │ 2 ms  │ 3 ms │ 1 ms │ 0.92 ms │ 30 ms │
│ Stat    │ 1%   │ 2.5% │ 50%   │ 97.5%│ Avg  │ Stdev   │ Min   │
{rates}
"""
NIGHTHAWK = """[02:48:14.547237][1][I] Global targets: 40 connections and 4000 calls per second.
[02:48:14.547239][1][I]    (Per-worker targets: 10 connections and 1000 calls per second)
Nighthawk - A layer 7 protocol benchmarking tool.
Request start to response end (29999 samples)
  min: 0s 000ms 360us | mean: 0s 000ms 545us | max: 0s 010ms 440us | pstdev: 0s 000ms 198us
benchmark.http_2xx                      29999       999.97
"""


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (VEGETA.format(throughput="0.00", total="10.0s"), {"non_2xx": 1_000, "requests": 1_000}),
        (VEGETA.format(throughput="50.00", total="10.0s"), {"non_2xx": 500}),
        (VEGETA.format(throughput="95.31", total="10.492s"), {"non_2xx": None}),
        (VEGETA.format(throughput="0.00", total="10.0s") + "Status Codes  [code:count]  200:1000\n", {"non_2xx": None}),
        (f"{SIEGE}Successful transactions:  60\nFailed transactions:  7\n", {"non_2xx": 47, "failed_apart": 7}),
        (f"{SIEGE}Successful transactions:  0\nFailed transactions:  0\n", {"non_2xx": 100}),
        (f"{SIEGE}Successful transactions:  104\nFailed transactions:  0\n", {"non_2xx": None}),
        (YCSB.format(good="OK") + FAILED, {"requests": 400, "non_2xx": 100, "requests_per_s": None}),
        (YCSB.format(good="0"), {"requests": 300, "non_2xx": None}),
        (
            YCSB_RUN.format(rate=200.0) + YCSB.format(good="OK") + FAILED,
            {"requests": 400, "requests_per_s": 200, "elapsed_s": 2},
        ),
        (YCSB_RUN.format(rate=350.5) + YCSB.format(good="OK"), {"requests_per_s": None, "elapsed_s": 2}),  # and others
        (
            AB.format(failed=99, connect=2),
            {"non_2xx": 30, "odd_length": 90, "socket_errors": SocketErrors(connect=2, read=7)},
        ),
        (
            " ".join(
                ("This is ApacheBench, Version 2.3", AB.format(failed=99, connect=2), "Connect: 0 1 3.1 0 139")
            ).replace("\n", " "),
            {
                "non_2xx": 30,
                "odd_length": 90,
                "connections": 10,
                "elapsed_s": 2,
                "requests": 1_000,
                "requests_per_s": 500,
            },
        ),
        (
            DRILL,
            {"requests": 1_000, "non_2xx": 30, "requests_per_s": 4_000, "elapsed_s": 0.25},
        ),
        (NIGHTHAWK, {"rate_rps": 4_000, "connections": 40, "requests_per_s": 999.97}),
        (NIGHTHAWK.partition("\n")[2].partition("\n")[2], {"rate_rps": None, "connections": None}),
        (
            AUTOCANNON.format(rates="│ Req/Sec │ 80.575 │ 80.575 │ 87.871 │ 94.911 │ 87.916,8 │ 4.933,47 │ 80.560 │"),
            {"requests_per_s": 87_916.8},
        ),
        (
            AUTOCANNON.format(rates="│ Req/Sec │ 80.575 │ 80.575 │ 87.871 │ 94.911 │ 87.9 │ 4.9 │ 80.560 │"),
            {"requests_per_s": 87.9},
        ),
        (
            AUTOCANNON.format(rates="eq/Sec │ 1342 │ 1342 │ 1729 │ 1786 │ 1716.64 │ 83.18 │ 1342"),
            {"requests_per_s": 1716.64},
        ),
    ],
)
def test_a_figure_that_other_lines_change_is_read(printed: str, expected: dict[str, Any]) -> None:
    (output,) = outputs(printed)
    assert {name: getattr(output.report, name) for name in expected} == expected


def test_abs_percentiles_are_read_though_a_viewer_joined_its_lines() -> None:
    table = (
        "Total: 3 16 13.8 15 164 Percentage of the requests served within a certain time (ms) 50% 15 99% 95 100% 164"
    )
    (output,) = outputs(
        f"This is ApacheBench, Version 2.3 {AB.format(failed=0, connect=0)} {table} (longest request)".replace(
            "\n", " "
        )
    )
    assert output.report.latencies.rows == ((0.5, 15_000), (0.99, 95_000), (1.0, 164_000))
    assert output.report.latency is not None
    assert (output.report.latency.mean, output.report.latency.max) == (16_000, 164_000)


def test_drills_percentiles_are_read() -> None:
    (output,) = outputs(DRILL)
    assert output.tool == "drill"
    assert output.report.latencies.rows == ((0.5, 41_000), (0.99, 104_000), (0.999, 125_000))
    assert output.report.latency is not None
    assert (output.report.latency.mean, output.report.latency.stdev) == (47_000, 18_000)


def test_blocks_of_heys_summary_are_read_without_their_head() -> None:
    text = "".join(
        f"### /{rate}\n{HEY_CUT.format(total=total, rate=rate)}" for total, rate in [(0.5, 200.0), (0.7, 90.5)]
    )
    assert [(output.tool, output.report.elapsed_s, output.report.requests_per_s) for output in outputs(text)] == [
        ("hey", 0.5, 200.0),
        ("hey", 0.7, 90.5),
    ]


def test_a_total_in_seconds_without_a_rate_is_no_output() -> None:
    assert outputs("  Total:\t10.5 secs\n") == ()


@pytest.mark.parametrize(
    "before", ["", "2024-03-15 14:47:00 ", "[2024-03-15T14:47:00.123Z] ", "14:47:00.123 ", "14:47:00 I main.go:90> "]
)
def test_fortios_lines_are_read_after_a_date_and_only_the_times_of_calls(before: str) -> None:
    lines = """Aggregated Sleep Time : count 8 avg 0.5 +/- 0.1 min 0.1 max 0.9 sum 4
# target 50% 0.7
Aggregated Function Time : count 8 avg 3.0125 +/- 0.0048 min 3.006 max 3.0189 sum 24.1
# target 50% 3.012
# target 99% 3.018
Connection time histogram (s) : count 12 avg 0.0036 +/- 0.0018 min 0.0019 max 0.0069 sum 0.04
# target 50% 0.003
# target 99% 0.0068
Code 200 : 8 (100.0 %)
All done 8 calls (plus 4 warmup) 3012.508 ms avg, 1.3 qps
"""
    (output,) = outputs("".join(f"{before}{line}\n" for line in lines.splitlines()))
    assert (output.report.requests, output.report.requests_per_s) == (8, 1.3)
    assert dict(output.report.latencies.rows) == pytest.approx({0.5: 3_012_000, 0.99: 3_018_000})


def test_two_runs_of_nighthawk_are_two_outputs() -> None:
    failed = "".join(line for line in NIGHTHAWK.splitlines(keepends=True) if "http_2xx" not in line)
    assert [output.report.requests_per_s for output in outputs(failed + NIGHTHAWK)] == [None, 999.97]


def test_two_runs_of_jmeter_are_two_outputs() -> None:
    run = (
        "Creating summariser <summary>\nStarting standalone test @ 2024 Feb 13\n"
        "summary +   {part} in 00:00:09 =  55.5/s Avg:     7 Min:     1 Max:   130 Err:     0 (0.00%) Active: 8\n"
        "summary =   {total} in 00:00:17 =  60.5/s Avg:    12 Min:     1 Max:   337 Err:     0 (0.00%)\n"
        "... end of run\n"
    )
    text = run.format(part=500, total=600) + run.format(part=700, total=800)  # more than the run before
    assert [output.report.requests for output in outputs(text)] == [600, 800]


WRK2 = """Running 30s test @ http://host:8080
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     99%   +/- Stdev
    Latency   482.58us  192.65us   1.04ms   74.72%
    Req/Sec     1.05k    86.32     1.22k    82.25%
{rest}  58912 requests in 30.00s, 13.37MB read
Requests/sec:   1963.55
"""


@pytest.mark.parametrize(
    ("rest", "rows"),
    [
        ("", ((0.99, 1_040),)),
        ("  Latency Distribution\n     50%    1.00ms\n     99%    2.00ms\n", ((0.5, 1_000), (0.99, 2_000))),
    ],
)
def test_a_third_column_of_p99_counts_where_no_percentiles_are_printed(
    rest: str, rows: tuple[tuple[float, float], ...]
) -> None:
    (output,) = outputs(WRK2.format(rest=rest))
    assert output.report.latencies.rows == rows
    assert output.report.max_us is None
