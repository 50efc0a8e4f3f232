"""Build the lab's servers and load generators if their sources have changed; gather the tools of a run."""

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runners.errors import ToolError
from runners.process.supervisor import start
from runners.toolchain import tools

DIST = tools.SERVER_JAVA / "server" / "target" / "dist"
#: The server of report 2. Its main class is JDK17_MAIN, and it runs on any JDK from 17 on.
JDK17_DIST = tools.SERVER_JAVA / "server-jdk17" / "target" / "dist"
JDK17_MAIN = "lab.jdk17.Main"
PROFILER_JARS = tools.SERVER_JAVA / "server" / "target" / "profiler"
SERVER_STAMP = tools.SERVER_JAVA / "server" / "target" / "lab.stamp"
#: The version of async-profiler to fetch if no server of the lab is built; a test compares it with server-java/pom.xml.
ASYNC_PROFILER = "4.5"
PROFILER_PARTS = ("async-profiler", "jfr-converter")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
LOADGEN_STAMP = tools.TRUEPACE.with_name("lab.stamp")
#: The lab's packages, and the endings of files in them, that can change a measured figure.
MEASURING_ROOMS = ("design", "process", "targets", "generators", "trial", "execution", "readers", "scripts")
MEASURING_FILES = (".py", ".lua", ".java", ".jfc", ".toml")
_TAIL_LINES = 25
SAID_EVERY_S = 10.0
#: Output lines of Maven and cargo that can't name the cause of a failure.
_NO_CAUSE = re.compile(r"\[INFO\]|Download(ing|ed) from|Progress | *(Compiling|Downloaded|Downloading) ")
_IGNORED = {"target", ".git", ".jqwik-database"}
_MAVEN = ("mvn", "install Maven 3.8 or newer (Debian: apt-get install maven)")
_CARGO = ("cargo", "install Rust (rustup)")
WRK2_REPOSITORY = "https://github.com/giltene/wrk2"
#: The `source_hash` of wrk2's files at tools.WRK2_COMMIT.
WRK2_SOURCES = "30681dad182b"
_CC = "install make, a C compiler and the headers of OpenSSL (Debian: apt-get install build-essential libssl-dev)"

Say = Callable[[str], None]


def source_hash(folder: Path, counts: Callable[[Path], bool] = lambda _inside: True) -> str:
    """Return the SHA-256 (12 hex digits) over a folder's source files whose path in the folder `counts` accepts."""
    paths: list[Path] = []
    for base, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED]
        paths += [Path(base, name) for name in names if name not in _IGNORED]
    digest = hashlib.sha256()
    for path in sorted(filter(Path.is_file, paths)):
        if counts(inside := path.relative_to(folder)):
            digest.update(str(inside).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def lab_source_hash(package: Path = tools.PACKAGE) -> str:
    """Return the `source_hash` of the lab's files that can change a measured figure, so without reports and tests."""
    return source_hash(
        package, lambda at: at.suffix in MEASURING_FILES and (at.parent == Path() or at.parts[0] in MEASURING_ROOMS)
    )


def present_loadgen_sources() -> str:
    """Return the `source_hash` of the generator's crate, with the name of cargo's profile unless that is `release`."""
    return source_hash(tools.LOADGEN_CRATE) + ("" if tools.CARGO_PROFILE == "release" else f"-{tools.CARGO_PROFILE}")


def git_state() -> dict[str, object]:
    """Return {commit, dirty: whether the work tree differs from the commit}; empty without git or a checkout."""
    git = shutil.which("git")
    if git is None or not tools.CHECKOUT:
        return {}
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        asked = ([git, "rev-parse", "HEAD"], [git, "status", "--porcelain"])
        done = (subprocess.run(args, cwd=tools.ROOT, capture_output=True, text=True, check=True) for args in asked)
        commit, status = (command.stdout.strip() for command in done)
        return {"commit": commit, "dirty": bool(status)}
    return {}


def run_build(
    name: str, command: Sequence[str], cwd: Path, env: dict[str, str], remedy: str, log: Path, say: Say,
    stage: Callable[[str], str] = lambda printed: "",
) -> None:  # fmt: skip
    """Run a build with its output in `log`, and report its progress by `say`. Raises ToolError if the build fails.

    `stage` is given the output so far and returns the progress in words. `remedy`: the advice in the error.
    """

    def printed() -> str:
        return log.read_text(encoding="utf-8", errors="replace")

    began = time.monotonic()
    with log.open("wb") as out:
        child = start(command, stdout=out, stderr=subprocess.STDOUT, env=env, directory=cwd)
        try:
            while not child.wait_up_to(SAID_EVERY_S):
                say(f"  {name}: {time.monotonic() - began:.0f} s {stage(printed())}".rstrip())
            code = child.wait()
        finally:
            child.stop()
    if code != 0:
        lines = [line for line in printed().splitlines() if not _NO_CAUSE.match(line)]
        failed = f"{Path(command[0]).name} failed (exit {code}; its whole output is in {log}):"
        raise ToolError(name, "\n".join([failed, *lines[-_TAIL_LINES:], ""]), remedy)


def maven_stage(printed: str) -> str:
    """Return in words how far Maven is, by its output so far: module in progress, and number of fetched files."""
    fetched = printed.count("Downloaded from")
    modules = re.findall(r"Building (.+?) \S+\s+\[(\d+)/(\d+)\]", printed)
    if not modules:
        return f"fetched {fetched} files"
    name, place, count = modules[-1]
    return f"module {place} of {count} ({name}), fetched {fetched} files"


def cargo_stage(lock: Path, printed: str) -> str:
    """Return in words how far cargo is, from its output so far and the number of crates in its lock file."""
    crates = lock.read_text(encoding="utf-8").count("[[package]]") if lock.exists() else 0
    compiled = len(re.findall(r"^ *Compiling ", printed, re.MULTILINE))
    if not compiled:
        return f"fetched {len(re.findall(r'^ *Downloaded ', printed, re.MULTILINE))} of at most {crates} crates"
    return f"compiling crate {compiled} of at most {crates}"


@contextlib.contextmanager
def locked(path: Path, say: Say) -> Iterator[None]:
    """Wait for the lock file `path`, and hold it while the body runs, so that two labs never build one tool at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another lab, which builds the same")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(
    stamp: Path, wanted: str, products: Sequence[Path], tool: tuple[str, str], make: Callable[[Path], None], say: Say,
    force: bool = False,
) -> None:  # fmt: skip
    """Call `make` with the path of `tool` if a product is absent, `stamp` does not hold `wanted`, or `force` is true.

    Then write `wanted` into `stamp`. `tool`: a program's name, and advice for the ToolError if it is not on PATH.
    """

    def fresh() -> bool:
        return not force and stamp.is_file() and stamp.read_text() == wanted and all(path.exists() for path in products)

    if fresh():
        return
    path = tools.require_tool(*tool).path
    with locked(stamp.with_suffix(".lock"), say):
        if fresh():
            return
        stamp.unlink(missing_ok=True)
        make(path)
        stamp.write_text(wanted)


def build_server(jdk: tools.Jdk, say: Say, force: bool = False) -> str:
    """Build server-java if `force` or if `jdk` has not built its sources yet; return their hash. Raises ToolError."""
    if not tools.CHECKOUT:
        remedy = "clone the project and run `lab` there, or measure servers of your own by --target"
        raise ToolError("the lab's own servers", "this installation has none of their sources", remedy)
    sources = source_hash(tools.SERVER_JAVA)

    def package(maven: Path) -> None:
        say("building server-java (Maven; the first time it fetches its libraries)")
        command = [str(maven), "-B", "-DskipTests", f"-Dbuild.hash={sources}", "package"]
        environment, log = {**os.environ, "JAVA_HOME": str(jdk.home)}, SERVER_STAMP.with_suffix(".log")
        remedy = "read the lines above; `lab doctor` shows the tools in use"
        run_build("server-java", command, tools.SERVER_JAVA, environment, remedy, log, say, maven_stage)

    _build(SERVER_STAMP, f"{sources} {jdk.version}", (DIST, JDK17_DIST, PROFILER_JARS), _MAVEN, package, say, force)
    return sources


def fetch_profiler(say: Say) -> Path:
    """Return the folder of async-profiler's jars, from the servers' build or else filled by Maven. Raises ToolError."""
    folder = tools.cache() / f"async-profiler-{ASYNC_PROFILER}"
    own, fetched = ([jars / f"{part}.jar" for part in PROFILER_PARTS] for jars in (PROFILER_JARS, folder))
    for folder_of, jars in ((PROFILER_JARS, own), (folder, fetched)):
        if all(jar.exists() for jar in jars):
            return folder_of

    def fetch(maven: Path) -> None:
        say("fetching async-profiler (Maven)")
        folder.mkdir(exist_ok=True)
        log, environment = tools.cache() / "async-profiler.log", dict(os.environ)
        for part in PROFILER_PARTS:
            artifact = f"-Dartifact=tools.profiler:{part}:{ASYNC_PROFILER}"
            command = [str(maven), "-B", _COPY, artifact, f"-DoutputDirectory={folder}", "-Dmdep.stripVersion"]
            run_build("async-profiler", command, folder, environment, "read the lines above", log, say, maven_stage)

    _build(tools.cache() / "async-profiler.stamp", ASYNC_PROFILER, fetched, _MAVEN, fetch, say)
    return folder


def build_truepace(say: Say, force: bool = False) -> Path:
    """Return truepace's path; in a checkout build it if necessary, unless LAB_TRUEPACE names one. Raises ToolError."""
    if os.environ.get(tools.TRUEPACE_VARIABLE) or not tools.CHECKOUT:
        if tools.TRUEPACE.exists():
            return tools.TRUEPACE
        remedy = f"install Rust (rustup) and the package again, or name the program by {tools.TRUEPACE_VARIABLE}"
        raise ToolError("truepace", f"{tools.TRUEPACE} is not there", remedy)

    def compile_crate(cargo: Path) -> None:
        say("building the load generator (cargo; the first time it fetches its crates)")
        command = [str(cargo), "build", "--profile", tools.CARGO_PROFILE, "--locked", "--features", "tools"]
        crate, remedy = tools.LOADGEN_CRATE, "read the lines above; Rust 1.88 or newer is needed"
        log, stage = LOADGEN_STAMP.with_suffix(".log"), partial(cargo_stage, crate / "Cargo.lock")
        run_build("truepace", command, crate, dict(os.environ), remedy, log, say, stage)

    _build(LOADGEN_STAMP, present_loadgen_sources(), (tools.TRUEPACE,), _CARGO, compile_crate, say, force)
    return tools.TRUEPACE


def build_wrk2(say: Say, source: str | None = None, force: bool = False) -> tools.Tool:
    """Build wrk2 if the lab has not built it yet, or with `force`; return it. Raises ToolError if the build fails.

    `source`: the path of a copy of wrk2's files, or the path or URL of a clone; None: wrk2's public repository.
    """
    log = tools.WRK2.with_suffix(".log")
    with locked(tools.WRK2.with_suffix(".lock"), say):
        if force or not tools.WRK2.exists():
            for tool in ("make", os.environ.get("CC", "cc")):
                tools.require_tool(tool, _CC)
            with tempfile.TemporaryDirectory(dir=tools.WRK2.parent, prefix="wrk2-") as name:
                tree = Path(name) / "tree"
                _fetch_wrk2(source or WRK2_REPOSITORY, tree, log, say)
                say("building wrk2")
                jobs = f"-j{os.cpu_count() or 1}"
                run_build("wrk2", ["make", jobs], tree, dict(os.environ), f"read {log}; {_CC}", log, say)
                binary = tree / "wrk"
                if not tools.is_wrk2(tools.printed(binary)):
                    raise ToolError("wrk2", "what was built does not run, or is not wrk2", f"read {log}")
                binary.replace(tools.WRK2)
    built = tools.find_wrk2()
    assert built is not None, "it is there, and runs"
    return built


def _fetch_wrk2(source: str, tree: Path, log: Path, say: Say) -> None:
    """Copy the files of wrk2's commit from `source` into `tree`. Raises ToolError if `source` does not have them."""
    say(f"fetching wrk2 from {source}")
    path, name = Path(source).expanduser(), f"wrk2 from {source}"
    elsewhere = (
        f"with a network run `lab build wrk2`; without one copy a clone of {WRK2_REPOSITORY}, which has its commit "
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
    if source_hash(tree) != WRK2_SOURCES:
        raise ToolError(name, f"it is not as of commit {tools.WRK2_COMMIT[:12]}", elsewhere)


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of one run; None for a tool that is absent or not needed."""

    java: tools.Jdk | None  # in a run on other servers, only if a JVM may be profiled
    server_sources: str  # the hash of the lab's servers' sources; empty in a run on other servers
    truepace: tools.Tool
    wrk2: tools.Tool | None = None
    wrk: tools.Tool | None = None
    reference: tools.Tool | None = None  # the crate's reference clients, and its do-nothing server
    profiler_jars: Path | None = None  # the folder of async-profiler's jars

    def jdk_of(self, major: int) -> tools.Jdk | None:
        """Return the JDK of feature release `major` (0: the lab's own); None if it is not on this machine."""
        return self.java if self.java and major in (0, self.java.major) else tools.find_jdk(major)

    def versions(self) -> dict[str, str]:
        """Return versions and hashes of sources by name, for the manifest."""
        versions = {"python": platform.python_version(), "lab_sources": lab_source_hash()}
        if self.java is not None:
            versions["java"] = f"{self.java.version} ({self.java.vendor})"
        if self.server_sources:
            versions["server_sources"] = self.server_sources
        rustc = tools.find_tool("rustc")
        for name, tool in (("truepace", self.truepace), ("wrk2", self.wrk2), ("wrk", self.wrk), ("rustc", rustc)):
            if tool is not None:
                versions[name] = tool.version
        if LOADGEN_STAMP.is_file():  # else the lab has not built the generator
            versions["loadgen_sources"] = LOADGEN_STAMP.read_text()
        return versions


def truepace_tool(path: Path) -> tools.Tool:
    """Return the generator at a path with the version that it prints. Raises ToolError if it does not run."""
    tool = tools.find_tool(str(path))
    if tool is None:
        raise ToolError(str(path), "it does not run", "build it again with `lab build --force`")
    return tools.Tool(path, tool.version.split()[-1] if tool.version else "unknown")


def prepare(
    generator: str, say: Say, force: bool = False, own_servers: bool = True, profiled: bool = False
) -> Workshop:
    """Return a run's tools, built if need be. Raises ToolError if a needed JDK or generator is absent or a build fails.

    `own_servers`: the run needs the lab's servers, and so a JDK. A run without them needs a JDK only if the crate's
    server that does nothing is absent. `profiled`: prepare the profiler for a target's JVM too, if there is a JDK.
    """
    jdk = tools.require_jdk() if own_servers else None
    wrk2 = tools.find_wrk2()
    if generator == "wrk2" and wrk2 is None:
        remedy = "run `lab build wrk2`, or put it on PATH, or take generator=truepace"
        raise ToolError("wrk2", "it was not found", remedy)
    truepace = truepace_tool(build_truepace(say, force))
    path = truepace.path.with_name("truepace-reference")
    reference = tools.Tool(path, truepace.version) if path.exists() else None
    if jdk is None and reference is None:
        jdk = tools.require_jdk()
    sources = build_server(jdk, say, force) if jdk is not None else ""
    jars = PROFILER_JARS if sources else None
    if jdk is None and profiled:
        try:
            jdk, jars = tools.require_jdk(), fetch_profiler(say)
        except ToolError as error:
            say(f"no profiler of JVMs: {error}")
    return Workshop(jdk, sources, truepace, wrk2, tools.find_wrk(), reference, jars)
