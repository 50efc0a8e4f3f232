"""`make test`: every test of the project (Java, Rust, Python), ending with their counts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.launch.toolchain import LOADGEN_CRATE, ROOT, SERVER_JAVA, require_jdk, require_tool
from runners.launch.workshop import prepare

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


def _from_junit(name: str, files: list[Path], code: int, seconds: float) -> Counts:
    tests = failed = skipped = 0
    for file in files:
        root = ET.parse(file).getroot()
        for suite in root.iter("testsuite"):
            tests += int(suite.get("tests", 0))
            failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            skipped += int(suite.get("skipped", 0))
    broken = (code != 0 and failed == 0) or tests == 0
    return Counts(name, tests - failed - skipped, failed, skipped, seconds, broken)


def java() -> Counts:
    """All Maven modules, against the newest JDK here."""
    for stale in SERVER_JAVA.rglob("target/surefire-reports/*.xml"):
        stale.unlink()
    maven = require_tool("mvn", "install Maven 3.8 or newer")
    env = {**os.environ, "JAVA_HOME": str(require_jdk().home)}
    code, _, seconds = _run([str(maven.path), "-B", "-ntp", "-fae", "verify"], SERVER_JAVA, env)
    return _from_junit("Java", list(SERVER_JAVA.rglob("target/surefire-reports/TEST-*.xml")), code, seconds)


def rust() -> Counts:
    """The load generator's crate."""
    cargo = require_tool("cargo", "install Rust (rustup)")
    command = [str(cargo.path), "test", "--release", "--locked", "--no-fail-fast"]
    code, output, seconds = _run(command, LOADGEN_CRATE)
    found = [tuple(map(int, numbers)) for numbers in CARGO_RESULT.findall(output)]
    passed, failed, skipped = (sum(column) for column in zip(*found, strict=True)) if found else (0, 0, 0)
    return Counts("Rust", passed, failed, skipped, seconds, (code != 0 and failed == 0) or passed == 0)


def python() -> Counts:
    """The package, its rooms' order, and the lab end to end."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "pytest.xml"
        code, _, seconds = _run([sys.executable, "-m", "pytest", f"--junitxml={report}"], ROOT)
        return _from_junit("Python", [report] if report.exists() else [], code, seconds)


def main() -> int:
    """Build, test everything, print the counts; 0 only when nothing failed."""
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
