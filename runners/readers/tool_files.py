"""Readers of the files that load tools write for other programs; the beginning of a file shows its format."""

import csv
import re
from dataclasses import replace
from pathlib import Path

from runners.errors import ReadError
from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies, SpectrumRow
from runners.readers.documents import PEEK, Document, Problem
from runners.readers.figures import MS, known_levels, run_of
from runners.readers.json_files import read_json
from runners.readers.table_files import JTL_XML, read_jtl_xml, read_table
from runners.readers.wrk_console import BUCKETS_OF_TRUEPACE

#: Load tools' files that are not read: a pattern of the first line, a name, and the file to give instead.
_NOT_READ = (
    (re.compile(r"^(?:RUN|ASSERTION|USER)\t"), "Gatling's log", "js/stats.json"),
    (re.compile(r"^var stats = \{"), "Gatling's statistics as a script", "js/stats.json"),
    (re.compile(r"^Timestamp,User Count,Type,Name"), "Locust's history", "…_stats.csv"),
)
_LOG = re.compile(r'^(?:#\[Histogram log format version|#\[StartTime|"StartTimestamp"|#\[BaseTime)', re.MULTILINE)
_HGRM = re.compile(r"^\s*Value(?:\((?P<unit>ns|us|ms|s)\))?\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)")
_ROW = re.compile(r"^\s*(\d{1,15}(?:\.\d+)?)\s+(\d(?:\.\d+)?)\s+(\d{1,18})(?:\s+(?:(\d[\d.]*)|[iI]nf(?:inity)?))?\s*$")


def read_tool_file(document: Document) -> tuple[ConsoleReport, ...] | Problem | None:
    """Return the outputs in a load tool's file, or a Problem if it can't be read; None for any other document."""
    start = document.text[: PEEK + 1].lstrip("\ufeff \t\r\n")
    suffix = document.path.suffix.lower()
    if not start or suffix == ".ipynb":
        return None
    first = start.partition("\n")[0].strip()
    for mark, name, instead in _NOT_READ:
        if mark.match(first):
            return Problem(1, f"{name}: not read; give {instead}")
    if start.startswith("{"):
        return read_json(document.text)
    if _LOG.search(start):
        return read_log(document.path)
    if (head := _HGRM.match(first)) and (suffix == ".hgrm" or head["unit"]):
        return read_hgrm(document.text, head["unit"])
    if JTL_XML.search(start):
        return tuple(read_jtl_xml(document.text))
    try:
        return read_table(document.text)
    except csv.Error as error:
        return Problem(1, f"a load tool's CSV that is damaged ({error}): not read")


def read_hgrm(text: str, unit: str | None) -> tuple[ConsoleReport, ...] | Problem:
    """Return the output in an HdrHistogram list of percentiles, if it has rows; a Problem if its unit is not known.

    truepace's lists are in milliseconds. They are known by their buckets and six decimals of a level (Java prints 12).
    """
    ours = not unit and " 0.000000 " in text and re.search(rf"Buckets\s*=\s*{BUCKETS_OF_TRUEPACE}\D", text) is not None
    if not (unit or ours):
        return Problem(1, "an HdrHistogram list that does not say its unit: not read; say it in its head: Value(ms)")
    in_ms = units.TIME_US[unit or "ms"] / MS
    lines = filter(None, map(_ROW.match, text.splitlines()))
    rows = tuple(SpectrumRow(float(m[1]) * in_ms, float(m[2]), int(m[3]), units.number(m[4] or "inf")) for m in lines)
    counted = re.search(r"Total count\s*=\s*(\d{1,18})", text)
    samples = int(counted[1]) if counted else max((row.total_count for row in rows), default=0)
    latencies = Latencies(spectrum=rows, total_count=samples)
    levels = tuple((level, us) for level in known_levels(samples) if (us := latencies.at(level)) is not None)
    tool = "truepace" if ours else "vegeta" if "Value(ms)  Percentile" in text else "HdrHistogram"
    return (ConsoleReport(tool=tool, latencies=replace(latencies, rows=levels), requests=samples),) if rows else ()


def read_log(path: Path) -> tuple[ConsoleReport, ...] | Problem:
    """Return a report for each tag in an HdrHistogram log, over all intervals; a Problem if the log can't be read."""
    from runners.readers.hdr_log import read_hdr_log  # it needs pandas, which most audits do not

    try:
        log = read_hdr_log(path)
    except ReadError as error:
        return Problem(0, f"an HdrHistogram log that can't be read: {error.cause}")
    if not log.unit_stated:
        remedy = "say it in a comment, e.g. #[values in microseconds]"
        return Problem(1, f"an HdrHistogram log that does not say its unit: not read; {remedy}")
    reports = []
    for kind in log.kinds:
        samples, own = log.merged(kind), [interval for interval in log.intervals if interval.kind == kind]
        if samples.total:
            begin_s, end_s = min(line.t_s for line in own), max(line.t_s + line.duration_s for line in own)
            reports.append(run_of(
                "HdrHistogram", {level: float(samples.percentile(level)) for level in known_levels(samples.total)},
                max_us=samples.max_us, samples=samples.total, requests=samples.total,
                elapsed_s=(end_s - begin_s) or None, operation=kind if len(log.kinds) > 1 else "",
            ))  # fmt: skip
    return tuple(reports)
