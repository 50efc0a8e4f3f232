"""Work is planted into each example where its handler begins, and the copy is still a server of that language."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

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
