"""The performance lab: plan -> launch -> measure -> read -> explain -> show."""

from pathlib import Path

__version__ = "0.1.0"

PACKAGE = Path(__file__).resolve().parent
#: Whether this package lies in a checkout, where its sources can be built.
CHECKOUT = (PACKAGE.parent / "server-java" / "pom.xml").is_file()
#: Where children are started and what recorded paths are relative to: the checkout, else the current folder.
ROOT = PACKAGE.parent if CHECKOUT else Path.cwd()
