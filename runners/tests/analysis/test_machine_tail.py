"""A difference of tails that the machine made is attributed to no engine, setting or profiler; any other one is."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from runners.analysis import latency_spikes, tail_attribution
from runners.analysis.facts import RESPONSE
from runners.analysis.latency_spikes import MACHINE, SEVERAL, explains
from runners.claims.between import compared
from runners.claims.conclude import conclude
from runners.claims.conclusion import RULES, Conclusion
from runners.claims.fixed_rate import engines_apart
from runners.claims.next_steps import REMEDIES
from runners.claims.profile import Pair, cost
from runners.claims.profile import _measured as measured
from runners.readers import write
from runners.readers.run import Step, frame
from runners.tests.fixtures.history import Span, history
from runners.tests.report import steps

LENGTH_S = 20.0
STALLS = [(3.0, 0.15), (8.1, 0.2), (12.7, 0.12), (17.2, 0.18)]
ELSEWHERE = [(1.0, 0.15), (5.1, 0.2), (10.2, 0.12), (15.2, 0.18)]
STEAL, FLUSH = "steal", "flush"


def load(
    folder: Path,
    engine: str,
    stalls: list[Span],
    cause: str = STEAL,
    at: list[Span] | None = None,
    *,
    slower: float = 1.0,
    seed: int = 1,
    **meta: Any,
) -> Step:
    """A load with these stalls, and events of a cause where they are, or elsewhere."""
    slices = history(np.random.default_rng(seed), LENGTH_S, stalls).slices
    slices = slices.assign(us=slices["us"] * slower)
    values = np.repeat(slices["us"].to_numpy(float), slices["count"].to_numpy(int))
    spans = stalls if at is None else at
    tenths = {k for begin, length in spans for k in range(int(begin * 10), int((begin + length) * 10) + 1)}
    busy = pd.DataFrame([{"t_s": k / 10, "length_s": 0.1, "kind": cause, "busy_ms": 100.0} for k in sorted(tenths)])
    busy = busy.reindex(columns=frame("activity").columns).astype(frame("activity").dtypes.to_dict())
    name = str(meta.pop("name", f"put-{engine}"))
    made = steps.step(folder, name, list(values), frames={"slices": slices, "activity": busy}, engine=engine, **meta)
    return steps.whole(made)


def concluded(folder: Path, *loads: Step) -> Conclusion:
    return conclude(steps.run(folder, [*loads, steps.floor(folder)], parameters={"engines": "rocksdb,lsm"}), {})


def sentences(found: Conclusion, code: str) -> list[str]:
    return [finding.sentence for finding in found.findings if finding.code == code]


def test_a_p99_that_steal_made_is_reported_with_it_and_compared_with_none(tmp_path: Path) -> None:
    calm, stolen = load(tmp_path, "rocksdb", []), load(tmp_path, "lsm", STALLS, seed=2)
    found = concluded(tmp_path, calm, stolen)
    assert not sentences(found, "L02")
    (why,) = sentences(found, "W05")
    assert why.startswith("The p99 of RocksDB PUT and LSM PUT are not compared: CPU steal explains ")
    assert why.endswith("of the tail of LSM PUT.") and "W05" in RULES
    (first, second) = sentences(found, "A01")
    assert "explains" not in first and "but CPU steal explains" in second
    assert "but CPU steal explains" in found.answer, "the first page says it where it quotes the p99"


@pytest.mark.parametrize(
    ("cause", "at"), [(FLUSH, None), (STEAL, ELSEWHERE), (STEAL, [])], ids=["its own", "elsewhere", "none"]
)
def test_a_p99_that_the_machine_did_not_make_is_compared(tmp_path: Path, cause: str, at: list[Span] | None) -> None:
    found = concluded(tmp_path, load(tmp_path, "rocksdb", []), load(tmp_path, "lsm", STALLS, cause, at, seed=2))
    assert not sentences(found, "W05") and "explains" not in found.answer
    (reported,) = sentences(found, "L02")
    assert "the p99 of RocksDB PUT is lower than that of LSM PUT" in reported


def test_what_the_machine_made_of_a_cold_start_is_known_by_its_first_spikes(tmp_path: Path) -> None:
    first = [(0.3, 0.2), *STALLS]
    stolen = load(tmp_path, "lsm", first, seed=2)
    made = tail_attribution.made_first(stolen, 1.0)
    assert made is not None and "CPU steal explains" in made.written
    assert tail_attribution.made_first(load(tmp_path, "rocksdb", STALLS, seed=2), 1.0) is None, "it began calm"
    own = load(tmp_path, "noop", first, FLUSH, seed=2)
    assert tail_attribution.made_first(own, 1.0) is None


def test_the_slowest_responses_take_no_longer_than_the_maximum(tmp_path: Path) -> None:
    step = load(tmp_path, "lsm", STALLS, seed=2)
    tail = latency_spikes.find(step.frames["slices"])
    assert tail is not None
    most_us = 0.98 * max(spike.peak_us for spike in tail.spikes)
    seconds = pd.DataFrame([{"t_s": 0.0, "kind": RESPONSE, "max_us": most_us}])
    seconds = seconds.reindex(columns=frame("intervals").columns)
    capped = dataclasses.replace(step, frames={**step.frames, "intervals": seconds})
    (found,) = (each for each in tail_attribution.findings(capped) if each.code == "W02")
    assert found.evidence["peak_us"] == most_us and write.latency(most_us) in found.sentence


def test_causes_agree_with_their_verb() -> None:
    assert explains("CPU steal") == "CPU steal explains"
    assert explains("stalls of the machine") == "stalls of the machine explain"
    assert set(SEVERAL) <= {*REMEDIES, *MACHINE}


def test_steal_beyond_the_percentile_does_not_make_it(tmp_path: Path) -> None:
    fast, slow = load(tmp_path, "rocksdb", []), load(tmp_path, "lsm", [(8.0, 0.08)], slower=3.0, seed=2)
    assert tail_attribution.made(slow) is None
    (reported,) = engines_apart([fast, slow], [fast, slow, steps.floor(tmp_path)])
    assert reported.code == "L02"


def test_neither_two_profiles_nor_the_profilers_cost_are_compared_by_a_tail_of_the_machine(tmp_path: Path) -> None:
    calm = load(tmp_path, "lsm", [])
    stolen = load(tmp_path, "lsm", STALLS, seed=2, profiled=["cpu"], name="put-lsm-profiled")
    reported = cost(calm, stolen)
    assert reported is not None and "p99 not compared (CPU steal explains" in reported.sentence
    parts, evidence = measured(Pair(calm, stolen, (calm, stolen), [calm, stolen, steps.floor(tmp_path)]))
    assert any(part.startswith("p99 not compared (CPU steal explains") for part in parts)
    assert "p99 change_us" not in evidence and "p50 change_us" in evidence


def test_two_runs_keep_to_the_same_rule(tmp_path: Path) -> None:
    a = [steps.run(tmp_path / f"a{n}", [load(tmp_path, "rocksdb", [], seed=n)]) for n in range(3)]
    b = [steps.run(tmp_path / f"b{n}", [load(tmp_path, "lsm", STALLS, seed=9 + n)]) for n in range(3)]
    for count, expected in ((3, "are not compared: in 3 of 3"), (1, "it is no difference of the two, for CPU steal")):
        (pair,) = compared(a[:count], b[:count], 0.02)
        assert any(expected in line and "p99" in line for line in pair.lines), pair.lines
