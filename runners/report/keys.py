"""Where keys lie by each hash, and what the loaded node therefore passes on to others."""

from __future__ import annotations

import pandas as pd
from matplotlib.ticker import FuncFormatter

from runners.analysis import facts, placement
from runners.claims import cluster, passing, turns
from runners.claims.conclusion import Conclusion
from runners.design.report_5 import PUBLISHED_KEYS
from runners.readers import write
from runners.readers.run import Run
from runners.report import numbers, style
from runners.report.section import Section
from runners.report.tables import Table

COLOURS = {placement.OBJECTS_HASH: style.VERMILION, placement.RENDEZVOUS: style.BLUE}
NAMES = {placement.OBJECTS_HASH: "Objects.hash (before)", placement.RENDEZVOUS: "rendezvous, murmur3 (after)"}
TEXT = (
    "Computed for every id that the report wrote and for the addresses of this run's nodes, as the servers compute it. "
    "The load goes to the first node; what lies elsewhere it asks the owner for, and its own status counts that."
)


def data(topology: tuple[str, ...]) -> pd.DataFrame:
    """A row a hash and node: `hash`, `node`, `share` of the ids."""
    rows = [
        {"hash": hashing, "node": node, "share": share}
        for hashing in placement.HASHES
        for node, share in zip(sorted(topology), placement.shares(topology, hashing, PUBLISHED_KEYS), strict=True)
    ]
    return pd.DataFrame(rows, columns=["hash", "node", "share"])


@style.styled
def picture(topology: tuple[str, ...]) -> style.Picture:
    """A bar a node and hash."""
    rows = data(topology)
    figure = style.Picture(8.4, 2.9)
    axes = figure.add_subplot()
    nodes = list(dict.fromkeys(rows["node"]))
    for index, hashing in enumerate(placement.HASHES):
        own = rows[rows["hash"] == hashing]
        at = [place + (index - 0.5) * 0.36 for place in range(len(own))]
        axes.barh(at, own["share"], 0.34, color=COLOURS[hashing], label=NAMES[hashing])
        for place, share in zip(at, own["share"], strict=True):
            style.beside(axes, numbers.share(share), share, place)
    axes.set_yticks(range(len(nodes)), [f"node {place}" for place in range(1, len(nodes) + 1)])
    axes.set_ylim(len(nodes) - 0.5, -0.5)
    axes.set_xlim(0, 1.1)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
    axes.set_xlabel(f"share of {numbers.count(PUBLISHED_KEYS)} ids")
    axes.grid(visible=False, axis="y")
    most = rows.groupby("hash")["share"].max()
    title = (
        f"The fullest of {len(nodes)} nodes has {numbers.share(most[placement.OBJECTS_HASH])} of the ids before, "
        f"{numbers.share(most[placement.RENDEZVOUS])} after"
    )
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    figure.legend(loc="outside lower center", ncols=2)
    figure.alt = f"Ids by node and hash. {title}."
    return figure


def section(run: Run, conclusion: Conclusion) -> Section | None:
    """The section of a run whose status tells where requests were served; None for any other."""
    nodes, group = passing.topology(run), turns.group(run, cluster.CHANGES)
    if nodes is None or group is None:
        return None
    rows = tuple(
        (
            facts.engine_name(one.name), one.hashing, numbers.count(one.local), numbers.count(one.proxied),
            numbers.share(one.share), numbers.share(one.expected), numbers.latency(one.call_p50_us),
            numbers.latency(one.call_p99_us), numbers.count(one.failed_calls),
        )
        for one in passing.of_group(group)
    )  # fmt: skip
    head = (
        "setting", "hash", "served itself", "passed on", "share passed on", "share by the hash", "call p50", "call p99",
        "failed calls",
    )  # fmt: skip
    note = "Calls to the node that was asked most, over the server's whole life: in closed loop and at the common rate."
    told = tuple(finding for finding in conclusion.findings if finding.figure == passing.ANCHOR)
    table = Table(write.sentence("What the first node passes on").rstrip("."), head, rows, note)
    return Section("keys-section", "Where the keys lie", text=TEXT, findings=told, tables=(table,))
