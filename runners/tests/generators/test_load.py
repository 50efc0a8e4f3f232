"""Loads: the exact command line, an early end, and a generator that refuses."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runners.errors import MeasureError
from runners.generators.load import Generator, LoadSpec, LoadTarget, Reference, Truepace, Wrk, Wrk2, run_load
from runners.storage.step_folder import StepFolder
from runners.tests.waiting import gone

SPEC = LoadSpec("http://127.0.0.1:1", Path("put.lua"), 8000.0, 14.0, warmup_s=5.0)


class Script(Generator):
    """A generator made of a line of Python, which is its name."""

    def command(self, spec: LoadSpec, folder: StepFolder) -> list[str]:
        return [str(self.path), "-c", self.name]


def script(source: str) -> Script:
    return Script(Path(sys.executable), "1", source)


def test_our_command_line(tmp_path: Path) -> None:
    command = Truepace(Path("truepace"), "1").command(SPEC, StepFolder(tmp_path))
    assert command[:9] == ["truepace", "-t", "1", "-c", "1", "-d", "14s", "-R", "8000"]
    assert command[9:11] == ["--warmup", "5s"] and command[-1] == SPEC.url


SHARED = dataclasses.replace(
    SPEC,
    script=None,
    targets=(LoadTarget("a", "http://x:1", Path("put.lua")), LoadTarget("noop", "http://x:2")),
    seed=7,
)


def test_targets_share_one_schedule_by_request(tmp_path: Path) -> None:
    logged = dataclasses.replace(SHARED, log_requests=True)
    command = Truepace(Path("truepace"), "1").command(logged, StepFolder(tmp_path))
    given = [word for flag, word in itertools.pairwise(command) if flag == "--target"]
    assert given == ["a=http://x:1,script=put.lua", "noop=http://x:2"]
    after = {flag: command[command.index(flag) + 1] for flag in ("--seed", "--interleave", "--requests-log")}
    assert after["--seed"] == "7" and after["--interleave"] == "request"
    assert after["--requests-log"].endswith("requests.log")
    assert SPEC.url not in command


@pytest.mark.parametrize(
    "generator", [Wrk2(Path("w"), "1"), Wrk(Path("w"), "1"), Reference(Path("r"), "1", "epoll")], ids=lambda g: g.name
)
def test_a_generator_of_one_server_refuses_several(generator: Any, tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="share one schedule"):
        generator.command(SHARED, StepFolder(tmp_path))


@pytest.mark.parametrize(("name", "url"), [("a,b", "http://x"), ("a", "http://x/?q=1,2")])
def test_a_target_that_could_not_be_read_is_refused(name: str, url: str) -> None:
    with pytest.raises(MeasureError, match="target"):
        LoadTarget(name, url)


@pytest.mark.parametrize(
    ("value", "written"),
    [(1e6, "1000000"), (1_234_567.0, "1234567"), (12_345_678.9, "12345678.9"), (0.05, "0.05"), (1e-5, "0.00001")],
)
def test_numbers_reach_the_generators_in_plain_digits(value: float, written: str, tmp_path: Path) -> None:
    spec = LoadSpec("http://x", None, value, value, value)
    for generator in (Truepace(Path("truepace"), "1"), Reference(Path("ref"), "1", "epoll")):
        command = generator.command(spec, StepFolder(tmp_path))
        asked = [command[command.index(flag) + 1] for flag in ("-R", "-d", "--warmup")]
        assert asked == [written, f"{written}s", f"{written}s"], generator.name


def test_our_console_says_all_that_it_can(tmp_path: Path) -> None:
    assert {"-L", "--summary"} <= set(Truepace(Path("truepace"), "1").command(SPEC, StepFolder(tmp_path)))


def test_a_closed_loop_and_a_count_have_no_rate(tmp_path: Path) -> None:
    spec = LoadSpec("http://x", Path("fill.lua"), None, 60.0, requests=100, script_arguments=("100",))
    command = Truepace(Path("truepace"), "1").command(spec, StepFolder(tmp_path))
    assert "-R" not in command and command[-2:] == ["--", "100"]
    assert command[command.index("-n") + 1] == "100"


def test_wrk2_runs_long_enough_to_calibrate(tmp_path: Path) -> None:
    wrk2 = Wrk2(Path("wrk2"), "4.0.0")
    command = wrk2.command(SPEC, StepFolder(tmp_path))
    assert command[command.index("-d") + 1] == "24s" and wrk2.lead_s(SPEC) + SPEC.duration_s == pytest.approx(24.005)
    with pytest.raises(MeasureError, match="number of requests"):
        wrk2.command(LoadSpec("http://x", Path("f"), 1, 1, requests=5), StepFolder(tmp_path))


def test_wrk_has_no_rate(tmp_path: Path) -> None:
    wrk = Wrk(Path("wrk"), "4.1.0")
    with pytest.raises(MeasureError, match=r"closed loop and can't keep a rate \(8000/s was to be offered\)"):
        wrk.command(SPEC, StepFolder(tmp_path))
    command = wrk.command(LoadSpec("http://x", None, None, 2.2, 1.0, connections=4), StepFolder(tmp_path))
    assert command == ["wrk", "-t", "1", "-c", "4", "-d", "3s", "--latency", "http://x"]


def test_a_reference_client_sends_one_fixed_request_at_a_rate(tmp_path: Path) -> None:
    spec = LoadSpec("http://x/a", None, 5000.0, 2.0, 0.5)
    command = Reference(Path("ref"), "1", "blocking").command(spec, StepFolder(tmp_path))
    assert command == shlex.split("ref --kind blocking -c 1 -d 2s -R 5000 --warmup 0.5s http://x/a")


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"rate_rps": None}, "closed loop"),
        ({"script": Path("put.lua")}, "runs no script"),
        ({"requests": 5}, "number of requests"),
        ({"threads": 2}, "one thread"),
        ({"connections": 2}, "one connection"),
    ],
)
def test_a_reference_client_refuses_what_it_can_not_send(tmp_path: Path, change: dict[str, Any], cause: str) -> None:
    spec = dataclasses.replace(LoadSpec("http://x", None, 10.0, 1.0), **change)
    with pytest.raises(MeasureError, match=cause):
        Reference(Path("ref"), "1", "blocking").command(spec, StepFolder(tmp_path))


def test_the_processor_time_of_the_whole_process_is_known(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    outcome = run_load(script(busy), SPEC, StepFolder(tmp_path))
    assert outcome.cpu_s is not None and 0.3 <= outcome.cpu_s < 3.0


def test_output_is_kept_as_printed_and_ticks_come(tmp_path: Path) -> None:
    ticks: list[int] = []

    def tick(pid: int, _elapsed_s: float) -> bool:
        ticks.append(pid)
        if len(ticks) == 2:
            (tmp_path / "enough").touch()
        return True

    source = (
        "import pathlib, time\nprint('Requests/sec: 1')\n"
        f"while not pathlib.Path({str(tmp_path / 'enough')!r}).exists(): time.sleep(0.01)"
    )
    outcome = run_load(script(source), SPEC, StepFolder(tmp_path), tick=tick)
    assert StepFolder(tmp_path).console.read_text() == "Requests/sec: 1\n"
    assert outcome.exit_code == 0 and not outcome.interrupted
    assert len(ticks) >= 2 and len(set(ticks)) == 1
    assert outcome.started_unix_us < outcome.ended_unix_us


@pytest.mark.parametrize("step_s", [-3_600.0, 3_600.0])
def test_a_clock_that_is_set_meanwhile_makes_a_load_no_longer(
    tmp_path: Path, step_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, looks = time.time_ns, itertools.count()
    monkeypatch.setattr(time, "time_ns", lambda: kept() + round(next(looks) * step_s * 1e9))
    begun_s = time.monotonic()
    outcome = run_load(script("import time; time.sleep(0.2)"), SPEC, StepFolder(tmp_path))
    took_s = (outcome.ended_unix_us - outcome.started_unix_us) / 1e6
    assert 0.2 <= took_s <= time.monotonic() - begun_s


def test_a_load_that_is_stopped_early_may_still_write_its_report(tmp_path: Path) -> None:
    source = (
        "import signal, sys, time\n"
        "def end(*_): print('interrupted report', flush=True); sys.exit(130)\n"
        "signal.signal(signal.SIGINT, end)\nprint('up', flush=True); time.sleep(60)"
    )
    outcome = run_load(
        script(source),
        SPEC,
        StepFolder(tmp_path),
        tick=lambda _pid, _s: "up" not in StepFolder(tmp_path).console.read_text(),
    )
    assert outcome.stopped_early and outcome.interrupted and outcome.exit_code == 130
    assert "interrupted report" in StepFolder(tmp_path).console.read_text()


def test_ctrl_c_leaves_no_generator_behind(tmp_path: Path) -> None:
    pids: list[int] = []

    def tick(pid: int, _elapsed_s: float) -> bool:
        pids.append(pid)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_load(script("import time; time.sleep(60)"), SPEC, StepFolder(tmp_path), tick=tick)
    assert gone(pids[0])


@pytest.mark.parametrize(("code", "remedy"), [(1, "correct the script"), (2, "check that the server")])
def test_a_refusal_is_raised_in_the_generators_own_words(tmp_path: Path, code: int, remedy: str) -> None:
    source = f"import sys; print('put.lua:3: no such thing', file=sys.stderr); sys.exit({code})"
    with pytest.raises(MeasureError, match=rf"put.lua:3: no such thing; {remedy}"):
        run_load(script(source), SPEC, StepFolder(tmp_path))


def test_a_killed_generator_is_an_exit_code_not_a_crash(tmp_path: Path) -> None:
    source = f"import os, signal; os.kill(os.getpid(), signal.{signal.SIGKILL.name})"
    assert run_load(script(source), SPEC, StepFolder(tmp_path)).exit_code == 128 + signal.SIGKILL
