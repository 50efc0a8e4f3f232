"""The order of the rooms: each knows only those on its left."""

from __future__ import annotations

import subprocess
import sys

from runners.toolchain.tools import ROOT


def test_the_rooms_keep_their_order() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_that_runs_during_a_measurement_loads_frames_or_figures() -> None:
    code = (
        "import importlib, pkgutil, sys\n"
        "for room in ('design', 'process', 'toolchain', 'targets', 'generators', 'trial'):\n"
        "    package = importlib.import_module('runners.' + room)\n"
        "    for module in pkgutil.iter_modules(package.__path__):\n"
        "        if module.name != 'guard':\n"
        "            importlib.import_module(f'runners.{room}.{module.name}')\n"
        "loaded = {'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {loaded}' if loaded else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
