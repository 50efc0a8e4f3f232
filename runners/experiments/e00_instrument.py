"""Validate the load generators: the latency that they add, what they see of a stall, the CPU time that they cost."""

from collections.abc import Mapping
from dataclasses import dataclass

from runners import words
from runners.design.block import Block, FaultInjection, FixedRate
from runners.design.experiment import Experiment, Parameter, Value, common, listed
from runners.design.load import FIXED_GET, Rate, Shape
from runners.design.session import ROUND, Freeze, Session, Trial, in_random_order
from runners.design.setting import Setting
from runners.results.answer import Asked, Question

GENERATORS = ("blocking", "epoll", "truepace", "wrk2", "wrk")
NOOP = Setting.of("noop")
#: The warm-up: a closed loop that is not evaluated, after which the server's JIT compiler is done with this request.
WARMING = Trial("warm-server", "warmup", FIXED_GET, None, Shape(8, 1, 3.0, 0.0), label="warm-up of the server")
#: The server is frozen twice: in the middle of the load, and from shortly before its end until after it.
STALL_S, STALL_RPS, FREEZES = 4.0, 1_000.0, (Freeze(1.0, 0.5), Freeze(3.0, 1.4))
CLOSED = "wrk"  # the generator that offers no rate: it sends in closed loop


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of one size of run, such as quick; a round has one load for every generator and point."""

    points: tuple[tuple[int, float], ...]  # pairs of connections and rate
    rounds: int
    wrk2_rounds: int  # fewer: wrk2 needs 10 s before each load
    warmup_s: float
    window_s: float

    def trials(self, number: int, generators: tuple[str, ...]) -> tuple[Trial, ...]:
        """Return the trials of round `number` in random order: every generator at all `points` that it can send."""
        trials = list[Trial]()
        for connections, rps in self.points:
            for tool in generators:
                if tool == CLOSED or (tool == "blocking" and connections > 1):
                    continue
                if number <= (self.wrk2_rounds if tool == "wrk2" else self.rounds):
                    trials.append(self._trial(f"{connections}x{rps:.0f}-{tool}", number, tool, connections, rps))
        if CLOSED in generators and number <= self.rounds:
            for connections in sorted({connections for connections, _ in self.points}):
                trials.append(self._trial(f"{connections}-closed-{CLOSED}", number, CLOSED, connections, None))
        return in_random_order(trials, "floors", number)

    def _trial(self, name: str, number: int, tool: str, connections: int, rps: float | None) -> Trial:
        label = f"{tool}, {connections} x {words.rate(rps) if rps else 'closed loop'}, round {number}"
        rate = Rate(rps, "fixed") if rps else None
        shape = Shape(connections, 1, self.window_s, self.warmup_s if rps else 0.0)
        return Trial(f"{name}-r{number}", ROUND, FIXED_GET, rate, shape, label=label, generator=tool, round=number)


_SLOW, _ONE, _MANY = (1, 2_000.0), (1, 5_000.0), (64, 40_000.0)
SIZES = {
    "smoke": Rounds((_ONE,), 3, 1, 0.2, 1.0),
    "quick": Rounds((_SLOW, _ONE, _MANY), 6, 2, 0.5, 2.0),
    "published": Rounds(((1, 500.0), _SLOW, _ONE, _MANY), 8, 3, 1.0, 6.0),
    "full": Rounds(((1, 500.0), _SLOW, _ONE, (1, 8_000.0), (8, 10_000.0), (64, 10_000.0), _MANY), 12, 6, 2.0, 10.0),
}


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: every generator on a do-nothing server, then on a frozen one."""
    size, generators = SIZES[str(asked["size"])], listed(asked["generators"])
    rounds = [size.trials(number, generators) for number in range(1, max(size.rounds, size.wrk2_rounds) + 1)]
    sessions = (Session(NOOP, trials, warm_up=WARMING) for trials in ((WARMING,), *rounds) if trials)
    return (
        FixedRate.known(
            "floors", "every generator on a server that does nothing, in interleaved rounds", tuple(sessions),
            ("ours-adds", "wrk2-adds", "cpu"),
        ),
        FaultInjection(
            "stalls", "every generator on a server that is frozen twice", NOOP, FIXED_GET, FREEZES,
            Shape(1, 1, STALL_S, size.warmup_s), warm_up_s=1.0, rate_rps=STALL_RPS, generators=generators,
            without_rate=(CLOSED,), questions=("ours-stall", "wrk2-stall", "blocking-stall"),
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    "00", "00_instrument.ipynb", "The instrument: what it can resolve, and what it sees of a stall", "report-1",
    (
        *common("size"),
        Parameter("generators", ",".join(GENERATORS), "who sends the load, if found", choices=GENERATORS, several=True),
        *common("heap_mb", "selectors", "port"),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.results.generators import counts_a_stall, generator_adds, generator_costs

    reported = {"wrk2-adds": "medians of 0.6 to 1.1 ms, taken for the server's"}
    return tuple(Asked(Question(key, text, reported.get(key, "")), answer) for key, answer, text in (
        ("ours-adds", generator_adds("truepace"),
         "Does the lab's load generator add to the median of the simplest client?"),
        ("wrk2-adds", generator_adds("wrk2"), "Does wrk2 add to it?"),
        ("ours-stall", counts_a_stall("truepace"),
         "Does the lab's generator count every request that a frozen server makes wait?"),
        ("wrk2-stall", counts_a_stall("wrk2"), "Does wrk2 count them?"),
        ("blocking-stall", counts_a_stall("blocking"), "Does a blocking client count them?"),
        ("cpu", generator_costs, "Does the lab's generator take less CPU time per request than a plain epoll loop?"),
    ))  # fmt: skip
