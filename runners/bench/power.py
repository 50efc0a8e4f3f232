"""`make bench-power`: what a comparison in one schedule can tell, on this machine: false findings and planted effects.

A comparison is three fresh starts of each side, loaded together, request by request (see analysis.interleaved); beside
it the same seconds are spent one after the other. Sides are two processes of one setting (what is found there is
false), or a reference server and the same with a few microseconds of work in each request.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import chain

from scipy.stats import binom

from runners.analysis.interleaved import FEWEST_STARTS, Effects, Start, Verdict, compare, start_of
from runners.bench import any_server, knee, plants
from runners.bench.fixture import Fixture, fixture
from runners.bench.row import NoFigure, Row
from runners.bench.sharing import reference_server
from runners.design.workload import SCRIPTS
from runners.process.supervisor import pinned
from runners.readers.requests_log import read_requests_log
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.trial import machine

RATE_RPS = 3_000  # of both sides together: well below half of one server's capacity
SECONDS = 6.0  # of load a start
WARM_S, WARM_RPS = 3, 6_000  # before it, for the compiler
PLANTED_US = 5.0
MARGIN = 0.01
FALSE_SHARE, FOUND_SHARE = 0.05, 0.97
NAMES = ("baseline", "other")
_TIMEOUT_S = 60.0
#: A side: starts a fresh process and gives its target, as `--target` takes it.
Side = Callable[[], AbstractContextManager[str]]


def load(on: Fixture, urls: Sequence[str], interleave: str, seed: int, *, warm: bool = False) -> Start:
    """Load both sides, by request or one after the other, and estimate the medians of their response times."""
    log = on.folder / "requests.log"
    rate_rps, seconds = (WARM_RPS, WARM_S) if warm else (RATE_RPS, SECONDS)
    flags = ["-t1", "-c1", f"-R{rate_rps}", f"-d{seconds:g}s", "--warmup", "1s", "--seed", str(seed)]
    flags += ["--interleave", interleave, "--requests-log", str(log)]
    for name, url in zip(NAMES, urls, strict=True):
        flags += ["--target", f"{name}={url}"]
    command = pinned([str(TRUEPACE), *flags], on.generator_cpus, machine.taskset())
    subprocess.run(command, capture_output=True, timeout=seconds + _TIMEOUT_S, cwd=ROOT, check=True)
    return start_of(read_requests_log(log).frame, NAMES, 0.5)


def compared(on: Fixture, sides: tuple[Side, Side], seed: int) -> dict[str, Effects]:
    """Compare two sides over fresh starts: by request, and in the same seconds one after the other."""
    found: dict[str, list[Start]] = {"request": [], "none": []}
    for start in range(FEWEST_STARTS):
        with ExitStack() as stack:
            urls = [stack.enter_context(side()) for side in sides]
            load(on, urls, "request", seed, warm=True)
            for interleave, starts in found.items():
                starts.append(load(on, urls, interleave, seed * FEWEST_STARTS + start))
    return {interleave: compare(starts, NAMES, "baseline", MARGIN) for interleave, starts in found.items()}


def _found(comparison: Effects) -> bool:
    return comparison.effects[0].verdict in (Verdict.HIGHER, Verdict.LOWER)


def half_width(comparison: Effects) -> float:
    """Half the width of the interval of the change, in per cent: the smallest difference that it can tell."""
    change = comparison.effects[0].change
    return 50 * (change.high - change.low)


def _note(kept: dict[str, list[Effects]]) -> str:
    by_request, apart = (
        f"{sum(map(_found, each))} found, +-{statistics.median(map(half_width, each)):.2g} %" for each in kept.values()
    )
    changes = [100 * each.effects[0].change.value for each in kept["request"]]
    return (
        f"of {len(changes)}, p50 {statistics.median(changes):+.2f} % ({min(changes):+.2f} to {max(changes):+.2f}); "
        f"by request {by_request}; one after the other {apart}"
    )


def repeated(on: Fixture, name: str, sides: tuple[Side, Side], repeats: int) -> dict[str, list[Effects]]:
    """Repeat a comparison, a line each."""
    kept: dict[str, list[Effects]] = {"request": [], "none": []}
    for number in range(repeats):
        began = time.monotonic()
        for interleave, comparison in compared(on, sides, number + 1).items():
            kept[interleave].append(comparison)
        change = kept["request"][-1].effects[0].change
        print(
            f"  {name} {number + 1} of {repeats}: {change.value:+.2%} ({change.low:+.2%} to {change.high:+.2%}), "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )
    return kept


def alike(on: Fixture, engine: str, repeats: int) -> Iterator[Row]:
    """Two processes of one setting: how often is a difference found?"""

    def side() -> AbstractContextManager[str]:
        return running(on, engine)

    kept = repeated(on, f"aa-{engine}", (side, side), repeats)
    false, limit = sum(map(_found, kept["request"])), float(binom.ppf(0.95, repeats, FALSE_SHARE))
    yield Row(f"power/aa-{engine}/false-vs-limit", "findings", (float(false),), (limit,), "<=", 1.0, _note(kept))


@contextmanager
def running(on: Fixture, engine: str) -> Iterator[str]:
    """A fresh process of an engine; gives the target: GET of one key where nothing is stored, else PUT of new ones."""
    spec = replace(on.spec(f"{engine}-{time.monotonic_ns()}"), engine=engine)
    with on.running(spec) as server:
        yield f"{server.url}/v0/entity?id=1" if engine == "noop" else f"{server.url},script={SCRIPTS / 'put.lua'}"


def planted(on: Fixture, repeats: int) -> Iterator[Row]:
    """A few microseconds of work in one of two servers: how often are they found?"""

    def side(work_us: float) -> Side:
        return lambda: reference_server(on.server_cpus, work_us)

    kept = repeated(on, f"planted-{PLANTED_US:g}us", (side(0.0), side(PLANTED_US)), repeats)
    hits = sum(each.effects[0].verdict == Verdict.HIGHER for each in kept["request"])
    wanted = math.ceil(binom.ppf(0.05, repeats, FOUND_SHARE))
    yield Row("power/planted/found-vs-wanted", "findings", (float(hits),), (float(wanted),), ">=", 1.0, _note(kept))


#: Rows by name: of a fixture and how many comparisons (or half as many searches) make one.
ROWS: dict[str, Callable[[Fixture, int], Iterator[Row | NoFigure]]] = {
    "aa-noop": lambda on, repeats: alike(on, "noop", repeats),
    "aa-lsm": lambda on, repeats: alike(on, "lsm", repeats),
    "planted": planted,
    "knee-noop": lambda on, repeats: knee.rows(on, "noop", repeats // 2),
    "knee-lsm": lambda on, repeats: knee.rows(on, "lsm", repeats // 2),
    "plants": lambda on, _repeats: plants.rows(on),
    "any-python": lambda on, repeats: any_server.rows(on, "python", repeats),
    "any-node": lambda on, repeats: any_server.rows(on, "node", repeats),
    "any-go": lambda on, repeats: any_server.rows(on, "go", repeats),
}
#: Rows that take hours in full and are measured only where they are named.
NAMED_ONLY = ("any-python", "any-node", "any-go")


def main() -> int:
    """Run the benchmark, print a line a row, keep the JSON. 0 whatever the ratios are: a figure, not a test."""
    parser = argparse.ArgumentParser(prog="make bench-power", description=__doc__)
    parser.add_argument("--full", action="store_true", help="20 comparisons a row instead of 5 (about two hours)")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)} (default: all but any-*)")
    given = parser.parse_args()
    names = given.rows or [name for name in ROWS if name not in NAMED_ONLY]
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    repeats = 20 if given.full else 5
    with fixture() as on:
        rows: list[Row | NoFigure] = []
        for row in chain.from_iterable(ROWS[name](on, repeats) for name in names):
            print(row.line(), flush=True)
            rows.append(row)
        on.keep("power", rows, disturbances=on.calm.sentence())
    return 0


if __name__ == "__main__":
    sys.exit(main())
