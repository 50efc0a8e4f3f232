"""What earlier sessions of a run have finished, so that an interrupted run goes on without measuring that again.

What a word of the notebook measured is one entry of finished.json, written when it is whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from runners.execution.progress import Progress
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder

T = TypeVar("T", Step, list[Step])
ENTRY = frozenset({"what", "steps", "took_s"})


class Finished:
    """The entries of one run; those that the folder holds when this is made are the earlier sessions'."""

    def __init__(self, folder: RunFolder, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._earlier = folder.finished_words()

    def once(self, key: str, measure: Callable[[], T]) -> T:
        """What an earlier session measured under this key, read back; else what `measure` gives now.

        Each entry is given once: who asks again wants it measured again.
        """
        entry = self._earlier.pop(key, None)
        if entry is not None and (kept := self._read(entry)) is not None:
            self._progress.say(f"{key}: measured in an earlier session of this run")
            self._progress.shorten(float(entry["took_s"]))
            return cast("T", kept)
        began = time.monotonic()
        found = measure()
        entry = {**_written(found), "took_s": time.monotonic() - began}
        self._folder.write_finished_words({**self._folder.finished_words(), key: entry})
        return found

    def _read(self, entry: dict[str, Any]) -> Step | list[Step] | None:
        """What the entry names, or None where a step of it is gone or the entry is not one of ours."""
        there = {folder.name: folder for folder in self._folder.steps()}
        if not entry.keys() >= ENTRY or not entry["steps"] or not all(name in there for name in entry["steps"]):
            return None
        steps = [read_step(there[name]) for name in entry["steps"]]
        return steps[0] if entry["what"] == "step" else steps


def _written(found: Step | list[Step]) -> dict[str, Any]:
    if isinstance(found, list):
        return {"what": "steps", "steps": [step.name for step in found]}
    return {"what": "step", "steps": [found.name]}
