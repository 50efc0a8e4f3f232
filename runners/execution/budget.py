"""What fits into the minutes that a search or a comparison is given, before anything is measured."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.comparison import FEWEST_ROUNDS
from runners.design import comparison
from runners.design.commands import COMPARE, KNEE, TARGET_COMPARE
from runners.design.experiment import AROUND_A_LOAD_S
from runners.design.parameter import Value
from runners.design.shape import Shape
from runners.errors import PlanError

PROBE_S, PROBE_WARMUP_S = 5.0, 1.0
FEWEST_PROBES = 4
CLOSED_S = 3.0  # of closed loop in each repeat: it warms the server and tells what it carries
AROUND_A_REPEAT_S = 3.0  # launch, stop, reading back


def affordable(number: str, asked: Mapping[str, Value]) -> None:
    """Refuse a plan whose minutes are too few, before anything is built or started. Raises PlanError."""
    if number in (COMPARE.number, TARGET_COMPARE.number):
        rounds_within(comparison.minutes(asked), _shape(asked, "repeat_s"))
    if number == KNEE.number:
        limits = {name: float(asked[name]) for name in ("low_rps", "high_rps")}
        seconds_of_a_probe(float(asked["minutes"]), _shape(asked, "probe_s"), limits)


def _shape(asked: Mapping[str, Value], length: str) -> Shape:
    return Shape(int(asked["connections"]), int(asked["threads"]), float(asked[length]), PROBE_WARMUP_S)


def seconds_of_a_probe(minutes: float, shape: Shape, limits: Mapping[str, float]) -> float:
    """How long a probe of a search takes. Raises PlanError for a search that can't tell anything in that time."""
    probe_s = (shape.duration_s or PROBE_S) + (shape.warmup_s or 0.0) + AROUND_A_LOAD_S
    if minutes * 60 < FEWEST_PROBES * probe_s:
        cause = f"too short for {FEWEST_PROBES} probes of {probe_s:.0f} s"
        raise PlanError(f"{minutes:g} minutes", cause, "give more minutes, or shorter probes (-p probe_s=2)")
    if limits["low_rps"] >= limits["high_rps"]:
        raise PlanError("low_rps and high_rps", "there is no rate between them", "give a lower and a higher rate")
    return probe_s


def rounds_within(minutes: float, shape: Shape) -> int:
    """How many rounds of a comparison are planned. Raises PlanError when they are too few to tell anything."""
    round_s = 2 * (CLOSED_S + (shape.warmup_s or 0.0) + (shape.duration_s or PROBE_S) + AROUND_A_REPEAT_S)
    planned = int(minutes * 60 // round_s)
    if planned < FEWEST_ROUNDS:
        cause = f"too short for {FEWEST_ROUNDS} rounds of {round_s:.0f} s"
        raise PlanError(f"{minutes:g} minutes", cause, "give more minutes, or shorter repeats (-p repeat_s=2)")
    return planned
