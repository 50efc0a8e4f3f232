"""What is read takes a time that grows with its length, and not with its square, whatever it is made of."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import pytest

from runners.audit.audit import audit
from runners.audit.listing import as_text
from runners.readers.documents import Document
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import CLOSED
from runners.tests.tiers import LONG

LENGTH = 25_000  # characters, and four times as many
EACH_DOUBLING = 2.5
NOISE_S = 0.05
ROUNDS = 10
#: Kinds with a figure in each line take ten times as long as others.
OF_FIGURES = ("percentiles", "table of arrows")
HEAD = "Running 1m test @ http://h\n  1 threads and 8 connections\n"

#: Of each kind a head and what is repeated after it.
KINDS: dict[str, tuple[str, str]] = {
    "letters": ("", "a"),
    "digits": ("", "7"),
    "spaces": ("", " "),
    "pipes": ("", "|"),
    "hashes": ("", "#"),
    "underscores": ("", "_"),
    "angles": ("", "<"),
    "tags": ("", "<p>"),
    "cells": ("", "</td> "),
    "brackets": ("", "]("),
    "colours": ("", "\x1b["),
    "quotes": ("", "> "),
    "commas": ("", "1,"),
    "arrows": ("p50 ", "1ms -> "),
    "rates": ("", "5 RPS "),
    "braces": ("", "{"),
    "nested JSON": ("", '{"a":['),
    "fences": ("", "```\n"),
    "headings": ("", "# a b #\n"),
    "list": ("", "          * item 5 ms\n"),
    "long lines": ("", "7" * 3_900 + "\n"),
    "long lines of spaces": ("", " " * 3_900 + "x\n"),
    "table": ("| p50 | p99 |\n|---|---|\n", "| 1 ms | 2 ms |\n"),
    "table of arrows": ("", "p50: 1ms -> 2ms\n"),
    "percentiles": ("", " 50.000%   5.00ms\n"),
    "spectrum": (HEAD + "  Detailed Percentile spectrum:\n", "   5.000     0.500000         5000         2.00\n"),
    "heads": ("", HEAD),
    "commands": ("", "wrk -t1 -c1 -d1 http://h\n"),
    "wrapped commands": ("", "wrk -t1 \\\n"),
    "consoles": ("", CLOSED),
    "hey": ("", "Summary:\n  Total: 5 secs\n"),
    "hey's names": ("", "hey" + "_a" * 900 + "!\nSummary:\n  Total: 5 secs\n  Requests/sec: 5.0\n"),
    "k6": ("", "http_reqs....: 5 5/s\n"),
    "k6 samples": ("", '{"type":"Point","metric":"http_req_duration","data":{"value":1.5,"tags":{}}}\n'),
    "JMeter": ("timeStamp,elapsed,label\n", "1700000000000,5,a\n"),
    "JMeter's XML": ("<testResults>\n", '<sample t="1" ts="2"/>\n'),
    "torn XML": ("<testResults>\n", "<sample "),
    "histogram": ("Value(ms) Percentile TotalCount 1/(1-Percentile)\n", "1.0 0.5 100 2.0\n"),
}


def took_s(text: str) -> float:
    """The CPU time of an audit of a text, in seconds."""
    begin = time.process_time()
    as_text(audit([outputs_of(Document(text))]))
    return time.process_time() - begin


def of_length(kind: str) -> Callable[[int], str]:
    head, repeated = KINDS[kind]
    return lambda length: head + repeated * (length // len(repeated))


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_text_takes_four_times_as_long(kind: str) -> None:
    """A stall of the machine makes an audit slower, never faster: the least times of up to ten rounds are compared."""
    text, length = of_length(kind), LENGTH // 3 if kind in OF_FIGURES and not LONG else LENGTH
    short = long = math.inf
    for _ in range(ROUNDS):
        short, long = min(short, took_s(text(length))), min(long, took_s(text(4 * length)))
        if long <= EACH_DOUBLING**2 * short + NOISE_S:
            return
    pytest.fail(f"{length} characters took {short:.3f} s, four times as many {long:.3f} s")
