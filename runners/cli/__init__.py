"""`lab`: the command line. Thin: it reads words and calls the rooms.

Here is what the commands share: the group, options that several take, and how results are printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from runners import __version__
from runners.errors import LabError, printable

if TYPE_CHECKING:
    from runners.storage.run_folder import RunFolder

EXIT_PROBLEM, EXIT_USAGE, EXIT_FAULT, EXIT_INTERRUPTED = 1, 2, 70, 130
LOG_BYTES = 1_000_000


@click.group()
@click.version_option(__version__, prog_name="lab")
def lab() -> None:
    """Load-test reports that can be run again."""


def command(*examples: str) -> Callable[[Callable[..., object]], click.Command]:
    """Declare a command of `lab` with the examples at the end of its help."""
    return lab.command(epilog="\n".join(("\b", "Examples:", *(f"  {line}" for line in examples))))


FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


class _Target(click.Path):
    """The description of a server, or the URL of one that runs already, of which a description is written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not (isinstance(value, str) and value.startswith(("http://", "https://"))):
            return super().convert(value, param, ctx)
        from runners.design.target import of_url
        from runners.storage.run_folder import RUNS

        name, text = of_url(value)
        path = RUNS / "targets" / f"{name}.yaml"
        if not path.exists():  # one that was written before may have been edited since
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file("--target", path, text)
            echo(f"written: {path}, where headers and other requests can be added", err=True)
        return path


TARGET = _Target(exists=True, dir_okay=False, path_type=Path)

JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON; all else goes to standard error.")
PARAMETERS = click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again."
)
RESUME = click.option("--resume", type=FOLDER, help="Resume this run.")
SIZE = click.option("--size", help="smoke | quick | published | full")


def given_parameters(parameters: tuple[str, ...], named: dict[str, object]) -> dict[str, object]:
    """Return options and -p's as one set of parameters, each name once."""
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


def measured(take: Callable[[], RunFolder], quiet: bool) -> RunFolder:
    """Measure, then say where the run is; `quiet`: to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext():
        folder = take()
        echo(f"run again or go on: {folder.path}")
    return folder


def measure_and_print(take: Callable[[], RunFolder], as_json: bool) -> RunFolder:
    """Measure, then say where the run is; with `as_json` standard output is the result as JSON and nothing else."""
    folder = measured(take, as_json)
    if as_json:
        print_report(folder, as_json)
    return folder


def _log(error: BaseException) -> Path | None:
    """Append an error's traceback to the log of this user; None where it can't be written."""
    import logging.handlers

    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "performance-lab" / "errors.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger = logging.Logger("lab")
        logger.addHandler(handler)
        logger.error("lab %s", shlex.join(sys.argv[1:]), exc_info=error)
        handler.close()
    except (OSError, RuntimeError):  # no home, or none that can be written
        return None
    return path


def _fail(text: str, error: BaseException, code: int) -> NoReturn:
    echo(f"lab: {text}", err=True)
    if (log := _log(error)) is not None and code == EXIT_FAULT:
        echo(f"lab: its traceback is in {log}", err=True)
    elif log is None and code == EXIT_FAULT:
        traceback.print_exception(error)
    sys.exit(code)


def main() -> None:
    """Run `lab`: an error is one message and a non-zero exit; its traceback goes to the log."""
    try:
        lab(standalone_mode=False)
    except LabError as error:
        _fail(str(error), error, EXIT_PROBLEM)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except (KeyboardInterrupt, click.Abort):
        echo("lab: interrupted; what was measured is kept", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # who reads has seen enough; the interpreter would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_PROBLEM)
    except OSError as error:
        if error.filename is None:
            _fail(f"a fault of the lab: {error!r}", error, EXIT_FAULT)
        _fail(f"{error.filename}: {error.strerror}; see whether it is there and may be used", error, EXIT_PROBLEM)
    except Exception as error:
        _fail(f"a fault of the lab: {error!r}", error, EXIT_FAULT)


from runners.cli import measure, prepare, results  # noqa: E402, F401 - each declares its commands
