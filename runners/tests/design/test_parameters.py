"""Parameters: what is unknown, of the wrong type or absurd is refused with what is valid."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.design.block import FixedRate
from runners.design.experiment import COMMON, TARGET, Experiment, Extent, validate
from runners.design.ladder import Ladder
from runners.design.load import SIZES, STABLE_SHARE, choose_rate
from runners.design.setting import ENGINES, STORES, Setting
from runners.design.two_generators import NAME
from runners.errors import PlanError
from runners.experiments.e02_closed_loop_jdk import SIZES as LOOP_SIZES
from runners.experiments.e02_closed_loop_jdk import STAGES
from runners.experiments.registry import (
    EXPERIMENTS,
    experiment,
    plan_of,
    questions_of,
)
from runners.readers.published import published_of
from runners.toolchain.tools import ROOT, SERVER_JAVA


def known_of(plan: Experiment) -> dict[str, object]:
    """The parameters of an experiment with their defaults."""
    return {parameter.name: parameter.default for parameter in plan.parameters}


def number_of(plan: Experiment) -> str:
    return plan.number


def test_defaults_are_filled_in() -> None:
    values = validate(COMMON, {})
    assert values == {parameter.name: parameter.default for parameter in COMMON}


def test_text_from_the_command_line_gets_its_type() -> None:
    assert validate(COMMON, {"rate_rps": "8000"})["rate_rps"] == 8000
    assert validate(COMMON, {"engines": "lsm, memory"})["engines"] == "lsm,memory"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate_rps", "fast"),
        ("rate_rps", -1),
        ("rate_rps", 10**9),
        ("rate_rps", math.nan),
        ("rate_rps", True),
        ("rate_rps", 1.5),
        ("size", "huge"),
        ("size", 3),
        ("engines", ""),
        ("engines", "rocksdb,rocksdb"),
        ("engines", "mysql"),
        ("profile", "cpu,dreams"),
        ("heap_mb", 1),
        ("port", 70_000),
    ],
)
def test_absurd_values_are_refused_with_what_is_valid(name: str, value: object) -> None:
    with pytest.raises(PlanError, match="valid") as refusal:
        validate(COMMON, {name: value})
    assert name in str(refusal.value)


ABLE = [plan for plan in EXPERIMENTS.values() if TARGET in plan.parameters]


@pytest.mark.parametrize(
    "plan", [plan for plan in EXPERIMENTS.values() if plan not in ABLE], ids=lambda plan: plan.number
)
def test_an_experiment_without_targets_says_which_takes_them(plan: Experiment) -> None:
    with pytest.raises(PlanError) as refusal:
        plan.checked({"target": "a.yaml"})
    assert plan.number in refusal.value.thing and plan.title in refusal.value.thing
    assert all(able_plan.number in refusal.value.remedy for able_plan in ABLE) and "--target" in refusal.value.remedy


def test_a_target_that_is_not_there_is_named() -> None:
    with pytest.raises(PlanError, match=r"nowhere\.yaml"):
        ABLE[0].checked({"target": "nowhere.yaml"})


def test_an_unknown_parameter_is_answered_with_the_list_of_all() -> None:
    with pytest.raises(PlanError) as refusal:
        validate(COMMON, {"rate": 8000})
    for parameter in COMMON:
        assert parameter.name in str(refusal.value)


@given(st.dictionaries(st.text(max_size=12), st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.none())))
def test_any_input_is_accepted_or_refused_never_a_crash(values: dict[str, object]) -> None:
    try:
        checked = validate(COMMON, values)
    except PlanError:
        return
    assert set(checked) == {parameter.name for parameter in COMMON}


def planned(number: str, size: str) -> float:
    """The planned seconds of an experiment in a size, its other parameters as they are by default, without wrk2."""
    plan = experiment(number)
    asked = validate(plan.parameters, {"size": size})
    by_wrk2_s = sum(block.planned_s for block in plan.blocks_of(asked) if block.name == NAME)
    assert by_wrk2_s <= (60 if size in ("smoke", "quick") else 180)
    return plan.planned_s(asked) - by_wrk2_s


def test_all_stands_for_a_default_that_has_every_choice() -> None:
    assert validate(experiment("06").parameters, {"stores": "all"})["stores"] == ",".join(STORES)
    with pytest.raises(PlanError, match="'all' is not one of fit"):
        validate(experiment("07").parameters, {"switches": "all"})


def test_profile_may_be_none() -> None:
    assert validate(COMMON, {"profile": "none"})["profile"] == "none"


def test_an_unknown_experiment_is_answered_with_those_there_are() -> None:
    with pytest.raises(PlanError, match="01"):
        experiment("99")
    assert experiment("1").number == "01"


@pytest.mark.parametrize("plan", EXPERIMENTS.values(), ids=lambda plan: plan.number)
def test_the_notebook_has_exactly_these_parameters(plan) -> None:  # type: ignore[no-untyped-def]
    notebook = json.loads((ROOT / "notebooks" / plan.notebook).read_text())
    tagged = [cell for cell in notebook["cells"] if "parameters" in cell["metadata"].get("tags", [])]
    assert len(tagged) == 1
    names: dict[str, object] = {}
    exec("".join(tagged[0]["source"]), {}, names)
    assert set(names) == set(known_of(plan))
    assert validate(plan.parameters, names) == known_of(plan)
    assert all("#" in line for line in "".join(tagged[0]["source"]).splitlines())


@pytest.mark.parametrize("plan", EXPERIMENTS.values(), ids=lambda plan: plan.number)
def test_papermill_knows_each_parameter_from_its_line(plan) -> None:  # type: ignore[no-untyped-def]
    import papermill  # slow to import: here only those who run the test wait for it

    known = papermill.inspect_notebook(str(ROOT / "notebooks" / plan.notebook))
    assert set(known) == {parameter.name for parameter in plan.parameters}


@pytest.mark.parametrize("plan", EXPERIMENTS.values(), ids=lambda plan: plan.number)
def test_notebooks_are_thin_and_kept_without_outputs(plan) -> None:  # type: ignore[no-untyped-def]
    notebook = json.loads((ROOT / "notebooks" / plan.notebook).read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            assert cell["outputs"] == [] and cell["execution_count"] is None
            assert not any(word in source for word in ("def ", "class ", "!", "lambda", "%%"))


@pytest.mark.parametrize("number", EXPERIMENTS)
def test_the_questions_of_a_block_are_questions_of_its_experiment(number: str) -> None:
    asked = {row.question.key for row in questions_of(number)}
    plan = plan_of(number)
    for size in ("quick", "published") if "size" in known_of(plan) else ():
        for block in plan.blocks_of(validate(plan.parameters, {"size": size})):
            assert set(block.questions) <= asked, block.name
            assert block.questions or block.name == NAME, block.name


def test_the_rerun_line_names_only_what_differs() -> None:
    plan = experiment("01")
    values = validate(plan.parameters, {"size": "smoke", "rate_rps": 800})
    assert plan.rerun_command(values) == "lab run 01 --size smoke -p rate_rps=800"


@given(
    st.one_of(st.none(), st.floats(1, 1e6)),
    st.dictionaries(st.sampled_from(["rocksdb", "lsm"]), st.floats(2, 1e6), min_size=1),
)
def test_the_chosen_rate_is_one_that_every_engine_achieves(published: float | None, capacity: dict[str, float]) -> None:
    rate = choose_rate(published, capacity)
    assert 0 < rate.rps <= max(1.0, STABLE_SHARE * min(capacity.values()))
    if rate.rps != published:
        assert min(capacity, key=lambda engine: capacity[engine]) in rate.basis


def test_a_block_may_offer_another_share_of_what_the_weakest_reached() -> None:
    rate = choose_rate(None, {"rocksdb": 20_000.0, "lsm": 10_000.0}, share=0.3)
    assert rate.rps == 3_000 and rate.basis.startswith("30\u00a0% of what lsm reached")


def test_a_given_rate_is_taken_as_it_is() -> None:
    assert choose_rate(25_000, {"lsm": 10}, 8000).rps == 8000


def test_quick_and_smoke_keep_to_their_promised_time() -> None:
    assert SIZES["full"].duration_s == 180
    most_s = {"01": 360, "02": 360, "03": 700, "04": 390, "05": 600, "06": 540, "07": 600, "09": 360}
    for number, quick_s in most_s.items():
        assert planned(number, "quick") <= quick_s, number
    for number, smoke_s in (("01", 80), ("02", 90), ("06", 30 * len(STORES))):
        assert planned(number, "smoke") <= smoke_s, number
    assert LOOP_SIZES["full"][0] == 60


@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05", "06", "07"])
def test_the_published_size_is_an_hour_of_loads_of_a_minute_between_quick_and_full(number: str) -> None:
    """Report 5 itself loaded its cluster for half a minute a rate, and for a minute at the rates that it chose."""
    assert planned(number, "quick") < planned(number, "published") < planned(number, "full")
    assert planned(number, "published") <= 3_600
    plan = experiment(number)
    blocks = plan.blocks_of(validate(plan.parameters, {"size": "published"}))
    fixed = {block.size.duration_s for block in blocks if isinstance(block, FixedRate) and not block.sessions}
    ladders = {block.published_s for block in blocks if isinstance(block, Ladder) and block.published}
    assert fixed <= {60.0, 600.0} and ladders <= {60.0}
    assert all(block.beyond for block in blocks if isinstance(block, Ladder) and block.published)


@pytest.mark.parametrize("number", ["03", "05", "07"])
def test_the_published_size_is_an_hour_with_the_loads_by_wrk2_too(number: str) -> None:
    plan = experiment(number)
    assert plan.planned_s(validate(plan.parameters, {"size": "published"})) <= 3_600


def test_a_size_says_by_its_plan_what_it_has_less_of_than_was_published() -> None:
    four = experiment("04")
    fewer = {
        (row.extent, row.workload): (row.here, row.published)
        for row in four.shortfalls(validate(four.parameters, {"size": "quick"}))
    }
    here_bytes, there_bytes = fewer[Extent.DATA_BYTES, "get"]
    assert here_bytes < 2e8 and there_bytes > 3e9
    assert fewer[Extent.DATA_BYTES, "put-warm"][0] == 0 and fewer[Extent.DATA_BYTES, "put-warm"][1] > 1.5e9
    assert fewer[Extent.LENGTH_S, "put-warm"] == (SIZES["quick"].duration_s, 60)
    assert not four.shortfalls(validate(four.parameters, {"size": "published"}))
    assert not experiment("07").shortfalls(validate(experiment("07").parameters, {})), "no report has its switches"


#: What a cell of a block does: it runs the block and shows it, or shows data of it, or several blocks together.
BLOCK_CELL = re.compile(r"(?:(\w+) = lab\.run\(\"[^\"]+\"\)\n\1|lab\.run\(\"[^\"]+\"\)|\w+\.\w+|\w+(?: \+ \w+)+)")


@pytest.mark.parametrize("plan", [plan for plan in EXPERIMENTS.values() if "size" in known_of(plan)], ids=number_of)
def test_notebooks_have_one_form(plan: Experiment) -> None:
    notebook = json.loads((ROOT / "notebooks" / plan.notebook).read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    _, begin, shown, *blocks, conclude = ("".join(cell["source"]) for cell in cells)
    assert cells[0]["metadata"]["tags"] == ["parameters"]
    assert begin == f'from runners.lab import Lab\n\nlab = Lab.begin("{plan.number}", globals())'
    assert (shown, conclude) == ("lab.plan()", "lab.conclude()")
    assert blocks and all(BLOCK_CELL.fullmatch(cell) for cell in blocks), blocks


def test_every_published_run_of_report_2_has_a_loop() -> None:
    planned = {
        stage.output(loop, count)
        for stage in STAGES.values()
        for loop in stage.published
        for count in LOOP_SIZES["quick"][2]
    }
    assert planned == set(published_of("report-2"))


def test_the_engines_are_those_of_the_server() -> None:
    table = (SERVER_JAVA / "server/src/main/java/lab/server/Engine.java").read_text()
    known = re.findall(r"^    ([A-Z0-9_]+)\((?:true|false)\)[,;]$", table, re.MULTILINE)
    assert {name.lower() for name in known} == set(ENGINES)


def test_a_setting_has_the_published_front_and_the_lab_s_jdk() -> None:
    assert Setting.of("lsm").front == "one-nio" and Setting.of("lsm").jdk == 0
