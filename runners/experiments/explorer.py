"""Show what was measured before: widgets to pick runs and compare their loads, and each experiment's last answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from pathlib import Path

import ipywidgets as widgets
import pandas as pd
from IPython.display import HTML

from runners import report
from runners.analysis.runs import compare_runs, differing
from runners.errors import LabError
from runners.experiments.registry import EXPERIMENTS
from runners.readers.history import open_history
from runners.readers.reading import read_run
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.exports import comparison_page
from runners.report.latency import as_treatments
from runners.storage.run_folder import REFERENCE, RUNS, RunFolder

SMALLEST_DIFFERENCE = 0.02
FRAME_PX = 640
LIST_ROWS = 10
_LIST = """
SELECT run, folder, experiment, size, status, strftime(started, '%Y-%m-%d %H:%M') AS started
FROM runs ORDER BY started_unix_s DESC
"""
#: A longer run says more than a newer one.
_COMPLETE = """
SELECT experiment, size, folder, strftime(started, '%Y-%m-%d') AS day
FROM runs WHERE status = 'complete'
ORDER BY array_position(['full', 'published', 'quick', 'smoke'], size) NULLS LAST, started_unix_s DESC
"""


class Explorer(widgets.VBox):  # type: ignore[misc]
    """Runs to pick from, the loads of picked runs, and buttons that show picked loads."""

    def __init__(self, roots: Sequence[Path] = (RUNS, REFERENCE)) -> None:
        rows = open_history(roots).query(_LIST)
        options = [
            (f"{row.experiment} {row.size}  {row.started}  {row.status}  {row.run}", str(row.folder))
            for row in rows.itertuples()
        ]
        self._run = cache(lambda folder: read_run(RunFolder.open(Path(folder))))
        wide = widgets.Layout(width="98%")
        self.runs = widgets.SelectMultiple(options=options, rows=LIST_ROWS, description="runs", layout=wide)
        self.loads = widgets.SelectMultiple(options=[], rows=LIST_ROWS, description="loads", layout=wide)
        self.event = widgets.Dropdown(options=["cpu", "alloc", "lock"], description="profile")
        self.area = widgets.HTML()
        self.buttons = {}
        for name, make, tooltip in (
            ("spectra", self.spectra, "overlay the latency spectra of the loads"),
            ("compare", self.compared, "compare two runs: each load with the one that matches it"),
            ("flame graph", self.flame_graph, "the flame graph of one profiled load"),
            ("difference", self.difference, "two profiles against each other, the first picked is the baseline"),
        ):
            self.buttons[name] = widgets.Button(description=name, tooltip=tooltip)
            self.buttons[name].on_click(lambda _, make=make: self._show(make))
        self.runs.observe(lambda _: self._list_loads(), "value")
        super().__init__([self.runs, self.loads, widgets.HBox([*self.buttons.values(), self.event]), self.area])

    def _show(self, make: Callable[[], str]) -> None:
        self.area.value = "<p>one moment …</p>"
        try:
            self.area.value = make()
        except (LabError, ValueError) as error:
            self.area.value = f'<p role="alert">{escape(str(error))}</p>'

    def _list_loads(self) -> None:
        options = []
        for folder in self.runs.value:
            try:
                run = self._run(folder)
            except LabError as error:
                self.area.value = f'<p role="alert">{escape(str(error))}</p>'
                continue
            options += [
                (f"{run.name}  {step.name}: {step.label}{'' if step.valid else ' (not valid)'}", (folder, step.name))
                for step in run.steps
            ]
        self.loads.options = options

    def _chosen(self, least: int, most: int, button: str) -> list[tuple[Step, Run]]:
        count = len(self.loads.value)
        if not least <= count <= most:
            number = f"{least}" if least == most else f"{least} to {most}"
            raise LabError(button, f"{count} loads are picked", f"pick {number} in the list of loads")
        runs = [(name, self._run(folder)) for folder, name in self.loads.value]
        return [(next(step for step in run.steps if step.name == name), run) for name, run in runs]

    def spectra(self) -> str:
        picture = report.overlay(self._chosen(1, 8, "spectra"))
        source, alt = base64.b64encode(style.png(picture)).decode(), escape(picture.alt, quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/png;base64,{source}">'

    def compared(self) -> str:
        """Return the comparison of two runs, load by load; differences besides the setting are named above it."""
        if len(self.runs.value) != 2:
            raise LabError("compare", f"{len(self.runs.value)} runs are picked", "pick two in the list of runs")
        first, second = ([self._run(folder)] for folder in self.runs.value)
        pairs = compare_runs(first, second, SMALLEST_DIFFERENCE)
        if not pairs:
            raise LabError("compare", "no load of one matches a valid one of the other", "pick runs of one experiment")
        page = escape(comparison_page(pairs, first, second, differing(first, second)), quote=True)
        # the frame can reach neither the notebook nor a network
        return (
            f'<iframe title="Two runs compared" sandbox="allow-scripts" height="{FRAME_PX}" '
            f'style="width:100%;border:0" srcdoc="{page}"></iframe>'
        )

    def flame_graph(self) -> str:
        ((step, _),) = self._chosen(1, 1, "flame graph")
        return report.flamegraph(step, self.event.value)._repr_html_()

    def difference(self) -> str:
        baseline, treatment = as_treatments(self._chosen(2, 2, "difference"))
        return report.differential(baseline, treatment, self.event.value)._repr_html_()


def experiments(roots: Sequence[Path] = (RUNS, REFERENCE)) -> HTML:
    """Return the experiments as a table: a link to each notebook, and the answers of its longest complete run."""
    rows = open_history(roots).query(_COMPLETE)
    last: dict[str, tuple[str, str]] = {}
    for row in rows.itertuples():
        if row.experiment not in last and (answer := _answer(RunFolder(Path(str(row.folder))))):
            last[str(row.experiment)] = (answer, f"{row.size}, {row.day}")
    cells = []
    for number, plan in EXPERIMENTS.items():
        answer, when = last.get(number, ("not run yet", ""))
        link = f'<a href="{escape(plan.notebook, quote=True)}">{number}</a>'
        cells.append((link, escape(plan.title), escape(answer), escape(when)))
    table = pd.DataFrame(cells, columns=["notebook", "experiment", "answers", "run"]).style.hide(axis="index")
    return HTML(table.set_properties(subset=None, **{"text-align": "left"}).to_html())  # type: ignore[no-untyped-call]


MOST_ANSWERS = 3


def _answer(folder: RunFolder) -> str:
    try:
        kept = json.loads(folder.conclusions.read_text(encoding="utf-8"))
        decided = [answer for answer in kept["answers"] if answer["verdict"] != "inconclusive"]
        return " ".join(f"{answer['question']} {answer['verdict']}." for answer in decided[:MOST_ANSWERS])
    except (OSError, ValueError, KeyError):
        return ""

