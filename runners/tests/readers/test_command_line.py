"""Commands of a generator, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.readers.command_line import find_command, parse_command


@pytest.mark.parametrize(
    "line",
    [
        "$ wrk2 -R 12k -c 64 -t 6 -d 2m -s put.lua -L http://127.0.0.1:8080",
        "user@host:~$ ./wrk2 -R12000 -c64 -t6 -d120 -s put.lua --latency http://127.0.0.1:8080",
        "wrk2 --rate=12000 --connections 64 --threads=6 --duration=120s --script put.lua -L http://127.0.0.1:8080",
        "!wrk2 -R 12000 -c 64 -t 6 -d 2m -s put.lua -L http://127.0.0.1:8080",
        "we ran `wrk2 -R 12000 -c 64 -t 6 -d 2m -s put.lua -L http://127.0.0.1:8080`, and `top` beside it:",
        "`/opt/bin/wrk2 -R 12000 -c 64 -t 6 -d 2m -s put.lua -L http://127.0.0.1:8080`",
    ],
)
def test_one_command_in_many_forms(line: str) -> None:
    command = find_command(line)
    assert command is not None
    assert command.tool == "wrk2"
    assert (command.rate_rps, command.connections, command.threads, command.duration_s) == (12_000, 64, 6, 120)
    assert (command.script, command.url) == ("put.lua", "http://127.0.0.1:8080")


@pytest.mark.parametrize(
    "line",
    ["we used wrk2 for this", "wrk is a tool", "run wrk -h", "", "s.put.lua -L", "`wrk2 -R 9` at http://h, `wrk -L`"],
)
def test_prose_is_no_command(line: str) -> None:
    assert find_command(line) is None


def test_headers_arguments_of_a_script_and_open_quotes() -> None:
    command = parse_command("truepace -H 'A: b c' -H 'D: e' -U --timeout 2s http://h -- 100 'x y'")
    assert (command.timeout_s, command.url) == (2, "http://h")
    assert {parse_command(f"./{name} -R 9 http://h").tool for name in ("loadgen", "truepace")} == {"truepace"}
    assert parse_command("wrk -H 'never closed http://h").tool == "wrk"


def test_a_switch_takes_no_value_and_a_body_is_no_address() -> None:
    command = parse_command("truepace -R 9 --wrk-compat --summary http://h")
    assert (command.rate_rps, command.url) == (9, "http://h")
    command = parse_command("truepace -m PUT -b http://body --body=x http://h")
    assert command.url == "http://h"


def test_absurd_numbers_are_no_numbers() -> None:
    command = parse_command(f"wrk -t inf -c {'9' * 5000} -d nan -R -- http://h")
    assert (command.threads, command.connections) == (None, None)


@given(st.text())
def test_no_line_is_an_error(line: str) -> None:
    find_command(line)
    parse_command(line)
