"""Rules ERR002 and ERR003: error counts that a script's unseeded random numbers cause, whatever the server does.

LuaJIT's `math.random` (P. L'Ecuyer, 1999, Mathematics of Computation 68) gives the same sequence in every unseeded run.
Here the sequence is cut into lanes of equal length, which are computed at once. A matrix power gives the first state of
each lane (H. Haramoto et al., 2008, INFORMS J. Comput. 20).
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runners import words
from runners.audit.rule import Group, Seen, rule, said
from runners.readers.output import Output

Words = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.float64]
Solved = tuple[int, Output]  # a number of writes, and the output that it explains

#: Parameters of the generator's four components, as L'Ecuyer names them: k (bits of state in use), q and s.
_COMPONENTS = ((63, 31, 18), (58, 19, 28), (55, 24, 7), (47, 21, 8))
_WARM_UP = 10
_JUMP_BITS = 10  # a lane (part of the sequence) has 2 ** _JUMP_BITS draws
_SIZES = (1 << 14, 1 << 18, 1 << 21, 9 << 19)  # lengths of the sequences that are cached
_MANTISSA, _ONE = np.uint64(0x000F_FFFF_FFFF_FFFF), np.uint64(0x3FF0_0000_0000_0000)


def _step(states: Words, k: int, q: int, s: int) -> Words:
    kept = states >> np.uint64(64 - k) << np.uint64(64 - k)
    return (((states << np.uint64(q)) ^ states) >> np.uint64(k - s)) ^ (kept << np.uint64(s))


def _first_states() -> Iterator[Words]:
    """Yield every component's state in LuaJIT's unseeded random generator before a first draw, as a 1-element array."""
    value = 0.0
    for component in _COMPONENTS:
        value = value * 3.14159265358979323846 + 2.7182818284590452354
        state, least = np.array([value]).view(np.uint64), np.uint64(1 << (64 - component[0]))
        state = state + least if state[0] < least else state
        for _ in range(_WARM_UP):
            state = _step(state, *component)
        yield state


def _apply(matrix: Words, vectors: Words) -> Words:
    """Return the products of a matrix over GF(2) with vectors. Row i of `matrix` is the image of the unit vector i."""
    result = np.zeros_like(vectors)
    for bit in range(64):
        result ^= (np.uint64(0) - ((vectors >> np.uint64(bit)) & np.uint64(1))) & matrix[bit]
    return result


def _lanes(first: Words, component: tuple[int, int, int], count: int) -> Words:
    """Return the first state of one component in each of `count` lanes; `first` is the first lane's state."""
    lanes, jump = first, _step(np.uint64(1) << np.arange(64, dtype=np.uint64), *component)
    for _ in range(_JUMP_BITS):
        jump = _apply(jump, jump)
    while len(lanes) < count:
        lanes = np.concatenate([lanes, _apply(jump, lanes)])
        jump = _apply(jump, jump)
    return lanes[:count]


@cache
def _sequence(size: int) -> Draws:
    """Return at least the first `size` numbers in [0, 1) that a script draws if it sets no seed."""
    count = -(-size >> _JUMP_BITS)
    states = [_lanes(first, own, count) for first, own in zip(_first_states(), _COMPONENTS, strict=True)]
    drawn = np.empty((1 << _JUMP_BITS, count))
    for row in drawn:
        states = [_step(state, *component) for state, component in zip(states, _COMPONENTS, strict=True)]
        mixed = np.bitwise_xor.reduce(states)
        row[:] = ((mixed & _MANTISSA) | _ONE).view(np.float64) - 1.0
    return drawn.T.reshape(-1)


def fractions(count: int) -> Draws:
    """Return the numbers in [0, 1) that the first `count` calls of Lua's `math.random()` give if no seed is set."""
    return _sequence(next((size for size in _SIZES if size >= count), count))[:count]


def integers(count: int, high: int, low: int = 1) -> npt.NDArray[np.int64]:
    """Return the numbers that the first `count` calls of Lua's `math.random(low, high)` give if no seed is set."""
    return (np.floor(fractions(count) * float(high - low + 1)) + low).astype(np.int64)


MOST_DRAWS = 4_500_000  # of one thread; a longer replay would take too long
LIKELY_ACCIDENT = 0.1
FAR = 5.0  # standard deviations from the expected count; a guess that is further off is not replayed
LONGEST_SCRIPT_BYTES = 64 * 1024
_POWERS = tuple(10**power for power in range(2, 8))
ROUND = tuple(digit * 10**power for power in range(2, 8) for digit in (1, 2, 3, 5))
SAME_WRITES = 3e-4  # share by which numbers of writes may differ and still count as the same number
NEAR_WRITES = 0.03  # share by which the numbers of requests of a run's threads may differ
TWO_DRAW_KEYS = (10**4, 10**5, 10**6)
TWO_DRAW_SHARES = (0.005, 0.5)


@dataclass(frozen=True, slots=True)
class Replay:
    """A guess of the keys that the store lacks, under which a replay gives exactly the output's number of errors."""

    absent: str  # the absent keys, in words
    chance: float  # probability that a draw is an absent key
    expected: float  # the number of errors that follows
    stdev: float  # its standard deviation
    accident: float  # probability that a wrong guess explains the real number of errors by chance


def _absent_keys(ranges: Sequence[int]) -> Iterator[tuple[str, float, bool]]:
    """Yield guesses: (absent keys in words, a share of all keys, whether keys below that share are the absent ones)."""
    for keys in ranges or ROUND:
        yield f"key 1 of {words.count(keys)}, which was never written", 1 / keys, True
    for top, keys in sorted({(top, keys) for keys in ranges for top in _POWERS if top < keys}):
        yield f"keys above {words.count(top)} of {words.count(keys)}, which were never written", top / keys, False
    for share in () if ranges else (10, 100, 1_000):
        yield f"keys that were never written, if only 1 in {words.count(share)} was", 1 / share, False


@lru_cache(maxsize=4_096)
def replay(errors: int, requests: int, threads: int, ranges: tuple[int, ...] = ()) -> Replay | None:
    """Return the guess of keys absent from the store that explains all `errors` of a load; None if no guess does.

    The load reads `requests` random keys by an unseeded script on `threads` threads. `ranges` has the numbers of keys
    that the script draws from; () if unknown.
    """
    if not 0 < errors < requests or threads < 1 or requests // threads > MOST_DRAWS:
        return None
    parts = [requests // threads + (index < requests % threads) for index in range(threads)]
    tried = 0
    for absent_keys, fraction, below in _absent_keys(ranges):
        chance = fraction if below else 1 - fraction
        expected = requests * chance
        stdev = math.sqrt(expected * (1 - chance))
        if abs(errors - expected) > FAR * stdev:
            continue
        tried += 1
        absent = (fractions(max(parts) + 1) < fraction) == below
        counted = sum(int(absent[(1 if index == 0 else 0) :][:part].sum()) for index, part in enumerate(parts))
        accident = min(1.0, tried / (stdev * math.sqrt(2 * math.pi)))
        if counted == errors and accident <= LIKELY_ACCIDENT:
            return Replay(absent_keys, chance, expected, stdev, accident)
    return None


@rule("ERR002")
def _unseeded(output: Output) -> Iterator[Seen]:
    errors, requests = output.report.non_2xx, output.report.requests
    if not errors or not requests or output.tool not in ("wrk", "wrk2", None):
        return
    drawn = _ranges_of_script(output)
    if drawn == ():
        return  # the script is here, and seeds its numbers or draws none
    match = replay(errors, requests, output.threads or 1, drawn or ())
    if match is None:
        return
    text = said("ERR002", words.count(errors), match.absent, words.count(requests))
    evidence: dict[str, words.Value] = {
        "non_2xx": errors, "requests": requests, "absent_share": round(match.chance, 6),
        "expected": round(match.expected, 1), "stdev": round(match.stdev, 1),
        "chance_of_an_accident": round(match.accident, 4),
    }  # fmt: skip
    yield Seen(output, text, evidence, size=errors / requests)


_WRITES = re.compile(r"(?i)put|post")  # a script with such a name also writes
_RANDOM = re.compile(r"math\.random\s*\(\s*1\s*,\s*(\d{1,8})\s*\)")


def _ranges_of_script(output: Output) -> tuple[int, ...] | None:
    """Return the N of every `math.random(1, N)` in an output's script; () if it sets a seed, None without a script."""
    if not output.script.endswith(".lua"):
        return None
    path = output.path.parent / Path(output.script).name
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_SCRIPT_BYTES:
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if "randomseed" in text:
        return ()
    return tuple(sorted({int(match[1]) for match in _RANDOM.finditer(text)} - {0, 1}))


@lru_cache(maxsize=1)  # 18 MB
def _first_written(keys: int) -> npt.NDArray[np.int32]:
    """Return for each number drawn the index of the first write of its key (of `keys`). A write draws key and value."""
    drawn = (fractions(MOST_DRAWS) * keys).astype(np.int32) + 1
    first = np.full(keys + 1, len(drawn), dtype=np.int32)
    written = drawn[0::2][::-1]
    first[written] = np.arange(len(written) - 1, -1, -1, dtype=np.int32)
    written_at: npt.NDArray[np.int32] = first[drawn]
    return written_at


@lru_cache(maxsize=1_024)
def writes_that_give(errors: int, requests: int, threads: int, keys: int) -> int | None:
    """Return the number of writes per thread after which `errors` of `requests` random reads find no key, else None.

    `threads` is the number of threads of the load of reads, and `keys` the number of keys to draw from.
    """
    draws, wanted = requests // threads, round(errors / threads)
    if not 0 < wanted < draws or draws > MOST_DRAWS:
        return None
    written_at = _first_written(keys)[:draws]
    kth = len(written_at) - wanted
    writes = int(np.partition(written_at, kth)[kth])
    return writes if 0 < writes < MOST_DRAWS // 2 else None


@rule("ERR003", of_group=True)
def _two_draws(group: Group) -> Iterator[Seen]:
    """Yield a finding for reads with as many errors as follow if PUT draws two numbers (key, value) and GET one."""
    low, high = TWO_DRAW_SHARES
    of_wrk = (output for output in group if output.tool in ("wrk", "wrk2", None) and not _WRITES.search(output.script))
    failing = (output for output in of_wrk if low < output.report.errors / (output.report.requests or math.inf) < high)
    reads = [output for output in failing if _ranges_of_script(output) != ()]
    whole = ((output, output.report.requests) for output in group if not output.report.errors)
    writers = [(output, requests / (output.threads or 1)) for output, requests in whole if requests]
    if len(reads) < 2 or not writers:
        return
    for keys in TWO_DRAW_KEYS:
        counts = ((output, output.report.errors, output.report.requests or 0, output.threads or 1) for output in reads)
        given = ((writes_that_give(*counted, keys), output) for output, *counted in counts)
        for cluster in _agreeing(sorted(((own, output) for own, output in given if own), key=lambda pair: pair[0])):
            writes = cluster[len(cluster) // 2][0]
            near = [output for output, sent in writers if abs(sent - writes) <= NEAR_WRITES * writes]
            for own, output in cluster if len(cluster) > 1 and near else ():
                errors, requests = output.report.errors, output.report.requests or 1
                text = said("ERR003", words.count(errors), words.count(requests), words.count(own), len(cluster))
                evidence: dict[str, words.Value] = {
                    "non_2xx": errors, "requests": requests, "keys": keys, "writes_of_a_thread": own,
                    "writes_of_a_thread_all": writes, "written_by": near[-1].place, "outputs_explained": len(cluster),
                }  # fmt: skip
                yield Seen(output, text, evidence, size=errors / requests)


def _agreeing(ascending: Sequence[Solved]) -> list[list[Solved]]:
    clusters: list[list[Solved]] = []
    for writes, output in ascending:
        if not clusters or writes - clusters[-1][-1][0] > SAME_WRITES * writes:
            clusters.append([])
        clusters[-1].append((writes, output))
    return clusters
