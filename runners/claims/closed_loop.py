"""What experiment 02 concludes: what the 44 ms are, what cures them, and where the published errors come from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from runners.analysis import loops
from runners.analysis.finding import Finding
from runners.analysis.loops import COUNTERS, CURVES, RATES, Loop
from runners.claims import script_errors
from runners.claims.conclusion import Claims
from runners.claims.loop_checks import checks
from runners.readers import write
from runners.readers.run import Run
from runners.readers.severity import Severity

#: The wait and its cure, told apart by one flag alone.
FLAG_PAIR = ("after", "nodelay")
FLAG = "-Dsun.net.httpserver.nodelay=true"
LOOPS = ("put", "get", "mixed")
ONE = 0.5  # of a request: more delayed acknowledgements than this are one each


def analyse(run: Run) -> Claims | None:
    """The conclusions of a run that holds closed loops."""
    if not run.find(kind=loops.KIND):
        return None
    found = loops.of_run(run)
    flag = list(_flag(found))
    return Claims(
        answer=_answer(found),
        findings=(
            *_arithmetic(found), *_evidence(found), *_new_jdk(found), *_one_write(found), *script_errors.right(found),
            *_profiles(run, found), *_old_jdk(run),
        ),
        missed=(
            *flag, *_executor(found), *script_errors.errors(found), *script_errors.published_errors(),
            *script_errors.coin(found), *script_errors.published_coin(),
        ),
        next_steps=tuple(_next(run, found)),
        checks=tuple(checks(run, found)),
    )  # fmt: skip


def times(value: float) -> str:
    """A ratio as a reader says it: 812 times, 1.3 times."""
    return f"{write.count(value)} times" if value >= 10 else f"{value:.2g} times"


def _answer(found: Sequence[Loop]) -> str:
    couple = next(iter(loops.pairs(found, FLAG_PAIR, "put")), None)
    new, undone = loops.first(found, "jdk25", "put"), loops.first(found, "delayed", "put")
    if couple is None:
        if new is None or undone is None:
            return "Too little was measured to tell what the 44 ms are."
        return (
            f"Without the loops on JDK 17 the published wait is not shown: on {write.connections(new.connections)} JDK "
            f"25 carries {write.rate(new.rate_rps)} PUT (p50 {write.latency(new.median_us)}), and "
            f"{write.rate(undone.rate_rps)} with nodelay=false."
        )
    slow, fast = couple
    if not slow.waits:
        return (
            f"There is no wait on this machine: {slow.title} answers {write.rate(slow.rate_rps)} on "
            f"{write.connections(slow.connections)}, p50 {write.latency(slow.median_us)}."
        )
    text = (
        f"The {write.latency(slow.median_us)} are Nagle's algorithm against delayed ACK: on "
        f"{write.connections(slow.connections)} JDK 17 carries {slow.rate_rps:.1f} PUT/s, and one flag, {FLAG}, gives "
        f"{times(loops.times_as_many(slow, fast))} as many, {write.rate(fast.rate_rps)} (p50 "
        f"{write.latency(fast.median_us)})."
    )
    if new is not None and not new.waits:
        text += f" JDK 25 needs no flag: {write.rate(new.rate_rps)}."
    return text


def _flag(found: Sequence[Loop]) -> Iterator[Finding]:
    """One flag against every loop that waits."""
    parts, evidence = [], dict[str, write.Value]()
    for name in LOOPS:
        couples = [(slow, fast) for slow, fast in loops.pairs(found, FLAG_PAIR, name) if slow.waits]
        if couples:
            ratios = [loops.times_as_many(slow, fast) for slow, fast in couples]
            many = write.listed(str(slow.connections) for slow, _ in couples)
            more = " connections" if couples[-1][0].connections > 1 else " connection"
            parts.append(f"{write.listed(times(ratio) for ratio in ratios)} as many {name.upper()} on {many}{more}")
            evidence |= {f"{slow.name} x {slow.connections}": loops.times_as_many(slow, fast) for slow, fast in couples}
    if not parts:
        return
    text = (
        f"TCP_NODELAY alone, with the same code, store and threads, answers {'; '.join(parts)}. The report changes "
        "threads and concludes that nothing more is to be had from this server"
    )
    yield Finding("D01", Severity.WARNING, write.sentence(text), evidence, (), CURVES)


def _arithmetic(found: Sequence[Loop]) -> Iterator[Finding]:
    waiting = [loop for loop in found if loop.waits]
    if not waiting:
        return
    loop = waiting[0]
    hz = loop.step.record.loop.kernel_hz
    tick = f"one tick of 1/{hz} s, {write.latency(1e6 / hz)}" if hz else "one tick of the kernel"
    least, most = min(one.median_us for one in waiting), max(one.median_us for one in waiting)
    seen = write.latency(least) if most - least < 500 else f"{write.latency(least)} to {write.latency(most)}"
    text = (
        f"The arithmetic: the client acknowledges a lone segment after {write.latency(loops.DELAYED_ACK_US)}, rounded "
        f"up by {tick}"
    )
    evidence: dict[str, write.Value] = {"least_p50_us": least, "most_p50_us": most, "hz": hz}
    if hz:
        expected = loops.expected_us(float(hz))
        evidence["expected_us"] = expected
        text += f": {write.latency(expected)}, so 1/{write.latency(expected)} = {1e6 / expected:.1f}/s a connection"
    text += f". The medians of the {write.count(len(waiting))} loops that wait are {seen}, and a connection carries "
    rates = [one.rate_rps / one.connections for one in waiting]
    text += f"{min(rates):.1f} to {max(rates):.1f}/s"
    evidence |= {"least_rps": min(rates), "most_rps": max(rates)}
    yield Finding("D02", Severity.NOTE, write.sentence(text), evidence, (), CURVES)


def _evidence(found: Sequence[Loop]) -> Iterator[Finding]:
    """The kernel's own count of delayed acknowledgements, in the place of a packet capture."""
    counted = [loop for loop in found if write.known(loop.a_request("DelayedACKs"))]
    waiting = [loop for loop in counted if loop.waits]
    others = [loop for loop in counted if not loop.waits]
    if not waiting or not others:
        return
    with_wait = [loop.a_request("DelayedACKs") for loop in waiting]
    without = [loop.a_request("DelayedACKs") for loop in others]
    text = (
        f"The kernel counted {min(with_wait):.2f} to {max(with_wait):.2f} delayed acknowledgements a request in the "
        f"{write.count(len(waiting))} loops that wait, and at most {max(without):.4f} in the "
        f"{write.count(len(others))} that do not (DelayedACKs of /proc/net/netstat, the whole machine)"
    )
    evidence: dict[str, write.Value] = {
        "least_waiting": min(with_wait), "most_waiting": max(with_wait), "most_other": max(without),
    }  # fmt: skip
    clear = min(with_wait) > ONE > max(without)
    severity = Severity.GOOD if clear else Severity.WARNING
    remedy = None if clear else "Run again on a machine where nothing else uses TCP."
    yield Finding("D03", severity, write.sentence(text), evidence, (), COUNTERS, remedy)


def _executor(found: Sequence[Loop]) -> Iterator[Finding]:
    """What the report changed: the threads."""
    couples = [
        couple for name in ("put", "get", "mixed-once") for couple in loops.pairs(found, ("before", "after"), name)
    ]
    couples = [(old, new) for old, new in couples if old.waits]
    if not couples:
        return
    moves = [new.median_us - old.median_us for old, new in couples]
    rates = [loops.times_as_many(old, new) for old, new in couples]
    text = (
        f"The cached pool that the report puts in place of the dispatcher thread changes nothing: over "
        f"{write.count(len(couples))} pairs of loops the median moves by {write.latency(min(moves))} to "
        f"{write.latency(max(moves))}, the rate by {write.percent(min(rates) - 1)} to {write.percent(max(rates) - 1)}. "
        "While a response waits for its acknowledgement no thread is busy with it"
    )
    evidence: dict[str, write.Value] = {"least_us": min(moves), "most_us": max(moves), "pairs": len(couples)}
    yield Finding("D04", Severity.NOTE, write.sentence(text), evidence, (), RATES)


def _new_jdk(found: Sequence[Loop]) -> Iterator[Finding]:
    """Whether a newer JDK waits, and by which of the two cures it does not: the flag taken away tells."""
    new, undone = loops.first(found, "jdk25", "put"), loops.first(found, "delayed", "put")
    if new is None or new.waits:
        return
    text = (
        f"JDK 25 runs the same class files without the wait: {write.rate(new.rate_rps)} PUT on "
        f"{write.connections(new.connections)}, p50 {write.latency(new.median_us)}"
    )
    evidence: dict[str, write.Value] = {"rps": new.rate_rps, "p50_us": new.median_us}
    names = [new.step.name]
    if undone is not None:
        evidence |= {"delayed_rps": undone.rate_rps, "delayed_p50_us": undone.median_us}
        names.append(undone.step.name)
        seen = f"p50 {write.latency(undone.median_us)} and {write.rate(undone.rate_rps)}"
        if undone.waits:
            text += f"; with nodelay=false it is back at {seen}, so its default made the difference"
        else:
            text += f". It is not the flag: with nodelay=false it has {seen}{_segments(found, undone, evidence)}"
    yield Finding("D05", Severity.NOTE, write.sentence(text), evidence, tuple(names), CURVES)


def _segments(found: Sequence[Loop], undone: Loop, evidence: dict[str, write.Value]) -> str:
    """Segments a request of the new JDK and of the old one with the flag: fewer, where head and body go out as one."""
    old = loops.first(found, "nodelay", "put")
    here, there = undone.a_request("OutSegs"), old.a_request("OutSegs") if old is not None else math.nan
    if not write.known(here) or not write.known(there) or here > there - ONE:
        return ""
    evidence |= {"segments": here, "segments_jdk17_nodelay": there}
    return (
        f", in {here:.1f} TCP segments a request where JDK 17 with the flag takes {there:.1f}: it sends head and body "
        "at once, so Nagle's algorithm has nothing to hold back"
    )


def _one_write(found: Sequence[Loop]) -> Iterator[Finding]:
    one, two = loops.first(found, "one-write", "put"), loops.first(found, "after", "put")
    if one is None or two is None or one.waits or not two.waits:
        return
    text = (
        f"It takes two writes: a response to PUT without a body, on JDK 17 and without the flag, is one write and has "
        f"p50 {write.latency(one.median_us)} against {write.latency(two.median_us)}"
    )
    evidence: dict[str, write.Value] = {"one_write_us": one.median_us, "two_writes_us": two.median_us}
    yield Finding("D06", Severity.NOTE, write.sentence(text), evidence, (one.step.name, two.step.name), RATES)


def _profiles(run: Run, found: Sequence[Loop]) -> Iterator[Finding]:
    """A profile of the processor can't show what waits."""
    parts, evidence, names = [], dict[str, write.Value](), []
    for step in run.find(kind=loops.KIND, profiled=True):
        counted = step.record.profiler.samples.get("cpu")
        clean = loops.find(found, step.record.loop.stage, step.workload, step.record.connections)
        if counted is None or not clean or not write.known(clean[0].server_cores):
            continue
        busy = clean[0].server_cores
        parts.append(f"{clean[0].title} {write.percent(busy)} of a core and {write.count(counted)} samples")
        evidence |= {f"cores {step.name}": busy, f"samples {step.name}": counted}
        names.append(step.name)
    if parts:
        text = (
            f"A profile of CPU time can't show this wait, for nobody computes meanwhile: {'; '.join(parts)}. The "
            "published flame graphs, before and after, are of the same nothing"
        )
        yield Finding("D12", Severity.NOTE, write.sentence(text), evidence, tuple(names), "shares-cpu")


def _old_jdk(run: Run) -> Iterator[Finding]:
    stages = {step.record.loop.stage for step in run.find(kind=loops.KIND)}
    if not stages & {"before", "after", "nodelay"}:
        text = "JDK 17 was not found on this machine, so none of the published stages was measured"
        yield Finding(
            "D13", Severity.WARNING, write.sentence(text), {}, (), "checks", "Install a JDK 17, then run again."
        )


def _next(run: Run, found: Sequence[Loop]) -> Iterator[Finding]:
    if any(loop.waits for loop in found):
        text = (
            f"On JDK 17 start any program on com.sun.net.httpserver with {FLAG}, or write head and body at once; on "
            "JDK 25 do nothing"
        )
        waiting = sum(loop.waits for loop in found)
        yield Finding("D14", Severity.NOTE, write.sentence(text), {"waiting": waiting}, (), CURVES)
    fast = loops.first(found, "nodelay", "put") or loops.first(found, "jdk25", "put")
    if fast is not None and not fast.waits:
        rate = 0.7 * fast.rate_rps // 100 * 100
        text = (
            f"Offer a rate to the cured server, say {write.rate(rate)}, 70 % of what its closed loop reached, and read "
            "its latency from the intended start: a closed loop can't tell it"
        )
        yield Finding("D15", Severity.NOTE, write.sentence(text), {"rate_rps": rate}, (fast.step.name,), RATES)
    if not loops.find(found, "after"):
        text = "Install a JDK 17 and run again: the published stages need it"
        yield Finding("D16", Severity.NOTE, write.sentence(text), {}, (), "checks")
