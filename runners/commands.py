"""`lab knee` and `lab compare`: a run without a notebook, from its parameters to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runners.errors import PlanError
from runners.explain.between import differing, sentences
from runners.lab import Lab
from runners.plan.experiment import ENGINES
from runners.plan.objective import Objective
from runners.plan.setting import Setting
from runners.plan.workload import WORKLOADS
from runners.read.reading import read_run
from runners.store import RunFolder


def _resumed(given: Mapping[str, object], resume: Path | None) -> dict[str, object]:
    """The parameters of the run that is resumed, unless they are given anew."""
    earlier = RunFolder.open(resume).manifest().get("parameters") or {} if resume is not None else {}
    return {**earlier, **given}


def find_knee(given: Mapping[str, object], resume: Path | None = None) -> RunFolder:
    """Search a knee and write its report; gives the run's folder. Raises LabError."""
    parameters = _resumed(given, resume)
    Setting.parse(str(parameters.get("setting", "lsm")), ENGINES)  # before anything is built
    Objective.parse(str(parameters.get("objective", "p99<=10ms")))
    lab = Lab.begin("knee", resume=resume, **parameters)
    try:
        asked = lab.parameters
        lab.knee(
            Setting.parse(str(asked["setting"]), ENGINES),
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
    """Measure two settings in rounds and write the report; gives the run's folder. Raises LabError."""
    parameters = _resumed(given, resume)
    for side, usual in (("a", "lsm"), ("b", "rocksdb")):  # before anything is built
        Setting.parse(str(parameters.get(side, usual)), ENGINES)
    lab = Lab.begin("compare", resume=resume, **parameters)
    try:
        asked = lab.parameters
        lab.compare(
            Setting.parse(str(asked["a"]), ENGINES),
            Setting.parse(str(asked["b"]), ENGINES),
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


def compare_folders(a: Sequence[Path], b: Sequence[Path], despite: Sequence[str], see: float) -> list[str]:
    """Compare runs that were measured before. Raises PlanError, naming the fields, when more than a setting differs."""
    sides = [[read_run(RunFolder.open(path)) for path in side] for side in (a, b)]
    refused = [differs for differs in differing(*sides) if differs.field not in despite]
    if refused:
        raise PlanError(
            "these runs",
            "they differ in more than the setting:\n" + "\n".join(f"  {differs.text}" for differs in refused),
            "measure them alike, or say " + " ".join(f"--despite {differs.field}" for differs in refused),
        )
    lines = list(sentences(sides[0], sides[1], see))
    if not lines:
        raise PlanError(
            "these runs", "no load of one matches a valid one of the other", "compare runs of one experiment"
        )
    return lines
