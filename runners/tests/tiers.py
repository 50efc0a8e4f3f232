"""Where a test runs: in every run of the tests, or in `make test-long` alone."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

import pytest

LONG = os.environ.get("LAB_LONG") == "1"
#: A test with one of these markers runs in `make test-long` alone: `timed` asserts times, `long` takes many seconds.
LONG_MARKERS = ("timed", "long")
#: How the reason of such a skip begins; the driver counts them by it.
ONLY_LONG = "make test-long runs it"


def in_short(values: Iterable[str], short: Collection[str]) -> list[object]:
    """The values as parameters of a test; those that are not named run in `make test-long` alone."""
    return [value if value in short else pytest.param(value, marks=pytest.mark.long) for value in values]
