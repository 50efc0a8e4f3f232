"""The plans of all experiments in all sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

from runners.design.block import Block, FixedRate, Interleaved
from runners.design.experiment import validate
from runners.design.ladder import KneeSearch, Ladder
from runners.design.load import SIZES
from runners.design.session import Session, specification
from runners.experiments.registry import EXPERIMENTS

MEASURED = [number for number, plan in EXPERIMENTS.items() if plan.blocks is not None and plan.notebook]


def first_loads(block: Block) -> Iterator[Session]:
    """Yield the closed loops from which a block chooses its rates."""
    if isinstance(block, FixedRate | Interleaved):
        yield from block.probes()
    elif isinstance(block, KneeSearch):
        yield from (server.warm_up(block.shape) for server in (block.server, *block.others))
    elif isinstance(block, Ladder):
        yield block.server.warm_up(block.shape)


@pytest.mark.parametrize("number", MEASURED)
@pytest.mark.parametrize("size", SIZES)
def test_closed_loops_of_one_name_are_the_same_load_so_that_a_resumed_run_reads_them_back(
    number: str, size: str
) -> None:
    plan = EXPERIMENTS[number]
    loads = defaultdict[str, set[str]](set)
    for block in plan.blocks_of(validate(plan.parameters, {"size": size})):
        for session in first_loads(block):
            loads[session.trials[0].name].add(specification(session))
    assert {name: len(plans) for name, plans in loads.items() if len(plans) > 1} == {}
