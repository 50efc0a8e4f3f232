"""`lab campaign` with a real server: killed at random moments it leaves no process, and resumes to the same set."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from runners.errors import MeasureError
from runners.execution.campaign import Job
from runners.execution.progress import LineSink
from runners.jobs import LocalRunner
from runners.lab import Lab
from runners.storage.run_folder import RunFolder, runs
from runners.storage.schema import read_record
from runners.tests.e2e.conftest import LAB, lab, lab_here, report_again
from runners.tests.waiting import described, left_in, until, working_in
from runners.toolchain.tools import ROOT

pytestmark = pytest.mark.e2e
#: Moments from the first line of a campaign at which it is killed lie within so many seconds.
KILLED_WITHIN_S = 12.0
SOON_S = 6.0
GONE_WITHIN_S = 2.0
Set = dict[str, dict[str, str]]


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Two loads of the example in Python."""
    shutil.copytree(ROOT / "runners" / "docs" / "examples" / "python", tmp_path / "it")
    path = tmp_path / "it" / "campaign.yaml"
    path.write_text(
        "runs:\n  one:\n    measure: load\n    targets: [target.yaml]\n"
        "    settings: {size: smoke, duration_s: 1, connections: 2, rate_rps: [100, 200]}\n",
        encoding="utf-8",
    )
    return path


def results(root: Path) -> Set:
    """Each result by its name, with what was measured for it: the specification of each trial."""
    specifications: Set = {}
    for run in runs(root):
        assert run.manifest()["status"] == "complete" and not run.unfinished()
        specifications[run.name] = {step.name: read_record(step).specification for step in run.steps()}
    return specifications


def begun(campaign: Path, root: Path, **environment: str) -> subprocess.Popen[str]:
    """A campaign whose first run has begun."""
    process = subprocess.Popen(
        [*LAB, "campaign", str(campaign)], env=dict(os.environ, LAB_RUNS=str(root), **environment),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("["):
            break
    return process


def ended(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = process.stdout.read()
    process.stdout.close()
    process.wait()
    return said


@pytest.mark.parametrize("kills", [1, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timed])])
def test_killed_at_random_moments_it_leaves_no_process_and_resumes_to_the_same_set(
    campaign: Path, tmp_path: Path, kills: int
) -> None:
    chance, root = random.Random(kills), tmp_path / "disturbed"
    for _ in range(kills):
        process = begun(campaign, root)
        time.sleep(chance.uniform(0, KILLED_WITHIN_S if kills > 1 else SOON_S))
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_s = time.monotonic()
        if kills > 1:
            assert until(lambda: not working_in(tmp_path), GONE_WITHIN_S), described(working_in(tmp_path))
            print(f"all is gone {time.monotonic() - killed_s:.2f} s after the kill")
        assert not left_in(tmp_path)
        assert process.stdout is not None
        process.stdout.close()
        if len(runs(root)) == 2 and all(run.manifest()["status"] == "complete" for run in runs(root)):
            shutil.rmtree(runs(root)[0].path)  # so that there is something to be killed at
    done = lab("campaign", str(campaign), runs=root)
    assert done.returncode == 0, done.stdout + done.stderr
    planned = lab_here("campaign", str(campaign), "--dry-run", runs=root).stdout
    addresses = re.findall(r"repeat 1, ([0-9a-f]{16}): there already", planned)
    resumed = results(root)
    assert resumed.keys() == {f"load-{address}" for address in addresses} and len(resumed) == 2
    assert "planned length 0 s" in planned and not left_in(tmp_path)
    if kills > 1:
        assert lab("campaign", str(campaign), runs=tmp_path / "whole").returncode == 0
        assert results(tmp_path / "whole") == resumed
    for run in runs(root):
        outcome = run.manifest()["outcome"]
        assert outcome["trials"] >= 2 and 0 < outcome["loaded_s"] < outcome["took_s"]
    (path, *_) = root.glob("load-*")
    report_again(path)
    assert RunFolder(path).report_html.is_file()


@pytest.mark.long
def test_ctrl_c_ends_it_cleanly(campaign: Path, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    process = begun(campaign, root)
    assert until(lambda: list(root.glob("*/steps/*.partial")))
    process.send_signal(signal.SIGINT)
    assert "what was measured is kept" in ended(process)
    assert process.returncode == 130 and not left_in(tmp_path)
    (run,) = runs(root)
    assert run.manifest()["status"] == "interrupted"


@pytest.mark.long
def test_two_labs_do_not_measure_into_one_folder(campaign: Path, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    process = begun(campaign, root)
    second = lab("campaign", str(campaign), runs=root)
    assert second.returncode == 1 and f"process {process.pid} is measuring into it" in second.stderr, second.stderr
    ended(process)
    assert process.returncode == 0 and len(results(root)) == 2


#: Stands before the system's library and adds to its wall clock the seconds that a file holds.
CLOCK = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile long *ahead_s;
__attribute__((constructor)) static void begin(void) {
  ahead_s = mmap(0, sizeof *ahead_s, PROT_READ, MAP_SHARED, open(getenv("LAB_TEST_CLOCK"), O_RDONLY), 0);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && clock == CLOCK_REALTIME && ahead_s) now->tv_sec += *ahead_s;
  return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
  struct timespec exact;
  int failed = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec, now->tv_usec = exact.tv_nsec / 1000;
  return failed;
}
time_t time(time_t *now) {
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  return now ? *now = exact.tv_sec : exact.tv_sec;
}
"""
HOUR_S = 3600


@pytest.mark.long
@pytest.mark.parametrize("step_s", [-HOUR_S, HOUR_S])
def test_a_clock_that_is_set_during_a_load_changes_no_figure(campaign: Path, tmp_path: Path, step_s: int) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no C compiler is on this machine")
    (tmp_path / "clock.c").write_text(CLOCK, encoding="ascii")
    library, ahead = tmp_path / "clock.so", tmp_path / "ahead"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "clock.c"], check=True)
    ahead.write_bytes(struct.pack("l", 0))
    campaign.write_text(campaign.read_text().replace("duration_s: 1", "duration_s: 6"))
    root = tmp_path / "runs"
    process = begun(campaign, root, LD_PRELOAD=str(library), LAB_TEST_CLOCK=str(ahead))
    assert until(lambda: list(root.glob("*/steps/get-*.partial/load.hlog")))
    time.sleep(2.0)
    with ahead.open("r+b") as file:
        file.write(struct.pack("l", step_s))
    said = ended(process)
    assert process.returncode == 0, said
    assert len(results(root)) == 2 and not left_in(tmp_path)
    for run in runs(root):
        outcome = run.manifest()["outcome"]
        assert 0 < outcome["loaded_s"] < outcome["took_s"] < HOUR_S / 4
        for step in run.steps():
            record = read_record(step)
            assert 0 < record.ended_unix_us - record.started_unix_us < HOUR_S * 1e6 / 4
        report_again(run.path)
    assert "2 there already" in lab("campaign", str(campaign), "--dry-run", runs=root).stdout


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "lab-test", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no disk may be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.long
def test_a_full_disk_and_a_read_only_one_end_it_with_a_remedy_and_it_goes_on(
    campaign: Path, tmp_path: Path, small_disk: Path
) -> None:
    root = small_disk / "runs"
    (small_disk / "filling").write_bytes(b"\1" * (3 * 2**20 - 300_000))
    full = lab("campaign", str(campaign), runs=root)
    assert full.returncode == 1 and "free some room" in full.stderr, full.stdout + full.stderr
    assert "Traceback" not in full.stderr and not left_in(tmp_path)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused = lab("campaign", str(campaign), runs=root)
    assert refused.returncode == 1 and "can't be written to (Read-only file system)" in refused.stderr, refused.stderr
    subprocess.run(["mount", "-o", "remount,rw,size=300m", str(small_disk)], check=True)
    done = lab("campaign", str(campaign), runs=root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(results(root)) == 2


def test_a_disk_that_is_full_in_a_load_stops_a_runner_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise MeasureError("it", "the disk is full", "free some room") from OSError(28, "No space left on device")

    monkeypatch.setattr(Lab, "__init__", full)
    job = Job(name="one", kind="load", parameters={"size": "smoke", "setting": "target=a"}, repeat=1, planned_s=1.0,
              address="0")  # fmt: skip
    monkeypatch.setattr("runners.jobs.prepare", lambda *_, **__: None)
    monkeypatch.setattr("runners.jobs.circumstances", lambda _: {})
    outcome = LocalRunner(LineSink(StringIO()), print).run(job, tmp_path / job.folder)
    assert outcome.stop and "the disk is full" in outcome.cause
    assert RunFolder(tmp_path / job.folder).manifest()["cause"] == outcome.cause
