"""Numbers as a table or a title shows them. A value that is not there is a dash, never "nan"."""

from __future__ import annotations

import math
from typing import Any

NONE = "–"  # noqa: RUF001 - the dash of an empty cell
THIN = "\N{NARROW NO-BREAK SPACE}"


def value(number: Any) -> float:
    """A float from whatever a frame or a JSON file holds; NaN for what is no number."""
    try:
        return float(number)
    except (TypeError, ValueError):
        return math.nan


def count(number: Any) -> str:
    """12600 as "12 600"."""
    number = value(number)
    return f"{number:,.0f}".replace(",", THIN) if math.isfinite(number) else NONE


def rate(rps: Any) -> str:
    """Requests a second: "12 600/s"."""
    rps = value(rps)
    if not math.isfinite(rps):
        return NONE
    return f"{count(rps)}/s" if rps >= 100 else f"{rps:.3g}/s"


def latency(us: Any) -> str:
    """Microseconds with three significant digits and the unit that suits: 118 us, 1.02 ms, 2.5 s."""
    us = value(us)
    if not math.isfinite(us):
        return NONE
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if abs(us) >= scale:
            return f"{three_digits(us / scale)} {unit}"
    return f"{three_digits(us)} us"


def three_digits(number: float) -> str:
    if abs(number) >= 100:
        return f"{number:.0f}"
    return f"{number:.3g}"


def interval(low_us: Any, high_us: Any) -> str:
    """95 % bounds of a latency, "116 us to 121 us"; a dash when one is missing."""
    low, high = latency(low_us), latency(high_us)
    return NONE if NONE in (low, high) else f"{low} to {high}"


def share(part: Any) -> str:
    """0.2058 as "20.6 %"."""
    part = value(part)
    return f"{100 * part:.1f} %" if math.isfinite(part) else NONE


def size(bytes_: Any) -> str:
    """Bytes in binary units: 128 MiB."""
    amount = value(bytes_)
    if not math.isfinite(amount):
        return NONE
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{three_digits(amount)} {unit}"
        amount /= 1024
    return f"{three_digits(amount)} TiB"


def seconds(duration_s: Any) -> str:
    """A duration: 14 s, 3 min 20 s."""
    duration = value(duration_s)
    if not math.isfinite(duration):
        return NONE
    if abs(duration) < 120:
        return f"{duration:.3g} s"
    return f"{int(duration // 60)} min {round(duration % 60)} s"
