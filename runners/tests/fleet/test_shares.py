"""Generators that share a load: what they send together is one schedule, and what is read is one generator's."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram

from runners.errors import MeasureError
from runners.fleet.shares import (
    CONNECTS,
    LocalSeat,
    LostHostError,
    Order,
    Part,
    _write,
    round_trips,
    send_shared,
)
from runners.generators.load import LoadSpec, LoadTarget, Truepace
from runners.readers.hdr_log import INTERVAL_LINE, read_hdr_log
from runners.readers.load_json import read_load_json
from runners.readers.requests_log import read_requests_log
from runners.storage.schema import ClockRecord, ShareRecord
from runners.storage.step_folder import StepFolder
from runners.tests.fixtures import servers
from runners.tests.fleet.test_merge import counts_of
from runners.toolchain.build import truepace_tool
from runners.toolchain.tools import TRUEPACE


@pytest.fixture
def url() -> Iterator[str]:
    with servers.idle() as server_url:
        yield server_url


def truepace() -> Truepace:
    tool = truepace_tool(TRUEPACE)
    return Truepace(tool.path, tool.version)


def counts_of_log(path: Path, tag: str) -> np.ndarray:
    """The counts of all intervals of a tag by bucket, as they stand in the file."""
    interval_counts = [
        counts_of(HdrHistogram.decode(match["data"].encode()))
        for match in map(INTERVAL_LINE.match, path.read_text(encoding="utf-8").splitlines())
        if match and match["tag"] == tag
    ]
    whole = np.zeros(max(map(len, interval_counts)), np.int64)
    for counts in interval_counts:
        whole[: len(counts)] += counts
    return whole


def bucket_by_bucket(recorded_ns: np.ndarray, counts: np.ndarray) -> bool:
    """Whether these counts are those of one generator that had recorded these latencies itself."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for latency_ns in recorded_ns:
        histogram.record_value(int(latency_ns))
    wanted = counts_of(histogram)
    length = max(len(wanted), len(counts))
    return bool(np.array_equal(np.pad(wanted, (0, length - len(wanted))), np.pad(counts, (0, length - len(counts)))))


@pytest.mark.e2e
def test_three_generators_leave_the_files_of_one(tmp_path: Path, url: str) -> None:
    folder = StepFolder(tmp_path)
    spec = LoadSpec(url, None, 300.0, 1.0, warmup_s=0.2, connections=6, log_requests=True)
    outcome = send_shared([LocalSeat(name) for name in "abc"], truepace(), spec, folder)
    assert outcome.exit_code == 0 and [share.host for share in outcome.shares] == ["a", "b", "c"]
    assert [share.completed for share in outcome.shares] == [100, 100, 100]
    log = read_requests_log(folder.requests)
    assert sorted(log.frame["slot"]) == list(range(60, 360)), "each slot of the window once, by whoever it was"
    report = read_load_json(folder.load_json)
    summary = report.summary_frame().iloc[0]
    assert (summary["scheduled"], summary["completed"], summary["offered_rps"]) == (300, 300, 300.0)
    assert {share.generator.command[share.generator.command.index("--share") + 1] for share in outcome.shares} == {
        "1/3", "2/3", "3/3",
    }  # fmt: skip
    assert all(abs(share.began_us) < 1_000 for share in outcome.shares), "one instant, by one clock"
    for tag, column in (("response", "response_us"), ("service", "service_us")):
        recorded_ns = np.rint(log.frame[column].to_numpy() * 1000)
        assert bucket_by_bucket(recorded_ns, counts_of_log(folder.hlog, tag)), tag
    assert read_hdr_log(folder.hlog).merged("response").total == 300
    assert len(list(folder.shares.iterdir())) == 3, "what each has written is kept"


@pytest.mark.e2e
def test_a_comparison_is_one_schedule_over_all_targets(tmp_path: Path, url: str) -> None:
    folder = StepFolder(tmp_path)
    targets = (LoadTarget("a", url), LoadTarget("b", url))
    spec = LoadSpec(url, None, 256.0, 1.0, connections=4, targets=targets, seed=3, log_requests=True)
    outcome = send_shared([LocalSeat("x"), LocalSeat("y")], truepace(), spec, folder)
    assert outcome.exit_code == 0
    frame = read_requests_log(folder.requests).frame.sort_values("slot")
    assert list(frame["slot"]) == list(range(256))
    assert list(frame["predecessor"].iloc[1:]) == list(frame["target"].iloc[:-1]), "the order of one generator"
    report = read_load_json(folder.load_json)
    # a machine that stalls at the end leaves some without a response
    measured = report.targets_frame().set_index("target")
    assert measured["scheduled"].to_dict() == {"a": 128, "b": 128}
    assert read_hdr_log(folder.hlog).merged("response@b").total == measured["served"].to_dict()["b"] > 0
    assert measured["offered_rps"].to_dict()["b"] == 128.0


def test_connections_that_can_not_be_dealt_out_are_refused(tmp_path: Path) -> None:
    spec = LoadSpec("http://127.0.0.1:1", None, 10.0, 1.0, connections=7)
    seats = [LocalSeat("a"), LocalSeat("b")]
    with pytest.raises(MeasureError, match="a multiple, such as 8"):
        send_shared(seats, Truepace(Path("truepace"), "1"), spec, StepFolder(tmp_path))


@dataclasses.dataclass(frozen=True)
class Gone(LocalSeat):
    """A host that is lost as soon as it is to send."""

    def send(self, order: Order, halted: object) -> Part:
        raise LostHostError("host b", "it does not respond", "see whether it runs")


@pytest.mark.e2e
def test_a_lost_host_ends_the_others_and_leaves_no_load(tmp_path: Path, url: str) -> None:
    spec = LoadSpec(url, None, 100.0, 60.0, connections=2)
    with pytest.raises(LostHostError, match="host b"):
        send_shared([LocalSeat("a"), Gone("b")], truepace(), spec, StepFolder(tmp_path))
    assert not (tmp_path / "load.json").exists(), "half a load is no load"


@dataclasses.dataclass(frozen=True)
class Unlucky(LocalSeat):
    """A host whose generator refuses a few times first."""

    refusals: list[str] = dataclasses.field(default_factory=list)

    def send(self, order: Order, halted: threading.Event) -> Part:
        if self.refusals:
            raise MeasureError("truepace (exit 2)", self.refusals.pop(), "see whether the server runs")
        return LocalSeat.send(self, order, halted)


@pytest.mark.e2e
def test_a_network_that_loses_first_segments_gets_another_instant(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.fleet.shares.LEADS_S", (0.2, 0.2, 2.0))
    unlucky = ["cannot connect to http://h (h: connection timed out)", "the instant of --start-at had passed 1 s"]
    spec = LoadSpec(url, None, 100.0, 1.0, connections=2)
    outcome = send_shared([LocalSeat("a"), Unlucky("b", refusals=unlucky)], truepace(), spec, StepFolder(tmp_path))
    assert [share.completed for share in outcome.shares] == [50, 50] and not unlucky
    refused = Unlucky("b", refusals=["cannot connect to http://h (h: connection refused)"])
    with pytest.raises(MeasureError, match="refused"):
        send_shared([LocalSeat("a"), refused], truepace(), spec, StepFolder(tmp_path))


def test_times_of_another_host_are_written_by_our_clock(tmp_path: Path) -> None:
    clock = ClockRecord(offset_us=5_000_000.0, uncertainty_us=1.0)
    stalls = "#stall-witness/1 period_ns=1 late_ns=1\n#begin monotonic_ns=1 unix_ns=5000000007\n0 3 4\n"
    sample = json.dumps({"unix_us": 5_000_009, "server": None}) + "\n"
    content = {"telemetry.jsonl": sample.encode(), "stalls.txt": stalls.encode(), "load.json": b"{}"}
    folder = StepFolder(tmp_path / "1-b")
    _write(Part(ShareRecord(host="b"), 0, content), clock, folder)
    assert json.loads(folder.telemetry.read_text())["unix_us"] == 9
    assert folder.stalls.read_text() == stalls.replace("5000000007", "7"), "its monotonic clock is left as it is"


def test_scripts_travel_as_text(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "a.lua").write_text("-- a")
    targets = (LoadTarget("x", "http://h", here / "a.lua"), LoadTarget("y", "http://h"))
    order = Order.packed(LoadSpec("http://h", None, 1.0, 1.0, targets=targets), Truepace(Path("truepace"), "1"))
    spec = order.unpacked(there)
    script = spec.targets[0].script
    assert script is not None and script.parent == there and script.read_text() == "-- a"
    assert spec.targets[1].script is None


def test_a_round_trip_that_fails_is_counted_and_not_timed() -> None:
    network = round_trips(["http://127.0.0.1:1"])
    assert (network.round_trips_us, network.failed) == ((), CONNECTS)
