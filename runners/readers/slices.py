"""The generator's slices (`--slices`, schema `truepace-slices/1`): response times by tenths of a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from runners.readers.columns import frame
from runners.readers.errors import ReadError, why
from runners.storage.step_folder import EITHER_NAME

_HEAD = re.compile(rf"#{EITHER_NAME}-slices/1 start_unix_us=(\d+) slices_per_s=(\d+)$")


def read_slices(path: Path) -> pd.DataFrame:
    """The `slices` frame. A cut last line is left out; any other broken line raises ReadError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(path, f"can't be read ({why(error)})", "run the step again") from error
    lines = text.splitlines()
    head = _HEAD.match(lines[0]) if lines else None
    if head is None:
        raise ReadError(path, "does not begin with '#truepace-slices/1'", "read it with the lab that wrote it")
    rows: list[dict[str, float]] = []
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith("#"):
            continue  # what the generator says of all of them
        try:
            rows += _rows(line, int(head[2]))
        except ValueError as error:
            if number == len(lines) and not text.endswith("\n"):
                break
            raise ReadError(path, f"line {number} is no slice ({error})", "run the step again") from error
    return frame("slices", rows)


def _rows(line: str, per_second: int) -> Iterator[dict[str, float]]:
    index, *bins = line.split(" ")
    t_s = int(index) / per_second
    if not bins:
        yield {"t_s": t_s, "us": 0.0, "count": 0.0}
    for each in bins:
        us, count = each.split(":")
        yield {"t_s": t_s, "us": float(us), "count": float(int(count))}
