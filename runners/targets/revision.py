"""Which version of a target this is: a hash of its content, and git's own work tree of an earlier revision."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from runners.design.target import TargetFile, read_target
from runners.errors import LabError, PlanError
from runners.toolchain.tools import require_tool

_TIMEOUT_S = 300.0
_SHORT = 9
_DESCRIPTIONS = (".yaml", ".yml", ".md")  # they change what is asked of a server, or said of it


def content_hash(file: TargetFile) -> str:
    """Identify a target by SHA-256: its description, and the bytes of what is run and sent.

    These are the scripts, and the files that its command names; of a server that is built, what git keeps in its
    directory, as the command then names what the build makes. What a server loads besides is not seen.
    """
    target, digest = file.target, hashlib.sha256()
    digest.update(msgspec.json.encode(target))
    named = [file.path.parent / each.script for each in target.workloads.values() if each.script]
    if target.build:
        named += _tracked(file.directory)
    else:
        named += [file.directory / word for word in target.command or ()]
    for path in named:
        with contextlib.suppress(OSError, ValueError):  # an argument that is no file
            if path.is_file():
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _tracked(directory: Path) -> list[Path]:
    """The files of a directory that git keeps, in order; none outside of a repository."""
    try:
        listed = _git(str(directory), "-C", str(directory), "ls-files", "-z")
    except LabError:
        return []
    return [directory / name for name in listed.split("\0") if name and Path(name).suffix not in _DESCRIPTIONS]


@contextlib.contextmanager
def at_revision(file: TargetFile, revision: str, folder: Path) -> Iterator[TargetFile]:
    """Check out `revision` of the target's repository below `folder` while the body runs; gives the target there.

    Its description is the present one, so that both are sent the same and started alike; only what the repository
    holds is that of the revision. Raises PlanError where there is no such revision, or the server lies outside.
    """
    where = f"--baseline {revision}"
    inside = ["-C", str(file.path.parent)]
    top = Path(_git(where, *inside, "rev-parse", "--show-toplevel")).resolve()
    found = _git(where, *inside, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not file.directory.is_relative_to(top) or Path(file.target.directory).is_absolute():
        cause = f"the server's directory is not given from within the repository {top}"
        raise PlanError(f"{file.path}, key directory", cause, "write it relative to the file")
    tree = folder.resolve() / f"{file.name[:28]}-{found[:_SHORT]}"
    _remove(where, top, tree)
    tree.parent.mkdir(parents=True, exist_ok=True)
    _git(where, "-C", str(top), "worktree", "add", "--quiet", "--detach", str(tree), found)
    try:
        own = tree / file.path.parent.relative_to(top)
        if not (tree / file.directory.relative_to(top)).is_dir():
            raise PlanError(where, f"it has no folder {file.directory.relative_to(top)}", "name a later revision")
        own.mkdir(parents=True, exist_ok=True)
        path = own / file.path.name
        path.write_bytes(msgspec.yaml.encode(_described(file, tree.name)))
        yield read_target(path)
    finally:
        _remove(where, top, tree)


def _described(file: TargetFile, name: str) -> dict[str, Any]:
    """The present description under another name; its scripts stay where they are."""
    described: dict[str, Any] = msgspec.to_builtins(file.target)
    described = {key: value for key, value in described.items() if value not in (None, [], {}, ())}
    described["name"] = name
    for workload in described["workloads"].values():
        if workload.get("script"):
            workload["script"] = str((file.path.parent / workload["script"]).resolve())
    return described


def _remove(where: str, top: Path, tree: Path) -> None:
    if tree.exists():
        with contextlib.suppress(PlanError):
            _git(where, "-C", str(top), "worktree", "remove", "--force", str(tree))
        shutil.rmtree(tree, ignore_errors=True)
    _git(where, "-C", str(top), "worktree", "prune")


def _git(where: str, *words: str) -> str:
    git = require_tool("git", "install git, or name a second target")
    done = subprocess.run([git.path, *words], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        cause = done.stderr.strip().splitlines()[-1:] or ["there is no such revision"]
        raise PlanError(where, cause[0], "name a revision of the repository that holds the target")
    return done.stdout.strip()
