"""The archive: a run in few small files, the form in which reference results are kept.

The file steps.archive has every step's record, frames and console output (format: runners/docs/0027-archives.md). A
step in an archive is an `ArchivedStep`, a `StepFolder` without raw files.
"""

import json
import lzma
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from runners.storage.step_folder import StepFolder, StoreError

if TYPE_CHECKING:
    import pandas as pd

CONSOLE, CONSOLE_COLUMN = "console", "text"
MAGIC = b"LABSTEPS1\n"
_HEAD = struct.Struct(f"<{len(MAGIC)}sII")


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one step in an archive: its record, its data frames and its generator's console output."""

    meta: dict[str, Any]  # the record
    frames: Mapping[str, "pd.DataFrame"]
    console: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """The place in the archive file of one data frame, which has the rows of all steps, one step after the other."""

    rows: tuple[int, ...]  # number of rows of each step
    columns: tuple[dict[str, Any], ...]  # the `Column` of every column
    at: int  # offset of the data in the file
    bytes: int  # length of the data


@dataclass(frozen=True, slots=True)
class Archive:
    """The steps of an archived run; frames are read on demand."""

    path: Path
    metas: dict[str, dict[str, Any]]  # {step: its record}
    parts: dict[str, Part] = field(repr=False, compare=False)  # by name of the frame
    texts: dict[str, tuple[int, int]] = field(repr=False, compare=False)  # {column: (offset, length) of its texts}
    _frames: dict[str, "dict[str, pd.DataFrame]"] = field(default_factory=dict, repr=False, compare=False)
    _texts: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def at(run: Path) -> "Archive | None":
        """Return a run folder's archive; None if its steps are folders. Raises StoreError for a damaged archive."""
        try:
            changed_ns = steps_file(run).stat().st_mtime_ns
        except OSError:
            return None
        return _opened(run, changed_ns)

    def step(self, name: str) -> "ArchivedStep":
        return ArchivedStep(self.path / "steps" / name, self)

    def frames(self, name: str) -> "dict[str, pd.DataFrame]":
        """Return {step's name: its data frame `name`}, without steps whose frame has no row."""
        if name not in self._frames:
            self._frames[name] = self._by_step(self.parts[name]) if name in self.parts else {}
        return self._frames[name]

    def _by_step(self, part: Part) -> "dict[str, pd.DataFrame]":
        from runners.storage.columns import unpack, unpacked_texts

        for about in part.columns:
            if (name := about["name"]) in self.texts and name not in self._texts:
                self._texts[name] = unpacked_texts(self._read(*self.texts[name]))
        frame = unpack(part.columns, self._read(part.at, part.bytes), sum(part.rows), self._texts)
        # the rows of a step are consecutive: the step's frame is a slice, which copies nothing
        ends = zip(self.metas, part.rows, accumulate(part.rows), strict=True)
        return {name: frame.iloc[end - rows : end].reset_index(drop=True) for name, rows, end in ends if rows}

    def _read(self, at: int, length: int) -> bytes:
        with steps_file(self.path).open("rb") as file:
            file.seek(at)
            return file.read(length)


@dataclass(frozen=True, slots=True)
class ArchivedStep(StepFolder):
    """A step of an archive, which has no files of its own."""

    archive: Archive
    archived: ClassVar[bool] = True

    def read_meta(self) -> dict[str, Any]:
        return dict(self.archive.metas[self.name])

    def read_frame(self, name: str) -> "pd.DataFrame | None":
        frame = self.archive.frames(name).get(self.name)
        return None if frame is None else frame.copy(deep=False)

    def console_text(self) -> str | None:
        printed = self.archive.frames(CONSOLE).get(self.name)
        return None if printed is None else str(printed[CONSOLE_COLUMN].iat[0])


def steps_file(run: Path) -> Path:
    return run / "steps.archive"


def write_archive(run: Path, steps: Iterable[Content]) -> None:
    """Make the folder `run` and write the steps, sorted by their start time, into an archive there."""
    import pandas as pd

    from runners.storage.columns import compressed, pack, packed_texts, texts_of

    kept = sorted(steps, key=lambda step: step.meta.get("started_unix_us") or 0)
    parts: dict[str, list[pd.DataFrame]] = {}
    for step in kept:
        printed = pd.DataFrame({CONSOLE_COLUMN: [] if step.console is None else [step.console]}, dtype="str")
        for name, frame in {**step.frames, CONSOLE: printed}.items():
            parts.setdefault(name, []).append(frame)
    filled = {name: [part for part in several if len(part)] for name, several in parts.items()}
    frames = {name: pd.concat(several, ignore_index=True) for name, several in filled.items() if several}
    texts = texts_of(frames.values())
    packed = {name: pack(frame, texts) for name, frame in frames.items()}
    lists = {name: packed_texts(values) for name, values in texts.items()}
    index = {
        "steps": [step.meta for step in kept],
        "frames": [[name, [*map(len, parts[name])], columns, len(data)] for name, (columns, data) in packed.items()],
        "texts": [[name, len(data)] for name, data in lists.items()],
    }
    head = compressed(json.dumps(index, ensure_ascii=False, separators=(",", ":")).encode(), text=True)
    body = b"".join([head, *(data for _, data in packed.values()), *lists.values()])
    run.mkdir(parents=True)
    steps_file(run).write_bytes(_HEAD.pack(MAGIC, zlib.crc32(body), len(head)) + body)


@lru_cache(maxsize=4)
def _opened(run: Path, changed_ns: int) -> Archive:
    from runners.storage.columns import expanded

    try:
        data = steps_file(run).read_bytes()
        magic, checksum, length = _HEAD.unpack_from(data)
        if magic != MAGIC or checksum != zlib.crc32(memoryview(data)[_HEAD.size :]):
            raise ValueError("it is damaged, or of another version of the lab")
        at = _HEAD.size + length
        index = json.loads(expanded(data[_HEAD.size : at], text=True))
        parts: dict[str, Part] = {}
        for name, rows, columns, size in index["frames"]:
            parts[name] = Part(tuple(rows), tuple(columns), at, size)
            at += size
        texts: dict[str, tuple[int, int]] = {}
        for name, size in index["texts"]:
            texts[name] = at, size
            at += size
        metas = {str(meta["name"]): meta for meta in index["steps"]}
    except (OSError, struct.error, lzma.LZMAError, ValueError, KeyError, TypeError) as error:
        raise StoreError(str(steps_file(run)), f"can't be read ({error})", "check it out again") from error
    return Archive(run, metas, parts, texts)
