"""A simulated scheduler: it saturates where its loop is full, and chance makes that no later."""

from __future__ import annotations

import pytest

from runners.bench.overhead import Costs, busy_share, heartbeat_s, hosts_row, saturates_at, wait_s

CHEAP, DEAR = Costs(0.005, 0.000_2, 0.000_2), Costs(0.5, 0.005, 0.005)


def test_a_full_loop_makes_messages_wait() -> None:
    assert wait_s(CHEAP, 20) < 0.1
    assert wait_s(DEAR, 200) > 2.0 and busy_share(DEAR, 200) > 1.0


@pytest.mark.parametrize("costs", [DEAR, Costs(0.05, 0.002, 0.001)])
def test_it_saturates_where_paper_says_that_the_loop_is_full(costs: Costs) -> None:
    hosts = saturates_at(costs)
    assert 0.6 < busy_share(costs, hosts) < 1.25


def test_heartbeats_are_rarer_in_a_large_fleet() -> None:
    assert [heartbeat_s(hosts) for hosts in (1, 20, 100, 400)] == [0.5, 1.0, 2.0, 4.0]


def test_the_row_names_costs_and_what_two_hundred_hosts_take() -> None:
    line = hosts_row([DEAR, DEAR, DEAR]).line()
    assert "fleet-hosts" in line and "short" in line and "at 200 hosts busy" in line and "a job takes 500.0 ms" in line
