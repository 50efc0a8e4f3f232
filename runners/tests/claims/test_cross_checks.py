"""Cross-checks: measurements of one run that contradict each other are found, and those that agree are not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from runners.analysis import facts, instrument, latency_spikes, tail_attribution
from runners.analysis.interleaved import comparisons
from runners.claims import profile
from runners.claims.answers import tail_by
from runners.claims.checks import Verdict, _below_knees, cross_checks
from runners.claims.checks import _over as over
from runners.claims.climbing import contradictions, ladders
from runners.claims.conclude import conclude
from runners.claims.conclusion import Check
from runners.claims.fixed_rate import over_floor
from runners.claims.question import Evidence
from runners.claims.question import Verdict as Said
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.reading import read_run
from runners.readers.run import Run, Step, frame
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.history import history
from runners.tests.fixtures.ladder_run import make_ladder
from runners.tests.fixtures.references import concluded, reference
from runners.tests.report import steps


def check(run: Run, name: str) -> Check:
    return next(each for each in cross_checks(run) if each.name == name)


def with_summary(step: Step, **values: float) -> Step:
    return dataclasses.replace(step, frames={**step.frames, "summary": step.frames["summary"].assign(**values)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return read_run(make_run(tmp_path_factory.mktemp("run"), duration_s=2))


def test_a_profile_of_a_load_that_missed_its_rate_is_no_evidence(run: Run) -> None:
    assert check(run, "profiled loads").ok
    (step,) = [s for s in run.find(profiled=True) if s.name == "put-rocksdb-profiled"]
    short = with_summary(step, achieved_rps=0.9 * facts.offered_rps(step))
    steps = tuple(short if each.name == step.name else each for each in run.steps)
    found = check(dataclasses.replace(run, steps=steps), "profiled loads")
    assert found.ok is False and found.steps == (step.name,)
    assert facts.usable_profile(step) and not facts.usable_profile(short)


def test_a_store_faster_than_the_server_that_does_nothing_is_found(run: Run) -> None:
    assert check(run, "faster than nothing").ok
    swapped = []
    for step in run.steps:
        frames = dict(step.frames)
        if step.kind == "load" and not step.profiled:
            rows = frames["percentiles"].copy()
            rows[["value_us", "low_us", "high_us"]] /= 1_000
            frames["percentiles"] = rows
        swapped.append(dataclasses.replace(step, frames=frames))
    found = check(dataclasses.replace(run, steps=tuple(swapped)), "faster than nothing")
    assert found.ok is False and " against " in found.text


@pytest.mark.parametrize(("rates", "bad"), [((800.0, 1_900.0), 0), ((800.0, 3_000.0), 0)])
def test_rate_steps_that_agree_with_the_knee_contradict_nothing(
    tmp_path: Path, rates: tuple[float, ...], bad: int
) -> None:
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
    (ladder,) = ladders(read_run(make_ladder(tmp_path, rates, searched=False, base=base)))
    assert len(contradictions(ladder)) == bad


def test_rate_steps_that_contradict_the_knee_are_named(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 5_000.0, "knee": [5_000.0, 4_900.0, 5_100.0]}
    run = read_run(make_ladder(tmp_path, (800.0, 4_000.0), searched=False, base=base, knee_rps=2_000.0))
    (ladder,) = ladders(run)
    assert contradictions(ladder) == [4_000.0]
    found = check(run, "rate steps and knee")
    assert found.ok is False and write.rate(4_000.0) in found.text


def test_closed_loops_that_reach_less_than_a_knee_are_named_with_a_reason(tmp_path: Path) -> None:
    rates = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)
    run = read_run(make_ladder(tmp_path, rates))
    (search,) = ladders(run)
    block = dataclasses.replace(comparisons(reference("05"))[0], name="changes", steps=(run.steps[0].name,))
    slow = _below_knees(run, [(block, "lsm", 1_500.0, search)])
    assert slow.ok is False and write.rate(1_500.0) in slow.text and slow.steps == block.steps
    assert "why is not known" in slow.text or "JIT compilation" in slow.text
    assert _below_knees(run, [(block, "lsm", 2_500.0, search)]).ok


def test_the_profilers_own_share_above_a_twentieth_is_said_with_shares() -> None:
    run = reference("03")
    profiled = [step for step in run.steps if step.profiled]
    own = {step.name: part.value for step in profiled if (part := profile.share(step, "cpu", profile.PROFILER))}
    most = max(profiled, key=lambda step: own[step.name])
    assert own[most.name] > profile.MUCH and write.percent(own[most.name]) in profile.overhead_note(most)
    assert all("the profiler's own frames" in finding.sentence for finding in profile.where(most))
    found = check(run, "profiler's own share")
    assert found.ok is False and write.percent(own[most.name]) in found.text
    short = next(step for step in profiled if facts.achieved_rps(step) < 0.99 * facts.offered_rps(step))
    rates = f"{write.rate(facts.achieved_rps(short))} of {write.rate(facts.offered_rps(short))}"
    found = check(run, "profiled loads")
    assert found.ok is False and rates in found.text


def test_a_percentile_above_what_the_generator_kept_up_to_is_no_headline_and_not_compared(run: Run) -> None:
    late = tuple(with_summary(s, kept_up_to=90.0) if s.kind == "load" else s for s in run.steps)
    reported = conclude(dataclasses.replace(run, steps=late), {})
    assert (
        "p99 is not quoted, for the generator kept up to p90 only" in reported.answer
        and "a median of" in reported.answer
    )
    assert not [f for f in reported.findings if f.code == "L02"]
    assert "with p99" not in reported.answer and "with p99" in conclude(run, {}).answer


def test_a_percentile_inside_the_floor_is_not_resolved(run: Run) -> None:
    step = run.find(profiled=False)[0]
    floor = instrument.own_floor(run.steps, step)
    assert floor is not None and instrument.unresolved(run.steps, step, 0.99) == ""
    same = dataclasses.replace(step, frames={**step.frames, "percentiles": floor.frames["percentiles"]})
    assert instrument.unresolved(run.steps, same, 0.99) == instrument.INSIDE


def test_a_drift_of_more_than_fivefold_is_a_factor() -> None:
    assert write.growth(607.753) == "to 609 times its value" and write.growth(0.12) == "by 12.0\u00a0%"


def test_a_store_that_costs_nothing_saves_storage_and_log() -> None:
    run = reference("01")
    step = next(s for s in run.steps if s.name == "put-rocksdb-profiled")
    whole, parts = (
        profile.together(step, profile.STORE),
        [profile.share(step, "cpu", name) for name in ("storage", "log")],
    )
    assert whole is not None and parts[0] is not None and parts[1] is not None
    assert whole.value >= parts[0].value + parts[1].value > max(each.value for each in parts if each is not None)


def test_frames_are_counted_between_treatments_of_one_engine_alone() -> None:
    """Two stores share no code: that all their frames differ says nothing. Of one engine they are counted."""
    run = reference("01")
    alike = [
        dataclasses.replace(step, record=msgspec.structs.replace(step.record, engine="lsm", treatment=step.subject))
        for step in run.steps
    ]
    of_two, of_one = (
        [finding.sentence for finding in profile.of_frames(each)]
        for each in (run, dataclasses.replace(run, steps=tuple(alike)))
    )
    assert of_two and not [sentence for sentence in of_two if "frames" in sentence]
    assert of_one and all("frames changed" in sentence for sentence in of_one)


def test_unequal_shares_of_time_left_out_are_reported_of_loads_that_would_be_compared(tmp_path: Path) -> None:
    rows = history(np.random.default_rng(1), 20.0, []).slices
    values = [float(value) for value in np.repeat(rows["us"].to_numpy(float), rows["count"].to_numpy(int))]

    def load(name: str, seconds: range) -> Step:
        stood = [{"cpu": 0, "t_s": s + 0.2 * n, "duration_ms": 4.0} for s in seconds for n in range(5)]
        frames = {"slices": rows, "stalls": frame("stalls", stood)}
        return steps.whole(steps.step(tmp_path, name, values, frames=frames, engine=name, witness={"cpus": [0]}))

    few, many = load("lsm", range(2, 4)), load("rocksdb", range(2, 18))
    found = check(steps.run(tmp_path, [few, many]), "time left out of each load")
    assert found.ok is False and found.steps == ("lsm", "rocksdb") and "not comparable" in found.text
    assert found.text.count("%") == 2
    assert check(steps.run(tmp_path, [few, load("memory", range(5, 7))]), "time left out of each load").ok


def test_a_check_that_failed_is_about_the_loads_that_failed_it(run: Run) -> None:
    loads = run.find(kind="load", profiled=False)
    found = over("steady", loads, lambda step: Verdict(step.name == "put-lsm", "", "in part"))
    assert found.ok is False and found.steps and "put-lsm" not in found.steps
    passed = over(
        "generator kept up", loads, lambda step: Verdict(True, "", "up to p90 only" * (step.name == "put-lsm"))
    )
    assert passed.ok and passed.steps == tuple(step.name for step in loads)
    assert passed.note == "up to p90 only in 1 load"


def test_what_an_instrument_does_not_resolve_is_inside_its_floor_and_added_by_nobody(run: Run) -> None:
    """Above the floor's sampling interval, but by less than two of its seconds differ."""
    load = run.find(kind="load", profiled=False)[0]
    floor = instrument.own_floor(run.steps, load)
    assert floor is not None
    rows = floor.frames["percentiles"].assign(
        low_us=lambda each: each["value_us"], high_us=lambda each: each["value_us"]
    )
    seconds = (
        floor.frames["intervals"]
        .iloc[[0] * 6]
        .assign(
            kind="response",
            count=1_000,
            t_s=range(6),
            p50_us=[50.0, 90, 40, 80, 30, 70],
            p99_us=[90.0, 190, 90, 150, 90, 170],
        )
    )
    rough = dataclasses.replace(floor, frames={**floor.frames, "percentiles": rows, "intervals": seconds})
    near = rows.assign(**{name: rows[name] + 3.0 for name in ("value_us", "low_us", "high_us")})
    step = dataclasses.replace(load, frames={**load.frames, "percentiles": near})
    resolution = instrument.of_floor(rough)
    assert resolution is not None and resolution.p50_us > 3.0
    assert instrument.of_instrument([rough], step, 0.5) == instrument.INSIDE
    added = over_floor(step, rough)
    assert added is not None and "inconclusive" in added.sentence and "resolves" in added.sentence
    faster = dataclasses.replace(
        step, frames={**step.frames, "percentiles": rows.assign(**{n: rows[n] - 3.0 for n in ("value_us", "high_us")})}
    )
    assert check(dataclasses.replace(run, steps=(faster, rough)), "faster than nothing").ok


def test_a_load_without_a_usable_floor_has_no_percentile_for_a_headline(run: Run) -> None:
    load = run.find(kind="load", profiled=False)[0]
    assert instrument.unresolved([load], load, 0.99) == instrument.NO_FLOOR
    assert instrument.unresolved([load], with_summary(load, offered_rps=np.nan), 0.99) in ("", instrument.NO_FLOOR)
    floor = instrument.own_floor(run.steps, load)
    assert floor is not None and not instrument.unresolved([floor], floor, 0.99)
    record = msgspec.structs.replace(floor.record, valid=False, invalid_reasons=(facts.NOT_KEPT_UP,))
    late = dataclasses.replace(floor, record=record)
    assert instrument.unresolved([late, load], load, 0.99) == f"its floor can't be used: {facts.NOT_KEPT_UP}"
    reported = conclude(dataclasses.replace(run, steps=tuple(s for s in run.steps if s.kind != "floor")), {})
    assert "with p99" not in reported.answer and instrument.NO_FLOOR in reported.answer
    assert not [f for f in reported.findings if f.code == "L02"]


def test_a_tail_whose_p99_is_the_generator_s_is_explained_by_its_lateness(run: Run) -> None:
    load = next(step for step in run.find(kind="load", profiled=False) if tail_attribution.attribution(step))
    late = with_summary(load, kept_up_to=90.0)
    spikes = next(found for found in tail_attribution.findings(late, run.steps) if found.code == "W01")
    assert "its p99 is not resolved: the generator kept up to p90 only" in spikes.sentence
    assert "usual: " not in spikes.sentence
    tail = latency_spikes.find(load.frames["slices"])
    assert tail is not None and tail.spikes
    tenths = np.arange(0, tail.length_s, 0.1)
    touching = [
        [each.peak_us for each in tail.spikes if each.begin_s <= at + 0.1 and at <= each.end_s] for at in tenths
    ]
    peaks = [max(of, default=0.0) for of in touching]
    frames = load.frames | {"lateness": pd.DataFrame({"t_s": tenths, "lag_max_us": peaks})}
    seen = tail_attribution.attribution(dataclasses.replace(late, frames=frames))
    assert seen is not None
    assert next(share for share in seen.shares if share.cause.name == latency_spikes.LATE).spikes == len(tail.spikes)


def test_a_load_without_latency_spikes_says_no_of_what_there_was_in_it(run: Run) -> None:
    load = run.find(kind="load", profiled=False)[0]
    calm = Finding.of("W01", Severity.GOOD, "No stretch stands out", {"GC pause: events": 3}, (load.name,))
    there, absent = (tail_by(cause, load.name)(Evidence(run, (calm,))) for cause in ("GC pause", "flush"))
    assert there is not None and there.verdict == Said.NO and "stands out" in there.effect
    assert absent is not None and absent.verdict == Said.INCONCLUSIVE and "no flush" in absent.effect


def test_the_profilers_share_stands_with_every_share_of_its_samples() -> None:
    run, conclusion, _ = concluded("05")
    (waits,) = [each for each in conclusion.findings if each.code == "H08"]
    assert "the profiler's own frames" in waits.sentence
    much = [step for step in run.steps if step.profiled and profile.own(step)]
    assert much and not any(profile.own(step, "alloc") for step in much), "its share of CPU time is of no other samples"


def test_a_range_of_two_rounds_is_called_one_and_what_is_the_same_says_within_what() -> None:
    adds = {each.question.key: each.answer for each in concluded("00")[1].answers}
    assert ", range of 2)" in adds["wrk2-adds"].effect and "range of" not in adds["ours-adds"].effect
    asked = {each.question.key: each.answer for each in concluded("07")[1].answers}
    assert asked["response"].effect.startswith("CPU per request the same within 3\u00a0%: ")
    assert "calls to read or write" not in asked["costs"].effect
