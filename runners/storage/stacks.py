"""Stacks in the formats of other tools: pprof's, read and written, and speedscope's, written.

pprof's is a gzipped protocol buffer with one table of strings; the numbers of its fields are those of pprof's
`profile.proto`. Of a sample its stack and its first value, the number of samples, are kept.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping

MOST_BYTES = 256 << 20


class BadProfileError(ValueError):
    """Bytes that are no profile."""


def decoded(data: bytes) -> Iterator[tuple[list[str], int]]:
    """Yield the frames, root first, and the count of every sample of a profile. Raises BadProfileError."""
    try:
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(31).decompress(data, MOST_BYTES)
        strings: list[str] = []
        functions: dict[int, int] = {}
        locations: dict[int, list[int]] = {}
        samples: list[tuple[list[int], list[int]]] = []
        for number, value in _fields(data):
            if number == 6:
                strings.append(_bytes(value).decode(errors="replace"))
            elif number == 5:
                about = dict(_fields(_bytes(value)))
                functions[_int(about[1])] = _int(about.get(2, 0))
            elif number == 4:
                parts = list(_fields(_bytes(value)))
                lines = [dict(_fields(_bytes(part))) for field, part in parts if field == 4]
                locations[_int(dict(parts)[1])] = [_int(line.get(1, 0)) for line in lines]
            elif number == 2:
                samples.append((_numbers(_bytes(value), 1), _numbers(_bytes(value), 2)))
        for places, values in samples:
            # locations come leaf first, and the lines of one location innermost first
            names = [strings[functions[line]] for place in places for line in locations[place]]
            if names and values and values[0] > 0:
                yield names[::-1], values[0]
    except (IndexError, KeyError, zlib.error) as error:
        raise BadProfileError(f"it is no profile in pprof's format ({error!r})") from error


def encoded(stacks: Mapping[str, int], event: str) -> bytes:
    """Return stacks (`frame;frame`, root first) with their weights as a profile that pprof reads."""
    strings = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    unit = {"cpu": "count", "alloc": "bytes", "lock": "nanoseconds"}.get(event, "count")
    sample_type = _field(
        1, _varint_field(1, text("samples" if event == "cpu" else event)) + _varint_field(2, text(unit))
    )
    places: dict[str, int] = {}
    samples = bytearray()
    for stack, weight in stacks.items():
        own = [places.setdefault(name, len(places) + 1) for name in reversed(stack.split(";"))]
        samples += _field(2, _field(1, b"".join(map(_varint, own))) + _field(2, _varint(weight)))
    tables = bytearray()
    for name, place in places.items():
        tables += _field(4, _varint_field(1, place) + _field(4, _varint_field(1, place)))
        tables += _field(5, _varint_field(1, place) + _varint_field(2, text(name)))
    table = b"".join(_field(6, value.encode()) for value in strings)
    return gzip.compress(sample_type + bytes(samples) + bytes(tables) + table, mtime=0)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read(data, at)
            yield key >> 3, value
        elif kind == 2:
            length, at = _read(data, at)
            if at + length > len(data):
                raise BadProfileError("it is cut short")
            yield key >> 3, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise BadProfileError(f"it has a field of kind {kind}")


def _numbers(data: bytes, wanted: int) -> list[int]:
    """Return the numbers of a repeated field, packed or one by one."""
    values: list[int] = []
    for value in (value for number, value in _fields(data) if number == wanted):
        if isinstance(value, int):
            values.append(value)
            continue
        at = 0
        while at < len(value):
            item, at = _read(value, at)
            values.append(item)
    return values


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise BadProfileError("it has a number of more than 64 bits")


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise BadProfileError("it has text where a number belongs")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise BadProfileError("it has a number where a message belongs")
    return value


def _varint(value: int) -> bytes:
    return bytes([value]) if value <= 0x7F else bytes([value & 0x7F | 0x80]) + _varint(value >> 7)


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def speedscope(stacks: Mapping[str, int], event: str, title: str) -> dict[str, object]:
    """Return stacks with their weights in speedscope's file format, as JSON values."""
    frames: dict[str, int] = {}
    samples = [[frames.setdefault(name, len(frames)) for name in stack.split(";")] for stack in stacks]
    unit = {"alloc": "bytes", "lock": "nanoseconds"}.get(event, "none")
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "lab export",
        "name": title,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": [
            {
                "type": "sampled", "name": f"{title}: {event}", "unit": unit, "startValue": 0,
                "endValue": sum(stacks.values()), "samples": samples, "weights": list(stacks.values()),
            }
        ],
    }  # fmt: skip
