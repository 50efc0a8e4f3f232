"""Commands on results: on runs of this lab, and on outputs of any load generator."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runners.cli import command, echo, print_report, print_result, write_file
from runners.cli.options import FILE, FILE_OR_RUN, FOLDER, JSON, RUN
from runners.errors import Exit, PlanError

if TYPE_CHECKING:
    from pandas import DataFrame

    from runners.storage.run_folder import RunFolder

_RUN = click.argument("folder", metavar="RUN", type=RUN)
_AS_FORMAT = click.option("--json", "form", flag_value="json", help="The same as --format json.")
_ROOTS = click.argument("roots", nargs=-1, type=FOLDER)


@command
@_RUN
@JSON
def report(folder: "RunFolder", as_json: bool) -> None:
    """Write a run's report again: no server, no load.

    RUN is a run folder, or the id of a run as `lab runs` lists it.
    """
    from runners.experiments.references import write_report

    write_report(folder)
    print_report(folder, as_json)


@command
@_RUN
@JSON
def keep(folder: "RunFolder", as_json: bool) -> None:
    """Keep a complete run as the experiment's reference result.

    It goes to data/reference, and its findings into the README.
    """
    from runners.experiments.references import keep_reference, readme_findings, with_part
    from runners.toolchain.tools import ROOT

    kept = keep_reference(folder)
    readme = ROOT / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = with_part(before, readme_findings())
    readme.write_text(after, encoding="utf-8")
    changed = after != before
    text = f"kept in {kept.path}" + ("; the README's findings are of this run now" if changed else "")
    print_result(as_json, {"kept": str(kept.path), "readme_changed": changed}, text)


@command
@_RUN
@click.option("--format", "form", type=click.Choice(("speedscope", "pprof")), required=True)
@click.option("--output", type=FILE, required=True, help="The file to write.")
@click.option("--event", type=click.Choice(("cpu", "alloc", "lock")), default="cpu", show_default=True)
@JSON
def export(folder: "RunFolder", form: str, output: Path, event: str, as_json: bool) -> None:
    """Write a run's first profile for speedscope or pprof."""
    from runners.cli.work import exported_profile

    name, content = exported_profile(folder, form, event)
    write_file("--output", output, content)
    document = {"step": name, "event": event, "format": form, "written": str(output)}
    print_result(as_json, document, f"{name}, {event}: written to {output}")


@command
@click.argument("paths", nargs=-1, type=FILE_OR_RUN)
@click.option("--format", "form", type=click.Choice(("text", "json", "github")), default="text", show_default=True)
@_AS_FORMAT
@click.option("--output", type=FILE, help="Write to a file instead.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules, by code or beginning: RAT,TIM001.")
@click.option("--ignore", multiple=True, metavar="CODES", help="All but these rules.")
@click.option("--explain", metavar="CODE", help="Print the page of a rule.")
@click.option("--tools", is_flag=True, help="List the tools whose outputs are read, with an example each.")
def audit(
    paths: tuple[Path, ...], form: str, output: Path | None, select: tuple[str, ...], ignore: tuple[str, ...],
    explain: str | None, tools: bool,
) -> None:  # fmt: skip
    """Find what is wrong with the outputs of any load generator.

    Finds outputs in files, folders and runs. Reads what these tools print (in Markdown, text, HTML and notebooks) and
    the files that they write: ab, Artillery, autocannon, bombardier, cassandra-stress, drill, fortio, Gatling, ghz,
    h2load, HdrHistogram, hey, JMeter, k6, Locust, memtier, nighthawk, oha, siege, truepace, vegeta, wrk, wrk2, YCSB.

    \b
    Exit status:
      0  no error was found (warnings and notes may be)   lab audit wrk2.txt
      1  an error was found                               lab audit report.md
      2  wrong usage                                      lab audit --select NONE report.md
      4  no output of a load generator was read           lab audit notes.md
    """
    from runners.audit import audit, listing
    from runners.audit.audit import audit as examine
    from runners.readers.outputs import find_in

    try:
        rules = audit.chosen(select, ignore)
        if explain is not None:
            echo(audit.page(explain).rstrip())
            return
    except PlanError as error:
        raise click.UsageError(str(error)) from error
    if tools:
        from runners.readers.tools import TOOLS

        rows = sorted(TOOLS.items(), key=lambda row: row[0].lower())
        echo("\n".join(f"{name:<18} {tool.reads}" for name, tool in rows))
        return
    if not paths:
        raise click.UsageError("no path was given: name files or folders, e.g. `lab audit report.md`")
    audited = examine([file for path in paths for file in find_in(path)], rules)
    text = getattr(listing, f"as_{form}")(audited)
    if output is None:
        echo(text, nl=False)
    else:
        write_file("--output", output, text)
        echo(f"{audited.summary} Written to {output}.")
    if audited.failed:
        sys.exit(Exit.PROBLEM)
    if not audited.outputs:
        echo("nothing was read: `lab audit --tools` lists the outputs that are", err=True)
        sys.exit(Exit.UNDECIDED)


@command
@_ROOTS
@click.option("--sql", help="A query over all runs, e.g. 'FROM runs'; an error names the views.")
@click.option("--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True)
@_AS_FORMAT
def runs(roots: tuple[Path, ...], sql: str | None, form: str) -> None:
    """List the runs, or query them in SQL.

    The runs are those below ROOTS; without ROOTS, this project's runs.
    """
    _require_sql(sql)
    from runners.readers.history import RUN_LIST, open_history
    from runners.storage.run_folder import REFERENCE, RUNS

    past = open_history(roots or (RUNS, REFERENCE))
    _passed_over(past.unreadable)
    rows = past.query(RUN_LIST if sql is None else sql)
    _print_rows(rows, form, "no runs" if sql is None else "no rows")


def _require_sql(sql: str | None) -> None:
    if sql is None:
        return
    import duckdb

    try:
        duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise click.UsageError(f"--sql: {error}; write it like 'FROM runs'") from error


def _passed_over(texts: Iterable[str]) -> None:
    for text in texts:
        echo(f"passed over: {text}", err=True)


def _print_rows(rows: "DataFrame", form: str, none: str = "no rows") -> None:
    if form == "csv":
        echo(rows.to_csv(index=False), nl=False)
    elif form == "json":
        echo(rows.to_json(orient="records", date_format="iso", indent=1))
    else:
        echo(rows.to_string(index=False) if len(rows) else none)


@command
@click.argument("folder", type=click.Path(path_type=Path))
@_ROOTS
@click.option("--sql", help="Ask the data set that is there, in place of writing it; its view is `measurements`.")
@click.option("--format", "form", type=click.Choice(["text", "csv", "json"]), default="text", show_default=True)
@JSON
def dataset(folder: Path, roots: tuple[Path, ...], sql: str | None, form: str, as_json: bool) -> None:
    """Write the figures of all runs as one Parquet data set.

    The runs are those below ROOTS; without ROOTS, this project's. The data set goes to FOLDER, is partitioned by
    experiment and class of machine, and is made anew by each call. See runners/docs/campaigns.md.
    """
    _require_sql(sql)
    from runners.readers.history import open_dataset, write_dataset
    from runners.storage.run_folder import REFERENCE, RUNS

    if sql is not None:
        if roots:
            raise click.UsageError("--sql asks the data set that is there: it takes no runs")
        _print_rows(open_dataset(folder).query(sql), "json" if as_json else form)
        return
    run_count, figures, unreadable = write_dataset(folder, roots or (RUNS, REFERENCE))
    _passed_over(unreadable)
    document = {"folder": str(folder), "figures": figures, "runs": run_count}
    print_result(as_json, document, f"{folder}: {figures:,} figures of {run_count:,} runs")


@command
@click.argument("root", required=False, type=FOLDER)
@click.option("--older-than", "days", type=click.FloatRange(min=0), metavar="DAYS", help="Runs that began before.")
@click.option("--keep", type=click.IntRange(min=0), help="Runs with so many later complete ones of their parameters.")
@click.option("--incomplete", is_flag=True, help="Runs that were interrupted or failed.")
@click.option("--yes", is_flag=True, help="Remove them; without it they are listed.")
@JSON
def prune(root: Path | None, days: float | None, keep: int | None, incomplete: bool, yes: bool, as_json: bool) -> None:
    """List runs that meet all criteria; with --yes remove them.

    The runs are those below ROOT; without ROOT, this project's. A run that is being measured is neither listed nor
    removed.
    """
    from runners.storage.run_folder import RUNS, finish_removals, given_up, remove_run

    root = root or RUNS
    unwanted = list(given_up(root, days, keep, incomplete))
    unwanted_bytes = sum(run.bytes for run in unwanted)
    for run in unwanted:
        echo(run.line, err=as_json)
        if yes:
            remove_run(run)
    if yes:
        finish_removals(root)
    document = {"runs": [run.line for run in unwanted], "bytes": unwanted_bytes, "removed": yes}
    text = f"{len(unwanted)} runs, {unwanted_bytes / 1e6:,.1f} MB {'removed' if yes else 'would be removed by --yes'}"
    print_result(as_json, document, text)


@command
@_ROOTS
@click.option(
    "--within", type=click.IntRange(min=1), default=5, show_default=True,
    help="A change to the worse fails if it lies in the last so many runs of its figure.",
)  # fmt: skip
@JSON
def history(roots: tuple[Path, ...], within: int, as_json: bool) -> None:
    """Show where figures changed their level over the runs.

    The runs are those below ROOTS; without ROOTS, this project's. A figure is a latency or a throughput on one class of
    machine. Exit 0 if no figure got worse lately, 1 if one did, 2 for wrong usage.
    """
    from runners.readers.history import open_history
    from runners.report.sections import trend_lines
    from runners.results.answer import as_json as typed_json
    from runners.results.trends import trends
    from runners.storage.run_folder import REFERENCE, RUNS

    past = open_history(roots or (RUNS, REFERENCE))
    _passed_over(past.unreadable)
    series = trends(past.query("FROM measurements"), past.query("FROM runs"))
    alerts = [trend for trend in series if trend.worse_within(within)]
    looked = sum(not trend.why_not for trend in series)
    worsened = f"{len(alerts)} of {looked} figures that were measured often enough got worse"
    summary = f"{worsened} in their last {within} runs."
    changes = [{"trend": trend.title, **typed_json(change)} for trend in series for change in trend.changes]
    worse = [trend.title for trend in alerts]
    document = {"summary": summary, "failed": bool(alerts), "worse": worse, "changes": changes}
    print_result(as_json, document, "\n".join([*trend_lines(series), summary]))
    if alerts:
        sys.exit(Exit.PROBLEM)
