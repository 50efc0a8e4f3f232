"""What a description names and is not there is refused before anything is built, started or loaded."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.design.target import read_target
from runners.errors import Exit, LabError, PlanError, ServerError
from runners.process.supervisor import free_port
from runners.targets.preflight import check

FREE = free_port()
WHOLE = f"""\
name: a
command: [{sys.executable}, server.py, "{FREE}"]
url: http://127.0.0.1:{FREE}
workloads:
  get: {{path: /x}}
"""


def checked(folder: Path, text: str) -> None:
    path = folder / "a.yaml"
    path.write_text(text, encoding="utf-8")
    check(read_target(path))


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_description_that_can_be_started_is_fine(tmp_path: Path) -> None:
    checked(tmp_path, WHOLE)
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    checked(tmp_path, WHOLE.replace(sys.executable, "./run.sh"))


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        (sys.executable, "no-such-program", "key command"),
        (sys.executable, "./not-built", "key command"),
        ("workloads:", "directory: elsewhere\nworkloads:", "key directory"),
        ("workloads:", "cpus: [4000]\nworkloads:", "key cpus"),
        ("workloads:", "headers: {A: {from: LAB_TEST_NOT_SET}}\nworkloads:", "LAB_TEST_NOT_SET"),
        ("workloads:", "environment: {A: {from: LAB_TEST_NOT_SET}}\nworkloads:", "LAB_TEST_NOT_SET"),
        ("path: /x", "script: absent.lua", "key workloads.get.script"),
        ("path: /x", "method: PUT, path: /x, body_file: absent", "key workloads.get.body_file"),
    ],
)
def test_what_is_named_and_not_there_is_wrong_usage(old: str, new: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as refused:
        checked(tmp_path, WHOLE.replace(old, new))
    assert key in str(refused.value) and refused.value.exit_code == Exit.USAGE


def test_a_program_that_is_built_first_need_not_be_there(tmp_path: Path) -> None:
    checked(tmp_path, WHOLE.replace(sys.executable, "./built") + "build: [make]\n")


def test_a_server_that_should_run_must_listen_and_one_that_is_started_must_find_its_port_free(
    tmp_path: Path, taken: int
) -> None:
    running = f"name: a\nurl: http://127.0.0.1:{taken}\nworkloads: {{get: {{path: /x}}}}\n"
    checked(tmp_path, running)
    with pytest.raises(ServerError) as refused:
        checked(tmp_path, running.replace(str(taken), str(FREE)))
    assert refused.value.exit_code == Exit.PROBLEM
    checked(tmp_path, running.replace(str(taken), str(FREE)) + "ready: {url: /health}\n")
    with pytest.raises(LabError, match="before it was started"):
        checked(tmp_path, WHOLE.replace(str(FREE), str(taken)))
