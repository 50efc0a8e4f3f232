"""At twice the knee a bounded queue serves whom it lets in and refuses the others: all get an answer."""

from __future__ import annotations

import pytest

from runners.bench import overload, server
from runners.bench.stand import Result, stand
from runners.tests.counts import LONG, rounds

COMPILE_S = rounds(1, server.COMPILE_S)


@pytest.mark.e2e
def test_who_is_let_in_is_served_and_all_others_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "COMPILE_S", COMPILE_S)
    monkeypatch.setattr(overload, "ROUNDS", rounds(1, overload.ROUNDS))
    runs: list[tuple[int | None, Result]] = []
    with stand() as on, server.warm(on, on.spec("overload", overload.FLAGS)) as running:

        def load(connections: int, rate_rps: int | None) -> Result:
            runs.append((rate_rps, server.load(on, running, connections=connections, rate_rps=rate_rps)))
            return runs[-1][1]

        p99, _ = overload.rows(load, print)
        rejected = running.status()["requests"]["rejected"]
    highest = max(rate for rate, _ in runs if rate)
    above = [result for rate, result in runs if rate == highest]
    assert len(above) == overload.ROUNDS
    for result in above:
        served, refused = overload.accepted(result), overload.refused(result)
        assert served > 0
        assert refused > 0
        assert served + refused == sum(result["status"].values()) == result["requests"]["completed"]
    # The generator's figures leave its warm-up out; the server has counted that as well.
    assert rejected >= sum(overload.refused(result) for _, result in runs)
    if LONG:
        # A ratio of two loads of one server, in the median of the rounds; only here, where nothing else should run.
        with capsys.disabled():
            print(p99.line())
        assert p99.met
