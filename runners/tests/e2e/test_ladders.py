"""The notebooks as `lab run` executes them, in the smoke size: those that no other test runs whole.

They take more than a minute: part of `make test-long`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runners.analysis.comparison import Form
from runners.analysis.interleaved import comparisons
from runners.design.block import FEWEST_STARTS
from runners.design.cluster import CHANGES, FEWER_OBJECTS, NEW, OLD, SHARDED
from runners.experiments import e05_sharded_cluster
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.results import cluster, faults
from runners.results.results import Results
from runners.storage.run_folder import RunFolder
from runners.tests.e2e.conftest import lab
from runners.tests.fixtures.fake_run import make_run

pytestmark = [pytest.mark.e2e, pytest.mark.long]


def test_every_load_generator_is_validated_to_its_report(tmp_path: Path) -> None:
    done = lab("run", "00", "--size", "smoke", runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    run = read_run(folder)
    tools = {step.record.generator.tool for step in run.find(kind="round")}
    assert {"blocking", "epoll", "truepace"} <= tools
    assert {step.record.generator.tool for step in run.find(kind="stall")} == tools
    assert folder.manifest()["status"] == "complete" and "## Questions and answers" in folder.report_md.read_text()


def test_runs_are_looked_at_together_to_a_report(tmp_path: Path) -> None:
    for duration_s in (2, 3):
        make_run(tmp_path, engines=("rocksdb",), duration_s=duration_s)
    done = lab("run", "08", "-p", f"roots={tmp_path}", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "runs").iterdir()
    folder = RunFolder.open(path)
    assert folder.manifest()["status"] == "complete" and read_run(folder).frames
    assert "## Questions and answers" in folder.report_md.read_text()


@pytest.mark.parametrize(
    ("number", "ladders"),
    [
        ("03", {"put-blocking-one-rates", "put-virtual-rates", "get-selector-rates", "put-queue-array-16-rates"}),
        ("04", {"put-lsm-author-rates", "put-small-lsm-author-rates", "get-lsm-author-rates"}),
        ("05", {"put-all-new-rates", "put-all-old", "get-all-new-rates", "get-all-old"}),
    ],
)
def test_a_ladder_experiment_runs_to_its_report(number: str, ladders: set[str], tmp_path: Path) -> None:
    done = lab("run", number, "--size", "smoke", runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    run = read_run(folder)
    assert folder.manifest()["status"] == "complete"
    measured = {step.record.ladder.name for step in run.steps if step.kind == "rate-step" and step.record.ladder}
    assert ladders <= measured
    profiled = [step for step in run.steps if "cpu" in step.profiled]
    assert profiled and all(not step.frames["shares"].empty for step in profiled)
    report = folder.report_md.read_text()
    assert "## The knee" in report
    if number == "05":
        _is_a_cluster(run, report)
    else:
        assert "## Where the time goes" in report


def _is_a_cluster(run: Run, report: str) -> None:
    """Every part of experiment 05 is there, and what the node passed on is what the hashes say."""
    (changes, copies) = comparisons(run)
    assert {changes.baseline, *changes.treatments} == {*CHANGES} - {
        FEWER_OBJECTS
    } and changes.form == copies.form == Form.SLICES
    assert (copies.baseline, copies.treatments) == ("blocking-2of3", ("async-2of3",))
    clusters = [step for step in run.steps if step.subject in CHANGES and step.record.cluster_after]
    for passed_on in cluster.by_treatment(clusters):
        assert passed_on.share == pytest.approx(passed_on.expected, abs=0.05), passed_on.name
    waits = {wait.step.subject: wait.client_s for wait in cluster.lock_waits(run)}
    assert waits[OLD] > 0 and waits[NEW] == 0
    died = {outage.step.subject: outage for outage in faults.outages(run.steps)}
    assert set(died) == set(e05_sharded_cluster.OUTAGES["smoke"])
    assert died[SHARDED].failed("between")[0] > 0
    for title in ("Where the keys lie", "A node dies"):
        assert title in report


def test_the_stores_run_side_by_side_to_their_report(tmp_path: Path) -> None:
    done = lab("run", "06", "--size", "smoke", "-p", "stores=rocksdb,lsm,files,noop", runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    run = read_run(folder)
    stores = {store.subject: store for store in Results(run).stores}
    assert set(stores) == {"rocksdb", "lsm", "files", "noop"}
    assert not stores["noop"].on_disk and all(stores[name].room >= 1 for name in ("rocksdb", "lsm", "files"))
    assert stores["files"].room > 3  # a file of 1 200 bytes takes a whole page
    assert {(step.subject, step.workload) for step in run.find(profiled=True)} == {
        (store, work) for store in ("rocksdb", "lsm") for work in ("put", "get")
    }
    assert all(not step.frames["stacks"].empty for step in run.find(profiled=True))
    report = folder.report_md.read_text()
    assert "All in one table" in report and "What is written, and what it takes" in report


def test_switches_run_to_their_verdicts(tmp_path: Path) -> None:
    done = lab("run", "07", "--size", "smoke", runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    run = read_run(folder)
    by_name = {comparison.name: comparison for comparison in comparisons(run)}
    assert set(by_name) == {"reads", "response"} and by_name["reads"].form == Form.SLICES
    assert len(by_name["reads"].treatments) == 4 and by_name["reads"].row("closed_loop_rps") is not None
    assert by_name["response"].row("cpu_us") is not None and by_name["response"].control
    (fault,) = run.find(kind="fault")
    heads = fault.record.fault.heads if fault.record.fault else ()
    assert len(heads) > 100 and heads[99]["bytes"] > 10 * heads[0]["bytes"]
    report = folder.report_md.read_text()
    assert "Treatments by slices" in report and "Responses of one connection" in report
    assert not list(folder.path.glob("servers/*/data"))


def test_two_settings_are_compared_by_the_notebook_to_a_verdict(tmp_path: Path) -> None:
    flagged = "engine=lsm,--wal=off,name=no-log"
    asked = f"--size smoke -p connections=4 -p b={flagged} -p rate_rps=500"  # a rate for a machine with other work, too
    done = lab("run", "09", *asked.split(), runs=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    (comparison,) = comparisons(read_run(folder))
    assert (comparison.baseline, comparison.treatments) == ("lsm", ("no-log",))
    assert len(comparison.starts) + len(comparison.left_out) >= FEWEST_STARTS and comparison.starts
    assert {"p50_us", "cpu_us", "closed_loop_rps"} <= {row.quantity.name for row in comparison.rows}
    assert {"p50_us", "cpu_us"} <= comparison.reference.keys() and comparison.control
    report = folder.report_md.read_text(encoding="utf-8")
    assert "Treatments by request: compare" in report and f"lab run 09 {asked}" in report
    executed = json.loads(folder.notebook.read_text(encoding="utf-8"))
    drawn = {
        cell["id"]
        for cell in executed["cells"]
        for out in cell.get("outputs", ())
        if "image/png" in out.get("data", {})
    }
    assert drawn == {"compare"}
    assert not list(folder.path.glob("servers/*/data"))
