"""Knees in words: one sentence for a setting's loads, one for settings under a load, and nothing that is not known."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from runners.analysis.knee import TAIL, Answer, Curve, Kind
from runners.analysis.quantities import one_sided
from runners.claims.climbing import Ladder, between, ladders, ranked, together
from runners.claims.conclude import conclude
from runners.design.objective import Objective
from runners.readers.reading import read_run
from runners.readers.run import Run, Step
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.schema import StepRecord
from runners.tests.fixtures.ladder_run import make_ladder

MET_ONLY = (500.0, 1_000.0)
AROUND = (1_000.0, 2_000.0, 4_000.0, 2_800.0, 2_100.0, 1_900.0, 2_000.0, 2_050.0)


class Known(Ladder):
    """A ladder whose answer is given, its posterior a normal deviate between the ends of the interval."""

    @property
    def answer(self) -> Answer | None:
        return ANSWERS[self.name]

    @property
    def curve(self) -> Curve | None:
        found = ANSWERS[self.name]
        if not found.known_below:
            return None
        low, high = math.log(found.low_rps), math.log(1.3 * found.low_rps if found.late else found.high_rps)
        places = np.linspace(2 * low - high - 0.1, 2 * high - low + 0.1, 400)
        weights = norm.pdf(places, (low + high) / 2, max(high - low, 0.01) / 2 / norm.ppf(1 - TAIL))
        return Curve(places, weights[None, :] / weights.sum())

    @property
    def lower_curve(self) -> Curve | None:
        return self.curve


ANSWERS: dict[str, Answer] = {}
#: Only one search over several starts looks at others of its run.
RUN = Run(RunFolder(Path("knee")), {}, ())


def known(subject: str, answer: Answer, workload: str = "put") -> Ladder:
    name = f"{workload}-{subject}"
    ANSWERS[name] = answer
    about = StepRecord(treatment=subject, workload=workload, connections=64)
    step = Step(name, about, StepFolder(Path(name)), {})
    return Known(name, (step,), Objective(), None)


def found(rps: float, low: float, high: float) -> Answer:
    return Answer(Kind.FOUND, rps, low, high, True, math.inf)


def lost(kind: Kind) -> Answer:
    return Answer(kind, math.nan, 1_000.0, 900.0, False, math.inf)


def test_whose_ratio_to_the_first_may_be_one_is_not_distinguished_from_it_and_the_rest_are_behind() -> None:
    settings = [known("a", found(100, 90, 120)), known("b", found(200, 150, 250)), known("c", found(180, 140, 300))]
    text = ranked(RUN, "put", settings)
    begin, _, shares = text.partition("; below it lies a by ")
    assert begin == "PUT over 64 connections: b has the highest knee, 200/s"
    assert shares.endswith("; inconclusive against it: c.")
    least, most = (float(share) for share in re.findall(r"([\d.]+)\u00a0%", shares))
    assert 20 < least < 50 < most < 64, "100 of 200, and no less than 120 of 150 nor more than 90 of 250 either"


def test_a_knee_that_is_not_known_is_named_and_one_beyond_all_that_was_asked_stands_first() -> None:
    settings = [known("a", found(100, 90, 120)), known("b", found(90, 80, 95)), known("c", lost(Kind.OPEN))]
    assert ranked(RUN, "put", settings).endswith("; inconclusive against it: b; the knee of c is not known.")
    for kind in (Kind.ABOVE, Kind.OPEN):
        beyond = [*settings[:2], known("c", Answer(kind, math.nan, 300.0, math.nan))]
        text = "c above 300/s, known from below only; a has the highest knee of the others, "
        assert text in ranked(RUN, "put", beyond)
    assert ranked(RUN, "put", [settings[2]]) == ""


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1.0, 3.0), st.floats(1.0, 3.0)), min_size=1, max_size=6))
def test_each_setting_is_named_once_or_as_the_first_whatever_the_knees(
    given_: list[tuple[float, float, float]],
) -> None:
    settings = [
        known(f"setting-{place}", found(rps, rps / down, rps * up)) for place, (rps, down, up) in enumerate(given_)
    ]
    text = ranked(RUN, "put", settings)
    assert [text.count(f"setting-{place}") for place in range(len(given_))] == [1] * len(given_)
    assert text.count("below it") + text.count("inconclusive") >= (len(given_) > 1)


def test_a_knee_that_is_known_from_below_only_leaves_a_ratio_open_on_one_side() -> None:
    late = known("late", Answer(Kind.ABOVE, math.nan, 300.0, math.nan, late=True))
    slow = known("slow", found(100, 90, 120))
    above, below, open_ = (between(RUN, *pair) for pair in ((late, slow), (slow, late), (late, late)))
    assert above is not None and 2.3 < above.low < 3.4 and above.high == math.inf
    assert below is not None and below.low == 0 and 0.29 < below.high < 0.44
    assert open_ is not None and (open_.low, open_.high) == (0.0, math.inf)
    assert one_sided(above.low - 1, above.high - 1).endswith("% higher")
    assert one_sided(below.low - 1, below.high - 1).endswith("% lower")
    text = ranked(RUN, "put", [late, slow])
    assert "late above 300/s, known from below only; " in text and "highest" not in text


def test_loads_of_one_setting_share_a_sentence(tmp_path: Path) -> None:
    folder = make_ladder(tmp_path, AROUND)
    run = read_run(folder)
    (ladder,) = ladders(run)
    assert together([ladder]) == ""  # one alone has its own, fuller sentence
    text = together([ladder, ladder])
    assert text.startswith("On 64 connections LSM keeps p99 within 10\u00a0ms up to ") and text.count("of PUT") == 2
    assert together([ladder, known("other", found(1, 1, 1))]) == ""


def test_many_searches_without_a_knee_are_an_answer(tmp_path: Path) -> None:
    folder = None
    for name in "abcd":
        folder = make_ladder(tmp_path, MET_ONLY, name=f"put-{name}", subject=name, into=folder)
    assert folder is not None
    assert conclude(read_run(folder), {}).answer == "None of the 4 searches found a knee."
