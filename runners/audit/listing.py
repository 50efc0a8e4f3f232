"""An audit as text (one line per document and rule, like a compiler's messages), as JSON, or as GitHub annotations."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runners import words
from runners.audit import figures
from runners.audit.audit import Audit, groups
from runners.audit.rule import Group
from runners.readers.output import Output

SCHEMA = "audit/1"
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _DATA | str.maketrans({":": "%3A", ",": "%2C"})

#: Facts that an audit can't know, because no load generator prints them.
UNKNOWN = (
    "whether the runs were repeated",
    "the machine",
    "the data set",
    "whether server and generator shared one machine",
)
#: Addresses that tell whether a server is on the generator's machine: local ones, and names of hosts on the Internet.
_HOST_NAMED = re.compile(
    r"(?i)(?<![\w.-])(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?)(?![\w.-])"
    r"|//(?:[\w-]+\.)+(?!(?:local|internal|lan|test)\b)[a-z]{2,}(?![\w.-])"
)
_ERROR = re.compile(r"\b(?:Get|dial tcp) \S+: ")  # of a tool written in Go
_SPACES = str.maketrans({words.THIN: " ", words.NBSP: " ", words.DASH: "-", words.MINUS: "-"})


def as_text(audit: Audit) -> str:
    """Return an audit as text: findings by document and theme, facts not stated, unread parts, rules, summary."""
    by_document = groups(audit.outputs)
    not_there = (f"{group[0].group}: not in its outputs: {words.listed(_unknown(group))}" for group in by_document)
    lines = [*_short_lines(audit), *not_there]
    for path, problem in audit.unreadable:
        lines.append(f"{path}:{f'{problem.line}:' if problem.line else ''} unread: {problem.text}")
    if audit.counts:
        lines.append("")
        width = max(len(str(on)) for _, on, _ in audit.counts)
        lines += [f"{on:{width}}  {rule.code}  {rule.reason} [{rule.severity.value}]" for rule, on, _ in audit.counts]
        lines.append("")
    lines.append(audit.summary)
    printable = ("".join(char if char.isprintable() else ascii(char)[1:-1] for char in plain(line)) for line in lines)
    return "".join(f"{line}\n" for line in printable)


def _short_lines(audit: Audit) -> Iterator[str]:
    """Yield a line for each document and rule, then the highest rates of documents without a line on theme `load`."""
    highest = highest_rates(audit)
    for digest in audit.digests:
        worst, places = digest.worst, digest.places
        own = worst.rule.theme == "load" and worst.output.offered_rps
        rate = highest.pop(worst.output.group, "") if own else ""
        at = f" at {', '.join(places)}" if len(places) > 1 else ""
        yield (
            f"{worst.output.place}: {worst.rule.theme} {worst.severity.value}: {worst.seen.text} - {worst.remedy}"
            f"{f'; {rate}' if rate else ''} [{worst.code}{at}]"
        )
    yield from (f"{document}: {text}" for document, text in highest.items())


def _unknown(group: Group) -> tuple[str, ...]:
    """Return the facts that a document's outputs lack."""
    servers = {address for output in group if (address := _server(output))}
    return UNKNOWN[:-1] if servers and all(map(_HOST_NAMED.search, servers)) else UNKNOWN


def _server(output: Output) -> str:
    """Return the text that names an output's server: its URL, else lines above with its tool's commands or errors."""
    errors = [line.text for line in output.text_above if _ERROR.search(line.text)]
    lines = (line for line in (*figures.commands_above(output), *errors) if "//" in line or _HOST_NAMED.search(line))
    url = output.url or "///"
    return " ".join(lines) if url.startswith("///") else url


def plain(text: str) -> str:
    """Return a text with plain spaces and dashes, as other programs expect them."""
    return text.translate(_SPACES)


def as_json(audit: Audit) -> str:
    """Return the whole audit as JSON of version SCHEMA. NaN and infinite numbers become null."""
    document = {
        "schema": SCHEMA,
        "summary": {
            "text": plain(audit.summary), "files": len(audit.files), "runs": len(audit.outputs), "failed": audit.failed,
            "rules": [
                {"code": rule.code, "severity": rule.severity.value, "runs": on, "findings": often}
                for rule, on, often in audit.counts
            ],
        },
        "documents": [_document(group) for group in groups(audit.outputs)],
        "copies": [{"place": copy.place, "of": kept.place} for copy, kept in audit.copies],
        "runs": [_output(output) for output in audit.outputs],
        "findings": [
            {
                **_place(remark.output), "theme": remark.rule.theme, "code": remark.code, "name": remark.rule.name,
                "severity": remark.severity.value, "text": plain(remark.seen.text),
                "evidence": dict(remark.seen.evidence), "remedy": remark.remedy,
            }
            for remark in audit.remarks
        ],
        "unread": [
            {"file": str(path), "line": problem.line, "text": problem.text} for path, problem in audit.unreadable
        ],
    }  # fmt: skip
    finite = json.loads(json.dumps(document), parse_constant=lambda _: None)
    return json.dumps(finite, indent=1, ensure_ascii=False) + "\n"


def _document(group: Group) -> dict[str, Any]:
    """Return a document for JSON: each operation's highest rate achieved, and the outputs that missed a higher one.

    An operation has its script's name; without a script, its URL if the outputs have several; else no name.
    """
    paced = [(output, rate) for output in group if (rate := output.offered_rps)]
    several = len({output.url for output, _ in paced}) > 1
    named = ((out, Path(out.script).stem or (out.url or "") * several, rate) for out, rate in paced)
    known = [(out, name, rate, figures.fell_short(out)) for out, name, rate in named]
    kept = ((rate, figures.achieved_rps(out) or 0.0, name) for out, name, rate, _ in known if _kept(out))
    highest = {name: (rate, achieved) for rate, achieved, name in sorted(kept)}
    above = [out.place for out, name, rate, short in known if short and rate > highest.get(name, (math.inf,))[0]]
    return {
        "document": group[0].group,
        "highest_achieved_rps": {name: achieved for name, (_, achieved) in highest.items()},
        "latency_above_it": above,
        "not_in_outputs": list(_unknown(group)),
    }


def _kept(output: Output) -> bool:
    report, errors = output.report, output.report.socket_errors
    failed = report.errors + (errors.total if errors else 0)
    few = failed <= figures.FEW_ERRORS * (report.requests or 0) and report.requests != 1
    no_run = figures.is_of_no_run(output) or figures.achieved_rps(output) is None
    return few and not (no_run or figures.fell_short(output) or figures.exceeded(output))


def highest_rates(audit: Audit) -> dict[str, str]:
    """Return {document: text}: each operation's highest rate achieved, and the outputs that missed a higher rate."""
    texts = {}
    for group in groups(audit.outputs):
        known = _document(group)
        highest, above = known["highest_achieved_rps"], known["latency_above_it"]
        if highest:
            rates = words.listed(f"{name} {words.rate(rate)}".lstrip() for name, rate in sorted(highest.items()))
            places = ", ".join(place.removeprefix(f"{known['document']}:") for place in above)
            beyond = f"; above it: the latency of {words.several(len(above), 'run')} at {places}" if above else ""
            texts[known["document"]] = f"highest rate achieved: {rates}{beyond}"
    return texts


def _place(output: Output) -> dict[str, Any]:
    return {"file": str(output.path), "line": output.line, "cell": output.cell, "column": output.label or None}


def _output(output: Output) -> dict[str, Any]:
    count, counted = figures.samples(output)
    return {
        **_place(output),
        **{name: getattr(output, name) for name in ("tool", "threads", "connections", "duration_s", "offered_rps")},
        "command": output.command.text if output.command else None,
        "offered_by": output.offered_by or None, "achieved_rps": figures.achieved_rps(output),
        "requests": output.report.requests, "non_2xx": output.report.non_2xx,
        "samples": count, "samples_counted": counted if count is not None else None,
        "latency_us": {words.level(level): value for level, value in output.report.latencies.rows},
        "max_us": figures.largest_us(output), "missing": list(output.missing),
    }  # fmt: skip


def as_github(audit: Audit) -> str:
    """Return a GitHub workflow command for each document and rule; GitHub shows it as an annotation of the file."""
    lines = []
    for remark in (digest.worst for digest in audit.digests):
        file = str(remark.output.path).translate(_PROPERTY)
        title = f"{remark.rule.theme}: {remark.code} {remark.rule.name}".translate(_PROPERTY)
        where = f"file={file},line={max(1, remark.output.line)},title={title}"
        lines.append(f"::{remark.severity.value} {where}::{plain(remark.seen.text).translate(_DATA)}")
    lines.append(f"::notice title=lab audit::{plain(audit.summary).translate(_DATA)}")
    return "".join(f"{line}\n" for line in lines)
