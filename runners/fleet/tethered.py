"""Run Python for as long as standard input is open: so what is started over SSH ends with its connection.

    python -m runners.fleet.tethered WORDS…      # as `python WORDS…`

An SSH server leaves what it started alone when the connection is gone, by whatever death of the other side, but closes
its standard input. What was started ends then under its guard, with all that it started.
"""

from __future__ import annotations

import os
import sys
import threading

from runners.process.supervisor import start

_GRACE_S = 4.0


def main(words: list[str]) -> int:
    """Run Python with these words; gives its exit code."""
    child = start([sys.executable, *words], stdout=sys.stdout.buffer, stderr=sys.stderr.buffer, grace_s=_GRACE_S)

    def hold() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            """Nothing is said to it."""
        child.stop(_GRACE_S)

    threading.Thread(target=hold, daemon=True).start()
    return child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
