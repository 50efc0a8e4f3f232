"""The build of wrk2 at one commit: from its public repository, a clone, or a copy of that commit's files."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from runners.errors import ToolError
from runners.toolchain import tools
from runners.toolchain.build import Say, locked, run_build, source_hash

REPOSITORY = "https://github.com/giltene/wrk2"
#: The `source_hash` of that commit's files.
SOURCES = "30681dad182b"
_COMPILER = "install make, a C compiler and the headers of OpenSSL (Debian: apt-get install build-essential libssl-dev)"


def build_wrk2(say: Say, source: str | None = None, force: bool = False) -> tools.Tool:
    """Build wrk2 if the lab has not built it yet, or with `force`; return it.

    `source`: a copy of the commit's files, a clone of the repository, or the URL of a clone. Raises ToolError for a
    missing compiler, for a source that can't be fetched or is of another commit, and for a build that fails.
    """
    log = tools.WRK2.with_suffix(".log")
    with locked(tools.WRK2.with_suffix(".lock"), say):
        if force or not tools.WRK2.exists():
            for tool in ("make", os.environ.get("CC", "cc")):
                tools.require_tool(tool, _COMPILER)
            with tempfile.TemporaryDirectory(dir=tools.WRK2.parent, prefix="wrk2-") as name:
                tree = Path(name) / "tree"
                _fetch(source or REPOSITORY, tree, log, say)
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


def _fetch(source: str, tree: Path, log: Path, say: Say) -> None:
    """Copy the files of the commit into `tree`. Raises ToolError."""
    say(f"fetching wrk2 from {source}")
    path, name = Path(source).expanduser(), f"wrk2 from {source}"
    elsewhere = (
        f"with a network run `lab build wrk2`; without one copy a clone of {REPOSITORY}, which has its commit "
        f"{tools.WRK2_COMMIT}, to this machine and run `lab build wrk2 --source` with its path"
    )
    if path.is_dir() and not ((path / ".git").exists() or (path / "HEAD").is_file()):
        shutil.copytree(path, tree)
    else:
        git = str(tools.require_tool("git", "install git, or name a copy of the repository's files by --source").path)
        quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
        repository = str(path.resolve()) if path.exists() else source
        tree.mkdir()
        fetch = ("fetch", "--depth", "1", repository, tools.WRK2_COMMIT)
        for command, *words in (("init",), fetch, ("checkout", "FETCH_HEAD")):
            run_build(name, [git, command, "--quiet", *words], tree, quiet, elsewhere, log, say)
    if source_hash(tree) != SOURCES:
        raise ToolError(name, f"it is not as of commit {tools.WRK2_COMMIT[:12]}", elsewhere)
