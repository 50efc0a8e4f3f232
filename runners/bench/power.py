"""`make bench-power`: the power of comparisons on this machine: false findings, planted effects, smallest difference.

The sides of a comparison are two processes of one setting, whose difference is false, or a server of the generator's
crate, or of the tests, and the same with a planted delay. Latency and CPU time are compared by one schedule, request by
request, throughput by slices in random order (see docs/method.md). The first comparisons of a row spend the same
seconds one after the other too. A row makes as many comparisons as its share of the minutes has time for, and its limit
follows from their number.

Servers with planted work are no settings of the lab, and their schedules are no block, so they are loaded here; knees
are searched by the executor.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import httpx
import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from runners.analysis.intervals import Bounded, Direction
from runners.analysis.machine_stalls import outside
from runners.analysis.treatments import FEWEST_STARTS, Effects, Start, compare, start_from, start_of
from runners.bench import knee, plants
from runners.bench.fixture import REFERENCE, Fixture, NoFigure, Row, fixture, parse_rows, say
from runners.design.block import SLICE_S, WRITES_SLICE_S
from runners.design.load import SCRIPTS
from runners.design.session import START_S, in_random_order
from runners.errors import LabError
from runners.process.supervisor import ProcessClock, pinned, start
from runners.readers.activity import read_stall_log
from runners.readers.load_json import read_load_json
from runners.readers.requests_log import RequestsLog, read_requests_log
from runners.toolchain.tools import ROOT, TRUEPACE
from runners.trial.activity import BackgroundClock, stalls_watched

NAMES = ("baseline", "other", "another")
P50, P67, CPU, P99, THROUGHPUT = "p50", "p67", "CPU a request", "p99 without stalls", "throughput"
ALL_P99, SERVICE_P50, SERVICE_P99 = "p99", "service p50", "service p99"
#: Quantities that are percentiles of all requests: the level and the column.
PERCENTILES = {
    P50: (0.5, "response_us"), P67: (2 / 3, "response_us"), ALL_P99: (0.99, "response_us"),
    SERVICE_P50: (0.5, "service_us"), SERVICE_P99: (0.99, "service_us"),
}  # fmt: skip
APART, MOST_APART = "one after the other", 2  # the first comparisons of a row are made in this way too
MARGIN = 0.01
FALSE_SHARE, FOUND_SHARE, SURELY = 0.05, 0.97, 0.98
WITHIN = 20.0  # per cent of the truth by which the median estimate may be off
CLOCK_S = 0.25  # between two readings of the processor clocks
LOOPS, LOOP_S = 16, 0.2  # connections of a closed loop, and its seconds where one server is warmed or probed
CLOSED_S, PROBES = 3.0, 8  # least seconds of closed loops by slices; probes of the throughput of one server
DELAY_SERVER = ROOT / "runners" / "tests" / "e2e" / "delay_server.py"
#: What is planted.
CPU_SHARE, THROUGHPUT_SHARE, P50_US, TAIL_US, TAIL_EACH = 0.06, -0.10, 5.0, 2_000, 33
WORK_US = 30.0  # of each request to the server that more is planted in
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Running:
    """A running server: its URL or script as a load's target, and its process."""

    target: str
    pid: int


#: A side: starts a fresh process.
Side = Callable[[], AbstractContextManager[Running]]


@dataclass(frozen=True, slots=True)
class Design:
    """How sides are compared: `load_s` of load in a start at `rate_rps` for all together, or `closed_s` by slices."""

    quantity: str
    starts: int
    load_s: float
    warm_s: float = 1.0
    rate_rps: int = 3_000
    connections: int = 1
    slice_s: float = SLICE_S
    closed_s: float = 0.0  # 0: as `load_s`, CLOSED_S at least

    @property
    def pair_s(self) -> float:
        """The seconds of all starts of two sides, loaded in both ways."""
        return self.starts * 2 * (START_S + self.warm_s + self.load_s + self.closed_s)


@dataclass(slots=True)
class Budget:
    """The seconds that a row has (`whole_s`), and the most comparisons that it makes."""

    whole_s: float
    most: int
    full: bool
    began_s: float = field(default_factory=time.monotonic)

    def left_for(self, done: int, fewest: int = 2) -> bool:
        """Return whether there is time for one more comparison, if it takes as long as the earlier ones."""
        elapsed_s = time.monotonic() - self.began_s
        return done < fewest or (done < self.most and elapsed_s * (done + 1) / done <= self.whole_s)


@contextmanager
def spinning(on: Fixture, work_us: float) -> Iterator[Running]:
    """Start a server that spins for so long on each request."""
    command = [str(REFERENCE), "--kind", "server", "--work", f"{work_us:.3f}us", "http://127.0.0.1"]
    child = start(pinned(command, on.server_cpus), stdout=subprocess.PIPE)
    try:
        yield Running(child.stdout.readline().decode().strip(), child.pid)
    finally:
        child.stop()


@contextmanager
def delaying(on: Fixture, delays_us: Sequence[int], took_us: list[float]) -> Iterator[Running]:
    """Start a server that responds to each request after the next delay of a cycle, and to others meanwhile.

    At the end the delays that it measured are added to `took_us`, since its timer has a millisecond's resolution.
    """
    command = [sys.executable, str(DELAY_SERVER), ",".join(map(str, delays_us))]
    child = start(pinned(command, on.server_cpus), stdout=subprocess.PIPE)
    try:
        base = f"http://127.0.0.1:{child.stdout.readline().decode().strip()}"
        yield Running(f"{base}/delayed", child.pid)
        took_us += httpx.get(f"{base}/recorded", timeout=_TIMEOUT_S).json()
    finally:
        child.stop()


@contextmanager
def engine(on: Fixture, name: str) -> Iterator[Running]:
    """Start a fresh process of an engine, to GET one key where nothing is stored, else to PUT new keys."""
    spec = replace(on.spec(f"{name}-{time.monotonic_ns()}"), engine=name)
    with on.running(spec) as server:
        target = f"{server.url}/v0/entity?id=1" if name == "noop" else f"{server.url},script={SCRIPTS / 'put.lua'}"
        yield Running(target, server.pid)


def shared(
    on: Fixture,
    sides: Sequence[Running],
    design: Design,
    interleave: str,
    seed: int,
    left_out: list[float] | None = None,
) -> dict[str, Start]:
    """Load all sides, by request or one after the other; return every quantity of the load.

    The share of time in which the machine stalled is added to `left_out` where it is known.
    """
    log, stalls = on.folder / "requests.log", on.folder / "stalls.txt"
    flags = ["-t1", f"-c{design.connections}", f"-R{design.rate_rps}", f"-d{design.load_s:g}s", "--warmup", "0.3s"]
    flags += ["--seed", str(seed), "--interleave", interleave, "--requests-log", str(log)]
    flags += _named(sides)
    command = pinned([str(TRUEPACE), *flags], on.generator_cpus)
    clocks = [(ProcessClock((side.pid,)), BackgroundClock((side.pid,))) for side in sides]
    read: list[tuple[float, ...]] = []
    with stalls_watched(stalls) as watched:
        child = start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                used_s = ((whole.read_s() or 0.0) - sum((own.read_s() or {}).values()) for whole, own in clocks)
                read.append((time.time(), *used_s))
                if child.wait_up_to(CLOCK_S):
                    break
                if time.time() - read[0][0] > design.load_s + _TIMEOUT_S:
                    raise TimeoutError("the load did not end")
        finally:
            child.stop()
    requests = read_requests_log(log)
    names = NAMES[: len(sides)]
    quantities = {name: start_of(requests.frame, names, *of) for name, of in PERCENTILES.items()}
    quantities[CPU] = _cpu(np.array(read), requests)
    if watched[0].cpus:
        kept, share = outside(requests.frame, read_stall_log(stalls).frame(requests.start_unix_us))
        quantities[P99] = start_of(kept, names, 0.99)
        if left_out is not None:
            left_out.append(share)
    return quantities


def _named(sides: Sequence[Running]) -> list[str]:
    return list(chain(*(("--target", f"{name}={side.target}") for name, side in zip(NAMES, sides, strict=False))))


def _cpu(read: npt.NDArray[np.float64], requests: RequestsLog) -> Start:
    """Return CPU time a request of each side's responding threads: of all blocks between readings, and without each."""
    frame = requests.frame[requests.frame["fate"] == "completed"]
    came_s = frame["t_s"].to_numpy(float) + frame["response_us"].to_numpy(float) / 1e6
    read = read[read[:, 0] >= requests.start_unix_us / 1e6]
    edges = read[:, 0] - requests.start_unix_us / 1e6
    names = NAMES[: read.shape[1] - 1]
    counts = np.array([np.histogram(came_s[(frame["target"] == name).to_numpy()], edges)[0] for name in names]).T
    used_s = np.diff(read[:, 1:], axis=0)
    total, served = used_s.sum(axis=0), counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Start(np.log(total / served * 1e6), np.log((total - used_s) / (served - counts) * 1e6))


def closed(on: Fixture, sides: Sequence[Running], design: Design, interleave: str, seed: int) -> dict[str, Start]:
    """Load one side at a time in closed loop, in slices in random order, or whole sides one after the other."""
    report, length_s = on.folder / "closed.json", design.closed_s or max(design.load_s, CLOSED_S)
    how = f"slice={design.slice_s * 1_000:g}ms" if interleave != "none" else interleave
    flags = ["-t1", f"-c{LOOPS}", f"-d{length_s:g}s", "--warmup", "0.2s", "--seed", str(seed), "--interleave", how]
    on.run([str(TRUEPACE), *flags, "--json", str(report), *_named(sides)], length_s)
    reached = read_load_json(report).targets_frame()
    rates = dict(zip(reached["target"], reached["achieved_rps"], strict=True))
    return {THROUGHPUT: start_from(rates, NAMES[: len(sides)])}


def closed_rps(on: Fixture, side: Running, length_s: float = LOOP_S) -> float:
    """Return the throughput of one side in closed loop, in requests per second."""
    url, _, script = side.target.partition(",script=")
    return float(on.load([*(["-s", script] if script else []), url], length_s, LOOPS, warmup_s=0)["achieved_rps"])


def measured(
    on: Fixture, sides: Sequence[Side], design: Design, seed: int, ways: Sequence[str] = ("request", "none")
) -> dict[str, list[dict[str, Start]]]:
    """Measure fresh starts of all sides by a design, in each of the ways; return the quantities of starts by way."""
    starts: dict[str, list[dict[str, Start]]] = {way: [] for way in ways}
    for number in range(design.starts):
        with ExitStack() as stack:
            up = [stack.enter_context(side()) for side in sides]
            for side in up:
                closed_rps(on, side, design.warm_s)
            own = seed * 100 + number
            for interleave in in_random_order(ways, own):
                if design.quantity == THROUGHPUT:
                    starts[interleave].append(closed(on, up, design, interleave, own))
                    continue
                starts[interleave].append(shared(on, up, design, interleave, own))
                if design.quantity == "":  # all of them
                    starts[interleave][-1] |= closed(on, up, design, interleave, own)
    return starts


def effects(starts: Sequence[Mapping[str, Start]], quantity: str, side: int = 1) -> Effects:
    """Compare a side with the first in one quantity."""
    both = [0, side]
    pairs = [Start(start[quantity].logs[both], start[quantity].left_out[:, both]) for start in starts]
    return compare(pairs, (NAMES[0], NAMES[side]), NAMES[0], MARGIN)


def half_width(comparison: Effects) -> float:
    """Return half the width of the interval of the change, in per cent: the smallest difference that it can show."""
    change = comparison.effects[0].change
    return 50 * (change.high - change.low)


def _decided(comparison: Effects) -> bool:
    return comparison.effects[0].direction in (Direction.HIGHER, Direction.LOWER)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The comparisons of a row, those made one after the other, and the measured starts."""

    by_design: list[Effects]
    apart: list[Effects]
    starts: list[list[dict[str, Start]]]

    @property
    def note(self) -> str:
        """The changes that both ways found, and how wide their intervals were, in words."""
        changes = [100 * comparison.effects[0].change.value for comparison in self.by_design]
        ways = [
            f"{sum(map(_decided, way))} of {len(way)} found, +-{statistics.median(map(half_width, way)):.2g} %"
            for way in (self.by_design, self.apart)
        ]
        return (
            f"{statistics.median(changes):+.2f} % ({min(changes):+.2f} to {max(changes):+.2f}); "
            f"{ways[0]}; {APART} {ways[1]}"
        )


def repeated(
    on: Fixture, name: str, sides: Sequence[Side], design: Design, budget: Budget, quantities: Sequence[str] = ()
) -> list[Repeated]:
    """Repeat a comparison while there is time; print a line for each. Return a result for each side and quantity."""
    own = quantities or (design.quantity,)
    results, number = [Repeated([], [], []) for _ in own], 0
    while budget.left_for(number):
        began, number = time.monotonic(), number + 1
        ways = ("request", "none") if number <= MOST_APART else ("request",)
        starts = measured(on, sides, design, number, ways)
        try:
            compared = [[effects(starts[way], quantity, side) for way in ways] for side, quantity in enumerate(own, 1)]
        except ValueError as error:  # the machine stalled for most of it
            print(f"  {name} {number}: {error}", flush=True)
            continue
        for result, (by_design, *apart) in zip(results, compared, strict=True):
            result.by_design.append(by_design)
            result.apart.extend(apart)
            result.starts.append(starts["request"])
        changes = ", ".join(_percent(by_design.effects[0].change) for by_design, *_ in compared)
        print(f"  {name} {number}: {changes}, {time.monotonic() - began:.0f} s", flush=True)
    if not all(result.apart for result in results):
        raise ValueError(f"none of {number} comparisons has a finite {' and '.join(own)} of all sides")
    return results


def _percent(change: Bounded) -> str:
    return f"{change.value:+.2%} ({change.low:+.2%} to {change.high:+.2%})"


def alike(on: Fixture, name: str, budget: Budget) -> Iterator[Row]:
    """Compare two processes of one setting for 20 s: how often is a difference found?"""
    side = partial(engine, on, name)
    design = Design(P50, FEWEST_STARTS, 20 / FEWEST_STARTS if budget.full else 2.0, 1.0)
    (kept,) = repeated(on, f"aa-{name}", (side, side), design, budget)
    false = sum(map(_decided, kept.by_design))
    limit = float(binom.ppf(SURELY, len(kept.by_design), FALSE_SHARE))
    yield Row.within(f"power/aa-{name}/false-vs-limit", "findings", (float(false),), limit, kept.note)


def _planted_rows(name: str, kept: Repeated, truths: Sequence[float]) -> Iterator[Row]:
    """Yield two rows: how often a planted change is found, and how far the median estimate is from the truth."""
    sign = Direction.HIGHER if truths[0] > 0 else Direction.LOWER
    hits = sum(comparison.effects[0].direction == sign for comparison in kept.by_design)
    wanted = float(max(1, binom.ppf(1 - SURELY, len(kept.by_design), FOUND_SHARE)))
    yield Row(f"power/{name}/found-vs-wanted", "findings", (float(hits),), (wanted,), ">=", 1.0, kept.note)
    estimates = (comparison.effects[0].change.value for comparison in kept.by_design)
    ratios = [estimate / truth for estimate, truth in zip(estimates, truths, strict=True)]
    off = 100 * abs(statistics.median(ratios) - 1)
    note = f"{100 * statistics.median(truths):+.2f} % planted"
    yield Row.within(f"power/{name}/estimate-off-vs-limit", "%", (off,), WITHIN, note)


def _base(starts: Sequence[Mapping[str, Start]], quantity: str) -> float:
    """Return the baseline's geometric mean over the starts in which the quantity is finite."""
    logs = np.array([start[quantity].logs[0] for start in starts])
    return float(np.exp(logs[np.isfinite(logs)].mean()))


def _planted_design(budget: Budget, quantity: str, **more: float) -> Design:
    return replace(Design(quantity, 6, 10.0 if budget.full else 1.5, 0.3), **more)  # type: ignore[arg-type]


def planted_request(on: Fixture, budget: Budget) -> Iterator[Row]:
    """Plant 6 % more CPU time a request, and 5 us more in each response, both against one server."""
    design = _planted_design(budget, CPU, rate_rps=4_500)
    with spinning(on, WORK_US) as first, spinning(on, WORK_US) as second:
        base_us = _base([shared(on, (first, second), design, "request", 1)], CPU)
    more_us = WORK_US + CPU_SHARE * base_us
    sides = [
        lambda: spinning(on, WORK_US), lambda: spinning(on, more_us), lambda: spinning(on, WORK_US + P50_US)
    ]  # fmt: skip
    cpu, p50 = repeated(on, "cpu and p50", sides, design, budget, (CPU, P50))
    yield from _planted_rows("planted-cpu+6%", cpu, [(more_us - WORK_US) / _base(starts, CPU) for starts in cpu.starts])
    yield from _planted_rows("planted-p50+5us", p50, [P50_US / _base(starts, P50) for starts in p50.starts])


def planted_throughput(on: Fixture, budget: Budget) -> Iterator[Row]:
    """Plant 10 % less throughput in closed loop."""
    with spinning(on, WORK_US) as server:
        closed_rps(on, server, 0.3)
        request_us = 1e6 / statistics.median(closed_rps(on, server) for _ in range(PROBES))
    more_us = WORK_US + request_us * (1 / (1 + THROUGHPUT_SHARE) - 1)
    sides: list[Side] = [lambda: spinning(on, WORK_US), lambda: spinning(on, more_us)]
    (kept,) = repeated(on, "throughput", sides, _planted_design(budget, THROUGHPUT), budget)
    yield from _planted_rows("planted-throughput-10%", kept, [THROUGHPUT_SHARE] * len(kept.starts))


def planted_tail(on: Fixture, budget: Budget) -> Iterator[Row]:
    """Plant 2 ms more in 3 % of the responses: p99 is then the 67th percentile of the delayed ones."""
    late = [0] * (TAIL_EACH - 1) + [TAIL_US]
    took_us: tuple[list[float], list[float]] = [], []
    sides: list[Side] = [lambda: delaying(on, [0], took_us[0]), lambda: delaying(on, late, took_us[1])]
    design = _planted_design(budget, P99, rate_rps=2_000, connections=8)
    try:
        (kept,) = repeated(on, "tail", sides, design, budget)
    except KeyError:
        yield NoFigure("power/planted-tail/found-vs-wanted", ">=", 1.0, "the stall witness may not run here")
        return
    delayed_us = [response_us for response_us in took_us[1] if response_us >= TAIL_US]
    more_us = float(np.quantile(delayed_us, 2 / 3)) - statistics.median(took_us[0])
    truths = [(more_us + _base(starts, P67)) / _base(starts, P99) - 1 for starts in kept.starts]
    yield from _planted_rows("planted-3%+2ms", kept, truths)


def _smallest(full: bool) -> Design:
    load_s, closed_s = (60.0, 20.0) if full else (10.0, 10.0)
    return Design("", FEWEST_STARTS, load_s, 3.0, slice_s=WRITES_SLICE_S, closed_s=closed_s)


def smallest(on: Fixture, budget: Budget) -> Iterator[Row]:
    """Compare two processes of our store; yield half the width of each quantity's interval, by one and three starts."""
    side = partial(engine, on, "lsm")
    design = _smallest(budget.full)
    starts = measured(on, (side, side), design, 1)
    for kind, goals, count in (
        ("one-pair", {P50: 1.0, CPU: 1.5, P99: 10.0}, 1),
        (f"{FEWEST_STARTS}-starts", {P50: 3.0, CPU: 3.0, THROUGHPUT: 5.0}, FEWEST_STARTS),
    ):
        for quantity, limit in goals.items():
            widths, apart = [], []
            for at in range(0, FEWEST_STARTS, count):
                with contextlib.suppress(KeyError, ValueError):
                    own, other = (effects(starts[way][at : at + count], quantity) for way in ("request", "none"))
                    widths.append(half_width(own))
                    apart.append(half_width(other))
            name = f"power/smallest/{kind}/{quantity.replace(' ', '-')}-vs-limit"
            if widths:
                length_s = design.closed_s if quantity == THROUGHPUT else design.load_s
                note = f"{length_s:g} s a start; {APART} {statistics.median(apart):.2g} %"
                yield Row.within(name, "%", widths, limit, note)
            else:
                yield NoFigure(name, "<=", 1.0, "no stall witness, or no block without a stall of the machine")


@dataclass(frozen=True, slots=True)
class Group:
    """The seconds for a group of rows in the default and in the full form, and the function that makes them.

    A function that repeats comparisons makes as many as fit.
    """

    lengths_s: tuple[float, float]
    make: Callable[[Fixture, Budget], Iterator[Row]]


#: Groups of rows by name. The last ones take the time that is left.
ROWS = {
    "smallest": Group((_smallest(False).pair_s, _smallest(True).pair_s), smallest),
    "planted-request": Group((75.0, 1_480.0), planted_request),
    "planted-throughput": Group((90.0, 1_480.0), planted_throughput),
    "planted-tail": Group((70.0, 1_480.0), planted_tail),
    "knee": Group((145.0, 700.0), lambda on, budget: knee.rows(on, "noop", lambda done: budget.left_for(done, 1))),
    "plants": Group((plants.LENGTH_S, plants.LENGTH_S), lambda on, _budget: plants.rows(on)),
    "aa-noop": Group((85.0, 570.0), lambda on, budget: alike(on, "noop", budget)),
    "aa-lsm": Group((85.0, 570.0), lambda on, budget: alike(on, "lsm", budget)),
}


def _rows_of(name: str, make: Callable[[Fixture, Budget], Iterator[Row]], on: Fixture, budget: Budget) -> Iterator[Row]:
    if budget.whole_s <= 0:
        yield NoFigure(f"power/{name}", ">=", 1.0, "no time was left for it: give more minutes, or ROWS of it alone")
        return
    try:
        yield from make(on, budget)
    except (LabError, ValueError, OSError, subprocess.SubprocessError) as error:
        yield NoFigure(f"power/{name}", ">=", 1.0, f"it could not be measured ({error})")


def main() -> int:
    """Run the benchmark, print a line for each row, keep the JSON; return 0, for figures are no test."""
    parser = argparse.ArgumentParser(prog="make bench-power", description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 20 comparisons a row, longer ones")
    minutes = [f"{sum(planned.lengths_s[full] for planned in ROWS.values()) / 60:.0f}" for full in (False, True)]
    parser.add_argument("--minutes", type=float, help="for all rows (default {}, with --full {})".format(*minutes))
    given = parse_rows(parser, ROWS)
    whole_s = sum(planned.lengths_s[given.full] for planned in ROWS.values())
    all_s = 60 * given.minutes if given.minutes else whole_s
    with fixture() as on:
        ends_s = time.monotonic() + all_s

        def measured() -> Iterator[Row]:
            for name in given.rows:
                own_s = min(ends_s - time.monotonic(), all_s * ROWS[name].lengths_s[given.full] / whole_s)
                budget = Budget(own_s, 20 if given.full else 5, given.full)
                yield from _rows_of(name, ROWS[name].make, on, budget)
                say(f"  {name}: {time.monotonic() - budget.began_s:.0f} s of {budget.whole_s:.0f} s")

        return on.keep("power", measured())


if __name__ == "__main__":
    sys.exit(main())
