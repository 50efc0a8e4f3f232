"""A server that spoils every tenth request in a known way and answers the others well.

`python bad_server.py KIND`: prints its port, serves until it is ended. It needs nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

EVERY = 10
SILENCE_S = 0.2
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


def _reset(stream: socket.socket) -> None:
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _half_and_silence(stream: socket.socket) -> None:
    stream.sendall(HEAD % 100 + b"half")
    time.sleep(SILENCE_S)


#: What is done in place of a response; the connection is closed after it.
SPOILT: dict[str, Callable[[socket.socket], None]] = {
    "garbage": lambda stream: stream.sendall(b"\x00\xffno answer at all\r\n\r\n"),
    "half-a-head": lambda stream: stream.sendall(b"HTTP/1.1 20"),
    "half-a-body": lambda stream: stream.sendall(HEAD % 100 + b"half"),
    "half-and-silence": _half_and_silence,
    "wrong-length": lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
    "broken-chunk": lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot hex\r\n"),
    "huge-head": lambda stream: stream.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-Padding: " + b"p" * 300_000 + b"\r\n"),
    "reset": _reset,
    "close": lambda _stream: None,
    "stops-reading": lambda _stream: time.sleep(SILENCE_S),
}


def _serve(stream: socket.socket, spoil: Callable[[socket.socket], None], numbers: itertools.count[int]) -> None:
    with stream, contextlib.suppress(OSError):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        text = b""
        while True:
            while b"\r\n\r\n" not in text:
                piece = stream.recv(4096)
                if not piece:
                    return
                text += piece
            text = text.partition(b"\r\n\r\n")[2]
            if next(numbers) % EVERY == EVERY - 1:
                spoil(stream)
                return
            stream.sendall(OK)


def main() -> None:
    """Serve for ever."""
    spoil = SPOILT[sys.argv[1]]
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(listener.getsockname()[1], flush=True)
    numbers = itertools.count()
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=_serve, args=(stream, spoil, numbers), daemon=True).start()


if __name__ == "__main__":
    main()
