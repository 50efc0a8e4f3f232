"""Read the file of the stall witness: when which core stood still, and for how long.

Its form is described in `runners/loadgen/docs/stalls.md`. It notes stalls in CLOCK_MONOTONIC, and its first and last
moment by the wall clock too, so that they can be laid beside the lab's other records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why

_HEAD = re.compile(r"#stall-witness/1 period_ns=(\d+) late_ns=(\d+)$")
_MOMENT = re.compile(r"#(?:begin|end) monotonic_ns=(\d+) unix_ns=(\d+)$")
_CORE = re.compile(r"#core (\d+) cpu_ns=(\d+)$")
_REMEDY = "run the step again"


@dataclass(frozen=True, slots=True)
class StallLog:
    """What the witness saw.

    `cpu`, `woke_ns` (CLOCK_MONOTONIC) and `late_ns`: its late wake-ups, core after core. `moments`: begin and end of
    the watch, each by CLOCK_MONOTONIC and by the wall clock, in nanoseconds. `used_ns`: the witness's CPU time by core.
    """

    period_ns: int
    late_least_ns: int
    moments: tuple[tuple[int, int], tuple[int, int]]
    used_ns: dict[int, int]
    cpu: npt.NDArray[np.int64]
    woke_ns: npt.NDArray[np.int64]
    late_ns: npt.NDArray[np.int64]

    def unix_ns(self, monotonic_ns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Convert to the wall clock, whose adjustment during the watch is taken for steady."""
        (begin_ns, begin_unix_ns), (end_ns, end_unix_ns) = self.moments
        drift = ((end_unix_ns - begin_unix_ns) - (end_ns - begin_ns)) / max(1, end_ns - begin_ns)
        since_ns = monotonic_ns - begin_ns
        unix: npt.NDArray[np.int64] = begin_unix_ns + since_ns + np.round(since_ns * drift).astype(np.int64)
        return unix

    def frame(self, start_unix_us: int, elapsed_s: float | None = None) -> pd.DataFrame:
        """Give the `stalls` frame: those within the window."""
        t_s = (self.unix_ns(self.woke_ns - self.late_ns) - start_unix_us * 1000) / 1e9
        rows = [
            {"cpu": cpu, "t_s": begin, "duration_ms": late / 1e6}
            for cpu, begin, late in zip(self.cpu.tolist(), t_s.tolist(), self.late_ns.tolist(), strict=True)
            if elapsed_s is None or (begin + late / 1e9 >= 0 and begin <= elapsed_s)
        ]
        return frame("stalls", sorted(rows, key=lambda row: float(row["t_s"])))


def read_stall_log(path: Path) -> StallLog:
    """Read the file. Raises ReadError when it is none, or broken."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(path, f"can't be read ({why(error)})", _REMEDY) from error
    head = _HEAD.match(lines[0]) if lines else None
    moments = [found for line in lines[1:3] if (found := _MOMENT.match(line))]
    if head is None or len(moments) != 2:
        raise ReadError(path, "does not begin with '#stall-witness/1' and two moments", "build the witness again")
    used_ns = {int(found[1]): int(found[2]) for line in lines if (found := _CORE.match(line))}
    try:
        rows = [tuple(map(int, line.split())) for line in lines if not line.startswith("#")]
        table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    except ValueError as error:
        raise ReadError(path, f"has a line that is no stall ({error})", _REMEDY) from error
    begin, end = ((int(each[1]), int(each[2])) for each in moments)
    return StallLog(int(head[1]), int(head[2]), (begin, end), used_ns, table[:, 0], table[:, 1], table[:, 2])
