"""Reproduce report 5: three nodes, its changes one at a time, copies, and a node that dies."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis import facts, outages
from runners.claims import answering, cluster, turns
from runners.claims.answering import of_turns, treatment
from runners.claims.questions import Answer, Answering, Asked, Evidence, Verdict, number
from runners.claims.turns import CARRIED
from runners.design import report_5
from runners.design.block import Block, FaultInjection
from runners.design.parameter import Value
from runners.design.question import Question
from runners.design.report_5 import NEW, OLD
from runners.design.session import KillNode
from runners.design.shape import Shape
from runners.process.cpu_placement import usable_cpus
from runners.readers import write
from runners.trial.machine import pinning


def server_cores() -> int:
    """Count the cores that a server may use here."""
    return len(pinning()[0] or usable_cpus())


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """A load on three processes of which the last is killed and started again, for each way to keep the keys."""
    size = str(asked["size"])
    times, workload = report_5.OUTAGE_TIMES[size], report_5.put(size)
    return tuple(
        FaultInjection(
            f"{name}-death",
            f"{name}: one of three nodes is killed under load, and started again",
            report_5.apart(name, server_cores()),
            workload,
            (KillNode(report_5.NODES, times.kill_at_s, times.launch_at_s),),
            Shape(int(asked["connections"]), 1, times.load_s, times.warmup_s),
            warm_up_s=times.warm_s,
            share=report_5.OUTAGE_SHARE,
            questions=(f"{'sharded' if name == report_5.SHARDED else 'copies'}-death",),
        )
        for name in report_5.OUTAGES[size]
    )


def asynchronous(acks: str) -> Answering:
    """Does the asynchronous client raise throughput when this many copies must respond?"""

    def answer(evidence: Evidence) -> Answer | None:
        group = turns.group(evidence.run, cluster.REPLICATION)
        if group is None or not {f"blocking-{acks}", f"async-{acks}"} <= set(group.settings):
            return None
        each = turns.of(group.against(f"blocking-{acks}", f"async-{acks}"), CARRIED)
        return of_turns(each, evidence.first("H04", acks=acks), cluster.anchor(cluster.REPLICATION))

    return answer


def fails(subject: str) -> Answering:
    """Do requests fail in the seconds that are wholly without a node?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = next((each for each in outages.outages(evidence.run.steps) if each.name == subject), None)
        if found is None:
            return None
        bad, asked = found.failed("without")
        if not asked:
            return None
        effect = f"{write.percent(bad / asked)} of {write.count(asked)} responses"
        confidence = f"one death, {write.several(len(found.part('without')), 'whole second')} without the node"
        finding = evidence.about("O01", found.step.name)
        return Answer(Verdict.YES if bad else Verdict.NO, effect, confidence, "", finding, outages.ANCHOR)

    return answer


def spreads(evidence: Evidence) -> Answer | None:
    """Did the old hash spread the keys over the nodes?"""
    finding = evidence.first("H02")
    if finding is None:
        return None
    old, low, high = (number(finding, name) for name in ("most_old", "least_new", "most_new"))
    effect = (
        f"{write.percent(old)} of the ids on one node; murmur3 {write.percent(low)} to {write.percent(high)} on each"
    )
    verdict = Verdict.NO if old > 0.5 else Verdict.YES
    return Answer(verdict, effect, "computed for every id", finding=finding, figure="keys-section")


def lock_waits(evidence: Evidence) -> Answer | None:
    """Do threads wait for the lock around the client?"""
    finding = evidence.first("H08")
    if finding is None:
        return None
    own, every = number(finding, f"{OLD} client_s"), number(finding, f"{OLD} all_s")
    effect = f"{write.seconds(own)} of {write.seconds(every)} waited for locks in each second"
    held = number(finding, "least_held")
    verdict, needed = (Verdict.YES if own > 0 else Verdict.NO), ""
    if held < facts.HELD:
        verdict, needed = Verdict.INCONCLUSIVE, f"profiled loads that keep their rate; one kept {write.percent(held)}"
    return Answer(verdict, effect, "one profiled load each", needed, finding)


QUESTIONS = (
    Asked(
        Question(
            "three-changes", "Do the report's three changes together raise throughput?", "yes; it names two of them"
        ),
        treatment(cluster.CHANGES, OLD, NEW),
    ),
    Asked(
        Question("lock", "Does removing the lock around the client help alone?", "yes"),
        treatment(cluster.CHANGES, OLD, "no-lock"),
    ),
    Asked(
        Question("threads", "Does the smaller pool help alone?", "yes, 20 to 6"),
        treatment(cluster.CHANGES, OLD, "fewer-threads"),
    ),
    Asked(Question("hash", "Does murmur3 help alone?", "not named"), treatment(cluster.CHANGES, OLD, "murmur3")),
    Asked(Question("spread", "Did the old hash spread the keys over the nodes?", "taken as such"), spreads),
    Asked(Question("waits", "Do threads wait for the lock around the client?", "yes"), lock_waits),
    Asked(
        Question("medians", "Are the published medians those of the server?", "taken as such"),
        answering.published_timer(("M13",)),
    ),
    Asked(
        Question("async-2of3", "Does an asynchronous client help when 2 of 3 copies must respond?"),
        asynchronous("2of3"),
    ),
    Asked(Question("async-3of3", "Does it help when all 3 must?"), asynchronous("3of3")),
    Asked(Question("sharded-death", "Do requests fail while one of three shards is dead?"), fails("sharded")),
    Asked(Question("copies-death", "Do they fail with three copies of which two must respond?"), fails("async-2of3")),
)
