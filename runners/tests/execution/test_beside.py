"""A load whose generator was late is measured once more, and nothing else is."""

from __future__ import annotations

from pathlib import Path

from runners.design.rate import Rate
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.workload import PUT
from runners.execution.beside import in_time
from runners.storage.run_folder import RunFolder
from runners.tests.fixtures.fake_campaign import FakeCampaign, Machine, Server

SHAPE = Shape(4, 1, 1.0, 0.0)
KNEE_RPS = 2_000.0


def test_a_load_whose_generator_was_late_is_taken_once_more_and_says_so(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "06", "smoke", {"title": "t"})
    machine = Machine({"lsm": Server(KNEE_RPS, kept_up=False)})

    def calm_down(_name: str) -> None:
        machine.servers["lsm"] = Server(KNEE_RPS)

    machine.before = calm_down
    campaign, server = FakeCampaign(folder, machine), machine.launch(Setting.of("lsm"))
    step = in_time(campaign, "put-lsm", "load", server, PUT, Rate(500.0, "given"), SHAPE)
    assert step.valid and step.record.rate_basis.startswith("given; taken again")
    assert machine.measured == ["put-lsm"] * 2 and [kept.name for kept in folder.steps()] == ["put-lsm"]
    assert len(list((folder.path / "steps" / "superseded").iterdir())) == 1
    assert in_time(campaign, "put-lsm", "load", server, PUT, Rate(9_000.0, "given"), SHAPE).saturated
    assert len(machine.measured) == 3, "what the server did is no reason"
