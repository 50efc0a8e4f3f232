"""Forked processes run each test once and make once what a file shares; one that dies fails its tests."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from runners.toolchain.tools import ROOT

SHARING = """
import os, pathlib, pytest, time

@pytest.fixture(scope="module")
def made():
    with open("{log}", "a") as log:
        print("{name}", os.getpid(), file=log)
    time.sleep(0.5)

def test_one(made, capfd):
    print("captured")
    assert capfd.readouterr().out == "captured\\n"

def test_other(made):
    assert {right}

@pytest.mark.skip(reason="later")
def test_skipped(): ...
"""
DYING = """
import os

def test_before(): ...

def test_dies():
    os._exit(3)

def test_after(): ...
"""


def outcomes(folder: Path, *files: str) -> dict[str, str]:
    """How each test of these files ended, in two processes."""
    command = [sys.executable, "-m", "pytest", "-p", "runners.tests.forked", "--processes=2", "--junitxml=done.xml"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run([*command, "-c", os.devnull, "--rootdir=.", *files], cwd=folder, env=env, capture_output=True)
    cases = ET.parse(folder / "done.xml").getroot().iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": "".join(child.tag for child in case) for case in cases}


def test_each_test_runs_once_and_what_a_file_shares_is_made_once(tmp_path: Path) -> None:
    for name, right in (("test_a", True), ("test_b", False), ("test_c", True)):
        text = SHARING.format(log=tmp_path / "log", name=name, right=right)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    found = outcomes(tmp_path)
    wrong = {name: how for name, how in found.items() if how}
    assert len(found) == 9
    assert wrong == {"test_b.test_other": "failure"} | {f"test_{each}.test_skipped": "skipped" for each in "abc"}
    made = [line.split() for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert sorted(name for name, _ in made) == ["test_a", "test_b", "test_c"]
    assert len({pid for _, pid in made}) == 2


def test_a_process_that_dies_fails_what_it_leaves_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(DYING, encoding="utf-8")
    (tmp_path / "test_b.py").write_text("import time\n\ndef test_it(): time.sleep(0.5)\n", encoding="utf-8")
    (tmp_path / "test_c.py").write_text("def test_it(): ...\n", encoding="utf-8")
    failed = {name for name, how in outcomes(tmp_path).items() if how == "failure"}
    assert failed == {"test_a.test_dies", "test_a.test_after"}
