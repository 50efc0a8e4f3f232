"""Hosts that are started over SSH: here an SSH server of the test's own, on two addresses of the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import asyncssh
import pytest

from runners.errors import PlanError
from runners.fleet import workers
from runners.fleet.workers import GENERATOR, Tls
from runners.tests.fleet.asked import host_pid
from runners.tests.fleet.test_workers import listening
from runners.tests.fleet.test_workers import tls as tls  # the fixture
from runners.tests.waiting import gone

HOSTS = ("127.0.0.1", "127.0.0.2")


class Anybody(asyncssh.SSHServer):  # type: ignore[misc] # its types are skipped
    """Lets everybody in."""

    def begin_auth(self, _username: str) -> bool:
        return False


async def _run(process: asyncssh.SSHServerProcess) -> None:
    """Run a command as sshd does, and end it with its connection."""
    child = await asyncio.create_subprocess_shell(
        process.command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True
    )
    await process.redirect(stdout=child.stdout, stderr=child.stderr)
    ways = {asyncio.create_task(process.wait_closed()), asyncio.create_task(child.wait())}
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        code = await child.wait()
    process.exit(code)


@pytest.fixture
def port() -> Iterator[int]:
    """An SSH server on both addresses; gives its port."""
    found, ready = list[int](), threading.Event()
    loops, over = list[asyncio.AbstractEventLoop](), asyncio.Event()

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        keys = [asyncssh.generate_private_key("ssh-ed25519")]
        for host in HOSTS:
            listener = await asyncssh.listen(
                host, found[0] if found else 0, server_host_keys=keys, server_factory=Anybody, process_factory=_run,
                encoding=None,
            )  # fmt: skip
            found.append(listener.get_port())
        ready.set()
        await over.wait()

    serving = threading.Thread(target=lambda: asyncio.run(serve()))  # ends what is pending, too
    serving.start()
    assert ready.wait(30)
    yield found[0]
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
        pids = [fleet.on(host, GENERATOR, threading.Event(), host_pid) for host in hosts]
        for host, pid in zip(HOSTS, pids, strict=True):
            assert listening(pid) <= {host, "127.0.0.1"}
    assert all(gone(pid) for pid in pids)


def test_hosts_without_tls_are_refused_unless_the_network_is_ones_own() -> None:
    with pytest.raises(PlanError, match="may run code"):
        workers.opened(None, "a,b", None, no_tls=False)
    with pytest.raises(PlanError, match="give one"):
        workers.opened("tcp://a:1", "a,b", None, no_tls=False)
