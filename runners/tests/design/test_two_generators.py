"""Where wrk2 is there, it sends one load of the reports that were measured with it, as truepace does."""

from __future__ import annotations

import pytest

from runners.design.block import FaultInjection
from runners.design.load import PUT, Rate
from runners.design.setting import Setting
from runners.design.two_generators import ROUNDS_OF_OTHERS, by_two_generators
from runners.experiments.registry import EXPERIMENTS, experiment


def test_both_generators_send_the_same_in_every_round() -> None:
    block = by_two_generators(Setting.of("lsm"), PUT, "quick", connections=8)
    rate = block.rate(10_000)
    assert rate.rps == 3_000
    rounds = block.loads(rate)
    assert [len(session.trials) for session in rounds] == [2, 2, 2]
    for session in rounds:
        assert {trial.generator for trial in session.trials} == {"truepace", "wrk2"}
        assert {(trial.workload.name, trial.rate, trial.shape) for trial in session.trials} == {
            (PUT.name, rate, block.shape)
        }
    assert len({trial.name for session in rounds for trial in session.trials}) == 6


def test_the_seconds_that_wrk2_calibrates_for_are_planned() -> None:
    block = by_two_generators(Setting.of("lsm"), PUT, "quick")
    (session, *_) = block.loads(Rate(1.0, "given"))
    truepace_s, wrk2_s = sorted(trial.planned_s for trial in session.trials)
    assert wrk2_s - truepace_s == 9.0, "ten seconds, of which truepace too has one as its warm-up"


@pytest.mark.parametrize("number", EXPERIMENTS)
@pytest.mark.parametrize("size", ["smoke", "quick", "full"])
def test_the_reports_that_wrk2_measured_have_one_such_load(number: str, size: str) -> None:
    plan = experiment(number)
    given = {"size": size} if any(parameter.name == "size" for parameter in plan.parameters) else {}
    blocks = [
        block for block in plan.blocks_of(plan.checked(given)) if isinstance(block, FaultInjection) and block.rounds
    ]
    assert len(blocks) == (number in ("01", "03", "04", "05"))
    assert all(block.rounds == (3 if size != "smoke" else 1) for block in blocks)


def test_a_size_that_has_no_length_of_its_own_has_the_longest() -> None:
    block = by_two_generators(Setting.of("lsm"), PUT, "another")
    assert (block.rounds, block.shape.duration_s) == ROUNDS_OF_OTHERS
