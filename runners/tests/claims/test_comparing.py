"""What the repeats of two settings say: an answer always, and never one that the rounds don't bear."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from runners.claims.comparing import REPEAT, analyse
from runners.readers.run import Run, Step
from runners.tests.report import steps


def _repeat(folder: Path, number: int, side: str, median_us: float) -> Step:
    made = steps.whole(
        steps.step(
            folder,
            f"r{number}-{side}",
            steps.times(median_us=median_us, seed=2 * number + (side == "b")),
            kind=REPEAT,
            compare={"round": number, "side": side, "a": "one", "b": "two", "planned": 6, "see": 0.02},
        )
    )
    telemetry = made.frames["telemetry"].assign(server_cpu_cores=0.5)
    return dataclasses.replace(made, frames={**made.frames, "telemetry": telemetry})


def _run(folder: Path, b_us: float) -> Run:
    medians = {"a": 60.0, "b": b_us}
    return steps.run(folder, [_repeat(folder, n, side, medians[side]) for n in range(1, 7) for side in medians])


def _with_a_bound(run: Run, times: float) -> Run:
    """Requests without an answer in one round make p99 and above a bound there; they are at most so many times that."""
    first, *others = run.steps
    rows = first.frames["percentiles"]
    high = rows["percentile"] >= 0.99
    rows = rows.assign(at_least=high, most_us=rows["value_us"] * np.where(high, times, 1.0))
    return dataclasses.replace(
        run, steps=(dataclasses.replace(first, frames={**first.frames, "percentiles": rows}), *others)
    )


def test_the_answer_is_the_difference_in_p99(tmp_path: Path) -> None:
    told = analyse(_run(tmp_path, b_us=90.0))
    assert told is not None and "p99" in told.answer and "higher" in told.answer


def test_a_bound_with_an_end_is_compared_and_widens_the_interval(tmp_path: Path) -> None:
    run = _run(tmp_path, b_us=90.0)
    told = {}
    for times in (1.0, 1.3):
        claims = analyse(_with_a_bound(run, times))
        assert claims is not None
        (told[times],) = (each for each in claims.findings if each.evidence.get("quantity") == "p99_us")
    exact, wider = (told[times].evidence for times in (1.0, 1.3))
    assert "higher" in told[1.3].sentence and float(str(wider["low"])) < float(str(exact["low"]))


def test_a_bound_without_an_end_is_no_figure_and_the_answer_says_so(tmp_path: Path) -> None:
    told = analyse(_with_a_bound(_run(tmp_path, b_us=90.0), math.nan))
    assert told is not None
    assert not any(finding.evidence.get("quantity") == "p99_us" for finding in told.findings)
    assert "In p99 they could not be compared" in told.answer and told.findings[0].sentence in told.answer
    (why,) = (finding for finding in told.findings if finding.code == "C03")
    assert "could not be compared in p99: in a round it is only a bound" in why.sentence


def test_without_a_valid_round_nothing_is_compared(tmp_path: Path) -> None:
    run = _run(tmp_path, b_us=90.0)
    invalid = [dataclasses.replace(step, record=replace(step.record, valid=False)) for step in run.steps]
    told = analyse(dataclasses.replace(run, steps=tuple(invalid)))
    assert told is not None and "no round is valid for both" in told.answer
