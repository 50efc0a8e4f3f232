"""The answers of one connection as they come, byte by byte: for a fault that only their heads show."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from runners.targets.lab_server import RunningServer

_TIMEOUT_S = 10.0
_END = b"\r\n\r\n"
MOST_BYTES = 4 << 20  # a head that is longer has shown what it is there for


def heads(server: RunningServer, count: int, body: bytes = b"v") -> list[dict[str, int]]:
    """PUT the same key so often, on one connection; of each answer its number, the bytes and the fields of its head.

    Fewer when the connection ends or an answer is absurdly long; that is a finding and no error.
    """
    return list(_heads(server, count, body))


def _heads(server: RunningServer, count: int, body: bytes) -> Iterator[dict[str, int]]:
    request = f"PUT /v0/entity?id=a HTTP/1.1\r\nHost: lab\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    rest = b""
    try:
        with socket.create_connection(("127.0.0.1", int(server.ready["port"])), timeout=_TIMEOUT_S) as connection:
            for number in range(1, count + 1):
                connection.sendall(request)
                while _END not in rest:
                    more = connection.recv(1 << 16)
                    if not more or len(rest) > MOST_BYTES:
                        return
                    rest += more
                head, _, rest = rest.partition(_END)
                yield {"number": number, "bytes": len(head) + len(_END), "fields": head.count(b"\r\n")}
    except OSError:
        return
