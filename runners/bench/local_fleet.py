"""A fleet whose hosts are processes of this machine, on its loopback: for benchmarks and tests."""

from __future__ import annotations

from distributed import Client, LocalCluster

from runners.fleet.workers import SLOTS, THREADS, Fleet, Tls, quiet


def local(hosts: int, tls: Tls | None = None, processes: bool = True) -> Fleet:
    """Return a fleet of so many hosts, by default each a process of its own."""
    stack = quiet(tls)
    cluster = stack.enter_context(
        LocalCluster(
            n_workers=hosts, threads_per_worker=THREADS, processes=processes, host="127.0.0.1", resources=SLOTS,
            protocol="tls://" if tls else "tcp://", memory_limit=0, dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0", "dashboard": False},
        )
    )  # fmt: skip
    client = stack.enter_context(Client(cluster, set_as_default=False))
    return Fleet(client, tls, stack)
