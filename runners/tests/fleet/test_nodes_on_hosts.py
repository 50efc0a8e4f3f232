"""A host's place for a node: its data stay while the lease is renewed, and nothing is left after it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from runners.errors import MeasureError
from runners.fleet import hosts, workers
from runners.targets.lab_server import ServerSpec


@dataclass
class FakeChild:
    """Notes how it ended."""

    ends: list[str] = field(default_factory=list)

    def kill(self) -> None:
        self.ends.append("killed")

    def stop(self) -> int:
        self.ends.append("stopped")
        return 137 if "killed" in self.ends else 143


def test_a_place_keeps_a_nodes_data_for_as_long_as_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[ServerSpec, bool, FakeChild]] = []

    def launch(spec: ServerSpec, *, under_load: bool) -> object:
        spec.data.mkdir(exist_ok=True)
        started.append((spec, under_load, FakeChild()))
        return SimpleNamespace(child=started[-1][2], ready={"port": 1, "pid": 2})

    monkeypatch.setattr(hosts, "launch", launch)
    workers._renew("lease", 60.0)
    keeping = threading.Thread(target=hosts._keep, args=("run", "lease"))
    keeping.start()
    spec = ServerSpec(Path("java"), Path("jars"), "lsm", Path("here"), Path("here"), server_flags=("--self=x",))
    assert hosts._start("run", spec, "secret", "", "") == {"port": 1, "pid": 2}
    first, under_load, child = started[0]
    assert not under_load and first.server_flags[0] == "--self=x"
    secret = Path(first.server_flags[1].removeprefix("--cluster-secret-file="))
    assert secret.read_text() == "secret" and secret.stat().st_mode & 0o077 == 0
    (first.data / "kept").touch()
    assert hosts._end("run", True, "") == 137 and child.ends == ["killed", "stopped"]
    hosts._start("run", spec, "secret", "again-1", "")
    again, under_load, child = started[1]
    assert under_load and (again.data / "kept").exists() and again.folder != first.folder
    hosts._start("run", spec, "secret", "", "")
    assert child.ends == ["stopped"] and not (first.data / "kept").exists(), "another cluster begins on an empty store"
    workers._renew("lease", 0.0)
    keeping.join(30)
    assert not first.data.exists() and started[2][2].ends == ["stopped"]
    assert hosts._end("run", False, "") == 0, "there is nothing to end any more"


def test_a_host_whose_slot_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_KEPT_WITHIN_S", 0.3)
    began = time.monotonic()
    spec = ServerSpec(Path("java"), Path("jars"), "lsm", Path("here"), Path("here"))
    with pytest.raises(MeasureError, match="slot for a server is taken"):
        hosts._start("nobody", spec, "secret", "", "")
    assert time.monotonic() - began > 0.3
