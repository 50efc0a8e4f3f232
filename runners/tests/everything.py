"""`make test`: every test of the project in short form, `make test-long` in full; ends with the counts of both.

In short, the languages run side by side, since none of those tests asserts a time; those that start servers begin when
servers and generator are built and tested, but for Java's last module, with what only computes, which then gets the
time that they leave. The output of a part that failed is shown. In full, one part follows the other, and all they print
is shown. Each part has its processor time and its time: their sum over the number of cores bounds what the whole takes.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from runners.process.cpu_placement import usable_cpus
from runners.tests.tiers import LONG, ONLY_LONG
from runners.toolchain.build import SERVER_STAMP, build_server, build_truepace, source_hash
from runners.toolchain.tools import CARGO_PROFILE, LOADGEN_CRATE, ROOT, SERVER_JAVA, require_jdk, require_tool

#: Surefire's line for a class; that for a module leaves out what is skipped of a class with parameters.
SUREFIRE_CLASS = re.compile(
    r"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Time elapsed: ([\d.]+) s .*-- in (\S+)"
)
#: The reports in which a skipped test says why.
SUREFIRE_REPORTS = "**/target/surefire-reports/TEST-*.xml"
SUREFIRE_FAILED = re.compile(r"^\[ERROR\] (?!Tests run)(.+?) -- Time elapsed: .* <<< (?:FAILURE|ERROR)!")
#: Maven's head of the module that is tested last, and that nothing of the servers is built from.
LAST_MODULE = re.compile(r"<.*\blab:stress\b.*>")
CARGO_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
CARGO_FAILED = re.compile(r"^test (.+) \.\.\. FAILED$")
#: Of the JVMs of Maven and the tests, most of which end before the second compiler, the checks of the byte code that
#: javac has made, or a second thread of the collector have paid off.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
QUICK_JVM = f"{QUICK_START} -XX:+UseSerialGC"
#: Where the tests of Java keep their thousands of files, each created, forced and deleted; and the room that they need.
IN_MEMORY, IN_MEMORY_BYTES = Path("/dev/shm"), 2 << 30
#: The longest that the tests of one Maven module may take in full.
LONG_MODULE_S = 6 * 3600
#: Of LuaJIT's C, whose interpreter is an assembler's; cargo knows no profile of its build.
QUICK_LUAJIT = "-O0"
#: What computes leaves the processor to who waits for a response within seconds.
NICE = 10
#: A line on how far the parts are is printed this often, and so much of what each said last.
PROGRESS_S, PROGRESS_WIDTH = 30.0, 60
#: A part that takes longer is ended, and the stacks of its JVMs are in its output.
LIMIT_S = 2_400.0
#: Lines of a failed part that are shown.
SHOWN_LINES = 400
SLOWEST = 15


@dataclass
class Part:
    """Tests of one language or kind: what they said, and what became of them."""

    name: str
    #: Parts that have to be ready before it begins.
    after: tuple[str, ...] = ()
    passed: int = 0
    skipped: int = 0
    #: Skipped here because only `make test-long` runs them.
    only_long: int = 0
    failed: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    took_s: float = 0.0
    #: Of all its processes that were waited for.
    cpu_s: float = 0.0
    lines: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None
    #: Set when parts that wait for it may begin: at its end, or before.
    ready: threading.Event = field(default_factory=threading.Event)
    #: Gets its lines while they come.
    heard: Callable[[str], None] = lambda _line: None

    def run(self, command: Sequence[str], cwd: Path = ROOT, env: dict[str, str] | None = None) -> int:
        """Run a command to its end; its exit code."""
        began = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as process:
            self.process = process
            assert process.stdout is not None
            for line in process.stdout:
                self.say(line.rstrip("\n"))
            # Popen gives no use of resources, and RUSAGE_CHILDREN has that of all parts together
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.took_s += time.monotonic() - began
        self.cpu_s += used.ru_utime + used.ru_stime
        return process.returncode

    def end(self) -> None:
        """Kill the command that runs with all its children; JVMs print the stacks of their threads before."""
        if self.process is None or self.process.returncode is not None:
            return
        self.failed.append(f"not over after {LIMIT_S:.0f} s")
        family = [psutil.Process(self.process.pid), *psutil.Process(self.process.pid).children(recursive=True)]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                if member.name() == "java":
                    stacks = subprocess.run(
                        [require_jdk().home / "bin" / "jstack", str(member.pid)], capture_output=True, text=True
                    )
                    self.lines += stacks.stdout.splitlines()
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()

    def say(self, line: str) -> None:
        self.lines.append(line)
        self.heard(line)
        if LONG:
            print(line, flush=True)

    def matches(self, pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
        """The groups of each line that matches."""
        return [match.groups() for line in self.lines if (match := pattern.search(line))]

    def judge(self, code: int, failed: int) -> None:
        """Count a runner that failed in any other way than by a test as a failure, and so a part without tests."""
        if failed > len(self.failed):
            self.failed.append(f"{failed - len(self.failed)} more, see above")
        if code != 0 and not self.failed:
            self.failed.append(f"its runner ended with exit code {code}")
        if not self.failed and not self.passed:
            self.failed.append("no test ran")

    def line(self) -> str:
        later = f", {self.only_long} only in make test-long" if self.only_long else ""
        counts = f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped{later}"
        return f"{self.name:17} {counts} ({self.took_s:.0f} s, {self.cpu_s:.0f} s of processor time)"


def in_memory() -> Path | None:
    """Find a file system in memory with room for tests, which can load a library from it; None where there is none."""
    if not os.access(IN_MEMORY, os.W_OK | os.X_OK):
        return None
    of = os.statvfs(IN_MEMORY)
    fits = of.f_bavail * of.f_frsize >= IN_MEMORY_BYTES and not of.f_flag & os.ST_NOEXEC
    return IN_MEMORY if fits else None


def java(part: Part) -> None:
    """Build the servers and test all Maven modules, against the newest JDK here."""
    maven, jdk = require_tool("mvn", "install Maven 3.8 or newer"), require_jdk()
    sources, began_s = source_hash(SERVER_JAVA), time.time()

    def built() -> None:
        SERVER_STAMP.write_text(f"{sources} {jdk.version}")  # as if the lab had run Maven

    def heard(line: str) -> None:
        if not LONG and LAST_MODULE.search(line):  # Maven leaves it out where the servers failed
            built()
            part.ready.set()

    part.heard = heard
    flags = [f"-Dbuild.hash={sources}"]
    env = {**os.environ, "JAVA_HOME": str(jdk.home)}
    with tempfile.TemporaryDirectory(dir=in_memory(), ignore_cleanup_errors=True) as folder:
        if LONG:
            flags += ["-Dtest.limit=2 h", f"-Dtest.module.limit.s={LONG_MODULE_S}"]
        else:
            flags.append(f"-Dtest.jvm={QUICK_JVM} -Djava.io.tmpdir={folder}")
            env["MAVEN_OPTS"] = f"{QUICK_JVM} {env.get('MAVEN_OPTS', '')}".strip()
        code = part.run([str(maven.path), "-B", "-ntp", "-fae", *flags, "verify"], SERVER_JAVA, env)
    # not from the XML files: where two test engines share a class, one overwrites the other's
    classes = part.matches(SUREFIRE_CLASS)
    tests, failures, errors, skipped = (sum(int(counts[at]) for counts in classes) for at in range(4))
    part.passed = tests - failures - errors - skipped
    reports = (path for path in SERVER_JAVA.glob(SUREFIRE_REPORTS) if path.stat().st_mtime >= began_s)
    part.only_long = sum(path.read_text(encoding="utf-8").count(f"failed: {ONLY_LONG}") for path in reports)
    part.skipped = skipped - part.only_long
    part.failed += [name for (name,) in part.matches(SUREFIRE_FAILED)]
    part.slowest = [(float(seconds), name) for *_, seconds, name in classes]
    part.judge(code, failures + errors)
    if part.failed:
        build_server(jdk, part.say)
    else:
        built()


def rust(part: Part) -> None:
    """Test the load generator's crate; in full, then its tests that assert times, one by one."""
    cargo = require_tool("cargo", "install Rust (rustup)")
    command = [str(cargo.path), "test", "--profile", CARGO_PROFILE, "--locked", "--no-fail-fast", "--"]
    env = dict(os.environ) if LONG else {"CCOPT": QUICK_LUAJIT, **os.environ}
    # most of these tests wait
    code = part.run([*command, "--test-threads=4"], LOADGEN_CRATE, env)
    part.only_long = sum(int(ignored) for *_, ignored in part.matches(CARGO_RESULT))
    if LONG:
        code = part.run([*command, "--ignored", "--test-threads=1"], LOADGEN_CRATE) or code
        part.only_long = 0
    part.passed = sum(int(passed) for passed, *_ in part.matches(CARGO_RESULT))
    part.failed += [name for (name,) in part.matches(CARGO_FAILED)]
    part.judge(code, sum(int(failed) for _, failed, _ in part.matches(CARGO_RESULT)))
    if not part.failed:
        build_truepace(part.say)


def python(part: Part) -> None:
    """Test what computes: the package and the order of its rooms."""
    nice = shutil.which("nice")
    cores = len(usable_cpus()) or os.cpu_count() or 1
    # one more would keep the cores busy while a test waits, but takes 5 s to import and collect all tests
    parallel = ("-n", str(cores), "--dist", "worksteal")
    # takes each process a second to import, and is for tests with servers
    options = ["-m", "not e2e", "-p", "no:schemathesis"]
    if LONG:
        _pytest(part, options)
        return
    before = [nice, "-n", str(NICE)] if nice else []
    if next((ROOT / "runners" / "tests").glob("*/__pycache__/*-pytest-*"), None) is None:
        # in a fresh clone, where each of these processes would compile all that they import
        part.run([*before, sys.executable, "-m", "pytest", "--collect-only", "--quiet", *options])
    _pytest(part, [*options, *parallel], before)


def end_to_end(part: Part) -> None:
    """Test the lab with real servers under load; several at a time where none asserts a time, for they mostly wait."""
    # the lab starts its servers as users want them measured; these end before most of that pays off
    env = dict(os.environ) if LONG else {"JAVA_TOOL_OPTIONS": QUICK_START, **os.environ}
    _pytest(part, ["-m", "e2e", *(() if LONG else ("-n", "3", "--dist", "loadfile"))], env=env)


def _pytest(part: Part, options: Sequence[str], before: Sequence[str] = (), env: dict[str, str] | None = None) -> None:
    more = ("--timeout=3600", "-rP") if LONG else ()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "pytest.xml"
        code = part.run([*before, sys.executable, "-m", "pytest", f"--junitxml={report}", *options, *more], env=env)
        cases = list(ET.parse(report).getroot().iter("testcase")) if report.exists() else []
    for case in cases:
        name = f"{case.get('classname')}.{case.get('name')}"
        part.slowest.append((float(case.get("time", 0)), name))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            part.failed.append(name)
        elif skipped is None:
            part.passed += 1
        elif str(skipped.get("message")).startswith(ONLY_LONG):
            part.only_long += 1
        else:
            part.skipped += 1
    part.judge(code, 0)


Tests = Callable[[Part], None]


def attempt(tests: Tests, part: Part, ready: Mapping[str, threading.Event]) -> Part:
    """Run a part; whatever goes wrong with it is its failure, and the others go on."""
    for name in part.after:
        ready[name].wait()
    try:
        tests(part)
    except Exception as error:
        part.say(repr(error))
        part.failed.append(str(error))
    part.ready.set()
    return part


def side_by_side(made: Sequence[tuple[Part, Tests]], began: float) -> list[Part]:
    """Run parts at the same time, but for those that wait for others; say every now and then how far each is."""
    ready = {part.name: part.ready for part, _ in made}
    with ThreadPoolExecutor(len(made)) as pool:
        running = {pool.submit(attempt, tests, part, ready) for part, tests in made}
        while running:
            done: set[Future[Part]]
            done, running = wait(running, PROGRESS_S, "FIRST_COMPLETED")
            for future in done:
                show(future.result())
            if not LONG and time.monotonic() - began > LIMIT_S:
                for part, _ in made:
                    part.end()
            for part, _ in made:
                if running and not done and part.lines:
                    said = f"{part.name}: {part.lines[-1].strip()[-PROGRESS_WIDTH:]}"
                    print(f"[{time.monotonic() - began:4.0f} s] {said}", flush=True)
    return [part for part, _ in made]


def show(part: Part) -> None:
    """Print a part's counts, after its output if it failed."""
    if part.failed and not LONG:
        print("\n".join(part.lines[-SHOWN_LINES:]))
    print(part.line(), flush=True)


def main() -> int:
    """Test everything and print the counts; 0 only when nothing failed."""
    # a background job of a shell ignores SIGINT, and so would every program under test that is sent one
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    built = () if LONG else ("Java", "Rust")
    all_of: list[tuple[Part, Tests]] = [
        (Part("Java"), java),
        (Part("Rust"), rust),
        (Part("Python"), python),
        (Part("Python end to end", built), end_to_end),
    ]
    parts: list[Part] = []
    for group in [[suite] for suite in all_of] if LONG else [all_of]:
        parts += side_by_side(group, began)

    print("\nslowest")
    for seconds, name in sorted((test for part in parts for test in part.slowest), reverse=True)[:SLOWEST]:
        print(f"{seconds:7.1f} s  {name}")
    print()
    for part in parts:
        print(part.line())
    for part in parts:
        for name in part.failed:
            print(f"FAILED {part.name}: {name}")
    passed, skipped, only_long = (sum(getattr(part, of) for part in parts) for of in ("passed", "skipped", "only_long"))
    failed = sum(len(part.failed) for part in parts)
    print(
        f"{passed} passed, {failed} failed, {skipped} skipped, {only_long} only in make test-long"
        f" ({time.monotonic() - began:.0f} s, {sum(part.cpu_s for part in parts):.0f} s of processor time)"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
