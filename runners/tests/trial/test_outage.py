"""A node is killed and started again in that order, and nothing is started after the end."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import cast

from runners.errors import ServerError
from runners.storage.schema import OutageRecord
from runners.targets.lab_server import RunningNodes
from runners.tests.waiting import LIMIT_S, until
from runners.trial.faults import Outages

AT_ONCE_S, NEVER_S = 0.0, 60.0


@dataclass
class Nodes:
    """Writes down what is asked of it; `up` is set when the node is back."""

    refuses: bool = False
    asked: list[tuple[str, int]] = field(default_factory=list)
    up: threading.Event = field(default_factory=threading.Event)

    def kill(self, place: int) -> None:
        self.asked.append(("kill", place))

    def start_again(self, place: int) -> None:
        self.asked.append(("start", place))
        self.up.set()
        if self.refuses:
            raise ServerError("node 3", "was not ready", "see its log")


def outages(nodes: Nodes, place: int, kill_after_s: float, launch_after_s: float) -> Outages:
    return Outages(cast("RunningNodes", nodes), place, kill_after_s, launch_after_s)


def test_a_node_dies_and_comes_back_and_the_times_are_in_their_order() -> None:
    nodes = Nodes()
    dying = outages(nodes, 2, AT_ONCE_S, AT_ONCE_S)
    before = time.time_ns() / 1000
    dying.begin()
    dying.begin()  # each tick of a load may call it
    assert nodes.up.wait(LIMIT_S)
    reported = dying.record(None).outage
    assert nodes.asked == [("kill", 2), ("start", 2)]
    assert reported and reported.killed_unix_us and reported.launched_unix_us and reported.ready_unix_us
    assert before <= reported.killed_unix_us <= reported.launched_unix_us <= reported.ready_unix_us


def test_what_had_not_begun_when_the_load_ended_does_not_happen() -> None:
    nodes = Nodes()
    dying = outages(nodes, 2, NEVER_S, NEVER_S)
    dying.begin()
    assert dying.record(None).outage == OutageRecord(node=3) and nodes.asked == []
    assert outages(nodes, 2, AT_ONCE_S, AT_ONCE_S).record(None).outage == OutageRecord(node=3), (
        "a load that never ticked"
    )


def test_a_node_that_was_killed_but_not_yet_started_stays_down() -> None:
    nodes = Nodes()
    dying = outages(nodes, 2, AT_ONCE_S, NEVER_S)
    dying.begin()
    assert until(lambda: nodes.asked)
    reported = dying.record(None).outage
    assert nodes.asked == [("kill", 2)] and reported and reported.ready_unix_us is None


def test_a_node_that_can_not_be_started_is_reported_and_the_load_goes_on() -> None:
    nodes = Nodes(refuses=True)
    dying = outages(nodes, 2, AT_ONCE_S, AT_ONCE_S)
    dying.begin()
    assert nodes.up.wait(LIMIT_S)
    reported = dying.record(None).outage
    assert reported and reported.ready_unix_us is None and "was not ready" in (reported.failed or "")
