"""Every output of the five published reports is found and read to the last figure."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from runners.errors import ReadError
from runners.readers.command_line import parse_command
from runners.readers.output import Output
from runners.readers.outputs import find_in, find_outputs
from runners.readers.published import ROOT, published, published_names, published_of, published_outputs
from runners.tests.fixtures.outputs import said

FILES = sorted(ROOT.glob("*/*.txt"))
OUTPUTS_OF = {"report-1": 2, "report-2": 18, "report-3": 14, "report-4": 7, "report-5": 28}
_FIGURE = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|k|K|KB|MB|B|%)?(?![\w.])")
#: Figures of no use to anybody.
_UNREAD = re.compile(
    r", rate sampling interval.*|(?<=\d)\s+[\d.]+%\s*$|(?<=[a-z])\s+[\d.]+%\s*$|#\[Mean.*|, SubB.*|Transfer.*"
)
#: What a unit multiplies: times to microseconds, sizes to bytes. A list of its own, so that it can find a reader wrong.
_UNIT = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "k": 1_000, "K": 1_024, "KB": 1_024, "MB": 1_048_576}


def printed(text: str, column: int) -> Counter[float]:
    """Every figure in the text of an output, by a reader that knows no layout."""
    figures: Counter[float] = Counter()
    for line in text.splitlines():
        if "wrk" in line or "1/(1-Percentile)" in line:
            continue
        line = _UNREAD.sub("", line).partition("@")[0].replace("Non-2xx or 3xx", "")
        cells = line.split("->")
        if len(cells) > 1:
            level, _, first = cells[0].strip().partition(" ")
            line = f"{level} {(first, *cells[1:])[column]}"
        for number, unit in _FIGURE.findall(line):
            figures[round(float(number) * _UNIT.get(unit, 1), 6)] += 1
    return figures


def every_output() -> list[Output]:
    return [output for file in find_in(ROOT) for output in file.outputs]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_figure_is_read_and_none_is_invented(path: Path) -> None:
    file = find_outputs(path)
    text = path.read_text(encoding="utf-8")
    columns = max(line.count("->") for line in text.splitlines() if "wrk" not in line) + 1
    assert file.problems == ()
    assert [output.report.column for output in file.outputs] == list(range(columns))
    for output in file.outputs:
        assert Counter(round(figure, 6) for figure in said(output.report)) == printed(text, output.report.column)


def test_every_output_of_every_report_is_there() -> None:
    assert Counter(output.group for output in every_output()) == OUTPUTS_OF


def test_the_index_names_every_file_and_no_other() -> None:
    outputs = every_output()
    assert {f"{output.path.parent.name}/{output.path.stem}" for output in outputs} == set(published_names())
    for output in outputs:
        assert output.entry.report == output.path.parent.name
        assert output.entry.note
        assert len(output.entry.rates_rps) in (0, output.report.columns)


def test_a_command_in_the_index_is_the_one_in_the_file() -> None:
    with_command = [output for output in every_output() if output.entry.command]
    assert len(with_command) == OUTPUTS_OF["report-1"] + OUTPUTS_OF["report-2"]
    for output in with_command:
        assert output.report.command == parse_command(output.entry.command)


def test_a_file_of_several_columns_is_asked_for_by_column() -> None:
    assert [output.offered_rps for output in published_outputs("report-5/put-12000-pool")] == [12_000, 12_000]
    with pytest.raises(ReadError, match="holds 8 outputs instead of one"):
        published("report-5/put-ladder")
    assert set(published_of("report-5")) == {name for name in published_names() if name.startswith("report-5/single-")}


def test_rates_come_from_the_command_or_from_the_index() -> None:
    offered = {output.path.stem: output.offered_rps for output in every_output() if output.report.columns == 1}
    assert offered["put"] == 25_000
    assert offered["one-selector-get-15000-1conn"] == 15_000
    assert offered["before-put-1"] is None
    ladder = [output.offered_rps for output in find_outputs(ROOT / "report-5" / "put-ladder.txt").outputs]
    assert ladder == [12_000, 20_000, 30_000, 35_000, 40_000, 45_000, 50_000, 60_000]
