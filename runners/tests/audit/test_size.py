"""How long the readers and rules are, and what a large audit takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from runners.tests.fixtures.outputs import CLOSED, HEALTHY
from runners.toolchain.tools import ROOT

MOST_LINES = 6_500
MOST_MB = 200
OUTPUTS, FILES = 1_000, 50
#: Prints the seconds and the peak memory (MB) of an audit of a folder, in a process of its own.
AUDIT = r"""
import re, sys, time
from pathlib import Path
from runners.audit.audit import audit
from runners.audit.listing import as_text
from runners.readers.outputs import find_in
begin = time.perf_counter()
audited = audit(find_in(Path(sys.argv[1])))
as_text(audited)
peak_kb = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]  # ru_maxrss has the parent's, too
print(len(audited.outputs), time.perf_counter() - begin, int(peak_kb) / 1024)
"""


def test_readers_and_audit_stay_small() -> None:
    files = [path for part in ("readers", "audit") for path in (ROOT / "runners" / part).rglob("*.py")]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MOST_LINES


def test_a_thousand_outputs_take_little_memory(tmp_path: Path) -> None:
    failed = CLOSED.replace("Requests/sec", "  Non-2xx or 3xx responses: {errors}\nRequests/sec")
    for file in range(FILES):
        pairs = (
            HEALTHY.replace("20.10ms", f"20.{file:02}ms").replace("61.3", f"6{number}.3")
            + failed.format(errors=100 * file + number)
            for number in range(OUTPUTS // FILES // 2)
        )
        (tmp_path / f"{file}.md").write_text("\n".join(f"## Run\n\n{text}" for text in pairs), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", AUDIT, str(tmp_path)], capture_output=True, text=True, check=True)
    outputs, seconds, peak_mb = map(float, done.stdout.split())
    print(f"an audit of {outputs:.0f} outputs in {FILES} files: {seconds:.2f} s, {peak_mb:.0f} MB at its peak")
    assert outputs == OUTPUTS
    assert peak_mb < MOST_MB
