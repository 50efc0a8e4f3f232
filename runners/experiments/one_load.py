"""Measure one load of one server, as `lab load` asks for it, or the knee of one, as `lab knee` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import Block, FixedRate, KneeSearch, WarmServer
from runners.design.comparison import workload_of
from runners.design.experiment import setting_of
from runners.design.objective import Objective
from runners.design.parameter import Value, listed
from runners.design.shape import Shape
from runners.design.size import SIZES


def load(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """A load at one rate, the same on a server that does nothing before it. Raises PlanError."""
    text, size = str(asked["setting"]), SIZES[str(asked["size"])]
    setting, workload = setting_of(text), workload_of(str(asked["workload"]), [text])
    title = f"{workload.label} of {setting.name} at one rate"
    size = replace(size, duration_s=float(asked["duration_s"]) or size.duration_s)
    rate_rps, connections, threads = float(asked["rate_rps"]), int(asked["connections"]), int(asked["threads"])
    profile = listed(asked["profile"])
    return (FixedRate("load", title, (setting,), workload, size, rate_rps, connections, threads, profile),)


def knee(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """A search for the highest rate that meets an objective. Raises PlanError."""
    text = str(asked["setting"])
    server = WarmServer(setting_of(text), workload_of(str(asked["workload"]), [text]), SIZES[str(asked["size"])])
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["probe_s"]))
    return (
        KneeSearch(
            "knee", f"the knee of {server.name}", server, Objective.parse(str(asked["objective"])),
            float(asked["minutes"]), shape, float(asked["low_rps"]), float(asked["high_rps"]),
            float(asked["precision"]),
        ),
    )  # fmt: skip
