"""Generators on several hosts: what the network adds to their response times, what it loses, and how they began."""

from __future__ import annotations

from collections.abc import Iterator

from runners.analysis import facts
from runners.analysis.finding import Anchor, Finding
from runners.claims.conclusion import Check, Claims
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity
from runners.storage.schema import ShareRecord

MEDIAN = 0.5
#: From this share of the median on, the network is part of the answer.
NETWORK_SHARE = 0.2
#: Where no latency may be quoted, a round trip of so long is named all the same.
FAR_US = 1_000.0
#: Segments sent again, as a share of those sent; TCP sends some again that were only late, so a few prove nothing.
LOSS, FEWEST_REPEATED = 0.001, 10
#: Cores that stand still for this share of the time make a tail of their own.
STALLED_SHARE = 0.005
#: A generator that begins so much later than agreed does not load beside the others, but after them.
LATE_US = 10_000.0


def analyse(run: Run) -> Claims | None:
    """What the hosts of a run's generators show; None for a run whose loads came from one generator each."""
    shared = [step for step in run.steps if any(share.clock is not None for share in step.record.shares)]
    if not shared:
        return None
    findings = [finding for step in shared for share in step.record.shares for finding in _of_share(step, share)]
    return Claims(findings=tuple(findings), checks=tuple(_check(step) for step in shared))


def round_trip_us(share: ShareRecord) -> float | None:
    """The median round trip of a host to the servers; None where it was not measured."""
    found = sorted(share.network.round_trips_us)
    return found[len(found) // 2] if found else None


def _of_share(step: Step, share: ShareRecord) -> Iterator[Finding]:
    median, trip_us = facts.quoted(step, MEDIAN), round_trip_us(share)
    least_us = FAR_US if median is None else NETWORK_SHARE * median.value
    if trip_us is not None and trip_us >= least_us:
        beside = "no response time is quoted" if median is None else f"the median is {write.latency(median.value)}"
        text = (
            f"{step.label}: from host {share.host} a round trip over the network takes {write.latency(trip_us)}, which "
            f"is part of each response time; {beside}"
        )
        evidence: dict[str, write.Value] = {"round_trip_us": trip_us}
        if median is not None:
            evidence["p50_us"] = median.value
        yield Finding(
            "F01", Severity.NOTE, write.sentence(text), evidence, (step.name,), Anchor.CHECKS,
            "Measure from a host that is nearer, or read the response time as one over this network.",
        )  # fmt: skip
    sent, repeated = share.network.sent_segments or 0, share.network.repeated_segments or 0
    if repeated >= FEWEST_REPEATED and repeated >= LOSS * sent:
        text = (
            f"{step.label}: host {share.host} sent {write.percent(repeated / sent)} of its segments again ({repeated} "
            f"of {sent}): the network loses packets, and each loss delays a request by the time until TCP notices"
        )
        evidence = {"repeated_segments": repeated, "sent_segments": sent}
        yield Finding(
            "F02", Severity.WARNING, write.sentence(text), evidence, (step.name,), Anchor.CHECKS,
            "Mend the path to the server, or leave this host out.",
        )  # fmt: skip
    if share.clock is not None and (share.clock.stepped_us or abs(share.began_us) > LATE_US):
        cause = (
            f"a clock was set by {write.latency(abs(share.clock.stepped_us))} during the load"
            if share.clock.stepped_us
            else f"it began {write.latency(abs(share.began_us))} off the agreed instant"
        )
        text = f"{step.label}: the share of host {share.host} is not beside the others': {cause}"
        evidence = {"began_us": share.began_us, "stepped_us": share.clock.stepped_us}
        yield Finding(
            "F03", Severity.WARNING, write.sentence(text), evidence, (step.name,), Anchor.CHECKS,
            "Let one service keep the clocks of all hosts, and measure again.",
        )  # fmt: skip
    cores = len(share.witness.cpus) if share.witness is not None else 0
    window_ms = (step.record.duration_s or 0.0) * 1e3
    if share.stalled_ms and cores and share.stalled_ms >= STALLED_SHARE * cores * window_ms:
        stalled = share.stalled_ms / (cores * window_ms)
        text = (
            f"{step.label}: the cores of host {share.host} stood still for {write.percent(stalled)} of the time, and "
            f"the response times that it read hold that"
        )
        evidence = {"stalled_ms": share.stalled_ms, "cores": cores}
        yield Finding(
            "F04", Severity.NOTE, write.sentence(text), evidence, (step.name,), Anchor.CHECKS,
            "Generate from a host whose cores nobody else uses.",
        )  # fmt: skip


def _check(step: Step) -> Check:
    """Whether the generators of a load were one instrument."""
    shares = [share for share in step.record.shares if share.clock is not None]
    worst = max((share.clock.uncertainty_us for share in shares if share.clock is not None), default=0.0)
    off_us = max(abs(share.began_us) for share in shares)
    fine = off_us <= LATE_US and not any(share.clock.stepped_us for share in shares if share.clock is not None)
    text = (
        f"{step.label}: {len(shares)} generators on {write.listed([share.host for share in shares])} began within "
        f"{write.latency(off_us)} of the agreed instant, by clocks compared to within {write.latency(worst)}"
    )
    return Check("generators began together", fine, write.sentence(text), (step.name,))
