"""The tools on this machine: JDKs, Maven, cargo, wrk2, wrk, and the lab's own folders.

A lab installed outside of a checkout has the generator that was installed with it, and none of the servers.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runners import CHECKOUT as CHECKOUT
from runners import PACKAGE as PACKAGE
from runners import ROOT as ROOT
from runners.errors import ToolError

#: The folder of notebooks and data: next to the package in a checkout, inside the package in an installation.
SHARED = PACKAGE.parent if CHECKOUT else PACKAGE
NOTEBOOKS = SHARED / "notebooks"
SERVER_JAVA = ROOT / "server-java"
LOADGEN_CRATE = PACKAGE / "loadgen"
#: cargo's profile for the build of the generator. `make test` uses `quick`, without optimisation across crates.
CARGO_PROFILE = os.environ.get("LAB_CARGO_PROFILE", "release")
#: The environment variable that names a generator to use in place of the one that is built or installed.
TRUEPACE_VARIABLE = "LAB_TRUEPACE"
REQUIRED_JDK = 25
_PROBE_TIMEOUT_S = 20.0


def _truepace() -> Path:
    if named := os.environ.get(TRUEPACE_VARIABLE):
        return Path(named).resolve()
    if CHECKOUT:
        return LOADGEN_CRATE / "target" / CARGO_PROFILE / "truepace"
    installed = Path(sysconfig.get_path("scripts")) / "truepace"
    return installed if installed.exists() else Path(shutil.which("truepace") or installed)


TRUEPACE = _truepace()


def cache() -> Path:
    """Return the folder of built or fetched tools, which all installations of this user share."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "performance-lab"


#: The commit from which `lab build wrk2` makes wrk2, and the path of the binary.
WRK2_COMMIT = "44a94c17d8e6a0bac8559b53da76848e430cb7a7"
WRK2 = (LOADGEN_CRATE / "target" if CHECKOUT else cache()) / f"wrk2-{WRK2_COMMIT[:12]}"


def shown(path: Path) -> str:
    """Return a path as text for a recorded command line: relative to the project if it lies in the project."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


@dataclass(frozen=True, slots=True)
class Jdk:
    """A Java development kit: its folder, and the version and the vendor that its `release` file states."""

    home: Path
    version: str
    vendor: str

    @property
    def major(self) -> int:
        head = re.match(r"(?:1\.)?(\d+)", self.version)
        return int(head.group(1)) if head else 0

    @property
    def java(self) -> Path:
        return self.home / "bin" / "java"

    def tool(self, name: str) -> Path:
        """Return the path of a program of the kit, such as jcmd."""
        return self.home / "bin" / name


def _candidate_homes() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(java).resolve().parent.parent
    for folder, pattern in (
        (Path("/usr/lib/jvm"), "*"),
        (Path("/usr/java"), "*"),
        (Path("/opt"), "*j*dk*"),
        (Path.home() / ".sdkman/candidates/java", "*"),
        (Path.home() / ".jdks", "*"),
    ):
        if folder.is_dir():
            yield from sorted(folder.glob(pattern))


def find_jdks() -> list[Jdk]:
    """Return the JDKs on this machine (JAVA_HOME, PATH, the usual folders, SDKMAN), without duplicates."""
    jdks = []
    for home in dict.fromkeys(home.resolve() for home in _candidate_homes()):
        with contextlib.suppress(OSError):
            text = (home / "release").read_text(encoding="utf-8", errors="replace")
            fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
            if "JAVA_VERSION" in fields and (home / "bin" / "javac").exists():
                jdks.append(Jdk(home, fields["JAVA_VERSION"], fields.get("IMPLEMENTOR", "unknown")))
    return jdks


def require_jdk(jdks: list[Jdk] | None = None) -> Jdk:
    """Return the JDK in JAVA_HOME if it is new enough, else a JDK of the newest feature release.

    `jdks`: those to choose from; None: all on this machine. Raises ToolError if none is of REQUIRED_JDK or newer.
    """
    known = find_jdks() if jdks is None else jdks
    if fit := [jdk for jdk in known if jdk.major >= REQUIRED_JDK]:
        home = os.environ.get("JAVA_HOME")
        return max(fit, key=lambda jdk: (bool(home) and jdk.home == Path(str(home)).resolve(), jdk.major))
    too_old = ", ".join(f"{jdk.version} at {jdk.home}" for jdk in known)
    cause = f"every JDK here is too old ({too_old})" if known else "there is no JDK"
    remedy = f"install a JDK {REQUIRED_JDK} or newer, or set JAVA_HOME to one, then run again"
    raise ToolError(f"JDK {REQUIRED_JDK}", cause, remedy)


def find_jdk(major: int, jdks: list[Jdk] | None = None) -> Jdk | None:
    """Return the newest JDK of feature release `major`, among `jdks` or all on this machine; None if there is none."""
    known = find_jdks() if jdks is None else jdks
    fit = [jdk for jdk in known if jdk.major == major]
    return max(fit, key=lambda jdk: [int(part) for part in re.findall(r"\d+", jdk.version)], default=None)


@dataclass(frozen=True, slots=True)
class Tool:
    """A program on this machine, with the version it prints."""

    path: Path
    version: str


def printed(*command: str | Path) -> str:
    """Return the output and error output of a short command; empty if it can't be run or takes over 20 s."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT_S, check=False)
        return done.stdout + done.stderr
    return ""


def _first_line(*command: str | Path) -> str:
    return next(iter(re.sub(r"\x1b\[[0-9;]*m", "", printed(*command)).strip().splitlines()), "")


def find_tool(name: str) -> Tool | None:
    """Return the program of this name on PATH, with its version; None if it is not there."""
    path = shutil.which(name)
    return None if path is None else Tool(Path(path), _first_line(path, "--version"))


def is_wrk2(usage: str) -> bool:
    """Return whether a usage text (printed without arguments) is wrk2's, not wrk's: both binaries may be called wrk."""
    return bool(re.search(r"-R,\s*--rate", usage))


def find_wrk2() -> Tool | None:
    """Return the wrk2 that the lab built, else one on PATH under the name wrk2 or wrk; None without any."""
    for path in (shutil.which(WRK2), shutil.which("wrk2"), shutil.which("wrk")):
        if path is not None and is_wrk2(printed(path)):
            return Tool(Path(path), _first_line(path, "-v"))
    return None


def find_wrk() -> Tool | None:
    """Return the closed-loop wrk on PATH; None if there is none or it is wrk2."""
    path = shutil.which("wrk")
    return Tool(Path(path), _first_line(path, "-v")) if path and not is_wrk2(printed(path)) else None


def require_tool(name: str, remedy: str) -> Tool:
    """Return a program on PATH. Raises ToolError with `remedy` if it is not there."""
    if (tool := find_tool(name)) is None:
        raise ToolError(name, "it is not on PATH", remedy)
    return tool
