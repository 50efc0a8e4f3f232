"""The documentation site: each page has its place, each link leads to one, and nothing comes from a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from runners.audit.audit import RULES
from runners.cli import lab
from runners.documentation import DOCS, RULES_FOLDER, pages, relinked, settings
from runners.experiments.registry import EXPERIMENTS
from runners.tests.chromium import CHROMIUM, axe_source, browser, grave_findings
from runners.tests.report.test_browser import visit
from runners.toolchain.tools import ROOT

PAGES = pages()


def test_every_document_rule_command_and_experiment_has_its_page_or_heading() -> None:
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / DOCS).glob("*.md")} <= PAGES.keys()
    assert {f"{RULES_FOLDER}/{code}.md" for code in RULES} <= PAGES.keys()
    assert all(f"({code}.md)" in PAGES[f"{RULES_FOLDER}/index.md"] for code in RULES)
    assert all(f"\n## lab {name}\n" in PAGES["reference/commands.md"] for name in lab.commands)
    assert all(f"\n## {number} " in PAGES["reference/experiments.md"] for number in EXPERIMENTS)
    assert "RUN/steps/STEP/load.hlog" in PAGES["reference/files.md"]


def test_a_link_to_what_is_no_page_becomes_its_name() -> None:
    text = "[b](b.md#part), [c](../src/c.py), [d](#here), ![p](p.png), [r](../runners/docs/rules)"
    assert relinked(text, "docs/a.md", ["docs/a.md", "docs/b.md"]) == (
        "[b](b.md#part), c (`src/c.py`), [d](#here), ![p](p.png), [r](../runners/docs/rules/index.md)"
    )


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
    assert f"{RULES_FOLDER}/NET001.html" in shown


@pytest.mark.long
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_grave_in_a_page_of_each_section(html: Path, theme: str, tmp_path: Path) -> None:
    axe = axe_source(tmp_path)
    sections = (next(iter(entry.values()))[0] for entry in settings()["nav"] if isinstance(entry, dict))
    grave = {}
    with browser(tmp_path) as page:
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        for place in (*sections, "reference/commands.md", "reference/target.md"):
            page.open((html / place).with_suffix(".html").as_uri())
            grave[place] = grave_findings(page, axe)
    assert not any(grave.values()), {place: findings for place, findings in grave.items() if findings}
