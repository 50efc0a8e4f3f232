"""Read the facts on an output that its folder's index gives, or the record of the step that made it."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from runners.readers.command_line import TOOLS
from runners.readers.documents import Problem
from runners.storage.run_folder import RunFolder, StepFolder, StoreError, console_step
from runners.storage.schema import read_record

INDEX = "index.toml"
AUDITED_KINDS = ("load", "floor")  # nobody quotes a latency from a fill or a probe


def index_entry(path: Path) -> tuple[Mapping[str, Any] | None, Problem | None]:
    """Return the facts on an output's file, with the keys that data/published/index.toml explains."""
    if step := console_step(path):
        return _of_step(step)
    for folder, name in ((path.parent, path.stem), (path.parent.parent, f"{path.parent.name}/{path.stem}")):
        content, problem = _index(folder / INDEX)
        if problem:
            return None, problem
        entry = content.get(name)
        if isinstance(entry, dict):
            return entry, None
    return None, None


def consoles(folder: Path) -> Iterator[Path] | None:
    """Yield the console outputs of a run folder's loads, in order; None for any other folder."""
    run = RunFolder(folder)
    if not run.manifest_path.is_file() or not run.steps_path.is_dir():
        return None
    return (step.console for step in run.complete() if _is_load(step))


def _is_load(step: StepFolder) -> bool:
    try:
        return step.console_text() is not None and read_record(step).role in AUDITED_KINDS
    except StoreError:
        return step.console_text() is not None


def _of_step(step: StepFolder) -> tuple[Mapping[str, Any] | None, Problem | None]:
    try:
        record = read_record(step)
    except StoreError as error:
        return None, Problem(0, f"{error.thing}: {error.cause}")
    words = list(record.generator.command)
    begin = next((index for index, word in enumerate(words) if Path(word).name in TOOLS), 0)
    entry: dict[str, Any] = {"report": step.path.parent.parent.name, "tool": record.generator.tool}
    if words:
        entry["command"] = shlex.join(words[begin:])  # not what pins it to a core
    if record.offered_rps is not None:
        entry["rates_rps"] = [record.offered_rps]
    return entry, None


@lru_cache(maxsize=64)
def _index_at(path: Path, changed_ns: int) -> tuple[dict[str, Any], Problem | None]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), None
    except (OSError, ValueError) as error:
        return {}, Problem(0, f"the folder's {INDEX} can't be read ({error})")


def _index(path: Path) -> tuple[dict[str, Any], Problem | None]:
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return {}, None
    return _index_at(path, changed)
