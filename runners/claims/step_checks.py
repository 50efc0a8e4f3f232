"""What is asked of one step before its figures are trusted: a verdict and its figures in words, a question each."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from runners.analysis import facts, floors, resolution
from runners.analysis.compilation import SETTLED_CORES, compiling_cores
from runners.analysis.steady_state import head, steadiness
from runners.readers import write
from runners.readers.run import Step

FEWEST_PROFILE_SAMPLES = 300  # then a share of 50 % is known to about 6 %


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ok` None: nothing can be said."""

    ok: bool | None
    text: str


def rate(step: Step) -> Verdict:
    """Offered and achieved rate."""
    offered, achieved, held = facts.offered_rps(step), facts.achieved_rps(step), facts.held_share(step)
    if not write.known(held):
        return Verdict(None, "the rates are not known")
    text = f"{write.rate(achieved)} of {write.rate(offered)} ({write.percent(held)})"
    censored = facts.number(step, "censored")
    if write.known(censored) and censored:
        text += f", {write.several(censored, 'request')} without a response at the end"
    return Verdict(held >= facts.HELD, text)


def samples(step: Step) -> Verdict:
    """How many latencies there are, and beyond which percentile too few."""
    count = facts.samples(step)
    if not count:
        return Verdict(False, "no latency was recorded")
    thin = facts.thin_levels(step)
    text = write.several(count, "sample")
    if thin:
        text += f", fewer than {facts.ENOUGH_BEYOND} beyond {write.listed(write.level(level) for level in thin)}"
    return Verdict(not any(level <= 0.99 for level in thin), text)


def errors(step: Step) -> Verdict:
    """What was answered with an error, and what failed, by code."""
    kinds = {
        "connect_errors": "connect",
        "read_errors": "read",
        "write_errors": "write",
        "timeouts": "timeout",
        "parse_errors": "parse",
    }
    if step.frames["summary"].empty:
        return Verdict(None, "not known")
    found = {word: facts.number(step, column) for column, word in kinds.items()}
    parts = [f"{write.count(number)} {word}" for word, number in found.items() if write.known(number) and number]
    status = step.frames["status"]
    bad = status[~status["code"].str.startswith(("2", "3"))]
    if not bad.empty:
        pairs = zip(bad["code"], bad["count"], strict=True)
        parts += [write.several(int(number), "response", f" {code}") for code, number in pairs]
    else:
        non_2xx = facts.number(step, "non_2xx")
        if write.known(non_2xx) and non_2xx:
            parts.append(write.several(non_2xx, "response", " other than 2xx and 3xx"))
    return Verdict(not parts, write.listed(parts) or "none")


#: The highest percentile at which the generator holds its lateness against the response time.
KEPT_UP_THROUGHOUT = 99.9


def kept_up(step: Step) -> Verdict:
    """Whether the generator kept to its own schedule."""
    summary = step.frames["summary"]
    kept = None if summary.empty or pd.isna(summary["kept_up"].iloc[0]) else bool(summary["kept_up"].iloc[0])
    if kept is None:
        return Verdict(None, f"{facts.tool(step)} does not tell")
    lag = facts.number(step, "lag_p99_us")
    text = "yes" if kept else "no"
    upto = facts.number(step, "kept_up_to")
    if kept and write.known(upto) and upto < KEPT_UP_THROUGHOUT:
        text += f", up to p{upto:g}; above it the response times are partly its own lateness"
    text += f", p99 of its own lateness {write.latency(lag)}" if write.known(lag) else ""
    if held := facts.held(step):
        text += f"; {write.percent(held.share)} of its sends it held back, each for at most "
        text += f"{write.latency(held.most_us)}, so that they left with the next"
    return Verdict(kept, text)


_CLOCKS = {
    "kernel": "stamped by the kernel, the generator's own waking is not in it",
    "user": "read by the generator once it was awake, its own waking is in it",
}


def arrival(step: Step) -> Verdict:
    """Whose clock ended a response."""
    clock = _CLOCKS.get(facts.receive_clock(step) or "")
    return Verdict(True if clock else None, clock or f"{facts.tool(step)} does not tell; its own waking may be in it")


def floor(step: Step, floor: Step | None) -> Verdict:
    """What the instrument itself reads at the same rate."""
    if floor is None:
        return Verdict(None, "not measured")
    if not facts.quotable(floor):
        return Verdict(False, f"can't be used ({facts.why_not(floor)})")
    p50, p99 = facts.at(floor, 0.5), facts.at(floor, 0.99)
    text = f"its p50 {write.latency(p50.value if p50 else None)}, p99 {write.latency(p99.value if p99 else None)}"
    ours, theirs = facts.offered_rps(step), facts.offered_rps(floor)
    if write.known(ours) and write.known(theirs) and abs(ours - theirs) > 0.01 * ours:
        return Verdict(False, f"{text}, but at {write.rate(theirs)} instead of {write.rate(ours)}")
    return Verdict(True, f"{text} at {write.rate(theirs)}")


def resolvable(step: Step, floor: Step | None, before: Step | None) -> Verdict:
    """The sentence that every report prints: of the load's own floor, or of the fixed load before the campaign.

    The latter is about another rate, so it is no answer.
    """
    resolved = resolution.of_floor(floor) if floor is not None and floors.taken_at(floor, step) else None
    if resolved is not None:
        return Verdict(True, resolved.sentence())
    return Verdict(None, resolved_before(before, "this load's rate"))


def resolved_before(before: Step | None, here: str) -> str:
    """What the fixed load before the campaign resolves, which says nothing on the rates `here`."""
    resolved = resolution.of_floor(before)
    return resolved.elsewhere(here) if resolved is not None else resolution.UNKNOWN


def steady(step: Step) -> Verdict:
    """From when on the step is steady."""
    seen = steadiness(step)
    if seen.steady is None:
        return Verdict(None, f"{seen.seconds} whole seconds are too few to tell")
    if not seen.steady:
        return Verdict(False, f"never in {seen.seconds} seconds; the median drifts {write.growth(seen.drift)}")
    if not seen.from_s:
        return Verdict(True, f"from the first of {seen.seconds} seconds on")
    text = f"from second {seen.from_s:.0f} of {seen.seconds} on (the {seen.last_to_settle} settled last)"
    before = head(step)
    if before is not None:
        text += (
            f"; without what came before p99 is {write.latency(before.steady_us)}, not {write.latency(before.whole_us)}"
        )
    return Verdict(True, text)


def compiler(step: Step) -> Verdict:
    """Whether the server's compiler had little left to do when the step ended."""
    cores = compiling_cores(step)
    if cores is None:
        return Verdict(None, "not recorded")
    text = f"{cores:.2f} cores in the last second"
    return Verdict(True, text) if cores <= SETTLED_CORES else Verdict(False, f"{text}: the server was not warm yet")


def causes(step: Step) -> Verdict:
    """Whether what explains a tail was recorded."""
    if step.frames["slices"].empty:
        return Verdict(None, "latency was not recorded by tenths of a second")
    if note := step.record.events_note:
        return Verdict(False, f"the flight recorder failed: {str(note).splitlines()[0]}")
    parts = ["latency"] if step.record.server.left_out else ["latency", "pauses"]
    parts += ["threads and machine"] if not step.frames["activity"].empty else []
    parts += ["events of store, compiler and disk"] if step.record.events_recorded else []
    text = f"{write.listed(parts)} are there by tenths of a second or finer"
    missing = step.record.server.left_out
    return Verdict(True, text + (f"; this server can't give: {write.listed(missing)}" if missing else ""))


def transport(step: Step) -> Verdict:
    """Whether the server used its native transport."""
    transport = step.record.server.ready.get("transport")
    if not transport:
        return Verdict(None, "not known")
    return Verdict(transport == "native", str(transport))


def profiler(step: Step) -> Verdict:
    """Which engine profiled, and how many samples it took."""
    profiler = step.record.profiler
    counted = profiler.samples
    if not counted:
        return Verdict(False, "recorded nothing")
    parts = [f"{write.count(number)} {event}" for event, number in counted.items()]
    text = f"engine {profiler.engine or write.UNKNOWN}, samples: {write.listed(parts)}"
    enough = all(counted.get(event, 0) >= FEWEST_PROFILE_SAMPLES for event in ("cpu",) if event in step.profiled)
    return Verdict(enough, text + (f"; {profiler.note}" if profiler.note else ""))


def data(step: Step) -> Verdict:
    """What the store held, before and after."""
    before, after = step.record.store_before, step.record.store_after
    had, has = before.entries_estimate, after.entries_estimate
    if step.workload == "get":
        if had is None:
            return Verdict(None, "not known")
        return Verdict(had > 0, f"about {write.count(had)} entries before")
    if has is None:
        return Verdict(None, "not known")
    return Verdict(has > 0, f"about {write.count(had or 0)} entries before, {write.count(has)} after")
