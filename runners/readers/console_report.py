"""The output of a load tool as typed figures. A figure that was not printed is None; `-nan` is NaN.

Latencies are in microseconds; in spectra and in the figures below them, they are in milliseconds, as wrk2 prints them.
Only `frame` imports pandas, so that reading a console output starts at once.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runners.readers.command_line import CommandLine

if TYPE_CHECKING:
    import pandas as pd

RESPONSE, SERVICE = "response", "service"


def frame(name: str, rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """Return rows (values by column) as the data frame `name` of frames.toml. Only here is pandas imported."""
    from runners.readers import run

    return run.frame(name, rows)


@dataclass(frozen=True, slots=True)
class ThreadStats:
    """A row of wrk's table "Thread Stats": Latency in microseconds, or Req/Sec in requests per second."""

    mean: float | None
    stdev: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class SpectrumRow:
    """A row of wrk2's detailed percentile spectrum; `inverse` is 1/(1-percentile), infinite in the last row."""

    value_ms: float
    percentile: float
    total_count: int  # samples at or below the value
    inverse: float | None


@dataclass(frozen=True, slots=True)
class Latencies:
    """A latency distribution as printed: percentiles, detailed spectrum, and the figures below the spectrum."""

    label: str | None = None  # from the heading, for example Recorded Latency
    rows: tuple[tuple[float, float], ...] = ()  # pairs of a percentile (0..1) and a latency (us)
    spectrum: tuple[SpectrumRow, ...] = ()
    max_ms: float | None = None  # from `#[Max = …]`, like the next two
    total_count: int | None = None
    buckets: int | None = None  # of the histogram
    mean_ms: float | None = None  # from `#[Mean = …]`

    def __bool__(self) -> bool:
        return bool(self.rows) or self.count is not None

    @property
    def count(self) -> int | None:
        """The number of recorded samples; None if the output does not contain it."""
        if self.total_count is not None:
            return self.total_count
        return self.spectrum[-1].total_count if self.spectrum else None

    def at(self, percentile: float) -> float | None:
        """Return the latency (us) at a percentile (0..1) in `rows`, else at the next one up in `spectrum`; or None."""
        for level, value_us in self.rows:
            if math.isclose(level, percentile, abs_tol=1e-9):
                return value_us
        return next((row.value_ms * 1000 for row in self.spectrum if row.percentile >= percentile - 1e-9), None)


@dataclass(frozen=True, slots=True)
class SocketErrors:
    connect: int = 0
    read: int = 0
    write: int = 0
    timeout: int = 0

    @property
    def total(self) -> int:
        return self.connect + self.read + self.write + self.timeout


@dataclass(frozen=True, slots=True)
class ConsoleReport:
    """The figures of one output of a load tool."""

    tool: str | None = None
    command: CommandLine | None = None
    duration_s: float | None = None
    url: str | None = None
    threads: int | None = None
    connections: int | None = None
    depth: int | None = None  # most requests in flight on a connection
    calibrations_us: tuple[float | None, ...] = ()  # in wrk2's calibration, the mean latency of each thread
    latency: ThreadStats | None = None
    requests_per_thread: ThreadStats | None = None
    latencies: Latencies = Latencies()  # response times; in a closed loop (wrk), service times
    least_us: float | None = None  # the shortest latency
    uncorrected: Latencies = Latencies()  # service times, which wrk2 prints with `-U`
    requests: int | None = None
    elapsed_s: float | None = None  # from the line `N requests in …`, like `bytes_read`
    bytes_read: float | None = None
    socket_errors: SocketErrors | None = None
    non_2xx: int | None = None
    failed_apart: int = 0  # how many of `non_2xx` are in neither rate nor latency (Artillery: in the rate)
    odd_length: int | None = None  # responses whose length differs from that of the first
    without_body: int = 0  # of `non_2xx`, those that ab counts for their length and that have no body
    requests_per_s: float | None = None  # of vegeta the rate of successes
    target_rps: float | None = None  # of YCSB, of all operations, as the time that they took shows
    timeout_s: float | None = None  # as the text above states it
    timed_out: bool = False  # the tool says that requests timed out, besides that they failed
    operation: str = ""  # the measured operation, if the tool reports several
    parts: tuple[tuple[str, int], ...] = ()  # (name, number of requests) of parts with percentiles of their own
    column: int = 0  # the output's position, from 0, in a table or file of several outputs
    columns: int = 1  # the number of outputs in that table or file
    closed_loop: bool | None = None  # None if the tool does not say
    interrupted: bool = False
    extra: tuple[str, ...] = ()  # lines that truepace adds, and notes of the lab's readers
    diagnostics: tuple[str, ...] = ()  # unknown lines within the output
    first_line: int = 1
    last_line: int = 1

    @property
    def rate_rps(self) -> float | None:
        """The offered rate in the command line; None if the command line is unknown or names no rate."""
        return self.command.rate_rps if self.command else None

    @property
    def errors(self) -> int:
        """The number of responses other than 2xx and 3xx. It is 0 if not printed, since tools do not print a zero."""
        return self.non_2xx or 0

    @property
    def max_us(self) -> float | None:
        """The largest latency (us): in the 100 % row, else in the spectrum, else in the table Thread Stats; or None."""
        highest = self.latencies.at(1.0)
        return self.latency.max if highest is None and self.latency else highest

    def _by_kind(self) -> dict[str, Latencies]:
        kinds = {RESPONSE: self.latencies, SERVICE: self.uncorrected}
        return {kind: latencies for kind, latencies in kinds.items() if latencies}

    def spectrum_frame(self) -> "pd.DataFrame":
        """Return the `spectrum` data frame. Rows of the uncorrected distribution have the kind `service`."""
        rows = (
            {"kind": kind, "value_us": row.value_ms * 1e3, "percentile": row.percentile, "total_count": row.total_count}
            for kind, latencies in self._by_kind().items()
            for row in latencies.spectrum
        )
        return frame("spectrum", rows)

    def percentiles_frame(self) -> "pd.DataFrame":
        """Return the `percentiles` data frame. Its confidence bounds are NaN: a console output can't give them."""
        rows: list[dict[str, Any]] = []
        for kind, latencies in self._by_kind().items():
            values = {level: latencies.at(level) for level in LEVELS}
            if values[1.0] is None and kind == RESPONSE:
                values[1.0] = self.max_us  # wrk prints the maximum only in the table Thread Stats
            count = latencies.count
            rows += [
                {
                    "kind": kind, "percentile": level, "value_us": value_us,
                    "samples_beyond": None if count is None else beyond(count, level),
                }
                for level, value_us in values.items()
                if value_us is not None
            ]  # fmt: skip
        return frame("percentiles", rows)

    def summary_frame(self) -> "pd.DataFrame":
        """Return the `summary` data frame. Figures that no console output has, such as send delays, are NaN."""
        counted = self.requests is not None  # then errors are known too: tools print them only if there are any
        errors = self.socket_errors or (SocketErrors() if counted else None)
        row = {
            "offered_rps": self.rate_rps, "achieved_rps": self.requests_per_s, "elapsed_s": self.elapsed_s,
            "completed": self.requests, "non_2xx": self.errors if counted else None, "bytes_read": self.bytes_read,
        }  # fmt: skip
        if errors is not None:
            row |= {f"{cause}_errors": getattr(errors, cause) for cause in ("connect", "read", "write")}
            row["timeouts"] = errors.timeout
        return frame("summary", [row])


LEVELS = (0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0)
ENOUGH_BEYOND = 10  # a percentile with fewer samples beyond it is too uncertain to quote
_EPSILON = 1e-9  # a rank of 99.00000001 is 99: fractions such as 0.99 are not exact in binary


def rank(count: int, percentile: float) -> int:
    """Return the 1-based rank of the sample that is the `percentile` (0..1) of `count` samples."""
    return min(count, max(1, math.ceil(percentile * count - _EPSILON)))


def beyond(count: int, percentile: float) -> int:
    """Return how many of `count` samples have a higher rank than the sample at a percentile (0..1)."""
    return count - rank(count, percentile) if count else 0
