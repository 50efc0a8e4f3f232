"""The plan of experiment 05: one thing differs at a time, threads follow the cores, published rate steps exist."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runners.design import cluster
from runners.design.block import FEWEST_STARTS
from runners.experiments import e05_sharded_cluster
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


def test_the_plan_fits_its_size() -> None:
    assert planned("05", "quick") <= QUICK_S
    for size in ("quick", "full"):
        assert e05_sharded_cluster.SLICES[size].starts >= FEWEST_STARTS
    assert 0 < e05_sharded_cluster.DIES_AT < e05_sharded_cluster.RETURNS_AT < 1
