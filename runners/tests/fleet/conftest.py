"""A fleet that the tests share, and their settings."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import dask
import pytest
from distributed.utils import get_mp_context

from runners.bench.local_fleet import local
from runners.fleet.workers import Fleet
from runners.tests.fleet import asked
from runners.tests.waiting import until


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the workers, who inherit the variable, keep their notes."""
    folder = tmp_path_factory.mktemp("notes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(asked.NOTES, str(folder))
        yield folder


@pytest.fixture(scope="package", autouse=True)
def processes(kept: Path) -> Iterator[None]:
    """Fork workers from one process that has imported what they need, and end what multiprocessing keeps for that."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload([asked.__name__])
        yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]


@pytest.fixture(scope="package")
def three() -> Iterator[Fleet]:
    """Three hosts, each a process."""
    with local(3) as started_fleet:
        yield started_fleet


@pytest.fixture
def fleet(three: Fleet) -> Fleet:
    """The three hosts, once all are there: on a loaded machine their scheduler is out of reach for a while."""
    assert until(lambda: len(three.hosts()) == 3)
    return three
