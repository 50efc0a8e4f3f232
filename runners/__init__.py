"""The performance lab: plan -> launch -> measure -> read -> explain -> show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.measured import Measured

__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent
#: Whether this package lies in a checkout, where its sources can be built.
CHECKOUT = (PACKAGE.parent / "server-java" / "pom.xml").is_file()
#: Where children are started and what recorded paths are relative to: the checkout, else the current folder.
ROOT = PACKAGE.parent if CHECKOUT else Path.cwd()


def open_run(run: Path | str) -> dict[str, Measured]:
    """Return a Measured for each block of a run, by the block's name: its figures, and its data as pandas frames.

    `run` is a run's folder, a reference's (`data/reference/01`), or a run's name as `lab runs` prints it. Raises
    StoreError, naming it, where there is no such run.
    """
    from runners import measured  # slow to import: pandas and matplotlib

    return measured.open_run(run)
