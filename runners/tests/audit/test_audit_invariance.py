"""How a document is written down does not change what is found in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.audit.audit import audit
from runners.readers.outputs import find_outputs
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, TOOLS

SAID = (
    "The server was loaded twice, once before and once after the cache was added to it. Nothing else ran there.\n\n"
    "After adding the cache, throughput improved. The 99th percentile was 20.10 ms.\n\n"
)
CONSOLES = {
    "wrk2": HEALTHY,
    "wrk": CLOSED,
    **{
        name: (TOOLS / f"{name}.txt").read_text(encoding="utf-8")
        for name in ("ab-2.4.71", "autocannon-9.0.0", "hey", "k6-1.8.1-closed", "oha-1.16.0", "vegeta-12.13.0")
    },
}


def fenced(language: str) -> Callable[[str], str]:
    return lambda console: f"```{language}\n{console}```\n"


def indented(by: str) -> Callable[[str], str]:
    return lambda console: "".join(f"{by}{line}\n" for line in console.splitlines()) + "\n"


def wrapped(text: str, width: int) -> str:
    """Break each paragraph anew, as an editor does."""
    paragraphs = []
    for paragraph in text.split("\n\n"):
        lines = [""]
        for word in paragraph.split():
            if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
                lines.append("")
            lines[-1] = f"{lines[-1]} {word}".strip()
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def found(raw: bytes, folder: Path) -> tuple[list[str], int]:
    """The codes of all findings in a document of these bytes, and the number of its outputs."""
    path = folder / "report.md"
    path.write_bytes(raw)
    result = audit([find_outputs(path)])
    return sorted(remark.code for remark in result.remarks), len(result.outputs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("tool", CONSOLES)
def test_a_document_may_be_written_down_in_many_ways(tool: str, folder: Path) -> None:
    plain, outputs = found(f"# Load\n\n{SAID}{fenced('')(CONSOLES[tool])}".encode(), folder)
    assert outputs == 1
    assert {"RUN006", "SMP004"} <= set(plain)

    @given(
        st.sampled_from(("Load", "Results", "Нагрузка", "压测", "1. Measurement")),
        st.sampled_from((fenced("bash"), fenced("text"), fenced("console"), indented("    "), indented("  "))),
        st.sampled_from(("\n", "\r\n")),
        st.sampled_from((b"", b"\xef\xbb\xbf")),
        st.integers(60, 160),
    )
    @settings(deadline=None, max_examples=25)
    def holds(heading: str, block: Callable[[str], str], end: str, mark: bytes, width: int) -> None:
        text = f"# {heading}\n\n{wrapped(SAID, width)}\n{block(CONSOLES[tool])}"
        assert found(mark + text.replace("\n", end).encode(), folder) == (plain, outputs)

    holds()


@pytest.mark.parametrize("rate", ["2600", "2 600", "2'600", "2\u202f600", "2,600", "2.6k"])
def test_a_rate_may_be_written_in_many_ways(rate: str, folder: Path) -> None:
    bare = HEALTHY.partition("\n")[2]
    codes, _ = found(f"# PUT at {rate} RPS\n\n{fenced('')(bare)}".encode(), folder)
    assert {"RAT001", "RAT006"} & set(codes)
