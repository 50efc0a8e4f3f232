"""The files that load tools write for other programs: what a file is known by, and its reader.

A file is one output, or one for each operation (a label of JMeter, a tag of an interval log).
"""

from __future__ import annotations

import csv
import re

from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Document, Problem
from runners.readers.histogram_files import HGRM, LOG, read_hgrm, read_log
from runners.readers.json_files import read_json
from runners.readers.table_files import JTL_XML, read_jtl_xml, read_table

_PEEK = 4_000  # characters, by which a file is known
#: What is known to be a load tool's, and is not read: its first line, its name, and what to give in its place.
_NOT_READ = (
    (re.compile(r"^(?:RUN|ASSERTION|USER)\t"), "Gatling's log", "js/stats.json"),
    (re.compile(r"^var stats = \{"), "Gatling's statistics as a script", "js/stats.json"),
    (re.compile(r"^Timestamp,User Count,Type,Name"), "Locust's history", "…_stats.csv"),
)


def read_tool_file(document: Document) -> tuple[ConsoleReport, ...] | Problem | None:
    """Return the runs of a load tool's file, or why it can't be read; None where it looks like no tool's."""
    start = document.text[: _PEEK + 1].lstrip("\ufeff \t\r\n")
    suffix = document.path.suffix.lower()
    if not start or suffix == ".ipynb":
        return None
    first = start.partition("\n")[0].strip()
    for mark, name, instead in _NOT_READ:
        if mark.match(first):
            return Problem(1, f"{name}: not read; give {instead}")
    if start.startswith("{"):
        return read_json(document.text)
    if LOG.search(start):
        return read_log(document.path)
    if (head := HGRM.match(first)) and (suffix == ".hgrm" or head["unit"]):
        return tuple(read_hgrm(document.text))
    if JTL_XML.search(start):
        return tuple(read_jtl_xml(document.text))
    try:
        return read_table(document.text)
    except csv.Error as error:
        return Problem(1, f"a load tool's CSV that is damaged ({error}): not read")
