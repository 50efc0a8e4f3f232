"""A load that truepace, the lab's generator, and wrk2 send to one warm server, to show what wrk2 adds to latency."""

from collections.abc import Sequence

from runners.design.block import FaultInjection
from runners.design.load import Shape, Workload
from runners.design.setting import Setting

TRUEPACE, WRK2 = "truepace", "wrk2"
NAME = "wrk2"
#: The offered rate as a share of the warm-up's closed loop: so small that neither generator is late.
SHARE = 0.3
#: For each size: the number of rounds, and the seconds of either generator's load in a round (wrk2's: ten more).
ROUNDS = {"smoke": (1, 0.5), "quick": (3, 2.0)}
ROUNDS_OF_OTHERS = (3, 20.0)
WARM_S, WARMUP_S = 2.0, 1.0


def by_two_generators(
    treatment: Setting, workload: Workload, size: str, connections: int = 1, questions: Sequence[str] = ()
) -> FaultInjection:
    """Return the block in which truepace and wrk2 send the same load; a run without wrk2 leaves the block out."""
    rounds, load_s = ROUNDS.get(size, ROUNDS_OF_OTHERS)
    title = f"{workload.label} by truepace and by wrk2: the same load, in rounds in random order"
    return FaultInjection(
        NAME, title, treatment, workload, (), Shape(connections, 1, load_s, WARMUP_S), WARM_S, share=SHARE,
        generators=(TRUEPACE, WRK2), questions=tuple(questions), rounds=rounds,
    )  # fmt: skip
