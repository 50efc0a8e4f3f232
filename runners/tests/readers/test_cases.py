"""Outputs that were read wrongly once, or not at all: each is read figure by figure, and gets its findings."""

from __future__ import annotations

import base64
import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from runners.audit.audit import Audit, audit
from runners.cli.work import compare_files
from runners.errors import PlanError
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import find_outputs, outputs_of
from runners.tests.fixtures.outputs import TOOLS

CASES = TOOLS / "cases"
#: Of each file: its tool, requests, how many of them failed, the achieved rate, and one percentile in milliseconds.
READ: dict[str, tuple[str, int | None, int | None, float | None, float, float]] = {
    "ab-length.txt": ("ab", 5_000, None, 1246.26, 0.99, 17),
    "artillery.json": ("Artillery", 9_000, 4_000, 9_000 / 112, 0.99, 4_492.8),
    "autocannon.json": ("autocannon", 211_228, 211_228, 21_121.6, 0.9999, 4),
    "fortio.json": ("fortio", 1_723, 23, 571.895, 0.99, 35.3),
    "gatling-global_stats.json": ("Gatling", 496_699, 370, 413.91, 0.99, 173),
    "ghz.txt": ("ghz", 200, 14, 1101.53, 0.95, 55.45),
    "h2load.txt": ("h2load", 1_000, 60, 4633.25, 1.0, 17.12),
    "jhiccup.hlog": ("HdrHistogram", 10_030, None, 1003.0, 1.0, 11.93),
    "jmeter-semicolon.jtl": ("JMeter", 150, 10, 47.214, 0.5, 29),
    "jmeter-taurus-order.jtl": ("JMeter", 150, 10, 47.214, 0.5, 29),
    "locust_stats.csv": ("Locust", 12_400, 160, 82.7, 0.95, 330),
    "nighthawk.json": ("nighthawk", 29_880, 880, 995.998, 0.9, 0.524479),
    "truepace.hgrm": ("truepace", 400, None, None, 0.5, 0.099),
    "truepace.json": ("truepace", 400, 0, 200.0, 0.99, 2.488319),
    "vegeta-hdrplot.txt": ("vegeta", 4_999, None, None, 0.99, 3.210077),
    "wrk-timeouts.txt": ("wrk", 506, None, 42.08, 0.99, 52.3),
}


def of(name: str) -> Audit:
    file = find_outputs(CASES / name)
    assert file.problems == ()
    return audit([file])


def evidence(name: str, code: str) -> dict[str, object]:
    (remark,) = [remark for remark in of(name).remarks if remark.code == code]
    return dict(remark.seen.evidence)


@pytest.mark.parametrize("name", READ)
def test_a_tools_output_is_read(name: str) -> None:
    tool, requests, failed, rate, level, ms = READ[name]
    report = of(name).outputs[0].report
    assert (report.tool, report.requests, report.non_2xx) == (tool, requests, failed)
    assert report.requests_per_s == (None if rate is None else pytest.approx(rate, rel=1e-4))
    value = report.max_us if level == 1.0 else report.latencies.at(level)
    assert value == pytest.approx(ms * 1_000, rel=1e-3)


def test_wrks_time_outs_are_responses_that_its_percentiles_lack() -> None:
    figures = evidence("wrk-timeouts.txt", "ERR004")
    assert (figures["late"], figures["samples"], figures["known_below"]) == (41, 465, 92)
    assert figures["share_late"] == pytest.approx(0.081, abs=1e-3)


def test_a_time_that_is_of_no_run_gives_no_rate() -> None:
    audited = of("wrk2-one-millisecond.txt")
    assert "SUM005" in {remark.code for remark in audited.remarks}
    assert {"RAT001", "RAT011", "SUM001"}.isdisjoint(remark.code for remark in audited.remarks)


def test_a_length_that_varies_is_said_to_be_no_status() -> None:
    assert evidence("ab-length.txt", "ERR006")["odd_length"] == 4_311
    assert "ERR001" not in {remark.code for remark in of("ab-length.txt").remarks}


@pytest.mark.parametrize("name", ["artillery.json", "autocannon.json", "fortio.json", "ghz.txt", "h2load.txt"])
def test_requests_that_failed_are_an_error(name: str) -> None:
    assert "ERR001" in {remark.code for remark in of(name).remarks}
    assert of(name).failed


def read(text: str, name: str = "-") -> Output:
    (output,) = outputs_of(Document(text, Path(name))).outputs
    return output


K6_POINTS: list[dict[str, Any]] = [
    {"type": "Point", "metric": "http_req_duration", "data": {"value": ms, "tags": {"status": status}}}
    for ms, status in [(1.5, "200")] * 90 + [(9.0, "503")] * 10
]
JTL = "1700000000000{0}{1}{0}Home{0}{2}{0}OK{0}T 1-1{0}text{0}{3}{0}{0}512\n"
VEGETA = "170000000000000{:04},{},{},512,120,,,attack,{},GET,http://h/\n"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(json.dumps(point) for point in K6_POINTS),
        "metric_name,timestamp,metric_value,status\n"
        + "".join(f"http_req_duration,1,{p['data']['value']},{p['data']['tags']['status']}\n" for p in K6_POINTS),
        "".join(JTL.format(";", 2, 200, "true") for _ in range(90)) + JTL.format(";", 9, 503, "false") * 10,
        "".join(JTL.format("\t", 2, 200, "true") for _ in range(90)) + JTL.format("\t", 9, 503, "false") * 10,
        '<?xml version="1.0"?>\n<testResults version="1.2">\n'
        + '<httpSample t="2" ts="1" s="true" lb="a &amp; b"><httpSample t="1" ts="1" s="true" lb="b"/></httpSample>\n'
        * 90
        + '<httpSample t="9" ts="1" s="false" lb="a &amp; b"/>\n' * 10,
        "".join(VEGETA.format(n, 200, 1_500_000, n) for n in range(90))
        + "".join(VEGETA.format(n, 503, 9_000_000, n) for n in range(10)),
        "\n".join(json.dumps({"attack": "", "seq": 0, "code": 200, "latency": 1_500_000}) for _ in range(90))
        + "\n"
        + "\n".join(json.dumps({"attack": "", "seq": 0, "code": 503, "latency": 9_000_000}) for _ in range(10)),
    ],
    ids=["k6-ndjson", "k6-csv", "jmeter-headless", "jmeter-tabs", "jmeter-xml", "vegeta-csv", "vegeta-json"],
)
def test_samples_are_counted_and_ordered(text: str) -> None:
    report = read(text).report
    assert (report.requests, report.non_2xx, report.max_us) == (100, 10, 9_000)
    assert report.latencies.at(0.5) in (1_500, 2_000)
    assert report.latencies.at(0.9) in (1_500, 2_000)


GHZ = {
    "count": 200, "total": 181_570_000, "average": 32_010_000, "slowest": 69_600_000, "rps": 1101.53,
    "statusCodeDistribution": {"OK": 186, "Internal": 14}, "options": {"concurrency": 50},
    "latencyDistribution": [{"percentage": 50, "latency": 33_230_000}, {"percentage": 99, "latency": 69_600_000}],
}  # fmt: skip


def test_the_json_of_ghz_and_gatlings_whole_statistics_are_read() -> None:
    ghz = read(json.dumps(GHZ)).report
    assert (ghz.tool, ghz.requests, ghz.non_2xx, ghz.connections) == ("ghz", 200, 14, 50)
    assert ghz.latencies.at(0.5) == pytest.approx(33_230)
    own = json.loads((CASES / "gatling-global_stats.json").read_text(encoding="utf-8"))
    whole = read(json.dumps({"type": "GROUP", "name": "All", "stats": own, "contents": {}})).report
    assert whole == of("gatling-global_stats.json").outputs[0].report


def test_artillery_1_is_read() -> None:
    latency = {"min": 4, "max": 950, "median": 30.5, "p95": 150.5, "p99": 600.5}
    whole = {"requestsCompleted": 900, "rps": {"mean": 32}, "latency": latency, "codes": {"200": 800, "503": 100}}
    report = read(json.dumps({"aggregate": {**whole, "errors": {"ETIMEDOUT": 100}}, "intermediate": []})).report
    assert (report.tool, report.requests, report.non_2xx, report.requests_per_s) == ("Artillery", 1_000, 200, 32)
    assert (report.latencies.at(0.99), report.max_us) == (600_500, 950_000)


def test_k6s_samples_begin_with_what_its_metrics_are() -> None:
    lines = [{"metric": "http_req_duration", "type": "Metric", "data": {"name": "http_req_duration", "type": "trend"}}]
    points = [{"metric": point["metric"], "type": "Point", "data": point["data"]} for point in K6_POINTS]
    assert read("\n".join(json.dumps(line) for line in [*lines, *points])).report.requests == 100


def test_samples_of_jmeter_whose_time_is_a_date_have_no_rate() -> None:
    text = "timeStamp,elapsed,label,success\n" + "2023/11/14 22:13:20.001,5,Home,true\n" * 50
    report = read(text).report
    assert (report.requests, report.latencies.at(0.5), report.requests_per_s) == (50, 5_000, None)


def test_a_console_of_truepace_is_known_by_its_histogram() -> None:
    text = (TOOLS.parent / "loadgen" / "console.txt").read_text(encoding="utf-8")
    bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("truepace", "$")))
    assert {output.tool for output in outputs_of(Document(bare)).outputs} == {"truepace"}


FORTIO = """Fortio 1.60.3 running at 1000 queries per second, 8->8 procs, for 3s: http://h/
Aggregated Function Time : count 1723 avg 0.013329375 +/- 0.006322 min 0.001372129 max 0.056114808 sum 22.966513984
# range, mid point, percentile, count
>= 0.001372129 <= 0.0014 , 0.00138606 , 0.06, 1
# target 50% 0.0128
# target 99% 0.0353
Sockets used: 31 (for perfect keepalive, would be 8)
Code 200 : 1700 (98.7 %)
Code 503 : 23 (1.3 %)
All done 1723 calls (plus 8 warmup) 13.329 ms avg, 571.9 qps
"""


def test_the_console_of_fortio_is_read() -> None:
    report = read(FORTIO).report
    assert (report.tool, report.requests, report.non_2xx, report.requests_per_s) == ("fortio", 1_723, 23, 571.9)
    assert (report.latencies.at(0.99), report.max_us) == pytest.approx((35_300, 56_114.808))


def line_of(values: list[int]) -> str:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for value in values:
        histogram.record_value(value)
    return f"0.000,1.000,{max(values)}.000,{histogram.encode().decode()}\n"


@pytest.mark.parametrize(
    ("comment", "ms"),
    [
        ("#[Logged with jHiccup version 2.0.10]", 2.0),
        ("#[Logged with jHiccup version 2.0.10, values in microseconds]", 2_000.0),
        ("#[Logging op latencies for Cassandra Stress]", 2.0),
        ("#[Logging for: READ]", 2_000.0),  # YCSB
        ("#[values in microseconds]", 2_000.0),
        ("#[Latencies in milliseconds]", 2_000_000.0),
    ],
)
def test_the_unit_of_a_log_is_what_its_head_says(comment: str, ms: float, tmp_path: Path) -> None:
    path = tmp_path / "a.hlog"
    path.write_text(f"{comment}\n#[Histogram log format version 1.2]\n{line_of([2_000_000] * 50)}", encoding="utf-8")
    (output,) = find_outputs(path).outputs
    assert output.report.latencies.at(0.5) == pytest.approx(ms * 1_000, rel=1e-3)


def test_a_log_that_does_not_say_its_unit_has_no_latency(tmp_path: Path) -> None:
    path = tmp_path / "a.hlog"
    path.write_text(f"#[Histogram log format version 1.2]\n{line_of([2_000_000] * 50)}", encoding="utf-8")
    file = find_outputs(path)
    assert file.outputs == ()
    assert ["does not say its unit" in problem.text for problem in file.problems] == [True]


@pytest.mark.parametrize("version", [0, 1])
def test_histograms_of_before_v2_are_decoded(version: int, tmp_path: Path) -> None:
    counts = struct.pack(">200q", *([0] * 100 + [7] + [0] * 99))
    if version == 1:
        body = struct.pack(">IiiiqqQ", 0x1C849301 | 0x80, len(counts), 0, 3, 1, 3_600_000_000, 0) + counts
    else:
        body = struct.pack(">Iiqqq", 0x1C849308 | 0x80, 3, 1, 3_600_000_000, 7) + counts
    packed = zlib.compress(body)
    cookie = (0x1C849302 if version else 0x1C849309) | 0x80
    payload = base64.b64encode(struct.pack(">II", cookie, len(packed)) + packed).decode()
    path = tmp_path / "old.hlog"
    path.write_text(f"#[values in microseconds]\n#[StartTime: 1.0 (s)]\n0.0,1.0,100.0,{payload}\n", encoding="utf-8")
    (output,) = find_outputs(path).outputs
    assert (output.report.requests, output.report.max_us) == (7, 100)


def test_gatlings_binary_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "simulation.log"
    path.write_bytes(io.BytesIO(b"\0\1\2\3").getvalue())
    assert find_outputs(path).problems[0].text == "Gatling's binary log: not read; give js/stats.json"


@pytest.mark.parametrize(("last", "samples"), [("inf", 400), ("Infinity", 400), ("12inity", 200)])
def test_only_an_infinite_inverse_share_ends_a_percentile_file(last: str, samples: int, tmp_path: Path) -> None:
    rows = f"       0.099     0.500000   200   2.00\n       1.250     1.000000   400   {last}\n"
    file = tmp_path / "a.hgrm"
    file.write_text(f"   Value(ms)   Percentile   TotalCount 1/(1-Percentile)\n\n{rows}", encoding="utf-8")
    (output,) = find_outputs(file).outputs
    assert output.report.requests == samples


LIST = """{head:>12}   Percentile   TotalCount 1/(1-Percentile)

       0.035     {least}            1         1.00
       2.500     {middle}          200         2.00
       3.619     {most}          400          inf
#[Mean    =        0.186, StdDeviation   =        0.405]
#[Max     =        3.619, Total count    =          400]
#[Buckets =           {buckets}, SubBuckets     =         2048]
"""
OF_C = {"least": "0.000000", "middle": "0.500000", "most": "1.000000"}
OF_JAVA = {"least": "0.000000000000", "middle": "0.500000000000", "most": "1.000000000000"}


@pytest.mark.parametrize(
    ("text", "tool", "p50_us"),
    [
        (LIST.format(head="Value", buckets=32, **OF_C), "truepace", 2_500),
        (LIST.format(head="Value(ms)", buckets=32, **OF_C), "HdrHistogram", 2_500),
        (LIST.format(head="Value(us)", buckets=22, **OF_JAVA), "HdrHistogram", 2.5),
        (LIST.format(head="Value", buckets=22, **OF_C), None, None),
        (LIST.format(head="Value", buckets=32, **OF_JAVA), None, None),  # nanoseconds up to an hour, as jHiccup has
    ],
)
def test_of_a_list_of_percentiles_that_says_no_unit_nothing_is_found_or_compared(
    text: str, tool: str | None, p50_us: float | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.hgrm"
    path.write_text(text, encoding="utf-8")
    file = find_outputs(path)
    assert [(output.tool, output.report.latencies.at(0.5)) for output in file.outputs] == [(tool, p50_us)][: bool(tool)]
    assert ["does not say its unit" in problem.text for problem in file.problems] == [True][: not tool]
    if not tool:
        with pytest.raises(PlanError, match="no output of a known load tool"):
            compare_files([((path,), (tmp_path / "a.hgrm",))], (), as_json=False)


def test_nighthawks_json_says_how_often_it_was_blocked() -> None:
    content = json.loads((CASES / "nighthawk.json").read_text(encoding="utf-8"))
    of_all = content["results"][-1]["statistics"]
    of_all.append({"id": "sequencer.blocking", "count": "3450", "percentiles": []})
    (remark,) = [
        remark for remark in audit([outputs_of(Document(json.dumps(content)))]).remarks if remark.code == "RUN003"
    ]
    assert "skewed (3450 samples)" in remark.seen.text
    assert "RUN003" not in {remark.code for remark in of("nighthawk.json").remarks}


#: How vegeta 12.12 begins its results: Go's gob names the type and its fields.
GOB = bytes.fromhex(
    "ff967f03010106526573756c7401ff8000010c010641747461636b010c000103536571010600010404436f6465010600"
    "010954696d657374616d7001ff8200010700"
)


@pytest.mark.parametrize(("prefix", "named"), [(b"", True), (b"\x80", True), (b"\0" * 9, False)])
def test_vegetas_binary_results_are_named_with_what_to_give(prefix: bytes, named: bool, tmp_path: Path) -> None:
    path = tmp_path / "results.bin"
    path.write_bytes(prefix + GOB)
    (problem,) = find_outputs(path).problems
    assert ("vegeta encode -to json" in problem.text) is named
    path.write_bytes(GOB.replace(b"Result", b"Rusult"))
    assert find_outputs(path).problems[0].text == "binary; skipped"
