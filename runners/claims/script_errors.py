"""Errors and mixes that a script makes: its unseeded numbers, replayed, against what was counted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from runners.analysis import loops
from runners.analysis.finding import Finding
from runners.analysis.loops import ERRORS, REPORT, Loop
from runners.readers import write
from runners.readers.published import published_of
from runners.readers.severity import Severity

#: What the published GET drew from, and what its store held when it was measured again.
PUBLISHED_DRAWN, PUBLISHED_HELD = 10_000, 1_000


def errors(found: Sequence[Loop]) -> Iterator[Finding]:
    """Answers 404 that the script makes, each loop against the replay of its own numbers."""
    few = [loop for loop in found if write.known(loop.absent_by_script) and loop.name == "get-few"]
    if not few:
        return
    asked, absent = sum(loop.completed for loop in few), sum(loop.non_2xx for loop in few)
    expected = sum(loop.absent_by_script for loop in few)
    held, drawn = few[0].step.record.loop.held_keys, few[0].step.record.loop.drawn_keys
    text = (
        f"The 404s are the script's: on a store of key1 to key{held} it asks for key1 to key{drawn}. Here "
        f"{write.count(absent)} of {write.count(asked)} responses are 404 ({write.percent(absent / asked)}); its "
        f"unseeded numbers, replayed, make {write.count(expected)}"
    )
    evidence: dict[str, write.Value] = {"non_2xx": absent, "requests": asked, "replayed": expected}
    names = tuple(loop.step.name for loop in few)
    yield Finding("D07", Severity.WARNING, write.sentence(text), evidence, names, ERRORS)


def published_errors() -> Iterator[Finding]:
    """The same replay against the published counts."""
    parts, evidence = [], dict[str, write.Value]()
    for name, output in published_of(REPORT).items():
        if output.non_2xx and output.requests and output.threads:
            made = loops.absent(output.requests, output.threads, PUBLISHED_DRAWN, PUBLISHED_HELD)
            told = f"{write.count(output.non_2xx)} of {write.count(output.requests)}"
            parts.append(f"{told} published, {write.count(made)} replayed")
            evidence |= {f"published {name}": output.non_2xx, f"replayed {name}": made}
    if parts:
        text = f"The published 404s are the same numbers: {'; '.join(parts)}. They say nothing of the server"
        yield Finding("D08", Severity.WARNING, write.sentence(text), evidence, (), ERRORS)


def right(found: Sequence[Loop]) -> Iterator[Finding]:
    full = [loop for loop in loops.find(found, "after", "get") if write.known(loop.non_2xx)]
    if not full:
        return
    bad = sum(loop.non_2xx for loop in full)
    least, most = min(loop.median_us for loop in full), max(loop.median_us for loop in full)
    more = f" to {write.latency(most)}" if most > least else ""
    asked = write.count(sum(loop.completed for loop in full))
    text = (
        f"Done right, on a store that holds every key that is asked for, {write.count(bad)} of {asked} GETs fail, and "
        f"the median is {write.latency(least)}{more}: a hit waits as a 404 with a body does"
    )
    evidence: dict[str, write.Value] = {"non_2xx": bad, "least_p50_us": least, "most_p50_us": most}
    severity = Severity.NOTE if not bad else Severity.WARNING
    yield Finding("D09", severity, write.sentence(text), evidence, tuple(one.step.name for one in full), ERRORS)


def _created(loop: Loop) -> float:
    """How many of its responses are those of a PUT; NaN where the generator does not tell."""
    status = loop.step.frames["status"]
    return float(status[status["code"] == "201"]["count"].sum()) if not status.empty else math.nan


def coin(found: Sequence[Loop]) -> Iterator[Finding]:
    once = [loop for loop in found if loop.name == "mixed-once" and write.known(_created(loop))]
    each = [loop for loop in found if loop.name == "mixed" and write.known(_created(loop))]
    if not once:
        return
    created, asked = sum(map(_created, once)), sum(loop.completed for loop in once)
    text = (
        f"The mixed script is no mix: it tosses its coin when it is loaded, the first toss of an unseeded script is "
        f"always the same, and {write.count(created)} of {write.count(asked)} responses here are those of a PUT"
    )
    evidence: dict[str, write.Value] = {"puts": created, "requests": asked}
    if each:
        share = sum(map(_created, each)) / sum(loop.completed for loop in each)
        text += f"; tossed for each request it is {write.percent(share)}"
        evidence["share_each"] = share
    yield Finding("D10", Severity.WARNING, write.sentence(text), evidence, (), ERRORS)


def published_coin() -> Iterator[Finding]:
    """Bytes an answer in the published outputs: those of the mixed runs are GET's."""
    sizes: dict[str, list[float]] = {}
    for name, output in published_of(REPORT).items():
        if output.bytes_read and output.requests and not output.non_2xx:
            sizes.setdefault(name.split("-")[2], []).append(output.bytes_read / output.requests)
    if set(sizes) >= {"put", "get", "mixed"}:
        put, get, mixed = (sum(sizes[name]) / len(sizes[name]) for name in ("put", "get", "mixed"))
        text = (
            f"The published mixed runs show it: {mixed:.1f} bytes a response, where GET has {get:.1f} and PUT "
            f"{put:.1f}; half of each would have {(put + get) / 2:.1f}"
        )
        evidence: dict[str, write.Value] = {"put_bytes": put, "get_bytes": get, "mixed_bytes": mixed}
        yield Finding("D11", Severity.NOTE, write.sentence(text), evidence, (), ERRORS)
