"""Experiment 09, which is `lab compare` too: how long two settings are measured in turns."""

from __future__ import annotations

from collections.abc import Mapping

from runners.design.parameter import Value
from runners.design.size import Size

#: Minutes of all rounds together: in the smoke size as many as tell anything at all.
MINUTES = {"smoke": 1.7, "quick": 5.5, "full": 60.0}


def minutes(asked: Mapping[str, Value]) -> float:
    """The budget that was asked for, or where it is 0 that of the size."""
    return float(asked["minutes"]) or MINUTES[str(asked["size"])]


def planned_s(size: Size) -> float:
    """How long all rounds take, where no other budget is given."""
    return MINUTES[size.name] * 60
