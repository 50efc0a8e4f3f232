"""The description of an experiment (a notebook or a command): title, parameters with ranges, blocks to measure."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from runners.design.block import Block, FixedRate
from runners.design.description import LOOPBACK
from runners.design.ladder import Ladder
from runners.design.load import PUBLISHED, SIZES, WORKLOADS, Workload
from runners.design.session import EVENTS
from runners.design.setting import ENGINES, Setting
from runners.design.target import shared_workload, target_of, targets_of, whole_paths
from runners.errors import PlanError

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an experiment; its values have the type of its default."""

    name: str
    default: Value
    meaning: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    several: bool = False  # several choices, joined by commas
    optional: bool = False  # it may be empty, or `none`
    read: Callable[[str], object] = str  # raises PlanError for a bad text
    kept: Callable[[str], str] = str  # makes the text that a run records

    @classmethod
    def profile(cls, events: str) -> Self:
        return cls("profile", events, "events, or none", choices=EVENTS, several=True, optional=True)

    @classmethod
    def heap(cls, default: int, meaning: str = "the server's heap") -> Self:
        return cls("heap_mb", default, meaning, "MiB", low=16, high=65_536)

    @classmethod
    def connections(cls, default: int, meaning: str) -> Self:
        return cls("connections", default, meaning, "connections", low=1, high=10_000)

    @property
    def range_text(self) -> str:
        if self.choices:
            text = " | ".join(self.choices)
            return f"one or more of {text}, joined by commas" if self.several else text
        return "text" if self.low is None else f"{self.low:g} to {self.high:g} {self.unit}".rstrip()

    def parse(self, value: object) -> Value:
        """Return `value`, converted to the parameter's type. Raises PlanError for a wrong type or a wrong value."""
        parsed = self._typed(value)
        if self.choices and not (self.optional and parsed in ("", "none")):
            parts = str(parsed).split(",") if self.several else [str(parsed)]
            if unknown := [part for part in parts if part not in self.choices]:
                raise self._refusal(parsed, f"{unknown[0]!r} is not one of {', '.join(self.choices)}")
            if len(set(parts)) != len(parts):
                raise self._refusal(parsed, "a value stands twice")
        elif isinstance(parsed, str):
            self.read(parsed)
        elif self.low is not None and self.high is not None and not self.low <= parsed <= self.high:  # or NaN
            raise self._refusal(value, f"it is out of range ({self.range_text})")
        return self.kept(parsed) if isinstance(parsed, str) else parsed

    def _typed(self, value: object) -> Value:
        if isinstance(self.default, str):
            if not isinstance(value, str):
                raise self._refusal(value, "it must be text")
            parts = [part.strip() for part in value.split(",")] if self.several else [value.strip()]
            return self.default if parts == ["all"] and self.default == ",".join(self.choices) else ",".join(parts)
        if isinstance(value, bool):
            raise self._refusal(value, "it must be a number")
        try:
            return int(str(value)) if isinstance(self.default, int) else float(str(value))
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise self._refusal(value, f"it must be {kind}") from None

    def _refusal(self, value: object, cause: str) -> PlanError:
        return PlanError(f"parameter {self.name}={value!r}", cause, f"valid: {self.range_text}")


def validate(parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Value]:
    """Return the values of all parameters, given or default. Raises PlanError for an unknown name or a bad value."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise PlanError(f"parameter {name!r}", "unknown", "valid ones:\n" + describe(parameters))
    defaults = {name: parameter.default for name, parameter in known.items()}
    return defaults | {name: known[name].parse(value) for name, value in given.items()}


def describe(parameters: Sequence[Parameter]) -> str:
    """Return a text with one line for each parameter: name, default, meaning, range."""
    return "\n".join(
        f"  {parameter.name}={parameter.default}  {parameter.meaning} ({parameter.range_text})"
        for parameter in parameters
    )


def listed(value: Value) -> tuple[str, ...]:
    """Return the items of a comma-separated value; an empty tuple for the value `none`."""
    return tuple(part for part in str(value).split(",") if part not in ("", "none"))


#: Seconds that the progress display expects for the writing of the report.
REPORT_S = 12.0


def common(*names: str) -> tuple[Parameter, ...]:
    known = {parameter.name: parameter for parameter in COMMON}
    return tuple(known[name] for name in names)


def without(parameters: Sequence[Parameter], *names: str) -> tuple[Parameter, ...]:
    return tuple(parameter for parameter in parameters if parameter.name not in names)


COMMON = (
    Parameter("size", "quick", "how long it runs", choices=tuple(SIZES)),
    Parameter("rate_rps", 0, "offered rate; 0: the published one, else what fits", "requests/s", low=0, high=1_000_000),
    Parameter("engines", "rocksdb,lsm", "stores, first one as published", choices=tuple(ENGINES), several=True),
    Parameter.profile(",".join(EVENTS)),
    Parameter("generator", "truepace", "who sends the load", choices=("truepace", "wrk2")),
    Parameter.heap(128),
    Parameter("selectors", 0, "selector threads; 0: one a core", "threads", low=0, high=256),
    Parameter("port", 0, "the server's port; 0: a free one", low=0, high=65_535),
)

#: The parameter by which an experiment on stores loads other servers in place of the stores.
TARGET = Parameter(
    "target", "", "other servers in place of the stores: descriptions, apart by commas", read=targets_of,
    kept=whole_paths,
)  # fmt: skip

LADDER = (
    *without(COMMON, "engines", "profile"),
    Parameter.profile("cpu,alloc"),
    Parameter("p99_ms", 10.0, "p99 to keep, with 99 % of the rate achieved and no errors", "ms", low=0.01, high=60_000),
)


def setting_of(text: str) -> Setting:
    """Return the setting that a text names: an engine with its flags, or `target=FILE`. Raises PlanError otherwise."""
    target = target_of(text)
    return Setting.parse(text, tuple(ENGINES)) if target is None else target.setting


#: Parameters of experiments that send one kind of load to given settings: `lab knee`, and experiment 09.
ONE_LOAD = (
    *without(COMMON, "rate_rps", "engines", "profile"),
    Parameter("workload", "put", "what is sent", choices=tuple(WORKLOADS)),
    Parameter.connections(64, "connections of the load"),
    Parameter("threads", 1, "threads of the generator", "threads", low=1, high=256),
)

SHARES = Parameter(
    "shares", 0, "generators that share a load, in a fleet on other hosts; 0: one with the server", low=0, high=1000
)
OF_HOST = "host"
LISTEN = Parameter("listen", LOOPBACK, f"address that servers listen on; {OF_HOST}: that of their host in the fleet")


def workload_of(name: str, settings: Sequence[str]) -> Workload:
    """Return the lab's workload of this name, or the one that all targets in `settings` (`target=FILE`) describe.

    Raises PlanError if a target lacks it or describes it differently, or if two targets would listen on one port.
    """
    targets = [file for text in settings if (file := target_of(text)) is not None]
    if not targets:
        return WORKLOADS[name]
    if len(targets) < len(settings):
        raise PlanError(" and ".join(settings), "one is a target and one is none", "compare targets with targets")
    workload = shared_workload(name, targets)
    paths, names = dict[str, Path](), dict[str, str]()
    for file in targets:
        if paths.setdefault(file.name, file.path) != file.path:
            raise PlanError(f"target {file.name}", "both have this name", "give each its own `name`")
        address = urlsplit(file.target.url).netloc
        if address in names and not file.repeatable:
            cause = f"both are at {address}, and they are compared while both are up"
            remedy = "give one of them another port, or write {port} for it, and {data} in place of a `data` folder"
            raise PlanError(f"targets {names[address]} and {file.name}", cause, remedy)
        names[address] = file.name
    return workload


class Extent(StrEnum):
    """A measure in which a run can be smaller than the published one."""

    LENGTH_S = "length of a load"
    DATA_BYTES = "data in the store"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A measure in which a run is smaller than the published run, with the values of the two runs."""

    extent: Extent
    workload: str
    here: float  # value in this run
    published: float


def _extents(blocks: Sequence[Block]) -> dict[tuple[Extent, str], float]:
    """Return {(extent, workload): seconds of the longest load at one rate, or bytes of the largest fill}."""
    most: dict[tuple[Extent, str], float] = {}
    for block in blocks:
        if isinstance(block, FixedRate) and not block.sessions:
            length_s = block.size.duration_s
        elif isinstance(block, Ladder):
            length_s = block.published_s or block.shape.duration_s or 0.0
        else:
            continue
        extents = ((Extent.LENGTH_S, length_s), (Extent.DATA_BYTES, float(block.workload.filled_bytes)))
        for extent, value in extents:
            key = extent, block.workload.name
            most[key] = max(value, most.get(key, 0.0))
    return most


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: one numbered notebook, or a command if `notebook` is empty."""

    number: str
    notebook: str
    title: str
    published: str  # key of the published report; empty without one
    parameters: tuple[Parameter, ...]
    blocks: Callable[[Mapping[str, Value]], tuple[Block, ...]] | None = None
    workloads: tuple[Workload, ...] = ()

    def blocks_of(self, asked: Mapping[str, Value]) -> tuple[Block, ...]:
        """Return a run's blocks; `asked`: its checked parameters. Raises PlanError if a block can't be measured."""
        return self.blocks(asked) if self.blocks is not None else ()

    def planned_s(self, asked: Mapping[str, Value]) -> float:
        return sum(block.planned_s for block in self.blocks_of(asked)) + REPORT_S

    def shortfalls(self, asked: Mapping[str, Value]) -> tuple[Shortfall, ...]:
        """Return the measures in which a run is smaller than the published one; `asked`: its checked parameters."""
        if not self.published or "size" not in asked:
            return ()
        here, there = (_extents(self.blocks_of({**asked, "size": size})) for size in (asked["size"], PUBLISHED))
        smaller = [key for key, value in there.items() if key in here and here[key] < value]
        return tuple(Shortfall(*key, here[key], there[key]) for key in smaller)

    def size_of(self, parameters: Mapping[str, Value]) -> str:
        """Return the size (such as quick) for the name of a run folder; `all` if the experiment measures nothing."""
        return str(parameters.get("size", "all"))

    def checked(self, given: Mapping[str, object]) -> dict[str, Value]:
        """Return all parameters, as given or by default. Raises PlanError for an unknown name or a bad value."""
        if TARGET.name in given and TARGET not in self.parameters:
            cause = "it takes no other servers" if self.notebook else "its server is named by --target"
            remedy = "lab run 01 or 04 -p target=a.yaml, or lab load, knee, profile or compare --target"
            raise PlanError(f"parameter target of {self.number}: {self.title}", cause, remedy)
        return validate(self.parameters, given)

    def changed(self, parameters: Mapping[str, Value]) -> dict[str, Value]:
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        return {name: value for name, value in parameters.items() if value != defaults[name]}

    def rerun_command(self, parameters: Mapping[str, Value]) -> str:
        """Return the command line that repeats a run with `parameters`; all but size are left out at their defaults."""
        sized = ["--size", str(parameters["size"])] if "size" in parameters else []
        changed = self.changed(parameters).items()
        given = [f"-p {shlex.quote(f'{name}={value}')}" for name, value in changed if name != "size"]
        verb = f"lab run {self.number}" if self.notebook else f"lab {self.number}"
        return " ".join([verb, *sized, *given])
