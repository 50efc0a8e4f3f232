"""Hashes of sources change with what can change a figure, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.toolchain.build import MEASURING_ROOMS, lab_source_hash, source_hash
from runners.toolchain.tools import PACKAGE


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
