"""Two settings compared by request: what the sentences say of a block of interleaved trials."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace

from runners.analysis.interleaved import QUANTITIES, comparisons
from runners.analysis.quantities import Row, absolute, signed
from runners.analysis.treatments import Verdict
from runners.claims import interleaved
from runners.claims.interleaved import _counted as counted
from runners.claims.interleaved import analyse, answer_of
from runners.design.session import SHARED
from runners.readers import write
from runners.readers.run import Run, Step, frame
from runners.tests.report import steps

STARTS, REQUESTS, LENGTH_S = 6, 12_000, 5.0


def _start(folder: Path, number: int, medians_us: Mapping[str, float]) -> Step:
    """A start in which one schedule offers each request to one of the settings, in a random order."""
    names, count, rate_rps = list(medians_us), REQUESTS * len(medians_us), REQUESTS / LENGTH_S
    order = np.random.default_rng(number).permutation(count)
    target = np.repeat(names, REQUESTS)[order]
    each_us = [steps.times(REQUESTS, us, 2 * number + at) for at, us in enumerate(medians_us.values())]
    taken_us = np.concatenate(each_us)[order]
    requests = pd.DataFrame(
        {
            "t_s": np.arange(count) * LENGTH_S / count, "target": target, "predecessor": np.roll(target, 1),
            "response_us": taken_us, "service_us": taken_us, "fate": "completed",
        }
    )  # fmt: skip
    rates = {"offered_rps": rate_rps, "achieved_rps": rate_rps, "served": REQUESTS, "non_2xx": 0}
    frames = {"requests": requests, "targets": frame("targets", ({"target": name, **rates} for name in names))}
    about = {
        "name": "compare", "treatments": names, "primary": "p50_us", "planned_rounds": STARTS,
        "smallest_difference": 0.02,
    }  # fmt: skip
    name = f"compare-{number:02d}"
    return steps.whole(
        steps.step(folder, name, taken_us.tolist(), frames=frames, role=SHARED, round=number, interleaved=about)
    )


def _run(folder: Path, two_us: float) -> Run:
    return steps.run(folder, [_start(folder, n, {"one": 60.0, "two": two_us}) for n in range(1, STARTS + 1)])


def row(quantity: str, verdict: Verdict, ratio: float = 1.5, treatment: str = "new") -> Row:
    return Row(
        QUANTITIES[quantity], "old", treatment, ratio, 0.9 * ratio, 1.1 * ratio, verdict, 100.0, 100.0 * ratio, 3
    )


@pytest.mark.parametrize(
    ("quantity", "verdict", "text"),
    [
        ("p50_us", Verdict.HIGHER, "new is slower than old in p50: "),
        ("p50_us", Verdict.LOWER, "new is faster than old in p50: "),
        ("closed_loop_rps", Verdict.HIGHER, "new has a higher closed-loop rate than old: "),
        ("cpu_us", Verdict.LOWER, "new takes less CPU per request than old: "),
        ("background_cpu_us", Verdict.HIGHER, "new takes more CPU per request in background threads than old: "),
        ("allocated_bytes", Verdict.LOWER, "new allocates fewer bytes per request than old: "),
        ("read_write_calls", Verdict.HIGHER, "new makes more calls to read or write per request than old: "),
        ("rss_bytes", Verdict.HIGHER, "new takes more memory than old: "),
        ("cpu_us", Verdict.SAME, "new and old are the same in CPU per request within 3\u00a0%: "),
        ("p90_us", Verdict.INCONCLUSIVE, "it is inconclusive whether new and old differ in p90: "),
    ],
)
def test_a_row_is_reported_by_a_verb_of_its_quantity_and_may_follow_a_colon(
    quantity: str, verdict: Verdict, text: str
) -> None:
    assert row(quantity, verdict).sentence(0.03).startswith(text)


@pytest.mark.parametrize(
    ("in_all", "ratio", "text"),
    [
        (Verdict.HIGHER, 1.2, "; with its background threads +20.0 % (+8.00 % to +32.0 %)"),
        (Verdict.INCONCLUSIVE, 1.1, "; with its background threads +10.0 % (\u22121.00 % to +21.0 %), inconclusive"),
        (Verdict.LOWER, 0.8, ""),
    ],
)
def test_cpu_time_of_responding_threads_is_not_reported_alone_where_that_of_all_comes_out_otherwise(
    tmp_path: Path, in_all: Verdict, ratio: float, text: str
) -> None:
    (found,) = comparisons(_run(tmp_path, two_us=90.0))
    rows = (row("cpu_us", Verdict.LOWER, 0.7), row("all_cpu_us", in_all, ratio))
    one, whole = interleaved._findings(dataclasses.replace(found, rows=rows))
    said = one.sentence.replace("\u00a0", " ")
    assert said.startswith("New takes less CPU per request than old: ") and said.endswith(f"3 starts of each{text}.")
    assert "background" not in whole.sentence
    assert answer_of(one).effect.replace("\u00a0", " ").endswith(f"against old 100 us{text}")
    background = {"new": {"jit": 40.0, "gc": 2.0}, "old": {"jit": 1.0, "flush": 5.0}}
    (of_role, _) = interleaved._findings(dataclasses.replace(found, rows=rows, background=background))
    role = ", most of it JIT compilation: 40 us against 1 us" if text else ""
    assert of_role.sentence.replace("\u00a0", " ").endswith(f"{text}{role}.")


def test_a_closed_loop_rate_is_a_lower_bound_where_the_generator_was_at_its_limit(tmp_path: Path) -> None:
    (found,) = comparisons(_run(tmp_path, two_us=90.0))
    rows = (row("closed_loop_rps", Verdict.HIGHER), row("cpu_us", Verdict.LOWER, 0.7))
    closed = dataclasses.replace(found, rows=rows, primary="closed_loop_rps", late=(1, 2))
    rate, cpu = interleaved._findings(closed)
    limit = "the generator was at its limit in 2 of 6 starts, so the higher of the two is a lower bound"
    assert limit in rate.sentence and limit in answer_of(rate).effect and limit not in cpu.sentence
    (check,) = (each for each in interleaved._checks(closed) if each.name == "generator kept up")
    assert "lower bound" in check.text and "response times" not in check.text
    paced = dataclasses.replace(closed, primary="p50_us")
    assert all("lower bound" not in each.sentence for each in interleaved._findings(paced))


def test_every_quantity_that_is_no_time_has_its_verb() -> None:
    for quantity in QUANTITIES.values():
        latency = quantity.unit == "us" and "cpu" not in quantity.name
        assert bool(quantity.higher) == bool(quantity.lower) != latency, quantity.name


def test_many_treatments_are_reported_by_the_quantity_that_they_gain_in() -> None:
    rows = [
        row("closed_loop_rps", Verdict.HIGHER, treatment="a"), row("closed_loop_rps", Verdict.HIGHER, treatment="b"),
        row("cpu_us", Verdict.LOWER, 0.5, "c"), row("closed_loop_rps", Verdict.LOWER, 0.5, "d"),
        row("cpu_us", Verdict.SAME, 1.0, "e"), row("cpu_us", Verdict.INCONCLUSIVE, 1.0, "f"),
    ]  # fmt: skip
    text = counted(rows).replace("\u00a0", " ")
    assert text.startswith("Gains in closed-loop rate: a +50.0 % (+35.0 % to +65.0 %) and b +50.0 % ")
    assert "Gains in CPU per request: c \u221250.0 %" in text and "Losses in closed-loop rate: d \u221250.0 %" in text
    assert text.endswith(" Of 6 treatments 1 is the same as the baseline and 1 is inconclusive.")


def test_numbers_are_written_without_an_exponent_and_zero_without_a_sign() -> None:
    counts = QUANTITIES["read_write_calls"]
    assert [absolute(counts, value) for value in (1.12e-05, 1.8, 0.0)] == ["0.0000112", "1.80", "0"]
    assert [signed(value) for value in (-0.00001, 0.00001, -0.001)] == [
        "0.00\u00a0%",
        "0.00\u00a0%",
        "\u22120.10\u00a0%",
    ]
    assert (write.given_share(0.99), write.given_share(0.025)) == ("99\u00a0%", "2.5\u00a0%")
    assert (write.given_latency(10_000), write.given_latency(2.5e6)) == ("10\u00a0ms", "2.5\u00a0s")
    spans = [write.span(ends, write.percent) for ends in ((0.3333, 0.33331), (0.3, 0.4), ())]
    assert spans == ["33.3\u00a0%", "30.0\u00a0% to 40.0\u00a0%", write.UNKNOWN]


def test_the_answer_is_the_difference_in_the_median(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    assert {step.kind for step in run.steps} == {SHARED}
    (found,) = comparisons(run)
    row = found.row("p50_us")
    assert row is not None and row.verdict == Verdict.HIGHER and row.low < 1.5 < row.high and row.starts == 6
    assert found.row("p99_us") is not None
    claims = analyse(run)
    assert claims is not None and "p50" in claims.answer and "slower" in claims.answer
    answer = answer_of(next(each for each in claims.findings if each.evidence["quantity"] == "p50_us"))
    assert re.search(r", two \d\S*\sus against one \d\S*\sus$", answer.effect), "each value says whose it is"


def test_without_a_valid_start_nothing_is_compared(tmp_path: Path) -> None:
    run = _run(tmp_path, two_us=90.0)
    invalid = [dataclasses.replace(step, record=replace(step.record, valid=False)) for step in run.steps]
    claims = analyse(dataclasses.replace(run, steps=tuple(invalid)))
    assert claims is not None and not any(finding.evidence.get("quantity") == "p50_us" for finding in claims.findings)
