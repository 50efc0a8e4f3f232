"""`make bench-audit`: a thousand outputs audited by the command, the start of Python included, against a budget.

`make bench-audit CORPUS=folder` prints precision and recall by rule instead, for the documents in it that have labels.
The outputs are the published ones, each time with another number of requests and of errors, so that nothing which the
audit remembers of one helps it with the next.

The labelled documents are other people's and are not kept here: `audit_labels.json` holds the SHA-256 of each and the
faults that a reader sees in it, in sets: documents that the rules were repaired on, and others that were drawn later. A
fault is the code of a rule; `A|B` is one that either rule may name, `none` one that no rule names. The sets whose names
begin with "texts" are labelled for what is said of the figures alone, and only the rules about that are scored on them.
What lies in the folder and has no label is passed over.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from runners.audit.audit import audit
from runners.bench.fixture import Row, ending_in_order, keep, scratch
from runners.readers.finding import Severity
from runners.readers.outputs import find_outputs
from runners.readers.published import ROOT

LABELS = Path(__file__).with_name("audit_labels.json")
Labels = Mapping[str, tuple[str, ...]]
TEXTS = "texts"
ON_TEXTS = ("CMP", "DOC")  # rules about what is said of the figures


@dataclass(frozen=True, slots=True)
class Score:
    """How often a rule was right where it spoke, and how many of the faults that it can name were named."""

    code: str
    found: int
    right: int
    faults: int
    named: int

    def line(self) -> str:
        return (
            f"{self.code:14} precision {_share(self.right, self.found)} ({self.right} of {self.found})  "
            f"recall {_share(self.named, self.faults)} ({self.named} of {self.faults})"
        )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:6.1%}" if whole else "     -"


def read_labels(path: Path = LABELS) -> dict[str, Labels]:
    """Read the sets of labels: in each the faults of a document by its SHA-256."""
    sets = json.loads(path.read_text(encoding="utf-8"))
    return {each: {name: tuple(faults) for name, faults in labels.items()} for each, labels in sets.items()}


def labelled(folder: Path, labels: Labels) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Find the documents of a folder that have labels, each content once."""
    seen: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = hashlib.sha256(path.read_bytes()).hexdigest()
        if name in labels and name not in seen:
            seen.add(name)
            yield path, labels[name]


def findings(path: Path) -> set[str]:
    """Audit one document; notes are details and count for nothing."""
    found = audit([find_outputs(path)])
    return {remark.code for remark in found.remarks if remark.severity in (Severity.ERROR, Severity.WARNING)}


def score(folder: Path, labels: Labels, beginnings: tuple[str, ...] = ("",)) -> tuple[int, list[Score]]:
    """Score the rules of such codes on the labelled documents of a folder; the last score is of them all together."""
    found, right, faults, named = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    documents = 0
    for path, seen in labelled(folder, labels):
        documents += 1
        codes = {code for code in findings(path) if code.startswith(beginnings)}
        for code in codes:
            found[code] += 1
            right[code] += any(code in fault.split("|") for fault in seen)
        for fault in seen:
            either = fault.split("|")
            key = either[0]
            faults[key] += 1
            named[key] += bool(codes & set(either))
    rules = sorted({*found, *faults})
    scores = [Score(code, found[code], right[code], faults[code], named[code]) for code in rules]
    whole = Score("all rules", found.total(), right.total(), faults.total(), named.total())
    return documents, [*scores, whole]


def lines(folder: Path) -> Iterator[str]:
    """Say what the audit finds and misses in a folder of labelled documents."""
    for name, labels in read_labels().items():
        documents, scores = score(folder, labels, ON_TEXTS if name.startswith(TEXTS) else ("",))
        yield f"{name}: {documents} of {len(labels)} labelled documents in {folder}"
        if documents:
            yield from (each.line() for each in scores)


OUTPUTS = 1_000
BUDGET_S = 5.0
ROUNDS = 5
_COUNTED = re.compile(r"(?<=Non-2xx or 3xx responses: )\d+|\d+(?= requests in )")


def varied(text: str, by: int) -> str:
    """Return an output whose counts are others by a little, so that rate and time still agree."""
    return _COUNTED.sub(lambda found: str(int(found[0]) + by % max(1, int(found[0]) // 1_000)), text)


def texts() -> Iterator[tuple[str, int]]:
    """Published texts over and over, with the number of outputs in each."""
    known = [
        (path.read_text(encoding="utf-8"), len(find_outputs(path).outputs)) for path in sorted(ROOT.glob("*/*.txt"))
    ]
    for number, (text, outputs) in enumerate(cycle(known)):
        yield varied(text, number), outputs


def write(folder: Path) -> int:
    """Return a thousand outputs, one file a text; gives how many they are exactly."""
    written = 0
    for number, (text, outputs) in enumerate(islice(texts(), OUTPUTS)):
        if written >= OUTPUTS:
            break
        (folder / f"{number:04}.md").write_text(f"# Run {number}\n\n```\n{text}```\n", encoding="utf-8")
        written += outputs
    return written


def seconds(folder: Path) -> float:
    """Return one run of the command over the folder."""
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
    with ending_in_order(), scratch() as corpus:
        outputs = write(corpus)
        taken = tuple(seconds(corpus) for _ in range(ROUNDS))
    row = Row(f"audit/{outputs}-outputs/s-vs-budget", "s", taken, (BUDGET_S,) * ROUNDS, "<=", 1.0)
    return keep("audit", [row], outputs=outputs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
