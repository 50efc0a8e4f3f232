"""Measure what the authors proposed for the LSM store, one switch at a time, and those of reads together too.

Every switch starts from the store as reports 4 and 5 had it: no log, no merging, no Bloom filter, no cache, a flush at
one mebibyte. The first setting of a switch is that store, the others differ from it in this one thing; those of `reads`
in one thing or in two, a factorial design.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runners.design.block import SLICE_S, WRITES_SLICE_S, Block, FixedRate, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, connections_parameter, listed, without
from runners.design.load import SCRIPTS, SIZES, Shape, Size, Starts, Workload
from runners.design.session import FAULT, Session, Trial
from runners.design.setting import Setting

if TYPE_CHECKING:
    from runners.claims.questions import Answering, Asked

VALUE_BYTES = 1_200
KEYS = {"smoke": 2_000, "quick": 20_000, "full": 300_000}
REWRITES = 2
HOT_SHARE, HOT_PERCENT = 100, 90  # a hundredth of the keys gets nine of ten requests
MIB = 1 << 20
#: The store of reports 4 and 5. A flag that is given again after these counts in their place.
PUBLISHED = {
    "--wal": "off", "--compaction": "off", "--bloom-bits-per-key": "0", "--cache-bytes": "0",
    "--flush-threshold-bytes": str(MIB),
}  # fmt: skip
#: What the loads send, in words.
SENT = {
    "put": "PUT of random keys",
    "get": "GET of keys that are there",
    "get-half": "GET of which every other key is absent",
    "get-hot": "GET of which nine in ten ask for a hundredth of the keys",
}
THROUGHPUT, CPU = "closed_loop_rps", "cpu_us"


@dataclass(frozen=True, slots=True)
class Switch:
    """One thing that can be had or not. `what` says what it does, `gain` is the quantity that it is about.

    `workload` names what is sent, `questions` what it answers.
    """

    name: str
    title: str
    what: str
    workload: str
    gain: str
    settings: tuple[Setting, ...]
    questions: tuple[str, ...] = ()

    def block(self, size: str, connections: int) -> Interleaved:
        """Its settings compared: throughput by slices, CPU time and latency by request.

        CPU time is counted, so that where time is short there are no loads alone for its level.
        """
        plan, slices = STARTS[size], self.gain == THROUGHPUT
        load_s = plan.server_s * (len(self.settings) + 1) if slices else plan.load_s
        slice_s = WRITES_SLICE_S if self.workload == "put" else SLICE_S
        return Interleaved(
            self.name, f"{self.title}: {self.what}; {SENT[self.workload]}", self.settings, self.settings[0].name,
            workload(self.workload, size), sized(size), Shape(connections, 1, load_s, plan.warmup_s),
            starts=plan.count, primary=self.gain, margin=MARGINS[self.gain], slice_s=slice_s if slices else 0.0,
            solo=size == "full" or self.gain != CPU, questions=self.questions,
        )  # fmt: skip


STARTS = {
    "smoke": Starts(3, 0.2, 1.0, 0.5),
    "quick": Starts(4, 0.5, 6.0, 2.5),
    "full": Starts(5, 1.0, 15.0, 10.0),
}
#: Relative changes that would matter, as the table of questions has them.
MARGINS = {THROUGHPUT: 0.05, CPU: 0.03, "p99_undisturbed_us": 0.1}


def sized(size: str) -> Size:
    """The lengths of a size, shorter where the loads of this experiment are."""
    return SIZES[size].lasting(*LOADS_S[size])


def _setting(name: str, more: dict[str, str] | None = None, jvm: tuple[str, ...] = ()) -> Setting:
    return Setting(name, "lsm", tuple(f"{flag}={value}" for flag, value in {**PUBLISHED, **(more or {})}.items()), jvm)


def _values(switch: str, flag: str, values: Iterable[tuple[str, str]]) -> tuple[Setting, ...]:
    return tuple(_setting(f"{switch}-{label}", {flag: value}) for label, value in values)


def _way(switch: str, way: str) -> tuple[Setting, Setting]:
    return _setting(f"{switch}-published", {"--as-published": way}), _setting(f"{switch}-direct")


def _collector(name: str, flag: str) -> Setting:
    return _setting(f"collector-{name}", jvm=(f"-XX:+Use{flag}",))


_COMPACTION, _BLOOM = "--compaction", "--bloom-bits-per-key"
SWITCHES = {
    switch.name: switch
    for switch in (
        Switch(
            "reads", "Compaction and Bloom filters", "each alone, and both together", "get-half", THROUGHPUT,
            (
                _setting("reads-published"), _setting("reads-size-tiered", {_COMPACTION: "size-tiered"}),
                _setting("reads-leveled", {_COMPACTION: "leveled"}), _setting("reads-bloom", {_BLOOM: "10"}),
                _setting("reads-size-tiered-bloom", {_COMPACTION: "size-tiered", _BLOOM: "10"}),
            ),
            ("size-tiered", "leveled", "bloom", "costs"),
        ),
        Switch(
            "compaction", "Compaction", "tables are merged in the background", "get", THROUGHPUT,
            _values("compaction", _COMPACTION, [(mode, mode) for mode in ("off", "size-tiered", "leveled")]),
            ("costs",),
        ),
        Switch(
            "bloom", "Bloom filters", "a filter of ten bits a key tells which tables need not be searched", "get-half",
            THROUGHPUT, _values("bloom", _BLOOM, [("off", "0"), ("10-bits", "10")]), ("costs",),
        ),
        Switch(
            "cache", "Row cache", "values that are asked for often are kept on the heap", "get-hot", THROUGHPUT,
            _values("cache", "--cache-bytes", [("off", "0"), ("32m", str(32 * MIB))]), ("costs",),
        ),
        Switch(
            "flush", "Flush threshold", "the size at which what is in memory becomes a table", "put", THROUGHPUT,
            _values(
                "flush", "--flush-threshold-bytes",
                [("1m", str(MIB)), ("64k", str(64 << 10)), ("16m", str(16 * MIB)), ("128m", str(128 * MIB))],
            ),
            ("costs",),
        ),
        Switch(
            "wal", "Log", "each write is logged before its response", "put", THROUGHPUT,
            _values("wal", "--wal", [(mode, mode) for mode in ("off", "buffered", "sync")]),
            ("wal-buffered", "wal-sync", "costs"),
        ),
        Switch(
            "keys", "Bytes instead of Strings", "keys stay bytes from the socket to the store", "get", CPU,
            _way("keys", "string-keys"), ("costs",),
        ),
        Switch(
            "copies", "Fewer copies", "a value is copied once, from where it lies to its response", "get", CPU,
            _way("copies", "copied-values"), ("costs",),
        ),
        Switch(
            "response", "Shared Response", "responses without a body are made once, as bytes", "put", CPU,
            _way("response", "new-response"), ("response", "costs"),
        ),
        Switch(
            "collector", "Garbage collector", "which collector the JVM runs", "put", "p99_undisturbed_us",
            (
                _collector("g1", "G1GC"), _collector("serial", "SerialGC"), _collector("parallel", "ParallelGC"),
                _collector("z", "ZGC"),
            ),
            ("costs",),
        ),
    )
}  # fmt: skip
#: A response object that all requests share: it is broken, and shown to be instead of compared.
SHARED_RESPONSE = _setting("response-shared", {"--as-published": "shared-response"})
RESPONSES = 1_000
#: The published store and the one with every switch on, which are profiled at the end.
TOGETHER = (
    _setting("lsm-as-published"),
    _setting(
        "lsm-all-on",
        {
            "--wal": "buffered", _COMPACTION: "size-tiered", _BLOOM: "10", "--cache-bytes": str(32 * MIB),
            "--flush-threshold-bytes": str(64 * MIB),
        },
    ),
)  # fmt: skip
#: Warm-up and length of the loads at the end, of their floor, and of a closed loop before, in seconds.
LOADS_S = {"smoke": (0.3, 1.0, 1.0, 0.5), "quick": (2.0, 3.0, 4.0, 2.0), "full": (10.0, 120.0, 60.0, 10.0)}
#: What fits the time of a size; the full one takes all.
FIT, FITTING = "fit", {"smoke": ("reads", "response"), "quick": ("reads", "wal", "response"), "full": tuple(SWITCHES)}


def chosen(names: str, size: str) -> list[Switch]:
    """The switches of a comma-separated list, or those that fit the size."""
    wanted = FITTING[size] if FIT in names.split(",") else tuple(names.split(","))
    return [SWITCHES[name] for name in wanted]


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


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Each switch, the response that breaks its client, and the store with every switch on beside the published one."""
    size, connections = str(asked["size"]), int(asked["connections"])
    switches = chosen(str(asked["switches"]), size)
    length_s = max(1.0, STARTS[size].load_s / 2)
    broken = Trial("fault-response-shared", FAULT, workload("put", size), None, Shape(1, 1, length_s))
    fault = FixedRate.known(
        "response-shared", "one response object for all requests, response by response",
        (Session(SHARED_RESPONSE, (broken,), heads=RESPONSES),), ("shared",),
    )  # fmt: skip
    together = FixedRate(
        "together", "the published store and every switch on, at one rate, with profiles", TOGETHER,
        workload("get", size), sized(size), connections=connections,
        profile=listed(asked["profile"]), questions=("costs",),
    )  # fmt: skip
    shown = (fault,) if any(each.name == "response" for each in switches) else ()
    return (*(each.block(size, connections) for each in switches), *shown, together)


EXPERIMENT = Experiment(
    "07", "07_ablations.ipynb", "What the authors proposed, one switch at a time", "",
    (
        *without(LADDER, "rate_rps", "p99_ms"),
        Parameter(
            "switches", FIT, "what is switched; fit: what the size has time for", choices=(FIT, *SWITCHES), several=True
        ),
        connections_parameter(64, "connections of every load"),
    ),
    blocks,
    own_servers="it changes parts of the lab's server one by one",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """What is asked of the switches, and what answers it."""
    from runners.analysis.treatments import Verdict
    from runners.claims import verdicts
    from runners.claims.interleaved import differs
    from runners.claims.questions import either
    from runners.experiments.question_table import answered_by

    def of_reads(setting: str, alone: str) -> Answering:
        """Does a setting raise GET throughput, in the factorial design or alone?"""
        factorial = differs(("reads",), f"reads-{setting}", THROUGHPUT)
        return either(factorial, differs(("compaction", "bloom"), alone, THROUGHPUT))

    free = (Verdict.HIGHER, Verdict.SAME)
    return answered_by("07", {
        "size-tiered": of_reads("size-tiered", "compaction-size-tiered"),
        "leveled": of_reads("leveled", "compaction-leveled"),
        "bloom": of_reads("bloom", "bloom-10-bits"),
        "wal-buffered": differs(("wal",), "wal-buffered", THROUGHPUT, free),
        "wal-sync": differs(("wal",), "wal-sync", THROUGHPUT, free),
        "response": differs(("response",), "response-direct", CPU, (Verdict.LOWER,)),
        "shared": verdicts.shared_response,
        "costs": verdicts.costs_anything,
    })  # fmt: skip
