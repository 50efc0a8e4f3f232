"""Servers that fail in a known way, each by a word: `python failing_server.py PORT KIND`. Standard library alone.

- `limited`: 100 responses/s, after these 429.
- `absent`: 404 to everything.
- `http2`: HTTP/2 with prior knowledge alone: SETTINGS, then GOAWAY, and the connection is closed.
- `dies`: ends by itself after a thousand requests, and says why in its log.
- `idle-close`: closes a connection after each fifth response, as servers do that close idle ones.
"""

from __future__ import annotations

import os
import socketserver
import sys
import threading
import time

PER_SECOND, LIVES, KEPT = 100, 1_000, 5
LAST_WORDS = "out of invented memory"
#: A frame of SETTINGS, then one of GOAWAY with PROTOCOL_ERROR (RFC 9113).
HTTP_2 = bytes.fromhex("0000000400000000000000080700000000000000000000000001")
KIND = "".join(sys.argv[2:3])  # none where a test reads what stands here


class Counted:
    """Requests of this second and of all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.second, self.in_second, self.all = 0, 0, 0

    def status(self) -> int:
        """Count one more request; return the status of its response."""
        with self._lock:
            now = int(time.time())
            self.in_second = 1 if now != self.second else self.in_second + 1
            self.second, self.all = now, self.all + 1
            if KIND == "dies" and self.all > LIVES:
                print(LAST_WORDS, flush=True)
                os._exit(3)
            over = KIND == "limited" and self.in_second > PER_SECOND
        return 429 if over else 404 if KIND == "absent" else 200


class Handler(socketserver.StreamRequestHandler):
    """Answers one connection."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer until the other side has no more."""
        answered = 0
        while self.rfile.readline():
            while self.rfile.readline().strip():
                pass
            if KIND == "http2":
                self.wfile.write(HTTP_2)
                return
            self.wfile.write(b"HTTP/1.1 %d X\r\nContent-Length: 3\r\n\r\nok\n" % COUNTED.status())
            answered += 1
            if KIND == "idle-close" and answered % KEPT == 0:
                return


class Server(socketserver.ThreadingTCPServer):
    """A thread a connection."""

    allow_reuse_address, daemon_threads, request_queue_size = True, True, 256


COUNTED = Counted()

if __name__ == "__main__":
    Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
