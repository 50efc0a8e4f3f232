"""The main job, whole, with the real tools: what a run leaves behind."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from runners.design.session import PAIRED
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.tests.e2e.conftest import GIVEN, report_again
from runners.toolchain.tools import find_wrk2

pytestmark = pytest.mark.e2e
Smoke = tuple[RunFolder, subprocess.CompletedProcess[str]]
MAX_REPORT_BYTES = 3_000_000
STEPS = {
    "sentinel",
    "fill-lsm", "fill-rocksdb", "floor-get", "floor-put", "get-lsm", "get-lsm-profiled", "get-rocksdb",
    "get-rocksdb-profiled", "put-lsm", "put-lsm-profiled", "put-rocksdb", "put-rocksdb-profiled",
    *([] if GIVEN else ["probe-get-lsm", "probe-get-rocksdb", "probe-put-lsm", "probe-put-rocksdb"]),
    "put-compared-01", "put-compared-01-warm-lsm", "put-compared-01-warm-noop", "put-compared-01-warm-rocksdb",
    "put-compared-01-warm-rocksdb-control",
}  # fmt: skip


def test_the_run_is_complete_and_says_where_its_reports_lie(smoke: Smoke) -> None:
    folder, done = smoke
    assert folder.manifest()["status"] == "complete"
    assert f"report.html: {folder.report_html}" in done.stdout and f"report.md:   {folder.report_md}" in done.stdout
    assert folder.report_html.stat().st_size < MAX_REPORT_BYTES
    assert folder.notebook.exists()


def test_progress_is_plain_lines_in_a_log(smoke: Smoke) -> None:
    _, done = smoke
    lines = [line for line in done.stderr.splitlines() if re.match(r"^\[ *\d+%\] \d\d:\d\d left  ", line)]
    assert len(lines) >= len(STEPS) - 4 and "\r" not in done.stderr


def test_every_step_was_measured_and_read(smoke: Smoke) -> None:
    run = read_run(smoke[0])
    by_wrk2 = {step.name for step in run.steps if step.kind.startswith(PAIRED)}
    assert {step.name for step in run.steps} - by_wrk2 == STEPS
    assert bool(by_wrk2) == ("left_out" not in run.manifest) == (find_wrk2() is not None)
    for step in run.steps:
        assert not step.unreadable, (step.name, step.unreadable)
        summary = step.frames["summary"].iloc[0]
        assert summary["completed"] > 0 or step.record.tries > 1, step.name
        assert summary["non_2xx"] == 0, step.name
        assert summary["connect_errors"] == summary["read_errors"] == 0, step.name
        assert summary["timeouts"] < max(1, summary["completed"]), f"{step.name}: only single responses may be held up"


def test_each_step_says_how_it_was_measured(smoke: Smoke) -> None:
    run = read_run(smoke[0])
    for step in run.find(kind="load"):
        record = step.record
        assert record.generator.command and record.server.command
        assert record.server.ready["transport"] in ("native", "java")
        assert record.server.ready["engine"] == record.engine
        assert record.store_before.tables is not None and record.store_after.tables is not None
        assert (record.offered_rps or 0) > 0 and record.rate_basis
        if step.name.endswith("-profiled"):
            assert record.profiler.engine in ("perf_events", "ctimer", "itimer"), record.profiler_note
            assert record.profiler.samples["cpu"] > 0
            assert not step.frames["shares"].empty


#: Responses that were under way when the window ended are waited for, at most for the generator's time-out.
DRAIN_S = 2.0


def test_what_can_make_a_tail_is_recorded_on_the_clock_of_the_load(smoke: Smoke) -> None:
    run = read_run(smoke[0])
    loads = run.find(kind="load")
    # a machine that stalls at the beginning of a load delays its first look, but not that of every load
    assert min(step.frames["activity"]["t_s"].min() for step in loads) < 0.2
    for step in loads:
        answered = float(step.frames["slices"]["count"].sum())
        assert answered == float(step.frames["summary"]["completed"].iloc[0]), step.name
        assert step.frames["slices"]["t_s"].max() < (step.record.duration_s or 0) + DRAIN_S
        activity = step.frames["activity"]
        assert {"steal", "foreign", "serving", "wait"} <= set(activity["kind"]), step.name
        witness = step.record.witness
        assert witness is not None and (witness.cpus or "real-time priority is refused" in (witness.note or ""))
        assert step.folder.stalls.exists() == bool(witness.cpus)
        if step.profiled:
            cpu = step.frames["samples"].query("event == 'cpu'")
            stacks = step.frames["stacks"].query("event == 'cpu'")
            assert cpu["samples"].sum() == stacks["count"].sum() > 0
        else:
            assert step.folder.events.exists()


def test_all_engines_and_the_floor_were_offered_the_same_rate(smoke: Smoke) -> None:
    run = read_run(smoke[0])
    for workload in ("put", "get"):
        rates = {
            step.record.offered_rps
            for kind in ("load", "floor")
            for step in run.find(kind=kind, workload=workload, profiled=False)  # one that fell short is offered less
        }
        assert len(rates) == 1


def test_get_was_asked_of_data_that_had_been_through_the_disk(smoke: Smoke) -> None:
    run = read_run(smoke[0])
    (step,) = run.find(subject="lsm", workload="get", profiled=False)
    assert (step.record.store_before.tables or 0) >= 1


def test_nothing_but_the_reports_is_left_of_the_stores(smoke: Smoke) -> None:
    assert not list(smoke[0].path.glob("servers/*/data"))


def test_the_report_can_be_made_again_from_the_folder_alone(smoke: Smoke, tmp_path: Path) -> None:
    copy = tmp_path / smoke[0].name
    shutil.copytree(smoke[0].path, copy)
    first = RunFolder(copy).report_md.read_text()
    RunFolder(copy).report_md.unlink()
    RunFolder(copy).report_html.unlink()
    report_again(copy)
    assert RunFolder(copy).report_md.read_text() == first
    assert RunFolder(copy).report_html.exists()


def test_the_executed_notebook_has_no_error_and_pictures(smoke: Smoke) -> None:
    notebook = json.loads(smoke[0].notebook.read_text())
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert not any(output["output_type"] == "error" for output in outputs)
    pictures = [o for o in outputs if any(kind.startswith("image/") for kind in o.get("data", {}))]
    assert len(pictures) >= 2, "one a block"
