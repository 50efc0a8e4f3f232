"""The errors that a user sees. An error names the thing that failed, the cause and the remedy."""

import re
from enum import IntEnum
from pathlib import Path
from typing import ClassVar

#: Characters that steer a terminal or a page and are not shown: control characters and changes of text direction.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text that a terminal can print safely: UNPRINTABLE characters are replaced by their escape sequences."""
    return UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], text)


class Exit(IntEnum):
    """The exit codes of all commands; runners/docs/exit-codes.md explains them."""

    DONE = 0
    PROBLEM = 1
    USAGE = 2
    LIMIT = 3
    UNDECIDED = 4
    FAULT = 70
    INTERRUPTED = 130


class Interrupted(KeyboardInterrupt):
    """Raised when the user interrupts a run. `folder` is the run's folder, from which the run can be resumed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(str(folder))
        self.folder = folder


class LabError(Exception):
    """An error that the user can act on. Its text says what failed, why, and what to do: `thing: cause; remedy`."""

    exit_code: ClassVar[Exit] = Exit.PROBLEM

    def __init__(self, thing: str, cause: str, remedy: str) -> None:
        thing, cause, remedy = map(printable, (thing, cause, remedy))
        super().__init__(f"{thing}: {cause}; {remedy}")
        self.thing = thing
        self.cause = cause
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["LabError"], tuple[str, str, str]]:
        return type(self), (self.thing, self.cause, self.remedy)


class PlanError(LabError):
    """An invalid parameter or experiment."""

    exit_code = Exit.USAGE


class ToolError(LabError):
    """A tool that is missing, too old, or failed to build."""


class ServerError(LabError):
    """A server that did not start or died, or another process that responds at its address."""


class MeasureError(LabError):
    """A load that could not be measured, or a profile that could not be taken."""


class ReadError(Exception):
    """A raw file that can't be read. The error's text is `file name: cause; remedy`."""

    def __init__(self, path: Path | str, cause: str, remedy: str) -> None:
        self.path = Path(path)
        self.cause = cause
        self.remedy = remedy
        super().__init__(printable(f"{self.path.name}: {cause}; {remedy}"))


def text_of(path: Path, remedy: str = "run the step again", *, strict: bool = False) -> str:
    """Return a file's text. Raises ReadError, with the advice `remedy`, if the file can't be read.

    Invalid UTF-8 also raises ReadError if `strict`; else its bytes become U+FFFD.
    """
    try:
        return path.read_text(encoding="utf-8", errors="strict" if strict else "replace")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(path, f"can't be read ({why(error)})", remedy) from error


def why(error: Exception) -> str:
    """Return an error's cause in words. A file error's words leave out the path, which means nothing in a report."""
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
