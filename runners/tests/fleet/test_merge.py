"""Merging what several generators wrote: bucket by bucket what one generator would have recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import MeasureError
from runners.fleet.merge import added, merge_logs, merged_report
from runners.readers.hdr_log import read_hdr_log

LATENCIES_NS = st.lists(st.integers(1, 60_000_000_000), max_size=200)
HIGHEST_NS = 3_600_000_000_000


def histogram(latencies_ns: list[int], highest_ns: int = HIGHEST_NS, digits: int = 3) -> HdrHistogram:
    recorded = HdrHistogram(1, highest_ns, digits)
    for latency_ns in latencies_ns:
        assert recorded.record_value(latency_ns)
    return recorded


def counts_of(histogram: HdrHistogram) -> np.ndarray:
    """The counts of a histogram by bucket."""
    return np.frombuffer(histogram.counts, dtype=f"i{histogram.word_size}", count=histogram.counts_len)


def written(path: Path, start_s: float, lines: list[tuple[str, float, list[int]]]) -> Path:
    """A log as truepace writes it: intervals of a second with a tag each."""
    text = [
        "#[Histogram log format version 1.3]",
        "#[Written by truepace; values in nanoseconds; tags: response, service, censored]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch)]",
        f"#[BaseTime: {start_s:.3f} (seconds since epoch)]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for tag, at, latencies in lines:
        most_ms = max(latencies, default=0) / 1e6
        payload = histogram(latencies).encode().decode()
        text.append(f"Tag={tag},{at:.3f},1.000,{most_ms:.3f},{payload}")
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return path


@given(st.lists(LATENCIES_NS, min_size=1, max_size=5), st.sampled_from([HIGHEST_NS, 90_000_000_000]))
def test_histograms_added_are_that_of_all_latencies(parts: list[list[int]], highest_ns: int) -> None:
    several = [histogram(part, highest_ns if place else HIGHEST_NS) for place, part in enumerate(parts)]
    whole, alone = added(several), histogram([latency_ns for part in parts for latency_ns in part])
    assert np.array_equal(counts_of(whole), counts_of(alone))
    again = HdrHistogram.decode(whole.encode())
    assert np.array_equal(counts_of(again), counts_of(alone)), "nothing is lost by writing it"
    assert whole.get_total_count() == alone.get_total_count()


def test_histograms_of_other_buckets_are_refused() -> None:
    with pytest.raises(MeasureError, match="one version of the generator"):
        added([histogram([5]), histogram([5], digits=2)])


@given(st.lists(st.tuples(LATENCIES_NS, LATENCIES_NS), min_size=1, max_size=4))
def test_logs_merged_read_as_the_log_of_one_generator(parts: list[tuple[list[int], list[int]]]) -> None:
    import tempfile  # hypothesis runs the body often, so that a fixture's folder would be shared

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        logs = [
            written(
                folder / str(place), 1_700_000_000 + place / 1000, [("response", 0, first), ("response", 1, second)]
            )
            for place, (first, second) in enumerate(parts)
        ]
        single_log = written(folder / "one", 1_700_000_000, [
            ("response", at, [latency_ns for part in parts for latency_ns in part[at]]) for at in (0, 1)
        ])  # fmt: skip
        merge_logs(logs, folder / "merged", 1_700_000_000_000_000)
        merged, alone = read_hdr_log(folder / "merged"), read_hdr_log(single_log)
    assert merged.start_unix_s == alone.start_unix_s
    assert [(interval.kind, interval.t_s) for interval in merged.intervals] == [
        (interval.kind, interval.t_s) for interval in alone.intervals
    ]
    for got, wanted in zip(merged.intervals, alone.intervals, strict=True):
        assert np.array_equal(got.samples.values_us, wanted.samples.values_us)
        assert np.array_equal(got.samples.counts, wanted.samples.counts)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no legend"), ("#[StartTime: 1.000]\n", "no legend"), ('"StartTimestamp"\nnone\n', "no interval: none")],
)
def test_a_log_that_is_cut_off_is_refused_with_its_path(text: str, said: str, tmp_path: Path) -> None:
    whole = written(tmp_path / "whole", 1_700_000_000, [("response", 0, [5])])
    cut = tmp_path / "cut"
    cut.write_text(text)
    with pytest.raises(MeasureError, match=said) as refusal:
        merge_logs([whole, cut], tmp_path / "merged", 1_700_000_000_000_000)
    assert refusal.value.thing == str(cut) and refusal.value.remedy == "run the load again"


def report(completed: int, **generator: object) -> dict[str, Any]:
    """A generator's report, as far as the merging reads it (`runners/loadgen/docs/json.md`)."""
    lag = dict.fromkeys(("p50", "p90", "p99", "p99_9", "max"), 5.0) | {"count": completed}
    own = {
        "cpu_user_s": 0.5, "cpu_system_s": 0.5, "cpu_us_per_request_by_clock": {"kernel": 1.0, "user": None},
        "peak_memory_bytes": 7, "lag_us": lag, "coalesce_us": 30.0, "held": 1, "rested": 0, "unstamped": 0,
        "kept_up": True, "kept_up_to": 99.9, "verdict": "kept up", "io": "epoll", "receive_clock": "kernel",
    }  # fmt: skip
    requests = {"scheduled": 100, "sent": 100, "completed": completed, "failed": 100 - completed}
    return {
        "schema": "truepace/1", "version": "1", "command": [], "url": "", "mode": "open", "arrival": "constant",
        "queue": "connection", "threads": 1, "connections": 2, "share": "1/2", "offered_rps_range": [51.0, 51.0],
        "warmup_s": 0.0, "duration_s": 2.0, "elapsed_s": 2.0, "offered_rps": 51.0, "achieved_rps": completed / 2,
        "loaded_s": 2.0, "requests": requests, "bytes": {"read": 10}, "status": {"200": completed},
        "errors": {"read": 100 - completed}, "connects": 2, "reconnects": 0, "intervals": [],
        "generator": own | generator, "requests_dropped": 0, "interrupted": False, "failure": None,
    }  # fmt: skip


def test_percentiles_are_of_all_requests_and_the_verdict_is_the_worst(tmp_path: Path) -> None:
    quick, slow = [1_000_000] * 90, [50_000_000] * 10
    lines = [[("response", 0.0, part), ("service", 0.0, part)] for part in (quick, slow)]
    logs = [written(tmp_path / str(place), 1_700_000_000, of) for place, of in enumerate(lines)]
    merge_logs(logs, tmp_path / "merged", 1_700_000_000_000_000)
    ours = report(99)
    late = report(80, kept_up=False, kept_up_to=50.0, verdict="did not keep up: late")
    whole = merged_report([ours, late], 1_700_000_000_000_000)
    response = read_hdr_log(tmp_path / "merged").merged("response")
    assert response.percentile(0.5) == pytest.approx(1_000, rel=2e-3) and response.total == 100, "a mean is 25 ms"
    assert response.percentile(0.99) == pytest.approx(50_000, rel=2e-3)
    assert (whole["achieved_rps"], whole["offered_rps"]) == (89.5, 102.0)
    assert whole["requests"] == {"scheduled": 200, "sent": 200, "completed": 179, "failed": 21}
    assert (whole["status"], whole["errors"], whole["connections"]) == ({"200": 179}, {"read": 21}, 4)
    assert (whole["generator"]["kept_up"], whole["generator"]["kept_up_to"]) == (False, 50.0)
    assert whole["generator"]["verdict"] == "of 2 generators the worst did not keep up: late"


def test_failures_and_waits_are_those_of_all_generators() -> None:
    reset = {"cause": "connection reset", "counted_as": "read", "count": 3, "first_s": 2.0, "first": "later"}
    waits = {"count": 4, "p50": 10.0, "max": 90.0}
    later = report(99) | {"failures": [reset], "shortfall": "of 100 requests 3 failed", "reconnect_us": waits}
    earlier = report(99) | {"failures": [reset | {"count": 2, "first_s": 0.5, "first": "earlier"}], "shortfall": None}
    whole = merged_report([later, earlier], 1_700_000_000_000_000)
    assert whole["failures"] == [reset | {"count": 5, "first_s": 0.5, "first": "earlier"}]
    assert (whole["shortfall"], whole["reconnect_us"]) == ("of 100 requests 3 failed", waits)
    assert whole["waited_for_connection_us"] is None


def test_the_lateness_of_a_second_is_that_of_the_latest_generator() -> None:
    for lags, wanted in (([[1.0, 7.0], [5.0, 2.0]], [5.0, 7.0]), ([None, None], None)):
        seconds = [
            {"t_s": 0.0, "duration_s": 1.0, "sent": 1, "completed": 1, "errors": 0, "lag_max_us": lag} for lag in lags
        ]
        reports = [report(50) | {"intervals": [second]} for second in seconds]
        whole = merged_report(reports, 1_700_000_000_000_000)
        assert whole["intervals"][0]["lag_max_us"] == wanted
