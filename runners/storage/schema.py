"""The typed record of a trial (step.json).

None, an empty text and an empty tuple stand for what does not apply to a trial or is not known.
"""

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from runners.design.session import Sweep
from runners.storage.step_folder import StepFolder, StoreError, write_json

SCHEMA = "step/2"
#: Roles of threads that respond to no request: those of the server itself, and (BACKGROUND) also the profiler's.
OWN_BACKGROUND = ("jit", "gc", "flush", "compaction")
BACKGROUND = (*OWN_BACKGROUND, "profiler")


class Ended(enum.Enum):
    """How a trial ended. `SKIPPED`: the server was gone before the trial began; `UNREADABLE`: no readable record."""

    WHOLE = "whole"
    DIED = "died"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a record; a field that has its default value is not written to step.json."""


class GeneratorRecord(Struct, frozen=True):
    """The load generator and how it ended."""

    tool: str = "truepace"
    version: str = ""
    command: tuple[str, ...] = ()
    exit_code: int | None = None
    cpu_s: float | None = None
    cpus: tuple[int, ...] | None = None


class ServerRecord(Struct, frozen=True):
    """The server's process. `ready`: the JSON in the first line that the server printed.

    `left_out`: data that can't be recorded of this server. `categories`: patterns of stack frames, by category.
    """

    command: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    ready: dict[str, Any] = {}
    jvm_flags: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    categories: dict[str, tuple[str, ...]] = {}


class StoreStatus(Struct, frozen=True):
    """The sizes of the server's store, from its response to `GET /v0/status`."""

    disk_bytes: float | None = None
    entries_estimate: float | None = None
    tables: float | None = None


class ProcessStatus(Struct, frozen=True):
    """Memory and disk traffic of the server's process."""

    rss_anon_bytes: int | None = None
    rss_file_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None


class ProfileRecord(Struct, frozen=True):
    """The facts that a profiler's recording states about itself; `samples`: numbers of samples by event."""

    engine: str = ""
    version: str = ""
    samples: dict[str, int] = {}
    settings: dict[str, Any] = {}


class OtherProcess(Struct, frozen=True):
    """A process outside of the experiment that used the processor; `cores`: how many cores, on average."""

    name: str
    cores: float


class WitnessRecord(Struct, frozen=True):
    """The cores that the stall witness watched during a load, or in `note` the reason why it watched none."""

    cpus: tuple[int, ...] = ()
    note: str | None = None


class ClockRecord(Struct, frozen=True):
    """How far a host's wall clock is ahead of the server host's: `offset_us`, within `uncertainty_us` (RFC 5905).

    `stepped_us`: by how much one of the two clocks was set during the load; 0 if neither was.
    """

    offset_us: float = 0.0
    uncertainty_us: float = 0.0
    round_trip_us: float = 0.0
    exchanges: int = 0
    stepped_us: float = 0.0


class NetworkRecord(Struct, frozen=True):
    """Times to connect from a generator's host to the servers before a load; the host's TCP segments during it."""

    round_trips_us: tuple[float, ...] = ()
    failed: int = 0
    sent_segments: int | None = None
    repeated_segments: int | None = None


class ShareRecord(Struct, frozen=True):
    """One of the generators that shared a load, and its host.

    `began_us`: how long after the agreed instant its recorded window began. All times in `folder` are by the clock of
    the server's host. `stalled_ms`: how long the generator host's cores stalled in the window, summed over the cores.
    """

    host: str
    folder: str = ""
    generator: GeneratorRecord = GeneratorRecord()
    offered_rps: float | None = None
    completed: int = 0
    verdict: str = ""
    began_us: float = 0.0
    clock: ClockRecord | None = None
    network: NetworkRecord = NetworkRecord()
    machine: dict[str, Any] = {}
    witness: WitnessRecord | None = None
    stalled_ms: float | None = None


class SearchRecord(Struct, frozen=True):
    """The limits of a knee search. `confirm_s`: length of the step that confirms the knee; 0 without such a step."""

    low_rps: float = 100.0
    high_rps: float = 1_000_000.0
    precision: float = 0.05
    confirm_s: float = 0.0


class LadderBase(Struct, frozen=True):
    """The rate on which a ladder's rates are based, as shares of it: a knee (with interval) or a loop's throughput."""

    what: str
    rps: float
    knee: tuple[float, float, float] | None = None


class LadderRecord(Struct, frozen=True):
    """The ladder or search that a rate step belongs to. `start`: number of the server start that it ran on, from 1."""

    name: str
    objective: str = ""
    minutes: float | None = None
    start: int = 1
    search: SearchRecord | None = None
    base: LadderBase | None = None
    published: tuple[str, ...] = ()


class InterleavedRecord(Struct, frozen=True):
    """The block of interleaved trials that a trial belongs to. `treatments`: the first one is the baseline.

    `control`: the second process of the baseline. `reference`: the server that does nothing. `arm`: the server that the
    trial loads, empty if it loads all. `until`: the block ends once the quantity `primary` is decided.
    `cpu_groups`: "equal", or why the servers had no CPU groups of equal weight. `slice_s`: how long requests go to one
    server before the next one; 0 if the server changes with every request.
    """

    name: str = ""
    treatments: tuple[str, ...] = ()
    arm: str = ""
    planned_rounds: int = 0
    smallest_difference: float = 0.0
    seed: int = 0
    rate_rps: float = 0.0
    rate_basis: str = ""
    control: str = ""
    reference: str = ""
    primary: str = ""
    until: bool = False
    cpu_groups: str = ""
    slice_s: float = 0.0


class TargetRecord(Struct, frozen=True):
    """One of the servers that shared the schedule of a load: increments of counters during the load, sizes at its end.

    `cpu_s`: CPU time of the server's processes and their children; `background_cpu_s`: the part of `cpu_s` in threads
    that respond to no request. `rss_bytes`: anonymous memory of them all. `disk_bytes`: the size of the store.
    """

    name: str
    engine: str = ""
    cpu_s: float | None = None
    background_cpu_s: float | None = None
    background_by_role_s: dict[str, float] = {}
    voluntary_switches: int | None = None
    forced_switches: int | None = None
    read_write_calls: int | None = None
    allocated_bytes: int | None = None
    rss_bytes: int | None = None
    disk_bytes: float | None = None
    server: ServerRecord = ServerRecord()


class LoopRecord(Struct, frozen=True):
    """A closed loop on the JDK's HTTP server; `tcp`: increments of the kernel's TCP counters, by name."""

    stage: str = ""
    stage_title: str = ""
    published: str | None = None
    drawn_keys: int | None = None
    held_keys: int | None = None
    kernel_hz: int | None = None
    tcp: dict[str, int] = {}


class FillRecord(Struct, frozen=True):
    """A fill: the keys that it wrote, and the size of the store after the store's background work was done."""

    keys: int = 0
    given_bytes: int | None = None
    live_bytes: int | None = None
    settled_s: float | None = None
    data_bytes: int | None = None


class FaultRecord(Struct, frozen=True):
    """A fault that was switched on in a server (`switch`); `heads`: facts on response heads that the server sent."""

    switch: str
    heads: tuple[dict[str, Any], ...] = ()


class OutageRecord(Struct, frozen=True):
    """The times (us since 1970) at which a cluster's node was killed under load, started again and ready again."""

    node: int
    start_unix_us: float | None = None
    killed_unix_us: float | None = None
    launched_unix_us: float | None = None
    ready_unix_us: float | None = None
    failed: str | None = None


class FreezeRecord(Struct, frozen=True):
    """A time span in which the server was frozen by SIGSTOP (us since 1970; the length by the monotonic clock)."""

    start_unix_us: float
    end_unix_us: float
    length_us: float


class WindowRecord(Struct, frozen=True):
    """The recorded window of a load."""

    start_unix_us: float
    length_s: float


class StepRecord(Struct, frozen=True):
    """One trial: its load, its server, its conditions, and whether it is valid.

    `role` is the trial's purpose (sentinel, probe, fill, warm-up, floor, load …); `treatment` names the server's
    setting. `expected_status`: HTTP status codes of 400 and above that the workload provokes and that are no errors.
    `tries`: how many times the trial was measured; the record is of the last time.
    """

    schema: str = SCHEMA
    name: str = ""
    label: str = ""
    block: str = ""
    specification: str = ""
    role: str = ""
    engine: str = ""
    treatment: str = ""
    workload: str = ""
    round: int | None = None
    offered_rps: float | None = None
    rate_basis: str = ""
    connections: int | None = None
    threads: int | None = None
    warmup_s: float | None = None
    duration_s: float | None = None
    started_unix_us: int = 0
    ended_unix_us: int = 0
    valid: bool = False
    invalid_reasons: tuple[str, ...] = ()
    saturated: bool = False
    ended: Ended = Ended.WHOLE
    expected_status: tuple[str, ...] = ()
    tries: int = 1
    generator: GeneratorRecord = GeneratorRecord()
    shares: tuple[ShareRecord, ...] = ()
    server: ServerRecord = ServerRecord()
    server_log_tail: tuple[str, ...] = ()
    store_before: StoreStatus = StoreStatus()
    store_after: StoreStatus = StoreStatus()
    process_after: ProcessStatus = ProcessStatus()
    cluster_before: dict[str, Any] = {}
    cluster_after: dict[str, Any] = {}
    profiled: tuple[str, ...] = ()
    profiler: ProfileRecord = ProfileRecord()
    profiler_note: str | None = None
    others: tuple[OtherProcess, ...] = ()
    witness: WitnessRecord | None = None
    ladder: LadderRecord | None = None
    sweep: Sweep | None = None
    interleaved: InterleavedRecord | None = None
    targets: tuple[TargetRecord, ...] = ()
    loop: LoopRecord = LoopRecord()
    fill: FillRecord = FillRecord()
    fault: FaultRecord | None = None
    outage: OutageRecord | None = None
    freezes: tuple[FreezeRecord, ...] = ()
    window: WindowRecord | None = None

    @property
    def own_section(self) -> bool:
        """Whether the report has a special section for this trial, and leaves the trial out of its list of loads."""
        return self.interleaved is not None or self.fault is not None or self.outage is not None


_EMPTY = StepRecord()


def overlaid(record: StepRecord, *known: StepRecord) -> StepRecord:
    """Return `record` with each field replaced that a record in `known` sets to a non-default value; the last wins."""
    changed = {
        name: value
        for other in known
        for name in StepRecord.__struct_fields__
        if (value := getattr(other, name)) != getattr(_EMPTY, name)
    }
    return msgspec.structs.replace(record, **changed)


def record_of(document: Mapping[str, Any]) -> StepRecord:
    """Return the record in a step.json's content. Raises StoreError for another schema or a value of a wrong type."""
    name = f"step {document.get('name', '')!r}"
    if (schema := document.get("schema", SCHEMA)) != SCHEMA:
        cause = f"its record is of {schema}, and this version of the lab reads {SCHEMA}"
        raise StoreError(name, cause, "run it again, or report it with the version that measured it")
    try:
        return msgspec.convert({key: value for key, value in document.items() if value is not None}, StepRecord)
    except msgspec.ValidationError as error:
        raise StoreError(name, f"its record can't be read ({error})", "run it again") from error


def to_document(record: StepRecord) -> dict[str, Any]:
    """Return the JSON object that is written to step.json."""
    document: dict[str, Any] = msgspec.to_builtins(record)
    return {"schema": record.schema, **document}


def read_record(folder: StepFolder) -> StepRecord:
    """Return a trial's record from its folder. Raises StoreError if step.json is missing or broken."""
    return record_of(folder.read_meta())


def write_record(folder: StepFolder, record: StepRecord) -> None:
    """Write a trial's record to step.json; the record's name becomes the folder's name."""
    write_json(folder.meta, to_document(msgspec.structs.replace(record, name=folder.name)))
