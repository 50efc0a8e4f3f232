"""In a real browser: the report asks nothing of the network and draws its flame graphs. Skipped without Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from runners.readers.reading import read_step
from runners.report import flamegraph
from runners.storage.run_folder import RunFolder

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
OWN = re.compile(r"^https?://([\w-]+\.)*(google|googleapis|gvt1|gstatic)\.com[:/]")  # what the browser asks by itself
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def visit(page: Path, scratch: Path, place: str = "") -> tuple[str, list[str]]:
    """Load a page at a place of it, no name resolvable; the page as it then is, and the addresses asked for."""
    log = scratch / "net.json"
    command = [
        str(CHROMIUM),
        *FLAGS,
        f"--user-data-dir={scratch / 'profile'}",
        "--timeout=4000",
        f"--log-net-log={log}",
        "--dump-dom",
        page.as_uri() + place,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    asked = set(re.findall(r'"url":"((?:https?|wss?|ftp):[^"]+)"', log.read_text(encoding="utf-8", errors="replace")))
    return done.stdout, sorted(url for url in asked if not OWN.match(url))


def test_a_page_that_asks_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "asks.html"
    page.write_text('<!DOCTYPE html><img src="http://h.invalid/x.png">', encoding="utf-8")
    assert visit(page, tmp_path)[1] == ["http://h.invalid/x.png"]


def test_the_report_asks_nothing_of_the_network(report: RunFolder, tmp_path: Path) -> None:
    closed = re.findall(r'<details class="graph" id="([\w-]+)">', report.report_html.read_text(encoding="utf-8"))
    shown, asked = visit(report.report_html, tmp_path, f"#{closed[-1]}")
    assert asked == []
    assert "Questions and answers" in shown
    # its own script ran: it opens what the address points to
    assert re.search(rf'<details class="graph" id="{closed[-1]}" open', shown)


def title_of(page: Path, scratch: Path, wanted: str) -> str:
    """The title of a page once it matches `wanted`, or after twenty seconds, asked through the DevTools protocol."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={scratch / 'profile'}", "--remote-debugging-port=0"]
    errors = scratch / "stderr.txt"
    with errors.open("w", encoding="utf-8") as out:
        browser = subprocess.Popen([*command, "--remote-allow-origins=*", page.as_uri()], stderr=out)
    try:
        title, until = "", time.monotonic() + 20
        while not re.fullmatch(wanted, title) and time.monotonic() < until:
            time.sleep(0.2)
            found = re.search(r"listening on ws://([\d.:]+)/", errors.read_text(encoding="utf-8"))
            if found:
                with urllib.request.urlopen(f"http://{found[1]}/json", timeout=5) as answer:
                    targets = [target for target in json.load(answer) if target["url"] == page.as_uri()]
                title = targets[0]["title"] if targets else ""
        return title
    finally:
        browser.terminate()
        browser.wait(timeout=20)


TRY = """
<script>setTimeout(function () {
  var field = document.getElementById('lab-q');
  field.value = 'byte'; field.dispatchEvent(new Event('input'));
  var whole = levels[0][0].width;
  render(levels[1][0]);
  parent.postMessage([document.documentElement.dataset.drawn, document.getElementById('matchval').textContent,
    canvas.width > 300, root.width < whole].join(' '), '*');
}, 1500)</script></body>"""


def test_a_flame_graph_draws_searches_and_zooms_in_its_sandbox(report: RunFolder, tmp_path: Path) -> None:
    step = next(step for step in report.steps() if step.name == "put-rocksdb-profiled")
    graph = flamegraph(read_step(step), "cpu")
    graph = replace(graph, page=graph.page.replace("</body>", TRY))
    page = tmp_path / "frame.html"
    hear = "addEventListener('message', function (told) { document.title = 'told ' + told.data })"
    html = f"<!DOCTYPE html><title>x</title><script>{hear}</script>{graph.iframe()}"
    page.write_text(html, encoding="utf-8")
    wanted = r"told yes \d+\.\d+% true true"
    assert re.fullmatch(wanted, title_of(page, tmp_path, wanted))
