"""The real JupyterLab in a real browser: notebooks are opened, run, seen, clicked and interrupted as a person would."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.experiments.registry import EXPERIMENTS
from runners.process.supervisor import free_port
from runners.tests.chromium import CHROMIUM, Page, browser
from runners.tests.waiting import left_in, until
from runners.toolchain.tools import NOTEBOOKS, ROOT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
]
NOTEBOOK = "01_single_connection.ipynb"
CONFIG = Path("runners/scripts/jupyterlab/config.py")
RUN_S = 900.0
OUTPUTS = "[...document.querySelectorAll('.jp-OutputArea-output')]"
FRAMES = "[...document.querySelectorAll('#graph div')]"
MIDDLE = "(box) => { const at = box.getBoundingClientRect(); return [at.left + at.width / 2, at.top + at.height / 2] }"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Copies of the notebooks, 01 in the smoke size: JupyterLab saves what it has run."""
    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    path = tmp_path / "notebooks" / NOTEBOOK
    text = path.read_text(encoding="utf-8")
    assert 'size = \\"quick\\"' in text
    path.write_text(text.replace('size = \\"quick\\"', 'size = \\"smoke\\"'), encoding="utf-8")
    return tmp_path


@pytest.fixture
def lab(root: Path) -> Iterator[str]:
    """The address of a JupyterLab on these notebooks, whose application scripts of the test may call."""
    port = free_port()
    own = {
        name: str(root / "jupyter" / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    }
    env = {**os.environ, **own, "LAB_RUNS": str(root / "runs")}
    options = [
        "--no-browser", "--allow-root", "--expose-app-in-browser", f"--ServerApp.port={port}",
        "--ServerApp.ip=127.0.0.1",
        "--IdentityProvider.token=", f"--config={CONFIG}", f"--ServerApp.root_dir={root}",
    ]  # fmt: skip
    with (root / "jupyter.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *options], cwd=ROOT, env=env, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        address = f"http://127.0.0.1:{port}"
        said = until(lambda: address in (root / "jupyter.log").read_text(encoding="utf-8"))
        assert said, (root / "jupyter.log").read_text(encoding="utf-8")
        yield address
    finally:
        server.terminate()
        server.wait(timeout=60)
        assert left_in(root) == [], "nothing of a kernel is left"


def command(page: Page, name: str) -> None:
    """Carry out one of JupyterLab's commands, as its menus do; not waiting for what it begins."""
    page.run(f"void jupyterapp.commands.execute({json.dumps(name)})")


def opened(page: Page, address: str, notebook: str, cells: int) -> None:
    """Open a notebook, with the focus, without which there is no current one; wait until its kernel is idle."""
    page.send("Emulation.setFocusEmulationEnabled", enabled=True)
    page.open(f"{address}/lab/workspaces/{notebook.partition('.')[0]}/tree/notebooks/{notebook}")
    assert page.holds(f"document.querySelectorAll('.jp-Notebook .jp-Cell').length >= {cells}", 120)
    kernel = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
    assert page.holds(f"{kernel}?.status === 'idle'", 120), "without a kernel it would be asked for one"
    assert page.holds("jupyterapp.commands.isEnabled('notebook:run-all-cells')")


def test_experiment_01_is_run_seen_and_interrupted(lab: str, root: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        opened(page, lab, NOTEBOOK, 5)
        assert not page.run(f"{OUTPUTS}.length"), "what measures is run by its reader alone"
        command(page, "notebook:run-all-cells")
        assert page.holds(f"{OUTPUTS}.some((output) => /%\\] \\d+:\\d+ left/.test(output.textContent))", RUN_S), (
            "a live line"
        )
        live = f"{OUTPUTS}.some((output) => output.querySelector('svg[aria-label^=\"The load so far\"]'))"
        assert page.holds(live, RUN_S), "a figure of the load that runs"
        finished = f"{OUTPUTS}.some((output) => output.textContent.includes('report.html:'))"
        assert page.holds(finished, RUN_S), page.run(
            f"{OUTPUTS}.map((output) => output.textContent).join('\\n').slice(-3000)"
        )
        assert not page.run(live), "it is gone when its load has ended"
        page.picture(root / "run.png")
        assert page.run(f"{OUTPUTS}.some((output) => output.querySelector('img[src^=\"data:image/png\"]'))"), (
            "a spectrum"
        )

        frame = "document.querySelector('.jp-OutputArea-output .flame iframe')"
        assert page.holds(frame), "a flame graph"
        page.run(f"{frame}.scrollIntoView({{block: 'center'}})")
        within = page.context_of(frame)
        drawn = f"document.documentElement.dataset.drawn === 'yes' && {FRAMES}.length > 1"
        assert until(lambda: page.run(drawn, within)), "it is drawn when it is seen"
        narrow = f"{FRAMES}.find((box) => box.row[0] > 0 && box.row[2] > 5000 && box.row[2] < 95000)"
        page.run(f"globalThis.narrow = {narrow}", within)
        before = page.run("narrow.style.width", within)
        x, y = page.run(f"(({MIDDLE})(narrow))", within)
        left, above = page.run(f"(() => {{ const at = {frame}.getBoundingClientRect(); return [at.left, at.top] }})()")
        page.click(left + x, above + y)
        assert until(lambda: page.run("narrow.style.width", within) == "100%" != before), "a click zooms"

        (done,) = (json.loads(path.read_text()) for path in (root / "runs").glob("*/manifest.json"))
        assert done["status"] == "complete" and done["size"] == "smoke"

        command(page, "notebook:run-all-cells")
        assert until(lambda: [*(root / "runs").glob("*/steps/*put*.partial")], RUN_S), "the next run measures a block"
        command(page, "notebook:interrupt-kernel")
        assert page.holds(f"{OUTPUTS}.some((output) => output.textContent.includes('resumes the run'))", 120)
        assert not page.run(f"{OUTPUTS}.some((output) => output.textContent.includes('ZMQError'))")
        command(page, "kernelmenu:shutdown")

        def statuses() -> list[str]:
            manifests = (root / "runs").glob("*/manifest.json")
            return sorted(json.loads(path.read_text(encoding="utf-8"))["status"] for path in manifests)

        assert until(lambda: statuses() == ["complete", "interrupted"]), statuses()


def test_make_lab_starts_jupyterlab_as_this_test_does() -> None:
    assert f"--config={CONFIG}" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_index_is_run_when_it_is_opened(lab: str, root: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        opened(page, lab, "index.ipynb", 2)
        for plan in EXPERIMENTS.values():
            link = f"{OUTPUTS}.some((output) => output.querySelector('a[href=\"{plan.notebook}\"]'))"
            assert page.holds(link, 120), plan.notebook
        page.picture(root / "index.png")
        assert not page.run("document.body.textContent.includes('Jupyter news')")
        command(page, "kernelmenu:shutdown")
