"""Write a run's report again, archive a run as a reference result, and bring the references into README.md."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners import report, words
from runners.audit.audit import audit
from runners.design.experiment import Experiment
from runners.design.load import Workload
from runners.experiments.question_table import criteria
from runners.experiments.registry import EXPERIMENTS, plan_of
from runners.readers.console_report import ConsoleReport
from runners.readers.outputs import find_in
from runners.readers.published import ROOT as PUBLISHED
from runners.readers.published import published
from runners.readers.reading import archived_content, read_run
from runners.report.sentences import effect_words
from runners.results.answer import Asked, Verdict
from runners.results.conclusion import Conclusion, conclude
from runners.storage.archive import copy_archive, write_archive
from runners.storage.run_folder import REFERENCE, RunFolder, StoreError, write_json
from runners.toolchain.tools import shown


def _reference(workload: Workload) -> str:
    """Return the name of a published output, with the name of its workload as the last part."""
    name = str(workload.published)
    return name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"


def concluded(folder: RunFolder, questions: Sequence[Asked] = ()) -> Conclusion:
    """Return the conclusion of a run, from its folder and the published outputs that it is compared with."""
    run = read_run(folder)
    return conclude(run, outputs_of(run.manifest), questions)


def outputs_of(manifest: Mapping[str, Any]) -> dict[str, ConsoleReport]:
    """Return the published outputs that a run is compared with, by their names; none for targets."""
    on_targets = (manifest.get("parameters") or {}).get("target")
    workloads = () if on_targets else plan_of(str(manifest["experiment"])).workloads
    return {_reference(workload): published(workload.published) for workload in workloads if workload.published}


def write_report(folder: RunFolder, questions: Sequence[Asked] = (), with_html: bool = True) -> Conclusion:
    """Write report.html (where wanted), report.md, their figures and conclusions.json, from the run folder alone."""
    conclusion = concluded(folder, questions)
    report.render(conclusion, with_html)
    kept = conclusion.as_json()
    kept["effects"] = {answered.question.key: effect_words(answered) for answered in conclusion.answers}
    write_json(folder.conclusions, kept)
    return conclusion


def keep_reference(folder: RunFolder, questions: Sequence[Asked] = (), root: Path = REFERENCE) -> RunFolder:
    """Archive a complete run as data/reference/<experiment>, with its report, to be committed.

    The earlier reference is replaced. Raw files are left out (recordings, logs, HTML flame graphs), and report.html,
    which `lab report` makes again. Of an archive only the report is made anew. Raises StoreError for a run that is not
    complete or measured other servers than the lab's.
    """
    manifest = folder.manifest()
    if manifest["status"] != "complete":
        raise StoreError(str(folder.path), f"the run is {manifest['status']}", "keep a complete one")
    if manifest.get("targets"):
        raise StoreError(str(folder.path), "it measured other servers than the lab's", "keep it where it is")
    target = root / str(manifest["experiment"])
    fresh = RunFolder(root / ".new" / target.name)
    shutil.rmtree(fresh.path.parent, ignore_errors=True)
    if folder.archived:
        copy_archive(folder.path, fresh.path)
    else:
        write_archive(fresh.path, map(archived_content, read_run(folder).steps))
        fresh.write_manifest(manifest)
    write_report(fresh, questions, with_html=False)
    shutil.rmtree(target, ignore_errors=True)
    fresh.path.replace(target)
    fresh.path.parent.rmdir()
    return RunFolder(target)


BEGIN, END = "<!-- findings: written by `lab keep` -->", "<!-- end of findings -->"
MOST_CHARACTERS = 200  # of a line of README.md


def readme_findings(root: Path = REFERENCE) -> str:
    """Return README.md's lines on the reference results: of every report its headline, the answer and the figure."""
    return "\n\n".join(line for number, plan in EXPERIMENTS.items() if (line := _finding(number, plan, root)))


def _finding(number: str, plan: Experiment, root: Path) -> str:
    """Return the line of one experiment with both sides of its comparison; empty without a headline or a result."""
    keys = [key for key, row in criteria().get(number, {}).items() if row.headline]
    folder = RunFolder(root / number)
    if not keys or not folder.conclusions.exists():
        return ""
    kept: dict[str, Any] = json.loads(folder.conclusions.read_text(encoding="utf-8"))
    answers = {answer["key"]: answer for answer in kept["answers"]}
    decided = [key for key, answer in answers.items() if answer["verdict"] != Verdict.INCONCLUSIVE.value]
    key = next((key for key in (*keys, *decided) if key in decided), keys[0])
    if (answer := answers.get(key)) is None:
        return ""
    row, verdict = criteria()[number][key], str(answer["verdict"])
    link = f"[{plan.title.partition(':')[0]}]({shown(folder.report_md)})"
    says = {Verdict.YES: row.yes, Verdict.NO: row.no}.get(Verdict(verdict), answer["question"]).rstrip(".")
    first, *_ = kept["effects"][key].split("; ")
    halves = re.sub(rf" (at least )?[+{words.MINUS}\d][^:]*%[^:]*: ", ": ", first)  # without the change between them
    lines = (f"{link}: {answer['question']} **{verdict.capitalize()}**: {first}.", f"{link}: **{says}**: {first}.")
    line = next((line for line in lines if len(line) <= MOST_CHARACTERS), f"{link}: **{says}**: {halves}.")
    picture = folder.figures_path / f"{answer['figure']}.svg"
    return f"{line}\n\n![{plan.title}]({shown(picture)})" if picture.exists() else line


def audit_table(link: str = "rules") -> str:
    """Return the table on the published reports: of every rule with findings, in how many runs of a report they are.

    `link` is the folder of the rules' pages.
    """
    audited = audit(find_in(PUBLISHED))
    runs = Counter(output.group for output in audited.outputs)
    faulty = {(remark.code, remark.output.group, id(remark.output)) for remark in audited.remarks}
    counts = Counter((code, group) for code, group, _ in faulty)
    rows = [
        ["rule", "what it found", *(f"{report.replace('-', ' ')} ({count})" for report, count in runs.items())],
        ["---", "---", *("---:" for _ in runs)],
    ]
    for rule, _, _ in audited.counts:
        cells = [str(counts[rule.code, report] or "") for report in runs]
        rows.append([f"[{rule.code}]({link}/{rule.code}.md)", f"{rule.reason} ({rule.severity.value})", *cells])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"**{audited.summary}** In how many runs of a report each fault stands:\n\n{table}"


def with_part(text: str, part: str) -> str:
    """Return a text with the part between its markers replaced; unchanged without markers."""
    before, marker, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{marker}\n{part}\n{END}{after}" if marker else text
