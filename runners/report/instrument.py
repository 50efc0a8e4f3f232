"""The sections of experiment 00: the floor of each generator, its timer, the stall, the cost."""

from __future__ import annotations

import pandas as pd

from runners.analysis import facts, resolution, rounds
from runners.analysis.finding import Finding
from runners.analysis.rounds import Floor
from runners.analysis.stall import stalls
from runners.claims import instrument as told
from runners.claims.conclusion import Conclusion
from runners.readers import write
from runners.readers.published import published
from runners.readers.run import Run, Step
from runners.report import numbers, stall
from runners.report.floors import floors, label_of
from runners.report.section import Section, Shown, shown_of
from runners.report.staircase import chosen, staircase
from runners.report.tables import Table

PUBLISHED = "report-1/put"  # wrk2 on one connection, with its whole spectrum


def _about(conclusion: Conclusion, anchor: str) -> tuple[Finding, ...]:
    return tuple(finding for finding in conclusion.findings if finding.figure == anchor)


def _interval(floor: Floor, level: float) -> str:
    value = floor.at(level)
    return numbers.NONE if value is None else numbers.latency_interval(value.value, value.low, value.high)


def _point_table(found: list[Floor], connections: int, rate_rps: float) -> Table:
    point = rounds.at_point(found, connections, rate_rps)
    reference = rounds.reference_of(point)
    rows = []
    for tool, floor in point.items():
        more = []
        for level in (resolution.MEDIAN, resolution.TAIL):
            extra = rounds.added(floor, reference, level) if reference and reference.tool != tool else None
            more.append(numbers.NONE if extra is None else told.amount(extra))
        rows.append((label_of(tool), _interval(floor, 0.5), more[0], _interval(floor, 0.99), more[1], floor.spread()))
    beside = f"above the {label_of(reference.tool)}" if reference else "above the simplest client"
    head = ("generator", "p50", beside, "p99", beside, "interval from")
    caption = f"{write.rate(rate_rps)} on {write.connections(connections)}"
    return Table(caption, head, tuple(rows))


def floor_section(run: Run, conclusion: Conclusion) -> Section | None:
    """What every generator reads of a server that does nothing."""
    found = rounds.of_run(run)
    if not rounds.points(found):
        return None
    rows = [
        {
            "step": step.name, "generator": floor.tool, "connections": floor.connections, "rate_rps": floor.rate_rps,
            "round": step.record.round, "achieved_rps": facts.achieved_rps(step),
            "p50_us": _value(step, 0.5), "p99_us": _value(step, 0.99),
            "cpu_s_a_million": rounds.cpu_s_a_million(step),
        }
        for floor in found for step in floor.good
    ]  # fmt: skip
    shown = Shown(told.FLOORS, floors(run.find(kind="round")), pd.DataFrame(rows))
    return Section(
        "floors",
        "The floor of each generator",
        "The same GET at the same rate against a handler that does nothing, by one generator after the other, round by "
        "round. The simplest honest client shows what the machine costs; what another reads above it is its own part. "
        "A value over rounds is their median; a difference is taken within each round.",
        _about(conclusion, told.FLOORS),
        (shown,),
    )


def _value(step: Step, level: float) -> float:
    value = facts.at(step, level)
    return value.value if value is not None else float("nan")


def staircase_section(run: Run, conclusion: Conclusion) -> Section | None:
    """wrk2's tick in its own spectrum, here or as published."""
    steps = run.find(kind="round")
    if not steps:
        return None
    drawn = chosen(steps)
    output = published(PUBLISHED)
    there = output.spectrum_frame().assign(step="published")
    shown = shown_of(told.STAIRCASE, staircase(steps, output), drawn, "spectrum", [there])
    here = any(facts.tool(step) == "wrk2" for step in drawn)
    text = (
        "On linear axes a timer shows as a straight climb: requests that leave on a millisecond tick are late by "
        "anything from nothing to a tick, evenly. "
    )
    text += (
        "Below, the floors of one round, and the published output."
        if here
        else "wrk2 is not on this machine: the published output of report 1, made with it, is the evidence."
    )
    return Section("timer", "The timer", text, _about(conclusion, told.STAIRCASE), (shown,))


def stall_section(run: Run, conclusion: Conclusion) -> Section | None:
    """What each generator says of a server that stood still."""
    steps = run.find(kind="stall")
    seen = stalls(steps)
    if not seen:
        return None
    shown = shown_of(told.STALL, stall.stall(steps), steps, "spectrum")
    return Section(
        "stall",
        "The stall",
        "The server's process was stopped in the middle of the load and again before its end. The schedule says how "
        "many requests had to wait how long: the broad line. A distribution that lacks them describes another server.",
        _about(conclusion, told.STALL),
        (shown,),
    )


def _place(floor: Floor) -> tuple[int, float | None]:
    return floor.connections, None if floor.closed else floor.rate_rps


def cpu_section(run: Run, conclusion: Conclusion) -> Section | None:
    """What the generators themselves cost."""
    found = [floor for floor in rounds.of_run(run) if floor.good]
    if not found:
        return None
    tools = list(dict.fromkeys(floor.tool for floor in found))
    places = list(dict.fromkeys(_place(floor) for floor in found))
    head = ["generator"]
    head += [f"{write.rate(r) if r else 'closed loop'} on {write.connections(c)}" for c, r in places]
    by_place = {(floor.tool, *_place(floor)): floor for floor in found}
    rows = []
    for tool in tools:
        cells = [label_of(tool)]
        for connections, rate in places:
            floor = by_place.get((tool, connections, rate))
            cost = floor.cpu_s_a_million() if floor else None
            cells.append(
                numbers.NONE if cost is None else f"{cost.value:.3g} ({cost.low:.3g}{write.DASH}{cost.high:.3g})"
            )
        rows.append(tuple(cells))
    note = (
        "Processor seconds, user and system, for a million requests; the median over the rounds with its interval. "
        "Ours and the simplest clients count the recorded window; of wrk2 and wrk it is the whole process over all of "
        "its requests."
    )
    table = Table("Processor time a million requests", tuple(head), tuple(rows), note)
    return Section(told.CPU, "What a generator costs", "", _about(conclusion, told.CPU), (), (table,))


BUILDERS = (floor_section, stall_section, staircase_section, cpu_section)
