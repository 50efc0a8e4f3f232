"""A fleet of workers: slots, clocks, leases, and what listens where."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from distributed import Security

from runners.bench.local_fleet import local
from runners.errors import MeasureError, PlanError
from runners.fleet import workers
from runners.fleet.shares import SCHEDULER_VARIABLE, LostHostError, Order, estimated, send_shared
from runners.fleet.workers import GENERATOR, SERVER, Fleet, RemoteSeat, Tls
from runners.generators.load import LoadSpec, Truepace
from runners.readers.requests_log import read_requests_log
from runners.storage.run_folder import runs
from runners.storage.schema import read_record
from runners.storage.step_folder import StepFolder
from runners.tests.e2e.conftest import lab
from runners.tests.fixtures import servers
from runners.tests.fleet.asked import held, host_pid, resources
from runners.tests.fleet.test_shares import bucket_by_bucket, counts_of_log, truepace
from runners.tests.waiting import gone
from runners.toolchain.tools import ROOT


def test_each_host_has_one_slot_of_each_role(fleet: Fleet) -> None:
    hosts = fleet.hosts()
    assert [host.name for host in hosts] == ["0", "1", "2"] and fleet.hosts(SERVER) == hosts
    assert fleet.run_on(hosts[1], GENERATOR, threading.Event(), resources) == {SERVER: 1, GENERATOR: 0}
    pids = {fleet.run_on(host, SERVER, threading.Event(), host_pid) for host in hosts}
    assert len(pids) == 3 and os.getpid() not in pids, "what is for one host is done there and nowhere else"


def test_clocks_of_hosts_are_compared_over_their_connections(fleet: Fleet) -> None:
    for host in fleet.hosts():
        clock = estimated(fleet.exchanges(host))
        assert abs(clock.offset_us) <= clock.uncertainty_us, "one machine has one clock"
        assert clock.uncertainty_us > 0


def test_seats_are_on_other_hosts_than_the_server(fleet: Fleet) -> None:
    own = fleet.hosts()[0]
    assert own not in [seat.host for seat in fleet.seats(2, own.address)]
    with pytest.raises(PlanError, match="2 hosts besides the server's"):
        fleet.seats(3, own.address)


def test_work_ends_when_it_is_halted_and_when_nobody_renews_its_lease(fleet: Fleet) -> None:
    host, halted = fleet.hosts()[0], threading.Event()
    threading.Timer(0.5, halted.set).start()
    assert fleet.run_on(host, GENERATOR, halted, held, 60.0) < 30.0


@pytest.mark.e2e  # the worker asks the generator for its version
def test_an_error_of_the_lab_comes_back_as_it_was(fleet: Fleet) -> None:
    with pytest.raises(MeasureError, match="has version"):
        RemoteSeat(fleet, fleet.hosts()[0]).send(_order(version="another"), threading.Event())


def _order(version: str) -> Order:
    return Order.packed(LoadSpec("http://127.0.0.1:1", None, 1.0, 1.0), Truepace(Path("truepace"), version))


def listening(pid: int) -> set[str]:
    """The addresses at which a process and all that it started listen."""
    addresses = set()
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
            tcp = process.net_connections("tcp")
            addresses |= {str(connection.laddr.ip) for connection in tcp if connection.status == psutil.CONN_LISTEN}
    return addresses


def test_nothing_listens_beyond_the_loopback(fleet: Fleet) -> None:
    addresses = listening(os.getpid())
    assert addresses and all(address.startswith(("127.", "::1")) for address in addresses), addresses


@pytest.mark.e2e
def test_generators_on_two_hosts_leave_the_load_of_one(fleet: Fleet, tmp_path: Path) -> None:
    folder = StepFolder(tmp_path)
    with servers.idle() as url:
        seats = fleet.seats(2, fleet.hosts()[0].address)
        spec = LoadSpec(url, None, 200.0, 1.0, connections=4, log_requests=True)
        outcome = send_shared(seats, truepace(), spec, folder)
    assert [share.host for share in outcome.shares] == ["1", "2"]
    log = read_requests_log(folder.requests)
    assert sorted(log.frame["slot"]) == list(range(200))
    recorded_ns = (log.frame["response_us"] * 1000).round().to_numpy()
    assert bucket_by_bucket(recorded_ns, counts_of_log(folder.hlog, "response"))
    for share in outcome.shares:
        assert share.clock is not None and share.clock.uncertainty_us > 0 and share.clock.exchanges > 8
        assert share.machine["cores"] and len(share.network.round_trips_us) == 10
        assert (folder.shares / share.folder / "telemetry.jsonl").exists(), "what the host used"


@pytest.mark.long
def test_a_host_that_is_killed_is_lost_and_its_processes_with_it(tmp_path: Path) -> None:
    with local(1) as fleet, servers.idle() as url:
        host = fleet.hosts()[0]
        pid = fleet.run_on(host, SERVER, threading.Event(), host_pid)
        errors: list[BaseException] = []

        def send() -> None:
            try:
                send_shared(
                    [RemoteSeat(fleet, host)], truepace(), LoadSpec(url, None, 50.0, 120.0), StepFolder(tmp_path)
                )
            except BaseException as error:
                errors.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        while not (
            generators := [
                child for child in psutil.Process(pid).children(recursive=True) if "truepace" in child.name()
            ]
        ):
            assert sending.is_alive(), errors
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)
        sending.join(60)
        assert isinstance(errors[0], LostHostError), errors
        assert all(gone(generator.pid) for generator in generators), "its guard ends what a worker leaves"


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """Certificates of a fleet, as files."""
    folder, made = tmp_path_factory.mktemp("tls"), Security.temporary()
    files = {"ca.pem": made.tls_ca_file, "cert.pem": made.tls_client_cert, "key.pem": made.tls_client_key}
    for name, text in files.items():
        (folder / name).write_text(text)
    return Tls(*(folder / name for name in files))


def test_a_fleet_speaks_tls_and_refuses_who_has_no_certificate(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    with local(1, tls, processes=False) as fleet:
        (host,) = fleet.hosts()
        assert host.address.startswith("tls://127.0.0.1:")
        clock = estimated(fleet.exchanges(host))
        assert abs(clock.offset_us) <= clock.uncertainty_us
        scheduler = workers.environment(fleet, host)[SCHEDULER_VARIABLE]
        with workers.connected(scheduler, tls) as again:
            assert [connected_host.address for connected_host in again.hosts()] == [host.address]
        with pytest.raises(PlanError, match="--tls"):
            workers.connected(scheduler)
        other = Security.temporary()
        stranger = Path(tls.ca).parent / "stranger.pem"
        stranger.write_text(other.tls_client_cert + other.tls_client_key)
        monkeypatch.setattr(workers, "CONNECT_S", 5.0)  # it is refused, however long it tries
        with pytest.raises(PlanError, match="does not respond"):
            workers.connected(scheduler, Tls(stranger, stranger, stranger))


@pytest.mark.long
@pytest.mark.e2e
def test_a_load_is_shared_over_tls_by_certificates_made_as_the_page_says(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificates, is not on this machine")
    page = (ROOT / "runners" / "docs" / "several-machines.md").read_text(encoding="utf-8")
    made = [shlex.split(line) for line in page.splitlines() if line.startswith("    openssl ")]
    assert len(made) == 3
    for command in made:
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    files = [tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")]
    reference = truepace().path.with_name("truepace-reference")
    (tmp_path / "target.yaml").write_text(
        f'name: idle\ncommand: [{reference}, --kind, server, "http://127.0.0.1:{{port}}"]\n'
        "url: http://127.0.0.1:{port}\nworkloads: {get: {path: /}}\n"
    )
    with local(3, Tls(*files)) as fleet:
        scheduler = workers.environment(fleet, fleet.hosts()[0])[SCHEDULER_VARIABLE]
        assert scheduler.startswith("tls://")
        done = lab(
            "load", "--target", str(tmp_path / "target.yaml"), "--scheduler", scheduler, "--tls", *map(str, files),
            "--generators", "2", "--rate", "200", "--duration", "1", "--connections", "4", "--size", "smoke",
            runs=tmp_path / "runs",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = runs(tmp_path / "runs")
    (record,) = (record for step in run.steps() if (record := read_record(step)).role == "load")
    assert [(share.host, share.completed) for share in record.shares] == [("1", 100), ("2", 100)]


def test_the_default_needs_no_dask() -> None:
    code = (
        "import sys; from runners.cli import lab; import runners.lab; "
        "from runners.fleet.shares import sending; "
        "exec('with sending(0): pass\\nwith sending(2): pass'); "
        "print([name for name in ('dask', 'distributed', 'asyncssh') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_host_learns_what_is_asked_of_it_without_frames_or_statistics() -> None:
    code = "import sys, runners.fleet.hosts; print([name for name in ('pandas', 'scipy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", "its event loop stalls while it imports"
