"""The search for a knee finds planted ones, says so when there is none, and can be taken up anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from runners.analysis.knee import Answer, Kind, Probe, Search, finish, move
from runners.analysis.meets import Outcome
from runners.design.objective import Objective
from runners.errors import PlanError
from runners.tests.counts import allowed, rounds

LIMIT_US = 10_000.0
Server = Callable[[float], Outcome]
Prober = Callable[[float], Probe]


def server(
    random: np.random.Generator,
    knee: float,
    noise: float,
    steep: float,
    lapses: float = 0.0,
    sends: float = math.inf,
) -> Server:
    """A server whose median p99 grows with the rate and crosses the limit at its knee; measured with noise."""

    def probe(rps: float) -> Outcome:
        if rps > sends:
            return Outcome.GENERATOR
        p99 = LIMIT_US * (rps / knee) ** steep * random.lognormal(0, noise)
        if random.random() < lapses:
            p99 *= 20
        return Outcome.MET if p99 <= LIMIT_US else Outcome.MISSED

    return probe


def search(probe: Server | Prober, given: Search, most: int = 45) -> tuple[Answer, list[Probe]]:
    probes: list[Probe] = []
    while len(probes) < most and not isinstance(following := move(probes, given), Answer):
        ended = probe(following)
        probes.append(ended if isinstance(ended, Probe) else Probe(following, ended))
    return finish(probes, given), probes


@pytest.mark.parametrize(
    ("noise", "steep", "lapses", "most"),
    [
        (0.1, 20, 0.0, 45),
        (0.1, 5, 0.0, 45),
        (0.3, 5, 0.05, 45),
        (0.3, 20, 0.1, 45),
        (0.5, 3, 0.0, 45),
        (0.5, 3, 0.0, 20),
        (0.5, 3, 0.0, 10),
    ],
)
def test_the_interval_holds_a_planted_knee(noise: float, steep: float, lapses: float, most: int) -> None:
    random, count = np.random.default_rng(1), rounds(15, 400)
    held, spent, widths = 0, [], []
    for _ in range(count):
        knee = 10 ** random.uniform(3, 5.3)
        given = Search(start_rps=float(f"{knee * random.uniform(0.2, 1.5):.3g}"))
        answer, probes = search(server(random, knee, noise, steep, lapses), given, most)
        assert answer.kind == Kind.FOUND
        held += answer.low_rps <= knee <= answer.high_rps
        spent.append(len(probes))
        widths.append(answer.high_rps / answer.low_rps - 1)
    print(
        f"knee, noise {noise}, steepness {steep}, lapses {lapses}: coverage of nominal 95 % {held / count:.3f}, {count}"
        f" searches, {np.mean(spent):.0f} probes, median width {np.median(widths):.1%}"
    )
    assert held / count >= allowed(0.95, count)


def sent_late(server: Server, rps: float) -> Probe:
    """A probe by a generator that was late: what is missed then is told by no figure of the server's."""
    met = server(rps) == Outcome.MET
    return Probe(rps, Outcome.MET if met else Outcome.GENERATOR, late=True)


#: By which factor a late load is harder than one on time: none, some, another each time, or so much that it never meets
HARDER: dict[str, Callable[[np.random.Generator], float]] = {
    "no harder": lambda random: 1.0,
    "as at 1.1 times the rate": lambda random: 1.1,
    "as at 1.2 times the rate": lambda random: 1.2,
    "as at 1.0 to 1.8 times the rate": lambda random: random.uniform(1, 1.8),
    "as at 3 times the rate": lambda random: 3.0,
    "never met": lambda random: 1e6,
}


@pytest.mark.parametrize(("harder", "share"), [*((harder, 1 / 3) for harder in HARDER), ("no harder", 2 / 3)])
def test_the_interval_holds_the_knee_when_many_probes_are_sent_late(harder: str, share: float) -> None:
    random, count = np.random.default_rng(9), rounds(8, 400)
    held, below, widths = 0, 0, []
    for _ in range(count):
        knee = 10 ** random.uniform(3, 5.3)

        def probe(rps: float, knee: float = knee) -> Probe:
            if random.random() > share:
                return Probe(rps, server(random, knee, 0.3, 5, 0.05)(rps))
            return sent_late(server(random, knee / HARDER[harder](random), 0.3, 5, 0.05), rps)

        answer, _ = search(probe, Search(start_rps=float(f"{knee * random.uniform(0.2, 1.5):.3g}")))
        low = answer.low_rps if math.isfinite(answer.low_rps) else 0.0
        high = answer.high_rps if math.isfinite(answer.high_rps) else math.inf
        held += low <= knee <= high
        below += high < knee
        widths.append(high / low - 1 if low else math.inf)
    print(
        f"knee, {share:.0%} of the probes late, {harder}: coverage of nominal 95 % {held / count:.3f} ({below} too "
        f"low), {count} searches, median width {np.median(widths):.1%}"
    )
    assert held / count >= allowed(0.95, count)


def test_a_sharp_knee_is_found_as_well_as_asked() -> None:
    random = np.random.default_rng(4)
    answer, probes = search(server(random, 21_300, 0.02, 50), Search(start_rps=9_000, precision=0.03))
    assert answer.precise and answer.high_rps / answer.low_rps <= 1.03
    assert 8 <= len(probes) < 40
    assert answer.rps == pytest.approx(21_300, rel=0.03)


def test_a_server_faster_than_the_generator_has_no_knee_below_it() -> None:
    random = np.random.default_rng(2)
    answer, probes = search(server(random, 500_000, 0.1, 20, sends=60_000), Search(start_rps=20_000))
    assert answer.kind == Kind.ABOVE
    assert 45_000 <= answer.low_rps <= 60_000 <= answer.ceiling_rps
    assert all(probe.rps <= 120_000 for probe in probes)


def test_the_highest_rate_offered_is_an_end_too() -> None:
    answer, _ = search(lambda rps: Outcome.MET, Search(start_rps=900, high_rps=5_000))
    assert answer.kind == Kind.ABOVE and 4_000 < answer.low_rps <= 5_000


def test_a_server_that_never_meets_the_objective_is_below_the_lowest_rate() -> None:
    answer, probes = search(lambda rps: Outcome.MISSED, Search(start_rps=20_000, low_rps=1_000))
    assert answer.kind == Kind.BELOW and answer.high_rps == 1_000
    assert min(probe.rps for probe in probes) >= 1_000


def test_probes_of_a_late_generator_say_nothing_on_the_server() -> None:
    random = np.random.default_rng(3)
    late = iter([False, True, False, True] + [False] * 99)
    real = server(random, 20_000, 0.05, 20)
    answer, _ = search(lambda rps: Outcome.GENERATOR if next(late) else real(rps), Search(start_rps=8_000))
    assert answer.kind in (Kind.FOUND, Kind.ABOVE)
    assert answer.low_rps <= 20_000


def test_three_broken_probes_in_a_row_end_the_search() -> None:
    answer, probes = search(lambda rps: Outcome.INVALID, Search(start_rps=8_000))
    assert answer.kind == Kind.FAILED and len(probes) == 3


def test_a_spent_budget_gives_what_is_known() -> None:
    given = Search(start_rps=1_000)
    assert finish([], given).kind == Kind.OPEN
    one = finish([Probe(1_000, Outcome.MET)], given)
    assert one.kind == Kind.OPEN and one.low_rps == 1_000 and math.isnan(one.high_rps)
    two = finish([Probe(1_000, Outcome.MET), Probe(2_000, Outcome.MISSED)], given)
    assert two.kind == Kind.FOUND and not two.precise and two.low_rps < 1_500 < two.high_rps


def test_the_next_rate_depends_on_the_probes_alone() -> None:
    random = np.random.default_rng(6)
    given = Search(start_rps=3_000)
    _, probes = search(server(random, 7_000, 0.1, 10), given, most=14)
    for index in range(len(probes)):
        assert move(probes[:index], given) == probes[index].rps


@pytest.mark.parametrize("text", ["p99<=10ms", "p50<=800us,p99.9<=1.5s,achieved>=99.5%,errors<=0.1%"])
def test_an_objective_reads_back(text: str) -> None:
    objective = Objective.parse(text)
    assert Objective.parse(objective.text) == objective


@pytest.mark.parametrize(
    "text", ["", "p99<10ms", "p99<=10", "achieved>=99%", "p0<=1ms", "p99<=10ms,speed>=9", "errors=1"]
)
def test_a_bad_objective_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(PlanError, match="write it like"):
        Objective.parse(text)
