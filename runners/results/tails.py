"""Answers to questions on what causes a load's tail (its slow responses): which events explain its latency spikes."""

from dataclasses import dataclass

from runners.analysis import facts
from runners.analysis.intervals import Bounded
from runners.analysis.tail_attribution import LEAST_SHARE, Attribution, Share, attribution
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results

#: The share of the slow responses' extra time that a cause must explain to be worth a change.
MARGIN = 0.1
#: RocksDB merges its first level when it holds this many flushed tables (option level0_file_num_compaction_trigger).
TABLES_TO_MERGE = 4


@dataclass(frozen=True, slots=True)
class Explained:
    """The causes of a load's tail, which is the extra time of its slow responses."""

    causes: tuple[tuple[str, Bounded], ...]  # (cause, share of the tail), the largest share first
    unexplained: float  # the share that no cause explains
    slow: int  # the number of slow responses
    threshold_us: float  # a response counts as slow if it takes longer


def explained(seen: Attribution) -> Explained:
    """Return the causes that explain at least LEAST_SHARE of a tail, and the share that no cause explains."""
    causes = tuple((share.cause.name, share.share) for share in seen.named if share.share.value >= LEAST_SHARE)
    return Explained(causes, seen.unexplained, int(seen.tail.slow), seen.tail.threshold_us)


@answering
def tail_by(results: Results, cause: str, step_name: str) -> Answer | None:
    """Answer: does `cause` (such as compaction) explain the tail of the load `step_name`? None without such a load.

    The tail is the extra time of slow responses. No without latency spikes, or if the cause's share of the tail is
    below MARGIN; else yes if beyond chance. Inconclusive otherwise, without events of the cause, or with no known tail.
    """
    step = next((step for step in results.run.steps if step.name == step_name), None)
    if step is None:
        return None

    def give(verdict: Verdict, evidence: tuple[object, ...], needed: Needed | None = None) -> Answer:
        return Answer(verdict, evidence, Basis.LOADS, 1, needed, steps=(step_name,), figure=f"causes-{step_name}")

    seen = attribution(step) if facts.quotable(step) else None
    if seen is None:
        return give(Verdict.INCONCLUSIVE, (), Needed.LONGER_LOAD)
    share = next((share for share in seen.shares if share.cause.name == cause), None)
    events = Measure(f"{cause} events in the load", len(share.cause) if share is not None else 0, Unit.COUNT)
    if share is None or not len(share.cause):  # a load without it says nothing on what it does where there is some
        return give(Verdict.INCONCLUSIVE, (events, explained(seen)), Needed.EVENTS)
    if not seen.tail.spikes:
        return give(Verdict.NO, (events,))
    causes, verdict = explained(seen), explains(share)
    evidence: tuple[object, ...] = (events, causes)
    if verdict == Verdict.NO and all(name != cause for name, _ in causes.causes):
        evidence = (Measure.of(f"{cause}'s share of the slow responses' wait", share.share, Unit.SHARE), *evidence)
    return give(verdict, evidence, Needed.LONGER_LOAD)


@answering
def stays_in_memory(results: Results, workload: str, value_bytes: int, memtable_bytes: int) -> Answer | None:
    """Answer: did `workload`'s published load write less than a memtable holds? None without its rate or duration."""
    output = results.published_output(workload)
    if output is None or not output[1].rate_rps or not output[1].duration_s:
        return None
    written = output[1].rate_rps * output[1].duration_s * value_bytes
    size = Measure("values written in the published load", written, Unit.SIZE_BYTES)
    size = size.against(Measure("one memtable", memtable_bytes, Unit.SIZE_BYTES))
    filled = Measure("memtables that they fill", written // memtable_bytes, Unit.COUNT)
    return Answer.by(output[:1], Basis.OUTPUTS, written < memtable_bytes, size, filled, figure=f"timeline-{workload}")


def explains(share: Share) -> Verdict:
    """Return the verdict on whether a cause explains a tail.

    No if the whole interval of the cause's share lies below MARGIN; else yes if this interval lies above zero and
    chance does not explain the share; else inconclusive.
    """
    if share.share.high < MARGIN:
        return Verdict.NO
    return Verdict.YES if share.named and share.share.low > 0 else Verdict.INCONCLUSIVE


def puts_before_a_merge(puts: float, flushes: int) -> float:
    """Return a lower bound of the number of PUTs before the first compaction of a RocksDB store that starts empty.

    A compaction needs TABLES_TO_MERGE full memtables. If n `puts` caused k `flushes`, each holds > n / (k + 1) PUTs.
    """
    return TABLES_TO_MERGE * puts / (flushes + 1)


@answering
def merges_out_of_reach(results: Results, step_name: str, workload: str) -> Answer | None:
    """Answer: did merges of tables cause the slow responses of a published load? No if it ended before a first merge.

    None if this run's load `step_name` had a merge or no flush, or if the published number of PUTs may cause a merge.
    """
    step = next((step for step in results.run.steps if step.name == step_name), None)
    seen = attribution(step) if step is not None and facts.quotable(step) else None
    output = results.published_output(workload)
    if step is None or seen is None or output is None:
        return None
    events = {share.cause.name: len(share.cause) for share in seen.shares}
    flushes, published = events.get("flush", 0), output[1].requests or 0
    needed = puts_before_a_merge(facts.number(step, "completed"), flushes)
    if events.get("compaction") or not flushes or not needed > published > 0:
        return None
    first = Measure(f"PUTs before a first merge, which needs {TABLES_TO_MERGE} flushes: over", needed, Unit.COUNT)
    here = Measure("PUTs of the load here", facts.number(step, "completed"), Unit.COUNT)
    return Answer.by(
        (step,), Basis.LOADS, False,
        first.against(Measure("PUTs of the published load", published, Unit.COUNT)), here,
        Measure("compaction events in the load", 0, Unit.COUNT),
        Measure("flush events in the load", flushes, Unit.COUNT),
        figure=f"causes-{step_name}",
    )  # fmt: skip
