"""The typed results of a run, computed once. Answers, checks and report are made from them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from runners.analysis import instrument
from runners.analysis.comparison import Comparison
from runners.analysis.instrument import Floor, Stall
from runners.analysis.interleaved import comparisons
from runners.readers.console_report import ConsoleReport
from runners.readers.run import Run, Step
from runners.results.faults import Outage, outages
from runners.results.ladders import Ladder, ladders
from runners.results.loops import Loop, of_run
from runners.results.stores import Store, stores
from runners.results.trends import Trend, trends_of


@dataclass(frozen=True, eq=False)  # without slots, for what is worked out once
class Results:
    """The results of one run; a result is computed when it is first read."""

    run: Run
    #: The published outputs that the run is compared with, by name (`report-1/put`).
    published: Mapping[str, ConsoleReport] = field(default_factory=dict)

    comparisons = cached_property[tuple[Comparison, ...]](lambda self: comparisons(self.run))
    ladders = cached_property[tuple[Ladder, ...]](lambda self: ladders(self.run))
    loops = cached_property[tuple[Loop, ...]](lambda self: tuple(of_run(self.run)))
    #: The latencies that load generators measure on a server that does nothing.
    floors = cached_property[tuple[Floor, ...]](lambda self: tuple(instrument.floors(self.run.steps)))
    #: The latencies that generators recorded of a frozen server.
    stalls = cached_property[tuple[Stall, ...]](lambda self: tuple(instrument.stalls(self.run.find(kind="stall"))))
    outages = cached_property[tuple[Outage, ...]](lambda self: tuple(outages(self.run.steps)))
    stores = cached_property[tuple[Store, ...]](lambda self: tuple(stores(self.run)))
    #: None unless the run looked at the history of runs.
    trends = cached_property[tuple[Trend, ...] | None](lambda self: trends_of(self.run))

    @cached_property
    def offered(self) -> tuple[Ladder, ...]:
        """The ladders that do not search for a knee."""
        return tuple(ladder for ladder in self.ladders if ladder.search is None)

    @cached_property
    def server_cores(self) -> int:
        """The most cores that a server was bound to; 0 if any server was not bound, or no server was started."""
        kept = [len(step.record.server.cpus or ()) for step in self.run.steps if step.record.server.command]
        return max(kept, default=0) if all(kept) else 0

    def searched(self, workload: str, subject: str) -> Ladder | None:
        """Return the search for the knee of a setting (`subject`) under a workload; None if none has a knee."""
        searches = (ladder for ladder in self.ladders if ladder.search is not None and ladder.knee is not None)
        alike = (ladder for ladder in searches if ladder.steps[0].workload == workload)
        return next((ladder for ladder in alike if subject in (ladder.steps[0].subject, ladder.server)), None)

    def published_output(self, workload: str) -> tuple[str, ConsoleReport] | None:
        """Return (name, output) of the published output that a workload reproduces; None if there is none."""
        return next((item for item in self.published.items() if item[0].rpartition("/")[2] == workload), None)

    def clean_loads(self) -> Iterator[Step]:
        """Yield the loads of fixed-rate blocks, without loads during which a profiler ran."""
        yield from self.run.find(kind="load", profiled=False)
