"""Generator, flight recorder and this process stand on one wall clock: what happens at a moment is seen at it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runners.analysis.latency_spikes import find
from runners.readers.activity import read_activity, read_events
from runners.readers.hdr_log import read_hdr_log
from runners.toolchain.build import build_truepace
from runners.toolchain.tools import find_jdks
from runners.trial.activity import Activity, available
from runners.trial.profiler import Recorder

pytestmark = pytest.mark.e2e
PROGRAM = """
import jdk.jfr.*;
public class Clock {
    @Name("lab.Flush") static class Flush extends Event { @Label("b") long bytes; }
    public static void main(String[] given) throws Exception {
        System.out.println("up " + ProcessHandle.current().pid());
        System.in.read();
        for (int at = 0; at < 5; at++) {
            Flush flush = new Flush();
            long before = System.currentTimeMillis();
            flush.begin();
            Thread.sleep(60);
            flush.bytes = at;
            flush.commit();
            System.out.println(before + " " + System.currentTimeMillis());
        }
        System.out.println("done");
        System.in.read();
    }
}
"""
#: Clocks of one machine may differ by their resolution; a slice is ten times as long.
TOLERANCE_S = 0.01


@pytest.mark.timed
def test_the_flight_recorder_stamps_with_the_wall_clock(tmp_path: Path) -> None:
    jdks = [jdk for jdk in find_jdks() if jdk.major >= 25]
    if not jdks:
        pytest.skip("needs a JDK 25")
    source = tmp_path / "Clock.java"
    source.write_text(PROGRAM)
    recorder = Recorder(jdks[0])
    with subprocess.Popen([jdks[0].java, source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            pid = int(child.stdout.readline().split()[1])
            recorder.start(pid)
            child.stdin.write("\n")
            child.stdin.flush()
            reported = [[int(value) / 1000 for value in child.stdout.readline().split()] for _ in range(5)]
            recorder.stop(pid, tmp_path / "causes.jfr")
        finally:
            child.kill()
    recorder.convert(tmp_path / "causes.jfr", tmp_path / "events.json")
    origin_s = reported[0][0] - 1
    events = read_events(tmp_path / "events.json", int(origin_s * 1e6))
    flushes = events[events["kind"] == "flush"].reset_index(drop=True)
    assert flushes["bytes"].tolist() == [0, 1, 2, 3, 4]
    for (before, after), (_, row) in zip(reported, flushes.iterrows(), strict=True):
        begin_s = origin_s + row["t_s"]
        assert before - TOLERANCE_S <= begin_s
        assert begin_s + row["duration_ms"] / 1000 <= after + TOLERANCE_S


@pytest.mark.timed
def test_the_generator_sees_a_stall_when_it_happens(tmp_path: Path) -> None:
    stalled: list[tuple[float, float]] = []
    gate = threading.Lock()

    class Answer(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            with gate:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def stall() -> None:
            time.sleep(2.0)
            with gate:
                begin = time.time()
                time.sleep(0.4)
                stalled.append((begin, time.time()))

        threading.Thread(target=stall, daemon=True).start()
        command = [str(build_truepace(print)), "-t1", "-c1", "-R", "600", "-d6s"]
        command += ["--hlog", str(tmp_path / "load.hlog"), "--json", str(tmp_path / "load.json")]
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        subprocess.run([*command, url], check=True, capture_output=True)
        server.shutdown()
    start_s = json.loads((tmp_path / "load.json").read_text())["start_unix_us"] / 1e6
    tail = find(read_hdr_log(tmp_path / "load.hlog").slices_frame())
    assert tail is not None
    worst = max(tail.spikes, key=lambda spike: spike.peak_us)
    begin, end = (moment - start_s for moment in stalled[0])
    assert worst.begin_s <= begin + tail.slice_s
    assert worst.begin_s >= begin - 2 * tail.slice_s - 0.07 * 0.4
    assert worst.end_s >= end
    assert worst.peak_us >= 0.9 * 400_000


@pytest.mark.timed
@pytest.mark.skipif(not available(), reason="needs Linux with schedstat")
def test_a_busy_thread_is_seen_with_its_cpu_time(tmp_path: Path) -> None:
    path = tmp_path / "activity.jsonl"
    begin = time.time()
    with Activity(path, (os.getpid(),), tmp_path):
        used = time.process_time()
        while time.time() < begin + 1.0:
            pass
        used = time.process_time() - used
    frame = read_activity(path, int(begin * 1e6))
    ours = frame[frame["kind"].isin(["other", "serving", "jit", "gc", "profiler"])]
    assert ours["busy_ms"].sum() / 1000 == pytest.approx(used, rel=0.25, abs=0.1)
    assert frame["t_s"].min() >= -0.2
