"""The published figures: raw console output of the reports, kept as text under data/published/ parsed when asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from runners.errors import ReadError
from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport
from runners.readers.outputs import Output, find_outputs
from runners.toolchain.tools import SHARED

ROOT = SHARED / "data" / "published"


def names(root: Path = ROOT) -> list[str]:
    """What can be asked for, e.g. `report-1/put`."""
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.glob("*/*.txt"))


@cache
def outputs(name: str, root: Path = ROOT) -> tuple[Output, ...]:
    """The outputs of a file, one a column, each with what the index says on it.

    `report-5/put-ladder@20000` is the one column that was taken at that rate. Raises ReadError, with the names there
    are, for another name.
    """
    name, _, rate_rps = name.partition("@")
    path = root / f"{name}.txt"
    if name not in names(root):
        raise ReadError(path, "is not among the published outputs", f"use one of: {', '.join(names(root)) or 'none'}")
    found = find_outputs(path).outputs
    return tuple(output for output in found if not rate_rps or output.offered_rps == float(rate_rps))


def published(name: str, root: Path = ROOT) -> ConsoleReport:
    """The one output published under `name`. Raises ReadError for another name, or one that holds several."""
    found = outputs(name, root)
    if len(found) != 1:
        raise ReadError(root / f"{name}.txt", f"holds {len(found)} outputs instead of one", f"use outputs({name!r})")
    return _asked(found[0])


def _asked(output: Output) -> ConsoleReport:
    """The output with the command as far as the index tells it, where the output has none of its own."""
    report, entry = output.report, output.entry or {}
    if report.command is not None or not output.tool or not output.offered_rps:
        return report
    threads, connections = report.threads or entry.get("threads"), report.connections or entry.get("connections")
    command = CommandLine("", output.tool, threads, connections, output.duration_s, output.offered_rps)
    return replace(report, command=command, tool=output.tool, duration_s=output.duration_s)


def rate(name: str, root: Path = ROOT) -> float | None:
    """The offered rate of an output as it was published, where the output or the index tells it."""
    (found,) = outputs(name, root)
    return found.offered_rps


def with_rates(names: Iterable[str]) -> tuple[tuple[str, float], ...]:
    """Those of these outputs whose rate is known, each with it."""
    return tuple((name, rps) for name in names if (rps := rate(name)))


def published_of(report: str, root: Path = ROOT) -> dict[str, ConsoleReport]:
    """All outputs of one report by their full name, e.g. `published_of("report-1")`; files of several are left out."""
    own = [name for name in names(root) if name.startswith(f"{report}/")]
    return {name: published(name, root) for name in own if len(outputs(name, root)) == 1}
