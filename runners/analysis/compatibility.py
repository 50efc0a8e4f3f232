"""What two runs have in common besides the setting: the fields of their manifests and steps that must not differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.storage.schema import StepRecord, to_document

#: Fields of a manifest that may change a figure. What is not recorded on one side is not compared.
MACHINE = (
    "cpu_model",
    "cores",
    "memory_bytes",
    "os",
    "kernel",
    "glibc",
    "governor",
    "virtualised",
    "clocksource",
    "transparent_huge_pages",
)
PARAMETERS = ("heap_mb", "selectors")  # of the server, whatever the engine
TOOLS = ("java", "truepace", "server_sources", "lab_sources", "loadgen_sources")
STEP = (
    "workload",
    "role",
    "offered_rps",
    "connections",
    "threads",
    "warmup_s",
    "duration_s",
    "profiled",
    "generator.tool",
    "generator.version",
    "generator.cpus",
    "server.cpus",
    "server.ready.jvm",
    "server.ready.transport",
    "store_before.entries_estimate",
)


@dataclass(frozen=True, slots=True)
class Differs:
    """A field and what it is on each side."""

    field: str
    a: object
    b: object

    @property
    def text(self) -> str:
        return f"{self.field}: {self.a!s} against {self.b!s}"


def of_manifests(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Differs]:
    """Fields of two manifests that differ."""
    groups = (("machine", MACHINE), ("tools", TOOLS), ("parameters", PARAMETERS))
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
