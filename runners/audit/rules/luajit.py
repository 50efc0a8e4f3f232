"""LuaJIT's `math.random` as a script gets it that never calls `math.randomseed`: the same numbers in every run.

wrk, wrk2 and our generator run each thread's script in a LuaJIT state of its own. The generator of LuaJIT is a
combined Tausworthe generator of four components with period 2^223 (P. L'Ecuyer, *Tables of maximally equidistributed
combined LFSR generators*, Mathematics of Computation 68, 1999); without a seed its state comes from constants, so a
count of responses that depends on drawn keys is a constant of the script, not a measurement of the server.

A component is linear over GF(2). Its state after `n` steps is therefore a product of a 64x64 bit matrix and the first
state (H. Haramoto et al., *Efficient jump ahead for F2-linear random number generators*, INFORMS J. Comput. 20, 2008),
and a long sequence is drawn in many lanes at once, each of which starts where the one before it will end.
"""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.float64]

_MASK = (1 << 64) - 1
#: k (bits of state in use), q and s of each component, as L'Ecuyer calls them.
_COMPONENTS = ((63, 31, 18), (58, 19, 28), (55, 24, 7), (47, 21, 8))
_WARM_UP = 10
_LANES = 4_096
_MANTISSA, _ONE = 0x000F_FFFF_FFFF_FFFF, 0x3FF0_0000_0000_0000


def _step(z: int, k: int, q: int, s: int) -> int:
    return ((((z << q) & _MASK) ^ z) >> (k - s)) ^ (((z & (_MASK << (64 - k))) << s) & _MASK)


def _first_state() -> list[int]:
    """The state of a script that has set no seed, before its first draw."""
    value, states = 0.0, []
    for k, _, _ in _COMPONENTS:
        value = value * 3.14159265358979323846 + 2.7182818284590452354
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        states.append(bits + (1 << (64 - k)) if bits < (1 << (64 - k)) else bits)
    for _ in range(_WARM_UP):
        states = [_step(z, *component) for z, component in zip(states, _COMPONENTS, strict=True)]
    return states


def _apply(matrix: Words, vectors: Words) -> Words:
    """The matrix, as the images of the 64 unit vectors, times each vector."""
    result = np.zeros_like(vectors)
    for bit in range(64):
        chosen = (vectors >> np.uint64(bit)) & np.uint64(1)
        result ^= (np.uint64(0) - chosen) & matrix[bit]
    return result


def _power(matrix: Words, exponent: int) -> Words:
    result = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    while exponent:
        if exponent & 1:
            result = _apply(matrix, result)
        matrix = _apply(matrix, matrix)
        exponent >>= 1
    return result


def _lanes(first: int, component: tuple[int, int, int], stride: int) -> Words:
    """The states of one component at steps 0, stride, 2 stride, ..."""
    one_step = np.array([_step(1 << bit, *component) for bit in range(64)], dtype=np.uint64)
    jump = _power(one_step, stride)
    lanes = np.array([first], dtype=np.uint64)
    while len(lanes) < _LANES:
        lanes = np.concatenate([lanes, _apply(jump, lanes)])
        jump = _apply(jump, jump)
    return lanes


def _draw(count: int) -> Draws:
    """The first `count` numbers of the sequence, at least, in [0, 1)."""
    stride = -(-count // _LANES)
    states = [_lanes(first, component, stride) for first, component in zip(_first_state(), _COMPONENTS, strict=True)]
    drawn = np.empty((stride, _LANES))
    for row in range(stride):
        mixed = np.zeros(_LANES, dtype=np.uint64)
        for index, (k, q, s) in enumerate(_COMPONENTS):
            z = states[index]
            kept = (z & np.uint64((_MASK << (64 - k)) & _MASK)) << np.uint64(s)
            z = (((z << np.uint64(q)) ^ z) >> np.uint64(k - s)) ^ kept
            states[index] = z
            mixed ^= z
        drawn[row] = ((mixed & np.uint64(_MANTISSA)) | np.uint64(_ONE)).view(np.float64) - 1.0
    return drawn.T.reshape(-1)


@cache
def _sequence(size: int) -> Draws:
    return _draw(size)


def fractions(count: int) -> Draws:
    """What the first `count` calls of `math.random()` give, in [0, 1)."""
    size = 1 << max(14, (count - 1).bit_length())
    return _sequence(size)[:count]


def integers(count: int, high: int, low: int = 1) -> npt.NDArray[np.int64]:
    """What the first `count` calls of `math.random(low, high)` give."""
    return (np.floor(fractions(count) * float(high - low + 1)) + low).astype(np.int64)
