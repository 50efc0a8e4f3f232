"""List the questions of each experiment by its number."""

from __future__ import annotations

from runners.claims.questions import Asked
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
    return QUESTIONS.get(number, ())
