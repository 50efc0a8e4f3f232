"""An objective: what a server must keep to at a rate, such as `p99<=10ms,achieved>=99%,errors=0`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from runners.errors import PlanError

FORM = "p99<=10ms,achieved>=99%,errors=0 (percentiles with us, ms or s; any of the three parts)"
_LATENCY = re.compile(r"p(?P<level>\d{1,2}(?:\.\d{1,4})?)<=(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s)")
_ACHIEVED = re.compile(r"achieved>=(?P<percent>\d{1,3}(?:\.\d+)?)%")
_ERRORS = re.compile(r"errors(?:<=|=)(?P<percent>\d{1,3}(?:\.\d+)?)(?P<unit>%?)")
#: Percentiles that short rate steps are kept by.
SHORT_STEP_LEVELS = (0.5, 0.9, 0.99, 0.999)
_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Objective:
    """Upper limits of response-time percentiles in microseconds, and of what may be lost.

    `achieved` is the least share of the offered rate that must be answered, `errors` the largest share of the requests
    that may fail, be answered with another status than 2xx or 3xx, or have no answer at all.
    """

    latencies: tuple[tuple[float, float], ...] = ((0.99, 10_000.0),)
    achieved: float = 0.99
    errors: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Objective:
        """Read the short form. Raises PlanError that names the part which can't be read."""
        latencies: list[tuple[float, float]] = []
        achieved, errors = cls.achieved_default(), 0.0
        for part in (part.strip().lower().replace(" ", "") for part in text.split(",")):
            if found := _LATENCY.fullmatch(part):
                latencies.append((float(found["level"]) / 100, float(found["value"]) * _UNITS_US[found["unit"]]))
            elif (found := _ACHIEVED.fullmatch(part)) and float(found["percent"]) <= 100:
                achieved = float(found["percent"]) / 100
            elif (found := _ERRORS.fullmatch(part)) and (found["unit"] or float(found["percent"]) == 0):
                errors = float(found["percent"]) / 100
            else:
                raise PlanError(f"objective {text!r}", f"{part!r} can't be read", f"write it like {FORM}")
        if not latencies:
            raise PlanError(f"objective {text!r}", "it limits no percentile", f"write it like {FORM}")
        if any(not 0 < level < 1 for level, _ in latencies) or any(limit <= 0 for _, limit in latencies):
            raise PlanError(f"objective {text!r}", "a percentile or limit of zero", f"write it like {FORM}")
        return cls(tuple(sorted(latencies)), achieved, errors)

    @staticmethod
    def achieved_default() -> float:
        return 0.99

    @property
    def text(self) -> str:
        """The short form again."""
        parts = [f"p{level * 100:.6g}<={_limit(limit)}" for level, limit in self.latencies]
        errors = f"errors<={self.errors * 100:.6g}%" if self.errors else "errors=0"
        return ",".join([*parts, f"achieved>={self.achieved * 100:.6g}%", errors])


def _limit(value_us: float) -> str:
    scale, unit = next((s, u) for u, s in reversed(_UNITS_US.items()) if value_us >= s or u == "us")
    return f"{value_us / scale:.6g}{unit}"
