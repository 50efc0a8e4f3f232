"""Read the facts on an output that its folder's index gives, or the record of the step that made it."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from runners.readers.command_line import TOOLS
from runners.readers.documents import Problem
from runners.readers.output import Entry
from runners.storage.archive import steps_file
from runners.storage.run_folder import RunFolder, StepFolder, StoreError, console_step
from runners.storage.schema import read_record

INDEX = "index.toml"
AUDITED_KINDS = ("load", "floor")  # nobody quotes a latency from a fill or a probe


def index_entry(path: Path) -> tuple[Entry, Problem | None]:
    """Return the facts on an output's file, and why they can't be read."""
    if step := console_step(path):
        return _of_step(step)
    for folder, name in ((path.parent, path.stem), (path.parent.parent, f"{path.parent.name}/{path.stem}")):
        index = folder / INDEX
        try:
            if isinstance(entry := _index(index, index.stat().st_mtime_ns).get(name), dict):
                return msgspec.convert(entry, Entry), None
        except FileNotFoundError:
            continue
        except (OSError, ValueError, msgspec.ValidationError) as error:
            return Entry(), Problem(0, f"the folder's {INDEX} can't be read ({error})")
    return Entry(), None


@lru_cache(maxsize=64)
def _index(path: Path, changed_ns: int) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def consoles(folder: Path) -> Iterator[Path] | None:
    """Yield the console outputs of a run folder's loads, in order; None for any other folder."""
    run = RunFolder(folder)
    if not run.manifest_path.is_file() or not (run.steps_path.is_dir() or steps_file(folder).is_file()):
        return None
    return (step.console for step in run.complete() if _is_load(step))


def _is_load(step: StepFolder) -> bool:
    try:
        return step.console_text() is not None and read_record(step).role in AUDITED_KINDS
    except StoreError:
        return step.console_text() is not None


def _of_step(step: StepFolder) -> tuple[Entry, Problem | None]:
    try:
        record = read_record(step)
    except StoreError as error:
        return Entry(), Problem(0, f"{error.thing}: {error.cause}")
    words = list(record.generator.command)
    begin = next((index for index, word in enumerate(words) if Path(word).name in TOOLS), 0)
    command = shlex.join(words[begin:])  # not what pins it to a core
    rates_rps = () if record.offered_rps is None else (record.offered_rps,)
    return Entry(step.path.parent.parent.name, command, tool=record.generator.tool, rates_rps=rates_rps), None
