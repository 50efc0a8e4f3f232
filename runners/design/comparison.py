"""Experiment 09, which is `lab compare` too: two settings, or anybody's two servers, by one schedule."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from runners.design.block import COMPARED_WARMUP_S, Interleaved
from runners.design.parameter import Value
from runners.design.setting import Setting
from runners.design.shape import SIZES, Shape
from runners.design.target import TargetFile, shared_workload, target_of
from runners.design.workload import WORKLOADS, Workload
from runners.errors import PlanError

BLOCK = "compare"
#: Minutes of all starts together: in the smoke size as many as tell anything at all.
MINUTES = {"smoke": 1.95, "quick": 5.5, "full": 60.0}
GENERATOR = "truepace"
#: Quantities that may decide, by the names that a user gives them.
PRIMARIES = {
    "p50": "p50_us", "p90": "p90_us", "p99": "p99_us", "service-p50": "service_p50_us", "service-p99": "service_p99_us",
    "cpu": "cpu_us", "throughput": "closed_loop_rps",
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


def workload_of(name: str, settings: Sequence[str]) -> Workload:
    """The workload of that name: of the lab, or where the settings are targets the one that all of them describe.

    Raises PlanError.
    """
    files = [target_of(text) for text in settings]
    targets = [file for file in files if file is not None]
    if not targets:
        return WORKLOADS[name]
    if len(targets) < len(files):
        raise PlanError(" and ".join(settings), "one is a target and one is none", "compare targets with targets")
    workload = shared_workload(name, targets)
    _refuse_one_port(targets)
    return workload


def _refuse_one_port(targets: Sequence[TargetFile]) -> None:
    """Servers that are compared are up at once. Raises PlanError for two that would listen on one port."""
    paths: dict[str, Path] = {}
    names: dict[str, str] = {}
    for file in targets:
        if paths.setdefault(file.name, file.path) != file.path:
            raise PlanError(f"target {file.name}", "both have this name", "give each its own `name`")
        address = urlsplit(file.target.url).netloc or str(file.socket)
        if address in names and not file.repeatable:
            cause = f"both are at {address}, and they are compared while both are up"
            remedy = "give one of them another port, or write {port} for it, and {data} in place of a `data` folder"
            raise PlanError(f"targets {names[address]} and {file.name}", cause, remedy)
        names[address] = file.name


def block(asked: Mapping[str, Value], a: Setting, b: Setting) -> Interleaved:
    """Two settings compared, over as many starts as the minutes have time for. Raises PlanError."""
    if str(asked["generator"]) != GENERATOR:
        cause = "it can't share one schedule over several servers"
        raise PlanError(f"generator {asked['generator']}", cause, f"use {GENERATOR}")
    workload = workload_of(str(asked["workload"]), [str(asked["a"]), str(asked["b"])])
    if a.name == b.name:  # the same twice shows what starts alone make
        b = replace(b, name=f"{b.name[:34]}-again")
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["repeat_s"]), COMPARED_WARMUP_S)
    size = SIZES[str(asked["size"])]
    until = Until.parse(str(asked["until"]))
    decides = until or Until(PRIMARIES["p50"], float(asked["see"]))
    name = next(name for name, primary in PRIMARIES.items() if primary == decides.primary)
    title = f"{workload.label} of {a.name} and {b.name} by one schedule; primary quantity {name}, margin "
    title += f"{100 * decides.margin:g} %"
    first = target_of(str(asked["a"]))
    planned = Interleaved(
        BLOCK, title, (a, b), a.name, workload, size, shape, rate_rps=float(asked["rate_rps"]),
        primary=decides.primary, margin=decides.margin, until=until is not None,
        control=first is None or first.repeatable,
        questions=("p50_us", "p99_us", "cpu_us", "closed_loop_rps"),
    )  # fmt: skip
    return planned.within(float(asked["minutes"]) or MINUTES[size.name])
