"""Assemble the documentation site: the project's Markdown, and reference pages from commands, schemas and records.

    python -m runners.documentation FOLDER   # FOLDER/mkdocs.yml and FOLDER/pages, for `mkdocs build --strict`

A page has one place in PLACES. A link between two pages is turned into one within the site; one to a file that is no
page becomes the file's name, since the site stands without the repository.
"""

from __future__ import annotations

import html
import inspect
import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from runners import __version__
from runners.audit.audit import RULES
from runners.cli import lab
from runners.design import description
from runners.experiments import campaign
from runners.experiments.registry import EXPERIMENTS
from runners.readers.run import COLUMNS
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.step_folder import Inside
from runners.toolchain.tools import ROOT

DOCS = "runners/docs"
#: Where each Markdown file of the repository stands in the site, section by section.
PLACES: dict[str, dict[str, str]] = {
    "": {"README.md": "index.md"},
    "Tutorial": {f"{DOCS}/tutorial.md": "tutorial.md"},
    "How-to": {
        f"{DOCS}/any-server.md": "how-to/any-server.md",
        f"{DOCS}/several-machines.md": "how-to/several-machines.md",
        f"{DOCS}/commands.md": "how-to/commands.md",
        "CONTRIBUTING.md": "how-to/contributing.md",
    },
    "Reference": {
        "runners/loadgen/README.md": "reference/truepace.md",
        "runners/loadgen/docs/scripts.md": "reference/scripts.md",
        "runners/loadgen/docs/json.md": "reference/json.md",
        "runners/loadgen/docs/requests.md": "reference/requests.md",
        "runners/loadgen/docs/stalls.md": "reference/stalls.md",
        f"{DOCS}/tools-read.md": "reference/tools-read.md",
        "CHANGELOG.md": "reference/changelog.md",
    },
    "Explanation": {
        f"{DOCS}/numbers.md": "explanation/numbers.md",
        f"{DOCS}/method.md": "explanation/method.md",
        f"{DOCS}/audited.md": "explanation/audited.md",
    },
    "Glossary": {f"{DOCS}/glossary.md": "glossary.md"},
}
SERVER_DOCS = "server-java/docs"
RULE_INDEX = "rules/index.md"
#: Files below `assets/`: a worker that the theme would load from a network, and help for keys and screen readers.
ASSETS = ("iframe-worker.js", "accessibility.js", "accessibility.css")
IMAGES = (".png", ".svg")
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^# +(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its section, its place below the pages' folder, and its Markdown."""

    section: str
    place: str
    text: str

    @property
    def title(self) -> str:
        heading = HEADING.search(self.text)
        return heading[1].strip() if heading else Path(self.place).stem


def places() -> dict[str, tuple[str, str]]:
    """Return section and place of each page, by its Markdown file in the repository."""
    placed = {file: (section, place) for section, pages in PLACES.items() for file, place in pages.items()}
    for folder in (DOCS, SERVER_DOCS):
        for path in sorted((ROOT / folder).glob("[0-9]*.md")):
            subfolder = "server" if folder == SERVER_DOCS else "decisions"
            placed[f"{folder}/{path.name}"] = ("Explanation", f"explanation/{subfolder}/{path.name}")
    for path in sorted((ROOT / DOCS).glob("*.md")):
        placed.setdefault(f"{DOCS}/{path.name}", ("How-to", f"how-to/{path.name}"))
    for code in RULES:
        placed[f"{DOCS}/rules/{code}.md"] = ("Audit rules", f"rules/{code}.md")
    return placed


def pages() -> Iterator[Page]:
    """Yield every page of the site, those of the repository first. Raises FileNotFoundError for a missing file."""
    known = places()
    for file, (section, place) in known.items():
        yield Page(section, place, relinked((ROOT / file).read_text(encoding="utf-8"), file, known))
    yield Page("Reference", "reference/commands.md", "\n".join(commands()))
    yield Page("Reference", "reference/experiments.md", "\n".join(experiments()))
    for name, form in (("target", description.FORM), ("campaign", campaign.FORM)):
        yield Page("Reference", f"reference/{name}.md", "\n".join(keys(name, form.schema(f"{name}.yaml"))))
    yield Page("Reference", "reference/files.md", "\n".join(files()))
    yield Page("Audit rules", RULE_INDEX, "\n".join(rules()))


def relinked(text: str, file: str, known: dict[str, tuple[str, str]]) -> str:
    """Return a page's text with links between pages of the repository turned into links within the site."""
    here = known[file][1]

    def in_site(link: re.Match[str]) -> str:
        mark, words, target = link.groups()
        if target.startswith("#") or "://" in target:
            return link[0]
        path, _, anchor = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(file), path))
        place = image_place(full) if mark and full.endswith(IMAGES) else ""
        if full == f"{DOCS}/rules":
            place = RULE_INDEX
        elif full in known:
            place = known[full][1]
        if not place:
            return words if mark else f"{words} (`{full}`)"
        relative = posixpath.relpath(place, posixpath.dirname(here) or ".")
        return f"{mark}[{words}]({relative}{'#' + anchor if anchor else ''})"

    return LINK.sub(in_site, text)


def image_place(file: str) -> str:
    """Return the place in the site of a picture of the repository."""
    return f"pictures/{file.replace('/', '-')}"


def images() -> set[str]:
    """Return the pictures that pages show, as files of the repository."""
    shown = set()
    for file in places():
        for mark, _, target in LINK.findall((ROOT / file).read_text(encoding="utf-8")):
            if mark and target.endswith(IMAGES) and "://" not in target:
                shown.add(posixpath.normpath(posixpath.join(posixpath.dirname(file), target)))
    return shown


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(' '.join(cell.split()).replace('|', '&#124;') for cell in line)} |" for line in lines]


def code(text: str) -> str:
    """Return a text as code within a line or a cell, where a bar would begin the next cell."""
    return f"<code>{html.escape(text)}</code>"


def commands() -> Iterator[str]:
    """Yield the reference of `lab`: of each command what it does, its arguments and options, and examples."""
    yield from ("# Commands", "", "Every command of `lab`, as `lab COMMAND --help` prints it.", "")
    for name, command in sorted(lab.commands.items()):
        context = click.Context(command, info_name=f"lab {name}")
        usage = " ".join(command.get_usage(context).split()[1:])
        yield from (f"## lab {name}", "", inspect.cleandoc(command.help or ""), "", code(usage), "")
        rows = []
        for parameter in command.get_params(context):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(context)):
                rows.append([code(record[0]), record[1]])
        yield from table(["option", "meaning"], rows)
        yield ""
        yield from (f"    {line}" for line in getattr(command, "examples", ()))
        yield ""


def experiments() -> Iterator[str]:
    """Yield the experiments with the parameters that `lab run NN -p NAME=VALUE` and the notebooks' first cells take."""
    yield from ("# Experiments and their parameters", "")
    for plan in EXPERIMENTS.values():
        yield from (f"## {plan.number} {plan.title}", "", f"`lab run {plan.number}`, notebook `{plan.notebook}`.", "")
        rows = [
            [
                f"`{parameter.name}`",
                f"`{parameter.default}`" if parameter.default != "" else "",
                parameter.meaning,
                parameter.range_text,
            ]
            for parameter in plan.parameters
        ]
        yield from table(["parameter", "default", "meaning", "values"], rows)
        yield ""


def keys(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of a YAML file, from the schema that `lab schema` prints."""
    yield from (f"# {schema['title']}", "", f"Its keys; `lab schema {name}` prints the schema.", "")
    for name, part in schema["$defs"].items():
        yield from (f"## {name}", "", part.get("description", ""), "")
        needed = part.get("required", ())
        rows = [[f"`{key}`", "yes" if key in needed else "", kind(value), value.get("description", "")]
                for key, value in part.get("properties", {}).items()]  # fmt: skip
        yield from table(["key", "needed", "kind", "meaning"], rows)
        yield ""


def files() -> Iterator[str]:
    """Yield the list of a run folder's files, with their contents."""
    yield from (
        "# Files of a run",
        "",
        "A run is a folder below `data/runs`. Everything after measuring works from it alone.",
        "",
    )
    run = RunFolder(Path("RUN"))
    for folder in (run, StepFolder(run.steps_path / "STEP")):
        rows = []
        for name, member in vars(type(folder)).items():
            if isinstance(member, Inside) and (path := getattr(folder, name)).suffix:
                rows.append([f"`{path}`", member.content])
        yield from (*table(["file", "content"], rows), "")
    yield from ("## Frames", "", "`RUN/steps/STEP/frames/NAME.parquet`; `lab runs --sql` asks all of them at once.", "")
    yield from table(["frame", "columns"], [[f"`{name}`", ", ".join(columns)] for name, columns in COLUMNS.items()])


def kind(value: dict[str, Any]) -> str:
    """Return what a value of a schema may be, in words."""
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(kind(choice) for choice in value["anyOf"] if choice.get("type") != "null"))
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "enum" in value:
        return ", ".join(map(str, value["enum"]))
    if value.get("type") == "array":
        return f"list of {kind(value['items'])}" if value.get("items") else "list"
    if isinstance(value.get("additionalProperties"), dict):
        return f"name: {kind(value['additionalProperties'])}"
    return str(value.get("type", "any"))


def rules() -> Iterator[str]:
    """Yield the list of the audit's rules, each with its page."""
    yield from ("# Audit rules", "", "What `lab audit` looks for; `lab audit --explain CODE` prints a page.", "")
    rows = [[f"[{rule.code}]({rule.code}.md)", rule.severity.value, rule.reason] for rule in RULES.values()]
    yield from table(["rule", "severity", "what is wrong"], rows)


def navigation(written: Iterable[Page]) -> list[Any]:
    """Return the tree of the site: a list a section, in the order of PLACES, with the rules before the glossary."""
    sections: dict[str, list[dict[str, str]]] = {name: [] for name in (*PLACES, "Audit rules")}
    for page in written:
        sections[page.section].append({page.title: page.place})
    sections["Audit rules"].sort(key=lambda entry: next(iter(entry.values())) != RULE_INDEX)
    tree: list[Any] = []
    for name, entries in sections.items():
        tree += entries if not name or len(entries) == 1 else [{name: entries}]
    return tree


def write(folder: Path) -> None:
    """Write pages, pictures and settings into a folder, in place of what an earlier call left there."""
    shutil.rmtree(folder, ignore_errors=True)
    written = list(pages())
    for page in written:
        path = folder / "pages" / page.place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.text, encoding="utf-8")
    (folder / "pages" / "assets").mkdir()
    for name in ASSETS:
        shutil.copy(ROOT / DOCS / name, folder / "pages" / "assets" / name)
    for file in images():
        path = folder / "pages" / image_place(file)
        path.parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, path)
    settings = yaml.safe_load((ROOT / DOCS / "mkdocs.yml").read_text(encoding="utf-8"))
    settings["site_description"] = f"Load-test reports that can be run again, version {__version__}"
    settings["nav"] = navigation(written)
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    (folder / "mkdocs.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
