"""Runs of one load on different things are a comparison without a word: what names the things, and what does not."""

from __future__ import annotations

import pytest

from runners.readers.finding import Severity
from runners.tests.audit.planted import REPORT, remarks
from runners.tests.fixtures.outputs import CLOSED, FASTER, replaced

FENCED = "{}\n\n```\n{}```\n\n{}\n\n```\n{}```\n"
SUMMARY = "".join(f"{line}\n" for line in CLOSED.splitlines()[3:6] + CLOSED.splitlines()[11:])  # says no load
PLAIN = replaced(CLOSED, (" -s get.lua", ""))


def on(host: str, script: str = "get.lua") -> str:
    return replaced(CLOSED, ("http://localhost:8080", host), ("get.lua", script))


def compared(first: str, second: str, one: str = CLOSED, other: str = FASTER, said: str = REPORT) -> bool:
    return "CMP003" in remarks(said + FENCED.format(first, one, second, other))


@pytest.mark.parametrize(
    ("first", "second", "compares"),
    [
        ("## warp", "## actix", True),
        ("Gateway\n-------", "Zuul\n----", True),
        ("## Синхронная обработка PUT", "## Асинхронная обработка PUT", True),
        ("Hyper example (release):", "Direkuta example (release):", True),
        ("################\ntesting puma\n################", "################\ntesting thin\n################", True),
        ("v1-fpm", "v1-preload", True),
        ("## memory backend\n\n### calculate", "## redis backend\n\n### calculate", True),
        ("## PUT", "## GET", False),
        ("## POST /orders", "## GET /baskets", False),
        ("## Run 1", "## Run 2", False),
        ("## First run", "## Second run", False),
        ("## Morning", "## Evening", False),
        ("## Rate 1000", "## 2 000 rps", False),
        ("## 64 connections", "## 128 connections", False),
        ("## Профилирование CPU", "## Профилирование alloc", False),
        ("НОДА НА ПОРТУ 8085:", "НОДА НА ПОРТУ 8083:", False),
        ("## Sequential requests over loopback", "## Parallel requests over 10GbE", False),
        ("## 短连接测试", "## 长连接测试", False),
        ("## warp", "## warp again", False),
        ("## warp", "## Results", False),
    ],
)
def test_runs_of_one_load_compare_what_their_titles_name(first: str, second: str, compares: bool) -> None:
    assert compared(first, second) is compares


@pytest.mark.parametrize(
    "changed",
    [
        (("-c2", "-c4"), ("2 connections", "4 connections")),
        (("-t2", "-t1"), ("2 threads", "1 threads")),
        (("-d1m", "-d2m"), ("1m test", "2m test"), ("1.00m", "2.00m")),
        ((" -s get.lua", " -R 200 -s get.lua"),),
        (("localhost:8080", "localhost:8080/users"),),
        (("get.lua", "put.lua"),),
    ],
)
def test_runs_of_other_loads_compare_nothing(changed: tuple[tuple[str, str], ...]) -> None:
    assert not compared("## Alpha", "## Beta", other=replaced(FASTER, *changed))


@pytest.mark.parametrize(
    ("first", "second", "compares"),
    [
        (on("http://flask:5000"), on("http://express:5000"), True),
        (on("http://localhost:8080"), on("http://localhost:9090"), True),
        (on("http://10.0.0.1:8080"), on("http://10.0.0.2:8080"), False),
        (on("http://localhost:8080/a"), on("http://localhost:9090/b"), False),
        (on("http://localhost", "search-mysql.lua"), on("http://localhost", "search-tarantool.lua"), True),
        (on("http://localhost", "add.lua"), on("http://localhost", "sub.lua"), False),
        (SUMMARY, SUMMARY, False),
        (f"#=> POLKA\n{SUMMARY}", f"#=> EXPRESS\n{SUMMARY}", True),
    ],
)
def test_hosts_ports_scripts_and_captions_in_a_console_name_things(first: str, second: str, compares: bool) -> None:
    assert ("CMP003" in remarks(f"{REPORT}```\n{first}\n{second}```\n")) is compares


def test_a_node_of_several_on_its_own_port_is_no_alternative() -> None:
    runs = [on(f"http://localhost:{port}") for port in (8080, 8081, 8080)]
    assert "CMP003" not in remarks(REPORT + "".join(f"```\n{run}```\n" for run in runs))


def test_of_a_bare_record_a_comparison_is_a_note() -> None:
    bare = FENCED.format("## warp", CLOSED, "## actix", FASTER)
    assert remarks(bare)["CMP003"].severity is Severity.NOTE
    assert remarks(REPORT + bare)["CMP003"].severity is Severity.WARNING
    assert remarks(f"Intel i7, 8 cores\n\n{bare}")["CMP003"].severity is Severity.WARNING


def test_runs_that_were_repeated_are_compared_well() -> None:
    runs = "".join(f"## {name}\n\n```\n{PLAIN}```\n" * 3 for name in ("warp", "actix"))
    assert not {"CMP003", "SMP004"} & {*remarks(REPORT + runs)}


def test_runs_of_several_things_under_captions_of_a_script_are_no_repeats() -> None:
    names = ("rpxy", "nginx", "caddy", "sozu")
    text = "".join(f"----------\nBenchmark on {name}\n{CLOSED.partition(chr(10))[2]}\nsleep 3 secs\n" for name in names)
    assert {"CMP003", "SMP004"} <= {*remarks(f"{REPORT}```\n{text}```\n")}


def test_two_runs_of_each_alternative_may_be_of_two_settings() -> None:
    runs = "".join(f"```\n{name}:\n{CLOSED.partition(chr(10))[2]}```\n" for name in ("Rust", "Python"))
    assert {"CMP003", "SMP004"} <= {*remarks(f"{REPORT}MAX=10\n{runs}MAX=50\n{runs}")}


def test_who_sets_alternatives_side_by_side_reports_a_measurement() -> None:
    said = "# Rust language tests\n\nDescribed in this repository.\n\n"
    text = FENCED.format("Actix\n-----\n### Easy", PLAIN, "Rocket\n------\n### Easy", PLAIN)
    assert {"CMP003", "RUN006", "SMP004"} <= {*remarks(said + text)}
    assert not {"RUN006", "SMP004"} & {*remarks(said + text.replace("Rocket", "Actix"))}


@pytest.mark.parametrize("url", ["http://localhost:8080->", "http://[::1", "http://:x/", "nonsense"])
def test_addresses_that_are_none_name_nothing(url: str) -> None:
    assert not compared("## Run 1", "## Run 2", one=on(url), other=on(url))
