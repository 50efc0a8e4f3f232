"""Read sizes.toml: how long the experiments' loads last in the sizes smoke, quick, published and full."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from runners.design.experiment import Value
from runners.design.ladder import AroundTheKnee
from runners.design.load import Size
from runners.design.objective import Objective


@cache
def _tables() -> Any:
    return tomllib.loads(Path(__file__).with_name("sizes.toml").read_text(encoding="utf-8"))


def sizes(experiment: str, blocks: str) -> dict[str, Size]:
    """Return {name of a size, such as quick: its loads} from table `experiment.blocks` of sizes.toml (01.compared)."""
    return {name: Size(name, **fields) for name, fields in _tables()[experiment][blocks].items()}


def ladders(experiment: str) -> dict[str, AroundTheKnee]:
    """Return {name of a size: plan of an experiment's knee search and of rates around the knee} from sizes.toml."""
    plans = {}
    for name, fields in _tables()[experiment]["ladders"].items():
        shares = {key: tuple(fields[key]) if key in fields else None for key in ("shares", "profiled")}
        plans[name] = AroundTheKnee(**{**fields, **shares})
    return plans


def plan_for(asked: Mapping[str, Value], plans: Mapping[str, AroundTheKnee], **own: Any) -> AroundTheKnee:
    """Return the plan for the size, objective and connections in `asked`; `own`: values of the plan's other fields."""
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    return replace(plans[str(asked["size"])], objective=objective, connections=int(asked["connections"]), **own)
