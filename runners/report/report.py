"""Write a run and its conclusion as report.html (one file, works offline) and report.md with its figures."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from runners.errors import UNPRINTABLE
from runners.report import author, fixed_rate, opening, sentences, style, tables, validation
from runners.report.comparison import WHOLE
from runners.report.document import Document, document, limits
from runners.report.flamegraph import LEAST_SHARE
from runners.report.narrow import narrowed
from runners.report.style import Picture
from runners.report.tables import Markdown, Table, template
from runners.report.validity import failed_checks, validity_line
from runners.results.conclusion import Conclusion
from runners.storage.step_folder import replace_file

LIMIT_BYTES, MARGIN_BYTES, MOST_LINES = 2_000_000, 50_000, 300
#: An archive keeps the figures before the appendix, and others up to so many in total; flame graphs are not counted.
KEPT_FIGURES = 10
#: Least shares of drawn flame-graph frames, tried until report.html is small enough; with 1, graphs are plain pictures.
LEAST_SHARES = (LEAST_SHARE, 0.002, 0.005, 0.01, 1.0)


def render(conclusion: Conclusion, with_html: bool = True) -> None:
    """Write report.html, report.md and figures/ to the run folder, every file atomically. Raises OSError on failure."""
    page = document(conclusion)
    folder, drawn = page.run.folder, drawings(page.figures)
    kept = kept_figures(page) if folder.archived else None
    write_figures(folder.figures_path, page, drawn, kept)
    replace_file(folder.report_md, to_markdown(page, kept).encode())
    if with_html:
        replace_file(folder.report_html, to_html(page, drawn).encode())


def drawings(figures: Iterable[Picture]) -> dict[str, str]:
    """Return the figures as SVG, by their anchors (ids in the report)."""
    return {figure.anchor: style.svg(figure, figure.anchor) for figure in figures}


def in_page(
    figures: Iterable[Picture], drawn: Mapping[str, str], folded: Collection[str] = ()
) -> dict[str, tuple[Markup, Markup]]:
    """Return (SVG for a wide page, SVG for a narrow page) by anchor, and leave `figures` in the narrow layout.

    `drawn` has the wide SVGs. To keep the page small, figures with an anchor in `folded` get an empty narrow SVG.
    """
    narrow = {f.anchor: "" if f.anchor in folded else style.svg(narrowed(f), f"{f.anchor}-narrow") for f in figures}
    # matplotlib escapes what it draws
    return {name: (Markup(drawn[name]), Markup(text)) for name, text in narrow.items()}  # noqa: S704


def kept_figures(page: Document) -> frozenset[str]:
    """Return anchors of figures to archive: all before the appendix, then others up to KEPT_FIGURES in total."""
    appendix = [shown.anchor for part in page.appendix for shown in part.figures]
    main = [figure.anchor for figure in page.figures if figure.anchor not in appendix]
    appendix.sort(key=lambda anchor: anchor.endswith(WHOLE))  # figures of all quantities of a comparison come last
    return frozenset([*main, *appendix[: max(0, KEPT_FIGURES - len(main))]])


def write_figures(folder: Path, page: Document, drawn: dict[str, str], kept: frozenset[str] | None = None) -> None:
    """Write figures as SVG (from `drawn`) and PNG, and flame graphs as SVG. Remove the figures of an earlier report.

    If an archive gives `kept` (anchors), only these figures are written, and as SVG alone.
    """
    files = {f"{graph.anchor}.svg": graph.drawing().encode() for graph in page.graphs}
    for figure in page.figures:
        if kept is None:
            files[f"{figure.anchor}.png"] = style.png(figure)
        if kept is None or figure.anchor in kept:
            files[f"{figure.anchor}.svg"] = drawn[figure.anchor].encode()
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        replace_file(folder / name, content)
    for path in folder.iterdir():
        if path.is_file() and path.suffix in (".png", ".svg", ".csv") and path.name not in files:
            path.unlink()


def to_markdown(page: Document, kept: frozenset[str] | None = None) -> str:
    """Return the report as Markdown. `kept` has the anchors of the figures that it links as files (None: all)."""

    def figure(drawn: Picture) -> Markdown:
        return tables.figure(drawn.anchor, drawn.alt, kept)

    def shown(figures: Sequence[Picture], contents: Sequence[Table] = ()) -> Markdown:
        captioned = (tables.captioned(content, page.place) for content in contents)
        return Markdown("\n\n".join(filter(None, ("  \n".join(map(figure, figures)), *captioned))))

    templates = environment(autoescape=False)
    templates.finalize = tables.escape
    templates.globals.update(
        path=tables.path, table=lambda content: tables.table(content, page.place), fenced=tables.fenced,
        bold=tables.bold, figure=figure, shown=shown, archived=kept is not None,
    )  # fmt: skip
    markdown, context, text = templates.get_template("report.md.j2"), _context(page), ""
    for commands in (3, 2, 1, 0):  # which report.html and the steps' records have too
        text = re.sub(r"\n{3,}", "\n\n", markdown.render(**context, commands=commands)).strip() + "\n"
        if len(text.partition("<details>")[0].splitlines()) <= MOST_LINES:
            break
    return text


def to_html(page: Document, drawn: dict[str, str], limit_bytes: int = LIMIT_BYTES) -> str:
    """Return the report as HTML. To stay under `limit_bytes`, it omits narrow frames of flame graphs, and says so."""
    page_template = environment().get_template("report.html.j2")
    folded = {figure.anchor for part in page.appendix for figure in part.figures}
    context = {**_context(page), "svg": in_page(page.figures, drawn, folded), "source": source}
    html = ""
    for least_share in LEAST_SHARES:
        wide = f"leave out frames narrower than {tables.share(least_share)} of the whole"
        kept = "of this page are pictures, which cannot be zoomed" if least_share == 1 else wide
        left_out = "" if least_share == LEAST_SHARE else f"To stay small, flame graphs {kept}."
        html = page_template.render(**context, least_share=least_share, left_out=left_out)
        if len(html.encode()) < limit_bytes - MARGIN_BYTES:
            break
    return html


def environment(autoescape: bool = True) -> jinja2.Environment:
    """Return a Jinja environment for the report's templates, which removes control characters from values."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("runners.report"),
        autoescape=autoescape,  # noqa: S701 - Markdown has its own escaping, see to_markdown
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: UNPRINTABLE.sub("", value) if type(value) is str else value,
        keep_trailing_newline=True,
    )


def _context(page: Document) -> dict[str, Any]:
    run, conclusion = page.run, page.conclusion
    return {
        "page": page, "manifest": {"warnings": [], "rerun": "", **run.manifest}, "when": tables.when,
        "sentences": sentences, "size": opening.size_words(run), "summary": list(opening.summary(conclusion)),
        "published": author.original(conclusion.results),
        "terms": list(opening.terms(conclusion.results)), "loads": fixed_rate.loads_table(conclusion.results),
        "treatments": opening.treatments(run), "valid": validity_line(conclusion.checks),
        "wrong": list(failed_checks(conclusion)), "author": author.lines(conclusion), "limits": list(limits(run)),
        "consoles": list(validation.consoles(run)),
    }  # fmt: skip


def source(name: str) -> Markup:
    """Return the style sheet or script called `name` as markup."""
    return Markup(template(name))  # noqa: S704 - a file of this package
