"""The Action hands its inputs on as they are, whatever they hold, and its exit code is that of `lab compare`.

Neither the Action nor the image can be run here: what they run is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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
    return as_its_host(folder, {"LAB": str(stub), "CODE": str(code)}, inputs)


def as_its_host(folder: Path, more: dict[str, str], inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the Action's script in a folder, its inputs and the host's files in the environment."""
    defaults = {name: str(about.get("default", "main")) for name, about in ACTION["inputs"].items()}
    given = {**defaults, **{name.replace("_", "-"): value for name, value in inputs.items()}}
    env = {
        variable: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)[1]]  # type: ignore[index]
        for variable, text in STEP["env"].items()
    }
    env |= {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **more}
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


@pytest.mark.e2e
@pytest.mark.long
def test_the_script_sets_the_lab_up_and_compares_with_a_revision(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "runners" / "docs" / "examples" / "python", tmp_path / "app")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "quick")):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=tmp_path / "app", check=True)
    server = tmp_path / "app" / "server.py"
    text = server.read_text(encoding="utf-8").replace("import sys", "import sys\nimport time")
    server.write_text(text.replace("def do_GET(self) -> None:", "def do_GET(self) -> None:\n        time.sleep(0.01)"))
    inputs = {"target": "target.yaml", "baseline": "HEAD", "fail-on": "p50>+10%", "minutes": "3"}
    done = as_its_host(tmp_path / "app", {"LAB_RUNS": str(tmp_path / "runs")}, inputs)
    assert done.returncode in (0, 3), done.stderr  # it passes where the machine leaves the limit undecided
    assert f"exit-code={done.returncode}\n" in (tmp_path / "app" / "output").read_text()
    comment = (tmp_path / "app" / "lab-comment.md").read_text(encoding="utf-8")
    assert comment.startswith("### python against python-") and "p50" in comment
    assert (tmp_path / "app" / "summary").read_text(encoding="utf-8") == comment


@pytest.mark.parametrize("script", [SCRIPT, ROOT / ".ci" / "run"], ids=lambda path: path.name)
def test_a_script_is_clean(script: Path) -> None:
    assert os.access(script, os.X_OK) or script == SCRIPT, "the Action calls bash with it"
    subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not on this machine")
    done = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


CONTAINERFILE = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
IGNORED = (ROOT / ".containerignore").read_text(encoding="utf-8").split()
STEPS = [(word, rest) for word, rest in re.findall(r"^([A-Z]+) (.*)$", CONTAINERFILE, re.MULTILINE)]
BUILDS = [rest for word, rest in STEPS if word == "RUN"]


def test_the_container_begins_and_ends_as_one_does_and_its_lines_are_shell() -> None:
    words = [word for word, _ in STEPS]
    assert words[0] == "FROM" and words[-2:] == ["ENTRYPOINT", "CMD"] and "USER" in words
    assert {".git", ".venv"} <= set(IGNORED)
    assert ("ENTRYPOINT", '["/lab/.venv/bin/lab"]') in STEPS and ("WORKDIR", "/lab") in STEPS
    for line in BUILDS:
        subprocess.run(["bash", "-n", "-c", line], check=True)


def test_the_packages_that_the_container_installs_are_debians() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("apt-cache is not on this machine")
    (names,) = re.findall(r"--no-install-recommends ([\w. -]+?) +&&", BUILDS[0])
    known = subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True, check=True).stdout.split()
    if "make" not in known:
        pytest.skip("apt's lists are not on this machine")
    assert set(names.split()) <= {*known}


@pytest.mark.e2e
@pytest.mark.long
def test_what_the_container_builds_is_built_of_what_it_copies(tmp_path: Path) -> None:
    """Its last line, in a copy of the checkout without what is not sent to the build."""

    def not_sent(folder: str, names: list[str]) -> set[str]:
        patterns = [pattern.removeprefix("**/") for pattern in IGNORED]
        return {name for name in names if any(Path(folder, name).match(pattern) for pattern in patterns)}

    lab_root = tmp_path / "lab"
    shutil.copytree(ROOT, lab_root, ignore=not_sent)
    env = {name: value for name, value in os.environ.items() if not name.startswith("LAB_")}
    command = ["bash", "-o", "pipefail", "-c", BUILDS[-1]]
    done = subprocess.run(command, cwd=lab_root, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    command = [str(lab_root / ".venv" / "bin" / "lab"), "doctor"]
    examined = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert examined.returncode == 0 and "MISSING" not in examined.stdout, examined.stdout
