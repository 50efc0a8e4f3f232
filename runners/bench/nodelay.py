"""One connection to the server of report 2: a JDK 17 as it comes, with one flag, and a JDK 25 as it comes.

Head and body of an answer are two small writes. Nagle holds the second back until the first is acknowledged;
the client's kernel delays that acknowledgement by 40 ms at least, since it has nothing to send. `nodelay` ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from runners.bench.row import Row
from runners.targets.lab_server import RunningServer, ServerSpec
from runners.toolchain.build import JDK17_DIST, JDK17_MAIN
from runners.toolchain.tools import Jdk, find_jdk
from runners.trial import machine

ROUNDS = 7
OLD = 17
NODELAY = "-Dsun.net.httpserver.nodelay=true"
Result = dict[str, Any]
Launch = Callable[[ServerSpec], AbstractContextManager[RunningServer]]
Load = Callable[[RunningServer], Result]


def spec(jdk: Jdk, folder: Path, cpus: tuple[int, ...] | None, *jvm_flags: str) -> ServerSpec:
    """The server of report 2 after its change, one file a key, on a JDK."""
    return ServerSpec(
        jdk.java,
        JDK17_DIST,
        "files",
        folder / "server",
        folder / "data",
        heap_mb=1024,
        cpus=cpus,
        taskset=machine.taskset(),
        main_class=JDK17_MAIN,
        server_flags=("--executor", "cached-pool"),
        more_jvm_flags=jvm_flags,
    )


def p50_us(result: Result) -> float:
    """Median of the response time."""
    return float(result["latency_us"]["response"]["p50"])


def rows(
    folder: Path, new: Jdk, cpus: tuple[int, ...] | None, running: Launch, load: Load, say: Callable[[str], None]
) -> list[Row]:
    """The plateau beside the same JDK with `nodelay`, and beside a new JDK; none where no JDK 17 is to be found."""
    old = find_jdk(OLD)
    if old is None:
        say(f"there is no JDK {OLD} on this machine; the plateau of report 2 is left out")
        return []
    with (
        running(spec(old, folder / "default", cpus)) as default,
        running(spec(old, folder / "nodelay", cpus, NODELAY)) as nodelay,
        running(spec(new, folder / "new", cpus)) as newer,
    ):
        rounds = [(p50_us(load(default)), p50_us(load(nodelay)), p50_us(load(newer))) for _ in range(ROUNDS)]
    plateau, without, latest = zip(*rounds, strict=True)
    name = "server-jdk17/files/1conn"
    return [
        Row(f"{name}/jdk{OLD}-vs-nodelay/p50", "us", plateau, without, ">=", 100.0),
        Row(f"{name}/jdk{new.major}-vs-jdk{OLD}-nodelay/p50", "us", latest, without, "<=", 1.5),
    ]
