"""Decide whether percentiles may be compared as those of two servers or settings, or whether something else made one.

A measurement that never became steady, or ended with JIT compilation unfinished, has no percentile of its own; a tail
that the machine or a late generator made is not the server's. Of repeats more than half of a side's have to be so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from runners.analysis.instrument import kept_up_below
from runners.analysis.quantities import LEVELS, Reason, Refusal, Row
from runners.analysis.steady_state import not_warm, steadiness
from runners.analysis.tail_attribution import made
from runners.design.objective import CPU
from runners.readers.run import Step
from runners.storage.schema import StepRecord, to_document

#: A side of a comparison: what it is called, and its measurements.
Side = tuple[str, Sequence[Step]]


def refusals(level: float, *sides: Side) -> tuple[Refusal, ...]:
    """Return why a percentile (0..1) of these sides is not compared; empty where it may be."""
    return tuple(filter(None, (_unsteady(side) or _late(level, side) or _machine(level, side) for side in sides)))


def marked(row: Row, *sides: Side) -> Row:
    """Return a row of repeats, refused where the machine, the generator or JIT compilation made its difference."""
    if row.quantity.name == CPU:
        cold = [name for name, steps in sides if 2 * sum(map(not_warm, steps)) > len(steps)]
        return dataclasses.replace(row, refused=tuple(Refusal(Reason.JIT_UNFINISHED, name) for name in cold))
    if not row.decided:
        return row
    level = LEVELS[row.quantity.name]
    reasons = tuple(filter(None, (_late(level, side) or _machine(level, side) for side in sides)))
    return dataclasses.replace(row, refused=reasons)


def _unsteady(side: Side) -> Refusal | None:
    name, steps = side
    if len(steps) != 1:
        return None
    if (seen := steadiness(steps[0])).steady is False:
        return Refusal(Reason.NEVER_STEADY, name, (seen.seconds,))
    return Refusal(Reason.JIT_UNFINISHED, name) if not_warm(steps[0]) else None


def _late(level: float, side: Side) -> Refusal | None:
    """Refuse a percentile that lies, in most measurements, above what their generator kept up to."""
    name, steps = side
    kept_up_to = [percent for step in steps if (percent := kept_up_below(step, level)) is not None]
    return Refusal(Reason.GENERATOR_LATE, name, (kept_up_to[0],)) if 2 * len(kept_up_to) > len(steps) else None


def _machine(level: float, side: Side) -> Refusal | None:
    """Refuse a percentile that the machine made in most measurements."""
    name, steps = side
    causes_of = [causes for step in steps if (causes := made(step, level)) is not None]
    if 2 * len(causes_of) <= len(steps):
        return None
    if len(steps) == 1:
        return Refusal(Reason.MACHINE, name, causes=tuple(causes_of[0].items()))
    named = tuple(dict.fromkeys((cause, None) for causes in causes_of for cause in causes))
    return Refusal(Reason.MACHINE, name, (len(causes_of), len(steps)), named)


#: Fields of a manifest that may change a figure. What is not recorded on one side is not compared.
MACHINE_KEYS = (
    "cpu_model", "cores", "memory_bytes", "os", "kernel", "glibc", "governor", "virtualised", "clocksource",
    "transparent_huge_pages",
)  # fmt: skip
PARAMETERS = ("heap_mb", "selectors")  # of the server, whatever the engine
TOOLS = ("java", "truepace", "server_sources", "lab_sources", "loadgen_sources")
STEP = (
    "workload", "role", "offered_rps", "connections", "threads", "warmup_s", "duration_s", "profiled", "generator.tool",
    "generator.version", "generator.cpus", "server.cpus", "server.ready.jvm", "server.ready.transport",
    "store_before.entries_estimate",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Differs:
    """A field and its value on each side."""

    field: str
    a: object
    b: object

    @property
    def text(self) -> str:
        return f"{self.field}: {self.a!s} against {self.b!s}"

    @property
    def group(self) -> str:
        """The first part of the field: machine of machine.kernel."""
        return self.field.partition(".")[0]


def of_manifests(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Differs]:
    """Yield the fields of two manifests that differ."""
    groups = (("machine", MACHINE_KEYS), ("tools", TOOLS), ("parameters", PARAMETERS))
    return _differing(a, b, [*(f"{group}.{name}" for group, names in groups for name in names), "size"])


def of_steps(a: StepRecord, b: StepRecord) -> Iterator[Differs]:
    """Yield the fields of the metadata of two steps that differ, settings left aside."""
    return _differing(to_document(a), to_document(b), STEP)


def _differing(a: Mapping[str, Any], b: Mapping[str, Any], fields: Iterable[str]) -> Iterator[Differs]:
    def at(value: Any, part: str) -> Any:
        return value.get(part) if isinstance(value, Mapping) else None

    documents: tuple[Any, Any] = (a, b)
    for field in fields:
        left, right = (reduce(at, field.split("."), document) for document in documents)
        numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
        same = abs(left - right) < 1e-6 if numbers else left == right
        if left is not None and right is not None and not same:
            yield Differs(field, left, right)
