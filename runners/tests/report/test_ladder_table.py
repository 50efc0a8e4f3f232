"""The table of many ladders: a row a setting, the numbers of the ladders themselves, and links that lead somewhere."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

from runners.analysis.knee import rate_interval
from runners.analysis.rate_steps import StepOutcome
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.report import render, tables
from runners.report.ladder import HEAD, _rates, _resolved
from runners.report.ladder import search_table as table
from runners.report.tables import Linked
from runners.results.conclusion import conclude
from runners.results.ladders import ladders
from runners.tests.fixtures.ladder_run import make_ladder

AROUND = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0)


def run_of(root: Path) -> Run:
    """A knee with rate steps of its own, one that was not found, a late generator, and rate steps without a search."""
    folder = make_ladder(root, AROUND, name="put-a", subject="a")
    base = {"what": "knee", "rps": 2_000.0}
    make_ladder(root, (1_400.0, 2_400.0), searched=False, base=base, name="put-a-rates", subject="a", into=folder)
    make_ladder(root, (500.0, 1_000.0), name="put-b", subject="b", into=folder)
    make_ladder(root, (*AROUND, 1_500.0), name="put-c", subject="c", late=(1_500.0,), into=folder)
    make_ladder(root, (500.0, 1_000.0), searched=False, name="put-d", subject="d", into=folder)
    run = read_run(folder)
    return dataclasses.replace(run, steps=tuple(sorted(run.steps, key=lambda step: step.name)))  # all began at once


def test_a_row_tells_its_ladder_and_its_rate_steps(tmp_path: Path) -> None:
    all_ladders = ladders(run_of(tmp_path))
    rows = {str(row[0]): dict(zip(HEAD, row, strict=True)) for row in table(all_ladders).rows}
    assert list(rows) == ["a PUT", "b PUT", "c PUT", "d PUT"]
    assert all_ladders[0].knee is not None
    assert rows["a PUT"]["knee (95 %)"] == rate_interval(all_ladders[0].knee)
    assert rows["a PUT"]["fixed rates that met it"] == "1\u202f400/s, not 2\u202f400/s"
    assert rows["a PUT"]["probes judged"] == "5 of 5" and rows["a PUT"]["generator"] == "kept up"
    assert "the rate" in rows["a PUT"]["missed just above"]
    assert rows["b PUT"]["knee (95 %)"].startswith("above ")
    assert rows["c PUT"]["probes judged"] == "5 of 6" and "from 1\u202f500/s on" in rows["c PUT"]["generator"]
    assert (
        rows["d PUT"]["knee (95 %)"] == tables.NONE
        and rows["d PUT"]["fixed rates that met it"] == "rate kept: all up to 1\u202f000/s"
    )


def test_what_was_met_while_the_generator_was_late_is_marked(tmp_path: Path) -> None:
    folder = make_ladder(tmp_path, AROUND, late=(2_000.0,), late_us=900.0)
    ((_, *cells),) = table(ladders(read_run(folder))).rows
    assert "late in 1 that met it" in cells


def test_rates_that_a_late_generator_or_a_stall_left_undecided_are_named(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0}
    folder = make_ladder(tmp_path, (1_000.0, 1_400.0, 1_600.0), searched=False, base=base, late=(1_400.0,))
    (shown,) = ladders(read_run(folder))
    assert _rates(shown) == "1\u202f000/s and 1\u202f600/s; 1\u202f400/s undecided: the generator was late"
    first, second, third = shown.points
    calm = dataclasses.replace(first.rate_step, calm_us=((0.99, 100.0),))
    stalled = dataclasses.replace(second, outcome=StepOutcome.STALLED)
    shown.__dict__["points"] = [dataclasses.replace(first, rate_step=calm), stalled, third]
    outside = "1\u202f000/s without regard to the machine's stalls"
    assert _rates(shown) == f"1\u202f000/s and 1\u202f600/s; {outside}; 1\u202f400/s undecided: the machine stalled"


def test_a_cell_leads_to_a_figure_or_nowhere_but_not_to_its_own_section(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    linked = [cell for row in table(ladders(run)).rows for cell in row if isinstance(cell, Linked)]
    assert {cell.anchor for cell in linked} == {ladder.anchor for ladder in ladders(run)}
    render(conclude(run, {}))
    markdown, html = run.folder.report_md.read_text(), run.folder.report_html.read_text()
    for cell in linked:  # the knees are drawn together, so no ladder has a figure of its own
        assert f"[{cell}](#" not in markdown.replace("\\", "") and f">{cell}</a>" not in html
    assert set(re.findall(r"\]\(#([^)]+)\)", markdown)) <= set(re.findall(r'<a id="([^"]+)">', markdown))


def test_rare_percentiles_of_a_ladder_need_samples(tmp_path: Path) -> None:
    c_put = next(ladder for ladder in ladders(run_of(tmp_path)) if ladder.title.startswith("c PUT"))
    few = dataclasses.replace(c_put.points[0], samples=9_000.0)
    assert math.isnan(_resolved(few, 0.999, False)) and not math.isnan(_resolved(few, 0.99, False))
    assert not math.isnan(_resolved(few, 0.999, True)), "what the objective judges is drawn"
