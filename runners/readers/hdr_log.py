"""Read the generator's HdrHistogram log, a line a second, and its slices of a tenth of a second in coarser bins.

The payloads are decoded by the `hdrhistogram` package (V2 format). The lines are split here, because an interrupted
generator may leave half a last line, which must cost that one interval and not the whole log.
A log of our generator says in a comment that its values are nanoseconds; one that does not say is in microseconds.
Format: https://github.com/HdrHistogram/HdrHistogram (HistogramLogWriter), log version 1.2 and 1.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from runners.errors import ReadError, text_of
from runners.readers.run import COLUMNS, frame
from runners.readers.samples import Samples
from runners.storage.step_folder import EITHER_NAME

UNTAGGED = "response"
CENSORED = "censored"  # requests without a response, with the time that they had waited for one
_A_YEAR_S = 365 * 24 * 3600.0
_UNIT = re.compile(r"#\[.*values in (nanoseconds|microseconds)")
_NS_IN_US = 1000.0
_START = re.compile(r"#\[StartTime: *([\d.]+)")
_BASE = re.compile(r"#\[BaseTime: *([\d.]+)")
INTERVAL_LINE = re.compile(
    r'(?:Tag=(?P<tag>[^,]*),)?(?P<at>[\d.]+),(?P<length>[\d.]+),(?P<max>[\d.]+),"?(?P<data>\S+?)"?$'
)


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a log: the samples of one kind within one stretch of time."""

    kind: str
    t_s: float
    duration_s: float
    samples: Samples


@dataclass(frozen=True, slots=True)
class HdrLog:
    """A log in memory. `start_unix_s` is None when the log names no wall clock; `torn` tells of a cut last line.

    `unit_stated` is whether the log says what unit its values have; else they are taken for microseconds.
    """

    intervals: tuple[Interval, ...]
    start_unix_s: float | None
    torn: str | None = None
    unit_stated: bool = True

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of latency in the log; requests without a response are none."""
        return tuple(dict.fromkeys(each.kind for each in self.intervals if each.kind != CENSORED))

    def merged(self, kind: str) -> Samples:
        """All samples of a kind, as one histogram."""
        return Samples.merge(interval.samples for interval in self.intervals if interval.kind == kind)

    def percentiles_frame(self) -> pd.DataFrame:
        """Exact percentiles of each kind with their 95 % bounds; response times count the censored requests."""
        waiting = self.merged(CENSORED)
        parts = [self.merged(kind).percentiles(kind, waiting if kind == UNTAGGED else None) for kind in self.kinds]
        return _concat("percentiles", parts)

    def spectrum_frame(self) -> pd.DataFrame:
        return _concat("spectrum", [self.merged(kind).spectrum(kind) for kind in self.kinds])

    def intervals_frame(self) -> pd.DataFrame:
        """One row a line of the log; errors are not in a log, so they are missing here."""
        return frame(
            "intervals",
            (
                {
                    "t_s": interval.t_s, "kind": interval.kind, "count": interval.samples.total,
                    "completed": interval.samples.total, "p50_us": interval.samples.percentile(0.5),
                    "p90_us": interval.samples.percentile(0.9), "p99_us": interval.samples.percentile(0.99),
                    "p999_us": interval.samples.percentile(0.999), "max_us": interval.samples.max_us,
                }
                for interval in self.intervals
                if interval.kind != CENSORED
            ),
        )  # fmt: skip

    def histograms_frame(self) -> pd.DataFrame:
        """Response times by interval, value by value; requests without a response count with the time they waited."""
        parts = [each for each in self.intervals if each.kind in (UNTAGGED, CENSORED) and each.samples.total]
        if not parts:
            return frame("histograms")
        rows = {
            "t_s": np.repeat([each.t_s for each in parts], [len(each.samples.counts) for each in parts]),
            "kind": np.repeat([each.kind for each in parts], [len(each.samples.counts) for each in parts]),
            "value_us": np.concatenate([each.samples.values_us for each in parts]),
            "count": np.concatenate([each.samples.counts for each in parts]),
        }
        return pd.DataFrame(rows).astype(COLUMNS["histograms"])


def read_hdr_log(path: Path) -> HdrLog:
    """Read a log. Raises ReadError for a line in the middle that can't be decoded, or a log without intervals."""
    lines = text_of(path, strict=True).splitlines()
    start: float | None = None
    base: float | None = None
    units_in_us: float | None = None
    found: list[tuple[str, float, float, Samples]] = []
    torn = None
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            start = float(match[1]) if (match := _START.match(line)) else start
            base = float(match[1]) if (match := _BASE.match(line)) else base
            if unit := _UNIT.match(line):
                units_in_us = _NS_IN_US if unit[1] == "nanoseconds" else 1.0
            continue
        if not line.strip() or line.startswith('"'):
            continue  # the legend
        match = INTERVAL_LINE.match(line)
        samples = _decode(match["data"], units_in_us or 1.0) if match else None
        if match is None or samples is None:
            if number == len(lines):
                torn = f"line {number} is cut short; its interval is left out"
                break
            raise ReadError(path, f"line {number} is no histogram of format V2", "run the step again")
        found.append((match["tag"] or UNTAGGED, float(match["at"]), float(match["length"]), samples))
    if not found:
        raise ReadError(path, "holds no interval", "the generator recorded nothing; see its standard error")
    offset = _offset(found[0][1], start, base)
    intervals = (Interval(kind, at - offset, length, samples) for kind, at, length, samples in found)
    return HdrLog(tuple(intervals), start, torn, units_in_us is not None)


def _offset(first: float, start: float | None, base: float | None) -> float:
    """What to subtract from a line's time stamp to get seconds from the start, by the rules of the Java reader."""
    if start is None:
        return first
    if base is not None:
        return start - base
    return 0.0 if first < start - _A_YEAR_S else start


def _decode(payload: str, units_in_us: float) -> Samples | None:
    try:
        histogram = HdrHistogram.decode(payload.encode("ascii"))
    except Exception:  # the package raises struct, zlib, binascii and its own errors for one and the same cause
        return None
    counts = np.frombuffer(histogram.counts, dtype=f"i{histogram.word_size}", count=histogram.counts_len)
    where = np.nonzero(counts)[0]
    half = histogram.sub_bucket_half_count
    bucket = np.maximum((where >> histogram.sub_bucket_half_count_magnitude) - 1, 0)
    sub_bucket = np.where(where < half, where, (where & (half - 1)) + half)
    shift = bucket + histogram.unit_magnitude
    values = (sub_bucket << shift) + (1 << shift) - 1
    return Samples(values / units_in_us, counts[where].astype(np.int64))


def _concat(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True) if parts else frame(name)


_HEAD = re.compile(rf"#{EITHER_NAME}-slices/1 start_unix_us=(\d+) slices_per_s=(\d+)$")


def read_slices(path: Path) -> pd.DataFrame:
    """The `slices` frame. A cut last line is left out; any other broken line raises ReadError."""
    text = text_of(path, strict=True)
    lines = text.splitlines()
    head = _HEAD.match(lines[0]) if lines else None
    if head is None:
        raise ReadError(path, "does not begin with '#truepace-slices/1'", "read it with the lab that wrote it")
    rows: list[tuple[float, float, float]] = []
    for number, line in enumerate(lines[1:], start=2):
        if line.startswith("#"):
            continue  # what the generator says of all of them
        try:
            rows += _rows(line, int(head[2]))
        except ValueError as error:
            if number == len(lines) and not text.endswith("\n"):
                break
            raise ReadError(path, f"line {number} is no slice ({error})", "run the step again") from error
    return pd.DataFrame(np.array(rows, np.float64).reshape(-1, 3), columns=list(COLUMNS["slices"]))


def _rows(line: str, per_second: int) -> list[tuple[float, float, float]]:
    """The rows of a line: time, latency and count of each of its bins."""
    index, *bins = line.split(" ")
    t_s = int(index) / per_second
    pairs = [each.split(":") for each in bins]
    return [(t_s, float(us), float(int(count))) for us, count in pairs] or [(t_s, 0.0, 0.0)]
