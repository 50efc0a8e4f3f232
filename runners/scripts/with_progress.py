"""Run a command and print every ten seconds how long it has run. The Makefile uses it before packages are installed.

    with_progress.py [--growing FOLDER --of COUNT] TEXT COMMAND...

With `--growing` it also prints how many entries FOLDER has gained since the start, of at most COUNT. It exits with the
exit code of the command.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time

EVERY_S = 10.0


def entries(folder: str) -> int:
    """Return the number of entries in a folder; 0 if the folder is not there yet."""
    with contextlib.suppress(OSError):
        return len(os.listdir(folder))  # noqa: PTH208
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--growing")
    parser.add_argument("--of", type=int, default=0)
    parser.add_argument("text")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    before, began_s = entries(given.growing or ""), time.monotonic()
    with subprocess.Popen(given.command) as child:
        while True:
            try:
                return child.wait(EVERY_S)
            except subprocess.TimeoutExpired:
                more = f", {entries(given.growing) - before} of at most {given.of}" if given.growing else ""
                print(f"  {given.text}: {time.monotonic() - began_s:.0f} s{more}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
