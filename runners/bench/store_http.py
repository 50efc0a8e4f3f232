"""Through HTTP: the knee of our store beside that of a store that does nothing, for GET of a filled store and for PUT.

For GET there are two that do nothing: one answers with a few digits, one with as many bytes as our store does. The
first is what is asked for; beside the second only what the store itself costs is left.

All servers run at once and are asked in turn, probe by probe. In each round the knee of each is sought anew (see
`bracket`), so that a ratio of a round holds what the machine did at that time, and rounds tell how much such ratios
differ. A rate is carried if 99 % of it is answered, nothing is refused, and the p99 is in the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from runners.analysis.instrument import ENOUGH_ROUNDS
from runners.bench.bracket import Bracket, Outcome, outcome, seek
from runners.bench.course import Course
from runners.bench.fixture import CONNECTIONS, WARMUP_S, Fixture, Result
from runners.bench.row import Row
from runners.design.workload import SCRIPTS
from runners.errors import ToolError
from runners.targets.lab_server import RunningServer
from runners.trial.footprint import rest

STORE_BYTES = 1 << 30
VALUE_BYTES = 1200
KEYS = STORE_BYTES // VALUE_BYTES
OURS, NOOP, NOOP_ALIKE = "lsm", "noop", f"noop-{VALUE_BYTES}B"
NOOP_FLAGS: dict[str, tuple[str, ...]] = {NOOP: (), NOOP_ALIKE: ("--noop-value-bytes", str(VALUE_BYTES))}
#: What each kind of request is compared with.
PEERS = {"get": (NOOP, NOOP_ALIKE), "put": (NOOP,)}
#: So many make an interval of 95 % out of their ratios.
ROUNDS = ENOUGH_ROUNDS
CLOSED_S = 2
#: Short, so that few probes are disturbed; within it, one that is too much by a hundredth is behind by the objective.
PROBE_S = 1
PROBE_WARMUP_S = 0.5
FILL_RPS_LEAST = 3_000
REST_BOUND_S = 60.0
GOAL = 0.9
WORKS: dict[str, tuple[str, ...]] = {
    "get": ("get_random.lua", str(KEYS), "1"),
    "put": ("put_random.lua", str(KEYS), "1"),
}
#: For the planned time: filling and settling, starting and ending one load, probes until a bracket is narrow.
FILL_S, LOAD_S, PROBES = 45.0, 0.4, 12
#: Offers a rate to a server of this name; None: as fast as it answers.
Load = Callable[[str, int | None], Result]
Say = Callable[[str], None]


def judged(result: Result) -> Outcome:
    """How a probe ended, by the objective of this benchmark."""
    return outcome(result, PROBE_S)


def rows_of(work: str, load: Load, say: Say, rounds: int = ROUNDS) -> list[Row]:
    """The rows of one kind of request: the knee, and the rate in a closed loop."""
    servers = (OURS, *PEERS[work])
    brackets: list[dict[str, Bracket]] = []
    rates: dict[str, list[float]] = {who: [] for who in servers}
    for number in range(rounds):
        say(f"  {work}, round {number + 1} of {rounds}")
        for who in servers:
            rates[who].append(float(load(who, None)["achieved_rps"]))
        brackets.append(seek(servers, rates[NOOP][-1], load, judged, say))
    found: list[Row] = []
    for peer in PEERS[work]:
        row = _knee_row(f"store/http/{work}/knee-vs-{peer}", brackets, peer)
        if row is None:
            say(f"  {work}: no knee to compare with, {peer} carried no rate; is the machine calm?")
        else:
            found.append(row)
        found.append(
            Row(f"store/http/{work}/closed-loop-vs-{peer}", "/s", tuple(rates[OURS]), tuple(rates[peer]), ">=", GOAL)
        )
    return found


def _knee_row(name: str, brackets: Sequence[dict[str, Bracket]], peer: str) -> Row | None:
    """The knees over the rounds in which the peer has one; None if there is no such round."""
    both = [(of[OURS], of[peer]) for of in brackets if of[peer].carried]
    if not both:
        return None
    ours, theirs = (tuple(pair[side].knee_rps for pair in both) for side in (0, 1))
    capped = [sum(pair[side].by_generator for pair in both) for side in (0, 1)]
    note = "the generator alone set the upper end of " + " and ".join(
        f"{count} knees of {who}" for count, who in zip(capped, (OURS, peer), strict=True)
    )
    return Row(name, "/s", ours, theirs, ">=", GOAL, note if any(capped) else "")


def fill(on: Fixture, server: RunningServer, say: Say) -> None:
    """Writes every key once and waits until the store rests."""
    flags = ["-n", str(KEYS), "-s", str(SCRIPTS / "fill.lua")]
    target = [*flags, f"{server.url}/v0/entity", "--", str(KEYS), str(VALUE_BYTES)]
    status = on.load(target, KEYS // FILL_RPS_LEAST)["status"]
    if any(not code.startswith("2") for code in status):
        raise ToolError("filling the store", f"it answered {status}", "free disk space, or read the server's log")
    rested = rest(server, REST_BOUND_S)
    say(f"  filled with {KEYS} values of {VALUE_BYTES} bytes; at rest after {rested} s; {server.status()['store']}")


def durations_s(works: Sequence[str] = tuple(WORKS), rounds: int = ROUNDS) -> list[float]:
    """About how long each kind of request takes; filling the store counts with the first."""
    closed_s, probes_s = CLOSED_S + WARMUP_S + LOAD_S, PROBES * (PROBE_S + PROBE_WARMUP_S + LOAD_S)
    return [
        rounds * (1 + len(PEERS[work])) * (closed_s + probes_s) + (FILL_S if number == 0 else 0.0)
        for number, work in enumerate(works)
    ]


def rows(on: Fixture, course: Course, works: Sequence[str] = tuple(WORKS), rounds: int = ROUNDS) -> list[Row]:
    """The rows through HTTP of these kinds of requests."""
    say = course.say
    found: list[Row] = []
    with ExitStack() as running:
        specs = {name: on.spec(name, flags) for name, flags in NOOP_FLAGS.items()}
        specs[OURS] = replace(on.spec(OURS), engine=OURS)
        servers = {name: running.enter_context(on.running(spec)) for name, spec in specs.items()}

        def load(work: str, who: str, rate_rps: int | None) -> Result:
            script, *arguments = WORKS[work]
            target = ["-s", str(SCRIPTS / script), f"{servers[who].url}/v0/entity", "--", *arguments]
            if rate_rps is None:
                return on.load(target, CLOSED_S, CONNECTIONS)
            return on.load(target, PROBE_S, CONNECTIONS, rate_rps, PROBE_WARMUP_S)

        for number, work in enumerate(works):
            with course.part("http", f"{work} through HTTP, {CONNECTIONS} connections"):
                if number == 0:
                    fill(on, servers[OURS], say)
                found += rows_of(work, partial(load, work), say, rounds)
    return found
