"""Settings of all tests."""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from runners.tests.tiers import LONG, LONG_MARKERS, ONLY_LONG

#: Examples of a property's tests where the test does not say.
EXAMPLES, EXAMPLES_LONG = 20, 100

# a time limit on each example is a timed assertion: it fails on a busy machine and tells nothing of the code
settings.register_profile("short", deadline=None, max_examples=EXAMPLES)
settings.register_profile("long", deadline=None, max_examples=EXAMPLES_LONG)
settings.load_profile("long" if LONG else "short")

#: Python looks for garbage after so many new objects (by default 700). The frames, figures and modules of these tests
#: are many objects of which few are garbage, and looking took a fifteenth of their processor time.
GARBAGE_AFTER = 50_000
gc.set_threshold(GARBAGE_AFTER)

#: By its name: the process of pytest-xdist that only hands out tests need not import it.
REFERENCES = "runners.tests.fixtures.references"

#: A file all of whose tests start servers says so at its top.
ALL_END_TO_END = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.e2e\b", re.MULTILINE)


def pytest_configure() -> None:
    """Take SIGINT also where a background job of a shell ignores it, as would every program under test."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _nothing_outlives_a_power_cut() -> Iterator[None]:
    """Spare the disk: the tests write thousands of small files, for each of which they would wait for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that hold no test of those that `-m` asks for: importing them takes longer than many tests."""
    asked = config.getoption("markexpr")
    if not collection_path.match("test_*.py") or asked not in ("e2e", "not e2e"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    has_none = "mark.e2e" not in text if asked == "e2e" else ALL_END_TO_END.search(text)
    return True if has_none else None  # None leaves it to what else is asked for


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to `make test-long` what is marked so; put the files with reference results next to each other.

    Each process of pytest-xdist begins with one stretch of the list, so that one of them reads all reference results.
    """
    items.sort(key=_uses_references, reverse=True)
    for item in items:
        for marker in LONG_MARKERS:
            if not LONG and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{ONLY_LONG}: {marker}"))


def _uses_references(item: pytest.Item) -> bool:
    """Whether the file of a test has taken one of the makers of reference results."""
    module = item.getparent(pytest.Module)
    return module is not None and any(
        getattr(member, "__module__", None) == REFERENCES for member in vars(module.obj).values()
    )
