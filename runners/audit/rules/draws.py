"""ERR: error counts that the script's unseeded random numbers give, whatever the server does.

The sequence is replayed under the few ways in which a key can be asked for that was never written. A count that a
hypothesis gives to the last figure could be an accident; each finding says how likely one is.

wrk, wrk2 and our generator run each thread's script in a LuaJIT state of its own. The generator of LuaJIT's
`math.random` is a combined Tausworthe generator of four components with period 2^223 (P. L'Ecuyer, *Tables of maximally
equidistributed combined LFSR generators*, Mathematics of Computation 68, 1999); without `math.randomseed` its state
comes from constants, so a count of responses that depends on drawn keys is a constant of the script, not a measurement
of the server.

A component is linear over GF(2). Its state after `n` steps is therefore a product of a 64x64 bit matrix and the first
state (H. Haramoto et al., *Efficient jump ahead for F2-linear random number generators*, INFORMS J. Comput. 20, 2008),
and a long sequence is drawn in many lanes at once, each of which starts where the one before it will end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runners import words
from runners.audit.rule import Group, Seen, Severity, rule
from runners.readers.output import Output

Words = npt.NDArray[np.uint64]
Draws = npt.NDArray[np.float64]

#: k (bits of state in use), q and s of each component, as L'Ecuyer calls them.
_COMPONENTS = ((63, 31, 18), (58, 19, 28), (55, 24, 7), (47, 21, 8))
_WARM_UP = 10
_JUMP_BITS = 10  # a lane is as many steps as this power of two
_SIZES = (1 << 14, 1 << 18, 1 << 21, 9 << 19)  # of sequences that are kept
_MANTISSA, _ONE = np.uint64(0x000F_FFFF_FFFF_FFFF), np.uint64(0x3FF0_0000_0000_0000)


def _step(states: Words, k: int, q: int, s: int) -> Words:
    """Return the next states of one component."""
    kept = states >> np.uint64(64 - k) << np.uint64(64 - k)
    return (((states << np.uint64(q)) ^ states) >> np.uint64(k - s)) ^ (kept << np.uint64(s))


def _first_states() -> Iterator[Words]:
    """Yield the state of each component in a script without a seed, before its first draw, as an array of one."""
    value = 0.0
    for component in _COMPONENTS:
        value = value * 3.14159265358979323846 + 2.7182818284590452354
        state, least = np.array([value]).view(np.uint64), np.uint64(1 << (64 - component[0]))
        state = state + least if state[0] < least else state
        for _ in range(_WARM_UP):
            state = _step(state, *component)
        yield state


def _apply(matrix: Words, vectors: Words) -> Words:
    """Return a matrix, given as the images of the 64 unit vectors, times each vector."""
    result = np.zeros_like(vectors)
    for bit in range(64):
        result ^= (np.uint64(0) - ((vectors >> np.uint64(bit)) & np.uint64(1))) & matrix[bit]
    return result


def _lanes(first: Words, component: tuple[int, int, int], count: int) -> Words:
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


MOST_DRAWS = 4_500_000  # of one thread; a longer replay costs more than it tells
LIKELY_ACCIDENT = 0.1
FAR = 5.0  # standard deviations: further off, the replay can't agree
LONGEST_SCRIPT_BYTES = 64 * 1024
_POWERS = tuple(10**power for power in range(2, 8))
ROUND = tuple(digit * 10**power for power in range(2, 8) for digit in (1, 2, 3, 5))
SAME_WRITES = 3e-4  # outputs that one number of writes explains agree on it this closely
NEAR_WRITES = 0.03  # threads of one run differ by this much in how many requests they send
TWO_DRAW_KEYS = (10**4, 10**5, 10**6)
TWO_DRAW_SHARES = (0.005, 0.5)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The keys that were never written: those whose draw lies `below` a fraction of the range, or all above it."""

    words: str
    fraction: float
    below: bool

    @property
    def chance(self) -> float:
        """The share of draws that ask for an absent key."""
        return self.fraction if self.below else 1 - self.fraction


@dataclass(frozen=True, slots=True)
class Replay:
    """A hypothesis that gives an error count exactly. `accident` is the chance that a wrong one would have."""

    hypothesis: Hypothesis
    expected: float
    stdev: float
    accident: float


def _hypotheses(ranges: Sequence[int]) -> list[Hypothesis]:
    """Return the hypotheses: key 1 alone is absent, or only the keys up to a power of ten were written.

    Of a range that is not known only the written share can be known: random(1, K) <= m is a draw below m / K.
    """
    known = ranges or ROUND
    guesses = [
        Hypothesis(f"key 1 of {words.count(keys)}, which was never written", 1 / keys, below=True) for keys in known
    ]
    if ranges:
        written = sorted({(top, keys) for keys in ranges for top in _POWERS if top < keys})
        return guesses + [
            Hypothesis(
                f"keys above {words.count(top)} of {words.count(keys)}, which were never written",
                top / keys,
                below=False,
            )
            for top, keys in written
        ]
    return guesses + [
        Hypothesis(f"keys that were never written, if only 1 in {words.count(share)} was", 1 / share, below=False)
        for share in (10, 100, 1_000)
    ]


@lru_cache(maxsize=4_096)
def replay(errors: int, requests: int, threads: int, ranges: tuple[int, ...] = ()) -> Replay | None:
    """Return the hypothesis that gives exactly `errors` in `requests` draws; `ranges` are the script's, if known."""
    if not 0 < errors < requests or threads < 1 or requests // threads > MOST_DRAWS:
        return None
    parts = [requests // threads + (index < requests % threads) for index in range(threads)]
    tried = 0
    for guess in _hypotheses(ranges):
        expected = requests * guess.chance
        stdev = math.sqrt(expected * (1 - guess.chance))
        if abs(errors - expected) > FAR * stdev:
            continue
        tried += 1
        drawn = fractions(max(parts) + 1) < guess.fraction
        absent = drawn if guess.below else ~drawn
        counted = sum(int(absent[(1 if index == 0 else 0) :][:part].sum()) for index, part in enumerate(parts))
        accident = min(1.0, tried / (stdev * math.sqrt(2 * math.pi)))
        if counted == errors and accident <= LIKELY_ACCIDENT:
            return Replay(guess, expected, stdev, accident)
    return None


@rule(
    "ERR002",
    "errors-of-unseeded-random",
    Severity.WARNING,
    "write every key that is read (send one request more than there are keys), and seed each thread's numbers",
)
def _unseeded(output: Output) -> Iterator[Seen]:
    """The number of errors is what the script's unseeded random numbers give."""
    errors, requests = output.report.non_2xx, output.report.requests
    if not errors or not requests or output.tool not in ("wrk", "wrk2", None):
        return
    drawn = _ranges_of_script(output)
    if drawn == ():
        return  # the script is here, and seeds its numbers or draws none
    match = replay(errors, requests, output.threads or 1, drawn or ())
    if match is None:
        return
    text = (
        f"{words.count(errors)} is exactly how often the script's unseeded random numbers ask for "
        f"{match.hypothesis.words}, in {words.count(requests)} requests: every run repeats the count"
    )
    evidence: dict[str, words.Value] = {
        "non_2xx": errors,
        "requests": requests,
        "absent_share": round(match.hypothesis.chance, 6),
        "expected": round(match.expected, 1),
        "stdev": round(match.stdev, 1),
        "chance_of_an_accident": round(match.accident, 4),
    }
    yield Seen(output, text, evidence)


_WRITES = re.compile(r"(?i)put|post")  # a script that is named so does not read alone
_RANDOM = re.compile(r"math\.random\s*\(\s*1\s*,\s*(\d{1,8})\s*\)")


def _ranges_of_script(output: Output) -> tuple[int, ...] | None:
    """Return the ranges that the script in the output's folder draws from: none if it seeds, None without a script."""
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
    """Return for each draw the number of writes after which its key is there; a write draws a key and then a value."""
    drawn = (fractions(MOST_DRAWS) * keys).astype(np.int32) + 1
    first = np.full(keys + 1, len(drawn), dtype=np.int32)
    written = drawn[0::2][::-1]
    first[written] = np.arange(len(written) - 1, -1, -1, dtype=np.int32)
    written_at: npt.NDArray[np.int32] = first[drawn]
    return written_at


@lru_cache(maxsize=1_024)
def writes_that_give(errors: int, requests: int, threads: int, keys: int) -> int | None:
    """Return the number of writes a thread after which `errors` of `requests` reads find nothing; None without one."""
    draws, wanted = requests // threads, round(errors / threads)
    if not 0 < wanted < draws or draws > MOST_DRAWS:
        return None
    written_at = _first_written(keys)[:draws]
    kth = len(written_at) - wanted
    writes = int(np.partition(written_at, kth)[kth])
    return writes if 0 < writes < MOST_DRAWS // 2 else None


@rule(
    "ERR003",
    "keys-drawn-as-values",
    Severity.WARNING,
    "draw keys in both scripts from the same sequence, one number a request, or fill the whole range first",
    of_group=True,
)
def _two_draws(group: Group) -> Iterator[Seen]:
    """Reads ask for numbers that the write script drew as values.

    PUT draws two numbers a request (key and value), GET one: half of what GET asks for were only ever values.
    """
    low, high = TWO_DRAW_SHARES
    reads = [
        output
        for output in group
        if output.report.non_2xx
        and output.report.requests
        and output.tool in ("wrk", "wrk2", None)
        and low < output.report.non_2xx / output.report.requests < high
        and not _WRITES.search(output.script)
        and _ranges_of_script(output) != ()
    ]
    writers = [
        (output, output.report.requests / (output.threads or 1))
        for output in group
        if output.report.requests and not output.report.errors
    ]
    if len(reads) < 2 or not writers:
        return
    for keys in TWO_DRAW_KEYS:
        solved = []
        for output in reads:
            writes = writes_that_give(output.report.errors, output.report.requests or 0, output.threads or 1, keys)
            if writes is not None:
                solved.append((writes, output))
        for cluster in _agreeing(sorted(solved, key=lambda pair: pair[0])):
            writes = cluster[len(cluster) // 2][0]
            near = [output for output, sent in writers if abs(sent - writes) <= NEAR_WRITES * writes]
            if len(cluster) < 2 or not near:
                continue
            yield from (_two_draw_finding(output, own, writes, keys, near[-1], len(cluster)) for own, output in cluster)


def _agreeing(solved: Sequence[tuple[int, Output]]) -> list[list[tuple[int, Output]]]:
    clusters: list[list[tuple[int, Output]]] = []
    for writes, output in solved:
        if clusters and writes - clusters[-1][-1][0] <= SAME_WRITES * writes:
            clusters[-1].append((writes, output))
        else:
            clusters.append([(writes, output)])
    return clusters


def _two_draw_finding(output: Output, own: int, writes: int, keys: int, writer: Output, agreeing: int) -> Seen:
    errors, requests = output.report.errors, output.report.requests or 0
    text = (
        f"{words.count(errors)} of {words.count(requests)} reads found nothing because the write script draws two "
        f"unseeded numbers a request (key and value) and the read script one: after {words.count(own)} writes of a "
        f"thread the replayed sequence gives this count, and the same number explains {agreeing} outputs"
    )
    evidence: dict[str, words.Value] = {
        "non_2xx": errors,
        "requests": requests,
        "keys": keys,
        "writes_of_a_thread": own,
        "writes_of_a_thread_all": writes,
        "written_by": writer.place,
        "outputs_explained": agreeing,
    }
    return Seen(output, text, evidence)


RULES = (_unseeded, _two_draws)
