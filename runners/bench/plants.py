"""Plant delays on the server's core, by the server itself and by the machine; count which are left out as stalls.

A program on the core delays whatever runs there, about each half second, and prints when. The stall witness watches,
and the rules of `analysis.machine_stalls` drop blocks of time. Delays by the server itself have to stay in: a sleep,
a spin, a garbage collection, and work of the kernel for it (unmapping, forcing a file, interrupts of its own traffic),
which could delay even a thread of real-time priority. A hog of higher priority takes the core from everybody, as a
hypervisor does, and has to be left out. Some time is left out anyway, for the machine does stall: how much, the
moments midway between the plants tell. A plant of the server may be dropped no more often than they are.
"""

from __future__ import annotations

import mmap
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from runners.analysis.machine_stalls import SLICE_S, dropped, not_of_the_disk
from runners.bench.fixture import Fixture, NoFigure, Row
from runners.process.cpu_placement import usable_cpus
from runners.process.supervisor import pinned
from runners.readers.activity import read_activity, read_stall_log
from runners.toolchain.tools import ROOT, require_jdk
from runners.trial.activity import Activity, stalls_watched

SECONDS = 15.0
APART_S = (0.4, 0.6)  # drawn, so that plants do not coincide with periodic work
HELD_S = 0.02
UNMAPPED_BYTES, FORCED_BYTES, DATAGRAM_BYTES = 256 << 20, 32 << 20, 1024
PAGE_BYTES = 4096
ABOVE_THE_WITNESS = 90
#: Level of the binomial bound on the number of plants that chance may drop.
LEVEL = 0.99
#: Of the machine's plants, this share has to be left out.
FOUND_SHARE = 0.9
COLLECTING = Path(__file__).with_name("Collecting.java")
_TIMEOUT_S = 60.0
Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Planted:
    """The number of events, of events that were left out, and of moments between events that were left out."""

    events: int
    left_out: int
    by_chance: int

    @property
    def kept_at_least(self) -> int:
        """The number of events that have to stay in if chance alone leaves events out."""
        share = (self.by_chance + 1) / (self.events + 2)
        return self.events - int(binom.ppf(LEVEL, self.events, share))


def judged(stalls: pd.DataFrame, events: Sequence[Span]) -> Planted:
    """Count the events in blocks that the rules drop. Stalls and events are in seconds from the same moment."""
    begins, ends = (np.array([event[end] for event in events]) for end in (0, 1))
    blocks = dropped(stalls, int(ends.max() / SLICE_S) + 2)

    def left_out(begin_s: float, end_s: float) -> bool:
        return bool(blocks[int(begin_s / SLICE_S) : int(end_s / SLICE_S) + 1].any())

    between = begins[:-1] + np.diff(begins) / 2
    lengths = ends - begins
    return Planted(len(events), sum(map(left_out, begins, ends)), sum(map(left_out, between, between + lengths[:-1])))


def _sleep() -> None:
    time.sleep(HELD_S)


def _spin() -> None:
    end = time.monotonic() + HELD_S
    while time.monotonic() < end:
        pass


def _unmap() -> None:
    with mmap.mmap(-1, UNMAPPED_BYTES) as mapped:
        for page in range(0, UNMAPPED_BYTES, PAGE_BYTES):
            mapped[page] = 1


def _force() -> None:
    with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:
        file.write(os.urandom(FORCED_BYTES))
        file.flush()
        os.fsync(file.fileno())


def _interrupt() -> None:
    """Send datagrams to itself: the kernel receives them in a soft interrupt, which no thread can preempt."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        end, data = time.monotonic() + HELD_S, bytes(DATAGRAM_BYTES)
        while time.monotonic() < end:
            own.sendto(data, own.getsockname())


#: Delays by the server itself, by the name of the row; "collecting" is a program in Java.
ACTS: dict[str, Callable[[], None]] = {
    "sleeping": _sleep, "spinning": _spin, "unmapping": _unmap, "forcing": _force, "interrupting": _interrupt,
}  # fmt: skip
MACHINE = "hogged"
#: The seconds of all plants, with the one in Java.
LENGTH_S = (len(ACTS) + 2) * SECONDS


def act(name: str, seconds: float) -> None:
    """Plant a delay about each half second; print its begin and end in nanoseconds by CLOCK_MONOTONIC."""
    if name == MACHINE:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(ABOVE_THE_WITNESS))
    chance, end = random.Random(name), time.monotonic() + seconds  # noqa: S311 - an order, no secret
    while time.monotonic() < end:
        time.sleep(chance.uniform(*APART_S))
        begin_ns = time.monotonic_ns()
        ACTS.get(name, _spin)()
        print(begin_ns, time.monotonic_ns(), flush=True)


def planted(command: Sequence[str], cpu: int, folder: Path) -> tuple[pd.DataFrame, list[Span]] | str:
    """Watch a core while a program plants delays on it; return stalls and events, or why there is no witness."""
    file, activity = folder / "plants.stalls", folder / "plants.activity"
    with Activity(activity, [os.getpid()], ROOT), stalls_watched(file, [cpu]) as watched:
        done = subprocess.run(
            pinned(command, (cpu,)),
            capture_output=True,
            text=True,
            timeout=SECONDS + _TIMEOUT_S,
            cwd=ROOT if command[0] == sys.executable else folder,
            check=True,
        )
    (record,) = watched
    return record.note or read(file, activity, done.stdout)


def read(stalls: Path, activity: Path | None, printed: str) -> tuple[pd.DataFrame, list[Span]]:
    """Read the stalls, without those of a busy disk, and the printed events, in seconds from the first wake-up."""
    log = read_stall_log(stalls)
    begin_ns, begin_unix_ns = log.moments[0]
    events = [tuple((int(moment) - begin_ns) / 1e9 for moment in line.split()) for line in printed.splitlines()]
    start_us = begin_unix_ns // 1000
    stalled = log.frame(start_us)
    if activity is not None:
        stalled = not_of_the_disk(stalled, read_activity(activity, start_us))
    return stalled, [(begin_s, end_s) for begin_s, end_s in events]


def rows(on: Fixture) -> Iterator[Row]:
    """Yield a row for each plant: how many events stay in, or, of the machine's plant, are left out."""
    cpu = (on.server_cpus or usable_cpus())[-1]
    commands = {name: [sys.executable, "-m", __name__, name, f"{SECONDS:g}"] for name in (*ACTS, MACHINE)}
    java = [str(require_jdk().java), "-XX:+UseSerialGC", "-Xmx512m", str(COLLECTING)]
    commands["collecting"] = [*java, f"{SECONDS:g}"]
    for name, command in commands.items():
        row = f"power/plants/{name}"
        result = planted(command, cpu, on.folder)
        if isinstance(result, str):
            yield NoFigure(row, ">=", 1.0, result)
            continue
        stalls, events = result
        counts = judged(stalls, events)
        lengths_ms = [1000 * (end - begin) for begin, end in events]
        note = (
            f"{counts.left_out} of {counts.events} left out, {counts.by_chance} of the moments between them; "
            f"{min(lengths_ms):.0f} to {max(lengths_ms):.0f} ms each"
        )
        if name == MACHINE:
            ours, wanted, figure = counts.left_out, int(np.ceil(FOUND_SHARE * counts.events)), "left-out-vs-wanted"
        else:
            ours, wanted, figure = counts.events - counts.left_out, counts.kept_at_least, "kept-vs-wanted"
        yield Row(f"{row}/{figure}", "events", (float(ours),), (float(wanted),), ">=", 1.0, note)


if __name__ == "__main__":
    act(sys.argv[1], float(sys.argv[2]))
