"""Show figures and the conclusion in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runners.analysis.finding import Finding
from runners.claims.conclusion import Conclusion
from runners.errors import printable
from runners.report import markdown


@dataclass(frozen=True, slots=True)
class Concluded:
    """The answer, the findings, what the authors missed and what to try next."""

    conclusion: Conclusion

    def _parts(self) -> list[tuple[str, tuple[Finding, ...]]]:
        whole = self.conclusion
        parts = [
            ("", whole.findings),
            ("What the authors missed", whole.missed),
            ("What to try next", whole.next_steps),
        ]
        return [(head, findings) for head, findings in parts if findings]

    def _repr_markdown_(self) -> str:
        out = [f"### {markdown.escape(self.conclusion.title)}", f"**{markdown.escape(self.conclusion.answer)}**"]
        for head, findings in self._parts():
            out += [f"#### {markdown.escape(head)}"] if head else []
            out.append(markdown.findings(findings))
        return "\n\n".join(out)

    def __repr__(self) -> str:
        lines = [self.conclusion.title, self.conclusion.answer]
        for head, findings in self._parts():
            lines += [head] if head else []
            lines += [f"{markdown.ICONS[finding.severity.value]} {finding.sentence}" for finding in findings]
        return printable("\n".join(lines))


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def draw(make: Callable[[], object]) -> None:
    """Make a figure and show it below the cell. Outside a notebook nothing is made."""
    if in_notebook():
        from IPython.display import display

        display(make())  # type: ignore[no-untyped-call]
