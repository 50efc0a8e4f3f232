"""`make bench-server`: each way to handle requests beside what it reproduces, clusters, overload, and report 2's 44 ms.

`ROWS="selector pool"` runs only these groups, each of a few minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import httpx

from runners.bench import cluster, modes, nodelay, overload
from runners.bench.course import Course, Part
from runners.bench.fixture import CONNECTIONS, DURATION_S, Fixture, Result, fixture
from runners.bench.pairs import COMPILE_S as COMPILE_S
from runners.bench.pairs import Comparison, compare, one_key
from runners.bench.row import NoFigure, Row
from runners.targets.lab_server import RunningServer, ServerSpec
from runners.toolchain.tools import find_jdk

#: For the planned time.
NODELAY_S, OVERLOAD_S = 110.0, 150.0
Say = Callable[[str], None]
Rows = Sequence[Row | NoFigure]


@dataclass(frozen=True, slots=True)
class Measured:
    """A part of the benchmark: its name, about how long it takes, and how its rows are had."""

    name: str
    duration_s: float
    rows: Callable[[Fixture, Say], Rows]


def compared(comparisons: Sequence[Comparison]) -> list[Measured]:
    """Comparisons, each a part of its own."""
    return [Measured(each.name, each.duration_s(), partial(_rows_of, each)) for each in comparisons]


def _rows_of(comparison: Comparison, on: Fixture, _say: Say) -> Rows:
    return compare(on, comparison)


def report_2() -> list[Measured]:
    """Report 2's server beside the plainest one, on its own JDK; nothing where that is not found, and it is said."""
    jdk = find_jdk(nodelay.OLD)
    if jdk is None:
        print(f"There is no JDK {nodelay.OLD} on this machine; the modes of report 2 are left out")
        return []
    return compared(modes.of_report_2(jdk))


def load(
    on: Fixture,
    server: RunningServer,
    duration_s: int = DURATION_S,
    connections: int = CONNECTIONS,
    rate_rps: int | None = None,
) -> Result:
    """One run against a single key; a closed loop if no rate is given."""
    return on.load(one_key(server), duration_s, connections, rate_rps)


@contextmanager
def warm(on: Fixture, spec: ServerSpec) -> Iterator[RunningServer]:
    """A server whose code is compiled."""
    with on.running(spec) as server:
        load(on, server, COMPILE_S)
        yield server


def overloaded(on: Fixture, say: Say) -> Rows:
    """The rows of the bounded queue."""
    with warm(on, on.spec("overload", overload.FLAGS)) as server:
        return overload.rows(lambda c, rate: load(on, server, connections=c, rate_rps=rate), say)


def plateau(on: Fixture, say: Say) -> Rows:
    """The rows of report 2's 44 ms. Values are written first, so that there is a body to answer."""

    def ask(server: RunningServer) -> Result:
        httpx.put(f"{server.url}/v0/entity?id=1", content=b"value1", trust_env=False)
        return load(on, server, connections=1)

    return nodelay.rows(on.folder, on.shop.jdk, on.server_cpus, partial(warm, on), ask, say)


def knees(work: str) -> list[Measured]:
    """The knee of a cluster beside that of a single node, for one kind of request."""
    return [Measured(f"knees for {work}", cluster.knee_duration_s(), partial(cluster.knees, work))]


#: What `ROWS` may name, in the order in which they are run.
GROUPS: dict[str, Callable[[], list[Measured]]] = {
    "selector": lambda: compared(modes.SELECTOR),
    "pool": lambda: compared(modes.POOLS),
    "virtual": lambda: compared(modes.VIRTUALS),
    "reports": lambda: compared((*modes.REPORTS, *cluster.REPORT_5)),
    "jdk": report_2,
    "nodelay": lambda: [Measured("report 2's 44 ms", NODELAY_S, plateau)],
    "overload": lambda: [Measured("overload", OVERLOAD_S, overloaded)],
    "cluster": lambda: compared(cluster.FROM_ONE),
    "knee-get": lambda: knees("get"),
    "knee-put": lambda: knees("put"),
    "clients": lambda: compared(cluster.CLIENTS),
}


def _groups(arguments: Sequence[str]) -> list[str]:
    parser = argparse.ArgumentParser(prog="make bench-server", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)} (default: all)")
    asked: list[str] = parser.parse_args(arguments).groups or list(GROUPS)
    unknown = [name for name in asked if name not in GROUPS]
    if unknown:
        parser.error(f"no group {', '.join(unknown)}; there are {', '.join(GROUPS)}")
    return asked


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0: a figure, not a test."""
    parts = {name: GROUPS[name]() for name in _groups(arguments)}
    course = Course([Part(name, m.duration_s) for name, all_of in parts.items() for m in all_of], _say)
    course.announce()
    found: list[Row | NoFigure] = []
    with fixture() as on:
        for name, all_of in parts.items():
            for measured in all_of:
                with course.part(name, measured.name):
                    rows = measured.rows(on, _say)
                for row in rows:
                    _say(row.line())
                found += rows
        print(on.calm.sentence())
        on.keep("server", found, disturbances=on.calm.sentence(), took_s=course.took_s())
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
