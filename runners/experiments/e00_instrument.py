"""Validate the load generators: what each adds to latency, sees of a stall and costs."""

from __future__ import annotations

from collections.abc import Callable

from runners.analysis import rounds
from runners.claims import instrument
from runners.claims.instrument import OURS
from runners.claims.questions import Answer, Answering, Asked, Evidence, Verdict, number, verdict_of
from runners.design.question import Question
from runners.readers import write

MEDIAN = 0.5
WHOLE = 0.05  # of the requests that the schedule makes wait


def adds(tool: str) -> Answering:
    """Does a generator add to the median of the simplest client, in interleaved rounds?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = rounds.of_run(evidence.run)
        parts, lows, highs = [], [], []
        for connections, rate in rounds.points(found):
            point = rounds.at_point(found, connections, rate)
            floor, reference = point.get(tool), rounds.reference_of(point)
            added = rounds.added(floor, reference, MEDIAN) if floor is not None and reference is not None else None
            if added is not None:
                parts.append(f"{write.latency_interval(added.value, added.low, added.high)} at {write.rate(rate)}")
                lows.append(added.low)
                highs.append(added.high)
        if not parts:
            return None
        several = min(len(floor.good) for floor in found if floor.tool == tool and not floor.closed and floor.good)
        # at one rate at least, or at none
        verdict = Verdict.YES if max(lows) > 0 else verdict_of(max(lows), max(highs))
        finding = evidence.first("I03" if tool == OURS else "I04")
        return Answer(
            verdict, write.listed(parts), f"at least {several} interleaved rounds", "", finding, instrument.FLOORS
        )

    return answer


def sees_a_stall(code: str, tool: str) -> Answering:
    """Does a generator count every request that a frozen server makes wait?"""

    def answer(evidence: Evidence) -> Answer | None:
        finding = evidence.about(code, f"stall-{tool}")
        if finding is None or not number(finding, "expected") > 0:
            return None
        share = number(finding, "counted") / number(finding, "expected")
        effect = f"{write.percent(share)} of {write.count(number(finding, 'expected'))} requests"
        whole = abs(share - 1) <= WHOLE
        return Answer(Verdict.YES if whole else Verdict.NO, effect, "one load, frozen at known times", finding=finding)

    return answer


def costs(compare: Callable[[float, float], bool]) -> Answering:
    """Does our generator take less CPU time a request than a plain epoll loop?"""

    def answer(evidence: Evidence) -> Answer | None:
        paced = [floor for floor in rounds.of_run(evidence.run) if not floor.closed and floor.good]
        if not paced:
            return None
        top = max(paced, key=lambda floor: floor.rate_rps)
        point = rounds.at_point(paced, top.connections, top.rate_rps)
        pair = [point[tool].cpu_s_a_million() if tool in point else None for tool in (OURS, "epoll")]
        ours, plain = pair
        if ours is None or plain is None:
            return None
        text = f"{write.seconds(ours.value)} against {write.seconds(plain.value)} a million requests"
        apart = ours.apart_from(plain)
        verdict = (Verdict.YES if compare(ours.value, plain.value) else Verdict.NO) if apart else Verdict.INCONCLUSIVE
        needed = "more rounds: the intervals overlap" if not apart else ""
        confidence = f"{len(point[OURS].good)} interleaved rounds at {write.rate(top.rate_rps)}"
        return Answer(verdict, text, confidence, needed, evidence.first("I07"))

    return answer


QUESTIONS = (
    Asked(Question("ours-adds", "Does the lab's load generator add to the median of the simplest client?"), adds(OURS)),
    Asked(
        Question("wrk2-adds", "Does wrk2 add to it?", "medians of 0.6 to 1.1 ms, taken for the server's"), adds("wrk2")
    ),
    Asked(
        Question("ours-stall", "Does the lab's generator count every request that a frozen server makes wait?"),
        sees_a_stall("I05", OURS),
    ),
    Asked(Question("wrk2-stall", "Does wrk2?"), sees_a_stall("I06", "wrk2")),
    Asked(Question("blocking-stall", "Does a blocking client?"), sees_a_stall("I06", "blocking")),
    Asked(
        Question("cpu", "Does the lab's generator take less CPU time a request than a plain epoll loop?"),
        costs(lambda ours, plain: ours < plain),
    ),
)
