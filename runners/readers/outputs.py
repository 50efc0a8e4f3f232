"""Find every output of a load generator in a file, with its command and its rate where the text around it has them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from runners.readers import context
from runners.readers.command_line import CommandLine, find_command, find_commands
from runners.readers.console_report import HEADS, ConsoleReport, is_head, missing, rejoined
from runners.readers.documents import Document, Line, files_in, read_document, text_document
from runners.readers.other_tools import CHATTER, OTHER_TOOLS, find_others, missing_of_others, not_read
from runners.readers.output import Found, Output
from runners.readers.output_index import consoles, index_entry
from runners.readers.percentile_tables import Column, tables
from runners.readers.tool_files import FileOutputs, read_tool_file
from runners.readers.wrk_console import COMMAND_REACH_LINES, LONGEST_LINE, clean, find_in_lines
from runners.storage.run_folder import console_step

LONGEST_CONSOLE, LONGEST_CAPTION = 400, 20  # lines
CALIBRATION_S = 10.0  # wrk2 prints what it saw in its first ten seconds
BAR_SHIFT = 3  # characters by which the bar between two consoles may move from line to line
NEARLY_ACHIEVED = 0.995  # of a round rate
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
_OF_A_RATE = re.compile(r"\bwrk2\b|(?<![\w-])(?:-R|--rate)[ =]?\d|Thread calibration")
_TWO_CONSOLES = re.compile(r"^.*\bRunning \S+ test @ \S+\s+(?P<bar>[|\u2502])\s.*\bRunning \S+ test @ ")


def find_outputs(path: Path) -> Found:
    """Return every output in a file. Never raises; what can't be read is among the problems."""
    found = outputs_of(_document(path))
    entry, problem = index_entry(path)
    if entry:
        found = replace(found, outputs=tuple(replace(output, entry=entry) for output in found.outputs))
    return replace(found, problems=(*found.problems, problem)) if problem else found


def _document(path: Path) -> Document:
    """Return a file, or the console output of an archived step, which is named as if it lay in a folder of its own."""
    step = console_step(path)
    return text_document(step.console_text() or "", path) if step and step.archived else read_document(path)


def find_in(path: Path) -> Iterator[Found]:
    """Yield every output in a file, in the files of a folder, or in the loads of a run folder."""
    for file in files_in(path, consoles):
        yield find_outputs(file)


def outputs_of(document: Document) -> Found:
    """Return every output of a document that was read."""
    if (whole := read_tool_file(document)) is not None:
        return _of_file(document, whole)
    others = list(find_others(document.lines))
    lines_left = list(document.lines)
    for begin, last, _ in others:
        lines_left[begin : last + 1] = [replace(line, text="") for line in lines_left[begin : last + 1]]
    lines_left, on_the_right = _apart(lines_left)
    columns, rest, problems = tables(lines_left)
    placed: list[tuple[int, Column | None, ConsoleReport]] = [(begin, None, report) for begin, _, report in others]
    start = 0
    for lines in _cells(rest):
        at = {line.number: index for index, line in reversed(list(enumerate(lines, start=start)))}
        start += len(lines)
        right = [line for line in on_the_right if line.cell == lines[0].cell]
        for side in (lines, right):
            for report in find_in_lines((line.number, line.text) for line in side):
                placed.append((at[report.first_line], None, report))
    where = {(line.cell, line.number): index for index, line in reversed(list(enumerate(document.lines)))}
    placed += [(where[column.cell, column.report.first_line], column, column.report) for column in columns]
    placed.sort(key=lambda each: (each[0], each[1].index if each[1] else 0))
    placed = _one_tool(_rejoined(placed, document.lines), document.lines)
    trails = context.headings(document.lines) if placed else []
    outputs: list[Output] = []
    prose = _prose(document.lines, [report for _, _, report in placed])
    end = 0
    before = 0  # where the text above a table begins, for all its columns
    for position, column, report in placed:
        if column is None or column.index == 0:
            before = end
        above = tuple(
            line
            for line in document.lines[max(before, position - context.REACH_LINES) : position]
            if not CHATTER.match(line.text)
        )
        of = column.of if column else 1
        if column is not None:
            report = replace(report, command=_command_above(above))
        stated = None
        if not report.rate_rps:
            stated = _stated_of(column, _stated(document.path, above, report, of, trails[position]))
        if report.tool == "Artillery":
            stated = context.scripted(document.lines[end:position], report.requests_per_s)
        if column is None and stated is None and outputs:
            stated = _rate_before(outputs[-1], report, trails[position], document.lines[end:position])
        if column is None and stated is None and _is_wrks(report):
            report = replace(report, tool="wrk")
        cell = document.lines[position].cell
        output = Output(
            document.path,
            report.first_line,
            report,
            cell,
            column.label if column else report.operation,
            column.index if column else 0,
            of,
            trails[position],
            above,
            stated,
            missing=_missing(report),
            prose=prose,
        )
        outputs.append(output)
        end = max(end, where[output.cell, report.last_line] + 1)
    outputs = _with_their_commands(outputs)
    return Found(document.path, tuple(outputs), (*document.problems, *problems, *not_read(document.lines)))


def _apart(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Take two consoles apart that stand side by side with a bar between them; the left one stays in its place."""
    left, right = list(lines), []
    bar = -1
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            bar = -1
            continue
        if two := _TWO_CONSOLES.match(line.text):
            bar = two.start("bar")
        if bar < 0:
            continue
        cuts = [at for at, sign in enumerate(line.text) if sign in "|\u2502" and abs(at - bar) <= BAR_SHIFT]
        if not cuts:
            bar = -1
            continue
        left[index], rest = replace(line, text=line.text[: cuts[0]]), line.text[cuts[0] + 1 :]
        right.append(replace(line, text=rest))
    return left, right


def _with_their_commands(outputs: list[Output]) -> list[Output]:
    """Pass over a head that is cut off where a command with all that it says is given for each output."""
    if not any(part in output.missing for output in outputs for part in HEADS):
        return outputs
    commands = (find_command(line.text) for line in outputs[0].prose if len(line.text) <= LONGEST_LINE)
    known = sum(1 for each in commands if _says_all(each)) >= len(outputs)
    return [
        replace(each, missing=tuple(part for part in each.missing if part not in HEADS))
        if known or _says_all(each.report.command)
        else each
        for each in outputs
    ]


def _says_all(command: CommandLine | None) -> bool:
    """Tell whether a command says all that the head of its output would."""
    return command is not None and bool(command.threads and command.connections and command.duration_s)


def _of_file(document: Document, whole: FileOutputs) -> Found:
    """Return the outputs of a file that a load tool wrote for other programs: nobody's prose stands around them."""
    last = len(document.lines)
    outputs = [
        Output(
            document.path,
            1,
            replace(report, last_line=last),
            label=report.operation,
            column=index,
            columns=len(whole.reports),
            stated=None if report.rate_rps else _stated(document.path, (), report, 1, ()),
            missing=_missing(report),
        )
        for index, report in enumerate(whole.reports)
    ]
    return Found(document.path, tuple(outputs), (*document.problems, *([whole.problem] if whole.problem else [])))


def _rejoined(
    placed: list[tuple[int, Column | None, ConsoleReport]], lines: Sequence[Line]
) -> list[tuple[int, Column | None, ConsoleReport]]:
    """Take consoles that a caption or a fence splits in two as one."""
    whole: list[tuple[int, Column | None, ConsoleReport]] = []
    for each in placed:
        position, column, report = each
        before = whole[-1] if whole else None
        if before and before[1] is column is None and 0 < position - before[0] <= LONGEST_CONSOLE:
            near = 0 < report.first_line - before[2].last_line <= LONGEST_CAPTION
            if near and is_head(before[2]):
                near = not any(_HEADING.match(line.text) for line in lines[before[0] : position])
            if near and report.tool not in OTHER_TOOLS and (joined := rejoined(before[2], report)):
                whole[-1] = (before[0], None, joined)
                continue
        whole.append(each)
    return whole


def _one_tool(
    placed: list[tuple[int, Column | None, ConsoleReport]], lines: Sequence[Line]
) -> list[tuple[int, Column | None, ConsoleReport]]:
    """Name wrk where an output does not tell, the commands of the document are wrk's and nothing names a rate."""
    wrks = _commands_of_wrk_alone(lines) if any(_is_headless(report) for _, _, report in placed) else []
    if not wrks:
        return placed
    one = wrks[0] if all(command == wrks[0] for command in wrks) else None
    return [
        (position, column, replace(report, tool="wrk", command=one) if _is_headless(report) else report)
        for position, column, report in placed
    ]


def _is_headless(report: ConsoleReport) -> bool:
    """Tell whether an output is the end of one of wrk's or wrk2's, which look alike there."""
    known = report.tool or report.command or report.calibrations or report.threads
    return not known and report.latency is not None and report.requests is not None


def _commands_of_wrk_alone(lines: Sequence[Line]) -> list[CommandLine]:
    """Give the commands of a document that are all wrk's; none where it names wrk2 or a rate."""
    texts = [line.text for line in lines if len(line.text) <= LONGEST_LINE]
    if any(_OF_A_RATE.search(text) for text in texts):
        return []
    commands = [command for text in texts if "wrk" in text for command in find_commands(clean(text))]
    return [command for command in commands if command.tool == "wrk"]


def _stated(
    path: Path, above: Sequence[Line], report: ConsoleReport, columns: int, trail: Sequence[str]
) -> context.Stated | None:
    """Read the offered rate that the text above or the file's name gives."""
    if report.tool in OTHER_TOOLS:
        return None  # most offer no rate, and the others say theirs or change it during the run
    asked = report.command.duration_s if report.command else None
    if columns > 1:
        return context.stated(above, columns, report.duration_s or asked)
    achieved = report.requests_per_s
    said = context.stated(above, columns, report.duration_s or asked, achieved, trail)
    return said or (context.named(path, achieved, report.url) if report.tool != "wrk" else None)


def _rate_before(
    before: Output, report: ConsoleReport, trail: Sequence[str], between: Sequence[Line]
) -> context.Stated | None:
    """Take the rate of the output just above for one that gives no command, and at most a caption of its own.

    Both must have the same settings. A rate that is a round number may be what the run was offered, and held.
    """
    asked, rate, achieved = before.command, before.offered_rps, report.requests_per_s
    if asked is None or report.command is not None or not rate or not achieved or not report.calibrations:
        return None
    settings = (before.report.threads, before.report.connections, before.report.duration_s, before.headings)
    said = [line.text for line in between if line.text.strip(" `~\t")]
    if settings != (report.threads, report.connections, report.duration_s, tuple(trail)) or len(said) > 1:
        return None
    if not context.plausible(rate, achieved) or _is_round(achieved):
        return None
    if any(len(text) > context.LONGEST_LABEL or any(map(str.isdigit, text)) for text in said):
        return None
    return context.Stated((rate,), f"-R {rate:g} of the output above", before.line)


def _is_round(rate: float) -> bool:
    """Tell whether a rate is a number of two digits and zeros, as near as a rate is achieved."""
    digit = 10.0 ** (math.floor(math.log10(rate)) - 1) if rate > 0 else 1.0
    return abs(rate - round(rate / digit) * digit) <= (1 - NEARLY_ACHIEVED) * rate


def _is_wrks(report: ConsoleReport) -> bool:
    """Tell wrk's whole summary from wrk2's, where neither command nor rate is given.

    wrk2 prints its calibration between the line of threads and its table, and of a run that is no longer no rate of a
    thread.
    """
    whole = report.latency is not None and report.requests is not None and report.requests_per_s is not None
    each = report.requests_per_thread.mean if report.requests_per_thread else None
    sampled = each is not None and math.isfinite(each) and each > 0
    ran_s = report.duration_s or (report.elapsed_s if report.threads is not None else None)
    tells = ran_s is not None and (ran_s > CALIBRATION_S or sampled)
    return report.tool is None and report.command is None and whole and tells and not report.calibrations


def _stated_of(column: Column | None, stated: context.Stated | None) -> context.Stated | None:
    """Leave out rates that differ over columns which are before and after: they are not one a column."""
    if column is None or stated is None or not context.change((column.label,)):
        return stated
    return stated if len(set(stated.rates_rps)) == 1 else None


def _prose(lines: Sequence[Line], reports: Iterable[ConsoleReport]) -> tuple[Line, ...]:
    """Leave out the outputs themselves: what the author wrote, headings included."""
    inside = {number for report in reports for number in range(report.first_line, report.last_line + 1)}
    return tuple(
        line
        for line in lines
        if line.text.strip() and (line.cell is not None or line.number not in inside) and not CHATTER.match(line.text)
    )


def _cells(lines: Sequence[Line]) -> Iterable[list[Line]]:
    """Runs of lines of one notebook cell; all lines of any other file."""
    part: list[Line] = []
    for line in lines:
        if part and line.cell != part[-1].cell:
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _command_above(above: Sequence[Line]) -> CommandLine | None:
    for line in reversed(above[-COMMAND_REACH_LINES:]):
        text = clean(line.text)
        if text.lstrip().startswith("#"):
            return None
        if len(text) <= LONGEST_LINE and (command := find_command(text)):
            return command
    return None


def _missing(report: ConsoleReport) -> tuple[str, ...]:
    return missing_of_others(report) if report.tool in OTHER_TOOLS else missing(report)
