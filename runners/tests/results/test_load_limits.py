"""A limit of one load: what it can be, when it passes, fails, or is inconclusive; and the lines that end a load."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from runners.design.objective import LoadLimit, Outcome
from runners.errors import Exit, PlanError
from runners.readers.run import Step
from runners.report.concluded import load_lines
from runners.results.limits import exit_code, judge_load
from runners.storage.run_folder import REFERENCE, RUNS, run_path
from runners.tests.report import steps


@pytest.mark.parametrize(
    ("text", "level", "most_us", "least_achieved", "most_errors"),
    [
        ("p99<=10ms", 0.99, 10_000.0, None, None),
        (" P99.9 <= 250us", 0.999, 250.0, None, None),
        ("achieved>=99%", 0.0, None, 0.99, None),
        ("errors<=0.1%", 0.0, None, None, 0.001),
        ("errors=0", 0.0, None, None, 0.0),
    ],
)
def test_a_limit_is_read(
    text: str, level: float, most_us: float | None, least_achieved: float | None, most_errors: float | None
) -> None:
    limit = LoadLimit.parse(text)
    assert (limit.most_us, limit.least_achieved, limit.most_errors) == (most_us, least_achieved, most_errors)
    assert math.isclose(limit.level, level)


@pytest.mark.parametrize(
    "text", ["", "fast", "p99<=10", "p99>10ms", "p98<=1ms", "errors<=1", "achieved>=101%", "cpu<=1ms"]
)
def test_what_is_no_limit_is_wrong_usage(text: str) -> None:
    with pytest.raises(PlanError, match="--fail-on") as refused:
        LoadLimit.parse(text)
    assert refused.value.exit_code == Exit.USAGE


def load(folder: Path, **summary: float) -> Step:
    """A load of which each percentile is 1 000 us, with an interval from 980 to 1 020."""
    made = steps.whole(steps.step(folder, "get", [1_000.0] * 20_000))
    for name, value in summary.items():
        made.frames["summary"][name] = value
    return made


@pytest.mark.parametrize(
    ("text", "outcome", "code"),
    [
        ("p99<=1100us", Outcome.PASSED, 0),
        ("p50<=1ms", Outcome.INCONCLUSIVE, 4),
        ("p99<=0.9ms", Outcome.FAILED, 3),
        ("errors=0", Outcome.PASSED, 0),
        ("achieved>=99%", Outcome.PASSED, 0),
    ],
)
def test_a_percentile_is_judged_by_its_whole_interval(text: str, outcome: Outcome, code: int, tmp_path: Path) -> None:
    judgement = judge_load(load(tmp_path), LoadLimit.parse(text))
    assert judgement.outcome == outcome
    assert exit_code([judgement], inconclusive_passes=False) == code
    assert exit_code([judgement], inconclusive_passes=True) == (0 if code == 4 else code)


def test_errors_are_judged_as_they_were_counted(tmp_path: Path) -> None:
    failing = load(tmp_path, non_2xx=200.0)
    assert judge_load(failing, LoadLimit.parse("errors<=0.1%")).outcome == Outcome.FAILED
    assert judge_load(failing, LoadLimit.parse("errors<=1%")).outcome == Outcome.PASSED


def test_a_lower_bound_fails_a_limit_and_never_passes_one(tmp_path: Path) -> None:
    made = load(tmp_path)
    made.frames["percentiles"]["at_least"] = True
    assert judge_load(made, LoadLimit.parse("p99<=1500us")).outcome == Outcome.INCONCLUSIVE


def test_a_load_ends_with_five_lines_and_names_causes_and_reconnects(tmp_path: Path) -> None:
    def names(step: Step) -> list[str]:
        return [line.split()[0] for line in load_lines(step) if not line.startswith(" ")]

    assert names(load(tmp_path)) == ["rate", "errors", "median", "p99", "CPU"]
    broken = load(tmp_path, reconnects=7.0, reconnect_p50_us=200.0, closed_idle=3.0, read_errors=2.0)
    broken.frames["failures"] = pd.DataFrame(
        [{"cause": "connection reset", "counted_as": "read", "count": 2, "first_s": 0.5, "first": "os error 104"}]
    )
    lines = list(load_lines(broken))
    assert names(broken) == ["rate", "errors", "reconnects", "median", "p99", "CPU"]
    assert any("2 connection reset" in line and "0.5" in line and "os error 104" in line for line in lines)
    assert any(line.startswith("reconnects 7,") and "3 idle" in line for line in lines)


def test_an_id_of_a_run_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = steps.run(tmp_path, [])  # any id that there is not stays what it is
    assert run_path(str(known.folder.path)) == tmp_path
    assert run_path("none-such") == Path("none-such") and run_path("a/b") == Path("a/b")
    manifest = next(REFERENCE.glob("*/manifest.json"))
    monkeypatch.chdir(tmp_path)
    run = pd.read_json(manifest, typ="series")["run"]
    assert run_path(run) == manifest.parent or (RUNS / run).exists()
