"""See to it that a store holds what a load will ask for."""

from __future__ import annotations

import httpx

from runners.errors import MeasureError
from runners.targets.base import Target
from runners.targets.http import client

CHECKED_KEYS = 50
_TIMEOUT_S = 10.0


def _url(server: Target, key: int) -> str:
    return f"{server.url}/v0/entity?id={key}"


def fill_by_hand(server: Target, keys: int, value_bytes: int) -> None:
    """PUT ids 1..keys one after the other, for machines without our generator (wrk2 can't count)."""
    with client(_TIMEOUT_S) as asking:
        for key in range(1, keys + 1):
            asking.put(_url(server, key), content=b"v" * value_bytes).raise_for_status()


def check_written(subject: str, keys: int, completed: int, refused: int) -> None:
    """See that every request of a fill had its response, and none an error. Raises MeasureError."""
    if completed < keys or refused:
        cause = f"of {keys:,} requests of its fill {completed:,} had a response, {refused:,} of them an error"
        raise MeasureError(f"target {subject}", cause, "see its log; `fill` in its description says what is sent")


def check_filled(server: Target, keys: int) -> None:
    """Read the first, the last and some ids between. Raises MeasureError that names a missing one."""
    step = max(1, keys // CHECKED_KEYS)
    with client(_TIMEOUT_S) as asking:
        for key in [*range(1, keys + 1, step), keys]:
            answer = asking.get(_url(server, key))
            if answer.status_code != httpx.codes.OK:
                raise MeasureError(
                    f"store {server.engine}",
                    f"id {key} of 1..{keys} answers {answer.status_code} after the fill",
                    "see the server's log; the store may have refused writes",
                )
