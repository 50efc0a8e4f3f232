"""Numbers are written one way, and reading them back gives the number."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners import words
from runners.words import DASH, MINUS, NBSP, THIN

SCALES = {"us": 1.0, "ms": 1e3, "s": 1e6}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (118, "118 us"),
        (7, "7 us"),
        (59.551, "59.6 us"),
        (999.6, "1.00 ms"),
        (1_020, "1.02 ms"),
        (44_480, "44.5 ms"),
        (999_700, "1.00 s"),
        (1_830_000, "1.83 s"),
        (0, "0 us"),
        (-7, f"{MINUS}7 us"),
        (None, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_latencies(value: float | None, text: str) -> None:
    assert words.latency(value) == text.replace(" ", NBSP)


def test_rates_counts_shares_and_sizes() -> None:
    assert words.rate(12_599.6) == f"12{THIN}600/s"
    assert words.count(3_959_100) == f"3{THIN}959{THIN}100"
    assert words.percent(0.0974) == f"9.74{NBSP}%"
    assert words.percent(0.266) == f"26.6{NBSP}%"
    assert words.percent(0.99994) == f"99.99{NBSP}%"
    assert words.percent(1) == f"100{NBSP}%"
    assert words.percent(1.6006) == f"160{NBSP}%"
    assert words.size(134_217_728) == f"134{NBSP}MB"
    assert words.seconds(14.0003) == f"14{NBSP}s"
    assert [words.level(level) for level in (0.5, 0.99, 0.999, 0.99999, 1.0)] == [
        "p50",
        "p99",
        "p99.9",
        "p99.999",
        "max",
    ]


def test_one_of_a_kind_has_no_s() -> None:
    reported = [words.several(number, "answer", " with an error") for number in (0, 1, 1.2, 2_000, None)]
    assert reported == [
        "0 answers with an error",
        "1 answer with an error",
        "1 answer with an error",
        f"2{THIN}000 answers with an error",
        f"{words.UNKNOWN} answers with an error",
    ]
    assert [words.connections(number) for number in (1, 64)] == ["one connection", "64 connections"]


def test_intervals_share_the_unit_of_their_value() -> None:
    assert words.latency_interval(118, 116, 121) == f"118{NBSP}us (116{DASH}121)"
    assert words.latency_interval(1_020, 980, 1_100) == f"1.02{NBSP}ms (0.98{DASH}1.10)"
    assert words.latency_interval(9, 7.59, 9.2) == f"9{NBSP}us (7{DASH}10)"
    assert words.latency_interval(1.7e6, 8_000, None) == f"at least 8.00{NBSP}ms", (
        "a bound far away is all that is known"
    )
    assert words.latency_interval(5, -1, 9) == f"5{NBSP}us ({MINUS}1{NBSP}to{NBSP}9)"
    assert words.latency_interval(6_587, 6_331, math.nan) == f"6.6{NBSP}ms (at least 6.3)"
    assert words.latency_interval(92, 73, 1_680) == f"92{NBSP}us (73{NBSP}us{DASH}1.68{NBSP}ms)"
    assert words.latency_interval(20, -90, 2_000) == f"20{NBSP}us ({MINUS}90{NBSP}us{NBSP}to{NBSP}2.00{NBSP}ms)"
    assert words.latency_interval(118, None, None) == f"118{NBSP}us"
    assert words.percent_interval(0.266, 0.2472, 0.2861) == f"26.6{NBSP}% (24.7{DASH}28.6)"


def test_a_wide_interval_bears_two_significant_digits_and_a_narrow_one_three() -> None:
    assert words.percent_interval(0.266, 0.2172, 0.3161) == f"27{NBSP}% (22{DASH}32)"
    assert words.latency_interval(5_620, 1_180, 8_310) == f"5.6{NBSP}ms (1.2{DASH}8.3)"
    assert words.change_interval(0.36, 0.342, 0.378) == f"+36.0{NBSP}% (+34.2 to +37.8)"
    assert words.change_interval(-0.0097, -0.0817, 0.0679) == f"{MINUS}1.0{NBSP}% ({MINUS}8.2 to +6.8)"
    assert words.change_interval(0.0004, -0.2, 0.2) == f"0{NBSP}% ({MINUS}20 to +20)"
    assert words.percent_interval(1.0, 0.9999, 1.0) == f"100{NBSP}%"


@given(st.floats(0.01, 1e9))
def test_a_latency_is_written_to_three_digits(value_us: float) -> None:
    match = re.fullmatch(rf"([\d.]+){NBSP}(us|ms|s)", words.latency(value_us))
    assert match is not None
    assert float(match[1]) * SCALES[match[2]] == pytest.approx(value_us, rel=0.006)


@given(st.floats())
def test_no_number_is_an_error(value: float) -> None:
    for written in (words.latency, words.count, words.rate, words.percent, words.size, words.seconds):
        assert written(value)


def test_lists_and_sentences() -> None:
    assert words.listed(["a", "b", "c"]) == "a, b and c"
    assert words.listed(["a"]) == "a"
    assert words.listed([]) == ""
    assert words.sentence("it holds") == "It holds."
    assert words.sentence("Said.") == "Said."
