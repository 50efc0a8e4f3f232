"""Show every experiment with the answers of its longest run, for the first page of the notebooks."""

import json
from collections.abc import Sequence
from pathlib import Path

from runners.experiments.registry import EXPERIMENTS
from runners.readers.history import open_history
from runners.report.tables import Markdown, Table
from runners.storage.run_folder import REFERENCE, RUNS, RunFolder

#: Selects the complete runs, the largest size first: a longer run says more than a newer one.
_COMPLETE = """
SELECT experiment, size, folder, strftime(started, '%Y-%m-%d') AS day
FROM runs WHERE status = 'complete'
ORDER BY array_position(['full', 'published', 'quick', 'smoke'], size) NULLS LAST, started_unix_s DESC
"""
MOST_ANSWERS = 3


def experiments(roots: Sequence[Path] = (RUNS, REFERENCE)) -> Table:
    """Return a table of the experiments: a link to the notebook, and the answers of the longest run below `roots`."""
    rows = open_history(roots).query(_COMPLETE)
    last: dict[str, tuple[str, str]] = {}
    for row in rows.itertuples():
        if row.experiment not in last and (answer := _answer(RunFolder(Path(str(row.folder))))):
            last[str(row.experiment)] = (answer, f"{row.size}, {row.day}")
    cells = []
    for number, plan in EXPERIMENTS.items():
        answer, when = last.get(number, ("not run yet", ""))
        cells.append((Markdown(f"[{number}]({plan.notebook})"), plan.title, answer, when))
    return Table("", ("notebook", "experiment", "answers", "run"), tuple(cells), numeric=False)


def _answer(folder: RunFolder) -> str:
    try:
        kept = json.loads(folder.conclusions.read_text(encoding="utf-8"))
        decided = [answer for answer in kept["answers"] if answer["verdict"] != "inconclusive"]
        return " ".join(f"{answer['question']} {answer['verdict']}." for answer in decided[:MOST_ANSWERS])
    except (OSError, ValueError, KeyError):
        return ""
