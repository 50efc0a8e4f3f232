"""DuckDB views over the data frames and manifests of many run folders (columns: history.toml and frames.toml).

The runs' figures can also be written as a Parquet data set, with a folder for each experiment and class of machine.
"""

import contextlib
import itertools
import json
import re
import shutil
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from runners.errors import PlanError
from runners.readers.run import COLUMNS
from runners.storage.archive import CONSOLE, CONSOLE_COLUMN
from runners.storage.run_folder import REFERENCE, RUNS, RunFolder, StepFolder, StoreError, runs
from runners.storage.schema import read_record
from runners.storage.step_folder import write_json

_FORM = tomllib.loads(Path(__file__).with_name("history.toml").read_text(encoding="utf-8"))
#: The SQL query whose rows `lab runs` lists.
RUN_LIST: str = _FORM["queries"]["runs"]
#: With how many latest runs a sentinel is compared. With all runs, cost would grow with the square of their number.
COMPARED_SENTINELS = 60
_OWNERS = "_owners"  # suffix of tables that name the step of each Parquet file
_ARCHIVED = "_archived"  # suffix of tables with the rows of archived runs
#: Names of views: data frames and generators' console outputs. NEEDED ones are made at once, others when queried.
FRAMES, NEEDED = (*COLUMNS, CONSOLE), ("summary", "percentiles")


@dataclass(frozen=True, slots=True)
class History:
    """The data of recorded runs as DuckDB views, which SQL can query."""

    connection: duckdb.DuckDBPyConnection
    unreadable: tuple[str, ...]  # a message for each run that is left out
    steps: tuple[tuple[str, StepFolder], ...] = ()  # pairs: a run's name, the folder of one of its steps

    def query(self, sql: str) -> pd.DataFrame:
        """Return the result of an SQL statement over the views. Raises PlanError with DuckDB's message if it fails."""
        try:
            if not sql.strip(" \t\r\n;"):
                raise duckdb.InvalidInputException("no question was asked")
            made = self._made()
            for frame in FRAMES if self.steps else ():
                if frame not in made and re.search(rf"\b{frame}\b", sql, re.IGNORECASE):
                    _frame_view(self.connection, frame, self.steps)
            return self.connection.execute(sql).df()
        except duckdb.Error as error:
            known = ", ".join(self.views())
            raise PlanError("the query", str(error).strip(), f"the views are {known}; DESCRIBE one") from error

    def views(self) -> list[str]:
        """Return the names of the SQL views that `query` can use, sorted."""
        return sorted({*self._made(), *(FRAMES if self.steps else ())})

    def _made(self) -> list[str]:
        rows = self.connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1").fetchall()
        return [str(name) for (name,) in rows if not str(name).endswith((_OWNERS, _ARCHIVED))]


def open_history(roots: Sequence[Path] = (RUNS, REFERENCE)) -> History:
    """Return a `History` (SQL views) of all run folders below the folders `roots`."""
    return history_of(folder for root in roots for folder in runs(root))


def history_of(folders: Iterable[RunFolder], seen: set[str] | None = None) -> History:
    """Return a `History` (SQL views) of run folders that `seen` does not name, and add their runs' names to `seen`."""
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
    connection = duckdb.connect().execute("SET TimeZone = 'UTC'")
    for view, rows in (("runs", run_rows), ("steps", step_rows)):
        columns = _FORM["columns"][view]
        connection.register(view, pd.DataFrame(rows, columns=list(columns)).astype(columns))
    for frame in FRAMES if not step_folders else NEEDED:
        _frame_view(connection, frame, step_folders)
    for view, sql in _FORM["views"].items():
        connection.execute(f"CREATE VIEW {view} AS {sql}")
    return History(connection, tuple(unreadable), tuple(step_folders))


def sentinel_history(folder: RunFolder) -> list[float]:
    """Return the p50 (us) of the sentinels of all other runs that are comparable with `folder`'s, in order of start.

    A sentinel is the small fixed load at the start of a run. Comparable are the latest runs with `folder` and the
    reference runs, if truepace sent the sentinel, and class of machine and kind of server (the lab's or not) agree.
    """
    here = folder.manifest()
    wanted = (*_sentinel_of(here)[:2], "truepace")
    sentinels: dict[str, tuple[float, float]] = {}
    newest = sorted(runs(folder.path.parent), key=lambda run: run.path.stat().st_mtime_ns)[-COMPARED_SENTINELS:]
    for run in (*newest, *runs(REFERENCE)):
        with contextlib.suppress(StoreError):
            manifest = run.manifest()
            p50_us = (manifest.get("sentinel") or {}).get("p50_us")
            if p50_us is not None and _sentinel_of(manifest) == wanted:
                sentinels[str(manifest.get("run"))] = float(manifest.get("started_unix_s") or 0.0), float(p50_us)
    sentinels.pop(str(here.get("run")), None)
    return [p50_us for _, p50_us in sorted(sentinels.values())]


def _sentinel_of(manifest: Mapping[str, Any]) -> tuple[str, bool, str]:
    """Return (class of machine, whether the sentinel loads the lab's own server, the sentinel's generator) of a run."""
    generator = (manifest.get("sentinel") or {}).get("generator") or (manifest.get("parameters") or {}).get("generator")
    ours = "server_sources" in (manifest.get("tools") or {})
    return machine_class(manifest.get("machine") or {}), ours, generator or "truepace"


def machine_class(facts: dict[str, Any]) -> str:
    """Return a machine's class by its facts: `EPYC, 4 cores, 16 GiB, virtual`. Compare figures only within a class."""
    gib = float(facts.get("memory_bytes") or 0) / 2**30
    size = f"{facts.get('cores') or '?'} cores, {gib:.0f} GiB{', virtual' if facts.get('virtualised') else ''}"
    return f"{facts.get('cpu_model') or 'unknown processor'}, {size}"


def _run(folder: RunFolder, name: str, manifest: dict[str, Any]) -> dict[str, Any]:
    facts, tools, git = (manifest.get(part) or {} for part in ("machine", "tools", "git"))
    started = manifest.get("started_unix_s")
    return {
        **facts, **tools, **manifest, "run": name, "machine_class": machine_class(facts),
        "started": pd.to_datetime(started, unit="s", utc=True) if started else pd.NaT,
        "git_commit": git.get("commit"), "git_dirty": git.get("dirty"), "folder": str(folder.path),
    }  # fmt: skip


def _step(run: str, step: StepFolder) -> dict[str, Any]:
    record = read_record(step)
    return {
        **{name: getattr(record, name) for name in ("engine", "workload", "connections", "duration_s")}, "run": run,
        "step": step.name, "kind": record.role, "subject": record.treatment or record.engine,
        "generator": record.generator.tool, "offered_rate_rps": record.offered_rps, "profiled": bool(record.profiled),
        "valid": record.valid, "saturated": record.saturated, "started_unix_us": record.started_unix_us or None,
        "folder": str(step.path),
    }  # fmt: skip


def _frame_view(connection: duckdb.DuckDBPyConnection, frame: str, steps: Iterable[tuple[str, StepFolder]]) -> None:
    """Create the SQL view of one data frame over all steps, from Parquet files (read by each query) and archives."""
    files: list[tuple[str, str, str]] = []
    parts: list[pd.DataFrame] = []
    for run, step in steps:
        if frame == CONSOLE:
            text = step.console_text()
            rows = None if text is None else pd.DataFrame({CONSOLE_COLUMN: [text]})
        else:
            rows = step.read_frame(frame) if step.archived else None
        if rows is not None:
            parts.append(rows.assign(run=run, step=step.name))
        elif step.frame(frame).is_file():
            files.append((str(step.frame(frame)), run, step.name))
    views = []
    if files:
        connection.register(f"{frame}{_OWNERS}", pd.DataFrame(files, columns=["file", "run", "step"]))
        listed = ", ".join(f"'{_quoted(path)}'" for path, _, _ in files)
        views.append(
            f"SELECT o.run, o.step, f.* EXCLUDE (filename) FROM "  # noqa: S608 - paths are quoted
            f"read_parquet([{listed}], filename = true, union_by_name = true) f "
            f"JOIN {frame}{_OWNERS} o ON o.file = f.filename"
        )
    if parts or not files:
        columns = ["run", "step", *COLUMNS.get(frame, (CONSOLE_COLUMN,))]
        rows = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns, dtype="object")
        connection.register(f"{frame}{_ARCHIVED}", rows.reindex(columns=columns))
        views.append(f"FROM {frame}{_ARCHIVED}")
    connection.execute(f"CREATE VIEW {frame} AS {' UNION ALL BY NAME '.join(views)}")


BATCH = 500
MARK = "_dataset.json"
SCHEMA = "dataset/1"
PARTITIONS = ("experiment", "machine_class")


def write_dataset(output: Path, roots: Sequence[Path]) -> tuple[int, int, tuple[str, ...]]:
    """Write the measured values of all runs below `roots` as a data set to `output`, in place of an earlier one there.

    Return (number of runs, number of values, messages on runs left out). Raises PlanError if `output` is no data set.
    """
    if output.exists() and not (output / MARK).is_file() and (not output.is_dir() or any(output.iterdir())):
        raise PlanError(str(output), "it is there and no data set", "name another folder, or remove it")
    new = output.with_name(output.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    figures, unreadable, seen = 0, list[str](), set[str]()
    folders = (folder for root in roots for folder in runs(root))
    while batch := list(itertools.islice(folders, BATCH)):  # so that memory does not grow with the number of runs
        history = history_of(batch, seen=seen)
        figures += append(history, new)
        unreadable += history.unreadable
        history.connection.close()
    write_json(new / MARK, {"schema": SCHEMA, "runs": len(seen), "figures": figures})
    shutil.rmtree(output, ignore_errors=True)
    new.replace(output)
    return len(seen), figures, tuple(unreadable)


def append(history: History, folder: Path) -> int:
    """Add the measured values of a history's runs to the data set in `folder`, as new files; return how many values."""
    done = history.connection.execute(
        f"COPY ({_FORM['queries']['dataset']}) TO '{_quoted(folder)}' "
        f"(FORMAT parquet, COMPRESSION zstd, PARTITION_BY ({', '.join(PARTITIONS)}), APPEND)"
    )
    return int((done.fetchone() or (0,))[0])


def _quoted(path: Path | str) -> str:
    return str(path).replace("'", "''")


def open_dataset(folder: Path) -> History:
    """Return a history whose view `measurements` is the data set in `folder`. Raises PlanError if it is no data set."""
    try:
        about = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(str(folder), "it is no data set", "write one: lab dataset FOLDER") from error
    if not about.get("figures"):
        history = history_of(())
        history.connection.execute(f"CREATE TABLE empty AS {_FORM['queries']['dataset']}")
        history.connection.execute("CREATE OR REPLACE VIEW measurements AS FROM empty")
        return history
    connection = duckdb.connect().execute("SET TimeZone = 'UTC'")
    types = ", ".join(f"'{name}': VARCHAR" for name in PARTITIONS)
    source = f"read_parquet('{_quoted(folder)}/*/*/*.parquet', hive_partitioning = true, hive_types = {{{types}}})"
    connection.execute(f"CREATE VIEW measurements AS FROM {source}")
    return History(connection, ())
