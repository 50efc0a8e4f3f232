"""A server's stacks are sampled by what is there, and end in one form whoever sampled them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from runners.errors import MeasureError
from runners.readers.stacks import read_collapsed, read_timed_stacks
from runners.storage.run_folder import StepFolder
from runners.storage.stacks import encoded
from runners.trial import sampler
from runners.trial.profiler import Profiler, ProfileSpec
from runners.trial.sampler import (
    PerfSampler,
    PprofSampler,
    PySpySampler,
    Sampler,
    joined,
    perf_samples,
    sampler_of,
)

SPEC = ProfileSpec(("cpu",), 2_000_000, 4_096, 1.0)
BUSY = "print('up', flush=True)\ndef inner():\n while True: sum(range(1000))\ndef outer(): inner()\nouter()"
PERF = """\
node 4242 12345.678901234:
\t    ffff8001 do_syscall_64+0x12
\t    7f2a0010 LazyCompile:*handle;r /srv/</script>app.js:12
\t    7f2a0020 [unknown]
\t    00000001 main

my server 7 12346.000000001:
\t    00000001 main

"""


@pytest.fixture
def folder(tmp_path: Path) -> StepFolder:
    return StepFolder(tmp_path)


@pytest.fixture
def busy() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # before it has begun there are no functions to sample
        yield process.pid
        process.kill()


def recorded(chosen: Sampler, folder: StepFolder, seconds: float) -> int:
    """Record for a while; skips, by the tool's own words, where the kernel refuses."""
    began_ms = time.time_ns() // 1_000_000
    try:
        chosen.start(SPEC, folder)
    except MeasureError as refusal:
        pytest.skip(f"can't sample here: {refusal}")
    time.sleep(seconds)
    chosen.stop(folder)
    return int(chosen.convert(SPEC, folder, (began_ms, time.time_ns() // 1_000_000)).samples["cpu"])


def test_perfs_samples_are_read_with_their_times() -> None:
    samples = list(perf_samples(PERF.splitlines()))
    assert samples == [
        (12_345_678_901, "main;LazyCompile:*handle:r /srv/< /script>app.js:12;do_syscall_64"),
        (12_346_000_000, "main"),
    ]


def test_no_name_of_a_frame_breaks_the_form() -> None:
    assert joined(["a;b", "c\nd 5", "", "</script>"]) == "a:b;cd 5;[unknown];< /script>"


def test_perf_samples_a_process(folder: StepFolder, busy: int) -> None:
    if (perf := shutil.which("perf")) is None:
        pytest.skip("perf is not on this machine")
    samples = recorded(PerfSampler(Path(perf), (busy,)), folder, 1.5)
    if not samples:
        pytest.skip("perf records nothing here")
    stacks = read_collapsed(folder.collapsed("cpu"), "cpu")
    assert stacks["count"].sum() == samples
    timed = read_timed_stacks(folder.timed_stacks, time.time_ns() // 1000 - 60_000_000)
    assert timed["samples"].sum() == samples and timed["t_s"].between(0, 60).all()


def test_py_spy_names_the_functions_of_a_python_process(folder: StepFolder, busy: int) -> None:
    py_spy = Path(sys.executable).with_name("py-spy")
    if not py_spy.exists():
        pytest.skip("py-spy is not on this machine")
    assert recorded(PySpySampler(py_spy, (busy,)), folder, 2.0) > 0
    stacks = read_collapsed(folder.collapsed("cpu"), "cpu")
    assert any("outer" in stack and "inner" in stack for stack in stacks["stack"])


def test_the_profile_that_a_server_gives_is_read(folder: StepFolder) -> None:
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            body = encoded({"main;serve": 3, "main;serve;write": 5}, "cpu") if "good" in self.path else b"<html>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        assert recorded(PprofSampler(f"{url}/good"), folder, 0.1) == 8
        assert asked == ["/good?seconds=1"]
        assert set(read_collapsed(folder.collapsed("cpu"), "cpu")["stack"]) == {"main;serve", "main;serve;write"}
        with pytest.raises(MeasureError, match="pprof"):
            recorded(PprofSampler(f"{url}/bad"), folder, 0.1)
    finally:
        server.shutdown()
        server.server_close()


def test_a_tool_that_ends_at_once_is_a_refusal_with_its_words(folder: StepFolder, tmp_path: Path) -> None:
    tool = tmp_path / "perf"
    tool.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(MeasureError, match="no permission"):
        PerfSampler(tool, (os.getpid(),)).start(SPEC, folder)


class Processes:
    """A server of so many processes, as far as the choice of a sampler asks."""

    subject = "mine"

    def __init__(self, *pids: int) -> None:
        self.pids = pids


def test_the_sampler_follows_from_what_runs(busy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("py-spy", "perf"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))

    def chosen(*pids: int) -> Sampler:
        return sampler_of(Processes(*pids), Profiler(None, Path()))  # type: ignore[arg-type]

    assert isinstance(chosen(busy), PySpySampler)
    monkeypatch.setattr(sampler, "_program", lambda _pid: "node")
    assert isinstance(chosen(busy), PerfSampler)
    monkeypatch.setattr(sampler, "_program", lambda _pid: "java")
    assert isinstance(chosen(busy), Profiler)
    with pytest.raises(MeasureError, match="several JVMs"):
        chosen(busy, os.getpid())
    with pytest.raises(MeasureError, match="let the lab start it"):
        chosen()
    (folder / "perf").unlink()
    monkeypatch.setattr(sampler, "_program", lambda _pid: "node")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MeasureError, match="linux-perf"):
        chosen(busy)
