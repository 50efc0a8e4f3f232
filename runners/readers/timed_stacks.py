"""The profiler's samples with their times (profile.samples) to the `samples` frame, by fiftieths of a second."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from runners.readers.collapsed import plain
from runners.readers.columns import frame
from runners.readers.errors import ReadError, why

PER_SECOND = 50
_STACK = re.compile(r"S (\d+) (.+)$")
_EVENT = re.compile(r"E (\w+) (\d+) (\d+) (\d+) (\d+)$")


def read_timed_stacks(path: Path, start_unix_us: int) -> pd.DataFrame:
    """The `samples` frame. A cut last line is left out; any other line of another form raises ReadError."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", "convert the recording again") from error
    stacks: dict[str, str] = {}
    merged: dict[tuple[str, int, str], list[int]] = {}
    for number, line in enumerate(lines, start=1):
        if stack := _STACK.match(line):
            stacks[stack[1]] = ";".join(plain(name) for name in stack[2].split(";"))
        elif (event := _EVENT.match(line)) and event[3] in stacks:
            slot = (int(event[2]) - start_unix_us) * PER_SECOND // 1_000_000
            sums = merged.setdefault((event[1], slot, stacks[event[3]]), [0, 0])
            sums[0] += int(event[4])
            sums[1] += int(event[5])
        elif number < len(lines):
            raise ReadError(path, f"line {number} is no sample", "convert the recording again")
    rows = (
        {"event": event, "t_s": slot / PER_SECOND, "stack": stack, "samples": sums[0], "weight": sums[1]}
        for (event, slot, stack), sums in sorted(merged.items())
    )
    return frame("samples", rows)
