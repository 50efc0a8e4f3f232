"""The documentation site: each page has its place, each link leads to one, and nothing comes from a network."""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from runners import documentation
from runners.audit.audit import RULES
from runners.cli import lab
from runners.documentation import LINK, image_place, images, navigation, pages, relinked
from runners.experiments.registry import EXPERIMENTS
from runners.tests.chromium import CHROMIUM, axe_source, browser, grave_findings
from runners.tests.report.test_browser import visit
from runners.toolchain.tools import ROOT

PAGES = {page.place: page for page in pages()}


def test_every_rule_command_and_experiment_has_its_page_or_heading() -> None:
    assert {f"rules/{code}.md" for code in RULES} <= PAGES.keys()
    assert all(f"({code}.md)" in PAGES[documentation.RULE_INDEX].text for code in RULES)
    commands = PAGES["reference/commands.md"].text
    assert all(f"\n## lab {name}\n" in commands for name in lab.commands)
    assert all(f"\n## {number} " in PAGES["reference/experiments.md"].text for number in EXPERIMENTS)
    assert "RUN/steps/STEP/load.hlog" in PAGES["reference/files.md"].text


def test_every_link_leads_to_a_page_or_a_picture() -> None:
    there = PAGES.keys() | {image_place(file) for file in images()}
    for place, page in PAGES.items():
        for _, _, target in LINK.findall(page.text):
            if "://" not in target and not target.startswith("#"):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(place), target.partition("#")[0]))
                assert path in there, f"{place} links to {target}"


def test_a_link_to_what_is_no_page_becomes_its_name() -> None:
    known = {"docs/a.md": ("", "x/a.md"), "docs/b.md": ("", "y/b.md")}
    text = "[b](b.md#part), [c](../src/c.py), [d](#here), ![p](p.png)"
    assert relinked(text, "docs/a.md", known) == (
        "[b](../y/b.md#part), c (`src/c.py`), [d](#here), ![p](../pictures/docs-p.png)"
    )


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"[\w./-]+\.md", str(navigation(PAGES.values())))
    assert sorted(place for place in listed if place in PAGES) == sorted(PAGES)


@pytest.fixture(scope="module")
def html() -> Path:
    """The built site; a broken link fails its build."""
    if shutil.which("make") is None:
        pytest.skip("make is not on this machine")
    done = subprocess.run(["make", "docs"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "site" / "html"


@pytest.mark.long
def test_the_site_is_searched_without_a_network(html: Path, tmp_path: Path) -> None:
    for page in html.rglob("*.html"):
        assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?//[^"]+', page.read_text("utf-8")), (
            page
        )
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    shown, asked = visit(html / "index.html", tmp_path, "?q=nagle")
    assert asked == []
    assert "rules/NET001.html" in shown


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave_in_a_page_of_each_section(html: Path, theme: str, tmp_path: Path) -> None:
    axe = axe_source(tmp_path)
    of_sections = {page.section: page.place for page in reversed(PAGES.values())}
    grave = {}
    with browser(tmp_path) as page:
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        for place in (*of_sections.values(), "reference/commands.md", "reference/target.md"):
            page.open((html / place).with_suffix(".html").as_uri())
            grave[place] = grave_findings(page, axe)
    assert not any(grave.values()), {place: findings for place, findings in grave.items() if findings}
