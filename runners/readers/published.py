"""The published figures: the raw console outputs of the reports under data/published/, parsed on demand."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from runners.errors import ReadError
from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport
from runners.readers.output import Output
from runners.readers.outputs import find_outputs
from runners.toolchain.tools import SHARED

ROOT = SHARED / "data" / "published"


def published_names(report: str = "*") -> list[str]:
    """Return the names of the published files (e.g. `report-1/put`) of one report, by default of all reports."""
    return sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in ROOT.glob(f"{report}/*.txt"))


@cache
def published_outputs(name: str) -> tuple[Output, ...]:
    """Return the outputs of a published file; `NAME@20000` selects the outputs at an offered rate of 20000/s.

    Raises ReadError, which lists the known names, if no file has the name.
    """
    name, _, rate_rps = name.partition("@")
    path = ROOT / f"{name}.txt"
    if name not in (names := published_names()):
        raise ReadError(path, "is not among the published outputs", f"use one of: {', '.join(names) or 'none'}")
    outputs = find_outputs(path).outputs
    return tuple(output for output in outputs if not rate_rps or output.offered_rps == float(rate_rps))


def columns(report: str, part: str) -> tuple[str, ...]:
    """List a report's outputs in files with `part` in the name: as `file`, or as `file@rate` if a file has several."""
    outputs = ((name, published_outputs(name)) for name in published_names(report) if part in name)
    return tuple(name if len(of) == 1 else f"{name}@{output.offered_rps:.0f}" for name, of in outputs for output in of)


def published(name: str) -> ConsoleReport:
    """Return the only output of a file such as `report-1/put`; if it has no command, one is made of its settings.

    Raises ReadError if the file has no output or several outputs.
    """
    outputs = published_outputs(name)
    if len(outputs) != 1:
        remedy = f"use published_outputs({name!r})"
        raise ReadError(ROOT / f"{name}.txt", f"holds {len(outputs)} outputs instead of one", remedy)
    output, report = outputs[0], outputs[0].report
    if report.command is not None or not output.tool or not output.offered_rps:
        return report
    command = CommandLine("", output.tool, output.threads, output.connections, output.duration_s, output.offered_rps)
    return replace(report, command=command, tool=output.tool, duration_s=output.duration_s)


def with_rates(names: Iterable[str], treatment: str | None = None) -> tuple[tuple[str, float], ...]:
    """Return (name, rps) of outputs in files `names` that have a known offered rate and, if given, this `treatment`."""
    outputs = ((name, output) for name in names for output in published_outputs(name))
    own = ((name, output) for name, output in outputs if treatment in (None, output.entry.treatment))
    return tuple((name, rps) for name, output in own if (rps := output.offered_rps))


def published_of(report: str) -> dict[str, ConsoleReport]:
    """Return {file name: output} for the files of a report (for example `report-1`) that have exactly one output."""
    return {name: published(name) for name in published_names(report) if len(published_outputs(name)) == 1}
