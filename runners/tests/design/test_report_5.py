"""The plan of experiment 05: one thing differs at a time, threads follow the cores, published rate steps exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.design import cluster
from runners.design.block import FEWEST_STARTS
from runners.design.experiment import validate
from runners.design.ladder import Ladder, nearest
from runners.design.session import LOCK
from runners.experiments import e05_sharded_cluster
from runners.experiments.registry import EXPERIMENTS
from runners.readers.published import published_outputs
from runners.tests.design.test_parameters import planned

QUICK_S = 600.0


@given(st.integers(1, 256))
def test_threads_follow_the_cores_up_to_the_published_ones_in_their_ratio(cores: int) -> None:
    old, new = cluster.threads(cores)
    assert 2 <= new <= cluster.NEW_THREADS and new < old <= cluster.OLD_THREADS
    assert abs(old / new - cluster.OLD_THREADS / cluster.NEW_THREADS) < 0.5 / new + 1e-9
    if cores >= cluster.NEW_THREADS:
        assert (old, new) == (cluster.OLD_THREADS, cluster.NEW_THREADS)


@given(st.integers(1, 64))
def test_each_change_alone_differs_from_the_old_state_in_its_own_flags_and_all_add_up_to_the_new(cores: int) -> None:
    def flags(name: str) -> set[str]:
        return set(cluster.setting(name, cores).server_flags)

    old, new = flags(cluster.OLD), flags(cluster.NEW)
    changed = {name: flags(name) ^ old for name in cluster.CHANGES[1:-1]}
    assert {flag.partition("=")[0] for flag in changed["fewer-threads"]} == {"--pool-threads", "--peer-threads"}
    assert changed["no-lock"] == {"--client-lock"}
    assert changed["fewer-objects"] == {"--unused-response"}
    assert {flag.partition("=")[0] for flag in changed["murmur3"]} == {"--hashing"}
    assert set.union(*changed.values()) == old ^ new


def test_one_node_alone_differs_from_three_in_what_makes_them_a_cluster() -> None:
    one, three = set(cluster.alone(2).server_flags), set(cluster.setting(cluster.NEW, 2).server_flags)
    of_a_cluster = {"--nodes", "--replication-from", "--client", "--peer-threads", "--hashing"}
    assert one < three and {flag.partition("=")[0] for flag in three - one} == of_a_cluster


def test_replicated_settings_differ_in_client_and_copies_only() -> None:
    by_name = {name: set(cluster.setting(name, 1).server_flags) for name in cluster.REPLICATED}
    for acks in ("2of3", "3of3"):
        differs = by_name[f"blocking-{acks}"] ^ by_name[f"async-{acks}"]
        assert {flag.partition("=")[0] for flag in differs} == {"--client", "--peer-threads"}
    assert by_name["async-2of3"] ^ by_name["async-3of3"] == {"--replication-ack=2", "--replication-ack=3"}


def test_nodes_that_are_processes_are_not_also_nodes_in_one_jvm_and_keep_a_log() -> None:
    for name in {name for names in e05_sharded_cluster.OUTAGES.values() for name in names}:
        setting = cluster.apart(name, 2)
        assert setting.nodes == 1
        assert not [flag for flag in setting.server_flags if flag.startswith(("--nodes", "--wal"))]


def test_each_published_rate_is_one_column_at_its_rate() -> None:
    for workload in (e05_sharded_cluster.put(), e05_sharded_cluster.get("full")):
        for name in workload.published_rates:
            (output,) = published_outputs(name)
            assert output.offered_rps == float(name.partition("@")[2]) and output.report.latencies.at(0.99)


def ladder(name: str) -> Ladder:
    """A ladder of the size published."""
    blocks = e05_sharded_cluster.blocks(validate(EXPERIMENTS["05"].parameters, {"size": "published"}))
    (block,) = (block for block in blocks if block.name == name)
    assert isinstance(block, Ladder)
    return block


def test_locks_of_put_and_get_are_recorded_for_a_minute_at_one_rate() -> None:
    recorded = {}
    for name, rps in (("put", 5_810.0), ("get", 9_180.0)):
        for session in ladder(name).profiled_sessions(rps):
            (trial,) = session.trials
            assert trial.rate is not None
            recorded[name, LOCK in trial.profile] = trial.rate.rps, trial.shape.duration_s
    assert recorded["put", True] == recorded["get", True] and recorded["put", True][1] == 60
    assert (recorded["put", False], recorded["get", False]) == ((5_810.0, 20.0), (9_180.0, 20.0))


def test_put_is_offered_for_a_minute_at_published_rates_up_to_above_the_knee() -> None:
    put = ladder("put")
    rates = [rps for _, rps in put.published]
    assert nearest(14_500.0, rates, put.most_published, beyond=put.beyond) == [12_000.0, 20_000.0, 30_000.0]
    assert put.session(1, 30_000.0).trials[0].shape.duration_s == put.session(1, 20_000.0).trials[0].shape.duration_s
    assert put.session(1, 20_000.0).trials[0].shape.duration_s == 60


def test_the_plan_of_the_state_before_has_the_rates_of_the_one_after_but_no_minutes_and_no_profiles() -> None:
    after, before = ladder("put"), ladder("put-before")
    warm_s, step_s = before.server.warm_up(before.shape).planned_s, before.session(1, 1.0).planned_s
    steps_s = (2 + 1 + 3) * step_s  # two shares, one of them again, three published rates
    assert before.planned_s - warm_s == pytest.approx(steps_s)
    assert after.planned_s - before.planned_s > 3 * 55 + 60


def test_the_plan_fits_its_size() -> None:
    assert planned("05", "quick") <= QUICK_S
    for size in ("quick", "full"):
        assert e05_sharded_cluster.SLICES[size].starts >= FEWEST_STARTS
    assert 0 < e05_sharded_cluster.DIES_AT < e05_sharded_cluster.RETURNS_AT < 1
