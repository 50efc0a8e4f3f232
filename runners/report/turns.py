"""Draw interleaved treatments: throughput and p99 of each against the baseline, with intervals and every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from runners.analysis import facts
from runners.analysis.comparison import FEWEST_ROUNDS, Verdict
from runners.claims import cluster
from runners.claims import turns as taken
from runners.claims.conclusion import Conclusion
from runners.claims.turns import CARRIED, TAIL, Group
from runners.readers.run import Run, Step
from runners.report import style
from runners.report.comparison import drawn
from runners.report.section import Section, Shown

TITLES = {cluster.CHANGES: "The three changes, one at a time", cluster.REPLICATION: "Copies: blocking and asynchronous"}
TEXT = (
    "Randomised blocks: all servers run at once, and in each round every treatment has a closed loop, then the same "
    "rate, in a random order. What is slow in a round is slow for all of them."
)
DECIDED = (Verdict.LOWER, Verdict.HIGHER)


def data(group: Group) -> pd.DataFrame:
    """A row a turn: `setting`, `round`, `closed_loop_rps`, `p50_us`, `p99_us`, `p999_us`; NaN where not quotable."""
    rows = []
    for name in group.settings:
        for number, (closed, load) in group.turns[name].items():
            row: dict[str, object] = {"setting": name, "round": number, CARRIED: float("nan")}
            if closed is not None and closed.valid:
                row[CARRIED] = facts.achieved_rps(closed)
            for column, level in (("p50_us", 0.5), (TAIL, 0.99), ("p999_us", 0.999)):
                value = facts.quoted(load, level)
                row[column] = value.value if value is not None else float("nan")
            rows.append(row)
    return pd.DataFrame(rows, columns=["setting", "round", CARRIED, "p50_us", TAIL, "p999_us"])


def title(group: Group) -> str:
    """The result: the pairs whose throughput differs, as the findings say it."""
    found = [(b, each) for a, b in _pairs(group) if (each := taken.of(group.against(a, b), CARRIED)) is not None]
    seen = [f"{style.plain(b, 24)} {taken.told(each)}" for b, each in found if taken.verdict(each) in DECIDED]
    return f"Throughput: {'; '.join(seen)}" if seen else "Throughput: no difference is decided"


def turns(steps: Sequence[Step], floor: Step | None = None) -> style.Picture:
    """Draw the first group that these steps hold, with the p99 of a floor."""
    found = taken.groups(steps)
    if not found:
        figure = style.Picture(8.4, 1.4)
        figure.alt = "An empty figure: no interleaved rounds."
        return figure
    return picture(found[0])


def picture(group: Group) -> style.Picture:
    """Draw throughput and p99 of each treatment against the one that it changes: rounds, geometric mean, interval."""
    shown, dots = [], []
    for a, b in _pairs(group):
        found = group.against(a, b)
        for quantity in (CARRIED, TAIL):
            each = taken.of(found, quantity)
            if each is None or each.rounds < FEWEST_ROUNDS:
                continue
            name = f"{b} {quantity}"
            label = "throughput" if quantity == CARRIED else each.quantity.label
            shown.append(replace(each, quantity=replace(each.quantity, name=name, label=f"{b}: {label}")))
            rows = data(group).pivot_table(index="round", columns="setting", values=quantity)
            if {a, b} <= set(rows.columns):
                ratios = (rows[b] / rows[a] - 1).dropna()
                dots += [(name, float(value)) for value in ratios]
    note = "against the treatment that is changed; diamonds and bars: geometric mean of the rounds and its interval"
    return drawn(shown, pd.DataFrame(dots, columns=["quantity", "difference"]), title(group), note)


def _pairs(group: Group) -> Iterator[tuple[str, str]]:
    """What is compared: with the first setting, or for copies the client that waits with the one that does not."""
    if group.name != cluster.REPLICATION:
        yield from ((group.settings[0], name) for name in group.settings[1:])
        return
    for name in group.settings:
        waiting = name.replace("async-", "blocking-")
        if waiting != name and waiting in group.settings:
            yield waiting, name


def sections(run: Run, conclusion: Conclusion) -> Iterator[Section]:
    """A section a group."""
    for group in taken.groups(run.steps):
        anchor = cluster.anchor(group.name)
        told = tuple(finding for finding in conclusion.findings if finding.figure == anchor)
        yield Section(
            f"{anchor}-section", TITLES.get(group.name, group.name), text=TEXT, findings=told,
            figures=(Shown(anchor, picture(group), data(group)),),
        )  # fmt: skip
