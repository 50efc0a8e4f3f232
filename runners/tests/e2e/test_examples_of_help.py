"""An example of each command that sends a load, from its help, run as a user would: on a worked example, in short."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from runners.cli import lab as commands
from runners.tests.cli.test_commands import examples
from runners.tests.e2e.conftest import lab
from runners.toolchain.tools import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.long]
#: What makes an example short; of an option that it has already, the last one counts.
SHORT = {
    "run": ("-p", "engines=noop", "-p", "profile=none"),
    "load": ("--duration", "1"),
    "profile": ("--size", "smoke", "--duration", "2"),
    "knee": ("--size", "smoke", "--minutes", "0.2", "-p", "probe_s=0.1", "-p", "precision=1", "--connections", "2"),
}


@pytest.mark.parametrize("name", SHORT)
def test_an_example_of_a_help_runs_and_prints_json_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "runners" / "docs" / "examples" / "python", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    known = examples(commands.commands[name])
    words = next((line for line in known if "target.yaml" in line), known[0])
    done = lab(*words[1:], *SHORT[name], *([] if "--json" in words else ["--json"]), runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "complete"
    assert "report.html" not in done.stderr, "only the end of a command names its report"
