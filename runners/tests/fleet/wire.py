"""A wire between two network namespaces that delays and loses packets, where the kernel has no netem: two TUN devices.

    python -m runners.tests.fleet.wire NAMESPACE NAMESPACE DEVICE DELAY_MS LOSS SEED

Prints `ready` once both devices, of the same name, are there. Each packet goes on after the delay, or with the chance
of the loss never; the order is kept.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import sys
import time

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000
_MOST_BYTES = 65_536


def tun(namespace: str, device: str) -> int:
    """A device in a namespace, whose packets this process reads and writes wherever it is."""
    libc = ctypes.CDLL(None, use_errno=True)
    there = os.open(f"/var/run/netns/{namespace}", os.O_RDONLY)
    if libc.setns(there, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(there)
    opened = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(opened, _TUNSETIFF, struct.pack("16sH", device.encode(), _IFF_TUN | _IFF_NO_PI))
    return opened


def main(first: str, second: str, device: str, delay_ms: float, loss: float, seed: int) -> None:
    """Carry packets until this process is ended."""
    ends = [tun(first, device), tun(second, device)]
    print("ready", flush=True)
    chance, numbers = random.Random(seed), itertools.count()
    under_way: list[tuple[float, int, int, bytes]] = []
    while True:
        wait_s = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for came in select.select(ends, [], [], wait_s)[0]:
            packet = os.read(came, _MOST_BYTES)
            if chance.random() >= loss:
                due = time.monotonic() + delay_ms / 1000
                heapq.heappush(under_way, (due, next(numbers), ends[came == ends[0]], packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, _, to, packet = heapq.heappop(under_way)
            try:
                os.write(to, packet)
            except OSError:
                continue  # the other end has no address yet, or is down


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]))
