"""Reproduce report 4: the LSM store at rising rates (a ladder), cold and warm, up to the knee and beyond."""

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import Block, FixedRate, Interleaved
from runners.design.experiment import LADDER, TARGET, Experiment, Parameter, Value, listed
from runners.design.ladder import WarmServer
from runners.design.load import PUBLISHED, SCRIPTS, SIZES, Size, Workload
from runners.design.session import step_name
from runners.design.setting import COMPACTION, ENGINES, FLUSH, MIB, Setting, old_lsm
from runners.design.target import shared_workloads, targets_of
from runners.design.two_generators import by_two_generators
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import ladders, plan_for, sizes
from runners.readers.published import with_rates
from runners.results.answer import Asked

#: The store as the author of report 4 had it: no compaction (line 50), no Bloom filter (proposed in line 211), a flush
#: at 128 MB (line 73), no log (by his code). Memtables lie outside the heap, so that 128 MB of heap are enough.
AUTHORS = old_lsm("lsm-author", {FLUSH: str(128 * MIB)})
#: What its author proposes in line 53, all else alike; and the lab's own store: with a log and a Bloom filter as well.
COMPACTING = old_lsm("lsm-compaction", {FLUSH: str(128 * MIB), COMPACTION: "size-tiered"})
LABS = Setting.of("lsm")
LARGE_BYTES, SMALL_BYTES = 1_200, 120
PUBLISHED_RPS = 10_000
#: By size, keys in the store and keys that GET asks for: as published (a store of 3 GB) in the last two sizes.
STORED_KEYS = {"smoke": 2_000, "quick": 100_000, PUBLISHED: 2_500_000, "full": 2_500_000}
ASKED_KEYS = {"smoke": 2_000, "quick": 100_000, PUBLISHED: 300_000, "full": 300_000}
#: By size of run, loads that compare a cold server with a warm one: no warm-up, since the first requests are compared.
COMPARED = sizes("04", "compared")
LADDERS = ladders("04")
#: By size of run, closed loops with and without compaction, on so many connections that it takes CPU from requests.
LOOPS, MANY = sizes("04", "loops"), 64
#: Keys written to a warm store before its load: 1.5 GB as published; short sizes have only the keys of earlier loads.
WARM_KEYS = {PUBLISHED: 1_250_000, "full": 1_250_000}
#: The offered rate on one connection, as a share of a closed loop's (where requests cost less, as no thread has to be
#: woken). At a half, a stall of the generator leaves a queue that takes long to work off. At 85 % (9 800/s, about the
#: published rate) the generator was late for a minute, and no latency could be quoted.
SHARE = 0.33
SHARES = {PUBLISHED: 0.5}
COLD_AGAINST_WARM, COLD, MARGIN = "cold-against-warm", "cold", 0.03
#: The rate offered to each server: so low that a server whose code is still interpreted keeps up.
COLD_RPS = 300.0


def _put(name: str, value_bytes: int, published: str | None = None, published_rates: tuple[str, ...] = ()) -> Workload:
    rate, given = PUBLISHED_RPS if published else None, (str(value_bytes),)
    return Workload(name, SCRIPTS / "put.lua", published, rate, arguments=given, published_rates=published_rates)


#: The first load of a server that was just started on an empty store, and the same load on the warm server.
PUT_COLD = _put("put-cold", LARGE_BYTES, "report-4/put-10000-cold")
PUT_WARM = _put("put-warm", LARGE_BYTES, "report-4/put-10000-warm")
PUT_LARGE = _put("put", LARGE_BYTES, published_rates=("report-4/put-10000-warm", "report-4/put-20000"))
PUT_SMALL = _put("put-small", SMALL_BYTES, published_rates=("report-4/put-30000", "report-4/put-45000"))


def get(size: str) -> Workload:
    """Return GET of random keys on a filled store; `size` (for example quick) decides how many keys."""
    return Workload(
        "get", SCRIPTS / "get_random.lua", filled_keys=STORED_KEYS[size], filled_value_bytes=LARGE_BYTES,
        arguments=(str(ASKED_KEYS[size]),), published_rates=("report-4/get-20000", "report-4/get-25000"),
    )  # fmt: skip


def filled(workload: Workload, size: Size) -> Workload:
    """Return the workload with a fill of its store before it, of as many keys as WARM_KEYS has for this size."""
    return replace(workload, filled_keys=WARM_KEYS.get(size.name, 0), filled_value_bytes=LARGE_BYTES)


def cold_against_warm(warm: Setting, size: Size, connections: int) -> Interleaved:
    """Return a comparison of a new server's first requests with requests to a warm server, both at COLD_RPS."""
    compared, cold = COMPARED[size.name], replace(warm, name=f"{warm.name}-{COLD}")
    return Interleaved(
        COLD_AGAINST_WARM, f"{PUT_LARGE.label} to a new server and to a warm one, request by request", (warm, cold),
        warm.name, filled(PUT_LARGE, size), compared, compared.shape(connections), compared.starts, COLD_RPS,
        margin=MARGIN, solo=False, loops=False, cold=(cold.name,), questions=("warm",),
    )  # fmt: skip


def compaction(size: str) -> FixedRate:
    """Return rounds of closed PUT loops on three stores: the author's, the author's with compaction, and the lab's."""
    title = "PUT of 1200 bytes in closed loop on many connections, with compaction and without"
    stores, asked = (AUTHORS, COMPACTING, LABS), ("compaction",)
    return FixedRate.rounds("compaction", title, stores, ((PUT_LARGE, (MANY,)),), LOOPS[size], asked)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: cold and warm, rates around knees, compaction's cost, and wrk2."""
    size = SIZES[str(asked["size"])]
    connections, events = int(asked["connections"]), listed(asked["profile"])
    plan = plan_for(asked, LADDERS, profile=events, questions=("rates", "polling", "handling", "45k", "beyond"))

    def ladder(name: str, title: str, workload: Workload, setting: Setting) -> Block:
        own = replace(plan, published=with_rates(workload.published_rates))
        return own.block(name, f"{title}: the knee, and rates around it", WarmServer(setting, workload, size))

    def cold_and_warm(sent: str, settings: tuple[Setting, ...], cold: Workload, warm: Workload) -> Block:
        return FixedRate(
            "cold-and-warm", f"{sent} from the first request of a new server, then the same on the warm one", settings,
            warm, size, float(asked["rate_rps"]), connections, profile=events, share=SHARES.get(size.name, SHARE),
            cold=cold, questions=("flush", "parsing", "cold"),
        )  # fmt: skip

    if targets := targets_of(str(asked["target"])):
        loads = shared_workloads(targets)
        first = loads[0][1]
        cold, warm = (replace(first, name=f"{first.name}-{state}") for state in ("cold", "warm"))
        return (
            cold_and_warm(first.label, tuple(file.setting for file in targets), cold, warm),
            *(
                ladder(step_name(name, file.name), f"{workload.label} of {file.name}", workload, file.setting)
                for name, workload in loads
                for file in targets
            ),
        )
    setting = AUTHORS if asked["engine"] == LABS.name else Setting.of(str(asked["engine"]))
    return (
        cold_and_warm("PUT of 1200 bytes", (setting,), PUT_COLD, filled(PUT_WARM, size)),
        cold_against_warm(setting, size, connections),
        ladder("put", "PUT of 1200 bytes", PUT_LARGE, setting),
        ladder("put-small", "PUT of 120 bytes", PUT_SMALL, setting),
        ladder("get", "GET on a filled store", get(size.name), setting),
        *([compaction(size.name)] if setting == AUTHORS and size.name in LOOPS else []),
        by_two_generators(setting, PUT_LARGE, size.name, connections),
    )


EXPERIMENT = Experiment(
    "04", "04_lsm_rate_ladder.ipynb", "Rate ladder of the LSM store: cold, warm, and beyond the knee", "report-4",
    (
        *LADDER,
        Parameter("engine", LABS.name, "the store; lsm: as the author had it", choices=tuple(ENGINES)),
        Parameter.connections(1, "connections of the load; 1 as published"),
        TARGET,
    ),
    blocks, (PUT_COLD, PUT_WARM),
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.facts import achieved_rps, cpu_us
    from runners.results import comparisons, knees, profiles, published, tails
    from runners.results.loads import more_than

    authors, compacting, labs = ((setting.name, MANY, PUT_LARGE.name) for setting in (AUTHORS, COMPACTING, LABS))
    return answered_by("04", {
        "rates": knees.published_rates,
        "warm": comparisons.differs(
            (COLD_AGAINST_WARM,), None, "p50_us",
            loads_alone=((AUTHORS.name, PUT_WARM.name), (AUTHORS.name, PUT_COLD.name)),
        ),
        "polling": profiles.polling_halves,
        "handling": profiles.takes_most(("get",), AUTHORS.name, profiles.HANDLING_CPU),
        "parsing": profiles.takes_most((PUT_WARM.name,), AUTHORS.name, profiles.PARSING_BYTES),
        "flush": tails.stays_in_memory(PUT_WARM.name, LARGE_BYTES, 128 * MIB),
        "compaction": more_than(
            "PUT rate with compaction, as a multiple of that without:", compacting, authors,
            (cpu_us, "CPU per PUT with compaction, as a multiple of that without:", compacting, authors),
            (achieved_rps, "PUT rate with log and Bloom filter too (the lab's store), as a multiple:", labs, authors),
            (cpu_us, "CPU per PUT of that store, as a multiple:", labs, authors), lower=True,
        ),
        "cold": published.leaves_out_a_cold_start("put-cold"),
        "45k": published.taken_at_another_rate,
        "beyond": published.beyond_the_knee,
    })  # fmt: skip
