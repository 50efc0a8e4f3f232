"""May percentiles be compared? Not as those of two stores or settings, where something else made one of them.

Two things do. A measurement that never became steady (see steady_state), or that ended with JIT compilation
unfinished, has no percentile of its own: it depends on when the measurement ended. And a tail that the machine made
(see tail_attribution.made) is not that of what ran on it: what is left of a difference is not known. No difference is
given then, and the sentence says why.

Of repeats, more than half of a side's have to be so. Fewer are what repeats are for: they fall on both sides by
chance, and that chance is in the interval. Repeats are too short to tell whether they are steady, and their spread is
in the interval too, so of them only the machine is asked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners import words
from runners.analysis.instrument import late
from runners.analysis.quantities import LEVELS, Row
from runners.analysis.steady_state import not_warm, steadiness
from runners.analysis.tail_attribution import made
from runners.design.objective import CPU
from runners.readers.run import Step
from runners.storage.schema import StepRecord, to_document

#: A side of a comparison: what it is called, and its measurements.
Side = tuple[str, Sequence[Step]]


def why(level: float, *sides: Side) -> str:
    """Return why a percentile of these sides is not compared, in words that stand behind a colon; empty where it can
    be.
    """
    return _listed(_unsteady(side) or _late(level, side) or _machine(level, side) for side in sides)


def marked(row: Row, *sides: Side) -> Row:
    """Return a row of repeats, refused where something else made its difference: of a percentile the machine or the
    generator, of CPU time JIT compilation that was unfinished in most of a side's.
    """
    if row.quantity.name == CPU:
        cold = [name for name, steps in sides if 2 * sum(map(not_warm, steps)) > len(steps)]
        why = f"JIT compilation of {words.listed(cold)} was unfinished" if cold else ""
    else:
        level = LEVELS[row.quantity.name]
        why = _listed(_late(level, side) or _machine(level, side) for side in sides) if row.decided else ""
    return dataclasses.replace(row, refused=why)


#: Why a side is not compared, with a pair of braces where its name stands, and that name.
Reason = tuple[str, str]


def _listed(reasons: Iterable[Reason | None]) -> str:
    """Return every reason once, with the names of all sides that it holds for."""
    names: dict[str, list[str]] = {}
    for text, name in filter(None, reasons):
        names.setdefault(text, []).append(name)
    return words.listed(text.replace("{}", words.listed(sides)) for text, sides in names.items())


def _unsteady(side: Side) -> Reason | None:
    name, steps = side
    if len(steps) != 1:
        return None
    if (seen := steadiness(steps[0])).steady is False:
        return f"{{}} never became steady in {seen.seconds} seconds", name
    text = "JIT compilation of the server of {} was unfinished when the load ended"
    return (text, name) if not_warm(steps[0]) else None


def _late(level: float, side: Side) -> Reason | None:
    """Say so where a percentile of most measurements lies above what their generator kept up to."""
    name, steps = side
    whys = [why for step in steps if (why := late(step, level))]
    return (f"{whys[0]} in {{}}", name) if 2 * len(whys) > len(steps) else None


def _machine(level: float, side: Side) -> Reason | None:
    name, steps = side
    explained = [explanation for step in steps if (explanation := made(step, level)) is not None]
    if 2 * len(explained) <= len(steps):
        return None
    if len(steps) == 1:
        return f"{explained[0].written} of the tail of {{}}", name
    named = words.listed(dict.fromkeys(cause for explanation in explained for cause in explanation.shares))
    counts = f"{words.count(len(explained))} of {words.count(len(steps))}"
    return f"in {counts} measurements of {{}} the machine ({named}) explains most of the tail", name


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
    """A field and what it is on each side."""

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
    """Fields of two manifests that differ."""
    groups = (("machine", MACHINE_KEYS), ("tools", TOOLS), ("parameters", PARAMETERS))
    fields = [*(f"{group}.{name}" for group, names in groups for name in names), "size"]
    return _differing(a, b, fields)


def of_steps(a: StepRecord, b: StepRecord) -> Iterator[Differs]:
    """Fields of the metadata of two steps that differ, settings left aside."""
    return _differing(to_document(a), to_document(b), STEP)


def _differing(a: Mapping[str, Any], b: Mapping[str, Any], fields: Iterable[str]) -> Iterator[Differs]:
    for field in fields:
        left, right = _at(a, field), _at(b, field)
        if left is not None and right is not None and not _same(left, right):
            yield Differs(field, left, right)


def _same(left: object, right: object) -> bool:
    if isinstance(left, float) or isinstance(right, float):
        return isinstance(left, (int, float)) and isinstance(right, (int, float)) and abs(left - right) < 1e-6
    return left == right


def _at(document: Mapping[str, Any], path: str) -> Any:
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
