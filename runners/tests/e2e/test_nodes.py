"""A cluster of processes: one node dies and comes back while the others answer, and none is left at the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from runners.design import cluster
from runners.errors import ServerError
from runners.process.supervisor import free_port
from runners.targets.lab_server import RunningNodes, ServerSpec, launch_nodes
from runners.tests.waiting import LIMIT_S, gone, left_in
from runners.toolchain.build import DIST, prepare
from runners.toolchain.tools import require_jdk

pytestmark = pytest.mark.e2e
LAST = cluster.NODES - 1
KEYS = 30
#: A node that has ended refuses connections at once; one that is slow, on a busy machine, is waited for.
PATIENT = "--peer-timeout-ms=10000"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[RunningNodes]:
    prepare("truepace", print)
    setting = cluster.apart("async-2of3", 1)
    first = free_port(cluster.NODES)
    running = launch_nodes(
        ServerSpec(
            require_jdk().java, DIST, setting.engine, tmp_path / "server", tmp_path / "data",
            server_flags=(*setting.server_flags, PATIENT),
        ),
        range(first, first + cluster.NODES),
    )  # fmt: skip
    yield running
    running.stop()


def _written(url: str, ack: int) -> list[int]:
    with httpx.Client(trust_env=False, timeout=LIMIT_S) as client:
        path = f"{url}/v0/entity?from=3&ack={ack}&id="
        return [client.put(f"{path}{key}", content=b"v").status_code for key in range(KEYS)]


def test_two_nodes_answer_while_the_third_is_away_and_all_when_it_is_back(nodes: RunningNodes) -> None:
    url, died = nodes.url, nodes.nodes[LAST]
    assert set(_written(url, 3)) == {201}
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


def test_if_one_node_can_not_start_none_is_left(tmp_path: Path) -> None:
    prepare("truepace", print)
    first = free_port(2)
    spec = ServerSpec(
        require_jdk().java, DIST, "lsm", tmp_path / "server", tmp_path / "data",
        server_flags=("--replication-from=2",),
    )  # fmt: skip
    with pytest.raises(ServerError, match="twice"):
        launch_nodes(spec, [first, first])
    assert not left_in(tmp_path)
