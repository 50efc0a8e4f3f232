"""The description of a load: its requests and the published outputs for them, its rate, connections and length."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from runners.errors import PlanError

#: Writes per second that a plan expects of a store until the run has measured them; only for the progress.
FILL_RPS = 35_000.0
SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
#: The name of the workload of GETs that read absent keys half of the time, so that half of the responses are 404.
HALF_ABSENT = "get-half"


@dataclass(frozen=True, slots=True)
class Workload:
    """The requests of one load, and the keys that the store must hold before the load."""

    name: str
    script: Path | None  # Lua; None: a GET of `path` again and again
    published: str | None = None  # name of the console output of this load in its report
    published_rate_rps: float | None = None
    filled_keys: int = 0  # keys 1 to this are in the store before the load
    filled_value_bytes: int = 120
    arguments: tuple[str, ...] = ()  # of the script
    published_rates: tuple[str, ...] = ()  # names of published outputs at several rates
    rewrites: int = 0  # how often the fill writes every key again
    fill_with: "Workload | None" = None  # requests that fill a foreign server
    path: str = ""  # of the GET, if there is no script

    @property
    def label(self) -> str:
        return self.name.upper()

    @property
    def expected_status(self) -> tuple[str, ...]:
        """Expected status codes of 400 and above: 404 for the workload that reads absent keys."""
        return ("404",) if (self.name, self.script) == (HALF_ABSENT, SCRIPTS / "get_random.lua") else ()

    @property
    def fill(self) -> "Workload | None":
        """The workload whose keys are written before the load: this one if it has filled keys, else None."""
        return self if self.filled_keys else None

    def fill_s(self, writes_rps: float = FILL_RPS) -> float:
        """Return the seconds that the fill is planned to take, rewrites included."""
        return (1 + self.rewrites) * self.filled_keys / writes_rps

    @property
    def filled_bytes(self) -> int:
        """Bytes of the filled keys (in decimal digits) and of their values, counted once despite rewrites."""
        keys = self.filled_keys
        digits: int = sum(keys - 10**place + 1 for place in range(len(str(keys))))  # keys with a digit in each place
        return digits + self.filled_keys * self.filled_value_bytes


def sized_puts(keys: int, value_bytes: int) -> Workload:
    """Return a workload: PUTs of values of `value_bytes` bytes to random keys from 1 to `keys`."""
    return Workload("put", SCRIPTS / "put_sized.lua", arguments=(str(keys), str(value_bytes)))


def random_gets(
    keys: int, value_bytes: int, published_rates: tuple[str, ...] = (), rewrites: int = 0, absent_keys: int = 0
) -> Workload:
    """Return a workload: GETs of random keys of a filled store, and of `absent_keys` more keys that the store lacks.

    `published_rates`: names of published outputs at several rates. `rewrites`: how often the fill rewrites all keys.
    """
    return Workload(
        HALF_ABSENT if absent_keys else "get", SCRIPTS / "get_random.lua", filled_keys=keys,
        filled_value_bytes=value_bytes, arguments=(str(keys + absent_keys),), published_rates=published_rates,
        rewrites=rewrites,
    )  # fmt: skip


def hot_gets(keys: int, value_bytes: int, rewrites: int, hot_keys: int, hot_percent: int) -> Workload:
    """Return a workload: GETs of random keys of a filled store; `hot_percent` % of them read the first `hot_keys`."""
    gets, arguments = random_gets(keys, value_bytes, rewrites=rewrites), (str(keys), str(hot_keys), str(hot_percent))
    return replace(gets, name="get-hot", script=SCRIPTS / "get_hot.lua", arguments=arguments)


PUT = Workload("put", SCRIPTS / "put.lua", published="report-1/put", published_rate_rps=25_000)
#: Report 1: random ids of 1..10000 on a filled store.
GET = Workload("get", SCRIPTS / "get.lua", published="report-1/get", published_rate_rps=22_000, filled_keys=10_000)
#: One fixed GET, which every generator can send.
FIXED_GET = Workload("get", None, path="/v0/entity?id=1")
FILL = Workload("fill", SCRIPTS / "fill.lua")

WORKLOADS = {workload.name: workload for workload in (PUT, GET)}

#: Seconds besides the load itself: launch, profiler, conversion, drawing. For progress only.
AROUND_A_LOAD_S = 2.0
#: wrk2 leaves its first ten seconds (and 5 ms a connection) out of the histogram, not out of its request count.
WRK2_CALIBRATION_S, WRK2_CALIBRATION_A_CONNECTION_S = 10.0, 0.005
#: A warm-up is made of closed loops of BURST_S seconds, and takes at most WARM_BOUND times its planned length.
BURST_S, WARM_BOUND = 2.0, 1.6
#: A fixed small load before each campaign, the same in every size and experiment, so that runs can be compared:
#: an unusual latency of it shows that the machine is not as usual.
SENTINEL = "sentinel"
#: The sentinel of runs that start none of the lab's servers: it loads the generator's own server that does nothing.
NATIVE_SENTINEL = "sentinel-native"
SENTINEL_RPS, SENTINEL_WARMUP_S, SENTINEL_S = 2_000.0, 1.0, 3.0
SENTINEL_PLANNED_S = SENTINEL_WARMUP_S + SENTINEL_S + AROUND_A_LOAD_S
#: The share of a closed loop's rate that is offered by default. Above it, a stall of milliseconds leaves a queue that
#: drains slowly, so that stalls dominate the tail of response times.
STABLE_SHARE = 0.50
ROUND_TO_RPS = 100


@dataclass(frozen=True, slots=True)
class Shape:
    """Connections, threads and length of a load. Raises PlanError for more threads than connections."""

    connections: int = 1
    threads: int = 1
    duration_s: float | None = None
    warmup_s: float | None = None
    requests: int | None = None  # that end the load, in place of a duration

    def __post_init__(self) -> None:
        if not 1 <= self.threads <= self.connections:
            thing = f"{self.connections} connections on {self.threads} threads"
            raise PlanError(thing, "each thread needs a connection", "give at least as many connections as threads")


@dataclass(frozen=True, slots=True)
class Rate:
    """An offered rate and why it was chosen."""

    rps: float
    basis: str


def choose_rate(
    published_rps: float | None, capacity_rps: Mapping[str, float], given_rps: float = 0, share: float = STABLE_SHARE
) -> Rate:
    """Return `given_rps`; if 0, the lower of `published_rps` and `share` of the slowest closed loop in capacity_rps."""
    if given_rps > 0:
        return Rate(float(given_rps), "given")
    weakest, capacity = min(capacity_rps.items(), key=lambda reached: reached[1])
    if published_rps is not None and published_rps <= share * capacity:
        return Rate(published_rps, "published")
    rps = max(1.0, share * capacity)
    rounded = rps // ROUND_TO_RPS * ROUND_TO_RPS if rps >= ROUND_TO_RPS else rps // 1
    reached = f"{capacity:,.0f}".replace(",", "\u202f")
    return Rate(rounded, f"{share * 100:g}\u00a0% of what {weakest} reached in a closed-loop probe ({reached}/s)")


@dataclass(frozen=True, slots=True)
class Size:
    """A size of run, such as quick: how long its loads last, in seconds."""

    name: str
    warmup_s: float
    duration_s: float
    probe_s: float  # of a closed loop
    floor_s: float = 0.0  # of a load on a server that does nothing
    starts: int = 1  # fresh starts of compared treatments

    def shape(self, connections: int, threads: int = 1, servers: int = 1) -> Shape:
        """Return the shape of one load that is interleaved over `servers`; it lasts `duration_s` for every server."""
        return Shape(connections, threads, self.duration_s * servers, self.warmup_s)


#: The size with the published rates, connections, keys and values; each load takes a minute, and a run an hour.
PUBLISHED = "published"
SIZES = {
    size.name: size
    for size in (
        Size("smoke", warmup_s=0.5, duration_s=1.5, probe_s=0.7, floor_s=1.0),
        Size("quick", warmup_s=5.0, duration_s=13.0, probe_s=3.5, floor_s=7.0),
        Size(PUBLISHED, warmup_s=5.0, duration_s=60.0, probe_s=5.0, floor_s=20.0),
        Size("full", warmup_s=15.0, duration_s=180.0, probe_s=15.0, floor_s=60.0),
    )
}
