"""Find every output of a load generator in a file, with its command and its rate where the text around it has them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from runners.readers import context
from runners.readers.command_line import CommandLine, find_command
from runners.readers.console_report import ConsoleReport, missing
from runners.readers.documents import Document, Line, Problem, files_in, read_document, text_document
from runners.readers.output import FileOutputs, Output
from runners.readers.output_index import consoles, index_entry
from runners.readers.percentile_tables import tables
from runners.readers.summary_tools import find_summaries
from runners.readers.tool_files import read_tool_file
from runners.readers.tools import WRK, WRK2, is_like_wrk, missing_of_others
from runners.readers.wrk_console import COMMAND_REACH_LINES, LONGEST_LINE, clean, find_in_lines
from runners.storage.run_folder import console_step

LONGEST_CONSOLE, LONGEST_CAPTION = 400, 20  # lines
BELOW_LINES, LEAST_PERCENTILES = 15, 2
IDLE, BUSY, QUEUED = 0.5, 0.75, 1.3  # of the connections, by Little's law: waiting for the schedule, never, and more
HELD = 0.02  # by which a rate misses the one that it held, and figures that are printed twice differ
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
#: A percentile as a script of wrk prints it: `99,98168`, `p90: 12.1 ms`, `99%,1061`.
_PERCENTILE = re.compile(
    r"(?i)^\s*(?:latency )?(?:p\s?)?(?:50|75|9\d)(?:\.\d+)?(?:\s?%|th)?(?: percentile)?\s*[,:=|\t]\s*\d"
)
Placed = tuple[int, ConsoleReport]  # where it begins among the lines


def find_outputs(path: Path) -> FileOutputs:
    """Return every output in a file. Never raises; what can't be read is among the problems."""
    file = outputs_of(_document(path))
    entry, problem = index_entry(path)
    if entry:
        file = replace(file, outputs=tuple(replace(output, entry=entry) for output in file.outputs))
    return replace(file, problems=(*file.problems, problem)) if problem else file


def _document(path: Path) -> Document:
    """Return a file, or the console output of an archived step, which is named as if it lay in a folder of its own."""
    step = console_step(path)
    return text_document(step.console_text() or "", path) if step and step.archived else read_document(path)


def find_in(path: Path) -> Iterator[FileOutputs]:
    """Yield every output in a file, in the files of a folder, or in the loads of a run folder."""
    for file in files_in(path, consoles):
        yield find_outputs(file)


def outputs_of(document: Document) -> FileOutputs:
    """Return every output of a document that was read."""
    content = read_tool_file(document)
    if isinstance(content, Problem):
        return FileOutputs(document.path, (), (*document.problems, content))
    if content is not None:
        return FileOutputs(document.path, tuple(_of_a_file(document.path, content)), document.problems)
    lines = document.lines
    left = list(lines)
    placed: list[Placed] = []
    for begin, last, report in find_summaries(lines):
        placed.append((begin, report))
        left[begin : last + 1] = [replace(line, text="") for line in left[begin : last + 1]]
    columns, rest, problems_of_tables = tables(left)
    placed += columns
    where = {(line.cell, line.number): index for index, line in reversed(list(enumerate(lines)))}
    for cell, part in groupby(rest, key=lambda line: line.cell):
        reports = find_in_lines((line.number, line.text) for line in part)
        placed += [(where[cell, report.first_line], report) for report in reports]
    placed.sort(key=lambda at: (at[0], at[1].column))
    outputs = tuple(_outputs(document, _rejoined(placed, lines, where), where)) if placed else ()
    return FileOutputs(document.path, tuple(_of_one_tool(outputs)), (*document.problems, *problems_of_tables))


def _outputs(
    document: Document, placed: Sequence[Placed], where: dict[tuple[int | None, int], int]
) -> Iterator[Output]:
    lines, trails = document.lines, context.headings(document.lines)
    end = 0
    for position, report in placed:
        cell = lines[position].cell
        last = where[cell, report.last_line]
        if not report.column:  # all columns of a table have the same text above them
            above = lines[max(end, position - context.REACH_LINES) : position]
            command = report.command or _command_above(report, above)
            stated = _stated(document.path, above, replace(report, command=command), trails[position])
        report = replace(report, command=command)
        report = replace(report, tool=_tool_of(report, stated))
        if stated and stated.line is None and report.tool == WRK:
            stated = None
        lacks = _missing(report, lines[last + 1 : last + 1 + BELOW_LINES])
        yield Output(document.path, report.first_line, report, cell, trails[position], above, stated, missing=lacks)
        end = max(end, last + 1)


def _of_a_file(path: Path, reports: Sequence[ConsoleReport]) -> Iterator[Output]:
    """Yield the outputs of a file that a load tool wrote for other programs: no text stands around them."""
    for index, report in enumerate(reports):
        placed = replace(report, column=index, columns=len(reports))
        yield Output(path, 1, placed, stated=_stated(path, (), report, ()), missing=missing_of_others(report))


def _rejoined(
    placed: Sequence[Placed], lines: Sequence[Line], where: dict[tuple[int | None, int], int]
) -> list[Placed]:
    """Return the reports, those that a caption or a fence splits in two as one: what their lines are together."""
    whole: list[Placed] = []
    for position, report in placed:
        begin, before = whole[-1] if whole else (position, report)
        last = where.get((lines[begin].cell, before.last_line), position)
        near = 0 < report.first_line - before.last_line <= LONGEST_CAPTION and 0 < position - begin <= LONGEST_CONSOLE
        if near and _continues(before, report, lines[last:position]):
            pieces = (*lines[begin : last + 1], *lines[position : where[lines[position].cell, report.last_line] + 1])
            joined = find_in_lines((line.number, line.text) for line in pieces)
            if len(joined) == 1:
                tool = before.tool or joined[0].tool or report.tool
                whole[-1] = (begin, replace(joined[0], tool=tool, command=before.command))
                continue
        whole.append((position, report))
    return whole


def _continues(first: ConsoleReport, second: ConsoleReport, between: Sequence[Line]) -> bool:
    """Return whether a piece without a head goes on with the one above: a head alone, or a figure of both agrees."""
    if any((second.duration_s, second.threads, second.command, second.calibrations)):
        return False
    if first.columns * second.columns > 1 or not is_like_wrk(first.tool) or not is_like_wrk(second.tool):
        return False
    body = (first.latencies, first.calibrations, first.latency, first.requests_per_thread, first.requests_per_s)
    if not any(body) and first.requests is None and second.latency and second.requests_per_s:
        return not any(_HEADING.match(line.text) for line in between)
    largest = first.latency.max if first.latency else None
    highest = max((value for _, value in second.latencies.rows), default=None)
    if largest and highest:
        return abs(highest - largest) <= HELD * largest
    if second.latencies.spectrum and first.latencies.rows:
        there = {row.percentile: row.value_ms * 1000 for row in second.latencies.spectrum}
        pairs = [(value, there[level]) for level, value in first.latencies.rows if level in there]
        return bool(pairs) and all(abs(value - other) <= HELD * value + 1 for value, other in pairs)
    elapsed_s = second.elapsed_s or 0.0  # of its requests
    return bool(first.duration_s and not second.latencies and 0 <= elapsed_s / first.duration_s - 1 <= HELD)


def _stated(path: Path, above: Sequence[Line], report: ConsoleReport, trail: Sequence[str]) -> context.Stated | None:
    """Return the offered rate in the text above, else in a file's name that the output does not contradict."""
    if report.rate_rps or not is_like_wrk(report.tool):
        return None  # other tools offer no rate, or say theirs, or change it during the run
    duration_s = report.duration_s or (report.command.duration_s if report.command else None)
    achieved, columns = report.requests_per_s, report.columns
    by_text = context.stated(above, columns, duration_s, None if columns > 1 else achieved, trail)
    if by_text or columns > 1:
        return by_text
    named = context.named(path, achieved, report.url)
    return named if named and not _contradicts(report, named.rates_rps[0]) else None


def _contradicts(report: ConsoleReport, offered_rps: float) -> bool:
    """Return whether an output contradicts an offered rate: it fell short of it, and no request waited."""
    achieved, duration_s, largest = report.requests_per_s, report.duration_s or report.elapsed_s, report.max_us
    if achieved is None or achieved >= (1 - HELD) * offered_rps or not duration_s or largest is None:
        return False
    return largest / 1e6 < 0.5 * (1 - achieved / offered_rps) * duration_s


def _tool_of(report: ConsoleReport, stated: context.Stated | None) -> str | None:
    """Return wrk or wrk2 for an output that does not say which, by the rate that it held or by Little's law.

    In a closed loop the connections are busy all the time, so that connections / mean latency is the rate (J. D. C.
    Little, 1961). Where it is far above the rate, they waited for a schedule; far below, requests waited for them, or
    wrk added samples that it did not take.
    """
    rate, mean = report.requests_per_s, report.latency.mean if report.latency else None
    commanded = report.command.connections if report.command else None
    connections, per_thread = report.connections or commanded, report.requests_per_thread
    if report.tool is not None or rate is None or mean is None or not math.isfinite(mean):
        return report.tool
    if per_thread and per_thread.mean is not None and math.isnan(per_thread.mean):
        return WRK2  # whose calibration was not over
    if stated and abs(rate / stated.rates_rps[0] - 1) <= HELD:
        return WRK2
    if report.command and report.command.tool == WRK and not report.rate_rps:
        return WRK  # wrk2 refuses to run without a rate
    if not connections or mean <= 0 or not rate:
        return None
    if report.threads:
        connections = connections // report.threads * report.threads
    busy = rate * mean / 1e6 / max(1, connections)
    idle = busy < IDLE and not report.socket_errors  # connections that failed are idle, too
    return WRK2 if idle else WRK if BUSY <= busy <= QUEUED else None


def _command_above(report: ConsoleReport, above: Sequence[Line]) -> CommandLine | None:
    """Return the command near above a table, or the nearest with an output's own threads and connections.

    Beyond a heading only one of wrk counts, which has no rate, and which the duration fits too.
    """
    asked, table, under = (report.threads, report.connections), report.columns > 1, True
    if not table and (None in asked or not is_like_wrk(report.tool)):
        return None
    for line in reversed(above[-COMMAND_REACH_LINES:] if table else above):
        under = under and not _HEADING.match(line.text)
        command = find_command(clean(line.text)) if len(line.text) <= LONGEST_LINE else None
        if command and (table or (command.threads, command.connections) == asked):
            of_wrk = (command.rate_rps, command.duration_s) == (None, report.duration_s) and not table
            return command if under or of_wrk else None
    return None


def _of_one_tool(outputs: Sequence[Output]) -> Sequence[Output]:
    """Return the outputs of a document, those of wrk or wrk2 that do not say which as of the tool of all the others."""
    known = {output.report.tool or "" for output in outputs} & {WRK, WRK2}
    tool = known.pop() if len(known) == 1 else None
    return [replace(output, report=replace(output.report, tool=output.report.tool or tool)) for output in outputs]


def _missing(report: ConsoleReport, below: Sequence[Line]) -> tuple[str, ...]:
    if not is_like_wrk(report.tool):
        return missing_of_others(report)
    by_script = sum(1 for line in below if _PERCENTILE.match(line.text[:LONGEST_LINE])) >= LEAST_PERCENTILES
    return tuple(part for part in missing(report) if not (by_script and part.startswith("percentiles")))
