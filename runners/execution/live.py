"""Follow a load while it runs: rate, percentiles and stolen time of its last second, and a small figure of them.

The generator writes its response times by tenths of a second (`--slices`) as it goes; a second costs ten lines to read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from runners.readers import write

SHOWN_S = 120
WIDTH_PX, STRIP_PX, LABEL_PX = 640, 44, 190
#: Of each strip: its label and the colour of its line.
RATE, LATENCY, STOLEN = ("achieved rate", "#0072B2"), ("p50, p99", "#D55E00"), ("stolen by the host", "#57606a")


@dataclass(frozen=True, slots=True)
class Moment:
    """One second of a load. `stolen_share` is of all cores; a percentile is NaN in a second without a response."""

    rate_rps: float
    p50_us: float
    p99_us: float
    stolen_share: float

    def text(self) -> str:
        """The second in words, for a terminal."""
        percentiles = f"p50 {write.latency(self.p50_us)}, p99 {write.latency(self.p99_us)}"
        return f"{write.rate(self.rate_rps)}, {percentiles}, {write.percent(self.stolen_share)} stolen"


class Follower:
    """Reads what a load has added to its slices since the last look; several servers' files count together."""

    def __init__(self, slices: Path) -> None:
        self._slices = slices
        self._read_bytes: dict[Path, int] = {}
        self._times = _machine_s()

    def read(self) -> Moment | None:
        """The time since the last look; None where the generator wrote nothing, as wrk and wrk2 don't."""
        counts: dict[float, int] = {}
        slices: set[int] = set()
        for path in sorted(self._slices.parent.glob(f"{self._slices.name}*")):
            for line in self._lines(path):
                number, *bins = line.split()
                slices.add(int(number))
                for part in bins:
                    value, _, count = part.partition(":")
                    counts[float(value)] = counts.get(float(value), 0) + int(count)
        if not slices:
            return None
        (stolen_s, all_s), (stolen_before_s, all_before_s) = _machine_s(), self._times
        self._times = (stolen_s, all_s)
        passed_s = all_s - all_before_s
        return Moment(
            sum(counts.values()) / (len(slices) / 10),
            percentile(counts, 0.5),
            percentile(counts, 0.99),
            (stolen_s - stolen_before_s) / passed_s if passed_s > 0 else 0.0,
        )

    def _lines(self, path: Path) -> list[str]:
        """Whole lines that were added, without the header."""
        with path.open(encoding="ascii", errors="replace") as file:
            file.seek(self._read_bytes.get(path, 0))
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._read_bytes[path] = self._read_bytes.get(path, 0) + len(whole)
        return [line for line in whole.splitlines() if line and not line.startswith("#")]


def _machine_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    return getattr(times, "steal", 0.0), sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)


def percentile(counts: dict[float, int], level: float) -> float:
    """The smallest value that at least this share of the counts does not exceed; NaN where there are none."""
    wanted, seen = level * sum(counts.values()), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= wanted:
            return value
    return math.nan


def drawing(moments: Sequence[Moment]) -> str:
    """Draw the last seconds as SVG: a strip for the rate, one for both percentiles (logs), one for stolen time."""
    shown = moments[-SHOWN_S:]
    latest = shown[-1]
    strips = [
        (RATE, [[each.rate_rps for each in shown]], write.rate(latest.rate_rps), False),
        (LATENCY, [[each.p50_us for each in shown], [each.p99_us for each in shown]],
         f"{write.latency(latest.p50_us)}, {write.latency(latest.p99_us)}", True),
        (STOLEN, [[each.stolen_share for each in shown]], write.percent(latest.stolen_share), False),
    ]  # fmt: skip
    parts = []
    for place, ((label, colour), lines, now, logarithmic) in enumerate(strips):
        top = place * STRIP_PX
        parts.append(f'<text x="0" y="{top + 18}" fill="currentColor" opacity="0.7">{label}</text>')
        parts.append(f'<text x="0" y="{top + 35}" fill="currentColor" font-weight="600">{now}</text>')
        for points in _points(lines, top, logarithmic):
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    height = len(strips) * STRIP_PX
    return (
        f'<svg role="img" aria-label="The load so far: {latest.text()}" viewBox="0 0 {WIDTH_PX} {height}" '
        f'width="{WIDTH_PX}" height="{height}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _points(lines: Sequence[Sequence[float]], top: float, logarithmic: bool) -> list[str]:
    """The lines of one strip in its own scale, from 0 or, logarithmic, from the least value on."""
    scaled = [[math.log10(value) if logarithmic and value > 0 else value for value in line] for line in lines]
    finite = [value for line in scaled for value in line if math.isfinite(value)]
    if not finite:
        return []
    low = min(finite) if logarithmic else 0.0
    high = max(*finite, low + 1e-9)
    step = (WIDTH_PX - LABEL_PX) / max(1, len(lines[0]) - 1)
    found = []
    for line in scaled:
        at = [
            (LABEL_PX + place * step, top + (STRIP_PX - 8) - (value - low) / (high - low) * (STRIP_PX - 14))
            for place, value in enumerate(line)
            if math.isfinite(value)
        ]
        found.append(" ".join(f"{x:.1f},{y:.1f}" for x, y in at))
    return found
