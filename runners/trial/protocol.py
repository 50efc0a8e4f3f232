"""Find the protocol of a server whose responses could not be read as HTTP/1.1."""

from __future__ import annotations

import contextlib
import socket
from urllib.parse import urlsplit

from runners.storage.schema import Spoken

_QUESTION_S = 2.0
_ENOUGH_BYTES = 9  # the head of a frame of HTTP/2 (RFC 9113, section 4.1)
_SETTINGS, _GOAWAY = 4, 7  # what a server of HTTP/2 may send first, or after what it can't read
_ALERT = b"\x15\x03"  # the head of a record of TLS that refuses (RFC 8446, section 5.1)


def spoken(url: str) -> Spoken:
    """Send one HTTP/1.1 request to a server's port, and return the protocol of the first bytes that come back."""
    address = urlsplit(url)
    if address.scheme != "http":
        return Spoken.UNKNOWN
    received = b""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((address.hostname or "127.0.0.1", address.port or 80), timeout=_QUESTION_S) as server,
    ):
        server.settimeout(_QUESTION_S)
        server.sendall(f"GET {address.path or '/'} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
        while len(received) < _ENOUGH_BYTES and (piece := server.recv(_ENOUGH_BYTES)):
            received += piece
    if not received:
        return Spoken.NOTHING
    if received.startswith(_ALERT):
        return Spoken.TLS
    whole = len(received) >= _ENOUGH_BYTES
    if whole and received[3] in (_SETTINGS, _GOAWAY) and not any(received[5:_ENOUGH_BYTES]):
        return Spoken.HTTP_2
    return Spoken.UNKNOWN
