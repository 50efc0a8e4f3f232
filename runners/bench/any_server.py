"""Rows on `lab compare --fail-on "cpu>+3%"` of a worked example: how often is planted work found, and work that is not?

Work of a tenth of the processor time that a request takes is planted into a copy of the example, at the beginning of
its handler; what a request takes is read from comparisons of the example with itself, in which nothing may be found.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scipy.stats import binom

from runners.bench.fixture import Fixture
from runners.bench.row import Row
from runners.claims.gate import EXIT_FAILED
from runners.errors import MeasureError
from runners.toolchain.tools import ROOT

EXAMPLES = ROOT / "runners" / "docs" / "examples"
LIMIT, SHARE = "cpu>+3%", 0.1
#: So that a whole comparison takes less than three minutes.
SHORT = ("--size", "smoke", "--minutes", "2", "--connections", "4", "-p", "repeat_s=5")
LONGEST_S, USUAL_S = 180.0, 80.0
FALSE_SHARE, FOUND_SHARE = 0.05, 0.9
#: By language: the file, the line that begins its handler, and what follows it, for so many nanoseconds of work.
PLANTS = {
    "python": (
        "server.py",
        "    def do_GET(self) -> None:\n",
        "        import time\n\n        until = time.thread_time_ns() + {ns}\n"
        "        while time.thread_time_ns() < until:\n            pass\n",
    ),
    "node": (
        "server.js",
        "const server = http.createServer((request, response) => {\n",
        "  const until = process.hrtime.bigint() + {ns}n;\n  while (process.hrtime.bigint() < until);\n",
    ),
    "go": (
        "server.go",
        '\thttp.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {\n',
        "\t\tfor begin := time.Now(); time.Since(begin) < {ns}*time.Nanosecond; {{\n\t\t}}\n",
    ),
}


def planted(language: str, folder: Path, work_ns: int) -> Path:
    """Copy an example, with so much work in each request; gives its description."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(EXAMPLES / language, folder)
    name, line, work = PLANTS[language]
    text = (folder / name).read_text(encoding="utf-8")
    if text.count(line) != 1:
        raise ValueError(f"{name} of the example has no line {line.strip()!r}")
    if work_ns:
        text = text.replace(line, line + work.format(ns=work_ns))
        text = text.replace('\t"os"\n', '\t"os"\n\t"time"\n')  # Go names what it uses
    (folder / name).write_text(text, encoding="utf-8")
    target = folder / "target.yaml"
    described = target.read_text(encoding="utf-8")
    target.write_text(described.replace(f"name: {language}\n", f"name: {folder.name}\n"), encoding="utf-8")
    return target


def compared(on: Fixture, pair: Sequence[Path]) -> tuple[int, dict[str, Any], float]:
    """Compare two targets by the command; gives its exit code, its row on processor time, and the seconds taken."""
    runs = on.folder / "runs"
    words = [word for path in pair for word in ("--target", str(path))]
    command = [sys.executable, "-m", "runners.cli", "compare", *words, *SHORT, "--fail-on", LIMIT, "--json"]
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ, LAB_RUNS=str(runs)), capture_output=True, text=True, check=False
    )
    took_s = time.monotonic() - began
    shutil.rmtree(runs, ignore_errors=True)
    if not done.stdout:
        raise MeasureError("lab compare", f"exit code {done.returncode}: {done.stderr[-2000:]}", "run it by hand")
    (found,) = json.loads(done.stdout)["comparisons"]
    row: dict[str, Any] = next((each for each in found["rows"] if each["quantity"] == "cpu_us"), {})
    return done.returncode, row, took_s


def rows(on: Fixture, language: str, repeats: int) -> Iterator[Row]:
    """Compare an example with itself, then half as often with the same and a tenth more work."""
    same, count = planted(language, on.folder / language, 0), max(1, repeats // 2)
    minutes = (repeats + count) * USUAL_S / 60
    print(f"  any-{language}: {repeats} + {count} comparisons, about {minutes:.0f} minutes", flush=True)
    alike = [_repeat(on, f"{language} against itself", (same, same)) for _ in range(repeats)]
    false, limit = sum(code == EXIT_FAILED for code, _, _ in alike), max(1.0, binom.ppf(0.95, repeats, FALSE_SHARE))
    yield Row(f"power/aa-{language}/false-vs-limit", "findings", (float(false),), (limit,), "<=", 1.0, _note(alike))
    request_us = statistics.median(row["baseline_value"] for _, row, _ in alike if row)
    slower = planted(language, on.folder / f"{language}-slower", round(request_us * SHARE * 1e3))
    found = [_repeat(on, f"{language} with {SHARE:.0%} more", (same, slower)) for _ in range(count)]
    hits, wanted = sum(code == EXIT_FAILED for code, _, _ in found), round(FOUND_SHARE * count)
    yield Row(
        f"power/planted-{language}/found-vs-wanted", "findings", (float(hits),), (float(max(1, wanted)),), ">=", 1.0,
        f"{request_us * SHARE:.3g} us of {request_us:.3g} planted; {_note(found)}",
    )  # fmt: skip
    longest_s = max(took_s for _, _, took_s in (*alike, *found))
    yield Row(f"power/longest-{language}", "s", (longest_s,), (LONGEST_S,), "<=", 1.0)


def _repeat(on: Fixture, name: str, pair: Sequence[Path]) -> tuple[int, dict[str, Any], float]:
    code, row, took_s = compared(on, pair)
    change = f"{row['ratio'] - 1:+.1%} ({row['low'] - 1:+.1%} to {row['high'] - 1:+.1%})" if row else "not known"
    print(f"  {name}: exit code {code}, CPU {change}, {took_s:.0f} s", flush=True)
    return code, row, took_s


def _note(found: Sequence[tuple[int, dict[str, Any], float]]) -> str:
    changes = [row["ratio"] - 1 for _, row, _ in found if row]
    codes = ", ".join(f"{sum(code == each for code, _, _ in found)} with {each}" for each in (0, EXIT_FAILED, 4))
    if not changes:
        return f"of {len(found)}: {codes}"
    spread = f"CPU {statistics.median(changes):+.1%} ({min(changes):+.1%} to {max(changes):+.1%})"
    return f"of {len(found)}: {codes}; {spread}"
