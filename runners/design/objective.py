"""Limits that users write as text.

An objective (`p99<=10ms,errors=0`) limits the figures of a load. A change limit (`p99>+10%`) limits the change in a
comparison. A text such as `p50+-2%` says when a comparison ends.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from runners.errors import PlanError

FORM = "p99<=10ms,achieved>=99%,errors=0 (percentiles with us, ms or s; any of the three parts)"
_LATENCY = re.compile(r"p(?P<level>\d{1,2}(?:\.\d{1,4})?)<=(?P<value>\d+(?:\.\d+)?)(?P<unit>us|ms|s)")
_ACHIEVED = re.compile(r"achieved>=(?P<percent>\d{1,3}(?:\.\d+)?)%")
_ERRORS = re.compile(r"errors(?:<=|=)(?P<percent>\d{1,3}(?:\.\d+)?)(?P<unit>%?)")
SHORT_STEP_LEVELS = (0.5, 0.9, 0.99, 0.999)
#: An objective met for a shorter time is not sustained: a flush, a garbage collection or a queue takes seconds to show.
LEAST_SUSTAINED_S, PERIODS = 10.0, 10
_UNITS_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
LEAST_ACHIEVED = 0.99  # a rate is achieved when at least this share of what was offered got a response


def _plain(part: str) -> str:
    return part.strip().lower().replace(" ", "")


@dataclass(frozen=True, slots=True)
class Objective:
    """Limits of a load: of its percentiles, of the achieved share of its rate, and of its errors."""

    latencies: tuple[tuple[float, float], ...] = ((0.99, 10_000.0),)  # (level 0..1, upper limit in us)
    achieved: float = LEAST_ACHIEVED  # least share of the offered rate
    errors: float = 0.0  # largest share

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the objective of a text: `p99<=10ms,achieved>=99%,errors=0`. Raises PlanError with the bad part."""
        latencies: list[tuple[float, float]] = []
        achieved, errors = LEAST_ACHIEVED, 0.0
        for part in map(_plain, text.split(",")):
            match LoadLimit.read(part):
                case LoadLimit(level=level, most_us=float() as most_us):
                    latencies.append((level, most_us))
                case LoadLimit(least_achieved=float() as least):
                    achieved = least
                case LoadLimit(most_errors=float() as most):
                    errors = most
                case _:
                    raise PlanError(f"objective {text!r}", f"{part!r} can't be read", f"write it like {FORM}")
        if not latencies:
            raise PlanError(f"objective {text!r}", "it limits no percentile", f"write it like {FORM}")
        if any(not 0 < level < 1 for level, _ in latencies) or any(limit <= 0 for _, limit in latencies):
            raise PlanError(f"objective {text!r}", "a percentile or limit of zero", f"write it like {FORM}")
        return cls(tuple(sorted(latencies)), achieved, errors)

    @property
    def sustained_s(self) -> float:
        """How long a confirmed rate must meet the objective: ten times the longest latency limit, at least 10 s."""
        return max(LEAST_SUSTAINED_S, PERIODS * max((us for _, us in self.latencies), default=0.0) / 1e6)

    @property
    def text(self) -> str:
        """The objective as text that `parse` reads."""
        parts = []
        for level, limit_us in self.latencies:
            scale, unit = next((s, u) for u, s in reversed(_UNITS_US.items()) if limit_us >= s or u == "us")
            parts.append(f"p{level * 100:.6g}<={limit_us / scale:.6g}{unit}")
        errors = f"errors<={self.errors * 100:.6g}%" if self.errors else "errors=0"
        return ",".join([*parts, f"achieved>={self.achieved * 100:.6g}%", errors])


#: An objective on the achieved rate and errors alone, whatever the latencies.
ACHIEVED_ALONE = Objective(latencies=(), errors=0.001)

ERRORS = "errors"
#: If a larger share of a load's responses failed, its latency, CPU time and throughput are not quoted.
MOST_FAILED = 0.001
#: Quantities that experiments compare, as the lab calls them: CPU time of the threads that respond, the rate of a
#: closed loop, and the p99 without the machine's stalls.
CPU, THROUGHPUT, UNDISTURBED = "cpu_us", "closed_loop_rps", "p99_undisturbed_us"
#: Quantities that may decide a comparison, by the names that users give them. A limit may also name ERRORS.
PRIMARIES = {
    "p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "service-p50": "service_p50_us", "service-p99": "service_p99_us",
    "cpu": CPU, "throughput": THROUGHPUT,
}  # fmt: skip
_LIMITED = {**PRIMARIES, ERRORS: ERRORS}
_FORM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?P<side>[<>])\s*(?P<change>[+-]?(?:\d+\.?\d*|\.\d+))\s*%\s*")
_EXAMPLE = 'write for example "p99>+10%", "throughput<-5%" or "errors>+0.1%"'

#: Percentiles that are stored of every load, and so may be named in a limit of a load.
LOAD_LEVELS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
LOAD_LIMIT_FORM = '"p99<=10ms", "achieved>=99%" or "errors<=0.1%"'


@dataclass(frozen=True, slots=True)
class LoadLimit:
    """A limit that a load passes or fails: on the percentile at `level`, the share of the rate achieved, or errors."""

    text: str
    level: float = 0.0
    most_us: float | None = None  # of this and the next two, one is set
    least_achieved: float | None = None
    most_errors: float | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the limit in a text of `lab load --fail-on`. Raises PlanError for a wrong text or percentile."""
        limit, thing = cls.read(_plain(text)), f"--fail-on {text!r}"
        if limit is None:
            raise PlanError(thing, "it is no limit of a load", f"write for example {LOAD_LIMIT_FORM}")
        if limit.most_us is not None and limit.level not in LOAD_LEVELS:
            known = ", ".join(f"p{100 * level:.6g}" for level in LOAD_LEVELS)
            raise PlanError(thing, f"no p{100 * limit.level:.6g} is kept of a load", f"one of {known}")
        return limit

    @classmethod
    def read(cls, part: str) -> Self | None:
        """Return the limit that a text in small letters without blanks states; None if it is no limit."""
        if match := _LATENCY.fullmatch(part):
            level, most_us = float(match["level"]) / 100, float(match["value"]) * _UNITS_US[match["unit"]]
            return cls(part, round(level, 6), most_us)
        if (match := _ACHIEVED.fullmatch(part)) and float(match["percent"]) <= 100:
            return cls(part, least_achieved=float(match["percent"]) / 100)
        if (match := _ERRORS.fullmatch(part)) and (match["unit"] or float(match["percent"]) == 0):
            return cls(part, most_errors=float(match["percent"]) / 100)
        return None


class Outcome(StrEnum):
    """The outcome of a limit: passed, failed, or not known."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class ChangeLimit:
    """A limit that a comparison passes or fails: on a quantity's relative change, or on the rise of the error share."""

    quantity: str
    above: bool  # an upper limit, else a lower one
    change: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the limit in text such as `p99>+10%`. Raises PlanError for none, or one that never or always fails."""
        thing = f"--fail-on {text!r}"
        match = _FORM.fullmatch(text)
        if match is None:
            raise PlanError(thing, "it is no limit", _EXAMPLE)
        name, side = match["name"], match["side"]
        if name not in _LIMITED:
            raise PlanError(thing, f"there is no quantity {name}", f"one of {', '.join(_LIMITED)}")
        above, change = side == ">", float(match["change"]) / 100
        if change < 0 if above else change > 0 or change <= -1:
            raise PlanError(thing, "what has not changed would fail, or nothing could", _EXAMPLE)
        if name == ERRORS and (not above or change >= 1):
            raise PlanError(thing, "it limits no errors", _EXAMPLE)
        return cls(_LIMITED[name], above, change, f"{name}{side}{100 * change:+g}%")


#: A limit of every comparison: it fails if the share of failed requests rises by more than MOST_FAILED.
NO_MORE_ERRORS = ChangeLimit(ERRORS, above=True, change=MOST_FAILED, text=f"errors>{100 * MOST_FAILED:+g}%")
_UNTIL = re.compile(r"([a-z0-9-]+?)(?:\+-|±)(\d+(?:\.\d+)?)%")


def read_until(text: str) -> tuple[str, float] | None:
    """Return (quantity, relative margin) of a text such as `p50+-2%`, which says when a comparison may end.

    None for an empty text. Raises PlanError if the text can't be read.
    """
    if not text:
        return None
    match = _UNTIL.fullmatch(_plain(text))
    if match is None or match[1] not in PRIMARIES or not 0 < float(match[2]) < 100:
        remedy = f"write it like p50+-2% (of {', '.join(PRIMARIES)})"
        raise PlanError(f"until {text!r}", "it can't be read", remedy)
    return PRIMARIES[match[1]], float(match[2]) / 100
