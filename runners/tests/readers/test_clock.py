"""Pauses and telemetry on the step's clock."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.activity import read_pauses, read_telemetry

JVM = Path(__file__).parents[1] / "data" / "jvm"


def unix_us(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e6)


def test_a_pause_starts_before_its_line_is_written() -> None:
    start = unix_us("2026-11-21T12:49:17.000")
    pauses = read_pauses(JVM / "serial.log", start)
    first = pauses[pauses["kind"] == "gc"].iloc[0]
    assert first["t_s"] == pytest.approx(0.691 - 0.013498, abs=1e-6)
    assert first["duration_ms"] == 13.498
    assert first["cause"] == "Pause Young (Allocation Failure)"
    safepoint = pauses[pauses["kind"] == "safepoint"].iloc[0]
    assert safepoint["duration_ms"] == pytest.approx(13.581793)
    assert safepoint["cause"] == "SerialCollectForAllocation"


@pytest.mark.parametrize(("log", "gc", "safepoints"), [("serial", 2, 2), ("g1", 7, 7), ("z", 0, 10)])
def test_pauses_of_each_collector(log: str, gc: int, safepoints: int) -> None:
    pauses = read_pauses(JVM / f"{log}.log", 0)
    kinds = pauses["kind"].value_counts()
    assert kinds.get("gc", 0) == gc
    assert kinds.get("safepoint", 0) >= safepoints - 2
    assert (pauses["duration_ms"] > 0).all()
    assert pauses["t_s"].is_monotonic_increasing


def test_only_pauses_that_touch_the_window_are_kept() -> None:
    start = unix_us("2026-11-21T12:49:17.685")  # in the middle of the first pause
    assert len(read_pauses(JVM / "serial.log", start, 3.0)) == 2
    assert read_pauses(JVM / "serial.log", start + 1_000_000, 3.0).empty


def test_a_log_without_a_clock_is_refused_with_the_flag_to_set(tmp_path: Path) -> None:
    path = tmp_path / "gc.log"
    path.write_text("[0.123s][info][gc] GC(0) Pause Young (Normal) 1M->1M(2M) 1.0ms\n")
    with pytest.raises(ReadError, match="utctime"):
        read_pauses(path, 0)
    path.write_text("")
    assert read_pauses(path, 0).empty


def sample(t_s: float, server: float | None, steal: float = 0.0) -> str:
    process = {"cpu_s": server, "rss_bytes": 5} if server is not None else None
    machine = {"busy_s": 1.5 * t_s, "steal_s": steal * t_s, "idle_s": 0.5 * t_s}
    return json.dumps(
        {"unix_us": round(1e6 * (100 + t_s)), "server": process, "generator": None, "machine": machine, "cores": 2}
    )


def test_counters_become_use_between_samples(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    path.write_text("\n".join(sample(t, 0.5 * t, 0.2) for t in (0.0, 0.5, 1.0, 2.0)) + "\n")
    frame = read_telemetry(path, 100_000_000)
    assert list(frame["t_s"]) == [0.5, 1.0, 2.0]
    assert list(frame["server_cpu_cores"]) == pytest.approx([0.5] * 3)
    assert list(frame["machine_busy_share"]) == pytest.approx([0.75] * 3)
    assert list(frame["steal_share"]) == pytest.approx([0.1] * 3)
    assert list(frame["foreign_cpu_cores"]) == pytest.approx([1.0] * 3)
    assert list(frame["server_cpu_s"]) == pytest.approx([0.25, 0.5, 1.0])
    assert frame["generator_cpu_cores"].isna().all()
    assert list(read_telemetry(path, 100_000_000, 1.0)["t_s"]) == [0.5, 1.0]


def test_a_dead_server_and_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.jsonl"
    path.write_text(sample(0, 0.1) + "\n" + sample(1, None) + "\n" + sample(2, None)[:20])
    frame = read_telemetry(path, 100_000_000)
    assert len(frame) == 1
    assert frame["server_cpu_cores"].isna().all()
    path.write_text("nonsense\n" + sample(1, None) + "\n")
    with pytest.raises(ReadError, match="line 1"):
        read_telemetry(path, 0)
