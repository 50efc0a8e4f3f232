"""Anybody's server: each worked example carries a load of a second; one goes from its folder to a report."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from runners.design.target import read_target
from runners.generators.generators import Truepace
from runners.generators.load import LoadFiles, LoadSpec, run_load
from runners.process.ports import in_a_row
from runners.process.tree import tree
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.targets.external import launch
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


def _on_a_free_port(name: str, folder: Path) -> Path:
    """A copy of an example whose port nobody else has."""
    shutil.copytree(EXAMPLES / name, folder)
    port = str(18501 + list(TOOLS).index(name))
    free = str(in_a_row(1))
    for path in folder.iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace(port, free), encoding="utf-8")
    return folder / "target.yaml"


@pytest.mark.parametrize("name", TOOLS)
def test_an_example_carries_a_load(name: str, tmp_path: Path) -> None:
    if shutil.which(TOOLS[name]) is None:
        pytest.skip(f"{TOOLS[name]} is not on this machine")
    file = read_target(_on_a_free_port(name, tmp_path / name))
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
    path = _on_a_free_port("python", tmp_path / "it")
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
    assert [load["role"] for load in told["loads"]] == ["sentinel", "probe", "load", "floor"]
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
    path = _on_a_free_port("python", tmp_path / "it")
    short = ("-p", "probe_s=1", "-p", "precision=0.5", "--minutes", "0.4", "--connections", "4", "--size", "smoke")
    done = lab("knee", "--target", str(path), *short, "--json", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert {load["treatment"] for load in told["loads"] if load["role"] != "sentinel"} == {"python"}
    assert told["conclusions"]["answer"]


def test_a_server_that_sleeps_in_each_request_is_found_slower(tmp_path: Path) -> None:
    paths = []
    for index, name in enumerate(("quick", "slow")):
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / "python", folder)
        described = msgspec.yaml.decode((folder / "target.yaml").read_bytes())
        port = str(in_a_row(2) + index)
        described |= {"name": name, "command": [sys.executable, "server.py", port], "ready": {"port": int(port)}}
        described["url"] = f"http://127.0.0.1:{port}"
        (folder / "target.yaml").write_bytes(msgspec.yaml.encode(described))
        paths.append(folder / "target.yaml")
    server = tmp_path / "slow" / "server.py"
    text = server.read_text(encoding="utf-8")
    server.write_text(
        text.replace("    def do_GET", "    import time\n\n    def do_GET").replace(
            "        self.send_response(200)", "        self.time.sleep(0.002)\n        self.send_response(200)"
        )
    )
    targets = [word for path in paths for word in ("--target", str(path))]
    short = ("--size", "smoke", "--minutes", "0.95", "--connections", "2", "-p", "repeat_s=1", "-p", "rate_rps=100")
    done = lab("compare", *targets, *short, "--json", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["comparisons"]
    assert found["starts"] >= 3 and not found["control"]
    rows = {row["quantity"]: row for row in found["rows"]}
    primary = rows[found["primary"]]
    assert (primary["treatment"], primary["verdict"]) == ("slow", "higher"), primary
    assert primary["treatment_value"] - primary["baseline_value"] > 1_000, "microseconds, of 2000 that were planted"
    assert rows["cpu_us"]["baseline_value"] > 0
