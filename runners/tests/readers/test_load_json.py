"""The generator's JSON report to frames."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from runners.errors import ReadError
from runners.readers.load_json import LoadReport, read_load_json
from runners.readers.run import COLUMNS

GOLDEN = Path(__file__).parents[1] / "data" / "loadgen" / "load.json"


@pytest.mark.parametrize("name", ["loadgen", "truepace"])
def test_a_recorded_report(name: str, tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    path.write_text(GOLDEN.read_text(encoding="utf-8").replace('"schema": "loadgen/1"', f'"schema": "{name}/1"'))
    report = read_load_json(path)
    summary = report.summary_frame().iloc[0]
    assert (summary["offered_rps"], summary["scheduled"], summary["completed"]) == (2_000, 6_000, 6_000)
    assert summary["achieved_rps"] == pytest.approx(2_000, rel=0.001)
    assert summary["kept_up"]
    assert (summary["non_2xx"], summary["timeouts"], summary["censored"]) == (0, 0, 0)
    assert list(report.status_frame()["code"]) == ["201"]
    percentiles = report.percentiles_frame()
    assert set(percentiles["kind"]) == {"response", "service"}
    assert not percentiles["at_least"].any()
    assert len(report.intervals_frame()) == 6
    assert report.spectrum_frame()["percentile"].max() == 1


@pytest.mark.parametrize("text", ['{"schema": "truepace/2"}', "{}", "[]", '"truepace/1"'])
def test_another_schema_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "load.json"
    path.write_text(text)
    with pytest.raises(ReadError, match="this lab reads 'truepace/1'"):
        read_load_json(path)


@pytest.mark.parametrize("text", ["", "{", "\x00"])
def test_no_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "load.json"
    path.write_text(text)
    with pytest.raises(ReadError, match="no JSON"):
        read_load_json(path)


def test_closed_loop_has_no_offered_rate() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8")) | {"offered_rps": None, "mode": "closed"}
    assert pd.isna(LoadReport(document).summary_frame()["offered_rps"].iloc[0])


def test_what_failed_and_what_waited_for_connections_is_read_and_missing_where_it_is_not_known() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    columns = ["closed_idle", "reconnect_p50_us", "reconnect_max_us", "waited", "waited_p50_us", "waited_max_us"]
    before = LoadReport(document)
    assert before.summary_frame()[columns].isna().all(axis=None)
    assert before.failures_frame().empty
    times = {"count": 7, "p50": 120.0, "p90": 200.0, "p99": 300.0, "p99_9": 300.0, "max": 300.0}
    failure = {
        "cause": "no HTTP/1.1 response", "counted_as": "parse", "count": 96, "first_s": 0.25,
        "first": 'it looks like HTTP/2: "\\x00"', "protocol": "HTTP/2",
    }  # fmt: skip
    report = LoadReport(
        document
        | {"reconnects": 7, "closed_idle": 5, "reconnect_us": times, "waited_for_connection_us": None}
        | {"failures": [failure]}
    )
    assert list(report.summary_frame()[["reconnects", *columns[:4]]].iloc[0]) == [7, 5, 120, 300, 0]
    assert report.failures_frame().to_dict("records") == [failure]


def test_sends_that_were_held_back_are_in_the_summary() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert LoadReport(document).summary_frame()[["coalesce_us", "held"]].isna().all(axis=None)
    document["generator"] |= {"coalesce_us": 30.0, "held": 3_000}
    summary = LoadReport(document).summary_frame().iloc[0]
    assert (summary["coalesce_us"], summary["held"]) == (30, 3_000)


def test_any_key_may_be_missing() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for name in document:
        report = LoadReport({key: value for key, value in document.items() if key != name})
        for frame_name, frame in {
            "summary": report.summary_frame(),
            "spectrum": report.spectrum_frame(),
            "percentiles": report.percentiles_frame(),
            "intervals": report.intervals_frame(),
        }.items():
            assert list(frame.columns) == list(COLUMNS[frame_name])
    assert LoadReport({}).start_unix_us is None


def test_targets_that_shared_a_schedule_have_a_row_each() -> None:
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert LoadReport(document).targets_frame().empty
    counted = {"requests": {"completed": 90, "warmup_completed": 10}}
    report = LoadReport(document | {"targets": [{"name": "a", **counted}, {"name": "noop", "requests": {}}]})
    targets = report.targets_frame()
    assert list(targets["target"]) == ["a", "noop"]
    assert list(targets["served"]) == [100, 0]


def test_lateness_is_by_tenths_of_a_second_up_to_the_end_of_the_load() -> None:
    seconds = [
        {"t_s": 0.0, "duration_s": 1.0, "lag_max_us": [float(tenth) for tenth in range(10)]},
        {"t_s": 1.0, "duration_s": 0.15, "lag_max_us": [3.0, 0.0, *[0.0] * 7, 40.0]},
    ]
    rows = LoadReport({"intervals": seconds}).lateness_frame()
    assert rows["t_s"].tolist() == pytest.approx([*(tenth / 10 for tenth in range(10)), 1.0, 1.1, 1.9])
    assert rows["lag_max_us"].tolist() == [*range(10), 3, 0, 40], "what left after the end is in the last"
    assert LoadReport({"intervals": [{"t_s": 0.0, "duration_s": 1.0, "lag_max_us": None}]}).lateness_frame().empty
