"""Functions for servers under test of any kind: the end of a log, the error for a server that died, an HTTP client."""

from pathlib import Path

import httpx

from runners.errors import ServerError
from runners.process.supervisor import Child

LOG_TAIL_LINES = 15
EXIT_CODE_S = 10.0


def log_tail(path: Path) -> str:
    """Return the last lines of a log, or a note that it is empty or absent."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "(no log)"
    return "\n".join(text[-LOG_TAIL_LINES:]) or "(the log is empty)"


def death_of(thing: str, child: Child, log: Path) -> ServerError:
    """Return the error for `thing`, a server that has ended, with its exit code and the last lines of its log."""
    child.wait_up_to(EXIT_CODE_S)  # its guard may not have collected the exit code yet
    cause = f"died with exit code {child.poll()}; its last lines:\n{log_tail(log)}"
    return ServerError(thing, cause, "see its log for more, then launch it again")


def client(timeout_s: float) -> httpx.Client:
    """Return an HTTP client that uses no proxy and, like the generator, checks no certificate. The caller closes it."""
    return httpx.Client(timeout=timeout_s, trust_env=False, verify=False)  # noqa: S501 - servers often sign their own
