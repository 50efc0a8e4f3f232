"""Reproduce report 5: three nodes, its changes one at a time, copies, and a node that dies."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis import facts
from runners.analysis.interleaved import THROUGHPUT
from runners.claims import faults, questions
from runners.claims.interleaved import differs
from runners.claims.published import with_rates
from runners.claims.questions import Answer, Answering, Evidence, Verdict, number, of_rule
from runners.design import report_5
from runners.design.block import Block, FaultInjection, FixedRate
from runners.design.experiment import Value, listed
from runners.design.ladder import AroundTheKnee, Ladder, WarmServer
from runners.design.load import SIZES, Shape
from runners.design.objective import Objective
from runners.design.report_5 import NEW, OLD
from runners.design.session import KillNode
from runners.experiments import answered_by
from runners.process.cpu_placement import usable_cpus
from runners.readers import write
from runners.readers.finding import Finding


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """PUT and GET by rate after the changes and before, both in depth, each change alone, copies, and a dying node."""
    name, connections, cores = str(asked["size"]), int(asked["connections"]), len(usable_cpus())
    settings = {each: report_5.setting(each, cores) for each in (*report_5.CHANGES, *report_5.REPLICATED)}
    size, plan = SIZES[name], report_5.LADDERS[name]
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    ladders: list[Block] = []
    for workload in (report_5.put(name), report_5.get(name)):
        after = AroundTheKnee(
            plan, objective, connections, with_rates(workload.published_rates), questions=("medians",)
        ).of(
            workload.name, f"{workload.label} after the changes: the knee, and rates around it",
            WarmServer(settings[NEW], workload, size),
        )  # fmt: skip
        before = Ladder(
            f"{workload.name}-before", f"{workload.label} before the changes, at the same rates",
            WarmServer(settings[OLD], workload, size), Shape(connections, 1, plan.step_s, plan.probe_warmup_s),
            like=after, questions=("three-changes",),
        )  # fmt: skip
        ladders += [after, before]
    in_depth = FixedRate(
        "in-depth", "PUT before and after the changes at one rate, with profiles", (settings[OLD], settings[NEW]),
        report_5.put(name), report_5.sized(name), connections=connections, profile=listed(asked["profile"]),
        share=report_5.IN_DEPTH_SHARE, questions=("spread", "waits"),
    )  # fmt: skip
    changes = report_5.compared(
        "changes", "the report's three changes, each alone and all at once",
        tuple(settings[each] for each in report_5.CHANGES), name, connections,
        ("three-changes", "lock", "threads", "hash"),
    )  # fmt: skip
    copies = [
        report_5.compared(
            f"replication-{acks}", f"a client that waits and one that does not, {acks.replace('of', ' of ')} copies",
            (settings[f"blocking-{acks}"], settings[f"async-{acks}"]), name,
            min(connections, report_5.REPLICATED_CONNECTIONS), (f"async-{acks}",),
        )
        for acks in report_5.COPIES[name]
    ]  # fmt: skip
    return (
        *ladders,
        in_depth,
        changes,
        *copies,
        *(_death(each, name, connections, cores) for each in report_5.OUTAGES[name]),
    )


def _death(name: str, size: str, connections: int, cores: int) -> FaultInjection:
    times = report_5.OUTAGE_TIMES[size]
    return FaultInjection(
        f"{name}-death",
        f"{name}: one of three nodes is killed under load, and started again",
        report_5.apart(name, cores),
        report_5.put(size),
        (KillNode(report_5.NODES, times.kill_at_s, times.launch_at_s),),
        Shape(connections, 1, times.load_s, times.warmup_s),
        warm_up_s=times.warm_s,
        share=report_5.OUTAGE_SHARE,
        questions=(f"{'sharded' if name == report_5.SHARDED else 'copies'}-death",),
    )


def fails(subject: str) -> Answering:
    """Do requests fail in the seconds that are wholly without a node?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = next((each for each in faults.outages(evidence.run.steps) if each.name == subject), None)
        if found is None:
            return None
        bad, asked = found.failed("without")
        if not asked:
            return None
        effect = f"{write.percent(bad / asked)} of {write.count(asked)} responses"
        confidence = f"one death, {write.several(len(found.part('without')), 'whole second')} without the node"
        finding = evidence.about("O01", found.step.name)
        return Answer(Verdict.YES if bad else Verdict.NO, effect, confidence, "", finding, faults.OUTAGES)

    return answer


@of_rule("H02")
def spreads(finding: Finding) -> Answer:
    """Did the old hash spread the keys over the nodes?"""
    old, low, high = (number(finding, name) for name in ("most_old", "least_new", "most_new"))
    effect = f"{write.percent(old)} of the ids on one node; murmur3 {write.span((low, high), write.percent)} on each"
    verdict = Verdict.NO if old > 0.5 else Verdict.YES
    return Answer(verdict, effect, "computed for every id", finding=finding, figure="keys-section")


@of_rule("H08")
def lock_waits(finding: Finding) -> Answer:
    """Do threads wait for the lock around the client?"""
    own, every = number(finding, f"{OLD} client_s"), number(finding, f"{OLD} all_s")
    effect = f"{write.seconds(own)} of the {write.seconds(every)} that threads wait for locks in each second"
    held = number(finding, "least_held")
    verdict, needed = (Verdict.YES if own > 0 else Verdict.NO), ""
    if held < facts.LEAST_ACHIEVED:
        verdict, needed = Verdict.INCONCLUSIVE, f"profiled loads that keep their rate; one kept {write.percent(held)}"
    return Answer(verdict, effect, "one profiled load each", needed, finding)


def changed(name: str) -> Answering:
    """Does a change raise throughput above that of the state before?"""
    return differs(("changes",), name, THROUGHPUT)


QUESTIONS = answered_by("05", {
    "three-changes": changed(NEW),
    "lock": changed("no-lock"),
    "threads": changed("fewer-threads"),
    "hash": changed("murmur3"),
    "spread": spreads,
    "waits": lock_waits,
    "medians": questions.published_timer(("M13",)),
    "async-2of3": differs(("replication-2of3",), "async-2of3", THROUGHPUT),
    "async-3of3": differs(("replication-3of3",), "async-3of3", THROUGHPUT),
    "sharded-death": fails("sharded"),
    "copies-death": fails("async-2of3"),
})  # fmt: skip
