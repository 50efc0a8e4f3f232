"""The closed loops of report 2: why responses took 44 ms, what cures that, and what errors its scripts cause.

If a server writes head and body separately, Nagle's algorithm (RFC 896) holds the second write back until the client's
delayed-ACK timer ends. On Linux the timer takes 40 ms (TCP_DELACK_MIN), plus one of the kernel's ticks of 1/HZ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from runners.analysis import facts
from runners.audit.rules.draws import integers
from runners.readers.run import Run, Step
from runners.results.answer import Answer, Basis, Measure, Needed, Unit, Verdict

if TYPE_CHECKING:
    from runners.results.results import Results

KIND = "loop"
REPORT = "report-2"
#: Anchors of the evidence in the report.
CURVES, RATES, COUNTERS, ERRORS, TABLE = "delay-curves", "delay-rates", "delay-counters", "delay-errors", "delay-table"
DELAYED_ACK_US = 40_000.0
#: From this median on, responses wait for the delayed-ACK timer: without this wait, a response takes a hundredth of it.
WAITS_FROM_US = 0.9 * DELAYED_ACK_US


@dataclass(frozen=True, slots=True)
class Loop:
    """A closed loop that ran without a profiler."""

    step: Step
    stage: str  # the name of its setting
    title: str  # the title of its setting
    name: str  # of its workload
    connections: int
    published: str | None  # the name of the published output that the loop repeats
    rate_rps: float
    completed: float
    non_2xx: float

    @classmethod
    def of(cls, step: Step) -> Self:
        about, (completed, non_2xx) = step.record.loop, (facts.number(step, name) for name in ("completed", "non_2xx"))
        stage, connections = about.stage or step.subject, step.record.connections or 1
        return cls(
            step, stage, about.stage_title or stage, step.workload, connections, about.published or None,
            facts.achieved_rps(step), completed, non_2xx,
        )  # fmt: skip

    @property
    def median_us(self) -> float:
        value = facts.quoted(self.step, 0.5)
        return value.value if value is not None else math.nan

    @property
    def waits(self) -> bool:
        """Whether at least half of the loop's responses waited for the delayed-ACK timer."""
        return self.median_us >= WAITS_FROM_US

    def a_request(self, counter: str) -> float:
        """Return the increase per request of a TCP counter of the kernel, such as DelayedACKs; NaN if unknown."""
        gained = self.step.record.loop.tcp
        return gained[counter] / self.completed if counter in gained and self.completed > 0 else math.nan

    @property
    def absent_by_script(self) -> float:
        """How many requests the script's random numbers send to absent keys; NaN if unknown, or if no key is absent."""
        drawn, held = self.step.record.loop.drawn_keys, self.step.record.loop.held_keys
        if not drawn or not held or held >= drawn or math.isnan(self.completed):
            return math.nan
        return float(absent(round(self.completed), self.step.record.threads or 1, drawn, held))


def of_run(run: Run) -> list[Loop]:
    """Return the loops without a profiler whose figures may be quoted, in the order in which they were measured."""
    quotable = filter(facts.quotable, run.find(kind=KIND, profiled=False))
    return [Loop.of(step) for step in quotable if facts.achieved_rps(step) > 0]


def find(loops: Sequence[Loop], stage: str, name: str | None = None, connections: int | None = None) -> list[Loop]:
    """Return the loops of a setting (`stage`); if given, only with this workload (`name`) and this many connections."""
    of_stage = [loop for loop in loops if loop.stage == stage and name in (None, loop.name)]
    return [loop for loop in of_stage if connections in (None, loop.connections)]


def first(loops: Sequence[Loop], stage: str, name: str) -> Loop | None:
    """Return the loop on the fewest connections, of one setting (`stage`) and workload (`name`); None if none."""
    return min(find(loops, stage, name), key=lambda loop: loop.connections, default=None)


def absent(requests: int, threads: int, drawn: int, held: int) -> int:
    """Return how many requests ask for keys above `held`, if each thread draws the same numbers from 1 to `drawn`."""
    shares = [(requests + thread) // threads for thread in range(threads)]
    return requests - sum(int((integers(share, drawn) <= held).sum()) for share in shares if share)


def on_same_connections(loops: Sequence[Loop], stages: tuple[str, str], name: str) -> list[tuple[Loop, Loop]]:
    """Return pairs of loops, one of each setting in `stages`, with the same workload (`name`) and connections."""
    slow_loops = find(loops, stages[0], name)
    return [(slow, fast) for slow in slow_loops for fast in find(loops, stages[1], name, slow.connections)]


#: Two stages that differ in one flag alone: responses wait for the timer in the first, and not in the second.
FLAG_PAIR = ("after", "nodelay")
LOOPS = ("put", "get", "mixed")
CLOSE = 0.05  # a median is close to the computed wait if it differs by less than this share of the wait


def one_flag(results: "Results") -> Answer | None:
    """Answer: does nodelay raise the rates of all loops that, without it, wait for delayed ACKs? None if none waits."""
    measures, steps = [], []
    for name in LOOPS:
        pairs = [(slow, fast) for slow, fast in on_same_connections(results.loops, FLAG_PAIR, name) if slow.waits]
        if pairs:
            ratios = [fast.rate_rps / slow.rate_rps for slow, fast in pairs]
            label = (
                f"{name.upper()} rate with the flag nodelay, as a multiple of that without it on as many connections:"
            )
            measures.append(Measure(label, ratios[0], Unit.TIMES, min(ratios), max(ratios)))
            steps += [loop.step for pair in pairs for loop in pair]
    if not measures:
        return None
    more = min(measure.low for measure in measures) > 1
    return Answer.by(steps, Basis.CLOSED_LOOPS, more, *measures, figure=RATES)


def executor(results: "Results") -> Answer | None:
    """Answer: does a cached pool change medians of loops that wait? No if some rise, some fall; else inconclusive."""
    names = ("put", "get", "mixed-once")
    pairs = [pair for name in names for pair in on_same_connections(results.loops, ("before", "after"), name)]
    waiting = [(old, new) for old, new in pairs if old.waits]
    if not waiting:
        return None
    moves_us = [new.median_us - old.median_us for old, new in waiting]
    rates = [new.rate_rps / old.rate_rps - 1 for old, new in waiting]
    before_us = sum(old.median_us for old, _ in waiting) / len(waiting)
    return Answer.by(
        [loop.step for pair in waiting for loop in pair], Basis.CLOSED_LOOPS,
        Verdict.NO if min(moves_us) <= 0 <= max(moves_us) else Verdict.INCONCLUSIVE,
        Measure.mean("change of the median", moves_us, Unit.LATENCY_US).out_of(before_us),
        Measure.mean("change of the rate", rates, Unit.CHANGE),
        needed=Needed.INTERLEAVED, figure=RATES,
    )  # fmt: skip


def timer_and_tick(results: "Results") -> Answer | None:
    """Answer: for each loop that waits, is the median within CLOSE of the ACK timer plus a tick? None if none waits."""
    waiting = [loop for loop in results.loops if loop.waits]
    hz = waiting[0].step.record.loop.kernel_hz if waiting else None
    if not hz:
        return None
    expected_us = DELAYED_ACK_US + 1e6 / hz
    medians_us = [loop.median_us for loop in waiting]
    measures = [
        Measure("medians", medians_us[0], Unit.LATENCY_US, min(medians_us), max(medians_us)),
        Measure("computed wait", expected_us, Unit.LATENCY_US),
    ]
    counted = [loop for loop in results.loops if math.isfinite(loop.a_request("DelayedACKs"))]
    for label, waits in (("delayed ACKs per request that waits", True), ("per request that does not", False)):
        if values := [loop.a_request("DelayedACKs") for loop in counted if loop.waits == waits]:
            measures.append(Measure.mean(label, values, Unit.FACTOR))
    close = all(abs(median_us - expected_us) < CLOSE * expected_us for median_us in medians_us)
    return Answer.by([loop.step for loop in waiting], Basis.CLOSED_LOOPS, close, *measures, figure=CURVES)


def one_write(results: "Results") -> Answer | None:
    """Answer: does the delayed-ACK timer delay even a response that the server sends in one write?

    Yes if its median is at least half that of two writes, else no. None if unknown, or if two writes are not delayed.
    """
    single, double = first(results.loops, "one-write", "put"), first(results.loops, "after", "put")
    if single is None or double is None or not double.waits:
        return None
    measure = Measure("p50 with one write", single.median_us, Unit.LATENCY_US)
    measure = measure.against(Measure("with two", double.median_us, Unit.LATENCY_US))
    waits = single.median_us >= double.median_us / 2
    return Answer.by((single.step, double.step), Basis.CLOSED_LOOPS, waits, measure, figure=RATES)


def errors_are_the_scripts(results: "Results") -> Answer | None:
    """Answer: does the server cause the 404s? No if the script asks for as many absent keys, else inconclusive."""
    few = [loop for loop in results.loops if math.isfinite(loop.absent_by_script) and loop.name == "get-few"]
    if not few:
        return None
    ended, absent = sum(loop.completed for loop in few), sum(loop.non_2xx for loop in few)
    replayed = sum(loop.absent_by_script for loop in few)
    return Answer.by(
        [loop.step for loop in few], Basis.CLOSED_LOOPS, Verdict.NO if absent == replayed else Verdict.INCONCLUSIVE,
        Measure("responses 404", absent, Unit.COUNT).out_of(ended),
        Measure("by the script's numbers, replayed", replayed, Unit.COUNT),
        needed=Needed.LONGER_LOAD, figure=ERRORS,
    )  # fmt: skip


def created(loop: Loop) -> float:
    """Return how many of a loop's responses have the status 201, as only PUTs have; NaN if statuses are unknown."""
    status = loop.step.frames["status"]
    return float(status[status["code"] == "201"]["count"].sum()) if not status.empty else math.nan


def mixed(results: "Results") -> Answer | None:
    """Answer: does the mixed script send both PUTs and other requests? None if none of its loops recorded statuses."""
    once = [loop for loop in results.loops if loop.name == "mixed-once" and math.isfinite(created(loop))]
    if not once:
        return None
    puts, ended = sum(map(created, once)), sum(loop.completed for loop in once)
    measure, steps = Measure("responses to PUT", puts, Unit.COUNT).out_of(ended), [loop.step for loop in once]
    return Answer.by(steps, Basis.CLOSED_LOOPS, puts not in (0, ended), measure, figure=ERRORS)


def waits_idle(results: "Results") -> Answer | None:
    """Answer: could a CPU profile show the wait? No: no thread computes meanwhile. None if no such loop is profiled."""
    measures, steps = [], []
    for step in results.run.find(kind=KIND, profiled=True):
        samples = facts.profile_samples(step, facts.CPU)
        clean = find(results.loops, step.record.loop.stage, step.workload, step.record.connections)
        if samples and clean and clean[0].waits and math.isfinite(cores := facts.server_cores(clean[0].step)):
            measures.append(Measure(f"kept busy by {clean[0].title}:", cores, Unit.CORES))
            steps.append(step)
    return Answer.by(steps, Basis.PROFILES, False, *measures, figure="where") if steps else None
