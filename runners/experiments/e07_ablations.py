"""Measure what the authors proposed for the LSM store, one switch at a time."""

from __future__ import annotations

from runners.claims.ablations import ablations, better, verdict
from runners.claims.questions import Answer, Answering, Asked, Evidence, Verdict, number, of_difference
from runners.design.question import Question
from runners.readers import write

RESPONSE = 20_000  # bytes of a head that grew beyond what a client takes


def gains(switch: str, setting: str) -> Answering:
    """Does a setting of a switch gain in the quantity that the switch is about, against the published one?"""

    def answer(evidence: Evidence) -> Answer | None:
        found = next((each for each in ablations(evidence.run) if each.switch.name == switch), None)
        row = next((each for each in found.rows if each.name == f"{switch}-{setting}"), None) if found else None
        if found is None or row is None or row.gain is None:
            return None
        above = not row.gain.quantity.lower_is_better
        return of_difference(row.gain, len(row.found), above=above, figure=found.anchor)

    return answer


def shared_response(evidence: Evidence) -> Answer | None:
    """Can one response object be shared by all requests?"""
    finding = evidence.first("V04")
    if finding is None:
        return None
    first, last = number(finding, "first_bytes"), number(finding, "last_bytes")
    effect = f"its head grows from {write.size(first)} to {write.size(last)} in "
    effect += f"{write.count(number(finding, 'answers'))} responses"
    return Answer(Verdict.NO if last > first else Verdict.YES, effect, "counted", finding=finding)


def costs_anything(evidence: Evidence) -> Answer | None:
    """Does any switch that gains cost something else?"""
    rows = [row for each in ablations(evidence.run) for row in each.rows]
    if not rows:
        return None
    costly = [f"{row.name}: {verdict(row)}" for row in rows if row.worse and row.gain is not None and better(row.gain)]
    effect = write.listed(costly) or "none that gains is worse in another quantity"
    return Answer(Verdict.YES if costly else Verdict.NO, effect, f"{len(rows)} treatments", figure="ablations-table")


QUESTIONS = (
    Asked(
        Question("size-tiered", "Does size-tiered compaction raise GET throughput?", "proposed (4)"),
        gains("compaction", "size-tiered"),
    ),
    Asked(Question("leveled", "Does leveled compaction?", "proposed (4)"), gains("compaction", "leveled")),
    Asked(
        Question("bloom", "Do Bloom filters raise it where every other key is absent?", "proposed (4)"),
        gains("bloom", "10-bits"),
    ),
    Asked(Question("wal-buffered", "Is a buffered log free for PUT throughput or better?"), gains("wal", "buffered")),
    Asked(Question("wal-sync", "Is a log that is forced to disk?"), gains("wal", "sync")),
    Asked(
        Question("response", "Does a prepared response save CPU time?", "proposed (1, 4)"), gains("response", "direct")
    ),
    Asked(
        Question("shared", "Can one response object be shared by all requests?", "it breaks the client (4)"),
        shared_response,
    ),
    Asked(Question("costs", "Does a switch that gains cost something else?"), costs_anything),
)
