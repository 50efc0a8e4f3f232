"""`lab`: the command line. Thin: it reads words and calls the rooms."""

from __future__ import annotations

import os
import shlex
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import click

from runners.cli import measure, prepare, results  # each declares its commands
from runners.cli.base import EXIT_PROBLEM, echo, lab
from runners.errors import LabError

__all__ = ["EXIT_FAULT", "EXIT_PROBLEM", "EXIT_USAGE", "lab", "main", "measure", "prepare", "results"]

EXIT_USAGE = 2
EXIT_FAULT = 70
EXIT_INTERRUPTED = 130
LOG_BYTES = 1_000_000


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
