"""An audit as text (one line a finding, as compilers print them) and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from runners.explain import words
from runners.explain.audit.audit import Audit
from runners.explain.audit.figures import achieved_rps, largest_us, samples
from runners.explain.audit.rule import Remark
from runners.explain.words import Value
from runners.read.outputs import Output

SCHEMA = "audit/1"
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
    evidence = ", ".join(
        f"{name}={written(value)}" for name, value in remark.seen.evidence.items() if value is not None
    )
    return (
        f"{remark.output.place}:{column} {remark.code} {remark.severity.value}: {remark.seen.text}"
        f"{f' ({evidence})' if evidence else ''} - {remark.rule.remedy}"
    )


def _printable(text: str) -> str:
    """Plain spaces, and nothing that a terminal would obey: file names and diagnostics are anyone's text."""
    plain = text.translate(_SPACES)
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in plain)


def written(value: Value) -> str:
    """A figure of the evidence, as short as it can be."""
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
