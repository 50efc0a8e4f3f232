"""An audit as text (one line a theme and document, as compilers print them), JSON and GitHub annotations."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runners import words
from runners.audit.audit import Audit, Digest, groups, theme
from runners.audit.rule import (
    BEYOND,
    FEW_ERRORS,
    Group,
    Remark,
    achieved_rps,
    failed_share,
    fell_short,
    is_of_no_run,
    largest_us,
    samples,
)
from runners.readers.output import Output
from runners.words import Value

SCHEMA = "audit/1"
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})

#: What a reader of outputs can't know: no load generator prints it.
UNKNOWN = (
    "whether the runs were repeated",
    "the machine",
    "the data set",
    "whether server and generator shared one machine",
)
SHOWN = 3  # places of outputs in a line
_SPACES = str.maketrans({words.THIN: " ", words.NBSP: " ", words.DASH: "-", words.MINUS: "-"})


def as_text(audit: Audit) -> str:
    """Return one line a theme and document, gravest first; then what no output tells, what could not be read, the rules
    that found something, and the summary.
    """
    lines = [*short_lines(audit), *unknown_lines(audit)]
    for path, problem in audit.unreadable:
        lines.append(f"{path}:{f'{problem.line}:' if problem.line else ''} unread: {problem.text}")
    if audit.counts:
        lines.append("")
        width = max(len(str(on)) for _, on, _ in audit.counts)
        lines += [f"{on:{width}}  {rule.code}  {rule.reason} [{rule.severity.value}]" for rule, on, _ in audit.counts]
        lines.append("")
    lines.append(audit.summary)
    return "".join(f"{_printable(line)}\n" for line in lines)


def short_lines(audit: Audit) -> Iterator[str]:
    """Yield one line a theme and document; the highest rate achieved stands in the line on load, or in one of its
    own.
    """
    highest = dict(_highest_rates(audit))
    for digest in audit.digests:
        document = digest.worst.output.group
        yield _line(digest, highest.pop(document, "") if digest.theme == "load" else "")
    yield from (f"{document}: {text}" for document, text in highest.items())


def _line(digest: Digest, highest: str) -> str:
    """`place: theme severity: text - remedy; highest rate achieved: ... [CODE at 3, 17; CODE; also conditions]`."""
    worst = digest.worst
    places = [f"{code} at {', '.join(places)}" if len(places) > 1 else code for code, places in digest.places.items()]
    also = f"; also {words.listed(digest.also)}" if digest.also else ""
    return (
        f"{worst.output.place}: {digest.theme} {worst.severity.value}: {worst.seen.text} - {worst.remedy}"
        f"{f'; {highest}' if highest else ''} [{'; '.join(places)}{also}]"
    )


def unknown_lines(audit: Audit) -> Iterator[str]:
    """Yield one fixed line a document: what can't be known from its outputs."""
    yield from (f"{group[0].group}: not in its outputs: {words.listed(UNKNOWN)}" for group in groups(audit.outputs))


def plain(text: str) -> str:
    """Return a text with plain spaces and dashes, as other programs expect them."""
    return text.translate(_SPACES)


def _printable(text: str) -> str:
    """Return a line with plain spaces and escaped control characters, which an input may hold."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in plain(text))


def written(value: Value) -> str:
    """Return a figure of the evidence, as short as it can be."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:g}"
    return str(value)


def as_json(audit: Audit) -> str:
    """Return the whole audit as JSON; see `schema`. A number that is not finite becomes null."""
    document = {
        "schema": SCHEMA,
        "summary": {
            "text": plain(audit.summary),
            "files": len(audit.files),
            "runs": len(audit.outputs),
            "failed": audit.failed,
            "rules": [
                {"code": rule.code, "severity": rule.severity.value, "runs": on, "findings": often}
                for rule, on, often in audit.counts
            ],
        },
        "documents": [_document(group) for group in groups(audit.outputs)],
        "copies": [{"place": copy.place, "of": kept.place} for copy, kept in audit.copies],
        "runs": [_output(output) for output in audit.outputs],
        "findings": [_remark(remark) for remark in audit.remarks],
        "unread": [
            {"file": str(path), "line": problem.line, "text": problem.text} for path, problem in audit.unreadable
        ],
    }
    return json.dumps(_finite(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _document(group: Group) -> dict[str, Any]:
    """Return the highest rate at which the responses of each operation succeeded, and the outputs beyond it."""
    highest: dict[str, float] = {}
    for output in group:
        rate = output.offered_rps
        if rate and achieved_rps(output) is not None and not fell_short(output) and _succeeded(output):
            highest[_operation(output)] = max(rate, highest.get(_operation(output), 0.0))
    above = [
        output.place
        for output in group
        if output.offered_rps and output.offered_rps > highest.get(_operation(output), math.inf) and fell_short(output)
    ]
    return {
        "document": group[0].group,
        "highest_achieved_rps": highest,
        "latency_above_it": above,
        "not_in_outputs": list(UNKNOWN),
    }


def _succeeded(output: Output) -> bool:
    exceeded = (achieved_rps(output) or 0.0) > BEYOND * (output.offered_rps or math.inf)
    return failed_share(output) <= FEW_ERRORS and not is_of_no_run(output) and not exceeded


def highest_rate_lines(audit: Audit) -> Iterator[str]:
    """Yield a line a document: the highest achieved rate of each operation, and the outputs above it."""
    yield from (f"{document}: {text}" for document, text in _highest_rates(audit))


def _highest_rates(audit: Audit) -> Iterator[tuple[str, str]]:
    for group in groups(audit.outputs):
        known = _document(group)
        highest, above = known["highest_achieved_rps"], known["latency_above_it"]
        if highest:
            rates = words.listed(f"{name} {words.rate(rate)}" for name, rate in sorted(highest.items()))
            places = ", ".join(above[:SHOWN]) + (" ..." if len(above) > SHOWN else "")
            beyond = f"; above it: the latency of {words.several(len(above), 'run')}, {places}" if above else ""
            yield known["document"], f"highest rate achieved: {rates}{beyond}"


def _operation(output: Output) -> str:
    return Path(output.script).stem or "unknown"


def _place(output: Output) -> dict[str, Any]:
    return {"file": str(output.path), "line": output.line, "cell": output.cell, "column": output.label or None}


def _output(output: Output) -> dict[str, Any]:
    count, counted = samples(output)
    return {
        **_place(output),
        **{name: getattr(output, name) for name in ("tool", "threads", "connections", "duration_s", "offered_rps")},
        "command": output.command.text if output.command else None,
        "offered_by": output.offered_by or None,
        "achieved_rps": achieved_rps(output),
        "requests": output.report.requests,
        "non_2xx": output.report.non_2xx,
        "samples": count,
        "samples_counted": counted if count is not None else None,
        "latency_us": {words.level(level): value for level, value in output.report.latencies.rows},
        "max_us": largest_us(output),
        "missing": list(output.missing),
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {
        **_place(remark.output),
        "theme": theme(remark.code),
        "code": remark.code,
        "name": remark.rule.name,
        "severity": remark.severity.value,
        "text": plain(remark.seen.text),
        "evidence": dict(remark.seen.evidence),
        "remedy": remark.remedy,
    }


def _finite(value: Any) -> Any:
    """Return a JSON value with null in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_github(audit: Audit) -> str:
    """Return a workflow command for each line of the short text, by which GitHub annotates the files."""
    lines = []
    for digest in audit.digests:
        remark = digest.worst
        file = str(remark.output.path).translate(_PROPERTY)
        title = f"{digest.theme}: {remark.code} {remark.rule.name}".translate(_PROPERTY)
        where = f"file={file},line={max(1, remark.output.line)},title={title}"
        lines.append(f"::{remark.severity.value} {where}::{plain(remark.seen.text).translate(_DATA)}")
    lines.append(f"::notice title=lab audit::{plain(audit.summary).translate(_DATA)}")
    return "".join(f"{line}\n" for line in lines)
