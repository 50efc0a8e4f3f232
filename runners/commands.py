"""`lab knee` and `lab compare`: a run from a command's parameters to its report, by the words that notebooks use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from runners.claims.between import compared, differing, sentences
from runners.design.commands import COMPARE, KNEE
from runners.design.parameter import validate
from runners.design.workload import WORKLOADS
from runners.errors import PlanError
from runners.execution.budget import affordable
from runners.execution.resume import of_plan
from runners.lab import Lab
from runners.readers.reading import read_run
from runners.report.between import comparison_page
from runners.report.report import replace_file
from runners.storage.run_folder import RunFolder

COMPARED_MINUTES = 10.0  # budget of `lab compare`, in every size, where none is given


def _resumed(plan: str, given: Mapping[str, object], resume: Path | None) -> dict[str, object]:
    """The parameters of the run that is resumed, unless they are given anew."""
    earlier = of_plan(RunFolder.open(resume), plan).get("parameters") or {} if resume is not None else {}
    return {**earlier, **given}


def find_knee(given: Mapping[str, object], resume: Path | None = None) -> RunFolder:
    """Search a knee and write its report; gives the run's folder. Raises LabError."""
    parameters = _resumed(KNEE.number, given, resume)
    asked = validate(KNEE.parameters, parameters)  # all of it is checked before anything is built or opened
    affordable(KNEE.number, asked)
    lab = Lab.begin("knee", resume=resume, **parameters)
    try:
        lab.knee(
            str(asked["setting"]),
            WORKLOADS[str(asked["workload"])],
            str(asked["objective"]),
            float(asked["minutes"]),
            connections=int(asked["connections"]),
            threads=int(asked["threads"]),
            probe_s=float(asked["probe_s"]),
            low_rps=float(asked["low_rps"]),
            high_rps=float(asked["high_rps"]),
            precision=float(asked["precision"]),
        )
        print(repr(lab.conclude()))
    finally:
        lab.close()
    return lab.folder


def compare_settings(given: Mapping[str, object], resume: Path | None = None) -> RunFolder:
    """Measure two settings in rounds and write the report, as notebook 09 does; gives the run's folder.

    Raises LabError.
    """
    parameters = {"minutes": COMPARED_MINUTES, **_resumed(COMPARE.number, given, resume)}
    asked = validate(COMPARE.parameters, parameters)  # all of it is checked before anything is built or opened
    affordable(COMPARE.number, asked)
    lab = Lab.begin(COMPARE.number, resume=resume, **parameters)
    try:
        lab.compare(
            str(asked["a"]),
            str(asked["b"]),
            WORKLOADS[str(asked["workload"])],
            rate_rps=float(asked["rate_rps"]),
            minutes=float(asked["minutes"]),
            see=float(asked["see"]),
            connections=int(asked["connections"]),
            threads=int(asked["threads"]),
            repeat_s=float(asked["repeat_s"]),
        )
        print(repr(lab.conclude()))
    finally:
        lab.close()
    return lab.folder


def compare_folders(
    a: Sequence[Path], b: Sequence[Path], despite: Sequence[str], see: float, output: Path | None = None
) -> list[str]:
    """Compare runs that were measured before, and with `output` write that as one HTML file.

    Raises PlanError when a run is given twice, and, naming the fields, when more than a setting differs.
    """
    see = float(validate(COMPARE.parameters, {"see": see})["see"])
    left, right = ([read_run(RunFolder.open(path)) for path in side] for side in (a, b))
    for name, times in Counter(str(run.manifest["run"]) for run in (*left, *right)).items():
        if times > 1:
            raise PlanError(f"run {name}", "it is given twice: no run is a repeat of itself", "give each run once")
    fields = differing(left, right)
    refused = [differs for differs in fields if differs.field not in despite]
    if refused:
        raise PlanError(
            "these runs",
            "they differ in more than the setting:\n" + "\n".join(f"  {differs.text}" for differs in refused),
            "measure them alike, or say " + " ".join(f"--despite {differs.field}" for differs in refused),
        )
    found = compared(left, right, see)
    if not found:
        raise PlanError(
            "these runs", "no load of one matches a valid one of the other", "compare runs of one experiment"
        )
    if output is not None:
        page = comparison_page(found, left, right, fields)
        try:
            replace_file(output, page.encode())
        except OSError as error:
            raise PlanError(f"--output {output}", str(error.strerror), "name a file that can be written") from error
    return list(sentences(found))
