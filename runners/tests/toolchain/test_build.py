"""Hashes of sources change with what can change a figure, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from runners.errors import ToolError
from runners.scripts import with_progress
from runners.tests import waiting
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
: > truepace
until [ -e go ]; do sleep 0.02; done
echo ended >> calls
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
    outputs = [tmp_path / f"lab{number}.txt" for number in range(3)]
    labs = []
    for output in outputs:
        with output.open("w") as stdout:
            labs.append(
                subprocess.Popen(
                    [sys.executable, "-uc", BUILDS, str(crate), *(["--force"] if forced else [])],
                    env={**kept, "PATH": f"{tools}:/usr/bin:/bin"},
                    stdout=stdout,
                )
            )
    assert waiting.until(lambda: sum("waiting for another lab" in output.read_text() for output in outputs) == 2)
    (crate / "target" / "go").touch()
    assert [lab.wait(timeout=300) for lab in labs] == [0, 0, 0], [output.read_text() for output in outputs]
    assert (crate / "target" / "calls").read_text() == "begun\nended\n" * calls


MAVEN = """\
Downloaded from central: http://x/a.jar (1 kB)
Downloaded from central: http://x/b.jar (1 kB)
[INFO] Building lab: storage 1.0 [2/13]
[INFO] Building lab: one file a key 1.0                                     [10/13]
"""
CARGO_PRINTS = "  Downloaded a v1\n  Downloaded b v2\n"


def test_how_far_a_build_is_is_read_from_what_it_prints(tmp_path: Path) -> None:
    lock = tmp_path / "Cargo.lock"
    lock.write_text("[[package]]\n" * 40, encoding="utf-8")
    assert "10 of 13 (lab: one file a key), fetched 2 files" in build.maven_stage(MAVEN)
    assert "fetched 2 files" in build.maven_stage(MAVEN.partition("[INFO]")[0])
    assert "2 of at most 40" in build.cargo_stage(lock, CARGO_PRINTS)
    assert "3 of at most 40" in build.cargo_stage(lock, CARGO_PRINTS + "   Compiling a v1\n" * 3)


#: Prints a line, and goes on until the file that it is given is there.
GOES_ON = "echo '   Compiling a v1'; while [ ! -e \"$0\" ]; do sleep 0.01; done; exit ${1:-0}"


@pytest.mark.parametrize("code", [0, 1])
def test_a_build_says_how_far_it_is_and_when_it_fails_what_is_no_progress(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "SAID_EVERY_S", 0.05)
    done, said, log = tmp_path / "done", list[str](), tmp_path / "thing.log"

    def say(line: str) -> None:
        said.append(line)
        done.touch()

    def run() -> None:
        command = ["bash", "-c", f"echo 'error: it is wrong'; {GOES_ON}", str(done), str(code)]
        stage = partial(build.cargo_stage, done)
        build.run_build("thing", command, tmp_path, dict(os.environ), "correct it", log, say, stage)

    if code:
        with pytest.raises(ToolError, match=r"thing.log\):\nerror: it is wrong\n;"):
            run()
    else:
        run()
    assert said and all("thing: " in line and "crate 1 of" in line for line in said)


def test_what_the_makefile_runs_says_how_long_it_takes_and_hands_the_exit_code_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(with_progress, "EVERY_S", 0.05)
    grows = f"mkdir -p {tmp_path}/a {tmp_path}/b; sleep 0.5; exit 7"
    words = ["--growing", str(tmp_path), "--of", "5", "fetching", "bash", "-c", grows]
    monkeypatch.setattr(sys, "argv", ["with_progress.py", *words])
    assert with_progress.main() == 7
    assert "fetching: " in (said := capfd.readouterr().out) and "2 of at most 5" in said
