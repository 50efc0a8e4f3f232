"""Say what a response object that all requests share does to the responses."""

from __future__ import annotations

from runners.analysis import facts
from runners.analysis.finding import Finding
from runners.claims.conclusion import Claims
from runners.design.session import FAULT
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

ANCHOR = "ablation-fault"


def analyse(run: Run) -> Claims | None:
    """Claim what the shared response does; None for a run without it."""
    found = tuple(finding for step in run.find(kind=FAULT) if (finding := _fault(step)) is not None)
    return Claims("", found) if found else None


def _fault(step: Step) -> Finding | None:
    """What an object that all responses share does to them."""
    heads = step.record.fault.heads if step.record.fault else ()
    if len(heads) < 2 or heads[-1]["bytes"] <= heads[0]["bytes"]:
        return None
    first, last = heads[0], heads[-1]
    each = (last["bytes"] - first["bytes"]) / (last["number"] - first["number"])
    text = (
        f"A response that all requests share grows: the head of response {write.count(first['number'])} has "
        f"{write.size(first['bytes'])} and {write.count(first['fields'])} fields, that of response "
        f"{write.count(last['number'])} {write.size(last['bytes'])} and {write.count(last['fields'])}, "
        f"{each:.0f} bytes more with each: one-nio adds a field Connection to the object that it is given"
    )
    evidence: dict[str, write.Value] = {
        "first_bytes": first["bytes"],
        "last_bytes": last["bytes"],
        "answers": last["number"],
    }
    read, unread = facts.number(step, "completed"), facts.number(step, "parse_errors")
    if write.known(read) and write.known(unread) and unread > 0:
        text += (
            f". On a server of its own a closed loop of one connection reads {write.count(read)} responses; then heads "
            f"are longer than the client takes, and {write.count(unread)} responses can't be read"
        )
        evidence |= {"read": read, "unread": unread}
    remedy = "Make a response for each request, or write bytes that nobody changes."
    return Finding("V04", Severity.WARNING, write.sentence(text), evidence, (step.name,), ANCHOR, remedy)
