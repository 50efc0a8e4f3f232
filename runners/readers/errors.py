"""What goes wrong while reading, as data: the file, the cause and the remedy."""

from __future__ import annotations

from pathlib import Path


class ReadError(Exception):
    """A raw file that can't be read. Its text is a whole sentence."""

    def __init__(self, path: Path | str, cause: str, remedy: str) -> None:
        self.path = Path(path)
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{self.path.name}: {cause}; {remedy}")


def why(error: Exception) -> str:
    """The cause in words, without the file's full path, which would tell a reader of a report nothing."""
    if isinstance(error, FileNotFoundError):
        return "it is not there"
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
