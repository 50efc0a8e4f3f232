"""CPU groups of equal weight: made where the kernel allows it, named where not, and gone afterwards."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runners.design.session import EQUAL
from runners.process import cpu_placement
from runners.process.cpu_placement import equal_groups


def test_where_the_kernel_has_no_groups_the_reason_is_given(tmp_path: Path) -> None:
    with equal_groups({"a": [os.getpid()]}, tmp_path) as note:
        assert note == "the kernel has no CPU groups here (no cgroup controller 'cpu')"


@pytest.mark.parametrize(("first", "weight"), [(False, "cpu.weight"), (True, "cpu.shares")])
def test_each_server_gets_a_group_of_the_usual_weight(tmp_path: Path, first: bool, weight: str) -> None:
    folder = tmp_path / "cpu" if first else tmp_path
    folder.mkdir(exist_ok=True)
    (folder / ("cpu.shares" if first else "cgroup.subtree_control")).write_text("1024" if first else "cpuset cpu io")
    server = subprocess.Popen(["sleep", "60"])  # this process may have children, which would go with it
    with server, equal_groups({"a": [server.pid], "b": []}, tmp_path) as note:
        server.kill()
        assert note == EQUAL
        groups = sorted(path for path in folder.iterdir() if path.is_dir())
        assert [path.name.rpartition("-")[2] for path in groups] == ["a", "b"]
        assert len({(path / weight).read_text() for path in groups}) == 1
        assert (groups[0] / "cgroup.procs").read_text() == str(server.pid)
        for path in groups:  # a kernel's folder loses its files with the group
            for file in path.iterdir():
                file.unlink()
    assert not [path for path in folder.iterdir() if path.is_dir()]


@pytest.mark.parametrize(("first", "lines"), [(False, "0::/lab.slice"), (True, "4:cpu,cpuacct:/lab.slice\n0::/other")])
def test_afterwards_a_servers_processes_are_in_the_group_that_they_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool, lines: str
) -> None:
    folder = tmp_path / "cpu" if first else tmp_path
    own = folder / "lab.slice"
    own.mkdir(parents=True)
    for group in (folder, own):
        (group / "cgroup.procs").write_text("")
    (folder / ("cpu.shares" if first else "cgroup.subtree_control")).write_text("1024" if first else "cpu")
    read = cpu_placement.proc_text
    monkeypatch.setattr(
        cpu_placement, "proc_text", lambda path: lines if str(path).startswith("/proc/") else read(path)
    )
    with subprocess.Popen(["sleep", "60"]) as server, equal_groups({"a": [server.pid]}, tmp_path) as note:
        server.kill()
        assert note == EQUAL
    assert (own / "cgroup.procs").read_text() == str(server.pid)
    assert (folder / "cgroup.procs").read_text() == "", "the group that holds all of them"


def test_where_no_group_may_be_made_the_reason_and_the_remedy_are_given(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("cpu")
    (tmp_path / f"lab-{os.getpid()}-a").mkdir()
    with equal_groups({"a": []}, tmp_path) as note:
        assert note.startswith("no CPU groups may be made here (File exists") and "run as root" in note
