"""A server that does not start, is another one, or dies is distinguished and named, with its last lines."""

from __future__ import annotations

import dataclasses
import http.server
import json
import sys
import threading
from pathlib import Path

import psutil
import pytest

from runners.errors import ServerError
from runners.targets import lab_server
from runners.targets.base import log_tail
from runners.targets.lab_server import ONE_NIO, RunningServer, ServerSpec, launch
from runners.tests.waiting import LIMIT_S, gone
from runners.toolchain.build import JDK17_MAIN

READY = {"event": "ready", "instance": "mine", "port": 0, "pid": 0}
FAKE = """
import http.server, json, os, sys
ready = dict(json.loads({ready!r}), pid=os.getpid())
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(dict(ready, event="status", instance={answers!r}, store={{"tables": 1}})).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *a): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
ready["port"] = server.server_port
print("it serves", file=sys.stderr, flush=True)
print(json.dumps(ready), flush=True)
server.serve_forever()
"""


@dataclasses.dataclass(frozen=True)
class Scripted(ServerSpec):
    """A server made of lines of Python."""

    script: str = ""

    def command(self) -> list[str]:
        return [sys.executable, "-c", self.script]


def spec(folder: Path) -> ServerSpec:
    return ServerSpec(Path("java"), Path("dist"), "lsm", folder / "server", folder / "data")


def started(folder: Path, script: str) -> RunningServer:
    return launch(Scripted(Path("java"), Path("dist"), "lsm", folder / "server", folder / "data", script=script))


def fake(folder: Path, answers: str = "mine") -> RunningServer:
    return started(folder, FAKE.format(ready=json.dumps(READY), answers=answers))


def test_a_ready_server_is_ours_and_stops(tmp_path: Path) -> None:
    server = fake(tmp_path)
    assert server.status()["store"] == {"tables": 1}
    assert server.url.startswith("http://127.0.0.1:")
    pid = server.pid
    server.stop()
    assert gone(pid)


def test_another_server_on_the_port_is_refused(tmp_path: Path) -> None:
    server = fake(tmp_path, answers="somebody else")
    try:
        with pytest.raises(ServerError, match="another server responds here"):
            server.status()
    finally:
        server.stop()


def test_a_server_that_dies_at_start_shows_its_last_lines(tmp_path: Path) -> None:
    dying = "import sys; print('the disk is on fire', file=sys.stderr); sys.exit(3)"
    with pytest.raises(ServerError, match=r"with exit code 3(?s:.*)the disk is on fire"):
        started(tmp_path, dying)


def test_a_server_that_never_gets_ready_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = "import time; time.sleep(60)"
    monkeypatch.setattr(lab_server, "READY_TIMEOUT_S", 0.3)
    with pytest.raises(ServerError, match=r"was not ready after 0\.3 s"):
        started(tmp_path, silent)


def test_a_server_that_talks_nonsense_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="printed b'hello"):
        started(tmp_path, "print('hello', flush=True); import time; time.sleep(60)")


def test_a_dead_server_is_named_with_its_exit_code_and_log(tmp_path: Path) -> None:
    server = fake(tmp_path)
    psutil.Process(server.pid).kill()
    server.child.wait(LIMIT_S)
    with pytest.raises(ServerError, match=r"died with exit code 137(?s:.*)it serves"):
        server.status()
    server.stop()


def test_a_server_that_dies_while_it_is_asked_is_named_with_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = fake(tmp_path)
    psutil.Process(server.pid).kill()
    monkeypatch.setattr(RunningServer, "alive", lambda _self: True)  # nobody has looked since
    with pytest.raises(ServerError, match="died with exit code 137"):
        server.status()
    server.stop()


def test_a_server_that_gives_no_json_is_named(tmp_path: Path) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")

        def log_message(self, *_: object) -> None: ...

    other = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    server = fake(tmp_path)
    server.url = f"http://127.0.0.1:{other.server_port}"
    with pytest.raises(ServerError, match="gives no status"):
        server.status()
    server.stop()
    other.shutdown()


def test_log_tail_of_nothing(tmp_path: Path) -> None:
    assert log_tail(tmp_path / "none") == "(no log)"
    (tmp_path / "empty").touch()
    assert log_tail(tmp_path / "empty") == "(the log is empty)"


def test_the_command_line_is_whole(tmp_path: Path) -> None:
    command = ServerSpec(Path("/jdk/bin/java"), Path("dist"), "lsm", tmp_path, tmp_path / "data", cpus=(0,)).command()
    assert command[1:3] == ["-c", "0"]
    assert "-Xmx128m" in command and "127.0.0.1" in command and "lsm" in command


def test_the_jdk_front_gets_no_flag_that_only_a_newer_jdk_or_another_front_knows(tmp_path: Path) -> None:
    own = dataclasses.replace(spec(tmp_path), main_class=JDK17_MAIN, selectors=2, more_jvm_flags=("-Dx=1",)).command()
    assert not set(ONE_NIO) & set(own) and "--selectors" not in own and "-Dx=1" in own and JDK17_MAIN in own
    other = dataclasses.replace(spec(tmp_path), selectors=2).command()
    assert set(ONE_NIO) <= set(other) and "--selectors" in other
