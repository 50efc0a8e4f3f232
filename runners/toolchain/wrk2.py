"""Build wrk2 from its public repository at one commit, from a clone, a folder or a tarball that is of that commit."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path

from runners.errors import ToolError
from runners.toolchain import tools
from runners.toolchain.build import Say, locked, run_build, source_hash

REPOSITORY = "https://github.com/giltene/wrk2"
#: The `source_hash` of the files of that commit.
SOURCES = "30681dad182b"
_TARBALL = (".tar.gz", ".tgz", ".tar")
_URL = ("http://", "https://", "file://")
_TIMEOUT_S = 30.0
_COMPILER = "install make, a C compiler and the headers of OpenSSL (Debian: apt-get install build-essential libssl-dev)"


def _elsewhere() -> str:
    """Return the remedy for a source that can't be used."""
    return (
        f"with a network run `lab build wrk2`; without one copy a clone of {REPOSITORY}, or the tarball of its commit "
        f"{tools.WRK2_COMMIT}, to this machine and run `lab build wrk2 --source` with its path"
    )


def build_wrk2(say: Say, source: str | None = None, force: bool = False) -> tools.Tool:
    """Return wrk2; it is built if there is none yet.

    `source`: a copy or a clone of the repository, a tarball, or the URL of a clone or a tarball.
    Raises ToolError for a source that can't be had or is of another commit, no compiler, and a build that fails.
    """
    log = tools.WRK2.with_suffix(".log")
    with locked(tools.WRK2.with_suffix(".lock"), say):
        if force or not tools.WRK2.exists():
            for tool in ("make", os.environ.get("CC", "cc")):
                tools.require_tool(tool, _COMPILER)
            with tempfile.TemporaryDirectory(dir=tools.WRK2.parent, prefix="wrk2-") as name:
                tree = _sources(source or REPOSITORY, Path(name) / "tree", log, say)
                say("building wrk2")
                jobs = f"-j{os.cpu_count() or 1}"
                run_build("wrk2", ["make", jobs], tree, dict(os.environ), f"read {log}; {_COMPILER}", log, say)
                binary = tree / "wrk"
                if not tools.is_wrk2(tools.printed(binary)):
                    raise ToolError("wrk2", "what was built does not run, or is not wrk2", f"read {log}")
                binary.replace(tools.WRK2)
    built = tools.find_wrk2()
    assert built is not None, "it is there, and runs"
    return built


def _sources(source: str, tree: Path, log: Path, say: Say) -> Path:
    """Copy the sources of the commit into `tree`; return their folder below it. Raises ToolError."""
    say(f"fetching wrk2 from {source}")
    path = Path(source).expanduser()
    try:
        if source.endswith(_TARBALL):
            _unpack(source if source.startswith(_URL) else path, tree)
        elif path.is_dir() and not ((path / ".git").exists() or (path / "HEAD").is_file()):
            shutil.copytree(path, tree)
        else:
            _clone(str(path.resolve()) if path.exists() else source, tree, log, say)
    except (OSError, EOFError, HTTPException, tarfile.TarError, zlib.error) as error:
        raise ToolError(f"wrk2 from {source}", f"it can't be read ({error})", _elsewhere()) from error
    folder = next((file.parent for file in (*tree.glob("Makefile"), *tree.glob("*/Makefile"))), tree)
    if source_hash(folder) != SOURCES:
        raise ToolError(f"wrk2 from {source}", f"it is not as of commit {tools.WRK2_COMMIT[:12]}", _elsewhere())
    return folder


def _clone(source: str, tree: Path, log: Path, say: Say) -> None:
    """Check the commit out of a repository. Raises ToolError."""
    git = str(tools.require_tool("git", f"install git, or take a tarball: {_elsewhere()}").path)
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    tree.mkdir()
    fetch = ("fetch", "--depth", "1", source, tools.WRK2_COMMIT)
    for command, *words in (("init",), fetch, ("checkout", "FETCH_HEAD")):
        run_build(f"wrk2 from {source}", [git, command, "--quiet", *words], tree, quiet, _elsewhere(), log, say)


def _unpack(source: str | Path, tree: Path) -> None:
    """Unpack a tarball from a path or a URL. Raises OSError or TarError."""
    if isinstance(source, str):
        packed = tree.with_name("packed")
        with urllib.request.urlopen(source, timeout=_TIMEOUT_S) as response, packed.open("wb") as file:  # noqa: S310 - a user's URL
            shutil.copyfileobj(response, file)
        source = packed
    with tarfile.open(source) as packed_files:
        packed_files.extractall(tree, filter="data")
