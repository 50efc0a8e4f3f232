"""Finds all outputs of load tools in a file; the text above an output gives its command and its offered rate."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from runners.readers import context, units
from runners.readers.command_line import CommandLine, find_command
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Document, Line, Problem, files_in, read_document
from runners.readers.json_files import read_json
from runners.readers.output import FileOutputs, Output, consoles, index_entry
from runners.readers.percentile_tables import tables
from runners.readers.summary import find_summaries
from runners.readers.tool_files import read_tool_file
from runners.readers.tools import WRK, WRK2, facts, is_like_wrk, missing
from runners.readers.wrk_console import BEYOND, COMMAND_REACH_LINES, LONGEST_LINE, clean, find_in_lines
from runners.storage.run_folder import console_step

BELOW_LINES, LEAST_PERCENTILES = 15, 2
IDLE, BUSY, QUEUED = 0.5, 0.75, 1.3  # rate * mean latency / connections: below IDLE wrk2, BUSY to QUEUED wrk
HELD = 0.02  # share by which an achieved rate may differ from the offered one
#: A percentile as a script of wrk prints it: `99,98168`, `p90: 12.1 ms`, `99%,1061`.
_PERCENTILE = re.compile(
    r"(?i)^\s*(?:latency )?(?:p\s?)?(?:50|75|9\d)(?:\.\d+)?(?:\s?%|th)?(?: percentile)?\s*[,:=|\t]\s*\d"
)
_TIMEOUT = re.compile(r"(?i)(?:\s--?timeout[= ]|^\W*time-?out\W{0,3}[:=]\W*)(\d{1,6}(?:\.\d+)?(?:ms|s|m)?)(?![\w.])")
_URL = re.compile(r"\bhttps?://[^\s\"'`)>]+")
Placed = tuple[int, ConsoleReport]  # the index of an output's first line in the document, and the output


def find_outputs(path: Path) -> FileOutputs:
    """Return the outputs of load tools in a file. Never raises: parts that can't be read become problems."""
    step = console_step(path)  # the console of an archived step has a path as if the step had a folder
    text = step.console_text() or "" if step and step.archived else None
    file = outputs_of(read_document(path) if text is None else Document(text, path))
    entry, problem = index_entry(path)
    outputs = tuple(replace(output, entry=entry) for output in file.outputs)
    return FileOutputs(path, outputs, (*file.problems, problem) if problem else file.problems)


def find_in(path: Path) -> Iterator[FileOutputs]:
    """Yield the load tools' outputs, file by file: `path` is a file, a folder of files, or the folder of a run."""
    for file in files_in(path, consoles):
        yield find_outputs(file)


def outputs_of(document: Document) -> FileOutputs:
    """Return the outputs of load tools in a document; parts that can't be read become problems."""
    content = read_tool_file(document)
    if isinstance(content, Problem):
        return FileOutputs(document.path, (), (*document.problems, content))
    if content is not None:
        return FileOutputs(document.path, tuple(_of_tool_file(document.path, content)), document.problems)
    lines = document.lines
    left = list(lines)
    placed: list[Placed] = []
    for begin, last, report in (*_json_objects(lines), *find_summaries(lines)):
        placed.append((begin, report))
        left[begin : last + 1] = [replace(line, text="") for line in left[begin : last + 1]]
    columns, rest, problems_of_tables = tables(left)
    placed += columns
    where = {(line.cell, line.number): index for index, line in reversed(list(enumerate(lines)))}
    for cell, part in groupby(rest, key=lambda line: line.cell):
        reports = find_in_lines((line.number, line.text) for line in part)
        placed += [(where[cell, report.first_line], report) for report in reports]
    placed.sort(key=lambda at: (at[0], at[1].column))
    outputs = tuple(_outputs(document, placed, where)) if placed else ()
    known = {output.report.tool or "" for output in outputs} & {WRK, WRK2}
    if len(known) == 1:  # if only one of the two is known in a document, other outputs are taken to be of it too
        (tool,) = known
        outputs = tuple(
            replace(output, report=replace(output.report, tool=output.report.tool or tool)) for output in outputs
        )
    return FileOutputs(document.path, outputs, (*document.problems, *problems_of_tables))


def _outputs(
    document: Document, placed: Sequence[Placed], where: dict[tuple[int | None, int], int]
) -> Iterator[Output]:
    lines, trails = document.lines, list(context.headings(document.lines))
    end, before = 0, ConsoleReport()
    for position, report in placed:
        cell = lines[position].cell
        last = where[cell, report.last_line]
        if not report.column:  # all columns of a table have the same text above them
            above = lines[max(end, position - context.REACH_LINES) : position]
            report = before = _as_commanded(report, above, before)
            command = report.command or _command_above(report, above)
            stated = _stated(document.path, above, replace(report, command=command), trails[position])
        report = replace(report, command=command)
        report = replace(report, tool=_tool_of(report, stated))
        if stated and stated.line is None and report.tool == WRK:
            stated = None
        below = (line.text[:LONGEST_LINE] for line in lines[last + 1 : last + 1 + BELOW_LINES])
        by_script = is_like_wrk(report.tool) and sum(map(bool, map(_PERCENTILE.match, below))) >= LEAST_PERCENTILES
        lacks = tuple(part for part in missing(report) if not (by_script and part == "percentiles"))
        yield Output(document.path, report.first_line, report, cell, trails[position], above, stated, missing=lacks)
        end = max(end, last + 1)


def _json_objects(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Yield (index of the first line, of the last line, report) for each load tool's JSON object within a text."""
    begin = None
    for index, line in enumerate(lines):
        if line.text.rstrip() == "{":
            begin = index
        elif line.text.rstrip() == "}" and begin is not None:
            reports = read_json("\n".join(inner.text for inner in lines[begin : index + 1]))
            if isinstance(reports, tuple) and len(reports) == 1:
                yield begin, index, replace(reports[0], first_line=lines[begin].number, last_line=line.number)
            begin = None


def _as_commanded(report: ConsoleReport, above: Sequence[Line], before: ConsoleReport) -> ConsoleReport:
    """Return the report with the figures that the nearest command of its tool in `above` gives.

    If there is no command, the report takes the figures of `before`, the previous output, if both are of the same tool
    and either differ in the operation or agree in the number of requests: then one command is taken to have made both.
    """
    patterns = [(re.compile(rf"(?:^|[\s`/.$]){text}"), figures) for text, figures in facts(report.tool).commands]
    near = above[-COMMAND_REACH_LINES:] if patterns else ()
    counted = [pattern for pattern, _ in patterns if "connections" in pattern.groupindex]
    matches = (pattern.search(f"{clean(line.text[:LONGEST_LINE])} ") for line in near for pattern in counted)
    clients = {match["connections"] for match in matches if match}  # more than one: it is not known whose
    text, timeouts = "", [match for line in near if (match := _TIMEOUT.search(clean(line.text[:LONGEST_LINE])))]
    report = replace(report, timeout_s=units.time_s(timeouts[-1][1])) if timeouts else report
    for line in reversed(near):
        own = clean(line.text[:LONGEST_LINE]).rstrip()
        text = f"{own[:-1]} {text}" if own.endswith("\\") else f"{own} "
        if known := [(match, figures) for pattern, figures in patterns if (match := pattern.search(text))]:
            given = {name: value for match, _ in known for name, value in match.groupdict().items()}
            implied = {name: value for _, figures in known for name, value in figures.items()}
            offered, url = float(given.get("offered_rps", 0.0)), _URL.search(text)
            kept = not offered or (report.rate_rps or math.inf) <= BEYOND * offered  # the output says its rate itself
            command = report.command if kept else CommandLine(text.strip(), report.tool or "", rate_rps=offered)
            implied |= {"url": report.url or (url[0] if url else None)}
            asked = int(given.get("connections", 0)) if len(clients) < 2 else 0
            implied |= {"connections": report.connections or asked or implied.get("connections")}
            timeout_s, run_s = (units.time_s(given.get(name) or "") for name in ("timeout", "duration"))
            implied |= {"timeout_s": timeout_s or report.timeout_s, "duration_s": run_s or report.duration_s}
            implied |= {"depth": report.depth or int(given.get("depth", 0)) or None}
            return replace(report, command=None if implied.get("closed_loop") else command, **implied)
    run = report.operation != before.operation or report.requests == before.requests
    if patterns and run and before.tool == report.tool and (report.command, report.closed_loop) == (None, None):
        names = ("command", "closed_loop", "connections", "depth", "url")
        return replace(report, **{name: getattr(report, name) or getattr(before, name) for name in names})
    return report


def _of_tool_file(path: Path, reports: Sequence[ConsoleReport]) -> Iterator[Output]:
    for index, report in enumerate(reports):
        placed = replace(report, column=index, columns=len(reports))
        yield Output(path, 1, placed, stated=_stated(path, (), report, ()), missing=missing(report, is_file=True))


def _stated(path: Path, above: Sequence[Line], report: ConsoleReport, trail: Sequence[str]) -> context.Stated | None:
    """Return the rate by `above`, headings `trail` or the file name; None if the report has one or contradicts it."""
    if report.rate_rps or not is_like_wrk(report.tool):
        return None  # other tools offer no rate, or print it, or change it during the run
    duration_s = report.duration_s or (report.command.duration_s if report.command else None)
    achieved, columns = report.requests_per_s, report.columns
    by_text = context.stated(above, columns, duration_s, None if columns > 1 else achieved, trail)
    if by_text or columns > 1:
        return by_text
    named, largest, run_s = context.named(path, achieved, report.url), report.max_us, duration_s or report.elapsed_s
    if named and achieved is not None and largest is not None and run_s:
        lost = 1 - achieved / named.rates_rps[0]
        return None if lost > HELD and largest / 1e6 < 0.5 * lost * run_s else named  # a shortfall without a queue
    return named


def _tool_of(report: ConsoleReport, stated: context.Stated | None) -> str | None:
    """Return the output's tool; if unknown, wrk or wrk2, inferred from the `stated` rate or Little's law, or else None.

    In a closed loop all connections are busy, so that connections / mean latency is the rate (J. D. C. Little, 1961). A
    quotient far above the rate shows that connections waited for a schedule, as in wrk2. A quotient far below shows
    that requests waited for connections, or that wrk added samples that it did not take.
    """
    rate, mean = report.requests_per_s, report.latency.mean if report.latency else None
    if rate is None and report.requests and report.elapsed_s:
        rate = report.requests / report.elapsed_s
    commanded = report.command.connections if report.command else None
    connections, per_thread = report.connections or commanded, report.requests_per_thread
    if report.tool is not None or rate is None or mean is None or not math.isfinite(mean):
        return report.tool
    if per_thread and per_thread.mean is not None and math.isnan(per_thread.mean):
        return WRK2  # its calibration had not ended
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
    """Return the nearest command above an output that has the output's threads and connections; None if there is none.

    Above a table of several columns any command counts. If a heading is in between, the command must be wrk's, without
    a rate and with the output's duration.
    """
    asked, table, under = (report.threads, report.connections), report.columns > 1, True
    if not table and (None in asked or not is_like_wrk(report.tool)):
        return None
    for line in reversed(above[-COMMAND_REACH_LINES:] if table else above):
        under = under and not line.text.lstrip().startswith("#")
        command = find_command(clean(line.text)) if len(line.text) <= LONGEST_LINE else None
        if command and (table or (command.threads, command.connections) == asked):
            of_wrk = (command.rate_rps, command.duration_s) == (None, report.duration_s) and not table
            return command if under or of_wrk else None
    return None
