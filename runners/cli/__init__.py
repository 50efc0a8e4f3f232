"""`lab`: the command line. Thin: it reads words and calls the rooms.

Here is what the commands share: the group, options that several take, and how results are printed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from runners import __version__
from runners.errors import Exit, Interrupted, LabError, printable

if TYPE_CHECKING:
    from runners.storage.run_folder import RunFolder

LOG_BYTES = 1_000_000
#: The commands as `lab --help` groups them.
PANELS = {
    "Measure": ("load", "knee", "profile", "compare", "run"),
    "Look at runs": ("runs", "report", "history", "export", "questions", "keep"),
    "Audit": ("audit",),
    "Many runs": ("campaign", "dataset", "prune"),
    "Set up": ("init", "doctor", "build", "experiments", "schema", "completion"),
}
_WHOLE = 1_000  # characters: a description in `lab --help` is never cut


class Command(click.Command):
    """A command whose help begins with its examples."""

    def __init__(self, *given: Any, examples: Sequence[str], **more: Any) -> None:
        super().__init__(*given, **more)
        self.examples = tuple(examples)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("".join(f"  {line}\n" for line in self.examples) + "\n")
        super().format_help(ctx, formatter)


class Panels(click.Group):
    """A group that lists its commands by panel, each with a whole sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for panel, names in PANELS.items():
            with formatter.section(panel):
                rows = [(name.ljust(width), self.commands[name].get_short_help_str(_WHOLE)) for name in names]
                formatter.write_dl(rows)


@click.group(cls=Panels)
@click.version_option(__version__, prog_name="lab")
def lab() -> None:
    """Load-test reports that can be run again."""


def command(*examples: str) -> Callable[[Callable[..., object]], click.Command]:
    """Declare a command of `lab` with the examples that its help begins with."""
    return lab.command(cls=Command, examples=examples)


FILE = click.Path(dir_okay=False, path_type=Path)


class _Run(click.Path):
    """A path, or the id of a run as `lab runs` lists it, which stands for the run's folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            from runners.storage.run_folder import run_path

            path = run_path(value)
            if self.exists and not path.exists():
                self.fail(f"{value!r}: no path and no run of this name is there; `lab runs` lists the runs", param, ctx)
            value = str(path)
        return super().convert(value, param, ctx)


FOLDER = _Run(exists=True, file_okay=False, path_type=Path)
FILE_OR_RUN = _Run(exists=True, path_type=Path)


_ADDRESS = re.compile(r"[\w.-]+:\d+(/\S*)?")


class _Target(click.Path):
    """The description of a server, or the URL of one that runs already, of which a description is written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not (isinstance(value, str) and value.startswith(("http://", "https://"))):
            if isinstance(value, str) and not Path(value).exists():
                url = f"http://{value}" if _ADDRESS.fullmatch(value) else "http://…"
                cause = f"{value!r}: the file is not there"
                self.fail(f"{cause}; `lab init` writes one, or give {url} of a server that runs already", param, ctx)
            return super().convert(value, param, ctx)
        from runners.design.target import describe_url
        from runners.storage.run_folder import RUNS

        name, text = describe_url(value)
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
RESUME = click.option("--resume", metavar="RUN", type=FOLDER, help="Resume this run, by its folder or id.")
SIZE = click.option("--size", help="smoke | quick | published | full")
INCONCLUSIVE = click.option(
    "--inconclusive", type=click.Choice(("fail", "pass")), default="fail", show_default=True,
    help="Whether a limit that can't be decided exits with 4, or with 0.",
)  # fmt: skip


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
    """Measure; `quiet`: what is printed meanwhile goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext():
        return take()


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


def _fail(text: str, error: BaseException, code: Exit) -> NoReturn:
    echo(f"lab: {text}", err=True)
    if (log := _log(error)) is not None and code == Exit.FAULT:
        echo(f"lab: its traceback is in {log}", err=True)
    elif log is None and code == Exit.FAULT:
        traceback.print_exception(error)
    sys.exit(code)


def _resuming(folder: Path) -> str:
    """Return the command line that resumes an interrupted run: the same one, with the run's folder."""
    words = sys.argv[1:]
    if not any(word.split("=")[0] == "--resume" for word in words):
        words = [*words, "--resume", str(folder)]
    return shlex.join(["lab", *words])


def main() -> None:
    """Run `lab`: an error is one message and a non-zero exit; its traceback goes to the log."""
    try:
        lab(standalone_mode=False)
    except LabError as error:
        _fail(str(error), error, error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except (KeyboardInterrupt, click.Abort) as error:
        interrupt = error.__cause__ if isinstance(error, click.Abort) else error  # click makes an Abort of either
        if isinstance(interrupt, Interrupted):
            kept = f"; what was measured is kept, and resumed by:\n{_resuming(interrupt.folder)}"
        else:
            kept = ""
        echo(f"lab: interrupted{kept}", err=True)
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:  # who reads has seen enough; the interpreter would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.PROBLEM)
    except OSError as error:
        if error.filename is None:
            _fail(f"a fault of the lab: {error!r}", error, Exit.FAULT)
        _fail(f"{error.filename}: {error.strerror}; see whether it is there and may be used", error, Exit.PROBLEM)
    except Exception as error:
        _fail(f"a fault of the lab: {error!r}", error, Exit.FAULT)


from runners.cli import compare, measure, prepare, results  # noqa: E402, F401 - each declares its commands
