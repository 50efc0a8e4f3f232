"""The archive: a run in few small files, the form in which reference results are kept.

    manifest.json, conclusions.json, report.md, figures/    as in every run folder
    steps.jsonl.gz                                          what was run and how it ended, a step a line
    steps/<frame>.parquet                                   one frame of all steps, with a column `step`
    steps/console.parquet                                   what each step's generator printed

A step of an archive is a `StepFolder` whose frames and console come from these files; its raw files are not there.
"""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runners.storage.step_folder import StepFolder, StoreError

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

CONSOLE, CONSOLE_COLUMN = "console", "text"
#: Digits after the point of times, rates and counts: nanoseconds as microseconds have three, as seconds nine. Decimal
#: numbers of so many digits take half of what floating-point numbers do.
DIGITS = (0, 3, 6, 9)
PRECISION = 18  # of a decimal number in 64 bits
#: Each column takes the smallest: a dictionary (None), or one of these.
OF_WHOLE = (None, "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED")
OF_FLOATS = (None, "BYTE_STREAM_SPLIT", "PLAIN")
#: One page and one dictionary a column: the stacks of a profile repeat each other over all steps.
WHOLE_BYTES = 1 << 28
COMPRESSION = "brotli"  # of what Parquet has, the one that makes these numbers smallest: a tenth smaller than zstd
TRIED, WRITTEN = 5, 11  # levels
LARGEST = 2**53  # below it a whole number is a floating-point one


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

    @staticmethod
    def at(run: Path) -> Archive | None:
        """Return the archive in a run folder, None where steps have folders of their own. Raises StoreError."""
        try:
            changed_ns = steps_jsonl(run).stat().st_mtime_ns
        except OSError:
            return None
        return _opened(run, changed_ns)

    def steps(self) -> list[ArchivedStep]:
        """Return the steps in the order in which they started."""
        return [self.step(name) for name in self.metas]

    def step(self, name: str) -> ArchivedStep:
        return ArchivedStep(self.path / "steps" / name, self)

    def frames(self, name: str) -> dict[str, pd.DataFrame]:
        """Return one frame of all steps, by step; steps without a row are left out."""
        if name not in self._frames:
            self._frames[name] = _by_step(frame_file(self.path, name))
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
        return frame_file(self.archive.path, name)

    def read_frame(self, name: str) -> pd.DataFrame | None:
        frame = self.archive.frames(name).get(self.name)
        return None if frame is None else frame.copy(deep=False)

    def console_text(self) -> str | None:
        printed = self.archive.frames(CONSOLE).get(self.name)
        return None if printed is None else str(printed[CONSOLE_COLUMN].iat[0])


def steps_jsonl(run: Path) -> Path:
    return run / "steps.jsonl.gz"


def frame_file(run: Path, name: str) -> Path:
    return run / "steps" / f"{name}.parquet"


def write_archive(run: Path, steps: Iterable[Content]) -> None:
    """Write the steps of a run into an empty folder, in the order in which they started."""
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
        _write(frame_file(run, name), pd.concat(parts, ignore_index=True))
    text = "".join(f"{json.dumps(step.meta, ensure_ascii=False, separators=(',', ':'))}\n" for step in kept)
    steps_jsonl(run).write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def copy_archive(run: Path, target: Path) -> None:
    """Copy the manifest and the steps of an archive byte for byte into a new folder."""
    shutil.copytree(run / "steps", target / "steps")
    for path in (steps_jsonl(run), run / "manifest.json"):
        shutil.copyfile(path, target / path.name)


@lru_cache(maxsize=4)
def _opened(run: Path, changed_ns: int) -> Archive:
    try:
        lines = gzip.decompress(steps_jsonl(run).read_bytes()).splitlines()
        metas = {str(meta["name"]): meta for meta in map(json.loads, lines)}
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise StoreError(str(steps_jsonl(run)), f"can't be read ({error})", "check it out again") from error
    return Archive(run, metas)


def _by_step(path: Path) -> dict[str, pd.DataFrame]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.exists():
        return {}
    table = pq.ParquetFile(path).read(use_threads=False)
    kinds = {column["name"]: column["numpy_type"] for column in table.schema.pandas_metadata["columns"]}
    for at, column in enumerate(table.schema):
        if pa.types.is_decimal(column.type):
            table = table.set_column(at, column.name, _floats(table[column.name], kinds[column.name]))
    # the rows of a step follow each other: its part is a slice, which copies nothing
    names = table["step"].to_numpy()
    frame = table.drop_columns("step").to_pandas()
    ends = [*(np.flatnonzero(names[1:] != names[:-1]) + 1), len(names)] if len(names) else []
    return {
        str(names[begin]): frame.iloc[begin:end].reset_index(drop=True)
        for begin, end in zip([0, *ends], ends, strict=False)
    }


def _write(path: Path, frame: pd.DataFrame) -> None:
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    encodings: dict[str, str] = {}
    for at, name in enumerate(table.column_names):
        column = table[name]
        if pa.types.is_floating(column.type) and (decimals := _decimals(column)) is not None:
            table = table.set_column(at, name, decimals)
        single = table.select([name])
        if encoding := min(_encodings(table[name].type), key=partial(_size_bytes, single)):
            encodings[name] = encoding
    _write_table(table, path, encodings, WRITTEN)


def _encodings(kind: pa.DataType) -> tuple[str | None, ...]:
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return OF_WHOLE
    return OF_FLOATS if pa.types.is_floating(kind) else (None,)


def _size_bytes(column: pa.Table, encoding: str | None) -> int:
    """Return the size of a table of one column in an encoding."""
    import pyarrow as pa

    written = pa.BufferOutputStream()
    _write_table(column, written, {column.column_names[0]: encoding} if encoding else {}, TRIED)
    return len(written.getvalue())


def _write_table(table: pa.Table, to: Path | pa.NativeFile, encodings: Mapping[str, str], level: int) -> None:
    import pyarrow.parquet as pq

    pq.write_table(
        table,
        to,
        compression=COMPRESSION,
        compression_level=level,
        use_dictionary=[name for name in table.column_names if name not in encodings],
        column_encoding=dict(encodings),
        store_decimal_as_integer=True,
        dictionary_pagesize_limit=WHOLE_BYTES,
        data_page_size=WHOLE_BYTES,
        row_group_size=WHOLE_BYTES,
    )


def _decimals(numbers: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return floating-point numbers as decimal ones, None where these are not equal to them to the bit."""
    import numpy as np
    import pyarrow as pa

    exact = numbers.cast(pa.float64())
    known = exact.drop_null().to_numpy()
    if not np.isfinite(known).all() or (np.signbit(known) & (known == 0)).any():
        return None
    for digits in DIGITS:
        if np.abs(known).max(initial=0) * 10**digits >= LARGEST:
            return None
        decimals = exact.cast(pa.decimal128(PRECISION, digits), safe=False)
        if _floats(decimals, str(numbers.type)).equals(numbers):
            return decimals
    return None


def _floats(decimals: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Return decimal numbers as the nearest floating-point ones: by a division, for Arrow's cast does not round so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    tens = 10**decimals.type.scale
    whole = pc.multiply(decimals, pa.scalar(tens)).cast(pa.int64())
    return pc.divide(whole.cast(pa.float64()), pa.scalar(float(tens))).cast(kind)
