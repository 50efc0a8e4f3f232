"""Write quantities as text: latencies, rates, counts, sizes and shares, with their units and intervals.

Latencies have three significant digits, percentages at most two decimals, and rates below 10/s two significant digits;
counts and other rates are whole. Bounds have as many decimals as their value: 118 us (116-121). Narrow spaces separate
thousands, a no-break space the unit.
"""

import math
from collections.abc import Callable, Iterable
from typing import TypeGuard

THIN = "\u202f"
NBSP = "\u00a0"
DASH = "\u2013"
MINUS = "\u2212"
UNKNOWN = "unknown"

Value = float | int | str | bool | None


def known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def finite(value: float | None) -> float | None:
    """Return a finite number unchanged, and None (null in JSON) for None, NaN and infinity."""
    return value if known(value) else None


def _digits(value: float, significant: int = 3) -> str:
    if value == 0:
        return "0"
    rounded = float(f"{value:.{significant}g}")  # before decimals are counted: 0.9996 is written 1.00, not 1.000
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{decimals}f}".replace("-", MINUS)


WIDE = 0.2  # an interval wider than this share of its value gets two significant digits, a narrower one three


def _decimals(value: float, *bounds: float | None) -> int:
    sides = [value, *(side for side in bounds if known(side))]
    wide = len(sides) <= len(bounds) or max(sides) - min(sides) > WIDE * abs(value)
    most = float(f"{max(map(abs, sides)):.{2 if wide else 3}g}")
    return max(0, (1 if wide else 2) - math.floor(math.log10(most))) if most else 0


def _rounded(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return text.replace("-", MINUS) if text.strip("-0.") else "0"


def count(value: float | None) -> str:
    """Return a count as text, such as 3 959 100; "unknown" for None and NaN."""
    if not known(value):
        return UNKNOWN
    return f"{round(value):,}".replace(",", THIN).replace("-", MINUS)


def rate(value: float | None) -> str:
    """Return a rate per second as text, such as 12 600/s or 0.54/s; "unknown" for None and NaN."""
    if not known(value):
        return UNKNOWN
    return f"{count(value) if abs(value) >= 9.95 or value == round(value) else _digits(value, 2)}/s"


def rounded_rate(value: float) -> str:
    """Return a rate per second as text with at most three significant digits, such as 21 400/s."""
    return rate(float(f"{value:.3g}"))


def time_unit(value_us: float) -> tuple[float, str]:
    """Return the unit in which to write a duration: the unit's length in microseconds, and its name (s, ms or us)."""
    size = abs(value_us)
    if size >= 999_500:
        return 1e6, "s"
    return (1e3, "ms") if size >= 999.5 else (1.0, "us")


def latency(value_us: float | None) -> str:
    """Return a duration, given in microseconds, as text: 118 us, 1.02 ms or 1.83 s; "unknown" for None and NaN."""
    if not known(value_us):
        return UNKNOWN
    scale, unit = time_unit(value_us)
    whole = scale == 1.0 and float(value_us).is_integer()  # a histogram knows whole microseconds, and no more
    return f"{_rounded(value_us, 0) if whole else _digits(value_us / scale)}{NBSP}{unit}"


def latency_interval(value_us: float | None, low_us: float | None, high_us: float | None) -> str:
    """Return a duration and its known bounds, all in us, as text: 118 us (116-121), 118 us (at least 116) or 118 us."""
    if not known(value_us):
        return UNKNOWN
    if not known(low_us) and not known(high_us):
        return latency(value_us)
    if known(low_us) and not known(high_us) and 0 < 10 * low_us < value_us:
        return f"at least {latency(low_us)}"  # so little is known of the value
    scale, unit = time_unit(value_us)
    widest = max(abs(side) for side in (low_us, high_us) if known(side))
    if widest > 10 * abs(value_us) and scale != time_unit(widest)[0]:
        sides = [latency(side) if known(side) else "" for side in (low_us, high_us)]
        return f"{latency(value_us)} ({_between(*sides)})"
    whole = scale == 1.0 and float(value_us).is_integer()  # whole microseconds: bounds are rounded outwards
    if whole:
        low_us = math.floor(low_us) if known(low_us) else None
        high_us = math.ceil(high_us) if known(high_us) else None
    parts = [side / scale if known(side) else None for side in (value_us, low_us, high_us)]
    decimals = 0 if whole else _decimals(value_us / scale, *parts[1:])
    value, *sides = ["" if part is None else _rounded(part, decimals) for part in parts]
    # a bound far below its value is no zero
    sides = [_digits(part, 1) if part and text == "0" else text for part, text in zip(parts[1:], sides, strict=True)]
    return f"{value}{NBSP}{unit} ({_between(*sides)})"


def _between(low: str, high: str) -> str:
    if not (low and high):
        return f"at least {low}" if low else f"at most {high}"
    return (f"{NBSP}to{NBSP}" if MINUS in low + high else DASH).join((low, high))


def percent(share: float | None) -> str:
    """Return a share (1 is 100 %) as text: 2.66 %, 26.6 % or 266 %; "unknown" for None and NaN."""
    if not known(share):
        return UNKNOWN
    value = share * 100
    decimals = 0 if value == 0 or abs(value) >= 100 else 1 if 10 <= abs(value) < 99.9 else 2
    text = f"{value:.{decimals}f}"
    return text.replace("-", MINUS if float(text) else "") + f"{NBSP}%"  # what is rounded to zero has no sign


def given_share(share: float) -> str:
    """Return a chosen share (1 is 100 %), such as a limit, as text with all its digits: 99 % or 2.5 %."""
    return f"{share * 100:.6g}{NBSP}%"


def given_latency(value_us: float) -> str:
    """Return a chosen duration in microseconds, such as a limit, as text with all its digits: 10 ms."""
    scale, unit = time_unit(value_us)
    return f"{value_us / scale:.6g}{NBSP}{unit}"


def percent_interval(share: float | None, low: float | None, high: float | None) -> str:
    """Return a share (1 is 100 %) as text, with its interval if both bounds are known: 26.6 % (25.7-27.5)."""
    if not (known(share) and known(low) and known(high)):
        return percent(share)
    decimals = _decimals(share * 100, low * 100, high * 100)
    value, *sides = (_rounded(part * 100, decimals) for part in (share, low, high))
    return f"{value}{NBSP}%" if {value} == {*sides} else f"{value}{NBSP}% ({DASH.join(sides)})"


def change_interval(share: float, low: float, high: float) -> str:
    """Return a relative change (0.41 is +41 %) and its interval as text: +41 % (+33 to +49)."""
    decimals = min(2, _decimals(share * 100, low * 100, high * 100))
    parts = ((part, _rounded(part * 100, decimals)) for part in (share, low, high))
    value, *sides = (f"{'+' if part > 0 and text != '0' else ''}{text}" for part, text in parts)
    return f"{value}{NBSP}% ({' to '.join(sides)})"


def size(value_bytes: float | None) -> str:
    """Return a size, given in bytes, as text with a decimal prefix: 134 MB; "unknown" for None and NaN."""
    if not known(value_bytes):
        return UNKNOWN
    for scale, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if abs(value_bytes) >= scale:
            return f"{_digits(value_bytes / scale)}{NBSP}{unit}"
    return f"{value_bytes:.0f}{NBSP}B"


def seconds(value: float | None) -> str:
    """Return a time in seconds as text, such as 14 s or 0.5 s; "unknown" for None and NaN."""
    return UNKNOWN if not known(value) else f"{value:.3g}{NBSP}s"


def number(value: float | None) -> str:
    """Return a number without a unit as text, with three significant digits: 0.0000112; "unknown" for None and NaN."""
    return UNKNOWN if not known(value) else _digits(value)


def span(values: Iterable[float], unit: Callable[[float], str]) -> str:
    """Return the smallest and the largest finite value as text: 141 to 275. The function `unit` writes one value."""
    known_values = [value for value in values if math.isfinite(value)]
    if not known_values:
        return UNKNOWN
    low, high = unit(min(known_values)), unit(max(known_values))
    return low if low == high else f"{low} to {high}"


def several(number: float | None, noun: str, rest: str = "") -> str:
    """Return a count with its noun (in the plural unless the count is 1), then `rest`: 12 responses with an error."""
    counted = count(number)
    return f"{counted} {noun}{'' if counted == '1' else 's'}{rest}"


def connections(number: float | None) -> str:
    """Return a number of connections in words: one connection, 64 connections."""
    return "one connection" if number == 1 else several(number, "connection")


def level(percentile: float) -> str:
    """Return the name of a percentile (0..1): p50, p99.9, max."""
    return "max" if percentile >= 1 else f"p{percentile * 100:.6g}"


def listed(words: Iterable[str]) -> str:
    """Return words as a list in prose: a, b and c."""
    given = list(words)
    return " and ".join(([", ".join(given[:-1])] if given[:-1] else []) + given[-1:])


def sentence(text: str) -> str:
    """Return text with a capital first letter, and with a full stop unless it ends with one of .!?"""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if not text or text.endswith((".", "!", "?")) else ".")
