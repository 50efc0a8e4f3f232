"""Every generator that is found, before servers that do something known: what its distribution says of it.

What is true of a generator that others use is stated as it is: wrk2 and wrk lose a stall that lasts to the end.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from runners.analysis import facts
from runners.analysis.instrument import Stall, stall
from runners.design.load import FIXED_GET, Rate, Shape
from runners.design.session import STALL, Freeze, Trial
from runners.execution.measurement import Measurement
from runners.execution.progress import Progress
from runners.experiments.e00_instrument import GENERATORS as GENERATORS
from runners.generators.load import Generator, LoadSpec, generators, run_load
from runners.process.supervisor import start
from runners.readers.load_json import read_load_json
from runners.readers.run import Step
from runners.storage.run_folder import RunFolder, StepFolder
from runners.targets.lab_server import RunningServer, ServerSpec, launch
from runners.tests.e2e.disturbance import undisturbed
from runners.tests.e2e.known_delays import ALONE, LEVELS, SUSPECT, KnownDelays, cycle_us
from runners.tests.e2e.waking import waking
from runners.tests.execution.test_progress import Memory
from runners.tests.fixtures.outputs import read_console
from runners.toolchain.build import DIST, Workshop, prepare
from runners.toolchain.tools import require_jdk
from runners.trial import machine
from runners.trial.faults import happening

pytestmark = pytest.mark.e2e
EXACT = ("blocking", "epoll", "truepace")  # paced without a tick, response time from the intended start
TICK_US = 1_000.0
RATE_RPS = 2_000.0
WARMUP_S, STALL_S = 0.3, 3.0
#: Medians of two generators on a busy machine differ by less; a unit that was misread makes them differ by 1 000.
WRONG_UNIT = 100
MIDDLE, END = Freeze(0.7, 0.4), Freeze(2.4, 1.0)


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return prepare("truepace", print)


@pytest.fixture(scope="module")
def server(shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("noop")
    cpus, _ = machine.pinning()
    spec = ServerSpec(
        require_jdk().java, DIST, "noop", folder / "server", folder / "data", cpus=cpus,
    )  # fmt: skip
    running = launch(spec)
    yield running
    running.stop()


@pytest.fixture
def measurement(shop: Workshop, tmp_path: Path) -> Measurement:
    run = RunFolder.create(tmp_path / "runs", "00", "smoke", {"title": "t"})
    return Measurement(shop, "truepace", machine.pinning()[1], run, Progress(10.0, Memory()))


def generator_or_skip(shop: Workshop, name: str) -> Generator:
    every = generators(shop)
    if name not in every:
        pytest.skip(f"{name} is not on this machine")
    return every[name]


def capacity_rps(shop: Workshop, server: RunningServer) -> float:
    """What one connection achieves when each request follows the response to the last."""
    command = [str(shop.truepace.path), "-t1", "-c1", "-d1s", f"{server.url}/v0/entity?id=1"]
    console = read_console(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout)
    assert console.requests_per_s
    return console.requests_per_s


@dataclass
class Frozen:
    """Freezes the server under a generator's load and gives its account, and what the test itself used."""

    measurement: Measurement
    server: RunningServer
    generator: Generator
    freeze: Freeze

    def __call__(self) -> tuple[tuple[Stall, Step], float]:
        own = psutil.Process(), psutil.Process(self.server.pid)
        before_s = sum(sum(process.cpu_times()[:2]) for process in own)
        name = self.generator.name
        rate = None if name == "wrk" else Rate(RATE_RPS, "fixed")
        shape = Shape(1, 1, STALL_S, WARMUP_S if rate else 0.0)
        trial = Trial(f"stall-{name}", STALL, FIXED_GET, rate, shape, generator=name, faults=(self.freeze,))
        step = self.measurement.step(trial, self.server, happening=lambda lead_s: happening(trial, self.server, lead_s))
        seen = stall(step)
        assert seen is not None
        used_s = sum(sum(process.cpu_times()[:2]) for process in own) - before_s
        return (seen, step), used_s + (step.record.generator.cpu_s or 0.0)


@pytest.mark.timed
@pytest.mark.parametrize("name", GENERATORS)
def test_a_freeze_in_the_middle_is_in_the_distribution_within_a_millisecond(
    name: str, shop: Workshop, measurement: Measurement, server: RunningServer
) -> None:
    def check(seen: tuple[Stall, Step]) -> None:
        measured_stall, step = seen
        ((length_s, _),) = measured_stall.freezes
        late_us = measured_stall.max_us - length_s * 1e6
        if name == "wrk2":
            assert -TICK_US <= late_us <= 2.5 * TICK_US, f"{late_us:.0f} us"  # its sends wait for its tick
        else:
            assert abs(late_us) <= 1_000, f"{late_us:.0f} us"
        if name == "wrk":
            # One request of thousands waited, the one under way. wrk adds to its histogram what a steady stream would
            # have seen ("stats_correct" in its source), so its percentiles hold the stall although nobody waited it.
            p99 = facts.at(step, 0.99)
            assert p99 is not None and p99.value > length_s * 1e6 / 4
        if name in EXACT:
            # While the backlog is answered, one after the other, what falls due waits for it too: each response takes
            # what one takes in a closed loop of our own, or what this generator's took at the rate; a server that was
            # just thawed answers somewhat slower than either.
            median = facts.at(step, 0.5)
            assert median is not None
            busy = RATE_RPS * max(1 / capacity_rps(shop, server), median.value / 1e6)
            expected = measured_stall.expected_above(measured_stall.long_s)
            counted = measured_stall.counted_above(measured_stall.long_s)
            assert 0.98 * expected <= counted <= 1.1 * expected / (1 - busy), f"{counted:.0f} of {expected:.0f}"

    undisturbed(Frozen(measurement, server, generator_or_skip(shop, name), MIDDLE), check)


@pytest.mark.timed
@pytest.mark.parametrize("name", GENERATORS)
def test_a_freeze_to_the_end_is_counted_by_ours_and_lost_by_the_others(
    name: str, shop: Workshop, measurement: Measurement, server: RunningServer
) -> None:
    def check(seen: tuple[Stall, Step]) -> None:
        measured_stall, step = seen
        ((length_s, all_s),) = measured_stall.freezes
        assert length_s == pytest.approx(0.6, abs=0.05)
        errors = [facts.number(step, column) for column in ("connect_errors", "read_errors", "timeouts", "non_2xx")]
        assert not any(value > 0 for value in errors)
        if name == "truepace":
            assert abs(measured_stall.max_us - all_s * 1e6) <= 1_000, f"{measured_stall.max_us:.0f} us"
            assert measured_stall.censored == pytest.approx(measured_stall.rate_rps * length_s, abs=4)
            top = facts.at(step, 1.0)
            assert top is not None and top.at_least
        elif name == "blocking":  # it waits for the thaw, and then has one late response to show
            assert measured_stall.max_us >= 0.9e6 * END.length_s and measured_stall.counted_above(0.1) <= 3
        else:  # exit code 0, no error, and nothing of the stall
            assert measured_stall.max_us < 0.5e6 * length_s, f"{measured_stall.max_us:.0f} us"
            assert step.record.generator.exit_code == 0

    undisturbed(Frozen(measurement, server, generator_or_skip(shop, name), END), check)


@dataclass
class Delayed:
    """Loads a fresh server of known delays; gives what the generator, the server and the witness say of it."""

    shop: Workshop
    generator: Generator
    folder: Path

    def __call__(self) -> tuple[KnownDelays, float]:
        name = self.generator.name
        folder = StepFolder(self.folder)
        server = Path(__file__).with_name("delay_server.py")
        # Every connection is free again before its turn comes: a delay is not made longer by another one.
        alone = name == "blocking"
        connections, rate, seconds = (1, 10.0, 10.0) if alone else (16, 50.0, 4.0)
        cycle = ",".join(map(str, cycle_us(ALONE if alone else 1.0)))
        child = start([sys.executable, "-S", str(server), cycle], stdout=subprocess.PIPE)
        try:
            url = f"http://127.0.0.1:{int(child.stdout.readline())}"
            spec = LoadSpec(f"{url}/delayed", None, None if name == "wrk" else rate, seconds, connections=connections)
            with waking() as witness:
                outcome = run_load(self.generator, spec, folder)
            with urllib.request.urlopen(f"{url}/recorded", timeout=60) as answer:
                took_us = json.loads(answer.read())
            server_s = sum(psutil.Process(child.pid).cpu_times()[:2])
        finally:
            child.stop()
        if name == "truepace":
            frame = read_load_json(folder.load_json).percentiles_frame()
        elif name in ("blocking", "epoll"):
            frame = read_load_json(folder.console).percentiles_frame()
        else:
            frame = read_console(folder.console.read_text()).percentiles_frame()
        rows = frame[(frame["kind"] == facts.RESPONSE) & frame["percentile"].isin(LEVELS)]
        read_us = dict(zip(rows["percentile"], rows["value_us"], strict=True))
        if name == "wrk2":
            took_us = took_us[-round(rate * seconds) :]  # what it sends while it calibrates is in no percentile
        seen = KnownDelays(name, read_us, took_us, witness.late_at(SUSPECT))
        return seen, float(outcome.cpu_s or 0.0) + server_s + witness.cpu_s


@pytest.mark.timed
@pytest.mark.parametrize("name", GENERATORS)
def test_known_delays_are_read_within_a_hundredth_or_20_us(name: str, shop: Workshop, tmp_path: Path) -> None:
    undisturbed(Delayed(shop, generator_or_skip(shop, name), tmp_path), KnownDelays.check)


@pytest.mark.parametrize("name", ["wrk2", "wrk"])
def test_its_console_and_ours_read_to_the_same_frames(
    name: str, shop: Workshop, server: RunningServer, tmp_path: Path
) -> None:
    said = {}
    for tool in ("truepace", name):
        folder = StepFolder(tmp_path / tool)
        folder.path.mkdir()
        rate = None if name == "wrk" else 500.0
        run_load(generator_or_skip(shop, tool), LoadSpec(f"{server.url}/v0/entity?id=1", None, rate, 1.0), folder)
        said[tool] = read_console(folder.console.read_text())
    ours, theirs = said["truepace"], said[name]
    assert (ours.tool, theirs.tool) == ("truepace", name)
    for frame in ("summary_frame", "percentiles_frame", "spectrum_frame"):
        mine, other = getattr(ours, frame)(), getattr(theirs, frame)()
        assert mine.dtypes.to_dict() == other.dtypes.to_dict(), frame
    load_json = StepFolder(tmp_path / "truepace").load_json
    report = read_load_json(load_json).percentiles_frame().set_index(["kind", "percentile"])
    for _, row in ours.percentiles_frame().iterrows():  # the unit is the same: microseconds, to the digits printed
        reported = float(report.loc[(row["kind"], row["percentile"]), "value_us"])
        assert row["value_us"] == pytest.approx(reported, rel=0.006, abs=0.006)
    ours_us, theirs_us = (
        frame.loc[(frame["kind"] == facts.RESPONSE) & (frame["percentile"] == 0.5), "value_us"].item()
        for frame in (ours.percentiles_frame(), theirs.percentiles_frame())
    )
    assert 1 / WRONG_UNIT < theirs_us / ours_us < WRONG_UNIT, f"{theirs_us} us, ours {ours_us} us"
