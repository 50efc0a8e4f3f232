"""Write a run's report again, archive a run as a reference result, and write reference results into README.md."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runners import report, words
from runners.analysis.intervals import with_bounds
from runners.design.experiment import Experiment
from runners.experiments.question_table import criteria
from runners.experiments.registry import EXPERIMENTS, plan_of, questions_of
from runners.readers.console_report import ConsoleReport
from runners.readers.published import published
from runners.readers.reading import archived_content, keeps_latencies, read_run
from runners.report.sentences import effect_words
from runners.results.answer import Asked, Verdict
from runners.results.conclusion import Conclusion, conclude
from runners.storage.archive import steps_file, write_archive
from runners.storage.run_folder import REFERENCE, RunFolder, StoreError, write_json
from runners.toolchain.tools import shown


def concluded(folder: RunFolder, questions: Sequence[Asked] = ()) -> Conclusion:
    """Return a run's conclusion, with answers to `questions`, from its folder and the published outputs to compare."""
    run = read_run(folder)
    return conclude(run, outputs_of(run.manifest), questions)


def outputs_of(manifest: Mapping[str, Any]) -> dict[str, ConsoleReport]:
    """Return {name: a generator's published output} to compare a run with; empty if it ran on a user's servers."""
    on_targets = (manifest.get("parameters") or {}).get("target")
    workloads = () if on_targets else plan_of(str(manifest["experiment"])).workloads
    outputs = {}
    for workload in workloads:
        if name := workload.published:
            whole = name if name.rpartition("/")[2] == workload.name else f"{name}/{workload.name}"
            outputs[whole] = published(name)
    return outputs


def write_report(folder: RunFolder, with_html: bool = True) -> Conclusion:
    """Write report.html (if `with_html`), report.md, figures and conclusions.json, from the run folder alone."""
    manifest = folder.manifest()
    conclusion = concluded(folder, questions_of(str(manifest["experiment"]), manifest.get("parameters")))
    report.render(conclusion, with_html)
    kept = conclusion.as_json()
    kept["effects"] = {answered.question.key: effect_words(answered) for answered in conclusion.answers}
    write_json(folder.conclusions, kept)
    return conclusion


def keep_reference(folder: RunFolder, root: Path = REFERENCE) -> RunFolder:
    """Archive a run and its report below `root`. Raises StoreError if incomplete or not of the lab's own servers."""
    manifest = folder.manifest()
    if manifest["status"] != "complete":
        raise StoreError(str(folder.path), f"the run is {manifest['status']}", "keep a complete one")
    if manifest.get("targets"):
        raise StoreError(str(folder.path), "it measured other servers than the lab's", "keep it where it is")
    target = root / str(manifest["experiment"])
    fresh = RunFolder(root / ".new" / target.name)
    shutil.rmtree(fresh.path.parent, ignore_errors=True)
    if folder.archived:
        fresh.path.mkdir(parents=True)
        for path in (steps_file(folder.path), folder.manifest_path):
            shutil.copyfile(path, fresh.path / path.name)
    else:
        # if an archive drops a step's latencies, the bounds of its percentiles are computed first
        steps = (step if keeps_latencies(step.record) else with_bounds(step) for step in read_run(folder).steps)
        write_archive(fresh.path, map(archived_content, steps))
        fresh.write_manifest(manifest)
    write_report(fresh, with_html=False)
    shutil.rmtree(target, ignore_errors=True)
    fresh.path.replace(target)
    fresh.path.parent.rmdir()
    return RunFolder(target)


BEGIN, END = "<!-- findings: written by `lab keep` -->", "<!-- end of findings -->"


def readme_findings(root: Path = REFERENCE) -> str:
    """Return README.md's part on the results below `root`: of each experiment a line, its main answer, and a figure."""
    return "\n\n".join(line for number, plan in EXPERIMENTS.items() if (line := _finding(number, plan, root)))


def _finding(number: str, plan: Experiment, root: Path) -> str:
    """Return one experiment's part of README.md; empty if it has no headline question or no result."""
    keys = [key for key, row in criteria().get(number, {}).items() if row.headline]
    folder = RunFolder(root / number)
    if not keys or not plan.published or not folder.conclusions.exists():
        return ""
    kept: dict[str, Any] = json.loads(folder.conclusions.read_text(encoding="utf-8"))
    answers = {answer["key"]: answer for answer in kept["answers"]}
    decided = [key for key, answer in answers.items() if answer["verdict"] != Verdict.INCONCLUSIVE.value]
    key = next((key for key in (*keys, *decided) if key in decided), keys[0])
    if (answer := answers.get(key)) is None:
        return ""
    row, verdict = criteria()[number][key], str(answer["verdict"])
    undecided = f"{answer['question']} {verdict.capitalize()}"
    said = {Verdict.YES.value: row.yes, Verdict.NO.value: row.no}.get(verdict, undecided).partition(". ")[0]
    measured = kept["effects"][key].partition("; ")[0]
    line = f"[Report {int(number)}]({shown(folder.report_md)}): {words.sentence(said)} {words.sentence(measured)}"
    picture = folder.figures_path / f"{answer['figure']}.svg"
    return f"{line}\n\n![{plan.title}]({shown(picture)})" if picture.exists() else line


def with_part(text: str, part: str) -> str:
    """Return `text` with `part` between BEGIN and END; unchanged without BEGIN. Raises StoreError without END."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if begin and not end:
        raise StoreError(BEGIN, f"no line {END} follows it", "write that line where the part ends, and run again")
    return f"{before}{begin}\n{part}\n{end}{after}" if begin else text
