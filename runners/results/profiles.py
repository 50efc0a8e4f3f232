"""Profiles: categories of work with their shares (which add up to 1), and stack frames that differ between profiles.

Hundreds of frames are tested at once. To keep differences by chance few, the false discovery rate is controlled (Y.
Benjamini and Y. Hochberg, 1995, J. Royal Stat. Soc. B 57). Frames with the same two shares are tested as one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scipy.stats import false_discovery_control, norm

from runners import words
from runners.analysis import facts
from runners.analysis.intervals import Bounded, difference
from runners.design.session import LOAD, LOCK, PROFILED_RATE_STEP
from runners.readers.run import Run, Step
from runners.readers.stacks import batches
from runners.results.answer import Answer, Basis, Bound, Measure, Needed, Unit, Verdict, answering
from runners.results.results import Results

PROFILER, MUCH = "profiler", 0.05  # above this share of the samples, figures give the profiler's own share
POLL = "poll"
#: Categories of stacks that are the store's own work: a store that costs nothing would save them all.
STORE = ("storage", "log", "flush", "compaction", "cache")
OWN_THREADS = ("flush", "compaction")
SOCKETS = ("socket read", "socket write")
#: The work of receiving a request and making its response, apart from sockets and the store.
HTTP = ("HTTP parsing", "handler", "response")
MOST = 0.5
LEAST_WAIT_US = 0.1  # of a request, below which a mean wait for locks is not distinguished from none
#: Anchor of the figure of CPU time per request by category.
CPU_FIGURE = "cpu-a-request"
ALLOC = "alloc"
EVENT_NAMES = {"cpu": "CPU samples", "alloc": "allocated bytes", "lock": "time waited for locks"}


@dataclass(frozen=True, slots=True)
class Part:
    """Categories of stacks, and the limit with which a question compares their share of an event, such as CPU time."""

    label: str  # the name of the categories' share, with {} in place of the load
    event: str
    categories: Sequence[str]
    other_label: str = ""
    others: Sequence[str] = ()  # the categories that `categories` are compared with
    than_half: bool = True  # the limit is one half, and `others` are only shown; if False, `others` are the limit


STORE_CPU = Part("the store's share of CPU time in {}", facts.CPU, STORE)
SOCKETS_CPU = Part("sockets' share of CPU time in {}", facts.CPU, SOCKETS, "the store's", STORE, than_half=False)
POLLING_CPU = Part("the selector's polling as a share of CPU time in {}", facts.CPU, (POLL,))
HTTP_BYTES = Part("HTTP's share of the allocated bytes in {}", ALLOC, HTTP, "the store's", STORE)
HANDLING_CPU = Part("handling's share of CPU time in {}", facts.CPU, (*HTTP, "storage"))
PARSING_BYTES = Part("parsing's share of the allocated bytes in {}", ALLOC, ("HTTP parsing",))
STORE_WAITS = Part(
    "of the time waited for locks in {}, requests in the store take", LOCK, ("storage",), "those in the pool",
    ("hand-over",), than_half=False,
)  # fmt: skip


def share(step: Step, event: str, category: str) -> Bounded | None:
    """Return a category's share (0..1) of an event, with its interval; None if the profile lacks the category."""
    rows = step.frames["shares"]
    # masks of pandas take ten times as long, and two profiles are compared in each of their categories
    asked = (rows["event"].to_numpy() == event) & (rows["category"].to_numpy() == category)
    if not asked.any():
        return None
    row = rows.iloc[int(asked.argmax())]
    return Bounded(float(row["share"]), float(row["low"]), float(row["high"]))


def together(step: Step, categories: Sequence[str], event: str = facts.CPU) -> Bounded | None:
    """Return the sum of categories' shares (0..1), and of the shares' bounds; None if the profile has none of them."""
    parts = [part for category in categories if (part := share(step, event, category)) is not None]
    if not parts:
        return None
    value, low, high = (sum(getattr(part, end) for part in parts) for end in ("value", "low", "high"))
    return Bounded(value, low, min(1.0, high))


def own_share(step: Step, event: str = facts.CPU) -> float:
    """Return the share (0..1) of an event that the profiler's own frames take; 0 if the profile has no such frames."""
    part = share(step, event, PROFILER)
    return part.value if part is not None else 0.0


RATE = 0.05
LEAST_SHARE = 0.002


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a frame's share of the work from one profile to another."""

    frame: str
    before: float  # the share in the first profile
    after: float  # the share in the second one
    change: Bounded  # with its 95 % interval
    p: float  # the p-value of the change
    beyond: bool = False  # whether the change is significant


def frame_shares(step: Step, event: str) -> dict[str, tuple[float, float]]:
    """Return {frame: (share, variance of the share)} for one kind of event, without threads (names in brackets)."""
    seen = batches(step.frames["samples"], event)
    if seen is not None:
        whole = float(seen.whole.sum())
        shares = {name: (float(part.sum()) / whole, seen.variance(part)) for name, part in seen.by_name(set).items()}
    else:
        frame = step.frames["frames"]
        rows = frame[frame["event"] == event]
        shares = {}
        for name, share, samples in zip(rows["frame"], rows["share"], rows["samples"], strict=True):
            resting_on = float(samples) / float(share) if share else math.nan
            shares[str(name)] = (float(share), float(share) * (1 - float(share)) / max(1.0, resting_on))
    return {name: value for name, value in shares.items() if not name.startswith("[")}


def changes(first: Step, second: Step, event: str = "cpu") -> list[Change]:
    """Return the changes, largest first, of frames with a share of at least LEAST_SHARE in one of the two profiles."""
    a, b = frame_shares(first, event), frame_shares(second, event)
    depth = _depths(first, event) | _depths(second, event)
    together: dict[tuple[float, float], str] = {}
    for name in sorted(a.keys() | b.keys()):
        key = (round(a.get(name, (0.0, 0.0))[0], 9), round(b.get(name, (0.0, 0.0))[0], 9))
        if max(key) >= LEAST_SHARE and (key not in together or depth.get(name, 0) > depth.get(together[key], 0)):
            together[key] = name
    tested = [_tested(name, a.get(name, (0.0, 0.0)), b.get(name, (0.0, 0.0))) for name in together.values()]
    adjusted = false_discovery_control([change.p for change in tested]) if tested else ()
    marked = [replace(change, beyond=bool(p <= RATE)) for change, p in zip(tested, adjusted, strict=True)]
    return sorted(marked, key=lambda change: (-abs(change.change.value), change.frame))


def _depths(step: Step, event: str) -> dict[str, int]:
    stacks = step.frames["stacks"]
    depths: dict[str, int] = {}
    for stack in stacks[stacks["event"] == event]["stack"]:
        for level, name in enumerate(str(stack).split(";")):
            depths[name] = max(level, depths.get(name, 0))
    return depths


def _tested(name: str, before: tuple[float, float], after: tuple[float, float]) -> Change:
    """Test by the normal distribution whether a frame's share changed; `before` and `after` are (share, variance)."""
    value, error = after[0] - before[0], math.sqrt(before[1] + after[1])
    p = float(2 * norm.sf(abs(value) / error)) if error > 0 else float(value == 0)
    reach = float(norm.ppf(0.975)) * error
    return Change(name, before[0], after[0], Bounded(value, value - reach, value + reach), p)


@answering
def takes_most(
    results: Results, workloads: Sequence[str], subject: str, asked: Part, published: Mapping[str, float] | None = None
) -> Answer | None:
    """Answer: do the categories of `asked` take more than the limit (see Part) in all workloads' profiles?

    The profiles are of the setting `subject`, for example lsm-cached. None if no profile has these categories.
    `published`: {workload: the author's share (0..1)}.
    """
    above, evidence, steps = list[Bounded](), list[Measure](), list[Step]()
    usable = [step for step in facts.shown_profiles(results.run.steps, asked.event) if step.subject == subject]
    last = {step.workload: step for step in sorted(usable, key=lambda step: step.kind == LOAD)}  # loads replace ladders
    for step in (last[workload] for workload in workloads if workload in last):
        part, other = (together(step, named, asked.event) for named in (asked.categories, asked.others))
        if part is None or (asked.others and other is None):
            continue
        load = f"{step.workload.upper()} of {facts.engine_name(subject)}"
        measure = Measure.of(asked.label.format(load), part, Unit.SHARE)
        if other is not None:
            measure = measure.against(Measure.of(asked.other_label, other, Unit.SHARE))
        elif published:
            measure = measure.against(Measure("published", published[step.workload], Unit.SHARE))
        evidence.append(measure)
        if asked.event == LOCK and (own := together(step, OWN_THREADS, LOCK)) is not None:
            evidence.append(Measure.of("the store's own threads, such as compaction, take", own, Unit.SHARE))
        limit = Bounded(MOST, MOST, MOST) if asked.than_half or other is None else other
        above.append(Bounded(part.value - limit.value, part.low - limit.high, part.high - limit.low))
        steps.append(step)
    if not above:
        return None
    recorded = [step for step in results.run.steps if LOCK in step.profiled and step.workload in workloads]
    for step in sorted(recorded if asked.event == LOCK else (), key=lambda step: -facts.profile_samples(step, LOCK)):
        load = f"{step.workload.upper()} of {facts.engine_name(step.subject)} at {words.rate(facts.offered_rps(step))}"
        in_store = together(step, asked.categories, LOCK) or Bounded(0.0)
        waited_us, label = in_store.value * _waited_us(step), f"mean wait of a request in the store, {load}:"
        bound = Bound.AT_MOST if waited_us < LEAST_WAIT_US else Bound.EXACT
        evidence.append(Measure(label, max(LEAST_WAIT_US, waited_us), Unit.LATENCY_US, bound=bound))
    verdict = Verdict.of(min(share.low for share in above), max(share.high for share in above))
    figure = None if asked.event == LOCK else CPU_FIGURE
    return Answer.by(steps, Basis.PROFILES, verdict, *evidence, needed=Needed.SAMPLES, figure=figure)


def _waited_us(step: Step) -> float:
    """Return the time (us) that all threads of a step waited for locks, divided by the number of its responses."""
    stacks = step.frames["stacks"]  # their counts are in ns
    waited_ns = float(stacks["count"].to_numpy()[stacks["event"].to_numpy() == LOCK].sum())
    return waited_ns / 1e3 / (facts.achieved_rps(step) * (step.record.duration_s or math.nan))


def profiled_rate_steps(run: Run, workload: str, subject: str | None = None) -> list[Step]:
    """Return a workload's rate steps on setting `subject` (None: on any) with a usable profile, lowest rate first."""
    steps = run.find(kind=PROFILED_RATE_STEP, workload=workload, subject=subject)
    return sorted(filter(facts.usable_profile, steps), key=facts.offered_rps)


def polling_halves(results: Results) -> Answer | None:
    """Answer: does polling's CPU share halve from the lowest to the highest profiled rate? None without two rates."""
    below_half, evidence, steps = list[Bounded](), list[Measure](), list[Step]()
    first_steps = [ladder.steps[0] for ladder in results.ladders if ladder.base is not None]
    for workload, subject in dict.fromkeys((step.workload, step.subject) for step in first_steps):
        profiled = profiled_rate_steps(results.run, workload, subject)
        ends = [(step, part) for step in profiled if (part := share(step, facts.CPU, POLL)) is not None]
        if len(ends) < 2:
            continue
        (low, before), (high, after) = ends[0], ends[-1]
        below_half.append(difference(Bounded(before.value / 2, before.low / 2, before.high / 2), after))
        at_low, at_high = (f"at {words.rate(facts.offered_rps(step))}" for step in (low, high))
        name = f"{workload.upper()} of {facts.engine_name(subject)}"
        taken = Measure.of(f"polling in {name} {at_low}", before, Unit.SHARE)
        used = Measure(f"server CPU per {workload.upper()} {at_low}", facts.cpu_us(low), Unit.LATENCY_US)
        evidence.append(taken.against(Measure.of(f"that {at_high}", after, Unit.SHARE)))
        evidence.append(used.against(Measure(f"that {at_high}", facts.cpu_us(high), Unit.LATENCY_US)))
        steps += [low, high]
    if not below_half:
        return None
    verdict = Verdict.of(min(part.low for part in below_half), max(part.high for part in below_half))
    figure = f"byrate-{steps[0].workload}-{facts.CPU}"
    return Answer.by(steps, Basis.PROFILES, verdict, *evidence, needed=Needed.SAMPLES, figure=figure)
