"""What goes wrong in real life, with the real tools: said, kept, and nothing left running."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.design.load import GET, PUT, Rate, Shape, Workload
from runners.design.session import LOAD, Trial
from runners.errors import MeasureError, ServerError
from runners.execution.measurement import Measurement
from runners.execution.progress import Progress
from runners.generators.load import LoadSpec, Truepace, run_load
from runners.storage.run_folder import RunFolder, StepFolder
from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.tests.e2e.conftest import LAB, lab, report_again
from runners.tests.execution.test_progress import Memory
from runners.tests.waiting import LIMIT_S, left_in, working_in
from runners.toolchain.build import DIST, PROFILER_JARS, Workshop, prepare
from runners.toolchain.tools import require_jdk
from runners.trial.profiler import Profiler, ProfileSpec, Recorder

pytestmark = pytest.mark.e2e
KILL_AFTER_S = 0.8


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return prepare("truepace", print)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "runs", "01", "smoke", {"title": "t"})


@pytest.fixture
def measurement(shop: Workshop, run: RunFolder) -> Measurement:
    return Measurement(shop, "truepace", None, run, Progress(10.0, Memory()))


@pytest.fixture
def server(shop: Workshop, tmp_path: Path) -> Iterator[RunningServer]:
    running = launch(spec(shop, tmp_path))
    yield running
    running.stop()


def spec(shop: Workshop, folder: Path, port: int = 0) -> ServerSpec:
    return ServerSpec(require_jdk().java, DIST, "lsm", folder / "server", folder / "data", port=port)


def test_a_port_that_is_taken_is_named(shop: Workshop, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=str(port)):
            launch(spec(shop, tmp_path, port))


def load(workload: Workload, rate_rps: float = 500) -> Trial:
    return Trial(f"{workload.name}-lsm", LOAD, workload, Rate(rate_rps, "given"), Shape(1, 1, 2.0, 0.2))


def test_a_server_that_dies_under_load_makes_the_step_invalid_and_the_next_is_skipped(
    measurement: Measurement, server: RunningServer, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_clock: object) -> None:
        threading.Timer(KILL_AFTER_S, os.kill, (server.pid, signal.SIGKILL)).start()
        monkeypatch.undo()

    # the first sample is taken when the generator has been started
    monkeypatch.setattr("runners.trial.telemetry._usage", kill)
    step = measurement.step(load(PUT), server)
    assert not step.valid
    assert "the server died under load (exit code 137)" in step.record.invalid_reasons
    assert step.record.server_log_tail
    after = measurement.step(load(GET), server)
    assert not after.valid and after.record.invalid_reasons[0].startswith("skipped")
    assert [s.name for s in run.steps()] == ["put-lsm", "get-lsm"]


def test_a_server_that_dies_before_the_generator_reaches_it_costs_its_step_and_not_the_run(
    measurement: Measurement, server: RunningServer, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorder, "start", lambda _self, pid: os.kill(pid, signal.SIGKILL))
    monkeypatch.setattr(RunningServer, "alive", lambda _self: True)  # as long as nobody has looked
    step = measurement.step(load(PUT), server)
    assert not step.valid and "died with exit code 137" in step.record.invalid_reasons[0]
    assert [s.name for s in run.steps()] == ["put-lsm"]


def test_a_rate_above_what_one_connection_achieves_is_called_saturation(
    measurement: Measurement, server: RunningServer
) -> None:
    step = measurement.step(load(PUT, 500_000), server)
    assert step.record.saturated and step.valid
    assert step.frames["summary"]["achieved_rps"].iloc[0] < 500_000 * 0.9


def test_a_refused_profiler_leaves_the_measurement_and_its_reason(
    measurement: Measurement, server: RunningServer
) -> None:
    step = measurement.step(load(PUT), server, ProfileSpec(("cpu",), -5, 4096))
    # a machine that stalls meanwhile makes the generator late, which is another matter
    assert all("own schedule" in reason for reason in step.record.invalid_reasons)
    assert step.frames["summary"]["achieved_rps"].iloc[0] > 250
    assert not step.profiled and "async-profiler" in (step.record.profiler_note or "")


def test_the_profilers_own_words_are_in_its_refusal(shop: Workshop, server: RunningServer, tmp_path: Path) -> None:
    profiler = Profiler(require_jdk(), PROFILER_JARS, server.pid)
    with pytest.raises(MeasureError, match="did not start"):
        profiler.start(ProfileSpec(("cpu",), -5, 4096), StepFolder(tmp_path))


def test_an_error_in_a_lua_script_names_script_line_and_message(
    shop: Workshop, server: RunningServer, tmp_path: Path
) -> None:
    script = tmp_path / "broken.lua"
    script.write_text("request = function()\n  return no_such_function()\nend\n")
    truepace, broken = Truepace(shop.truepace.path, "1"), LoadSpec(server.url, script, 100.0, 1.0)
    with pytest.raises(MeasureError, match=r"broken\.lua, line 2: .*no_such_function"):
        run_load(truepace, broken, StepFolder(tmp_path))


def test_a_full_disk_is_named_and_the_run_can_still_be_closed(
    measurement: Measurement, server: RunningServer, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StepFolder, "telemetry", property(lambda _self: Path("/dev/full")), raising=False)
    with pytest.raises(MeasureError, match="the disk is full"):
        measurement.step(load(PUT), server)
    assert not list(run.steps_path.iterdir())
    run.finish("failed")
    assert RunFolder.open(run.path).manifest()["status"] == "failed"


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="ctrl-c"),
        pytest.param(signal.SIGKILL, id="kill -9", marks=pytest.mark.long),  # and goes on to the end
    ],
)
def test_an_interrupted_run_leaves_no_process_and_a_readable_folder(number: signal.Signals, tmp_path: Path) -> None:
    env = dict(os.environ, LAB_RUNS=str(tmp_path))
    command = [*LAB, "run", "01", "--size", "smoke", "-p", "engines=lsm", "-p", "profile=none"]
    process = subprocess.Popen(
        command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "lsm PUT at" in line:
            break
    assert working_in(tmp_path)
    process.send_signal(number)
    process.stderr.read()
    process.wait(LIMIT_S)
    assert not left_in(tmp_path)
    (path,) = tmp_path.iterdir()
    folder = RunFolder.open(path)
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert folder.manifest()["status"] == "interrupted"
    assert {step.name for step in folder.steps()} >= {"probe-put-lsm", "floor-put"}
    report_again(path)
    assert "interrupted" in folder.report_md.read_text().lower()
    if number == signal.SIGKILL:  # going on takes long, and is the same however it was interrupted
        _goes_on(folder, tmp_path)


def _goes_on(folder: RunFolder, runs: Path) -> None:
    """What was finished is kept as it is, the rest is measured, and a complete run is refused."""
    refused = lab("run", "02", "--resume", str(folder.path), runs=runs)
    assert refused.returncode == 2 and "it is a run of 01, not of 02" in refused.stderr, refused.stderr
    refused = lab("run", "01", "--resume", str(folder.path), "-p", "heap_mb=64", runs=runs)
    assert refused.returncode == 2 and "heap_mb: 128 against 64" in refused.stderr, refused.stderr
    before = {step.name: step.read_meta()["started_unix_us"] for step in folder.steps()}
    done = lab("run", "01", "--resume", str(folder.path), runs=runs)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(runs.iterdir()) == [folder.path] and folder.manifest()["status"] == "complete"
    after = {step.name: step.read_meta()["started_unix_us"] for step in folder.steps()}
    of_each_session = {"sentinel", "fill-lsm"}  # what the next load needs is made anew
    assert {name for name, at in before.items() if after[name] == at} == before.keys() - of_each_session
    assert {"put-lsm", "get-lsm"} <= after.keys()
    assert "measured in 2 sessions" in folder.report_md.read_text(encoding="utf-8")
    refused = lab("run", "01", "--resume", str(folder.path), runs=runs)
    assert refused.returncode == 2 and "it is complete" in refused.stderr, refused.stderr
    assert not left_in(runs)


def test_a_killed_server_leaves_no_library_in_the_temporary_folder(shop: Workshop, tmp_path: Path) -> None:
    own = dataclasses.replace(spec(shop, tmp_path), engine="rocksdb")
    before = set(Path(tempfile.gettempdir()).iterdir())
    server = launch(own)
    assert any(own.temporary.glob("librocksdbjni*")), "where this server unpacks its libraries"
    server.child.kill()
    server.stop()
    left = {path.name for path in set(Path(tempfile.gettempdir()).iterdir()) - before}
    assert not own.temporary.exists()
    assert not {name for name in left if name.startswith("lib")}
