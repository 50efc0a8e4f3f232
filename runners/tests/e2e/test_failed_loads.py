"""`lab load` of servers that fail: errors lead, nothing of them is quoted, and the exit code says so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runners.tests.e2e.conftest import lab_here
from runners.tests.e2e.failing_server import LAST_WORDS

pytestmark = pytest.mark.e2e
SERVER = Path(__file__).with_name("failing_server.py")
TARGET = """
name: failing
command: [python3, failing_server.py, "{{port}}", {kind}]
url: http://127.0.0.1:{{port}}
workloads:
  get: {{method: GET, path: /}}
"""


def loaded(folder: Path, kind: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Load one of the servers; give the exit code, the result as JSON (empty without one), and all that was said."""
    shutil.copy(SERVER, folder)
    (folder / "target.yaml").write_text(TARGET.format(kind=kind), encoding="utf-8")
    target = str(folder / "target.yaml")
    done = lab_here("load", "--target", target, "--size", "smoke", "--json", *arguments, runs=folder / "runs")
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else {}, done.stdout + done.stderr


def of_role(document: dict[str, Any], role: str) -> dict[str, Any]:
    (load,) = [load for load in document["loads"] if load["role"] == role]
    return dict(load)


def nothing_quoted(load: dict[str, Any]) -> bool:
    quoted = load["response_us"] or load["achieved_rps"] or load["server_cpu_us_a_request"]
    return not quoted and not load["valid"]


def test_a_server_that_refuses_most_has_neither_latency_nor_throughput(tmp_path: Path) -> None:
    code, document, said = loaded(tmp_path, "limited", "--rate", "400", "--duration", "3")
    load = of_role(document, "load")
    assert code == 1 and load["cause"] == "refused" and nothing_quoted(load)
    assert load["status"]["429"] > load["status"]["200"] > 0
    assert load["requests"]["failed"] == load["requests"]["by_cause"]["refused"] == load["status"]["429"]
    assert "with status 429" in said


@pytest.mark.long
def test_a_load_without_a_success_is_none(tmp_path: Path) -> None:
    code, document, said = loaded(tmp_path, "absent", "--rate", "200")
    load = of_role(document, "load")
    assert code == 1 and load["cause"] == "refused" and nothing_quoted(load)
    assert list(load["status"]) == ["404"] and load["requests"]["failed"] == load["requests"]["ended"] > 0
    assert "with status 404" in said


@pytest.mark.parametrize(
    "arguments",
    [pytest.param((), id="closed-loop", marks=pytest.mark.long), pytest.param(("--rate", "100"), id="rate")],
)
def test_what_is_no_http_1_is_said_to_be_that(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code, document, said = loaded(tmp_path, "http2", *arguments)
    assert code == 1 and "no HTTP/1.1 (it looks like HTTP/2)" in said
    assert "saturat" not in said and " 0/s" not in said
    if document:
        assert of_role(document, "load")["cause"] == "protocol"


def test_a_server_that_dies_is_no_saturated_one_and_its_last_words_are_given(tmp_path: Path) -> None:
    code, document, said = loaded(tmp_path, "dies", "--rate", "1000", "--duration", "5")
    load = of_role(document, "load")
    assert code == 1 and load["cause"] == "death" and nothing_quoted(load)
    assert LAST_WORDS in said and "exit code 3" in said and "saturat" not in said


def test_a_server_that_closes_its_connections_now_and_then_has_not_failed(tmp_path: Path) -> None:
    code, document, _ = loaded(tmp_path, "idle-close", "--rate", "50")
    load = of_role(document, "load")
    assert load["status"]["200"] > 0 and load["requests"]["by_cause"]["protocol"] == 0
    assert (code == 0) == (load["cause"] in (None, "late", "held up", "disturbed"))


@pytest.mark.long
def test_a_rate_that_nothing_can_send_is_not_achieved(tmp_path: Path) -> None:
    code, document, said = loaded(tmp_path, "well", "--rate", "5000000")
    load = of_role(document, "load")
    assert code == 1 and load["cause"] not in (None, "late") and not load["response_us"], said
