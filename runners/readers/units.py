"""Readers of numbers with units as load tools print them: `635.00us`, `1.00m`, `25.44k`, `287.53MB`, `-nanus`, `inf`.

Kilobytes are 1024 bytes. Every function returns None for other text, and NaN or infinity where a tool printed these.
"""

import math
import re
from collections.abc import Mapping

_NUMBER = r"(?P<number>[+-]?(?:\d{1,18}(?:\.\d*)?|\.\d+|nan|inf))"
_BARE = re.compile(rf"^{_NUMBER}$", re.IGNORECASE)
_TIME = re.compile(rf"^{_NUMBER}(?P<unit>us|μs|µs|ms|s|m|h)$", re.IGNORECASE)
_COUNT = re.compile(rf"^{_NUMBER}(?P<unit>[kKMGTP]?)$", re.IGNORECASE)
_SIZE = re.compile(rf"^{_NUMBER}(?P<unit>[KMGTP]?)i?B?$", re.IGNORECASE)

TIME_US = {"ns": 1e-3, "us": 1.0, "μs": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_DECIMAL, _BINARY = ({prefix: step**power for power, prefix in enumerate(("", *"kmgtp"))} for step in (1000.0, 1024.0))


def number(text: str) -> float | None:
    """Return a number without a unit; `-nan` is NaN. No tool prints an exponent or `_`: such a text gives None."""
    if _BARE.match(text) is None:
        return None
    value = float(text)
    return math.nan if math.isnan(value) else value


def _scaled(match: re.Match[str] | None, scales: Mapping[str, float]) -> float | None:
    value = number(match["number"]) if match else None
    return None if match is None or value is None else value * scales[match["unit"].lower()]


def time_us(text: str) -> float | None:
    """Return a duration such as `635.00us` in microseconds; None for other text."""
    return _scaled(_TIME.match(text), TIME_US)


def time_s(text: str) -> float | None:
    """Return a duration in seconds (a bare number is seconds, as in the tools' `-d` flag); None for other text."""
    value = time_us(text)
    return number(text) if value is None else value / 1e6


def count(text: str) -> float | None:
    """Return a count or a rate, which may have a decimal prefix as in `25.44k`; None for other text."""
    return _scaled(_COUNT.match(text), _DECIMAL)


def size_bytes(text: str) -> float | None:
    """Return a size in bytes (the B may be missing, as in `1.79K`); None for other text."""
    return _scaled(_SIZE.match(text), _BINARY)


_PART = re.compile(r"(\d{1,15}(?:\.\d{1,12})?)(ns|us|µs|μs|ms|s|m|h)")
_CUT = re.compile(r"\d+\.\d+m")


def go_time_us(text: str) -> float | None:
    """Return a duration as Go prints it, or with a word as unit (`3m59.9s`, `1.5 secs`), in us; None for other text."""
    bare = re.sub(r"\s|(?<=s)ecs?$", "", text.replace(",", ""))
    parts = _PART.findall(bare)
    if _CUT.fullmatch(bare):
        return None  # Go prints no fraction of a minute: the line was cut within `ms`
    if not parts or "".join(number + unit for number, unit in parts) != bare:
        return None
    return sum(float(number) * TIME_US[unit] for number, unit in parts)
