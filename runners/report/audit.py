"""An audit as one HTML file that works offline."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from itertools import groupby

import jinja2
from markupsafe import Markup

from runners.audit.audit import Audit
from runners.audit.figures import achieved_rps, at, largest_us, samples
from runners.audit.listing import held_lines, written
from runners.audit.registry import page
from runners.audit.rule import Remark
from runners.readers import write
from runners.readers.outputs import Output
from runners.report.markdown import ICONS

SHOWN_LEVELS = (0.5, 0.9, 0.99, 0.999)
HEAD = (
    *("run", "tool", "offered", "achieved"),
    *(write.level(level) for level in SHOWN_LEVELS),
    *("max", "samples", "errors"),
)


def as_html(audit: Audit) -> str:
    """One file: summary, the rules that found something, each run with its findings, and the rules' pages."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("runners.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found: dict[int, list[Remark]] = {id(output): [] for output in audit.outputs}
    for remark in audit.remarks:
        found[id(remark.output)].append(remark)
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        files=[(path, [(output, found[id(output)]) for output in outputs]) for path, outputs in _by_file(audit)],
        held=list(held_lines(audit)),
        row=_row,
        head=HEAD,
        pages=[(rule, page(rule.code)) for rule, _, _ in audit.counts],
        icons=ICONS,
        value=written,
        sentence=write.sentence,
        css=Markup(resources.files("runners.report").joinpath("templates", "report.css").read_text(encoding="utf-8")),  # noqa: S704
    )


def _by_file(audit: Audit) -> Iterator[tuple[str, list[Output]]]:
    for path, outputs in groupby(audit.outputs, key=lambda output: str(output.path)):
        yield path, list(outputs)


def _row(output: Output) -> tuple[str, ...]:
    """An output's figures as cells; what it does not say is a dash."""
    count, counted = samples(output)
    place = f"{f'cell {output.cell}, ' if output.cell is not None else ''}line {output.line}"
    cells = (
        f"{place}{f', {output.label}' if output.label else ''}",
        output.tool,
        write.rate(output.offered_rps) if output.offered_rps else None,
        write.rate(achieved_rps(output)) if achieved_rps(output) is not None else None,
        *(write.latency(at(output, level)) if at(output, level) is not None else None for level in SHOWN_LEVELS),
        write.latency(largest_us(output)) if largest_us(output) is not None else None,
        f"{'' if counted else 'about '}{write.count(count)}" if count is not None else None,
        write.count(output.report.errors) if output.report.requests is not None else None,
    )
    return tuple(cell or write.DASH for cell in cells)
