"""A target at an earlier revision: its code is that of the revision, its description the present one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runners.design.experiment import workload_of
from runners.design.target import AS_TARGET, read_target
from runners.errors import LabError, PlanError
from runners.targets.external import at_revision, build

TARGET = """\
name: mine
build: [python3, -c, "open('built', 'w').write(open('version').read())"]
command: [python3, server.py, "{port}"]
url: http://127.0.0.1:{port}
workloads:
  get: {path: /}
  own: {script: requests.lua}
"""


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repository"
    app = top / "app"
    app.mkdir(parents=True)
    git(top, "init", "-q")
    (app / "version").write_text("1")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "one")
    (app / "version").write_text("2")
    (app / "target.yaml").write_text(TARGET)  # not committed: the description is the present one
    git(top, "commit", "-qam", "two")
    return top


def test_the_code_is_the_revisions_and_the_description_the_present_one(repository: Path, tmp_path: Path) -> None:
    file = read_target(repository / "app" / "target.yaml")
    with at_revision(file, "HEAD~1", tmp_path / "revisions") as earlier:
        assert earlier.name.startswith("mine-") and earlier.name != file.name
        assert (earlier.directory / "version").read_text() == "1"
        both = [f"{AS_TARGET}{target.path}" for target in (earlier, file)]
        assert workload_of("own", both).script == repository / "app" / "requests.lua"
        build(earlier, tmp_path / "build.log")
        assert (earlier.directory / "built").read_text() == "1"
        tree = earlier.path.parents[1]
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert git(repository, "status", "--porcelain") == "?? app/target.yaml"


def test_what_a_killed_session_left_is_replaced(repository: Path, tmp_path: Path) -> None:
    file = read_target(repository / "app" / "target.yaml")
    left = at_revision(file, "HEAD~1", tmp_path / "revisions")
    tree = left.__enter__().path.parents[1]
    with at_revision(file, "HEAD~1", tmp_path / "revisions") as earlier:
        assert earlier.path.parents[1] == tree
    left.__exit__(None, None, None)


@pytest.mark.parametrize("revision", ["no-such", "--output=x", "HEAD~7", ""])
def test_what_is_no_revision_is_refused_by_name(repository: Path, tmp_path: Path, revision: str) -> None:
    file = read_target(repository / "app" / "target.yaml")
    with pytest.raises(PlanError, match="--baseline"), at_revision(file, revision, tmp_path / "revisions"):
        pass
    assert not (tmp_path / "revisions").exists()


def test_a_server_outside_of_the_repository_is_refused(repository: Path, tmp_path: Path) -> None:
    path = repository / "app" / "target.yaml"
    path.write_text(TARGET.replace("name: mine\n", f"name: mine\ndirectory: {tmp_path}\n"))
    with pytest.raises(PlanError, match="key directory"), at_revision(read_target(path), "HEAD", tmp_path / "r"):
        pass


def test_a_target_in_no_repository_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target.yaml").write_text(TARGET)
    file = read_target(tmp_path / "target.yaml")
    with pytest.raises(LabError, match="repository"), at_revision(file, "HEAD", tmp_path / "revisions"):
        pass


def test_a_build_that_fails_says_why(repository: Path, tmp_path: Path) -> None:
    path = repository / "app" / "target.yaml"
    path.write_text(TARGET.replace("open('built', 'w')", "print('no luck'); no.such"))
    with pytest.raises(PlanError, match="no luck"):
        build(read_target(path), tmp_path / "build.log")
