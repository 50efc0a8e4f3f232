"""Stacks in the formats of other tools: a reader and a writer of pprof profiles, and a writer of speedscope files.

A pprof profile is a gzipped protocol buffer with one table of strings; field numbers are from pprof's `profile.proto`.
Of a sample, the reader takes the stack and the first value, which is a number of samples.
"""

import gzip
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping

MOST_BYTES = 256 << 20


class BadProfileError(ValueError):
    """An error for bytes that are no pprof profile."""


def decoded(data: bytes) -> Iterator[tuple[list[str], int]]:
    """Yield (stack frames from the root on, count) of every sample in a pprof profile. Raises BadProfileError."""
    try:
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(31).decompress(data, MOST_BYTES)
        _, profile = _message(data)
        strings = [text.decode(errors="replace") for text in profile[6]]
        names, frames_of = dict[int, str](), dict[int, list[str]]()
        for numbers, _ in map(_message, profile[5]):
            names[numbers[1][0]] = strings[(numbers[2] or [0])[0]]
        for numbers, parts in map(_message, profile[4]):
            frames_of[numbers[1][0]] = [names[line[1][0]] for line, _ in map(_message, parts[4])]
        for numbers, parts in map(_message, profile[2]):
            counts = _all_numbers(numbers[2], parts[2])
            # locations come leaf first, and the lines of one location innermost first
            frames = [name for place in _all_numbers(numbers[1], parts[1]) for name in frames_of[place]]
            if frames and counts and counts[0] > 0:
                yield frames[::-1], counts[0]
    except (IndexError, KeyError, zlib.error) as error:
        raise BadProfileError(f"it is no profile in pprof's format ({error!r})") from error


def encoded(stacks: Mapping[str, int], event: str) -> bytes:
    """Return a pprof profile of one kind of event (such as cpu) as bytes; `stacks`: {`root;frame;frame`: weight}."""
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


def _message(data: bytes) -> tuple[defaultdict[int, list[int]], defaultdict[int, list[bytes]]]:
    """Return two dicts by field number of a protobuf message: its varints, and its length-delimited fields as bytes."""
    numbers, parts = defaultdict[int, list[int]](list), defaultdict[int, list[bytes]](list)
    at = 0
    while at < len(data):
        key, at = _read(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read(data, at)
            numbers[key >> 3].append(value)
        elif kind == 2:
            length, at = _read(data, at)
            if at + length > len(data):
                raise BadProfileError("it is cut short")
            parts[key >> 3].append(data[at : at + length])
            at += length
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            raise BadProfileError(f"it has a field of kind {kind}")
    return numbers, parts


def _all_numbers(numbers: list[int], packed: list[bytes]) -> list[int]:
    for part in packed:
        at = 0
        while at < len(part):
            value, at = _read(part, at)
            numbers.append(value)
    return numbers


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
    """Return the JSON object of a speedscope file; `stacks`: {`root;frame;frame`: weight of the event}."""
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
