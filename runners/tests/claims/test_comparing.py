"""Two settings compared in rounds by an earlier lab: its record is read as a block of interleaved trials."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from msgspec.structs import replace

from runners.analysis.interleaved import comparisons
from runners.analysis.treatments import Verdict
from runners.claims.interleaved import analyse
from runners.design.session import SOLO
from runners.readers.run import Run, Step
from runners.tests.report import steps


def _repeat(folder: Path, number: int, side: str, median_us: float, names: tuple[str, str]) -> Step:
    about = {"round": number, "side": side, "a": names[0], "b": names[1], "planned": 6, "see": 0.02}
    times = steps.times(median_us=median_us, seed=2 * number + (side == "b"))
    return steps.whole(steps.step(folder, f"r{number}-{side}", times, kind="repeat", compare=about))


def _run(folder: Path, b_us: float, names: tuple[str, str] = ("one", "two")) -> Run:
    medians = {"a": 60.0, "b": b_us}
    return steps.run(folder, [_repeat(folder, n, side, medians[side], names) for n in range(1, 7) for side in medians])


def test_the_answer_is_the_difference_in_the_median(tmp_path: Path) -> None:
    run = _run(tmp_path, b_us=90.0)
    assert {step.kind for step in run.steps} == {SOLO}
    (found,) = comparisons(run)
    row = found.row("p50_us")
    assert row is not None and row.verdict == Verdict.HIGHER and row.low < 1.5 < row.high and row.starts == 6
    assert found.row("p99_us") is not None
    claims = analyse(run)
    assert claims is not None and "p50" in claims.answer and "slower" in claims.answer


def test_a_setting_against_itself_is_told_apart_by_its_side(tmp_path: Path) -> None:
    (found,) = comparisons(_run(tmp_path, b_us=60.0, names=("lsm", "lsm")))
    assert (found.baseline, found.treatments) == ("lsm (A)", ("lsm (B)",))


def test_without_a_valid_round_nothing_is_compared(tmp_path: Path) -> None:
    run = _run(tmp_path, b_us=90.0)
    invalid = [dataclasses.replace(step, record=replace(step.record, valid=False)) for step in run.steps]
    claims = analyse(dataclasses.replace(run, steps=tuple(invalid)))
    assert claims is not None and not any(finding.evidence.get("quantity") == "p50_us" for finding in claims.findings)
