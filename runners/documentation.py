"""Assemble the documentation site from the project's Markdown files and from reference pages made from the code.

    python -m runners.documentation FOLDER   # FOLDER/mkdocs.yml and FOLDER/pages, for `mkdocs build --strict`

The file runners/docs/mkdocs.yml lists the pages of the site.
"""

import posixpath
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import yaml

from runners.audit.audit import RULES
from runners.cli import lab
from runners.design import description
from runners.design.experiment import describe
from runners.experiments import campaign
from runners.experiments.registry import EXPERIMENTS
from runners.readers.run import COLUMNS, FRAMES
from runners.storage.run_folder import RunFolder, StepFolder
from runners.storage.step_folder import Inside
from runners.toolchain.tools import ROOT

DOCS = "runners/docs"
RULES_FOLDER = f"{DOCS}/rules"
#: Files that pages load: a script that the theme else fetches from the network; help for keyboards and screen readers.
ASSETS = ("iframe-worker.js", "accessibility.js", "accessibility.css")
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s]+)\)")


def navigation(entries: Iterable[Any]) -> Iterator[Any]:
    """Yield the navigation in mkdocs.yml, every glob pattern in it replaced by the sorted paths of the matching files.

    An entry is a path, a glob pattern, or a dict from the name of a section to its list of entries.
    """
    for entry in entries:
        if isinstance(entry, dict):
            yield {name: list(navigation(part)) for name, part in entry.items()}
        else:
            yield from sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(entry)) or [entry]


def paths(entries: Iterable[Any]) -> Iterator[str]:
    """Yield the paths of all pages in `entries`, which are the entries that `navigation` yields."""
    for entry in entries:
        if isinstance(entry, dict):
            yield from (path for part in entry.values() for path in paths(part))
        else:
            yield entry


def settings() -> dict[str, Any]:
    """Return the settings in mkdocs.yml, with the glob patterns of its navigation replaced by paths."""
    read: dict[str, Any] = yaml.safe_load((ROOT / DOCS / "mkdocs.yml").read_text(encoding="utf-8"))
    return {**read, "nav": list(navigation(read["nav"]))}


def pages() -> dict[str, str]:
    """Return the Markdown of all pages by path. Raises FileNotFoundError if a page in the navigation has no file."""
    made = {
        "reference/commands.md": commands(),
        "reference/experiments.md": experiments(),
        "reference/target.md": keys("target", description.FORM.schema("target.yaml")),
        "reference/campaign.md": keys("campaign", campaign.FORM.schema("campaign.yaml")),
        "reference/files.md": files(),
        f"{RULES_FOLDER}/index.md": rules(),
    }
    known = [*paths(settings()["nav"])]
    return {
        path: "\n".join(made[path]) if path in made else relinked((ROOT / path).read_text("utf-8"), path, known)
        for path in known
    }


def relinked(text: str, page: str, known: Iterable[str]) -> str:
    """Return Markdown `text` of the page at path `page`. Links to files with paths not in `known` become plain text."""

    def in_site(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if target.startswith("#") or "://" in target or picture:
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target.partition("#")[0]))
        if path == RULES_FOLDER:
            return f"[{words}]({target.rstrip('/')}/index.md)"
        return link[0] if path in known else f"{words} (`{path}`)"

    return LINK.sub(in_site, text)


def commands() -> Iterator[str]:
    yield "# Commands\n\nEvery command of `lab`, as `lab COMMAND --help` prints it."
    for name, command in sorted(lab.commands.items()):
        context = click.Context(command, info_name=f"lab {name}", terminal_width=100)
        yield f"\n## lab {name}\n\n```text\n{command.get_help(context)}\n```"


def experiments() -> Iterator[str]:
    yield "# Experiments and their parameters\n\n`lab run NN -p NAME=VALUE` and the notebooks' first cells take them."
    for plan in EXPERIMENTS.values():
        yield f"\n## {plan.number} {plan.title}\n\nNotebook `{plan.notebook}`.\n"
        yield f"```text\n{describe(plan.parameters)}\n```"


def keys(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the Markdown of a page on a YAML file's keys, from the `schema` that `lab schema NAME` prints."""
    yield f"# {schema['title']}\n\nIts keys; `lab schema {name}` prints the schema."
    for title, part in schema["$defs"].items():
        yield f"\n## {title}\n\n{part.get('description', '')}\n"
        for key, value in part.get("properties", {}).items():
            needed = ", needed" if key in part.get("required", ()) else ""
            yield f"- `{key}`{needed}: {value.get('description', '')}"


def files() -> Iterator[str]:
    yield "# Files of a run\n\nA run is a folder below `data/runs`. Everything after measuring works from it alone.\n"
    run = RunFolder(Path("RUN"))
    for folder in (run, StepFolder(run.steps_path / "STEP")):
        for name, member in vars(type(folder)).items():
            if isinstance(member, Inside) and (path := getattr(folder, name)).suffix:
                yield f"- `{path}`: {member.content}"
    yield "\n## Frames\n\n`RUN/steps/STEP/frames/NAME.parquet`; `lab runs --sql` asks all of them at once.\n"
    yield from (f"- `{name}`: {FRAMES[name]['meaning']}; {', '.join(columns)}" for name, columns in COLUMNS.items())


def rules() -> Iterator[str]:
    yield "# Audit rules\n\nWhat `lab audit` looks for; `lab audit --explain CODE` prints a page.\n"
    yield from (f"- [{rule.code}]({rule.code}.md) ({rule.severity.value}): {rule.reason}" for rule in RULES.values())


def write(folder: Path) -> None:
    """Write all pages, their pictures and mkdocs.yml into a folder. Earlier contents of the folder are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    copied = {f"assets/{name}": f"{DOCS}/{name}" for name in ASSETS}
    for page, text in pages().items():
        path = folder / "pages" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        pictures = (target for picture, _, target in LINK.findall(text) if picture and "://" not in target)
        copied |= {(file := posixpath.normpath(posixpath.join(posixpath.dirname(page), target))): file
                   for target in pictures}  # fmt: skip
    for place, file in copied.items():
        path = folder / "pages" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, path)
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings(), sort_keys=False, allow_unicode=True), "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
