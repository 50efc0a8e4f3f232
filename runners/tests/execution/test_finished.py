"""What an earlier session finished is read back once and not measured again; what it left open is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runners.design.report_5 import put
from runners.design.setting import Setting
from runners.execution.finished import Finished
from runners.execution.progress import Progress
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.fake_campaign import FakeCampaign, Machine, Server

PLANNED_S = 100.0


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "05", "smoke", {"title": "t"})


@pytest.fixture
def measure(folder: RunFolder) -> Callable[[str], Step]:
    machine = Machine({"one": Server(2_000.0)})
    campaign = FakeCampaign(folder, machine)
    return lambda name: campaign.step(name, "load", machine.launch(Setting.of("one")), put("smoke"), None)


def session(folder: RunFolder) -> Finished:
    return Finished(folder, Progress(PLANNED_S, Memory()))


def never() -> Step:
    pytest.fail("it was measured again")


def test_what_was_finished_comes_back_as_it_was(folder: RunFolder, measure: Callable[[str], Step]) -> None:
    first = session(folder)
    step = first.once("a step", lambda: measure("a"))
    steps = first.once("steps", lambda: [measure("b"), measure("c")])
    again = session(folder)
    kept = again.once("a step", never)
    assert kept.name == step.name and kept.frames["summary"].equals(step.frames["summary"])
    assert [each.name for each in again.once("steps", lambda: [never()])] == [each.name for each in steps]


def test_who_asks_twice_in_a_session_has_it_measured_again(folder: RunFolder, measure: Callable[[str], Step]) -> None:
    first, names = session(folder), iter("abc")
    assert first.once("a load", lambda: measure(next(names))).name == "a"
    assert first.once("a load", lambda: measure(next(names))).name == "b"
    again = session(folder)
    assert again.once("a load", never).name == "b", "the last one counts"
    assert again.once("a load", lambda: measure(next(names))).name == "c"


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "{",
        "[]",
        '{"a step": 1}',
        '{"a step": {"steps": []}}',
        '{"a step": {"what": "step", "steps": ["gone"], "took_s": 1}}',
    ],
)
def test_what_can_not_be_read_back_is_measured_again(
    folder: RunFolder, measure: Callable[[str], Step], broken: str
) -> None:
    (folder.path / "finished.json").write_text(broken)
    assert session(folder).once("a step", lambda: measure("a")).name == "a"
    assert session(folder).once("a step", never).name == "a"


def test_an_error_leaves_no_entry(folder: RunFolder) -> None:
    def fail() -> Step:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session(folder).once("a step", fail)
    assert not folder.finished_words()
