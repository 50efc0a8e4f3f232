"""Rates, connections and errors as published documents have them: each pattern in small, and the right reading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.audit.audit import audit
from runners.audit.listing import as_text
from runners.readers.documents import Document
from runners.readers.outputs import outputs_of
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced

BARE = HEALTHY.partition("\n")[2]  # no command above it
FELL_SHORT = replaced(HEALTHY, ("-R2000", "-R2600"))


#: What its latency shows of a queue, whatever rate above its own was offered.
QUEUED = replaced(BARE, ("100.000%   61.31ms", "100.000%   59.31s"))


@pytest.mark.parametrize(
    ("text", "path", "rate"),
    [
        (f"## R 3000, eight connections\n{BARE}", "-", 3_000),
        (f"## PUT at 4'000 RPS\n{BARE}", "-", 4_000),
        (f"rate = 3000\n{BARE}", "-", 3_000),
        (f"-Rate 5000 for PUT\n{BARE}", "-", 5_000),
        (QUEUED, "get18000.txt", 18_000),
        (QUEUED, "t4_c500_R22000.txt", 22_000),
        (QUEUED, "put-3500rps(3-3).txt", 3_500),
        (QUEUED, "50k", 50_000),
        (QUEUED, "put-3k.txt", 3_000),
        (BARE, "1000/wrk_log.txt", None),  # it achieved twice as many
        (BARE, "get18000.txt", None),  # fewer were achieved, and nothing waited for them
        (QUEUED, "load/1501/4724/wrk_log.txt", None),  # no round number
        (BARE, "put50000/put2.txt", None),
        (BARE, "wrk_put_8080.txt", None),  # the port
        (BARE, "20000/wrk_2.txt", None),
        (BARE, "stage20000/wrk_log.txt", None),
        (BARE, "get-50k-connections.txt", None),
        (BARE, "wrk-get-64-connections.txt", None),
        (BARE, "put_1000.txt", None),  # it achieved twice as many
        (f"# 9000 RPS\n\n## Later\n{BARE}", "-", 9_000),
        (f"5000 RPS went well.\n\n## Another section\n{BARE}", "-", None),
        (f"![](https://host/images/15000 rps.png)\n{BARE}", "-", None),
        (
            "The rate was found by going from a low one upwards in steps of 10 000 RPS until the latency of the server "
            f"grew.\n{BARE}",
            "-",
            None,
        ),
    ],
)
def test_the_offered_rate_is_read_where_it_stands_and_nowhere_else(text: str, path: str, rate: float | None) -> None:
    (output,) = outputs(text, path)
    assert output.offered_rps == rate


def test_a_heading_goes_before_a_sentence_that_names_another_rate() -> None:
    text = f"### PUT 2500 RPS\nWith some 15000 RPS responses take much longer.\n{BARE}"
    assert outputs(text)[0].offered_rps == 2_500


def test_a_rate_that_a_terminal_wrapped_is_read_whole() -> None:
    (output,) = outputs("$ wrk2 -t1 -c8 -d60 -s put.lua -L http://localhost:8080 -R 20\n00\n" + BARE)
    assert output.offered_rps == 2_000
    assert "RAT001" not in remarks("$ wrk2 -t1 -c8 -d60 -s put.lua -L http://localhost:8080 -R 20\n00\n" + BARE)


@pytest.mark.parametrize(("heading", "asked"), [("#### Результат PUT", True), ("## Results", True), ("## GET", False)])
def test_a_heading_of_results_stands_between_a_command_and_its_output(heading: str, asked: bool) -> None:
    command, _, printed = HEALTHY.partition("\n")
    (output,) = outputs(f"# PUT\n\n```\n{command}\n```\n\n{heading}\n\n```\n{printed}```\n")
    assert (output.command is not None) is asked


def test_connections_that_open_late_explain_a_small_shortfall() -> None:
    text = HEALTHY.replace("-R2000", "-R2030").replace("-c8", "-c64").replace("8 connections", "64 connections")
    assert {"RAT001", "RAT006"} & set(remarks(text)) == set()
    assert "RAT006" in remarks(HEALTHY.replace("-R2000", "-R2600"))


def test_a_run_that_broke_off_has_offered_nothing_afterwards() -> None:
    early = replaced(FELL_SHORT, ("120000 requests in 1.00m", "170 requests in 85.00ms"))
    assert not {"RAT001", "RAT006"} & remarks(early).keys()


def test_a_queue_of_a_run_without_its_duration_is_seen() -> None:
    latency = "  Latency     9.73s     4.50s   17.40s    56.59%\n"
    rows = " 50.000%    9.70s\n 90.000%   16.00s\n 99.000%   17.27s\n100.000%   17.42s\n"
    said = "30000 RPS:\n\n"
    text = f"{said}{latency}  Latency Distribution (HdrHistogram - Recorded Latency)\n{rows}Requests/sec:  21276.44\n"
    assert {"RAT001", "RAT002"} <= remarks(text).keys()


def test_of_commands_one_above_the_other_an_output_is_of_the_slowest_that_it_can_be_of() -> None:
    commands = "".join(f"wrk2 -t1 -c8 -d60s -R{rate} -s put.lua http://localhost:8080\n" for rate in (2_000, 60_000))
    printed = BARE[BARE.index("  Thread Stats") :]
    for achieved, rate_rps in (("2000.00", 2_000), ("9475.00", 60_000)):
        (output,) = outputs(f"```\n{commands}```\n```\n{replaced(printed, ('2000.00', achieved))}```\n")
        assert output.offered_rps == rate_rps


def test_a_short_run_whose_requests_waited_after_the_calibration_did_not_hold_its_rate() -> None:
    late = replaced(
        HEALTHY,
        ("-d60 -R2000", "-d15 -R2048"),
        ("Running 1m", "Running 15s"),
        ("120000 requests in 1.00m", "30000 requests in 15.00s"),
        ("75.000%    6.10ms", "75.000%  311.50ms"),
        ("90.000%    9.30ms", "90.000%  370.65ms"),
        ("99.000%   20.10ms", "99.000%  379.78ms"),
        ("100.000%   61.31ms", "100.000%  381.31ms"),
    )
    findings = remarks(late)
    assert "RAT001" in findings
    assert "RAT007" not in findings


def test_a_load_that_was_never_offered_may_show_the_timer_too() -> None:
    near = replaced(
        FELL_SHORT,
        ("50.000%    5.00ms", "50.000%    1.45ms"),
        ("75.000%    6.10ms", "75.000%    1.92ms"),
        ("90.000%    9.30ms", "90.000%    2.63ms"),
    )
    assert {"RAT006", "TIM002"} <= remarks(near).keys()


def test_connections_that_never_opened_leave_the_latency_to_the_others() -> None:
    errors = "  Socket errors: connect 11, read 0, write 0, timeout 22649\nRequests/sec"
    text = HEALTHY.replace("-c8", "-c1024").replace("8 connections", "1024 connections")
    findings = remarks(text.replace("Requests/sec", errors))
    assert "latency is of 243 of 1\u202f024 connections" in findings["RAT006"].seen.text
    assert "SUM003" not in findings


def test_dead_connections_are_counted_by_the_checks_of_two_seconds() -> None:
    errors = "  Socket errors: connect 0, read 0, write 0, timeout 46079\nRequests/sec"
    text = HEALTHY.replace("-d60", "-d120").replace("Running 1m", "Running 2m").replace("in 1.00m", "in 2.00m")
    text = text.replace("120000 requests", "240000 requests").replace("Requests/sec", errors)
    text = text.replace("-c8", "-c1024").replace("8 connections", "1024 connections")
    assert "about 781 of 1\u202f024 connections" in remarks(text)["ERR004"].seen.text


def test_a_rate_that_was_achieved_has_no_growing_queue() -> None:
    slow = BARE.replace(" 90.000%    9.30ms", " 90.000%    1.78s ").replace("100.000%   61.31ms", "100.000%   2.33s ")
    text = "$ wrk2 -t1 -c8 -d60 -R2000 -s put.lua -L http://localhost:8080\n" + slow
    findings = remarks(text)
    assert "RAT002" not in findings
    assert "RAT007" in findings


def test_a_server_that_was_always_too_slow_did_not_collapse() -> None:
    slow = HEALTHY.replace("-R2000", "-R2600")
    assert "RAT009" not in remarks(slow)


def test_a_median_that_falls_from_output_to_output_is_seen() -> None:
    fast = HEALTHY.replace("-R2000", "-R4000").replace("2000.00", "4000.00").replace("120000 r", "240000 r")
    fast = fast.replace(" 50.000%    5.00ms", " 50.000%    4.00ms")
    assert "RAT005" in remarks(f"{HEALTHY}\n{fast}")
    assert "RAT005" not in remarks(f"{HEALTHY}\n{fast.replace('put.lua', 'get.lua')}")


def test_bursts_are_of_a_rate_that_was_achieved() -> None:
    uneven = replaced(CLOSED, ("50%   10.02ms", "50%    0.10ms"))
    assert "RAT007" not in remarks(uneven)
    k6 = "http_req_duration..............: avg=44ms min=1ms med=1ms max=380ms p(90)=98ms p(95)=99ms\n"
    assert "RAT007" not in remarks(f"{k6}http_reqs......................: 4000   66.6/s\n")


def test_each_document_has_its_highest_rate_and_what_was_taken_above_it() -> None:
    short = HEALTHY.replace("-R2000", "-R2600")
    text = as_text(audit([outputs_of(Document(f"{HEALTHY}\n{short}", Path("report.md")))]))
    assert "highest rate achieved: put 2 000/s; above it: the latency of 1 run at 34" in text


def test_the_highest_rate_achieved_stands_in_the_line_on_load() -> None:
    text = as_text(audit([outputs_of(Document(f"{HEALTHY}\n{FELL_SHORT}", Path("report.md")))]))
    (line,) = [line for line in text.splitlines() if "highest rate achieved" in line]
    assert ": load error: " in line
    assert "; highest rate achieved: put" in line


def test_wrk_with_a_rate_is_wrk2_even_where_it_prints_no_percentile() -> None:
    table = "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     1.07ms  629.59us  16.54ms   80.52%\n"
    printed = f"{table}  1199297 requests in 30.00s, 76.63MB read\nRequests/sec:  39976.01\n"
    command = "wrk -t64 -c128 -d30 {} -s put.lua http://localhost:8080"
    assert outputs(f"{command.format('-R40000')}\n{printed}")[0].tool == "wrk2"
    assert outputs(f"{command.format('')}\n{printed}")[0].tool == "wrk"


def test_wrks_summary_alone_is_a_closed_loop_and_wrk2s_is_not() -> None:
    summary = "".join(f"{line}\n" for line in CLOSED.splitlines()[1:6] + CLOSED.splitlines()[11:])
    assert "RAT004" in remarks(summary)
    assert "RAT004" not in remarks(f"Rate: 200 RPS\n\n{summary}")
    calibrated = summary.replace(
        "  Thread Stats", "  Thread calibration: mean lat.: 5.199ms, rate sampling interval: 30ms\n  Thread Stats"
    )
    assert "RAT004" not in remarks(calibrated)
    short = replaced(summary, ("Running 1m test", "Running 10s test"), ("in 1.00m", "in 10.00s"))
    assert "RAT004" in remarks(short)
    unsampled = re.sub(r"Req/Sec .*", "Req/Sec     -nan      -nan     0.00      0.00%", short)
    assert "RAT004" not in remarks(unsampled)  # as wrk2 prints it before its calibration is over
    beneath_its_threads = summary.partition("\n")[2]  # where wrk2's calibration would stand
    assert "RAT004" in remarks(beneath_its_threads)
    assert "RAT004" not in remarks(beneath_its_threads.partition("\n")[2])  # which may be cut off


#: What wrk and wrk2 print alike: 8 connections at a mean of 5.92 ms, and no line that tells which of them it is.
ALIKE = (
    "Running 1m test @ http://localhost:8080\n  1 threads and 8 connections\n"
    "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     5.92ms    3.48ms  61.30ms   88.38%\n"
    "    Req/Sec     2.11k     1.04k    3.00k    72.60%\n  {requests} requests in 1.00m, 7.53MB read\n"
    "Requests/sec:   {rate}.00\nTransfer/sec:    128.52KB\n"
)


@pytest.mark.parametrize(
    ("rate", "tool"),
    [
        (1_351, "wrk"),  # 8 / 5.92 ms: the connections are busy all the time
        (400, "wrk2"),  # they wait for a schedule most of it
        (4_000, None),  # requests wait for them, or samples were added
    ],
)
def test_littles_law_tells_wrk_from_wrk2(rate: int, tool: str | None) -> None:
    text = ALIKE.format(requests=60 * rate, rate=rate)
    (output,) = outputs(text)
    assert output.tool == tool
    assert ("RAT004" in remarks(text)) is (tool == "wrk")
    assert "SUM004" not in remarks(text)


def test_a_rate_that_was_achieved_tells_wrk2_from_wrk() -> None:
    text = ALIKE.format(requests=81_000, rate=1_350)
    assert outputs(f"Offered: 1 350 RPS\n\n{text}")[0].tool == "wrk2"
    assert outputs(f"$ wrk -t1 -c8 -d1m -R1350 http://localhost:8080\n{text}")[0].tool == "wrk2"
    assert outputs(f"$ wrk -t1 -c8 -d1m http://localhost:8080\n{text}")[0].tool == "wrk"


def test_a_shortfall_is_not_unsent_where_each_response_is_slow() -> None:
    slow = replaced(
        HEALTHY,
        ("-R2000", "-R2600"),
        ("Latency     5.92ms    3.48ms  61.30ms", "Latency   286.00ms   13.48ms  361.30ms"),
        ("100.000%   61.31ms", "100.000%  361.31ms"),
    )
    assert {"RAT001", "RAT006"} & set(remarks(slow)) == {"RAT001"}
    assert {"RAT001", "RAT006"} & set(remarks(replaced(HEALTHY, ("-R2000", "-R2600")))) == {"RAT006"}


def test_one_backlog_at_the_beginning_is_no_burst() -> None:
    bursts = replaced(HEALTHY, ("50.000%    5.00ms", "50.000%  900.00us"), ("90.000%    9.30ms", "90.000%   99.30ms"))
    assert "RAT007" in remarks(bursts)
    began = replaced(bursts, ("mean lat.: 5.199ms", "mean lat.: 3710.199ms"))
    assert {"RAT007", "RAT008"} & set(remarks(began)) == {"RAT008"}


def test_a_thread_rate_alone_is_not_taken_for_that_of_all() -> None:
    cut = "\n".join(HEALTHY.replace("-t1", "-t4").replace("1 threads", "4 threads").splitlines()[:7])
    assert "8 440/s in all" in remarks(cut)["RUN005"].seen.text.replace("\u202f", " ")


def test_a_backlog_of_the_calibration_that_is_the_longest_wait_is_no_burst() -> None:
    """The calibration left 6 800 of 20 080 requests behind, 3.4 s of the rate, and 3.4 s is the longest wait."""
    began = replaced(
        HEALTHY,
        ("mean lat.: 5.199ms", "mean lat.: 1250.199ms"),
        ("Latency     5.92ms    3.48ms  61.30ms", "Latency   403.00ms  881.48ms    3.40s "),
        ("90.000%    9.30ms", "90.000%    2.11s"),
        ("100.000%   61.31ms", "100.000%    3.40s"),
        ("       99920", "      106720"),
    )
    assert {"RAT007", "RAT008"} & set(remarks(began)) == {"RAT008"}
    later = replaced(began, ("      106720", "       99920"))  # the calibration left nothing behind
    assert {"RAT007", "RAT008"} & set(remarks(later)) == {"RAT007"}


def test_of_a_run_that_is_all_warm_up_no_bursts_are_known() -> None:
    bursts = replaced(HEALTHY, ("50.000%    5.00ms", "50.000%  900.00us"), ("90.000%    9.30ms", "90.000%   99.30ms"))
    short = replaced(
        bursts,
        ("-d60", "-d10"),
        ("Running 1m", "Running 10s"),
        ("120000 requests in 1.00m", "20000 requests in 10.00s"),
    )
    assert {"RAT007", "RUN001"} & set(remarks(short)) == {"RUN001"}


TEXT_BETWEEN = "".join(f"Step {number}: profile the server.\n\n" for number in range(9))


def test_a_command_far_above_an_output_with_its_threads_and_connections_is_its_own() -> None:
    command, _, printed = HEALTHY.partition("\n")
    asked = command.replace("-d60", "-d3m")
    assert "RUN009" in remarks(f"{asked}\n\n{TEXT_BETWEEN}{printed}")
    assert "RUN009" not in remarks(f"{command}\n\n{TEXT_BETWEEN}{printed}")
    assert "RUN009" not in remarks(f"{asked.replace('-c8', '-c16')}\n\n{TEXT_BETWEEN}{printed}")
    assert "RUN009" not in remarks(f"{asked}\n\n## Another load\n\n{TEXT_BETWEEN}{printed}")


def test_an_excerpt_says_by_its_elapsed_time_that_the_command_is_of_another_run() -> None:
    command, _, printed = HEALTHY.partition("\n")
    excerpt = "".join(line for line in printed.splitlines(keepends=True) if "test @" not in line)
    assert "RUN009" in remarks(f"{command.replace('-d60', '-d3m')}\n{excerpt}")
    assert "RUN009" not in remarks(f"{command}\n{excerpt}")


def test_a_command_of_wrk_without_a_rate_tells_the_tool_of_its_output_under_another_heading() -> None:
    text = ALIKE.format(requests=240_000, rate=4_000)
    asked = "**Command**: `wrk -t 1 -c 8 -d 60s http://localhost:8080`\n\n## Raw output\n\n"
    assert outputs(f"{asked}{TEXT_BETWEEN}{text}")[0].tool == "wrk"
    assert {"RAT004", "SUM004"} <= set(remarks(f"{asked}{TEXT_BETWEEN}{text}"))
    assert outputs(f"{asked.replace('-d 60s', '-d 30s')}{TEXT_BETWEEN}{text}")[0].tool is None


@pytest.mark.parametrize("whole", [HEALTHY, CLOSED])
def test_an_output_that_does_not_say_its_tool_is_of_that_of_all_others_in_a_document(whole: str) -> None:
    alike = ALIKE.format(requests=240_000, rate=4_000)
    first, last = outputs(f"{whole}\n{alike}")
    assert first.tool == last.tool
    assert [output.tool for output in outputs(f"{HEALTHY}\n{CLOSED}\n{alike}")] == ["wrk2", "wrk", None]


def test_samples_that_wrk_added_are_seen_with_socket_errors_too() -> None:
    added = replaced(CLOSED, ("Latency    10.00ms", "Latency    20.00ms"))
    failed = replaced(added, ("Requests/sec", "  Socket errors: connect 0, read 258, write 0, timeout 0\nRequests/sec"))
    assert {"SUM004", "ERR004"} <= set(remarks(failed))


def test_connections_that_failed_are_no_sign_of_a_schedule() -> None:
    idle = ALIKE.format(requests=24_000, rate=400)
    failed = replaced(
        idle, ("Requests/sec", "  Socket errors: connect 0, read 24010, write 0, timeout 40\nRequests/sec")
    )
    assert (outputs(idle)[0].tool, outputs(failed)[0].tool) == ("wrk2", None)
