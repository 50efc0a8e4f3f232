"""ERR: what came back. Errors counted as successes, time-outs, and a mixed load that is not mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners.audit.rule import Group, Seen, dead_connections, finite, rule, rule_of_output
from runners.readers import write
from runners.readers.finding import Severity
from runners.readers.output import Output

FEW = 0.001  # below this share errors hardly move a percentile up to p99; they still have to be named
ONE_KIND = 0.05  # a mixed load with less than this share of one kind is no mix
APART = 0.1  # responses of two kinds must differ in size by this share for sizes to tell them apart
_KIND = re.compile(r"[a-z]+")


@rule_of_output(
    "ERR001",
    "errors-as-successes",
    Severity.ERROR,
    "report responses by status, cure their cause, and quote latency of successes alone",
)
def _errors(output: Output) -> Iterator[Seen]:
    """Responses other than 2xx and 3xx are counted like successes."""
    errors, requests, share = output.report.non_2xx, output.report.requests, output.report.error_share
    if share:
        text = f"{write.percent(share)} of the responses are errors, and stand in rate and latency like the others"
        yield Seen(output, text, {"share": round(share, 6)}, Severity.WARNING if share < FEW else None)
    if not errors or not requests:
        return
    share = min(1.0, errors / requests)  # that there are more errors than requests is said elsewhere
    portion = write.percent(share) if share >= FEW else f"1 in {write.count(requests / errors)}"
    text = (
        f"{write.count(errors)} of {write.count(requests)} responses ({portion}) are not 2xx or 3xx, and "
        "stand in rate and latency like the others"
    )
    evidence: dict[str, write.Value] = {"non_2xx": errors, "requests": requests, "share": round(share, 6)}
    yield Seen(output, text, evidence, Severity.WARNING if share < FEW else None)


@rule_of_output(
    "ERR004",
    "socket-errors",
    Severity.ERROR,
    "find the cause; with time-outs raise --timeout above the longest response, or quote no tail",
)
def _socket_errors(output: Output) -> Iterator[Seen]:
    """Connections failed or requests timed out."""
    errors = output.report.socket_errors
    if errors is None:
        return
    counts: dict[str, write.Value] = {
        "connect": errors.connect,
        "read": errors.read,
        "write": errors.write,
        "timeout": errors.timeout,
    }
    seen = [f"{write.count(int(number or 0))} {name}" for name, number in counts.items() if number]
    if not seen:
        return
    text = f"socket errors: {write.listed(seen)}"
    if errors.timeout:
        dead, connections = dead_connections(output), output.connections
        waited = f"about {write.several(max(1, dead), 'connection')}" + (
            f" of {write.count(connections)}" if connections else ""
        )
        text += f"; time-outs count connections at each check: {waited} waited, and no figure holds their wait"
    yield Seen(output, text, counts)


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
)
def _one_kind(group: Group) -> Iterator[Seen]:
    """A mixed load whose responses have the size of one kind alone.

    A script named after two others (put_get next to put and get) whose responses all have the size of one's.
    """
    scripts = list(_scripts(group))
    alone: dict[str, list[float]] = {}
    for each_script in scripts:
        if len(each_script.kinds) == 1:
            alone.setdefault(min(each_script.kinds), []).append(each_script.size)
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
            f"{write.percent(share)} {first.upper()}"
        )
        evidence: dict[str, write.Value] = {
            "bytes_a_response": round(mixed.size, 2),
            f"bytes_a_response_{first}": round(first_size, 2),
            f"bytes_a_response_{second}": round(second_size, 2),
            f"share_{first}": round(share, 4),
        }
        yield Seen(mixed.output, text, evidence)


RULES = (_errors, _socket_errors, _one_kind)
