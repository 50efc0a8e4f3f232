"""Each way to handle requests beside what it reproduces, on the engine that stores nothing."""

from __future__ import annotations

from dataclasses import replace

from runners.bench.pairs import Comparison, Side, Takes, p99_us, rps
from runners.targets.lab_server import ServerSpec
from runners.toolchain.build import JDK17_DIST, JDK17_MAIN
from runners.toolchain.tools import Jdk

#: Enough threads for all connections, so that a handler that waits holds nobody up.
WAITING_THREADS = 64
WAIT_US = 1_000
BARE = "lab.server.peer.BareServer"
BARE_JDK = "lab.jdk17.BareServer"
#: Report 2 had 1, 2 and 4 connections.
JDK_CONNECTIONS = 4
NODELAY = "-Dsun.net.httpserver.nodelay={}"


def mode(*flags: str) -> Side:
    """The server in a mode."""
    return Side(flags)


def bare(threads: str) -> Side:
    """One-nio used in the plainest way, on the threads of a report."""
    return Side(("--threads", threads), BARE)


WAITING = ("--handler-delay-us", str(WAIT_US))
POOL = ("--execution", "pool")
VIRTUAL = ("--execution", "virtual")
_NEAR: Takes = (("rps", "/s", rps, (">=", 0.9)),)
_NO_SLOWER: Takes = (("rps", "/s", rps, (">=", 1.0)),)
_WAITS: Takes = (("p99", "us", p99_us, ("<=", 1.0)), *_NEAR)

SELECTOR = (
    Comparison("server/noop/64conn/selector-vs-bare", mode(), bare("SELECTOR"), (("rps", "/s", rps, (">=", 0.95)),)),
)
POOLS = (
    Comparison("server/noop/64conn/pool-vs-selector", mode(*POOL), mode(), _NEAR),
    Comparison(
        "server/noop-1ms/64conn/pool-vs-selector",
        mode(*POOL, *WAITING, "--pool-threads", str(WAITING_THREADS)),
        mode(*WAITING),
        _WAITS,
    ),
)
VIRTUALS = (
    Comparison("server/noop/64conn/virtual-vs-selector", mode(*VIRTUAL), mode(), _NEAR),
    Comparison("server/noop-1ms/64conn/virtual-vs-selector", mode(*VIRTUAL, *WAITING), mode(*WAITING), _WAITS),
)
REPORTS = (
    Comparison(
        "server/noop/64conn/blocking-pool-vs-report-3",
        mode("--execution", "blocking-pool"),
        bare("REPORT_3"),
        _NO_SLOWER,
    ),
    Comparison(
        "server/noop/64conn/pool-6-128-vs-report-5",
        mode(*POOL, "--pool-threads", "6", "--queue", "array", "--queue-size", "128"),
        bare("REPORT_5"),
        _NO_SLOWER,
    ),
)


def of_report_2(jdk: Jdk) -> tuple[Comparison, ...]:
    """The server of report 2 before its change, after it, and with the flag that ends the plateau, on a JDK.

    `nodelay` is said in full, for JDKs differ in what they do without.
    """

    def side(main_class: str, executor: str, nodelay: bool) -> Side:
        def specify(spec: ServerSpec) -> ServerSpec:
            flags = (NODELAY.format(str(nodelay).lower()),)
            return replace(spec, java=jdk.java, class_path=JDK17_DIST, more_jvm_flags=flags)

        return Side(("--executor", executor), main_class, specify)

    return tuple(
        Comparison(
            f"server-jdk17/noop/{JDK_CONNECTIONS}conn/jdk{jdk.major}/{name}-vs-bare",
            side(JDK17_MAIN, executor, nodelay),
            side(BARE_JDK, executor, nodelay),
            _NO_SLOWER,
            connections=JDK_CONNECTIONS,
        )
        for name, executor, nodelay in (
            ("before", "dispatcher", False),
            ("after", "cached-pool", False),
            ("after-nodelay", "cached-pool", True),
        )
    )
