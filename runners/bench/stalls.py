"""Watch a core for stalls of the machine, and leave out the puts that they delayed, whichever store made them.

The witness is a program of real-time priority that wakes each millisecond on the writer's core (`stall-witness` of the
generator's crate). What delays it is no thread of the store: the hypervisor, an interrupt, or the kernel, which in a
long system call may also be at work for the store. So the figures with nothing left out are printed beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runners.errors import MeasureError, ToolError
from runners.readers.activity import read_stall_log
from runners.toolchain.build import build_truepace
from runners.trial.witness import StallWitness

#: How often the witness wakes: a stall may have begun so long before it was due.
PERIOD_NS = 1_000_000
#: A put that was called so soon after it was due did not wait for one before it.
ON_TIME_NS = 20_000
Times = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Stall:
    """A late wake-up of the witness: when it woke, by the clock of the puts, and by how much that was late."""

    woke_ns: int
    late_ns: int


@dataclass(frozen=True, slots=True)
class Puts:
    """When each put was due, called and returned, in the order of one writer."""

    due_ns: Times
    called_ns: Times
    returned_ns: Times

    @property
    def response_us(self) -> npt.NDArray[np.float64]:
        """Response times, from when each was due."""
        return (self.returned_ns - self.due_ns) / 1e3

    @property
    def service_us(self) -> npt.NDArray[np.float64]:
        """How long the calls themselves took."""
        return (self.returned_ns - self.called_ns) / 1e3


def read_puts(file: Path) -> Puts:
    """Read the records that the Java program `Tail` writes."""
    table = np.fromfile(file, dtype="<i8").reshape(-1, 3)
    return Puts(table[:, 0], table[:, 1], table[:, 2])


def read_stalls(file: Path) -> list[Stall]:
    """Read the records of the witness."""
    log = read_stall_log(file)
    return [Stall(woke, late) for woke, late in zip(log.woke_ns.tolist(), log.late_ns.tolist(), strict=True)]


def delayed(puts: Puts, stalls: Iterable[Stall]) -> npt.NDArray[np.bool_]:
    """Mark the puts that a stall of the core delayed.

    They are those that were under way or due while the core may have stood still, and those after them that waited in
    their queue: up to the first one that is called on time, and at most for as long again.
    """
    marked = np.zeros(len(puts.due_ns), dtype=np.bool_)
    waited = puts.called_ns - puts.due_ns
    for stall in stalls:
        length_ns = stall.late_ns + PERIOD_NS
        first = int(np.searchsorted(puts.returned_ns, stall.woke_ns - length_ns, "right"))
        last = int(np.searchsorted(puts.due_ns, stall.woke_ns, "left"))
        bound = int(np.searchsorted(puts.due_ns, stall.woke_ns + length_ns, "left"))
        on_time = np.flatnonzero(waited[last:bound] <= ON_TIME_NS)
        marked[first : last + int(on_time[0]) if len(on_time) else bound] = True
    return marked


def percentile(values: npt.NDArray[np.float64], share: float) -> float:
    """Give the value below which a share of all lies."""
    ordered = np.sort(values)
    return float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])


def find_witness(cpu: int | None, folder: Path) -> tuple[StallWitness | None, str]:
    """Find a witness that works on a core; without one give the reason."""
    if cpu is None:
        return None, "the cores can't be chosen on this system"
    try:
        found = StallWitness(build_truepace(print).with_name("stall-witness"))
        with found.watching([cpu], folder / "stalls-of-a-trial.txt"):
            pass
    except (ToolError, MeasureError) as error:
        return None, str(error)
    return found, ""
