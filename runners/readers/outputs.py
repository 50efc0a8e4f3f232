"""Every output of a load generator in a file: where it stands, what it was asked for, and what of it is missing."""

from __future__ import annotations

import math
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from runners.readers import context
from runners.readers.command_line import TOOLS, CommandLine, find_command, find_commands, parse_command
from runners.readers.console_report import HEADS, ConsoleReport, is_head, missing, rejoined
from runners.readers.documents import Document, Line, Problem, files_in, read_document, text_document
from runners.readers.figure_names import NO_MEASUREMENT, TIME_UNIT
from runners.readers.load_tools import begins, by_rate, explains_a_tool, is_example
from runners.readers.other_tools import CHATTER, OTHER_TOOLS, find_others, missing_of_others, not_read
from runners.readers.percentile_tables import Column, tables
from runners.readers.tool_files import FileOutputs, read_tool_file
from runners.readers.transcribed import transcribed
from runners.readers.wrk_console import COMMAND_REACH_LINES, LONGEST_LINE, clean, find_in_lines
from runners.storage.run_folder import RunFolder, StepFolder, StoreError, console_step
from runners.storage.schema import read_record

LONGEST_CONSOLE, LONGEST_CAPTION = 400, 20  # lines
CALIBRATION_S = 10.0  # wrk2 prints what it saw in its first ten seconds
BAR_SHIFT = 3  # characters by which the bar between two consoles may move from line to line
NEARLY_ACHIEVED = 0.995  # of a round rate
MOST_SHOWN = 2  # outputs in a page that explains a tool
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
_OF_A_RATE = re.compile(r"\bwrk2\b|(?<![\w-])(?:-R|--rate)[ =]?\d|Thread calibration")
_TWO_CONSOLES = re.compile(r"^.*\bRunning \S+ test @ \S+\s+(?P<bar>[|\u2502])\s.*\bRunning \S+ test @ ")


@dataclass(frozen=True, slots=True)
class Output:
    """One output. `report` is what it says itself; the properties add what stands around it.

    `line` is 1-based, in the file or in the notebook's `cell`. `text_above` is the text since the output before,
    `prose` all that the author of the document wrote, `entry` what the folder's index says (see
    data/published/index.toml). `example` says that it explains the tool and is no run of the author's.
    """

    path: Path
    line: int
    report: ConsoleReport
    cell: int | None = None
    label: str = ""
    column: int = 0
    columns: int = 1
    headings: tuple[str, ...] = ()
    text_above: tuple[Line, ...] = ()
    stated: context.Stated | None = None
    entry: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()
    prose: tuple[Line, ...] = field(default=(), repr=False)
    example: bool = False

    @property
    def place(self) -> str:
        """Where it stands, as editors read it: `file:line`, or `file:cell 3:line` in a notebook."""
        return f"{self.path}:{f'cell {self.cell}:' if self.cell is not None else ''}{self.line}"

    @property
    def command(self) -> CommandLine | None:
        if self.report.command is not None:
            return self.report.command
        text = self._entry("command", str)
        return parse_command(text) if text else None

    @property
    def tool(self) -> str | None:
        """The generator: who ran it knows best, else what the output looks like (truepace prints wrk2's layout)."""
        named: str | None = self._entry("tool", str)
        return named or self.report.tool

    @property
    def offered_rps(self) -> float | None:
        """The offered rate: of the command line, else of the index, else as the text above names it."""
        command = self.command
        if command is not None and command.rate_rps:
            return command.rate_rps
        rates = self._entry("rates_rps", list)
        if rates and self.column < len(rates) and isinstance(rates[self.column], (int, float)):
            return float(rates[self.column])
        return self.stated.rates_rps[self.column] if self.stated and not rates else None

    @property
    def offered_by(self) -> str:
        """Where the offered rate is from, for a reader to judge."""
        command = self.command
        if command is not None and command.rate_rps:
            if not command.text:
                return "as its author says"
            return f"as {command.tool} says" if command.tool in OTHER_TOOLS else f"-R {command.rate_rps:g}"
        if self._entry("rates_rps", list):
            return "as the folder's index says"
        return f"as line {self.stated.line} says: {self.stated.words}" if self.stated else ""

    @property
    def duration_s(self) -> float | None:
        asked = self.command.duration_s if self.command else None
        return self.report.duration_s or asked or self._entry("duration_s", (int, float))

    @property
    def threads(self) -> int | None:
        asked = self.command.threads if self.command else None
        return self.report.threads or asked or self._entry("threads", int)

    @property
    def connections(self) -> int | None:
        asked = self.command.connections if self.command else None
        return self.report.connections or asked or self._entry("connections", int)

    @property
    def script(self) -> str:
        """Name of the script, or of the script that called the generator; empty where neither is known."""
        if self.command and self.command.script:
            return Path(self.command.script).name
        call = str(self._entry("call", str) or (self.stated.words if self.stated else ""))
        return call.split()[0] if context.is_call(call) else ""

    @property
    def change(self) -> str | None:
        """`before` or `after`, where headings, a column's head, the file's name or the index say so."""
        said: str | None = self._entry("change", str)
        if said:
            parts = [part.strip() for part in said.split(",")]
            return parts[self.column] if self.column < len(parts) else parts[-1]
        named = context.change((context.plain_name(self.path), *self.headings, self.label))
        return named or context.state(self.text_above) or context.of_a_name(context.plain_name(self.path))

    @property
    def changes(self) -> tuple[str, ...]:
        """What the index says was changed since the output before it at the same rate."""
        return tuple(str(each) for each in self._entry("changes", list) or ())

    @property
    def group(self) -> str:
        """What it is compared within: the report that the index names, else its file."""
        report: str | None = self._entry("report", str)
        return report or str(self.path)

    def _entry(self, name: str, kind: type | tuple[type, ...]) -> Any:
        value = self.entry.get(name) if self.entry else None
        return value if isinstance(value, kind) else None


@dataclass(frozen=True, slots=True)
class Found:
    """A file, its outputs in order, and what in it could not be read."""

    path: Path
    outputs: tuple[Output, ...]
    problems: tuple[Problem, ...]


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
    if not placed and (own := transcribed(document.lines)):
        columns, problems = own, []
    columns = [column for column in columns if not _is_aim(column)]
    where = {(line.cell, line.number): index for index, line in reversed(list(enumerate(document.lines)))}
    placed += [(where[column.cell, column.report.first_line], column, column.report) for column in columns]
    placed.sort(key=lambda each: (each[0], each[1].index if each[1] else 0))
    placed = _k6s_loops(_one_tool(_rejoined(placed, document.lines), document.lines), document.lines)
    trails, blocks = (context.headings(document.lines), begins(document.lines)) if placed else ([], [])
    outputs: list[Output] = []
    prose = _prose(document.lines, [report for _, _, report in placed if not report.transcribed])
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
        if column is not None and not report.transcribed:
            report = replace(report, command=_command_above(above))
        stated = None
        if not report.rate_rps and not report.transcribed:
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
            missing=_missing_of_transcribed(placed, document.lines) if report.transcribed else _missing(report),
            prose=prose,
            example=not report.transcribed
            and is_example(document.lines, blocks[position], position, where[cell, report.last_line]),
        )
        outputs.append(output)
        end = max(end, where[output.cell, report.last_line] + 1)
    if 0 < len(outputs) <= MOST_SHOWN and not outputs[0].report.transcribed and explains_a_tool(document.lines):
        outputs = [replace(output, example=True) for output in outputs]
    outputs = _with_their_commands(outputs)
    return Found(document.path, _pieces_too(outputs), (*document.problems, *problems, *not_read(document.lines)))


def _is_aim(column: Column) -> bool:
    """Tell whether a column of a table of percentiles holds what its author aims at, and nobody measured."""
    return not column.report.transcribed and NO_MEASUREMENT.search(column.label) is not None


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


def _pieces_too(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """Take the pieces of an example that its explanation prints again as examples too."""
    shown = {(each.report.requests, each.report.requests_per_s) for each in outputs if each.example}
    counts = {requests for requests, _ in shown if requests}

    def is_piece(report: ConsoleReport) -> bool:
        alike = report.requests_per_s is None or (report.requests, report.requests_per_s) in shown
        return report.requests in counts and alike

    return tuple(replace(each, example=each.example or is_piece(each.report)) for each in outputs)


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
    known = report.tool or report.command or report.calibrations or report.threads or report.transcribed
    return not known and report.latency is not None and report.requests is not None


def _commands_of_wrk_alone(lines: Sequence[Line]) -> list[CommandLine]:
    """Give the commands of a document that are all wrk's; none where it names wrk2 or a rate."""
    texts = [line.text for line in lines if len(line.text) <= LONGEST_LINE]
    if any(_OF_A_RATE.search(text) for text in texts):
        return []
    commands = [command for text in texts if "wrk" in text for command in find_commands(clean(text))]
    return [command for command in commands if command.tool == "wrk"]


def _k6s_loops(
    placed: list[tuple[int, Column | None, ConsoleReport]], lines: Sequence[Line]
) -> list[tuple[int, Column | None, ConsoleReport]]:
    """Take runs of k6 whose scenarios are not shown as closed loops, as its VUs are unless a document gives a rate."""
    unknown = any(report.tool == "k6" and report.closed_loop is None for _, _, report in placed)
    if not unknown or by_rate(lines):
        return placed

    def waits(report: ConsoleReport) -> bool:
        dropped = any(each.startswith("dropped") for each in report.extra)  # iterations that were due at a rate
        return report.tool == "k6" and report.closed_loop is None and not dropped

    return [
        (position, column, replace(report, closed_loop=True) if waits(report) else report)
        for position, column, report in placed
    ]


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


def _missing_of_transcribed(
    placed: Sequence[tuple[int, Column | None, ConsoleReport]], lines: Sequence[Line]
) -> tuple[str, ...]:
    """Return an author chooses his figures: only that a document gives no percentile above the median of any run is
    a lack.
    """
    if any(len(line.text) <= LONGEST_LINE and _ANY_PERCENTILE.search(line.text) for line in lines):
        return ()
    levels = {level for _, _, report in placed for level, _ in report.latencies.rows if level < 1}
    if not any(report.requests_per_s or report.latency or report.latencies.rows for _, _, report in placed):
        return ()  # its figures are pictures
    if not levels:
        return ("percentiles",)
    return () if max(levels) > 0.5 else ("percentiles beyond p50",)


#: A percentile above the median with a time in one line, by whatever name: `p95 | 24 ms`, `El 90% ... en 306 ms`.
_ANY_PERCENTILE = re.compile(
    rf"(?i)(?:\bp\s?\(?9\d|(?<![\d.])9\d(?:[.,]\d+)?\s?(?:%|th\b|-?й\b|\u00ba)).{{0,60}}?(?<![<\u2264\d.,])"
    rf"\d[\d.,]{{0,9}}\s?(?:{TIME_UNIT})(?![^\W\d_가-힣])"
)

INDEX = "index.toml"
AUDITED_KINDS = ("load", "floor")  # nobody quotes a latency from a fill or a probe


def index_entry(path: Path) -> tuple[Mapping[str, Any] | None, Problem | None]:
    """Return the facts on an output's file, with the keys that data/published/index.toml explains."""
    if step := console_step(path):
        return _of_step(step)
    for folder, name in ((path.parent, path.stem), (path.parent.parent, f"{path.parent.name}/{path.stem}")):
        content, problem = _index(folder / INDEX)
        if problem:
            return None, problem
        entry = content.get(name)
        if isinstance(entry, dict):
            return entry, None
    return None, None


def consoles(folder: Path) -> Iterator[Path] | None:
    """Yield the console outputs of a run folder's loads, in order; None for any other folder."""
    run = RunFolder(folder)
    if not run.manifest_path.is_file() or not run.steps_path.is_dir():
        return None
    return (step.console for step in run.complete() if _is_load(step))


def _is_load(step: StepFolder) -> bool:
    try:
        return step.console_text() is not None and read_record(step).role in AUDITED_KINDS
    except StoreError:
        return step.console_text() is not None


def _of_step(step: StepFolder) -> tuple[Mapping[str, Any] | None, Problem | None]:
    try:
        record = read_record(step)
    except StoreError as error:
        return None, Problem(0, f"{error.thing}: {error.cause}")
    words = list(record.generator.command)
    own = next((index for index, word in enumerate(words) if Path(word).name in TOOLS), 0)
    entry: dict[str, Any] = {"report": step.path.parent.parent.name, "tool": record.generator.tool}
    if words:
        entry["command"] = shlex.join(words[own:])  # not what pins it to a core
    if record.offered_rps is not None:
        entry["rates_rps"] = [record.offered_rps]
    return entry, None


@lru_cache(maxsize=64)
def _index_at(path: Path, changed_ns: int) -> tuple[dict[str, Any], Problem | None]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), None
    except (OSError, ValueError) as error:
        return {}, Problem(0, f"the folder's {INDEX} can't be read ({error})")


def _index(path: Path) -> tuple[dict[str, Any], Problem | None]:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return {}, None
    return _index_at(path, changed)
