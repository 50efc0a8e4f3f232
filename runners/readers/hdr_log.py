"""Reader of an HdrHistogram log; all percentiles, spectra and time series of latencies are derived from its lines.

Format: HistogramLogWriter of HdrHistogram, versions 1.2 and 1.3; our generator's tags: `runners/loadgen/docs/json.md`.
A censored request is one without a response when the run ended; the log has the time that it had waited.
"""

import base64
import math
import re
import struct
import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from hdrh.histogram import HdrHistogram

from runners.errors import ReadError, text_of
from runners.readers.load_json import KINDS
from runners.readers.requests_log import LEVELS
from runners.readers.run import COLUMNS, frame
from runners.readers.samples import Samples

UNTAGGED = "response"
TARGET = "@"  # before a target's name in a tag
CENSORED = "censored"  # requests without a response, with the time that they had waited for one
_A_YEAR_S = 365 * 24 * 3600.0
#: Units in a microsecond, by a comment of the log that names the unit of its values or the program that wrote it.
_UNITS = (
    (re.compile(r"(?i)\bnanos(?:econds?)?\b"), 1_000.0),
    (re.compile(r"(?i)\bmicros(?:econds?)?\b"), 1.0),
    (re.compile(r"(?i)\bmillis(?:econds?)?\b"), 0.001),
    (re.compile(r"(?i)jhiccup|cassandra stress|nosqlbench"), 1_000.0),
    (re.compile(r"\[logging for:", re.I), 1.0),
)
_NS_IN_US = 1000.0
_OLD_COOKIES = {0x1C849302: 40, 0x1C849309: 32}  # bytes of the header by the cookie of compressed V1, V0
_A_SECOND_S, _A_TENTH_S = 0.95, 0.15  # from 0.95 s on, an interval is a whole second; up to 0.15 s, a tenth
ROUNDED_S = 0.001  # times in a log have three decimals
_BITS = 4  # 2 ** 4 bins per factor of two in the `slices` frame, as HdrHistogram has for one significant digit
_CLOCK = re.compile(r"#\[(Start|Base)Time: *([\d.]+)")
INTERVAL_LINE = re.compile(
    r'(?:Tag=(?P<tag>[^,]*),)?(?P<at>[\d.]+),(?P<length>[\d.]+),(?P<max>[\d.]+),"?(?P<data>\S+?)"?$'
)


@dataclass(frozen=True, slots=True)
class Interval:
    """One line of a log: the samples of one kind of latency in the `duration_s` seconds from `t_s` on."""

    kind: str  # response, service or censored; with several targets `@` and the target's name follow
    t_s: float
    duration_s: float
    samples: Samples


@dataclass(frozen=True)
class HdrLog:
    """The intervals of an HdrHistogram log."""

    intervals: tuple[Interval, ...]
    start_unix_s: float | None  # None if the log has no wall clock
    torn: str | None = None  # a message if the last line was cut short
    unit_stated: bool = True  # False if the log names no unit of its values; they are then read as microseconds

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of latency in the log, such as response and service, without CENSORED."""
        return tuple(dict.fromkeys(interval.kind for interval in self.intervals if interval.kind != CENSORED))

    def merged(self, kind: str) -> Samples:
        """Return one histogram of all samples of a kind of latency, for example response."""
        return Samples.merge(interval.samples for interval in self.intervals if interval.kind == kind)

    def percentiles_frame(self) -> pd.DataFrame:
        """Return the `percentiles` data frame with 95 % bounds; an unanswered request counts with its waiting time."""
        waiting = self.merged(CENSORED)
        parts = [self.merged(kind).percentiles(kind, waiting if kind == UNTAGGED else None) for kind in self.kinds]
        return pd.concat(parts, ignore_index=True) if parts else frame("percentiles")

    def spectrum_frame(self) -> pd.DataFrame:
        """Return the `spectrum` data frame of all targets; an unanswered request counts with its waiting time."""
        parts: dict[str, list[Samples]] = {kind: [] for kind in KINDS}
        for second in self.seconds:
            parts[UNTAGGED if second.kind == CENSORED else second.kind].append(second.samples)
        spectra = [Samples.merge(samples).spectrum(kind) for kind, samples in parts.items() if samples]
        return pd.concat(spectra, ignore_index=True) if spectra else frame("spectrum")

    @cached_property
    def seconds(self) -> tuple[Interval, ...]:
        """The log's intervals merged by second and kind of latency, over all targets."""
        parts: dict[tuple[str, float], list[Interval]] = {}
        for interval in self.intervals:
            if (kind := untargeted(interval.kind)) in (*KINDS, CENSORED):
                whole = interval.duration_s >= _A_SECOND_S
                begin_s = interval.t_s if whole else math.floor(interval.t_s + ROUNDED_S)
                parts.setdefault((kind, begin_s), []).append(interval)
        seconds = list[Interval]()
        for (kind, _), several in sorted(parts.items(), key=lambda entry: entry[0][1]):
            begin_s, end_s = min(part.t_s for part in several), max(part.t_s + part.duration_s for part in several)
            seconds.append(Interval(kind, begin_s, end_s - begin_s, Samples.merge(part.samples for part in several)))
        return tuple(seconds)

    def intervals_frame(self) -> pd.DataFrame:
        """Return the `intervals` data frame, a row for each second and kind of latency; a log has no error counts."""
        rows = (
            {
                "t_s": second.t_s, "kind": second.kind, "count": second.samples.total,
                "completed": second.samples.total, "max_us": second.samples.max_us,
                **{name: second.samples.percentile(level) for level, name in LEVELS.items()},
            }
            for second in self.seconds
            if second.kind != CENSORED
        )  # fmt: skip
        return frame("intervals", rows)

    def slices_frame(self) -> pd.DataFrame:
        """Return the `slices` data frame: numbers of responses by tenth of a second and bin of response time.

        The bins are coarse. There are no rows if the log's intervals are longer than a tenth of a second. A tenth
        without a response is a row with a count of 0. The last tenth also counts responses after the load's end.
        """
        tenths = [interval for interval in self.intervals if interval.kind == UNTAGGED]
        if not tenths or min(interval.duration_s for interval in tenths) > _A_TENTH_S:
            return frame("slices")
        held = [interval.samples if interval.samples.total else _NONE for interval in tenths]
        t_s = np.repeat([interval.t_s for interval in tenths], [len(samples.counts) for samples in held])
        counts = np.concatenate([samples.counts for samples in held])
        us = np.where(counts, _coarse(np.concatenate([samples.values_us for samples in held])), 0.0)
        table = pd.DataFrame({"t_s": t_s, "us": us, "count": counts})
        return table.groupby(["t_s", "us"], sort=False, as_index=False).sum().astype(COLUMNS["slices"])

    def histograms_frame(self) -> pd.DataFrame:
        """Return the `histograms` data frame: numbers of requests by second and response time.

        An unanswered request counts with its waiting time. A load on several targets gives no rows.
        """
        parts = [second for second in self.seconds if second.kind in (UNTAGGED, CENSORED) and second.samples.total]
        if not parts or UNTAGGED not in self.kinds:  # several targets have a log of every request
            return frame("histograms")
        lengths = [len(part.samples.counts) for part in parts]
        rows = {
            "t_s": np.repeat([part.t_s for part in parts], lengths),
            "kind": np.repeat([part.kind for part in parts], lengths),
            "value_us": np.concatenate([part.samples.values_us for part in parts]),
            "count": np.concatenate([part.samples.counts for part in parts]),
        }
        return pd.DataFrame(rows).astype(COLUMNS["histograms"])


def untargeted(kind: str) -> str:
    """Return a kind of latency without the suffix `@name`, which names the target in a load on several targets."""
    return kind.partition(TARGET)[0]


def read_hdr_log(path: Path) -> HdrLog:
    """Return the log in a file. Raises ReadError for a broken line other than the last, or if there is no interval."""
    lines = text_of(path, strict=True).splitlines()
    clock_s: dict[str, float] = {}
    units_in_us: float | None = None
    intervals: list[Interval] = []
    torn = None
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            if match := _CLOCK.match(line):
                clock_s.setdefault(match[1], float(match[2]))
            elif not (intervals or units_in_us or line.startswith("#[Histogram log format")):  # the first one holds
                units_in_us = next((in_a_us for mark, in_a_us in _UNITS if mark.search(line)), None)
        elif not line.strip() or line.startswith('"'):
            continue  # the legend
        elif interval := interval_of(line, units_in_us or 1.0):
            intervals.append(interval)
        elif number == len(lines):
            torn = f"line {number} is cut short; its interval is left out"
        else:
            raise ReadError(path, f"line {number} is no histogram of format V0, V1 or V2", "run the step again")
    if not intervals:
        raise ReadError(path, "holds no interval", "the generator recorded nothing; see its standard error")
    start_s = clock_s.get("Start")
    if offset_s := _offset(intervals[0].t_s, start_s, clock_s.get("Base")):
        intervals = [replace(interval, t_s=interval.t_s - offset_s) for interval in intervals]
    return HdrLog(tuple(intervals), start_s, torn, units_in_us is not None)


def interval_of(line: str, units_in_us: float = _NS_IN_US) -> Interval | None:
    """Return the interval in a line of a log; None if the line has none. `units_in_us`: the log's units in one us."""
    if (match := INTERVAL_LINE.match(line)) and (samples := _decode(match["data"], units_in_us)):
        return Interval(match["tag"] or UNTAGGED, float(match["at"]), float(match["length"]), samples)
    return None


def _offset(first_stamp: float, start_time: float | None, base_time: float | None) -> float:
    """Return the seconds to subtract from time stamps so that they begin at 0, as Java's HistogramLogReader does."""
    if start_time is None:
        return first_stamp
    if base_time is not None:
        return start_time - base_time
    return 0.0 if first_stamp < start_time - _A_YEAR_S else start_time


def _decode(payload: str, units_in_us: float) -> Samples | None:
    try:
        if (decoded := _of_before_v2(payload)) is None:
            v2 = HdrHistogram.decode(payload.encode("ascii"))
            decoded = v2, np.frombuffer(v2.counts, dtype=f"i{v2.word_size}", count=v2.counts_len)
        histogram, counts = decoded
    except Exception:  # the package raises struct, zlib, binascii and its own errors for one and the same cause
        return None
    where = np.nonzero(counts)[0]
    half = histogram.sub_bucket_half_count
    bucket = np.maximum((where >> histogram.sub_bucket_half_count_magnitude) - 1, 0)
    sub_bucket = np.where(where < half, where, (where & (half - 1)) + half)
    shift = bucket + histogram.unit_magnitude
    values = (sub_bucket << shift) + (1 << shift) - 1
    return Samples(values / units_in_us, counts[where].astype(np.int64))


def _of_before_v2(payload: str) -> tuple[HdrHistogram, npt.NDArray[Any]] | None:
    """Return the histogram and counts of a V1 or V0 payload, which `hdrh` can't read; None for any other format.

    Format: AbstractHistogram.java of HdrHistogram, `decodeFromByteBuffer`.
    """
    raw = base64.b64decode(payload, validate=True)
    cookie, length = struct.unpack_from(">II", raw)
    head = _OLD_COOKIES.get(cookie & ~0xF0)
    if head is None:
        return None
    body = zlib.decompress(raw[8 : 8 + length])
    digits, lowest, highest = struct.unpack_from(">iqq", body, 12 if head == 40 else 4)
    word = (struct.unpack_from(">I", body)[0] & 0xE0) >> 4
    size = struct.unpack_from(">i", body, 4)[0] if head == 40 else len(body) - head
    counts = np.frombuffer(body[head : head + size], dtype=f">i{word}")
    return HdrHistogram(lowest, highest, digits), counts


#: One row with a count of 0, in place of an interval without samples.
_NONE = Samples(np.zeros(1), np.zeros(1, np.int64))


def _coarse(values_us: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the middle (us) of every value's bin. Bins are log-linear and consist of whole HdrHistogram buckets."""
    ns = np.rint(values_us * _NS_IN_US).astype(np.int64)
    shift = np.maximum(np.frexp(ns | 1)[1] - (_BITS + 1), 0)
    lowest, width = (ns >> shift) << shift, np.int64(1) << shift
    return np.asarray((lowest + width / 2) / _NS_IN_US)
