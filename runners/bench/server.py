"""`make bench-server`: each way to handle requests against its plainest form, clusters, overload, report 2's 44 ms.

Two servers under the same load, as an interleaved block of the lab: in each round both are started anew, and slices of
one closed loop go to one or the other in random order, so that a drift of the machine favours nobody; medians over the
rounds are compared. The rate is a server's throughput, unless the generator's core was full first: how busy both were
stands in each row. All run on the engine that stores nothing, but for report 2's 44 ms.

`ROWS="selector pool"` runs only these groups.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import httpx

from runners.analysis.instrument import ENOUGH_ROUNDS
from runners.analysis.knee import Knee
from runners.bench import knee
from runners.bench.fixture import CONNECTIONS, Course, Fixture, Goal, Part, Result, Row, Say, fixture, parse_rows, say
from runners.design.block import Interleaved
from runners.design.load import FIXED_GET, SCRIPTS, SIZES, Shape, Workload
from runners.design.session import START_S
from runners.design.setting import Setting
from runners.execution.executor import Launch
from runners.readers.run import Step
from runners.targets.lab_server import MAIN, RunningServer, ServerSpec
from runners.toolchain.build import JDK17_DIST, JDK17_MAIN
from runners.toolchain.tools import Jdk, find_jdk, require_jdk

#: As many as an interval takes.
ROUNDS = ENOUGH_ROUNDS
#: Seconds of a round's load for each server, before that together, and of one slice: what is under way at the end of a
#: slice does not count, so it must be little (a selector that waits has 64 requests of a millisecond).
DURATION_S, TOGETHER_S, SLICE_S = 2, 0.5, 1.0
#: Seconds of closed loop before anything is compared, for the compiler. A cluster has more code on the same core.
COMPILE_S, CLUSTER_COMPILE_S = 3, 5
#: The JDK of report 2, and the connections that it had at most.
OLD_JDK, JDK_CONNECTIONS = 17, 4
KNEE_ROUNDS, KNEE_SEARCH_S = 6, 20.0
Rows = Sequence[Row]
#: The figures of a comparison: name, unit, function of a result, goal.
Figures = tuple[tuple[str, str, Callable[[Result], float], Goal], ...]


def rps(result: Result) -> float:
    """Return the achieved rate in requests per second."""
    return float(result["achieved_rps"])


def response_us(percentile: str, result: Result) -> float:
    """Return a percentile of the response time in microseconds."""
    return float(result["latency_us"]["response"][percentile])


def many_keys(script: str) -> Workload:
    """Return the workload of a script over many keys."""
    return Workload(
        script.split("_")[0].removesuffix(".lua"), SCRIPTS / script, arguments=(str(KEYS),) * (script == GET)
    )


class Peer(RunningServer):
    """A server without a status endpoint."""

    def status(self) -> dict[str, Any]:
        """Return an empty status. Raises ServerError where the process died."""
        if not self.alive():
            raise self.death()
        return {}


@dataclass(frozen=True, slots=True)
class Side:
    """One of two compared servers: its flags and main class.

    `specify` changes the fixture's specification, for example to another JDK.
    """

    flags: tuple[str, ...] = ()
    main_class: str = MAIN
    specify: Callable[[ServerSpec], ServerSpec] = lambda spec: spec

    def spec(self, on: Fixture, name: str) -> ServerSpec:
        """Return the specification of the server under a name."""
        return self.specify(on.spec(name, self.flags, self.main_class))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two servers, their load, and the figures that are compared; with `write`, a value is written first."""

    name: str
    ours: Side
    peer: Side
    figures: Figures
    workload: Workload = FIXED_GET
    connections: int = CONNECTIONS
    compile_s: int = COMPILE_S
    write: bool = False

    @property
    def duration_s(self) -> float:
        """About how many seconds it takes."""
        return self.block.planned_s

    @property
    def block(self) -> Interleaved:
        """The rounds, as the lab measures them."""
        return Interleaved(
            "comparison", self.name, (Setting(PEER, NOOP), Setting(OURS, NOOP)), PEER, self.workload,
            replace(SIZES["smoke"], probe_s=self.compile_s),
            Shape(self.connections, 1, 2 * DURATION_S, TOGETHER_S), starts=ROUNDS, control=False, slice_s=SLICE_S,
        )  # fmt: skip

    def rows(self, on: Fixture, _say: Say) -> Rows:
        """Measure both servers round by round, and return the rows."""
        with started(on, {OURS: self.ours, PEER: self.peer}, self.write) as launch:
            return rows_of(self, [loaded(step) for step in on.measured(self.block, launch)])


@contextmanager
def started(on: Fixture, sides: Mapping[str, Side], write: bool) -> Iterator[Launch]:
    """Return a function that starts a side anew, alone or with the one that is up; stop all servers at the end."""
    with ExitStack() as up:

        def launch(setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
            if not keep_others:
                up.close()
            side = sides[setting.name]
            spec = replace(side.spec(on, f"{setting.name}-{time.monotonic_ns()}"), subject=setting.name)
            server = up.enter_context(on.running(spec))
            if write:
                httpx.put(f"{server.url}/v0/entity?id=1", content=b"value1", trust_env=False)
            bare = side.main_class not in (MAIN, JDK17_MAIN)
            return Peer(server.spec, server.child, server.ready) if bare else server

        yield launch


@dataclass(frozen=True, slots=True)
class Loaded:
    """One server's part of a load: the generator's JSON of it, and the cores that server and generator used."""

    result: Result
    server_cores: float
    generator_cores: float


def loaded(step: Step) -> tuple[Loaded, Loaded]:
    """Return the load of a round: ours, and the peer's."""
    report = json.loads(step.folder.load_json.read_text())
    used, results = report["generator"], {target["name"]: target for target in report["targets"]}
    generator_cores = (used["cpu_user_s"] + used["cpu_system_s"]) / report["elapsed_s"]
    loaded_s = (report["elapsed_s"] + TOGETHER_S) / len(results)  # a server is idle while the other is loaded
    cores = {target.name: (target.cpu_s or 0.0) / loaded_s for target in step.record.targets}
    ours, peer = (Loaded(results[name], cores[name], generator_cores) for name in (OURS, PEER))
    return ours, peer


def rows_of(comparison: Comparison, rounds: Sequence[tuple[Loaded, Loaded]]) -> list[Row]:
    """Return a row for each figure of a comparison, over its rounds."""
    ours, peer = zip(*rounds, strict=True)

    def values(figure: Callable[[Result], float], side: Sequence[Loaded]) -> tuple[float, ...]:
        return tuple(figure(loaded.result) for loaded in side)

    return [
        Row(f"{comparison.name}/{name}", unit, values(figure, ours), values(figure, peer), *goal, _note(ours, peer))
        for name, unit, figure, goal in comparison.figures
    ]


def failures(result: Result) -> int:
    """Count the requests that ended in an error or in a status of 400 or more."""
    return sum(int(count) for count in result["errors"].values())


def _note(ours: Sequence[Loaded], peer: Sequence[Loaded]) -> str:
    """Return requests, failed requests, and the cores that generator and servers used, in words."""
    completed = sum(loaded.result["requests"]["completed"] for loaded in (*ours, *peer))
    failed = sum(failures(loaded.result) for loaded in (*ours, *peer))
    used = ", ".join(
        f"{who} {statistics.median(map(cores, ours)):.2f} and {statistics.median(map(cores, peer)):.2f}"
        for who, cores in (("generator", attrgetter("generator_cores")), ("server", attrgetter("server_cores")))
    )
    return f"{completed} requests, {failed} failed; cores used: {used}"


# --- what is compared

NOOP, OURS, PEER = "noop", "ours", "peer"
KEYS = 1_000_000
GET, PUT = "get_random.lua", "put.lua"
WORKS = {"get": GET, "put": PUT}
WAITING = ("--handler-delay-us", "1000")
POOL, VIRTUAL = ("--execution", "pool"), ("--execution", "virtual")
_NEAR: Figures = (("rps", "/s", rps, (">=", 0.9)),)
_NO_SLOWER: Figures = (("rps", "/s", rps, (">=", 1.0)),)
_WAITS: Figures = (("p99", "us", partial(response_us, "p99"), ("<=", 1.0)), *_NEAR)


def _mode(name: str, ours: tuple[str, ...], peer: Side, figures: Figures) -> Comparison:
    return Comparison(f"server/{name}", Side(ours), peer, figures)


def _bare(threads: str) -> Side:
    """Return one-nio used in the plainest way, on the threads of a report."""
    return Side(("--threads", threads), "lab.server.peer.BareServer")


SELECTOR = (_mode("noop/64conn/selector-vs-bare", (), _bare("SELECTOR"), (("rps", "/s", rps, (">=", 0.95)),)),)
POOLS = (
    _mode("noop/64conn/pool-vs-selector", POOL, Side(), _NEAR),
    # enough threads for all connections, so that a handler that waits holds nobody up
    _mode("noop-1ms/64conn/pool-vs-selector", (*POOL, *WAITING, "--pool-threads", "64"), Side(WAITING), _WAITS),
)
VIRTUALS = (
    _mode("noop/64conn/virtual-vs-selector", VIRTUAL, Side(), _NEAR),
    _mode("noop-1ms/64conn/virtual-vs-selector", (*VIRTUAL, *WAITING), Side(WAITING), _WAITS),
)
REPORTS = (
    _mode(
        "noop/64conn/blocking-pool-vs-report-3", ("--execution", "blocking-pool"), _bare("REPORT_3"), _NO_SLOWER
    ),
    _mode(
        "noop/64conn/pool-6-128-vs-report-5",
        (*POOL, "--pool-threads", "6", "--queue", "array", "--queue-size", "128"),
        _bare("REPORT_5"),
        _NO_SLOWER,
    ),
)  # fmt: skip

#: Three nodes in one JVM, a selector each: they share the cores that one has alone. Two of three requests go on to
#: another node.
NODES = ("--nodes", "3", "--selectors", "1")
ONE_REPLICA = (*NODES, "--replication-from", "1")
TWO_OF_THREE = (*NODES, "--replication-from", "3", "--replication-ack", "2")
#: What a cluster from one replica keeps of a single node, and how many times as fast an asynchronous client is.
SHARE, ASYNCHRONOUS = 0.45, 1.5


def _cluster(name: str, script: str, ours: tuple[str, ...], peer: tuple[str, ...], goal: float) -> Comparison:
    figures: Figures = (("rps", "/s", rps, (">=", goal)),)
    sent = many_keys(script)
    return Comparison(f"cluster/3nodes/{name}", Side(ours), Side(peer), figures, sent, compile_s=CLUSTER_COMPILE_S)


FROM_ONE = tuple(
    _cluster(f"from1/{work}/64conn/closed-loop-vs-single", script, ONE_REPLICA, (), SHARE)
    for work, script in WORKS.items()
)
_ONE_NIO, _JDK = ((*TWO_OF_THREE, "--client", client) for client in ("one-nio", "jdk"))
CLIENTS = (
    _cluster("ack2of3/put/64conn/pipelined-vs-one-nio", PUT, TWO_OF_THREE, _ONE_NIO, ASYNCHRONOUS),
    _cluster("ack2of3/get/64conn/pipelined-vs-one-nio", GET, TWO_OF_THREE, _ONE_NIO, ASYNCHRONOUS),
    # Two clients that block: one of them is enough if this row is within noise.
    _cluster("ack2of3/put/64conn/jdk-vs-one-nio", PUT, _JDK, _ONE_NIO, 1.0),
)
#: Report 5 before and after: pool of 20 or 6 threads, a lock around the client, the hash that picks one node.
BEFORE = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "20", "--client-lock")
AFTER = (*ONE_REPLICA, "--client", "one-nio", "--peer-threads", "6")
REPORT_5 = (_cluster("from1/put/64conn/report-5-after-vs-before", PUT, AFTER, BEFORE, 1.0),)


def _jdk17(jdk: Jdk, main_class: str, executor: str, flags: tuple[str, ...], **more: object) -> Side:
    def specify(spec: ServerSpec) -> ServerSpec:
        return replace(spec, java=jdk.java, class_path=JDK17_DIST, more_jvm_flags=flags, **more)  # type: ignore[arg-type]

    return Side(("--executor", executor), main_class, specify)


def _nodelay(on: bool) -> tuple[str, ...]:
    """Return the flag with its value, for JDKs differ in their defaults."""
    return (f"-Dsun.net.httpserver.nodelay={str(on).lower()}",)


def of_report_2(jdk: Jdk) -> tuple[Comparison, ...]:
    """Return comparisons of report 2's server on a JDK: before its change, after it, and with nodelay."""
    return tuple(
        Comparison(
            f"server-jdk17/noop/{JDK_CONNECTIONS}conn/jdk{jdk.major}/{name}-vs-bare",
            _jdk17(jdk, JDK17_MAIN, executor, _nodelay(nodelay)),
            _jdk17(jdk, "lab.jdk17.BareServer", executor, _nodelay(nodelay)),
            _NO_SLOWER,
            connections=JDK_CONNECTIONS,
        )
        for name, executor, nodelay in (
            ("before", "dispatcher", False),
            ("after", "cached-pool", False),
            ("after-nodelay", "cached-pool", True),
        )
    )


def plateau(old: Jdk, new: Jdk) -> tuple[Comparison, ...]:
    """Return comparisons of one connection to report 2's server: two JDKs, each against JDK 17 with nodelay.

    Head and body of a response are two small writes. Nagle's algorithm delays the second until the first is
    acknowledged; the client's kernel delays that acknowledgement by 40 ms at least, since it has nothing to send.
    """

    def side(jdk: Jdk, *flags: str) -> Side:
        return _jdk17(jdk, JDK17_MAIN, "cached-pool", flags, engine="files", heap_mb=1024)

    def compared(name: str, ours: Side, goal: Goal) -> Comparison:
        figures: Figures = (("p50", "us", partial(response_us, "p50"), goal),)
        return Comparison(f"server-jdk17/files/1conn/{name}", ours, nodelay, figures, connections=1, write=True)

    nodelay = side(old, *_nodelay(on=True))
    return (
        compared(f"jdk{old.major}-vs-nodelay", side(old), (">=", 100.0)),
        compared(f"jdk{new.major}-vs-jdk{old.major}-nodelay", side(new), ("<=", 1.5)),
    )


# --- groups


@dataclass(frozen=True, slots=True)
class Measured:
    """A part of the benchmark that is no comparison of two servers: name, about how long it takes, rows."""

    name: str
    duration_s: float
    rows: Callable[[Fixture, Say], Rows]


def _on_the_old_jdk(make: Callable[[Jdk], Sequence[Comparison]]) -> Sequence[Comparison]:
    """Return comparisons on the JDK of report 2; none where that is not on this machine, with a message."""
    jdk = find_jdk(OLD_JDK)
    if jdk is None:
        print(f"There is no JDK {OLD_JDK} on this machine; what report 2 ran on it is left out")
    return make(jdk) if jdk else ()


def overloaded(on: Fixture, say: Say) -> Rows:
    """Measure a bounded queue at twice its knee."""
    with on.running(on.spec("overload", knee.FLAGS)) as server:
        return knee.overload(on, server, say)


def knees(work: str, on: Fixture, say: Say) -> Rows:
    """Search the knees of a cluster and of a single node, for one kind of request."""
    sent = many_keys(WORKS[work])
    with ExitStack() as running:
        servers = {
            name: running.enter_context(on.running(on.spec(name, flags)))
            for name, flags in (("cluster", ONE_REPLICA), ("single", ()))
        }
        rounds = list[dict[str, Knee]]()
        for number in range(KNEE_ROUNDS):
            rounds.append(knee.knees(knee.search(on, servers, sent, KNEE_SEARCH_S, number, CONNECTIONS)))
            say(knee.line(rounds[-1]))
    return [knee.row(f"cluster/3nodes/from1/{work}/64conn/knee-vs-single", rounds, "cluster", "single", SHARE)]


def _knees(work: str) -> list[Measured]:
    block = knee.search_block(dict.fromkeys(("cluster", "single"), NOOP), many_keys(WORKS[work]), KNEE_SEARCH_S)
    duration_s = 2 * START_S + KNEE_ROUNDS * block.planned_s
    return [Measured(f"knees for {work}", duration_s, partial(knees, work))]


#: The groups that `ROWS` may name, in the order in which they run.
GROUPS: dict[str, Callable[[], Sequence[Comparison | Measured]]] = {
    "selector": lambda: SELECTOR,
    "pool": lambda: POOLS,
    "virtual": lambda: VIRTUALS,
    "reports": lambda: (*REPORTS, *REPORT_5),
    "jdk": lambda: _on_the_old_jdk(of_report_2),
    "nodelay": lambda: _on_the_old_jdk(lambda old: plateau(old, require_jdk())),
    "overload": lambda: [Measured("overload", START_S + knee.overload_s(), overloaded)],
    "cluster": lambda: FROM_ONE,
    "knee-get": lambda: _knees("get"),
    "knee-put": lambda: _knees("put"),
    "clients": lambda: CLIENTS,
}


def main(arguments: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line for each row, keep the JSON; return 0, for figures are no test."""
    given = parse_rows(argparse.ArgumentParser(prog="make bench-server", description=__doc__), GROUPS, arguments)
    parts = {name: GROUPS[name]() for name in given.rows}
    course = Course([Part(name, part.duration_s) for name, group in parts.items() for part in group], say)
    course.announce()
    with fixture() as on:

        def measured() -> Iterator[Row]:
            for name, group in parts.items():
                for part in group:
                    with course.part(name, part.name):
                        rows = part.rows(on, say)
                    yield from rows

        return on.keep("server", measured(), took_s=course.took_s)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
