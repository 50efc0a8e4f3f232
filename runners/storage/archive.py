"""The archive: a run in few small files, the form in which reference results are kept.

    manifest.json, conclusions.json, report.md, figures/    as in every run folder
    steps.jsonl                                             what was run and how it ended, a step a line
    steps/<frame>.parquet                                   one frame of all steps, with a column `step`
    steps/console.parquet                                   what each step's generator printed

A step of an archive is a `StepFolder` whose frames and console come from these files; its raw files are not there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.storage.step_folder import StepFolder, StoreError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

CONSOLE, CONSOLE_COLUMN = "console", "text"
#: Columns that rise within a step: stored as differences of whole numbers they take a sixth. Latencies are whole
#: nanoseconds, and stay microseconds as decimal numbers with so many digits.
RISING = {"histograms": ("value_us", "count")}
DIGITS, LATENCIES = 3, ("value_us",)
#: Floating-point columns that rise evenly: stored byte by byte they take a twentieth.
EVEN = {"requests": ("t_s",)}
#: One page and one dictionary a column: the stacks of a profile repeat each other over all steps.
WHOLE_BYTES = 1 << 28
COMPRESSION_LEVEL = 19


@dataclass(frozen=True, slots=True)
class Content:
    """What an archive keeps of one step."""

    meta: dict[str, Any]
    frames: Mapping[str, pd.DataFrame]
    console: str | None


@dataclass(frozen=True, slots=True)
class Archive:
    """The steps of an archived run, read when they are asked for."""

    path: Path
    metas: dict[str, dict[str, Any]]
    _frames: dict[str, dict[str, pd.DataFrame]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def at(cls, run: Path) -> Archive | None:
        """Open the archive in a run folder; None where steps have folders of their own.

        Raises StoreError when its list of steps can't be read.
        """
        try:
            changed_ns = steps_jsonl(run).stat().st_mtime_ns
        except OSError:
            return None
        return _opened(run, changed_ns)

    def steps(self) -> list[ArchivedStep]:
        """List the steps in the order in which they started."""
        return [self.step(name) for name in self.metas]

    def step(self, name: str) -> ArchivedStep:
        return ArchivedStep(self.path / "steps" / name, self)

    def frames(self, name: str) -> dict[str, pd.DataFrame]:
        """Read one frame of all steps, by step; those without a row are left out."""
        if name not in self._frames:
            self._frames[name] = _by_step(frame_file(self.path, name), name)
        return self._frames[name]


@dataclass(frozen=True, slots=True)
class ArchivedStep(StepFolder):
    """A step of an archive: no file is its own."""

    archive: Archive

    @property
    def archived(self) -> bool:
        return True

    def read_meta(self) -> dict[str, Any]:
        return dict(self.archive.metas[self.name])

    def frame(self, name: str) -> Path:
        """The file that holds this frame of all steps."""
        return frame_file(self.archive.path, name)

    def read_frame(self, name: str) -> pd.DataFrame | None:
        frame = self.archive.frames(name).get(self.name)
        return None if frame is None else frame.copy()

    def console_text(self) -> str | None:
        printed = self.archive.frames(CONSOLE).get(self.name)
        return None if printed is None else str(printed[CONSOLE_COLUMN].iat[0])


def steps_jsonl(run: Path) -> Path:
    return run / "steps.jsonl"


def frame_file(run: Path, name: str) -> Path:
    return run / "steps" / f"{name}.parquet"


def write_archive(run: Path, steps: Iterable[Content]) -> None:
    """Write the steps of a run, in the order in which they started, into an empty folder."""
    import pandas as pd

    kept = sorted(steps, key=lambda step: step.meta.get("started_unix_us") or 0)
    frames: dict[str, list[pd.DataFrame]] = {}
    for step in kept:
        printed = pd.DataFrame({CONSOLE_COLUMN: [] if step.console is None else [step.console]}, dtype="str")
        for name, frame in {**step.frames, CONSOLE: printed}.items():
            if not frame.empty:
                owned = frame.copy()
                owned.insert(0, "step", step.meta["name"])
                frames.setdefault(name, []).append(owned)
    frame_file(run, "").parent.mkdir(parents=True)
    for name, parts in frames.items():
        _write(frame_file(run, name), name, pd.concat(parts, ignore_index=True))
    lines = (json.dumps(step.meta, ensure_ascii=False, separators=(",", ":")) for step in kept)
    steps_jsonl(run).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def copy_archive(run: Path, target: Path) -> None:
    """Copy the manifest and the steps of an archive byte for byte into a folder that is not there yet."""
    shutil.copytree(run / "steps", target / "steps")
    for path in (steps_jsonl(run), run / "manifest.json"):
        shutil.copyfile(path, target / path.name)


@lru_cache(maxsize=4)
def _opened(run: Path, changed_ns: int) -> Archive:
    try:
        lines = steps_jsonl(run).read_text(encoding="utf-8").splitlines()
        metas = {str(meta["name"]): meta for meta in map(json.loads, lines)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(str(steps_jsonl(run)), f"can't be read ({error})", "check it out again") from error
    return Archive(run, metas)


def _by_step(path: Path, name: str) -> dict[str, pd.DataFrame]:
    import pyarrow.parquet as pq

    if not path.exists():
        return {}
    table = pq.ParquetFile(path).read(use_threads=False)
    for column in RISING.get(name, ()):
        if column in LATENCIES:
            table = table.set_column(table.schema.get_field_index(column), column, _floats(table[column]))
    frame = table.to_pandas()
    return {
        str(step): part.drop(columns="step").reset_index(drop=True) for step, part in frame.groupby("step", sort=False)
    }


def _write(path: Path, name: str, frame: pd.DataFrame) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    encodings = dict.fromkeys(EVEN.get(name, ()), "BYTE_STREAM_SPLIT")
    for column in RISING.get(name, ()):
        whole = _decimals(table[column]) if column in LATENCIES else table[column]
        if whole is not None:
            table = table.set_column(table.schema.get_field_index(column), column, whole)
            encodings[column] = "DELTA_BINARY_PACKED"
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=[column for column in frame.columns if column not in encodings],
        column_encoding=encodings,
        store_decimal_as_integer=True,
        dictionary_pagesize_limit=WHOLE_BYTES,
        data_page_size=WHOLE_BYTES,
        row_group_size=WHOLE_BYTES,
    )


def _decimals(latencies: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Latencies (microseconds) as decimal numbers; None where these are not equal to them."""
    import pyarrow as pa

    decimals = latencies.cast(pa.float64()).cast(pa.decimal128(18, DIGITS), safe=False)
    return decimals if _floats(decimals).equals(latencies.cast(pa.float64())) else None


def _floats(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers as floating-point ones; a decimal as the nearest, which its quotient is and Arrow's cast is not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_decimal(numbers.type):
        return numbers.cast(pa.float64())
    whole = pc.multiply(numbers, pa.scalar(10**DIGITS)).cast(pa.int64())
    return pc.divide(whole.cast(pa.float64()), pa.scalar(10.0**DIGITS))
