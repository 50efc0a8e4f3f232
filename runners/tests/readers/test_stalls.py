"""The stall witness's file is read onto the step's clock, and a broken one says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.activity import read_stall_log

S, MS = 10**9, 10**6
START_S = 1_795_000_000
#: The wall clock gains 20 ms in the 100 s of the watch.
TEXT = f"""#stall-witness/1 period_ns=1000000 late_ns=100000
#begin monotonic_ns={500 * S} unix_ns={START_S * S}
#end monotonic_ns={600 * S} unix_ns={(START_S + 100) * S + 20 * MS}
#core 0 cpu_ns=1400000
#core 1 cpu_ns=1500000
0 {550 * S + 3 * MS} {3 * MS}
1 {510 * S + 1 * MS} {1 * MS}
1 {599 * S} {2 * MS}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "stalls.txt"
    path.write_text(text)
    return path


def test_stalls_lie_on_the_clock_of_the_other_records(tmp_path: Path) -> None:
    log = read_stall_log(written(tmp_path, TEXT))
    assert log.used_ns == {0: 1_400_000, 1: 1_500_000}
    stalls = log.frame(START_S * 10**6, elapsed_s=90.0)
    assert stalls["cpu"].tolist() == [1, 0], "in the order of time; the one beyond the window is left out"
    assert stalls["t_s"].tolist() == pytest.approx([10.002, 50.010], abs=1e-6)
    assert stalls["duration_ms"].tolist() == [1.0, 3.0]


def test_a_watch_without_a_stall_is_an_empty_frame(tmp_path: Path) -> None:
    stalls = read_stall_log(written(tmp_path, TEXT[: TEXT.index("0 5500")])).frame(START_S * 10**6)
    assert stalls.empty and list(stalls.columns) == ["cpu", "t_s", "duration_ms"]


@pytest.mark.parametrize(
    ("text", "cause"), [("", "does not begin"), ("1000 20\n", "does not begin"), (TEXT + "1 two 3\n", "no stall")]
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, cause: str) -> None:
    with pytest.raises(ReadError, match=cause):
        read_stall_log(written(tmp_path, text))
