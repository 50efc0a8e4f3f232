"""Which lines are one output, and which of its figures contradict each other, in consoles that people published."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.audit.audit import audit
from runners.audit.rules.arithmetic import mean_bounds_us
from runners.readers.console_report import rank
from runners.readers.outputs import find_in
from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS, replaced


def test_a_caption_between_two_pieces_does_not_make_them_one_output() -> None:
    table = "  Latency     2.37ms    1.12ms   7.68ms   68.17%\n"
    text = f"{table}\nThen for a minute:\n\n 50.000%   20.00ms\n 99.000%   90.00ms\n"
    assert len(outputs(text)) == 2
    assert "SUM003" not in remarks(text)


POEM = "".join(f"line {chr(97 + number)} of a poem\n" for number in range(25))


def test_an_output_whose_lines_are_items_of_a_list_is_read() -> None:
    (output,) = outputs("".join(f"  * {line.strip()}\n" for line in CLOSED.splitlines()[1:]))
    assert (output.tool, output.report.latencies.at(0.99), output.report.requests_per_s) == ("wrk", 24_100, 200)


@pytest.mark.parametrize("mark", ["# ", "// "])
def test_an_output_that_is_a_comment_is_read(mark: str) -> None:
    command, _, printed = CLOSED.partition("\n")
    text = f"```sh\n{command}\n" + "".join(f"{mark}{line}\n" for line in printed.splitlines()) + "```\n"
    (output,) = outputs(text)
    assert (output.tool, output.missing) == ("wrk", ())


def test_what_a_script_prints_again_and_again_is_no_end_of_an_output() -> None:
    said = "".join(f"Completed {100 * number} requests\n" for number in range(1, 200))
    (output,) = outputs(replaced(CLOSED, ("  Thread Stats", f"{said}  Thread Stats")))
    assert output.missing == ()
    assert len(outputs(replaced(CLOSED, ("  Thread Stats", f"{POEM}  Thread Stats")))) == 2


def test_a_spectrum_without_its_caption_is_part_of_an_output() -> None:
    spectrum = HEALTHY[HEALTHY.index("       Value") :]
    (output,) = outputs(spectrum)
    assert output.report.latencies.at(0.5) == 5_001
    alone = spectrum[: spectrum.index("-----")]
    assert outputs(alone) == ()  # as any program prints a histogram
    assert "RUN005" in remarks(f"{HEALTHY.splitlines()[0]}\n{alone}")


def test_commas_that_an_author_put_into_a_count_are_none_of_its_end() -> None:
    (output,) = outputs(replaced(HEALTHY, ("120000 requests in", "120,000 requests in")))
    assert output.report.requests == 120_000
    more = ("Requests/sec:   2000.00", "  Non-2xx or 3xx responses: 1,234\nRequests/sec: 2,000.00")
    (output,) = outputs(replaced(HEALTHY, more, ("8 connections", "1,008 connections")))
    assert (output.report.requests_per_s, output.report.non_2xx, output.connections) == (2_000, 1_234, 1_008)


@pytest.mark.parametrize(
    "line",
    [
        "Requests/sec: **200.00**",
        "- Requests/sec:   `200.00`",
        "**Requests/sec:** 200.00",
        "* **Requests/sec: 200.00**",
        "<b>Requests/sec:</b> 200.00<br>",
    ],
)
def test_a_figure_that_an_author_sets_off_is_read(line: str) -> None:
    (output,) = outputs(replaced(CLOSED, ("Requests/sec:    200.00", line)))
    assert (output.missing, output.report.requests_per_s) == ((), 200)


@pytest.mark.parametrize("line", ["***", "99%", "[Mean = 5.9, StdDeviation = 3.4]", "Req/Sec 4.25k 0.00 4.25k"])
def test_formatting_between_the_lines_is_no_diagnostic(line: str) -> None:
    assert "RUN003" not in remarks(HEALTHY.replace("  Detailed", f"{line}\n  Detailed"))


@pytest.mark.parametrize(
    "printed",
    ["percentile,latency_us\n50,1060\n99,7620", "50%,1060\n90%,2820\n99%,7620", "p50: 1.06 ms\np99: 7.62 ms"],
)
def test_percentiles_that_a_script_prints_below_an_output_are_not_lacking(printed: str) -> None:
    bare = CLOSED[: CLOSED.index("  Latency Distribution")] + CLOSED[CLOSED.index("  12000 requests") :]
    assert "RUN005" in remarks(bare)
    assert "RUN005" not in remarks(f"{bare}------\n{printed}\n")


def test_the_first_million_responses_that_hey_keeps_contradict_no_rate() -> None:
    text = (TOOLS / "hey-0.1.5.txt").read_text(encoding="utf-8")
    many = re.sub(r"\[200\]\s+\d+ responses", "[200]\t1000000 responses", text)
    many = re.sub(r".*\[404\].*\n", "", re.sub(r"Total:\s+\S+ secs", "Total:\t10.0 secs", many))
    assert "SUM001" not in remarks(re.sub(r"Requests/sec:\s+\S+", "Requests/sec:\t200000.0", many))
    assert "SUM001" in remarks(re.sub(r"Requests/sec:\s+\S+", "Requests/sec:\t50000.0", many))


def test_another_tools_first_line_is_no_cut_output() -> None:
    text = "Running 10s test @ http://localhost:3000\n100 connections\n\n| Stat | Avg |\n"
    assert outputs(text) == ()


@pytest.mark.parametrize(("first", "code"), [(9, "SMP002"), (1, "SMP002")])
def test_an_excerpt_is_not_blamed_where_the_whole_output_lies_with_it(first: int, code: str, tmp_path: Path) -> None:
    excerpt = "".join(f"{line}\n" for line in HEALTHY.splitlines()[first:13])  # bare percentiles, or all but the end
    (tmp_path / "report.md").write_text(f"# Load\n\n{excerpt}", encoding="utf-8")
    assert code in {remark.code for remark in audit(find_in(tmp_path)).remarks}
    (tmp_path / "whole.txt").write_text(HEALTHY, encoding="utf-8")
    assert code not in {remark.code for remark in audit(find_in(tmp_path)).remarks}


HEADLESS = "\n".join(HEALTHY.splitlines()[4:])  # from its table on


@pytest.mark.parametrize(
    ("command", "cut"),
    [
        ("wrk -c 8 -t 1 -d 1m -R 2000 -L -s put.lua http://localhost:8080", False),
        ("wrk -c 8 -R 2000 -L -s put.lua http://localhost:8080", True),  # for how long?
        ("wrk2", True),
    ],
)
def test_a_head_that_is_cut_off_is_no_lack_where_the_command_says_the_same(command: str, cut: bool) -> None:
    text = f"# Load\n\n```\n{command}\n```\n\n## Results\n\n```\n{HEADLESS}\n```\n"
    assert ("RUN005" in remarks(text)) is cut
    own = f"{command}\n{HEADLESS.replace('61.31', '61.32')}"
    assert ("RUN005" in remarks(f"{text}\n### GET\n\n```\n{own}\n```\n")) is cut
    assert "RUN005" in remarks(f"{text}\n### GET\n\n```\n{HEADLESS.replace('61.31', '61.32')}\n```\n")  # of another run


SPECTRUM_OF_MANY = HEALTHY.replace(
    "      61.311     1.000000        99920          inf\n",
    "      50.000     1.000000        99919   2097152.00\n      61.311     1.000000        99920          inf\n",
)


def test_a_row_printed_as_one_is_not_the_maximum() -> None:
    assert "1.000000        99919" in SPECTRUM_OF_MANY
    assert "SUM003" not in remarks(SPECTRUM_OF_MANY)


def test_a_third_column_of_another_percentile_is_not_a_maximum() -> None:
    text = HEALTHY.replace("Stdev     Max   +/-", "Stdev     99%   +/-").replace("61.30ms", "20.10ms")
    assert outputs(text)[0].report.latency is not None
    assert "SUM003" not in remarks(text)


BOMBARDIER = (
    "Bombarding http://h for 30s using 50 connection(s)\n  Reqs/sec  2160.84\n  Latency  {}  1.00ms  356.5ms\n"
    "  50%  5.6ms\n  99%  10.8ms\n  99.9%  10.9ms\n"
)


def test_a_mean_that_its_percentiles_do_not_allow_is_a_contradiction() -> None:
    assert "is impossible" in remarks(BOMBARDIER.format("23.14ms"))["SUM003"].seen.text
    assert "SUM003" not in remarks(BOMBARDIER.format("7.14ms"))
    assert "at least" in remarks(BOMBARDIER.format("0.50ms"))["SUM003"].seen.text


@given(st.lists(st.floats(1.0, 1e8), min_size=1, max_size=200), st.sets(st.integers(1, 999), max_size=8))
def test_the_mean_of_any_samples_lies_within_the_bounds_of_their_percentiles(
    samples: list[float], levels: set[int]
) -> None:
    ordered = sorted(samples)
    count = len(ordered)
    rows = [(level / 1000, ordered[rank(count, level / 1000) - 1]) for level in sorted(levels)]
    least, most = mean_bounds_us(rows, ordered[-1])
    slack = (len(rows) + 1) / count * ordered[-1]  # a percentile is that of a whole sample
    assert least - slack <= sum(ordered) / count <= most + slack


def test_a_console_that_docker_prints_is_read() -> None:
    assert outputs("".join(f"bench_1        | {line}\n" for line in CLOSED.splitlines()[1:]))[0].tool == "wrk"
    assert not outputs("".join(f"Bench 1 | {line}\n" for line in CLOSED.splitlines()[1:]))[0].report.latency
