"""Work is planted into each example where its handler begins, and the copy is still a server of that language."""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

import pytest

from runners.bench import any_server
from runners.bench.any_server import PLANTS, planted
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


def test_languages_alternate_each_comparison_is_said_and_a_bound_in_time_leaves_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compared(_on: object, pair: tuple[Path, Path]) -> tuple[int, dict[str, float], float]:
        change = 0.1 if pair[0] != pair[1] else 0.0
        row = {"ratio": 1 + change, "low": 0.99 + change, "high": 1.01 + change, "baseline_value": 250.0}
        return (3 if change else 0), row, 78.0

    monkeypatch.setattr(any_server, "compared", compared)
    rows = list(any_server.measured(Bench(tmp_path), math.inf))  # type: ignore[arg-type]
    false, slowed, longest = rows
    assert (false.ours, false.peer, slowed.ours, slowed.peer) == ((0.0,), (20.0,), (10.0,), (10.0,))
    assert longest.ours == (78.0,) and all(row.met for row in rows)
    assert "25000" in (tmp_path / "python-slower" / "server.py").read_text()
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 30 and {line.split()[0] for line in said[:5]} == set(PLANTS), said
    assert {line.split()[0] for line in said if "more of" in line} == set(PLANTS)
    nothing = list(any_server.measured(Bench(tmp_path), -math.inf))  # type: ignore[arg-type]
    assert len(nothing) == 2 and all(not row.met and "more --minutes" in row.line() for row in nothing)
