"""Decide whether percentiles may be compared as those of two servers or settings, or whether something else made one.

Two things do. A measurement that never became steady (see steady_state), or that ended with JIT compilation
unfinished, has no percentile of its own: it depends on when the measurement ended. And a tail that the machine or a
late generator made (see tail_attribution.made) is not that of the server.

Of repeats, more than half of a side's have to be so: what disturbs fewer falls on both sides by chance, and is in the
interval. Repeats are too short to tell whether they are steady, and their spread is in the interval too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """Return a row of repeats, refused where something else made its difference: of a percentile the machine or the
    generator, of CPU time JIT compilation that was unfinished in most of a side's.
    """
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
    for field in fields:
        left, right = _at(a, field), _at(b, field)
        if left is not None and right is not None and not _same(left, right):
            yield Differs(field, left, right)


def _same(left: object, right: object) -> bool:
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) < 1e-6
    return left == right


def _at(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
