"""Experiment 09, which is `lab compare` too: two settings, or anybody's two servers, by one schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from runners.design.block import SEARCH_WARMUP_S, Interleaved
from runners.design.parameter import Value
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import SIZES
from runners.design.target import TargetFile, target_of
from runners.design.workload import WORKLOADS, Workload
from runners.errors import PlanError

BLOCK = "compare"
#: Minutes of all starts together: in the smoke size as many as tell anything at all.
MINUTES = {"smoke": 1.7, "quick": 5.5, "full": 60.0}
GENERATOR = "truepace"


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
    found = [file.workload(name) for file in targets]
    if any(each != found[0] for each in found):
        names = f"workload {found[0].name!r} of {' and '.join(file.name for file in targets)}"
        raise PlanError(names, "they send different requests", "describe it alike in both, headers included")
    _refuse_one_port(targets)
    return found[0]


def _refuse_one_port(targets: Sequence[TargetFile]) -> None:
    """Servers that are compared are up at once. Raises PlanError for two that would listen on one port."""
    paths: dict[str, Path] = {}
    names: dict[str, str] = {}
    for file in targets:
        if paths.setdefault(file.name, file.path) != file.path:
            raise PlanError(f"target {file.name}", "both have this name", "give each its own `name`")
        address = urlsplit(file.target.url).netloc
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
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["repeat_s"]), SEARCH_WARMUP_S)
    size = SIZES[str(asked["size"])]
    title = f"{workload.label} of {a.name} and {b.name} by one schedule"
    first = target_of(str(asked["a"]))
    planned = Interleaved(
        BLOCK, title, (a, b), a.name, workload, size, shape, rate_rps=float(asked["rate_rps"]),
        margin=float(asked["see"]), control=first is None or first.repeatable,
        questions=("p50_us", "p99_us", "cpu_us", "closed_loop_rps"),
    )  # fmt: skip
    return planned.within(float(asked["minutes"]) or MINUTES[size.name])
