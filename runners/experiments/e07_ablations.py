"""Measure the proposals of the authors for the LSM store, one switch at a time, and the switches of reads together too.

The first setting of every switch is the store as reports 4 and 5 had it. The others differ from it in one thing;
settings of `reads` in one or in two, a factorial design.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runners.design.block import SLICE_S, WRITES_SLICE_S, Block, FixedRate, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.load import Shape, Size, Workload, by_size, hot_gets, random_gets, sized_puts
from runners.design.objective import CPU, THROUGHPUT, UNDISTURBED
from runners.design.session import FAULT, Session, Trial
from runners.design.setting import AS_PUBLISHED, BLOOM, CACHE, COMPACTION, FLUSH, MIB, WAL, old_lsm
from runners.experiments.question_table import answered_by
from runners.results.answer import Asked

VALUE_BYTES, REWRITES = 1_200, 2
KEYS = {"smoke": 2_000, "quick": 20_000, "published": 100_000, "full": 300_000}
SENT = {
    "put": "PUT of random keys",
    "get": "GET of keys that are there",
    "get-half": "GET of which every other key is absent",
    "get-hot": "GET of which nine in ten ask for a hundredth of the keys",
}
#: Relative changes that would matter, as the table of questions has them.
MARGINS = {THROUGHPUT: 0.05, CPU: 0.03, UNDISTURBED: 0.1}
#: Comparisons by request, and by slices.
COMPARED = by_size(
    Size("smoke", 0.2, 1.0, 0.5, starts=3), Size("quick", 0.5, 6.0, 2.0, starts=4),
    Size("published", 0.5, 8.0, 3.0, starts=4), Size("full", 1.0, 15.0, 10.0, starts=5),
)  # fmt: skip
SLICES = by_size(
    Size("smoke", 0.2, 0.5, 0.5, starts=3), Size("quick", 0.5, 2.5, 2.0, starts=4),
    Size("published", 0.5, 3.0, 3.0, starts=4), Size("full", 1.0, 10.0, 10.0, starts=5),
)  # fmt: skip
#: The loads at the end.
LOADS = by_size(
    Size("smoke", 0.3, 1.0, 0.5, 1.0), Size("quick", 2.0, 3.0, 2.0, 4.0), Size("published", 5.0, 60.0, 3.0, 20.0),
    Size("full", 10.0, 120.0, 10.0, 60.0),
)  # fmt: skip


def workload(name: str, size: str) -> Workload:
    """Return the workload of a switch, one of SENT."""
    keys = KEYS[size]
    return {
        "put": sized_puts(keys, VALUE_BYTES),
        "get": random_gets(keys, VALUE_BYTES, rewrites=REWRITES),
        "get-half": random_gets(keys, VALUE_BYTES, rewrites=REWRITES, absent_keys=keys),
        "get-hot": hot_gets(keys, VALUE_BYTES, REWRITES, keys // 100, 90),
    }[name]


@dataclass(frozen=True, slots=True)
class Switch:
    """A proposal that can be switched on: what it does, the workload, the quantity that it is to change, its levels.

    `levels` are flags by the ends of the settings' names; `questions` are keys of questions besides that of the cost.
    """

    name: str
    title: str
    what: str
    workload: str
    gain: str
    levels: Mapping[str, Mapping[str, str]]
    questions: tuple[str, ...] = ()

    def block(self, size: str, connections: int) -> Interleaved:
        """Return its settings compared: throughput by slices, CPU time and latency by request.

        CPU time is counted: where time is short it needs no loads alone for its level.
        """
        settings = tuple(old_lsm(f"{self.name}-{label}", flags) for label, flags in self.levels.items())
        slices = self.gain == THROUGHPUT
        plan = (SLICES if slices else COMPARED)[size]
        shape = plan.shape(connections, servers=len(settings) + 1 if slices else 1)
        slice_s = WRITES_SLICE_S if self.workload == "put" else SLICE_S
        return Interleaved(
            self.name, f"{self.title}: {self.what}; {SENT[self.workload]}", settings, settings[0].name,
            workload(self.workload, size), plan, shape, plan.starts, primary=self.gain,
            margin=MARGINS[self.gain], slice_s=slice_s if slices else 0.0, solo=size == "full" or self.gain != CPU,
            questions=(*self.questions, "costs"),
        )  # fmt: skip


SWITCHES = {switch.name: switch for switch in (
    Switch("reads", "Compaction and Bloom filters", "each alone, and both together", "get-half", THROUGHPUT, {
        "published": {}, "size-tiered": {COMPACTION: "size-tiered"}, "leveled": {COMPACTION: "leveled"},
        "bloom": {BLOOM: "10"}, "size-tiered-bloom": {COMPACTION: "size-tiered", BLOOM: "10"},
    }, ("size-tiered", "leveled", "bloom")),
    Switch("compaction", "Compaction", "tables are merged in the background", "get", THROUGHPUT,
           {mode: {COMPACTION: mode} for mode in ("off", "size-tiered", "leveled")}),
    Switch("bloom", "Bloom filters", "a filter of ten bits a key tells which tables need not be searched", "get-half",
           THROUGHPUT, {"off": {}, "10-bits": {BLOOM: "10"}}),
    Switch("cache", "Row cache", "values that are asked for often are kept on the heap", "get-hot", THROUGHPUT,
           {"off": {}, "32m": {CACHE: str(32 * MIB)}}, ("cache",)),
    Switch("flush", "Flush threshold", "the size at which what is in memory becomes a table", "put", THROUGHPUT, {
        "1m": {}, "64k": {FLUSH: str(MIB // 16)}, "16m": {FLUSH: str(16 * MIB)}, "128m": {FLUSH: str(128 * MIB)},
    }),
    Switch("wal", "Log", "each write is logged before its response", "put", THROUGHPUT,
           {mode: {WAL: mode} for mode in ("off", "buffered", "sync")}, ("wal-buffered", "wal-sync")),
    Switch("keys", "Bytes instead of Strings", "keys stay bytes from the socket to the store", "get", CPU,
           {"published": {AS_PUBLISHED: "string-keys"}, "direct": {}}, ("keys",)),
    Switch("copies", "Fewer copies", "a value is copied once, from where it lies to its response", "get", CPU,
           {"published": {AS_PUBLISHED: "copied-values"}, "direct": {}}),
    Switch("response", "Shared Response", "responses without a body are made once, as bytes", "put", CPU,
           {"published": {AS_PUBLISHED: "new-response"}, "direct": {}}, ("response",)),
    Switch("collector", "Garbage collector", "which collector the JVM runs", "put", UNDISTURBED,
           {label.lower(): {f"-XX:+Use{label}GC": ""} for label in ("G1", "Serial", "Parallel", "Z")}),
)}  # fmt: skip
#: Switches that a size has time for.
FIT, FITTING = "fit", {
    "smoke": ("reads", "response"), "quick": ("reads", "wal", "response"), "published": tuple(SWITCHES),
    "full": tuple(SWITCHES),
}  # fmt: skip
#: A response object that all requests share: broken, so that it is shown and not compared.
SHARED_RESPONSE, RESPONSES = old_lsm("response-shared", {AS_PUBLISHED: "shared-response"}), 1_000
ALL_ON = {WAL: "buffered", COMPACTION: "size-tiered", BLOOM: "10", CACHE: str(32 * MIB), FLUSH: str(64 * MIB)}


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return each switch, the response that breaks its client, and the published store with every switch on or none."""
    size, connections, given = str(asked["size"]), int(asked["connections"]), listed(asked["switches"])
    switches = [SWITCHES[name] for name in (FITTING[size] if FIT in given else given)]
    length_s = max(1.0, COMPARED[size].duration_s / 2)
    broken = Trial("fault-response-shared", FAULT, workload("put", size), None, Shape(1, 1, length_s))
    fault = FixedRate.known(
        "response-shared", "one response object for all requests, response by response",
        (Session(SHARED_RESPONSE, (broken,), heads=RESPONSES),), ("shared",),
    )  # fmt: skip
    together = FixedRate(
        "together", "the published store and every switch on, at one rate, with profiles",
        (old_lsm("lsm-as-published", {}), old_lsm("lsm-all-on", ALL_ON)), workload("get", size), LOADS[size],
        connections=connections, profile=listed(asked["profile"]), questions=("costs",),
    )  # fmt: skip
    shown = (fault,) if SWITCHES["response"] in switches else ()
    return (*(switch.block(size, connections) for switch in switches), *shown, together)


EXPERIMENT = Experiment(
    "07", "07_ablations.ipynb", "What the authors proposed, one switch at a time", "",
    (
        *without(LADDER, "rate_rps", "p99_ms"),
        Parameter("switches", FIT, "what is switched; fit: what the size has time for", choices=(FIT, *SWITCHES),
                  several=True),
        Parameter.connections(64, "connections of every load"),
    ),
    blocks,
    own_servers="it changes parts of the lab's server one by one",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.intervals import Direction
    from runners.results import comparisons, faults

    free = (Direction.HIGHER, Direction.SAME)
    return answered_by("07", {
        "size-tiered": comparisons.raises(
            THROUGHPUT, ("reads", "reads-size-tiered"), ("compaction", "compaction-size-tiered")
        ),
        "leveled": comparisons.raises(THROUGHPUT, ("reads", "reads-leveled"), ("compaction", "compaction-leveled")),
        "bloom": comparisons.raises(THROUGHPUT, ("reads", "reads-bloom"), ("bloom", "bloom-10-bits")),
        "keys": comparisons.differs(("keys",), "keys-direct", CPU, (Direction.LOWER,)),
        "cache": comparisons.differs(("cache",), "cache-32m", THROUGHPUT),
        "wal-buffered": comparisons.differs(("wal",), "wal-buffered", THROUGHPUT, free),
        "wal-sync": comparisons.differs(("wal",), "wal-sync", THROUGHPUT, free),
        "response": comparisons.differs(("response",), "response-direct", CPU, (Direction.LOWER,)),
        "shared": faults.shared_response,
        "costs": comparisons.costs_anything,
    })  # fmt: skip
