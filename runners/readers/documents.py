"""Reader of plain text, Markdown, HTML and notebooks as lines of text, in UTF-8 or UTF-16, up to 32 MiB.

No content raises an error: what can't be read becomes a `Problem` that names its line.
"""

import codecs
import html
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from runners.errors import why

LARGEST_BYTES = 32 * 1024 * 1024  # a report is text that people read; a larger file is data
PEEK = 4_000  # characters by which a file is recognised
_BINARY = {
    "simulation.log": "Gatling's binary log: not read; give js/stats.json",
    "results of vegeta": "vegeta's binary results: not read; give what `vegeta encode -to json` writes",
}
_OF_VEGETA = re.compile(rb"(?s).{2,5}\x03\x01\x01\x06Result\x01\xff.\x00\x01.\x01\x06Attack")  # a gob names its type
_BREAK = re.compile(r"\r\n|\r|\n")
_TAG = re.compile(
    r"(?i)</?(?:pre|code|samp|kbd|p|div|span|b|i|u|em|strong|tt|font|ul|ol|li|blockquote|details|summary|table|thead|tbody|tr"
    r"|h[1-6])(?:\s[^<>]*)?/?>"
)
_HTML_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|tr|h[1-6])>|<h[1-6][^<>]*>", re.IGNORECASE)
_HTML_CELL = re.compile(r"</t[dh]>\s*(?:<t[dh][^<>]*>)?|<t[dh][^<>]*>", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a file that could not be read; line 0 is the whole file."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text with its number, from 1, in the file or in the cell `cell` of a notebook."""

    number: int
    text: str
    cell: int | None = None


@dataclass(frozen=True)
class Document:
    """A file as text; if the text is empty or incomplete, `problems` gives the causes."""

    text: str
    path: Path = Path("-")
    problems: tuple[Problem, ...] = ()
    cells: tuple[Line, ...] | None = None  # the lines of a notebook's cells

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the text, or of a notebook's cells, without HTML tags."""
        return tuple(plain_lines(_BREAK.split(self.text))) if self.cells is None else self.cells


def read_document(path: Path) -> Document:
    """Return a file as text. Never raises: the document's problems list what could not be read."""

    def unread(reason: str) -> Document:
        return Document("", path, (Problem(0, reason),))

    try:
        if not path.is_file():  # a pipe or a device could be read for ever
            return unread("is no regular file; skipped")
        size = path.stat().st_size
        if size > LARGEST_BYTES:
            return unread(f"{size} bytes, more than {LARGEST_BYTES}; skipped: split the file")
        raw = path.read_bytes()
    except OSError as error:
        return unread(f"can't be read ({why(error)})")
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), None)
    if encoding is None and b"\0" in raw[: 2 * PEEK]:
        return unread(_BINARY.get("results of vegeta" if _OF_VEGETA.match(raw) else path.name, "binary; skipped"))
    problems: tuple[Problem, ...] = ()
    try:
        text = raw.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        line, name = raw.count(b"\n", 0, error.start) + 1, encoding or "UTF-8"
        text, problems = raw.decode(name, errors="replace"), (Problem(line, f"holds bytes that are not {name}"),)
    if path.suffix.lower() == ".ipynb":
        lines, more = _notebook(text)
        return Document(text, path, (*problems, *more), tuple(lines))
    return Document(text, path, problems)


def plain_lines(lines: Iterable[str], cell: int | None = None) -> Iterator[Line]:
    """Yield lines without HTML tags, with their numbers. If a `<br>` splits a line, its parts have the same number."""
    for number, text in enumerate(lines, start=1):
        if "<" in text:
            text = _HTML_BREAK.sub("\n", _HTML_CELL.sub(" | ", text))
            text = _TAG.sub("", text)
        for part in html.unescape(text).split("\n"):
            yield Line(number, part, cell)


def _notebook(text: str) -> tuple[list[Line], list[Problem]]:
    try:
        content: Any = json.loads(text)
        cells = content["cells"]
        if not isinstance(cells, list):
            raise TypeError("its cells are no list")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        return list(plain_lines(_BREAK.split(text))), [Problem(0, f"is no notebook ({reason}); read as plain text")]
    lines, problems = list[Line](), list[Problem]()
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict):
            problems.append(Problem(0, f"cell {number} can't be read"))
            continue
        cell_lines = [line for part in _texts(cell) for line in _BREAK.split(part)]
        lines += [*plain_lines(cell_lines, number), Line(len(cell_lines) + 1, "", number)]
    return lines, problems


def _texts(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a notebook cell's text, then its outputs' texts; HTML is used only for outputs without plain text."""
    outputs = cell.get("outputs")
    values = [cell.get("source")]
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            shown = output.get("data")
            shown = shown if isinstance(shown, dict) else {}
            values += [output.get("text"), shown.get("text/plain") or shown.get("text/html")]
            values.append(shown.get("text/markdown"))
    for value in values:
        parts = value if isinstance(value, list) else [value]
        if text := "".join(part for part in parts if isinstance(part, str)):
            yield text


#: Suffixes of files that may contain outputs; other files of a folder are skipped and not reported as a problem.
SUFFIXES = frozenset(
    {".md", ".markdown", ".txt", ".log", ".ipynb", ".html", ".htm", ".rst", ".adoc", ".out", ""}
    | {".json", ".ndjson", ".csv", ".tsv", ".jtl", ".xml", ".js", ".hlog", ".hgrm"}
)
NOT_REPORTS = ("node_modules", "target", "__pycache__")


def files_in(path: Path, instead: Callable[[Path], Iterator[Path] | None] = lambda folder: None) -> Iterator[Path]:
    """Yield `path` if it is a file; for a folder, its files, sorted, that are not hidden and may hold tools' outputs.

    If `instead(folder)` returns files and not None, these files are yielded, and the folder is not searched.
    """
    if not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path):
        if (known := instead(Path(folder))) is not None:
            folders.clear()
            yield from known
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_REPORTS)
        for name in sorted(files):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(folder) / name
