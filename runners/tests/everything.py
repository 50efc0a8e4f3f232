"""`make test`: every test of the project (Java, Rust, Python), ending with their counts."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.toolchain.tools import LOADGEN_CRATE, ROOT, SERVER_JAVA, require_jdk, require_tool
from runners.toolchain.workshop import prepare

#: Surefire's line for a whole module; a class's own line goes on with its time.
SUREFIRE_RESULT = re.compile(
    rb"Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:\x1b\[[\d;]*m)?\s*$", re.MULTILINE
)
#: The full counts take longer a test, and what they find is shown, which tests side by side can't do.
LONG = os.environ.get("LAB_LONG") == "1"
#: Tests that only compute run side by side; those that load a server have the machine for themselves.
COMPUTING = (
    "-m",
    "not e2e",
    "--durations=10",
    *(("--timeout=3600", "-rP") if LONG else ("-n", "auto", "--dist", "worksteal")),
)
MEASURING = ("-m", "e2e", "--durations=25", *(("--timeout=3600", "-rP") if LONG else ()))
CARGO_RESULT = re.compile(rb"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Counts:
    """Tests of one language. `broken`: its runner failed in a way that no count shows."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    broken: bool = False

    def line(self) -> str:
        end = "; ITS RUNNER FAILED" if self.broken else ""
        counts = f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"
        return f"{self.name:7} {counts} in {self.seconds:.0f} s{end}"


def _run(command: Sequence[str], cwd: Path, env: dict[str, str] | None = None) -> tuple[int, bytes, float]:
    """Run it, show its output as it comes, and give exit code, output and seconds."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = bytearray()
    for line in process.stdout:
        output += line
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
    return process.wait(), bytes(output), time.monotonic() - began


def _sums(rows: Sequence[tuple[int, ...]], width: int) -> tuple[int, ...]:
    return tuple(sum(row[column] for row in rows) for column in range(width))


def java() -> Counts:
    """All Maven modules, against the newest JDK here."""
    maven = require_tool("mvn", "install Maven 3.8 or newer")
    env = {**os.environ, "JAVA_HOME": str(require_jdk().home)}
    code, output, seconds = _run([str(maven.path), "-B", "-ntp", "-fae", "verify"], SERVER_JAVA, env)
    # not from the XML files: where two test engines share a class, one overwrites the other's
    found = [tuple(map(int, numbers)) for numbers in SUREFIRE_RESULT.findall(output)]
    tests, failures, errors, skipped = _sums(found, 4)
    failed = failures + errors
    return Counts("Java", tests - failed - skipped, failed, skipped, seconds, (code != 0 and not failed) or not tests)


def rust() -> Counts:
    """The load generator's crate."""
    cargo = require_tool("cargo", "install Rust (rustup)")
    command = [str(cargo.path), "test", "--release", "--locked", "--no-fail-fast"]
    code, output, seconds = _run(command, LOADGEN_CRATE)
    found = [tuple(map(int, numbers)) for numbers in CARGO_RESULT.findall(output)]
    passed, failed, skipped = _sums(found, 3)
    return Counts("Rust", passed, failed, skipped, seconds, (code != 0 and failed == 0) or passed == 0)


def python() -> Counts:
    """The package, its rooms' order, and the lab end to end."""
    parts = [_pytest(COMPUTING), _pytest(MEASURING)]
    passed, failed, skipped = (sum(getattr(part, field) for part in parts) for field in ("passed", "failed", "skipped"))
    seconds, broken = sum(part.seconds for part in parts), any(part.broken for part in parts)
    return Counts("Python", passed, failed, skipped, seconds, broken)


def _pytest(options: Sequence[str]) -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "pytest.xml"
        code, _, seconds = _run([sys.executable, "-m", "pytest", f"--junitxml={report}", *options], ROOT)
        suites = ET.parse(report).getroot().iter("testsuite") if report.exists() else ()
        found = [tuple(int(s.get(field, 0)) for field in ("tests", "failures", "errors", "skipped")) for s in suites]
    tests, failures, errors, skipped = _sums(found, 4)
    failed = failures + errors
    return Counts("pytest", tests - failed - skipped, failed, skipped, seconds, (code != 0 and not failed) or not tests)


def main() -> int:
    """Build, test everything, print the counts; 0 only when nothing failed."""
    # a background job of a shell ignores SIGINT, and so would every program under test that is sent one
    signal.signal(signal.SIGINT, signal.default_int_handler)
    prepare("loadgen", lambda line: print(line, flush=True))
    results = [java(), rust(), python()]
    print()
    for counts in results:
        print(counts.line())
    passed, failed, skipped = (sum(getattr(c, field) for c in results) for field in ("passed", "failed", "skipped"))
    broken = sum(c.broken for c in results)
    print(f"{passed} passed, {failed + broken} failed, {skipped} skipped")
    return 1 if failed or broken else 0


if __name__ == "__main__":
    sys.exit(main())
