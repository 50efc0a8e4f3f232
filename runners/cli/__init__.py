"""The command line `lab`: the group of its commands, the printing of results, and the exit after an error."""

import contextlib
import json
import os
import shlex
import sys
import tomllib
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
_MEASURE = "Measure"
#: The commands' names and examples, by the headings of the help.
PANELS: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
)


class Command(click.Command):
    """A command whose help begins with its examples."""

    def __init__(self, *given: Any, examples: Sequence[str], **more: Any) -> None:
        super().__init__(*given, **more)
        self.examples = tuple(examples)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write("".join(f"  {line}\n" for line in self.examples) + "\n")
        super().format_help(ctx, formatter)


class Panels(click.Group):
    """A click group whose help lists its commands under the headings in PANELS, with a whole sentence for each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for panel, names in PANELS.items():
            with formatter.section(panel):
                # the limit is so high that no description is cut
                rows = [(name.ljust(width), self.commands[name].get_short_help_str(1_000)) for name in names]
                formatter.write_dl(rows)


@click.group(cls=Panels)
@click.version_option(__version__, prog_name="lab")
def lab() -> None:
    """Load-test reports that can be run again."""


def command(function: Callable[..., object]) -> click.Command:
    """Declare a function as the command of `lab` with its name, whose help begins with the examples in PANELS."""
    (examples,) = (panel[function.__name__] for panel in PANELS.values() if function.__name__ in panel)
    return lab.command(cls=Command, examples=examples)(function)


def write_file(option: str, path: Path, content: str | bytes) -> None:
    """Write the file that an option names. Raises UsageError if the file can't be written."""
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise click.UsageError(f"{option} {path}: {error.strerror}; name a file that can be written") from error


def echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print a text, to standard error if `err` is set. Control characters are printed as escape sequences."""
    click.echo(printable(text), err=err, nl=nl)


def print_json(value: object) -> None:
    echo(json.dumps(value, indent=1, allow_nan=False))


def print_result(as_json: bool, document: object, text: str) -> None:
    """Print a result: `document` as JSON if `as_json` is set, else `text`."""
    if as_json:
        print_json(document)
    else:
        echo(text)


def print_report(folder: "RunFolder", as_json: bool) -> None:
    """Print the paths of a run's reports or, if `as_json` is set, the run's results as JSON."""
    if as_json:
        from runners.cli import work

        print_json(work.as_json(folder))
    else:
        echo(f"report.html: {folder.report_html}\nreport.md:   {folder.report_md}")


def progress_apart(apart: bool) -> contextlib.AbstractContextManager[object]:
    """Return a context manager. If `apart`, what its body prints goes to standard error, not to standard output."""
    return contextlib.redirect_stdout(sys.stderr) if apart else contextlib.nullcontext()


def _log(error: BaseException) -> Path | None:
    """Append an error's traceback to this user's error log; return the log's path, None if it can't be written."""
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


def _left_by(interrupt: BaseException | None) -> str:
    """Return the end of the message after an interrupt: how to resume the run, or that nothing was measured yet."""
    words = sys.argv[1:]
    resumable = any(word.partition("=")[0] == "--resume" for word in words)
    if isinstance(interrupt, Interrupted) and not resumable:
        words, resumable = [*words, "--resume", str(interrupt.folder)], True
    if resumable:
        return f"; what was measured is kept, and resumed by:\n{shlex.join(['lab', *words])}"
    if text := str(interrupt or ""):
        return f"; {text}"
    return "; nothing was measured yet" if words and words[0] in PANELS[_MEASURE] else ""


def main() -> None:
    """Run `lab`. An error becomes one message and a non-zero exit code; its traceback goes to the log."""
    try:
        lab(standalone_mode=False)
    except LabError as error:
        _fail(str(error), error, error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except (KeyboardInterrupt, click.Abort) as error:
        interrupt = error.__cause__ if isinstance(error, click.Abort) else error  # click may wrap it in an Abort
        echo(f"lab: interrupted{_left_by(interrupt)}", err=True)
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:  # the reader has closed the pipe, and the interpreter's last flush would print an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.PROBLEM)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            _fail(f"{error.filename}: {error.strerror}; see whether it is there and may be used", error, Exit.PROBLEM)
        _fail(f"a fault of the lab: {error!r}", error, Exit.FAULT)


from runners.cli import compare, measure, prepare, results  # noqa: E402, F401 - each module declares its commands
