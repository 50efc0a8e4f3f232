"""`lab knee` and `lab compare` check everything that is given before they build, launch or open anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import CliRunner

from runners.cli import lab, main, planned, work
from runners.cli.planned import PlannedRun
from runners.errors import Exit, PlanError
from runners.lab import Lab
from runners.storage import run_folder
from runners.storage.run_folder import RunFolder, StoreError
from runners.targets import preflight
from runners.tests.cli.test_commands import imported


@pytest.fixture(autouse=True)
def nothing_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a run was begun")

    monkeypatch.setattr(Lab, "begin", begin)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.3, "probe_s": 10}, "too short for 16 steps"),
        ({"low_rps": 5_000, "high_rps": 4_000}, "there is no rate between them"),
        ({"setting": "engine=postgres"}, "it names no engine that there is"),
        ({"objective": "fast"}, "objective"),
        ({"threads": 8, "connections": 4}, "each thread needs a connection"),
        ({"minuts": 5}, "minuts"),
    ],
)
def test_a_search_that_can_not_be_done_is_refused_before_it_begins(given: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        planned.knee({"setting": "lsm", **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"minutes": 0.5}, "too short for 3 starts"),
        ({"generator": "wrk2"}, "it can't share one schedule"),
        ({"b": "engine=postgres"}, "it names no engine that there is"),
        ({"connections": 1, "threads": 2}, "each thread needs a connection"),
        ({"size": "huge"}, "huge"),
    ],
)
def test_a_comparison_that_can_not_be_done_is_refused_before_it_begins(given: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        planned.comparison(given)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a run folder"):
        planned.comparison({}, tmp_path)


def test_a_run_of_the_other_command_is_named_and_not_its_parameters(tmp_path: Path) -> None:
    knee = RunFolder.create(tmp_path, "knee", "smoke", {"parameters": {"setting": "lsm"}})
    with pytest.raises(PlanError, match="it is a run of knee, not of 09"):
        planned.comparison({}, knee.path)


def test_a_knee_may_keep_p99_9() -> None:
    assert planned.knee({"setting": "lsm", "objective": "p99.9<=20ms"}).block == "knee"


@pytest.mark.parametrize("command", [planned.load, planned.knee])
def test_without_a_server_nothing_is_measured(command: Callable[[dict[str, object]], object]) -> None:
    with pytest.raises(PlanError, match="no server was given") as refused:
        command({})
    assert refused.value.exit_code == Exit.USAGE


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[PlannedRun]:
    """What commands would have measured; every server is up."""
    measured: list[PlannedRun] = []

    def measure(run: PlannedRun) -> RunFolder:
        measured.append(run)
        raise PlanError("the test", "it measures nothing", "see `begun`")

    monkeypatch.setattr(work, "measure", measure)
    monkeypatch.setattr(preflight, "check", lambda _file: None)
    monkeypatch.setattr(run_folder, "RUNS", tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        text = (
            f"name: {name}\ncommand: [x, '{{port}}']\nurl: http://127.0.0.1:{{port}}\nworkloads: {{get: {{path: /}}}}\n"
        )
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    return measured


URL = "http://127.0.0.1:1/"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (["load", URL], ["load", "--target", URL]),
        (["load", "a.yaml", "--rate", "9"], ["load", "--target", "a.yaml", "--rate", "9"]),
        (["profile", URL], ["load", "--target", URL, "-p", "profile=cpu"]),
        (["knee", URL, "--minutes", "2"], ["knee", "--target", URL, "--minutes", "2"]),
        (["knee", "a.yaml"], ["knee", "--target", "a.yaml"]),
        (["compare", "a.yaml", "b.yaml"], ["compare", "--target", "a.yaml", "--target", "b.yaml"]),
        (["compare", "a.yaml", URL], ["compare", "--target", "a.yaml", "--target", URL]),
    ],
)
def test_a_server_is_named_by_argument_or_option(short: list[str], long: list[str], begun: list[PlannedRun]) -> None:
    for words in (short, long):
        CliRunner().invoke(lab, words)
    assert len(begun) == 2 and begun[0] == begun[1]


@pytest.mark.parametrize(
    "words",
    [
        ["load", URL, "--target", URL],
        ["load"],
        ["knee"],
        ["knee", "nothing.yaml"],
        ["knee", URL, "--engine", "lsm"],
        ["knee", "--engine", "postgres"],
        ["load", "127.0.0.1:8080"],
        ["load", URL, "--fail-on", "p99>10%"],
        ["load", URL, "-p", "nothing=1"],
        ["compare", "a.yaml"],
        ["compare", "a.yaml", "nothing"],
        ["compare", "a.yaml", "b.yaml", "--fail-on", "p99<=10ms"],
        ["report", "no-such-run"],
        ["run", "99"],
        ["nothing"],
    ],
    ids=" ".join,
)
def test_wrong_usage_has_one_code_names_a_remedy_and_begins_nothing(
    words: list[str], begun: list[PlannedRun], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["lab", *words])
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd()))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == Exit.USAGE and capsys.readouterr().err.strip()
    assert not begun


SLOW = {"numpy", "pandas", "matplotlib", "scipy", "httpx", "papermill", "pyarrow"}


@pytest.mark.parametrize(
    "words",
    [
        ["knee", "--engine", "postgres"],
        ["load", URL],
        ["load", "nothing.yaml"],
        ["load", URL, "--fail-on", "p99>10%"],
        ["load", URL, "-p", "nothing=1"],
        ["compare", "--engine", "lsm", "--engine", "postgres"],
        ["compare", "runners", "notebooks"],
        ["run", "99"],
        ["runs", "--sql", "not sql"],
        ["export", "runners", "--format", "pprof", "--output", "profile"],
        ["keep", "runners"],
        ["report", "runners"],
        ["campaign", "Makefile"],
    ],
    ids=" ".join,
)
def test_a_refusal_imports_nothing_slow(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within half a second of processor time: numpy alone would take half of it."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    imports = "from click import ClickException\nfrom runners.cli import lab\nfrom runners.errors import LabError"
    code = f"{imports}\ntry: lab({words!r}, standalone_mode=False)\nexcept (ClickException, LabError): pass"
    assert not SLOW & imported(code)
