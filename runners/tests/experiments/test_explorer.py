"""Runs are looked at by widgets alone: what is picked is shown, and what can't be shown says why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from runners.experiments import explorer
from runners.experiments.explorer import Explorer
from runners.experiments.registry import EXPERIMENTS
from runners.tests.fixtures.fake_run import make_run
from runners.toolchain.tools import NOTEBOOKS


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    """A folder with two complete runs of two engines."""
    root = tmp_path_factory.mktemp("runs")
    for run in (make_run(root, duration_s=2), make_run(root, duration_s=2)):
        kept = {"answers": [{"question": "Does LSM <i>help</i>?", "verdict": "yes"}]}
        run.conclusions.write_text(json.dumps(kept), encoding="utf-8")
    return (root,)


@pytest.fixture
def picked(roots: tuple[Path, ...]) -> Explorer:
    """Both runs picked."""
    made = Explorer(roots)
    made.runs.value = tuple(folder for _, folder in made.runs.options)
    return made


def pick(made: Explorer, name: str, *, of: slice = slice(None)) -> None:
    made.loads.value = [value for _, value in made.loads.options if value[1] == name][of]


def test_the_runs_of_the_history_are_listed_and_their_loads(picked: Explorer) -> None:
    assert len(picked.runs.options) == 2
    names = [name for _, (_, name) in picked.loads.options]
    assert names.count("put-lsm") == 2 and names.count("put-rocksdb-profiled") == 2
    labels = [label for label, _ in picked.loads.options]
    assert len(set(labels)) == len(labels)


def test_spectra_of_two_runs_lie_over_each_other_under_their_runs_names(picked: Explorer) -> None:
    pick(picked, "put-lsm")
    picked.buttons["spectra"].click()
    assert '<img alt="Latency by percentile.' in picked.area.value
    alt = re.findall('alt="([^"]*)"', picked.area.value)[0]
    assert all(Path(folder).name[-4:] in alt for folder in picked.runs.value)


def test_two_runs_are_compared_in_a_frame_that_reaches_nothing(picked: Explorer) -> None:
    picked.buttons["compare"].click()
    assert 'sandbox="allow-scripts"' in picked.area.value and "PUT" in picked.area.value


def test_a_flame_graph_and_a_difference_are_opened(picked: Explorer) -> None:
    pick(picked, "put-rocksdb-profiled", of=slice(1))
    picked.event.value = "alloc"
    picked.buttons["flame graph"].click()
    assert "<iframe" in picked.area.value
    pick(picked, "put-rocksdb-profiled")
    picked.event.value = "cpu"
    picked.buttons["difference"].click()
    assert picked.area.value.count("<iframe") == 2


@pytest.mark.parametrize(
    ("button", "names", "why"),
    [
        ("spectra", (), "0 loads are picked; pick 1 to 8"),
        ("flame graph", ("put-lsm",), "2 loads are picked; pick 1"),
        ("difference", ("put-lsm",), "no cpu profile"),
    ],
)
def test_what_can_not_be_shown_says_why(picked: Explorer, button: str, names: tuple[str, ...], why: str) -> None:
    for name in names:
        pick(picked, name)
    picked.buttons[button].click()
    assert 'role="alert"' in picked.area.value and why in picked.area.value, picked.area.value


def test_one_run_is_not_compared(roots: tuple[Path, ...]) -> None:
    made = Explorer(roots)
    made.runs.value = (made.runs.options[0][1],)
    made.buttons["compare"].click()
    assert "1 runs are picked; pick two" in made.area.value


def test_the_index_lists_every_experiment_with_its_last_answer(roots: tuple[Path, ...]) -> None:
    table = str(explorer.experiments(roots).data)
    assert all(f'<a href="{each.notebook}">{number}</a>' in table for number, each in EXPERIMENTS.items())
    assert "Does LSM &lt;i&gt;help&lt;/i&gt;? yes." in table and "not run yet" in table


def test_a_newer_smoke_run_does_not_replace_the_answers_of_a_longer_one(tmp_path: Path) -> None:
    for size, verdict, started_unix_s in (("quick", "yes", 1.8e9), ("smoke", "no", 1.9e9)):
        run = make_run(tmp_path, engines=("rocksdb",), duration_s=2)
        run.update_manifest(size=size, started_unix_s=started_unix_s)
        run.conclusions.write_text(json.dumps({"answers": [{"question": "Which?", "verdict": verdict}]}))
    table = str(explorer.experiments((tmp_path,)).data)
    assert "Which? yes." in table and "Which? no." not in table


@pytest.mark.parametrize("name", ["index.ipynb", "10_explore.ipynb"])
def test_the_notebooks_have_no_logic_and_no_outputs(name: str) -> None:
    notebook = json.loads((NOTEBOOKS / name).read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
            for line in "".join(cell["source"]).splitlines():
                assert re.fullmatch(r"from runners\.experiments import explorer|explorer\.\w+\(\)|", line), line
