"""The figures of many runs as one Parquet data set, partitioned by experiment and class of machine.

A row is one figure of one step, as in the view `measurements` of history.py, with the versions of what was measured.
Runs are read some hundreds at a time, so that memory does not grow with their number.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd

from runners.errors import PlanError
from runners.readers.history import History, history_of
from runners.storage.run_folder import RunFolder, runs
from runners.storage.step_folder import write_json

BATCH = 500
MARK = "_dataset.json"
SCHEMA = "dataset/1"
PARTITIONS = ("experiment", "machine_class")
COLUMNS = {
    "run": "VARCHAR", "size": "VARCHAR", "started": "TIMESTAMPTZ", "git_commit": "VARCHAR", "server_sources": "VARCHAR",
    "truepace": "VARCHAR", "java": "VARCHAR", "kernel": "VARCHAR", "step": "VARCHAR", "kind": "VARCHAR",
    "subject": "VARCHAR", "engine": "VARCHAR", "workload": "VARCHAR", "generator": "VARCHAR",
    "offered_rate_rps": "DOUBLE", "connections": "BIGINT", "duration_s": "DOUBLE", "metric": "VARCHAR",
    "value": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE",
}  # fmt: skip
_OF_RUNS = ("git_commit", "server_sources", "truepace", "java", "kernel")


@dataclass(frozen=True, slots=True)
class Written:
    """How much a data set holds, and each folder that was passed over with its reason."""

    runs: int
    figures: int
    unreadable: tuple[str, ...]


def write(output: Path, roots: Sequence[Path]) -> Written:
    """Write all runs below `roots` as a data set, in place of an earlier one when it is whole.

    Raises PlanError where something else is in that place.
    """
    if output.exists() and not (output / MARK).is_file() and (not output.is_dir() or any(output.iterdir())):
        raise PlanError(str(output), "it is there and no data set", "name another folder, or remove it")
    new = output.with_name(output.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    figures, unreadable, seen = 0, list[str](), set[str]()
    for batch in _batches(roots):
        history = history_of(batch, seen=seen)
        figures += append(history, new)
        unreadable += history.unreadable
        history.connection.close()
    write_json(new / MARK, {"schema": SCHEMA, "runs": len(seen), "figures": figures})
    shutil.rmtree(output, ignore_errors=True)
    new.replace(output)
    return Written(len(seen), figures, tuple(unreadable))


def _batches(roots: Iterable[Path]) -> Iterable[list[RunFolder]]:
    folders = (folder for root in roots for folder in runs(root))
    return iter(lambda: list(itertools.islice(folders, BATCH)), [])


def append(history: History, folder: Path) -> int:
    """Write the figures of some runs into their partitions as files of their own; gives how many there are."""
    typed = [f"CAST({'r' if name in _OF_RUNS else 'm'}.{name} AS {kind}) AS {name}" for name, kind in COLUMNS.items()]
    rows = (
        f"SELECT coalesce(m.experiment, '') AS experiment, m.machine_class, {', '.join(typed)} "  # noqa: S608
        "FROM measurements m JOIN runs r USING (run) ORDER BY experiment, machine_class, metric, m.subject"
    )
    done = history.connection.execute(
        f"COPY ({rows}) TO '{_quoted(folder)}' "
        f"(FORMAT parquet, COMPRESSION zstd, PARTITION_BY ({', '.join(PARTITIONS)}), APPEND)"
    )
    return int((done.fetchone() or (0,))[0])


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def open_dataset(folder: Path) -> History:
    """The data set as the view `measurements`, read when it is asked. Raises PlanError for another folder."""
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(str(folder), "it is no data set", "write one: lab dataset FOLDER") from error
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if about.get("figures"):
        types = ", ".join(f"'{name}': VARCHAR" for name in PARTITIONS)
        source = f"read_parquet('{_quoted(folder)}/*/*/*.parquet', hive_partitioning = true, hive_types = {{{types}}})"
        connection.execute(f"CREATE VIEW measurements AS FROM {source}")
    else:
        connection.register("measurements", pd.DataFrame(columns=[*PARTITIONS, *COLUMNS]))
    return History(connection, ())
