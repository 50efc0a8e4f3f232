"""The profiler's own pages: differences in both directions lie in the run folder, are linked to, and fail no run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.design.setting import Setting
from runners.execution.executor import Executor
from runners.execution.progress import Progress
from runners.readers.reading import read_run
from runners.report import render
from runners.results.conclusion import conclude
from runners.storage.run_folder import RunFolder, StepFolder
from runners.targets.base import Target
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.fake_measurement import FakeMeasurement, Machine
from runners.tests.fixtures.ladder_run import make_ladder
from runners.toolchain.build import PROFILER_JARS
from runners.toolchain.tools import Jdk, require_jdk
from runners.trial.profiler import Profiler

BASE = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
#: The same work in threads of other numbers, ten times as many samples, and in each profile a frame of its own.
LOW = "[main tid=1];java/lang/Thread.run;shared 60\n[main tid=1];java/lang/Thread.run;lonely_low 40\n"
HIGH = "[main tid=2];java/lang/Thread.run;shared 600\n[main tid=2];java/lang/Thread.run;lonely_high 400\n"


def _run(root: Path) -> tuple[RunFolder, StepFolder, StepFolder]:
    """A ladder whose lowest and highest rate were profiled."""
    folder = make_ladder(root, (800.0, 1_800.0), searched=False, base=BASE, polling={800.0: 500, 1_800.0: 500})
    low, high = (step for step in folder.steps() if "profiled" in step.name)
    low.collapsed("cpu").write_text(LOW, encoding="utf-8")
    high.collapsed("cpu").write_text(HIGH, encoding="utf-8")
    return folder, low, high


def _launch(setting: Setting, keep_data: bool = False, keep_others: bool = False) -> Target:
    raise AssertionError("nothing is measured")


def _compared(folder: RunFolder, profiler: Profiler | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Compare the profiles of a run; gives what was said."""
    monkeypatch.setattr(FakeMeasurement, "profiler", profiler)
    shown_in = Memory()
    Executor(folder, FakeMeasurement(folder, Machine({})), _launch, Progress(0.0, shown_in)).compare_profiles()
    return shown_in.lines


def _reports(folder: RunFolder) -> tuple[str, str]:
    render(conclude(read_run(folder), {}))
    return folder.report_html.read_text(encoding="utf-8"), folder.report_md.read_text(encoding="utf-8")


@pytest.mark.e2e
def test_what_one_profile_alone_has_is_in_one_of_both_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, low, high = _run(tmp_path)
    pages = low.difference("cpu", high.name), high.difference("cpu", low.name)
    for _ in range(2):  # as when a run is resumed
        assert not _compared(folder, Profiler(require_jdk(), PROFILER_JARS), monkeypatch)
        for page, own, other in zip(pages, ("low", "high"), ("high", "low"), strict=True):
            text = page.read_text(encoding="utf-8")
            assert f"lonely_{own}" in text and f"lonely_{other}" not in text
            assert re.findall(r"^d=.*", text, re.M) == ["d=U", "d=0"], "neither threads nor numbers of samples differ"
    assert not list(folder.path.rglob("*.new"))
    low.heat_map("cpu").write_text("a heat map", encoding="utf-8")
    for report in _reports(folder):
        for page in (*pages, low.heat_map("cpu")):
            assert re.search(rf'[("]{page.relative_to(folder.path)}[)"]', report)
        assert high.heat_map("cpu").name not in report.replace(f"{low.name}/{low.heat_map('cpu').name}", "")


def test_a_converter_that_fails_is_said_and_leaves_the_run_and_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, low, high = _run(tmp_path / "runs")
    stale = low.difference("cpu", high.name)
    stale.write_text("of another profile", encoding="utf-8")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    java.chmod(0o755)
    (said,) = _compared(folder, Profiler(Jdk(tmp_path, "25", "none"), tmp_path), monkeypatch)
    assert said.startswith("No differences of profiles") and "out of luck" in said
    assert not stale.exists()
    assert all("-against-" not in report for report in _reports(folder))


def test_without_a_jdk_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _, _ = _run(tmp_path)
    assert not _compared(folder, None, monkeypatch)
    assert not list(folder.steps_path.rglob("*-against-*"))
