"""Files and summaries of further load tools, as the tools wrote them on loopback, are read figure by figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.audit.audit import audit
from runners.readers.documents import Document
from runners.readers.output import FileOutputs, Output
from runners.readers.outputs import find_outputs, outputs_of
from runners.readers.table_files import SampleTable
from runners.tests.fixtures.outputs import TOOLS

HDR_LOG = TOOLS.parent / "loadgen" / "load.hlog"


def outputs(name: str) -> tuple[Output, ...]:
    file = find_outputs(TOOLS / name)
    assert file.problems == ()
    return file.outputs


def codes(name: str) -> set[str]:
    return {remark.code for remark in audit([find_outputs(TOOLS / name)]).remarks}


def test_gatling_is_read_with_all_its_requests() -> None:
    (output,) = outputs("gatling-3.15.1.txt")
    report = output.report
    assert (output.tool, report.requests, report.non_2xx, report.requests_per_s) == ("Gatling", 1_000, 100, 100)
    assert report.latencies.rows == ((0.5, 2_000), (0.75, 4_000), (0.95, 679_000), (0.99, 788_000), (1.0, 1_059_000))
    assert report.latency is not None
    assert (report.latency.mean, report.latency.stdev) == (65_000, 188_000)
    assert codes("gatling-3.15.1.txt") == {"ERR001"}  # what the tool itself prints around is no report


def test_the_older_table_of_gatling_is_read() -> None:
    text = """---- Global Information --------------------------------------------------------
> request count                                       1200 (OK=1199   KO=1     )
> max response time                                    412 (OK=412    KO=60    )
> response time 95th percentile                         31 (OK=31     KO=60    )
> mean requests/sec                                     20 (OK=19.983 KO=0.017 )
"""
    (output,) = outputs_of(Document(text)).outputs
    assert (output.report.requests, output.report.non_2xx, output.report.requests_per_s) == (1_200, 1, 20)
    assert output.report.latencies.rows == ((0.95, 31_000), (1.0, 412_000))


def test_jmeters_samples_are_one_output_a_label() -> None:
    per_label = outputs("jmeter-5.6.3.jtl")
    assert [(output.tool, output.label) for output in per_label] == [("JMeter", "GET entity"), ("JMeter", "PUT entity")]
    assert [output.report.requests for output in per_label] == [100, 100]
    assert sum(output.report.non_2xx or 0 for output in per_label) == 20
    times = sorted(
        int(line.split(",")[1]) * 1_000
        for line in (TOOLS / "jmeter-5.6.3.jtl").read_text().splitlines()[1:]
        if "GET entity" in line
    )
    assert per_label[0].report.latencies.at(1.0) == times[-1]
    assert per_label[0].report.latencies.at(0.5) == times[49]
    assert "RAT004" in codes("jmeter-5.6.3.jtl")


def test_a_summary_of_jmeter_has_no_percentile_and_is_said_to_have_none() -> None:
    (output,) = outputs("jmeter-5.6.3.txt")
    assert (output.report.requests, output.report.requests_per_s, output.report.max_us) == (1_000, 538.2, 65_000)
    assert output.missing == ("percentiles",)
    # its 538.2/s are of 2 s, a whole number
    assert codes("jmeter-5.6.3.txt") == {"ERR001", "RAT004", "RUN001", "RUN005"}


def test_the_percentiles_that_ab_writes_to_a_file_have_no_count() -> None:
    (output,) = outputs("ab-2.4.71.csv")
    assert output.tool == "ab"
    assert output.report.latencies.at(0.5) == pytest.approx(1_791)
    assert codes("ab-2.4.71.csv") == {"SMP002"}
    (output,) = outputs("ab-2.4.71.tsv")
    assert (output.tool, output.report.requests_per_s) == ("ab", None)


def test_the_json_of_vegeta_has_the_rate_that_it_offered() -> None:
    (output,) = outputs("vegeta.json")
    assert output.offered_rps == pytest.approx(200.18, abs=0.01)
    assert output.report.latencies.at(0.99) == pytest.approx(281_927.3)
    assert (output.report.requests, output.report.non_2xx) == (1_000, 0)


def test_heys_samples_are_read() -> None:
    (output,) = outputs("hey.csv")
    assert (output.tool, output.report.requests, output.report.non_2xx) == ("hey", 30, 0)


def test_hey_of_go_1_23_prints_two_per_cent_signs() -> None:
    text = (TOOLS / "hey.txt").read_text(encoding="utf-8").replace("% in ", "%% in ")
    (output,) = outputs_of(Document(text)).outputs
    assert output.report.latencies.at(0.5) == pytest.approx(51_900)


def test_an_hdrhistogram_log_is_read_by_tag() -> None:
    per_tag = find_outputs(HDR_LOG).outputs
    assert [output.label for output in per_tag] == ["response", "service"]
    assert all(output.report.requests and output.report.latencies.at(0.99) for output in per_tag)


K6 = {
    "metrics": {
        "http_req_duration": {"avg": 4.5, "min": 0.2, "med": 3.0, "max": 91.0, "p(90)": 7.5, "p(95)": 9.0},
        "http_req_failed": {"passes": 7, "fails": 993, "value": 0.007},
        "http_reqs": {"count": 1000, "rate": 199.0},
        "vus_max": {"value": 20, "min": 20, "max": 20},
        "iterations": {"count": 1000, "rate": 199.0},
        "dropped_iterations": {"count": 250, "rate": 50.0},
    }
}


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_json_of_k6_is_read(wrapped: bool) -> None:
    metrics = {name: {"values": value} if wrapped else value for name, value in K6["metrics"].items()}
    (output,) = outputs_of(Document(json.dumps({"metrics": metrics}))).outputs
    report = output.report
    assert (report.requests, report.non_2xx, report.requests_per_s, output.connections) == (1_000, 7, 199.0, 20)
    assert report.latencies.rows == ((0.5, 3_000), (0.9, 7_500), (0.95, 9_000), (1.0, 91_000))
    assert output.missing == ("percentiles beyond p95",)
    assert report.extra == ("dropped_iterations: 250",)
    assert output.offered_rps == pytest.approx(199.0 * 1.25)  # what it did not even begin was offered
    assert "RAT006" in {remark.code for remark in audit([FileOutputs(output.path, (output,), ())]).remarks}


def test_damaged_json_of_a_tool_is_named_and_other_json_is_passed_over() -> None:
    text = (TOOLS / "vegeta.json").read_text(encoding="utf-8")
    (problem,) = outputs_of(Document(text[:200])).problems
    assert "damaged" in problem.text
    for other in ("{}", '{"a": 1}', '{"metrics": {}}', "{ not json", "[1, 2]"):
        assert outputs_of(Document(other)).outputs == ()
        assert outputs_of(Document(other)).problems == ()


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "latencies",
                    "throughput",
                    "requests",
                    "metrics",
                    "http_req_duration",
                    "p99",
                    "spec",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["latencies", "throughput", "requests", "metrics", "spec", "result"]), _JSON))
def test_no_json_is_an_error(content: dict[str, object]) -> None:
    audit([outputs_of(Document(json.dumps(content)))])


@pytest.mark.parametrize("name", ["jmeter-5.6.3.jtl", "hey.csv"])
@given(st.data())
def test_a_table_may_be_cut_anywhere(name: str, data: st.DataObject) -> None:
    text = (TOOLS / name).read_text(encoding="utf-8")
    audit([outputs_of(Document(text[: data.draw(st.integers(0, len(text)))], Path(name)))])


@given(st.lists(st.floats(0.1, 1e7), min_size=1, max_size=200))
def test_percentiles_of_samples_are_samples_in_order(times: list[float]) -> None:
    (report,) = SampleTable("any", "took", 1.0).read([{"took": took_us} for took_us in times])
    values = [value for _, value in report.latencies.rows]
    assert values == sorted(values)
    assert set(values) <= set(times)
    assert report.latency is not None
    assert (values[-1], report.latency.max) == (max(times), max(times))


def test_k6_1_8_is_read_with_its_kind_of_loop() -> None:
    (closed,) = outputs("k6-1.8.1-closed.txt")
    assert (closed.tool, closed.report.closed_loop, closed.connections, closed.offered_rps) == ("k6", True, 8, None)
    assert (closed.report.requests, closed.report.non_2xx) == (19_384, 1_938)
    assert closed.report.latencies.at(0.95) == pytest.approx(2_930)
    assert "RAT004" in codes("k6-1.8.1-closed.txt")
    (paced,) = outputs("k6-1.8.1-open.txt")
    assert (paced.report.closed_loop, paced.offered_rps, paced.report.latencies.at(0.99)) == (False, 300, 21_260)
    assert "RAT004" not in codes("k6-1.8.1-open.txt")
    assert "RAT001" in codes("k6-1.8.1-dropped.txt")  # its users were busy
    (exported,) = outputs("k6-1.8.1.json")
    assert exported.report.requests == 1_501
    assert exported.report.latencies.at(0.999) == pytest.approx(21_837.2)


def test_oha_1_16_is_read_in_its_new_units() -> None:
    (text,) = outputs("oha-1.16.0.txt")
    assert (text.tool, text.report.requests, text.report.non_2xx) == ("oha", 3_000, 300)
    assert text.report.elapsed_s == pytest.approx(0.6345915)
    assert text.report.latencies.at(0.999) == pytest.approx(21_665.7)
    assert text.report.max_us == pytest.approx(21_711.6)
    (summary,) = outputs("oha-1.16.0.json")
    assert (summary.tool, summary.report.requests, summary.report.non_2xx) == ("oha", 1_200, 120)  # not k6's metrics
    assert summary.report.latencies.at(0.5) == pytest.approx(1_131.99)


def test_bombardier_1_2_6_hey_0_1_5_and_vegeta_12_13_are_read() -> None:
    (summary,) = outputs("bombardier-1.2.6.json")
    assert (summary.offered_rps, summary.report.requests, summary.report.non_2xx) == (200, 602, 60)
    (text,) = outputs("bombardier-1.2.6.txt")
    assert (text.report.requests, text.report.latencies.at(0.99)) == (602, 21_180)
    (hey,) = outputs("hey-0.1.5.txt")
    assert hey.report.requests == 3_000
    assert hey.report.latencies.at(0.99) == pytest.approx(21_400)
    (vegeta,) = outputs("vegeta-12.13.0.txt")
    assert (vegeta.offered_rps, vegeta.report.requests, vegeta.report.non_2xx) == (300.23, 1_200, 120)
