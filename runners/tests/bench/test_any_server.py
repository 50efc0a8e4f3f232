"""Work is planted into each example where its handler begins, and the copy is still a server of that language."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.bench import any_server, power
from runners.bench.any_server import PLANTS, planted
from runners.bench.row import Row
from runners.design.target import read_target

CHECKS = {"python": ["python3", "-m", "py_compile"], "node": ["node", "--check"], "go": ["gofmt", "-e"]}


@pytest.mark.parametrize("language", PLANTS)
@pytest.mark.parametrize("work_ns", [0, 25_000])
def test_planted_work_stands_in_the_handler(language: str, work_ns: int, tmp_path: Path) -> None:
    file = read_target(planted(language, tmp_path / f"{language}-slower", work_ns))
    assert file.name == f"{language}-slower" and file.repeatable
    source = file.path.parent / PLANTS[language][0]
    assert ("25000" in source.read_text()) == bool(work_ns)
    if shutil.which(CHECKS[language][0]) is None:
        pytest.skip(f"{CHECKS[language][0]} is not on this machine")
    done = subprocess.run([*CHECKS[language], source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class Bench:
    """As much of a benchmark's fixture as the rows need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def test_each_comparison_is_said_as_it_ends_and_the_time_that_a_row_needs_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compared(_on: object, pair: tuple[Path, Path]) -> tuple[int, dict[str, float], float]:
        change = 0.1 if pair[0] != pair[1] else 0.0
        row = {"ratio": 1 + change, "low": 0.99 + change, "high": 1.01 + change, "baseline_value": 250.0}
        return (3 if change else 0), row, 78.0

    monkeypatch.setattr(any_server, "compared", compared)
    rows = list(any_server.rows(Bench(tmp_path), "python", 20))  # type: ignore[arg-type]
    false, found, longest = rows
    assert (false.ours, found.ours, longest.ours) == ((0.0,), (10.0,), (78.0,)) and all(row.met for row in rows)
    assert "25 us of 250 planted" in found.note
    assert "25000" in (tmp_path / "python-slower" / "server.py").read_text()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "  any-python: 20 + 10 comparisons, about 40 minutes" and len(said) == 31


def test_every_row_that_is_named_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: dict[str, power.Budget] = {}

    def kept(name: str, budget: power.Budget) -> Iterator[Row]:
        budgets[name] = budget
        return iter(())

    rows = {
        name: (seconds, lambda _on, budget, name=name: kept(name, budget)) for name, (seconds, _) in power.ROWS.items()
    }
    monkeypatch.setattr(power, "ROWS", rows)
    monkeypatch.setattr(power, "fixture", lambda: nullcontext(SimpleNamespace(keep=lambda *_, **__: None, calm=Calm())))
    monkeypatch.setattr("sys.argv", ["power", "--minutes", "0.0001", *power.NAMED_ONLY])
    assert power.main() == 0
    assert {name: budget.seconds for name, budget in budgets.items()} == dict.fromkeys(power.NAMED_ONLY, 600.0)


class Calm:
    def sentence(self) -> str:
        return ""
