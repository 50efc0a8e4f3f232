"""The first screen of a report: what was measured on what, the answers that matter most, and what its words mean."""

from __future__ import annotations

from collections.abc import Iterator

from runners import words
from runners.design.objective import THROUGHPUT
from runners.readers.run import Run
from runners.report import sentences
from runners.report.ladder import objectives, title
from runners.report.tables import Table
from runners.report.validity import marks_of
from runners.results.answer import Answered, Verdict
from runners.results.conclusion import Conclusion
from runners.results.results import Results

MOST_ANSWERS = 4

#: What a treatment of the lab's own server is, where its name does not say it.
TREATMENTS = {
    "rocksdb": "RocksDB with its defaults, behind the lab's server",
    "rocksdb-tuned": "RocksDB with larger buffers, a Bloom filter and a cache",
    "lsm": "the lab's own LSM store, in Java",
    "lsm-cold": "the same, just started and empty",
    "lsm-cache": "the same with a cache of 32 MiB",
    "leveldb": "LevelDB, in Java",
    "files": "a file a key",
    "memory": "a map on the heap, without durability",
    "direct": "no avoidable copies",
    "copied-values": "each value copied once more, as the original's code does",
    "string-keys": "each key made a text first, as the original's code does",
    "new-response": "a new response object a request, as the original's code does",
    "blocking-one": "one selector; it gives each request to a pool and waits for it (as published)",
    "blocking-many": "one selector a core; each gives a request to the pool and waits for it",
    "selector": "one selector a core; each handles its requests itself",
    "selector-one": "one selector, which handles its requests itself",
    "pool": "one selector a core; requests wait in the queue of a pool, and the selector goes on",
    "virtual": "one selector a core; requests are handled on virtual threads, and the selector goes on",
    "queue-array-16": "pool with a queue of 16 places",
    "queue-array-1024": "pool with a queue of 1024 places",
    "queue-lifo-1024": "pool with a queue of 1024 places, the newest request first",
    "queue-linked-1024": "pool with a linked list of 1024 places",
    "all-old": "three nodes as before the report's changes: a large pool, a lock around the HTTP client, Objects.hash",
    "one-node": "one node that holds all keys and passes nothing on",
    "fewer-objects": "all-old with one change: no unused response objects",
    "fewer-threads": "all-old with one change: the smaller pool",
    "no-lock": "all-old with one change: no lock around the HTTP client",
    "murmur3": "all-old with one change: murmur3 in place of Objects.hash",
    "all-new": "the smaller pool, no lock and murmur3 together",
    "blocking-2of3": "a copy on each node, two must respond; a thread waits for each response of a peer",
    "async-2of3": "the same with a client that holds no thread while it waits",
    "blocking-3of3": "a copy on each node, all must respond; a thread waits for each response of a peer",
    "async-3of3": "the same with a client that holds no thread while it waits",
    "sharded": "each key on one of three nodes, each a process of its own",
    "before": "JDK 17's HTTP server, requests on its dispatcher thread (as published before)",
    "after": "the same with a cached thread pool (as published after)",
    "nodelay": "after, started with -Dsun.net.httpserver.nodelay=true",
    "jdk25": "after, on JDK 25",
    "delayed": "jdk25 with the flag off: as slow as JDK 17 by default",
    "one-write": "after, with head and body of a response in one write",
    "lsm-as-published": "the LSM store as the reports had it",
    "lsm-all-on": "the same with a log, size-tiered compaction, Bloom filters, a row cache and a flush at 64 MiB",
    "reads-published": "the LSM store as the reports had it, half of the GETs for absent keys",
    "reads-size-tiered": "the same with size-tiered compaction",
    "reads-leveled": "the same with leveled compaction",
    "reads-bloom": "the same with a Bloom filter of ten bits a key and no compaction",
    "reads-size-tiered-bloom": "the same with size-tiered compaction and Bloom filters",
    "compaction-off": "the LSM store as the reports had it: tables are not merged",
    "compaction-size-tiered": "tables of about one size are merged in the background",
    "compaction-leveled": "tables are merged in the background into levels without overlap",
    "bloom-off": "the LSM store as the reports had it: every table may be searched",
    "bloom-10-bits": "a filter of ten bits a key tells which tables need not be searched",
    "cache-off": "the LSM store as the reports had it, most GETs for few keys",
    "cache-32m": "the same with values that are asked for often kept on the heap, up to 32 MiB",
    "flush-1m": "the LSM store as the reports had it: 1 MiB in memory becomes a table",
    "flush-64k": "64 KiB in memory become a table",
    "flush-16m": "16 MiB in memory become a table",
    "flush-128m": "128 MiB in memory become a table",
    "wal-off": "the LSM store as the reports had it: no log",
    "wal-buffered": "a write is logged before its response, into the kernel's buffers",
    "wal-sync": "a write is logged and forced to the disk before its response",
    "keys-published": "the LSM store as the reports had it: each key is made a String",
    "keys-direct": "keys stay bytes from the socket to the store",
    "copies-published": "the LSM store as the reports had it: each value is copied once more",
    "copies-direct": "a value is copied once, from where it lies to its response",
    "response-published": "the LSM store as the reports had it: a new response object a request",
    "response-direct": "responses without a body are made once, as bytes",
    "response-shared": "one response object for all requests, which breaks",
    "collector-g1": "the LSM store as the reports had it, on the collector G1",
    "collector-serial": "the same on the serial collector",
    "collector-parallel": "the same on the parallel collector",
    "collector-z": "the same on ZGC",
}


def summary(conclusion: Conclusion) -> Iterator[str]:
    """Yield what was measured on what, then the first decided answers, to claims of the original report before
    others.
    """
    run = conclusion.results.run
    machine = run.manifest.get("machine") or {}
    verdicts = [answered.answer.verdict for answered in conclusion.answers if answered.measured]
    parts = [f"{verdicts.count(verdict)} {verdict.value}" for verdict in Verdict if verdict in verdicts]
    if absent := len(conclusion.answers) - len(verdicts):
        parts.append(f"{absent} not measured")
    questions = (
        f"{words.several(len(conclusion.answers), 'question')}: {words.listed(parts)}" if verdicts else "Measured"
    )
    where = f" on {machine['cpu_model']}, {machine['cores']} cores" if machine.get("cpu_model") else ""
    yield words.sentence(f"{questions}{',' if verdicts and where else ''}{where}")
    if not verdicts:
        yield from (f"{title(ladder)}." for ladder in conclusion.results.ladders[:MOST_ANSWERS])
    decided = [
        (marks_of(number, conclusion), number, answered)
        for number, answered in enumerate(conclusion.answers, 1)
        if answered.answer.verdict != Verdict.INCONCLUSIVE
    ]
    decided.sort(key=lambda row: row[2].question.claimed is None)
    for marks, number, answered in decided[:MOST_ANSWERS]:
        mark = f" ⚠ A failed check touches this answer: see question {number}." if marks else ""
        yield f"{answered.question.text} {_in_short(answered)}{mark}"


def _in_short(answered: Answered) -> str:
    """Return the verdict with the first number behind it."""
    evidence = map(sentences.words_of, answered.answer.evidence[:1])
    return f"{': '.join([sentences.verdict_words(answered).removesuffix('.'), *evidence])}."


def terms(results: Results) -> Iterator[str]:
    """Yield the definitions that the answers need: of a knee, and of a closed loop where both are quoted."""
    objective = objectives(results.ladders)
    if objective:
        yield f"Knee: the highest rate that meets the objective ({objective})."
    if objective and any(comparison.primary == THROUGHPUT for comparison in results.comparisons):
        yield (
            "Closed-loop rate: every connection sends its next request as soon as its response has come. Compare it "
            "only between servers that were measured side by side: it is no capacity."
        )
    if any(row.at_least for comparison in results.comparisons for row in comparison.rows):
        yield (
            "A rate of “at least” was limited by the generator; a change of “at least” is the end of its interval "
            "nearest to no change."
        )


def treatments(run: Run) -> Table | None:
    """Return what each treatment of a run is; None where their names say it."""
    subjects = {step.subject for step in run.steps}
    rows = tuple((name, text) for name, text in TREATMENTS.items() if name in subjects)
    return Table("What is compared", ("treatment", "what it is"), rows, numeric=False) if len(rows) > 1 else None
