"""Every generator that is found, before servers that spoil responses: none crashes or hangs, and who counts what.

What is true of a generator that others use is stated as it is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runners.experiments.e00_instrument import GENERATORS as GENERATORS
from runners.process.supervisor import Child, start
from runners.tests.e2e.bad_server import EVERY, SPOILT
from runners.tests.fixtures.outputs import read_console
from runners.tests.waiting import LIMIT_S
from runners.toolchain.build import Workshop, prepare

pytestmark = pytest.mark.e2e
RATE_RPS = 200
FAILED = 4  # exit code of a run of which requests failed
#: Under which name ours counts each.
NAMES = {
    "garbage": "parse",
    "half-a-head": "read",
    "half-a-body": "read",
    "half-and-silence": "read",
    "wrong-length": "parse",
    "broken-chunk": "parse",
    "huge-head": "parse",
    "reset": "read",
    "close": "read",
    "stops-reading": "read",
}
#: The connection ends in order, and nothing was said on it.
CLOSED_UNANSWERED = ("close", "stops-reading")


@dataclass(frozen=True)
class Ended:
    """A generator's run against one of the servers."""

    exit_code: int
    console: str
    errors: str
    report: dict[str, Any]


def commands(shop: Workshop, url: str, report: Path) -> dict[str, list[str]]:
    """One second of each generator that is found."""
    made = {}
    if shop.reference is not None:
        for kind in ("blocking", "epoll"):
            made[kind] = [str(shop.reference.path), "--kind", kind, "-d1s", f"-R{RATE_RPS}", url]
    load = ["-t1", "-c2", "-d1s"]
    # Bounded by its number, so that a busy machine leaves nothing unanswered.
    bounded = [*load[:2], f"-n{RATE_RPS}", "--timeout", "10s"]
    made["truepace"] = [str(shop.truepace.path), *bounded, f"-R{RATE_RPS}", "--json", str(report), url]
    if shop.wrk2 is not None:
        made["wrk2"] = [str(shop.wrk2.path), *load, f"-R{RATE_RPS}", url]
    if shop.wrk is not None:
        made["wrk"] = [str(shop.wrk.path), *load, url]
    return made


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return prepare("truepace", print)


@dataclass(frozen=True)
class Met:
    """How each generator fared."""

    kind: str
    ended: dict[str, Ended]

    def by(self, name: str) -> Ended:
        if name not in self.ended:
            pytest.skip(f"{name} is not on this machine")
        return self.ended[name]


@pytest.fixture(scope="module", params=SPOILT)
def met(request: pytest.FixtureRequest, shop: Workshop, tmp_path_factory: pytest.TempPathFactory) -> Met:
    """All generators at once, each before a server of its own: nothing here is timed."""
    folder = tmp_path_factory.mktemp(request.param)
    servers: list[Child] = []
    running: dict[str, subprocess.Popen[str]] = {}
    try:
        for name in commands(shop, "", folder):
            script = str(Path(__file__).with_name("bad_server.py"))
            server = start([sys.executable, "-S", script, request.param], stdout=subprocess.PIPE)
            servers.append(server)
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
            command = commands(shop, url, folder / "load.json")[name]
            running[name] = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # A generator that hangs fails here.
        said = {name: process.communicate(timeout=LIMIT_S) for name, process in running.items()}
    finally:
        for process in running.values():
            process.kill()
            process.wait()
        for server in servers:
            server.stop()
    report = json.loads((folder / "load.json").read_text()) if "truepace" in running else {}
    ended = {name: Ended(running[name].returncode, *texts, report) for name, texts in said.items()}
    return Met(request.param, ended)


@pytest.mark.parametrize("name", GENERATORS)
def test_no_generator_crashes_or_hangs(name: str, met: Met) -> None:
    ended = met.by(name)
    assert ended.exit_code in (0, 2, FAILED), f"{ended.exit_code}: {ended.errors}"  # negative: ended by a signal


def test_ours_counts_each_under_its_name_and_loses_none(met: Met) -> None:
    ended = met.by("truepace")
    assert ended.exit_code == FAILED, ended.errors
    report = ended.report
    spoilt = RATE_RPS // EVERY
    requests, errors = report["requests"], report["errors"]
    assert errors == {**dict.fromkeys(errors, 0), NAMES[met.kind]: spoilt}
    assert (requests["completed"], requests["failed"]) == (RATE_RPS - spoilt, spoilt)
    assert requests["scheduled"] == requests["completed"] + requests["failed"] + requests["censored"]


@pytest.mark.parametrize("name", ["blocking", "epoll"])
def test_the_simplest_clients_end_at_the_first_and_say_why(name: str, met: Met) -> None:
    ended = met.by(name)
    assert ended.exit_code == 2
    assert ended.errors.startswith("truepace-reference: http://") and "check the URL" in ended.errors, ended.errors


@pytest.mark.parametrize("name", ["wrk2", "wrk"])
def test_wrk_and_wrk2_count_read_errors_whatever_it_was(name: str, met: Met) -> None:
    ended = met.by(name)
    assert ended.exit_code == 0
    console = read_console(ended.console)
    assert console.requests is not None
    if name == "wrk2" and met.kind in CLOSED_UNANSWERED:
        # It connects again but never sends on that connection, and says nothing of it.
        assert console.socket_errors is None and console.requests < RATE_RPS / 2
        return
    assert console.socket_errors is not None and console.socket_errors.read > 0
    others = console.socket_errors.connect, console.socket_errors.write
    assert others == (0, 0)
