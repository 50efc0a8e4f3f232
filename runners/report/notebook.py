"""Show figures, checks and the conclusion in a notebook, as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from runners.analysis.finding import Finding
from runners.claims.conclusion import Check, Conclusion
from runners.report import markdown

_COLOURS = {"good": "#1a7f37", "note": "#656d76", "warning": "#9a6700", "error": "#cf222e"}


def mark(ok: bool | None) -> str:
    """✓ passed, ✗ failed, ? not known."""
    return "?" if ok is None else ("✓" if ok else "✗")


@dataclass(frozen=True, slots=True)
class Checks:
    """ "Can these numbers be trusted?" as a table."""

    checks: tuple[Check, ...]

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="color:{_COLOURS[_severity(check.ok)]}"><b>{mark(check.ok)}</b></td>'
            f'<th scope="row" style="text-align:left">{escape(check.name)}</th>'
            f'<td style="text-align:left">{escape(check.text)}</td></tr>'
            for check in self.checks
        )
        head = '<th></th><th style="text-align:left">check</th><th style="text-align:left">what was found</th>'
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _repr_markdown_(self) -> str:
        rows = (f"| {mark(c.ok)} | {markdown.escape(c.name)} | {markdown.escape(c.text)} |" for c in self.checks)
        return "\n".join(["| | check | what was found |", "| --- | --- | --- |", *rows])

    def __repr__(self) -> str:
        return "\n".join(f"{mark(check.ok)} {check.name}: {check.text}" for check in self.checks)


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

    def _repr_html_(self) -> str:
        out = [f"<h3>{escape(self.conclusion.title)}</h3><p><b>{escape(self.conclusion.answer)}</b></p>"]
        for head, findings in self._parts():
            out.append(f"<h4>{escape(head)}</h4>" if head else "")
            out.append(f'<ul style="list-style:none;padding-left:0">{_items(findings)}</ul>')
        return "".join(out)

    def _repr_markdown_(self) -> str:
        out = [f"### {markdown.escape(self.conclusion.title)}", f"**{markdown.escape(self.conclusion.answer)}**"]
        for head, findings in self._parts():
            out += [f"#### {markdown.escape(head)}"] if head else []
            out.append(markdown.findings(findings, lambda _: None))
        return "\n\n".join(out)

    def __repr__(self) -> str:
        lines = [self.conclusion.title, self.conclusion.answer]
        for head, findings in self._parts():
            lines += [head] if head else []
            lines += [f"{markdown.ICONS[finding.severity.value]} {finding.sentence}" for finding in findings]
        return "\n".join(lines)


def checks(given: Conclusion | Sequence[Check]) -> Checks:
    """The checks of a conclusion, or these checks, for a notebook."""
    return Checks(tuple(given.checks if isinstance(given, Conclusion) else given))


def conclusion(given: Conclusion) -> Concluded:
    """A conclusion for a notebook."""
    return Concluded(given)


def _severity(ok: bool | None) -> str:
    return "warning" if ok is None else ("good" if ok else "error")


def _items(findings: Iterable[Finding]) -> str:
    return "".join(
        f'<li><b style="color:{_COLOURS[finding.severity.value]}">{markdown.ICONS[finding.severity.value]}</b> '
        f"{escape(finding.sentence)}{f' <i>{escape(finding.remedy)}</i>' if finding.remedy else ''}</li>"
        for finding in findings
    )


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
