"""Each rule sees its fault where it was planted, and nothing in an output without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import PAGES, RULES, audit, chosen, examine, page
from runners.audit.rule import Severity
from runners.errors import PlanError
from runners.readers.documents import Document
from runners.readers.outputs import find_in, outputs_of
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS, replaced

CASES = TOOLS / "cases"

QUIET = {"RUN004"}  # wrk2 leaves its warm-up out
OF_CLOSED = {"RAT004"}
#: What somebody says of an output, with every condition that a reader needs; nothing is compared.
SAID = (
    "# Report\n\nThe server ran on 8 cores with 16 GB RAM.\nIt was warmed up for a minute.\n"
    "The generator ran beside it.\n\n"
)


def codes(text: str) -> set[str]:
    return {remark.code for remark in examine(outputs_of(Document(text)).outputs)}


def test_a_healthy_output_has_only_what_every_single_output_has() -> None:
    assert codes(HEALTHY) == QUIET
    assert codes(CLOSED) == OF_CLOSED
    assert codes(SAID + HEALTHY) == QUIET


#: A queue that grew for a minute: 80 % had a response, and the last request waited for the missing fifth.
QUEUE = (
    "$ wrk2 -t1 -c8 -d60 -R2500 -s put.lua -L http://localhost:8080\nRunning 1m test @ http://localhost:8080\n"
    "  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
    "    Latency     7.10s     3.00s    12.00s    60.00%\n    Req/Sec     2.00k     0.10k     2.10k    70.00%\n"
    "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    7.00s\n 90.000%   11.00s\n"
    "100.000%   12.00s\n"
    "  120000 requests in 1.00m, 7.53MB read\nRequests/sec:   2000.00\nTransfer/sec:    128.52KB\n"
)
COLLAPSED = (
    "$ wrk2 -t1 -c8 -d60 -R2000 -s put.lua -L http://localhost:8080\nRunning 1m test @ http://localhost:8080\n"
    "  1 threads and 8 connections\n  Thread calibration: mean lat.: 5.199ms, rate sampling interval: 30ms\n"
    "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
    "    Latency    22.10s     9.00s    45.00s    60.00%\n    Req/Sec     0.20k     0.10k     0.30k    70.00%\n"
    "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%   22.00s\n 90.000%   40.00s\n"
    "100.000%   45.00s\n\n  Detailed Percentile spectrum:\n"
    "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n"
    "   22000.000     0.500000         5000         2.00\n   40000.000     0.900000         9000        10.00\n"
    "   45000.000     1.000000        10000          inf\n"
    "#[Mean    =    22100.000, StdDeviation   =     9000.000]\n"
    "#[Max     =    45000.000, Total count    =        10000]\n"
    "----------------------------------------------------------\n"
    "  30080 requests in 1.00m, 7.53MB read\nRequests/sec:    501.33\nTransfer/sec:    128.52KB\n"
)
TORN = " 50.000%    5.00ms\n 75.000%    6.10ms\n 90.000%    9.30ms\n 99.000%   20.10ms\n"
PERCENTILES = "50.000%  650us\n 75.000%  960us\n 90.000%  1.14ms\n 99.900%  9.00ms\n"
TABLE = "50.000% 2.00ms -> 1.50ms\n 99.000% 9ms -> 9ms\n"

PLANTED: dict[str, tuple[str, set[str]]] = {
    "TIM001": (PERCENTILES, {"SMP002"}),
    "TIM002": (replaced(PERCENTILES, ("650us", "1.60ms"), ("960us", "1.70ms"), ("1.14ms", "1.80ms")), {"SMP002"}),
    "NET001": (
        replaced(CLOSED, ("   10.02ms", "   43.97ms"), ("10.20ms", "44.20ms"), ("11.58ms", "45ms"), ("24.10", "48.10"))
        .replace("Latency    10.00ms", "Latency    44.00ms")
        .replace("12000 requests", "2727 requests")
        .replace("200.00", "45.45"),
        OF_CLOSED,
    ),
    "RAT001": (QUEUE, {"RAT002"}),
    "RAT006": (replaced(HEALTHY, ("-R2000", "-R2600")), QUIET),
    "RAT009": (COLLAPSED, {"RAT001", "RAT002"}),
    "RAT010": (
        replaced(HEALTHY, ("Latency     5.92ms    3.48ms  61.30ms", "Latency    10.20s     1.10s    12.10s")).replace(
            "100.000%   61.31ms", "100.000%   12.11s"
        ),
        QUIET | {"SUM003", "RAT007"},
    ),
    "RAT011": (replaced(HEALTHY, ("-R2000", "-R500")), QUIET),
    "ERR006": ((CASES / "ab-length.txt").read_text(encoding="utf-8"), {"RAT004", "RUN001"}),
    "RUN007": (replaced(CLOSED, ("12000 requests in 1.00m", "2000 requests in 10.00s")), OF_CLOSED),
    "RUN008": (
        replaced(HEALTHY, ("-c8", "-c1600"), ("8 connections", "1600 connections")),
        QUIET,
    ),
    "RUN009": (replaced(HEALTHY, ("-d60", "-d5m")), QUIET),
    "SUM005": ((CASES / "wrk2-one-millisecond.txt").read_text(encoding="utf-8"), {"ERR004", "RUN001", "RUN005"}),
    "RAT007": (
        replaced(
            HEALTHY, ("50.000%    5.00ms", "50.000%  900.00us"), ("75.000%    6.10ms", "75.000%   7.00ms")
        ).replace("90.000%    9.30ms", "90.000%   20.10ms"),
        QUIET | {"SUM003", "TIM001", "TIM002"},
    ),
    "RAT008": (replaced(HEALTHY, ("mean lat.: 5.199ms", "mean lat.: 99.000ms")), QUIET),
    "DOC003": (f"{SAID}## PUT 3000 RPS\n\n{TORN}\n## PUT 9000 RPS\n\n{TORN}", {"SMP002"}),
    "RAT002": (" 50.000%  926.21ms\n 90.000%    1.76s\n100.000%    1.83s\n", {"SMP002"}),
    "RAT003": (replaced(CLOSED, ("-d1m", "-d1m -R5000")), OF_CLOSED),
    "RAT004": (CLOSED, OF_CLOSED),
    "RAT005": (f"RPS 1 000 -> 2 000\n {TABLE}", {"SMP002", "TIM002"}),
    "ERR001": (replaced(CLOSED, ("Requests/sec", "  Non-2xx or 3xx responses: 700\nRequests/sec")), OF_CLOSED),
    "ERR002": (
        replaced(CLOSED, ("-t2 -c2", "-t1 -c1"), ("2 threads and 2", "1 threads and 1"))
        .replace("12000 requests in 1.00m", "1335 requests in 6.68s")
        .replace("Requests/sec:    200.00", "  Non-2xx or 3xx responses: 1188\nRequests/sec:    200.00"),
        OF_CLOSED | {"ERR001", "SUM004", "RUN007"},
    ),
    "ERR004": (
        replaced(CLOSED, ("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 3\nRequests/sec")),
        OF_CLOSED,
    ),
    "RUN001": (replaced(HEALTHY, ("-d60", "-d10"), ("Running 1m", "Running 10s")), QUIET | {"SUM003"}),
    "RUN002": (replaced(HEALTHY, ("-t1", "-t3"), ("1 threads", "3 threads")), QUIET),
    "RUN003": (replaced(HEALTHY, ("  Detailed", "unable to connect to h\n  Detailed")), QUIET),
    "RUN005": ("\n".join(HEALTHY.splitlines()[:4]), set()),
    "SMP001": (replaced(HEALTHY, ("100.000%", " 99.990%   55.20ms\n100.000%")), QUIET),
    "SMP002": ("50.000% 5.00ms\n 99.000% 9.00ms\n", set()),
    "SMP003": (
        replaced(
            CLOSED,
            ("48.51ms", " 1.98s "),
            ("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 3\nRequests/sec"),
        ),
        OF_CLOSED | {"ERR004"},
    ),
    "SUM001": (replaced(HEALTHY, ("Requests/sec:   2000.00", "Requests/sec:   2020.00")), QUIET),
    "SUM002": (replaced(HEALTHY, ("75.000%    6.10ms", "75.000%    4.10ms")), QUIET | {"SUM003"}),
    "SUM003": (replaced(HEALTHY, ("Total count    =        99920", "Total count    =        99000")), QUIET),
    "SUM004": (replaced(CLOSED, ("Latency    10.00ms", "Latency    14.00ms")), OF_CLOSED),
}


@pytest.mark.parametrize("code", PLANTED)
def test_a_planted_fault_is_seen_and_brings_no_others(code: str) -> None:
    text, also = PLANTED[code]
    seen_codes = codes(text)
    assert code in seen_codes
    assert seen_codes - {code} <= also


def of_few(listed_ms: str, rows: tuple[tuple[float, float, int], ...]) -> str:
    """An output whose p90 is listed with these rows of value, percentile and count."""
    spectrum = "".join(f"{value:12.3f}{level:13.6f}{count:13}{1 / (1 - level):13.2f}\n" for value, level, count in rows)
    return (
        "Running 2s test @ http://127.0.0.1:8080\n  1 threads and 1 connections\n"
        f"  Latency Distribution (HdrHistogram - Recorded Latency)\n 90.000%    {listed_ms}ms\n\n"
        "  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n"
        f"{spectrum}      14.025     1.000000   {rows[-1][2]}          inf\n"
        f"#[Mean    =        1.329, StdDeviation   =        2.918]\n"
        f"#[Max     =       14.025, Total count    =          {rows[-1][2]}]\n"
    )


FEW = ((4.637, 0.8875, 134), (5.059, 0.9, 136), (5.394, 0.9125, 137), (14.025, 0.99375, 150))


@pytest.mark.parametrize("listed_ms", ["4.64", "4.75", "5.06"])
def test_of_few_samples_the_one_next_to_a_percentiles_rank_is_no_contradiction(listed_ms: str) -> None:
    assert "SUM003" not in codes(of_few(listed_ms, FEW))


@pytest.mark.parametrize("listed_ms", ["4.20", "5.39", "9.00"])
def test_of_few_samples_any_other_is_one(listed_ms: str) -> None:
    assert "SUM003" in codes(of_few(listed_ms, FEW))


def test_the_sample_before_a_row_that_is_one_too_far_may_lie_anywhere_up_to_it() -> None:
    rows = ((9.2, 0.875, 396), (12.2, 0.9, 408), (13.2, 0.9125, 413), (14.025, 0.99375, 452))  # 0.9 of 452 is 406.8
    assert "SUM003" not in codes(of_few("10.00", rows))
    assert "SUM003" in codes(of_few("10.00", ((9.2, 0.875, 396), (12.2, 0.9, 407), *rows[2:])))


def test_of_many_samples_the_value_next_to_it_is_a_contradiction() -> None:
    many = tuple((value, level, count * 1_000) for value, level, count in FEW)
    assert "SUM003" in codes(of_few("4.75", many))


def test_an_error_count_that_no_unseeded_draw_gives_is_only_errors() -> None:
    text, _ = PLANTED["ERR002"]
    assert "ERR002" not in codes(text.replace("1188", "1189"))


def script_with_it(folder: Path, script: str) -> set[str]:
    (folder / "get.lua").write_text(script, encoding="utf-8")
    (folder / "report.md").write_text(PLANTED["ERR002"][0], encoding="utf-8")
    return {remark.code for remark in audit(find_in(folder / "report.md")).remarks}


def test_a_script_with_the_report_is_believed(tmp_path: Path) -> None:
    assert "ERR002" in script_with_it(tmp_path, "return math.random(1, 10000)")
    assert "ERR002" not in script_with_it(tmp_path, "math.randomseed(7) return math.random(1, 10000)")
    assert "ERR002" not in script_with_it(tmp_path, "return math.random(1, 5000)")


def mixed(size_of_mixed: int) -> str:
    def run(script: str, size: int) -> str:
        text = CLOSED.replace("get.lua", script).replace("980.46KB", f"{12_000 * size / 1024:.2f}KB")
        return text.replace("Transfer/sec:     16.34KB", "")

    return "\n".join([run("put.lua", 118), run("get.lua", 84), run("put_get.lua", size_of_mixed)])


def test_a_mixed_load_of_one_kind_is_distinguished_from_a_mix() -> None:
    assert "ERR005" in codes(mixed(83))
    assert "ERR005" in codes(mixed(118))
    assert "ERR005" not in codes(mixed(101))


def test_an_evenly_spread_latency_of_a_closed_loop_is_not_the_generators_timer() -> None:
    assert "TIM001" not in codes(
        CLOSED.replace("10.02ms", "550us").replace("10.20ms", "825us").replace("11.58ms", "990us")
    )


def test_a_generators_own_word_on_lost_time_is_repeated() -> None:
    late = f"{HEALTHY}truepace: did not keep up: a thread used 99 % of a core\ntruepace: censored 12\n"
    remarks = {remark.code: remark for remark in examine(outputs_of(Document(late)).outputs)}
    assert "did not keep up" in remarks["RUN003"].seen.text
    assert remarks["SMP003"].severity is Severity.WARNING


@pytest.mark.parametrize("code", RULES)
def test_every_rule_has_its_page_and_is_planted_somewhere(code: str) -> None:
    text = page(code)
    for part in ("What it sees", "Why it matters", "Cure", "Source"):
        assert f"**{part}.**" in text
    assert text.startswith(f"# {code}: ")
    assert code in PLANTED or code in {"ERR003", "ERR005", "RUN004"}


def test_there_is_no_page_without_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == set(RULES)


def test_rules_are_chosen_by_code_or_its_beginning() -> None:
    every = tuple(RULES.values())
    assert chosen() == every
    assert {rule.code for rule in chosen(["RAT,tim001"])} == {c for c in RULES if c.startswith("RAT")} | {"TIM001"}
    assert {rule.code for rule in chosen([], ["RAT"])} == {c for c in RULES if not c.startswith("RAT")}
    for wrong in (["XYZ"], [""], ["RAT001x"]):
        with pytest.raises(PlanError, match="TIM001"):
            chosen(wrong)


def test_remarks_come_in_the_order_of_the_text() -> None:
    remarks = examine(outputs_of(Document(f"{CLOSED}\n{HEALTHY}\n{CLOSED}")).outputs)
    lines = [remark.output.line for remark in remarks]
    assert lines == sorted(lines)
