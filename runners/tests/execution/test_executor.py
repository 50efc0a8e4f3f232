"""Blocks are run in their order, and what an earlier session measured under the same specification is read back."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest

from runners.design.block import FaultInjection, FixedRate
from runners.design.load import GET, PUT, SIZES, Rate, Shape, Workload
from runners.design.session import LOAD, LOOP, PAIRED, ROUND, Fault, Freeze, KillNode, Session, Trial
from runners.design.setting import Setting
from runners.design.two_generators import by_two_generators
from runners.errors import MeasureError, ServerError
from runners.execution.executor import Executor
from runners.execution.progress import Progress
from runners.experiments.e02_closed_loop_jdk import HELD_KEYS, MIXED, Stage
from runners.process.supervisor import start
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.targets.lab_server import RunningServer
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.fake_measurement import FakeMeasurement, Machine, Server

SERVERS = {"lsm": Server(3_000.0), "rocksdb": Server(2_000.0), "noop": Server(9_000.0)}


def block(workload: Workload = PUT, rate_rps: float = 0.0, names: tuple[str, ...] = ("lsm", "rocksdb")) -> FixedRate:
    treatments = tuple(Setting.of(name) for name in names)
    return FixedRate(workload.name, "title", treatments, workload, SIZES["smoke"], rate_rps)


class Bench:
    """A folder, a machine that invents what it measures, and as many sessions of one run as a test wants."""

    def __init__(self, root: Path) -> None:
        self.folder = RunFolder.create(root, "01", "smoke", {"title": "t"})
        self.machine = Machine(dict(SERVERS))

    def launch(self, setting: Setting, keep_data: bool = False, keep_others: bool = False) -> RunningServer:
        return self.machine.launch(setting)

    def session(self, planned_s: float = 100.0) -> Executor:
        self.machine.measured.clear()
        self.machine.launched.clear()
        measurement = FakeMeasurement(self.folder, self.machine)
        return Executor(self.folder, measurement, self.launch, Progress(planned_s, Memory()))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_all_treatments_and_the_floor_have_one_rate_that_the_weakest_probe_allows(bench: Bench) -> None:
    steps = bench.session().run(block())
    assert [step.name for step in steps] == [
        "probe-put-lsm", "probe-put-rocksdb", "floor-put", "put-lsm", "put-rocksdb",
    ]  # fmt: skip
    (rate_rps,) = {step.record.offered_rps for step in steps[2:]}
    assert rate_rps is not None and 900 <= rate_rps <= 1_000, "half of what the weaker one reached"
    assert {step.record.block for step in steps} == {"put"}


def test_a_given_rate_needs_no_probe(bench: Bench) -> None:
    steps = bench.session().run(block(rate_rps=800))
    assert not any(step.kind == "probe" for step in steps)
    assert {step.record.offered_rps for step in steps} == {800.0}
    assert block(rate_rps=800).planned_s < block().planned_s


def test_every_name_of_a_setting_and_of_a_workload_makes_folders(bench: Bench) -> None:
    named = Setting("app-1.2_x", "lsm")
    bench.machine.servers[named.name] = SERVERS["lsm"]
    workload = dataclasses.replace(PUT, name="put.one_id")
    bench.session().run(dataclasses.replace(block(workload), treatments=(named,), profile=("cpu",)))
    assert bench.machine.measured == [
        "probe-put-one-id-app-1-2-x", "floor-put-one-id", "put-one-id-app-1-2-x", "put-one-id-app-1-2-x-profiled",
    ]  # fmt: skip


def test_a_filled_store_is_started_again_before_its_loads(bench: Bench) -> None:
    bench.session().run(block(GET, 800, ("lsm",)))
    assert [server.subject for server in bench.machine.launched] == ["noop", "lsm", "lsm"]
    assert bench.machine.filled == [("lsm", GET.filled_keys)]


def test_the_cold_load_is_the_first_of_its_server_and_has_no_warm_up(bench: Bench) -> None:
    cold = dataclasses.replace(PUT, name="put-cold")
    steps = bench.session().run(dataclasses.replace(block(rate_rps=800, names=("lsm",)), cold=cold))
    assert [step.name for step in steps] == ["floor-put", "put-cold-lsm", "put-lsm"]
    assert [step.record.warmup_s for step in steps] == [0.5, 0.0, 0.5]
    assert [server.subject for server in bench.machine.launched] == ["noop", "lsm"]


def test_what_an_earlier_session_measured_is_read_back_once(bench: Bench) -> None:
    first = bench.session().run(block())
    again = bench.session()
    assert [step.record for step in again.run(block())] == [step.record for step in first]
    assert not bench.machine.measured and not bench.machine.launched
    again.run(block())
    assert len(bench.machine.measured) == len(first), "who runs a block twice wants it measured twice"


def test_another_specification_is_measured(bench: Bench) -> None:
    bench.session().run(block(rate_rps=800))
    bench.session().run(block(rate_rps=900))
    assert bench.machine.measured == ["floor-put", "put-lsm", "put-rocksdb"]


def test_an_interrupted_block_goes_on_with_the_session_that_was_cut(bench: Bench) -> None:
    def stop(name: str) -> None:
        if name == "put-rocksdb":
            raise KeyboardInterrupt

    bench.machine.before = stop
    with pytest.raises(KeyboardInterrupt):
        bench.session().run(block())
    bench.machine.before = lambda _name: None
    bench.session().run(block())
    assert bench.machine.measured == ["put-rocksdb"]


def test_trials_of_one_server_are_read_back_together_or_not_at_all(bench: Bench) -> None:
    profiled = FixedRate("put", "t", (Setting.of("lsm"),), PUT, SIZES["smoke"], 800.0, profile=("cpu",))
    bench.session().run(profiled)
    (last,) = (step for step in bench.folder.complete() if step.name == "put-lsm-profiled")
    last.path.rename(bench.folder.path / "gone")
    bench.session().run(profiled)
    assert bench.machine.measured == ["put-lsm", "put-lsm-profiled"]


def test_locks_have_a_recording_of_their_own(bench: Bench) -> None:
    bench.session().run(dataclasses.replace(block(rate_rps=800, names=("lsm",)), profile=("cpu", "lock", "alloc")))
    assert bench.machine.measured == ["floor-put", "put-lsm", "put-lsm-profiled", "put-lsm-profiled-locks"]


def test_a_load_that_does_not_keep_its_rate_while_profiled_is_offered_a_lower_one(bench: Bench) -> None:
    steps = bench.session().run(dataclasses.replace(block(rate_rps=4_000, names=("lsm",)), profile=("cpu",)))
    offered_rps = {step.name: step.record.offered_rps for step in steps}
    assert offered_rps["put-lsm"] == 4_000, "a clean load says what is missed"
    assert offered_rps["put-lsm-profiled"] == 2_400 < SERVERS["lsm"].capacity_rps
    assert bench.machine.measured.count("put-lsm-profiled") == 2


def test_a_cold_store_is_empty_and_the_warm_one_is_filled_after_it(bench: Bench) -> None:
    cold, warm = (dataclasses.replace(PUT, name=f"put-{name}") for name in ("cold", "warm"))
    filled = dataclasses.replace(block(warm, 800, ("lsm",)), cold=cold)
    filled = dataclasses.replace(filled, workload=dataclasses.replace(warm, filled_keys=1_000))
    assert [step.name for step in bench.session().run(filled)] == ["floor-put-warm", "put-cold-lsm", "put-warm-lsm"]
    assert [server.subject for server in bench.machine.launched] == ["noop", "lsm", "lsm"]
    assert bench.machine.filled == [("lsm", 1_000)]


WARMING = Trial("warm-server", "warmup", PUT, None, Shape(1, 1, 1.0, 0.0))


def rounds(*numbers: int) -> FixedRate:
    lsm, shape = Setting.of("lsm"), Shape(1, 1, 1.0, 0.0)
    trials = [
        Trial(f"load-{tool}-r{number}", ROUND, PUT, Rate(500, "fixed"), shape, generator=tool, round=number)
        for number in numbers
        for tool in ("truepace", "wrk2")
    ]
    sessions = [Session(lsm, tuple(trials[at : at + 2]), warm_up=WARMING) for at in range(0, len(trials), 2)]
    return FixedRate.known("rounds", "t", (Session(lsm, (WARMING,), warm_up=WARMING), *sessions))


def test_known_sessions_share_one_warm_server_and_say_their_round(bench: Bench) -> None:
    steps = bench.session().run(rounds(1, 2))
    assert [step.name for step in steps] == [
        "warm-server", "load-truepace-r1", "load-wrk2-r1", "load-truepace-r2", "load-wrk2-r2",
    ]  # fmt: skip
    assert [step.record.round for step in steps] == [None, 1, 1, 2, 2] and len(bench.machine.launched) == 1
    assert len(bench.session().run(rounds(1, 2))) == 5 and not bench.machine.measured


def test_what_this_machine_lacks_is_left_out(bench: Bench) -> None:
    bench.machine.without = {"wrk2"}
    assert [step.name for step in bench.session().run(rounds(1))] == ["warm-server", "load-truepace-r1"]
    old = Setting("old", "files", jdk=17)
    trial = Trial("a", LOOP, PUT, None, Shape(1, 1, 1.0, 0.0))
    bench.machine.without = {"17"}
    assert bench.session().run(FixedRate.known("b", "t", (Session(old, (trial,)),))) == []
    assert [server.subject for server in bench.machine.launched] == []


def test_a_closed_loop_is_kept_with_its_stage_and_a_fill_must_be_whole(bench: Bench) -> None:
    stage = Stage("LSM", Setting.of("lsm"), (MIXED,), published=(MIXED,))
    fill, loop = bench.session().run(stage.block("smoke"))
    assert (fill.name, fill.record.fill.keys) == ("fill-lsm-1000", HELD_KEYS)
    about = loop.record.loop
    assert (about.stage, about.stage_title, about.held_keys) == ("lsm", "LSM", HELD_KEYS)
    assert about.published == "report-2/lsm-mixed-1" and loop.record.label == "LSM: mixed x 1"
    bench.machine.servers["lsm"] = Server(5.0)
    with pytest.raises(MeasureError, match="not all of 1000 keys"):
        bench.session().run(dataclasses.replace(stage.block("smoke"), name="again", sessions=(
            Session(Setting.of("lsm"), (dataclasses.replace(fill_of(stage), name="fill-again"),)),
        )))  # fmt: skip


def fill_of(stage: Stage) -> Trial:
    return stage.block("smoke").sessions[0].trials[0]


def faults(*injected: Fault, **more: Any) -> FaultInjection:
    shape = Shape(1, 1, 2.0, 0.0)
    return FaultInjection("f", "t", Setting.of("lsm"), PUT, injected, shape, warm_up_s=1.0, **more)


def test_the_rate_of_a_fault_injection_is_a_share_of_what_the_warm_up_reached(bench: Bench) -> None:
    child = start([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        bench.machine.child = child
        warm, load = bench.session().run(faults(Freeze(0.0, 0.1)))
    finally:
        child.stop()
    assert (warm.name, load.name) == ("stall-warm-lsm", "stall-lsm")
    assert load.record.offered_rps == 1_500 and load.record.label == "lsm, frozen server"
    assert load.record.window is not None and load.record.window.length_s == 2.0


def test_a_server_that_can_not_lose_a_node_is_refused(bench: Bench) -> None:
    with pytest.raises(MeasureError, match="no nodes"):
        bench.session().run(faults(KillNode(3, 1.0, 2.0), rate_rps=500.0))


def test_a_generator_without_a_rate_loads_in_closed_loop() -> None:
    plan = faults(Freeze(0.0, 0.1), generators=("wrk", "truepace"), without_rate=("wrk",))
    trials = [session.trials[0] for session in plan.loads(plan.rate(1_000.0))]
    assert [(trial.name, trial.rate and trial.rate.rps) for trial in trials] == [
        ("stall-wrk", None), ("stall-truepace", 500.0),
    ]  # fmt: skip


def test_without_any_response_to_a_probe_the_block_ends_with_the_reason(bench: Bench) -> None:
    def gone(_name: str) -> None:
        raise ServerError("lsm", "it is gone", "see its log")

    bench.machine.before = gone
    with pytest.raises(MeasureError, match="lsm: skipped: lsm: it is gone; rocksdb"):
        bench.session().run(block())
    assert not read_run(bench.folder).find(kind="load")


def test_a_probe_whose_generator_was_the_limit_gives_a_rate(bench: Bench) -> None:
    bench.machine.servers = {name: Server(2_000.0, kept_up=False) for name in SERVERS}
    steps = bench.session().run(block())
    assert all(0 < (step.record.offered_rps or 0) <= 1_000 for step in steps if step.kind == LOAD)


def test_a_load_that_was_disturbed_is_measured_again_within_the_budget(bench: Bench) -> None:
    bench.machine.servers["lsm"] = Server(3_000.0, kept_up=False)
    steps = bench.session().run(block(rate_rps=800))
    tries = {step.name: step.record.tries for step in steps}
    assert tries == {"floor-put": 1, "put-lsm": 2, "put-rocksdb": 1}, "a fifth of the block has room for one"
    assert bench.machine.measured == ["floor-put", "put-lsm", "put-lsm", "put-rocksdb"]
    longer = dataclasses.replace(block(rate_rps=700), treatments=tuple(map(Setting.of, ("lsm", *["rocksdb"] * 9))))
    (first,) = (step for step in bench.session().run(longer) if step.name == "put-lsm")
    assert first.record.tries == 3, "twice more at most"


def test_two_generators_send_one_load_in_rounds_to_one_warm_server(bench: Bench) -> None:
    block = by_two_generators(Setting.of("lsm"), PUT, "quick")
    steps = bench.session().run(block)
    assert [server.subject for server in bench.machine.launched] == ["lsm"]
    (warm, *loads) = steps
    assert warm.kind == "paired-warm" and {step.kind for step in loads} == {PAIRED} and len(loads) == 6
    assert {step.record.offered_rps for step in loads} == {0.3 * SERVERS["lsm"].capacity_rps}
    assert [step.record.round for step in loads] == [1, 1, 2, 2, 3, 3]
    assert bench.session().run(block) and not bench.machine.measured, "read back"


def test_without_wrk2_nothing_of_such_a_block_is_measured_and_the_manifest_says_so(bench: Bench) -> None:
    bench.machine.without = {"wrk2"}
    assert bench.session().run(by_two_generators(Setting.of("lsm"), PUT, "quick")) == []
    assert not bench.machine.launched and bench.folder.manifest()["left_out"] == ["wrk2"]
