"""The published figures: raw console output of the reports, kept as text under data/published/ parsed when asked."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from runners.read.console_report import ConsoleReport
from runners.read.errors import ReadError
from runners.read.wrk_console import find_reports

ROOT = Path(__file__).resolve().parents[2] / "data" / "published"


def names(root: Path = ROOT) -> list[str]:
    """What can be asked for, e.g. `report-1/put`."""
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/*.txt"))


@cache
def published(name: str, root: Path = ROOT) -> ConsoleReport:
    """The output published under `name`. Raises ReadError, with the names there are, for another."""
    path = root / f"{name}.txt"
    if name not in names(root):
        raise ReadError(path, "is not among the published outputs", f"use one of: {', '.join(names(root)) or 'none'}")
    reports = find_reports(path.read_text(encoding="utf-8"))
    if len(reports) != 1:
        raise ReadError(path, f"holds {len(reports)} outputs instead of one", "split the file")
    return reports[0]


def published_of(report: str, root: Path = ROOT) -> dict[str, ConsoleReport]:
    """All outputs of one report by their full name, e.g. `published_of("report-1")`."""
    return {name: published(name, root) for name in names(root) if name.startswith(f"{report}/")}
