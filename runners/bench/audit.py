"""`make bench-audit`: a thousand outputs audited by the command, the start of Python included, against a budget.

`make bench-audit CORPUS=folder` prints precision and recall by rule instead, for the documents in it that have labels.
The outputs are the published ones, each time with another number of requests and of errors, so that nothing which the
audit remembers of one helps it with the next.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from runners.bench.audit_corpus import lines
from runners.bench.row import Row, keep
from runners.readers.outputs import find_outputs
from runners.readers.published import ROOT
from runners.trial import machine

OUTPUTS = 1_000
BUDGET_S = 5.0
ROUNDS = 5
_COUNTED = re.compile(r"(?<=Non-2xx or 3xx responses: )\d+|\d+(?= requests in )")


def varied(text: str, by: int) -> str:
    """An output whose counts are others by a little, so that rate and time still agree."""
    return _COUNTED.sub(lambda found: str(int(found[0]) + by % max(1, int(found[0]) // 1_000)), text)


def texts() -> Iterator[tuple[str, int]]:
    """Published texts over and over, with the number of outputs in each."""
    known = [
        (path.read_text(encoding="utf-8"), len(find_outputs(path).outputs)) for path in sorted(ROOT.glob("*/*.txt"))
    ]
    for number, (text, outputs) in enumerate(cycle(known)):
        yield varied(text, number), outputs


def write(folder: Path) -> int:
    """A thousand outputs, one file a text; gives how many they are exactly."""
    written = 0
    for number, (text, outputs) in enumerate(islice(texts(), OUTPUTS)):
        if written >= OUTPUTS:
            break
        (folder / f"{number:04}.md").write_text(f"# Run {number}\n\n```\n{text}```\n", encoding="utf-8")
        written += outputs
    return written


def seconds(folder: Path) -> float:
    """One run of the command over the folder."""
    started = time.monotonic()
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lab")), "audit", str(folder), "--format", "json"],
        capture_output=True,
        check=False,
    )
    if done.returncode != 1:  # the published outputs do have faults
        raise SystemExit(done.stderr.decode(errors="replace"))
    return time.monotonic() - started


def main(folders: Sequence[str] = ()) -> int:
    """Run the benchmark, print its line, keep the JSON. Always 0: a figure, not a test."""
    for folder in folders:
        for line in lines(Path(folder)):
            print(line)
    if folders:
        return 0
    with tempfile.TemporaryDirectory() as name:
        outputs = write(Path(name))
        taken = tuple(seconds(Path(name)) for _ in range(ROUNDS))
    row = Row(f"audit/{outputs}-outputs/s-vs-budget", "s", taken, (BUDGET_S,) * ROUNDS, "<=", 1.0)
    print(row.line())
    print(f"kept in {keep('audit', [row], {'machine': machine.facts(), 'outputs': outputs})}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
