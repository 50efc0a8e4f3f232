"""Experiment 05: planted changes are seen within their intervals, what can't be seen is not."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from runners.analysis.comparison import Form
from runners.analysis.interleaved import comparisons
from runners.analysis.intervals import Direction
from runners.design import cluster as cluster_design
from runners.design.cluster import CHANGES, PUBLISHED_KEYS, REPLICATED
from runners.design.objective import THROUGHPUT
from runners.experiments import e05_sharded_cluster as e05
from runners.readers.published import columns
from runners.readers.reading import read_run
from runners.results import cluster, faults, published
from runners.results import comparisons as comparing
from runners.results.answer import Measure, Verdict
from runners.results.results import Results
from runners.tests.execution.test_executor import Bench
from runners.tests.fixtures.fake_clusters import expected, group_of, load_of, outage_of, run_of
from runners.tests.fixtures.fake_measurement import Server
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.ladder_run import make_ladder

PLANTED = {
    "all-old": 6_000.0, "fewer-threads": 6_000.0, "no-lock": 7_000.0, "fewer-objects": 6_000.0, "murmur3": 9_000.0,
    "all-new": 12_000.0,
}  # fmt: skip
ENDS = ("all-old", "all-new")
COPIES = {"blocking-2of3": 4_000.0, "async-2of3": 8_000.0, "blocking-3of3": 4_000.0, "async-3of3": 4_010.0}


def test_the_plan_names_what_is_planted_here() -> None:
    assert tuple(PLANTED) == CHANGES and tuple(COPIES) == REPLICATED


def test_changes_by_slices_are_compared_with_the_state_before(tmp_path: Path) -> None:
    (comparison,) = comparisons(run_of(tmp_path, group_of(tmp_path, PLANTED, starts=6)))
    assert (comparison.name, comparison.form) == ("changes", Form.SLICES)
    assert (comparison.baseline, comparison.primary) == ("all-old", THROUGHPUT)
    for name, planted in (("no-lock", 7 / 6), ("murmur3", 1.5), ("all-new", 2.0)):
        row = comparison.row(THROUGHPUT, name)
        assert row is not None and row.low < planted < row.high and row.direction == Direction.HIGHER, name
    same = comparison.row(THROUGHPUT, "fewer-threads")
    assert same is not None and not same.decided
    assert comparison.row("p50_us") is None, "a closed loop has no response times to compare"


def passed_on(tmp_path: Path, *workloads: str) -> Results:
    """Return what one node and three after the changes show by request, where three cost four times as much."""
    bench, cores = Bench(tmp_path), 2
    bench.machine.servers |= {
        "one-node": Server(9_000.0, 100.0, cpu_us=10.0),
        "all-new": Server(4_000.0, 150.0, cpu_us=40.0),
    }
    alone, (before, after) = cluster_design.alone(cores), (cluster_design.setting(name, cores) for name in ENDS)
    for block in e05.one_node(alone, before, after, "published", 60):
        if block.name in {f"passed-on-{workload}" for workload in workloads}:
            bench.session().run(block)
    return Results(read_run(bench.folder))


def test_the_threads_of_a_pool_are_read_from_the_commands_and_the_author_has_his_own(tmp_path: Path) -> None:
    loads = [load_of(tmp_path, name, threads=threads) for name, threads in (("all-old", 13), ("all-new", 4))]
    answer = cluster.pool_threads(Results(run_of(tmp_path, loads)))
    assert answer is not None and answer.verdict == Verdict.YES
    pairs = [
        (piece.value, piece.other.value) for piece in answer.evidence if isinstance(piece, Measure) and piece.other
    ]
    assert pairs == [(13, 4), (20, 6)]
    assert cluster.pool_threads(Results(run_of(tmp_path, loads[:1]))) is None


def test_a_gain_is_larger_under_one_load_than_under_another_only_beyond_its_interval(tmp_path: Path) -> None:
    blocks = {"10 kB": "large", "12 B": "small"}
    for large, verdict in ((2.0, Verdict.YES), (1.5, Verdict.INCONCLUSIVE), (1.2, Verdict.NO)):
        made = group_of(tmp_path / str(large), {"one": 5_000.0, "many": large * 5_000.0}, group="large")
        made += group_of(tmp_path / str(large), {"one": 5_000.0, "many": 1.5 * 5_000.0}, group="small")
        answer = comparing.gains_apart("gain", blocks, "many")(Results(run_of(tmp_path / str(large), made)))
        assert answer is not None and answer.verdict == verdict
        gains, points = answer.evidence
        assert isinstance(gains, Measure) and gains.value == pytest.approx(large - 1, abs=0.05)
        assert gains.other is not None and gains.other.value == pytest.approx(0.5, abs=0.05)
        assert isinstance(points, Measure) and points.value == pytest.approx(100 * (large - 1.5), abs=8)
        part = comparing.gains_apart("gain", {**blocks, "1 B": "none"}, "many")
        assert part(Results(run_of(tmp_path / str(large), made))) is None


def test_the_highest_rate_that_was_published_is_that_at_which_every_output_keeps_to_the_limit() -> None:
    assert published.sustained("/single-put-") == (125_000, 2_910)
    assert published.sustained("/put-") == (60_000, 9_520), "the longer of thirty seconds and of a minute"
    assert published.sustained("/single-get-") == (40_000, 4_720)
    assert published.sustained("/get-") == (40_000, 5_880), "at 50 000/s a minute goes beyond"


@pytest.fixture(scope="module")
def puts(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return passed_on(tmp_path_factory.mktemp("puts"), "put")


def test_what_passing_a_request_on_costs_is_the_difference_of_those_that_are_passed_on(puts: Results) -> None:
    answer = cluster.price_of_passing({"passed-on-put": "PUT"})(puts)
    assert answer is not None and answer.verdict == Verdict.YES
    price = answer.evidence[0]
    assert isinstance(price, Measure) and price.value == pytest.approx((40 - 10) / (2 / 3), rel=0.05)
    assert price.other is not None and price.other.value == pytest.approx(10, rel=0.05)


def test_the_share_of_passing_on_is_what_three_nodes_cost_more_than_one(tmp_path: Path, puts: Results) -> None:
    weighs_more = cluster.passing_weighs_more("passed-on-put", "passed-on-get")
    answer = weighs_more(passed_on(tmp_path, "put", "get"))
    assert answer is not None and answer.verdict == Verdict.INCONCLUSIVE, "both cost four times as much"
    (of_put,) = answer.evidence
    assert isinstance(of_put, Measure) and of_put.other is not None
    assert [of_put.value, of_put.other.value] == pytest.approx([0.75, 0.75], abs=0.02)
    assert weighs_more(puts) is None


def test_a_start_without_a_treatment_tells_of_the_others(tmp_path: Path) -> None:
    made = group_of(tmp_path, {name: PLANTED[name] for name in ("all-old", "no-lock", "all-new")})
    targets = made[1].frames["targets"]
    cut = {**made[1].frames, "targets": targets[targets["target"] != "all-new"]}
    made[1] = dataclasses.replace(made[1], frames=cut)
    (comparison,) = comparisons(run_of(tmp_path, made))
    rows = [comparison.row(THROUGHPUT, name) for name in ("no-lock", "all-new")]
    assert [row.starts for row in rows if row is not None] == [4, 3]


def test_an_asynchronous_client_is_compared_with_the_blocking_one_of_the_same_copies(tmp_path: Path) -> None:
    groups = [
        group_of(
            tmp_path, {name: rps for name, rps in COPIES.items() if name.endswith(acks)}, group=f"replication-{acks}"
        )
        for acks in ("2of3", "3of3")
    ]
    two, three = comparisons(run_of(tmp_path, [step for group in groups for step in group]))
    assert [(comparison.name, comparison.baseline, comparison.treatments) for comparison in (two, three)] == [
        ("replication-2of3", "blocking-2of3", ("async-2of3",)),
        ("replication-3of3", "blocking-3of3", ("async-3of3",)),
    ]
    row, same = two.row(THROUGHPUT), three.row(THROUGHPUT)
    assert row is not None and row.direction == Direction.HIGHER and same is not None and not same.decided


def test_keys_are_counted_for_the_addresses_of_the_run(tmp_path: Path) -> None:
    loads = [load_of(tmp_path, name, proxied=expected(name)) for name in ("all-old", "all-new")]
    run = run_of(tmp_path, loads)
    answer = cluster.spreads(Results(run))
    assert answer is not None and answer.verdict == Verdict.NO and answer.count == PUBLISHED_KEYS
    old, new = answer.evidence
    assert isinstance(old, Measure) and isinstance(new, Measure) and old.value == 1.0 and 0.3 < new.low < 0.34
    passed = {treatment.name: treatment for treatment in cluster.by_treatment(cluster.clusters(run))}
    assert passed["all-old"].share == pytest.approx(1.0)
    assert passed["all-new"].share == pytest.approx(expected("all-new"), abs=1e-3)
    assert passed["all-new"].share == pytest.approx(passed["all-new"].expected, abs=1e-2)


def test_a_death_counts_what_failed_in_the_seconds_wholly_without_the_node(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3), outage_of(tmp_path, "async-2of3", 0.0)])
    results = Results(run)
    sharded, copied = results.outages
    assert sharded.failed("before")[0] == 0 and sharded.failed("after")[0] == 0
    assert sharded.failed("between")[0] == 5 * 300  # the seconds 3 to 7; 8 belongs to the return
    assert sharded.failed("without")[0] == 3 * 300  # 4 to 6, wholly without it
    assert sharded.back_s - sharded.killed_s == pytest.approx(4.2)
    assert copied.failed("without")[0] == 0
    died, lived = (faults.fails(name)(results) for name in ("sharded", "async-2of3"))
    assert died is not None and died.verdict == Verdict.YES and lived is not None and lived.verdict == Verdict.NO


def test_a_node_that_never_came_back_has_no_after(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3, came_back=False)])
    (outage,) = faults.outages(run.steps)
    assert outage.part("after").empty and [word for _, word in outage.events] == ["killed"]


def test_published_medians_that_stay_are_answered_with_one_that_does_not(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
    folder = make_ladder(tmp_path, (800.0, 1_800.0), searched=False, name="put-all-new", subject="all-new", base=base)
    rate_steps = read_run(folder).steps
    results = Results(run_of(tmp_path, [*rate_steps, *group_of(tmp_path, PLANTED)]))
    answer = published.medians_stay(columns("report-5", "put-ladder"), "put")(results)
    assert answer is not None and answer.verdict == Verdict.NO
    there, here = answer.evidence
    assert isinstance(there, Measure) and isinstance(here, Measure) and here.high < 1_000 < there.low


def test_other_runs_have_none_of_it(tmp_path: Path) -> None:
    results = Results(read_run(make_run(tmp_path)))
    assert cluster.spreads(results) is None and cluster.waits_for_the_lock(results) is None
    assert faults.fails("sharded")(results) is None
