"""Anybody's server: each worked example carries a load of a second; one goes from its folder to a report."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from runners.design.load import Workload
from runners.design.target import read_target
from runners.generators.load import LoadSpec, Truepace, run_load
from runners.process.supervisor import free_port, tree
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder, StepFolder
from runners.targets.external import build, launch
from runners.tests.e2e.conftest import lab, lab_here
from runners.tests.fixtures.servers import idle
from runners.tests.tiers import in_short
from runners.tests.waiting import gone
from runners.toolchain.build import build_truepace, truepace_tool
from runners.toolchain.tools import ROOT, Tool

pytestmark = pytest.mark.e2e
EXAMPLES = ROOT / "runners" / "docs" / "examples"
TOOLS = {"python": "python3", "uvicorn": "python3", "node": "node", "go": "go", "jdk": "java", "nginx": "nginx"}
#: The shortest search and the shortest comparison that there are.
KNEE = ("--size", "smoke", "--minutes", "0.2", "-p", "probe_s=0.1", "-p", "precision=1", "--connections", "2")
COMPARED = ("--size", "smoke", "--minutes", "1.5", "--connections", "2", "-p", "repeat_s=0.5", "-p", "rate_rps=50")
HOSTILE = "<script>alert('target')</script>"
SECRET = "hush-hush-0815"


def test_every_example_has_a_tool() -> None:
    assert {path.name for path in EXAMPLES.iterdir()} == TOOLS.keys()


@pytest.fixture(autouse=True)
def own_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """`python3` is the interpreter of the tests, which has the packages of the examples."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def needs(name: str) -> None:
    """Skip, by a message, what this machine lacks the tool for."""
    if shutil.which(TOOLS[name]) is None:
        pytest.skip(f"{TOOLS[name]} is not on this machine")
    if name == "uvicorn" and importlib.util.find_spec(name) is None:
        pytest.skip("uvicorn is not installed")


def _copied(name: str, folder: Path) -> Path:
    """A copy of an example; nginx, whose own file has the port, on one that nobody else has."""
    shutil.copytree(EXAMPLES / name, folder)
    free = str(free_port())
    for path in folder.iterdir():
        path.write_text(path.read_text(encoding="utf-8").replace("18505", free), encoding="utf-8")
    return folder / "target.yaml"


#: Where nothing was built in Go before, building the example builds its HTTP library too: the better part of a minute.
@pytest.mark.parametrize("name", in_short(TOOLS, TOOLS.keys() - {"go"}))
def test_an_example_carries_a_load(name: str, tmp_path: Path) -> None:
    needs(name)
    _carries_a_load(_copied(name, tmp_path / name), tmp_path)


#: Python's own server behind TLS with a certificate that nobody has signed; it wants a token.
SECURED = """
import http.server, os, socketserver, ssl, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    def address_string(self):
        return ""
    def do_GET(self):
        right = self.headers.get("Authorization") == "Bearer " + os.environ["TOKEN"]
        self.send_response(200 if right else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    request_queue_size = 64

server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""


def test_https_carries_a_load_with_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TEST_TOKEN", SECRET)
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes a certificate, is not on this machine")
    made = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = ["openssl", *made.split(), "-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "server.py").write_text(SECURED, encoding="utf-8")
    described = {
        "name": "secured",
        "command": [sys.executable, "server.py", "{port}"],
        "url": "https://127.0.0.1:{port}",
        "environment": {"TOKEN": {"from": "LAB_TEST_TOKEN"}},
        "headers": {"Authorization": {"from": "LAB_TEST_TOKEN", "prefix": "Bearer "}},
        "ready": {"url": "/health"},
        "workloads": {"get": {"path": "/x"}},
    }
    path = tmp_path / "target.yaml"
    path.write_bytes(msgspec.yaml.encode(described))
    _carries_a_load(path, tmp_path)


#: Notes each path, type and body that it is sent, a line of JSON each.
NOTING = """
import http.server, json, socketserver, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        line = json.dumps([self.path, self.headers.get("Content-Type"), body.decode("latin-1")])
        with open("noted", "a") as noted:
            noted.write(line + chr(10))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_every_kind_of_body_is_sent_as_it_is_described(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(NOTING, encoding="utf-8")
    (tmp_path / "picture").write_bytes(bytes(range(256)))
    posts: dict[str, dict[str, object]] = {
        "json": {"path": "/json/{key}", "keys": 9, "json": {"id": "{key}", "tags": [1, "é", {"n": None}]}},
        "text": {"path": "/text/{counter}", "body": "100 % of {counter}\n{other}"},
        "fixed": {"path": "/fixed", "body": '{"a": 1}'},
        "file": {"path": "/file", "body_file": "picture"},
        "size": {"path": "/size", "body_bytes": [3, 5]},
    }
    described = {
        "name": "noting", "command": [sys.executable, "server.py", "{port}"], "url": "http://127.0.0.1:{port}",
        "workloads": {name: {"method": "POST", **post} for name, post in posts.items()},
    }  # fmt: skip
    path = tmp_path / "target.yaml"
    path.write_bytes(msgspec.yaml.encode(described))
    _carries_a_load(path, tmp_path)
    noted = [json.loads(line) for line in (tmp_path / "noted").read_text(encoding="utf-8").splitlines()]
    for place, kind, body in noted:
        name, key = place.split("/")[1], place.rpartition("/")[2]
        assert kind == ("application/json" if name == "json" else None)
        if name == "json":
            assert json.loads(body.encode("latin-1")) == {"id": key, "tags": [1, "é", {"n": None}]}
        expected = {
            "text": f"100 % of {key}\n{{other}}", "fixed": '{"a": 1}', "file": bytes(range(256)).decode("latin-1"),
        }  # fmt: skip
        assert body == expected.get(name, body)
    assert {place.split("/")[1] for place, _, _ in noted} == posts.keys()
    assert {len(body) for place, _, body in noted if place == "/size"} == {3, 5}


def _carries_a_load(path: Path, tmp_path: Path) -> None:
    """Every workload of a target has its response, a hundred times in a second; nothing of the server is left."""
    file = read_target(path)
    build(file, tmp_path / "build.log")
    tool = truepace_tool(build_truepace(print))
    server = launch(file, tmp_path / "run")
    try:
        for workload in map(file.workload, file.target.workloads):
            if workload.fill_with is not None:
                _fill(tool, server.url, workload, _new_folder(tmp_path, f"fill-{workload.name}"))
            folder = _new_folder(tmp_path, workload.name)
            load = LoadSpec(server.url, workload.script, 100.0, 1.0, script_arguments=workload.arguments)
            # 4: on a busy machine the last responses of a second come after its end
            assert run_load(Truepace(tool.path, tool.version), load, folder).exit_code in (0, 4)
            console = folder.console.read_text()
            assert "requests in" in console and "Non-2xx" not in console and "Socket errors" not in console, console
        processes = tree(server.pids)
        assert processes
    finally:
        server.stop()
    assert all(gone(pid) for pid in processes)


def _new_folder(root: Path, name: str) -> StepFolder:
    folder = StepFolder(root / "loads" / name)
    folder.path.mkdir(parents=True)
    return folder


def _fill(tool: Tool, url: str, workload: Workload, folder: StepFolder) -> None:
    assert workload.fill_with is not None
    sent = workload.fill_with
    load = LoadSpec(
        url, sent.script, None, 60.0, requests=workload.filled_keys, script_arguments=sent.arguments
    )  # fmt: skip
    assert run_load(Truepace(tool.path, tool.version), load, folder).exit_code == 0


@pytest.mark.parametrize("keys", [pytest.param(1000, marks=pytest.mark.long), 900])
def test_a_load_finds_the_keys_that_its_target_was_filled_with(keys: int, tmp_path: Path) -> None:
    needs("uvicorn")
    path = _copied("uvicorn", tmp_path / "it")
    path.write_text(path.read_text(encoding="utf-8").replace("put, keys: 1000", f"put, keys: {keys}"), encoding="utf-8")
    short = ("--size", "smoke", "--rate", "200")
    done = lab_here("load", "--target", str(path), *short, "--json", runs=tmp_path / "runs")
    assert done.returncode == (0 if keys == 1000 else 1), done.stderr  # a load of which a tenth failed is none
    run = read_run(RunFolder.open(Path(json.loads(done.stdout)["run"])))
    fill = next(step for step in run.steps if step.kind == "fill")
    assert fill.record.fill.keys == keys == fill.frames["summary"]["completed"].iloc[0]
    measured = next(step for step in run.steps if step.kind == "load")
    absent = measured.frames["summary"]["non_2xx"].iloc[0]
    assert (absent > 0) == (keys < 1000), "a tenth of the keys was not filled"


@pytest.mark.long
def test_a_url_is_loaded_and_its_limits_decide_the_exit_code(tmp_path: Path) -> None:
    limits = ("--fail-on", "p50<=1us", "--fail-on", "errors<=1%")
    with idle() as url:
        done = lab("load", url, "--size", "smoke", "--rate", "200", *limits, "--json", runs=tmp_path / "runs")
    result = json.loads(done.stdout)
    slow, failing = (limit["outcome"] for limit in result["limits"])
    # a machine that is busy leaves a percentile open, and never lets a limit pass that no server keeps
    assert done.returncode == {"failed": 3, "inconclusive": 4}[slow] and failing == "passed", done.stderr
    (load,) = [load for load in result["loads"] if load["role"] == "load"]
    assert load["failures"] == [] and load["reconnects"] == 0 and load["requests"]["failed"] == 0
    run = RunFolder.open(Path(result["run"]))
    assert lab("report", run.path.name, "--json", runs=tmp_path / "runs").returncode == 0, "a run by its id"


def test_a_fill_that_is_refused_ends_the_run(tmp_path: Path) -> None:
    needs("uvicorn")
    path = _copied("uvicorn", tmp_path / "it")
    path.write_text(path.read_text(encoding="utf-8").replace("{workload: put", "{workload: get"), encoding="utf-8")
    done = lab_here("load", "--target", str(path), "--size", "smoke", "--rate", "200", runs=tmp_path / "runs")
    assert done.returncode != 0 and "1,000 of them an error" in done.stderr and "Traceback" not in done.stderr


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
    done = lab_here("load", "--target", str(path), "--size", "smoke", "--rate", "200", "--json", runs=runs)
    assert done.returncode == 0, done.stderr
    (folder,) = map(RunFolder.open, runs.iterdir())
    reported = json.loads(done.stdout)
    assert reported["run"] == str(folder.path) and reported["status"] == "complete"
    assert [load["role"] for load in reported["loads"]] == ["sentinel", "floor", "load"]
    (target,) = folder.manifest()["targets"]
    assert target["headers"]["Authorization"] == {"from": "LAB_TEST_TOKEN", "prefix": ""}
    measured = next(step for step in read_run(folder).steps if step.kind == "load")
    assert measured.subject == "python" and measured.record.server.left_out
    assert measured.frames["telemetry"]["server_cpu_cores"].notna().any()
    html = folder.report_html.read_text()
    assert HOSTILE in json.dumps(folder.manifest()) and "alert(" in html and HOSTILE not in html
    for file in folder.path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def _knee(name: str, path: Path, runs: Path) -> None:
    done = lab("knee", "--target", str(path), *KNEE, "--json", runs=runs)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {load["treatment"] for load in result["loads"] if load["role"] != "sentinel"} == {name}
    (knee,) = result["knees"]
    assert knee["kind"] != "found" or knee["low_rps"] <= knee["rps"] <= knee["high_rps"]
    folder = RunFolder.open(Path(result["run"]))
    assert "<svg" in folder.report_html.read_text(encoding="utf-8")
    summary = folder.report_md.read_text(encoding="utf-8").partition("\n## ")[0]
    assert re.search(rf"{name} GET on \d+ connections: \w", summary), summary


def test_a_knee_is_found(tmp_path: Path) -> None:
    _knee("python", _copied("python", tmp_path / "it"), tmp_path / "runs")


@pytest.mark.long
@pytest.mark.parametrize("name", TOOLS)
def test_an_example_goes_from_an_empty_folder_through_knee_and_comparison_to_a_report(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs(name)
    monkeypatch.chdir(tmp_path)
    baseline, other = (_copied(name, tmp_path / subfolder) for subfolder in ("one", "other"))
    other.write_text(other.read_text(encoding="utf-8").replace(f"name: {name}", "name: other"), encoding="utf-8")
    _knee(name, baseline, tmp_path / "knees")
    done = lab(
        "compare", "--target", str(baseline), "--target", str(other), *COMPARED, "--json", runs=tmp_path / "runs"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (comparison,) = result["comparisons"]
    rows = {row["quantity"]: row for row in comparison["rows"]}
    assert comparison["baseline"] == name and {row["treatment"] for row in rows.values()} == {"other"}
    assert rows["cpu_us"]["baseline_value"] > 0
    assert bool(comparison["control"]) == (name != "nginx"), (
        "the port of nginx is in its own file: a process of it is alone"
    )
    assert "<svg" in RunFolder.open(Path(result["run"])).report_html.read_text(encoding="utf-8")


@pytest.mark.long
def test_servers_are_compared_by_what_they_were_filled_with_and_bodies_have_every_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("uvicorn")
    monkeypatch.chdir(tmp_path)
    baseline, other = (_copied("uvicorn", tmp_path / subfolder) for subfolder in ("one", "other"))
    for path in (baseline, other):
        text = path.read_text(encoding="utf-8").replace("name: uvicorn", f"name: {path.parent.name}")
        path.write_text(text.replace("body_bytes: 120", "body_bytes: [100, 3000]"), encoding="utf-8")
    done = lab(
        "compare", "--target", str(baseline), "--target", str(other), *COMPARED, "--json", runs=tmp_path / "runs"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    (comparison,) = result["comparisons"]
    assert comparison["baseline"] == "one" and comparison["control"] and comparison["rows"]
    folder = RunFolder.open(Path(result["run"]))
    steps = read_run(folder).steps
    fills = {step.subject: step for step in steps if step.kind == "fill"}
    starts = [step for step in steps if not step.frames["targets"].empty]
    assert fills.keys() == {"one", "other", "one-control"} and len(starts) >= 3
    every = [path for path in folder.steps_path.rglob("fill-*") if path.is_dir()]
    assert len(every) == 3 * len(starts), "each server of each start"
    assert all(step.frames["summary"]["completed"].iloc[0] == 1000 == step.record.fill.keys for step in fills.values())
    for step in starts:
        targets = step.frames["targets"].set_index("target")
        assert {"one", "other", "one-control"} < set(targets.index), "and the server that does nothing"
        assert (targets["non_2xx"] == 0).all() and (targets["completed"] > 0).all()
    for step in steps:
        if step.kind not in ("sentinel", "fill") and step.subject in fills:
            summary = step.frames["summary"].iloc[0]
            mean_bytes = summary["bytes_read"] / summary["completed"]
            assert 1_000 < mean_bytes < 2_300, (
                f"{step.name}: half of its responses have 100, half 3 000 bytes and a head"
            )


NAMES = "--perf-basic-prof --interpreted-frames-native-stack"
#: By example: who samples it, its environment, and a function of its server that the profile holds.
PROFILED = {
    "python": ("py-spy", "", "BaseHTTPRequestHandler.handle"),
    "node": ("perf cpu-clock", f"environment: {{NODE_OPTIONS: {NAMES}}}\n", "server.js"),
    "go": ("pprof", "", "net/http.(*conn)"),
    "jdk": ("", "", "Server.lambda"),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", PROFILED)
def test_an_example_is_profiled_by_what_is_there(name: str, tmp_path: Path) -> None:
    needs(name)
    engine, more, function = PROFILED[name]
    path = _copied(name, tmp_path / "it")
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")
    short = ("--size", "smoke", "--rate", "1000", "--duration", "3")
    done = lab("profile", "--target", str(path), *short, "--json", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    folder = RunFolder.open(Path(json.loads(done.stdout)["run"]))
    (step,) = [step for step in read_run(folder).steps if step.name.endswith("-profiled")]
    if note := step.record.profiler_note:
        pytest.skip(f"can't sample here: {note}")
    assert engine in step.record.profiler.engine and step.record.profiler.samples["cpu"] > 0
    assert any(function in frame for frame in step.frames["frames"]["frame"]), set(step.frames["frames"]["frame"])
    assert not step.frames["shares"].empty
    for form in ("speedscope", "pprof"):
        out = tmp_path / form
        done = lab("export", str(folder.path), "--format", form, "--output", str(out), runs=tmp_path / "runs")
        assert done.returncode == 0 and out.stat().st_size > 0, done.stderr


@pytest.mark.long
def test_experiment_01_runs_on_two_targets_in_place_of_the_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "other"):
        path = _copied("node", tmp_path / name)
        text = path.read_text(encoding="utf-8").replace("name: node", f"name: {name}")
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    given = ("-p", "target=one/target.yaml,other/target.yaml", "-p", "profile=none", "-p", "rate_rps=500")
    done = lab("run", "01", "--size", "smoke", *given, "--json", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    loads = [(load["treatment"], load["name"]) for load in result["loads"] if load["role"] == "load"]
    assert loads == [(of, f"{what}-{of}") for what in ("put", "get") for of in ("one", "other")], "none of a store"
    assert all("log of a JVM" in load["left_out"] for load in result["loads"] if load["role"] == "load")
    assert [answer["key"] for answer in result["conclusions"]["answers"]] == ["servers"]
    folder = RunFolder.open(Path(result["run"]))
    assert {target["name"] for target in folder.manifest()["targets"]} == {"one", "other"}
    assert "published" not in folder.report_md.read_text(encoding="utf-8").lower()
    for step in read_run(folder).find():
        assert step.frames["telemetry"]["server_cpu_cores"].notna().any() and not step.frames["stalls"].columns.empty


def test_a_sleep_in_each_request_fails_a_limit_against_the_revision_before_it(tmp_path: Path) -> None:
    path = _copied("python", tmp_path / "app")
    described = msgspec.yaml.decode(path.read_bytes())
    path.write_bytes(msgspec.yaml.encode(described | {"command": [sys.executable, *described["command"][1:]]}))
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "quick")):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=path.parent, check=True)
    server = path.parent / "server.py"
    text = server.read_text(encoding="utf-8").replace("import sys", "import sys\nimport time")
    server.write_text(text.replace("def do_GET(self) -> None:", "def do_GET(self) -> None:\n        time.sleep(0.01)"))
    short = ("--size", "smoke", "--minutes", "1.1", "--connections", "2", "-p", "repeat_s=0.5", "-p", "rate_rps=50")
    limits = ("--fail-on", "p50>+10%", "--fail-on", "errors>+1%", "--inconclusive", "pass")
    comment = tmp_path / "comment.md"
    done = lab(
        "compare", "--target", str(path), "--baseline", "HEAD", *short, *limits, "--markdown", str(comment), "--json",
        runs=tmp_path / "runs",
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    result = json.loads(done.stdout)
    (comparison,) = result["comparisons"]
    slower, failed = result["limits"]
    assert done.returncode == (3 if slower["outcome"] == "failed" else 0)
    # a machine that stalled in a start, or slowed the control too, leaves it open, and the limit never passes
    assert slower["outcome"] == "failed" or (slower["outcome"] == "inconclusive" and slower["reason"]), slower
    assert failed["outcome"] != "failed"
    assert {row["treatment"] for row in comparison["control"]} == {f"{comparison['baseline']}-control"}
    rows = {row["quantity"]: row for row in comparison["rows"]}
    if comparison["primary"] not in rows:
        pytest.skip(f"the machine left no start whole: {slower['reason']}")
    primary = rows[comparison["primary"]]
    assert primary["treatment"] == "python" and primary["baseline"].startswith("python-")
    assert primary["treatment_value"] - primary["baseline_value"] > 5_000, "microseconds, of 10 000 that were planted"
    assert rows["cpu_us"]["baseline_value"] > 0
    lines = comment.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60 and lines[0].startswith("### python against python-")
    assert not list((tmp_path / "revisions").iterdir())
