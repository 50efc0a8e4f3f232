"""Limits of change: what they may be, and what is refused with a remedy."""

from __future__ import annotations

import pytest

from runners.design.objective import ChangeLimit
from runners.errors import PlanError


@pytest.mark.parametrize(
    ("text", "quantity", "above", "change", "written"),
    [
        ("p99>+10%", "p99_us", True, 0.1, "p99>+10%"),
        (" cpu > 3 % ", "cpu_us", True, 0.03, "cpu>+3%"),
        ("throughput<-2.5%", "closed_loop_rps", False, -0.025, "throughput<-2.5%"),
        ("errors>+.1%", "errors", True, 0.001, "errors>+0.1%"),
        ("p50>0%", "p50_us", True, 0.0, "p50>+0%"),
    ],
)
def test_a_limit_is_read(text: str, quantity: str, above: bool, change: float, written: str) -> None:
    limit = ChangeLimit.parse(text)
    assert (limit.quantity, limit.above, limit.text) == (quantity, above, written)
    assert limit.change == pytest.approx(change)


@pytest.mark.parametrize(
    "text",
    ["", "p99", "p99>10", "p99>=10%", "p98>1%", "p99<+10%", "p99>-10%", "throughput<-100%", "errors<-1%", "errors>100%",
     "p99>nan%", "p99>1e3%", "p99>1%;p50>1%", "cpu>+3%\n--x"],
)  # fmt: skip
def test_what_is_no_limit_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(PlanError, match="--fail-on") as raised:
        ChangeLimit.parse(text)
    assert raised.value.remedy
