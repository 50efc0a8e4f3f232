"""One rendered report for all tests that only look at it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runners.experiments.e01_single_connection import questions
from runners.readers.published import published_of
from runners.readers.reading import read_run
from runners.report import report as writing
from runners.report import style
from runners.report.document import Document, document
from runners.report.report import render
from runners.results.conclusion import conclude
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_run import make_run

Made = Callable[[RunFolder], RunFolder]


def composed(folder: RunFolder) -> Document:
    """The report of a run folder, before anything is drawn as a file."""
    return document(conclude(read_run(folder), published_of("report-1"), questions()))


def rendered(folder: RunFolder, pictures: bool = False, narrow: bool = False) -> RunFolder:
    """Render a run folder.

    Most tests look at none of these: without `pictures` PNG files hold nothing; without `narrow` figures for a narrow
    page are laid out as for a wide one.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not pictures:
            patch.setattr(style, "png", lambda _figure: b"")
        if not narrow:
            patch.setattr(writing, "narrowed", lambda figure: figure)
        render(conclude(read_run(folder), published_of("report-1"), questions()))
    return folder


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A complete run of two engines."""
    return rendered(make_run(tmp_path_factory.mktemp("complete"), duration_s=2), narrow=True)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., RunFolder]:
    """Makes and renders a run of one engine; arguments as for `make_run`."""

    def make(**changes: object) -> RunFolder:
        given = {"engines": ("rocksdb",), "duration_s": 2, **changes}
        return rendered(make_run(tmp_path, **given))  # type: ignore[arg-type]

    return make
