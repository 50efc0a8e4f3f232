"""The kernel's counters are read as it prints them, and their absence is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.storage.schema import LoopRecord
from runners.trial.faults import TcpWatch, parse_counters

NETSTAT = (
    "TcpExt: SyncookiesSent DelayedACKs DelayedACKLocked\nTcpExt: 0 41 2\nIpExt: InNoRoutes DelayedACKs\nIpExt: 7 9\n"
)
SNMP = "Ip: Forwarding InSegs\nIp: 1 5\nTcp: MaxConn InSegs OutSegs\nTcp: -1 100 120\n"


def test_names_and_values_are_paired_within_tcp_alone() -> None:
    assert parse_counters(NETSTAT) == {"SyncookiesSent": 0, "DelayedACKs": 41, "DelayedACKLocked": 2}
    assert parse_counters(SNMP) == {"MaxConn": -1, "InSegs": 100, "OutSegs": 120}


@pytest.mark.parametrize(
    "text", ["", "TcpExt:", "TcpExt: A\n", "TcpExt: A B\nTcpExt: 1\n", "\n\n", "TcpExt: A\nTcp: 1\n"]
)
def test_a_torn_table_costs_no_more_than_what_is_torn(text: str) -> None:
    assert set(parse_counters(text)) <= {"A"}


def test_what_was_gained_is_the_difference(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tables = (tmp_path / "netstat", tmp_path / "snmp")
    monkeypatch.setattr("runners.trial.faults._TABLES", tables)
    tables[0].write_text(NETSTAT)
    tables[1].write_text(SNMP)
    watch = TcpWatch(LoopRecord())
    watch.begin()
    tables[0].write_text(NETSTAT.replace("41", "63"))
    watch.begin()  # a second tick does not move the start
    assert watch.record(None).loop.tcp == {"DelayedACKs": 22, "DelayedACKLocked": 0, "InSegs": 0, "OutSegs": 0}


def test_without_the_tables_nothing_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("runners.trial.faults._TABLES", (tmp_path / "absent",))
    watch = TcpWatch(LoopRecord())
    watch.begin()
    assert watch.record(None).loop.tcp == TcpWatch(LoopRecord()).record(None).loop.tcp == {}
