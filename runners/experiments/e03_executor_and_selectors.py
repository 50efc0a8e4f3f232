"""Reproduce report 3: who runs a request, and what handing it over costs."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis import facts, meets
from runners.claims import answering, executions, interleaved
from runners.claims.comparing import repeats_of
from runners.claims.questions import Answer, Answering, Asked, Evidence, Verdict, number, of_difference
from runners.design import report_3
from runners.design.block import SEARCH_WARMUP_S, Block, Interleaved
from runners.design.parameter import Value
from runners.design.question import Question
from runners.design.shape import Shape
from runners.design.size import SIZES
from runners.readers import write


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The hand-over on one connection, where a pool can't help and all that it adds is seen."""
    size = SIZES[str(asked["size"])]
    hand_over = Interleaved(
        "hand-over", "a request on the selector, and handed over to a pool that the selector waits for",
        (report_3.EXECUTIONS["selector"], report_3.EXECUTIONS["blocking-one"]), "selector", report_3.put(size.name),
        size, Shape(1, 1, report_3.REPEAT_S[size.name], SEARCH_WARMUP_S), primary="cpu_us", solo=False,
        questions=("hand-over", "median"),
    )  # fmt: skip
    return (hand_over.within(report_3.COMPARED_MINUTES[size.name]),)


def selector_against_pool(quantity: str) -> Answering:
    """Does handing a request over raise a quantity, against running it on the selector?"""

    def answer(evidence: Evidence) -> Answer | None:
        by_schedule = interleaved.finding_on(evidence.findings, quantity)
        if by_schedule is not None:
            return interleaved.answer_of(by_schedule, above=True)
        repeats = repeats_of(list(evidence.run.steps))
        if repeats is None:
            return None
        each = next((one for one in repeats.found if one.quantity.name == quantity), None)
        finding = next(
            (f for c in ("C01", "C02", "W05") for f in evidence.all(c) if f.evidence.get("quantity") == quantity), None
        )
        # names are (selector, blocking-one): the second is above where the hand-over costs something
        return of_difference(each, len(repeats.found), above=True, finding=finding)

    return answer


def longer_queue(evidence: Evidence) -> Answer | None:
    """Does a longer queue answer more of what does not fit?"""
    pairs = executions.overloaded(evidence.run)
    if len(pairs) < 2:
        return None
    parts = []
    for _, high in pairs:
        refused = meets.refused_share(high)
        parts.append(
            f"{facts.engine_name(high.subject)}: {write.percent(refused)} refused, p99 {facts.told(high, 0.99)}"
        )
    shares = [meets.refused_share(high) for _, high in pairs]
    verdict = Verdict.YES if shares[-1] < shares[0] and not facts.fell_short(pairs[-1][1]) else Verdict.NO
    return Answer(verdict, write.listed(parts), "one load each", finding=evidence.first("E03"))


def misses(evidence: Evidence) -> Answer | None:
    """Are the published errors the server's?"""
    finding = evidence.first("M08")
    if finding is None:
        return None
    shares = f"{write.percent(number(finding, 'low'))} to {write.percent(number(finding, 'high'))}"
    effect = f"{shares} at every rate: keys that were never written"
    return Answer(Verdict.NO, effect, f"{write.count(number(finding, 'outputs'))} published outputs", finding=finding)


def queues(evidence: Evidence) -> Answer | None:
    """Are the latencies published at the highest rates a response time?"""
    finding = evidence.first("M07")
    if finding is None:
        return None
    rates = f"{write.count(number(finding, 'beyond'))} of {write.count(number(finding, 'rates'))} rates"
    effect = f"{rates} lie beyond the knee: up to {write.latency(number(finding, 'longest_us'))}, the length of a queue"
    return Answer(Verdict.NO, effect, "the published outputs", finding=finding)


QUESTIONS = (
    Asked(
        Question(
            "pool",
            "Does a pool behind one selector carry more than handling on the selector?",
            "yes, 2.5 times",
            cores=2,
        ),
        answering.knees_apart("put", "blocking-one", "selector"),
    ),
    Asked(
        Question("selectors", "Do more selectors carry more?", "yes: 55 000/s in place of 40 000/s", cores=2),
        answering.knees_apart("put", "blocking-many", "blocking-one"),
    ),
    Asked(
        Question("hand-over", "Does the hand-over cost CPU time?", "yes: 27 % of the rate on one connection"),
        selector_against_pool("cpu_us"),
    ),
    Asked(Question("median", "Does the hand-over cost latency in the median?"), selector_against_pool("p50_us")),
    Asked(
        Question("get", "Does the selector alone carry more GET?"),
        answering.knees_apart("get", "selector", "blocking-one"),
    ),
    Asked(
        Question("virtual", "Do virtual threads carry as much as the published pool?"),
        answering.knees_apart("put", "virtual", "blocking-one"),
    ),
    Asked(Question("queue", "Does a longer queue refuse less when more is offered than fits?"), longer_queue),
    Asked(Question("errors", "Are the published errors of GET the server's?", "not mentioned"), misses),
    Asked(
        Question("beyond", "Are the latencies published at the highest rates response times?", "taken as such"), queues
    ),
)
