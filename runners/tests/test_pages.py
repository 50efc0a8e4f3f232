"""The pages for users: each command of the lab in them can be called, each file in them is what the lab reads."""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from runners.cli import lab
from runners.design.target import read_target
from runners.errors import PlanError
from runners.experiments.campaign import read_campaign
from runners.tests.cli.test_commands import RUN
from runners.tests.cli.test_commands import folder as folder  # a fixture
from runners.tests.cli.test_commands import named as named  # what it needs
from runners.toolchain.tools import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / "runners" / "docs").glob("[a-z]*.md")))
#: What stands for a name of the user's own.
NAMED = {"RUN": RUN, "FOLDER": RUN, "FILE": "before.txt", "PATH": "report.md", "speedscope|pprof": "pprof"}
INDENTED = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
INLINE = re.compile(r"`((?:[A-Z_]+=\S+ )*lab [^`]+)`")


def blocks(text: str) -> Iterator[str]:
    """The indented blocks of a page."""
    return (textwrap.dedent(block).strip("\n") for block in INDENTED.findall(text) if block.strip())


def commands(text: str) -> Iterator[list[str]]:
    """The words after `lab` of each command in a page, as a shell gives them; `a|b` gives both."""
    lines = (line for block in blocks(text) for line in block.replace("\\\n", " ").splitlines())
    for line in (*lines, *(span.replace("\\|", "|") for span in INLINE.findall(text))):
        command = re.match(r"(?:[A-Z_]+=\S+ )*(?:\S+/)?lab (?=[a-z]+)", line)
        if command is None:
            continue
        whole = re.sub(r"\[[^]]*\]|-\S+ …", "", line[command.end() :])
        words = [word.rstrip("…") for word in shlex.split(whole, comments=True)]
        for name in words[0].split("|"):
            yield [name, *(NAMED.get(word, word) for word in words[1:] if word)]


CALLS = {path.name: list(commands(path.read_text("utf-8"))) for path in PAGES}


def test_the_pages_have_commands() -> None:
    text = "Call `lab load\\|knee --target a.yaml`, then `lab report RUN`.\n\n"
    block = "    # first\n    K=1 ../bin/lab audit \\\n        report.md   # all\n    other lab x\n\nThe lab runs.\n"
    assert list(commands(text + block)) == [
        ["audit", "report.md"],
        ["load", "--target", "a.yaml"],
        ["knee", "--target", "a.yaml"],
        ["report", RUN],
    ]
    known = ("campaigns.md", "several-machines.md", "any-server.md", "two-versions.md", "tutorial.md", "README.md")
    assert all(len(CALLS[page]) > 2 for page in known)


@pytest.mark.parametrize("page", CALLS)
def test_the_commands_of_a_page_can_be_called(page: str, folder: Path) -> None:
    for name in ("old.yaml", "new.yaml", "shop.yaml"):
        shutil.copy("a.yaml", name)
    for name in ("wrk2.txt", "notes.md"):
        (folder / name).touch()
    for name, *words in CALLS[page]:
        options = {option for parameter in lab.commands[name].params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options, (name, words)
        if words and not re.fullmatch("--?[a-z]+", words[-1]):  # otherwise it names the command, or an option of it
            with CliRunner().isolation(input="\n\n\n"):
                lab.commands[name].make_context(name, [*words])


def files() -> Iterator[tuple[str, str, str]]:
    """The descriptions of targets and campaigns in the pages: page, kind and text."""
    for path in PAGES:
        for block in blocks(path.read_text("utf-8")):
            try:
                description = msgspec.yaml.decode(block)
            except msgspec.MsgspecError:
                continue
            if isinstance(description, dict):
                for kind, key in (("target", "url"), ("campaign", "runs")):
                    if key in description:
                        yield path.name, kind, block


FILES = list(files())


def test_the_pages_have_files() -> None:
    assert {(page, kind) for page, kind, _ in FILES} >= {
        ("any-server.md", "target"), ("bodies.md", "target"), ("campaigns.md", "campaign")
    }  # fmt: skip


@pytest.mark.parametrize(("page", "kind", "text"), FILES, ids=[f"{page}: {kind}" for page, kind, _ in FILES])
def test_a_file_of_a_page_is_what_the_lab_reads(page: str, kind: str, text: str, folder: Path) -> None:
    for name in ("old.yaml", "new.yaml"):
        shutil.copy("a.yaml", name)
    for name in ("requests.lua", "server.py"):
        (folder / name).write_text("", encoding="utf-8")
    path = folder / "own.yaml"
    path.write_text(text, encoding="utf-8")
    if kind == "target":
        assert read_target(path).target.workloads
    else:
        assert list(read_campaign(path).cells())
    path.write_text(text.replace("measure:", "measures:").replace("url:", "urls:"), encoding="utf-8")
    with pytest.raises(PlanError, match=r"own\.yaml"):
        read_target(path) if kind == "target" else read_campaign(path)
