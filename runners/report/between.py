"""Run folders compared, as one HTML file that works offline."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import resources

import jinja2
import pandas as pd
from markupsafe import Markup

from runners.analysis.comparable import Differs
from runners.claims.between import Compared
from runners.claims.comparing import absolute, signed
from runners.readers import write
from runners.readers.run import Run
from runners.report import report, style
from runners.report.comparison import drawn
from runners.report.report import csv
from runners.report.section import Shown
from runners.report.tables import Table


def data(one: Compared) -> pd.DataFrame:
    """A row a quantity: typical values of A and B, and the difference as a share of A with its bounds."""
    rows = [(d.quantity.name, d.a, d.b, d.share, d.low, d.high) for d in one.differences]
    return pd.DataFrame(rows, columns=["quantity", "a", "b", "difference", "low", "high"])


def figure(one: Compared) -> style.Picture:
    """The differences of a pair. Those of single runs are drawn without a judgement."""
    a, b = one.pair.names
    counts = f"{write.count(len(one.pair.a))} and {write.count(len(one.pair.b))} runs"
    note = f"{b} against {a}: diamonds and bars are the typical run and its interval, of {counts}"
    heading = one.heading + (": one run on a side is no verdict" if one.single else "")
    if one.single:
        note = f"{b} against {a}: bars hold what the requests of one run tell, not what differs between runs"
    no_dots = pd.DataFrame({"quantity": [], "difference": []})
    return drawn(one.differences, no_dots, heading, note, judged=not one.single)


def table(one: Compared) -> Table:
    """The figure's values."""
    rows = tuple(
        (
            each.quantity.label,
            absolute(each.quantity, each.a),
            absolute(each.quantity, each.b),
            signed(each.share),
            f"{signed(each.low)} to {signed(each.high)}" if write.known(each.low) else write.DASH,
        )
        for each in one.differences
    )
    return Table(f"Differences, {one.heading}", ("quantity", *one.pair.names, "difference", "interval"), rows)


def comparison_page(found: Sequence[Compared], a: Sequence[Run], b: Sequence[Run], despite: Sequence[Differs]) -> str:
    """The page. `despite` are the fields in which the runs differ although they are compared."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("runners.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    shown = [Shown(f"compared-{index}", figure(each), data(each)) for index, each in enumerate(found, start=1)]
    drawings = [style.svg(each.picture, each.anchor) for each in shown]
    return environment.get_template("between.html.j2").render(
        parts=[
            (one, each, Markup(drawing), _link(each), table(one))  # noqa: S704 - made by matplotlib, which escapes
            for one, each, drawing in zip(found, shown, drawings, strict=True)
        ],
        sides=[("A", [run.folder.name for run in a]), ("B", [run.folder.name for run in b])],
        despite=[differs.text for differs in despite],
        face=Markup(report.faces(report.letters(drawings))),  # noqa: S704 - made here, base64
        css=Markup(resources.files("runners.report").joinpath("templates", "report.css").read_text(encoding="utf-8")),  # noqa: S704
    )


def _link(shown: Shown) -> str:
    return "data:text/csv;base64," + base64.b64encode(csv(shown.data)).decode()
