"""What report 3 ran: LevelDB behind a pool that the selector waits for; and the other ways to run a request.

A file beside the experiment's own, as the experiment's parameters are choices of these ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from runners.design.ladder import LadderSize
from runners.design.load import SCRIPTS, Starts, Workload, random_gets
from runners.design.setting import Setting

ENGINE = "leveldb"
VALUE_BYTES = 12
#: Numbers that keys are drawn from, by size; as published in the full one.
KEYS = {"smoke": 2_000, "quick": 50_000, "full": 1_000_000}
CONNECTIONS = 64
#: Of the comparison on one connection. Each server is warmed for as long as its closed loop takes, where it has one.
STARTS = {"smoke": Starts(3, 1.0, 0.5, 0.7), "quick": Starts(6, 1.0, 3.0, 2.0), "full": Starts(12, 1.0, 5.0, 15.0)}
POOL = "pool"
#: Offered to a pool, as shares of what it reaches in closed loop: once what fits, once what does not.
OVERLOAD_SHARES = (0.8, 1.5)
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (0.4,), 1.0),
    "quick": LadderSize(0.38, 0.3, 0.3, (0.7,), (0.7,), 1.2, precision=0.15, published=1, starts=3),
    "full": LadderSize(6, 0.5, 2.0, (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.3), (0.5, 0.9), 30.0, published_s=120.0, starts=3),
}


def _execution(name: str, *flags: str) -> Setting:
    return Setting(name, ENGINE, flags, all_cores=True)


#: As the report says, then what one-nio does by default, then the ways that do not block a selector.
EXECUTIONS = {
    setting.name: setting
    for setting in (
        _execution("blocking-one", "--execution=blocking-pool", "--selectors=1"),
        _execution("blocking-many", "--execution=blocking-pool"),
        _execution("selector", "--execution=selector"),
        _execution(POOL, "--execution=pool"),
        _execution("virtual", "--execution=virtual"),
    )
}
#: Pools that differ in their queue only: short and long, oldest first and newest first, a list in place of an array.
_QUEUES = (("array", 16), ("array", 1_024), ("lifo", 1_024), ("linked", 1_024))
_TRIED = {"smoke": 1, "quick": 3, "full": len(_QUEUES)}
_OUTPUTS = (
    "one-selector-put-20000", "one-selector-put-40000", "one-selector-put-60000", "selectors-put-53000",
    "selectors-put-55000", "selectors-put-60000", "selectors-put-65000", "one-selector-get-15000",
    "one-selector-get-30000", "one-selector-get-60000", "selectors-get-46000", "selectors-get-50000",
    "selectors-get-60000",
)  # fmt: skip


def executions(names: str) -> list[Setting]:
    """The settings of a comma-separated list, in its order."""
    return [EXECUTIONS[name] for name in names.split(",")]


def queues(size: str) -> list[Setting]:
    """The pools that a size has time for; all of them in the full one."""
    return [
        _execution(f"queue-{kind}-{length}", "--execution=pool", f"--queue={kind}", f"--queue-size={length}")
        for kind, length in _QUEUES[: _TRIED[size]]
    ]


def _published(kind: str, outputs: Sequence[str] = _OUTPUTS) -> tuple[str, ...]:
    return tuple(f"report-3/{name}" for name in outputs if f"-{kind}-" in name)


def put(size: str) -> Workload:
    """PUT of random keys and values, two draws a request."""
    script = SCRIPTS / "put_random.lua"
    return Workload("put", script, arguments=(str(KEYS[size]),), published_rates=_published("put"))


def get(size: str) -> Workload:
    """GET of random keys that are all there, unlike the published ones."""
    return random_gets(KEYS[size], VALUE_BYTES, _published("get"))
