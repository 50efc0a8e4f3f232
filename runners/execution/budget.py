"""What fits into the minutes that a search or a comparison is given, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.comparison import FEWEST_ROUNDS
from runners.design import comparison
from runners.design.block import SEARCH_STEP_S, SEARCH_WARMUP_S, seconds_of_a_search_step
from runners.design.commands import COMPARE, KNEE, TARGET_COMPARE
from runners.design.experiment import setting_of
from runners.design.parameter import Value
from runners.design.shape import Shape
from runners.errors import PlanError

CLOSED_S = 3.0  # of closed loop in each repeat: it warms the server and tells what it carries
AROUND_A_REPEAT_S = 3.0  # launch, stop, reading back


def affordable(number: str, asked: Mapping[str, Value]) -> None:
    """Refuse a plan whose minutes are too few, before anything is built or started. Raises PlanError."""
    if number in (COMPARE.number, TARGET_COMPARE.number):
        comparison.block(asked, setting_of(str(asked["a"])), setting_of(str(asked["b"])))
    if number == KNEE.number:
        low_rps, high_rps = float(asked["low_rps"]), float(asked["high_rps"])
        seconds_of_a_search_step(float(asked["minutes"]), _shape(asked, "probe_s"), low_rps, high_rps)


def _shape(asked: Mapping[str, Value], length: str) -> Shape:
    return Shape(int(asked["connections"]), int(asked["threads"]), float(asked[length]), SEARCH_WARMUP_S)


def rounds_within(minutes: float, shape: Shape) -> int:
    """How many rounds of a comparison are planned. Raises PlanError when they are too few to tell anything."""
    round_s = 2 * (CLOSED_S + (shape.warmup_s or 0.0) + (shape.duration_s or SEARCH_STEP_S) + AROUND_A_REPEAT_S)
    planned = int(minutes * 60 // round_s)
    if planned < FEWEST_ROUNDS:
        cause = f"too short for {FEWEST_ROUNDS} rounds of {round_s:.0f} s"
        raise PlanError(f"{minutes:g} minutes", cause, "give more minutes, or shorter repeats (-p repeat_s=2)")
    return planned
