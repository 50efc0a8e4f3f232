"""The causes of a tail, by how their events overlap with latency spikes (docs/0010-tail-attribution.md).

A cause's credit is the part of the spikes that its events can explain. By chance, the same events get some credit even
if they are shifted in time around the window (P. Diggle, 1983, *Statistical Analysis of Spatial Point Patterns*,
section 7). This credit by chance is subtracted (W. S. Abbott, 1925, J. Econ. Entomology 18). p-values are corrected for
several causes (S. Holm, 1979, Scand. J. Stat. 6). A cause that stops all responses needs no test if half of its long
stops left a spike.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

from runners.analysis import facts, latency_spikes
from runners.analysis.intervals import Bounded, Floats
from runners.analysis.latency_spikes import Cause, Tail
from runners.readers.run import Step, once_a_step

#: Reports do not mention a cause that explains less than this share of the tail.
LEAST_SHARE = 0.005
TOLERANCE_S = 0.05
LEAST_CREDIT = 0.25
LEVEL = 0.05
SHIFTS = 499
AT_ONCE = 1 << 16  # events times offsets in one pass: as many as a core's cache holds
LEAST_TRACED = 0.5
#: A stop moves the p99 of a slice if it holds up more than a hundredth of the slice's responses. This is twice as much.
VISIBLE_PART = 0.02
RESAMPLES = 1000
FEWEST_SPIKES = 5


@dataclass(frozen=True, slots=True)
class Share:
    """The part of a step's tail (its slow responses) that one cause explains."""

    cause: Cause
    share: Bounded  # of the tail's excess (see latency_spikes), less the credit by chance
    p: float  # p-value of the credit
    named: bool  # whether the cause is accepted


@dataclass(frozen=True, slots=True)
class Attribution:
    """The tail (slow responses) of a step, and the share of it that each possible cause explains."""

    tail: Tail
    shares: tuple[Share, ...]

    @property
    def named(self) -> tuple[Share, ...]:
        """The shares of the accepted causes, largest first."""
        believed = [share for share in self.shares if share.named]
        return tuple(sorted(believed, key=lambda share: (-share.share.value, share.cause.name)))

    @property
    def unexplained(self) -> float:
        """The share (0..1) of the tail's excess that no accepted cause explains."""
        return max(0.0, 1.0 - sum(share.share.value for share in self.named))


@once_a_step
def attribution(step: Step) -> Attribution | None:
    """Return the causes of a step's tail; None if its latencies are not valid, or too few to find spikes."""
    if not facts.quotable(step):
        return None
    tail = latency_spikes.find(step.frames["slices"])
    return None if tail is None else attribute(tail, latency_spikes.causes_of(step))


def attribute(tail: Tail, causes: Sequence[Cause]) -> Attribution:
    """Return for every cause its share of a tail's excess, and whether the cause is accepted (not mere chance)."""
    excess = np.array([spike.excess_ms for spike in tail.spikes])
    credit = {cause.name: _credit(tail, cause, np.zeros(1))[0] for cause in causes}
    tests = {cause.name: _test(tail, cause, credit[cause.name], excess) for cause in causes}
    named = {cause.name for cause in causes if cause.stops and _left_spikes(tail, cause)}
    named |= _significant_by_holm({cause.name: tests[cause.name][0] for cause in causes if not cause.stops})
    named = {name for name in named if (credit[name] > 0).any()}
    final = _shared_out(credit, named, {cause.name for cause in causes if cause.stops})
    shares = []
    for cause in causes:
        p, chance = tests[cause.name]
        part = final.get(cause.name, credit[cause.name])
        share = _share_of_excess(part, excess, tail.excess_ms, 0.0 if cause.stops else chance)
        shares.append(Share(cause, share, p, cause.name in named))
    return Attribution(tail, tuple(shares))


def _credit(tail: Tail, cause: Cause, offsets_s: Floats) -> Floats:
    """Return an array [offset, spike]: the part (0..1) of the spike that a cause explains if shifted by the offset."""
    shape = len(offsets_s), len(tail.spikes)
    if not tail.spikes or not len(cause):
        return np.zeros(shape)
    first = np.array([spike.begin_s for spike in tail.spikes]) - TOLERANCE_S
    last = np.array([spike.end_s for spike in tail.spikes])
    peak_ms = np.array([spike.peak_us for spike in tail.spikes]) / 1000
    length = np.maximum(cause.end_s - cause.begin_s, 1e-6)
    credited = np.zeros(shape)
    at_once = max(1, AT_ONCE // len(cause))
    for row in range(0, len(offsets_s), at_once):
        offsets = offsets_s[row : row + at_once, None]
        # an event that is not moved lies where it is, which may be before the window or beyond its end
        begin = np.where(offsets, (cause.begin_s + offsets) % tail.length_s, cause.begin_s)
        for copy in (begin, begin - tail.length_s) if offsets.any() else (begin,):
            # spikes follow each other: an event overlaps those from the first that ends after it begins
            next_spike = np.searchsorted(last, copy)
            overlaps = np.maximum(np.searchsorted(first, copy + length) - next_spike, 0)
            at_offset, event = (np.repeat(place.ravel(), overlaps.ravel()) for place in np.indices(overlaps.shape))
            before = np.repeat(overlaps.cumsum() - overlaps.ravel(), overlaps.ravel())
            spike = next_spike[at_offset, event] + np.arange(len(event)) - before
            covered_s = np.minimum(copy[at_offset, event] + length[event], last[spike])
            covered_s -= np.maximum(copy[at_offset, event], first[spike])
            waited_ms = covered_s / length[event] * cause.capacity_ms[event]
            np.add.at(credited, (row + at_offset, spike), waited_ms / peak_ms[spike])
    credited = np.minimum(credited, 1)
    return np.where(credited >= LEAST_CREDIT, credited, 0.0)


def _test(tail: Tail, cause: Cause, credit: Floats, excess: Floats) -> tuple[float, float]:
    """Return (p-value of a cause's credit, share of the excess credited by chance), from its events shifted in time."""
    if not tail.spikes or not len(cause) or not tail.excess_ms:
        return 1.0, 0.0
    observed = float(credit @ excess)
    shifted = _credit(tail, cause, (np.arange(SHIFTS) + 0.5) / SHIFTS * tail.length_s) @ excess
    p = (1 + int((shifted >= observed - 1e-9).sum())) / (1 + SHIFTS)
    return p, float(shifted.mean()) / tail.excess_ms


def _left_spikes(tail: Tail, cause: Cause) -> bool:
    """Return whether at least LEAST_TRACED of a cause's visibly long stops end in a spike; False without such stops."""
    least_ms = tail.threshold_us / 1000 + VISIBLE_PART * tail.slice_s * 1000
    inside = (cause.begin_s >= 0) & (cause.end_s <= tail.length_s)
    ends_s = cause.end_s[inside & (cause.capacity_ms >= least_ms)].tolist()
    traced = sum(any(spike.begin_s - TOLERANCE_S <= at <= spike.end_s for spike in tail.spikes) for at in ends_s)
    return bool(ends_s) and traced >= LEAST_TRACED * len(ends_s)


def _significant_by_holm(p_values: dict[str, float]) -> set[str]:
    ranked = sorted(p_values, key=lambda name: p_values[name])
    failed = (rank for rank, name in enumerate(ranked) if p_values[name] > LEVEL / (len(ranked) - rank))
    return set(ranked[: next(failed, len(ranked))])


def _shared_out(credit: dict[str, Floats], named: set[str], stops: set[str]) -> dict[str, Floats]:
    """Return the credits of `named` causes, scaled to sums of at most 1 in each spike, `stops` before the others."""
    final: dict[str, Floats] = {}
    room: Floats | float = 1.0
    for group in (named & stops, named - stops):
        total = np.sum([credit[name] for name in sorted(group)], axis=0)
        scale = np.where(total > room, room / np.where(total > 0, total, 1), 1.0)
        final |= {name: credit[name] * scale for name in group}
        room = room - np.minimum(total, room)
    return final


def _share_of_excess(credit: Floats, excess: Floats, whole_ms: float, chance: float) -> Bounded:
    """Return a cause's share of the excess, with an interval by bootstrap over spikes (Efron, 1979, Ann. Stat. 7).

    `credit`: the part (0..1) of every spike that the cause explains. `excess`: of every spike, in ms. `whole_ms`: the
    tail's excess. `chance`: the share that the cause would have by chance; it is subtracted.
    """
    if not whole_ms or not len(excess):
        return Bounded(0.0)

    def share(chosen: npt.NDArray[np.int64]) -> Floats:
        scattered = whole_ms - excess.sum()
        part = (credit * excess)[chosen].sum(axis=-1) / (excess[chosen].sum(axis=-1) + scattered)
        return np.asarray(np.clip((part - chance) / (1 - chance) if chance < 1 else part * 0, 0, 1))

    value = float(share(np.arange(len(excess))))
    if len(excess) < FEWEST_SPIKES:
        return Bounded(value)
    again = bootstrap(
        (np.arange(len(excess)),), lambda chosen, axis: share(chosen), n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(1), vectorized=True,
    ).confidence_interval  # fmt: skip
    return Bounded(value, min(float(again.low), value), max(float(again.high), value))


MACHINE_SHARE = 0.5  # of the tail: from here on it is the machine's


def made(step: Step, level: float) -> dict[str, float] | None:
    """Return {cause: share of the tail} of the machine's causes if they explain percentile `level` (0..1), else None.

    They explain it if it is above the threshold of spikes and their shares of the tail's excess sum to at least half.
    """
    value, seen = facts.quoted(step, level), attribution(step)
    if value is None or seen is None or not value.value > seen.tail.threshold_us:
        return None
    shares = {share.cause.name: share.share.value for share in seen.named}
    own = {name: share for name, share in shares.items() if name in latency_spikes.MACHINE}
    return own if sum(own.values()) >= MACHINE_SHARE else None
