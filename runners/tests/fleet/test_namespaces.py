"""Hosts as network namespaces: a server on one, generators on two; what networks, workers and schedulers do to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from runners.storage.run_folder import RunFolder
from runners.storage.schema import StepRecord, read_record
from runners.tests.fleet.network import Machines, Network, Planted, machines, refusal
from runners.tests.waiting import until
from runners.toolchain.tools import TRUEPACE

REFUSED = refusal()
#: Each host starts a lab of its own, all on the cores of this one.
BEGUN_WITHIN_S = 240.0
pytestmark = [
    pytest.mark.long,
    pytest.mark.e2e,
    pytest.mark.skipif(REFUSED is not None, reason=str(REFUSED)),
]
TARGET = """\
name: idle
command: [{reference}, --kind, server, "http://{{host}}:{{port}}"]
url: http://{{host}}:{{port}}
workloads: {{get: {{path: /}}}}
"""
CAMPAIGN = """\
runs:
  idle:
    measure: load
    targets: [target.yaml]
    settings: {{size: smoke, rate_rps: [100, 200, 300], duration_s: 1.0, connections: 2}}
repeats: 2
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    (tmp_path / "target.yaml").write_text(TARGET.format(reference=TRUEPACE.with_name("truepace-reference")))
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN.format())
    return tmp_path


def lab(fleet: Machines, home: Path, *words: str) -> subprocess.Popen[str]:
    """`lab` as a user calls it on the first host."""
    command = fleet.network.command(0, [sys.executable, "-m", "runners.cli", *words, "--scheduler", fleet.scheduler])
    return subprocess.Popen(
        command, env=dict(os.environ, LAB_RUNS=str(home / "runs")), cwd=home, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def load_words(home: Path, *more: str) -> list[str]:
    return ["load", "--target", str(home / "target.yaml"), "--rate", "300", "--duration", "3", "--connections", "4",
            "--size", "smoke", "--listen", "host", *more]  # fmt: skip


def ended(child: subprocess.Popen[str], code: int = 0, within_s: float = 600.0) -> str:
    said, _ = child.communicate(timeout=within_s)
    assert child.returncode == code, said
    return said


def loads(home: Path) -> list[tuple[Path, StepRecord]]:
    """The loads of the only run, by folder."""
    (run,) = (path for path in (home / "runs").iterdir() if path.is_dir())
    steps = RunFolder.open(run).steps()
    return [(step.path, record) for step in steps if (record := read_record(step)).role == "load"]


@pytest.fixture
def fleet(home: Path) -> Iterator[Machines]:
    with machines(3, home) as started_fleet:
        yield started_fleet


def test_a_server_on_one_host_is_loaded_from_two_others(fleet: Machines, home: Path) -> None:
    ended(lab(fleet, home, *load_words(home)))
    ((folder, record),) = loads(home)
    assert [share.host for share in record.shares] == ["host-1", "host-2"]
    assert [share.completed for share in record.shares] == [450, 450]
    report = json.loads((folder / "load.json").read_text())
    assert report["requests"]["completed"] == 900 and report["url"].startswith(f"http://{Network.address(0)}:")
    for share in record.shares:
        assert share.clock is not None and share.clock.uncertainty_us > 0 and not share.clock.stepped_us
        assert abs(share.began_us) <= share.clock.uncertainty_us + 1_000
        assert share.network.sent_segments and len(share.network.round_trips_us) == 10
        assert (folder / "shares" / share.folder / "load.hlog").exists()
    assert not left_over(fleet), "neither servers nor generators are left on any host"


def left_over(fleet: Machines) -> list[str]:
    """Servers and generators that still run on the hosts of the network."""

    def running() -> list[str]:
        names = []
        for host in range(fleet.network.count):
            pids = subprocess.run(
                ["ip", "netns", "pids", fleet.network.namespace(host)], check=True, capture_output=True, text=True
            ).stdout.split()
            for pid in pids:
                try:
                    names.append(psutil.Process(int(pid)).name())
                except psutil.Error:
                    continue
        return [name for name in names if name.startswith(("truepace", "stall-witness"))]

    until(lambda: not running(), 30.0)
    return running()


def test_delay_and_loss_of_a_network_are_found_and_named(home: Path) -> None:
    planted = {2: Planted(delay_ms=15.0, loss=0.03)}
    with machines(3, home, planted) as fleet:
        print("planted by", fleet.network.made_by)
        ended(lab(fleet, home, *load_words(home, "--duration", "10", "--rate", "300", "--connections", "32")))
    (run,) = (path for path in (home / "runs").iterdir() if path.is_dir())
    findings: list[dict[str, Any]] = json.loads((run / "conclusions.json").read_text())["findings"]
    far, losing = (
        {host: finding["evidence"] for finding in findings for host in named(finding) if finding["code"] == code}
        for code in ("F01", "F02")
    )
    assert 29_000 < far["host-2"]["round_trip_us"] < 90_000, "both ways"
    # half of the requests come from it, so the median may be either host's
    assert "host-1" not in far or far["host-1"]["round_trip_us"] < 5_000, findings
    assert list(losing) == ["host-2"], findings
    assert 0.01 < losing["host-2"]["repeated_segments"] / losing["host-2"]["sent_segments"] < 0.12


def named(finding: dict[str, Any]) -> list[str]:
    """The hosts that a finding on the load of the target names."""
    said = finding["sentence"]
    return [host for host in ("host-0", "host-1", "host-2") if said.startswith("Idle") and f"host {host}" in said]


def test_a_generator_that_is_cut_off_ends_the_load_and_leaves_nothing(fleet: Machines, home: Path) -> None:
    child = lab(fleet, home, *load_words(home, "--duration", "60"))
    assert until(lambda: sends(fleet, 2), BEGUN_WITHIN_S)
    fleet.network.cut(2)
    said = ended(child, code=1)
    assert "host-2" in said and "Traceback" not in said
    assert not left_over(fleet), "the host that nobody reaches has ended its generator by itself"


def sends(fleet: Machines, host: int) -> bool:
    """Whether a host's generator runs."""
    pids = subprocess.run(
        ["ip", "netns", "pids", fleet.network.namespace(host)], check=True, capture_output=True, text=True
    ).stdout.split()
    return any(
        Path(f"/proc/{pid}/comm").exists() and Path(f"/proc/{pid}/comm").read_text() == "truepace\n" for pid in pids
    )


def results(home: Path) -> dict[str, dict[str, Any]]:
    """The manifests of a campaign's results, by address; each counted once."""
    by_address = {}
    for path in (home / "runs").glob("load-*/manifest.json"):
        manifest = json.loads(path.read_text())
        assert manifest["status"] == "complete" and manifest["address"] not in by_address, path
        by_address[manifest["address"]] = manifest
    return by_address


def test_a_campaign_ends_with_the_same_set_whatever_dies(home: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    undisturbed = tmp_path_factory.mktemp("undisturbed")
    for name in ("target.yaml", "campaign.yaml"):
        (undisturbed / name).write_text((home / name).read_text())
    (undisturbed / "runs").mkdir()
    words = ("campaign", str(home / "campaign.yaml"))
    with machines(3, undisturbed) as fleet:
        ended(lab(fleet, undisturbed, *words), within_s=600)
    wanted = set(results(undisturbed))
    assert len(wanted) == 6
    with Network(3) as network:
        fleet = Machines(network, home)
        scheduler = fleet.start_scheduler()
        workers = [fleet.start_worker(host) for host in range(3)]
        child = lab(fleet, home, *words)
        assert until(lambda: sends(fleet, 1), BEGUN_WITHIN_S)
        os.killpg(workers[1].pid, signal.SIGKILL)
        assert until(lambda: sends(fleet, 2), BEGUN_WITHIN_S)
        network.cut(2)
        assert until(lambda: len(list((home / "runs").glob("load-*/manifest.json"))) >= 2, 240.0)
        os.killpg(scheduler.pid, signal.SIGKILL)
        said, _ = child.communicate(timeout=240)
        assert child.returncode == 1 and "call it again" in said and "Traceback" not in said, said
        assert set(results(home)) < wanted
        network.join(2)
        for worker in workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
        (home / "scheduler.log").unlink()
        fleet.start_scheduler()
        for host in range(3):
            fleet.start_worker(host)
        ended(lab(fleet, home, *words), within_s=600)
        assert not left_over(fleet)
    assert set(results(home)) == wanted, "the same set, and nothing twice"
    hosts = {manifest["host"] for manifest in results(home).values()}
    assert hosts <= {"host-0", "host-1", "host-2"} and len(hosts) > 1
