"""Tables and lists in which an author retells runs: the figures that he states, and nothing guessed.

    | Metric       | Value    |     | Connections | Req/s | p50    | p99    |     Requests/sec: 15271.51
    | Error rate   | 1.68 %   |     | 100         | 35864 | 2 ms   | 5 ms   |     Avg latency: 151.49 ms
    | p(95)        | 11.84 s  |     | 500         | 28588 | 17 ms  | 32 ms  |     2xx: 980  5xx: 20

They are read where a document names a load tool and holds no output of any (of several that are named, the one that is
called, or that the heading above a run names, made its figures; else it is not known which, nor whether it waits for
responses), and so are the lines `Requests/sec:` that an author kept of each output of wrk
or wrk2, with the command above them. Each column (or row, where the figures' names are the head) is a run; small tables
that follow one another and state other figures are of one run. A figure counts only if its name is understood word by
word and its value is no limit: no `<`, no target; a time or a rate that is rounded (`~27 ms`) is one. A rate alone is a
run where the document calls the tool: in a table of several, or in a list of them behind names, `- Express: 12,345
req/s`; and so is each of a table that its heading says to be of rates, by what its columns and rows name. The one
command of wrk or wrk2 that a document has is that of its runs, unless they say otherwise. What a document calls
simulated, estimated or an illustration was not measured, and is not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from runners.readers.command_line import CommandLine, parse_command
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line
from runners.readers.figure_names import (
    EXPECTED,
    NO_MEASUREMENT,
    RATE_UNIT,
    SIMULATED,
    TIME_UNIT,
    UNIT_IN_NAME,
    UNITS_US,
    figure_name,
    plain,
    status_classes,
    value,
)
from runners.readers.load_tools import (
    ALWAYS_PACED,
    OF_SEVERAL,
    RAMPS,
    by_rate,
    by_rate_at,
    called,
    explains_a_tool,
    headings,
    loads,
    named,
    named_tool,
    offered_at_rps,
    text_of,
)
from runners.readers.percentile_tables import Column
from runners.readers.stated_figures import OF_RESULTS
from runners.readers.transcribed_run import LEAST_FIGURES, Run, in_text, inline, stated
from runners.readers.wrk_console import LONGEST_LINE, clean

#: A heading or caption of a table of rates, and columns that hold what is reckoned from others.
_OF_RATES = re.compile(
    r"(?i)\brequests?(?: per |\s?/\s?)s|(?<![a-z])req/s|\b[rq]ps\b|\bthroughput\b(?!.{0,20}\b[KMG]i?B)"
    r"|吞吐|QPS|пропускн\w+|запрос\w* в сек"
)
_NO_RUN = re.compile(r"(?i)\bvs\b|ratio|\brel(?:ative)?\b|winner|speed-?up|memory|cpu|[%\u00d7]")
#: Headings and captions of what is to be run; a rate alone in a table below them is the one to be offered.
_PLANNED = re.compile(
    r"(?i)\b(?:scenarios?|config\w*|parameters?|phases?|stages?|plans?|setup|settings|profiles?|options|workloads?"
    r"|rate[- ]limit\w*|quotas?|tiers?|pricing|сценари\w+|параметр\w*|профил\w+|escenarios?|cenários?|configura\w+)\b"
    r"|配置|场景|参数|시나리오|설정|設定|シナリオ"
)
_OF_WHOLE_REQUESTS = re.compile(r"(?i)^\W*http[\s_](?:req(?:uest)?[\s_])?(?:duration|latency|time)\b")
_OTHER_METRIC = re.compile(
    r"^(?:http_req_(?!duration)\w+|iteration_duration|data_\w+|group_duration|vus\w*|checks\w*)$"
)
_RULE = re.compile(r"^[\s|:+=-]*$")
_ITEM = re.compile(
    r"^\s*(?:[-*+]\s+)?(?P<name>[^:|\uff1a]{1,48}?)(?:[:\uff1a]|(?<=[a-z\d])=(?=\d))\s*(?=[^|]*\w)(?P<value>[^"
    r"|]{1,90})$"
)
_A_RUN = re.compile(r"(?i)^(?:run|iteration|attempt|trial|round|прогон|запуск|попытка|№|#)?\s?#?\d{1,2}$")
_A_RUN_HEAD = re.compile(
    r"^(?:#|№|no\.?|runs?|iterations?|attempts?|trials?|rounds?|tests? ?#|прогон|запуск|попытка|回|次)$"
)
#: What an author kept of an output, behind the name of what it is of.
_KEPT = re.compile(r"^\s*(?P<label>[^|:]{0,48}?)\s*Requests/sec:\s+(?P<rate>\d{1,9}(?:\.\d{1,4})?)(?![\d.])")
_COMMAND = re.compile(r"(?<![\w-])(?P<command>(?:[\w.]+/)*wrk2?(?:\s+-{1,2}[a-zA-Z][^\s`]*(?:\s+\d\w*)?)+[^`]*)")
_WHOLE_MILLISECONDS = frozenset({"ab", "Gatling", "JMeter", "Locust"})  # as their reports give them
_RATE_OF_SCRIPT = re.compile(r"(?:-e |^\s*)RATE=(\d{1,6})\b")
_RATES = ("rate", "throughput")
_ROUND_RATE = re.compile(r"\d{0,3},?\d{0,3}[05]0\s?/\s?s")
OF_A_RAMP = 0.25  # of its highest rate, below which no mean of a ramp lies that was held
BEYOND = 1.02  # of a planned rate, which none that was achieved exceeds
ROUND_RPS = 50.0  # of which a planned rate is a multiple
_USERS = re.compile(r"^(?:vus?|virtual users|users|пользовател\w+|usuarios|usuários|vu ?수?)$")
#: How a document writes a fraction: where with a point, a comma in a time stands between thousands.
_DECIMAL_POINT = re.compile(rf"\d\.\d{{1,2}}\s?(?:%|{TIME_UNIT})(?!\w)|\d,\d{{3}},\d{{3}}|\d,\d{{3}}\.\d")
_DECIMAL_COMMA = re.compile(rf"\d,\d{{1,2}}\s?(?:%|{TIME_UNIT})(?!\w)")
_GROUPED_TIME = re.compile(r"(?<![\d.,])(\d{1,3}),(\d{3})(?=[*`]{0,2}\s?(?:ms|мс|us|µs)(?!\w))")
LEAST_TABS = 2  # in each row of a table
LEAST_KEPT = 2  # one may be quoted for any reason
NEAR_LINES = 30  # tables further apart are of two runs
NAME_COLUMNS = 2  # the names of figures stand in one of the first columns


#: The names of figures by column, each with the microseconds of its unit; and the rows below a head.
Columns = dict[int, tuple[str, float | None]]
Body = Sequence[tuple[Line, list[str]]]


def transcribed(lines: Sequence[Line]) -> list[Column]:
    """Read the runs that tables and lists retell, in order, as outputs of the tool that the document names."""
    lines = _spelled(lines)
    of_several = OF_SEVERAL if set(named(text_of(lines))) - {"another"} else None
    tool = named_tool(lines) or of_several
    if kept := _kept(lines, tool):
        return [Column(report, label, index, len(kept), cell) for index, (report, label, cell) in enumerate(kept)]
    if tool is None or any(len(line.text) <= LONGEST_LINE and SIMULATED.search(line.text) for line in lines):
        return []
    bare = tool in called(text_of(lines))
    reading = _Reading(bare, 1e3 if tool in _WHOLE_MILLISECONDS else None)
    paced = by_rate(lines) or tool in ALWAYS_PACED
    several = paced and tool not in ALWAYS_PACED and len(headings(lines)) > 1
    ramped = any(len(line.text) <= LONGEST_LINE and RAMPS.search(line.text) for line in lines)
    runs = _once([run for run in _joined(_runs(lines, reading), loads(lines)) if run.is_run(bare)])
    if not runs and not explains_a_tool(lines) and not _is_unfilled(lines):
        runs = in_text(lines, tool, _runs(lines, _Reading(False, None)))
        runs = runs or (stated(lines) if tool != "wrk2" else [])
    rates = {match[1] for line in lines for match in _RATE_OF_SCRIPT.finditer(line.text[:LONGEST_LINE])}
    if tool == "k6" and len(rates) == 1:
        for run in runs:
            run.figures.setdefault("offered", float(next(iter(rates))))
    asked = {command.text: command for line in lines if (command := _command(line.text))}
    only = next(iter(asked.values())) if len(asked) == 1 and tool in ("wrk", "wrk2") else None
    reports = []
    for run in runs:
        highest = run.figures.pop("offered", None) if ramped else None
        if not bare:
            run.figures.pop("threads", None)  # they may be the server's
        at_rate = by_rate_at(lines, run.first_line, run.last_line) if several else paced
        wanted = (highest or offered_at_rps(lines, run.first_line, run.last_line)) if at_rate else None
        if wanted and (not ramped or run.figures.get("rate", wanted) < OF_A_RAMP * wanted):
            run.figures.setdefault("offered", wanted)
        reports.append((run, run.report(_of_heading(run) or tool if tool == OF_SEVERAL else tool, at_rate, only)))
    return [Column(report, run.label, index, len(runs), run.cell) for index, (run, report) in enumerate(reports)]


def _spelled(lines: Sequence[Line]) -> list[Line]:
    """Put tables whose cells tabs part, and times with a comma between thousands, as others write them."""
    written = [line.text for line in lines if len(line.text) <= LONGEST_LINE]
    grouped = any(map(_DECIMAL_POINT.search, written)) and not any(map(_DECIMAL_COMMA.search, written))
    spelled = []
    for line in lines:
        text = line.text
        if len(text) <= LONGEST_LINE:
            if text.count("\t") >= LEAST_TABS and "|" not in text and not text.startswith("\t"):
                text = f"| {' | '.join(text.split(chr(9)))} |"
            if grouped:
                text = _GROUPED_TIME.sub(r"\1\2", text)
        spelled.append(line if text == line.text else replace(line, text=text))
    return spelled


def _is_unfilled(lines: Sequence[Line]) -> bool:
    """Tell whether a table of figures is still to be filled in, so that what a document says is no measurement."""
    rows: list[list[str]] = []
    for line in (*lines, Line(-1, "")):
        text = line.text if len(line.text) <= LONGEST_LINE else ""
        if _is_row(text):
            cells = [cell.strip() for cell in text.strip().removeprefix("|").removesuffix("|").split("|")]
            rows += [] if _RULE.match(text) else [cells]
            continue
        head, *body = rows or [[]]
        figures = sum(1 for cell in (*head, *(row[0] for row in body)) if figure_name(cell))
        values = [cell for row in body for cell in row[1:]]
        if figures >= LEAST_FIGURES and values and not any(re.search(r"\d", cell) for cell in values):
            return True
        rows = []
    return False


def _of_heading(run: Run) -> str:
    """Name the one load tool that the heading above a run names; empty where it names none or several."""
    found = [name for name in named(run.heading) if name != "another"]
    return found[0] if len(found) == 1 else ""


def _kept(lines: Sequence[Line], tool: str | None) -> list[tuple[ConsoleReport, str, int | None]]:
    """Read the rates of wrk's or wrk2's outputs, where their last lines alone were kept."""
    commands = [_command(line.text) for line in lines]
    asked = {command.text for command in commands if command}
    only = next(filter(None, commands)) if len(asked) == 1 else None
    found = []
    above: CommandLine | None = None
    for line, command in zip(lines, commands, strict=True):
        above = None if line.text.startswith("#") else command or above
        match = _KEPT.match(line.text) if len(line.text) <= LONGEST_LINE else None
        if match is None or not (above or tool in ("wrk", "wrk2")):
            continue
        by = above or only
        rated = tool == "wrk2" or (by is not None and (by.rate_rps is not None or by.tool == "wrk2"))
        report = ConsoleReport(
            tool="wrk2" if rated else "wrk",
            command=by,
            requests_per_s=float(match["rate"]),
            transcribed=True,
            first_line=line.number,
            last_line=line.number,
        )
        found.append((report, match["label"].strip(), line.cell))
    return found if len(found) >= LEAST_KEPT else []


def _command(text: str) -> CommandLine | None:
    match = _COMMAND.search(text) if len(text) <= LONGEST_LINE else None
    return parse_command(match["command"].strip()) if match else None


def _once(runs: Sequence[Run]) -> list[Run]:
    """Leave out a table or list that says nothing of a run which another does not say too."""
    kept: list[Run] = []
    for index, run in enumerate(runs):
        figures = run.figures.items()
        others = [other for other in runs[index + 1 :] if len(other.figures) > len(figures)]
        others += [other for other in kept if not (run.label and other.label)]
        if not any(other.figures.items() >= figures for other in others):
            kept.append(run)
    return kept


@dataclass(frozen=True, slots=True)
class _Reading:
    """How tables are read: whether a rate alone is a run, and the microseconds of a time without a unit."""

    bare: bool
    default_us: float | None
    planned: bool = False


def _runs(lines: Sequence[Line], reading: _Reading) -> Iterator[Run]:
    """Find the runs of tables, lists and lines, with the heading that each stands under."""
    trail: list[tuple[int, str]] = []
    caption = ""
    position = 0
    while position < len(lines):
        text = lines[position].text
        if len(text) <= LONGEST_LINE and (mark := re.match(r"\s*(#{1,6})\s", text)):
            depth = len(mark[1])
            trail = [*((above, title) for above, title in trail if above < depth), (depth, text)]
        heading = trail[-1][1] if trail else ""
        wanted = NO_MEASUREMENT.search(heading) and not OF_RESULTS.search(heading)  # `SLO & results` holds both
        measured = not (wanted or any(EXPECTED.search(title) for _, title in trail))
        end = position
        while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _is_row(lines[end].text):
            end += 1
        found: Iterator[Run] = iter(())
        if end - position > 1:
            planned = _PLANNED.search(f"{heading} {caption}") is not None
            found = _table(
                lines[position:end],
                heading,
                caption,
                replace(reading, bare=reading.bare and not planned, planned=planned),
            )
        elif (of_line := inline(lines[position])) is not None:
            found, end = iter((of_line,)), position + 1
        else:
            while end < len(lines) and len(lines[end].text) <= LONGEST_LINE and _ITEM.match(lines[end].text):
                end += 1
            if end > position:
                found = _list(lines[position:end])
            elif text.strip():
                caption = plain(text)
        if measured:
            for run in found:
                run.heading = heading
                yield run
        position = max(end, position + 1)


def _is_row(text: str) -> bool:
    return text.count("|") >= 2 or ("|" in text and _RULE.match(text) is not None)


def _table(lines: Sequence[Line], heading: str, caption: str, reading: _Reading) -> Iterator[Run]:
    bars = [(line, clean(line.text).strip().removeprefix("|").removesuffix("|")) for line in lines]
    rows = [(line, [cell.strip() for cell in text.split("|")]) for line, text in bars]  # a cell may be empty
    rows = [(line, cells) for line, cells in rows if not _RULE.match("|".join(cells))]
    if len(rows) < LEAST_FIGURES:
        return
    (first, head), *body = rows
    across = {index: found for index, cell in enumerate(head) if (found := figure_name(cell, of_some=True))}
    taking = {index: across.pop(index) for index, (name, _) in list(across.items()) if name == "duration"}
    across |= _offered_and_achieved(head, body) | _durations(head, body)
    exact = not reading.planned and _is_exact(across, body)
    rate_alone = (
        (reading.bare or exact) and len(body) >= LEAST_FIGURES and any(name == "rate" for name, _ in across.values())
    )
    if len(across) >= LEAST_FIGURES or rate_alone:
        across = {**taking, **across}
        for run in _rows(head, across, body, caption, reading.default_us):
            run.of_rates = exact
            run.by_users = any(_USERS.match(plain(cell)) for cell in head) and "offered" not in run.figures
            yield run
        return
    named = [figure_name(cell) for _, cells in body for cell in cells[:NAME_COLUMNS]]
    has_names = any(found and found[0] != "duration" for found in named)
    by_load = [*across] == [0] and across[0][0] == "connections"
    units = [cell for _, cells in body for cell in cells[1:] if re.search(rf"(?i)\d\s?k?(?:{RATE_UNIT})$", plain(cell))]
    if (
        not has_names
        and (by_load or not across)
        and (_OF_RATES.search(f"{heading} {caption}") or len(units) > len(body))
    ):
        yield from _matrix(head, body, by_load)
    else:
        yield from _columns(head, body, caption, first, lines[-1].number)


def _is_exact(across: Columns, body: Body) -> bool:
    """Tell whether the rates of a table are figures that nobody plans."""
    rates = [
        read[1]
        for index, (name, scale) in across.items()
        if name == "rate"
        for _, cells in body
        if index < len(cells) and (read := value(cells[index], name, scale))
    ]
    return sum(1 for rate in rates if rate % ROUND_RPS) >= LEAST_FIGURES


def _durations(head: Sequence[str], body: Body) -> Columns:
    """Find the column of durations that are of requests, as of some milliseconds, next to a column of rates."""
    rated = any(named and named[0] == "rate" for named in map(figure_name, head))
    return {
        index: ("mean_us", None)
        for index, cell in enumerate(head)
        if rated
        and plain(cell) in ("duration", "time", "시간", "время")
        and any(
            re.match(r"[~\u2248]?\d[\d.]*\s?(?:ms|мс|µs|us)$", plain(row[index])) for _, row in body if index < len(row)
        )
    }


def _offered_and_achieved(head: Sequence[str], body: Body) -> Columns:
    """Find the columns `Target` and `Achieved` of a table, where their cells are rates.

    Also `Rate`, where its cells are round rates, and a column of such ones next to one of rates that are hardly higher.
    """
    found: Columns = {}
    for index, cell in enumerate(head):
        name = {"target": "offered", "offered": "offered", "achieved": "rate", "actual": "rate"}.get(plain(cell))
        rates = [cells[index] for _, cells in body if index < len(cells)]
        if name and any(re.search(rf"(?i)\d\s?(?:{RATE_UNIT})(?!\w)", rate) for rate in rates):
            found[index] = name, None
    if len(found) > 1:
        return found
    known = [(index, named[0]) for index, cell in enumerate(head) if (named := figure_name(cell))]
    of_rates = [(index, figure) for index, figure in known if figure in _RATES]
    plain_rate = [index for index, cell in enumerate(head) if plain(cell) == "rate"]
    if not of_rates and len(plain_rate) == 1:
        cells = [plain(cells[plain_rate[0]]) for _, cells in body if plain_rate[0] < len(cells)]
        round_ones = len(cells) > 1 and all(map(_ROUND_RATE.fullmatch, cells))
        return {plain_rate[0]: ("offered", None)} if round_ones else {}
    return _planned_and_achieved(of_rates, body) if len(of_rates) == 2 else {}


def _planned_and_achieved(columns: Sequence[tuple[int, str]], body: Body) -> Columns:
    (first, name), (second, other) = columns
    both = [
        (wanted[1], reached[1])
        for _, cells in body
        if second < len(cells)
        and (wanted := value(cells[first], name, None))
        and (reached := value(cells[second], other, None))
    ]
    planned = all(wanted % ROUND_RPS == 0 and reached <= BEYOND * wanted for wanted, reached in both)
    exact = any(reached % ROUND_RPS for _, reached in both)
    return {first: ("offered", None), second: (other, None)} if len(both) > 1 and planned and exact else {}


def _rows(
    head: Sequence[str],
    across: Columns,
    body: Body,
    caption: str,
    default_us: float | None,
) -> Iterator[Run]:
    """Read a table whose head holds the names of figures: each row is a run, named by the cell with its words.

    A row without such a cell, and without a load, is one of several runs of what the caption names.
    """
    loads = {index for index, (name, _) in across.items() if name in ("connections", "offered")}
    others = [index for index in range(len(head)) if index not in across and not _A_RUN_HEAD.match(plain(head[index]))]
    worded = [
        [cell for index, cell in enumerate(cells) if index not in across and re.search(r"[^\W\d_]", cell)]
        for _, cells in body
    ]
    titles = [names[0] if names else cells[0] for names, (_, cells) in zip(worded, body, strict=True)]
    often = Counter(titles)
    of_groups = LEAST_FIGURES * len(often) <= len(titles)
    for names, title, (line, cells) in zip(worded, titles, body, strict=True):  # titles stand behind a place
        if others and often[title] > 1 and (of_groups or title in cells[others[0] : others[0] + 1]):
            before = [index for index in others if index < max(across)] or others  # what distinguishes these runs
            title = " ".join(cells[index] for index in before if index < len(cells))
        name = plain(title)
        if _OTHER_METRIC.match(name) or NO_MEASUREMENT.search(name):
            continue
        unnamed = not names and 0 in across and not loads
        label = "" if _A_RUN.match(name) and 0 not in across else f"({caption})" if unnamed else f"{title} ({caption})"
        run = Run(label, line.number, line.number, line.cell)
        for index, (figure, scale) in across.items():
            if index < len(cells) and (read := value(cells[index], figure, scale or default_us, rough=True)):
                run.take(read, cells[index])
        yield run


def _columns(head: Sequence[str], body: Body, caption: str, first: Line, last_line: int) -> Iterator[Run]:
    """Read a table whose rows are figures: each column behind their names is a run."""
    named_by = max(
        range(NAME_COLUMNS),
        key=lambda index: sum(1 for _, cells in body if index < len(cells) and figure_name(cells[index])),
    )
    down = [(cells, named) for _, cells in body if named_by < len(cells) and (named := figure_name(cells[named_by]))]
    titles = [index for index, title in enumerate(head) if index > named_by and not NO_MEASUREMENT.search(title)]
    runs = []
    for index in titles:
        title = plain(head[index])
        label = "" if _A_RUN.match(title) else f"{head[index]} ({caption})"
        unit = UNIT_IN_NAME.search(title)
        run = Run(label, first.number, last_line, first.cell)
        for cells, (name, scale) in down:
            in_head = scale or (UNITS_US[unit[1] or unit[2]] if unit else None)
            if index < len(cells) and (read := value(cells[index], name, in_head, rough=True)):
                run.take(read, cells[index])
        if run.figures:
            runs.append(run)
    if whole := [run for run in runs if _OF_WHOLE_REQUESTS.match(plain(run.label))]:
        runs = whole[:1]  # the others are times of its parts
    for run in runs:
        run.single = len(runs) == 1
        yield run


def _matrix(head: Sequence[str], body: Body, by_load: bool) -> Iterator[Run]:
    """Read a table of nothing but rates: of what the columns name, in what the rows name, or at their connections."""
    columns = [
        index
        for index, title in enumerate(head)
        if index and not (_NO_RUN.search(title) or NO_MEASUREMENT.search(title))
    ]
    columns = [
        index for index in columns if any(value(cells[index], "rate", None) for _, cells in body if index < len(cells))
    ]
    for line, cells in body:
        rates = [(index, value(cells[index], "rate", None)) for index in columns if index < len(cells)]
        load = value(cells[0], "connections", None) if by_load else None
        known = load is not None if by_load else re.search(r"[^\W\d_]", cells[0]) is not None
        if len(rates) >= LEAST_FIGURES and all(read for _, read in rates) and known:
            for index, read in rates:
                label = f"{head[index]} ({cells[0]})"
                figures = dict(found for found in (read, load) if found)
                yield Run(label, line.number, line.number, line.cell, figures, of_rates=True)


def _list(lines: Sequence[Line]) -> Iterator[Run]:
    run = Run("", lines[0].number, lines[-1].number, lines[0].cell, single=True)
    for line in lines:
        if classes := status_classes(line.text):
            run.figures = {**classes, **run.figures}
            continue
        item = _ITEM.match(line.text)
        named = figure_name(item["name"]) if item else None
        if item and named and named[0] != "threads" and (read := value(item["value"], *named, rough=True)):
            run.take(read, item["value"])
        elif (of_line := inline(line)) and not run.figures.keys() & of_line.figures.keys():
            run.figures |= of_line.figures
    if run.figures:
        yield run


def _joined(runs: Iterator[Run], loads_at: Sequence[int]) -> Iterator[Run]:
    """Take small tables that follow one another and state other figures as of one run, if no other load is stated."""
    before: Run | None = None
    for run in runs:
        if (
            before is not None
            and before.single
            and run.single
            and run.first_line - before.last_line <= NEAR_LINES
            and before.cell == run.cell
            and before.figures.keys() & run.figures.keys() <= {"duration"}
            and not any(before.last_line < number < run.first_line for number in loads_at)
        ):
            before.figures |= run.figures
            before.last_line = run.last_line
            continue
        if before is not None:
            yield before
        before = run
    if before is not None:
        yield before
