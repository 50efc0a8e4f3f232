"""An audit as text (one line a finding, as compilers print them), as JSON, and as one HTML file that works offline."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from importlib import resources
from itertools import groupby
from typing import Any

import jinja2
from markupsafe import Markup

from runners.explain import words
from runners.explain.audit.audit import Audit
from runners.explain.audit.figures import achieved_rps, at, largest_us, samples
from runners.explain.audit.registry import page
from runners.explain.audit.rule import Remark
from runners.explain.words import Value
from runners.read.outputs import Output
from runners.show.markdown import ICONS

SCHEMA = "audit/1"
FORMATS = ("text", "json", "html")
SHOWN_LEVELS = (0.5, 0.9, 0.99, 0.999)
HEAD = (
    *("run", "tool", "offered", "achieved"),
    *(words.level(level) for level in SHOWN_LEVELS),
    *("max", "samples", "errors"),
)
_SPACES = str.maketrans({words.THIN: " ", words.NBSP: " ", words.DASH: "-", words.MINUS: "-"})


def as_text(audit: Audit) -> str:
    """`place: CODE text (evidence) - remedy` for each finding, what could not be read, and the summary."""
    lines = [_line(remark) for remark in audit.remarks]
    for path, problem in audit.unreadable:
        lines.append(
            f"{path}:{problem.line}: unread: {problem.text}" if problem.line else f"{path}: unread: {problem.text}"
        )
    if audit.counts:
        lines.append("")
        width = max(len(str(on)) for _, on, _ in audit.counts)
        lines += [f"{on:{width}}  {rule.code}  {rule.reason} [{rule.severity.value}]" for rule, on, _ in audit.counts]
        lines.append("")
    lines.append(audit.summary)
    return "".join(f"{_printable(line)}\n" for line in lines)


def _line(remark: Remark) -> str:
    column = f" [{remark.output.label}]" if remark.output.label else ""
    evidence = ", ".join(f"{name}={_value(value)}" for name, value in remark.seen.evidence.items() if value is not None)
    return (
        f"{remark.output.place}:{column} {remark.code} {remark.severity.value}: {remark.seen.text}"
        f"{f' ({evidence})' if evidence else ''} - {remark.rule.remedy}"
    )


def _printable(text: str) -> str:
    """Plain spaces, and nothing that a terminal would obey: file names and diagnostics are anyone's text."""
    plain = text.translate(_SPACES)
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in plain)


def _value(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) and not value.is_integer() else str(_whole(value))


def _whole(value: Value) -> Value:
    return int(value) if isinstance(value, float) and math.isfinite(value) and value.is_integer() else value


def as_json(audit: Audit) -> str:
    """The whole audit as JSON; see `schema`. A number that is not finite becomes null."""
    document = {
        "schema": SCHEMA,
        "summary": {
            "text": audit.summary.translate(_SPACES),
            "files": len(audit.files),
            "runs": len(audit.outputs),
            "failed": audit.failed,
            "rules": [
                {"code": rule.code, "severity": rule.severity.value, "runs": on, "findings": often}
                for rule, on, often in audit.counts
            ],
        },
        "runs": [_output(output) for output in audit.outputs],
        "findings": [_remark(remark) for remark in audit.remarks],
        "unread": [
            {"file": str(path), "line": problem.line, "text": problem.text} for path, problem in audit.unreadable
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _output(output: Output) -> dict[str, Any]:
    count, counted = samples(output)
    return {
        "file": str(output.path),
        "line": output.line,
        "cell": output.cell,
        "column": output.label or None,
        "tool": output.tool,
        "command": output.command.text if output.command else None,
        "threads": output.threads,
        "connections": output.connections,
        "duration_s": _finite(output.duration_s),
        "offered_rps": _finite(output.offered_rps),
        "offered_by": output.offered_by or None,
        "achieved_rps": achieved_rps(output),
        "requests": output.report.requests,
        "non_2xx": output.report.non_2xx,
        "samples": count,
        "samples_counted": counted if count is not None else None,
        "latency_us": {words.level(level): _finite(value) for level, value in output.report.latencies.rows},
        "max_us": largest_us(output),
        "missing": list(output.missing),
    }


def _remark(remark: Remark) -> dict[str, Any]:
    evidence = {name: _finite(value) for name, value in remark.seen.evidence.items()}
    return {
        "file": str(remark.output.path),
        "line": remark.output.line,
        "cell": remark.output.cell,
        "column": remark.output.label or None,
        "code": remark.code,
        "name": remark.rule.name,
        "severity": remark.severity.value,
        "text": remark.seen.text.translate(_SPACES),
        "evidence": evidence,
        "remedy": remark.rule.remedy,
    }


def _finite(value: Value) -> Value:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_html(audit: Audit) -> str:
    """One file: summary, the rules that found something, each run with its findings, and the rules' pages."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("runners.show"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    found = {id(output): [remark for remark in audit.remarks if remark.output is output] for output in audit.outputs}
    return environment.get_template("audit.html.j2").render(
        audit=audit,
        files=[(path, [(output, found[id(output)]) for output in outputs]) for path, outputs in _by_file(audit)],
        row=_row,
        head=HEAD,
        pages=[(rule, page(rule.code)) for rule, _, _ in audit.counts],
        icons=ICONS,
        value=_value,
        css=Markup(resources.files("runners.show").joinpath("templates", "report.css").read_text(encoding="utf-8")),  # noqa: S704
    )


def _by_file(audit: Audit) -> Iterator[tuple[str, list[Output]]]:
    for path, outputs in groupby(audit.outputs, key=lambda output: str(output.path)):
        yield path, list(outputs)


def _row(output: Output) -> tuple[str, ...]:
    """An output's figures as cells; what it does not say is a dash."""
    count, counted = samples(output)
    place = f"{f'cell {output.cell}, ' if output.cell is not None else ''}line {output.line}"
    cells = (
        f"{place}{f', {output.label}' if output.label else ''}",
        output.tool,
        words.rate(output.offered_rps) if output.offered_rps else None,
        words.rate(achieved_rps(output)) if achieved_rps(output) is not None else None,
        *(words.latency(at(output, level)) if at(output, level) is not None else None for level in SHOWN_LEVELS),
        words.latency(largest_us(output)) if largest_us(output) is not None else None,
        f"{'' if counted else 'about '}{words.count(count)}" if count is not None else None,
        words.count(output.report.errors) if output.report.requests is not None else None,
    )
    return tuple(cell or words.DASH for cell in cells)


WRITERS = {"text": as_text, "json": as_json, "html": as_html}
