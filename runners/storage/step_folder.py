"""The folder of one step: the names of its files, its record (step.json), and its data frames (Parquet files)."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from runners.errors import Exit, LabError

if TYPE_CHECKING:
    import pandas as pd

#: The end of the name of a step's folder until the step is complete.
PARTIAL = ".partial"
#: The former name of truepace, the load generator, and a pattern for both names.
FORMER_NAME = "loadgen"
EITHER_NAME = rf"(?:truepace|{FORMER_NAME})"


class StoreError(LabError):
    """An error for a run folder that can't be used; its message names the folder, the cause and the remedy."""

    exit_code = Exit.USAGE


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file's content, whole or not at all (write a new file, fsync, rename)."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)


def write_json(path: Path, value: object) -> None:
    """Replace a file by `value` as JSON, whole or not at all."""
    replace_file(path, (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the JSON object in a file. Raises StoreError, with the advice `remedy`, if the file can't be read."""
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return value
    except (OSError, ValueError) as error:
        raise StoreError(str(path), f"can't be read ({error})", remedy) from error


class Inside:
    """A descriptor: the path of file `name` in the folder that attribute `of` has; `content` describes the file."""

    def __init__(self, name: str, content: str = "", of: str = "path") -> None:
        self._name, self.content, self._of = name, content, of

    def __get__(self, owner: Any, _class: type | None = None) -> Path:
        return Path(getattr(owner, self._of), self._name)


@dataclass(frozen=True, slots=True)
class StepFolder:
    """One measured step on disk. If `archived` it is in an archive and has no files of its own (see archive.py)."""

    path: Path
    archived: ClassVar[bool] = False

    meta = Inside("step.json", "What was run and how it ended (`schema.StepRecord`).")
    console = Inside("console.txt", "The generator's standard output.")
    generator_stderr = Inside("generator.stderr.txt", "The generator's standard error.")
    load_json = Inside("load.json", "The generator's report (`runners/loadgen/docs/json.md`).")
    shares = Inside("shares", "A folder of such files for each of several generators that shared the load.")
    hlog = Inside("load.hlog", "HdrHistogram log: response times by tenths of a second, others by the second.")
    server_log = Inside("server.log", "The server's standard error during the step.")
    gc_log = Inside("gc.log", "The JVM's unified log (gc, safepoint) with the wall clock in milliseconds.")
    telemetry = Inside("telemetry.jsonl", "One sample of machine, server and generator a line.")
    requests = Inside("requests.log", "Every request of a shared load (`runners/loadgen/docs/requests.md`).")
    activity = Inside("activity.jsonl", "Ten lines a second: CPU time of the server's threads by role, steal, disk.")
    stalls = Inside("stalls.txt", "When each core stalled, by the stall witness (`runners/loadgen/docs/stalls.md`).")
    causes_recording = Inside("causes.jfr", "The JDK's flight recording of what can hold up a request.")
    events = Inside("events.json", "The events of `causes.jfr` as JSON.")
    recording = Inside("profile.jfr", "async-profiler's recording.")
    timed_stacks = Inside("profile.samples", "Its samples: lines `S id stack` and `E event unix_us id samples weight`.")
    empty = Inside("frames/empty.json", "JSON list of the frames without a row, which have no file.")

    def collapsed(self, event: str) -> Path:
        """Return the path of collapsed stacks, lines `frame;frame;frame count`, of a kind of event such as cpu."""
        return self.path / f"{event}.collapsed"

    def frame(self, name: str) -> Path:
        return self.path / "frames" / f"{name}.parquet"

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(PARTIAL)

    def console_text(self) -> str | None:
        """Return the generator's standard output; None if it was not kept."""
        try:
            return self.console.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def read_meta(self) -> dict[str, Any]:
        """Return step.json as a dict. Raises StoreError if the file is missing or not JSON."""
        return read_json(self.meta, "run the step again")

    def write_frames(self, frames: Mapping[str, "pd.DataFrame"]) -> None:
        """Store each data frame that has rows as a Parquet file; the file `empty` lists the names of the others."""
        import pyarrow as pa  # here, because code that uses no frame imports this module too
        import pyarrow.parquet as pq

        self.empty.parent.mkdir(exist_ok=True)
        for name, frame in frames.items():
            if frame.empty:
                self.frame(name).unlink(missing_ok=True)
            else:  # writes the same as DataFrame.to_parquet, in two thirds of the time
                table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1)
                pq.write_table(table, self.frame(name))
        write_json(self.empty, sorted(name for name, frame in frames.items() if frame.empty))

    def read_frame(self, name: str) -> "pd.DataFrame | None":
        """Return the stored data frame `name`; None if the step has no such frame or the frame has no row."""
        import pyarrow.parquet as pq

        if not self.frame(name).exists():
            return None
        # reads the same as pandas.read_parquet in half the time: a run has a thousand of these small files
        frame: pd.DataFrame = pq.ParquetFile(self.frame(name)).read(use_threads=False).to_pandas()
        return frame

    def empty_frames(self) -> frozenset[str]:
        """Return the names of data frames without rows; no names if an earlier version of the lab stored the step."""
        try:
            return frozenset(json.loads(self.empty.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return frozenset()
