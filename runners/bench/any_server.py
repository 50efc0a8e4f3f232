"""`make bench-any-server`: how often does `lab compare --fail-on "cpu>+3%"` find planted work, and a change of none?

A tenth of the CPU time of a request is planted as work into a copy of a worked example, at the beginning of its
handler. That CPU time is read from comparisons of the example with itself, in which nothing may be found.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from runners.bench.fixture import Fixture, Goal, NoFigure, Row, fixture
from runners.design.session import in_random_order
from runners.errors import Exit, MeasureError
from runners.process.supervisor import finished
from runners.toolchain.tools import ROOT

EXAMPLES = ROOT / "runners" / "docs" / "examples"
LIMIT, SHARE = "cpu>+3%", 0.1
#: So that a whole comparison takes less than three minutes.
SHORT = ("--size", "smoke", "--minutes", "2", "--connections", "4", "-p", "repeat_s=5")
LONGEST_S = 180.0
FOUND_SHARE = 0.9
#: Comparisons of an example with itself, and with the same and a tenth more work, over all languages.
SAME, SLOWER = 20, 10
#: The exit code of a comparison, its row on CPU time, and the seconds that it took.
Compared = tuple[int, dict[str, Any], float]
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
    """Copy an example with so much work in each request; return its target.yaml."""
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


def compared(on: Fixture, pair: Sequence[Path]) -> Compared:
    """Compare two targets by the command; return its exit code, its row on CPU time, and the seconds taken."""
    runs = on.folder / "runs"
    words = [word for path in pair for word in ("--target", str(path))]
    command = [sys.executable, "-m", "runners.cli", "compare", *words, *SHORT, "--fail-on", LIMIT, "--json"]
    began = time.monotonic()
    done = finished(["env", f"LAB_RUNS={runs}", *command])
    took_s = time.monotonic() - began
    shutil.rmtree(runs, ignore_errors=True)
    if not done.stdout:
        raise MeasureError("lab compare", f"exit code {done.returncode}: {done.stderr[-2000:]}", "run it by hand")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    row: dict[str, Any] = next((row for row in comparison["rows"] if row["quantity"] == "cpu_us"), {})
    return done.returncode, row, took_s


def measured(on: Fixture, ends_s: float, same: int = SAME, slower: int = SLOWER) -> Iterator[Row]:
    """Compare examples with themselves, and with a tenth more work, until a time of the clock.

    Each round has the languages in random order. Rows are made of the comparisons until then. A language is compared
    with planted work once the CPU time of its requests is known from a comparison with itself.
    """
    alike: dict[str, list[Compared]] = {language: [] for language in PLANTS}
    slowed: dict[str, list[Compared]] = {language: [] for language in PLANTS}
    targets = {language: planted(language, on.folder / language, 0) for language in PLANTS}
    rounds = (in_random_order(PLANTS, "languages", number) for number in range(same))
    for at, language in enumerate(islice(chain.from_iterable(rounds), same)):
        if time.monotonic() > ends_s:
            break
        pair = (targets[language], targets[language])
        alike[language].append(_repeat(on, f"{language} against itself", pair))
        due = (at + 1) * slower // same - at * slower // same
        known = [row["baseline_value"] for _, row, _ in alike[language] if row]
        for _ in range(due if known else 0):
            request_us = statistics.median(known)
            with_more = planted(language, on.folder / f"{language}-slower", round(request_us * SHARE * 1e3))
            name = f"{language} with {request_us * SHARE:.3g} us more of {request_us:.3g}"
            slowed[language].append(_repeat(on, name, (targets[language], with_more)))
    yield _counted("any-server/false-findings-vs-comparisons", alike, ("<=", 0.0))
    yield _counted("any-server/found-vs-planted", slowed, (">=", FOUND_SHARE))
    if comparisons := [*chain.from_iterable((*alike.values(), *slowed.values()))]:
        longest_s = max(took_s for _, _, took_s in comparisons)
        yield Row.within("any-server/longest", "s", (longest_s,), LONGEST_S)


def _counted(name: str, by_language: dict[str, list[Compared]], goal: Goal) -> Row:
    comparisons = [*chain.from_iterable(by_language.values())]
    if not comparisons:
        return NoFigure(name, *goal, "no time was left for it: give more --minutes")
    beyond_limit = sum(code == Exit.LIMIT for code, _, _ in comparisons)
    note = "; ".join(f"{language} {_note(compared)}" for language, compared in by_language.items() if compared)
    return Row(name, "", (float(beyond_limit),), (float(len(comparisons)),), *goal, note)


def _repeat(on: Fixture, name: str, pair: Sequence[Path]) -> Compared:
    code, row, took_s = compared(on, pair)
    change = f"{row['ratio'] - 1:+.1%} ({row['low'] - 1:+.1%} to {row['high'] - 1:+.1%})" if row else "not known"
    print(f"  {name}: exit code {code}, CPU {change}, {took_s:.0f} s", flush=True)
    return code, row, took_s


def _note(comparisons: Sequence[Compared]) -> str:
    changes = [row["ratio"] - 1 for _, row, _ in comparisons if row]
    counts = Counter(code for code, _, _ in comparisons)
    codes = ", ".join(f"{counts[code]} with {code:d}" for code in (Exit.DONE, Exit.LIMIT, Exit.UNDECIDED))
    if not changes:
        return f"of {len(comparisons)}: {codes}"
    spread = f"CPU {statistics.median(changes):+.1%} ({min(changes):+.1%} to {max(changes):+.1%})"
    return f"of {len(comparisons)}: {codes}; {spread}"


def main() -> int:
    """Run the benchmark, print each comparison and then the rows, keep the JSON; return 0."""
    parser = argparse.ArgumentParser(prog="make bench-any-server", description=__doc__)
    parser.add_argument("--minutes", type=float, default=math.inf, help="no comparison begins later (default: all)")
    given = parser.parse_args()
    with fixture() as on:
        return on.keep("any-server", measured(on, time.monotonic() + 60 * given.minutes))


if __name__ == "__main__":
    sys.exit(main())
