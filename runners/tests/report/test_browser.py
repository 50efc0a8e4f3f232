"""In a real browser: the report asks nothing of the network, draws its flame graphs, prints, and needs no mouse.

Skipped without Chromium.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest

from runners.readers.reading import read_step
from runners.report import flamegraph
from runners.storage.run_folder import RunFolder
from runners.tests.chromium import CHROMIUM, FLAGS, NO_NAMES, Page, axe_source, browser, grave_findings
from runners.tests.waiting import LIMIT_S

OWN = re.compile(r"^https?://([\w-]+\.)*(google|googleapis|gvt1|gstatic)\.com[:/]")  # what the browser asks by itself
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def visit(page: Path, scratch: Path, place: str = "") -> tuple[str, list[str]]:
    """Load a page at a place of it, no name resolvable; the page as it then is, and the addresses asked for."""
    log = scratch / "net.json"
    command = [
        str(CHROMIUM),
        *FLAGS,
        NO_NAMES,
        f"--user-data-dir={scratch / 'profile'}",
        f"--timeout={LIMIT_S * 1000:.0f}",
        f"--log-net-log={log}",
        "--dump-dom",
        page.as_uri() + place,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
    asked = set(re.findall(r'"url":"((?:https?|wss?|ftp):[^"]+)"', log.read_text(encoding="utf-8", errors="replace")))
    return done.stdout, sorted(url for url in asked if not OWN.match(url))


def test_a_page_that_asks_is_caught(tmp_path: Path) -> None:
    page = tmp_path / "asks.html"
    page.write_text('<!DOCTYPE html><img src="http://h.invalid/x.png">', encoding="utf-8")
    assert visit(page, tmp_path)[1] == ["http://h.invalid/x.png"]


def test_the_report_asks_nothing_of_the_network(report: RunFolder, tmp_path: Path) -> None:
    shown, asked = visit(report.report_html, tmp_path)
    assert asked == []
    assert "Can these numbers be trusted?" in shown
    assert '<html lang="en" class="scripts">' in shown, "its own script ran"


TRY = """
<script>(function search() {
  if (document.documentElement.dataset.drawn !== 'yes') { setTimeout(search, 20); return }
  var field = document.getElementById('q');
  field.value = 'read|write'; field.dispatchEvent(new Event('input'));
  var boxes = Array.from(document.querySelectorAll('#graph div'));
  var highlighted = boxes.filter(function (box) { return box.className === 'found' });
  var matched = document.getElementById('about').textContent;
  highlighted[0].click();
  parent.postMessage([matched, highlighted.length < boxes.length, highlighted[0].style.width].join(' '), '*');
})()</script></body>"""


def test_a_flame_graph_draws_searches_and_zooms_in_its_sandbox(report: RunFolder, tmp_path: Path) -> None:
    step = next(step for step in report.steps() if step.name == "put-rocksdb-profiled")
    frame = str(flamegraph(read_step(step), "cpu").iframe()).replace(escape("</body>"), escape(TRY))
    path = tmp_path / "frame.html"
    hear = "addEventListener('message', function (heard) { document.title = 'heard ' + heard.data })"
    html = f"<!DOCTYPE html><title>x</title><script>{hear}</script>{frame}"
    path.write_text(html, encoding="utf-8")
    with browser(tmp_path) as page:
        page.open(path.as_uri())
        assert page.holds("document.title.startsWith('heard')")
        assert re.fullmatch(r"heard matched \d+\.\d+ % true 100%", page.run("document.title"))


FOCUSED = "(document.activeElement.row || []).join()"


def test_a_flame_graph_is_walked_zoomed_and_reset_by_keys(report: RunFolder, tmp_path: Path) -> None:
    step = next(step for step in report.steps() if step.name == "put-rocksdb-profiled")
    path = tmp_path / "graph.html"
    path.write_text(flamegraph(read_step(step), "cpu").page()[0], encoding="utf-8")
    with browser(tmp_path) as page:
        page.open(path.as_uri())
        assert page.holds("document.documentElement.dataset.drawn === 'yes'")

        def pressed(key: str, code: int) -> list[int]:
            page.press(key, code)
            return [int(part) for part in page.run(FOCUSED).split(",") if part]

        stops = [pressed("Tab", TAB) for _ in range(3)]
        assert stops[:2] == [[], []] and stops[2][0] == 0, "the search, the button, and the whole"
        called = pressed("ArrowDown", 40)
        assert called[0] == 1 and called[2] < stops[2][2]
        assert pressed("ArrowUp", 38) == stops[2] and pressed("ArrowDown", 40) == called
        pressed_right = pressed("ArrowRight", 39)
        assert pressed_right[0] == 1 and pressed_right[1] >= called[1] + called[2]
        assert pressed("ArrowLeft", 37) == called
        width = "document.activeElement.style.width"
        narrow = page.run(width)
        assert pressed("Enter", 13) == called and page.run(width) == "100%" != narrow
        assert pressed("Escape", 27) == called and page.run(width) == narrow
        assert page.complaints == []


#: Parts of the page outside of the appendix whose content is wider than they are.
CUT_OFF = """
[...document.querySelectorAll('header .scroll, section:not(#appendix) .scroll, section:not(#appendix) .card')]
  .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.outerHTML.slice(0, 200))
"""


def test_on_a_phone_no_table_and_no_figure_is_cut_off(report: RunFolder, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.send("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        page.open(report.report_html.as_uri())
        assert page.run(CUT_OFF) == []
        assert page.run("document.documentElement.scrollWidth") == 390
        letters_px = "Math.min(...[...document.querySelectorAll('section .narrow text')].map((text) => "
        letters_px += "text.getBoundingClientRect().height).filter((height) => height > 0))"
        assert page.run(letters_px) > 6


#: Marks what a key can reach, with all that folds opened, and gives their number. Of radio buttons a group is one stop.
MARK = """
document.querySelectorAll('details').forEach((each) => { each.open = true });
[...document.querySelectorAll('a[href], button, input, select, textarea, summary, iframe, [tabindex]')]
  .filter((each) => each.tabIndex >= 0 && !each.disabled && each.type !== 'radio'
    && each.checkVisibility({visibilityProperty: true}))
  .map((each, place) => { each.dataset.stop = place; return each })
  .length
"""
TAB = 9


@pytest.fixture
def offline(tmp_path: Path) -> Iterator[Page]:
    """A tab whose network is cut."""
    with browser(tmp_path) as page:
        page.send(
            "Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )
        yield page


@pytest.mark.long
def test_without_a_network_nothing_is_asked_and_nothing_complained_of(report: RunFolder, offline: Page) -> None:
    offline.open(report.report_html.as_uri())
    offline.run(MARK)
    assert offline.holds("[...document.querySelectorAll('iframe')].length > 0")
    assert [url for url in offline.asked if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
    assert offline.complaints == []


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave(report: RunFolder, offline: Page, theme: str, tmp_path: Path) -> None:
    axe = axe_source(tmp_path)
    offline.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
    offline.open(report.report_html.as_uri())
    offline.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    assert grave_findings(offline, axe) == []


@pytest.mark.long
def test_axe_finds_what_is_planted(offline: Page, tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text('<!DOCTYPE html><html lang="en"><title>x</title><main><button></button></main>', encoding="utf-8")
    offline.open(page.as_uri())
    assert [finding.partition(":")[0] for finding in grave_findings(offline, axe_source(tmp_path))] == ["button-name"]


@pytest.mark.long
def test_the_keyboard_reaches_everything(report: RunFolder, offline: Page) -> None:
    offline.open(report.report_html.as_uri())
    count = offline.run(MARK)
    assert count > 20
    reached = set()
    for _ in range(2 * count):
        offline.press("Tab", TAB)
        reached.add(offline.run("document.activeElement.dataset.stop"))
        if len(reached - {None}) == count:
            break
    missing = sorted(set(map(str, range(count))) - reached)
    names = [
        offline.run(f"document.querySelector('[data-stop=\"{stop}\"]').outerHTML.slice(0, 200)") for stop in missing
    ]
    assert names == []


@pytest.mark.long
def test_it_prints_on_several_pages(report: RunFolder, offline: Page) -> None:
    offline.open(report.report_html.as_uri())
    printed = offline.printed()
    assert printed.startswith(b"%PDF") and printed.count(b"/Type /Page\n") > 1


@pytest.mark.timed
def test_it_is_open_within_two_seconds(report: RunFolder, offline: Page) -> None:
    seconds = min(offline.open(f"{report.report_html.as_uri()}?{time}") for time in range(3))
    print(f"open in {seconds:.2f} s")
    assert seconds < 2
