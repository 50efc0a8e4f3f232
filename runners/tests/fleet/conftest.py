"""Settings of the tests of a fleet."""

from __future__ import annotations

from collections.abc import Iterator
from multiprocessing import resource_tracker

import pytest


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """End the process that multiprocessing keeps beside processes that dask has started: it outlives them all."""
    yield
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
