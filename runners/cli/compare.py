"""`lab compare`: two settings measured by one schedule, runs or outputs that are there, and limits on the change."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runners.cli.base import (
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
    measured,
    print_json,
    write_file,
)

if TYPE_CHECKING:
    from runners.claims.gate import Judgement
    from runners.design.objective import ChangeLimit
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

    Exit codes: 0 done, every limit passed; 1 it could not be measured; 2 wrong usage; 3 a limit failed; 4 a limit is
    inconclusive, and none failed; 130 interrupted.
    """
    from runners.claims.between import sentences
    from runners.cli.work import (
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
        echo(compare_files(pairs, despite, as_json))
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
            print_json([each.as_json() for each in found])
        else:
            echo("\n".join(sentences(found)))
        if output is not None:
            echo(f"written to {output}", err=as_json)
        return
    if output is not None:
        raise click.UsageError("--output is for run folders; settings that are measured have a report of their own")
    if baseline is not None:
        if len(targets) != 1 or engines or a or b:
            raise click.UsageError("--baseline is a revision of one --target, and of nothing else")
        target = targets[0]
        given = given_parameters(parameters, named)
        if Path(baseline).is_dir():
            if markdown or form or resume or not judged_by:
                raise click.UsageError(
                    "kept runs as a --baseline are judged by --fail-on; of the forms only --json goes"
                )
            with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
                judgements = compare_with_runs(given, target, Path(baseline), judged_by, despite)
            _end(judgements, inconclusive, as_json, {})
        folder = measured(lambda: compare_with_revision(given, target, baseline, resume), as_json or bool(form))
        _judged(folder, judged_by, inconclusive, as_json, markdown, form)
        return
    ways = (len(engines), len(targets))
    if not set(ways) <= {0, 2} or max(len(a), len(b)) > 1 or sum(map(bool, (*ways, a or b))) > 1:
        raise click.UsageError("give --engine twice, or --target twice, or --a and --b once each")
    pair = (*engines, *map(as_target, targets)) if engines or targets else (*a, *b) if a and b else ()
    given = given_parameters(parameters, {**named, **dict(zip(("a", "b"), pair, strict=False))})
    if not {"a", "b"} <= given.keys() and resume is None:
        raise click.UsageError("name two settings, such as --engine lsm --engine rocksdb, or two run folders")
    folder = measured(lambda: compare_settings(given, resume), as_json or bool(form))
    _judged(folder, judged_by, inconclusive, as_json, markdown, form)


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
    from runners.cli import work

    found = work.judged(folder, limits)
    if markdown is not None:
        write_file("--markdown", markdown, found.as_markdown)
    if form is not None:
        echo(found.as_format(form))
    _end(found.judgements, inconclusive, as_json, work.as_json(folder) if as_json else {}, quiet=form is not None)


def _end(
    judgements: Sequence[Judgement], inconclusive: str, as_json: bool, more: dict[str, object], quiet: bool = False
) -> NoReturn:
    """Say what limits say, with `as_json` as JSON beside `more`, and exit with their code."""
    from runners.claims.gate import exit_code

    for each in judgements:
        echo(each.sentence, err=as_json or quiet)
    if as_json:
        print_json({**more, "limits": [each.as_json() for each in judgements]})
    sys.exit(exit_code(judgements, inconclusive_passes=inconclusive == "pass"))
