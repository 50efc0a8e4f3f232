"""A campaign's file: what it may hold, errors with line and key, and the order that its seed gives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from runners.cli import lab
from runners.design.experiment import Value
from runners.errors import PlanError
from runners.execution.campaign import Job
from runners.experiments.campaign import FORM, CampaignFile, read_campaign
from runners.jobs import Appraisal

TARGET = "name: a\nurl: http://127.0.0.1:18501\nworkloads:\n  get: {path: /x}\n"
WHOLE = """\
seed: 7
minutes: 30
repeats: 2
runs:
  ladder:
    measure: "04"
    settings: {size: smoke, engine: [lsm, rocksdb]}
  mine:
    measure: load
    targets: [a.yaml, b.yaml]
    settings: {rate_rps: [200, 400]}
    repeats: 3
  pair:
    measure: compare
    targets: [a.yaml, b.yaml]
    settings: {size: smoke}
"""


def appraise(kind: str, parameters: Mapping[str, Value], repeat: int) -> tuple[str, float]:
    return f"{kind} {sorted(parameters.items())} {repeat}", 1.0


def read(folder: Path, text: str) -> CampaignFile:
    for name in ("a", "b"):
        (folder / f"{name}.yaml").write_text(TARGET.replace("name: a", f"name: {name}"), encoding="utf-8")
    (folder / "c.yaml").write_text(text, encoding="utf-8")
    return read_campaign(folder / "c.yaml")


def test_cells_are_targets_times_settings_times_repeats(tmp_path: Path) -> None:
    jobs = read(tmp_path, WHOLE).jobs(appraise)
    assert Counter((job.name, job.kind) for job in jobs) == {
        ("ladder", "04"): 4,
        ("mine", "load"): 12,
        ("pair", "target-compare"): 2,
    }
    mine = {(job.parameters["setting"], job.parameters["rate_rps"]) for job in jobs if job.name == "mine"}
    assert mine == {(f"target={tmp_path}/{name}.yaml", rate) for name in "ab" for rate in (200, 400)}
    (pair, _) = (job for job in jobs if job.name == "pair")
    assert [str(pair.parameters[side])[-6:] for side in "ab"] == ["a.yaml", "b.yaml"]
    assert all(job.parameters["size"] == "smoke" for job in jobs if job.name == "ladder"), "one value stays one"


@given(seed=st.integers(0, 1_000))
def test_each_repeat_is_a_block_and_the_order_is_the_seeds(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = tmp_path_factory.mktemp("campaign")
    text = WHOLE.replace("seed: 7", f"seed: {seed}")
    jobs, again = read(folder, text).jobs(appraise), read(folder, text).jobs(appraise)
    assert jobs == again
    assert [job.repeat for job in jobs] == sorted(job.repeat for job in jobs)
    assert msgspec.json.decode(msgspec.json.encode(jobs), type=tuple[Job, ...]) == jobs


def test_seeds_differ_and_have_the_same_set(tmp_path: Path) -> None:
    orders = {tuple(job.address for job in read(tmp_path, WHOLE.replace(": 7", f": {seed}")).jobs(appraise))
              for seed in range(5)}  # fmt: skip
    assert len(orders) == 5 and len({frozenset(order) for order in orders}) == 1


def test_what_two_entries_have_in_common_is_one_job(tmp_path: Path) -> None:
    twice = (
        'runs:\n  a: {measure: "04", settings: {engine: lsm}}\n  b: {measure: "04", settings: {engine: [lsm, memory]}}'
    )
    assert len(read(tmp_path, twice).jobs(appraise)) == 2


@pytest.mark.parametrize(
    ("old", "new", "where", "cause"),
    [
        ('"04"', "4", "line 6, key runs.ladder.measure", "expected `str`"),
        ('"04"', '"44"', "line 6, key runs.ladder.measure", "'44' can't be measured"),
        ('"04"', '"08"', "line 6, key runs.ladder.measure", "'08' can't be measured"),
        ("engine: [lsm", "engin: [lsm", "line 7, key runs.ladder.settings.engin", "there is no such parameter"),
        ("rocksdb", "rocksbd", "line 7, key runs.ladder.settings.engine", "'rocksbd' is not one of"),
        ("[lsm, rocksdb]", "[lsm, lsm]", "line 7, key runs.ladder.settings.engine", "a value stands twice"),
        ("[lsm, rocksdb]", "[]", "line 7, key runs.ladder.settings.engine", "or there is none"),
        ("[200, 400]", "[200, -4]", "line 11, key runs.mine.settings.rate_rps", "out of range"),
        ("rate_rps: [", "setting: [", "line 11, key runs.mine.settings.setting", "the targets give it"),
        ("repeats: 3", "repeats: 0", "line 12, key runs.mine.repeats", ">= 1"),
        ("repeats: 3", "repeat: 3", "line 12, key runs.mine.repeat", "there is no such key"),
        ("minutes: 30", "minutes: 0", "line 2, key minutes", "> 0"),
        ("seed: 7", "sede: 7", "line 1, key sede", "there is no such key"),
        (", b.yaml]\n    settings: {size", "]\n    settings: {size", "line 15, key runs.pair.targets", "takes two"),
        ('"04"', '"04"\n    targets: [a.yaml]', "line 7, key runs.ladder.targets", "servers of its own"),
        ("targets: [a.yaml, b.yaml]\n    settings: {r", "settings: {r", "line 9, key runs.mine.measure", "a target"),
        ("  mine:", "  Mine:", "line 4, key runs", "matching regex"),
        ("repeats: 2\n", "repeats: 2\nrepeats: 2\n", "line 4, key repeats", "it stands twice"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_by_line_key_and_remedy(tmp_path: Path, old: str, new: str, where: str, cause: str) -> None:
    assert WHOLE.count(old) >= 1
    with pytest.raises(PlanError) as refused:
        read(tmp_path, WHOLE.replace(old, new, 1))
    assert where in refused.value.thing and cause in refused.value.cause and refused.value.remedy


def test_a_target_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"c\.yaml: can't be read|none\.yaml"):
        read(tmp_path, WHOLE.replace("[a.yaml, b.yaml]", "[a.yaml, none.yaml]", 1)).jobs(appraise)


def test_the_schema_is_printed_for_editors() -> None:
    done = CliRunner().invoke(lab, ["schema", "campaign"])
    assert done.exit_code == 0 and json.loads(done.output) == json.loads(json.dumps(FORM.schema("campaign.yaml")))
    assert {"Campaign", "Entry"} <= json.loads(done.output)["$defs"].keys()


def test_an_address_follows_settings_repeat_and_the_targets_content_and_not_its_place(tmp_path: Path) -> None:
    def addresses(folder: Path, server: str = "print(1)", text: str = "") -> list[str]:
        folder.mkdir(exist_ok=True)
        (folder / "server.py").write_text(server, encoding="utf-8")
        described = TARGET + 'command: [python3, server.py, "18501"]\n'
        (folder / "a.yaml").write_text(described + text, encoding="utf-8")
        runs = "runs:\n  one: {measure: load, targets: [a.yaml], settings: {rate_rps: [1, 2]}, repeats: 2}\n"
        (folder / "c.yaml").write_text(runs, encoding="utf-8")
        return sorted(job.address for job in read_campaign(folder / "c.yaml").jobs(Appraisal()))

    first = addresses(tmp_path / "one")
    assert len(set(first)) == 4 and addresses(tmp_path / "two") == first
    assert addresses(tmp_path / "one", text="# a remark\n") == first
    assert not {*addresses(tmp_path / "one", server="print(2)")} & {*first}
    assert not {*addresses(tmp_path / "one", text="stop_signal: SIGINT\n")} & {*first}
