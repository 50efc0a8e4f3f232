"""The runs of commands: how long they are planned to take."""

from __future__ import annotations

import pytest

from runners.design.ladder import KneeSearch
from runners.design.load import SENTINEL_PLANNED_S
from runners.experiments.commands import KNEE


@pytest.mark.parametrize("minutes", [2.0, 10.0])
def test_the_minutes_of_a_knee_are_those_of_the_whole_run(minutes: float) -> None:
    asked = KNEE.checked({"setting": "lsm", "minutes": minutes})
    assert KNEE.planned_s(asked) + SENTINEL_PLANNED_S == pytest.approx(60 * minutes)


def test_a_short_knee_has_the_loads_without_which_nothing_can_be_found_or_confirmed() -> None:
    (search,) = KNEE.blocks_of(KNEE.checked({"setting": "lsm", "minutes": 0.5, "probe_s": 0.1}))
    assert isinstance(search, KneeSearch) and search.minutes == pytest.approx(search.least_minutes)
