"""The server under requests that nobody would send: made from its OpenAPI description, and of plain bytes."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import status_code_conformance

from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.toolchain.build import DIST, prepare
from runners.toolchain.tools import SERVER_JAVA, require_jdk

pytestmark = pytest.mark.e2e

EXAMPLES = 1000 if os.environ.get("LAB_LONG") == "1" else 20
ANSWER_TIMEOUT_S = 10.0
#: The fronts read requests; what other executions add are threads.
MODES = (
    pytest.param(("one-nio", "selector"), marks=pytest.mark.long),
    ("one-nio", "pool"),
    pytest.param(("one-nio", "virtual"), marks=pytest.mark.long),
    ("jdk", "virtual"),
)
SCHEMA = schemathesis.openapi.from_path(str(SERVER_JAVA / "docs" / "openapi.yaml"))


@pytest.fixture(scope="module", params=MODES, ids="-".join)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    front, execution = request.param
    prepare("truepace", print)
    folder: Path = tmp_path_factory.mktemp("fuzz")
    flags = ("--front", front, "--execution", execution)
    running = launch(
        ServerSpec(require_jdk().java, DIST, "memory", folder / "server", folder / "data", server_flags=flags)
    )
    yield running
    assert running.alive()
    assert running.status()["requests"]["failed"] == 0, running.spec.log.read_text()
    running.stop()


@SCHEMA.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_request_of_the_description_gets_an_answer_that_it_names(
    case: schemathesis.Case[Any], server: RunningServer
) -> None:
    answer = case.call(base_url=server.url, timeout=ANSWER_TIMEOUT_S)  # a dropped connection raises
    case.validate_response(answer, checks=[not_a_server_error, status_code_conformance])


def _ask(server: RunningServer, request: bytes) -> bytes:
    """Sends bytes, closes the sending half and reads whatever comes."""
    with socket.create_connection(("127.0.0.1", server.ready["port"]), timeout=ANSWER_TIMEOUT_S) as connection:
        connection.sendall(request)
        answer = b""
        while more := connection.recv(65536):
            answer += more
            if b"\r\n\r\n" in answer:
                break
        return answer


METHODS = st.sampled_from(["GET", "PUT", "DELETE", "POST", "HEAD", "OPTIONS", "BREW"])
TARGETS = st.one_of(
    st.sampled_from(["/v0/entity", "/v0/entity?id=a", "/v0/entities?start=a", "/v0/status", "/", "*"]),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=60).map(lambda t: "/" + t),
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=60).map(lambda t: "/v0/entity?" + t),
)
FIELDS = st.lists(
    st.tuples(
        st.sampled_from(["Host", "Connection", "Content-Type", "X", "Accept"]),
        st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40),
    ),
    max_size=5,
)


@given(method=METHODS, target=TARGETS, fields=FIELDS)
@settings(max_examples=EXAMPLES * 3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_whole_head_is_answered_and_none_with_a_failure(
    server: RunningServer, method: str, target: str, fields: list[tuple[str, str]]
) -> None:
    lines = (f"{name}: {value}\r\n" for name, value in (("Host", "lab"), *fields))
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(lines) + "\r\n"
    answer = _ask(server, head.encode())
    assert answer.startswith(b"HTTP/1.1 "), (head, answer)
    assert not answer.startswith(b"HTTP/1.1 5"), (head, answer)


@given(noise=st.binary(min_size=1, max_size=300))
@settings(max_examples=EXAMPLES * 3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_that_are_no_request_are_answered_as_such(server: RunningServer, noise: bytes) -> None:
    answer = _ask(server, b"x" + noise.replace(b"\n", b" ") + b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 4"), (noise, answer)
