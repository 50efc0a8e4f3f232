"""How many hosts one scheduler serves: what a message costs it is measured, a fleet of any size is simulated.

    python -m runners.bench.fleet

The lab's client and dask's scheduler are one process with one event loop, which answers one message at a time. A host
sends heartbeats and has its lease renewed once a second; each of its jobs is a task, and a run folder that comes back.
On paper the loop is busy for the sum of rates times costs; the simulation adds what chance does to a queue.
"""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from runners.bench.row import Row, keep
from runners.fleet import workers
from runners.fleet.workers import LEASE_S, RENEW_S, SERVER, Fleet

#: Hosts that one scheduler has to serve, and those that are there while its costs are measured.
GOAL_HOSTS, HOSTS = 200, 6
JOB_S = 60.0
FOLDER_BYTES = 2_000_000  # of a run of a minute, as the smoke runs are
SIMULATED_S = 120.0
TASKS, RENEWALS, IDLE_S = 40, 400, 5.0
ROUNDS = 3
#: A question that waits for longer than this share of a lease is near to losing a host that is well.
WAIT_SHARE = 0.25
MOST_HOSTS = 100_000


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of the scheduler's process for a job's task with its run folder, a renewal, and a heartbeat."""

    job_s: float
    renewal_s: float
    heartbeat_s: float


def heartbeat_s(hosts: int) -> float:
    """Seconds between heartbeats of a worker, which dask stretches as a fleet grows (distributed.scheduler)."""
    return 0.5 if hosts < 10 else 1.0 if hosts < 50 else 2.0 if hosts < 200 else hosts / 100


def busy_share(costs: Costs, hosts: int) -> float:
    """How busy the loop is, on paper."""
    each = costs.job_s / JOB_S + costs.renewal_s / RENEW_S + costs.heartbeat_s / heartbeat_s(hosts)
    return hosts * each


def wait_s(costs: Costs, hosts: int, seed: int = 1) -> float:
    """The 99th percentile of how long a message waits for the loop, simulated: each host has a rhythm of its own."""
    chance, arrivals = random.Random(seed), list[tuple[float, float]]()  # noqa: S311 - no secret
    for every_s, cost_s in (
        (JOB_S, costs.job_s), (RENEW_S, costs.renewal_s), (heartbeat_s(hosts), costs.heartbeat_s),
    ):  # fmt: skip
        for _ in range(hosts):
            at = chance.uniform(0, every_s)
            while at < SIMULATED_S:
                arrivals.append((at, cost_s))
                at += every_s * chance.uniform(0.9, 1.1)
    free_s, waits = 0.0, []
    for at, cost_s in sorted(arrivals):
        waits.append(max(0.0, free_s - at))
        free_s = max(free_s, at) + cost_s
    return statistics.quantiles(waits, n=100)[98] if len(waits) > 1 else 0.0


def saturates_at(costs: Costs) -> int:
    """The number of hosts from which on messages wait too long."""
    limit_s, low, high = WAIT_SHARE * LEASE_S, 1, 2
    while wait_s(costs, high) <= limit_s and high < MOST_HOSTS:
        low, high = high, 2 * high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if wait_s(costs, middle) <= limit_s else (low, middle)
    return high


def _folder(size: int, _lease: str) -> bytes:
    """As a worker: what a job gives back."""
    return bytes(size)


def idling() -> float:
    """Measure the share of a core that this process takes while nobody asks it for anything."""
    begin = time.process_time()
    time.sleep(IDLE_S)
    return (time.process_time() - begin) / IDLE_S


def measured(fleet: Fleet, alone: float) -> Costs:
    """What each message takes of this process, which holds client and scheduler; its idling is taken off.

    `alone`: its idling with one host. What it idles more is the other hosts' heartbeats.
    """
    hosts, idle_share = fleet.hosts(SERVER), idling()

    def cost_s(count: int, work: object) -> float:
        begin, began = time.process_time(), time.monotonic()
        for each in range(count):
            work(hosts[each % len(hosts)])  # type: ignore[operator]
        used_s = time.process_time() - begin - idle_share * (time.monotonic() - began)
        return max(used_s / count, 1e-6)

    return Costs(
        cost_s(TASKS, lambda host: fleet.on(host, SERVER, threading.Event(), _folder, FOLDER_BYTES)),
        cost_s(RENEWALS, lambda host: fleet.renew(host, "bench")),
        max((idle_share - alone) * heartbeat_s(len(hosts)) / (len(hosts) - 1), 1e-6),
    )


def row(found: Sequence[Costs]) -> Row:
    """The number of hosts at which a scheduler saturates, against those that it has to serve."""
    of_goal = [busy_share(costs, GOAL_HOSTS) for costs in found]
    middle = {name: statistics.median(getattr(costs, name) for costs in found) * 1e3 for name in Costs.__slots__}
    note = (
        f"at {GOAL_HOSTS} hosts busy {statistics.median(of_goal):.0%} on paper; of the loop a job takes "
        f"{middle['job_s']:.1f} ms, a renewal {middle['renewal_s']:.2f} ms, a heartbeat {middle['heartbeat_s']:.2f} ms"
    )
    saturated = tuple(float(saturates_at(costs)) for costs in found)
    return Row("fleet-hosts", "", saturated, (float(GOAL_HOSTS),) * len(found), ">=", 1.0, note)


def main() -> None:
    """Measure, simulate, print one line."""
    with workers.local(1):
        alone = statistics.median(idling() for _ in range(ROUNDS))
    with workers.local(HOSTS) as fleet:
        found = [measured(fleet, alone) for _ in range(ROUNDS)]
    result = row(found)
    print(result.line())
    keep("fleet", [result], {"job_s": JOB_S, "folder_bytes": FOLDER_BYTES})


if __name__ == "__main__":
    main()
