"""The performance lab, for load tests of HTTP servers: it plans, launches, measures, reads, explains and shows runs."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runners.measured import Measured

__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent
#: Whether this package lies in a checkout, where its sources can be built.
CHECKOUT = (PACKAGE.parent / "server-java" / "pom.xml").is_file()
#: The folder in which child processes start, and to which recorded paths are relative: the checkout, or else ".".
ROOT = PACKAGE.parent if CHECKOUT else Path.cwd()


def open_run(run: Path | str) -> "dict[str, Measured]":
    """Return the blocks of a run by their names. A block is a group of measurements, with figures and pandas frames.

    `run` is the folder of a run or of a reference result (`data/reference/01`), or a run's name as `lab runs` prints
    it. Raises StoreError, which names `run`, if there is no such run.
    """
    from runners import measured  # slow to import: pandas and matplotlib

    return measured.open_run(run)
