"""An output that is shown to explain a tool is no run of the author's, and no rule looks at it."""

from __future__ import annotations

import pytest

from runners.audit.audit import examine
from runners.readers.documents import text_document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import CLOSED, HEALTHY

ONE_LINE_MORE = "\nThe server was restarted. It held. Nothing else ran.\n"


def outputs(text: str) -> tuple[Output, ...]:
    return outputs_of(text_document(text)).outputs


def is_example(text: str) -> bool:
    (output,) = outputs(text)
    return output.example


@pytest.mark.parametrize(
    "said",
    [
        "You should see something like this:",
        "It prints output similar to the following:",
        "Sample output:",
        "## Reading the results",
        "Пример вывода:",
        "Ejemplo de salida:",
        "### 结果解析",
        "出力結果例",
        "예시 출력",
        "例子:",
        "**Example:**",
    ],
)
def test_an_output_that_is_introduced_as_an_example_is_one(said: str) -> None:
    assert is_example(f"# wrk\n\n{said}\n\n```\n{CLOSED}```\n")
    assert is_example(f"# wrk\n\n{said}\n\n{CLOSED}")
    assert not examine(outputs(f"# wrk\n\n{said}\n\n{CLOSED}"))


@pytest.mark.parametrize(
    "said",
    [
        "We saw something else:",
        "## Results",
        "Это пример быстрого сервера.",
        "Output of the second run:",
        "结果如下：",
        "결과:",
        "Sample output of the tool is in its documentation.\n\n## Results\n\nThis is of ours:",
    ],
)
def test_an_output_that_is_introduced_as_a_result_is_none(said: str) -> None:
    assert not is_example(f"# Load\n\n{said}\n\n```\n{CLOSED}```\n")


def remarked(mark: str, lines: int) -> str:
    kept = CLOSED.rstrip("\n").split("\n")
    last = len(kept) - lines
    return "\n".join(text + mark if index >= last else text for index, text in enumerate(kept)) + "\n"


@pytest.mark.parametrize("mark", ["   <-- what it means", "  ← значение", "（平均值）"])
def test_remarks_on_several_lines_of_an_output_explain_it(mark: str) -> None:
    assert is_example(remarked(mark, 3))
    assert not is_example(remarked(mark, 1))  # an author points at one line of his own run


def test_an_address_holds_no_remark() -> None:
    assert not is_example(CLOSED.replace("http://localhost:8080", "http://a.example//put // "))


FIELDS = "\nLatency: how long a response took\n\n- **Req/Sec**: requests of each thread in a second\n"


def test_fields_that_the_text_below_explains_make_an_example() -> None:
    assert is_example(f"{CLOSED}{FIELDS}")
    assert is_example(f"{FIELDS}\n{CLOSED}")
    assert not is_example(f"{FIELDS}\n## Ours\n\n{CLOSED}")
    assert not is_example(f"{CLOSED}\nLatency: 12 ms\n\nReq/Sec: 500\n")
    assert not is_example(f"{CLOSED}\nLatency: mostly fine\n")
    assert not is_example(f"{CLOSED}\n## How to read other outputs\n{FIELDS}")


def test_what_an_explanation_prints_again_of_its_example_is_one_too() -> None:
    last = "\n".join(CLOSED.rstrip("\n").split("\n")[-3:])
    found = outputs(f"{CLOSED}{FIELDS}\n```\n{last}\n```\n")
    assert len(found) > 1
    assert all(output.example for output in found)


def test_a_run_next_to_an_example_is_looked_at() -> None:
    text = f"# Tool\n\nSample output:\n\n```\n{CLOSED}```\n\n## Ours\n{ONE_LINE_MORE}\n```\n{HEALTHY}```\n"
    example, run = outputs(text)
    assert example.example
    assert not run.example
    assert {id(remark.output) for remark in examine(outputs(text))}
    assert all(remark.output.tool == "wrk2" for remark in examine(outputs(text)))
