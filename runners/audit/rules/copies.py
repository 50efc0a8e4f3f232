"""DOC003: outputs that agree to the last digit and are given for different loads."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from runners.audit.rule import Group, Seen, rule
from runners.readers import write
from runners.readers.finding import Severity
from runners.readers.output import Output

ENOUGH_ROWS = 4  # percentiles; outputs that agree in fewer may be two
MOST_COMPARED = 60  # outputs of one document


def _rows(output: Output) -> tuple[tuple[float, float], ...]:
    return output.report.latencies.rows


@rule("DOC003", "one-output-twice", Severity.ERROR, "put the second run's own output in its place")
def _same_output(group: Group) -> Iterator[Seen]:
    """One output is given for two different loads."""
    known = [output for output in group if len(_rows(output)) >= ENOUGH_ROWS][:MOST_COMPARED]
    for first, second in combinations(known, 2):
        if _rows(first) != _rows(second):
            continue
        loads = (
            (write.rate, first.offered_rps, second.offered_rps),
            (_connections, first.connections, second.connections),
        )
        for say, one, other in loads:
            if one and other and one != other:
                said = f"given there for {say(one)} and here for {say(other)}"
                yield Seen(second, f"it is the output of {first.place} once more, {said}", {"first": first.place})
                break
    yield from _given_twice(group)


def _given_twice(group: Group) -> Iterator[Seen]:
    """Find an output that stands for another of a series too: its counts and latencies agree to the last digit."""
    places: dict[object, int] = {}
    for index, output in enumerate(group):
        report = output.report
        if not (report.requests and report.requests_per_s and report.latency):
            continue
        figures = (report.requests, report.requests_per_s, report.latency, _rows(output))
        same = places.setdefault((*figures, output.offered_rps, output.connections), index)
        if report.latency.mean and index - same > 1:
            between = write.several(index - same - 1, "other output")
            text = f"it is the output of {group[same].place} once more, with {between} between"
            yield Seen(output, text, {"first": group[same].place})


def _connections(count: float) -> str:
    return write.several(round(count), "connection")


RULES = (_same_output,)
