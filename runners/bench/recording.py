"""`make bench-recording`: what it costs to record the causes of a tail where latency is quoted.

The same load on one server, in turn plain, with the flight recorder's few events, and with ten samples a second of
threads and machine; the recorder is started before the load and stopped after it, as in a run. The server stores
nothing, so that nothing hides the cost.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runners.bench.calm import Calm
from runners.bench.clients import Clients
from runners.bench.row import Row, keep
from runners.launch.server import RunningServer, ServerSpec, launch
from runners.launch.workshop import prepare
from runners.measure import machine
from runners.measure.activity import Activity
from runners.measure.recording import Recorder

ROUNDS = 6
DURATION_S = 5
RATE_RPS = 5_000
LEVELS = (("p50", 1.02), ("p99", 1.1))


@contextlib.contextmanager
def recording(recorder: Recorder, server: RunningServer, folder: Path) -> Iterator[None]:
    """With the flight recorder on."""
    recorder.start(server.pid)
    try:
        yield
    finally:
        recorder.stop(server.pid, folder / "causes.jfr")
        (folder / "causes.jfr").unlink()


def rows(bench: Clients, recorder: Recorder, folder: Path) -> list[Row]:
    """Each way of recording against the plain load, interleaved."""
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "recording": [], "sampling": []}
    for _ in range(ROUNDS):
        for name, results in taken.items():
            with contextlib.ExitStack() as stack:
                if name == "recording":
                    stack.enter_context(recording(recorder, bench.server, folder))
                elif name == "sampling":
                    stack.enter_context(Activity(folder / "activity.jsonl", bench.server.pid, folder))
                results.append(bench.ours(1, RATE_RPS, DURATION_S)["latency_us"]["response"])
    return [
        Row(
            f"recording/{name}/{level}-vs-plain",
            "us",
            tuple(float(result[level]) for result in taken[name]),
            tuple(float(result[level]) for result in taken["plain"]),
            "<=",
            goal,
        )
        for name in ("recording", "sampling")
        for level, goal in LEVELS
    ]


def main() -> int:
    shop = prepare("loadgen", lambda line: print(line, file=sys.stderr))
    server_cpus, generator_cpus = machine.pinning()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = launch(
            ServerSpec(
                java=shop.jdk.java,
                class_path=shop.server.dist,
                engine="noop",
                folder=folder,
                data=folder / "data",
                cpus=server_cpus,
                taskset=machine.taskset(),
            )
        )
        try:
            measured = rows(Clients(server, generator_cpus, Calm(server.pid)), Recorder(shop.jdk), folder)
        finally:
            server.stop()
    for row in measured:
        print(row.line())
    about = {"rate_rps": RATE_RPS, "duration_s": DURATION_S, "machine": machine.facts()}
    print(keep("recording", measured, about), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
