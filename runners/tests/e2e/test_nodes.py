"""A cluster of processes: one node dies and comes back while the others answer, and none is left at the end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from runners.design import report_5
from runners.errors import ServerError
from runners.process.supervisor import in_a_row
from runners.targets.lab_server import RunningNodes, ServerSpec, launch_nodes
from runners.tests.waiting import LIMIT_S, gone, left_in
from runners.toolchain.workshop import prepare

pytestmark = pytest.mark.e2e
LAST = report_5.NODES - 1
KEYS = 30


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[RunningNodes]:
    shop = prepare("truepace", print)
    setting = report_5.apart("async-2of3", 1)
    first = in_a_row(report_5.NODES)
    running = launch_nodes(
        ServerSpec(
            shop.jdk.java, shop.server.dist, setting.engine, tmp_path / "server", tmp_path / "data",
            server_flags=setting.server_flags,
        ),
        range(first, first + report_5.NODES),
    )  # fmt: skip
    yield running
    running.stop()


def _written(url: str, ack: int) -> list[int]:
    with httpx.Client(trust_env=False, timeout=10) as client:
        path = f"{url}/v0/entity?from=3&ack={ack}&id="
        return [client.put(f"{path}{key}", content=b"v").status_code for key in range(KEYS)]


def test_two_nodes_answer_while_the_third_is_away_and_all_when_it_is_back(nodes: RunningNodes) -> None:
    url, died = nodes.url, nodes.nodes[LAST]
    assert set(_written(url, 3)) == {201}
    nodes.kill(LAST)
    assert died.child.wait(LIMIT_S) == 128 + signal.SIGKILL
    assert set(_written(url, 2)) == {201} and set(_written(url, 3)) == {504}
    nodes.start_again(LAST)
    assert nodes.nodes[LAST].pid != died.pid and nodes.nodes[LAST].url == died.url
    with httpx.Client(trust_env=False, timeout=10) as client:
        answers = {client.get(f"{died.url}/v0/entity?from=3&ack=3&id={key}").status_code for key in range(KEYS)}
    assert answers == {200}
    pids = [node.pid for node in nodes.nodes]
    nodes.stop()
    assert all(gone(pid) for pid in pids)


def test_if_one_node_can_not_start_none_is_left(tmp_path: Path) -> None:
    shop = prepare("truepace", print)
    first = in_a_row(2)
    spec = ServerSpec(
        shop.jdk.java, shop.server.dist, "lsm", tmp_path / "server", tmp_path / "data",
        server_flags=("--replication-from=2",),
    )  # fmt: skip
    with pytest.raises(ServerError, match="twice"):
        launch_nodes(spec, [first, first])
    assert not left_in(tmp_path)
