"""Hashes of sources change with what can change a figure, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runners.errors import ToolError
from runners.toolchain import build
from runners.toolchain.build import MEASURING_ROOMS, lab_source_hash, source_hash
from runners.toolchain.tools import PACKAGE, SERVER_JAVA, TRUEPACE_VARIABLE


def package(root: Path) -> Path:
    for name in ("series.py", "trial/step.py", "scripts/put.lua", "report/page.py", "tests/test_x.py", "docs/a.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("1", encoding="utf-8")
    return root


@pytest.mark.parametrize("name", ["series.py", "trial/step.py", "scripts/put.lua", "design/new.py"])
def test_what_measures_changes_the_labs_hash(tmp_path: Path, name: str) -> None:
    before = lab_source_hash(package(tmp_path))
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("2", encoding="utf-8")
    assert lab_source_hash(tmp_path) != before


@pytest.mark.parametrize("name", ["report/page.py", "tests/test_x.py", "docs/a.md", "trial/__pycache__/step.pyc"])
def test_what_only_tells_or_tests_does_not(tmp_path: Path, name: str) -> None:
    before = lab_source_hash(package(tmp_path))
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("2", encoding="utf-8")
    assert lab_source_hash(tmp_path) == before


def test_a_file_that_changes_its_name_changes_the_hash(tmp_path: Path) -> None:
    package(tmp_path)
    before = source_hash(tmp_path), lab_source_hash(tmp_path)
    (tmp_path / "trial" / "step.py").rename(tmp_path / "trial" / "steps.py")
    assert source_hash(tmp_path) != before[0] and lab_source_hash(tmp_path) != before[1]


def test_the_rooms_that_measure_are_there() -> None:
    assert all((PACKAGE / room).is_dir() for room in MEASURING_ROOMS)


def test_the_profiler_of_a_users_jvm_is_that_of_the_labs_own_servers() -> None:
    pom = (SERVER_JAVA / "pom.xml").read_text(encoding="utf-8")
    assert f"<async-profiler.version>{build.ASYNC_PROFILER}</async-profiler.version>" in pom


def test_the_profiler_is_fetched_once_where_no_server_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "PROFILER_JARS", tmp_path / "absent")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(ToolError, match="mvn"):
        build.fetch_profiler(print)
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(
        "#!/bin/bash\nfor word; do case $word in -Dartifact=*) part=${word#*:}; part=${part%:*};; "
        '-DoutputDirectory=*) folder=${word#*=};; esac; done\n: > "$folder/$part.jar"\n'
    )
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{maven.parent}:/usr/bin:/bin")
    folder = build.fetch_profiler(print)
    assert sorted(path.name for path in folder.iterdir()) == ["async-profiler.jar", "jfr-converter.jar"]
    maven.unlink()
    assert build.fetch_profiler(print) == folder, "nothing is fetched again"


CARGO = """#!/bin/bash
if [ "$1" = --version ]; then exit; fi
cd target
echo begun >> calls
: > truepace; sleep 1; echo ended >> calls
"""
BUILDS = """
import sys
from pathlib import Path
from runners.toolchain import build, tools
tools.LOADGEN_CRATE = crate = Path(sys.argv[1])
tools.TRUEPACE, build.LOADGEN_STAMP = crate / "target" / "truepace", crate / "target" / "lab.stamp"
build.build_truepace(print, force=len(sys.argv) > 2)
"""


@pytest.mark.parametrize(("forced", "calls"), [(False, 1), (True, 3)])
def test_labs_that_build_at_once_build_one_after_the_other_and_only_what_is_wanted(
    tmp_path: Path, forced: bool, calls: int
) -> None:
    crate, tools = tmp_path / "crate", tmp_path / "bin"
    crate.mkdir()
    tools.mkdir()
    (tools / "cargo").write_text(CARGO)
    (tools / "cargo").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if name != TRUEPACE_VARIABLE}
    labs = [
        subprocess.Popen(
            [sys.executable, "-c", BUILDS, str(crate), *(["--force"] if forced else [])],
            env={**kept, "PATH": f"{tools}:/usr/bin:/bin"}, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    said = [each.communicate(timeout=300)[0] for each in labs]
    assert [each.returncode for each in labs] == [0, 0, 0], said
    assert sum("waiting for another lab" in each for each in said) >= 1
    assert (crate / "target" / "calls").read_text() == "begun\nended\n" * calls
