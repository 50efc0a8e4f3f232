"""A table of the waits for locks, by setting, and what of them is the lock around the client between nodes."""

from __future__ import annotations

from runners.analysis import facts
from runners.claims import client_lock
from runners.claims.conclusion import Conclusion
from runners.readers.run import Run
from runners.report import numbers
from runners.report.section import Section
from runners.report.tables import Table

TEXT = (
    "Settings that took turns, once more while the profiler records who waits for a lock and how long. Waiting is "
    "added up over all threads, so it can be more than a second a second. Flame graphs follow under Waits for locks."
)


def section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose turns were profiled; None for any other."""
    found = client_lock.of_run(run)
    if not found:
        return None
    rows = tuple(
        (
            one.name,
            numbers.rate(facts.offered_rps(one.step)),
            numbers.seconds(one.all_s),
            numbers.seconds(one.client_s),
            numbers.share_interval(one.share.value, one.share.low, one.share.high) if one.share else numbers.NONE,
        )
        for one in found
    )
    head = ("setting", "offered", "waited in a second", "of it, client's lock", "share (95 %)")
    told = tuple(finding for finding in conclusion.findings if finding.figure == client_lock.ANCHOR)
    table = Table("Waits for locks", head, rows, "A dash: nobody waited for that lock.")
    return Section(client_lock.ANCHOR, "The lock around the client", TEXT, told, (), (table,))
