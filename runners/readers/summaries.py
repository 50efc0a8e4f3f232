"""Find the summaries of load tools among the lines of a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line
from runners.readers.summary import Summary
from runners.readers.summary_tools import TOOLS
from runners.readers.wrk_console import LONGEST_LINE, clean

LONGEST_BLOCK = 1_000  # lines; the longest summary, k6's with the metrics of many groups, has hundreds
_ANY_START = re.compile("|".join(f"(?:{tool.start.pattern})" for tool in TOOLS.values()))
_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")


def find_summaries(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Yield each summary: the indices of its first and last line, and its report."""
    summary: Summary | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            continue
        text = clean(line.text)
        tool = _begun_by(text)
        anew = tool is not None and not (summary and _goes_on(summary, tool))
        if summary and (anew or index - begin > LONGEST_BLOCK or _ends(summary, text)):
            if _is_complete(summary):
                yield begin, end, summary.finish()
            summary = None
        if anew and tool:
            summary, begin, end = Summary(tool, line.number, line.number), index, index
        if summary is None:
            continue
        for pattern, take in TOOLS[summary.tool].lines:
            if match := pattern.match(text):
                take(summary, match)
                summary.last_line, end = line.number, index
                break
    if summary and _is_complete(summary):
        yield begin, end, summary.finish()


def _begun_by(text: str) -> str | None:
    if not _ANY_START.match(text):
        return None
    return next(name for name, tool in TOOLS.items() if tool.start.match(text))


def _goes_on(summary: Summary, tool: str) -> bool:
    """Return whether a line that could begin a summary belongs to the one that is open."""
    next_run = tool == "ab" and "elapsed_s" in summary.figures
    return summary.tool == tool and TOOLS[tool].repeated and not next_run


def _ends(summary: Summary, text: str) -> bool:
    """Return whether a line ends the open summary: a fence, or the first line of wrk's output."""
    return text.lstrip().startswith(("```", "~~~")) or (summary.tool != "autocannon" and bool(_OF_WRK.match(text)))


def _is_complete(summary: Summary) -> bool:
    """Return whether a summary has the figures without which its first line may be another program's."""
    proof = TOOLS[summary.tool].proof
    return summary.has(proof) if proof else bool(summary.figures)
