"""Commands that measure: an experiment, a server at one rate, its profile, its knee, a comparison, a campaign.

`lab compare` also compares runs or outputs that are there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runners.cli import (
    EXIT_PROBLEM,
    FILE,
    JSON,
    PARAMETERS,
    RESUME,
    SIZE,
    TARGET,
    as_target,
    command,
    echo,
    given_parameters,
    measure_and_print,
    measured,
    print_json,
    print_report,
    write_file,
)

if TYPE_CHECKING:
    from runners.fleet.workers import Fleet

    Opens = Callable[[], Fleet] | None

_WORKLOAD = click.option("--workload", help="One of the target's; its first unless given.")
_RATE = click.option("--rate", "rate_rps", type=int, help="Requests per second; half of a closed loop unless given.")
_DURATION = click.option(
    "--duration", "duration_s", type=float, help="Seconds, warm-up apart; by the size unless given."
)


def _numbers() -> list[str]:
    from runners.toolchain.tools import NOTEBOOKS

    return sorted(path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def _on_a_fleet(command: Callable[..., object]) -> Callable[..., object]:
    """Declare the options that name the hosts of a fleet; the command gets what opens it, or None without one."""

    @functools.wraps(command)
    def called(
        scheduler: str | None, hosts: str | None, tls: Sequence[Path] | None, no_tls: bool, **others: object
    ) -> object:
        def opened() -> Fleet:
            from runners.fleet import workers

            return workers.opened(scheduler, hosts, tls, no_tls)

        return command(fleet=opened if scheduler or hosts else None, **others)

    for option in (
        click.option("--no-tls", is_flag=True, help="With --hosts, on a network that is yours alone."),
        click.option("--tls", nargs=3, type=click.Path(path_type=Path), metavar="CA CERT KEY", help="Of all hosts."),
        click.option("--hosts", metavar="A,B…", help="Start workers there by SSH; the first also schedules."),
        click.option(
            "--scheduler", metavar="ADDRESS", help="Of workers that run already, such as tls://10.0.0.1:8786."
        ),
    ):
        called = option(called)
    return called


@command(
    "lab run 01 --size smoke",
    "lab run 04 -p engines=lsm -p rate_rps=8000",
    "lab run 01 --resume data/runs/01-20260101T000000Z-smoke-0a1b",
    "lab run 05 --scheduler tls://10.0.0.1:8786 --tls ca.pem cert.pem key.pem",
)
@click.argument("experiment", shell_complete=lambda *_: _numbers())
@SIZE
@RESUME
@PARAMETERS
@JSON
@_on_a_fleet
def run(
    experiment: str, size: str | None, resume: Path | None, parameters: tuple[str, ...], fleet: Opens, as_json: bool
) -> None:
    """Run an experiment's notebook in batch, e.g. `lab run 01 --size quick -p rate_rps=8000`.

    `--resume RUN` resumes an interrupted run: what it has finished is not measured again. With --hosts or
    --scheduler a cluster of processes has its first node here, and the others on these hosts.
    """
    from runners.execution.batch import run_notebook
    from runners.experiments.registry import experiment as plan_of

    given = given_parameters(parameters, {})
    if size is not None and given.setdefault("size", size) != size:
        raise click.UsageError(f"--size {size} and -p size={given['size']} contradict each other: give one")
    with fleet() if fleet else contextlib.nullcontext() as joined:
        if joined is not None:
            from runners.fleet.workers import environment

            os.environ.update(environment(joined))
        folder = run_notebook(plan_of(experiment), given, resume)
    print_report(folder, as_json)


_GENERATORS = click.option(
    "--generators", "shares", type=int, help="So many that share each load, in a fleet on other hosts."
)
_LISTEN = click.option(
    "--listen", metavar="ADDRESS", help="Let servers listen there; host: on their address in the fleet."
)


@command(
    "lab load --target target.yaml --rate 2000 --duration 10",
    "lab load --target http://127.0.0.1:8080/items --size smoke --json",
    "lab load --target target.yaml --rate 2000 --generators 2",
    "lab load --target target.yaml --hosts 10.0.0.1,10.0.0.2 --listen host --tls ca.pem cert.pem key.pem",
)
@click.option("--target", type=TARGET, help="A server's description (`lab init` writes one), or the URL to GET.")
@_WORKLOAD
@_RATE
@_DURATION
@click.option("--connections", type=int)
@click.option("--threads", type=int)
@SIZE
@JSON
@RESUME
@_GENERATORS
@_LISTEN
@_on_a_fleet
@PARAMETERS
def load(
    target: Path | None, as_json: bool, resume: Path | None, parameters: tuple[str, ...], fleet: Opens, **named: object
) -> None:
    """Load anybody's server at one rate, e.g. `lab load --target target.yaml --rate 2000`.

    With --hosts or --scheduler the server runs on the first host, and the generators on the others.

    Exit codes: 0 the load was what was asked for; 1 it failed or fell short of its rate, or could not be measured; 2
    wrong usage; 130 interrupted.
    """
    from runners.cli.work import load_on_fleet, load_target

    given = given_parameters(parameters, named)
    if target is not None:
        given["setting"] = as_target(target)
    if fleet is None:
        _end_as_loaded(measure_and_print(lambda: load_target(given, resume), as_json))
        return
    if resume is not None:
        raise click.UsageError("--resume is for runs of this machine; a load on a fleet is begun again")
    with fleet() as joined:
        folder = measure_and_print(lambda: load_on_fleet(given, joined), as_json)
    _end_as_loaded(folder)


def _end_as_loaded(folder: RunFolder) -> None:
    """Exit with EXIT_PROBLEM, and say why, where a load was not what was asked for."""
    from runners.cli.work import shortfalls

    if lines := shortfalls(folder):
        echo("\n".join(f"lab: {line}" for line in lines), err=True)
        sys.exit(EXIT_PROBLEM)


@command("lab profile --target target.yaml", "lab profile --target target.yaml --rate 2000 --duration 20 --json")
@click.option("--target", type=TARGET, required=True, help="As for `lab load`.")
@_WORKLOAD
@_RATE
@_DURATION
@click.option("--connections", type=int)
@SIZE
@JSON
@PARAMETERS
def profile(target: Path, as_json: bool, parameters: tuple[str, ...], **named: object) -> None:
    """Load anybody's server at one rate, then again while its stacks are sampled: shares and a flame graph.

    By what is there: async-profiler for a JVM, py-spy for Python, `pprof` of target.yaml for Go, else perf.
    """
    from runners.cli.work import load_target

    given = given_parameters(parameters, named)
    given["setting"] = as_target(target)
    given.setdefault("profile", "cpu")
    _end_as_loaded(measure_and_print(lambda: load_target(given), as_json))


@command('lab knee --engine lsm --objective "p99<=10ms" --minutes 5', "lab knee --target target.yaml --workload get")
@click.option("--target", type=TARGET, help="Any server by its description, in place of an engine.")
@JSON
@click.option("--engine", "setting", help="An engine, or engine=lsm,--flag=value,-XX:flag.")
@click.option(
    "--flag", "flags", multiple=True, metavar="--NAME=VALUE", help="A flag of the server; may be given again."
)
@click.option("--workload", help="put | get")
@click.option("--connections", type=int)
@click.option("--objective", help="e.g. p99<=10ms,achieved>=99%,errors=0")
@click.option("--minutes", type=float, help="Budget.")
@SIZE
@RESUME
@PARAMETERS
def knee(
    target: Path | None,
    as_json: bool,
    flags: tuple[str, ...],
    resume: Path | None,
    parameters: tuple[str, ...],
    **named: object,
) -> None:
    """Find the highest rate that meets an objective, e.g. `lab knee --engine lsm --objective "p99<=10ms"`."""
    from runners.cli.work import find_knee

    given = given_parameters(parameters, named)
    if target is not None:
        if flags or "setting" in given:
            raise click.UsageError("--target is a server of its own: --engine and --flag don't go with it")
        given["setting"] = as_target(target)
    if flags:
        given["setting"] = ",".join([str(given.get("setting") or "lsm"), *flags])
    measure_and_print(lambda: find_knee(given, resume), as_json)


@command(
    "lab campaign campaign.yaml --dry-run",
    "lab campaign campaign.yaml",
    "lab campaign campaign.yaml --scheduler tls://10.0.0.1:8786 --tls ca.pem cert.pem key.pem",
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the plan with its order and its length, and measure nothing.")
@JSON
@_on_a_fleet
def campaign(file: Path, dry_run: bool, fleet: Opens, as_json: bool) -> None:
    """Measure experiments or targets x settings x repeats by a YAML file, in a randomised order.

    Shows the plan and its length, then how far it is. A result is named by its content: what is there is not measured
    again, so a campaign that was ended, by whatever, goes on by the same command. See runners/docs/campaigns.md.

    Exit codes: 0 all is measured, or as much as the budget allows; 1 a run failed; 2 wrong usage; 130 interrupted.
    """
    from runners.cli.work import measure_campaign

    out = sys.stderr if as_json else sys.stdout
    with fleet() if fleet and not dry_run else contextlib.nullcontext() as joined:
        ended = measure_campaign(file, dry_run, out, joined)
    if as_json:
        print_json({"measured": len(ended.outcomes), "failed": ended.failed, "left": len(ended.left)})
    elif ended.left:
        echo(f"the budget is spent, {len(ended.left)} runs are left: the same command resumes them")
    if ended.failed:
        echo(f"{ended.failed} runs failed; the same command tries them again", err=True)
        sys.exit(EXIT_PROBLEM)


if TYPE_CHECKING:
    from runners.design.objective import ChangeLimit
    from runners.results.limits import Judgement
    from runners.storage.run_folder import RunFolder


@command(
    "lab compare before.txt after.txt",
    "lab compare --target a.yaml --target b.yaml --minutes 5",
    'lab compare --target target.yaml --baseline main --fail-on "p99>+10%" --fail-on "cpu>+3%"',
    "lab compare --engine lsm --engine rocksdb --workload get",
    "lab compare data/runs/01-20260101T000000Z-quick-0a1b data/runs/01-20260102T000000Z-quick-0a1b",
)
@click.argument("runs", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--target", "targets", type=TARGET, multiple=True, help="Twice: any two servers by their descriptions.")
@click.option("--engine", "engines", multiple=True, help="Twice: the two engines.")
@click.option(
    "--a", "a", multiple=True, help="A setting (engine=lsm,--flag=value), or run folders: may be given again."
)
@click.option("--b", "b", multiple=True, help="The other setting, or run folders.")
@click.option("--despite", multiple=True, metavar="FIELD", help="Compare run folders or outputs although this differs.")
@click.option("--output", type=FILE, help="Comparing run folders: write this HTML file too.")
@click.option("--workload", help="put | get")
@click.option("--connections", type=int)
@click.option("--minutes", type=float, help="Budget; 10 unless given.")
@JSON
@click.option("--baseline", metavar="REVISION|RUNS", help="With one --target: a git revision, or a folder of runs.")
@click.option(
    "--fail-on", "limits", multiple=True, metavar="LIMIT",
    help='Exit 3 where the interval lies beyond it: "p99>+10%", "cpu>+3%"; of p50 p90 p99 cpu throughput errors.',
)  # fmt: skip
@click.option(
    "--inconclusive", type=click.Choice(("fail", "pass")), default="fail", show_default=True,
    help="Whether a limit that can't be decided exits with 4, or with 0.",
)  # fmt: skip
@click.option("--markdown", type=FILE, help="A comment for a change request.")
@click.option(
    "--format", "form", type=click.Choice(("bencher", "benchmark-action")),
    help="Print the figures in Bencher's metric format, or github-action-benchmark's (customSmallerIsBetter).",
)  # fmt: skip
@click.option("--see", type=float, help="Smallest difference of interest, as a share; 0.02 unless given.")
@click.option("--until", help='End when this is decided, e.g. "p50+-2%": it differs, or is the same within 2 %.')
@SIZE
@RESUME
@PARAMETERS
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

    Exit codes: 0 done, every limit passed; 1 it could not be measured; 2 wrong usage; 3 a limit failed, or more
    responses of the second than of the first; 4 a limit is inconclusive, and none failed; 130 interrupted.
    """
    from runners.cli import work
    from runners.design.objective import ChangeLimit

    judging = _Judging(tuple(map(ChangeLimit.parse, limits)), inconclusive, as_json, markdown, form)
    if form and as_json:
        raise click.UsageError("--json and --format both print to standard output: give one")
    sides = [[Path(text) for text in side] for side in (a, b)]
    of_measuring = (resume, parameters, baseline, limits, markdown, form)
    if any(path.is_file() for path in (*runs, *sides[0], *sides[1])):
        if _given(engines, targets, output, *of_measuring, *named.values()) or (runs and (a or b)):
            raise click.UsageError("outputs are compared as they are: only --despite and --json go with them")
        pairs = [([runs[0]], [path]) for path in runs[1:]] if runs else [(sides[0], sides[1])]
        text, judgements = work.compare_files(pairs, despite, as_json)
        echo(text)
        judging.end(judgements)
    if runs:
        if len(runs) != 2 or a or b or engines or targets:
            raise click.UsageError("give two run folders and nothing else, or --a and --b for more")
        sides = [[runs[0]], [runs[1]]]
    if all(sides) and all(path.is_dir() for side in sides for path in side):
        see = named.pop("see")
        if _given(*of_measuring, *named.values()):
            raise click.UsageError("runs are compared as they are: only --see, --despite and --output go with them")
        _compare_folders(sides, despite, see if isinstance(see, float) else 0.02, output, judging)
    if output is not None:
        raise click.UsageError("--output is for run folders; settings that are measured have a report of their own")
    if baseline is not None:
        if len(targets) != 1 or engines or a or b:
            raise click.UsageError("--baseline is a revision of one --target, and of nothing else")
        target, given = targets[0], given_parameters(parameters, named)
        if Path(baseline).is_dir():
            if markdown or form or resume or not limits:
                raise click.UsageError(
                    "kept runs as a --baseline are judged by --fail-on; of the forms only --json goes"
                )
            with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                judgements = work.compare_with_runs(given, target, Path(baseline), judging.limits, despite)
            judging.end(judgements, {})
        judging.of_run(lambda: work.compare_with_revision(given, target, baseline, resume))
        return
    ways = (len(engines), len(targets))
    if not set(ways) <= {0, 2} or max(len(a), len(b)) > 1 or sum(map(bool, (*ways, a or b))) > 1:
        raise click.UsageError("give --engine twice, or --target twice, or --a and --b once each")
    pair = (*engines, *map(as_target, targets)) if engines or targets else (*a, *b) if a and b else ()
    given = given_parameters(parameters, {**named, **dict(zip(("a", "b"), pair, strict=False))})
    if not {"a", "b"} <= given.keys() and resume is None:
        raise click.UsageError("name two settings, such as --engine lsm --engine rocksdb, or two run folders")
    judging.of_run(lambda: work.compare_settings(given, resume))


def _given(*options: object) -> bool:
    return any(value not in (None, ()) for value in options)


def _compare_folders(
    sides: Sequence[Sequence[Path]], despite: Sequence[str], see: float, output: Path | None, judging: _Judging
) -> NoReturn:
    from runners.cli.work import compare_folders, compared_text
    from runners.report.exports import runs_json
    from runners.results.limits import judge

    found = compare_folders(sides[0], sides[1], despite, see, output)
    if judging.as_json:
        print_json([runs_json(comparison) for comparison in found])
    else:
        echo(compared_text(found))
    if output is not None:
        echo(f"written to {output}", err=judging.as_json)
    judging.end(judge(found, ()))


@dataclass(frozen=True, slots=True)
class _Judging:
    """How a comparison that is measured is printed, and what limits decide its exit code."""

    limits: tuple[ChangeLimit, ...]
    inconclusive: str
    as_json: bool
    markdown: Path | None
    form: str | None

    def of_run(self, measure: Callable[[], RunFolder]) -> NoReturn:
        """Measure, write the comparison in the forms that were asked for, and end with the exit code of the limits."""
        from runners.cli import work

        folder = measured(measure, self.as_json or self.form is not None)
        from runners.report.exports import FORMATS, comment

        judged = work.judged(folder, self.limits)
        if self.markdown is not None:
            write_file("--markdown", self.markdown, comment(judged.comparison, judged.judgements, judged.checks))
        if self.form is not None:
            echo(FORMATS[self.form](judged.comparison, judged.benchmark))
        self.end(judged.judgements, work.as_json(folder))

    def end(self, judgements: Sequence[Judgement], document: Mapping[str, object] | None = None) -> NoReturn:
        """Say what limits say, into the JSON `document` too where there is one, and exit with their code."""
        from runners.report.comparison import judged, reason
        from runners.results.limits import exit_code

        for judgement in judgements:
            echo(judged(judgement), err=self.as_json or self.form is not None)
        if self.as_json and document is not None:
            limits = [{**judgement.as_json(), "reason": reason(judgement)} for judgement in judgements]
            print_json({**document, "limits": limits})
        sys.exit(exit_code(judgements, inconclusive_passes=self.inconclusive == "pass"))
