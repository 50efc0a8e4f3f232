"""Commands that measure: an experiment, a server at one rate, a server's profile, a server's knee, a campaign."""

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runners.cli import command, echo, options, print_json, print_report, progress_apart
from runners.errors import Exit

if TYPE_CHECKING:
    from runners.design.objective import LoadLimit
    from runners.fleet.workers import Fleet

    Opens = Callable[[], Fleet] | None

_WORKLOAD = click.option("--workload", help="One of the target's, its first unless given; put or get of an engine.")
_RATE = click.option("--rate", "rate_rps", type=int, help="Requests per second; half of a closed loop unless given.")
_DURATION = click.option(
    "--duration", "duration_s", type=float, help="Seconds, warm-up apart; by the size unless given."
)


def _numbers() -> list[str]:
    from runners.toolchain.tools import NOTEBOOKS

    return sorted(path.name[:2] for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))


def _on_a_target(command: Callable[..., object]) -> Callable[..., object]:
    """Declare the argument and the option that name a server; the command gets the server as parameter `setting`."""

    @functools.wraps(command)
    def called(server: Path | None, target: Path | None, **others: object) -> object:
        if server is not None and target is not None:
            raise click.UsageError("the server is given twice, as an argument and by --target: give it once")
        if (path := server or target) is not None:
            if others.get("setting"):
                raise click.UsageError("--target is a server of its own: --engine doesn't go with it")
            others["setting"] = options.as_target(path)
        return command(**others)

    called = click.option("--target", type=options.TARGET, help="The same as the argument.")(called)
    return click.argument("server", metavar="[URL|TARGET.YAML]", required=False, type=options.TARGET)(called)


def _on_a_fleet(command: Callable[..., object]) -> Callable[..., object]:
    """Declare the options that name a fleet's hosts; `fleet` is a function that opens it, or None if none is named."""

    @click.option("--scheduler", metavar="ADDRESS", help="Of workers that run already, such as tls://10.0.0.1:8786.")
    @click.option("--hosts", metavar="A,B…", help="Start workers there by SSH; the first also schedules.")
    @click.option("--tls", nargs=3, type=click.Path(path_type=Path), metavar="CA CERT KEY", help="Of all hosts.")
    @click.option("--no-tls", is_flag=True, help="With --hosts, on a network that is yours alone.")
    @functools.wraps(command)
    def called(
        scheduler: str | None, hosts: str | None, tls: Sequence[Path] | None, no_tls: bool, **others: object
    ) -> object:
        def opened() -> "Fleet":
            from runners.fleet import workers

            return workers.opened(scheduler, hosts, tls, no_tls)

        return command(fleet=opened if scheduler or hosts else None, **others)

    return called


@command
@click.argument("experiment", shell_complete=lambda *_: _numbers())
@options.SIZE
@options.RESUME
@options.PARAMETERS
@options.JSON
def run(experiment: str, size: str | None, resume: Path | None, parameters: tuple[str, ...], as_json: bool) -> None:
    """Run an experiment's notebook in batch.

    `--resume RUN` resumes an interrupted run: what it has finished is not measured again.
    """
    from runners.execution.batch import run_notebook
    from runners.experiments.registry import experiment as plan_of

    given = options.given_parameters(parameters, {})
    if size is not None and given.setdefault("size", size) != size:
        raise click.UsageError(f"--size {size} and -p size={given['size']} contradict each other: give one")
    print_report(run_notebook(plan_of(experiment), given, resume), as_json)


@command
@_on_a_target
@_WORKLOAD
@_RATE
@_DURATION
@options.CONNECTIONS
@click.option("--threads", type=int)
@options.SIZE
@options.JSON
@options.RESUME
@click.option(
    "--fail-on", "limits", multiple=True, metavar="LIMIT",
    help='Exit 3 where the load does not keep it: "p99<=10ms", "achieved>=99%", "errors<=0.1%".',
)  # fmt: skip
@options.INCONCLUSIVE
@click.option("--generators", "shares", type=int, help="So many that share each load, in a fleet on other hosts.")
@click.option("--listen", metavar="ADDRESS", help="Let servers listen there; host: on their address in the fleet.")
@_on_a_fleet
@options.PARAMETERS
def load(
    as_json: bool, resume: Path | None, limits: tuple[str, ...], inconclusive: str,
    parameters: tuple[str, ...], fleet: "Opens", **named: object,
) -> None:  # fmt: skip
    """Load any server at one rate.

    The server is a URL to GET, or a description that `lab init` writes. With --hosts or --scheduler the server runs on
    the first host, and the generators run on the others.

    Exit codes: 0 the load was as specified; 1 it failed or fell short of its rate, or could not be measured; 2 wrong
    usage; 3 a limit of --fail-on failed; 4 a limit is inconclusive, and none failed; 130 interrupted.
    """
    from runners.design.objective import LoadLimit

    load_limits = tuple(map(LoadLimit.parse, limits))
    if fleet is not None and resume is not None:
        raise click.UsageError("--resume is for runs of this machine; a load on a fleet is begun again")
    _load(options.given_parameters(parameters, named), resume, as_json, fleet, load_limits, inconclusive)


def _load(
    given: Mapping[str, object], resume: Path | None, as_json: bool, fleet: "Opens" = None,
    limits: "Sequence[LoadLimit]" = (), inconclusive: str = "fail",
) -> NoReturn:  # fmt: skip
    """Measure a load, print its result and its report's path, and exit with the code that limits and load decide."""
    from runners.cli import planned

    load = planned.load(given, resume) if fleet is None else None
    from runners.cli import work  # after the check: slow to import
    from runners.report.concluded import judged_load, load_lines
    from runners.results.limits import exit_code, judge_load

    with progress_apart(as_json):
        if load is not None:
            folder = work.measure(load)
        elif fleet is not None:
            with fleet() as joined:
                folder = work.load_on_fleet(given, joined)
    clean, shortfalls = work.loads_of(folder)
    judgements = [judge_load(clean, limit) for limit in limits] if clean is not None else []
    for judgement in judgements:
        echo(judged_load(judgement), err=as_json)
    if as_json:
        print_json({**work.as_json(folder), "limits": [judgement.as_json() for judgement in judgements]})
    else:
        echo("\n".join([*(load_lines(clean) if clean is not None else ()), f"report     {folder.report_html}"]))
    for line in shortfalls:
        echo(f"lab: {line}", err=True)
    code = exit_code(judgements, inconclusive_passes=inconclusive == "pass")
    sys.exit(Exit.PROBLEM if shortfalls and code != Exit.LIMIT else code)


@command
@_on_a_target
@_WORKLOAD
@_RATE
@_DURATION
@options.CONNECTIONS
@options.SIZE
@options.JSON
@options.RESUME
@options.PARAMETERS
def profile(as_json: bool, resume: Path | None, parameters: tuple[str, ...], **named: object) -> None:
    """Load a server while its stacks are sampled: a flame graph.

    The server is loaded at one rate, then again with a profiler: async-profiler for a JVM, py-spy for Python, `pprof`
    of target.yaml for Go, else perf. Exit codes are those of `lab load`.
    """
    _load({"profile": "cpu", **options.given_parameters(parameters, named)}, resume, as_json)


@command
@_on_a_target
@options.JSON
@click.option("--engine", "setting", help="One of the lab's own: an engine, or engine=lsm,--flag=value,-XX:flag.")
@_WORKLOAD
@options.CONNECTIONS
@click.option("--objective", help="e.g. p99<=10ms,achieved>=99%,errors=0")
@click.option("--minutes", type=float, help="Budget of the whole run, builds apart; 10 unless given.")
@options.SIZE
@options.RESUME
@options.PARAMETERS
def knee(as_json: bool, resume: Path | None, parameters: tuple[str, ...], **named: object) -> None:
    """Find the highest rate that meets an objective.

    Exit codes: 0 the search came to its end; 1 it could not be measured; 2 wrong usage; 130 interrupted.
    """
    from runners.cli import planned

    search = planned.knee(options.given_parameters(parameters, named), resume)
    from runners.cli import work  # after the check: slow to import
    from runners.readers.reading import read_run
    from runners.report.ladder import title

    with progress_apart(as_json):
        folder = work.measure(search)
    if as_json:
        print_json(work.as_json(folder))
    else:
        echo("\n".join([*map(title, work.searches(read_run(folder))), f"report: {folder.report_html}"]))


@command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the plan with its order and its length, and measure nothing.")
@options.JSON
@_on_a_fleet
def campaign(file: Path, dry_run: bool, fleet: "Opens", as_json: bool) -> None:
    """Measure many runs by a YAML file, in a randomised order.

    The file names experiments or targets, settings and repeats. The plan and its length are printed, then the progress.
    A run is not measured again if its result exists, so the same command resumes a campaign that ended early. See
    runners/docs/campaigns.md.

    Exit codes: 0 all is measured, or as much as the budget allows; 1 a run failed; 2 wrong usage; 130 interrupted.
    """
    from runners.experiments.campaign import read_campaign

    campaign = read_campaign(file)  # fails before the slow imports
    from runners.cli.work import measure_campaign

    out = sys.stderr if as_json else sys.stdout
    try:
        with fleet() if fleet and not dry_run else contextlib.nullcontext() as joined:
            ended = measure_campaign(campaign, dry_run, out, joined)
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt("what was measured is kept; the same command resumes the campaign") from interrupt
    failed = sum(outcome.status == "failed" for outcome in ended.outcomes)
    if as_json:
        print_json({"measured": len(ended.outcomes), "failed": failed, "left": len(ended.left)})
    elif ended.left:
        echo(f"the budget is spent, {len(ended.left)} runs are left: the same command resumes them")
    if failed:
        echo(f"{failed} runs failed; the same command tries them again", err=True)
        sys.exit(Exit.PROBLEM)
