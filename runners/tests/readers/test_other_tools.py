"""Outputs of other load tools, as the tools printed them on a loopback server, are read figure by figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import audit, examine
from runners.readers.documents import text_document
from runners.readers.other_tools import go_time_us
from runners.readers.outputs import Output, find_outputs, outputs_of
from runners.tests.fixtures.outputs import HEALTHY

TOOLS = Path(__file__).resolve().parents[1] / "data" / "tools"


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


def test_counts_that_people_write_into_k6s_output_are_counts() -> None:
    text = (
        "http_req_duration..............: avg=89ms min=3ms med=61ms max=1.2s p(90)=198ms p(95)=312ms p(99)=621ms\n"
        "http_req_failed................: 2.15%   ✓ 47,312  ✗ 2,156,048\n"
        "http_reqs......................: 2,203,360  5,831/s\n"
    )
    (output,) = outputs_of(text_document(f"## Stress: 10,000 TPS\n\n{text}")).outputs
    assert (output.report.requests, output.report.non_2xx) == (2_203_360, 47_312)
    assert output.report.requests_per_s == 5_831
    assert output.offered_rps is None  # stages change it


def test_k6s_waiting_is_read_where_an_author_kept_it_alone() -> None:
    rate = "http_reqs......................: 9500 942.2/s\n"
    waiting = "http_req_waiting...............: avg=10.26ms med=9.67ms p(90)=14.03ms p(99)=20.61ms\n"
    (output,) = outputs_of(text_document(f"{waiting}{rate}")).outputs
    assert output.report.latencies.at(0.5) == pytest.approx(9_670)
    duration = waiting.replace("waiting.", "duration").replace("med=9.67ms", "med=9.99ms")
    (whole,) = outputs_of(text_document(f"{duration}{rate}{waiting}")).outputs
    assert whole.report.latencies.at(0.5) == pytest.approx(9_990)


def test_go_wrk_is_named_and_not_taken_for_wrk() -> None:
    text = (
        "Running 30s test @ http://127.0.0.1:6004/a\n  100 goroutine(s) running concurrently\n"
        "780392 requests in 29.96s, 84.10MB read\nRequests/sec:\t\t26041.76\nAvg Req Time:\t\t3.8ms\n50%:\t\t\t0s\n"
    )
    found = outputs_of(text_document(f"{text}\n{HEALTHY}"))
    assert [output.tool for output in found.outputs] == ["wrk2"]
    assert "go-wrk" in found.problems[0].text


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
    assert report.requests_per_s == pytest.approx(500 / 5.065)
    assert report.latencies.at(0.99) == pytest.approx(77_460)
    assert report.max_us == pytest.approx(91_210)
    codes = {remark.code for remark in audit([find_outputs(TOOLS / "vegeta.txt")]).remarks}
    assert codes == {"ERR001", "NET001", "SMP001"}  # the server of this run wrote head and body apart


@pytest.mark.parametrize("name", ["ab-2.4.71", "bombardier", "hey"])
def test_a_closed_loop_and_its_errors_are_named(name: str) -> None:
    codes = {remark.code for remark in audit([find_outputs(TOOLS / f"{name}.txt")]).remarks}
    assert {"RAT004", "ERR001"} <= codes
    assert not codes & {"RUN005", "TIM001", "RUN001", "SUM001", "SUM003"}
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
    outputs = outputs_of(text_document(text)).outputs
    assert [output.tool for output in outputs] == ["ab", "wrk2", "hey"]
    assert outputs[1].report == outputs_of(text_document("\n" * (outputs[1].line - 2) + HEALTHY)).outputs[0].report


def test_oha_is_named_by_its_success_rate() -> None:
    text = (TOOLS / "hey.txt").read_text(encoding="utf-8").replace("Summary:", "Summary:\n  Success rate:\t100.00%")
    (output,) = outputs_of(text_document(text)).outputs
    assert output.tool == "oha"
    assert output.report.latencies == read("hey").report.latencies


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("Type     Name    # reqs      # fails |    Avg     Min     Max    Med", "Locust"),
        ("http.response_time:", "Artillery"),
        ("Transaction rate:      1234.56 trans/sec", "siege"),
        ("starttime\tseconds\tctime\tdtime\tttime\twait", "ab -g"),
    ],
)
def test_a_tool_that_is_not_read_is_named(line: str, tool: str) -> None:
    found = outputs_of(text_document(f"# Results\n\n{line}\n{line}\n"))
    assert [(problem.line, tool in problem.text) for problem in found.problems] == [(3, True)]
    assert found.outputs == ()


def test_a_cut_summary_says_what_is_left() -> None:
    text = (TOOLS / "hey.txt").read_text(encoding="utf-8")
    (output,) = outputs_of(text_document(text.partition("Response time")[0])).outputs
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


def test_autocannon_lists_its_percentiles_when_it_is_asked_to() -> None:
    report = read("autocannon-9.0.0-latency").report
    assert report.latencies.at(0.9) == 3_000
    assert report.latencies.at(0.999) == 10_000


def test_autocannons_command_line_says_what_was_asked() -> None:
    text = (TOOLS / "autocannon-9.0.0.txt").read_text(encoding="utf-8")
    (output,) = outputs_of(text_document(f"$ autocannon -c 10 -d 5 -R 500 http://localhost:8080\n{text}")).outputs
    assert (output.connections, output.offered_rps) == (10, 500)
    assert "RAT004" not in {remark.code for remark in examine([output])}


def test_a_list_that_an_author_made_of_abs_lines_is_read() -> None:
    text = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    listed = "\n".join(f"- {line.lstrip()}" if line.strip() else "" for line in text.splitlines())
    (output,) = outputs_of(text_document(listed)).outputs
    assert output.report.latencies == read("ab-2.4.71").report.latencies
    assert output.report.non_2xx == read("ab-2.4.71").report.non_2xx
