"""Rounds of a switch on invented servers: turns, data that is written once, nothing measured twice, a fault shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runners.claims.ablations import Ablation, better
from runners.claims.climbing import ladder_of
from runners.design.ablations import ROUNDS, SWITCHES, TOGETHER
from runners.design.setting import Setting
from runners.errors import MeasureError
from runners.execution import ablating
from runners.execution.ablating import Ablating
from runners.execution.beside import common_rate
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.targets.lab_server import RunningServer
from runners.tests.fixtures.fake_campaign import SIZE, FakeCampaign, Machine, Server
from runners.tests.fixtures.ladder_run import make_ladder

BLOOM, RESPONSE = SWITCHES["bloom"], SWITCHES["response"]
HEADS = [{"number": 1, "bytes": 94, "fields": 2}, {"number": 2, "bytes": 118, "fields": 3}]


@dataclass
class Starts:
    """Launches of an invented machine, with whether data were kept, and what was dropped."""

    machine: Machine
    kept: list[tuple[str, bool]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    def launch(self, setting: Setting, keep_data: bool = False) -> RunningServer:
        self.kept.append((setting.name, keep_data))
        return self.machine.launch(setting)

    def drop(self, data: Path) -> None:
        self.dropped.append(data.parent.name)


def opened(root: Path) -> RunFolder:
    return RunFolder.create(root, "07", "smoke", {"title": "t"})


def taker(folder: RunFolder, starts: Starts) -> Ablating:
    return Ablating(folder, FakeCampaign(folder, starts.machine), SIZE, starts.launch)


def bloom(folder: RunFolder, starts: Starts) -> Ablation:
    return taker(folder, starts).switch(BLOOM, 4, starts.drop)


def machine() -> Machine:
    return Machine({"bloom-off": Server(2_000.0), "bloom-10-bits": Server(3_000.0)})


def test_settings_are_interleaved_and_a_gain_is_found(tmp_path: Path) -> None:
    starts = Starts(machine())
    found = bloom(opened(tmp_path), starts)
    (row,) = found.rows
    assert row.gain is not None and better(row.gain) and row.gain.low < 0.5 < row.gain.high
    turns = [name for name, kept in starts.kept if kept]
    count = ROUNDS["smoke"].count
    assert len(turns) == 2 * count and all(
        set(turns[i : i + 2]) == {"bloom-off", "bloom-10-bits"} for i in range(0, 2 * count, 2)
    )
    assert turns[2:4] == turns[0:2][::-1]


def test_reads_find_data_that_each_setting_wrote_once(tmp_path: Path) -> None:
    starts = Starts(machine())
    bloom(opened(tmp_path), starts)
    assert [name for name, _ in starts.machine.filled] == ["bloom-off", "bloom-10-bits"]
    assert starts.dropped == ["bloom-off", "bloom-10-bits"]


def test_all_are_offered_what_the_weakest_carries(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    bloom(folder, Starts(machine()))
    rates = {step.read_meta()["offered_rps"] for step in folder.steps() if step.name.startswith("repeat-0")}
    assert len(rates) == 1 and 0 < rates.pop() < 2_000.0


def test_what_was_measured_before_an_interruption_is_not_measured_again(tmp_path: Path) -> None:
    folder, first = opened(tmp_path), Starts(machine())

    def interrupt(_name: str) -> None:
        if len(first.machine.measured) == 8:
            raise KeyboardInterrupt

    first.machine.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        bloom(folder, first)
    kept = {
        step.name: step.read_meta()["started_unix_us"] for step in folder.steps() if step.name.startswith("repeat-0")
    }
    assert kept
    again = Starts(machine())
    found = bloom(folder, again)
    assert not set(kept) & set(again.machine.measured) and len(found.rows[0].rounds["closed_loop_rps"]) == 4
    rates = {step.record.offered_rps for step in found.steps if step.kind == "repeat"}
    assert len(rates) == 1  # the rate stays that of the first session
    done = Starts(machine())
    bloom(folder, done)
    assert done.machine.measured == [] and done.kept == []


def test_a_fault_is_shown_and_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablating, "heads", lambda _server, _count: HEADS)
    servers = {name: Server(2_000.0) for name in ("response-published", "response-direct", "response-shared")}
    folder, starts = opened(tmp_path), Starts(Machine(servers))
    found = taker(folder, starts).switch(RESPONSE, 4, starts.drop)
    assert [row.name for row in found.rows] == ["response-direct"]
    (fault,) = read_run(folder).find(kind="fault")
    assert fault.record.fault is not None and list(fault.record.fault.heads) == HEADS and not starts.machine.filled


def test_both_ends_are_loaded_at_one_rate_on_their_own_data(tmp_path: Path) -> None:
    servers = {"lsm-as-published": Server(2_000.0), "lsm-all-on": Server(3_000.0), "noop": Server(9_000.0)}
    folder, starts = opened(tmp_path), Starts(Machine(servers))
    steps = taker(folder, starts).together(4, ())
    assert [step.subject for step in steps] == [setting.name for setting in TOGETHER.settings]
    assert len({step.record.offered_rps for step in [*steps, *read_run(folder).find(kind="floor")]}) == 1
    for name in ("lsm-as-published", "lsm-all-on"):  # a server is warm before its load
        order = starts.machine.measured
        assert order.index(f"warm-get-{name}") + 1 == order.index(f"get-{name}")


def test_a_common_rate_is_a_share_of_the_lower_knee(tmp_path: Path) -> None:
    run = read_run(make_ladder(tmp_path, (500.0, 1_500.0), searched=False))
    ladder = ladder_of("put-lsm", run.find(kind="rate-step"))
    assert common_rate([ladder], [Setting.of("lsm")], 0.7).rps == pytest.approx(1_050.0, rel=0.01)
    with pytest.raises(MeasureError, match="no ladder"):
        common_rate([ladder], [Setting.of("rocksdb")], 0.7)
