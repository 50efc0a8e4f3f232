"""Measure what the authors proposed for the LSM store, one switch at a time, and those of reads together too."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.facts import grouped
from runners.analysis.interleaved import comparisons
from runners.analysis.treatments import Verdict as Found
from runners.claims import interleaved, questions
from runners.claims.interleaved import differs
from runners.claims.questions import Answer, Answering, Evidence, Verdict, number, of_rule
from runners.design import ablations
from runners.design.ablations import RESPONSES, SHARED_RESPONSE, THROUGHPUT, TOGETHER
from runners.design.block import Block, FixedRate
from runners.design.experiment import Value, listed
from runners.design.load import Shape
from runners.design.session import FAULT, Session, Trial
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding

FREE = (Found.HIGHER, Found.SAME)


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Each switch, the response that breaks its client, and the store with every switch on beside the published one."""
    size, connections = str(asked["size"]), int(asked["connections"])
    switches = ablations.chosen(str(asked["switches"]), size)
    length_s = max(1.0, ablations.STARTS[size].load_s / 2)
    broken = Trial("fault-response-shared", FAULT, ablations.workload("put", size), None, Shape(1, 1, length_s))
    fault = FixedRate.known(
        "response-shared", "one response object for all requests, response by response",
        (Session(SHARED_RESPONSE, (broken,), heads=RESPONSES),), ("shared",),
    )  # fmt: skip
    together = FixedRate(
        "together", "the published store and every switch on, at one rate, with profiles", TOGETHER,
        ablations.workload("get", size), ablations.sized(size), connections=connections,
        profile=listed(asked["profile"]), questions=("costs",),
    )  # fmt: skip
    shown = (fault,) if any(each.name == "response" for each in switches) else ()
    return (*(each.block(size, connections) for each in switches), *shown, together)


def of_reads(setting: str, alone: str) -> Answering:
    """Does a setting raise GET throughput, in the factorial design or alone?"""
    return questions.either(
        differs(("reads",), f"reads-{setting}", THROUGHPUT), differs(("compaction", "bloom"), alone, THROUGHPUT)
    )


@of_rule("V04")
def shared_response(finding: Finding) -> Answer:
    """Can one response object be shared by all requests?"""
    first, last = number(finding, "first_bytes"), number(finding, "last_bytes")
    effect = f"its head grows from {write.size(first)} to {write.size(last)} in "
    effect += f"{write.count(number(finding, 'answers'))} responses"
    return Answer(Verdict.NO if last > first else Verdict.YES, effect, "counted", finding=finding)


def costs_anything(evidence: Evidence) -> Answer | None:
    """Does any switch that gains cost something else?"""
    gains = [
        (found, row)
        for found in comparisons(evidence.run)
        for row in found.rows
        if row.quantity.name == found.primary and row.better
    ]
    if not gains:
        needed = "more starts: no treatment is seen to gain"
        return Answer(Verdict.INCONCLUSIVE, "no treatment is seen to gain", "every switch of this run", needed)
    costs = grouped((worse for found, row in gains for worse in found.costs(row.treatment)), lambda row: row.quantity)
    parts = []
    for quantity, rows in costs.items():
        worst = max(rows, key=lambda row: abs(row.ratio - 1))
        count = f"{write.count(len(rows))} of {write.count(len(gains))}"
        parts.append(f"{quantity.label} in {count}, most {worst.change} with {worst.treatment}")
    effect = "; ".join(parts) or "none that gains is worse in another quantity"
    figure = interleaved.anchor(gains[0][0].name)
    basis = f"{write.several(len(gains), 'treatment')} that {'gains' if len(gains) == 1 else 'gain'}"
    return Answer(Verdict.YES if parts else Verdict.NO, effect, basis, figure=figure)


QUESTIONS = answered_by("07", {
    "size-tiered": of_reads("size-tiered", "compaction-size-tiered"),
    "leveled": of_reads("leveled", "compaction-leveled"),
    "bloom": of_reads("bloom", "bloom-10-bits"),
    "wal-buffered": differs(("wal",), "wal-buffered", THROUGHPUT, FREE),
    "wal-sync": differs(("wal",), "wal-sync", THROUGHPUT, FREE),
    "response": differs(("response",), "response-direct", "cpu_us", (Found.LOWER,)),
    "shared": shared_response,
    "costs": costs_anything,
})  # fmt: skip
