"""Write a run's report again, archive a run as a reference result, and bring the references into README.md."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from runners import report
from runners.audit.audit import audit
from runners.design.experiment import Experiment
from runners.design.load import Workload
from runners.experiments.registry import EXPERIMENTS, plan_of
from runners.readers.outputs import find_in
from runners.readers.published import ROOT as PUBLISHED
from runners.readers.published import published
from runners.readers.reading import archived_content, read_run
from runners.report.report import IN_README
from runners.report.sentences import effect_words
from runners.results.answer import Asked
from runners.results.conclusion import Conclusion, conclude
from runners.storage.archive import copy_archive, write_archive
from runners.storage.run_folder import REFERENCE, RunFolder, StoreError, write_json


def _reference(workload: Workload) -> str:
    """Return a published output's name, ending in that of the workload that reproduces it."""
    name = str(workload.published)
    return name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"


def concluded(folder: RunFolder, questions: Sequence[Asked] = ()) -> Conclusion:
    """Return what a run says, from its folder and the published outputs that it is compared with."""
    run = read_run(folder)
    foreign = (run.manifest.get("parameters") or {}).get("target")  # nothing was published of anybody's server
    workloads = () if foreign else plan_of(str(run.manifest["experiment"])).workloads
    references = {_reference(w): published(w.published) for w in workloads if w.published}
    return conclude(run, references, questions)


def write_report(folder: RunFolder, questions: Sequence[Asked] = (), with_html: bool = True) -> Conclusion:
    """Write report.html (where wanted), report.md, their figures and conclusions.json, from the run folder alone."""
    conclusion = concluded(folder, questions)
    report.render(conclusion, with_html)
    kept = conclusion.as_json()
    kept["effects"] = {one.question.key: effect_words(one) for one in conclusion.answers}
    write_json(folder.conclusions, kept)
    return conclusion


def keep_reference(folder: RunFolder, questions: Sequence[Asked] = (), root: Path = REFERENCE) -> RunFolder:
    """Archive a complete run as data/reference/<experiment>, with its report, to be committed.

    What lay there is replaced. What frames were made from is left out: recordings, logs, HTML flame graphs, and
    report.html, which `lab report` makes again. Of an archive nothing but the report is made anew. Raises StoreError
    when the run was not completed.
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


END = "<!-- end of findings -->"
ANSWERED = "the other experiments"  # in place of an experiment's number, for the table of their answers
AUDITED = "the published reports"  # in place of an experiment's number, for the table of their audit
#: Experiments whose questions stand in the README one by one.
IN_FULL = ("00", "01")
MOST_CHARACTERS = 500  # of an answer in the table
#: What the figure shows that stands with an experiment's findings in README.md.
PICTURES = {"00": "A server frozen at known times: how many requests waited, and who counts them"}


def begin(experiment_number: str) -> str:
    """Return the line of README.md after which an experiment's findings stand, up to END."""
    return f"<!-- findings of {experiment_number}: written by `lab keep` -->"


def readme_findings(folder: RunFolder, link: str) -> str:
    """Return the README's table on a reference result: its questions with their answers, in the report's words."""
    manifest, kept = folder.manifest(), _kept(folder)
    machine = manifest["machine"]
    facts = f"{machine['cpu_model']}, {machine['cores']} cores, {machine['os']}, {_day(manifest)}"
    rows = [["question", "verdict", "effect (95 %)"], ["---", "---", "---"]]
    for each in kept["answers"]:
        effect = kept["effects"][each["key"]]
        rows.append([cell.replace("|", "\\|") for cell in (each["question"], f"**{each['verdict']}**", effect)])
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    size = manifest["size"]
    picture = ""
    if alt := PICTURES.get(number := str(manifest["experiment"])):
        figure = IN_README[number]
        picture = f"\n\n![{alt}]({link.rpartition('/')[0]}/figures/{figure}.png)"
    return (
        f"**{kept['title']}**\n\n{table}\n\nOne run of experiment {manifest['experiment']} in the {size} size "
        f"({facts}); its [whole report]({link}) says how each figure was measured, and which are not to be trusted."
        f"{picture}"
    )


def readme_answers(link: str, notebooks: str, root: Path = REFERENCE) -> str:
    """Return the README's table of experiments that measure a server: what each asks, and what its reference result
    answers.

    Those with findings of their own in the README are left out. `link` is the folder of the reference results,
    `notebooks` that of the notebooks.
    """
    rows = [["experiment", "what came out"], ["---", "---"]]
    for plan in EXPERIMENTS.values():
        if plan.number not in IN_FULL and plan.measures:
            name = f"[{plan.number}]({notebooks}/{plan.notebook}) {plan.title}"
            rows.append([name, _answer(plan, root, link)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _answer(plan: Experiment, root: Path, link: str) -> str:
    folder = root / plan.number
    if not folder.is_dir():
        return f"No reference result is kept: `lab run {plan.number}`"
    reference = RunFolder.open(folder)
    manifest = reference.manifest()
    report = f"[{manifest['size']}, {_day(manifest)}]({link}/{plan.number}/report.md)"
    kept = _kept(reference)
    decided = [one for one in kept["answers"] if one["verdict"] != "inconclusive"]
    answers = " ".join(f"{one['question']} **{one['verdict']}**: {kept['effects'][one['key']]}." for one in decided)
    return f"{_short(answers)} {report}".replace("|", "\\|")


def _kept(folder: RunFolder) -> dict[str, Any]:
    """Return what the report of a reference result concluded."""
    kept: dict[str, Any] = json.loads(folder.conclusions.read_text(encoding="utf-8"))
    return kept


def _short(answer: str) -> str:
    """Return the answer, or where it is long the first of its sentences; what follows stands in the report."""
    while len(answer) > MOST_CHARACTERS and ". " in answer:
        answer = answer.rpartition(". ")[0] + "."
    return answer


def _day(manifest: dict[str, Any]) -> str:
    return f"{datetime.fromtimestamp(manifest['started_unix_s'], UTC):%Y-%m-%d}"


def readme_audit(link: str) -> str:
    """Return the README's table on the published reports: each rule that found something, and in how many runs of a
    report.

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


def refreshed(readme: str, kept: RunFolder, reference: str, notebooks: str, pages: str) -> str:
    """README's text after a reference result was kept: its findings, every answer, and the audit."""
    number = str(kept.manifest()["experiment"])
    after = with_findings(readme, readme_findings(kept, f"{reference}/{number}/report.md"), number)
    after = with_findings(after, readme_answers(reference, notebooks, kept.path.parent), ANSWERED)
    return with_findings(after, readme_audit(pages), AUDITED)
