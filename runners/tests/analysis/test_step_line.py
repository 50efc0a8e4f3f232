"""A step in one line never quotes a latency that means nothing."""

from __future__ import annotations

from pathlib import Path

from runners.analysis.facts import line
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.tests.fixtures.fake_run import make_run


def made(root: Path, **faults: tuple[str, ...]) -> Run:
    without = ("put-lsm-profiled", "get-lsm-profiled")
    return read_run(make_run(root, engines=("lsm",), duration_s=2, without=without, **faults))  # type: ignore[arg-type]


def test_a_healthy_step_says_rates_percentiles_samples_and_errors(tmp_path: Path) -> None:
    (step,) = made(tmp_path).find(subject="lsm", workload="put", profiled=False)
    text = line(step)
    assert text.startswith("LSM PUT: ") and "p50" in text and "p99" in text and "samples" in text and "errors" in text


def test_saturation_and_invalid_steps_have_no_latency(tmp_path: Path) -> None:
    for fault, word in (("saturated", "saturated"), ("died", "NOT VALID")):
        run = made(tmp_path / fault, **{fault: ("put-lsm",)})
        (step,) = run.find(subject="lsm", workload="put", profiled=False)
        assert word in line(step) and "p99" not in line(step) and "p50" not in line(step)


def test_a_probe_says_what_a_closed_loop_reached(tmp_path: Path) -> None:
    step = made(tmp_path).find(kind="probe", subject="lsm", workload="put")[0]
    assert "closed loop" in line(step) and "p99" not in line(step)
