"""ERR: what came back. Errors counted as successes, time-outs, and a mixed load that is not mixed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners import words
from runners.audit.rule import CHECK_S, FEW_ERRORS, Group, Seen, Severity, dead_connections, finite, rule
from runners.readers.output import Output
from runners.readers.tools import WRK, WRK2, facts, is_like_wrk

ONE_KIND = 0.05  # a mixed load with less than this share of one kind is no mix
APART = 0.1  # responses of two kinds must differ in size by this share for sizes to tell them apart
_KIND = re.compile(r"[a-z]+")


@rule(
    "ERR001",
    "errors-as-successes",
    Severity.ERROR,
    "report responses by status, cure their cause, and quote latency of successes alone",
)
def _errors(output: Output) -> Iterator[Seen]:
    """Responses other than 2xx and 3xx are counted like successes."""
    errors, requests = output.report.non_2xx, output.report.requests
    if not errors or not requests:
        return
    share = min(1.0, errors / requests)  # SUM003 finds more errors than requests
    portion = words.percent(share) if share >= FEW_ERRORS else f"1 in {words.count(requests / errors)}"
    by_status = is_like_wrk(output.tool) or output.tool == "ab"
    bad = f"responses ({portion}) are not 2xx or 3xx" if by_status else f"requests ({portion}) failed"
    text = f"{words.count(errors)} of {words.count(requests)} {bad}, and stand in rate and latency like the others"
    evidence = {"non_2xx": errors, "requests": requests, "share": round(share, 6)}
    yield Seen(output, text, evidence, Severity.WARNING if share < FEW_ERRORS else None, share)


@rule(
    "ERR004",
    "socket-errors",
    Severity.ERROR,
    lambda output: (
        f"find the cause; with time-outs raise {'--timeout' if is_like_wrk(output.tool) else 'the time-out'} above the "
        "longest response, or quote no tail"
    ),
)
def _socket_errors(output: Output) -> Iterator[Seen]:
    """Connections failed or requests timed out."""
    errors, requests = output.report.socket_errors, output.report.requests
    if errors is None or not errors.total:
        return
    counts = {"connect": errors.connect, "read": errors.read, "write": errors.write, "timeout": errors.timeout}
    listed = words.listed(f"{words.count(count)} {name}" for name, count in counts.items() if count)
    text, of_late = f"socket errors: {listed}", dict[str, words.Value]()
    if errors.timeout and output.tool == WRK:
        late, of_late = _late_responses(output, errors.timeout)
        text += f"; {late}"
    elif errors.timeout and output.tool == WRK2:
        dead, connections = dead_connections(output), output.connections
        waiting = f"{words.count(dead)} of {words.several(connections or dead, 'connection')}"
        text += (
            f"; wrk2 counts a connection that waits at each check, {CHECK_S:g} s apart: about {waiting} had no "
            "response for that long, and no percentile holds their wait"
        )
    yield Seen(output, text, {**counts, **of_late}, size=errors.total / requests if requests else float(errors.total))


def _late_responses(output: Output, late: int) -> tuple[str, dict[str, words.Value]]:
    """Return a sentence on wrk's time-outs, responses later than its limit that are in no percentile, and its numbers.

    Source: wrk.c of wrk 4, `response_complete` and `stats_record`.
    """
    limit_s = (output.command.timeout_s if output.command else None) or facts(WRK).timeout_s or 0.0
    requests = output.report.requests or late
    share = min(1.0, late / requests)
    known = math.ceil(100 * (1 - share) - 1e-9)
    text = (
        f"{words.count(late)} of {words.count(requests)} responses ({words.percent(share)}) took over "
        f"{words.seconds(limit_s)} and are in no percentile of wrk's: p{known} and above are at least "
        f"{words.seconds(limit_s)}; the percentiles are of {words.count(requests - late)} samples"
    )
    return text, {"late": late, "share_late": round(share, 4), "samples": requests - late, "known_below": known}


@rule(
    "ERR006",
    "other-length",
    Severity.WARNING,
    "look at the responses: if their length may vary, give ab -l; else they are errors",
)
def _other_length(output: Output) -> Iterator[Seen]:
    """Responses of another length are counted as failed."""
    odd, requests = output.report.odd_length, output.report.requests
    if odd and requests:
        share = words.percent(odd / requests)
        text = (
            f"{words.count(odd)} of {words.count(requests)} responses ({share}) count as failed because their length "
            "is not that of the first: ab tells no varying page from an error"
        )
        yield Seen(output, text, {"odd_length": odd, "requests": requests}, size=odd / requests)


@dataclass(frozen=True, slots=True)
class _Script:
    """An output's script: the kinds of request that its name lists, and bytes a response."""

    output: Output
    kinds: frozenset[str]
    size: float


def _scripts(group: Group) -> Iterator[_Script]:
    for output in group:
        requests, size = output.report.requests, finite(output.report.bytes_read)
        kinds = frozenset(_KIND.findall(Path(output.script).stem.lower())) if output.script else frozenset()
        if kinds and requests and size and not output.report.errors:
            yield _Script(output, kinds, size / requests)


@rule(
    "ERR005",
    "mixed-load-is-one-kind",
    Severity.ERROR,
    "choose the method in request(), not once when the script is loaded, and count requests by kind",
    of_group=True,
)
def _one_kind(group: Group) -> Iterator[Seen]:
    """A mixed load whose responses have the size of one kind alone.

    A script named after two others (put_get next to put and get) whose responses all have the size of one's.
    """
    scripts = list(_scripts(group))
    alone: dict[str, list[float]] = {}
    for script in scripts:
        if len(script.kinds) == 1:
            alone.setdefault(min(script.kinds), []).append(script.size)
    usual = {kind: sorted(sizes)[len(sizes) // 2] for kind, sizes in alone.items()}
    for mixed in scripts:
        sizes = {kind: usual[kind] for kind in sorted(mixed.kinds) if kind in usual}
        if len(mixed.kinds) != 2 or len(sizes) != 2:
            continue
        (first, first_size), (second, second_size) = sizes.items()
        if abs(first_size - second_size) < APART * max(first_size, second_size):
            continue
        share = min(1.0, max(0.0, (mixed.size - second_size) / (first_size - second_size)))
        if ONE_KIND < share < 1 - ONE_KIND:
            continue
        only = first if share > 0.5 else second
        text = (
            f"the mixed load is {only.upper()} alone: its responses have {mixed.size:.1f} bytes, those of "
            f"{first.upper()} {first_size:.1f} and of {second.upper()} {second_size:.1f}, which makes a share of "
            f"{words.percent(share)} {first.upper()}"
        )
        evidence = {
            "bytes_a_response": round(mixed.size, 2),
            f"bytes_a_response_{first}": round(first_size, 2),
            f"bytes_a_response_{second}": round(second_size, 2),
            f"share_{first}": round(share, 4),
        }
        yield Seen(mixed.output, text, evidence)


RULES = (_errors, _socket_errors, _one_kind, _other_length)
