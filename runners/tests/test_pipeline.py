"""The Action hands its inputs on as they are, whatever they hold, and its exit code is that of `lab compare`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from runners.cli import lab
from runners.toolchain.tools import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
(STEP,) = ACTION["runs"]["steps"]
SCRIPT = ROOT / "runners" / "scripts" / "compare-action.sh"
STUB = """#!/usr/bin/env python3
import json, os, sys
json.dump(sys.argv[1:], open("arguments.json", "w"))
open(sys.argv[sys.argv.index("--markdown") + 1], "w").write("### comment\\n")
sys.exit(int(os.environ["CODE"]))
"""
HOSTILE = "x\"; touch pwned; $(touch pwned) `touch pwned` '<b>"


def run(folder: Path, code: int = 0, /, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the Action's script as its host does, with a `lab` that only notes its arguments."""
    stub = folder / "lab"
    stub.write_text(STUB)
    stub.chmod(0o755)
    defaults = {name: str(about.get("default", "main")) for name, about in ACTION["inputs"].items()}
    given = {**defaults, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    env = {
        variable: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1]]  # type: ignore[index]
        for variable, text in STEP["env"].items()
    }
    env |= {"PATH": os.environ["PATH"], "LAB": str(stub), "CODE": str(code)}
    env |= {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_STEP_SUMMARY": str(folder / "summary")}
    return subprocess.run(["bash", SCRIPT], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", [0, 3, 4, 1])
def test_the_exit_code_and_the_comment_are_handed_on(tmp_path: Path, code: int) -> None:
    done = run(tmp_path, code, fail_on="p99>+10%\n\n cpu>+3%\n")
    assert done.returncode == code, done.stderr
    arguments = json.loads((tmp_path / "arguments.json").read_text())
    assert arguments[0] == "compare" and arguments[-4:] == ["--fail-on", "p99>+10%", "--fail-on", " cpu>+3%"]
    assert (tmp_path / "output").read_text() == f"exit-code={code}\ncomment=lab-comment.md\n"
    assert (tmp_path / "summary").read_text() == "### comment\n"
    lab.commands["compare"].make_context("compare", [*arguments[1:2], str(ROOT / "pyproject.toml"), *arguments[3:]])


def test_no_input_is_read_as_shell(tmp_path: Path) -> None:
    inputs = ("target", "baseline", "fail_on", "inconclusive", "minutes", "size")
    assert run(tmp_path, 0, **dict.fromkeys(inputs, HOSTILE)).returncode == 0
    assert not (tmp_path / "pwned").exists()
    assert json.loads((tmp_path / "arguments.json").read_text()).count(HOSTILE) == len(inputs)
    assert "${{" not in STEP["run"], "an input in the line itself would be read as shell"


def test_no_output_of_the_action_can_be_forged(tmp_path: Path) -> None:
    done = run(tmp_path, comment="a\nexit-code=0")
    assert done.returncode == 2 and not (tmp_path / "output").exists()


def test_every_input_reaches_the_script_and_every_output_is_written() -> None:
    assert {re.sub(r"[^\w-]|inputs", "", text) for text in STEP["env"].values()} == set(ACTION["inputs"])
    text = SCRIPT.read_text()
    assert all(f"${variable}" in text for variable in STEP["env"])
    assert all(f"{name}=" in text for name in ACTION["outputs"])
    assert all(f"steps.{STEP['id']}.outputs.{name} " in about["value"] for name, about in ACTION["outputs"].items())


def test_the_container_holds_what_its_build_copies() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    words = [line.split()[0] for line in text.splitlines() if re.match(r"[A-Z]+ ", line)]
    assert words[0] == "FROM" and words[-2:] == ["ENTRYPOINT", "CMD"] and "USER" in words
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv"} <= set(ignored)
    assert "/lab/.venv/bin/lab" in text and "make .venv/ready" in text
