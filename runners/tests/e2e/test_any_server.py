"""Anybody's server: each worked example carries a load of a second; one goes from its folder to a report."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from runners.design.target import read_target
from runners.generators.generators import Truepace
from runners.generators.load import LoadFiles, LoadSpec, run_load
from runners.process.supervisor import in_a_row
from runners.process.tree import tree
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.targets.external import build, launch
from runners.tests.e2e.conftest import lab
from runners.tests.waiting import gone
from runners.toolchain.build import build_truepace
from runners.toolchain.tools import ROOT
from runners.toolchain.workshop import truepace_tool

pytestmark = pytest.mark.e2e
EXAMPLES = ROOT / "runners" / "docs" / "examples"
TOOLS = {"python": "python3", "node": "node", "go": "go", "jdk": "java", "nginx": "nginx"}
HOSTILE = "<script>alert('target')</script>"
SECRET = "hush-hush-0815"


def test_every_example_has_a_tool() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == TOOLS.keys()


def _copied(name: str, folder: Path) -> Path:
    """A copy of an example; nginx, whose own file has the port, on one that nobody else has."""
    shutil.copytree(EXAMPLES / name, folder)
    free = str(in_a_row(1))
    for path in folder.iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("18505", free), encoding="utf-8")
    return folder / "target.yaml"


@pytest.mark.parametrize("name", TOOLS)
def test_an_example_carries_a_load(name: str, tmp_path: Path) -> None:
    if shutil.which(TOOLS[name]) is None:
        pytest.skip(f"{TOOLS[name]} is not on this machine")
    file = read_target(_copied(name, tmp_path / name))
    build(file, tmp_path / "build.log")
    tool = truepace_tool(build_truepace(print))
    server = launch(file, tmp_path / "run")
    try:
        for workload in map(file.workload, file.target.workloads):
            kinds = ("console", "stderr", "json", "hlog", "slices")
            files = LoadFiles(**{kind: tmp_path / f"{workload.name}.{kind}" for kind in kinds})
            load = LoadSpec(server.url, workload.script, 100.0, 1.0, script_arguments=workload.arguments)
            assert run_load(Truepace(tool.path, tool.version), load, files).exit_code == 0
            console = files.console.read_text()
            assert "requests in" in console and "Non-2xx" not in console and "Socket errors" not in console, console
        processes = tree(server.pids)
        assert processes
    finally:
        server.stop()
    assert all(gone(pid) for pid in processes)


def test_a_load_ends_in_a_report_without_secrets_and_without_markup_of_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TEST_TOKEN", SECRET)
    path = _copied("python", tmp_path / "it")
    described = msgspec.yaml.decode(path.read_bytes())
    described["command"] = [sys.executable, "server.py", *described["command"][2:], HOSTILE]
    described["headers"] = {"Authorization": {"from": "LAB_TEST_TOKEN"}, "X-Hostile": HOSTILE}
    described["environment"] = {"TOKEN": {"from": "LAB_TEST_TOKEN"}, "PYTHONUNBUFFERED": HOSTILE}
    described["workloads"] = {"get": {"path": f"/{HOSTILE}"}}
    path.write_bytes(msgspec.yaml.encode(described))
    runs = tmp_path / "runs"
    done = lab("load", "--target", str(path), "--size", "smoke", "--rate", "200", "--json", runs=runs)
    assert done.returncode == 0, done.stderr
    (folder,) = map(RunFolder.open, runs.iterdir())
    told = json.loads(done.stdout)
    assert told["run"] == str(folder.path) and told["status"] == "complete"
    assert [load["role"] for load in told["loads"]] == ["sentinel", "floor", "load"]
    (target,) = folder.manifest()["targets"]
    assert target["headers"]["Authorization"] == {"from": "LAB_TEST_TOKEN", "prefix": ""}
    measured = next(step for step in read_run(folder).steps if step.kind == "load")
    assert measured.subject == "python" and measured.record.server.left_out
    assert measured.frames["telemetry"]["server_cpu_cores"].notna().any()
    html = folder.report_html.read_text()
    assert HOSTILE in json.dumps(folder.manifest()) and "alert(" in html and HOSTILE not in html
    for file in folder.path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


@pytest.mark.long
def test_a_knee_is_found(tmp_path: Path) -> None:
    path = _copied("python", tmp_path / "it")
    short = ("-p", "probe_s=0.5", "-p", "precision=0.5", "--minutes", "0.4", "--connections", "4", "--size", "smoke")
    done = lab("knee", "--target", str(path), *short, "--json", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {load["treatment"] for load in told["loads"] if load["role"] != "sentinel"} == {"python"}
    assert told["conclusions"]["answer"]


def test_a_sleep_in_each_request_fails_a_limit_against_the_revision_before_it(tmp_path: Path) -> None:
    path = _copied("python", tmp_path / "app")
    described = msgspec.yaml.decode(path.read_bytes())
    path.write_bytes(msgspec.yaml.encode(described | {"command": [sys.executable, *described["command"][1:]]}))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "quick")):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=path.parent, check=True)
    server = path.parent / "server.py"
    text = server.read_text(encoding="utf-8").replace("import sys", "import sys\nimport time")
    server.write_text(text.replace("def do_GET(self) -> None:", "def do_GET(self) -> None:\n        time.sleep(0.01)"))
    short = ("--size", "smoke", "--minutes", "1.5", "--connections", "2", "-p", "repeat_s=1", "-p", "rate_rps=50")
    limits = ("--fail-on", "p50>+10%", "--fail-on", "errors>+1%", "--inconclusive", "pass")
    comment = tmp_path / "comment.md"
    done = lab(
        "compare", "--target", str(path), "--baseline", "HEAD", *short, *limits, "--markdown", str(comment), "--json",
        runs=tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    result = json.loads(done.stdout)
    (found,) = result["comparisons"]
    slower, failed = result["limits"]
    assert done.returncode == (3 if slower["outcome"] == "failed" else 0)
    # a machine that stood still in a start, or slowed the control too, leaves it open, and the limit never passes
    assert slower["outcome"] == "failed" or (slower["outcome"] == "inconclusive" and slower["reason"]), slower
    assert failed["outcome"] != "failed"
    assert {row["treatment"] for row in found["control"]} == {f"{found['baseline']}-control"}
    rows = {row["quantity"]: row for row in found["rows"]}
    primary = rows[found["primary"]]
    assert primary["treatment"] == "python" and primary["baseline"].startswith("python-")
    assert primary["treatment_value"] - primary["baseline_value"] > 5_000, "microseconds, of 10 000 that were planted"
    assert rows["cpu_us"]["baseline_value"] > 0
    lines = comment.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60 and lines[0].startswith("### python against python-")
    assert not list((tmp_path / "revisions").iterdir())
