"""Measure the runs of `lab load`, `lab knee`, `lab compare` and `lab campaign`; read runs and outputs for commands."""

import json
import secrets
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from runners import words
from runners.analysis import facts, validity
from runners.analysis.comparison import Comparison
from runners.analysis.counts import by_status, failures, number
from runners.analysis.interleaved import comparisons
from runners.analysis.knee import Knee
from runners.analysis.outputs import as_record, compare_outputs
from runners.analysis.runs import Differs, compare_runs, differing
from runners.analysis.validity import Aspect, Cause
from runners.audit import listing
from runners.audit.audit import audit
from runners.cli import planned
from runners.design.experiment import SHARES
from runners.design.target import AS_TARGET, read_target
from runners.errors import Interrupted, MeasureError, PlanError
from runners.execution.campaign import Ended, Job, Lines, carry_out, held, plan_lines
from runners.experiments.campaign import CampaignFile
from runners.experiments.commands import LOAD
from runners.experiments.e09_compare import COMPARE_BLOCK
from runners.experiments.e09_compare import EXPERIMENT as COMPARE
from runners.jobs import Appraisal, LocalRunner
from runners.lab import Lab
from runners.readers.outputs import find_in
from runners.readers.reading import read_run
from runners.readers.run import Run, Step
from runners.report.comparison import heading, lines
from runners.report.exports import comparison_page
from runners.report.flamegraph import stacks_of
from runners.results.ladders import Ladder
from runners.results.limits import Judgement, judge
from runners.results.results import Results as RunResults
from runners.storage.run_folder import RUNS, RunFolder
from runners.storage.stacks import encoded, speedscope
from runners.storage.step_folder import replace_file
from runners.targets.external import at_revision

if TYPE_CHECKING:
    from runners.fleet.workers import Fleet


def measure(run: planned.PlannedRun) -> RunFolder:
    """Measure a run, write its report, return its folder. Raises LabError on failure, Interrupted after Ctrl-C."""
    lab = Lab.begin(run.plan, resume=run.resume, **run.parameters)
    try:
        lab.run(run.block)
        concluded = lab.conclude()
    except KeyboardInterrupt as interrupt:
        raise Interrupted(lab.folder.path) from interrupt
    finally:
        lab.close()
    if run.block == COMPARE_BLOCK:  # `lab load` and `lab knee` print lines of their own
        print(repr(concluded))
    return lab.folder


def load_on_fleet(given: Mapping[str, object], fleet: "Fleet") -> RunFolder:
    """Run a server on a fleet's first host, load it from the other hosts; return the run's folder on this machine."""
    from runners.fleet.hosts import measure_on
    from runners.fleet.workers import SERVER

    hosts = fleet.hosts(SERVER)
    if not hosts:
        raise PlanError("the fleet", "no host has a slot for a server", "start workers, with --resources server=1")
    parameters = LOAD.checked({SHARES.name: len(hosts) - 1, **given})
    token = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    job = Job(
        name=LOAD.number, kind=LOAD.number, parameters=parameters, repeat=1, planned_s=0.0, address=token, report=True
    )  # fmt: skip
    folder = RUNS / job.folder
    RUNS.mkdir(parents=True, exist_ok=True)
    outcome = measure_on(hosts[0], fleet, job, folder, threading.Event())
    if outcome.status != "complete":
        raise MeasureError(f"host {hosts[0].name}", outcome.cause, "correct what it names, and run again")
    return RunFolder.open(folder)


def compare_with_revision(
    given: Mapping[str, object], target: Path, revision: str, resume: Path | None = None
) -> RunFolder:
    """Compare a target (side b) with an earlier revision of its repository (side a); return the run's folder.

    `given`: the run's parameters; `resume`: folder of a run to resume. Raises LabError; Interrupted after Ctrl-C.
    """
    file = read_target(target)
    if not file.repeatable:
        cause = "both revisions would be at the port, or in the data folder, that it names"
        raise PlanError(str(target), cause, "write {port} for the port, and {data} in place of a `data` folder")
    with at_revision(file, revision, RUNS.with_name("revisions")) as earlier:
        pair = {"a": f"{AS_TARGET}{earlier.path}", "b": f"{AS_TARGET}{file.path}"}
        return measure(planned.comparison({**given, **pair}, resume))


def comparisons_of(folder: RunFolder) -> tuple[Comparison, ...]:
    """Return a run's comparisons of servers that were loaded by one schedule. Raises PlanError if there are none."""
    if not (of_run := comparisons(read_run(folder))):
        raise PlanError(str(folder.path), "it holds no comparison by one schedule", "see its report for why")
    return of_run


def exported_profile(folder: RunFolder, form: str, event: str) -> tuple[str, bytes]:
    """Return (step's name, content of a file) for a run's first profile of `event`, such as cpu.

    `form` is the file's format, speedscope or pprof. Raises PlanError if the run has no profile of this event.
    """
    steps = read_run(folder).steps
    profiles = [(step.name, stacks) for step in steps if not (stacks := stacks_of(step, event)).empty]
    if not profiles:
        raise PlanError(str(folder.path), f"it has no {event} profile", "take one: lab profile")
    name, stacks = profiles[0]
    counts = {str(stack): int(count) for stack, count in stacks.groupby("stack", sort=False)["count"].sum().items()}
    if form == "pprof":
        return name, encoded(counts, event)
    return name, json.dumps(speedscope(counts, event, name)).encode()


def as_json(folder: RunFolder) -> dict[str, Any]:
    """Return a run's results for JSON: loads (rates, percentiles, validity), knees, comparisons and conclusions."""
    run = read_run(folder)
    return {
        "run": str(folder.path),
        "status": folder.manifest()["status"],
        "loads": [_load_json(step) for step in run.steps],
        "knees": [_knee_json(ladder.name, ladder.knee) for ladder in searches(run) if ladder.knee is not None],
        "comparisons": [comparison.as_json() for comparison in comparisons(run)],
        "conclusions": json.loads(folder.conclusions.read_text(encoding="utf-8")),
    }


def searches(run: Run) -> list[Ladder]:
    """Return a run's searches for a knee (highest rate that meets an objective) as ladders: loads at several rates."""
    return [ladder for ladder in RunResults(run).ladders if ladder.search is not None]


def _knee_json(name: str, knee: Knee) -> dict[str, Any]:
    ends = ("rps", "low_rps", "high_rps", "closed_loop_rps")
    finite = {end: words.finite(getattr(knee, end)) for end in ends}
    return {"name": name, **finite, "kind": knee.kind.value, "precise": knee.precise, "confirmed": knee.confirmed}


def _load_json(step: Step) -> dict[str, Any]:
    failed = failures(step)
    percentiles = {level: facts.quoted(step, level) for level in (0.5, 0.9, 0.99, 0.999)}
    why_invalid = validity.cause(step)
    in_vain = why_invalid in validity.FAILED
    return {
        "name": step.name,
        "role": step.kind,
        "treatment": step.subject,
        "valid": step.valid and not in_vain,
        "invalid_reasons": [validity.why_not(step)] if in_vain else list(step.record.invalid_reasons),
        "cause": why_invalid.value if why_invalid is not None else None,
        "withheld": sorted(aspect.value for aspect in validity.withheld(step)),
        "offered_rps": words.finite(facts.offered_rps(step)),
        "achieved_rps": words.finite(facts.achieved_rps(step)) if validity.may_quote(step, Aspect.RATE) else None,
        "requests": {"ended": round(failed.requests), "failed": round(failed.failed), "by_cause": {
            Cause.PROTOCOL.value: round(failed.protocol), Cause.CONNECTION.value: round(failed.connection),
            Cause.TIME_OUT.value: round(failed.timed_out), Cause.REFUSED.value: round(failed.refused),
        }},
        "failures": json.loads(step.frames["failures"].to_json(orient="records")),
        "reconnects": words.finite(number(step, "reconnects")),
        "closed_idle": words.finite(number(step, "closed_idle")),
        "status": by_status(step),
        "response_us": {
            words.level(level): {name: words.finite(getattr(bounded, name)) for name in ("value", "low", "high")}
            for level, bounded in percentiles.items()
            if bounded is not None
        },
        "server_cpu_us_a_request": words.finite(facts.cpu_us(step)) if validity.may_quote(step, Aspect.CPU) else None,
        "left_out": list(step.record.server.left_out),
    }  # fmt: skip


def loads_of(folder: RunFolder) -> tuple[Step | None, list[str]]:
    """Return (a run's first load without a profiler, or None; a line of text for each load that was not as planned)."""
    loads = read_run(folder).find()
    short = (step for step in loads if not validity.succeeded(step) or validity.cause(step) in validity.NOT_AS_ASKED)
    return next((step for step in loads if not step.profiled), None), list(map(facts.line, short))


def compare_folders(
    a: Sequence[Path], b: Sequence[Path], despite: Sequence[str], see: float, output: Path | None = None
) -> list[Comparison]:
    """Return comparisons of the runs at paths `a` (the baseline) with those at `b`, one for each load that both have.

    `despite`: fields that may differ; `see`: least relative change of interest; `output`: HTML file. Raises PlanError.
    """
    see = float(COMPARE.checked({"see": see})["see"])
    left, right = ([read_run(RunFolder.open(path)) for path in side] for side in (a, b))
    for name, times in Counter(str(run.manifest["run"]) for run in (*left, *right)).items():
        if times > 1:
            raise PlanError(f"run {name}", "it is given twice: no run is a repeat of itself", "give each run once")
    fields = _refuse_other_conditions(left, right, despite)
    compared = compare_runs(left, right, see)
    if not compared:
        cause = "no load of one matches a valid one of the other"
        raise PlanError("these runs", cause, "compare runs of one experiment")
    if output is not None:
        page = comparison_page(compared, left, right, fields)
        try:
            replace_file(output, page.encode())
        except OSError as error:
            raise PlanError(f"--output {output}", str(error.strerror), "name a file that can be written") from error
    return compared


def _refuse_other_conditions(left: Sequence[Run], right: Sequence[Run], despite: Sequence[str]) -> list[Differs]:
    """Return the conditions, besides the setting, in which runs differ. Raises PlanError if one is not in `despite`."""
    fields = differing(left, right)
    allowed = tuple(f"{name}." for name in despite)
    if refused := [differs for differs in fields if not f"{differs.field}.".startswith(allowed)]:
        cause = "they differ in more than the setting:\n" + "\n".join(f"  {differs.text}" for differs in refused)
        fields_of = Counter(differs.group for differs in refused)
        names = (differs.field if fields_of[differs.group] == 1 else differs.group for differs in refused)
        options = " ".join(f"--despite {name}" for name in dict.fromkeys(names))
        raise PlanError("these runs", cause, f"measure them alike, or say {options}")
    return fields


def compare_files(
    pairs: Sequence[tuple[Sequence[Path], Sequence[Path]]], despite: Sequence[str], as_json: bool
) -> tuple[str, tuple[Judgement, ...]]:
    """Return (text or JSON to print, judgements) for comparisons of load tools' outputs in files. Raises PlanError.

    `pairs`: (files of A, files of B) of every comparison. `despite`: fields in which the outputs may differ.
    """
    if not pairs:
        raise PlanError("one file", "there is nothing to compare it with", "name two, or --a and --b for repeats")
    texts, records, compared = list[str](), [], list[Comparison]()
    read = {path: list(find_in(path)) for pair in pairs for side in pair for path in side}
    for a, b in pairs:
        left, right = ([out for path in side for file in read[path] for out in file.outputs] for side in (a, b))
        for side, outputs in ((a, left), (b, right)):
            if not outputs:
                empty = ", ".join(str(path) for path in side) or "a side"
                raise PlanError(empty, "no output of a known load tool is in it", "name the files that hold outputs")
        if again := set(a) & set(b):
            raise PlanError(str(min(again)), "it is given on both sides", "give each run once")
        names = (", ".join(map(str, a)), ", ".join(map(str, b)))
        loads = compare_outputs(left, right, despite)
        of_pair = [load.comparison for load in loads]
        records.append({"a": names[0], "b": names[1], "loads": as_record(loads)})
        compared += of_pair
        texts += [f"A: {names[0]}", f"B: {names[1]}", compared_text(of_pair), ""]
    audited = audit([file for path in read for file in read[path]])
    if as_json:
        document = {"schema": "compared/1", "pairs": records, "audit": json.loads(listing.as_json(audited))}
        text = json.dumps(document, indent=1, allow_nan=False)
    else:
        audit_text = listing.as_text(audited).rstrip()
        text = listing.plain("\n".join([*texts, "What an audit of these files finds:", audit_text]))
    return text, judge(compared, ())


def compared_text(compared: Sequence[Comparison]) -> str:
    """Return the text to print for comparisons of runs or of outputs."""
    return "\n".join("\n  ".join([f"{heading(comparison)}:", *lines(comparison)]) for comparison in compared)


def measure_campaign(file: CampaignFile, dry_run: bool, out: TextIO, fleet: "Fleet | None" = None) -> Ended:
    """Print a campaign's plan; unless `dry_run`, measure jobs that have no result. Return outcomes and jobs left."""
    jobs, minutes = file.jobs(Appraisal()), file.campaign.minutes
    for line in plan_lines(jobs, RUNS, minutes, ordered=dry_run):
        print(line, file=out, flush=True)
    if dry_run:
        return Ended((), ())
    with held(RUNS):
        shown = Lines(jobs, out)
        try:
            if fleet is None:
                return carry_out(jobs, LocalRunner(shown, shown.note).run, RUNS, shown, minutes)
            from runners.fleet.hosts import spread  # imported here, as a lab without a fleet needs no dask

            return spread(jobs, fleet, RUNS, shown, minutes)
        finally:
            shown.stop()
