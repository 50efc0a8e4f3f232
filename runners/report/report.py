"""Write a run and its conclusion as report.html (one file, works offline) and report.md with its figures."""

from __future__ import annotations

import base64
import io
import logging
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from html import unescape
from pathlib import Path
from typing import Any

import jinja2
import matplotlib as mpl
import pandas as pd
from markupsafe import Markup

from runners.errors import UNPRINTABLE
from runners.report import sentences, style, tables
from runners.report.charts import as_text
from runners.report.comparison import WHOLE
from runners.report.document import Document, document
from runners.report.flamegraph import LEAST_SHARE, template
from runners.report.tables import Shown
from runners.results.conclusion import Conclusion

LIMIT_BYTES, MOST_LINES = 2_000_000, 300
MARGIN_BYTES = 50_000
#: So many figures an archive keeps besides its flame graphs; report.html has all of them.
KEPT_FIGURES = 10
#: By experiment, the figure that README.md shows, which a reference result keeps as PNG too.
IN_README = {"01": "spectrum-put"}


@dataclass(frozen=True, slots=True)
class Diet:
    """What is left out of report.html so that it stays small: narrow frames, data of figures, flame graphs."""

    least_share: float = LEAST_SHARE
    data: bool = True
    graphs: bool = True


DIETS = (
    Diet(),
    *(Diet(share) for share in (0.002, 0.005)),
    Diet(0.005, data=False),
    Diet(0.01, data=False),
    Diet(data=False, graphs=False),
)


def render(conclusion: Conclusion, with_html: bool = True) -> None:
    """Write report.html, report.md and figures/ into the run folder, each file whole or not at all.

    An archive gets the figures of its questions and its flame graphs, without data and raw output.

    Raises OSError when the folder can't be written.
    """
    page = document(conclusion)
    folder = page.run.folder
    drawn = {shown.anchor: style.svg(shown.picture, shown.anchor) for shown in page.figures}
    kept = kept_figures(page) if folder.archived else None
    write_figures(folder.figures_path, page, drawn, kept)
    replace_file(folder.report_md, to_markdown(page, kept).encode())
    if with_html:
        replace_file(folder.report_html, to_html(page, drawn).encode())


def kept_figures(page: Document) -> frozenset[str]:
    """Choose the figures that an archive keeps: of the questions, then of the sections, last whole comparisons."""
    anchors = [shown.anchor for shown in page.figures]
    return frozenset(
        sorted(anchors, key=lambda anchor: (anchor != _in_readme(page), anchor.endswith(WHOLE)))[:KEPT_FIGURES]
    )


def _in_readme(page: Document) -> str | None:
    return IN_README.get(str(page.run.manifest.get("experiment")))


def write_figures(folder: Path, page: Document, drawn: dict[str, str], kept: frozenset[str] | None = None) -> None:
    """Write figures/: each figure as SVG and its data as CSV, each flame graph as SVG. Those of an earlier report go.

    Of an archive those that are `kept`, without data, and as PNG the one that README.md shows.
    """

    def contents() -> Iterator[tuple[str, bytes]]:
        for shown in page.figures:
            if kept is None or shown.anchor in kept:
                yield f"{shown.anchor}.svg", drawn[shown.anchor].encode()
            if kept is None:
                yield f"{shown.anchor}.csv", csv(shown.data)
            if kept is None or shown.anchor == _in_readme(page):
                yield f"{shown.anchor}.png", style.png(shown.picture)
        for graph in page.graphs:
            yield f"{graph.anchor}.svg", graph.drawing().encode()

    folder.mkdir(exist_ok=True)
    written = set[str]()
    for name, content in contents():
        replace_file(folder / name, content)
        written.add(name)
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".png", ".svg", ".csv") and path.name not in written:
            path.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file by `content`, whole or not at all (write, flush to disk, rename)."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    new.replace(path)


def csv(data: pd.DataFrame) -> bytes:
    """Return a frame as CSV, floats with six significant digits."""
    return bytes(data.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode())


def to_markdown(page: Document, kept: frozenset[str] | None = None) -> str:
    """Return the report as Markdown, with paths relative to the run folder; `kept`: the figures there, if not all."""
    templates = environment(autoescape=False)
    templates.finalize = tables.escape
    templates.globals.update(
        path=tables.path,
        table=lambda content: tables.table(content, page.place),
        fenced=tables.fenced,
        bold=tables.bold,
        figure=lambda shown: tables.figure(shown.anchor, shown.picture.alt, kept),
        archived=kept is not None,
    )
    markdown, text = templates.get_template("report.md.j2"), ""
    for commands in (3, 2, 1, 0):  # which report.html and the steps' records have too
        text = re.sub(r"\n{3,}", "\n\n", markdown.render(**_context(page), commands=commands)).strip() + "\n"
        if len(text.partition("<details>")[0].splitlines()) <= MOST_LINES:
            break
    return text


def to_html(page: Document, drawn: dict[str, str], limit_bytes: int = LIMIT_BYTES) -> str:
    """Return the report as one HTML file below the limit; what had to be left out for that is said in it."""
    page_template = environment().get_template("report.html.j2")
    face = Markup(faces(letters(drawn.values())))  # noqa: S704 - made here, base64
    html = ""
    for diet in DIETS:
        html = page_template.render(
            **_context(page),
            svg={name: Markup(text) for name, text in drawn.items()},  # noqa: S704 - made by matplotlib, which escapes
            face=face,
            curves={shown.anchor: as_text(shown.charts) for shown in page.figures},
            diet=diet,
            left_out=_left_out(diet),
            data_url=partial(data_url, allowed=diet.data),
            source=source,
        )
        if len(html.encode()) < limit_bytes - MARGIN_BYTES:
            break
    return html


def _left_out(diet: Diet) -> str:
    """Return what a reader of a slimmed report must know, as a sentence; empty for the whole one."""
    if not diet.graphs:
        return "To stay small, flame graphs of this page are pictures, which cannot be zoomed."
    if diet.least_share == LEAST_SHARE and diet.data:
        return ""
    text = f"To stay small, flame graphs leave out frames narrower than {tables.share(diet.least_share)} of the whole"
    text += "" if diet.data else "; the data of figures are links into the run folder"
    return text + "."


def environment(autoescape: bool = True) -> jinja2.Environment:
    """Return the templates; what they put into HTML is escaped and has no control characters."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("runners.report"),
        autoescape=autoescape,  # noqa: S701 - Markdown has its own escaping, see to_markdown
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: UNPRINTABLE.sub("", value) if type(value) is str else value,
        keep_trailing_newline=True,
    )


def _context(page: Document) -> dict[str, Any]:
    return {
        "page": page, "manifest": {"warnings": [], "rerun": "", **page.run.manifest}, "when": tables.when,
        "sentences": sentences,
    }  # fmt: skip


def source(name: str) -> Markup:
    """Return a style sheet or script as markup."""
    return Markup(template(name))  # noqa: S704 - a file of this package


def data_url(shown: Shown, allowed: bool = True) -> str:
    """Return the figure's data as a link that holds them, else as one to their file in the run folder."""
    if not allowed:
        return f"figures/{shown.anchor}.csv"
    return "data:text/csv;base64," + base64.b64encode(csv(shown.data)).decode()


USUAL = "".join(map(chr, range(0x20, 0x7F))) + "\u00a0\u00b5\u00d7\u2013\u202f"
FACES = (("DejaVuSans.ttf", "normal"), ("DejaVuSans-Bold.ttf", "bold"))


def letters(svgs: Iterable[str]) -> str:
    """Return every character of the text in these figures, sorted, and the usual ones: so most reports share a font."""
    texts = [text for svg in svgs for text in re.findall(r"<text[^>]*>(.*?)</text>", svg, re.S)]
    return "".join(sorted({*USUAL, *"".join(texts), *unescape("".join(texts))}))


def faces(used: str) -> str:
    """Return `@font-face` rules with the fonts as data, for the letters of `used`; about 10 kB a face."""
    return "".join(
        f"@font-face{{font-family:'DejaVu Sans';font-weight:{weight};"
        f"src:url(data:font/woff;base64,{_woff(name, used)}) format('woff')}}\n"
        for name, weight in FACES
    )


@lru_cache(maxsize=8)
def _woff(name: str, used: str) -> str:
    from fontTools import subset  # type: ignore[import-untyped]  # slow to import, and only a report needs it

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = subset.Options(flavor="woff", layout_features=["kern"], hinting=False, notdef_outline=True)
    font = subset.load_font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / name), options)
    cutter = subset.Subsetter(options)
    cutter.populate(text=used)
    cutter.subset(font)
    out = io.BytesIO()
    subset.save_font(font, out, options)
    return base64.b64encode(out.getvalue()).decode("ascii")
