"""What the commands of `lab` share: the group, options that several take, and how results are printed."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runners import __version__
from runners.errors import printable

if TYPE_CHECKING:
    from runners.storage.run_folder import RunFolder

EXIT_PROBLEM = 1


@click.group()
@click.version_option(__version__, prog_name="lab")
def lab() -> None:
    """Load-test reports that can be run again."""


def command(*examples: str) -> Callable[[Callable[..., object]], click.Command]:
    """Declare a command of `lab` with the examples at the end of its help."""
    return lab.command(epilog="\n".join(("\b", "Examples:", *(f"  {line}" for line in examples))))


FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
TARGET = click.Path(exists=True, dir_okay=False, path_type=Path)

JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON; all else goes to standard error.")
PARAMETERS = click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again."
)
RESUME = click.option("--resume", type=FOLDER, help="Go on with this run.")
SIZE = click.option("--size", help="smoke | quick | full")


def given_parameters(parameters: tuple[str, ...], named: dict[str, object]) -> dict[str, object]:
    """Options and -p's as one set of parameters, each name once."""
    given = {name: value for name, value in named.items() if value is not None}
    for text in parameters:
        name, separator, value = text.partition("=")
        if not separator or name in given:
            raise click.UsageError(f"-p {text}: write NAME=VALUE, each name once")
        given[name] = value
    return given


def as_target(path: Path) -> str:
    return f"target={path.resolve()}"


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write the file that an option names. Raises UsageError where it can't be written."""
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {error.strerror}; name a file that can be written") from error


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print what is no control sequence, whatever a server or a file has put into it."""
    click.echo(printable(text), err=err, nl=nl)


def print_json(value: object) -> None:
    echo(json.dumps(value, indent=1, allow_nan=False))


def print_report(folder: RunFolder, as_json: bool) -> None:
    """Say where a run's report is, or print what the run found as JSON."""
    if as_json:
        from runners.cli import work

        print_json(work.as_json(folder))
    else:
        echo(f"report.html: {folder.report_html}\nreport.md:   {folder.report_md}")


def measured(measure: Callable[[], RunFolder], quiet: bool) -> RunFolder:
    """Measure, then say where the run is; `quiet`: to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext():
        folder = measure()
        echo(f"run again or go on: {folder.path}")
    return folder


def measure_and_print(measure: Callable[[], RunFolder], as_json: bool) -> None:
    """Measure, then say where the run is; with `as_json` standard output is the result as JSON and nothing else."""
    folder = measured(measure, as_json)
    if as_json:
        print_report(folder, as_json)
