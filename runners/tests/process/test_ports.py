"""Ports in a row are free when they are given, all of them."""

from __future__ import annotations

import socket

import pytest

from runners.errors import ServerError
from runners.process import supervisor


@pytest.mark.parametrize("count", [1, 3, 8])
def test_ports_in_a_row_can_all_be_bound(count: int) -> None:
    first = supervisor.free_port(count)
    assert first >= supervisor.FIRST_PORT and first + count <= supervisor.LAST_PORT
    held = []
    try:
        for port in range(first, first + count):
            held.append(socket.create_server((supervisor.HOST, port)))
    finally:
        for listener in held:
            listener.close()


def test_a_port_that_is_taken_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((supervisor.HOST, 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(supervisor, "FIRST_PORT", port)
        monkeypatch.setattr(supervisor, "LAST_PORT", port + 2)
        with pytest.raises(ServerError, match="2 ports in a row: none free"):
            supervisor.free_port(2)
