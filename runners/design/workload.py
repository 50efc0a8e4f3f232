"""A workload: which requests are sent, and what was published for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FILL_VALUE_BYTES = 120
#: Writes per second that a plan expects of a store until the run has seen what it takes. For the progress only.
FILL_RPS = 35_000.0
SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@dataclass(frozen=True, slots=True)
class Workload:
    """What one load sends.

    `published` names the console output of the report that used it (`report-1/put`), `published_rate_rps` the
    offered rate it was run at. `filled_keys` is how many keys the store must hold before, ids from 1, each with a value
    of `filled_value_bytes`. `arguments` go to the script. `published_rates` are outputs of a ladder, a rate each.
    `rewrites` is how often the fill writes each key again, and then waits until the store is at rest. `fill_with` sends
    the requests that write the keys, one each; None: those of the lab's own server. `script` None: GET `path`, the same
    again and again.
    """

    name: str
    script: Path | None
    published: str | None = None
    published_rate_rps: float | None = None
    filled_keys: int = 0
    filled_value_bytes: int = FILL_VALUE_BYTES
    arguments: tuple[str, ...] = ()
    published_rates: tuple[str, ...] = ()
    rewrites: int = 0
    fill_with: Workload | None = None
    path: str = ""

    @property
    def label(self) -> str:
        return self.name.upper()

    @property
    def fill(self) -> Workload | None:
        """What is written before it: itself, where it reads keys that have to be there."""
        return self if self.filled_keys else None

    def fill_s(self, writes_rps: float = FILL_RPS) -> float:
        """About how long it takes to write the filled keys as often as they are written."""
        return (1 + self.rewrites) * self.filled_keys / writes_rps

    @property
    def filled_bytes(self) -> int:
        """Bytes of the filled keys, their digits, with their values, each once."""
        digits, first = 0, 1
        while first <= self.filled_keys:
            digits += len(str(first)) * (min(self.filled_keys, 10 * first - 1) - first + 1)
            first *= 10
        return digits + self.filled_keys * self.filled_value_bytes


def random_gets(keys: int, value_bytes: int, published_rates: tuple[str, ...] = (), rewrites: int = 0) -> Workload:
    """GET of random keys of a filled store: all that it asks for are there."""
    return Workload(
        "get",
        SCRIPTS / "get_random.lua",
        filled_keys=keys,
        filled_value_bytes=value_bytes,
        arguments=(str(keys),),
        published_rates=published_rates,
        rewrites=rewrites,
    )


#: Report 1: the id counts from 1, the value is its digits.
PUT = Workload("put", SCRIPTS / "put.lua", published="report-1/put", published_rate_rps=25_000)
#: Report 1: random ids of 1..10000 on a filled store.
GET = Workload("get", SCRIPTS / "get.lua", published="report-1/get", published_rate_rps=22_000, filled_keys=10_000)
#: One fixed GET, which every generator can send.
FIXED_GET = Workload("get", None, path="/v0/entity?id=1")
#: Writes ids 1..n once each.
FILL = Workload("fill", SCRIPTS / "fill.lua")

#: What `lab knee` and `lab compare` can send, by name.
WORKLOADS = {workload.name: workload for workload in (PUT, GET)}
