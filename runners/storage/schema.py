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
    """How a trial ended."""

    WHOLE = "whole"
    DIED = "died"
    SKIPPED = "skipped"  # the server was gone before the trial began
    INTERRUPTED = "interrupted"
    UNREADABLE = "unreadable"  # its record can't be read


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
    """The server's process, and how it was started."""

    command: tuple[str, ...] = ()
    cpus: tuple[int, ...] | None = None
    ready: dict[str, Any] = {}  # the JSON in the first line that the server printed
    jvm_flags: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()  # data that can't be recorded of this server
    categories: dict[str, tuple[str, ...]] = {}  # patterns of stack frames, by category


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
    """A profiler, its settings and its numbers of samples, as its recording states them."""

    engine: str = ""  # what the profiler samples with
    version: str = ""
    samples: dict[str, int] = {}  # number of samples by event
    settings: dict[str, Any] = {}


class OtherProcess(Struct, frozen=True):
    """A process outside of the experiment that used the processor."""

    name: str
    cores: float  # how many cores it used, on average


class WitnessRecord(Struct, frozen=True):
    """The cores that the stall witness, a program that sees when a core stalls, watched during a load."""

    cpus: tuple[int, ...] = ()
    note: str | None = None  # why it watched none


class ClockRecord(Struct, frozen=True):
    """The wall clock of a generator's host, compared with that of the server's host (RFC 5905)."""

    offset_us: float = 0.0  # how far the clock of the generator's host is ahead …
    uncertainty_us: float = 0.0  # … to within this
    round_trip_us: float = 0.0
    exchanges: int = 0  # number of messages and replies behind the estimate
    stepped_us: float = 0.0  # by how much one of the two clocks was set during the load


class NetworkRecord(Struct, frozen=True):
    """The network between a generator's host and the servers."""

    round_trips_us: tuple[float, ...] = ()  # times to connect, before the load
    failed: int = 0  # number of failed connects
    sent_segments: int | None = None  # of TCP, during the load
    repeated_segments: int | None = None  # retransmissions of TCP, during the load


class ShareRecord(Struct, frozen=True):
    """One of the generators that shared a load, and its host."""

    host: str
    folder: str = ""  # of its files, in which times are by the clock of the server's host
    generator: GeneratorRecord = GeneratorRecord()
    offered_rps: float | None = None
    completed: int = 0
    verdict: str = ""
    began_us: float = 0.0  # how long after the agreed instant its recorded window began
    clock: ClockRecord | None = None
    network: NetworkRecord = NetworkRecord()
    machine: dict[str, Any] = {}
    witness: WitnessRecord | None = None
    stalled_ms: float | None = None  # stalls of its host's cores in the window, summed over the cores


class SearchRecord(Struct, frozen=True):
    """The limits of a knee search."""

    low_rps: float = 100.0
    high_rps: float = 1_000_000.0
    precision: float = 0.05  # wanted relative width of the knee's interval
    confirm_s: float = 0.0  # length of the step that confirms the knee; 0: no such step


class LadderBase(Struct, frozen=True):
    """The base rate of a ladder; the ladder's rates are shares of this rate."""

    what: str  # `knee` or `closed loop`
    rps: float
    knee: tuple[float, float, float] | None = None  # (knee, lower, upper end of its interval), in requests per second


class LadderRecord(Struct, frozen=True):
    """The ladder or search that a rate step belongs to."""

    name: str
    objective: str = ""
    minutes: float | None = None  # the search's budget
    start: int = 1  # number of the server's start, from 1
    search: SearchRecord | None = None
    base: LadderBase | None = None
    published: tuple[str, ...] = ()  # names of published outputs


class InterleavedRecord(Struct, frozen=True):
    """The block of interleaved trials that a trial belongs to."""

    name: str = ""
    treatments: tuple[str, ...] = ()  # the first one is the baseline
    arm: str = ""  # the server that the trial loads; empty: all
    planned_rounds: int = 0  # the planned number of starts
    smallest_difference: float = 0.0  # the smallest relative change that matters
    seed: int = 0
    rate_rps: float = 0.0  # offered to every server; 0: closed loop
    rate_basis: str = ""  # why this rate was chosen
    control: str = ""  # the second process of the baseline
    reference: str = ""  # the server that does nothing
    primary: str = ""  # the quantity that decides
    until: bool = False  # the block ends once `primary` is decided
    cpu_groups: str = ""  # "equal", or why the servers had no CPU groups of equal weight
    slice_s: float = 0.0  # seconds for which all requests go to one server; 0: the server changes with every request


class TargetRecord(Struct, frozen=True):
    """One of the servers that shared a load's schedule. Counters are increments during the load, sizes from its end."""

    name: str
    engine: str = ""
    cpu_s: float | None = None  # of the server's processes and their children …
    background_cpu_s: float | None = None  # … of it, in threads that respond to no request
    background_by_role_s: dict[str, float] = {}
    voluntary_switches: int | None = None
    forced_switches: int | None = None
    read_write_calls: int | None = None
    allocated_bytes: int | None = None
    rss_bytes: int | None = None  # anonymous memory of all processes
    disk_bytes: float | None = None  # size of the store
    server: ServerRecord = ServerRecord()


class LoopRecord(Struct, frozen=True):
    """A closed loop on the JDK's HTTP server."""

    stage: str = ""  # name of the block
    stage_title: str = ""
    published: str | None = None  # name of the published run that it repeats
    drawn_keys: int | None = None  # how many keys it draws from
    held_keys: int | None = None  # how many keys the store holds
    kernel_hz: int | None = None  # ticks per second of the kernel's coarse timers
    tcp: dict[str, int] = {}  # increments of the kernel's TCP counters


class FillRecord(Struct, frozen=True):
    """A fill, which writes the store's data before a load, and the store's size after its background work."""

    keys: int = 0  # number of keys written
    given_bytes: int | None = None  # bytes that were written in all
    live_bytes: int | None = None  # of the keys and their latest values
    settled_s: float | None = None  # until the background work was done
    data_bytes: int | None = None  # of the store's files


class FaultRecord(Struct, frozen=True):
    """A fault that was switched on in a server."""

    switch: str  # the name of the fault
    heads: tuple[dict[str, Any], ...] = ()  # facts on response heads that the server sent


class OutageRecord(Struct, frozen=True):
    """The times (us since 1970) at which a cluster's node was killed under load, started again and ready again."""

    node: int
    start_unix_us: float | None = None
    killed_unix_us: float | None = None
    launched_unix_us: float | None = None
    ready_unix_us: float | None = None
    failed: str | None = None


class FreezeRecord(Struct, frozen=True):
    """A time span in which the server was frozen by SIGSTOP; times in us since 1970."""

    start_unix_us: float
    end_unix_us: float
    length_us: float  # by the monotonic clock


class WindowRecord(Struct, frozen=True):
    """The recorded window of a load."""

    start_unix_us: float
    length_s: float


class StepRecord(Struct, frozen=True):
    """One trial: its load, its server, its conditions, and whether it is valid."""

    schema: str = SCHEMA
    name: str = ""
    label: str = ""
    block: str = ""  # the block that it belongs to
    specification: str = ""  # hash of its session's plan
    role: str = ""  # its purpose: sentinel, probe, fill, warm-up, floor, load …
    engine: str = ""
    treatment: str = ""  # name of the server's setting
    workload: str = ""
    round: int | None = None  # number of its round or start
    offered_rps: float | None = None
    rate_basis: str = ""  # why this rate was chosen
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
    expected_status: tuple[str, ...] = ()  # HTTP status codes of 400 and above that are no errors here
    tries: int = 1  # how many times it was measured; the last time is recorded
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
    """Return `record` with the non-default fields of the records in `known` in place of its own; the last one wins."""
    given = ((name, getattr(other, name)) for other in known for name in StepRecord.__struct_fields__)
    changed = {name: value for name, value in given if value != getattr(_EMPTY, name)}
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
    """Write a trial's record to step.json, with the folder's name in place of the record's own name."""
    write_json(folder.meta, to_document(msgspec.structs.replace(record, name=folder.name)))
