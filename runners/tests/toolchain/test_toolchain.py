"""Tools are found by what they are, and a missing one is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.errors import ToolError
from runners.toolchain import tools
from runners.toolchain.tools import Jdk, find_jdk, find_wrk, find_wrk2, is_wrk2, require_jdk

WRK2_USAGE = "Usage: wrk <options> <url>\n    -R, --rate  <T>  work rate (throughput)\n"
WRK_USAGE = "Usage: wrk <options> <url>\n    -c, --connections <N>\n"


def program(folder: Path, name: str, usage: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'EOF'\n{usage}EOF\nexit 1\n")
    path.chmod(0o755)


def jdk(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "javac").touch()
    (folder / "bin" / "java").touch()
    (folder / "release").write_text(f'IMPLEMENTOR="Test"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture
def nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty PATH, no JAVA_HOME, no usual folders."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(tools, "WRK2", tmp_path / "absent")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(tools, "_candidate_homes", lambda: iter(sorted((tmp_path / "jdks").glob("*"))))
    return tmp_path


def test_wrk2_is_known_by_its_usage_whatever_its_name(nothing_found: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{nothing_found}:/usr/bin:/bin")
    program(nothing_found, "wrk", WRK2_USAGE)
    wrk2 = find_wrk2()
    assert wrk2 is not None and wrk2.path == nothing_found / "wrk"
    assert find_wrk() is None
    program(nothing_found, "wrk", WRK_USAGE)
    assert find_wrk2() is None
    assert find_wrk() is not None


def test_usage_texts() -> None:
    assert is_wrk2(WRK2_USAGE) and not is_wrk2(WRK_USAGE)


def test_no_jdk_says_what_to_install(nothing_found: Path) -> None:
    with pytest.raises(ToolError, match=r"there is no JDK.*install a JDK 25"):
        require_jdk()


def test_a_jdk_too_old_is_named_with_its_version(nothing_found: Path) -> None:
    jdk(nothing_found / "jdks" / "old", "17.0.15")
    with pytest.raises(ToolError, match=r"too old \(17\.0\.15 at .*\).*install a JDK 25"):
        require_jdk()


def test_the_newest_jdk_wins_unless_java_home_is_new_enough(
    nothing_found: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = jdk(nothing_found / "jdks" / "a", "25.0.3")
    newer = jdk(nothing_found / "jdks" / "b", "26")
    assert require_jdk().home == newer
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert require_jdk().home == new


def test_old_version_numbers_are_read() -> None:
    assert Jdk(Path("/x"), "1.8.0_402", "Test").major == 8


def test_a_jre_without_compiler_is_no_jdk(nothing_found: Path) -> None:
    home = jdk(nothing_found / "jdks" / "jre", "25")
    (home / "bin" / "javac").unlink()
    with pytest.raises(ToolError, match="there is no JDK"):
        require_jdk()


def test_a_jdk_of_one_release_is_its_newest_update_or_none(nothing_found: Path) -> None:
    assert find_jdk(17) is None
    for name, version in (("a", "17.0.9"), ("b", "17.0.15"), ("c", "17"), ("d", "25.0.3")):
        jdk(nothing_found / "jdks" / name, version)
    newest = find_jdk(17)
    assert newest is not None and newest.version == "17.0.15"
    assert find_jdk(21) is None
