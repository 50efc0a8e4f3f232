"""Outputs of load tools are compared where they may be, with the files' own interval, and refused elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from runners.analysis.comparison import Comparison
from runners.analysis.intervals import Direction
from runners.analysis.outputs import compare_outputs
from runners.analysis.quantities import Row
from runners.cli import lab
from runners.errors import PlanError
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS


def outputs(*texts: str) -> list[Output]:
    return [output for text in texts for output in outputs_of(Document(text)).outputs]


def with_p90(*values_ms: float) -> list[str]:
    """Runs of one setting whose p90 is each of these."""
    rows = [(" 90.000%    9.30ms", " 90.000%   {:.2f}ms"), ("       9.301     0.900000", "       {:.3f}     0.900000")]
    texts = []
    for value in values_ms:
        text = HEALTHY
        for old, new in rows:
            assert old in text
            text = text.replace(old, new.format(value))
        texts.append(text)
    return texts


def compared(a: Sequence[Output], b: Sequence[Output], *despite: str) -> Comparison:
    (load,) = compare_outputs(a, b, despite)
    return load.comparison


def figure(comparison: Comparison, name: str) -> Row:
    return next(row for row in comparison.rows if row.quantity.label == name)


def test_repeats_that_lie_apart_are_called_different_with_their_interval() -> None:
    comparison = compared(outputs(*with_p90(9.2, 9.3, 9.4, 9.25)), outputs(*with_p90(11.1, 11.2, 11.3, 11.15)))
    p90 = figure(comparison, "p90")
    assert (p90.direction, p90.sampled, p90.starts) == (Direction.HIGHER, False, 4)
    assert p90.low < p90.ratio < p90.high
    assert p90.ratio == pytest.approx(1.2, abs=0.02)
    assert figure(comparison, "p50").direction == Direction.INCONCLUSIVE


def test_repeats_that_overlap_are_inconclusive() -> None:
    comparison = compared(outputs(*with_p90(8.0, 9.3, 10.4)), outputs(*with_p90(8.5, 9.1, 11.0)))
    assert figure(comparison, "p90").direction == Direction.INCONCLUSIVE


def test_one_run_of_each_has_the_interval_of_sampling_and_no_verdict() -> None:
    comparison = compared(outputs(*with_p90(9.3)), outputs(*with_p90(15.3)))
    p90 = figure(comparison, "p90")
    assert p90.sampled and p90.direction == Direction.INCONCLUSIVE and p90.low < p90.ratio < p90.high
    assert any("one run of a side" in note for note in comparison.notes)


def test_the_maximum_is_not_compared_nor_an_offered_rate() -> None:
    refused = dict(compared(outputs(HEALTHY), outputs(HEALTHY)).refused)
    assert "length of the run" in refused["max"]
    assert "offered" in refused["rate"]


def test_a_closed_loop_is_not_compared_with_an_open_one_whatever_is_allowed() -> None:
    with pytest.raises(PlanError, match="loop: open loop against closed loop"):
        compare_outputs(outputs(HEALTHY.replace("put.lua", "get.lua")), outputs(CLOSED))
    with pytest.raises(PlanError, match="no setting of an output that may differ"):
        compare_outputs(outputs(HEALTHY), outputs(CLOSED), ["loop"])


def test_another_setting_is_refused_by_name_and_may_be_allowed() -> None:
    other = HEALTHY.replace("-c8", "-c16").replace("8 connections", "16 connections")
    with pytest.raises(PlanError, match=r"connections: 8 against 16.*--despite 'connections'"):
        compare_outputs(outputs(HEALTHY), outputs(other))
    comparison = compared(outputs(HEALTHY), outputs(other), "connections")
    assert any("connections differs, as was allowed" in note for note in comparison.notes)


def test_a_refusal_names_the_settings_of_the_two_outputs_that_differ_least() -> None:
    gets = HEALTHY.replace("put.lua", "get.lua")
    on_16, on_32 = (gets.replace("-c8", f"-c{n}").replace("8 connections", f"{n} connections") for n in (16, 32))
    with pytest.raises(PlanError, match="they differ in connections: 16 against 32;"):
        compare_outputs(outputs(HEALTHY, on_16), outputs(on_32))


def test_the_latency_of_a_rate_that_was_not_achieved_is_not_compared() -> None:
    short = HEALTHY.replace("-R2000", "-R2600")
    refused = dict(compared(outputs(short), outputs(short)).refused)
    assert "is not that of its rate" in refused["latency"]


def test_errors_and_time_outs_are_not_compared_with_successes() -> None:
    bad = CLOSED.replace("Requests/sec", "  Non-2xx or 3xx responses: 700\nRequests/sec")
    comparison = compared(outputs(CLOSED), outputs(bad))
    assert {name for name, _ in comparison.refused} == {"rate", "latency"}
    assert "5.83" in dict(comparison.refused)["latency"]
    late = CLOSED.replace("Requests/sec", "  Socket errors: connect 0, read 0, write 0, timeout 3\nRequests/sec")
    assert "time-outs" in dict(compared(outputs(CLOSED), outputs(late)).refused)["latency"]


def test_a_summary_of_means_has_nothing_to_compare_but_its_rate() -> None:
    summary = (TOOLS / "jmeter-5.6.3.txt").read_text()
    comparison = compared(outputs(summary), outputs(summary))
    assert "prints no percentile" in dict(comparison.refused)["latency"]


def test_closed_loops_are_compared_by_their_rates() -> None:
    faster = CLOSED.replace("12000 requests", "15000 requests").replace("200.00", "250.00")
    rate = figure(compared(outputs(CLOSED, CLOSED, CLOSED), outputs(faster, faster, faster)), "rate")
    assert (rate.direction, round(rate.ratio, 3)) == (Direction.HIGHER, 1.25)


def test_loads_are_matched_by_their_offered_rates() -> None:
    fast = HEALTHY.replace("-R2000", "-R1990").replace("-c8", "-c8")
    other = (
        HEALTHY.replace("-R2000", "-R5000").replace("2000.00", "5000.00").replace("120000 requests", "300000 requests")
    )
    loads = compare_outputs(outputs(HEALTHY, other), outputs(other, fast))
    assert [load.b[0].offered_rps for load in loads] == [1_990, 5_000]


def test_files_are_compared_on_the_command_line(tmp_path: Path) -> None:
    names = []
    for number, text in enumerate([*with_p90(9.2, 9.3, 9.4), *with_p90(11.1, 11.2, 11.3)]):
        names.append(str(tmp_path / f"run-{'abcdef'[number]}.txt"))
        Path(names[-1]).write_text(text, encoding="utf-8")
    sides = [word for side, part in (("--a", names[:3]), ("--b", names[3:])) for name in part for word in (side, name)]
    done = CliRunner().invoke(lab, ["compare", *sides], catch_exceptions=False)
    assert done.exit_code == 0
    assert re.search(r"B is slower than A in p90: \+20\S* % .*11.2 ms against A 9.30 ms; 3 runs of each", done.output)
    done = CliRunner().invoke(lab, ["compare", *names[:3], "--json"], catch_exceptions=False)
    record = json.loads(done.output)
    assert [pair["b"] for pair in record["pairs"]] == names[1:3]
    assert record["pairs"][0]["loads"][0]["figures"][0]["verdict"] == "inconclusive"
    assert record["audit"]["summary"]["runs"] == 3


@pytest.mark.parametrize(("repeats", "bad", "code"), [(1, 700, 3), (3, 700, 3), (3, 5, 0), (1, 0, 0)])
def test_outputs_of_which_more_responses_failed_fail_first(repeats: int, bad: int, code: int, tmp_path: Path) -> None:
    sides = []
    for flag, errors in (("--a", 0), ("--b", bad)):
        for number in range(repeats):
            path = tmp_path / f"{flag}{number}.txt"
            line = f"  Non-2xx or 3xx responses: {errors}\nRequests/sec" if errors else "Requests/sec"
            path.write_text(CLOSED.replace("Requests/sec", line), encoding="utf-8")
            sides += [flag, str(path)]
    done = CliRunner().invoke(lab, ["compare", *sides])
    assert done.exit_code == code, done.output
    lines = done.output.splitlines()
    heading = next(place for place, line in enumerate(lines) if line.startswith("wrk"))
    assert ("responses that failed: 5.8" in lines[heading + 1].lower()) == (bad > 100)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--size", "smoke"], "as they are"), (["--engine", "lsm"], "as they are"), ([], "nothing to compare")],
)
def test_what_does_not_go_with_outputs_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(HEALTHY, encoding="utf-8")
    done = CliRunner().invoke(lab, ["compare", str(path), *words])
    assert done.exit_code != 0
    assert said in f"{done.output}{done.exception}"


def test_a_file_without_an_output_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nothing here\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text(HEALTHY, encoding="utf-8")
    done = CliRunner().invoke(lab, ["compare", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert isinstance(done.exception, PlanError)
    assert "no output of a known load tool" in str(done.exception)
