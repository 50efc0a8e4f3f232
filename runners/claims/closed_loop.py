"""Conclude on closed loops: what the 44 ms are, what cures them, and the errors and mixes that a script makes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from runners.analysis import facts, loops
from runners.analysis.loops import COUNTERS, CURVES, ERRORS, RATES, REPORT, Loop
from runners.analysis.quantities import factor, signed
from runners.claims.conclusion import Check, Claims
from runners.design.load import STABLE_SHARE
from runners.readers import write
from runners.readers.finding import Finding, Severity
from runners.readers.published import published_of
from runners.readers.run import Run, Step

#: The wait and its cure, apart by one flag alone.
FLAG_PAIR = ("after", "nodelay")
FLAG = "-Dsun.net.httpserver.nodelay=true"
LOOPS = ("put", "get", "mixed")
ONE = 0.5  # of a request: more delayed acknowledgements than this are one each


def analyse(run: Run) -> Claims | None:
    """Return the conclusions of a run that holds closed loops."""
    if not run.find(kind=loops.KIND):
        return None
    found = loops.of_run(run)
    flag = list(_flag(found))
    return Claims(
        answer=_answer(found),
        findings=(
            *_arithmetic(found), *_evidence(found), *_new_jdk(found), *_one_write(found), *right(found),
            *_profiles(run, found), *_old_jdk(run),
        ),
        missed=(
            *flag, *_executor(found), *errors(found), *published_errors(),
            *coin(found), *published_coin(),
        ),
        next_steps=tuple(_next(found)),
        checks=tuple(checks(run, found)),
    )  # fmt: skip


def _answer(found: Sequence[Loop]) -> str:
    couple = next(iter(loops.pairs(found, FLAG_PAIR, "put")), None)
    new, undone = loops.first(found, "jdk25", "put"), loops.first(found, "delayed", "put")
    if couple is None:
        if new is None or undone is None:
            return "Too little was measured to tell what the 44 ms are."
        return (
            f"Without the loops on JDK 17 the published wait is not shown: on {write.connections(new.connections)} JDK "
            f"25 achieves {write.rate(new.rate_rps)} PUT (p50 {write.latency(new.median_us)}), and "
            f"{write.rate(undone.rate_rps)} with nodelay=false."
        )
    slow, fast = couple
    if not slow.waits:
        return (
            f"There is no wait on this machine: {slow.title} achieves {write.rate(slow.rate_rps)} on "
            f"{write.connections(slow.connections)}, p50 {write.latency(slow.median_us)}."
        )
    text = (
        f"The {write.latency(slow.median_us)} are Nagle's algorithm against delayed ACK: on "
        f"{write.connections(slow.connections)} JDK 17 achieves {slow.rate_rps:.1f} PUT/s, and one flag, {FLAG}, gives "
        f"{factor(loops.times_as_many(slow, fast))} as many, {write.rate(fast.rate_rps)} (p50 "
        f"{write.latency(fast.median_us)})."
    )
    if new is not None and not new.waits:
        text += f" JDK 25 needs no flag: {write.rate(new.rate_rps)}."
    return text


def _flag(found: Sequence[Loop]) -> Iterator[Finding]:
    """Yield one flag against every loop that waits."""
    parts, evidence = [], dict[str, write.Value]()
    for name in LOOPS:
        couples = [(slow, fast) for slow, fast in loops.pairs(found, FLAG_PAIR, name) if slow.waits]
        if couples:
            ratios = [factor(loops.times_as_many(slow, fast)).removesuffix(" times") for slow, fast in couples]
            many = write.listed(str(slow.connections) for slow, _ in couples)
            more = "connections" if couples[-1][0].connections > 1 else "connection"
            parts.append(f"{write.listed(ratios)} times as many {name.upper()} on {many} {more}")
            evidence |= {f"{slow.name} x {slow.connections}": loops.times_as_many(slow, fast) for slow, fast in couples}
    if not parts:
        return
    text = (
        "With TCP_NODELAY alone, and the same code, store and threads, the server responds to "
        f"{', and to '.join(parts)}{_median(found)}. The report changes threads and concludes that nothing more is to "
        "be had from this server"
    )
    yield Finding.of("D01", Severity.WARNING, text, evidence, (), CURVES)


def _median(found: Sequence[Loop]) -> str:
    fast = loops.first(found, FLAG_PAIR[1], "put")
    return f" (p50 of PUT {write.latency(fast.median_us)})" if fast is not None else ""


def _arithmetic(found: Sequence[Loop]) -> Iterator[Finding]:
    waiting = [loop for loop in found if loop.waits]
    if not waiting:
        return
    loop = waiting[0]
    hz = loop.step.record.loop.kernel_hz
    tick = f"one tick of the kernel, 1/{hz} s or {write.latency(1e6 / hz)}" if hz else "one tick of the kernel"
    least, most = min(one.median_us for one in waiting), max(one.median_us for one in waiting)
    seen = write.span((least, most), write.latency)
    text = (
        f"The client acknowledges a lone segment after {write.given_latency(loops.DELAYED_ACK_US)}, rounded up by "
        f"{tick}"
    )
    evidence: dict[str, write.Value] = {"least_p50_us": least, "most_p50_us": most, "hz": hz}
    if hz:
        expected = loops.expected_us(float(hz))
        evidence["expected_us"] = expected
        text += f": {write.latency(expected)}, so 1/{write.latency(expected)} = {1e6 / expected:.1f}/s on a connection"
    text += f". The medians of the {write.count(len(waiting))} loops that wait are {seen}; requests per second and "
    text += f"connection: {per_connection(found)}"
    rates = [one.rate_rps / one.connections for one in waiting]
    evidence |= {"least_rps": min(rates), "most_rps": max(rates)}
    yield Finding.of("D02", Severity.NOTE, text, evidence, (), CURVES)


def per_connection(found: Sequence[Loop]) -> str:
    """Return requests per second and connection: of the loops that wait, and of the others."""
    parts = []
    for waits, what in ((True, "loops that wait"), (False, "loops that do not")):
        each = [one.rate_rps / one.connections for one in found if one.waits == waits and write.known(one.rate_rps)]
        if each:
            low, high = (f"{rps:.1f}/s" if rps < 100 else write.rate(rps) for rps in (min(each), max(each)))
            parts.append(f"{low if low == high else f'{low} to {high}'} for {what}")
    return write.listed(parts) or "nothing was measured"


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
        f"The kernel counted {min(with_wait):.2f} to {max(with_wait):.2f} delayed acknowledgements per request in the "
        f"{write.count(len(waiting))} loops that wait, and at most {max(without):.4f} in the "
        f"{write.count(len(others))} that do not (DelayedACKs of /proc/net/netstat, the whole machine)"
    )
    evidence: dict[str, write.Value] = {
        "least_waiting": min(with_wait), "most_waiting": max(with_wait), "most_other": max(without),
    }  # fmt: skip
    clear = min(with_wait) > ONE > max(without)
    remedy = None if clear else "Run again on a machine where nothing else uses TCP."
    yield Finding.of("D03", Severity.GOOD if clear else Severity.WARNING, text, evidence, (), COUNTERS, remedy)


def _executor(found: Sequence[Loop]) -> Iterator[Finding]:
    """Yield what the report changed: the threads."""
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
        f"{write.latency(max(moves))}, the rate by {signed(min(rates) - 1)} to {signed(max(rates) - 1)}. "
        "While a response waits for its acknowledgement no thread is busy with it"
    )
    evidence: dict[str, write.Value] = {"least_us": min(moves), "most_us": max(moves), "pairs": len(couples)}
    yield Finding.of("D04", Severity.NOTE, text, evidence, (), RATES)


def _new_jdk(found: Sequence[Loop]) -> Iterator[Finding]:
    """Yield whether a newer JDK waits, and by which of the two cures it does not: the flag taken away tells, by
    workload.
    """
    pairs = [(loops.first(found, "jdk25", name), loops.first(found, "delayed", name)) for name in ("put", "get")]
    known = [(new, undone) for new, undone in pairs if new is not None and not new.waits]
    if not known:
        return
    evidence: dict[str, write.Value] = {}
    text = f"JDK 25 runs the same class files without the wait: {write.listed(_seen(new) for new, _ in known)} on "
    text += write.connections(known[0][0].connections)
    for new, undone in known:
        evidence |= {f"{new.name} rps": new.rate_rps, f"{new.name} p50_us": new.median_us}
        if undone is not None:
            evidence |= {f"{new.name} delayed_rps": undone.rate_rps, f"{new.name} delayed_p50_us": undone.median_us}
    without = [undone for _, undone in known if undone is not None]
    seen = write.listed(map(_seen, without))
    if any(each.waits for each in without):
        text += f"; with nodelay=false it is back at {seen}, so its default made the difference"
    elif without:
        text += f". It is not the flag: with nodelay=false it has {seen}{_segments(found, without[0], evidence)}"
    names = tuple(loop.step.name for pair in known for loop in pair if loop is not None)
    yield Finding.of("D05", Severity.NOTE, text, evidence, names, CURVES)


def _seen(loop: Loop) -> str:
    """Return the rate and the percentiles of a closed loop in words."""
    p99 = loop.at(0.99)
    tail = f" and p99 {write.latency(p99.value)}" if p99 is not None else ""
    return f"{write.rate(loop.rate_rps)} {loop.name.upper()} with p50 {write.latency(loop.median_us)}{tail}"


def _segments(found: Sequence[Loop], undone: Loop, evidence: dict[str, write.Value]) -> str:
    """Segments a request of the new JDK and of the old one with the flag: fewer, where head and body go out as one."""
    old = loops.first(found, "nodelay", "put")
    here, there = undone.a_request("OutSegs"), old.a_request("OutSegs") if old is not None else math.nan
    if not write.known(here) or not write.known(there) or here > there - ONE:
        return ""
    evidence |= {"segments": here, "segments_jdk17_nodelay": there}
    return (
        f", in {here:.1f} TCP segments per request where JDK 17 with the flag takes {there:.1f}: it sends head and "
        "body at once, so Nagle's algorithm has nothing to hold back"
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
    yield Finding.of("D06", Severity.NOTE, text, evidence, (one.step.name, two.step.name), RATES)


def _profiles(run: Run, found: Sequence[Loop]) -> Iterator[Finding]:
    """A profile of the processor can't show what waits."""
    parts, evidence, names = [], dict[str, write.Value](), []
    for step in run.find(kind=loops.KIND, profiled=True):
        counted = facts.profile_samples(step, facts.CPU)
        clean = loops.find(found, step.record.loop.stage, step.workload, step.record.connections)
        if not counted or not clean or not write.known(clean[0].server_cores):
            continue
        busy = clean[0].server_cores
        parts.append(f"{clean[0].title}: {write.percent(busy)} of a core and {write.count(counted)} samples")
        evidence |= {f"cores {step.name}": busy, f"samples {step.name}": counted}
        names.append(step.name)
    if parts:
        text = (
            f"A profile of CPU time can't show this wait, for no thread computes meanwhile: {'; '.join(parts)}. The "
            "published flame graphs, before and after, can't show it either"
        )
        yield Finding.of("D12", Severity.NOTE, text, evidence, tuple(names), "shares-cpu")


def _old_jdk(run: Run) -> Iterator[Finding]:
    stages = {step.record.loop.stage for step in run.find(kind=loops.KIND)}
    if not stages & {"before", "after", "nodelay"}:
        text = "JDK 17 was not found on this machine, so none of the published stages was measured"
        yield Finding.of("D13", Severity.WARNING, text, {}, (), "checks", "Install a JDK 17, then run again.")


def _next(found: Sequence[Loop]) -> Iterator[Finding]:
    if any(loop.waits for loop in found):
        text = (
            f"On JDK 17 start any program on com.sun.net.httpserver with {FLAG}, or write head and body at once; on "
            "JDK 25 do nothing"
        )
        waiting = sum(loop.waits for loop in found)
        yield Finding.of("D14", Severity.NOTE, text, {"waiting": waiting}, (), CURVES)
    fast = loops.first(found, "nodelay", "put") or loops.first(found, "jdk25", "put")
    if fast is not None and not fast.waits:
        rate = STABLE_SHARE * fast.rate_rps // 100 * 100
        text = (
            f"Offer a rate to the cured server, say {write.rate(rate)}, {write.given_share(STABLE_SHARE)} of what its "
            "closed loop reached, and read its latency from the intended start: a closed loop can't show it"
        )
        yield Finding.of("D15", Severity.NOTE, text, {"rate_rps": rate}, (fast.step.name,), RATES)
    if not loops.find(found, "after"):
        text = "Install a JDK 17 and run again: the published stages need it"
        yield Finding.of("D16", Severity.NOTE, text, {}, (), "checks")


CLOSE = 0.05  # of a loop's requests: how far the 404s may lie from the replay, for threads do not share them out evenly
FEWEST_FOR_P90 = 10 * facts.ENOUGH_BEYOND


def checks(run: Run, found: Sequence[Loop]) -> Iterator[Check]:
    steps = run.find(kind=loops.KIND, profiled=False)
    text = (
        "every loop is closed: a connection sends when its response came, so no rate was offered, a stall delays few "
        "requests, and no figure here is a latency under load"
    )
    yield Check("closed loop", True, write.sentence(text), tuple(step.name for step in steps))
    yield _found_jdks(steps)
    yield _samples(steps)
    yield _answers(found)
    counted = [step for step in steps if step.record.loop.tcp]
    text = f"read before and after {write.count(len(counted))} of {write.several(len(steps), 'loop')}, for the machine"
    yield Check("kernel counters", True if counted else None, write.sentence(text))


def _found_jdks(steps: Sequence[Step]) -> Check:
    seen: dict[str, list[str]] = {}
    for step in steps:
        ready = step.record.server.ready
        jdk = f"{str(ready.get('jvm') or write.UNKNOWN).strip()}, nodelay {ready.get('nodelay') or write.UNKNOWN}"
        stages = seen.setdefault(jdk, [])
        if step.record.loop.stage not in stages:
            stages.append(step.record.loop.stage)
    text = "; ".join(f"{write.listed(stages)}: {jdk}" for jdk, stages in seen.items())
    old = any(step.record.loop.stage == "after" for step in steps)
    return Check("JDKs", old, write.sentence(text if old else f"no JDK 17 here; {text}"))


def _samples(steps: Sequence[Step]) -> Check:
    counts = [facts.samples(step) for step in steps]
    thin = sorted({level for step in steps for level in facts.thin_levels(step) if level < 1})
    text = f"{write.count(min(counts, default=0))} to {write.count(max(counts, default=0))} samples per loop"
    if thin:
        text += (
            f"; a loop that waits has few, so in some fewer than {facts.ENOUGH_BEYOND} lie beyond "
            f"{write.listed(write.level(level) for level in thin)}"
        )
    return Check("samples", min(counts, default=0) >= FEWEST_FOR_P90, write.sentence(text))


def _answers(found: Sequence[Loop]) -> Check:
    """404s where the script makes them, in that number, and no error anywhere else."""
    planned = [loop for loop in found if write.known(loop.absent_by_script) and loop.name == "get-few"]
    other = [loop for loop in found if loop not in planned]
    lost = sum(count for loop in found for kind, count in facts.errors(loop.step).items() if kind != "non_2xx")
    bad = sum(loop.non_2xx for loop in other if write.known(loop.non_2xx))
    off = max((abs(loop.non_2xx - loop.absent_by_script) for loop in planned), default=0.0)
    close = all(abs(loop.non_2xx - loop.absent_by_script) <= max(2, CLOSE * loop.completed) for loop in planned)
    text = f"{write.several(bad, 'response')} other than 2xx and {write.several(lost, 'error')} of connections"
    if planned:
        text += (
            f" outside the loops that ask for absent keys; there at most {write.count(off)} more or fewer than the "
            "script's numbers make"
        )
    return Check("responses", not bad and not lost and close, write.sentence(text))


#: What the published GET drew from, and what its store held when it was measured again.
PUBLISHED_DRAWN, PUBLISHED_HELD = 10_000, 1_000


def errors(found: Sequence[Loop]) -> Iterator[Finding]:
    """Yield responses 404 that the script makes, each loop against the replay of its own numbers."""
    few = [loop for loop in found if write.known(loop.absent_by_script) and loop.name == "get-few"]
    if not few:
        return
    asked, absent = sum(loop.completed for loop in few), sum(loop.non_2xx for loop in few)
    expected = sum(loop.absent_by_script for loop in few)
    held, drawn = few[0].step.record.loop.held_keys, few[0].step.record.loop.drawn_keys
    text = (
        f"The 404s are the script's: on a store of key1 to key{held} it asks for key1 to key{drawn}. Here "
        f"{write.count(absent)} of {write.count(asked)} responses are 404 ({write.percent(absent / asked)}); its "
        f"unseeded numbers, replayed, make {write.count(expected)}"
    )
    evidence: dict[str, write.Value] = {"non_2xx": absent, "requests": asked, "replayed": expected}
    yield Finding.of("D07", Severity.WARNING, text, evidence, tuple(loop.step.name for loop in few), ERRORS)


def published_errors() -> Iterator[Finding]:
    """The same replay against the published counts."""
    parts, evidence = [], dict[str, write.Value]()
    for name, output in published_of(REPORT).items():
        if output.non_2xx and output.requests and output.threads:
            made = loops.absent(output.requests, output.threads, PUBLISHED_DRAWN, PUBLISHED_HELD)
            counts = f"{write.count(output.non_2xx)} of {write.count(output.requests)}"
            parts.append(f"{counts} published, {write.count(made)} replayed")
            evidence |= {f"published {name}": output.non_2xx, f"replayed {name}": made}
    if parts:
        text = f"The published 404s are those of the script's numbers too: {'; '.join(parts)}"
        yield Finding.of("D08", Severity.WARNING, text, evidence, (), ERRORS)


def right(found: Sequence[Loop]) -> Iterator[Finding]:
    full = [loop for loop in loops.find(found, "after", "get") if write.known(loop.non_2xx)]
    if not full:
        return
    bad = sum(loop.non_2xx for loop in full)
    least, most = min(loop.median_us for loop in full), max(loop.median_us for loop in full)
    more = f" to {write.latency(most)}" if most > least else ""
    asked = write.count(sum(loop.completed for loop in full))
    text = (
        f"Done right, on a store that holds every key that is asked for, {write.count(bad)} of {asked} GETs fail, and "
        f"the median is {write.latency(least)}{more}: a hit waits as a 404 with a body does"
    )
    evidence: dict[str, write.Value] = {"non_2xx": bad, "least_p50_us": least, "most_p50_us": most}
    severity = Severity.NOTE if not bad else Severity.WARNING
    yield Finding.of("D09", severity, text, evidence, tuple(one.step.name for one in full), ERRORS)


def _created(loop: Loop) -> float:
    """Return how many of its responses are those of a PUT; NaN where the generator does not tell."""
    status = loop.step.frames["status"]
    return float(status[status["code"] == "201"]["count"].sum()) if not status.empty else math.nan


def coin(found: Sequence[Loop]) -> Iterator[Finding]:
    once = [loop for loop in found if loop.name == "mixed-once" and write.known(_created(loop))]
    each = [loop for loop in found if loop.name == "mixed" and write.known(_created(loop))]
    if not once:
        return
    created, asked = sum(map(_created, once)), sum(loop.completed for loop in once)
    text = (
        f"The mixed script is no mix: it tosses its coin when it is loaded, the first toss of an unseeded script is "
        f"always the same, and {write.count(created)} of {write.count(asked)} responses here are those of a PUT"
    )
    evidence: dict[str, write.Value] = {"puts": created, "requests": asked}
    if each:
        share = sum(map(_created, each)) / sum(loop.completed for loop in each)
        text += f"; tossed for each request, {write.percent(share)} are"
        evidence["share_each"] = share
    yield Finding.of("D10", Severity.WARNING, text, evidence, (), ERRORS)


def published_coin() -> Iterator[Finding]:
    """Yield bytes per response in the published outputs: those of the mixed runs are GET's."""
    sizes: dict[str, list[float]] = {}
    for name, output in published_of(REPORT).items():
        if output.bytes_read and output.requests and not output.non_2xx:
            sizes.setdefault(name.split("-")[2], []).append(output.bytes_read / output.requests)
    if set(sizes) >= {"put", "get", "mixed"}:
        put, get, mixed = (sum(sizes[name]) / len(sizes[name]) for name in ("put", "get", "mixed"))
        text = (
            f"The published mixed runs show it: {mixed:.1f} bytes per response, where GET has {get:.1f} and PUT "
            f"{put:.1f}; half of each would have {(put + get) / 2:.1f}"
        )
        evidence: dict[str, write.Value] = {"put_bytes": put, "get_bytes": get, "mixed_bytes": mixed}
        yield Finding.of("D11", Severity.NOTE, text, evidence, (), ERRORS)
