"""What tests ask of a host. It imports little: a host that imports for long at its first task loses its lease."""

from __future__ import annotations

import os
import time

from distributed import get_worker

from runners.fleet import workers


def host_pid(_lease: str) -> int:
    return os.getpid()


def held(seconds: float, lease: str) -> float:
    """Work until nobody wants it any more, for so long at most."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and not workers.lease_over(lease, began):
        time.sleep(0.05)
    return time.monotonic() - began


def resources(_lease: str) -> dict[str, float]:
    return dict(get_worker().state.available_resources)
