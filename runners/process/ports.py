"""Free ports in a row, for servers that must know each other's before they start."""

from __future__ import annotations

import contextlib
import random
import socket

from runners.errors import ServerError

HOST = "127.0.0.1"
#: Below the range from which systems give ports to clients, so that none is taken between the look and the start.
FIRST, LAST = 20_000, 30_000
_ATTEMPTS = 200


def in_a_row(count: int) -> int:
    """The first of so many free ports. Raises ServerError when none are found."""
    for _ in range(_ATTEMPTS):
        first = random.randrange(FIRST, LAST - count)  # noqa: S311 - any will do
        if all(_free(first + place) for place in range(count)):
            return first
    raise ServerError(
        f"{count} ports in a row", f"none free from {FIRST} to {LAST}", "end other servers, or give port="
    )


def _free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
