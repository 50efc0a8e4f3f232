"""What fits into the minutes that a search or a comparison is given, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping

from runners.design import comparison
from runners.design.block import seconds_of_a_batch
from runners.design.commands import COMPARE, KNEE, TARGET_COMPARE
from runners.design.experiment import setting_of
from runners.design.parameter import Value
from runners.design.shape import Shape


def affordable(number: str, asked: Mapping[str, Value]) -> None:
    """Refuse a plan whose minutes are too few, before anything is built or started. Raises PlanError."""
    if number in (COMPARE.number, TARGET_COMPARE.number):
        comparison.block(asked, setting_of(str(asked["a"])), setting_of(str(asked["b"])))
    if number == KNEE.number:
        low_rps, high_rps = float(asked["low_rps"]), float(asked["high_rps"])
        shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["probe_s"]))
        seconds_of_a_batch(float(asked["minutes"]), shape, low_rps, high_rps)
