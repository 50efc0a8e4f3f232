"""Outputs are found in any file; what can't be read is named, and nothing is an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.readers import documents
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import find_in, find_outputs, outputs_of
from runners.tests.fixtures.outputs import CLOSED, HEALTHY


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(Document(text)).outputs


def test_file_and_line_are_those_of_the_outputs_first_line(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(f"# A\n\n```\n{HEALTHY}```\n\n# B\n{CLOSED}", encoding="utf-8")
    first, second = find_outputs(path).outputs
    lines = path.read_text(encoding="utf-8").splitlines()
    for output in (first, second):
        assert lines[output.line - 1].startswith("Running 1m test")
        assert output.place == f"{path}:{output.line}"
    assert (first.headings, second.headings) == (("A",), ("B",))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(f"    {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: "".join(f">{line}\n" for line in text.splitlines()),
        lambda text: f"<pre><code>{text.replace('/', '&#47;')}</code></pre>",
        lambda text: "<p>" + text.replace("\n", "<br>\n") + "</p>",
        lambda text: f"~~~console\n{text}~~~\n結果は以上です。",
        lambda text: f"* Résultat :\n\n```text\n{text}\n```\nFin à 50 %.",
        lambda text: text.replace("Running", "user@host:~$ \x1b[1mRunning\x1b[0m"),
    ],
    ids=["crlf", "indented", "quoted", "quoted-tight", "pre", "br", "tilde", "french", "prompt-and-colour"],
)
def test_an_output_is_found_in_any_wrapping(wrap: object) -> None:
    assert callable(wrap)
    plain, wrapped = outputs(CLOSED)[0].report, outputs(wrap(CLOSED))
    assert len(wrapped) == 1
    assert wrapped[0].report.requests == plain.requests
    assert wrapped[0].report.latencies.rows == plain.latencies.rows
    assert wrapped[0].report.latency == plain.latency


def test_a_notebooks_cells_and_their_outputs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "report.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["# Ergebnis\n", "Text"]},
        {
            "cell_type": "code",
            "source": "!wrk",
            "outputs": [{"output_type": "stream", "text": CLOSED.splitlines(True)}],
        },
        {"cell_type": "code", "source": "", "outputs": [{"data": {"text/html": f"<pre>{CLOSED}</pre>"}}]},
        "no cell",
    ]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    notebook = find_outputs(path)
    assert [(output.cell, output.report.requests) for output in notebook.outputs] == [(2, 12_000), (3, 12_000)]
    assert notebook.outputs[0].place == f"{path}:cell 2:{notebook.outputs[0].line}"
    assert [problem.text for problem in notebook.problems] == ["cell 4 can't be read"]


def test_a_broken_notebook_is_read_as_text_and_named(tmp_path: Path) -> None:
    path = tmp_path / "report.ipynb"
    path.write_text("{" + CLOSED, encoding="utf-8")
    file = find_outputs(path)
    assert len(file.outputs) == 1
    assert "is no notebook" in file.problems[0].text


def test_columns_apart_by_arrows_are_an_output_each() -> None:
    text = "RPS 1 000 -> 2 000 -> 3K:\n 50.000%  1.40ms -> 1.30ms → 12ms\n100.000%  9ms => 8ms -> 2.5s\n"
    columns = outputs(text)
    assert [output.report.latencies.rows for output in columns] == [
        ((0.5, 1_400), (1.0, 9_000)),
        ((0.5, 1_300), (1.0, 8_000)),
        ((0.5, 12_000), (1.0, 2_500_000)),
    ]
    assert [output.offered_rps for output in columns] == [1_000, 2_000, 3_000]
    assert [output.label for output in columns] == ["column 1 of 3", "column 2 of 3", "column 3 of 3"]
    assert {output.line for output in columns} == {2}


def test_a_ragged_row_is_read_as_far_as_it_goes_and_named() -> None:
    file = outputs_of(Document("p50: 1ms -> 2ms -> 3ms\np99: 4ms -> 5ms\n"))
    assert [len(output.report.latencies.rows) for output in file.outputs] == [2, 2, 1]
    assert [(problem.line, problem.text) for problem in file.problems] == [(2, "has 2 of 3 columns")]


@pytest.mark.parametrize(
    ("above", "rate"),
    [
        ("Under 12 000 RPS we saw:", 12_000),
        ("## PUT 10K RPS, cold", 10_000),
        ("rate was 2.5k req/s", 2_500),
        ("RPS = 125 000", 125_000),
        ("GET 20K RPS 3GB DB", 20_000),
        ("`load.sh 60 4000`:", 4_000),
        ("`load.sh 30 4000`:", None),  # the first number is not the duration of this output
        ("with -R 2700 this time", 2_700),
        ("with -R 700 this time", None),  # the output achieved 2 000,
        ("between 1 000 and 2 000 RPS", None),  # two rates for one output: which is not said
        ("3 nodes, 128 MB", None),
    ],
)
def test_a_rate_is_read_where_the_text_states_one(above: str, rate: float | None) -> None:
    (output,) = outputs(f"{above}\n\n{HEALTHY.partition(chr(10))[2]}")
    assert output.offered_rps == rate


def test_the_command_line_wins_over_the_text() -> None:
    (output,) = outputs(f"At 99 000 RPS:\n{HEALTHY}")
    assert (output.offered_rps, output.offered_by) == (2_000, "-R 2000")


def test_what_is_cut_is_said() -> None:
    lines = HEALTHY.splitlines()
    assert outputs(HEALTHY)[0].missing == ()
    (head,) = outputs("\n".join(lines[:6]))
    assert "the number of requests" in head.missing
    (middle,) = outputs("\n".join(lines[:20]))
    assert "the spectrum beyond p50" in middle.missing
    (tail,) = outputs("\n".join(lines[-3:]))
    assert "its head (Running ...)" in tail.missing


def test_what_is_no_text_is_named_and_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_bytes(b"\x00\x01binary")
    (tmp_path / "b.md").write_bytes(b"first\n\xff\xfe\xfa\n" + CLOSED.encode())
    (tmp_path / "c.md").write_bytes(b"x" * 4_096)
    (tmp_path / "d.md").write_bytes(CLOSED.encode("utf-16"))
    monkeypatch.setattr(documents, "LARGEST_BYTES", 4_000)
    a, b, c, d = find_in(tmp_path)
    assert (a.problems[0].text, a.outputs) == ("binary; skipped", ())
    assert (b.problems[0].line, b.problems[0].text, len(b.outputs)) == (2, "holds bytes that are not UTF-8", 1)
    assert (c.problems[0].text.split(";")[1], c.outputs) == (" skipped: split the file", ())
    assert (d.problems, len(d.outputs)) == ((), 1)


def test_a_file_that_is_not_there_or_no_file_is_named(tmp_path: Path) -> None:
    assert "no regular file" in find_outputs(tmp_path / "none.md").problems[0].text
    assert "no regular file" in find_outputs(Path("/dev/zero")).problems[0].text


def test_a_broken_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.toml").write_text("[oops", encoding="utf-8")
    (tmp_path / "a.txt").write_text(CLOSED, encoding="utf-8")
    (file,) = find_in(tmp_path)
    assert "index.toml" in file.problems[0].text
    assert len(file.outputs) == 1


def test_only_files_that_may_hold_outputs_are_read_from_a_folder(tmp_path: Path) -> None:
    for name in ("a.md", "b.py", ".hidden.md", "c", "d.TXT"):
        (tmp_path / name).write_text(CLOSED, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "e.md").write_text(CLOSED, encoding="utf-8")
    assert [file.path.name for file in find_in(tmp_path)] == ["a.md", "c", "d.TXT"]


@given(st.binary(max_size=2_000), st.sampled_from(("a.md", "b.ipynb", "c.html", "index.txt")))
def test_no_bytes_are_an_error(tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str) -> None:
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    find_outputs(path)


_CELL = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(CLOSED),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("source", "outputs", "data", "text", "text/plain")), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.fixed_dictionaries({"cells": _CELL | st.lists(_CELL, max_size=4)}))
def test_no_notebook_is_an_error(tmp_path_factory: pytest.TempPathFactory, content: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_text(json.dumps(content), encoding="utf-8")
    find_outputs(path)
