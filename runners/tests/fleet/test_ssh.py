"""Hosts that are started over SSH: here by SSH servers of the tests' own, on two addresses of the loopback.

One of them stands in this process; the other is OpenSSH's, where it is installed, which a user enters by a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import asyncssh
import psutil
import pytest

from runners.errors import PlanError
from runners.fleet import workers
from runners.fleet.workers import GENERATOR, Tls
from runners.process.supervisor import free_port
from runners.storage.run_folder import runs
from runners.storage.schema import read_record
from runners.tests.fleet.asked import host_pid
from runners.tests.fleet.test_workers import listening
from runners.tests.fleet.test_workers import tls as tls  # the fixture
from runners.tests.waiting import gone, until
from runners.toolchain.tools import TRUEPACE

HOSTS = ("127.0.0.1", "127.0.0.2")


class Anybody(asyncssh.SSHServer):  # type: ignore[misc] # its types are skipped
    """Lets everybody in."""

    def begin_auth(self, _username: str) -> bool:
        return False


async def _run(process: asyncssh.SSHServerProcess) -> None:
    """Run a command as sshd does: when the connection is gone its standard input ends, and it is left alone."""
    with subprocess.Popen(
        process.command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:  # fmt: skip
        try:
            await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
            while child.poll() is None:
                await asyncio.sleep(0.05)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
        process.exit(child.returncode)


@pytest.fixture
def port() -> Iterator[int]:
    """An SSH server on both addresses; gives its port."""
    ports, ready = list[int](), threading.Event()
    loops, over = list[asyncio.AbstractEventLoop](), asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        keys = [asyncssh.generate_private_key("ssh-ed25519")]
        for host in HOSTS:
            listener = await asyncssh.listen(
                host, ports[0] if ports else 0, server_host_keys=keys, server_factory=Anybody, process_factory=_run,
                encoding=None,
            )  # fmt: skip
            ports.append(listener.get_port())
        ready.set()
        await over.wait()

    serving = threading.Thread(target=lambda: asyncio.run(serve()))  # ends what is pending, too
    serving.start()
    assert ready.wait(30)
    yield ports[0]
    loops[0].call_soon_threadsafe(over.set)
    serving.join(30)


@pytest.mark.long
@pytest.mark.parametrize("encrypted", [False, True])
def test_hosts_are_started_by_ssh_listen_on_their_address_alone_and_end(port: int, tls: Tls, encrypted: bool) -> None:
    reached = {"port": port, "known_hosts": None, "username": "anybody"}
    with workers.by_ssh(HOSTS, tls if encrypted else None, reached) as fleet:
        hosts = fleet.hosts()
        assert [host.name for host in hosts] == list(HOSTS)
        assert [host.ip for host in hosts] == list(HOSTS)
        pids = [fleet.run_on(host, GENERATOR, threading.Event(), host_pid) for host in hosts]
        for host, pid in zip(HOSTS, pids, strict=True):
            assert listening(pid) <= {host, "127.0.0.1"}
    assert all(gone(pid) for pid in pids)


def test_hosts_without_tls_are_refused_unless_the_network_is_ones_own() -> None:
    with pytest.raises(PlanError, match="may run code"):
        workers.opened(None, "a,b", None, no_tls=False)
    with pytest.raises(PlanError, match="give one"):
        workers.opened("tcp://a:1", "a,b", None, no_tls=False)


SSHD = shutil.which("sshd", path=os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/usr/local/sbin")))
TARGET = """\
name: idle
command: [{server}, --kind, server, "http://127.0.0.1:{{port}}"]
url: http://127.0.0.1:{{port}}
workloads: {{get: {{path: /}}}}
"""
SSHD_CONFIG = """\
{addresses}
Port {port}
HostKey {host_key}
AuthorizedKeysFile {public_key}
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
StrictModes no
UsePAM no
PidFile none
"""
SSH_CONFIG = """\
Host 127.0.0.*
  Port {port}
  IdentityFile {key}
  IdentitiesOnly yes
"""


@dataclass(frozen=True, slots=True)
class Entered:
    """A user who may enter the hosts by a key of his own, as his `~/.ssh` says."""

    home: Path
    port: int

    def load(self, *words: str, hosts: tuple[str, ...] = HOSTS) -> subprocess.Popen[str]:
        """`lab load` on the hosts, as this user calls it."""
        command = [sys.executable, "-m", "runners.cli", "load", "--hosts", ",".join(hosts), "--no-tls",
                   "--size", "smoke", "--rate", "100", "--connections", "2", *words]  # fmt: skip
        env = dict(os.environ, HOME=str(self.home), LAB_RUNS=str(self.home / "runs"))
        return subprocess.Popen(
            command, env=env, cwd=self.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def working(self) -> list[str]:
        """The names of what runs on the hosts for those who came in over SSH."""
        names = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("SSH_CONNECTION", "").endswith(f" {self.port}"):
                    names.append(process.name())
        return names


@pytest.fixture
def entered(tmp_path: Path) -> Iterator[Entered]:
    """OpenSSH's server on both addresses, and a user with a key for it."""
    if SSHD is None:
        pytest.skip("OpenSSH's server is not on this machine (Debian: apt-get install openssh-server)")
    port, ssh = free_port(), tmp_path / ".ssh"
    ssh.mkdir(mode=0o700)
    for name in ("key", "host_key"):
        made = asyncssh.generate_private_key("ssh-ed25519")
        made.write_private_key(ssh / name)
        made.write_public_key(ssh / f"{name}.pub")
        (ssh / name).chmod(0o600)
    public = (ssh / "host_key.pub").read_text()
    (ssh / "known_hosts").write_text("".join(f"[{host}]:{port} {public}" for host in HOSTS))
    (ssh / "config").write_text(SSH_CONFIG.format(port=port, key=ssh / "key"))
    config = ssh / "sshd_config"
    addresses = "\n".join(f"ListenAddress {host}" for host in HOSTS)
    config.write_text(
        SSHD_CONFIG.format(addresses=addresses, port=port, host_key=ssh / "host_key", public_key=ssh / "key.pub")
    )
    if os.geteuid() == 0:  # as the system's own service does before it starts
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    tried = subprocess.run([SSHD, "-t", "-f", str(config)], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"OpenSSH's server does not run here: {tried.stderr.strip()}")
    (tmp_path / "target.yaml").write_text(TARGET.format(server=TRUEPACE.with_name("truepace-reference")))
    with (tmp_path / "sshd.log").open("wb") as log:
        serving = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdout=log, stderr=log)
    try:
        assert until(lambda: all(answers(host, port) for host in HOSTS)), (tmp_path / "sshd.log").read_text()
        yield Entered(tmp_path, port)
    finally:
        serving.terminate()
        serving.wait()


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1.0):
        return True
    return False


@pytest.mark.long
@pytest.mark.e2e
def test_lab_load_by_ssh_ends_as_it_would_here(entered: Entered) -> None:
    target = ("--target", str(entered.home / "target.yaml"))
    loading = entered.load(*target, "--duration", "1", "--json")
    out, err = loading.communicate(timeout=300)
    assert loading.returncode == 0, err
    assert json.loads(out)
    (run,) = runs(entered.home / "runs")
    (record,) = (record for step in run.steps() if (record := read_record(step)).role == "load")
    assert [(share.host, share.completed) for share in record.shares] == [(HOSTS[1], 100)]
    assert until(lambda: not entered.working()), entered.working()

    broken = entered.home / "broken.yaml"
    broken.write_text((entered.home / "target.yaml").read_text().replace("--kind, server", "--kind, nonsense"))
    loading = entered.load("--target", str(broken), "--duration", "1")
    _, err = loading.communicate(timeout=300)
    assert loading.returncode == 1 and f"host {HOSTS[0]}" in err and "nonsense" in err, err
    assert "Traceback" not in err

    loading = entered.load(*target, hosts=("127.0.0.3",))
    _, err = loading.communicate(timeout=300)
    assert loading.returncode == 1 and "127.0.0.3" in err and "can't be started" in err, err
    assert "Traceback" not in err
    assert until(lambda: not entered.working()), entered.working()


@pytest.mark.long
@pytest.mark.e2e
def test_hosts_by_ssh_keep_nothing_of_a_lab_that_was_killed(entered: Entered) -> None:
    loading = entered.load("--target", str(entered.home / "target.yaml"), "--duration", "120")
    try:
        assert until(lambda: "truepace" in entered.working(), 240.0)
    finally:
        loading.kill()
        loading.communicate()
    assert until(lambda: not entered.working()), entered.working()
