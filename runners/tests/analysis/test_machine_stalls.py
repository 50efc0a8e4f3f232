"""What is left out is the machine's, the same for every target, and never what a server did to itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from runners.analysis import latency_spikes, machine_stalls
from runners.analysis.machine_stalls import BURST_S, PERIOD_S, SHORT_MS, outside, undisturbed, windows
from runners.design.block import MOST_UTILISATION
from runners.readers.run import Step, frame
from runners.tests.fixtures.history import Span, history
from runners.tests.report import steps

LENGTH_S = 20.0
STOOD = [(3.02, 0.05), (8.12, 0.04), (12.71, 0.06)]
OWN = [(1.02, 0.15), (5.11, 0.2), (10.23, 0.12), (15.24, 0.18)]
REFUSED = "the stall witness: real-time priority is refused; sudo setcap cap_sys_nice+ep"


def seen(spans: list[Span], cpu: int = 0) -> pd.DataFrame:
    """The frame of a witness that saw a core stall."""
    return frame("stalls", [{"cpu": cpu, "t_s": begin, "duration_ms": length * 1000} for begin, length in spans])


def slices(spans: list[Span], seed: int = 1) -> pd.DataFrame:
    return history(np.random.default_rng(seed), LENGTH_S, spans).slices


def load(folder: Path, spans: list[Span], stalls: pd.DataFrame, witness: dict[str, object] | None) -> Step:
    rows = slices(spans)
    values = np.repeat(rows["us"].to_numpy(float), rows["count"].to_numpy(int))
    frames = {"slices": rows, "stalls": stalls}
    return steps.whole(steps.step(folder, "put-lsm", list(values), frames=frames, engine="lsm", witness=witness))


def test_stalls_of_all_cores_are_joined_with_their_drain() -> None:
    both = pd.concat([seen([(1.0, 0.010)]), seen([(1.005, 0.015), (2.0, 0.001)], cpu=1)])
    assert windows(both) == pytest.approx(np.array([[1.0 - PERIOD_S, 1.020], [2.0 - PERIOD_S, 2.001]]))
    first, second = windows(both, utilisation=0.5)
    assert first == pytest.approx([0.999, 1.041]), "at half of the capacity a queue drains for as long as it grew"
    assert second == pytest.approx([1.999, 2.003])


def test_short_stalls_alone_may_be_the_kernel_s_work_for_a_server_and_are_no_windows() -> None:
    short_s, long_s = 0.9 * SHORT_MS / 1000, 1.1 * SHORT_MS / 1000
    alone = [(at, short_s) for at in (1.0, 1.001, 1.002, 2.0 - 1.1 * BURST_S, 2.0 + 1.1 * BURST_S)]
    both = pd.concat([seen([*alone, (2.0 + 0.9 * BURST_S, short_s)]), seen([(2.0, long_s)], cpu=1)])
    assert windows(both)[:, 0] == pytest.approx([2.0 - PERIOD_S, 2.0 + 0.9 * BURST_S - PERIOD_S])
    assert not len(windows(seen(alone)))


def test_a_stall_that_finds_a_queue_adds_to_it() -> None:
    (window,) = windows(seen([(1.0, 0.010), (1.015, 0.010)]), utilisation=0.5)
    assert window == pytest.approx([0.999, 1.0 + 2 * 2 * 0.011 - PERIOD_S]), "none of the work is drained twice"


def test_without_the_machine_s_stalls_the_p99_is_that_of_a_calm_machine() -> None:
    calm, calm_left_out = undisturbed(seen([]), slices([]), MOST_UTILISATION)
    disturbed, _ = undisturbed(seen([]), slices(STOOD), MOST_UTILISATION)
    corrected, left_out = undisturbed(seen(STOOD), slices(STOOD), MOST_UTILISATION)
    assert calm_left_out == 0 and 3 / 200 <= left_out <= 9 / 200
    assert disturbed[0.99] > 10 * calm[0.99]
    assert corrected[0.99] == pytest.approx(calm[0.99], rel=0.07)


def test_what_a_server_did_to_itself_stays_in() -> None:
    own, _ = undisturbed(seen([]), slices(OWN), MOST_UTILISATION)
    corrected, _ = undisturbed(seen(STOOD), slices(OWN), MOST_UTILISATION)
    assert corrected[0.99] == pytest.approx(own[0.99], rel=0.2)
    assert corrected[0.99] > 20_000


def test_windows_are_the_same_for_a_target_that_suffered_and_one_that_did_not() -> None:
    (_, suffered), (_, spared) = (
        undisturbed(seen(STOOD), own, MOST_UTILISATION) for own in (slices(STOOD), slices([], seed=2))
    )
    assert suffered == spared > 0


def test_the_witness_is_a_cause_of_the_machine_and_stands_for_steal(tmp_path: Path) -> None:
    busy = frame("activity", [{"t_s": 3.0, "length_s": 0.1, "kind": "steal", "busy_ms": 90.0}])
    asked: list[tuple[dict[str, object], str]] = [
        ({"cpus": [0]}, latency_spikes.STALLED),
        ({"note": REFUSED}, latency_spikes.STEAL),
    ]
    for witness, name in asked:
        step = load(tmp_path, STOOD, seen(STOOD), witness)
        step.frames["activity"] = busy
        assert [cause.name for cause in latency_spikes.causes_of(step)] == [name] and name in latency_spikes.MACHINE


def requests(response_us: list[float], target: list[str]) -> pd.DataFrame:
    """A log of requests, 1 000 per second, each target in its place."""
    t_s = np.arange(len(response_us)) / 1000
    return pd.DataFrame({"t_s": t_s, "response_us": response_us, "target": target, "fate": "completed"})


def test_of_a_log_all_targets_lose_the_same_blocks_and_a_slow_server_loses_none() -> None:
    targets = ["plain", "slow"] * 1500
    slow = [50.0, 20_000.0] * 1500
    log = requests(slow, targets)
    kept, left_out = outside(log, seen([(1.02, 0.03)]))
    assert left_out == pytest.approx(1 / 31), "30 blocks, and one in which the last slow responses came"
    gone = log.drop(kept.index)
    came_s = gone["t_s"] + gone["response_us"] / 1e6
    assert set(np.floor(came_s * 10)) == {10.0} and set(gone["target"]) == {"plain", "slow"}
    untouched, none = outside(log, seen([]))
    assert none == 0 and len(untouched) == len(log), "20 ms of its own are not the machine's"


def test_a_request_without_a_response_goes_by_its_intended_start() -> None:
    log = requests([50.0] * 1000, ["plain"] * 1000)
    log.loc[150, "response_us"], log.loc[150, "fate"] = 5e6, "censored"
    kept, _ = outside(log, seen([(0.15, 0.01)]))
    assert 150 not in kept.index
    kept, _ = outside(log, seen([(0.55, 0.01)]))
    assert 150 in kept.index


def bursts(seed: int, share: float) -> pd.DataFrame:
    """Stalls of 20 s: so large a share of its seconds has a burst of five."""
    random = np.random.default_rng(seed)
    return seen(
        [(second + 0.15 * number, 0.004) for second in range(20) if random.random() < share for number in range(5)]
    )


def of_activity(**busy_ms: float) -> pd.DataFrame:
    """Samples of 20 s in which the serving threads run, and one at 3 s with these shares of its tenth of a second."""
    usual = [{"t_s": at / 10, "length_s": 0.1, "kind": "serving", "busy_ms": 20.0} for at in range(200)]
    usual += [
        {"t_s": at / 10, "length_s": 0.1, "kind": kind, "busy_ms": 0.0}
        for at in range(200)
        for kind in busy_ms
        if at != 30
    ]
    return frame(
        "activity", usual + [{"t_s": 3.0, "length_s": 0.1, "kind": kind, "busy_ms": ms} for kind, ms in busy_ms.items()]
    )


@pytest.mark.parametrize(
    ("busy_ms", "expected"),
    [
        ({"foreign": 80.0, "wait": 0.0, "sending wait": 0.0}, {}),  # on a core of its own: nobody waited for it
        ({"foreign": 80.0, "wait": 50.0, "sending wait": 0.0}, {latency_spikes.FOREIGN: 50.0}),
        ({"foreign": 80.0, "wait": 0.0, "sending wait": 40.0}, {latency_spikes.FOREIGN: 40.0}),
        ({"foreign": 0.0, "wait": 60.0, "sending wait": 0.0}, {latency_spikes.CROWDED: 60.0}),
        ({"foreign": 0.0, "wait": 60.0, "sending wait": 0.0, "compaction": 55.0}, {"compaction": 55.0}),
        (
            {"foreign": 50.0, "wait": 90.0, "sending wait": 0.0, "gc": 5.0},
            {latency_spikes.FOREIGN: 50.0, latency_spikes.CROWDED: 35.0},
        ),
        ({"foreign": 80.0, "wait": 0.0}, {latency_spikes.FOREIGN: 80.0}),  # an older record
    ],
    ids=["another core", "others", "behind the generator", "itself", "its background", "both", "not known"],
)
def test_what_serving_threads_waited_for_is_divided_between_others_and_the_server(
    tmp_path: Path, busy_ms: dict[str, float], expected: dict[str, float]
) -> None:
    step = load(tmp_path, STOOD, seen([]), None)
    step.frames["activity"] = of_activity(**busy_ms)
    capacity_ms = {cause.name: float(cause.capacity_ms.sum()) for cause in latency_spikes.causes_of(step)}
    assert capacity_ms == pytest.approx(expected)
    assert latency_spikes.CROWDED not in latency_spikes.MACHINE


def test_without_names_of_serving_threads_other_processes_count_with_what_they_ran(tmp_path: Path) -> None:
    step = load(tmp_path, STOOD, seen([]), None)
    rows = of_activity(**{"foreign": 80.0, "wait": 0.0, "sending wait": 0.0})
    step.frames["activity"] = rows[rows["kind"] != "serving"]
    assert {cause.name: float(cause.capacity_ms.sum()) for cause in latency_spikes.causes_of(step)} == {
        latency_spikes.FOREIGN: 80.0
    }


def test_a_stall_while_the_disk_is_busy_may_be_the_server_s_and_stays_in() -> None:
    both = seen([(2.95, 0.01), (3.02, 0.05), (3.15, 0.01), (8.12, 0.04)])
    rows = [
        {"t_s": 3.0, "length_s": 0.1, "kind": "disk", "busy_ms": 8.0},
        {"t_s": 8.1, "length_s": 0.1, "kind": "disk", "busy_ms": 4.0},
        {"t_s": 8.1, "length_s": 0.1, "kind": "steal", "busy_ms": 90.0},
    ]
    assert machine_stalls.not_of_the_disk(both, frame("activity", rows))["t_s"].tolist() == [8.12]
    assert len(machine_stalls.not_of_the_disk(both, frame("activity", []))) == 4
    assert machine_stalls.not_of_the_disk(seen([]), frame("activity", rows)).empty
