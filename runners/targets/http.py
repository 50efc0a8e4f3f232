"""Questions of ours to a server on this machine."""

from __future__ import annotations

import functools
import ssl

import httpx


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: a client that is given none reads them all again, which takes longer than its question."""
    return httpx.create_ssl_context(trust_env=False)


def client(timeout_s: float, *, verify: bool = True) -> httpx.Client:
    """A client that goes straight to the server: no proxy of the environment stands between. Close it."""
    return httpx.Client(timeout=timeout_s, trust_env=False, verify=_certificates() if verify else False)
