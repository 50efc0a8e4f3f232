"""How long the threads of a cluster wait for locks, and what of it is the one around the client between nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.analysis import facts
from runners.analysis.finding import Finding
from runners.analysis.intervals import Bounded
from runners.claims import turns
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

ANCHOR = "client-lock"
#: The frame that takes the lock around a call, and what it calls for that; a lock further in is the client library's.
CLIENT_FRAME = "lab/server/cluster/BlockingTransport$Task.run"
LOCK_FRAME = "java/util/concurrent/locks/ReentrantLock.lock"
_NS = 1e9


@dataclass(frozen=True, slots=True)
class Waited:
    """Waiting of one profiled step: seconds a second over all threads, and of that the client's lock."""

    step: Step
    all_s: float
    client_s: float
    share: Bounded | None

    @property
    def name(self) -> str:
        return facts.engine_name(self.step.subject)


def waited(step: Step) -> Waited | None:
    """What a step's lock profile tells; None without one."""
    stacks, length_s = step.frames["stacks"], (step.record.duration_s or 0.0)
    if "lock" not in step.profiled or not length_s:
        return None
    own = stacks[stacks["event"] == "lock"] if not stacks.empty else stacks
    if own.empty:
        return Waited(step, 0.0, 0.0, None)
    client = own["stack"].str.contains(f"{CLIENT_FRAME};{LOCK_FRAME}", regex=False)
    total = float(own["count"].sum())
    rows = step.frames["frames"]
    rows = rows[(rows["event"] == "lock") & (rows["frame"].str.contains(CLIENT_FRAME, regex=False))]
    share = None
    if not rows.empty and client.any():
        row = rows.iloc[0]
        share = Bounded(float(row["share"]), float(row["low"]), float(row["high"]))
    return Waited(step, total / _NS / length_s, float(own["count"][client].sum()) / _NS / length_s, share)


def of_run(run: Run) -> list[Waited]:
    """Every setting that was profiled in its turn, in order."""
    found = (waited(step) for step in run.find(kind=turns.PROFILED))
    return [one for one in found if one is not None]


def findings_of(found: Sequence[Waited]) -> Iterator[Finding]:
    """The settings that wait for the client's lock, then what the others wait."""
    with_it = [one for one in found if one.client_s > 0]
    without = [one for one in found if not one.client_s]
    if not with_it:
        return
    parts = []
    for one in with_it:
        share = write.percent_interval(one.share.value, one.share.low, one.share.high) if one.share else write.UNKNOWN
        parts.append(
            f"{one.name} waits {write.seconds(one.all_s)} for locks in each second, all threads together, {share} "
            "of it for the one around the client between nodes"
        )
    text = write.listed(parts)
    if without:
        text += "; without that lock " + write.listed(f"{one.name} waits {write.seconds(one.all_s)}" for one in without)
    evidence: dict[str, write.Value] = {f"{one.name} client_s": one.client_s for one in found}
    evidence |= {f"{one.name} all_s": one.all_s for one in found}
    names = tuple(one.step.name for one in found)
    yield Finding("H08", Severity.NOTE, write.sentence(text), evidence, names, ANCHOR)
