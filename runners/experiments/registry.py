"""List the questions and the blocks of each experiment by its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from runners.claims.questions import Asked
from runners.design.block import Block
from runners.design.commands import COMPARE, KNEE, LOAD, TARGET_COMPARE
from runners.design.experiment import REPORT_S, Experiment
from runners.design.parameter import Value
from runners.experiments import (
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
    one_load,
)

QUESTIONS: dict[str, tuple[Asked, ...]] = {
    "00": e00_instrument.QUESTIONS,
    "01": e01_single_connection.QUESTIONS,
    "02": e02_closed_loop_jdk.QUESTIONS,
    "03": e03_executor_and_selectors.QUESTIONS,
    "04": e04_lsm_rate_ladder.QUESTIONS,
    "05": e05_sharded_cluster.QUESTIONS,
    "06": e06_storage_engines.QUESTIONS,
    "07": e07_ablations.QUESTIONS,
    "08": e08_history.QUESTIONS,
    "09": e09_compare.QUESTIONS,
}


def questions_of(number: str) -> tuple[Asked, ...]:
    """The questions of an experiment; none of a command that is no experiment."""
    return QUESTIONS.get(COMPARE.number if number == TARGET_COMPARE.number else number, ())


#: What each experiment measures, from its checked parameters.
BLOCKS: dict[str, Callable[[Mapping[str, Value]], tuple[Block, ...]]] = {
    "00": e00_instrument.blocks,
    "01": e01_single_connection.blocks,
    "02": e02_closed_loop_jdk.blocks,
    "03": e03_executor_and_selectors.blocks,
    "04": e04_lsm_rate_ladder.blocks,
    "05": e05_sharded_cluster.blocks,
    "06": e06_storage_engines.blocks,
    "07": e07_ablations.blocks,
    COMPARE.number: e09_compare.blocks,
    TARGET_COMPARE.number: e09_compare.blocks,
    KNEE.number: one_load.knee,
    LOAD.number: one_load.load,
}


def blocks_of(number: str, asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The blocks of an experiment or a command; none of one that measures nothing."""
    return BLOCKS[number](asked) if number in BLOCKS else ()


def planned_s(experiment: Experiment, asked: Mapping[str, Value]) -> float:
    """How long a run is planned to take: the sum over its trials."""
    return sum(block.planned_s for block in blocks_of(experiment.number, asked)) + REPORT_S
