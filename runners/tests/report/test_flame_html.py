"""async-profiler's page inside a report: offline, complete, and smaller without a change of shares."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.report.flamegraph import _CALLS, _POOL, _frames, _names, _packed, compact, levels, prepare
from runners.tests.report.outside import Page

REAL = (Path(__file__).parent / "data" / "alloc.html").read_text(encoding="utf-8")


def drawn(html: str) -> list[tuple[str, int, int, int, int]]:
    """Name, kind, level, place and width of each frame of a page."""
    calls, pool = _CALLS.search(html), _POOL.search(html)
    assert calls and pool
    names = _names(pool[2])
    return [(names[f.key >> 3], f.key & 7, f.level, f.left, f.width) for f in _frames(calls[0])]


def test_the_real_page_is_understood_whole() -> None:
    frames = drawn(REAL)
    whole = frames[0]
    assert whole[0] == "all"
    assert len(frames) > 1000
    assert all(left >= 0 and left + width <= whole[4] for _, _, _, left, width in frames)
    assert any(name == "byte[]" for name, *_ in frames)
    assert levels(REAL) == 1 + max(level for _, _, level, _, _ in frames)


@pytest.mark.parametrize("least", [0.0, 0.0005, 0.002, 0.01, 0.2])
def test_a_smaller_page_keeps_the_place_and_width_of_every_wide_frame(least: float) -> None:
    small = compact(REAL, least)
    whole = drawn(REAL)[0][4]
    assert drawn(small) == [frame for frame in drawn(REAL) if frame[4] >= least * whole]
    assert len(small) <= len(REAL)


def test_a_page_of_another_form_is_left_as_it_is() -> None:
    assert compact("<p>no flame graph</p>", 0.1) == "<p>no flame graph</p>"
    assert levels("<p>") is None


def test_the_prepared_page_is_offline_and_keeps_its_frames() -> None:
    page = prepare(REAL)
    parsed = Page(page)
    assert parsed.outside() == []
    assert "https://github.com" in REAL  # what there was to remove
    assert drawn(page) == drawn(REAL)
    assert 'id="lab-q"' in page
    assert parsed.tags.count("body") == 1


def test_drawing_waits_until_the_page_is_seen() -> None:
    page = prepare(REAL)
    assert '<script type="text/x-later">' in page
    assert page.index("text/x-later") > page.index("<body")


tags = st.sampled_from(
    ["a", "img", "link", "script", "iframe", "object", "base", "video", "svg", "use", "form", "input"]
)
names = st.sampled_from(["href", "src", "xlink:href", "srcset", "data", "poster", "action", "formaction", "background"])
quotes = st.sampled_from(['"{}"', "'{}'", "{}"])
elements = st.builds(
    lambda tag, name, quote, host, case: f"<{tag} x {name.upper() if case else name} = {quote.format(host)} y=1>text",
    tags,
    names,
    quotes,
    st.sampled_from(["http://h.invalid/a", "//h.invalid/a", "https://h.invalid", "/a", "a.js", "ftp://h.invalid"]),
    st.booleans(),
)


@given(st.lists(elements, max_size=6), st.booleans())
def test_no_element_of_a_page_keeps_a_reference_to_the_outside(parts: list[str], with_body: bool) -> None:
    html = "".join(parts)
    html = f"<html><head>{html}</head><body>{html}<script>1</script></body></html>" if with_body else html
    assert Page(prepare(html)).outside() == []


def test_styles_ask_for_nothing() -> None:
    html = "<style>@import url(http://h.invalid/a.css); b {background: url('http://h.invalid/b')}</style><p>"
    assert Page(prepare(html)).outside() == []


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1), min_size=1))
def test_names_survive_packing(given_names: list[str]) -> None:
    ordered = ["all", *sorted(set(given_names) - {"all"})]
    text = _packed(ordered)
    if all(line.isprintable() for line in ordered):
        assert _names(text) == ordered
