"""Say how far a report can be trusted: checks that failed and what they touch, those that passed, its own figures."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from runners.analysis import facts
from runners.claims.checks import NOTHING_TO_LOOK_AT
from runners.claims.conclusion import Check, Conclusion
from runners.claims.question import Answered
from runners.readers import write
from runners.readers.run import Run
from runners.report.fixed_rate import LEVELS
from runners.report.tables import Shown

MOST_TEXT = 320  # characters of a check
PROSE = "figures and prose"
SAME = 0.01  # of a value in a table and in the data of a figure
_NUMBER = re.compile(r"(?<![\w.])[+\u2212-]?\d[\d\u202f]*(?:\.\d+)?[ \u00a0]?(?:/s|us|ms|s|%)(?!\w)")


def failed_checks(checks: Iterable[Check], conclusion: Conclusion) -> Iterator[tuple[Check, str]]:
    """Checks that failed, each with the questions that they touch."""
    for check in checks:
        if check.ok is False:
            touched = [each for each in conclusion.answers if each.answer.rests_on & set(check.steps)]
            alone = check.steps or check.name == PROSE
            which = "no answer by itself" if alone else "all answers"
            if touched:
                which = f"the answer{'s' if len(touched) > 1 else ''} to {question_numbers(touched, conclusion)}"
            yield replace(check, name=_named(check), text=shortened(check.text)), which


def passed_checks(checks: Collection[Check]) -> str:
    """Return the checks that passed, in one line."""
    passed = [check for check in checks if check.ok]
    names = dict.fromkeys(f"{_named(check)} ({check.note})" if check.note else _named(check) for check in passed)
    unknown = [_named(check) for check in checks if check.ok is None and check.text != NOTHING_TO_LOOK_AT]
    text = f"Passed: {', '.join(names)}" if names else "No check passed"
    return write.sentence(text + (f". Not known: {', '.join(unknown)}" if unknown else ""))


def _named(check: Check) -> str:
    """Return a check as a reader names it: starts of put-compared."""
    return check.name.replace(", ", " of ")


def shortened(text: str) -> str:
    """Return a long text up to a sentence, else to a word, that still fits."""
    if len(text) <= MOST_TEXT:
        return text
    whole, end, _ = text[:MOST_TEXT].rpartition(". ")
    return f"{whole}. …" if end else f"{text[:MOST_TEXT].rpartition(' ')[0]} …"


def question_numbers(chosen: Sequence[Answered], conclusion: Conclusion) -> str:
    """Questions by their numbers in the report: question 2, questions 1 and 3."""
    numbers = [str(place) for place, each in enumerate(conclusion.answers, 1) if each in chosen]
    return f"question{'s' if len(numbers) > 1 else ''} {write.listed(numbers)}"


def figures_and_prose(figures: Iterable[Shown], prose: str, run: Run) -> Check:
    """Check that every number in the heading of a figure stands in the report's prose or tables too."""
    said = set(numbers_in(prose))
    parts = []
    for shown in figures:
        # a figure that writes its own numbers, as alternative text does too, needs no other text
        texts = (each for axes in shown.picture.axes for each in axes.findobj(Text) if isinstance(each, Text))
        alt = shown.picture.alt.replace(shown.picture.get_suptitle(), "")
        written = " ".join([alt, *(each.get_text() for each in texts)])
        own = set(numbers_in(written))
        if lost := [n for n in numbers_in(shown.picture.get_suptitle()) if n not in said | own]:
            parts.append(f"{shown.anchor}: {write.listed(lost)} not in the text")
        if beyond_its_panel(shown.picture):
            parts.append(f"{shown.anchor}: a part of what is drawn lies beyond its panel")
        parts += [f"{shown.anchor}: {text}" for text in _against_data(shown, run)]
    text = "; ".join(parts) or "numbers in the headings of figures stand in the text, and tables agree with their data"
    return Check(PROSE, not parts, write.sentence(text))


def _against_data(shown: Shown, run: Run) -> Iterator[str]:
    """Yield percentiles that tables quote of a load and that the figure's data of the same load do not have."""
    if not shown.anchor.startswith("spectrum-") or "step" not in shown.data:
        return
    for step in run.find(kind="load", profiled=False):
        rows = shown.data[(shown.data["step"] == step.name) & (shown.data["kind"] == facts.RESPONSE)]
        rows = rows.sort_values("percentile")
        for level in LEVELS:
            value = facts.quoted(step, level)
            if value is None or value.at_least or len(rows) < 2:
                continue
            below, above = rows[rows["percentile"] <= level], rows[rows["percentile"] >= level]
            low = below["value_us"].iloc[-1] if len(below) else 0.0
            high = above["value_us"].iloc[0] if len(above) else math.inf
            if not (1 - SAME) * low <= value.value <= (1 + SAME) * high:
                yield f"{facts.title(step)} {write.level(level)} is {write.latency(value.value)} in the table"


def beyond_its_panel(picture: Figure) -> bool:
    """Return whether a curve or a bar goes beyond the upper or lower end of its panel."""
    for axes in picture.axes:
        low, high = sorted(axes.get_ylim())
        spare = SAME * (high - low)
        left, right = sorted(axes.get_xlim())
        values = []
        for line in (line for line in axes.get_lines() if line.get_transform() == axes.transData):
            x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            values.append(y[(x >= left) & (x <= right)])  # a figure may show a part of a curve's length
        bars = (
            bar for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_data_transform() == axes.transData
        )
        values += [np.array([bar.get_y(), bar.get_y() + bar.get_height()]) for bar in bars]
        every = np.concatenate(values) if values else np.array([])
        every = every[np.isfinite(every)]
        if len(every) and (every.max() > high + spare or every.min() < low - spare):
            return True
    return False


def numbers_in(text: str) -> list[str]:
    """Quantities with their units, as written."""
    return [found.replace("\u00a0", " ").lstrip("+") for found in _NUMBER.findall(text)]
