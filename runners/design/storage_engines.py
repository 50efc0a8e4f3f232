"""The stores side by side: as published and as tuned, random writes and reads of the same keys."""

from __future__ import annotations

import dataclasses

from runners.design.ladder import LadderSize
from runners.design.load import SCRIPTS, SIZES, Size, Starts, Workload, random_gets
from runners.design.setting import ENGINES, Setting

VALUE_BYTES = 1_200
#: Keys of the store, by size: with their values 1 GiB in the full one.
KEYS = {"smoke": 2_000, "quick": 16_000, "full": 860_000}
#: How often the fill writes each key again, so that there is something to merge and to drop.
REWRITES = 2
#: A store on the heap needs one that holds the whole of it.
MEMORY_HEAP_MB = {"full": 4_096}
STORES = {
    setting.name: setting
    for setting in (
        Setting.of("rocksdb"),
        Setting("rocksdb-tuned", "rocksdb", ("--preset=tuned",)),
        *(Setting.of(engine) for engine in ENGINES if engine != "rocksdb"),
    )
}
#: What the others are held against: the store of report 1, as published.
REFERENCE = "rocksdb"
#: What a store could achieve if storing took no time.
CEILING = "noop"
#: Two stores whose profiles are set against each other, at one rate.
PROFILED = (STORES["rocksdb"], STORES["lsm"])
LADDERS = {
    "smoke": LadderSize(0, 1.0, 0.2, (0.4, 1.2), (), 1.0),
    "quick": LadderSize(0.26, 0.3, 0.15, (), (), 1.5, precision=0.15, starts=3),
    "full": LadderSize(6, 0.5, 2.0, (0.5, 0.7, 0.9, 1.0, 1.1), (0.7,), 60.0, starts=3),
}
#: Of the loads at one rate, in seconds: warm-up and length, their floor, and a closed loop before.
LOADS_S = {"smoke": (0.3, 1.0, 1.0, 0.7), "quick": (0.5, 2.0, 3.1, 0.7), "full": (15.0, 120.0, 60.0, 15.0)}
#: Of these two by one schedule, and the difference of medians that would matter. Smoke answers nothing: one start.
COMPARED = {"smoke": ("get",), "quick": ("put", "get"), "full": ("put", "get")}
STARTS = {"smoke": Starts(1, 0.1, 0.5, 0.3), "quick": Starts(3, 0.3, 2.0, 0.4), "full": Starts(6, 2.0, 15.0, 5.0)}
MARGIN = 0.03
#: Stores that are read in the quick size, as a fill goes before, and one that is not written to: no question asks it.
READ, NOT_WRITTEN = (REFERENCE, "lsm"), ("memory",)


def measured(chosen: list[Setting], workload: Workload, size: str) -> list[Setting]:
    """The stores whose knees a size has time for; where it has time for none that was chosen, all of them."""
    if size != "quick":
        return chosen
    fit = [each for each in chosen if (each.name in READ if workload.filled_keys else each.name not in NOT_WRITTEN)]
    return fit or chosen


def sized(size: str) -> Size:
    """The lengths of a size, as this experiment has time for them."""
    return SIZES[size].lasting(*LOADS_S[size])


def settings(names: str, size: str) -> list[Setting]:
    """The stores of a comma-separated list, in its order."""
    chosen = [STORES[name] for name in names.split(",")]
    heap_mb = MEMORY_HEAP_MB.get(size, 0)
    return [dataclasses.replace(each, heap_mb=heap_mb) if each.engine == "memory" else each for each in chosen]


def put(size: str) -> Workload:
    """PUT of random keys of a fixed set, so that a store on the heap has room for all of them."""
    return Workload("put", SCRIPTS / "put_sized.lua", arguments=(str(KEYS[size]), str(VALUE_BYTES)))


def get(size: str) -> Workload:
    """GET of random keys that are all there, in a store where each was written several times."""
    return random_gets(KEYS[size], VALUE_BYTES, rewrites=REWRITES)
