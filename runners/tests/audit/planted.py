"""Documents around the outputs that faults are planted in, and what the audit remarks on them."""

from __future__ import annotations

from pathlib import Path

from runners.audit.audit import examine
from runners.audit.rule import Remark
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of


def outputs(text: str, path: str = "-") -> tuple[Output, ...]:
    return outputs_of(Document(text, Path(path))).outputs


def remarks(text: str, path: str = "-") -> dict[str, Remark]:
    return {remark.code: remark for remark in examine(outputs(text, path))}
