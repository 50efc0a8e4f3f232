"""A fleet that the tests share, and their settings."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import resource_tracker
from pathlib import Path

import pytest

from runners.fleet import workers
from runners.fleet.workers import Fleet
from runners.tests.fleet.asked import NOTES


@pytest.fixture(scope="package", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """End the process that multiprocessing keeps beside processes that dask has started: it outlives them all."""
    yield
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the workers, who inherit the variable, keep their notes."""
    folder = tmp_path_factory.mktemp("notes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NOTES, str(folder))
        yield folder


@pytest.fixture(scope="package")
def fleet(kept: Path) -> Iterator[Fleet]:
    """Three hosts, each a process: they take seconds to start."""
    with workers.local(3) as found:
        yield found
