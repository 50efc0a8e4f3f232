"""Commands that measure: an experiment, a server at one rate, its profile, its knee, a campaign."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from runners.cli.base import (
    EXIT_PROBLEM,
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
    print_json,
    print_report,
)

_WORKLOAD = click.option("--workload", help="One of the target's; its first unless given.")
_RATE = click.option("--rate", "rate_rps", type=int, help="Requests a second; half of a closed loop unless given.")
_DURATION = click.option(
    "--duration", "duration_s", type=float, help="Seconds, warm-up apart; by the size unless given."
)


def _numbers() -> list[str]:
    """The experiments there are, for a shell that completes."""
    from runners.design.experiment import EXPERIMENTS

    return [*EXPERIMENTS]


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


@contextlib.contextmanager
def _beside_a_fleet(
    scheduler: str | None, hosts: str | None, tls: Sequence[Path] | None, no_tls: bool
) -> Iterator[None]:
    """Name the fleet of a command line, if there is one, to what runs meanwhile."""
    if not (scheduler or hosts):
        yield
        return
    from runners.fleet.workers import environment, opened

    with opened(scheduler, hosts, tls, no_tls) as fleet:
        os.environ.update(environment(fleet))
        yield


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
    experiment: str,
    size: str | None,
    resume: Path | None,
    parameters: tuple[str, ...],
    scheduler: str | None,
    hosts: str | None,
    tls: tuple[Path, Path, Path] | None,
    no_tls: bool,
    as_json: bool,
) -> None:
    """Run an experiment's notebook in batch, e.g. `lab run 01 --size quick -p rate_rps=8000`.

    An interrupted run goes on with `--resume RUN`: what it has finished is not measured again. With --hosts or
    --scheduler a cluster of processes has its first node here, and the others on these hosts.
    """
    from runners.execution.batch import run_notebook

    given = given_parameters(parameters, {})
    if size is not None and given.setdefault("size", size) != size:
        raise click.UsageError(f"--size {size} and -p size={given['size']} contradict each other: give one")
    with _beside_a_fleet(scheduler, hosts, tls, no_tls):
        folder = run_notebook(experiment, given, resume)
    print_report(folder, as_json)


_GENERATORS = click.option(
    "--generators", "shares", type=int, help="So many that share each load, in a fleet on other hosts."
)
_LISTEN = click.option(
    "--listen", metavar="ADDRESS", help="Let servers listen there; host: on their address in the fleet."
)


@command(
    "lab load --target target.yaml --rate 2000 --duration 10",
    "lab load --target target.yaml --size smoke --json",
    "lab load --target target.yaml --rate 2000 --generators 2",
    "lab load --target target.yaml --hosts 10.0.0.1,10.0.0.2 --listen host --tls ca.pem cert.pem key.pem",
)
@click.option("--target", type=TARGET, help="The description of a server; `lab init` writes one.")
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
    from runners.cli.work import load_on_fleet, load_target

    given = given_parameters(parameters, named)
    if target is not None:
        given["setting"] = as_target(target)
    if not (scheduler or hosts):
        measure_and_print(lambda: load_target(given, resume), as_json)
        return
    if resume is not None:
        raise click.UsageError("--resume is for runs of this machine; a load on a fleet is begun again")
    from runners.fleet.workers import opened

    with opened(scheduler, hosts, tls, no_tls) as fleet:
        measure_and_print(lambda: load_on_fleet(given, fleet), as_json)


@command(
    "lab profile --target target.yaml",
    "lab profile --target target.yaml --rate 2000 --duration 20 --json",
)
@click.option("--target", type=TARGET, required=True, help="The description of a server; `lab init` writes one.")
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
    measure_and_print(lambda: load_target(given), as_json)


@command(
    'lab knee --engine lsm --objective "p99<=10ms" --minutes 5',
    "lab knee --target target.yaml --workload get",
)
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
    from runners.cli.work import measure_campaign

    out = sys.stderr if as_json else sys.stdout
    if dry_run or not (scheduler or hosts):
        ended = measure_campaign(file, dry_run, out)
    else:
        from runners.fleet.workers import opened

        with opened(scheduler, hosts, tls, no_tls) as fleet:
            ended = measure_campaign(file, dry_run, out, fleet)
    if as_json:
        print_json({"measured": len(ended.outcomes), "failed": ended.failed, "left": len(ended.left)})
    elif ended.left:
        echo(f"the budget is spent, {len(ended.left)} runs are left: the same command goes on with them")
    if ended.failed:
        echo(f"{ended.failed} runs failed; the same command tries them again", err=True)
        sys.exit(EXIT_PROBLEM)
