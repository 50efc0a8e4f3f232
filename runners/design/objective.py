"""Describe what is good enough: an objective at a rate, the change of a comparison that fails it, and when it ends.

An objective is written like `p99<=10ms,achieved>=99%,errors=0`, a limit of change like `p99>+10%`, an end `p50+-2%`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from runners.errors import PlanError

FORM = "p99<=10ms,achieved>=99%,errors=0 (percentiles with us, ms or s; any of the three parts)"
_LATENCY = re.compile(r"p(?P<level>\d{1,2}(?:\.\d{1,4})?)<=(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s)")
_ACHIEVED = re.compile(r"achieved>=(?P<percent>\d{1,3}(?:\.\d+)?)%")
_ERRORS = re.compile(r"errors(?:<=|=)(?P<percent>\d{1,3}(?:\.\d+)?)(?P<unit>%?)")
#: Percentiles that short rate steps are kept by.
SHORT_STEP_LEVELS = (0.5, 0.9, 0.99, 0.999)
#: What is met for less has not been sustained: a flush, a collection of garbage or a queue takes seconds to show.
LEAST_SUSTAINED_S, PERIODS = 10.0, 10
_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


@dataclass(frozen=True, slots=True)
class Objective:
    """Upper limits of response-time percentiles in microseconds, and of what may be lost.

    `achieved` is the least share of the offered rate that must be achieved, `errors` the largest share of the requests
    that may fail, have another status than 2xx or 3xx, or have no response at all.
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
                latencies.append(
                    (round(float(found["level"]) / 100, 6), float(found["value"]) * _UNITS_US[found["unit"]])
                )
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
    def sustained_s(self) -> float:
        """The seconds for which a rate must meet it to be confirmed: many times the longest response time allowed."""
        return max(LEAST_SUSTAINED_S, PERIODS * max((us for _, us in self.latencies), default=0.0) / 1e6)

    @property
    def text(self) -> str:
        """The short form again."""
        parts = [f"p{level * 100:.6g}<={_limit(limit)}" for level, limit in self.latencies]
        errors = f"errors<={self.errors * 100:.6g}%" if self.errors else "errors=0"
        return ",".join([*parts, f"achieved>={self.achieved * 100:.6g}%", errors])


#: A rate alone: what is achieved of it by good responses, whatever they take. A refusal is a failed response.
ACHIEVED_ALONE = Objective(latencies=(), errors=0.001)


def _limit(value_us: float) -> str:
    scale, unit = next((s, u) for u, s in reversed(_UNITS_US.items()) if value_us >= s or u == "us")
    return f"{value_us / scale:.6g}{unit}"


ERRORS = "errors"
#: The largest share of a load's responses that may fail for its latency, CPU time and throughput to be quoted.
MOST_FAILED = 0.001
#: Quantities that experiments compare, as the lab calls them: CPU time of the threads that respond, the rate of a
#: closed loop, and the p99 without the machine's stalls.
CPU, THROUGHPUT, UNDISTURBED = "cpu_us", "closed_loop_rps", "p99_undisturbed_us"
#: What may be limited, and what the lab calls it.
LIMITED = {
    "p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "cpu": CPU, "throughput": THROUGHPUT, ERRORS: ERRORS,
}  # fmt: skip
_FORM = re.compile(r"\s*(?P<name>\w+)\s*(?P<side>[<>])\s*(?P<change>[+-]?(?:\d+\.?\d*|\.\d+))\s*%\s*")
_EXAMPLE = 'write for example "p99>+10%", "throughput<-5%" or "errors>+0.1%"'


#: Percentiles that every load keeps, and so that a limit of one load may name.
LOAD_LEVELS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
LOAD_LIMIT_FORM = '"p99<=10ms", "achieved>=99%" or "errors<=0.1%"'


@dataclass(frozen=True, slots=True)
class LoadLimit:
    """What one load must keep: `most_us` of the percentile `level`, a least share achieved, or a largest of errors.

    The two that it does not limit are None.
    """

    text: str
    level: float = 0.0
    most_us: float | None = None
    least_achieved: float | None = None
    most_errors: float | None = None

    @classmethod
    def parse(cls, text: str) -> LoadLimit:
        """Read one limit as `lab load --fail-on` has it. Raises PlanError."""
        part, thing = text.strip().lower().replace(" ", ""), f"--fail-on {text!r}"
        if match := _LATENCY.fullmatch(part):
            level = round(float(match["level"]) / 100, 6)
            if level not in LOAD_LEVELS:
                known = ", ".join(f"p{100 * level:.6g}" for level in LOAD_LEVELS)
                raise PlanError(thing, f"no p{match['level']} is kept of a load", f"one of {known}")
            return cls(part, level, most_us=float(match["value"]) * _UNITS_US[match["unit"]])
        if (match := _ACHIEVED.fullmatch(part)) and float(match["percent"]) <= 100:
            return cls(part, least_achieved=float(match["percent"]) / 100)
        if (match := _ERRORS.fullmatch(part)) and (match["unit"] or float(match["percent"]) == 0):
            return cls(part, most_errors=float(match["percent"]) / 100)
        raise PlanError(thing, "it is no limit of a load", f"write for example {LOAD_LIMIT_FORM}")


class Outcome(StrEnum):
    """What is known of a limit."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


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


#: A comparison fails where it shows that a larger share of the requests to the treatment fails, whatever else is asked.
NO_MORE_ERRORS = ChangeLimit(ERRORS, above=True, change=MOST_FAILED, text=f"errors>{100 * MOST_FAILED:+g}%")
#: Quantities that may decide, by the names that a user gives them.
PRIMARIES = {
    "p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "service-p50": "service_p50_us", "service-p99": "service_p99_us",
    "cpu": CPU, "throughput": THROUGHPUT,
}  # fmt: skip
UNTIL_FORM = "p50+-2% (of p50, p90, p99, service-p50, service-p99, cpu, throughput)"
_UNTIL = re.compile(r"([a-z0-9-]+?)(?:\+-|±)(\d+(?:\.\d+)?)%")


@dataclass(frozen=True, slots=True)
class Until:
    """When a comparison ends: its primary quantity, and the margin within which two are the same."""

    primary: str
    margin: float

    @classmethod
    def parse(cls, text: str) -> Until | None:
        """Read `p50+-2%`; None for an empty text. Raises PlanError."""
        if not text:
            return None
        found = _UNTIL.fullmatch(text.strip().lower().replace(" ", ""))
        if found is None or found[1] not in PRIMARIES or not 0 < float(found[2]) < 100:
            raise PlanError(f"until {text!r}", "it can't be read", f"write it like {UNTIL_FORM}")
        return cls(PRIMARIES[found[1]], float(found[2]) / 100)
