"""A report from a run folder: read, conclude, render. Starts nothing, measures nothing."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

from runners import show
from runners.explain.audit.audit import audit
from runners.explain.conclude import conclude
from runners.explain.conclusion import Conclusion
from runners.plan.commands import plan_of
from runners.plan.workload import Workload
from runners.read.console_report import ConsoleReport
from runners.read.outputs import find_in
from runners.read.published import ROOT as PUBLISHED
from runners.read.published import published
from runners.read.reading import read_run
from runners.read.run import Run
from runners.store import RunFolder, write_json

END = "<!-- end of findings -->"
AUDITED = "the published reports"  # in place of an experiment's number, for the table of their audit
#: The figure that stands with an experiment's findings in README.md.
PICTURES = {"00": ("instrument-stall", "A server frozen at known times: how many requests waited, and who counts them")}


def begin(experiment_number: str) -> str:
    """The line of README.md after which an experiment's findings stand, up to END."""
    return f"<!-- findings of {experiment_number}: written by `lab keep` -->"


def _reference(workload: Workload) -> str:
    """A published output's name, ending in that of the workload that reproduces it."""
    name = str(workload.published)
    return name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"


def _concluded(folder: RunFolder) -> tuple[Run, Conclusion, dict[str, ConsoleReport]]:
    run = read_run(folder)
    workloads = plan_of(str(run.manifest["experiment"])).workloads
    references = {_reference(w): published(w.published) for w in workloads if w.published}
    return run, conclude(run, references), references


def write_report(folder: RunFolder) -> Conclusion:
    """report.html, report.md, their figures and conclusions.json, from what the run folder holds."""
    run, conclusion, references = _concluded(folder)
    show.render(run, conclusion, references)
    write_json(folder.conclusions, conclusion.as_json())
    return conclusion


def readme_findings(folder: RunFolder, link: str) -> str:
    """The README's paragraph on a reference result: its answer and most telling findings, in the report's words."""
    run, conclusion, _ = _concluded(folder)
    machine, taken = run.manifest["machine"], datetime.fromtimestamp(run.manifest["started_unix_s"], UTC)
    facts = f"{machine['cpu_model']}, {machine['cores']} cores, {machine['os']}, {taken:%Y-%m-%d}"
    findings = "\n".join(f"- {finding.sentence}" for finding in conclusion.highlights)
    size = run.manifest["size"]
    picture = ""
    if str(run.manifest["experiment"]) in PICTURES:
        figure, alt = PICTURES[str(run.manifest["experiment"])]
        picture = f"\n\n![{alt}]({link.rpartition('/')[0]}/figures/{figure}.png)"
    return (
        f"**{conclusion.answer}**\n\n{findings}\n\n"
        f"One run of experiment {run.manifest['experiment']} in the {size} size ({facts}); its [whole report]({link}) "
        f"says how each figure was measured, and which are not to be trusted.{picture}"
    )


def readme_audit(link: str) -> str:
    """The README's table on the published reports: each rule that found something, and in how many runs of a report.

    `link` is the folder of the rules' pages.
    """
    found = audit(find_in(PUBLISHED))
    runs = Counter(output.group for output in found.outputs)
    seen: dict[tuple[str, str], set[int]] = {}
    for remark in found.remarks:
        seen.setdefault((remark.code, remark.output.group), set()).add(id(remark.output))
    rows = [
        ["rule", "what it found", *(f"{report.replace('-', ' ')} ({count})" for report, count in runs.items())],
        ["---", "---", *("---:" for _ in runs)],
    ]
    for rule, _, _ in found.counts:
        cells = [str(len(seen.get((rule.code, report), ())) or "") for report in runs]
        rows.append([f"[{rule.code}]({link}/{rule.code}.md)", f"{rule.reason} ({rule.severity.value})", *cells])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"**{found.summary}** In how many runs of a report each fault stands:\n\n{table}"


def with_findings(readme: str, findings: str, experiment_number: str) -> str:
    """README's text with the part between an experiment's markers replaced; as it is, if it has no such markers."""
    before, marker, rest = readme.partition(begin(experiment_number))
    _, _, after = rest.partition(END)
    return f"{before}{marker}\n{findings}\n{END}{after}" if marker else readme
