"""The numbers that a script of wrk, wrk2 or truepace draws without a seed: `math.random` of LuaJIT.

Each thread runs the script in a LuaJIT state of its own. Its generator is a combined Tausworthe generator of four
components with period 2^223 (P. L'Ecuyer, *Tables of maximally equidistributed combined LFSR generators*, Mathematics
of Computation 68, 1999); without `math.randomseed` its state comes from constants, so a count of responses that depends
on drawn keys is a constant of the script, not a measurement of the server.

A component is linear over GF(2). Its state after `n` steps is therefore a product of a 64x64 bit matrix and the first
state (H. Haramoto et al., *Efficient jump ahead for F2-linear random number generators*, INFORMS J. Comput. 20, 2008),
and a long sequence is drawn in many lanes at once, each of which starts where the one before it will end.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import numpy.typing as npt

States = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.float64]

#: k (bits of state in use), q and s of each component, as L'Ecuyer calls them.
_COMPONENTS = ((63, 31, 18), (58, 19, 28), (55, 24, 7), (47, 21, 8))
_WARM_UP = 10
_JUMP_BITS = 10  # a lane is as many steps as this power of two
_SIZES = (1 << 14, 1 << 18, 1 << 21, 9 << 19)  # of sequences that are kept
_MANTISSA, _ONE = np.uint64(0x000F_FFFF_FFFF_FFFF), np.uint64(0x3FF0_0000_0000_0000)


def _step(states: States, k: int, q: int, s: int) -> States:
    """Return the next states of one component."""
    kept = states >> np.uint64(64 - k) << np.uint64(64 - k)
    return (((states << np.uint64(q)) ^ states) >> np.uint64(k - s)) ^ (kept << np.uint64(s))


def _first_states() -> Iterator[States]:
    """Yield the state of each component in a script without a seed, before its first draw, as an array of one."""
    value = 0.0
    for component in _COMPONENTS:
        value = value * 3.14159265358979323846 + 2.7182818284590452354
        state, least = np.array([value]).view(np.uint64), np.uint64(1 << (64 - component[0]))
        state = state + least if state[0] < least else state
        for _ in range(_WARM_UP):
            state = _step(state, *component)
        yield state


def _apply(matrix: States, vectors: States) -> States:
    """Return a matrix, given as the images of the 64 unit vectors, times each vector."""
    result = np.zeros_like(vectors)
    for bit in range(64):
        result ^= (np.uint64(0) - ((vectors >> np.uint64(bit)) & np.uint64(1))) & matrix[bit]
    return result


def _lanes(first: States, component: tuple[int, int, int], count: int) -> States:
    """Return the states of one component at the first step of each lane."""
    lanes, jump = first, _step(np.uint64(1) << np.arange(64, dtype=np.uint64), *component)
    for _ in range(_JUMP_BITS):
        jump = _apply(jump, jump)
    while len(lanes) < count:
        lanes = np.concatenate([lanes, _apply(jump, lanes)])
        jump = _apply(jump, jump)
    return lanes[:count]


@cache
def _sequence(size: int) -> Draws:
    """Return at least the first `size` numbers of the sequence, in [0, 1)."""
    count = -(-size >> _JUMP_BITS)
    states = [_lanes(first, own, count) for first, own in zip(_first_states(), _COMPONENTS, strict=True)]
    drawn = np.empty((1 << _JUMP_BITS, count))
    for row in drawn:
        states = [_step(state, *component) for state, component in zip(states, _COMPONENTS, strict=True)]
        mixed = np.bitwise_xor.reduce(states)
        row[:] = ((mixed & _MANTISSA) | _ONE).view(np.float64) - 1.0
    return drawn.T.reshape(-1)


def fractions(count: int) -> Draws:
    """Return the results of the first `count` calls of `math.random()`, in [0, 1)."""
    return _sequence(next((size for size in _SIZES if size >= count), count))[:count]


def integers(count: int, high: int, low: int = 1) -> npt.NDArray[np.int64]:
    """Return the results of the first `count` calls of `math.random(low, high)`."""
    return (np.floor(fractions(count) * float(high - low + 1)) + low).astype(np.int64)
