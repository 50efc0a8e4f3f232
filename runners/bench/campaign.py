"""`make bench-campaign`: what a campaign spends beside its loads, how soon `lab` is there, and questions to many runs.

Rows: `overhead` (a campaign of smoke loads of the example in Python, by the command), `import`, `help`, `dataset`
(questions to the figures of synthetic runs). Each is held against a limit, which stands in the peer's place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb
import psutil

from runners.bench.row import NoFigure, Row, keep
from runners.readers.dataset import MARK, PARTITIONS, append, open_dataset
from runners.readers.history import History
from runners.storage.run_folder import runs
from runners.storage.step_folder import write_json
from runners.toolchain.tools import PACKAGE
from runners.trial import machine

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
    """Time that a campaign spends outside of its loads, in percent of its length, and the memory at its end and start.

    The length is that of the command, so that planning, start and end are in it.
    """
    shutil.copytree(PACKAGE / "docs" / "examples" / "python", folder / "it")
    settings = "{size: smoke, connections: 2, rate_rps: [200, 400]}"
    text = f"repeats: {STEPS // 2}\nruns:\n  a: {{measure: load, targets: [target.yaml], settings: {settings}}}\n"
    (folder / "it" / "campaign.yaml").write_text(text, encoding="utf-8")
    command = [str(LAB), "campaign", str(folder / "it" / "campaign.yaml")]
    begun_s, memory = time.monotonic(), list[float]()
    process = subprocess.Popen(command, env=dict(os.environ, LAB_RUNS=str(folder / "runs")), stdout=subprocess.PIPE)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(b"["):  # a run begins
            memory.append(psutil.Process(process.pid).memory_info().rss / 2**20)
    if process.wait() != 0 or len(memory) != STEPS:
        raise SystemExit("the campaign did not end well: run `lab campaign` on runners/docs/examples/python and see")
    took_s = time.monotonic() - begun_s
    loaded_s = sum(float(run.manifest()["outcome"]["loaded_s"]) for run in runs(folder / "runs"))
    outside = 100.0 * (1.0 - loaded_s / took_s)
    note = f"{STEPS} runs in {took_s:.0f} s, loaded for {loaded_s:.0f} s"
    half = len(memory) // 2
    return [
        Row("campaign/outside-load-vs-limit", "%", (outside,), (OUTSIDE_LIMIT_PERCENT,), "<=", 1.0, note),
        Row("campaign/memory-end-vs-middle", " MiB", (memory[-1],), (memory[half],), "<=", 1.1, "resident"),
    ]


def starting(name: str, command: Sequence[str], limit_s: float) -> list[Row]:
    """Wall time of a command, the start of Python included, after one that fills the file cache."""
    taken = [_timed(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(ROUNDS + 1)]
    return [Row(f"campaign/{name}-vs-limit", "s", tuple(taken[1:]), (limit_s,) * ROUNDS, "<=", 1.0)]


def _timed(do: Callable[[], object]) -> float:
    begun_s = time.perf_counter()
    do()
    return time.perf_counter() - begun_s


def synthetic(folder: Path, count: int = SYNTHETIC_RUNS, batch: int = BATCH) -> int:
    """A data set of so many invented runs, written as that of real ones; gives the number of its figures."""
    figures, connection = 0, duckdb.connect()
    folder.mkdir(parents=True)
    for first in range(0, count, batch):
        connection.execute(_RUNS.format(first=first, last=min(first + batch, count)))
        connection.execute(_MEASUREMENTS)
        figures += append(History(connection, ()), folder)
    connection.close()
    write_json(folder / MARK, {"runs": count, "figures": figures, "partitions": PARTITIONS})
    return figures


def questions(folder: Path) -> list[Row]:
    """How long DuckDB takes to answer, each time opening the data set anew."""
    figures = synthetic(folder / "set")
    size = sum(path.stat().st_size for path in (folder / "set").rglob("*.parquet")) / 1e6
    note = f"{SYNTHETIC_RUNS:,} runs, {figures:,} figures, {size:.0f} MB"
    rows = []
    for name, sql in QUERIES.items():
        taken = tuple(_timed(lambda sql=sql: open_dataset(folder / "set").query(sql)) for _ in range(ROUNDS))  # type: ignore[misc]
        rows.append(Row(f"campaign/query-{name}-vs-limit", "s", taken, (QUERY_LIMIT_S,) * ROUNDS, "<=", 1.0, note))
    return rows


ROWS: dict[str, Callable[[Path], list[Row]]] = {
    "import": lambda _: starting("import-runners", [sys.executable, "-c", "import runners"], IMPORT_LIMIT_S),
    "help": lambda _: starting("lab-help", [str(LAB), "--help"], HELP_LIMIT_S),
    "dataset": questions,
    "overhead": overhead,
}


def main(names: Sequence[str] = ()) -> int:
    """Run the benchmark, print a line a row, keep the JSON. Always 0 where all could be measured: a figure, no test."""
    measured: list[Row | NoFigure] = []
    for name in names or ROWS:
        with tempfile.TemporaryDirectory() as folder:
            for row in ROWS[name](Path(folder)):
                print(row.line(), flush=True)
                measured.append(row)
    keep("campaign", measured, {"machine": machine.facts()})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
