"""A step's folder: the names of its files, what is said of it, and its frames in and out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.errors import Exit, LabError

if TYPE_CHECKING:
    import pandas as pd

#: What the name of a step's folder ends in until the step is complete.
PARTIAL = ".partial"
#: What truepace, the load generator, was called before it had a name of its own.
FORMER_NAME = "loadgen"
_FORMER = re.compile(rf"(?<!//)\b{FORMER_NAME}\b(?!(?<=/{FORMER_NAME})/)")
#: A pattern for what truepace and its former self print of themselves.
EITHER_NAME = rf"(?:truepace|{FORMER_NAME})"


class StoreError(LabError):
    """A run folder that can't be used; the message names the folder, the cause and the remedy."""

    exit_code = Exit.USAGE


def present_name(text: str) -> str:
    """Replace the load generator's former name in what an older run folder holds.

    It stays in the path of the crate, `runners/loadgen/`, and as the host of a URL.
    """
    return _FORMER.sub("truepace", text)


def write_json(path: Path, value: object) -> None:
    """Replace `path` by `value` as JSON, whole or not at all (write, fsync, rename)."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as out:
        json.dump(value, out, indent=1, ensure_ascii=False, sort_keys=False)
        out.write("\n")
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)


@dataclass(frozen=True, slots=True)
class StepFolder:
    """One measured step on disk. Every path is given whether or not the file is there."""

    path: Path

    @property
    def meta(self) -> Path:
        """step.json: what was run and how it ended."""
        return self.path / "step.json"

    @property
    def console(self) -> Path:
        """The generator's standard output, as it was printed."""
        return self.path / "console.txt"

    @property
    def generator_stderr(self) -> Path:
        return self.path / "generator.stderr.txt"

    @property
    def load_json(self) -> Path:
        return self.path / "load.json"

    @property
    def shares(self) -> Path:
        """A folder with a folder for each of the generators that shared the load, whose files have the same names."""
        return self.path / "shares"

    @property
    def hlog(self) -> Path:
        """HdrHistogram log: response times by tenths of a second, service times and others by the second."""
        return self.path / "load.hlog"

    @property
    def server_log(self) -> Path:
        """What the server wrote to standard error during the step."""
        return self.path / "server.log"

    @property
    def gc_log(self) -> Path:
        """The JVM's unified log (gc, safepoint) with the wall clock in milliseconds."""
        return self.path / "gc.log"

    @property
    def telemetry(self) -> Path:
        """JSON lines, one sample of machine, server and generator each."""
        return self.path / "telemetry.jsonl"

    @property
    def requests(self) -> Path:
        """Every request of a load on several servers (`runners/loadgen/docs/requests.md`)."""
        return self.path / "requests.log"

    @property
    def activity(self) -> Path:
        """JSON lines, ten a second: CPU time of the server's threads by role, steal, disk."""
        return self.path / "activity.jsonl"

    @property
    def stalls(self) -> Path:
        """When each core stalled, as the stall witness saw it (`runners/loadgen/docs/stalls.md`)."""
        return self.path / "stalls.txt"

    @property
    def causes_recording(self) -> Path:
        """The JDK's flight recording of what can hold up a request."""
        return self.path / "causes.jfr"

    @property
    def events(self) -> Path:
        """The same events as JSON."""
        return self.path / "events.json"

    @property
    def timed_stacks(self) -> Path:
        """The profiler's samples with their times: `S id stack` and `E event unix_us id samples weight` lines."""
        return self.path / "profile.samples"

    @property
    def recording(self) -> Path:
        """async-profiler's recording (JFR)."""
        return self.path / "profile.jfr"

    def collapsed(self, event: str) -> Path:
        """Collapsed stacks of `event` (cpu, alloc, lock): `frame;frame;frame count` a line."""
        return self.path / f"{event}.collapsed"

    def flamegraph(self, event: str) -> Path:
        """async-profiler's own HTML flame graph of `event`."""
        return self.path / f"{event}.html"

    def heat_map(self, event: str) -> Path:
        """async-profiler's own HTML heat map: when the samples of `event` were taken."""
        return self.path / f"{event}-heatmap.html"

    def difference(self, event: str, other: str) -> Path:
        """async-profiler's own HTML flame graph of `event` in this step's shape, coloured by another's profile."""
        return self.path / f"{event}-against-{other}.html"

    def differences(self, event: str) -> dict[str, Path]:
        """Those that there are, by the name of the other step."""
        begins = f"{event}-against-"
        return {page.stem.removeprefix(begins): page for page in sorted(self.path.glob(f"{begins}*.html"))}

    def frame(self, name: str) -> Path:
        return self.path / "frames" / f"{name}.parquet"

    @property
    def name(self) -> str:
        return present_name(self.path.name.removesuffix(PARTIAL))

    @property
    def archived(self) -> bool:
        """Whether it is a step of an archive, which has no folder of its own (see archive.py)."""
        return False

    def console_text(self) -> str | None:
        """Return the generator's standard output; None when none was kept."""
        try:
            return self.console.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    def read_meta(self) -> dict[str, Any]:
        """step.json as a dict. Raises StoreError when it is missing or not JSON."""
        try:
            value: dict[str, Any] = json.loads(present_name(self.meta.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise StoreError(str(self.meta), f"can't be read ({error})", "run the step again") from error
        return value

    @property
    def empty(self) -> Path:
        """JSON list: the frames that were stored without a row, which need no file each."""
        return self.path / "frames" / "empty.json"

    def write_frames(self, frames: Mapping[str, pd.DataFrame]) -> None:
        """Store frames as Parquet, frames/<name>.parquet each; those without a row are named in one list."""
        import pyarrow as pa  # here, because rooms that never touch a frame also use this module's names
        import pyarrow.parquet as pq

        self.empty.parent.mkdir(exist_ok=True)
        for name, frame in frames.items():
            if frame.empty:
                self.frame(name).unlink(missing_ok=True)
            else:  # as DataFrame.to_parquet, in two thirds of its time
                table = pa.Table.from_pandas(frame, preserve_index=False, nthreads=1)
                pq.write_table(table, self.frame(name))
        write_json(self.empty, sorted(name for name, frame in frames.items() if frame.empty))

    def read_frame(self, name: str) -> pd.DataFrame | None:
        """Return a stored frame, or None when this step has none of that name that holds a row."""
        import pyarrow.parquet as pq

        if not self.frame(name).exists():
            return None
        # as pandas.read_parquet, in half of its time: these files are small and there are a thousand in a run
        frame: pd.DataFrame = pq.ParquetFile(self.frame(name)).read(use_threads=False).to_pandas()
        return frame

    def empty_frames(self) -> frozenset[str]:
        """Return the frames that were stored without a row; none where a step was stored by an earlier lab."""
        try:
            return frozenset(json.loads(self.empty.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return frozenset()
