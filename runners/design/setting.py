"""A setting: one way to run the server on one of its engines, with the name that reports use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runners.errors import PlanError

#: The stores that the server can run on, by their names for `--engine`: label and colour in reports.
ENGINES = {
    "rocksdb": ("RocksDB", "#0072B2"),
    "lsm": ("LSM", "#D55E00"),
    "leveldb": ("LevelDB", "#CC79A7"),
    "files": ("files", "#E69F00"),
    "memory": ("memory", "#009E73"),
    "noop": ("do-nothing server", "#8c959f"),
}

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")

ONE_NIO, JDK_FRONT = "one-nio", "jdk"
#: The JDK of report 2: the HTTP server in this JDK waits for an acknowledgement.
OLD_JDK = 17


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run a server: an engine with its own flags. Raises PlanError if the name can't be a folder's name."""

    name: str  # in steps, figures and sentences
    engine: str
    server_flags: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()
    heap_mb: int = 0  # 0: the run's heap
    jdk: int = 0  # release; 0: the lab's JDK
    front: str = ONE_NIO  # the HTTP server before the engine
    nodes: int = 1  # in one JVM, on consecutive ports
    processes: int = 1  # nodes with a JVM of their own
    all_cores: bool = False  # not bound to one core
    target: Path | None = None  # description of a server that is not the lab's

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise PlanError(f"setting {self.name!r}", "its name can't be a folder's", "use a-z, 0-9, '.', '_' and '-'")

    @classmethod
    def of(cls, engine: str) -> Self:
        """Return the setting of an engine with the server's defaults."""
        return cls(engine, engine)

    @classmethod
    def parse(cls, text: str, known: Sequence[str]) -> Self:
        """Return the setting of a text: an engine's name, or an engine with changes.

        Examples: `lsm`; `engine=lsm,--flag=value,-XX:+UseZGC,heap_mb=256,name=zgc`. `known`: names of all engines.
        Raises PlanError for another form or an unknown engine.
        """
        named: dict[str, str] = {}
        server, jvm = [], []
        for part in (part.strip() for part in text.split(",")):
            name, separator, value = part.partition("=")
            if part.startswith("--"):
                server.append(part)
            elif part.startswith("-"):
                jvm.append(part)
            elif separator and name in ("engine", "name", "heap_mb") and name not in named:
                named[name] = value
            elif not separator and "engine" not in named:
                named["engine"] = part
            else:
                remedy = "write an engine, or engine=lsm,--server-flag=value,-XX:jvm-flag,heap_mb=256,name=short"
                raise PlanError(f"setting {text!r}", f"{part!r} can't be read", remedy)
        if named.get("engine") not in known:
            raise PlanError(f"setting {text!r}", "it names no engine that there is", f"one of {', '.join(known)}")
        if not named.get("heap_mb", "16").isdigit():
            raise PlanError(f"setting {text!r}", f"heap_mb={named['heap_mb']}", "give whole MiB")
        flags = "".join(f"-{flag.lstrip('-')}" for flag in (*server, *jvm))
        flags += f"-heap{named['heap_mb']}" if "heap_mb" in named else ""
        own = re.sub(r"[^a-z0-9]+", "-", f"{named['engine']}{flags}".lower())[:40].strip("-")
        return cls(named.get("name", own), named["engine"], tuple(server), tuple(jvm), int(named.get("heap_mb", 0)))


#: The stores by name: each engine as published, and RocksDB also tuned.
_TUNED = Setting("rocksdb-tuned", "rocksdb", ("--preset=tuned",))
STORES = {store.name: store for store in (Setting.of("rocksdb"), _TUNED, *map(Setting.of, list(ENGINES)[1:]))}
#: The store that the other stores are compared with: the store of report 1, as published.
REFERENCE_STORE = "rocksdb"
#: The engine that stores nothing: it shows what a store could achieve if storing took no time.
CEILING = "noop"

WAL, COMPACTION, BLOOM = "--wal", "--compaction", "--bloom-bits-per-key"
CACHE, FLUSH, AS_PUBLISHED = "--cache-bytes", "--flush-threshold-bytes", "--as-published"
MIB = 1 << 20
#: The LSM store of reports 4 and 5: no log, no merging, no Bloom filter, no cache, a flush at one mebibyte.
OLD_LSM = {WAL: "off", COMPACTION: "off", BLOOM: "0", CACHE: "0", FLUSH: str(MIB)}


def old_lsm(name: str, changed: Mapping[str, str]) -> Setting:
    """Return the setting of the published LSM store with flags `changed` ({flag: value}; of JVM flags only the key)."""
    server = {**OLD_LSM, **{flag: value for flag, value in changed.items() if flag.startswith("--")}}
    jvm = tuple(flag for flag in changed if not flag.startswith("--"))
    return Setting(name, "lsm", tuple(f"{flag}={value}" for flag, value in server.items()), jvm)
