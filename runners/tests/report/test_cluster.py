"""Experiment 05's figures and tables from invented steps, in both reports."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from msgspec.structs import replace

from runners.analysis.latency_spikes import tenths
from runners.design.cluster import NEW, OLD
from runners.readers.run import Run, Step, frame
from runners.report import render
from runners.report.latency import latency_of
from runners.report.sections import cluster_sections, outage, outage_table
from runners.results import cluster, faults
from runners.results.answer import Measure, Verdict
from runners.results.conclusion import conclude
from runners.results.results import Results
from runners.tests.fixtures.fake_clusters import expected, group_of, load_of, outage_of, run_of


def _lock_profile(step: Step, client_ns: int, other_ns: int) -> Step:
    """Two threads' waits: for the client's lock, and for a session's monitor."""
    root = "[peer-call-1 tid=1];java/lang/Thread.run"
    frames_of = {f"{root};{cluster.CLIENT_FRAME};{cluster.LOCK_FRAME}": client_ns, f"{root};session": other_ns}
    stacks = [{"event": "lock", "stack": name, "count": count} for name, count in frames_of.items() if count]
    share = client_ns / (client_ns + other_ns)
    row = {"event": "lock", "frame": cluster.CLIENT_FRAME, "samples": 100, "share": share, "self_share": 0.0}
    rows = [{**row, "low": share - 0.01, "high": share + 0.01}] if client_ns else []
    made = {**step.frames, "stacks": frame("stacks", stacks), "frames": frame("frames", rows)}
    record = replace(step.record, profiled=("lock",), duration_s=2.0)
    return dataclasses.replace(step, name=f"{step.name}-profiled", record=record, frames=made)


def _run(root: Path) -> Run:
    made = [load_of(root, name, proxied=expected(name)) for name in (OLD, NEW)]
    made += [_lock_profile(made[0], 6_000_000_000, 200_000_000), _lock_profile(made[1], 0, 200_000_000)]
    made += group_of(root, {OLD: 5_000.0, NEW: 10_000.0})
    made += group_of(root, {"blocking-2of3": 4_000.0, "async-2of3": 8_000.0}, group="replication-2of3")
    return run_of(root, [*made, outage_of(root, "sharded", 0.3), outage_of(root, "async-2of3", 0.0)])


def test_both_reports_have_every_section_and_its_data(tmp_path: Path) -> None:
    run = _run(tmp_path)
    run.folder.path.mkdir(exist_ok=True)
    render(conclude(run, {}))
    for page in (run.folder.report_html.read_text(), run.folder.report_md.read_text()):
        for title in ("Treatments by slices: changes", "Treatments by slices: replication-2of3", "Where the keys lie",
                      "A node dies"):  # fmt: skip
            assert title in page, title
    assert (run.folder.figures_path / "interleaved-changes.svg").stat().st_size
    assert (run.folder.figures_path / "outages.svg").stat().st_size


def test_the_note_says_of_which_nodes_the_calls_are_counted(tmp_path: Path) -> None:
    load = load_of(tmp_path, NEW, proxied=expected(NEW))
    first, second = ({**peer, "failed": {"timed_out": 3}} for peer in load.record.cluster_after["peers"])
    second |= {"answered": 2 * first["answered"], "latency_us": {"p50": 120, "p99": 1_500}}
    after = {**load.record.cluster_after, "peers": [first, second]}
    (nodes,) = cluster.by_treatment([dataclasses.replace(load, record=replace(load.record, cluster_after=after))])
    assert (nodes.call_p50_us, nodes.call_p99_us, nodes.failed_calls) == (120, 1_500, 6)
    (keys,) = (section for section in cluster_sections(run_of(tmp_path, [load])) if section.anchor == "keys-section")
    assert "Call p50, p99: of the node that was asked most" in keys.tables[0].note
    assert "Failed calls: of all nodes" in keys.tables[0].note


def test_waits_for_the_client_lock_are_seconds_a_second(tmp_path: Path) -> None:
    old, new = cluster.lock_waits(_run(tmp_path))
    assert old.all_s == pytest.approx(3.1) and old.client_s == pytest.approx(3.0) and old.share is not None
    assert new.client_s == 0 and new.share is None
    answer = cluster.waits_for_the_lock(Results(_run(tmp_path)))
    assert answer is not None and answer.verdict == Verdict.YES and len(answer.steps) == 2
    _, *seconds = answer.evidence
    assert [measure.value for measure in seconds if isinstance(measure, Measure)] == pytest.approx([3.0, 0.0])


def test_a_death_is_drawn_by_tenths_with_its_failed_responses(tmp_path: Path) -> None:
    outages = faults.outages([outage_of(tmp_path, "sharded", 0.3), outage_of(tmp_path, "async-2of3", 0.0)])
    rows = latency_of(outages[0].step, tenths(outages[0].step.frames["slices"]))
    assert len(rows) == 121 and rows["p99_us"].iloc[0] == 250 and pd.isna(rows["p99_us"].iloc[-1])
    picture = outage(outages)
    assert "30.0\u00a0% of the responses fail in the 3 seconds wholly without the node" in picture.alt
    assert "no response fails" in picture.alt
    table = outage_table(outages)
    assert table.rows[0][4].startswith("30.0") and table.rows[1][4].startswith("0\u00a0%")


def test_every_column_of_a_row_has_room_for_the_highest_rate(tmp_path: Path) -> None:
    high, low = (outage_of(tmp_path, name, 0.3) for name in ("sharded", "async-2of3"))
    high = dataclasses.replace(high, record=replace(high.record, offered_rps=5_600.0))
    panels = outage(faults.outages([high, low])).axes[2:]
    assert [panel.get_ylabel() for panel in panels] == ["responses/s", ""]
    assert all(panel.get_ylim()[1] > 5_600 for panel in panels), "the last column has a fifth of the first one's rate"
