"""List the questions and the blocks of each experiment by its number, and the blocks of `lab load` and `lab knee`.

`questions.toml` beside this module says what decides each question, as fixed before a measurement. A question of it
that no experiment asks, or whose experiment has no reference run, counts as unanswered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from runners.claims.questions import Asked, Verdict
from runners.design.block import Block, FixedRate
from runners.design.experiment import (
    COMPARE,
    EXPERIMENTS,
    KNEE,
    LOAD,
    REPORT_S,
    TARGET_COMPARE,
    Experiment,
    Value,
    listed,
    setting_of,
    workload_of,
)
from runners.design.ladder import KneeSearch, WarmServer
from runners.design.load import SIZES, Shape
from runners.design.objective import Objective
from runners.experiments import Criterion, criteria
from runners.storage.run_folder import REFERENCE

#: Each experiment's file, which has the name of its notebook: `blocks`, if it measures anything, and `QUESTIONS`.
MODULES: dict[str, Any] = {
    number: import_module(f"{__package__}.e{Path(plan.notebook).stem}") for number, plan in EXPERIMENTS.items()
}
QUESTIONS: dict[str, tuple[Asked, ...]] = {number: module.QUESTIONS for number, module in MODULES.items()}
#: The same on several targets in place of the stores, where an experiment asks anything of them.
TARGET_QUESTIONS: dict[str, tuple[Asked, ...]] = {
    number: module.TARGET_QUESTIONS for number, module in MODULES.items() if hasattr(module, "TARGET_QUESTIONS")
}


def questions_of(number: str, asked: Mapping[str, object] | None = None) -> tuple[Asked, ...]:
    """The questions of an experiment with these parameters; none of a command, nor on one server in place of stores."""
    if target := str((asked or {}).get("target", "")):
        return TARGET_QUESTIONS.get(number, ()) if "," in target else ()
    return QUESTIONS.get(COMPARE.number if number == TARGET_COMPARE.number else number, ())


def questions_of_run(manifest: Mapping[str, Any]) -> tuple[Asked, ...]:
    """The questions of a run, by its manifest."""
    return questions_of(str(manifest["experiment"]), manifest.get("parameters"))


def load(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """A load at one rate, the same on a server that does nothing before it. Raises PlanError."""
    text, size = str(asked["setting"]), SIZES[str(asked["size"])]
    setting, workload = setting_of(text), workload_of(str(asked["workload"]), [text])
    title = f"{workload.label} of {setting.name} at one rate"
    size = replace(size, duration_s=float(asked["duration_s"]) or size.duration_s)
    rate_rps, connections, threads = float(asked["rate_rps"]), int(asked["connections"]), int(asked["threads"])
    profile = listed(asked["profile"])
    return (FixedRate("load", title, (setting,), workload, size, rate_rps, connections, threads, profile),)


def knee(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """A search for the highest rate that meets an objective. Raises PlanError."""
    text = str(asked["setting"])
    server = WarmServer(setting_of(text), workload_of(str(asked["workload"]), [text]), SIZES[str(asked["size"])])
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["probe_s"]))
    return (
        KneeSearch(
            "knee", f"the knee of {server.name}", server, Objective.parse(str(asked["objective"])),
            float(asked["minutes"]), shape, float(asked["low_rps"]), float(asked["high_rps"]),
            float(asked["precision"]),
        ),
    )  # fmt: skip


#: What each experiment and each command measures, from its checked parameters.
BLOCKS: dict[str, Callable[[Mapping[str, Value]], tuple[Block, ...]]] = {
    number: module.blocks for number, module in MODULES.items() if hasattr(module, "blocks")
}
BLOCKS |= {TARGET_COMPARE.number: BLOCKS[COMPARE.number], KNEE.number: knee, LOAD.number: load}


def blocks_of(number: str, asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The blocks of an experiment or a command; none of one that measures nothing."""
    return BLOCKS[number](asked) if number in BLOCKS else ()


def planned_s(experiment: Experiment, asked: Mapping[str, Value]) -> float:
    """How long a run is planned to take: the sum over its trials."""
    return sum(block.planned_s for block in blocks_of(experiment.number, asked)) + REPORT_S


NOT_ASKED, NOT_MEASURED = "not asked", "not measured"


class TableRow(msgspec.Struct, frozen=True):
    """A question with its criterion and the verdict of the experiment's reference run."""

    id: str
    question: str
    criterion: Criterion
    verdict: str
    effect: str

    @property
    def answered(self) -> bool:
        """Whether the reference run answers it with yes or no."""
        return self.verdict in (Verdict.YES, Verdict.NO)


def table(reference: Path = REFERENCE) -> tuple[TableRow, ...]:
    """Join the table with the questions as the experiments ask them and with the reference runs' answers."""
    rows = []
    for experiment, by_key in criteria().items():
        asked = {each.question.key: each.question.text for each in QUESTIONS.get(experiment, ())}
        answers = _answers(reference / experiment / "conclusions.json")
        for key, criterion in by_key.items():
            verdict, effect = answers.get(key, (NOT_MEASURED, "")) if key in asked else (NOT_ASKED, "")
            rows.append(TableRow(f"{experiment}.{key}", asked.get(key, key), criterion.decides, verdict, effect))
    return tuple(rows)


def answered_share(rows: Sequence[TableRow]) -> float:
    """The share of questions that are answered with yes or no. Raises ValueError without rows."""
    if not rows:
        raise ValueError("a table without questions has no share of answers")
    return sum(row.answered for row in rows) / len(rows)


def _answers(conclusions: Path) -> dict[str, tuple[str, str]]:
    if not conclusions.exists():
        return {}
    found = json.loads(conclusions.read_text(encoding="utf-8"))
    return {each["key"]: (each["verdict"], each["effect"]) for each in found["answers"]}
