"""Measure the changes to the LSM store that report 4 proposed: each alone, and some of them together."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from runners.design.block import SLICE_S, WRITES_SLICE_S, Block, FixedRate, Interleaved
from runners.design.experiment import LADDER, Experiment, Parameter, Value, listed, without
from runners.design.load import Shape, Workload, hot_gets, random_gets, sized_puts
from runners.design.objective import CPU, THROUGHPUT, UNDISTURBED
from runners.design.session import FAULT, Session, Trial
from runners.design.setting import AS_PUBLISHED, BLOOM, CACHE, COMPACTION, FLUSH, MIB, WAL, old_lsm
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import sizes
from runners.results.answer import Answering, Asked, either, with_more

VALUE_BYTES, REWRITES = 1_200, 2
KEYS = {"smoke": 2_000, "quick": 20_000, "published": 100_000, "full": 300_000}
SENT = {
    "put": "PUT of random keys",
    "get": "GET of keys that are there",
    "get-half": "GET of which every other key is absent",
    "get-hot": "GET of which nine in ten ask for a hundredth of the keys",
}
#: By primary quantity, the relative change that would matter, as in questions.toml.
MARGINS = {THROUGHPUT: 0.05, CPU: 0.03, UNDISTURBED: 0.1}
COMPARED = sizes("07", "compared")
SLICES = sizes("07", "slices")
LOADS = sizes("07", "loads")


def workload(name: str, size: str) -> Workload:
    """Return the workload that SENT describes under this name, with a size's number of keys."""
    keys = KEYS[size]
    return {
        "put": sized_puts(keys, VALUE_BYTES),
        "get": random_gets(keys, VALUE_BYTES, rewrites=REWRITES),
        "get-half": random_gets(keys, VALUE_BYTES, rewrites=REWRITES, absent_keys=keys),
        "get-hot": hot_gets(keys, VALUE_BYTES, REWRITES, keys // 100, 90),
    }[name]


class Switch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change to the store that the authors proposed, as switches.toml describes it."""

    title: str
    what: str  # a description of its levels
    workload: str  # a key of SENT
    gain: str  # the quantity that it should improve
    levels: dict[str, dict[str, str]]  # flags by label; the first is the baseline
    questions: tuple[str, ...] = ()

    def block(self, name: str, size: str, connections: int) -> Interleaved:
        """Return a comparison of the switch's levels: by slices of time if its gain is throughput, else by request."""
        settings = tuple(old_lsm(f"{name}-{label}", flags) for label, flags in self.levels.items())
        slices = self.gain == THROUGHPUT
        plan = (SLICES if slices else COMPARED)[size]
        shape = plan.shape(connections, servers=len(settings) + 1 if slices else 1)
        slice_s = WRITES_SLICE_S if self.workload == "put" else SLICE_S
        return Interleaved(
            name, f"{self.title}: {self.what}; {SENT[self.workload]}", settings, settings[0].name,
            workload(self.workload, size), plan, shape, plan.starts, primary=self.gain,
            margin=MARGINS[self.gain], slice_s=slice_s if slices else 0.0, solo=size == "full" or self.gain != CPU,
            questions=(*self.questions, "costs"),
        )  # fmt: skip


SWITCHES = msgspec.toml.decode(Path(__file__).with_name("switches.toml").read_bytes(), type=dict[str, Switch])
FIT, FITTING = "fit", {
    "smoke": ("reads", "response"), "quick": ("reads", "wal", "response"), "published": tuple(SWITCHES),
    "full": tuple(SWITCHES),
}  # fmt: skip
#: A setting whose requests share one response object, which breaks clients: so its responses are shown, not compared.
SHARED_RESPONSE, RESPONSES = old_lsm("response-shared", {AS_PUBLISHED: "shared-response"}), 1_000
#: All switches on. Most of a heap of 128 MB stays free; with a flush at 64 MiB the collector made most of the tail.
ALL_ON = {WAL: "buffered", COMPACTION: "size-tiered", BLOOM: "10", CACHE: str(32 * MIB), FLUSH: str(16 * MIB)}


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: every switch, the shared response, all switches against none."""
    size, connections, given = str(asked["size"]), int(asked["connections"]), listed(asked["switches"])
    names = FITTING[size] if FIT in given else given
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
    shown = (fault,) if "response" in names else ()
    return (*(SWITCHES[name].block(name, size, connections) for name in names), *shown, together)


EXPERIMENT = Experiment(
    "07", "07_ablations.ipynb", "What report 4 proposed, one switch at a time", "",
    (
        *without(LADDER, "rate_rps", "p99_ms"),
        Parameter("switches", FIT, "what is switched; fit: what the size has time for", choices=(FIT, *SWITCHES),
                  several=True),
        Parameter.connections(64, "connections of every load"),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.intervals import Direction
    from runners.results import comparisons, faults

    free = (Direction.HIGHER, Direction.SAME)

    def raised(by: str) -> Answering:
        return either(*(comparisons.differs((of,), f"{of}-{by}", THROUGHPUT) for of in ("reads", "compaction")))

    def saves_cpu(block: str) -> Answering:
        direct, lower = f"{block}-direct", (Direction.LOWER,)
        return with_more(*(comparisons.differs((block,), direct, of, lower) for of in (CPU, "allocated_bytes")))

    return answered_by("07", {
        "size-tiered": raised("size-tiered"),
        "leveled": raised("leveled"),
        "bloom": with_more(raised("bloom"), raised("bloom-128m")),
        "keys": saves_cpu("keys"),
        "flush": with_more(*(comparisons.differs(("flush",), f"flush-{size}", THROUGHPUT) for size in ("128m", "16m"))),
        "cache": comparisons.differs(("cache",), "cache-32m", THROUGHPUT),
        "wal-buffered": comparisons.differs(("wal",), "wal-buffered", THROUGHPUT, free),
        "wal-sync": comparisons.differs(("wal",), "wal-sync", THROUGHPUT, free),
        "response": saves_cpu("response"),
        "shared": faults.shared_response,
        "costs": comparisons.costs_anything,
    }, source="report 4")  # fmt: skip
