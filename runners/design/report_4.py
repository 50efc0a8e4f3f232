"""What report 4 sent: PUT with large values, cold and warm; with small ones from 30 000/s on; GET on a filled store.

A file beside the experiment's own, as the list of experiments names these loads.
"""

from __future__ import annotations

from dataclasses import replace

from runners.design.block import Interleaved
from runners.design.load import SCRIPTS, Shape, Size, Starts, Workload
from runners.design.setting import Setting

LARGE_BYTES, SMALL_BYTES = 1_200, 120
PUBLISHED_RPS = 10_000
#: Keys in the store and keys that GET asks for, by size: 3 GB in the full one, as published.
STORED_KEYS = {"smoke": 2_000, "quick": 100_000, "full": 2_500_000}
ASKED_KEYS = {"smoke": 2_000, "quick": 100_000, "full": 300_000}
_PUT, _GET = SCRIPTS / "put.lua", SCRIPTS / "get_random.lua"
#: Of a cold server beside a warm one: no warm-up of the load itself, for its first requests are what is compared.
STARTS = {"smoke": Starts(1, 0.0, 0.5, 0.3), "quick": Starts(3, 0.0, 3.0, 2.0), "full": Starts(6, 0.0, 30.0, 10.0)}
#: Offered to one connection, of what it reaches in a closed loop, where a request costs less: nobody has to be woken.
#: At a half, the machine's stalls of the generator make a queue that takes too long to work off.
SHARE = 0.33
COMPARED, COLD, MARGIN = "cold-against-warm", "cold", 0.03
#: Offered to each: so little that a server keeps up with it whose code is interpreted still.
COLD_RPS = 300.0


def _put(name: str, value_bytes: int, published: str | None = None, published_rates: tuple[str, ...] = ()) -> Workload:
    rate = PUBLISHED_RPS if published else None
    return Workload(name, _PUT, published, rate, arguments=(str(value_bytes),), published_rates=published_rates)


#: The first load of a server that was just started on an empty store, and the same again.
PUT_COLD = _put("put-cold", LARGE_BYTES, "report-4/put-10000-cold")
PUT_WARM = _put("put-warm", LARGE_BYTES, "report-4/put-10000-warm")
PUT_LARGE = _put("put", LARGE_BYTES, published_rates=("report-4/put-10000-warm", "report-4/put-20000"))
PUT_SMALL = _put("put-small", SMALL_BYTES, published_rates=("report-4/put-30000", "report-4/put-45000"))


def get(size: str) -> Workload:
    """GET of random keys; the store is as large as published in the full size, smaller in the others."""
    return Workload(
        "get",
        _GET,
        filled_keys=STORED_KEYS[size],
        filled_value_bytes=LARGE_BYTES,
        arguments=(str(ASKED_KEYS[size]),),
        published_rates=("report-4/get-20000", "report-4/get-25000"),
    )


def cold_against_warm(warm: Setting, size: Size, connections: int) -> Interleaved:
    """The first requests of a new server and those of a warm one by one schedule, at a rate that both achieve."""
    plan, cold = STARTS[size.name], replace(warm, name=f"{warm.name}-{COLD}")
    return Interleaved(
        COMPARED, f"{PUT_LARGE.label} to a new server and to a warm one, request by request", (warm, cold), warm.name,
        PUT_LARGE, replace(size, probe_s=plan.server_s), Shape(connections, 1, plan.load_s, plan.warmup_s),
        starts=plan.count, rate_rps=COLD_RPS, margin=MARGIN, solo=False, loops=False, cold=(cold.name,),
        questions=("warm",),
    )  # fmt: skip
