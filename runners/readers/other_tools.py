"""Finds the end summaries of other load tools in any text around them, and reads them as outputs like wrk's.

What is read of each tool's summary is in `request_tools` and `scenario_tools`. What such a summary cannot show is
missing in the report: none of these tools corrects a closed loop's latency, and many print whole milliseconds. Nothing
in an input is an error; a part that is cut leaves its fields None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from runners.readers import request_tools, scenario_tools
from runners.readers.console_report import ConsoleReport, SummaryBlock
from runners.readers.documents import Line, Problem
from runners.readers.wrk_console import LONGEST_LINE, clean

_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")
LONGEST_BLOCK = 1_000  # lines; the longest summary, memtier's with the histograms of several operations, has hundreds
#: Tools whose connections wait for a response before they send again.
CLOSED_LOOPS = frozenset(
    {"wrk", "ab", "autocannon", "bombardier", "go-wrk", "hey", "JMeter", "loadtest"}
    | {"Locust", "memtier_benchmark", "oha", "redis-benchmark", "rewrk", "siege"}
)
OTHER_TOOLS = CLOSED_LOOPS - {"wrk"} | {"Artillery", "Gatling", "HdrHistogram", "k6", "vegeta"}
LEAST_HIGHEST = 0.99  # a spectrum that ends below it says nothing of the tail
WHOLE_MILLISECONDS = frozenset({"ab", "autocannon", "Gatling", "JMeter", "Locust"})
#: Tools whose rate is the mean of those of short intervals, not requests by duration.
MEAN_OF_INTERVALS = frozenset({"Artillery", "autocannon", "bombardier"})
#: After how many seconds a tool gives up on a response, unless it is asked otherwise.
TIMEOUTS_S = {"wrk": 2.0, "Artillery": 10.0, "autocannon": 10.0, "bombardier": 2.0, "hey": 20.0, "k6": 60.0}
#: What the tools print before and after their summaries; nobody's prose.
CHATTER = re.compile(
    r"^\s*(?:Creating summariser <|Created the tree successfully|Starting (?:the|standalone) test|Waiting for possible "
    r"Shutdown|Tidying up \.|\.\.\. end of run|Simulation \S+ (?:started|completed)|Parsing log file|Generating reports"
    r"|(?:INFO|WARN|ERRO)\[\d+\]|running \(\d|(?:execution|script|output|scenarios): |default\s+[✓✗]|[/\\|_‾() ]+$"
    r"|\[\d{4}-\d\d-\d\d [\d:,.]+\] \S+/(?:DEBUG|INFO|WARNING|ERROR)/locust"
    r"|Reports generated, please open|Please open the following file|Json file closed"
    r"|All (?:virtual users|VUs) finished|Started phase \d|Phase (?:started|completed)|Report @ |Metrics for period"
    r"|Test run id:|Elapsed time:"  # Artillery
    r"|\S+\s+[✓✗↓]\s+\[|\s{4,}[✓✗]\s+\S|↳|█ "  # k6
    r"|\*\* (?:SIEGE|Preparing)|The server is now under siege|Lifting the server siege|You can disable this annoying"
    r"|the \.siegerc file|the directive 'show-logfile'"
    r"|\[\d+\]\s+(?:Get|Post|Put|Patch|Delete|Head|.*(?:dial tcp|refused|deadline|responses$))"  # hey
    r"|(?:Get|Post|Put|Patch|Delete|Head) \"?https?://|\d{3} (?:[A-Z][a-z-]+ ?){1,3}$"  # vegeta
    r"|Completed \d+ requests|Finished \d+ requests|Benchmarking \S+ \(be patient\)|Copyright 1996 Adam"
    r"|Licensed to The Apache)"
)
_STARTS = request_tools.STARTS | scenario_tools.STARTS
_TAKERS = {**request_tools.TAKERS, **scenario_tools.TAKERS}
_ANY_START = re.compile("|".join(start.pattern for start in _STARTS.values()))
#: Lines of which a summary holds several; the first one begins it.
_REPEATED = frozenset({"ab", "autocannon", "go-wrk", "k6", "JMeter", "Locust", "memtier_benchmark"})
#: Tools whose first line says nothing yet.
_ALIKE = frozenset({"Artillery", "go-wrk", "Locust", "rewrk"})
#: Summaries that an empty line ends; what follows may be another tool's with lines like theirs.
_UNBROKEN = frozenset({"go-wrk", "siege"})


#: What is known to be a load tool's, and is not read; each by a line that no other tool prints.
_NOT_READ = {
    "fortio": re.compile(r"^Aggregated Function Time : count \d"),
    "ab -g": re.compile(r"^starttime\tseconds\tctime\tdtime\tttime\twait"),
}


def not_read(lines: Sequence[Line]) -> Iterator[Problem]:
    """Name the outputs of load tools that are not read, once a tool."""
    left = dict(_NOT_READ)
    for line in lines:
        for name in [name for name, mark in left.items() if len(line.text) <= LONGEST_LINE and mark.match(line.text)]:
            del left[name]
            yield Problem(line.number, f"an output of {name}, which is not read: no finding is about it")


def find_others(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Find the summaries of other tools: where each begins and ends among the lines, and what it says."""
    block: SummaryBlock | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        text = clean(line.text)
        if len(text) > LONGEST_LINE:
            continue
        tool = None
        if _ANY_START.match(text):
            tool = next(name for name, start in _STARTS.items() if start.match(text))
        anew = tool is not None and not (block and _goes_on(block, tool))
        ended = text.lstrip().startswith(("```", "~~~")) or (block and block.tool in _UNBROKEN and not text.strip())
        wrks = _OF_WRK.match(text) is not None and block is not None and block.tool != "autocannon"
        if block and (anew or ended or wrks or index - begin > LONGEST_BLOCK):
            yield from _closed(block, begin, end)
            block = None
        if anew and tool:
            block, begin, end = SummaryBlock(tool, line.number, line.number), index, index
        if block is None:
            continue
        for pattern, take in _TAKERS[block.tool]:
            if match := pattern.match(text):
                take(block, match)
                block.last_line, end = line.number, index
                break
    if block:
        yield from _closed(block, begin, end)


def _goes_on(block: SummaryBlock, tool: str) -> bool:
    """Tell whether a line that could begin a summary belongs to the one that is open."""
    if block.tool == "redis-benchmark" and tool == "hey":  # both print a line `Summary:`
        return True
    whole = tool in ("ab", "go-wrk") and "elapsed_s" in block.said
    return block.tool == tool and tool in _REPEATED and not whole


def _is_whole(block: SummaryBlock) -> bool:
    """Tell whether more came of a summary than the line that begins it, which other programs may print too."""
    if block.tool in ("autocannon", "k6"):
        return bool(block.rows)
    return block.tool not in _ALIKE or bool({"requests", "requests_per_s"} & block.said.keys())


def _closed(block: SummaryBlock, begin: int, end: int) -> Iterator[tuple[int, int, ConsoleReport]]:
    if operations := block.operations or block.totals:
        yield from ((begin, end, request_tools.with_histogram(report, block)) for report in operations)
    elif block.said and _is_whole(block):
        report = block.finish()
        if report.tool == "vegeta" and report.requests and report.elapsed_s:  # its throughput leaves errors out
            report = replace(report, requests_per_s=report.requests / report.elapsed_s)
        yield begin, end, report


def missing_of_others(report: ConsoleReport) -> tuple[str, ...]:
    """Name what a reader needs of any tool's output and this one lacks: percentiles to p99, a number of requests."""
    levels = [level for level, _ in report.latencies.rows if level < 1]
    if report.tool == "ab" and report.requests_per_s is None and report.diagnostics:
        return ()  # it broke off, and says why
    lacks = []
    if not levels:
        lacks.append("percentiles")
    elif max(levels) < LEAST_HIGHEST:
        lacks.append(f"percentiles beyond p{max(levels) * 100:g}")
    if report.requests is None and report.requests_per_s is None:  # by the rate a reader can reckon it
        lacks.append("the number of requests")
    return (*lacks, *(line for line in report.extra if line.startswith("the unit of")))
