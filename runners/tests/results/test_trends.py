"""What many runs say: a planted shift is named with its run, and a disturbed machine takes no part."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from runners.cli import lab
from runners.experiments.e08_history import questions
from runners.readers.reading import read_run
from runners.report import history as draw
from runners.report import render
from runners.report.sections import trend_lines
from runners.results.answer import Verdict
from runners.results.conclusion import conclude
from runners.results.trends import Trend, sentinels, trends
from runners.storage.run_folder import RunFolder

RUNS = 20


def measured(
    shift_at: int | None = None,
    ratio: float = 1.3,
    disturbed: tuple[int, ...] = (),
    rates: tuple[float, ...] = (8000.0,),
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs whose p99 of RocksDB PUT shifts at one place, each with a sentinel; `disturbed` have a slow one."""
    chance = np.random.default_rng(3)
    rows = []
    for index in range(RUNS):
        base = {
            "machine_class": "Zen, 2 cores",
            "experiment": "01",
            "size": "quick",
            "started": pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(days=index),
            "started_unix_s": 1.0e9 + index,
            "run": f"run-{index:02}",
            "connections": 1,
            "metric": "p99",
            "low": np.nan,
            "high": np.nan,
        }
        slow = 1.8 if index in disturbed else 1.0
        value = (
            900 * np.exp(chance.normal(0, 0.03)) * (ratio if shift_at is not None and index >= shift_at else 1) * slow
        )
        load = {"kind": "load", "subject": "rocksdb", "workload": "put", "step": "put-rocksdb", "value": value}
        rows.append(base | load | {"offered_rate_rps": rates[index % len(rates)]})
        sentinel = {"kind": "sentinel", "subject": "sentinel", "workload": "get", "step": "sentinel", "metric": "p50"}
        rows.append(base | sentinel | {"value": 90 * np.exp(chance.normal(0, 0.02)) * slow, "offered_rate_rps": 2000.0})
    runs = pd.DataFrame(
        {
            "run": [f"run-{index:02}" for index in range(RUNS)],
            "git_commit": [f"{index:02x}" * 20 for index in range(RUNS)],
            "machine_class": "Zen, 2 cores",
        }
    )
    return pd.DataFrame(rows), runs


def put_of(all_trends: list[Trend]) -> Trend:
    return next(trend for trend in all_trends if trend.workload == "put")


def test_a_planted_shift_is_named_with_its_run_and_its_commits() -> None:
    all_trends = trends(*measured(shift_at=12))
    (change,) = [change for trend in all_trends for change in trend.changes]
    assert put_of(all_trends).frame["run"].iloc[change.index] == "run-12" and 1.2 < change.ratio < 1.4
    (line,) = trend_lines(all_trends)
    assert "run-12" in line and ("0c" * 20)[:12] in line


def test_a_quiet_history_tells_nothing() -> None:
    assert not list(trend_lines(trends(*measured())))


def test_disturbed_runs_are_marked_and_take_no_part_in_changes() -> None:
    frame, runs = measured(disturbed=(15, 16, 17))
    judged = sentinels(frame)
    assert [name for name, ok in judged.items() if ok is False] == ["run-15", "run-16", "run-17"]
    assert judged["run-03"] is None  # too few before it
    all_trends = trends(frame, runs)
    assert put_of(all_trends).changes == ()
    assert list(put_of(all_trends).frame.query("disturbed")["run"]) == ["run-15", "run-16", "run-17"]
    (line,) = trend_lines(all_trends)
    assert "run-15, run-16 and run-17" in line


def test_latencies_under_different_rates_are_not_compared() -> None:
    trend = put_of(trends(*measured(shift_at=12, rates=(8000.0, 12000.0))))
    assert trend.changes == ()
    assert "rates differ" in trend.why_not


def test_the_report_holds_the_trends(tmp_path: Path) -> None:
    frame, runs = measured(shift_at=12)
    folder = RunFolder.create(tmp_path, "08", "all", {"title": "What many runs say together"})
    folder.write_frame("measurements", frame)
    folder.write_frame("runs", runs)
    folder.finish("complete")
    conclusion = conclude(read_run(folder), {}, questions())
    assert [answered.answer.verdict for answered in conclusion.answers] == [Verdict.YES, Verdict.NO]
    render(conclusion)
    for report in (folder.report_html.read_text(), folder.report_md.read_text()):
        assert "run-12" in report
        assert "Latency is not shown" not in report
    assert (folder.figures_path / "trends.svg").stat().st_size > 500


def test_an_empty_history_is_drawn_and_said(tmp_path: Path) -> None:
    assert "nothing" in draw([]).alt.lower()
    folder = RunFolder.create(tmp_path, "08", "all", {"title": "What many runs say together"})
    frame, runs = measured()
    folder.write_frame("measurements", frame.iloc[:0])
    folder.write_frame("runs", runs.iloc[:0])
    folder.finish("complete")
    render(conclude(read_run(folder), {}, questions()))
    assert folder.report_html.exists()


@pytest.mark.parametrize(
    ("planted", "within", "exit_code"),
    [
        ({"shift_at": 16}, 5, 1),
        ({"shift_at": 16}, 3, 0),  # the change lies further back
        ({"shift_at": 16, "ratio": 0.7}, 5, 0),  # to the better
        ({}, 20, 0),
    ],
)
def test_a_figure_that_got_worse_lately_is_an_alert(
    planted: dict[str, float], within: int, exit_code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    measurements, runs = measured(**planted)  # type: ignore[arg-type]
    views = {"FROM measurements": measurements, "FROM runs": runs}
    past = SimpleNamespace(unreadable=("a broken run",), query=views.__getitem__)
    monkeypatch.setattr("runners.readers.history.open_history", lambda roots: past)
    result = CliRunner().invoke(lab, ["history", "--within", str(within), "--json"])
    assert result.exit_code == exit_code, result.output
    document = json.loads(result.stdout)
    assert document["failed"] is bool(exit_code)
    assert document["worse"] == (["RocksDB PUT p99, experiment 01, quick"] if exit_code else [])
    assert "passed over: a broken run" in result.stderr
    text = CliRunner().invoke(lab, ["history", "--within", str(within)])
    assert text.stdout.endswith(
        f"{exit_code} of 2 figures that were measured often enough got worse in their last {within} runs.\n"
    )
    assert ("became" in text.stdout) is bool(planted)
