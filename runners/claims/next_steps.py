"""What to try next: each suggestion needs evidence in this run, and says it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from runners.analysis import causes, facts, tail_attribution
from runners.analysis.finding import Anchor, Finding
from runners.claims import checks as limits
from runners.claims import profile
from runners.design.shape import STABLE_SHARE
from runners.readers import write
from runners.readers.run import Run, Step
from runners.readers.severity import Severity

BUSY = 0.7  # share of time in which the connection waits for an answer
WAITING_CATEGORY = "poll"
WORTH_A_STEP = 0.1  # share of the tail that a cause explains
MUCH_UNEXPLAINED = 0.3
MOST_NAMED, LEAST_NAMED = 3, 0.1  # of other processes: how many, and from which share of their CPU time on
REMEDIES = {
    causes.GC: "Try another collector or a larger heap",
    causes.STALL: "Give the store more room before it holds writers back, or write less",
    "flush": "Pace the flush, or make it smaller",
    "compaction": "Pace the compaction",
    "log sync": "Sync the log less often, or for several writers at once",
    "slow file access": "Use a faster disk, or write less at a time",
    "JIT compilation": "Warm up longer, so that the compiler is done",
    "GC beside the application": "Leave the collector a core of its own, or a larger heap",
    causes.STALLED: "Measure on a quieter machine",
    "CPU steal": "Measure on a quieter machine",
    "other processes": "Stop what else runs on this machine",
    "disk busy": "Use a faster disk, or write less at a time",
    "waits for the disk": "Keep what is read in memory, or use a faster disk",
    "waits for memory": "Give the machine more memory",
}


def next_steps(run: Run) -> Iterator[Finding]:
    """Suggestions, the most urgent first."""
    clean = run.find(kind="load", profiled=False)
    for step in clean:
        yield from (finding for finding in (_lower_rate(run, step), _transport(step)) if finding)
    for finding in (_machine(clean), _kernel_frames(run)):
        if finding:
            yield finding
    for step in clean:
        yield from _tail(step)
    for step in run.find(kind="load", profiled=True):
        if finding := _store(step):
            yield finding
    for rule in (_busy(clean), _longer(clean)):
        if rule:
            yield rule


def _lower_rate(run: Run, step: Step) -> Finding | None:
    if not facts.is_saturated(step):
        return None
    probe = facts.only(run.find(kind="probe", subject=step.subject, workload=step.workload))
    reached = facts.achieved_rps(probe) if probe is not None and probe.valid else facts.achieved_rps(step)
    rate = STABLE_SHARE * reached
    if not write.known(rate):
        return None
    share = write.given_share(STABLE_SHARE)
    text = (
        f"Run {facts.title(step)} at {write.rate(rate)}, {share} of the {write.rate(reached)} that it reached: above "
        "its capacity only the queue is measured"
    )
    steps = (step.name, *([probe.name] if probe else []))
    evidence: dict[str, write.Value] = {"reached_rps": reached, "suggested_rps": rate}
    return Finding("N01", Severity.ERROR, write.sentence(text), evidence, steps, Anchor.comparison(step.workload))


def _transport(step: Step) -> Finding | None:
    ready = step.record.server.ready
    if ready.get("transport") != "java":
        return None
    text = (
        f"Run {facts.title(step)} with one-nio's native transport: version "
        f"{ready.get('one_nio') or write.UNKNOWN} fell back to Java sockets here"
    )
    return Finding("N09", Severity.WARNING, write.sentence(text), {"transport": "java"}, (step.name,), Anchor.CHECKS)


def _machine(steps: list[Step]) -> Finding | None:
    stolen = {
        step.name: float(step.frames["telemetry"]["steal_share"].mean())
        for step in steps
        if not step.frames["telemetry"].empty
    }
    worst = max(stolen.values(), default=math.nan)
    if not worst > limits.STEAL_LIMIT:
        return None
    text = f"Measure again on a quieter machine: others took up to {write.percent(worst)} of the processor (steal)"
    names = tuple(name for name, share in stolen.items() if share > limits.STEAL_LIMIT)
    return Finding("N07", Severity.WARNING, write.sentence(text), {"steal_share": worst}, names, Anchor.CHECKS)


def _kernel_frames(run: Run) -> Finding | None:
    steps = [step for step in run.find(kind="load", profiled=True) if "cpu" in step.profiled]
    engines = {step.record.profiler.engine for step in steps} - {"", "perf_events"}
    if not engines:
        return None
    level = (run.manifest.get("machine") or {}).get("perf_event_paranoid")
    why = f" (perf_event_paranoid is {level} here)" if level is not None else ""
    text = (
        f"Profile with perf_events to see the kernel's part of reads and writes: the profiler used "
        f"{write.listed(sorted(engines))}, which has no kernel frames{why}"
    )
    names = tuple(step.name for step in steps)
    remedy = "sysctl kernel.perf_event_paranoid=1 kernel.kptr_restrict=0"
    return Finding(
        "N08", Severity.NOTE, write.sentence(text), {"perf_event_paranoid": level}, names, Anchor.shares("cpu"), remedy
    )


def _tail(step: Step) -> Iterator[Finding]:
    seen = tail_attribution.attribution(step)
    if seen is None or not seen.tail.spikes:
        return
    name, figure = facts.title(step), Anchor.causes(step.name)
    for share in seen.named:
        cause, part = share.cause.name, tail_attribution.written(share.share)
        if share.share.value < WORTH_A_STEP or cause not in REMEDIES:
            continue
        code = "N02" if cause == causes.GC else "N11"
        remedy = REMEDIES[cause] + (_named_processes(step) if cause == causes.FOREIGN else "")
        explains = causes.explains(cause) if share.share.low > 0 else f"{cause} may explain"
        text = f"{remedy} for {name}: {explains} {part} of its tail"
        evidence: dict[str, write.Value] = {"share": share.share.value, "p": share.p, "spikes": share.spikes}
        yield Finding(code, Severity.NOTE, write.sentence(text), evidence, (step.name,), figure)
    if seen.unexplained >= MUCH_UNEXPLAINED:
        text = f"Look closer at {name}: {write.percent(seen.unexplained)} of its tail has no cause among those recorded"
        unexplained: dict[str, write.Value] = {"unexplained": seen.unexplained}
        yield Finding("N03", Severity.NOTE, write.sentence(text), unexplained, (step.name,), figure)


def _named_processes(step: Step) -> str:
    """Which processes these were, up to three, each with its part of their CPU time: (dockerd 61.2 %)."""
    used = causes.other_processes(step)
    whole_ms = sum(used.values())
    named = [
        f"{process} {write.percent(ms / whole_ms)}"
        for process, ms in list(used.items())[:MOST_NAMED]
        if ms >= LEAST_NAMED * whole_ms
    ]
    return f" (of its CPU time {write.listed(named)})" if named else ""


def _store(step: Step) -> Finding | None:
    if not profile.usable(step):
        return None
    store = profile.store_share(step)
    idle = profile.share(step, "cpu", WAITING_CATEGORY)
    if store is None or store.value <= 0:
        return None
    text = (
        f"A store that costs nothing would save {write.percent_interval(store.value, store.low, store.high)} of the "
        f"CPU time of {facts.title(step)}; the rest is network, HTTP and the JVM"
    )
    evidence: dict[str, write.Value] = {"store": store.value, "poll": idle.value if idle else None}
    return Finding("N04", Severity.NOTE, write.sentence(text), evidence, (step.name,), Anchor.shares("cpu"))


def _busy(steps: list[Step]) -> Finding | None:
    """On one connection the rate can't exceed one over the service time."""
    parts, evidence, names = [], dict[str, write.Value](), []
    for step in steps:
        service = facts.quoted(step, 0.5, facts.SERVICE)
        if service is None or step.record.connections != 1:
            continue
        busy = service.value * 1e-6 * facts.achieved_rps(step)
        if busy >= BUSY:
            parts.append(f"{facts.title(step)} {write.percent(busy)}")
            evidence[f"busy {step.name}"] = busy
            names.append(step.name)
    if not parts:
        return None
    text = (
        f"Add connections before judging the server's capacity: the one connection waits for a response most of the "
        f"time ({write.listed(parts)}, median service time times rate)"
    )
    return Finding("N05", Severity.NOTE, write.sentence(text), evidence, tuple(names), None)


def _longer(steps: list[Step]) -> Finding | None:
    needs = []
    for step in steps:
        thin = [level for level in facts.thin_levels(step) if level < 0.99995]
        rate = facts.achieved_rps(step)
        if facts.quotable(step) and thin and write.known(rate) and rate > 0:
            needs.append((facts.ENOUGH_BEYOND / (1 - max(thin)) / rate, max(thin), step))
    if not needs:
        return None
    length_s, level, step = max(needs, key=lambda need: need[0])
    text = (
        f"Run longer for {write.level(level)}: {facts.title(step)} needs about {write.seconds(math.ceil(length_s))} to "
        f"have {facts.ENOUGH_BEYOND} samples beyond it"
    )
    return Finding(
        "N06",
        Severity.NOTE,
        write.sentence(text),
        {"percentile": level, "duration_s": float(math.ceil(length_s))},
        tuple(need[2].name for need in needs),
        Anchor.CHECKS,
    )
