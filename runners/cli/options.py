"""Argument types and options that several commands share."""

import re
from pathlib import Path
from typing import Any

import click

from runners.cli import echo, write_file

FILE = click.Path(dir_okay=False, path_type=Path)


class _Run(click.Path):
    """An argument's type: a path, or the id of a run as `lab runs` lists it. The command gets the path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            from runners.storage.run_folder import run_path

            path = run_path(value)
            if self.exists and not path.exists():
                self.fail(f"{value!r}: no path and no run of this name is there; `lab runs` lists the runs", param, ctx)
            value = str(path)
        return super().convert(value, param, ctx)


class _Opened(_Run):
    """An argument's type: the folder or id of a run. The command gets the `RunFolder`; a wrong id is an error."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from runners.storage.run_folder import RunFolder

        return RunFolder.open(super().convert(value, param, ctx))


RUN = _Opened(exists=True, file_okay=False, path_type=Path)
FOLDER = _Run(exists=True, file_okay=False, path_type=Path)
FILE_OR_RUN = _Run(exists=True, path_type=Path)

_ADDRESS = re.compile(r"[\w.-]+:\d+(/\S*)?")


class _Target(click.Path):
    """An argument's type: a server's description, or a running server's URL, for which a description is written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not is_url(value):
            if isinstance(value, str) and not Path(value).exists():
                url = f"http://{value}" if _ADDRESS.fullmatch(value) else "http://…"
                cause = f"{value!r}: the file is not there"
                self.fail(f"{cause}; `lab init` writes one, or give {url} of a server that runs already", param, ctx)
            return super().convert(value, param, ctx)
        from runners.design.target import describe_url
        from runners.storage.run_folder import RUNS

        name, text = describe_url(value)
        path = RUNS / "targets" / f"{name}.yaml"
        if not path.exists():  # the user may have edited a description that was written before
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file("--target", path, text)
            echo(f"written: {path}, where headers and other requests can be added", err=True)
        return path


TARGET = _Target(exists=True, dir_okay=False, path_type=Path)


class _Compared(click.Path):
    """An argument's type: the URL of a server, the path of a file, or the folder or id of a run."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (TARGET if is_url(value) else FILE_OR_RUN).convert(value, param, ctx)


COMPARED = _Compared()

JSON = click.option("--json", "as_json", is_flag=True, help="The result as JSON; all else goes to standard error.")
PARAMETERS = click.option(
    "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Another parameter; may be given again."
)
RESUME = click.option("--resume", metavar="RUN", type=FOLDER, help="Resume this run, by its folder or id.")
SIZE = click.option("--size", help="smoke | quick | published | full")
CONNECTIONS = click.option("--connections", type=int)
INCONCLUSIVE = click.option(
    "--inconclusive", type=click.Choice(("fail", "pass")), default="fail", show_default=True,
    help="Whether a limit that can't be decided exits with 4, or with 0.",
)  # fmt: skip


def is_url(value: object) -> bool:
    """Return whether an argument is a URL, not a path."""
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def given_parameters(parameters: tuple[str, ...], named: dict[str, object]) -> dict[str, object]:
    """Return the -p texts (NAME=VALUE) and the given options in one dict. Raises UsageError for a name given twice."""
    given = {name: value for name, value in named.items() if value is not None}
    for text in parameters:
        name, separator, value = text.partition("=")
        if not separator or name in given:
            raise click.UsageError(f"-p {text}: write NAME=VALUE, each name once")
        given[name] = value
    return given


def as_target(path: Path) -> str:
    """Return the parameter `target=PATH`, which stands for the server that the file describes."""
    return f"target={path.resolve()}"
