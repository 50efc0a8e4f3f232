"""How late this machine wakes up who sleeps: a witness during a measurement, with nothing of the lab's in it.

`python waking.py` prints a line when it begins, sleeps and wakes until its standard input ends, and prints a JSON
object: `late_us`, how much later than asked it woke each time, and `cpu_s`, what that took. It also keeps a core from
deep sleep.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SLEEP_S = 0.002


@dataclass
class Waking:
    """What the witness saw, once the measurement has ended."""

    late_us: list[float] = field(default_factory=list)
    cpu_s: float = 0.0

    def late_at(self, level: float) -> float:
        """How late the machine was at this level of its wake-ups, microseconds."""
        return sorted(self.late_us)[int(level * (len(self.late_us) - 1))]


@contextlib.contextmanager
def waking() -> Iterator[Waking]:
    """The witness runs inside this context; its account is filled when the context is left."""
    seen = Waking()
    with subprocess.Popen(
        [sys.executable, "-S", str(Path(__file__))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as witness:
        assert witness.stdout is not None
        witness.stdout.readline()
        try:
            yield seen
        finally:
            reported, _ = witness.communicate()
            seen.late_us, seen.cpu_s = json.loads(reported).values()


def _witness() -> None:
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    late_us: list[float] = []
    begin_ns = time.monotonic_ns()
    print(flush=True)
    while not late_us or not ended.is_set():  # who was stopped before its first look has a sleep to tell of as well
        time.sleep(SLEEP_S)
        now_ns = time.monotonic_ns()
        late_us.append((now_ns - begin_ns) / 1000 - SLEEP_S * 1e6)
        begin_ns = now_ns
    print(json.dumps({"late_us": late_us, "cpu_s": time.process_time()}))


if __name__ == "__main__":
    _witness()
