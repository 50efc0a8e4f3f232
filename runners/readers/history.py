"""Many runs at once: a DuckDB view over the frames and manifests of all run folders.

Views (each row names its `run` and, where it belongs to one, its `step`): `runs` and `steps` from the JSON files,
`measurements` (one figure of one step a row), `frame_shares` (the share of processor time of one frame of one profiled
step a row), and one view for each frame of a step, with the columns that `runners.readers.run` lists.

The figures can also be kept as one Parquet data set, partitioned by experiment and class of machine: a row is one
figure of one step, as in `measurements`, with the versions of what was measured. Runs are read some hundreds at a time
for it, so that memory does not grow with their number.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from runners.errors import Exit, LabError, PlanError
from runners.readers.run import COLUMNS
from runners.storage.run_folder import REFERENCE, RUNS, RunFolder, StepFolder, StoreError, runs
from runners.storage.schema import read_record
from runners.storage.step_folder import write_json

RUN_COLUMNS = {
    "run": "str", "experiment": "str", "size": "str", "status": "str", "started_unix_s": "float64",
    "started": "datetime64[ns, UTC]", "machine_class": "str", "kernel": "str", "java": "str", "truepace": "str",
    "server_sources": "str", "git_commit": "str", "git_dirty": "boolean", "busy_share": "float64",
    "steal_share": "float64", "folder": "str",
}  # fmt: skip
STEP_COLUMNS = {
    "run": "str", "step": "str", "kind": "str", "subject": "str", "engine": "str", "workload": "str",
    "generator": "str", "offered_rate_rps": "float64", "connections": "Int64", "duration_s": "float64",
    "profiled": "boolean", "valid": "boolean", "saturated": "boolean", "started_unix_us": "Int64", "folder": "str",
}  # fmt: skip
#: What `lab runs` lists.
RUN_LIST = """
SELECT r.run, r.status, strftime(r.started, '%Y-%m-%d %H:%M') AS started, r.machine_class AS machine,
       count(s.step) AS steps, count(s.step) FILTER (NOT s.valid) AS invalid, left(r.git_commit, 7) AS "commit"
FROM runs r LEFT JOIN steps s USING (run) GROUP BY ALL ORDER BY started DESC
"""
#: A sentinel is compared with so many earlier ones: with all of them, a campaign's cost would grow with its square.
COMPARED_SENTINELS = 60
_OWNERS = "_owners"  # which file belongs to which step
#: One figure of one clean, valid step: what a trend is made of. Closed loop has no latency under a rate.
_MEASUREMENTS = """
CREATE VIEW measurements AS
WITH good AS (
    SELECT r.machine_class, r.experiment, r.size, r.started, r.started_unix_s, s.*
    FROM steps s JOIN runs r USING (run)
    WHERE s.valid AND NOT s.profiled AND NOT s.saturated AND s.kind IN ('load', 'probe', 'floor', 'sentinel')
),
rates AS (
    SELECT g.* EXCLUDE (folder), 'achieved' AS metric, m.achieved_rps AS value,
           NULL::DOUBLE AS low, NULL::DOUBLE AS high
    FROM good g JOIN summary m USING (run, step) WHERE g.kind = 'probe'
),
latencies AS (
    SELECT g.* EXCLUDE (folder), 'p' || format('{:g}', round(p.percentile * 100, 6)) AS metric,
           p.value_us AS value, p.low_us AS low, p.high_us AS high
    FROM good g JOIN percentiles p USING (run, step)
    WHERE g.kind <> 'probe' AND p.kind = 'response' AND p.percentile < 1 AND NOT coalesce(p.at_least, FALSE)
)
SELECT * FROM rates UNION ALL BY NAME SELECT * FROM latencies
"""
#: Frames that take less than this share of the time say nothing of where it goes.
LEAST_SHARE = 0.005
_FRAME_SHARES = f"""
CREATE VIEW frame_shares AS
SELECT r.machine_class, r.experiment, r.size, r.started, r.started_unix_s, s.* EXCLUDE (folder), f.frame, f.share,
       f.low, f.high
FROM steps s JOIN runs r USING (run) JOIN frames f USING (run, step)
WHERE s.valid AND s.profiled AND s.kind = 'load' AND f.event = 'cpu' AND f.share >= {LEAST_SHARE}
"""  # noqa: S608 - a number of this module


class HistoryError(LabError):
    """A question that the history can't answer."""

    exit_code = Exit.USAGE


@dataclass(frozen=True, slots=True)
class History:
    """All runs below some folders. `unreadable` names each folder that was passed over, and why."""

    connection: duckdb.DuckDBPyConnection
    unreadable: tuple[str, ...]

    def query(self, sql: str) -> pd.DataFrame:
        """Return the answer to one SQL statement over the views. Raises HistoryError with DuckDB's own words."""
        try:
            if not sql.strip(" \t\r\n;"):
                raise duckdb.InvalidInputException("no question was asked")
            return self.connection.execute(sql).df()
        except duckdb.Error as error:
            known = ", ".join(self.views())
            raise HistoryError("the query", str(error).strip(), f"the views are {known}; DESCRIBE one") from error

    def views(self) -> list[str]:
        """Return the names of the views."""
        rows = self.connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
        return [str(name) for (name,) in rows if not str(name).endswith(_OWNERS)]


def open_history(roots: Sequence[Path] = (RUNS, REFERENCE)) -> History:
    """Return the history of every run folder below `roots`."""
    return history_of(folder for root in roots for folder in runs(root))


def history_of(folders: Iterable[RunFolder], seen: set[str] | None = None) -> History:
    """Return the history of run folders, each run once: a run in `seen` is left out, and the others are added to it."""
    unreadable: list[str] = []
    run_rows: list[dict[str, Any]] = []
    step_folders: list[tuple[str, StepFolder]] = []
    step_rows: list[dict[str, Any]] = []
    seen = set() if seen is None else seen
    for folder in folders:
        try:
            manifest = folder.manifest()
            name = str(manifest.get("run") or folder.name)
            if name in seen:
                continue
            steps = folder.steps()
            rows = [_step(name, step) for step in steps]
        except (StoreError, OSError) as error:
            unreadable.append(str(error))
            continue
        seen.add(name)
        run_rows.append(_run(folder, name, manifest))
        step_rows += rows
        step_folders += [(name, step) for step in steps]
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    _table(connection, "runs", run_rows, RUN_COLUMNS)
    _table(connection, "steps", step_rows, STEP_COLUMNS)
    for frame in COLUMNS:
        _frame_view(connection, frame, step_folders)
    connection.execute(_MEASUREMENTS)
    connection.execute(_FRAME_SHARES)
    return History(connection, tuple(unreadable))


def sentinel_history(folder: RunFolder) -> list[float]:
    """Return the sentinel's p50 (us) in the latest runs on the same class of machine, oldest first, without `folder`'s.

    Read from manifests, for each run of a campaign pays for it. Runs that start none of the lab's servers have a
    sentinel of their own, and are compared with each other alone.
    """
    here = folder.manifest()
    sentinels: dict[str, tuple[float, float]] = {}
    for run in (*_newest(folder.path.parent, COMPARED_SENTINELS), *runs(REFERENCE)):
        with contextlib.suppress(StoreError):
            manifest = run.manifest()
            p50_us = (manifest.get("sentinel") or {}).get("p50_us")
            if p50_us is not None and _by_ours(manifest) and _sentinel_of(manifest) == _sentinel_of(here):
                sentinels[str(manifest.get("run"))] = float(manifest.get("started_unix_s") or 0.0), float(p50_us)
    sentinels.pop(str(here.get("run")), None)
    return [p50_us for _, p50_us in sorted(sentinels.values())]


def _sentinel_of(manifest: Mapping[str, Any]) -> tuple[str, bool]:
    """Return what sentinels must have in common: the class of machine, and whether the lab's own server was loaded."""
    return machine_class(manifest.get("machine") or {}), "server_sources" in (manifest.get("tools") or {})


def _by_ours(manifest: Mapping[str, Any]) -> bool:
    """Return whether the lab's own generator sent a run's sentinel; in earlier labs the run's own did, as wrk2."""
    chosen = (manifest.get("parameters") or {}).get("generator")
    return ((manifest.get("sentinel") or {}).get("generator") or chosen or "truepace") == "truepace"


def _newest(root: Path, count: int) -> list[RunFolder]:
    """Return the run folders below `root` that were last written to, oldest first; none is opened for that."""
    with os.scandir(root) as entries:
        folders = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries if entry.is_dir())
    newest = (RunFolder(Path(path)) for _, path in folders[-count:])
    return [folder for folder in newest if folder.manifest_path.is_file()]


def machine_class(facts: dict[str, Any]) -> str:
    """Return what figures may be compared: processor, cores, memory and kind of machine, in words."""
    gib = float(facts.get("memory_bytes") or 0) / 2**30
    parts = [str(facts.get("cpu_model") or "unknown processor"), f"{facts.get('cores') or '?'} cores", f"{gib:.0f} GiB"]
    return ", ".join([*parts, *(["virtual"] if facts.get("virtualised") else [])])


def _run(folder: RunFolder, name: str, manifest: dict[str, Any]) -> dict[str, Any]:
    facts, tools, git = (manifest.get(part) or {} for part in ("machine", "tools", "git"))
    started = manifest.get("started_unix_s")
    return {
        **{field: manifest.get(field) for field in ("experiment", "size", "status", "started_unix_s")},
        "run": name,
        "started": pd.to_datetime(started, unit="s", utc=True) if started else pd.NaT,
        "machine_class": machine_class(facts),
        **{field: facts.get(field) for field in ("kernel", "busy_share", "steal_share")},
        **{field: tools.get(field) for field in ("java", "truepace", "server_sources")},
        "git_commit": git.get("commit"),
        "git_dirty": git.get("dirty"),
        "folder": str(folder.path),
    }


def _step(run: str, step: StepFolder) -> dict[str, Any]:
    record = read_record(step)
    return {
        **{field: getattr(record, field, None) for field in STEP_COLUMNS}, "kind": record.role,
        "offered_rate_rps": record.offered_rps, "started_unix_us": record.started_unix_us or None, "run": run,
        "step": step.name, "subject": record.treatment or record.engine, "generator": record.generator.tool,
        "profiled": bool(record.profiled), "valid": record.valid, "saturated": record.saturated,
        "folder": str(step.path),
    }  # fmt: skip


def _table(
    connection: duckdb.DuckDBPyConnection, name: str, rows: list[dict[str, Any]], columns: dict[str, str]
) -> None:
    connection.register(name, pd.DataFrame(rows, columns=list(columns)).astype(columns))


def _frame_view(connection: duckdb.DuckDBPyConnection, frame: str, steps: list[tuple[str, StepFolder]]) -> None:
    """Create a view over the Parquet files of a frame, which are read when the view is queried."""
    files = [(str(step.frame(frame)), run, step.name, step.archived) for run, step in steps]
    files = [row for row in files if Path(row[0]).is_file()]
    if not files:
        empty = pd.DataFrame({name: pd.Series(dtype="object") for name in ("run", "step", *COLUMNS[frame])})
        connection.register(frame, empty)
        return
    owners = pd.DataFrame(files, columns=["file", "run", "step", "archived"])
    connection.register(f"{frame}{_OWNERS}", owners)
    views = []
    for archived, rows in owners.groupby("archived"):
        listed = ", ".join(f"'{_quoted(path)}'" for path in rows["file"].unique())
        # a file of an archive holds all steps and names them itself
        excluded, of_step = ("filename, step", " AND o.step = f.step") if archived else ("filename", "")
        views.append(
            f"SELECT o.run, o.step, f.* EXCLUDE ({excluded}) FROM "  # noqa: S608 - paths are quoted
            f"read_parquet([{listed}], filename = true, union_by_name = true) f "
            f"JOIN {frame}{_OWNERS} o ON o.file = f.filename{of_step}"
        )
    connection.execute(f"CREATE VIEW {frame} AS {' UNION ALL BY NAME '.join(views)}")


BATCH = 500
MARK = "_dataset.json"
SCHEMA = "dataset/1"
PARTITIONS = ("experiment", "machine_class")
DATASET_COLUMNS = {
    "run": "VARCHAR", "size": "VARCHAR", "started": "TIMESTAMPTZ", "git_commit": "VARCHAR", "server_sources": "VARCHAR",
    "truepace": "VARCHAR", "java": "VARCHAR", "kernel": "VARCHAR", "step": "VARCHAR", "kind": "VARCHAR",
    "subject": "VARCHAR", "engine": "VARCHAR", "workload": "VARCHAR", "generator": "VARCHAR",
    "offered_rate_rps": "DOUBLE", "connections": "BIGINT", "duration_s": "DOUBLE", "metric": "VARCHAR",
    "value": "DOUBLE", "low": "DOUBLE", "high": "DOUBLE",
}  # fmt: skip
_OF_RUNS = ("git_commit", "server_sources", "truepace", "java", "kernel")


@dataclass(frozen=True, slots=True)
class Written:
    """The numbers of runs and figures in a data set, and the folders that were passed over with their reasons."""

    runs: int
    figures: int
    unreadable: tuple[str, ...]


def write_dataset(output: Path, roots: Sequence[Path]) -> Written:
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
    typed = [
        f"CAST({'r' if name in _OF_RUNS else 'm'}.{name} AS {kind}) AS {name}" for name, kind in DATASET_COLUMNS.items()
    ]
    rows = (
        f"SELECT coalesce(m.experiment, '') AS experiment, m.machine_class, {', '.join(typed)} "  # noqa: S608
        "FROM measurements m JOIN runs r USING (run) ORDER BY experiment, machine_class, metric, m.subject"
    )
    done = history.connection.execute(
        f"COPY ({rows}) TO '{_quoted(folder)}' "
        f"(FORMAT parquet, COMPRESSION zstd, PARTITION_BY ({', '.join(PARTITIONS)}), APPEND)"
    )
    return int((done.fetchone() or (0,))[0])


def _quoted(path: Path | str) -> str:
    return str(path).replace("'", "''")


def open_dataset(folder: Path) -> History:
    """Return the data set as the view `measurements`, read when it is asked. Raises PlanError for another folder."""
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
        connection.register("measurements", pd.DataFrame(columns=[*PARTITIONS, *DATASET_COLUMNS]))
    return History(connection, ())
