"""`lab compare`: measure two servers by one schedule, or compare runs or outputs that exist already."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from runners.cli import command, echo, options, print_json, print_result, progress_apart, write_file

if TYPE_CHECKING:
    from runners.design.objective import ChangeLimit
    from runners.results.limits import Judgement
    from runners.storage.run_folder import RunFolder


@command
@click.argument("runs", nargs=-1, metavar="[RUNS|FILES|SERVERS]...", type=options.COMPARED)
@click.option("--target", "targets", type=options.TARGET, multiple=True, help="A server, as the arguments name it.")
@click.option("--engine", "engines", multiple=True, help="Twice: the two engines.")
@click.option("--a", multiple=True, help="A setting (engine=lsm,--flag=value), or run folders: may be given again.")
@click.option("--b", multiple=True, help="The other setting, or run folders.")
@click.option(
    "--despite", multiple=True, metavar="FIELD",
    help="Compare runs or outputs although this differs: machine.kernel, or machine for all of it.",
)  # fmt: skip
@click.option("--output", type=options.FILE, help="Comparing run folders: write this HTML file too.")
@click.option("--workload", help="One of the targets', their first unless given; put or get of engines.")
@options.CONNECTIONS
@click.option("--minutes", type=float, help="Budget; 10 unless given.")
@options.JSON
@click.option("--baseline", metavar="REVISION", help="With one --target: a git revision.")
@click.option(
    "--fail-on", "limits", multiple=True, metavar="LIMIT",
    help='Exit 3 where the interval lies beyond it: "p99>+10%", "cpu>+3%"; of p50 p90 p99 cpu throughput errors.',
)  # fmt: skip
@options.INCONCLUSIVE
@click.option("--markdown", type=options.FILE, help="A comment for a change request.")
@click.option("--see", type=float, help="Smallest difference of interest, as a share; 0.02 unless given.")
@click.option("--until", help='End when this is decided, e.g. "p50+-2%": it differs, or is the same within 2 %.')
@options.SIZE
@options.RESUME
@options.PARAMETERS
def compare(
    runs: tuple[Path, ...], targets: tuple[Path, ...], engines: tuple[str, ...], as_json: bool, a: tuple[str, ...],
    b: tuple[str, ...], despite: tuple[str, ...], output: Path | None, baseline: str | None, limits: tuple[str, ...],
    inconclusive: str, markdown: Path | None, resume: Path | None, parameters: tuple[str, ...], **named: object,
) -> None:  # fmt: skip
    """Compare two servers, runs or outputs: is one slower?

    Two servers, by URL or description, or two settings of the lab's own are measured by one schedule. Runs and files
    are compared as they are; of several files, the first is compared with each of the others.

    Exit codes: 0 done, every limit passed; 1 it could not be measured; 2 wrong usage; 3 a limit failed, or more of
    the second's responses failed than of the first's; 4 a limit is inconclusive, and none failed; 130 interrupted.
    """
    from runners.cli import planned
    from runners.design.objective import ChangeLimit
    from runners.design.target import read_target
    from runners.storage.run_folder import run_path
    from runners.targets import preflight

    judging = _Judging(tuple(map(ChangeLimit.parse, limits)), inconclusive, as_json, markdown)
    sides = [[run_path(text) for text in side] for side in (a, b)]
    if runs and all(path.suffix in (".yaml", ".yml") for path in runs):  # servers' descriptions, not outputs or runs
        runs, targets = (), (*runs, *targets)
    measuring = (resume, parameters, baseline, markdown)
    if any(path.is_file() for path in (*runs, *sides[0], *sides[1])):
        if _any_given(engines, targets, output, limits, *measuring, *named.values()) or (runs and (a or b)):
            raise click.UsageError("outputs are compared as they are: only --despite and --json go with them")
        from runners.cli import work

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
        if _any_given(*measuring, *named.values()):
            raise click.UsageError("runs are compared as they are: give --see, --despite, --fail-on or --output")
        _compare_folders(sides, despite, see if isinstance(see, float) else 0.02, output, judging)
    if output is not None:
        raise click.UsageError("--output is for run folders; settings that are measured have a report of their own")
    if baseline is not None:
        if len(targets) != 1 or engines or a or b:
            raise click.UsageError("--baseline is a revision of one --target, and of nothing else")
        target, given = targets[0], options.given_parameters(parameters, named)
        preflight.check(read_target(target))
        from runners.cli import work

        with progress_apart(judging.as_json):
            folder = work.compare_with_revision(given, target, baseline, resume)
        judging.end_of_run(folder)
    ways = (len(engines), len(targets))
    if not set(ways) <= {0, 2} or max(len(a), len(b)) > 1 or sum(map(bool, (*ways, a or b))) > 1:
        raise click.UsageError("give two servers, or --engine twice, or --a and --b once each")
    pair = (*engines, *map(options.as_target, targets)) if engines or targets else (*a, *b) if a and b else ()
    given = options.given_parameters(parameters, {**named, **dict(zip(("a", "b"), pair, strict=False))})
    if not {"a", "b"} <= given.keys() and resume is None:
        raise click.UsageError("name two servers, such as a.yaml b.yaml or --engine lsm --engine rocksdb, or two runs")
    comparison = planned.comparison(given, resume)
    from runners.cli import work  # after the check: slow to import

    with progress_apart(judging.as_json):
        folder = work.measure(comparison)
    judging.end_of_run(folder)


def _any_given(*values: object) -> bool:
    return any(value not in (None, ()) for value in values)


def _compare_folders(
    sides: Sequence[Sequence[Path]], despite: Sequence[str], see: float, output: Path | None, judging: "_Judging"
) -> NoReturn:
    from runners.storage.run_folder import RunFolder

    for path in (*sides[0], *sides[1]):
        RunFolder.open(path)  # fails before the slow imports
    from runners.cli.work import compare_folders, compared_text
    from runners.report.exports import runs_json
    from runners.results.limits import judge

    comparisons = compare_folders(sides[0], sides[1], despite, see, output)
    print_result(judging.as_json, [runs_json(comparison) for comparison in comparisons], compared_text(comparisons))
    if output is not None:
        echo(f"written to {output}", err=judging.as_json)
    judging.end(judge(comparisons, judging.limits))


@dataclass(frozen=True, slots=True)
class _Judging:
    """How a comparison ends: how its result is printed, and the limits that decide the exit code."""

    limits: "tuple[ChangeLimit, ...]"
    inconclusive: str  # fail or pass: what an inconclusive limit does
    as_json: bool
    markdown: Path | None  # a file to write

    def end_of_run(self, folder: "RunFolder") -> NoReturn:
        """Print a run's comparison, write the file of `--markdown`, and exit with the code that the limits decide."""
        from runners.cli import work
        from runners.report.exports import comment
        from runners.results.checks import of_comparison
        from runners.results.limits import judge

        comparisons = work.comparisons_of(folder)
        first, judgements = comparisons[0], judge(comparisons, self.limits)
        if self.markdown is not None:
            write_file("--markdown", self.markdown, comment(first, judgements, tuple(of_comparison(first))))
        self.end(judgements, work.as_json(folder))

    def end(self, judgements: "Sequence[Judgement]", document: Mapping[str, object] | None = None) -> NoReturn:
        """Print `judgements`; for `--json` also `document` with `judgements` added. Exit with the code they decide."""
        from runners.report.comparison import judged, reason
        from runners.results.limits import exit_code

        for judgement in judgements:
            echo(judged(judgement), err=self.as_json)
        if self.as_json and document is not None:
            limits = [{**judgement.as_json(), "reason": reason(judgement)} for judgement in judgements]
            print_json({**document, "limits": limits})
        sys.exit(exit_code(judgements, inconclusive_passes=self.inconclusive == "pass"))
