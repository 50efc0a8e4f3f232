"""`lab`: the command line. Thin: it reads words and calls the rooms."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runners import __version__
from runners.errors import LabError, printable

if TYPE_CHECKING:
    from pandas import DataFrame

    from runners.audit.audit import Audit
    from runners.claims.gate import Judgement
    from runners.design.objective import ChangeLimit
    from runners.storage.run_folder import RunFolder

EXIT_PROBLEM = 1
EXIT_USAGE = 2
EXIT_FAULT = 70
EXIT_INTERRUPTED = 130
LOG_BYTES = 1_000_000


@click.group()
@click.version_option(__version__, prog_name="lab")
def lab() -> None:
    """Load-test reports that can be run again."""


def _command(*examples: str) -> Callable[[Callable[..., object]], click.Command]:
    """Declare a command of `lab` with the examples at the end of its help."""
    return lab.command(epilog="\n".join(("\b", "Examples:", *(f"  {line}" for line in examples))))


def _numbers() -> list[str]:
    """The experiments there are, for a shell that completes."""
    from runners.design.experiment import EXPERIMENTS

    return [*EXPERIMENTS]


_JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON; all else goes to standard error.")


@_command(
    "lab doctor",
    "lab doctor --json",
)
@_JSON
def doctor(as_json: bool) -> None:
    """Show what was found on this machine and what is missing; exit 1 only if the main job can't run."""
    from runners.execution.doctor import examine

    findings = examine()
    if as_json:
        _print_json([dataclasses.asdict(finding) for finding in findings])
    else:
        for finding in findings:
            _echo(finding.line())
    if any(finding.fatal for finding in findings):
        sys.exit(EXIT_PROBLEM)


@_command(
    "lab build",
    "lab build --force",
)
@click.option("--force", is_flag=True, help="Build even when nothing changed.")
@_JSON
def build(force: bool, as_json: bool) -> None:
    """Build the server and the load generator."""
    from runners.toolchain.workshop import prepare

    versions = prepare("truepace", lambda line: _echo(line, err=as_json), force).versions()
    if as_json:
        _print_json(versions)
        return
    for name, version in versions.items():
        _echo(f"{name:16} {version}")


@_command(
    "lab experiments --titles",
    "lab experiments --json",
)
@click.option("--titles", is_flag=True, help="Their titles too.")
@_JSON
def experiments(titles: bool, as_json: bool) -> None:
    """List the experiments' numbers, one a line."""
    from runners.design.experiment import EXPERIMENTS

    if as_json:
        fields = ("number", "title", "published", "notebook")
        _print_json([{field: getattr(one, field) for field in fields} for one in EXPERIMENTS.values()])
        return
    for one in EXPERIMENTS.values():
        _echo(f"{one.number}  {one.title}" if titles else one.number)


@_command(
    "lab questions",
    "lab questions --json",
)
@click.option("--json", "as_json", is_flag=True, help="As JSON, with quantity, margin, width and design.")
def questions(as_json: bool) -> None:
    """List the reports' questions, what decides each, and the reference runs' answers."""
    import msgspec

    from runners.experiments.registry import answered_share, table

    rows = table()
    if as_json:
        _echo(msgspec.json.format(msgspec.json.encode(rows)).decode())
        return
    width = max(len(row.id) for row in rows)
    for row in rows:
        _echo(f"{row.id:{width}}  {row.verdict:12}  {row.question} [{row.criterion.quantity}]")
    answered = sum(row.answered for row in rows)
    _echo(f"{answered} of {len(rows)} questions answered with yes or no ({answered_share(rows):.0%})")


@_command(
    "lab run 01 --size smoke",
    "lab run 04 -p engines=lsm -p rate_rps=8000",
    "lab run 01 --resume data/runs/01-20260101T000000Z-smoke-0a1b",
)
@click.argument("experiment", shell_complete=lambda *_: _numbers())
@click.option("--size", help="smoke | quick | full")
@click.option("--resume", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Go on with this run.")
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter; may be given again.")
@_JSON
def run(experiment: str, size: str | None, resume: Path | None, parameters: tuple[str, ...], as_json: bool) -> None:
    """Run an experiment's notebook in batch, e.g. `lab run 01 --size quick -p rate_rps=8000`.

    An interrupted run goes on with `--resume RUN`: what it has finished is not measured again.
    """
    from runners.execution.batch import run_notebook

    given = _given(parameters, {})
    if size is not None and given.setdefault("size", size) != size:
        raise click.UsageError(f"--size {size} and -p size={given['size']} contradict each other: give one")
    _print_report(run_notebook(experiment, given, resume), as_json)


@_command(
    "lab report data/runs/01-20260101T000000Z-smoke-0a1b",
)
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_JSON
def report(run_folder: Path, as_json: bool) -> None:
    """Write a run's report again from its folder: no server, no load."""
    from runners.experiments.registry import questions_of_run
    from runners.report.references import write_report
    from runners.storage.run_folder import RunFolder

    folder = RunFolder.open(run_folder)
    write_report(folder, questions_of_run(folder.manifest()))
    _print_report(folder, as_json)


@_command(
    "lab keep data/runs/01-20260101T000000Z-quick-0a1b",
)
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_JSON
def keep(run_folder: Path, as_json: bool) -> None:
    """Keep a complete run as the experiment's reference result: data/reference, and the README's findings."""
    from runners.audit.registry import PAGES
    from runners.experiments.registry import questions_of_run
    from runners.report.references import keep_reference, refreshed
    from runners.storage.run_folder import REFERENCE, RunFolder
    from runners.toolchain.tools import ROOT, shown

    folder = RunFolder.open(run_folder)
    kept = keep_reference(folder, questions_of_run(folder.manifest()))
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = refreshed(before, kept, shown(REFERENCE), shown(ROOT / "notebooks"), shown(PAGES))
    readme.write_text(after, encoding="utf-8")
    if as_json:
        _print_json({"kept": str(kept.path), "readme_changed": after != before})
        return
    _echo(f"kept in {kept.path}" + ("; the README's findings are of this run now" if after != before else ""))


@_command(
    "lab audit report.md",
    "lab audit docs --format sarif --output audit.sarif",
    "lab audit --explain TIM001",
)
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json", "html", "sarif", "github")),
    default="text",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file instead.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules, by code or beginning: RAT,TIM001.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these rules.")
@click.option("--explain", metavar="CODE", help="Print the page of a rule.")
def audit(
    paths: tuple[Path, ...],
    form: str,
    as_json: bool,
    output: Path | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    explain: str | None,
) -> None:
    """Find every load generator's output in files, folders or run folders, and say what is wrong with it.

    Reads Markdown, text, HTML and notebooks in any language: a line a theme and document, details in JSON and HTML.
    Exit 0 if no error was found (warnings and notes may be), 1 if one was, 2 for wrong usage.
    """
    from runners.audit import registry
    from runners.audit.audit import audit as examine
    from runners.readers.outputs import find_in

    try:
        rules = registry.chosen(select, ignore)
        if explain is not None:
            _echo(registry.page(explain).rstrip())
            return
    except registry.UnknownRuleError as error:
        raise click.UsageError(str(error)) from error
    if not paths:
        raise click.UsageError("no path was given: name files or folders, e.g. `lab audit report.md`")
    found = examine([each for path in paths for each in find_in(path)], rules)
    text = _written(found, "json" if as_json else form)
    if output is None:
        _echo(text, nl=False)
    else:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise click.UsageError(f"--output {output}: {error.strerror}; name a file that can be written") from error
        _echo(f"{found.summary} Written to {output}.")
    if found.failed:
        sys.exit(EXIT_PROBLEM)


def _written(found: Audit, form: str) -> str:
    from runners.audit import listing

    writers = {
        "text": listing.as_text,
        "json": listing.as_json,
        "sarif": listing.as_sarif,
        "github": listing.as_github,
    }
    if form in writers:
        return writers[form](found)
    from runners.report.exports import as_html  # here, because figures take longer to load than an audit takes

    return as_html(found)


@_command(
    "lab runs",
    "lab runs --sql \"SELECT run, step, value FROM measurements WHERE metric = 'p99'\" --format csv",
)
@click.argument("roots", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sql", help="A question over all runs, e.g. 'FROM runs'; views are named on an error.")
@click.option("--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def runs(roots: tuple[Path, ...], sql: str | None, form: str, as_json: bool) -> None:
    """List the runs below ROOTS (this project's, unless given), or ask them anything in SQL."""
    from runners.readers.history import RUN_LIST, open_history
    from runners.storage.run_folder import REFERENCE, RUNS

    history = open_history(roots or (RUNS, REFERENCE))
    for text in history.unreadable:
        _echo(f"passed over: {text}", err=True)
    answer = history.query(RUN_LIST if sql is None else sql)
    _print_rows(answer, "json" if as_json else form, "no runs" if sql is None else "no rows")


def _print_rows(answer: DataFrame, form: str, none: str = "no rows") -> None:
    if form == "csv":
        _echo(answer.to_csv(index=False), nl=False)
    elif form == "json":
        _echo(answer.to_json(orient="records", date_format="iso", indent=1))
    else:
        _echo(answer.to_string(index=False) if len(answer) else none)


@_command(
    "lab dataset data/dataset",
    "lab dataset data/dataset data/runs",
    'lab dataset data/dataset --sql "SELECT subject, metric, median(value) FROM measurements GROUP BY ALL"',
)
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("roots", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--sql", help="Ask the data set that is there, in place of writing it; its view is `measurements`.")
@click.option("--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True)
@_JSON
def dataset(folder: Path, roots: tuple[Path, ...], sql: str | None, form: str, as_json: bool) -> None:
    """Write the figures of all runs below ROOTS (this project's, unless given) to FOLDER as one Parquet data set.

    It is partitioned by experiment and class of machine, and made anew by each call. See runners/docs/campaigns.md.
    """
    from runners.readers.dataset import open_dataset, write
    from runners.storage.run_folder import REFERENCE, RUNS

    if sql is not None:
        if roots:
            raise click.UsageError("--sql asks the data set that is there: it takes no runs")
        _print_rows(open_dataset(folder).query(sql), "json" if as_json else form)
        return
    written = write(folder, roots or (RUNS, REFERENCE))
    for text in written.unreadable:
        _echo(f"passed over: {text}", err=True)
    if as_json:
        _print_json({"folder": str(folder), "figures": written.figures, "runs": written.runs})
        return
    _echo(f"{folder}: {written.figures:,} figures of {written.runs:,} runs")


@_command(
    "lab prune --older-than 30 --keep 5",
    "lab prune --incomplete --yes",
)
@click.argument("root", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Runs that began before.")
@click.option("--keep", type=click.IntRange(min=0), help="Runs with so many later complete ones of their parameters.")
@click.option("--incomplete", is_flag=True, help="Runs that were interrupted or failed.")
@click.option("--yes", is_flag=True, help="Remove them; without it they are listed.")
@_JSON
def prune(root: Path | None, days: float | None, keep: int | None, incomplete: bool, yes: bool, as_json: bool) -> None:
    """List the runs below ROOT (this project's, unless given) that a policy gives up; with --yes remove them.

    A run is given up if all that is given holds of it. One that is being measured is never.
    """
    from runners.storage.prune import Policy, finish_removals, given_up, remove
    from runners.storage.run_folder import RUNS

    root = root or RUNS
    found = list(given_up(root, Policy(days, keep, incomplete)))
    for run in found:
        _echo(run.line, err=as_json)
        if yes:
            remove(run)
    if yes:
        finish_removals(root)
    if as_json:
        _print_json({"runs": [run.line for run in found], "bytes": sum(run.bytes for run in found), "removed": yes})
        return
    whole = f"{len(found)} runs, {sum(run.bytes for run in found) / 1e6:,.1f} MB"
    _echo(f"{whole} removed" if yes else f"{whole} would be removed by --yes")


@_command(
    "lab history",
    "lab history data/runs --within 10 --json",
)
@click.argument("roots", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--within",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="A change to the worse fails if it lies in the last so many runs of its figure.",
)
@_JSON
def history(roots: tuple[Path, ...], within: int, as_json: bool) -> None:
    """Say where figures changed their level over the runs below ROOTS (this project's, unless given).

    Figures are latencies, throughputs, and the shares of frames in profiles; one on one class of machine at a time.
    Exit 0 if none got worse lately, 1 if one did, 2 for wrong usage.
    """
    from runners.claims.history import findings, frame_trends, trends
    from runners.readers.history import open_history
    from runners.storage.run_folder import REFERENCE, RUNS

    past = open_history(roots or (RUNS, REFERENCE))
    for text in past.unreadable:
        _echo(f"passed over: {text}", err=True)
    measured, every = past.query("FROM measurements"), past.query("FROM runs")
    found = [*trends(measured, every), *frame_trends(past.query("FROM frame_shares"), measured, every)]
    alerts = [trend for trend in found if trend.worse_within(within)]
    said = list(findings(found))
    looked = sum(1 for trend in found if not trend.why_not)
    summary = (
        f"{len(alerts)} of {looked} figures that were measured often enough got worse in their last {within} runs."
    )
    if as_json:
        worse = [trend.title for trend in alerts]
        findings_said = [finding.as_json() for finding in said]
        _print_json({"summary": summary, "failed": bool(alerts), "worse": worse, "findings": findings_said})
    else:
        for finding in said:
            _echo(finding.sentence)
        _echo(summary)
    if alerts:
        sys.exit(EXIT_PROBLEM)


_TARGET = click.Path(exists=True, dir_okay=False, path_type=Path)


_GENERATORS = click.option(
    "--generators", "shares", type=int, help="So many that share each load, in a fleet on other hosts."
)
_LISTEN = click.option(
    "--listen", metavar="ADDRESS", help="Let servers listen there; host: on their address in the fleet."
)


def _on_a_fleet(command: Callable[..., object]) -> Callable[..., object]:
    """Declare the options that name the hosts of a fleet."""
    for option in (
        click.option("--no-tls", is_flag=True, help="With --hosts, on a network that is yours alone."),
        click.option("--tls", nargs=3, type=click.Path(path_type=Path), metavar="CA CERT KEY", help="Of all hosts."),
        click.option("--hosts", metavar="A,B…", help="Start workers there by SSH; the first also schedules."),
        click.option(
            "--scheduler", metavar="ADDRESS", help="Of workers that run already, such as tls://10.0.0.1:8786."
        ),
    ):
        command = option(command)
    return command


@_command(
    "lab load --target target.yaml --rate 2000 --duration 10",
    "lab load --target target.yaml --size smoke --json",
    "lab load --target target.yaml --rate 2000 --generators 2",
    "lab load --target target.yaml --hosts 10.0.0.1,10.0.0.2 --listen host --tls ca.pem cert.pem key.pem",
)
@click.option("--target", type=_TARGET, help="The description of a server; `lab init` writes one.")
@click.option("--workload", help="One of the target's; its first unless given.")
@click.option("--rate", "rate_rps", type=int, help="Requests a second; half of a closed loop unless given.")
@click.option("--duration", "duration_s", type=float, help="Seconds, warm-up apart; by the size unless given.")
@click.option("--connections", type=int)
@click.option("--threads", type=int)
@click.option("--size", help="smoke | quick | full")
@_JSON
@click.option("--resume", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Go on with this run.")
@_GENERATORS
@_LISTEN
@_on_a_fleet
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again.")
def load(
    target: Path | None,
    as_json: bool,
    resume: Path | None,
    parameters: tuple[str, ...],
    scheduler: str | None,
    hosts: str | None,
    tls: tuple[Path, Path, Path] | None,
    no_tls: bool,
    **named: object,
) -> None:
    """Load anybody's server at one rate, e.g. `lab load --target target.yaml --rate 2000`.

    With --hosts or --scheduler the server runs on the first host, and the generators on the others.
    """
    from runners.commands import load_on_fleet, load_target

    given = _given(parameters, named)
    if target is not None:
        given["setting"] = _as_target(target)
    if not (scheduler or hosts):
        _told(lambda: load_target(given, resume), as_json)
        return
    if resume is not None:
        raise click.UsageError("--resume is for runs of this machine; a load on a fleet is begun again")
    from runners.fleet.cluster import opened

    with opened(scheduler, hosts, tls, no_tls) as fleet:
        _told(lambda: load_on_fleet(given, fleet), as_json)


@_command(
    "lab profile --target target.yaml",
    "lab profile --target target.yaml --rate 2000 --duration 20 --json",
)
@click.option("--target", type=_TARGET, required=True, help="The description of a server; `lab init` writes one.")
@click.option("--workload", help="One of the target's; its first unless given.")
@click.option("--rate", "rate_rps", type=int, help="Requests a second; half of a closed loop unless given.")
@click.option("--duration", "duration_s", type=float, help="Seconds, warm-up apart; by the size unless given.")
@click.option("--connections", type=int)
@click.option("--size", help="smoke | quick | full")
@_JSON
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again.")
def profile(target: Path, as_json: bool, parameters: tuple[str, ...], **named: object) -> None:
    """Load anybody's server at one rate, then again while its stacks are sampled: shares and a flame graph.

    By what is there: async-profiler for a JVM, py-spy for Python, `pprof` of target.yaml for Go, else perf.
    """
    from runners.commands import load_target

    given = _given(parameters, named)
    given["setting"] = _as_target(target)
    given.setdefault("profile", "cpu")
    _told(lambda: load_target(given), as_json)


@_command(
    "lab export data/runs/01-20260101T000000Z-quick-0a1b --format speedscope --output profile.speedscope.json",
    "lab export data/runs/01-20260101T000000Z-quick-0a1b --format pprof --event alloc --output profile.pb.gz",
)
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--format", "form", type=click.Choice(("speedscope", "pprof")), required=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file to write.")
@click.option("--event", type=click.Choice(("cpu", "alloc", "lock")), default="cpu", show_default=True)
@click.option("--step", help="Whose profile; the run's first profiled step unless given.")
@_JSON
def export(run_folder: Path, form: str, output: Path, event: str, step: str | None, as_json: bool) -> None:
    """Write a profile of a run as speedscope or pprof reads it."""
    from runners.commands import exported_profile

    name, content = exported_profile(run_folder, form, event, step)
    try:
        output.write_bytes(content)
    except OSError as error:
        raise click.UsageError(f"--output {output}: {error.strerror}; name a file that can be written") from error
    if as_json:
        _print_json({"step": name, "event": event, "format": form, "written": str(output)})
        return
    _echo(f"{name}, {event}: written to {output}")


@_command(
    'lab knee --engine lsm --objective "p99<=10ms" --minutes 5',
    "lab knee --target target.yaml --workload get",
)
@click.option("--target", type=_TARGET, help="Any server by its description, in place of an engine.")
@_JSON
@click.option("--engine", "setting", help="An engine, or engine=lsm,--flag=value,-XX:flag.")
@click.option(
    "--flag", "flags", multiple=True, metavar="--NAME=VALUE", help="A flag of the server; may be given again."
)
@click.option("--workload", help="put | get")
@click.option("--connections", type=int)
@click.option("--objective", help="e.g. p99<=10ms,achieved>=99%,errors=0")
@click.option("--minutes", type=float, help="Budget.")
@click.option("--size", help="smoke | quick | full")
@click.option("--resume", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Go on with this run.")
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again.")
def knee(
    target: Path | None,
    as_json: bool,
    flags: tuple[str, ...],
    resume: Path | None,
    parameters: tuple[str, ...],
    **named: object,
) -> None:
    """Find the highest rate that meets an objective, e.g. `lab knee --engine lsm --objective "p99<=10ms"`."""
    from runners.commands import find_knee

    given = _given(parameters, named)
    if target is not None:
        if flags or "setting" in given:
            raise click.UsageError("--target is a server of its own: --engine and --flag don't go with it")
        given["setting"] = _as_target(target)
    if flags:
        given["setting"] = ",".join([str(given.get("setting") or "lsm"), *flags])
    _told(lambda: find_knee(given, resume), as_json)


@_command(
    "lab compare before.txt after.txt",
    "lab compare --target a.yaml --target b.yaml --minutes 5",
    'lab compare --target target.yaml --baseline main --fail-on "p99>+10%" --fail-on "cpu>+3%"',
    "lab compare --engine lsm --engine rocksdb --workload get",
    "lab compare data/runs/01-20260101T000000Z-quick-0a1b data/runs/01-20260102T000000Z-quick-0a1b",
)
@click.argument("runs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--target", "targets", type=_TARGET, multiple=True, help="Twice: any two servers by their descriptions.")
@click.option("--engine", "engines", multiple=True, help="Twice: the two engines.")
@click.option(
    "--a", "a", multiple=True, help="A setting (engine=lsm,--flag=value), or run folders: may be given again."
)
@click.option("--b", "b", multiple=True, help="The other setting, or run folders.")
@click.option("--despite", multiple=True, metavar="FIELD", help="Compare run folders or outputs although this differs.")
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), help="Comparing run folders: write this HTML file too."
)
@click.option("--workload", help="put | get")
@click.option("--connections", type=int)
@click.option("--minutes", type=float, help="Budget; 10 unless given.")
@_JSON
@click.option("--baseline", metavar="REVISION|RUNS", help="With one --target: a git revision, or a folder of runs.")
@click.option(
    "--fail-on", "limits", multiple=True, metavar="LIMIT",
    help='Exit 3 where the interval lies beyond it: "p99>+10%", "cpu>+3%"; of p50 p90 p99 cpu throughput errors.',
)  # fmt: skip
@click.option(
    "--inconclusive", type=click.Choice(("fail", "pass")), default="fail", show_default=True,
    help="Whether a limit that can't be decided exits with 4, or with 0.",
)  # fmt: skip
@click.option("--markdown", type=click.Path(dir_okay=False, path_type=Path), help="A comment for a change request.")
@click.option(
    "--format", "form", type=click.Choice(("bencher", "benchmark-action")),
    help="Print the figures in Bencher's metric format, or github-action-benchmark's (customSmallerIsBetter).",
)  # fmt: skip
@click.option("--see", type=float, help="Smallest difference of interest, as a share; 0.02 unless given.")
@click.option("--until", help='End when this is decided, e.g. "p50+-2%": it differs, or is the same within 2 %.')
@click.option("--size", help="smoke | quick | full")
@click.option("--resume", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Go on with this run.")
@click.option("-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again.")
def compare(
    runs: tuple[Path, ...],
    targets: tuple[Path, ...],
    engines: tuple[str, ...],
    as_json: bool,
    a: tuple[str, ...],
    b: tuple[str, ...],
    despite: tuple[str, ...],
    output: Path | None,
    baseline: str | None,
    limits: tuple[str, ...],
    inconclusive: str,
    markdown: Path | None,
    form: str | None,
    resume: Path | None,
    parameters: tuple[str, ...],
    **named: object,
) -> None:
    """Compare two runs, or measure two settings by one schedule: `lab compare --engine lsm --engine rocksdb`.

    Given files, compare the first one's outputs with those of each other: `lab compare before.txt after.txt`.

    Exit codes: 0 done, every limit passed; 1 it could not be measured; 2 wrong usage; 3 a limit failed; 4 a limit is
    inconclusive, and none failed; 130 interrupted.
    """
    from runners.claims.between import sentences
    from runners.commands import (
        compare_files,
        compare_folders,
        compare_settings,
        compare_with_revision,
        compare_with_runs,
    )
    from runners.design.objective import ChangeLimit

    judged_by = [ChangeLimit.parse(text) for text in limits]
    if form and as_json:
        raise click.UsageError("--json and --format both print to standard output: give one")
    sides = [[Path(text) for text in side] for side in (a, b)]
    if any(path.is_file() for path in (*runs, *sides[0], *sides[1])):
        others = (engines, targets, resume, parameters, output, baseline, limits, markdown, form, *named.values())
        if any(value not in (None, ()) for value in others) or (runs and (a or b)):
            raise click.UsageError("outputs are compared as they are: only --despite and --json go with them")
        pairs = [([runs[0]], [path]) for path in runs[1:]] if runs else [(sides[0], sides[1])]
        _echo(compare_files(pairs, despite, as_json))
        return
    if runs:
        if len(runs) != 2 or a or b or engines or targets:
            raise click.UsageError("give two run folders and nothing else, or --a and --b for more")
        sides = [[runs[0]], [runs[1]]]
    if all(sides) and all(path.is_dir() for side in sides for path in side):
        see = named.pop("see")
        if (
            resume is not None or parameters or baseline or limits or markdown or form
            or any(value is not None for value in named.values())
        ):  # fmt: skip
            raise click.UsageError("runs are compared as they are: only --see, --despite and --output go with them")
        found = compare_folders(sides[0], sides[1], despite, see if isinstance(see, float) else 0.02, output)
        if as_json:
            _print_json([each.as_json() for each in found])
        else:
            _echo("\n".join(sentences(found)))
        if output is not None:
            _echo(f"written to {output}", err=as_json)
        return
    if output is not None:
        raise click.UsageError("--output is for run folders; settings that are measured have a report of their own")
    if baseline is not None:
        if len(targets) != 1 or engines or a or b:
            raise click.UsageError("--baseline is a revision of one --target, and of nothing else")
        target = targets[0]
        given = _given(parameters, named)
        if Path(baseline).is_dir():
            if markdown or form or resume or not judged_by:
                raise click.UsageError(
                    "kept runs as a --baseline are judged by --fail-on; of the forms only --json goes"
                )
            with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                judgements = compare_with_runs(given, target, Path(baseline), judged_by, despite)
            _end(judgements, inconclusive, as_json, {})
        folder = _measured(lambda: compare_with_revision(given, target, baseline, resume), as_json or bool(form))
        _judged(folder, judged_by, inconclusive, as_json, markdown, form)
        return
    ways = (len(engines), len(targets))
    if not set(ways) <= {0, 2} or max(len(a), len(b)) > 1 or sum(map(bool, (*ways, a or b))) > 1:
        raise click.UsageError("give --engine twice, or --target twice, or --a and --b once each")
    pair = (*engines, *map(_as_target, targets)) if engines or targets else (*a, *b) if a and b else ()
    given = _given(parameters, {**named, **dict(zip(("a", "b"), pair, strict=False))})
    if not {"a", "b"} <= given.keys() and resume is None:
        raise click.UsageError("name two settings, such as --engine lsm --engine rocksdb, or two run folders")
    folder = _measured(lambda: compare_settings(given, resume), as_json or bool(form))
    _judged(folder, judged_by, inconclusive, as_json, markdown, form)


@_command(
    "lab campaign campaign.yaml --dry-run",
    "lab campaign campaign.yaml",
    "lab campaign campaign.yaml --scheduler tls://10.0.0.1:8786 --tls ca.pem cert.pem key.pem",
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the plan with its order and its length, and measure nothing.")
@_JSON
@_on_a_fleet
def campaign(
    file: Path,
    dry_run: bool,
    scheduler: str | None,
    hosts: str | None,
    tls: tuple[Path, Path, Path] | None,
    no_tls: bool,
    as_json: bool,
) -> None:
    """Measure experiments or targets x settings x repeats by a YAML file, in a randomised order.

    Shows the plan and its length, then how far it is. A result is named by its content: what is there is not measured
    again, so a campaign that was ended, by whatever, goes on by the same command. See runners/docs/campaigns.md.

    Exit codes: 0 all is measured, or as much as the budget allows; 1 a run failed; 2 wrong usage; 130 interrupted.
    """
    from runners.commands import measure_campaign

    out = sys.stderr if as_json else sys.stdout
    if dry_run or not (scheduler or hosts):
        ended = measure_campaign(file, dry_run, out)
    else:
        from runners.fleet.cluster import opened

        with opened(scheduler, hosts, tls, no_tls) as fleet:
            ended = measure_campaign(file, dry_run, out, fleet)
    if as_json:
        _print_json({"measured": len(ended.outcomes), "failed": ended.failed, "left": len(ended.left)})
    elif ended.left:
        _echo(f"the budget is spent, {len(ended.left)} runs are left: the same command goes on with them")
    if ended.failed:
        _echo(f"{ended.failed} runs failed; the same command tries them again", err=True)
        sys.exit(EXIT_PROBLEM)


@_command(
    "lab init",
    'lab init --command "python3 server.py 8080" --url http://127.0.0.1:8080 --path /x',
)
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("target.yaml"), show_default=True
)
@click.option("--name", help="What reports call the server; the folder's name unless given.")
@click.option("--command", prompt="Command that starts your server (empty: it runs already)", default="")
@click.option("--url", prompt="Where it answers", default="http://127.0.0.1:8080")
@click.option("--path", prompt="Path to request", default="/")
@_JSON
def init(output: Path, name: str | None, command: str, url: str, path: str, as_json: bool) -> None:
    """Write a commented target.yaml for your server; asks three questions, or takes them as options."""
    from runners.design.target import commented, read_target

    if output.exists():
        raise click.UsageError(f"{output} is there already: name another with --output, or remove it")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--command {command!r}: {error}; close the quotes") from error
    folder = re.sub(r"[^a-z0-9]+", "-", output.resolve().parent.name.lower()).strip("-")[:40]
    try:
        output.write_text(commented(name or folder or "server", words, url, path), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"--output {output}: {error.strerror}; name a file that can be written") from error
    try:
        read_target(output)
    except LabError:
        output.unlink()  # an option was wrong: nothing is left to be in the way of the next try
        raise
    if as_json:
        _print_json({"written": str(output)})
        return
    _echo(f"written: {output}; now: lab load --target {shlex.quote(str(output))} --size smoke")


@_command(
    "lab schema target",
    "lab schema campaign > campaign.schema.json",
)
@click.argument("what", type=click.Choice(["target", "campaign"]))
@click.option("--json", is_flag=True, expose_value=False, help="As always: a schema is JSON.")
def schema(what: str) -> None:
    """Print the JSON schema of a file, for an editor: `lab schema target > target.schema.json`."""
    from runners.design import campaign, target

    schema_of = campaign.FORM.schema if what == "campaign" else target.FORM.schema
    _echo(json.dumps(schema_of(f"{what}.yaml"), indent=1))


@_command(
    "lab completion bash > ~/.local/share/bash-completion/completions/lab",
    'lab completion zsh > "${fpath[1]}/_lab"',
    "lab completion fish > ~/.config/fish/completions/lab.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@_JSON
def completion(shell: str, as_json: bool) -> None:
    """Print the script that completes `lab` in a shell: commands, options and their values."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click knows each of the choices"
    script = kind(lab, {}, "lab", "_LAB_COMPLETE").source()
    if as_json:
        _print_json({"shell": shell, "script": script})
        return
    _echo(script)


def _given(parameters: tuple[str, ...], named: dict[str, object]) -> dict[str, object]:
    """Options and -p's as one set of parameters, each name once."""
    given = {name: value for name, value in named.items() if value is not None}
    for text in parameters:
        name, separator, value = text.partition("=")
        if not separator or name in given:
            raise click.UsageError(f"-p {text}: write NAME=VALUE, each name once")
        given[name] = value
    return given


def _echo(text: str, err: bool = False, nl: bool = True) -> None:
    """Print what is no control sequence, whatever a server or a file has put into it."""
    click.echo(printable(text), err=err, nl=nl)


def _as_target(path: Path) -> str:
    return f"target={path.resolve()}"


def _measured(measure: Callable[[], RunFolder], quiet: bool) -> RunFolder:
    """Measure, then say where the run is; `quiet`: to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if quiet else contextlib.nullcontext():
        folder = measure()
        _echo(f"run again or go on: {folder.path}")
    return folder


def _judged(
    folder: RunFolder,
    limits: Sequence[ChangeLimit],
    inconclusive: str,
    as_json: bool,
    markdown: Path | None,
    form: str | None,
) -> None:
    """Write a comparison in the forms that were asked for, and end with the exit code of its limits."""
    if not (limits or as_json or markdown or form):
        return
    from runners import commands

    found = commands.judged(folder, limits)
    if markdown is not None:
        try:
            markdown.write_text(found.as_markdown, encoding="utf-8")
        except OSError as error:
            raise click.UsageError(
                f"--markdown {markdown}: {error.strerror}; name a file that can be written"
            ) from error
    if form is not None:
        _echo(found.as_format(form))
    _end(found.judgements, inconclusive, as_json, commands.as_json(folder) if as_json else {}, quiet=form is not None)


def _end(
    judgements: Sequence[Judgement], inconclusive: str, as_json: bool, more: dict[str, object], quiet: bool = False
) -> NoReturn:
    """Say what limits say, with `as_json` as JSON beside `more`, and exit with their code."""
    from runners.claims.gate import exit_code

    for each in judgements:
        _echo(each.sentence, err=as_json or quiet)
    if as_json:
        _print_json({**more, "limits": [each.as_json() for each in judgements]})
    sys.exit(exit_code(judgements, inconclusive_passes=inconclusive == "pass"))


def _told(measure: Callable[[], RunFolder], as_json: bool) -> None:
    """Measure, then say where the run is; with `as_json` standard output is the result as JSON and nothing else."""
    folder = _measured(measure, as_json)
    if as_json:
        _print_result(folder)


def _print_report(folder: RunFolder, as_json: bool) -> None:
    """Say where a run's report is, or print what the run found as JSON."""
    if as_json:
        _print_result(folder)
        return
    _echo(f"report.html: {folder.report_html}")
    _echo(f"report.md:   {folder.report_md}")


def _print_result(folder: RunFolder) -> None:
    from runners.commands import as_json

    _print_json(as_json(folder))


def _print_json(value: object) -> None:
    _echo(json.dumps(value, indent=1, allow_nan=False))


def _log(error: BaseException) -> Path | None:
    """Append an error's traceback to the log of this user; None where it can't be written."""
    import logging.handlers

    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "performance-lab" / "errors.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        logger = logging.Logger("lab")
        logger.addHandler(handler)
        logger.error("lab %s", shlex.join(sys.argv[1:]), exc_info=error)
        handler.close()
    except (OSError, RuntimeError):  # no home, or none that can be written
        return None
    return path


def _fail(text: str, error: BaseException, code: int) -> NoReturn:
    """Print an error, keep its traceback in the log, and exit."""
    _echo(f"lab: {text}", err=True)
    if (log := _log(error)) is not None and code == EXIT_FAULT:
        _echo(f"lab: its traceback is in {log}", err=True)
    elif log is None and code == EXIT_FAULT:
        traceback.print_exception(error)
    sys.exit(code)


def main() -> None:
    """Run `lab`: an error is one message and a non-zero exit; its traceback goes to the log."""
    try:
        lab(standalone_mode=False)
    except LabError as error:
        _fail(str(error), error, EXIT_PROBLEM)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except (KeyboardInterrupt, click.Abort):
        _echo("lab: interrupted; what was measured is kept", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:  # who reads has seen enough; the interpreter would complain when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_PROBLEM)
    except OSError as error:
        if error.filename is None:
            _fail(f"a fault of the lab: {error!r}", error, EXIT_FAULT)
        _fail(f"{error.filename}: {error.strerror}; see whether it is there and may be used", error, EXIT_PROBLEM)
    except Exception as error:
        _fail(f"a fault of the lab: {error!r}", error, EXIT_FAULT)


if __name__ == "__main__":
    main()
