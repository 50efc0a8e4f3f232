"""Stacks in the formats of other tools: pprof's, read and written, and speedscope's, written.

pprof's is a gzipped protocol buffer with one table of strings; its fields have the numbers of pprof's `profile.proto`.
Of a sample its stack and its first value, the number of samples, are kept.
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
        whole = list(_fields(data))
        strings = [text.decode(errors="replace") for number, _, text in whole if number == 6]
        names, locations = dict[int, str](), dict[int, list[int]]()
        for number, _, body in whole:
            numbers = {field: value for field, value, _ in _fields(body)} if number in (4, 5) else {}
            if number == 5:
                names[numbers[1]] = strings[numbers.get(2, 0)]
            elif number == 4:
                lines = [part for field, _, part in _fields(body) if field == 4]
                locations[numbers[1]] = [
                    {field: value for field, value, _ in _fields(line)}.get(1, 0) for line in lines
                ]
        for sample in (body for number, _, body in whole if number == 2):
            values = _numbers(sample, 2)
            # locations come leaf first, and the lines of one location innermost first
            frames = [names[function] for place in _numbers(sample, 1) for function in locations[place]]
            if frames and values and values[0] > 0:
                yield frames[::-1], values[0]
    except (IndexError, KeyError, zlib.error) as error:
        raise BadProfileError(f"it is no profile in pprof's format ({error!r})") from error


def encoded(stacks: Mapping[str, int], event: str) -> bytes:
    """Return stacks (`frame;frame`, root first) with their weights as a profile that pprof reads."""
    strings = {"": 0}

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    unit = {"cpu": "count", "alloc": "bytes", "lock": "nanoseconds"}.get(event, "count")
    kind = _varint_field(1, text("samples" if event == "cpu" else event)) + _varint_field(2, text(unit))
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
    return gzip.compress(_field(1, kind) + bytes(samples) + bytes(tables) + table, mtime=0)


def _fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the fields of a message: number, value of a number (else 0), bytes of a text or message (else none)."""
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read(data, at)
            yield key >> 3, value, b""
        elif kind == 2:
            length, at = _read(data, at)
            if at + length > len(data):
                raise BadProfileError("it is cut short")
            yield key >> 3, 0, data[at : at + length]
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise BadProfileError(f"it has a field of kind {kind}")


def _numbers(data: bytes, wanted: int) -> list[int]:
    """Return the numbers of a repeated field, packed or one by one."""
    values: list[int] = []
    for _, value, packed in (field for field in _fields(data) if field[0] == wanted):
        at = 0
        while at < len(packed):
            item, at = _read(packed, at)
            values.append(item)
        if not packed:
            values.append(value)
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
