"""The benchmark of campaigns asks a data set that is written as that of real runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.bench.overhead import QUERIES, synthetic
from runners.readers.history import open_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("synthetic") / "set"
    assert synthetic(place, count=300, batch=100) == 300 * 6 * 5
    return place


@pytest.mark.parametrize("name", QUERIES)
def test_a_question_has_rows(name: str, folder: Path) -> None:
    assert not open_dataset(folder).query(QUERIES[name]).empty


def test_every_run_is_there_once(folder: Path) -> None:
    (row,) = (
        open_dataset(folder).query("SELECT count(*) AS n, count(DISTINCT run) AS runs FROM measurements").itertuples()
    )
    assert (row.n, row.runs) == (9_000, 300)
