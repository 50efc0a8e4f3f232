"""wrk2 is built from any copy of its commit, whole or not at all, and a build that can't be says what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from runners.cli import lab
from runners.cli import prepare as _commands  # noqa: F401 - so that `lab build` is there
from runners.errors import Exit, ToolError
from runners.toolchain import build, tools
from runners.toolchain.build import build_wrk2

#: The interface of wrk2's own: `make` makes `wrk`, whose usage has a rate.
MAKEFILE = "wrk: src/wrk.sh\n\t@echo LINK wrk\n\t@cp src/wrk.sh wrk\n\t@chmod +x wrk\n"
PROGRAM = "#!/bin/sh\necho 'wrk 4.0.0 [stand-in]'\necho '  -R, --rate  <T>  work rate (throughput)'\n"
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=master")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository that stands in for wrk2's, at the commit that is built."""
    folder = tmp_path / "wrk2"
    (folder / "src").mkdir(parents=True)
    return commit(folder, monkeypatch)


def commit(folder: Path, monkeypatch: pytest.MonkeyPatch, makefile: str = MAKEFILE, program: str = PROGRAM) -> Path:
    (folder / "Makefile").write_text(makefile)
    (folder / "src" / "wrk.sh").write_text(program)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a")
    monkeypatch.setattr(tools, "WRK2_COMMIT", git(folder, "rev-parse", "HEAD"))
    monkeypatch.setattr(tools, "WRK2", folder.parent / "built" / "wrk2-0")
    monkeypatch.setattr(build, "WRK2_SOURCES", build.source_hash(folder))
    monkeypatch.setattr(build, "WRK2_REPOSITORY", folder.as_uri())
    return folder


def built(project: Path) -> list[str]:
    """What is left where the binary goes, besides the lock and the log."""
    folder = project.parent / "built"
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".lock", ".log"))


def plain_folder(project: Path) -> str:
    copy = shutil.copytree(project, project.parent / "copy")
    shutil.rmtree(copy / ".git")
    return str(copy)


def bare(project: Path) -> str:
    path = project.parent / "bare.git"
    git(project, "clone", "--quiet", "--bare", str(project), str(path))
    return str(path)


@pytest.mark.parametrize(
    "source",
    [lambda _: None, str, plain_folder, bare],
    ids=["the repository", "a clone", "a folder", "a bare clone"],
)
def test_any_copy_of_the_commit_makes_the_binary_that_is_found(
    project: Path, source: Callable[[Path], str | None]
) -> None:
    said: list[str] = []
    tool = build_wrk2(said.append, source(project))
    assert tool.path == tools.WRK2 and "stand-in" in tool.version and tools.find_wrk2() == tool
    assert built(project) == ["wrk2-0"] and any("fetching" in line for line in said)
    assert not (project / "wrk").exists(), "nobody's folder is built in"


def test_what_is_built_is_built_once_unless_it_is_forced_and_a_failure_leaves_it(project: Path) -> None:
    build_wrk2(print, str(project))
    before = tools.WRK2.stat().st_mtime_ns
    shutil.rmtree(project)
    said: list[str] = []
    assert build_wrk2(said.append).path == tools.WRK2 and not said
    with pytest.raises(ToolError):
        build_wrk2(print, force=True)
    assert tools.WRK2.stat().st_mtime_ns == before and built(project) == ["wrk2-0"]


def test_a_repository_out_of_reach_says_what_to_put_where(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "WRK2_REPOSITORY", "http://127.0.0.1:1/wrk2")
    with pytest.raises(ToolError) as refusal:
        build_wrk2(print)
    assert "http://127.0.0.1:1/wrk2" in refusal.value.thing
    assert "--source" in refusal.value.remedy and tools.WRK2_COMMIT in refusal.value.remedy
    assert built(project) == []


@pytest.mark.parametrize("source", ["nowhere", "http://127.0.0.1:1/wrk2"])
def test_a_source_that_is_not_there_is_named(project: Path, source: str) -> None:
    with pytest.raises(ToolError) as refusal:
        build_wrk2(print, source)
    assert source in refusal.value.thing and "--source" in refusal.value.remedy and built(project) == []


def test_sources_of_another_commit_are_refused(project: Path) -> None:
    (project / "src" / "wrk.sh").write_text(PROGRAM + "# and more\n")
    with pytest.raises(ToolError, match=f"not as of commit {tools.WRK2_COMMIT[:12]}"):
        build_wrk2(print, plain_folder(project))
    assert built(project) == []


def test_a_clone_without_the_commit_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "WRK2_COMMIT", "0" * 40)
    with pytest.raises(ToolError) as refusal:
        build_wrk2(print, str(project))
    assert str(project) in refusal.value.thing and "git failed" in refusal.value.cause and built(project) == []


@pytest.mark.parametrize("tool", ["make", "cc"])
def test_without_a_compiler_the_remedy_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    there = project.parent / "bin"
    there.mkdir()
    for name in {"make", "cc", "git"} - {tool}:
        (there / name).symlink_to(shutil.which(name) or "/bin/true")
    monkeypatch.setenv("PATH", str(there))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ToolError) as refusal:
        build_wrk2(print, str(project))
    assert refusal.value.thing == tool and "libssl-dev" in refusal.value.remedy


@pytest.mark.parametrize(
    ("makefile", "program", "cause"),
    [
        (f"{MAKEFILE}\t@echo no openssl/ssl.h; false\n", PROGRAM, r"make failed \(exit 2.*\n(?s:.*)openssl/ssl\.h"),
        (MAKEFILE, "#!/bin/sh\necho '  -c, --connections <N>'\n", "is not wrk2"),
    ],
    ids=["a build that fails half-way", "another program"],
)
def test_what_is_not_whole_is_not_kept_and_its_log_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, makefile: str, program: str, cause: str
) -> None:
    (tmp_path / "wrk2" / "src").mkdir(parents=True)
    project = commit(tmp_path / "wrk2", monkeypatch, makefile, program)
    with pytest.raises(ToolError, match=cause) as refusal:
        build_wrk2(print, str(project))
    log = tools.WRK2.with_suffix(".log")
    assert str(log) in refusal.value.remedy and "LINK wrk" in log.read_text()
    assert built(project) == [] and not tools.WRK2.exists()


def test_a_long_build_says_that_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SAID_EVERY_S", 0.05)
    (tmp_path / "wrk2" / "src").mkdir(parents=True)
    project = commit(tmp_path / "wrk2", monkeypatch, MAKEFILE.replace("\t@echo", "\t@sleep 1; echo", 1))
    said: list[str] = []
    build_wrk2(said.append, str(project))
    assert sum("wrk2: " in line for line in said) >= 1


def test_the_command_builds_and_prints_where_it_is(project: Path) -> None:
    done = CliRunner().invoke(lab, ["build", "wrk2", "--source", str(project), "--json"])
    assert done.exit_code == 0, done.output
    assert str(tools.WRK2) in done.stdout and os.access(tools.WRK2, os.X_OK)
    assert CliRunner().invoke(lab, ["build", "--source", str(project)]).exit_code == Exit.USAGE
