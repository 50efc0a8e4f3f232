"""`make bench-campaign`: the time of a campaign outside of its loads, start times of `lab`, and queries of many runs.

Rows: `overhead` (a campaign of smoke loads of the example in Python, by the command), `import`, `help`, `dataset`
(queries of the figures of synthetic runs), `fleet`. Each is held against a limit, which stands in the peer's place.

`fleet`: how many hosts one scheduler serves. The lab's client and dask's scheduler are one process with one event loop,
which handles one message at a time. A host sends heartbeats and has its lease renewed once a second; each of its jobs
is a task, and a run folder that comes back. What a message costs is measured; on paper the loop is busy for the sum of
rates times costs; the simulation of a fleet of any size adds what chance does to a queue.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import psutil

from runners.bench.fixture import Row, ending_in_order, keep, scratch
from runners.bench.local_fleet import local
from runners.fleet.workers import LEASE_S, RENEW_S, SERVER, Fleet, Host
from runners.process.supervisor import start
from runners.readers.history import MARK, PARTITIONS, History, append, open_dataset
from runners.storage.run_folder import runs
from runners.storage.step_folder import write_json
from runners.toolchain.tools import PACKAGE

LAB = Path(sys.executable).with_name("lab")
STEPS = 50
OUTSIDE_LIMIT_PERCENT = 15.0
IMPORT_LIMIT_S, HELP_LIMIT_S, QUERY_LIMIT_S = 0.4, 0.3, 1.0
ROUNDS = 11
SYNTHETIC_RUNS, BATCH = 100_000, 5_000
QUERIES = {
    "median": "SELECT experiment, subject, workload, metric, median(value) FROM measurements GROUP BY ALL",
    "trend": "SELECT date_trunc('week', started) AS week, quantile_cont(value, [0.25, 0.5, 0.75]) FROM measurements "
    "WHERE metric = 'p99' AND subject = 'subject-3' GROUP BY ALL ORDER BY ALL",
    "partition": "SELECT subject, avg(value), count(*) FROM measurements WHERE experiment = '04' AND metric = 'p50' "
    "AND machine_class = 'processor 1, 2 cores, 8 GiB' GROUP BY ALL",
    "worst": "SELECT run, step, value FROM measurements WHERE metric = 'p99' ORDER BY value DESC LIMIT 20",
}
#: Invented runs as the views of history.py have them: nine experiments, four machines, six subjects, five figures each.
_RUNS = """
CREATE OR REPLACE TABLE runs AS SELECT
    'run-' || i AS run, printf('%02d', i % 9) AS experiment, 'quick' AS size,
    TIMESTAMPTZ '2026-01-01' + INTERVAL (i) MINUTE AS started,
    'processor ' || (i % 4) || ', 2 cores, 8 GiB' AS machine_class, '6.1' AS kernel, '25' AS java, '0.1.0' AS truepace,
    'sources-' || (i // 1000) AS server_sources, md5((i // 50)::VARCHAR) AS git_commit
FROM range({first}, {last}) t(i)
"""
_MEASUREMENTS = """
CREATE OR REPLACE TABLE measurements AS SELECT
    r.run, r.experiment, r.machine_class, r.size, r.started, 'load-' || s AS step, 'load' AS kind,
    'subject-' || s AS subject, 'lsm' AS engine, CASE s % 2 WHEN 0 THEN 'put' ELSE 'get' END AS workload,
    'truepace' AS generator, 4000.0 AS offered_rate_rps, 64 AS connections, 13.0 AS duration_s, m AS metric,
    100.0 + hash(r.run || m || s) % 1000 AS value, 90.0 AS low, 1200.0 AS high
FROM runs r, range(6) t(s), (VALUES ('p50'), ('p90'), ('p99'), ('p99.9'), ('p99.99')) v(m)
"""


def overhead(folder: Path) -> list[Row]:
    """Measure the percentage of a campaign's length outside of its loads, and its memory in the middle and at the end.

    The length is that of the command, with planning, start and end.
    """
    shutil.copytree(PACKAGE / "docs" / "examples" / "python", folder / "it")
    settings = "{size: smoke, connections: 2, rate_rps: [200, 400]}"
    text = f"repeats: {STEPS // 2}\nruns:\n  a: {{measure: load, targets: [target.yaml], settings: {settings}}}\n"
    (folder / "it" / "campaign.yaml").write_text(text, encoding="utf-8")
    command = [str(LAB), "campaign", str(folder / "it" / "campaign.yaml")]
    begun_s, memory = time.monotonic(), list[float]()
    campaign = start(command, env=dict(os.environ, LAB_RUNS=str(folder / "runs")), stdout=subprocess.PIPE)
    try:
        for line in campaign.stdout:
            if line.startswith(b"["):  # a run begins
                memory.append(psutil.Process(campaign.pid).memory_info().rss / 2**20)
        code = campaign.wait()
    finally:
        campaign.stop()
    if code != 0 or len(memory) != STEPS:
        raise SystemExit("the campaign did not end well: run `lab campaign` on runners/docs/examples/python and see")
    took_s = time.monotonic() - begun_s
    loaded_s = sum(float(run.manifest()["outcome"]["loaded_s"]) for run in runs(folder / "runs"))
    outside = 100.0 * (1.0 - loaded_s / took_s)
    note = f"{STEPS} runs in {took_s:.0f} s, loaded for {loaded_s:.0f} s"
    half = len(memory) // 2
    return [
        Row.within("campaign/outside-load-vs-limit", "%", (outside,), OUTSIDE_LIMIT_PERCENT, note),
        Row("campaign/memory-end-vs-middle", " MiB", (memory[-1],), (memory[half],), "<=", 1.1, "resident"),
    ]


def starting(name: str, command: Sequence[str], limit_s: float) -> list[Row]:
    """Measure the wall time of a command, the start of Python included, after a first one that fills the file cache."""
    taken = [_timed(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(ROUNDS + 1)]
    return [Row.within(f"campaign/{name}-vs-limit", "s", taken[1:], limit_s)]


def _timed(do: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    do()
    return time.perf_counter() - begun_s


def synthetic(folder: Path, count: int = SYNTHETIC_RUNS, batch: int = BATCH) -> int:
    """Write a data set of so many invented runs, as that of real runs is; return the number of its figures."""
    figures, connection = 0, duckdb.connect()
    folder.mkdir(parents=True)
    for first in range(0, count, batch):
        connection.execute(_RUNS.format(first=first, last=min(first + batch, count)))
        connection.execute(_MEASUREMENTS)
        figures += append(History(connection, ()), folder)
    connection.close()
    write_json(folder / MARK, {"runs": count, "figures": figures, "partitions": PARTITIONS})
    return figures


def _query(folder: Path, sql: str) -> None:
    open_dataset(folder).query(sql)


def queries(folder: Path) -> list[Row]:
    """Measure how long DuckDB takes for each query, with the data set opened anew each time."""
    figures = synthetic(folder / "set")
    size = sum(path.stat().st_size for path in (folder / "set").rglob("*.parquet")) / 1e6
    note = f"{SYNTHETIC_RUNS:,} runs, {figures:,} figures, {size:.0f} MB"
    rows = []
    for name, sql in QUERIES.items():
        taken_s = [_timed(partial(_query, folder / "set", sql)) for _ in range(ROUNDS)]
        rows.append(Row.within(f"campaign/query-{name}-vs-limit", "s", taken_s, QUERY_LIMIT_S, note))
    return rows


#: Hosts that one scheduler has to serve, and hosts of the fleet in which its costs are measured.
GOAL_HOSTS, HOSTS = 200, 6
JOB_S = 60.0
FOLDER_BYTES = 2_000_000  # of a run of a minute, as the smoke runs are
SIMULATED_S = 120.0
TASKS, RENEWALS, IDLE_S = 40, 400, 5.0
FLEET_ROUNDS = 3
#: A message that waits for longer than this share of a lease is near to losing a host that works.
WAIT_SHARE = 0.25
MOST_HOSTS = 100_000


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of the scheduler's process for a job's task with its run folder, a renewal, and a heartbeat."""

    job_s: float
    renewal_s: float
    heartbeat_s: float


def heartbeat_s(hosts: int) -> float:
    """Return seconds between heartbeats of a worker, which dask stretches as a fleet grows (distributed.scheduler)."""
    return 0.5 if hosts < 10 else 1.0 if hosts < 50 else 2.0 if hosts < 200 else hosts / 100


def busy_share(costs: Costs, hosts: int) -> float:
    """Return the share of time in which the loop is busy, as a sum of rates times costs."""
    of_host = costs.job_s / JOB_S + costs.renewal_s / RENEW_S + costs.heartbeat_s / heartbeat_s(hosts)
    return hosts * of_host


def wait_s(costs: Costs, hosts: int, seed: int = 1) -> float:
    """Return the 99th percentile of how long a message waits for the loop, simulated with hosts of random phases."""
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
    """Return the smallest number of hosts at which messages wait too long, to 2 %."""
    limit_s, low, high = WAIT_SHARE * LEASE_S, 1, 2
    while wait_s(costs, high) <= limit_s and high < MOST_HOSTS:
        low, high = high, 2 * high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (middle, high) if wait_s(costs, middle) <= limit_s else (low, middle)
    return high


def _folder(size: int, _lease: str) -> bytes:
    """Return as many bytes as a run folder has: what a worker sends back."""
    return bytes(size)


def idling() -> float:
    """Measure the share of a core that this process takes while it is idle."""
    begin = time.process_time()
    time.sleep(IDLE_S)
    return (time.process_time() - begin) / IDLE_S


def measured(fleet: Fleet, idle_share_of_one: float) -> Costs:
    """Measure the CPU time of each message in this process, which holds client and scheduler; idling is subtracted.

    `idle_share_of_one` is the share with one host; what more hosts add to it are their heartbeats.
    """
    hosts, idle_share = fleet.hosts(SERVER), idling()

    def cost_s(count: int, work: Callable[[Host], object]) -> float:
        begin, began = time.process_time(), time.monotonic()
        for number in range(count):
            work(hosts[number % len(hosts)])
        used_s = time.process_time() - begin - idle_share * (time.monotonic() - began)
        return max(used_s / count, 1e-6)

    return Costs(
        cost_s(TASKS, lambda host: fleet.run_on(host, SERVER, threading.Event(), _folder, FOLDER_BYTES)),
        cost_s(RENEWALS, lambda host: fleet.renew(host, "bench")),
        max((idle_share - idle_share_of_one) * heartbeat_s(len(hosts)) / (len(hosts) - 1), 1e-6),
    )


def hosts_row(rounds: Sequence[Costs]) -> Row:
    """Return the number of hosts at which a scheduler saturates, against the number that it has to serve."""
    busy_shares = [busy_share(costs, GOAL_HOSTS) for costs in rounds]
    middle = {name: statistics.median(getattr(costs, name) for costs in rounds) * 1e3 for name in Costs.__slots__}
    note = (
        f"at {GOAL_HOSTS} hosts busy {statistics.median(busy_shares):.0%} on paper; of the loop a job takes "
        f"{middle['job_s']:.1f} ms, a renewal {middle['renewal_s']:.2f} ms, a heartbeat {middle['heartbeat_s']:.2f} ms"
    )
    saturated = tuple(float(saturates_at(costs)) for costs in rounds)
    return Row("fleet-hosts", "", saturated, (float(GOAL_HOSTS),) * len(rounds), ">=", 1.0, note)


def hosts(_folder: Path) -> list[Row]:
    """Measure the scheduler's cost of a message, and simulate a fleet of any size with it."""
    with local(1):
        idle_share = statistics.median(idling() for _ in range(FLEET_ROUNDS))
    with local(HOSTS) as fleet:
        return [hosts_row([measured(fleet, idle_share) for _ in range(FLEET_ROUNDS)])]


ROWS: dict[str, Callable[[Path], list[Row]]] = {
    "import": lambda _: starting("import-runners", [sys.executable, "-c", "import runners"], IMPORT_LIMIT_S),
    "help": lambda _: starting("lab-help", [str(LAB), "--help"], HELP_LIMIT_S),
    "dataset": queries,
    "overhead": overhead,
    "fleet": hosts,
}


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line for each row, keep the JSON; return 0, for figures are no test."""
    with ending_in_order(), scratch() as folder:
        return keep("campaign", (row for name in names or ROWS for row in ROWS[name](folder / name)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
