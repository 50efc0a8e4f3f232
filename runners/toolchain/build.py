"""Build the server and the load generator, only when their sources changed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.errors import ToolError
from runners.process.supervisor import start
from runners.toolchain.tools import (
    CARGO_PROFILE,
    CHECKOUT,
    LOADGEN_CRATE,
    PACKAGE,
    ROOT,
    SERVER_JAVA,
    TRUEPACE,
    TRUEPACE_VARIABLE,
    Jdk,
    require_tool,
)

DIST = SERVER_JAVA / "server" / "target" / "dist"
#: The server of report 2; its main class is JDK17_MAIN and it runs on any JDK from 17 on.
JDK17_DIST = SERVER_JAVA / "server-jdk17" / "target" / "dist"
JDK17_MAIN = "lab.jdk17.Main"
PROFILER_JARS = SERVER_JAVA / "server" / "target" / "profiler"
SERVER_STAMP = SERVER_JAVA / "server" / "target" / "lab.stamp"
#: The profiler where no server of the lab's is built; a test compares its version with server-java/pom.xml.
ASYNC_PROFILER = "4.5"
PROFILER_PARTS = ("async-profiler", "jfr-converter")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
LOADGEN_STAMP = TRUEPACE.with_name("lab.stamp")
#: What of the lab itself can change a measured figure.
MEASURING_ROOMS = ("design", "process", "targets", "generators", "trial", "execution", "readers", "scripts")
MEASURING_FILES = (".py", ".lua", ".java", ".jfc", ".toml")
_TAIL_LINES = 25
_IGNORED = {"target", ".git", ".jqwik-database"}

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ServerBuild:
    """Built servers: their class path folders, the profiler's jars, and a hash of the sources they were made from."""

    dist: Path
    profiler_jars: Path
    source_hash: str
    jdk17_dist: Path = JDK17_DIST


def _files(folder: Path) -> list[Path]:
    """Its files in the order of their names; what was built is not even walked through, there is much of it."""
    found: list[Path] = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED]
        found += [Path(base, name) for name in names if name not in _IGNORED]
    return sorted(path for path in found if path.is_file())


def source_hash(folder: Path) -> str:
    """SHA-256 (12 hex digits) over names and bytes of a folder's sources."""
    digest = hashlib.sha256()
    for path in _files(folder):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def lab_source_hash(package: Path = PACKAGE) -> str:
    """The same over what plans, launches, measures and reads; not over reports, tests and the generator's crate."""
    digest = hashlib.sha256()
    for path in _files(package):
        inside = path.relative_to(package)
        if (len(inside.parts) == 1 or inside.parts[0] in MEASURING_ROOMS) and path.suffix in MEASURING_FILES:
            digest.update(str(inside).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def loadgen_source_hash() -> str | None:
    """The sources that the built generator was made from; None when it was not built by the lab."""
    return LOADGEN_STAMP.read_text() if LOADGEN_STAMP.is_file() else None


def present_loadgen_sources() -> str:
    """The sources that a generator built now is made from, and the profile that it is built by."""
    return source_hash(LOADGEN_CRATE) + ("" if CARGO_PROFILE == "release" else f"-{CARGO_PROFILE}")


def git_state() -> dict[str, object]:
    """The project's commit and whether the tree differs from it; empty outside git, and outside the checkout."""
    git = shutil.which("git")
    if git is None or not CHECKOUT:
        return {}
    try:
        commit = subprocess.run(
            [git, "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        status = subprocess.run(
            [git, "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"commit": commit, "dirty": bool(status.strip())}


def _run(name: str, command: Sequence[str], cwd: Path, env: dict[str, str], remedy: str) -> None:
    """Run a build. Its output goes to a file; the last lines of it are in the error."""
    with tempfile.TemporaryFile() as log:
        child = start(command, stdout=log, stderr=subprocess.STDOUT, env=env, directory=cwd)
        try:
            code = child.wait()
        finally:
            child.stop()
        if code != 0:
            log.seek(0)
            tail = "".join(line.decode(errors="replace") for line in log.readlines()[-_TAIL_LINES:])
            raise ToolError(name, f"the build failed (exit {code}):\n{tail}", remedy)


@contextlib.contextmanager
def _alone(path: Path, say: Say) -> Iterator[None]:
    """Keep other labs from the same build while the body runs; what they built meanwhile is there when it begins.

    The kernel lets go of the file when this process ends, by whatever death.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another lab, which builds the same")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(
    stamp: Path,
    wanted: str,
    products: Sequence[Path],
    tool: tuple[str, str],
    make: Callable[[Path], None],
    say: Say,
    force: bool,
) -> None:
    """Make products by a tool, unless they are there and their stamp is the wanted one. Raises ToolError."""

    def fresh() -> bool:
        made = stamp.is_file() and stamp.read_text() == wanted and all(product.exists() for product in products)
        return made and not force

    if fresh():
        return
    path = require_tool(*tool).path
    with _alone(stamp.with_suffix(".lock"), say):
        if fresh():
            return
        stamp.unlink(missing_ok=True)
        make(path)
        stamp.write_text(wanted)


def build_server(jdk: Jdk, say: Say, force: bool = False) -> ServerBuild:
    """Build server-java with Maven unless it is built from these very sources by this JDK.

    Raises ToolError: no Maven, or the build's last lines.
    """
    if not CHECKOUT:
        raise ToolError(
            "the lab's own servers",
            "this installation has none of their sources",
            "clone the project and run `lab` there, or measure servers of your own by --target",
        )
    sources = source_hash(SERVER_JAVA)

    def package(maven: Path) -> None:
        say("building server-java (Maven; the first time it fetches its libraries)")
        _run(
            "server-java",
            [str(maven), "-B", "-q", "-DskipTests", f"-Dbuild.hash={sources}", "package"],
            SERVER_JAVA,
            {**os.environ, "JAVA_HOME": str(jdk.home)},
            "read the lines above; `lab doctor` shows the tools in use",
        )

    tool = ("mvn", "install Maven 3.8 or newer (Debian: apt-get install maven)")
    _build(SERVER_STAMP, f"{sources} {jdk.version}", (DIST, JDK17_DIST, PROFILER_JARS), tool, package, say, force)
    return ServerBuild(DIST, PROFILER_JARS, sources)


def mark_server_built(jdk: Jdk, sources: str) -> None:
    """Note that the servers were built from these sources by this JDK, whoever ran Maven."""
    SERVER_STAMP.write_text(f"{sources} {jdk.version}")


def fetch_profiler(say: Say) -> Path:
    """The folder with async-profiler's jars: that of the lab's own servers, else one that Maven fills once.

    Raises ToolError: no Maven, or its last lines.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "performance-lab"
    folder = cache / f"async-profiler-{ASYNC_PROFILER}"

    def there(place: Path) -> bool:
        return all((place / f"{part}.jar").exists() for part in PROFILER_PARTS)

    for place in (PROFILER_JARS, folder):
        if there(place):
            return place
    maven = require_tool("mvn", "install Maven 3.8 or newer (Debian: apt-get install maven)")
    with _alone(cache / "async-profiler.lock", say):
        if there(folder):
            return folder
        say("fetching async-profiler (Maven)")
        folder.mkdir(exist_ok=True)
        for part in PROFILER_PARTS:
            artifact = f"-Dartifact=tools.profiler:{part}:{ASYNC_PROFILER}"
            to = f"-DoutputDirectory={folder}"
            command = [str(maven.path), "-B", "-q", _COPY, artifact, to, "-Dmdep.stripVersion"]
            _run("async-profiler", command, folder, dict(os.environ), "read the lines above")
    return folder


def build_truepace(say: Say, force: bool = False) -> Path:
    """Build the load generator with cargo unless it is built from these very sources, or was installed or named.

    Raises ToolError.
    """
    if os.environ.get(TRUEPACE_VARIABLE) or not CHECKOUT:
        if TRUEPACE.exists():
            return TRUEPACE
        remedy = f"install Rust (rustup) and the package again, or name the program by {TRUEPACE_VARIABLE}"
        raise ToolError("truepace", f"{TRUEPACE} is not there", remedy)

    def compile_crate(cargo: Path) -> None:
        say("building the load generator (cargo; the first time it fetches its crates)")
        _run(
            "truepace",
            [str(cargo), "build", "--profile", CARGO_PROFILE, "--locked", "--quiet"],
            LOADGEN_CRATE,
            dict(os.environ),
            "read the lines above; Rust 1.88 or newer is needed",
        )

    tool = ("cargo", "install Rust (rustup), or put wrk2 on PATH and run with -p generator=wrk2")
    _build(LOADGEN_STAMP, present_loadgen_sources(), (TRUEPACE,), tool, compile_crate, say, force)
    return TRUEPACE
