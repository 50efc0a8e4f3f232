"""Suggest what to try next: each suggestion needs evidence in this run, and says it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from runners.analysis import facts, instrument, latency_spikes, tail_attribution
from runners.claims import profile
from runners.claims.checks import STEAL_LIMIT
from runners.design.load import STABLE_SHARE
from runners.readers import write
from runners.readers.finding import Anchor, Finding, Severity
from runners.readers.run import Run, Step

BUSY = 0.7  # share of time in which the connection waits for a response
WAITING_CATEGORY = "poll"
WORTH_A_STEP = 0.1  # share of the tail that a cause explains
MUCH_UNEXPLAINED = 0.3
MOST_NAMED, LEAST_NAMED = 3, 0.1  # of other processes: how many, and from which share of their CPU time on
REMEDIES = {
    latency_spikes.GC: "Try another collector or a larger heap",
    latency_spikes.STALL: "Give the store more room before it holds writers back, or write less",
    "flush": "Pace the flush, or make it smaller",
    "compaction": "Pace the compaction",
    "log sync": "Sync the log less often, or for several writers at once",
    "slow file access": "Use a faster disk, or write less at a time",
    "JIT compilation": "Warm up longer, so that the compiler is done",
    "concurrent GC": "Leave the collector a core of its own, or a larger heap",
    latency_spikes.STALLED: "Measure on a quieter machine",
    latency_spikes.LATE: "Give the generator a core of its own, or a machine",
    "CPU steal": "Measure on a quieter machine",
    "other processes": "Stop what else runs on this machine",
    "disk busy": "Use a faster disk, or write less at a time",
    "waits for the disk": "Keep what is read in memory, or use a faster disk",
    "waits for memory": "Give the machine more memory",
}


def next_steps(run: Run) -> Iterator[Finding]:
    """Suggestions, the most urgent first."""
    clean, profiled = (run.find(kind="load", profiled=with_profiler) for with_profiler in (False, True))
    for step in clean:
        yield from filter(None, (_lower_rate(run, step), _transport(step)))
    yield from filter(None, (_machine(clean), _kernel_frames(run)))
    for step in clean:
        yield from _tail(step, run.steps)
    yield from filter(None, (*map(_store, profiled), _busy(clean), _longer(clean)))


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
    evidence = {"reached_rps": reached, "suggested_rps": rate}
    return Finding.of("N01", Severity.ERROR, text, evidence, steps, Anchor.comparison(step.workload))


def _transport(step: Step) -> Finding | None:
    ready = step.record.server.ready
    if ready.get("transport") != "java":
        return None
    text = (
        f"Run {facts.title(step)} with one-nio's native transport: version "
        f"{ready.get('one_nio') or write.UNKNOWN} fell back to Java sockets here"
    )
    return Finding.of("N09", Severity.WARNING, text, {"transport": "java"}, (step.name,), Anchor.CHECKS)


def _machine(steps: list[Step]) -> Finding | None:
    stolen = {
        step.name: float(step.frames["telemetry"]["steal_share"].mean())
        for step in steps
        if not step.frames["telemetry"].empty
    }
    worst = max(stolen.values(), default=math.nan)
    if not worst > STEAL_LIMIT:
        return None
    text = f"Measure again on a quieter machine: others took up to {write.percent(worst)} of the processor (steal)"
    names = tuple(name for name, share in stolen.items() if share > STEAL_LIMIT)
    return Finding.of("N07", Severity.WARNING, text, {"steal_share": worst}, names, Anchor.CHECKS)


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
    return Finding.of("N08", Severity.NOTE, text, {"perf_event_paranoid": level}, names, Anchor.shares("cpu"), remedy)


def _tail(step: Step, every: Sequence[Step]) -> Iterator[Finding]:
    seen = tail_attribution.attribution(step) if not instrument.of_instrument(every, step, 0.99) else None
    if seen is None or not seen.tail.spikes:
        return
    name, figure = facts.title(step), Anchor.causes(step.name)
    for share in seen.named:
        cause, part = share.cause.name, share.share.as_share
        if share.share.value < WORTH_A_STEP or cause not in REMEDIES:
            continue
        code = "N02" if cause == latency_spikes.GC else "N11"
        remedy = REMEDIES[cause] + (_named_processes(step) if cause == latency_spikes.FOREIGN else "")
        explains = latency_spikes.explains(cause) if share.share.low > 0 else f"{cause} may explain"
        text = f"{remedy} for {name}: {explains} {part} of its tail"
        evidence = {"share": share.share.value, "p": share.p, "spikes": share.spikes}
        yield Finding.of(code, Severity.NOTE, text, evidence, (step.name,), figure)
    if seen.unexplained >= MUCH_UNEXPLAINED:
        text = f"Look closer at {name}: {write.percent(seen.unexplained)} of its tail has no cause among those recorded"
        yield Finding.of("N03", Severity.NOTE, text, {"unexplained": seen.unexplained}, (step.name,), figure)


def _named_processes(step: Step) -> str:
    """Return which processes these were, up to three, each with its part of their CPU time: (dockerd 61.2 %)."""
    used = latency_spikes.other_processes(step)
    whole_ms = sum(used.values())
    named = [
        f"{process} {write.percent(ms / whole_ms)}"
        for process, ms in list(used.items())[:MOST_NAMED]
        if ms >= LEAST_NAMED * whole_ms
    ]
    return f" (of its CPU time {write.listed(named)})" if named else ""


def _store(step: Step) -> Finding | None:
    if not facts.usable_profile(step):
        return None
    store = profile.together(step, profile.STORE)
    idle = profile.share(step, "cpu", WAITING_CATEGORY)
    if store is None or store.value <= 0:
        return None
    text = (
        f"A store that costs nothing would save {store.as_share} of the "
        f"CPU time of {facts.title(step)}; the rest is network, HTTP and the JVM{profile.overhead_note(step)}"
    )
    evidence = {"store": store.value, "poll": idle.value if idle else None}
    return Finding.of("N04", Severity.NOTE, text, evidence, (step.name,), Anchor.shares("cpu"))


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
    return Finding.of("N05", Severity.NOTE, text, evidence, tuple(names), None)


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
    text = f"Run longer for {write.level(level)}: {facts.title(step)} needs about {write.seconds(math.ceil(length_s))} "
    text += f"to have {facts.ENOUGH_BEYOND} samples beyond it"
    evidence = {"percentile": level, "duration_s": float(math.ceil(length_s))}
    return Finding.of("N06", Severity.NOTE, text, evidence, tuple(need[2].name for need in needs), Anchor.CHECKS)
