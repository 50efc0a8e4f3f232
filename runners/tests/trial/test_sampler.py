"""A server's stacks are sampled by what is there, and end in one form whoever sampled them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from runners.errors import MeasureError
from runners.readers.stacks import read_collapsed, read_timed_stacks
from runners.storage.run_folder import StepFolder
from runners.storage.schema import ProfileRecord
from runners.storage.stacks import encoded
from runners.toolchain.tools import Jdk
from runners.trial import sampler
from runners.trial.profiler import Profiler, ProfileSpec
from runners.trial.sampler import (
    JvmSampler,
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


class NoGraph(Profiler):
    """Draws nothing: that takes a JVM."""

    def flame_graph_of_stacks(self, collapsed: Path, title: str, html: Path) -> None:
        assert collapsed.exists()


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


def no_graph() -> Profiler:
    return NoGraph(None, Path())  # type: ignore[arg-type]


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
    found = list(perf_samples(PERF.splitlines()))
    assert found == [
        (12_345_678_901, "main;LazyCompile:*handle:r /srv/< /script>app.js:12;do_syscall_64"),
        (12_346_000_000, "main"),
    ]


def test_no_name_of_a_frame_breaks_the_form() -> None:
    assert joined(["a;b", "c\nd 5", "", "</script>"]) == "a:b;cd 5;[unknown];< /script>"


def test_perf_samples_a_process(folder: StepFolder, busy: int) -> None:
    if (perf := shutil.which("perf")) is None:
        pytest.skip("perf is not on this machine")
    samples = recorded(PerfSampler(Path(perf), (busy,), no_graph()), folder, 1.5)
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
    assert recorded(PySpySampler(py_spy, (busy,), no_graph()), folder, 2.0) > 0
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
        assert recorded(PprofSampler(f"{url}/good", no_graph()), folder, 0.1) == 8
        assert asked == ["/good?seconds=1"]
        assert set(read_collapsed(folder.collapsed("cpu"), "cpu")["stack"]) == {"main;serve", "main;serve;write"}
        with pytest.raises(MeasureError, match="pprof"):
            recorded(PprofSampler(f"{url}/bad", no_graph()), folder, 0.1)
    finally:
        server.shutdown()
        server.server_close()


class NoHeatMap(Profiler):
    """Reads a recording of one sample, and has a converter that fails."""

    def read_back(self, recording: Path, events: Sequence[str]) -> ProfileRecord:
        return ProfileRecord(engine="ctimer", version="4.5", samples={"cpu": 1})

    def timed_stacks(self, recording: Path, events: Sequence[str], window_ms: tuple[int, int], out: Path) -> None:
        out.write_text("S 0 main\nE cpu 1 0 1 1\n")

    def flame_graph(self, recording: Path, event: str, title: str, window_ms: tuple[int, int], html: Path) -> None:
        pass


def test_a_profile_without_its_heat_map_is_kept_with_a_note(folder: StepFolder, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    java.chmod(0o755)
    profiler = NoHeatMap(Jdk(tmp_path, "25", "none"), tmp_path)
    record = JvmSampler(profiler, os.getpid()).convert(SPEC, folder, (0, 1))
    assert record.note.startswith("no heat map") and "out of luck" in record.note
    assert not folder.heat_map("cpu").exists()
    assert read_collapsed(folder.collapsed("cpu"), "cpu")["count"].tolist() == [1]


def test_a_tool_that_ends_at_once_is_a_refusal_with_its_words(folder: StepFolder, tmp_path: Path) -> None:
    tool = tmp_path / "perf"
    tool.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(MeasureError, match="no permission"):
        PerfSampler(tool, (os.getpid(),), no_graph()).start(SPEC, folder)


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
        return sampler_of(Processes(*pids), no_graph())  # type: ignore[arg-type]

    assert isinstance(chosen(busy), PySpySampler)
    monkeypatch.setattr(sampler, "_program", lambda _pid: "node")
    assert isinstance(chosen(busy), PerfSampler)
    monkeypatch.setattr(sampler, "_program", lambda _pid: "java")
    assert isinstance(chosen(busy), JvmSampler)
    with pytest.raises(MeasureError, match="several JVMs"):
        chosen(busy, os.getpid())
    with pytest.raises(MeasureError, match="let the lab start it"):
        chosen()
    (folder / "perf").unlink()
    monkeypatch.setattr(sampler, "_program", lambda _pid: "node")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MeasureError, match="linux-perf"):
        chosen(busy)
