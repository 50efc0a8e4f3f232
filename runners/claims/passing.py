"""What the first node passes on to others: as its status counts it, beside what its hash says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.analysis import facts, placement
from runners.analysis.finding import Finding
from runners.claims import turns
from runners.claims.turns import Group
from runners.design.report_5 import PUBLISHED_KEYS
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

ANCHOR = "keys"
AGREE = 0.02  # measured and computed shares this close are one


@dataclass(frozen=True, slots=True)
class Passed:
    """One setting over all its steps: requests that the loaded node served itself and passed on, and the calls' time.

    `expected` is the share of ids that lie on other nodes, by the hash; NaN for a hash that is not computed here.
    """

    name: str
    hashing: str
    topology: tuple[str, ...]
    local: int
    proxied: int
    expected: float
    call_p50_us: float
    call_p99_us: float
    failed_calls: int

    @property
    def share(self) -> float:
        asked = self.local + self.proxied
        return self.proxied / asked if asked else float("nan")


def passed(steps: list[Step]) -> Passed | None:
    """What these steps of one setting passed on, as the status of the loaded node tells; None where it does not."""
    local = proxied = 0
    last: Mapping[str, Any] = {}
    for step in steps:
        before, after = step.record.cluster_before, step.record.cluster_after
        if before.get("served") and after.get("served"):
            local += int(after["served"]["local"]) - int(before["served"]["local"])
            proxied += int(after["served"]["proxied"]) - int(before["served"]["proxied"])
            last = after
    if not last or not local + proxied:
        return None
    topology, hashing = tuple(sorted(str(url) for url in last["topology"])), str(last["hashing"])
    expected = float("nan")
    if hashing in placement.HASHES:
        own = placement.shares(topology, hashing, PUBLISHED_KEYS)
        expected = 1 - own[topology.index(str(last["self"]))]
    busiest: Mapping[str, Any] = max(last["peers"], key=lambda peer: peer["answered"], default={})
    latency = busiest.get("latency_us") or {}
    failed = sum(int(count) for peer in last["peers"] for count in peer["failed"].values())
    p50, p99 = (float(latency.get(name) or "nan") for name in ("p50", "p99"))
    return Passed(steps[0].subject, hashing, topology, local, proxied, expected, p50, p99, failed)


def of_group(group: Group) -> list[Passed]:
    """Each setting of a group whose status tells."""
    found = []
    for name in group.settings:
        every = [step for pair in group.turns[name].values() for step in pair if step is not None]
        if (one := passed(every)) is not None:
            found.append(one)
    return found


def topology(run: Run) -> tuple[str, ...] | None:
    """The addresses of the run's first cluster in one JVM."""
    for step in run.steps:
        about = step.record.cluster_after
        if step.kind == turns.TURN and about.get("topology"):
            return tuple(sorted(str(url) for url in about["topology"]))
    return None


def findings_of(run: Run, group: Group) -> Iterator[Finding]:
    """How each hash spreads the report's keys, and what was passed on."""
    nodes = topology(run)
    if nodes is not None:
        old = placement.shares(nodes, placement.OBJECTS_HASH, PUBLISHED_KEYS)
        new = placement.shares(nodes, placement.RENDEZVOUS, PUBLISHED_KEYS)
        text = (
            f"Of the {write.count(PUBLISHED_KEYS)} ids that the report wrote, the old hash (Objects.hash) puts "
            f"{write.percent(max(old))} on one of these nodes; rendezvous hashing with murmur3 puts "
            f"{write.percent(min(new))} to {write.percent(max(new))} on each"
        )
        evidence: dict[str, write.Value] = {"most_old": max(old), "least_new": min(new), "most_new": max(new)}
        yield Finding("H02", Severity.WARNING, write.sentence(text), evidence, (), ANCHOR)
    found = of_group(group)
    parts = [
        f"{facts.engine_name(one.name)} {write.percent(one.share)} (its hash says {write.percent(one.expected)})"
        for one in found
    ]
    if found:
        agree = all(not write.known(one.expected) or abs(one.share - one.expected) <= AGREE for one in found)
        text = f"The node that is asked passes on {write.listed(parts)} of its requests"
        evidence = {f"{one.name} share": one.share for one in found}
        evidence |= {f"{one.name} expected": one.expected for one in found}
        severity = Severity.NOTE if agree else Severity.WARNING
        yield Finding("H03", severity, write.sentence(text), evidence, (), ANCHOR)
