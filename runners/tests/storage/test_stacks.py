"""pprof's format is read back as it was written, by pprof itself too; what is none is an error, never another one."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.storage.stacks import BadProfileError, decoded, encoded, speedscope

NAMES = st.text(st.characters(codec="utf-8", exclude_characters=";"), min_size=1, max_size=8)
STACKS = st.dictionaries(st.lists(NAMES, min_size=1, max_size=5).map(";".join), st.integers(1, 2**62), max_size=8)


@given(STACKS)
def test_what_is_written_is_read_back(stacks: dict[str, int]) -> None:
    assert {";".join(names): count for names, count in decoded(encoded(stacks, "cpu"))} == stacks


@given(st.binary(max_size=200))
def test_what_is_no_profile_is_an_error_of_one_kind(data: bytes) -> None:
    with contextlib.suppress(BadProfileError):
        list(decoded(data))


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_profile_that_is_cut_short_is_an_error_or_less(cut: int) -> None:
    import gzip

    whole = gzip.decompress(encoded({"a;b": 3, "a;c": 5}, "cpu"))
    with contextlib.suppress(BadProfileError):
        assert sum(count for _, count in decoded(whole[:-cut])) <= 8


@pytest.mark.long  # Go builds pprof when it is first asked for it
def test_pprof_reads_what_is_written(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not on this machine")
    path = tmp_path / "profile.pb.gz"
    path.write_bytes(encoded({"main;serve;<script>write": 30, "main;serve": 10}, "cpu"))
    done = subprocess.run(
        ["go", "tool", "pprof", "-top", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "75.00%" in done.stdout and "<script>write" in done.stdout


def test_speedscope_has_every_weight_under_its_frames() -> None:
    document = json.loads(json.dumps(speedscope({"a;b": 3, "a": 1}, "cpu", "t")))
    (profile,) = document["profiles"]
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert [[names[index] for index in sample] for sample in profile["samples"]] == [["a", "b"], ["a"]]
    assert profile["weights"] == [3, 1] and profile["endValue"] == 4 and profile["unit"] == "none"
