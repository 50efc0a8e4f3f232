"""Anybody's server is started, found ready, distinguished from another one, and stopped with all that it started."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from runners.design.target import read_target
from runners.errors import LabError, PlanError, ServerError
from runners.process.supervisor import free_port, tree
from runners.targets.external import RunningTarget, launch
from runners.targets.group import Target
from runners.tests.waiting import gone, started, until
from runners.trial.telemetry import telemetry

#: Answers 200 on /health where the token is right, else 403; its worker is a process of its own, in its own session.
SERVER = """
import http.server, os, subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], start_new_session=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        right = self.headers.get("Authorization", "") == "Bearer " + os.environ.get("TOKEN", "?")
        self.send_response(200 if right else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("now listening <script>", worker.pid, os.getcwd(), flush=True)
server.serve_forever()
"""


class Folder:
    """A folder with a server and its description, on a port of its own."""

    def __init__(self, path: Path) -> None:
        self.path, self.port = path, free_port()
        (path / "server.py").write_text(SERVER, encoding="utf-8")

    def start(self, **more: object) -> RunningTarget:
        return self._launched(**{"command": [sys.executable, "server.py", str(self.port)], **more})

    def find(self, **more: object) -> RunningTarget:
        return self._launched(**more)

    def _launched(self, **more: object) -> RunningTarget:
        described = {
            "name": "mine",
            "url": f"http://127.0.0.1:{self.port}",
            "ready": {"port": self.port, "timeout_s": 60},
            "workloads": {"get": {"path": "/health"}},
            **more,
        }
        file = self.path / "target.yaml"
        file.write_bytes(msgspec.yaml.encode(described))
        return launch(read_target(file), self.path / "run" / str(time.monotonic_ns()))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def running(folder: Folder) -> Iterator[RunningTarget]:
    server = folder.start()
    yield server
    server.stop()


def _of_whole_tree(running: RunningTarget) -> tuple[int, ...]:
    assert until(lambda: len(tree(running.pids)) == 2)
    return tree(running.pids)


def test_it_runs_where_its_folder_is_and_is_stopped_whole(folder: Folder, running: RunningTarget) -> None:
    target: Target = running
    assert target.status() == {}
    assert str(folder.path) in running.log.read_text()
    processes = _of_whole_tree(running)
    running.stop()
    assert all(gone(pid) for pid in processes)
    assert not running.alive()
    running.stop()


def test_what_it_can_not_give_is_named(folder: Folder, running: RunningTarget) -> None:
    assert running.record().left_out == ("log of a JVM", "counters of a store")
    attached = folder.find()
    assert "processor time and memory of its processes" in attached.record().left_out
    attached.stop()
    assert running.alive(), "a server that ran already goes on"


@pytest.mark.parametrize("ready", [{"line": "now listening"}, {"url": "/health", "status": 403}])
def test_other_ways_to_be_ready(folder: Folder, ready: dict[str, object]) -> None:
    server = folder.start(ready=ready)
    assert server.alive()
    server.stop()


def test_secrets_reach_server_and_question_and_no_record(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TEST_TOKEN", "hush-hush")
    secret = {"from": "LAB_TEST_TOKEN"}
    headers = {"Authorization": {**secret, "prefix": "Bearer "}}
    server = folder.start(environment={"TOKEN": secret}, headers=headers, ready={"url": "/health"})
    assert "hush-hush" not in str(server.record()) + str(server.file.described())
    server.stop()


@pytest.mark.parametrize("key", ["environment", "headers"])
def test_a_secret_that_is_not_there_is_named_before_anything_starts(folder: Folder, key: str) -> None:
    with pytest.raises(PlanError, match="no variable LAB_TEST_UNSET"):
        folder.start(**{key: {"A": {"from": "LAB_TEST_UNSET"}}})
    assert not list(folder.path.glob("run/*/server.log"))


def test_another_server_on_the_port_is_not_taken_for_it(folder: Folder, running: RunningTarget) -> None:
    with pytest.raises(ServerError, match="before it was started"):
        folder.start()


def test_a_server_that_ends_at_its_start_is_an_error_with_its_last_lines(folder: Folder) -> None:
    (folder.path / "broken.py").write_text("raise SystemExit('no <b>such</b> thing')")
    with pytest.raises(ServerError, match=r"exit code 1 .*\n.*no <b>such</b> thing") as raised:
        folder.start(command=[sys.executable, "broken.py"])
    assert "broken.py" in raised.value.remedy


def test_a_server_that_is_never_ready_is_stopped(folder: Folder) -> None:
    with pytest.raises(ServerError, match="'never said'"):
        folder.start(ready={"line": "never said", "timeout_s": 0.5})
    assert not started()


def test_a_server_that_died_is_no_target(running: RunningTarget) -> None:
    assert running.child is not None
    running.child.kill()
    assert running.ended_within(60)
    with pytest.raises(ServerError, match="died with exit code 137"):
        running.status()


def test_a_running_server_that_is_not_there_is_an_error(folder: Folder) -> None:
    with pytest.raises(ServerError, match="start it, then run again"):
        folder.find(ready={"url": "/", "timeout_s": 0.1})


def test_its_data_folder_is_emptied(folder: Folder) -> None:
    (folder.path / "store" / "deep").mkdir(parents=True)
    (folder.path / "store" / "deep" / "old").write_text("old")
    server = folder.start(data="store")
    assert list((folder.path / "store").iterdir()) == []
    server.stop()


def test_a_command_fills_it_once_it_is_ready(folder: Folder) -> None:
    looks = "import os, socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print(os.environ['A'])"
    fill = {"command": [sys.executable, "-c", looks, str(folder.port)]}
    server = folder.start(fill=fill, environment={"A": "filled"})
    server.stop()
    assert (server.folder / "fill.log").read_text() == "filled\n"


@pytest.mark.parametrize(
    ("code", "cause"),
    [("print('no room'); exit(3)", "exit code 3.*\n.*no room"), ("while True: pass", "not end in 0.5")],
)
def test_a_fill_that_fails_is_an_error_and_leaves_no_server(folder: Folder, code: str, cause: str) -> None:
    with pytest.raises(PlanError, match=rf"(?s)key fill.command: .*{cause}"):
        folder.start(fill={"command": [sys.executable, "-c", code], "timeout_s": 0.5 if "while" in code else 60})
    assert not started()


def test_a_link_to_elsewhere_is_not_emptied(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> None:
    precious = tmp_path_factory.mktemp("precious")
    (precious / "kept").write_text("kept")
    (folder.path / "store").symlink_to(precious)
    with pytest.raises(PlanError, match="does not lie below"):
        folder.start(data="store")
    assert (precious / "kept").exists()


@pytest.mark.parametrize(
    "more", [{"cpus": [4096]}, {"directory": "nowhere"}, {"command": ["./no-such-program"]}], ids=str
)
def test_what_can_not_be_names_file_and_key(folder: Folder, more: dict[str, object]) -> None:
    with pytest.raises(LabError, match=rf"target.yaml, key {next(iter(more))}"):
        folder.start(**more)


def test_telemetry_is_of_the_whole_tree(folder: Folder, running: RunningTarget, tmp_path: Path) -> None:
    _of_whole_tree(running)
    with telemetry(tmp_path / "t.jsonl", running.pids) as sample:
        sample(os.getpid())
        running.stop()
        sample(os.getpid())
    first, second = map(msgspec.json.decode, (tmp_path / "t.jsonl").read_text().splitlines())
    assert first["server"]["cpu_s"] > 0
    assert second["server"] is None
