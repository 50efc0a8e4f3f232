"""List the questions and the blocks of each experiment by its number, and the blocks of `lab load` and `lab knee`.

`questions.toml` beside this module says what decides each question, as fixed before a measurement. A question of it
that no experiment asks, or whose experiment has no reference run, counts as unanswered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from runners.claims.questions import Asked, Verdict
from runners.design.block import Block, FixedRate
from runners.design.experiment import (
    COMPARE,
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
from runners.experiments import (
    Criterion,
    criteria,
    e00_instrument,
    e01_single_connection,
    e02_closed_loop_jdk,
    e03_executor_and_selectors,
    e04_lsm_rate_ladder,
    e05_sharded_cluster,
    e06_storage_engines,
    e07_ablations,
    e08_history,
    e09_compare,
)
from runners.storage.run_folder import REFERENCE

QUESTIONS: dict[str, tuple[Asked, ...]] = {
    "00": e00_instrument.QUESTIONS, "01": e01_single_connection.QUESTIONS, "02": e02_closed_loop_jdk.QUESTIONS,
    "03": e03_executor_and_selectors.QUESTIONS, "04": e04_lsm_rate_ladder.QUESTIONS,
    "05": e05_sharded_cluster.QUESTIONS, "06": e06_storage_engines.QUESTIONS, "07": e07_ablations.QUESTIONS,
    "08": e08_history.QUESTIONS, "09": e09_compare.QUESTIONS,
}  # fmt: skip


#: The same on several targets in place of the stores.
TARGET_QUESTIONS: dict[str, tuple[Asked, ...]] = {
    "01": e01_single_connection.TARGET_QUESTIONS,
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


#: What each experiment measures, from its checked parameters.
BLOCKS: dict[str, Callable[[Mapping[str, Value]], tuple[Block, ...]]] = {
    "00": e00_instrument.blocks, "01": e01_single_connection.blocks, "02": e02_closed_loop_jdk.blocks,
    "03": e03_executor_and_selectors.blocks, "04": e04_lsm_rate_ladder.blocks, "05": e05_sharded_cluster.blocks,
    "06": e06_storage_engines.blocks, "07": e07_ablations.blocks, COMPARE.number: e09_compare.blocks,
    TARGET_COMPARE.number: e09_compare.blocks, KNEE.number: knee, LOAD.number: load,
}  # fmt: skip


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
