"""What the authors of the reports proposed for the LSM store and its server, one switch at a time.

Every switch starts from the store as reports 4 and 5 had it: no log, no merging, no Bloom filter, no cache, a flush at
one mebibyte. The first setting of a switch is that store, the others differ from it in this one thing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from runners.design.setting import Setting
from runners.design.size import AROUND_A_LOAD_S, WARM_UP_S, Size
from runners.design.workload import SCRIPTS, Workload

VALUE_BYTES = 1_200
KEYS = {"smoke": 2_000, "quick": 30_000, "full": 300_000}
REWRITES = 2
HOT_SHARE, HOT_PERCENT = 100, 90  # a hundredth of the keys gets nine of ten requests
MIB = 1 << 20
#: The store of reports 4 and 5. A flag that is given again after these counts in their place.
PUBLISHED = {
    "--wal": "off",
    "--compaction": "off",
    "--bloom-bits-per-key": "0",
    "--cache-bytes": "0",
    "--flush-threshold-bytes": str(MIB),
}
#: What the loads send, in words.
SENT = {
    "put": "PUT of random keys",
    "get": "GET of keys that are there",
    "get-half": "GET of which every other key is absent",
    "get-hot": "GET of which nine in ten ask for a hundredth of the keys",
}
STORE, REQUEST, MACHINE = "store", "request", "machine"


@dataclass(frozen=True, slots=True)
class Switch:
    """One thing that can be had or not. `what` says what it does, `gain` is the quantity that it is about.

    `workload` names what is sent, `group` where in the notebook it stands. `buys` says what a setting gives that no
    quantity shows, by its name. `fault` is a setting that is broken, and shown to be instead of compared.
    """

    name: str
    title: str
    what: str
    group: str
    workload: str
    gain: str
    settings: tuple[Setting, ...]
    buys: tuple[tuple[str, str], ...] = ()
    fault: Setting | None = None


@dataclass(frozen=True, slots=True)
class Rounds:
    """How the rounds of one size are taken: how many, and the seconds of each repeat."""

    count: int
    closed_s: float
    warmup_s: float
    load_s: float
    see: float

    def repeat_s(self) -> float:
        """About how long one repeat takes, with its server's start."""
        return self.closed_s + self.warmup_s + self.load_s + AROUND_A_LOAD_S


ROUNDS = {
    "smoke": Rounds(4, 0.5, 0.2, 0.7, 0.10),
    "quick": Rounds(4, 1.6, 0.3, 1.2, 0.05),
    "full": Rounds(15, 5.0, 1.0, 10.0, 0.02),
}


def _setting(name: str, more: dict[str, str] | None = None, jvm: tuple[str, ...] = ()) -> Setting:
    return Setting(name, "lsm", tuple(f"{flag}={value}" for flag, value in {**PUBLISHED, **(more or {})}.items()), jvm)


def _values(switch: str, flag: str, values: Iterable[tuple[str, str]]) -> tuple[Setting, ...]:
    return tuple(_setting(f"{switch}-{label}", {flag: value}) for label, value in values)


def _way(switch: str, way: str) -> tuple[Setting, Setting]:
    return _setting(f"{switch}-published", {"--as-published": way}), _setting(f"{switch}-direct")


def _collector(name: str, flag: str) -> Setting:
    return _setting(f"collector-{name}", jvm=(f"-XX:+Use{flag}",))


SWITCHES = {
    switch.name: switch
    for switch in (
        Switch(
            "compaction", "Compaction", "tables are merged in the background", STORE, "get", "closed_loop_rps",
            _values("compaction", "--compaction", [(mode, mode) for mode in ("off", "size-tiered", "leveled")]),
        ),
        Switch(
            "bloom", "Bloom filters", "a filter of ten bits a key tells which tables need not be searched", STORE,
            "get-half", "closed_loop_rps", _values("bloom", "--bloom-bits-per-key", [("off", "0"), ("10-bits", "10")]),
        ),
        Switch(
            "cache", "Row cache", "values that are asked for often are kept on the heap", STORE, "get-hot",
            "closed_loop_rps", _values("cache", "--cache-bytes", [("off", "0"), ("32m", str(32 * MIB))]),
        ),
        Switch(
            "flush", "Flush threshold", "the size at which what is in memory becomes a table", STORE, "put",
            "closed_loop_rps",
            _values(
                "flush", "--flush-threshold-bytes",
                [("1m", str(MIB)), ("64k", str(64 << 10)), ("16m", str(16 * MIB)), ("128m", str(128 * MIB))],
            ),
        ),
        Switch(
            "wal", "Log", "each write is logged before it is answered", STORE, "put", "closed_loop_rps",
            _values("wal", "--wal", [(mode, mode) for mode in ("off", "buffered", "sync")]),
            (
                ("wal-buffered", "a killed process loses nothing that was answered"),
                ("wal-sync", "a machine without power loses nothing that was answered"),
            ),
        ),
        Switch(
            "keys", "Bytes instead of Strings", "keys stay bytes from the socket to the store", REQUEST, "get",
            "cpu_us", _way("keys", "string-keys"),
        ),
        Switch(
            "copies", "Fewer copies", "a value is copied once, from where it lies to its answer", REQUEST, "get",
            "cpu_us", _way("copies", "copied-values"),
        ),
        Switch(
            "response", "Shared Response", "answers without a body are made once, as bytes", REQUEST, "put", "cpu_us",
            _way("response", "new-response"), fault=_setting("response-shared", {"--as-published": "shared-response"}),
        ),
        Switch(
            "collector", "Garbage collector", "which collector the JVM runs", MACHINE, "put", "p99_us",
            (
                _collector("g1", "G1GC"), _collector("serial", "SerialGC"), _collector("parallel", "ParallelGC"),
                _collector("z", "ZGC"),
            ),
        ),
    )
}  # fmt: skip
#: The published store and the one with every switch on, which are profiled at the end.
TOGETHER = Switch(
    "together", "All together", "every switch of the store at once", STORE, "get", "closed_loop_rps",
    (
        _setting("lsm-as-published"),
        _setting(
            "lsm-all-on",
            {
                "--wal": "buffered", "--compaction": "size-tiered", "--bloom-bits-per-key": "10",
                "--cache-bytes": str(32 * MIB), "--flush-threshold-bytes": str(64 * MIB),
            },
        ),
    ),
)  # fmt: skip
#: Warm-up, length and floor of the loads at the end, in seconds; the floor tells by whole seconds what it resolves.
LOADS_S = {"smoke": (0.3, 1.0, 1.0), "quick": (0.5, 2.5, 5.0), "full": (10.0, 120.0, 60.0)}
#: What fits the time of a size; the full one takes all.
FIT, FITTING = "fit", {
    "smoke": ("bloom", "response"),
    "quick": ("compaction", "bloom", "wal", "response"),
    "full": tuple(SWITCHES),
}  # fmt: skip
_AROUND_A_FILL_S = 2.0  # in which its server starts; for the progress only


def chosen(names: str, size: str, group: str | None = None) -> list[Switch]:
    """The switches of a comma-separated list, or those that fit the size; of one group, if one is given."""
    wanted = FITTING[size] if FIT in names.split(",") else tuple(names.split(","))
    return [switch for switch in (SWITCHES[name] for name in wanted) if group in (None, switch.group)]


def workload(name: str, size: str) -> Workload:
    """What a switch is measured with: `put`, `get`, `get-half` (every other key is absent) or `get-hot`."""
    keys = KEYS[size]
    if name == "put":
        return Workload(name, SCRIPTS / "put_sized.lua", arguments=(str(keys), str(VALUE_BYTES)))
    script, arguments = {
        "get": ("get_random.lua", (str(keys),)),
        "get-half": ("get_random.lua", (str(2 * keys),)),
        "get-hot": ("get_hot.lua", (str(keys), str(keys // HOT_SHARE), str(HOT_PERCENT))),
    }[name]
    return Workload(
        name, SCRIPTS / script, filled_keys=keys, filled_value_bytes=VALUE_BYTES, arguments=arguments, rewrites=REWRITES
    )


def planned_s(size: Size) -> float:
    """About how long the switches that fit a size take."""
    rounds, seconds = ROUNDS[size.name], 0.0
    for switch in chosen(FIT, size.name):
        many = len(switch.settings)
        seconds += many * rounds.count * rounds.repeat_s() + many * (rounds.closed_s + AROUND_A_LOAD_S)
        if switch.workload != "put":
            seconds += many * _fill_s(size)
        if switch.fault is not None:
            seconds += rounds.load_s + 2 * AROUND_A_LOAD_S
    warmup_s, load_s, floor_s = LOADS_S[size.name]
    loads = 4 * (warmup_s + load_s + AROUND_A_LOAD_S) + warmup_s + floor_s + AROUND_A_LOAD_S
    fills = 2 * (_fill_s(size) + rounds.closed_s + AROUND_A_LOAD_S)
    return seconds + loads + fills + 2 * WARM_UP_S[size.name]


def _fill_s(size: Size) -> float:
    return workload("get", size.name).fill_s() + _AROUND_A_FILL_S
