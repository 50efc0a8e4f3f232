"""Describe which change fails a comparison: a quantity, a side and how much, such as `p99>+10%`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runners.errors import PlanError

ERRORS = "errors"
#: What may be limited, and what the lab calls it.
LIMITED = {
    "p50": "p50_us",
    "p90": "p90_us",
    "p99": "p99_us",
    "cpu": "cpu_us",
    "throughput": "closed_loop_rps",
    ERRORS: ERRORS,
}
_FORM = re.compile(r"\s*(?P<name>\w+)\s*(?P<side>[<>])\s*(?P<change>[+-]?(?:\d+\.?\d*|\.\d+))\s*%\s*")
_EXAMPLE = 'write for example "p99>+10%", "throughput<-5%" or "errors>+0.1%"'


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """The change of a treatment against the baseline from which on it fails.

    `change` is relative (0.1: 10 %), of errors the difference of their shares of all requests. `above`: a larger one
    fails, else a smaller one.
    """

    quantity: str
    above: bool
    change: float
    text: str

    @classmethod
    def parse(cls, text: str) -> ChangeLimit:
        """Read a limit as a command line has it. Raises PlanError for one that can't be, or that no change meets."""
        thing = f"--fail-on {text!r}"
        found = _FORM.fullmatch(text)
        if found is None:
            raise PlanError(thing, "it is no limit", _EXAMPLE)
        if found["name"] not in LIMITED:
            raise PlanError(thing, f"there is no quantity {found['name']}", f"one of {', '.join(LIMITED)}")
        above, change = found["side"] == ">", float(found["change"]) / 100
        if change < 0 if above else change > 0 or change <= -1:
            raise PlanError(thing, "what has not changed would fail, or nothing could", _EXAMPLE)
        if found["name"] == ERRORS and (not above or change >= 1):
            raise PlanError(thing, "it limits no errors", _EXAMPLE)
        return cls(LIMITED[found["name"]], above, change, f"{found['name']}{found['side']}{100 * change:+g}%")
