"""The command line: every help has examples that can be read, facts come as JSON, a user's mistake has no traceback."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from runners.cli import PANELS, Command, lab, main
from runners.cli.options import TARGET
from runners.design.target import read_target
from runners.errors import Exit, PlanError
from runners.experiments import references
from runners.storage import run_folder
from runners.storage.run_folder import REFERENCE
from runners.tests.tiers import in_short
from runners.toolchain import build, tools
from runners.toolchain.build import Workshop
from runners.toolchain.tools import ROOT

#: Commands whose examples need nothing but what the folder below holds, and seconds; of some the first alone.
RUN_HERE = ("experiments", "questions", "report", "audit", "runs", "history", "init", "export", "schema")
FIRST_ALONE = ("keep", "compare", "build", "doctor", "prune", "dataset", "campaign")
#: Commands that send a load: e2e/test_examples_of_help.py runs an example of each.
LOADING = ("run", "load", "profile", "knee")
WITH_JSON = set(lab.commands) - set(LOADING)
#: Commands that make a report anew, or ask all tools what they are, which takes seconds.
SLOW = ("keep", "report", "doctor")
RUN = "data/runs/01-20260101T000000Z-smoke-0a1b"


def examples(command: click.Command) -> list[list[str]]:
    """The examples of a command's help as words, without what a shell would do with them."""
    assert isinstance(command, Command) and command.examples, f"{command.name} has no examples"
    words = [shlex.split(line) for line in command.examples]
    return [line[: line.index(">")] if ">" in line else line for line in words]


ALL = [(name, words) for name, command in lab.commands.items() for words in examples(command)]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples name."""
    root = tmp_path_factory.mktemp("named")
    for name in ("target.yaml", "a.yaml", "b.yaml"):
        command = ["init", "--output", str(root / name), "--command", "", "--url", "http://127.0.0.1:1", "--path", "/"]
        assert CliRunner().invoke(lab, command).exit_code == 0
    campaign = "runs:\n  one: {measure: '01', settings: {size: smoke}}\n"
    (root / "campaign.yaml").write_text(campaign, encoding="utf-8")
    published = next(ROOT.glob("data/published/report-1/*.txt"))
    (root / "docs").mkdir()
    for name in ("before.txt", "after.txt", "report.md", "docs/load.txt"):
        shutil.copy(published, root / name)
    shutil.copytree(REFERENCE / "09", root / RUN)  # its report is made soonest
    for run in (RUN.replace("smoke", "quick"), "data/runs/01-20260102T000000Z-quick-0a1b"):
        shutil.copytree(REFERENCE / "07", root / run)
    return root


@pytest.fixture
def folder(named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder, which is the current one; the runs there are all that there are."""
    shutil.copytree(named, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_folder, "RUNS", tmp_path / "data" / "runs")
    monkeypatch.setattr(run_folder, "REFERENCE", tmp_path / "reference")
    return tmp_path


def test_every_command_has_one_panel_and_a_whole_description_in_one_line() -> None:
    printed = CliRunner().invoke(lab, ["--help"]).output
    for panel, names in PANELS.items():
        rows = printed.partition(f"{panel}:\n")[2].partition("\n\n")[0].splitlines()
        assert [row.split()[0] for row in rows] == list(names)
        assert all(row[-1] in ".?" and not row.endswith("...") for row in rows), rows
    assert sorted(name for names in PANELS.values() for name in names) == sorted(lab.commands)


@pytest.mark.parametrize("name", lab.commands)
def test_a_help_begins_with_an_example(name: str) -> None:
    assert CliRunner().invoke(lab, [name, "--help"]).output.startswith(f"  lab {name}")


@pytest.mark.parametrize(("name", "words"), ALL, ids=[shlex.join(words) for _, words in ALL])
def test_an_example_of_a_help_can_be_read(
    name: str, words: list[str], named: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(named)
    monkeypatch.setattr(run_folder, "RUNS", named / "data" / "runs")
    assert words[:2] == ["lab", name]
    with CliRunner().isolation(input="\n\n\n"):  # the answers to what `lab init` asks
        lab.commands[name].make_context(name, words[2:])


def test_a_url_is_a_target_whose_description_can_be_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "RUNS", tmp_path)
    path = TARGET.convert("https://localhost:8443/Items?id=1", None, None)
    assert path.is_relative_to(tmp_path)
    target = read_target(path).target
    assert (target.name, target.url, target.command) == ("localhost-8443-items", "https://localhost:8443", None)
    assert [workload.path for workload in target.workloads.values()] == ["/Items?id=1"]
    path.write_text(path.read_text(encoding="utf-8").replace("localhost-8443-items", "edited"), encoding="utf-8")
    assert read_target(TARGET.convert("https://localhost:8443/Items?id=1", None, None)).name == "edited"
    assert TARGET.convert("https://localhost:8443/Items?id=2", None, None) != path


@pytest.mark.parametrize("url", ["http://user:word@localhost/", "http://", "http://localhost:99999/", "http://[::1/"])
def test_a_url_without_a_host_or_with_a_password_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "RUNS", tmp_path)
    with pytest.raises(PlanError, match="--target") as refused:
        TARGET.convert(url, None, None)
    assert "word" not in str(refused.value)
    assert not list(tmp_path.iterdir())


RUN_NOW = [
    words
    for name, words in ALL
    if (name in RUN_HERE and words[1:] != ["init"])
    or (name in FIRST_ALONE and words == examples(lab.commands[name])[0])
]


def test_an_example_of_every_command_runs_in_a_test() -> None:
    assert {words[1] for words in RUN_NOW} | set(LOADING) == set(lab.commands)


@pytest.fixture
def nothing_is_built_or_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `lab build` builds is there, and `lab keep` keeps into the folder of the test."""
    workshop = Workshop(None, "", tools.Tool(folder / "truepace", "1"))
    monkeypatch.setattr(build, "prepare", lambda *_: workshop)
    monkeypatch.setattr(build, "build_wrk2", lambda *_: tools.Tool(folder / "wrk2", "wrk 4.0.0"))
    shutil.copy(ROOT / "README.md", "README.md")
    monkeypatch.setattr(tools, "ROOT", folder)
    kept = partial(references.keep_reference, root=folder / "reference")
    monkeypatch.setattr(references, "keep_reference", kept)


@pytest.mark.parametrize("words", RUN_NOW, ids=shlex.join)
def test_an_example_of_a_help_runs(words: list[str], folder: Path, nothing_is_built_or_kept: None) -> None:
    (folder / "target.yaml").unlink()
    if words[1] == "keep":  # its report is made soonest
        shutil.copytree(REFERENCE / "09", folder / "data" / "runs" / words[2], dirs_exist_ok=True)
    done = CliRunner().invoke(lab, words[1:])
    may_find_fault = words[1] in ("audit", "doctor")
    assert done.exit_code in ((0, Exit.PROBLEM) if may_find_fault else (0,)), done.output


@pytest.mark.parametrize("name", in_short(sorted(WITH_JSON), WITH_JSON - set(SLOW)))
def test_what_is_printed_with_json_is_json_alone(name: str, folder: Path, nothing_is_built_or_kept: None) -> None:
    (folder / "target.yaml").unlink()
    known = [words for words in RUN_NOW if words[1] == name]
    words = known[0] if name == "audit" else known[-1]  # the audit's last one prints the page of a rule
    words = [word for word in words[1:] if word not in ("--json", "--titles")]
    assert json.loads(CliRunner().invoke(lab, [*words, "--json"]).stdout)


def test_every_command_prints_json() -> None:
    for name, command in lab.commands.items():
        assert any("--json" in parameter.opts for parameter in command.params), name


def lab_process(words: list[str], state: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_STATE_HOME": str(state)}  # in a home of its own matplotlib would look for all fonts again
    command = [sys.executable, "-m", "runners.cli", *words]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300)


def test_a_mistake_has_no_traceback_and_the_log_has_it(tmp_path: Path) -> None:
    done = lab_process(["report", str(tmp_path)], tmp_path / "state")
    assert done.returncode == Exit.USAGE
    assert "not a run folder" in done.stderr and "Traceback" not in done.stderr
    log = (tmp_path / "state" / "performance-lab" / "errors.log").read_text(encoding="utf-8")
    assert f"lab report {tmp_path}" in log and "Traceback" in log and "StoreError" in log


def test_a_fault_of_the_lab_names_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "manifest.json").write_text("[]")  # nothing that the lab writes
    monkeypatch.setattr(sys, "argv", ["lab", "report", str(run)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == Exit.FAULT, said
    assert "Traceback" not in said
    assert str(tmp_path / "state" / "performance-lab" / "errors.log") in said


#: What may stand where an example names a file or a folder.
WRONG: dict[str, Callable[[Path], object]] = {
    "absent": lambda _: None,
    "a folder": Path.mkdir,
    "empty": Path.touch,
    "no text": lambda path: path.write_bytes(bytes(range(256))),
    "other text": lambda path: path.write_text("- it is\n- another: list\n", encoding="utf-8"),
}
INPUT = re.compile(r"data/runs.*|docs|.*\.(yaml|txt|md)")
NAMING = [
    words
    for _, words in ALL
    if any(map(INPUT.fullmatch, words[2:])) and not {"--hosts", "--scheduler", "--dry-run"} & {*words}
]


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("words", NAMING, ids=shlex.join)
def test_a_wrong_file_is_a_users_mistake(
    words: list[str], kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (Path(word) for word in words[2:] if INPUT.fullmatch(word)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        WRONG[kind](path)
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
        raise SystemExit(0)
    said = capsys.readouterr().err
    assert ended.value.code in (Exit.DONE, Exit.PROBLEM, Exit.USAGE, Exit.UNDECIDED) and "Traceback" not in said, said
    assert ended.value.code == 0 or said.strip(), "what is wrong is said"


def test_bash_completes_by_the_script_that_it_is_given(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "lab"
    if not program.exists() or shutil.which("bash") is None:
        pytest.skip("there is no bash, or `lab` is not installed with this Python")
    asked = 'COMP_WORDS=(lab comp); COMP_CWORD=1; _lab_completion lab; echo "${COMPREPLY[@]}"'
    shell = f'eval "$(_LAB_COMPLETE=bash_source lab)"; complete -p lab; {asked}'
    env = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", shell], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].split() == ["compare"], done
    assert "_lab_completion lab" in done.stdout, "bash calls it for `lab`"


def test_completion_gives_commands_options_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(words: str) -> str:
        env = {"_LAB_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        done = subprocess.run(
            [sys.executable, "-c", "import sys; sys.argv = ['lab']; from runners.cli import main; main()"],
            cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        return done.stdout

    assert "plain,compare" in completed("lab comp")
    assert "plain,--despite" in completed("lab compare --d")
    assert "plain,github" in completed("lab audit --format g")
    assert "plain,04" in completed("lab run 0")


def imported(code: str) -> set[str]:
    """The packages that a fresh interpreter has loaded after `code`."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_neither_the_package_nor_any_help_nor_what_starts_a_kernel_loads_what_is_slow_to_load() -> None:
    helps = "\n".join(
        ["from runners.cli import lab; import runners.execution.batch"]
        + [f"lab(['{name}', '--help'], standalone_mode=False)" for name in ("doctor", "run", "compare", "audit")]
    )
    slow = {"numpy", "pandas", "matplotlib", "scipy", "duckdb", "httpx", "papermill", "IPython", "pyarrow"}
    assert not slow & imported("import runners")
    assert not slow & imported(helps)


@pytest.mark.timed
@pytest.mark.parametrize(("code", "most_s"), [("import runners", 0.4), ("from runners.cli import main", 0.3)])
def test_it_is_there_at_once(code: str, most_s: float) -> None:
    def once() -> float:
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
        return time.monotonic() - began

    best_s = min(once() for _ in range(5))
    print(f"{code}: {best_s:.3f} s")
    assert best_s < most_s


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
