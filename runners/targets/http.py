"""Questions of ours to a server on this machine."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path

import httpx


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: a client that is given none reads them all again, which takes longer than its question."""
    return httpx.create_ssl_context(trust_env=False)


def client(timeout_s: float, *, verify: bool = True, socket: Path | None = None) -> httpx.Client:
    """A client that goes straight to the server, or to its Unix socket: no proxy stands between. Close it."""
    if socket is not None:
        return httpx.Client(timeout=timeout_s, transport=httpx.HTTPTransport(uds=str(socket)))
    return httpx.Client(timeout=timeout_s, trust_env=False, verify=_certificates() if verify else False)
