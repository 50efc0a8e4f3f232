"""An HTTP server for tests that answers each request after the next delay of a cycle, and keeps how long that took.

`python delay_server.py 20000,20000,40000` takes the cycle in microseconds and prints its port. Each `GET /delayed` is
kept: from the moment when the kernel had the request (its own stamp on the bytes, so a server that wakes up late counts
that as its own time) to the one before the response is handed to the kernel. `GET /recorded` gives what was kept,
a JSON list of microseconds. One thread, so that no response waits for a lock; without the kernel's stamps (they are
Linux's) the time starts when the request is read.
"""

from __future__ import annotations

import gc
import heapq
import json
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass, field

#: SO_TIMESTAMPNS of Linux, which Python has no name for; its control message has the same number.
SO_TIMESTAMPNS = 35
STAMP = struct.Struct("qq")
NS_PER_S = 1_000_000_000


@dataclass
class Client:
    """A connection and what it has sent of a request."""

    connection: socket.socket
    head: bytes = b""


@dataclass
class DelayServer:
    """Requests wait in a heap by when they are due; the loop sleeps until the first one is."""

    cycle_us: list[int]
    listening: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=256))
    recorded_us: list[float] = field(default_factory=list)
    due: list[tuple[int, int, int, Client]] = field(default_factory=list)
    waiting: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    asked: int = 0

    def serve(self) -> None:
        """For ever."""
        self.waiting.register(self.listening, selectors.EVENT_READ)
        while True:
            left_s = max(0, self.due[0][0] - time.time_ns()) / NS_PER_S if self.due else None
            for key, _ in self.waiting.select(left_s):
                if key.data is None:
                    self._accept()
                else:
                    self._read(key.data)
            while self.due and self.due[0][0] <= time.time_ns():
                self._answer()

    def _accept(self) -> None:
        connection, _ = self.listening.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sys.platform == "linux":
            connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.waiting.register(connection, selectors.EVENT_READ, Client(connection))

    def _read(self, client: Client) -> None:
        try:
            part, notes, _, _ = client.connection.recvmsg(8192, 64)
        except OSError:
            part, notes = b"", []
        if not part:
            self.waiting.unregister(client.connection)
            client.connection.close()
            return
        client.head += part
        if not client.head.endswith(b"\r\n\r\n"):
            return
        line, client.head = client.head.partition(b"\r\n")[0], b""
        if b"/recorded" in line:
            self._send(client, json.dumps(self.recorded_us).encode())
            return
        begin_ns = time.time_ns()
        for level, kind, data in notes:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = STAMP.unpack(data[: STAMP.size])
                begin_ns = seconds * NS_PER_S + nanoseconds
        due_ns = begin_ns + self.cycle_us[self.asked % len(self.cycle_us)] * 1000
        self.asked += 1
        heapq.heappush(self.due, (due_ns, self.asked, begin_ns, client))

    def _answer(self) -> None:
        _, _, begin_ns, client = heapq.heappop(self.due)
        self.recorded_us.append((time.time_ns() - begin_ns) / 1000)
        self._send(client, b"ok")

    @staticmethod
    def _send(client: Client, body: bytes) -> None:
        try:
            client.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        except OSError:
            return  # a client that went away is read as gone


def stamped() -> socket.socket:
    """A socket on which the kernel stamps what comes in; it begins that some time after it was asked to."""
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    own.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    while True:
        own.sendto(b"?", own.getsockname())
        time.sleep(0.002)
        read_ns = time.time_ns()
        ((_, _, stamp),) = own.recvmsg(1, 64)[1]
        seconds, nanoseconds = STAMP.unpack(stamp[: STAMP.size])
        if seconds * NS_PER_S + nanoseconds < read_ns:  # else it was stamped when it was read
            return own


if __name__ == "__main__":
    kept = stamped() if sys.platform == "linux" else None
    gc.disable()  # nothing here is cyclic, and no collection shall hold a response up
    server = DelayServer([int(delay) for delay in sys.argv[1].split(",")])
    print(server.listening.getsockname()[1], flush=True)
    server.serve()
