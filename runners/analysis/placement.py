"""On which node a key lies by each hash, computed for many ids at once as the server computes it for one.

Murmur3 is A. Appleby's MurmurHash3_x86_32 (public domain, 2010); a node's weight for a key is that of the key, seeded
with that of the node's address (rendezvous hashing, see WeightedPlacement.java). The old hash adds a number that the
address makes to one that the key makes, so hardly any key changes the order of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

RENDEZVOUS, OBJECTS_HASH = "rendezvous", "objects-hash"
HASHES = (OBJECTS_HASH, RENDEZVOUS)
_CHUNK = 250_000
_FACTOR = 31  # of String.hashCode and Objects.hash
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)

Ids = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
Bytes = npt.NDArray[np.uint8]


@cache
def shares(topology: tuple[str, ...], hashing: str, ids: int) -> tuple[float, ...]:
    """Which share of the ids 0 to `ids` - 1, as decimal text, each node owns; nodes in the order of their addresses."""
    nodes = tuple(sorted(topology))
    counts = np.zeros(len(nodes), dtype=np.int64)
    for keys in _texts(ids):
        weights = _rendezvous(keys, nodes) if hashing == RENDEZVOUS else _objects_hash(keys, nodes)
        counts += np.bincount(weights.argmax(axis=0), minlength=len(nodes))  # of equal weights the first counts
    return tuple(float(count) / ids for count in counts)


@lru_cache(maxsize=1)
def _texts(ids: int) -> tuple[Bytes, ...]:
    """The ids as rows of ASCII digits, those of one length together."""
    found, digits, first = [], 1, 0
    while first < ids:
        last = min(10**digits, ids)
        for start in range(first, last, _CHUNK):
            numbers = np.arange(start, min(start + _CHUNK, last), dtype=np.int64)
            powers = 10 ** np.arange(digits - 1, -1, -1, dtype=np.int64)
            found.append((numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8))
        digits, first = digits + 1, 10**digits
    return tuple(found)


def _rendezvous(keys: Bytes, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
    seeds = [murmur3(np.frombuffer(node.encode(), dtype=np.uint8)[None, :], 0)[0] for node in nodes]
    return np.stack([murmur3(keys, int(seed)).view(np.int32) for seed in seeds])


def _objects_hash(keys: Bytes, nodes: Sequence[str]) -> npt.NDArray[np.int32]:
    own = text_hash(keys)
    parts = [
        _FACTOR * (_FACTOR + int(text_hash(np.frombuffer(node.encode(), dtype=np.uint8)[None, :])[0])) for node in nodes
    ]
    return np.stack([(own + np.uint32(part % 2**32)).view(np.int32) for part in parts])


def text_hash(keys: Bytes) -> Words:
    """`String.hashCode` of each row."""
    found = np.zeros(len(keys), dtype=np.uint32)
    for column in keys.T:
        found = found * np.uint32(_FACTOR) + column
    return found


def murmur3(keys: Bytes, seed: int) -> Words:
    """MurmurHash3_x86_32 of each row; all rows have one length."""
    length = keys.shape[1]
    found = np.full(len(keys), seed, dtype=np.uint32)
    whole = length // 4 * 4
    for at in range(0, whole, 4):
        found = _rotated(found ^ _mixed(_word(keys[:, at : at + 4])), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if whole < length:
        found ^= _mixed(_word(keys[:, whole:]))
    found ^= np.uint32(length)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = (found ^ (found >> np.uint32(shift))) * np.uint32(factor)
    last: Words = found ^ (found >> np.uint32(16))
    return last


def _word(part: Bytes) -> Words:
    """Up to four bytes, the first the lowest."""
    found = np.zeros(len(part), dtype=np.uint32)
    for place, column in enumerate(part.T):
        found |= column.astype(np.uint32) << np.uint32(8 * place)
    return found


def _mixed(word: Words) -> Words:
    mixed: Words = _rotated(word * _C1, 15) * _C2
    return mixed


def _rotated(word: Words, by: int) -> Words:
    rotated: Words = (word << np.uint32(by)) | (word >> np.uint32(32 - by))
    return rotated
