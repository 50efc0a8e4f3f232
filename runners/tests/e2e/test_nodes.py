"""A cluster of processes: one node dies and comes back while the others answer, and none is left at the end.

The nodes besides the first are on this machine, or each on a host of a fleet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import psutil
import pytest

from runners.design import cluster
from runners.errors import PlanError, ServerError
from runners.fleet import workers
from runners.fleet.hosts import FleetHost
from runners.fleet.shares import node_hosts
from runners.process.supervisor import free_port
from runners.targets.lab_server import NodeHost, RunningNodes, ServerSpec, launch_nodes
from runners.tests.waiting import LIMIT_S, gone, left_in
from runners.toolchain.build import prepare

pytestmark = pytest.mark.e2e
LAST = cluster.NODES - 1
KEYS = 30
#: A node that has ended refuses connections at once; one that is slow, on a busy machine, is waited for.
PATIENT = "--peer-timeout-ms=10000"


@pytest.fixture
def hosts(request: pytest.FixtureRequest) -> Iterator[tuple[NodeHost, ...]]:
    """The hosts of a fleet for the other nodes; none where they are to be here."""
    if request.param == 0:
        yield ()
        return
    with workers.local(request.param) as fleet, pytest.MonkeyPatch.context() as patch:
        for name, value in workers.environment(fleet).items():
            patch.setenv(name, value)
        with node_hosts() as found:
            yield found


@pytest.fixture
def nodes(tmp_path: Path, hosts: tuple[NodeHost, ...]) -> Iterator[RunningNodes]:
    shop = prepare("truepace", print)
    setting = cluster.apart("async-2of3", 1)
    first = free_port(cluster.NODES)
    running = launch_nodes(
        ServerSpec(
            shop.jdk.java, shop.server.dist, setting.engine, tmp_path / "server", tmp_path / "data",
            server_flags=(*setting.server_flags, PATIENT),
        ),
        range(first, first + cluster.NODES),
        hosts,
    )  # fmt: skip
    yield running
    running.stop()


def _written(url: str, ack: int) -> list[int]:
    with httpx.Client(trust_env=False, timeout=LIMIT_S) as client:
        path = f"{url}/v0/entity?from=3&ack={ack}&id="
        return [client.put(f"{path}{key}", content=b"v").status_code for key in range(KEYS)]


@pytest.mark.parametrize("hosts", [0, pytest.param(2, marks=pytest.mark.long)], indirect=True)
def test_two_nodes_answer_while_the_third_is_away_and_all_when_it_is_back(
    nodes: RunningNodes, hosts: tuple[NodeHost, ...]
) -> None:
    url, died = nodes.url, nodes.nodes[LAST]
    assert set(_written(url, 3)) == {201}
    labs = {psutil.Process(node.pid).parent().ppid() for node in nodes.nodes}  # of their guards' programs
    assert len(labs) == 1 + len(hosts) and nodes.record().node_hosts == tuple(host.name for host in hosts)
    nodes.kill(LAST)
    assert gone(died.pid)
    assert set(_written(url, 2)) == {201} and set(_written(url, 3)) == {504}
    nodes.start_again(LAST)
    assert nodes.nodes[LAST].pid != died.pid and nodes.nodes[LAST].url == died.url
    with httpx.Client(trust_env=False, timeout=LIMIT_S) as client:
        answers = {client.get(f"{died.url}/v0/entity?from=3&ack=3&id={key}").status_code for key in range(KEYS)}
    assert answers == {200}
    pids = [node.pid for node in nodes.nodes]
    nodes.stop()
    assert all(gone(pid) for pid in pids)


@pytest.mark.long
@pytest.mark.parametrize("hosts", [2], indirect=True)
def test_nodes_on_other_hosts_end_when_these_are_given_up(nodes: RunningNodes, hosts: tuple[FleetHost, ...]) -> None:
    for host in hosts:
        host.close()
    assert all(gone(node.pid) for node in nodes.others) and nodes.alive()


def test_too_few_hosts_for_the_nodes_are_named(tmp_path: Path) -> None:
    spec = ServerSpec(tmp_path / "java", tmp_path, "lsm", tmp_path, tmp_path)
    with pytest.raises(PlanError, match="1 hosts have a slot for a server, 2 are wanted"):
        launch_nodes(spec, [1, 2, 3], [cast("NodeHost", None)])


def test_if_one_node_can_not_start_none_is_left(tmp_path: Path) -> None:
    shop = prepare("truepace", print)
    first = free_port(2)
    spec = ServerSpec(
        shop.jdk.java, shop.server.dist, "lsm", tmp_path / "server", tmp_path / "data",
        server_flags=("--replication-from=2",),
    )  # fmt: skip
    with pytest.raises(ServerError, match="twice"):
        launch_nodes(spec, [first, first])
    assert not left_in(tmp_path)
