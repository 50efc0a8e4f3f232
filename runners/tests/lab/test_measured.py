"""What a block measured is handed over: frames with documented columns, figures, and any run by its name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import pandas as pd
import pytest
from msgspec.structs import replace as record_with

import runners
from runners.analysis import facts, instrument
from runners.errors import PlanError
from runners.measured import Measured, open_run
from runners.report.latency import as_treatments, distinct_names, headline, overlay
from runners.report.style import colours_of
from runners.storage.run_folder import StoreError
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.references import KEPT
from runners.tests.tiers import in_short
from runners.toolchain.tools import ROOT

PAGE = ROOT / "runners" / "docs" / "explore-a-run.md"
NOTEBOOK = ROOT / "notebooks" / "10_explore.ipynb"
FRAMES = ("percentiles", "spectrum", "series", "requests", "telemetry")


@pytest.fixture(scope="module")
def reference() -> dict[str, Measured]:
    return runners.open_run("data/reference/01")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Measured], dict[str, Measured]]:
    """Two runs of one experiment."""
    root = tmp_path_factory.mktemp("runs")
    first, second = (open_run(make_run(root, duration_s=2).path) for _ in range(2))
    return first, second


def test_percentiles_have_the_documented_columns_and_hold_quotable_loads_alone(reference: dict[str, Measured]) -> None:
    frame = reference["put"].percentiles
    assert list(frame)[:7] == ["load", "percentile", "response_us", "service_us", "low", "high", "samples"]
    assert set(frame["load"]) == {"put-lsm", "put-rocksdb", "floor-put"}
    own = next(step for step in reference["put"].steps if step.name == "put-lsm")
    median = facts.quoted(own, 0.5)
    (row,) = frame[(frame["load"] == "put-lsm") & (frame["percentile"] == 0.5)].to_dict("records")
    assert median is not None
    assert (row["response_us"], row["low"], row["high"]) == (median.value, median.low, median.high)
    assert row["samples"] == facts.samples(own) and row["service_us"] <= row["response_us"]


@pytest.mark.parametrize("name", FRAMES)
def test_each_column_of_a_frame_is_documented(name: str, reference: dict[str, Measured]) -> None:
    documented = getattr(Measured, name).__doc__ or ""
    for block in ("put", "put-compared"):
        frame: pd.DataFrame = getattr(reference[block], name)
        assert next(iter(frame)) == "load"
        assert all(f"`{column}`" in documented for column in frame), name
    assert not getattr(reference["put-compared" if name == "requests" else "put"], name).empty


def test_two_blocks_together_have_the_loads_of_both(reference: dict[str, Measured]) -> None:
    put, get = reference["put"], reference["get"]
    assert set((put + get).percentiles["load"]) == {*put.percentiles["load"], *get.percentiles["load"]}


def test_a_spectrum_marks_loads_that_may_not_be_quoted(reference: dict[str, Measured]) -> None:
    put = reference["put"]
    assert put.spectrum["quotable"].all() and set(put.spectrum["load"]) == {step.name for step in put.loads}
    late = [
        replace(step, record=record_with(step.record, valid=False, invalid_reasons=("late",))) for step in put.steps
    ]
    assert not Measured("put", put.run, tuple(late)).spectrum["quotable"].any()


def test_a_profile_adds_up(reference: dict[str, Measured]) -> None:
    frame = reference["put"].profile("alloc")
    assert list(frame) == ["load", "frame", "self", "total", "category"]
    for _, rows in frame.groupby("load"):
        assert rows["self"].sum() == pytest.approx(1.0, abs=1e-6)
        assert (rows["self"] <= rows["total"] + 1e-9).all() and rows["total"].max() <= 1 + 1e-9


def test_an_event_or_a_load_that_is_not_there_is_refused_with_those_that_are(reference: dict[str, Measured]) -> None:
    with pytest.raises(PlanError, match="no lock profile was taken; events there are: none"):
        reference["put-compared"].profile("lock")
    with pytest.raises(PlanError, match="there are: put-rocksdb, put-lsm"):
        reference["put"].plot.timeline("put-leveldb")


def test_a_run_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreError, match="no-such-run"):
        runners.open_run("no-such-run")


def test_a_block_has_the_figures_of_its_report_and_no_others(reference: dict[str, Measured]) -> None:
    put = reference["put"]
    anchors = {shown.anchor for section in put.sections for shown in section.figures}
    assert "spectrum-put" in anchors and not any("get" in anchor for anchor in anchors)
    assert put.table is not None and len(put.table.rows) == 2 and len(put.figures) >= 3
    assert {shown.anchor for section in reference["put-compared"].sections for shown in section.figures}


@pytest.mark.parametrize("number", in_short(KEPT, ("06", "07")))
def test_every_block_of_the_references_hands_over_and_shows_something(number: str) -> None:
    for name, block in open_run(f"data/reference/{number}").items():
        for frame in FRAMES:
            assert next(iter(getattr(block, frame))) == "load"
        if block.loads:
            assert block.figures or block.table, f"{number}, block {name}"


def test_two_runs_overlaid_have_names_and_colours_of_their_own(
    two: tuple[dict[str, Measured], dict[str, Measured]],
) -> None:
    first, second = (next(block for block in run.values() if block.plot._loads()) for run in two)
    loads = [*first.plot._loads(), *second.plot._loads()]
    names = distinct_names(loads)
    assert len(set(names)) == len(loads) >= 4
    assert all(run.name[-4:] in name for name, (_, run) in zip(names, loads, strict=True))
    subjects = [step.subject for step in as_treatments(loads)]
    assert len(set(subjects)) == len(set(colours_of(subjects).values())) == len(loads)
    alt = first.plot.spectrum(with_=second).alt
    assert all(name in alt for name in names)


def test_a_heading_quotes_p99_only_where_the_instrument_does_not_decide_it(reference: dict[str, Measured]) -> None:
    seen = set()
    for block in reference.values():
        if loads := block.plot._loads():
            unresolved = any(instrument.unresolved(run.steps, step, 0.99) for step, run in loads)
            assert ("p99" in headline(loads)) == (not unresolved)
            assert headline(loads, distinct_names(loads)) == overlay(loads).heading
            seen.add(unresolved)
    assert True in seen, "01 has loads whose p99 no floor resolves"


def examples() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_every_line_of_the_page_runs() -> None:
    mpl.use("agg")  # no window
    names: dict[str, object] = {}
    for example in examples():
        exec(compile(example, str(PAGE), "exec"), names)
    assert isinstance(names["p"], pd.DataFrame) and isinstance(names["put"], Measured)


def test_every_cell_of_the_notebook_runs() -> None:
    names: dict[str, object] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)
    assert "run" in names


def test_the_page_says_dataframe_and_names_every_frame() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "DataFrame" in text and all(f"`put.{name}`" in text for name in FRAMES)
    assert len(examples()) >= 8


def test_importing_the_package_imports_no_frames() -> None:
    code = "import runners, sys; assert not {'pandas', 'matplotlib', 'numpy'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
