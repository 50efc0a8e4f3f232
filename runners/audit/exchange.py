"""An audit for other programs: SARIF 2.1.0, and annotations of GitHub's log."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from runners.audit.audit import Audit
from runners.audit.listing import plain
from runners.audit.rule import Remark
from runners.readers.severity import Severity

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note", Severity.GOOD: "none"}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def as_sarif(audit: Audit) -> str:
    """Write the findings as SARIF, with the rules that found something."""
    rules = [rule for rule, _, _ in audit.counts]
    place = {rule.code: index for index, rule in enumerate(rules)}
    driver = {
        "name": "lab audit",
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.reason},
                "help": {"text": rule.remedy},
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
            }
            for rule in rules
        ],
    }
    results = [_result(remark, place[remark.code]) for remark in audit.remarks]
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _result(remark: Remark, rule: int) -> dict[str, Any]:
    output = remark.output
    where: dict[str, Any] = {"artifactLocation": {"uri": quote(output.path.as_posix())}}
    if output.cell is None:  # a line of a notebook's cell is none of the file
        where["region"] = {"startLine": max(1, output.line)}
    return {
        "ruleId": remark.code,
        "ruleIndex": rule,
        "level": _LEVELS[remark.severity],
        "message": {"text": f"{plain(remark.seen.text)} - {remark.rule.remedy}"},
        "locations": [{"physicalLocation": where}],
    }


def as_github(audit: Audit) -> str:
    """Write a workflow command for each line of the short text, so that GitHub annotates the files."""
    lines = []
    for digest in audit.digests:
        remark = digest.gravest
        file = str(remark.output.path).translate(_PROPERTY)
        title = f"{digest.theme}: {remark.code} {remark.rule.name}".translate(_PROPERTY)
        where = f"file={file},line={max(1, remark.output.line)},title={title}"
        lines.append(f"::{_COMMANDS[remark.severity]} {where}::{plain(remark.seen.text).translate(_DATA)}")
    lines.append(f"::notice title=lab audit::{plain(audit.summary).translate(_DATA)}")
    return "".join(f"{line}\n" for line in lines)
