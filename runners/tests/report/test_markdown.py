"""Whatever a tool printed is text in Markdown: shown as it is, never markup."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from runners.errors import UNPRINTABLE
from runners.report import tables
from runners.report.tables import Table

HOSTILE = [
    "<script>alert(1)</script>",
    "![x](http://h.invalid/x.png)",
    "[x](javascript:alert(1))",
    "a | b",
    "`code` **bold** _em_ ~~no~~",
    "http://h.invalid/ www.h.invalid",
    "&lt;b&gt; &amp; <b>",
    "# head",
    "- list",
    "1. list",
    "1) list",
    "> quote",
    "@someone #12",
    "a\\|b\\",
    "```",
    "a\nb\n\nc",
    "<https://h.invalid>",
    "$x$",
    "---",
    "+ x",
    "=",
]
renderer = MarkdownIt("commonmark").enable(["table", "strikethrough"])
#: What a report leaves out, such as marks that turn the direction of text, is another test's.
LEFT_OUT = "".join(filter(UNPRINTABLE.match, map(chr, range(0x2070))))
lines = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters=LEFT_OUT), max_size=60)


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


@given(lines | st.sampled_from(HOSTILE))
@example("*")
@example("0.")
@example("    indented")
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    html = renderer.render("x " + tables.escape(text))
    assert set(re.findall(r"<(\w+)", html)) <= {"p"}
    assert text_of(html) == " ".join(("x " + text).split())


@given(lines | st.sampled_from(HOSTILE))
def test_text_at_the_start_of_a_line_opens_no_block(text: str) -> None:
    html = renderer.render(tables.escape(text.strip()))
    assert set(re.findall(r"<(\w+)", html)) <= {"p"}
    assert text_of(html) == " ".join(text.split())


@given(st.lists(st.tuples(lines, lines | st.sampled_from(HOSTILE)), min_size=1, max_size=4))
def test_a_table_keeps_its_cells(rows: list[tuple[str, str]]) -> None:
    html = renderer.render(tables.table(Table("t", ("a", "b"), tuple(rows))))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html, re.S)
    assert [" ".join(unescape(cell).split()) for cell in cells] == [" ".join(c.split()) for row in rows for c in row]
    assert "<table>" in html


@given(st.text(st.characters(codec="utf-8")) | st.sampled_from(HOSTILE))
@example("```\n````\n# head")
def test_raw_output_stays_in_its_block(text: str) -> None:
    tokens = renderer.parse(tables.fenced(text) + "\n\nafter")
    assert [token.type for token in tokens][:2] == ["fence", "paragraph_open"]


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_path_is_a_link_target(text: str) -> None:
    target = tables.path(text)
    html = renderer.render(f"[a](figures/{target}.png)")
    assert html.startswith('<p><a href="figures/') and html.strip().endswith(">a</a></p>")


def test_text_that_is_markdown_already_is_kept() -> None:
    assert tables.escape(tables.Markdown("**a**")) == "**a**"
    assert tables.escape("**a**") != "**a**"
