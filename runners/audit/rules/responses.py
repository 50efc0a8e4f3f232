"""Rules ERR: errors that count as successes, time-outs, and a mixed load that sent requests of one kind only."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from runners import words
from runners.audit import figures
from runners.audit.rule import TABLE, Group, Seen, Severity, rule, said
from runners.readers.console_report import SocketErrors
from runners.readers.output import Output
from runners.readers.tools import WRK, WRK2, facts, is_like_wrk

ONE_KIND = 0.05  # a mixed load with at most this share of one kind is no mix
APART = 0.1  # the sizes of two kinds of response must differ by this share, so that a mean size shows the mix
_WRK_3 = re.compile(r"\bwrk[ /-]v?3\.[01]\.\d\b")  # before wrk 4.0
_KIND = re.compile(r"[a-z]+")


def _portion(part: int, whole: int) -> str:
    """Return a share in words: `2.66 %`, or `1 in 3 222` if it is small."""
    share = min(1.0, part / whole)
    return words.percent(share) if share >= figures.FEW_ERRORS else f"1 in {words.count(whole / part)}"


@rule("ERR001")
def _errors(output: Output) -> Iterator[Seen]:
    errors, requests = output.report.errors - output.report.failed_apart, output.report.requests
    if errors <= 0 or not requests:
        return
    share = min(1.0, errors / requests)  # rule SUM003 reports more errors than requests
    by_status, portion = is_like_wrk(output.tool) or output.tool == "ab", _portion(errors, requests)
    bad = f"responses ({portion}) are not 2xx or 3xx" if by_status else f"requests ({portion}) failed"
    if output.report.without_body:
        bad = f"responses ({portion}) failed by their length: their bodies are missing"
    like_others = "" if facts(output.tool).failures == "unknown" else ", and stand in rate and latency like the others"
    text = f"{words.count(errors)} of {words.count(requests)} {bad}{like_others}"
    evidence = {"non_2xx": errors, "requests": requests, "share": round(share, 6)}
    yield Seen(output, text, evidence, Severity.WARNING if share < figures.FEW_ERRORS else None, size=share)


@rule("ERR004", of_group=True)
def _socket_errors(group: Group) -> Iterator[Seen]:
    """Yield findings for socket errors. wrk 4 counts time-outs in `response_complete`, wrk 3 and wrk2 at checks."""
    checks = any(_WRK_3.search(line.text) for output in group for line in output.text_above)
    for output in group:
        yield from _lost(output, at_checks=output.tool == WRK2 or (output.tool == WRK and checks))


def _lost(output: Output, *, at_checks: bool) -> Iterator[Seen]:
    errors, requests = output.report.socket_errors or SocketErrors(), output.report.requests
    if apart := output.report.failed_apart:
        text = f"{words.several(apart, 'request')} failed, in neither rate nor latency"
        if output.tool == "Artillery" and requests:  # which counts requests when it sends them
            text = f"{words.count(apart)} of {words.count(requests)} requests ({_portion(apart, requests)}) failed"
            text += ", in the rate and not in latency"
        severity = Severity.WARNING if apart < figures.FEW_ERRORS * (requests or 0) else None
        yield Seen(output, text, {"failed": apart, "requests": requests}, severity, size=apart / (requests or 1))
    if not errors.total:
        return
    counts = {"connect": errors.connect, "read": errors.read, "write": errors.write, "timeout": errors.timeout}
    text = f"socket errors: {words.listed(f'{words.count(count)} {name}' for name, count in counts.items() if count)}"
    numbers: dict[str, words.Value] = {**counts}
    if errors.timeout and output.tool == WRK and not at_checks:
        late, of = errors.timeout, requests or errors.timeout
        limit_s = max(facts(WRK).timeout_s or 0.0, (figures.largest_us(output) or 0.0) / 1e6)
        limit_s = (output.command.timeout_s if output.command else None) or limit_s
        share = min(1.0, late / of)
        parts = 10.0 ** max(2, math.ceil(-math.log10(share)))  # as finely as the share needs: p92, p99.5
        known = math.ceil(parts * (1 - share) - 1e-9) * 100 / parts
        counted = words.count(late), words.count(of), _portion(late, of), words.seconds(limit_s)
        text += TABLE["ERR004"]["late"].format(*counted, known)
        numbers |= {"late": late, "share_late": round(share, 4), "samples": of - late, "known_below": known}
    elif errors.timeout and at_checks:
        dead, connections = figures.dead_connections(output), output.connections
        waiting = f"about {words.count(dead)} of {words.several(connections or dead, 'connection')}"
        waiting = "all of them" if dead == connections else waiting
        text = said("ERR004", text, f"{figures.CHECK_S:g}", "wrk2" if output.tool == WRK2 else "wrk 3", waiting)
    yield Seen(output, text, numbers, size=errors.total / requests if requests else float(errors.total))


@rule("ERR006")
def _other_length(output: Output) -> Iterator[Seen]:
    odd, requests = output.report.odd_length, output.report.requests
    rest = (odd or 0) - (output.report.non_2xx or 0)  # an error page has another length, too
    if odd and requests and rest > APART * odd:
        text = said("ERR006", words.count(rest), words.count(requests), _portion(rest, requests))
        if odd > requests / 2:
            text = f"{words.count(odd)} of {words.count(requests)} responses differ from the first: was that an error?"
        yield Seen(output, text, {"odd_length": odd, "requests": requests}, size=rest / requests)


def _scripts(group: Group) -> Iterator[tuple[Output, list[str], float]]:
    """Yield (output, kinds of request that its script's name implies, bytes per response) of outputs without errors."""
    for output in group:
        requests, size = output.report.requests, words.finite(output.report.bytes_read)
        kinds = sorted(set(_KIND.findall(Path(output.script).stem.lower())))
        if kinds and requests and size and not output.report.errors:
            yield output, kinds, size / requests


@rule("ERR005", of_group=True)
def _one_kind(group: Group) -> Iterator[Seen]:
    """Yield a finding for a mixed load (put_get) if its mean response is as long as if it sent only PUT or only GET."""
    alone: dict[str, list[float]] = {}
    for _, kinds, size in _scripts(group):
        if len(kinds) == 1:
            alone.setdefault(kinds[0], []).append(size)
    usual = {kind: sorted(sizes)[len(sizes) // 2] for kind, sizes in alone.items()}
    for output, kinds, size in _scripts(group):
        if len(kinds) != 2 or not set(kinds) <= set(usual):
            continue
        (first, first_size), (second, second_size) = ((kind, usual[kind]) for kind in kinds)
        if abs(first_size - second_size) < APART * max(first_size, second_size):
            continue
        share = min(1.0, max(0.0, (size - second_size) / (first_size - second_size)))
        if ONE_KIND < share < 1 - ONE_KIND:
            continue
        only = first if share > 0.5 else second
        sizes = (first.upper(), first_size, second.upper(), second_size)
        text = said("ERR005", only.upper(), size, *sizes, words.percent(share))
        alone_bytes = {f"bytes_a_response_{kind}": round(usual[kind], 2) for kind in kinds}
        evidence = {"bytes_a_response": round(size, 2), **alone_bytes, f"share_{first}": round(share, 4)}
        yield Seen(output, text, evidence, size=abs(share - 0.5))
