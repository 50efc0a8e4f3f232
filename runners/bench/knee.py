"""Search knees by short rate steps and compare them: how wide are they after a minute, and do they come again?"""

from __future__ import annotations

import dataclasses
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack

from runners.analysis.intervals import Bounded
from runners.analysis.knee import (
    Answer,
    Curve,
    Kind,
    RateStep,
    curve,
    estimate,
    first_rates,
    next_rates,
    ratio,
    undisturbed,
)
from runners.bench.fixture import STALL_WITNESS, Fixture
from runners.bench.row import NoFigure, Row
from runners.design.ladder import BATCH, REST_SHARE, SEARCH_STEP_S
from runners.design.load import SCRIPTS
from runners.design.objective import Objective
from runners.design.session import Sweep
from runners.process.cpu_placement import usable_cpus
from runners.readers.activity import read_stall_log
from runners.readers.columns import frame
from runners.readers.requests_log import rate_steps_frame, read_requests_log
from runners.storage.schema import SweepRecord
from runners.toolchain.tools import TRUEPACE
from runners.trial.witness import StallWitness

SEARCH_S = 60.0
OBJECTIVE = Objective()
CONNECTIONS = 16
WARM_S = 4
WIDTH_LIMIT, WITHIN = 0.2, 0.1
_TIMEOUT_S = 60.0
#: How the generator is aimed at a server: an address, or a script and what it needs.
Target = Sequence[str]


def batch(on: Fixture, target: Target, sweep: Sweep, connections: int = CONNECTIONS) -> list[RateStep]:
    """Offer the rates one after the other, each followed by a rest, in one load under the stall witness."""
    log, stalls = on.folder / "requests.log", on.folder / "stalls.txt"
    offered = ",".join(f"{rps:.0f}" for rps in sweep.parts_rps)
    flags = ["-t1", f"-c{connections}", "-R", offered, "-d", f"{sweep.length_s:g}s", "--requests-log", str(log)]
    with StallWitness(STALL_WITNESS).beside(usable_cpus(), stalls) as watched:
        on.run([str(TRUEPACE), *flags, *target], sweep.length_s)
    requests = read_requests_log(log)
    seen = read_stall_log(stalls).frame(requests.start_unix_us) if watched[0].cpus else frame("stalls")
    record = SweepRecord(**dataclasses.asdict(sweep), rest_s=sweep.rest_s)
    rows = rate_steps_frame(requests.frame, seen, record)
    columns = [rows[name].tolist() for name in ("offered_rps", "p99_us", "achieved", "lost", "stalled")]
    return [
        RateStep(rps, ((0.99, p99_us),), achieved, lost, stalled)
        for rps, p99_us, achieved, lost, stalled in zip(*columns, strict=True)
    ]


def search(
    on: Fixture, targets: Mapping[str, Target], seconds: float, seed: int, connections: int = CONNECTIONS
) -> dict[str, list[RateStep]]:
    """Search the knees of warm servers, for so many seconds each: batches go to them in random order."""
    chance = random.Random(seed)  # noqa: S311 - an order, no secret
    closed_rps = {name: float(on.load(each, 2, connections)["achieved_rps"]) for name, each in targets.items()}
    rates = {name: first_rates(rps, BATCH) for name, rps in closed_rps.items()}
    steps: dict[str, list[RateStep]] = {name: [] for name in targets}
    for _ in range(max(2, round(seconds / Sweep((1.0,) * BATCH, 1.0, SEARCH_STEP_S).length_s))):
        for name in chance.sample(list(targets), len(targets)):
            order = tuple(chance.sample(rates[name], BATCH))
            sweep = Sweep(order, REST_SHARE * closed_rps[name], SEARCH_STEP_S)
            steps[name] += batch(on, targets[name], sweep, connections)
            rates[name] = next_rates(steps[name], OBJECTIVE, BATCH)
    return steps


def answers(
    on: Fixture, targets: Mapping[str, Target], seconds: float, seed: int, connections: int = CONNECTIONS
) -> dict[str, Answer]:
    """Search the knees of warm servers and estimate each."""
    return {name: estimate(each, OBJECTIVE) for name, each in search(on, targets, seconds, seed, connections).items()}


def line(found: Mapping[str, Answer]) -> str:
    """Say what one search found."""
    return "  " + ", ".join(f"{who} {each.rps:,.0f}/s ({each.kind})" for who, each in found.items())


def row(name: str, found: Sequence[Mapping[str, Answer]], ours: str, peer: str, goal: float) -> Row | NoFigure:
    """Compare two knees over the rounds that found both."""
    both = [of for of in found if of[ours].kind == of[peer].kind == Kind.FOUND]
    if not both:
        return NoFigure(name, ">=", goal, "in no round were both knees found; is the machine calm?")
    note = f"in {len(found) - len(both)} rounds no knee of both" if len(both) < len(found) else ""
    mine, others = (tuple(of[who].rps for of in both) for who in (ours, peer))
    return Row(name, "/s", mine, others, ">=", goal, note)


def posterior(steps: Sequence[RateStep]) -> Curve:
    """Estimate a knee without the steps in which the machine stood still."""
    return curve(undisturbed(steps)[0] or steps, OBJECTIVE)


def rows(on: Fixture, engine: str, more: Callable[[int], bool]) -> Iterator[Row]:
    """Search the knees of two processes of one engine again and again: both in one search, then one after the other."""
    found: list[Bounded] = []
    paired, apart = list[Bounded](), list[float]()
    with ExitStack() as stack:
        targets = {}
        for name in ("first", "second"):
            spec = dataclasses.replace(on.spec(f"knee-{engine}-{name}"), engine=engine)
            server = stack.enter_context(on.running(spec))
            put = ["-s", str(SCRIPTS / "put.lua"), server.url]
            targets[name] = [f"{server.url}/v0/entity?id=1"] if engine == "noop" else put
            on.load(targets[name], WARM_S, CONNECTIONS)
        while more(len(paired)):
            began, number = time.monotonic(), len(paired) + 1
            steps = search(on, targets, SEARCH_S, number)
            answers = [estimate(each, OBJECTIVE) for each in steps.values()]
            found += [Bounded(each.rps, each.low_rps, each.high_rps) for each in answers if each.kind == Kind.FOUND]
            paired.append(ratio(*(posterior(each) for each in steps.values())))
            if len(found) > 1:
                apart.append(found[-1].value / found[0].value)
            left_out = statistics.fmean(undisturbed(each)[1] for each in steps.values())
            knees = ", ".join(f"{each.rps:,.0f}/s ({each.low_rps:,.0f} to {each.high_rps:,.0f})" for each in answers)
            print(
                f"  {engine} {number}: {knees}, ratio {paired[-1].value:.3f} ({paired[-1].low:.3f} to "
                f"{paired[-1].high:.3f}), {left_out:.0%} of the steps left out, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    count = len(found)
    if not count:
        return
    middle = statistics.median(each.value for each in found)
    widths = tuple(100 * (each.high / each.low - 1) for each in found)
    within = sum(abs(each.value / middle - 1) <= WITHIN for each in found)
    ratios = ", ".join(f"{each.value:.3f}" for each in paired)
    note = f"{SEARCH_S:g} s a setting; ratios of two alike in one search {ratios}, one after the other "
    note += ", ".join(f"{each:.3f}" for each in apart)
    yield Row(f"power/knee-{engine}/width-vs-limit", "%", widths, (100 * WIDTH_LIMIT,) * count, "<=", 1.0, note)
    note = f"median {middle:,.0f}/s; {2 * len(paired) - count} found none"
    tried = float(2 * len(paired))
    yield Row(f"power/knee-{engine}/within-10%", "searches", (float(within),), (tried,), ">=", 1.0, note)
