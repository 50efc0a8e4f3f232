"""Nothing that can be written makes the audit fail, or makes it see a figure that is not in the text."""

from __future__ import annotations

import json
import os
import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from runners.audit.audit import Audit, examine
from runners.audit.listing import as_json, as_text
from runners.readers.documents import Document
from runners.readers.outputs import outputs_of
from runners.readers.published import ROOT
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, key, possible, said

REAL = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("*/*.txt"))]
SEEDS = 10_000 if os.environ.get("LAB_LONG") else 500
WORDS = ("Latency", "Requests/sec", "threads and", "connections", "Running", "requests in", "Distribution", "Thread")
UNITS = ("us", "ms", "s", "m", "h", "k", "M", "%", "KB", "MB", "мс", "", "nan")


def audited(text: str) -> Audit:
    file = outputs_of(Document(text))
    return Audit((file,), examine(file.outputs))


def hold(text: str) -> None:
    """What must be true of the audit of any text."""
    result = audited(text)
    figures = possible(text)
    for output in result.outputs:
        assert {key(figure) for figure in said(output.report)} <= figures, output
        assert 1 <= output.line <= text.count("\n") + text.count("\r") + 1
    assert all(letter.isprintable() or letter == "\n" for letter in as_text(result))
    document = json.loads(as_json(result))
    assert len(document["runs"]) == len(result.outputs)


def mutated(text: str, chance: random.Random) -> str:
    """A real output as people cut, edit, translate and paste it."""
    lines = text.splitlines()
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines)) if lines else 0
        match chance.randrange(9):
            case 0:
                del lines[at : at + chance.randint(1, 12)]
            case 1 if lines:
                old, new = chance.choice(UNITS[:-2]), chance.choice(UNITS)
                lines[at] = lines[at].replace(old, new, 1)
            case 2:
                word = chance.choice(WORDS)
                lines = [line.replace(word, "Задержка" if chance.random() < 0.5 else "遅延") for line in lines]
            case 3 if lines:
                place = chance.randint(0, len(lines[at]))
                lines[at] = lines[at][:place] + lines[at][place + chance.randint(1, 3) :]
            case 4 if lines:
                place = chance.randint(0, len(lines[at]))
                lines[at] = (
                    lines[at][:place]
                    + chance.choice((" ", "|", "->", "9", "-", "e5", "\0", "\u202e"))
                    + lines[at][place:]
                )
            case 5 if lines:
                lines.insert(chance.randint(0, len(lines)), lines[at])
            case 6:
                lines = [f"> {line}" for line in lines]
            case 7:
                other = chance.choice(REAL).splitlines()
                lines[at:at] = other[: chance.randint(0, len(other))]
            case _:
                part = lines[at : at + 5]
                chance.shuffle(part)
                lines[at : at + 5] = part
    return chance.choice(("\n", "\r\n", "\r")).join(lines)


def test_mutated_outputs_hold() -> None:
    for seed in range(SEEDS):
        chance = random.Random(seed)
        text = mutated(chance.choice(REAL), chance)
        try:
            hold(text)
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{text}")


@given(st.text())
@settings(deadline=None)
def test_any_text_holds(text: str) -> None:
    audited(text)


_LINES = st.sampled_from(
    (*HEALTHY.splitlines(), *CLOSED.splitlines(), "p50: 1ms -> 2ms", "| p50 | p99 |", "| 1ms | x |", "", "#")
)


@given(st.lists(_LINES, max_size=30))
@settings(deadline=None)
def test_any_order_of_lines_holds(lines: list[str]) -> None:
    hold("\n".join(lines))


_DIGITS = st.sampled_from(("0", "-1", "nan", "inf", "1e999", "9" * 400, "0.0", "1.2.3", "٣"))


@given(st.integers(0, 200), _DIGITS)
@settings(deadline=None)
@example(0, "nan")
@example(0, "inf")
@example(6, "nan")
def test_any_figure_may_be_absurd(which: int, absurd: str) -> None:
    places = [match.span() for match in re.finditer(r"\d+(?:\.\d+)?", HEALTHY)]
    start, end = places[which % len(places)]
    result = audited(HEALTHY[:start] + absurd + HEALTHY[end:])
    as_text(result)
    as_json(result)
