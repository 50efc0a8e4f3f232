"""Commands that prepare: show this machine's tools, list what can be measured, write files for one's own server."""

import dataclasses
import functools
import json
import re
import shlex
import sys
from pathlib import Path

import click

from runners.cli import command, echo, print_json, print_result, write_file
from runners.cli.options import FILE, JSON
from runners.errors import Exit, LabError


@command
@JSON
def doctor(as_json: bool) -> None:
    """Show which tools are here, and which are missing.

    Exit codes: 0 the lab can measure here; 1 it can't.
    """
    from runners.trial.machine import examine

    findings = examine()
    lines = "\n".join(finding.line() for finding in findings)
    print_result(as_json, [dataclasses.asdict(finding) for finding in findings], lines)
    if any(finding.fatal for finding in findings):
        sys.exit(Exit.PROBLEM)


@command
@click.argument("tool", required=False, type=click.Choice(["wrk2"]))
@click.option(
    "--source", metavar="DIR|URL", help="Where wrk2 is copied from: a clone, a folder, or the URL of a clone."
)
@click.option("--force", is_flag=True, help="Build even when nothing changed.")
@JSON
def build(tool: str | None, source: str | None, force: bool, as_json: bool) -> None:
    """Build the server and the load generator, or wrk2.

    wrk2 is made from its public repository, or from a copy that `--source` names.
    """
    from runners.toolchain import build

    if source is not None and tool is None:
        raise click.UsageError("--source is where wrk2 is copied from: lab build wrk2 --source DIR|URL")
    say = functools.partial(echo, err=as_json)
    if tool is None:
        versions = build.prepare("truepace", say, force).versions()
    else:
        built = build.build_wrk2(say, source, force)
        versions = {"wrk2": f"{built.version} at {built.path}"}
    print_result(as_json, versions, "\n".join(f"{name:16} {version}" for name, version in versions.items()))


@command
@click.option("--titles", is_flag=True, help="Their titles too.")
@JSON
def experiments(titles: bool, as_json: bool) -> None:
    """List the experiments' numbers, one per line."""
    from runners.experiments.registry import EXPERIMENTS

    plans, fields = EXPERIMENTS.values(), ("number", "title", "published", "notebook")
    lines = "\n".join(f"{plan.number}  {plan.title}" if titles else plan.number for plan in plans)
    print_result(as_json, [{field: getattr(plan, field) for field in fields} for plan in plans], lines)


@command
@click.option("--json", "as_json", is_flag=True, help="As JSON, with quantity, margin, width and design.")
def questions(as_json: bool) -> None:
    """List the reports' questions, each with its answer."""
    import msgspec

    from runners.experiments.question_table import table

    rows = table()
    if as_json:
        echo(msgspec.json.format(msgspec.json.encode(rows)).decode())
        return
    width = max(len(row.id) for row in rows)
    for row in rows:
        echo(f"{row.id:{width}}  {row.verdict:12}  {row.question} [{row.criterion.quantity}]")
    answered = sum(row.answered for row in rows)
    echo(f"{answered} of {len(rows)} questions answered with yes or no ({answered / len(rows):.0%})")


@command
@click.option("--output", type=FILE, default=Path("target.yaml"), show_default=True)
@click.option("--name", help="What reports call the server; the folder's name unless given.")
@click.option("--command", help="Command that starts your server; empty: it runs already.")
@click.option("--url", help="Where it responds; http://127.0.0.1:8080 unless given.")
@click.option("--path", help="Path to request; / unless given.")
@JSON
def init(output: Path, name: str | None, command: str | None, url: str | None, path: str | None, as_json: bool) -> None:
    """Write a commented target.yaml for your server.

    At a terminal, asks for the command, url and path that are not given.
    """
    from runners.design.target import commented, read_target

    if output.exists():
        raise click.UsageError(f"{output} is there already: name another with --output, or remove it")
    left = [option for option, value in (("--command", command), ("--url", url), ("--path", path)) if value is None]
    command = _answer(command, "Command that starts your server (empty: it runs already)", "")
    url = _answer(url, "Where it responds", "http://127.0.0.1:8080")
    path = _answer(path, "Path to request", "/")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--command {command!r}: {error}; close the quotes") from error
    folder = re.sub(r"[^a-z0-9]+", "-", output.resolve().parent.name.lower()).strip("-")[:40]
    write_file("--output", output, commented(name or folder or "server", words, url, path))
    try:
        read_target(output)
    except LabError:
        output.unlink()  # an option was wrong; the next try must not find a file there
        raise
    if as_json:
        print_json({"written": str(output)})
        return
    if left and not at_terminal():
        started = "its command" if words else "no command, as it runs already"
        echo(f"no terminal to ask at: {output} has {started}, and GETs {url}{path}; give {', '.join(left)} for others")
    echo(f"written: {output}; now: lab load {shlex.quote(str(output))} --size smoke")


def _answer(given: str | None, question: str, default: str) -> str:
    if given is not None or not at_terminal():
        return default if given is None else given
    return str(click.prompt(question, default=default))


def at_terminal() -> bool:
    """Return whether standard input is a terminal, so that somebody can answer questions."""
    return sys.stdin.isatty()


@command
@click.argument("what", type=click.Choice(["target", "campaign"]))
@click.option("--json", is_flag=True, expose_value=False, help="As always: a schema is JSON.")
def schema(what: str) -> None:
    """Print the JSON schema of a target.yaml or campaign.yaml."""
    from runners.design import description
    from runners.experiments import campaign

    schema_of = campaign.FORM.schema if what == "campaign" else description.FORM.schema
    echo(json.dumps(schema_of(f"{what}.yaml"), indent=1))
