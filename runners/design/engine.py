"""List the storage engines: one row each, which command lines, reports and figures share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Engine:
    """A store that the server can run on: its name for `--engine`, its label and its colour in reports."""

    name: str
    label: str
    colour: str


ENGINES = {
    engine.name: engine
    for engine in (
        Engine("rocksdb", "RocksDB", "#0072B2"),
        Engine("lsm", "LSM", "#D55E00"),
        Engine("leveldb", "LevelDB", "#CC79A7"),
        Engine("files", "files", "#E69F00"),
        Engine("memory", "memory", "#009E73"),
        Engine("noop", "noop", "#8c959f"),
    )
}
