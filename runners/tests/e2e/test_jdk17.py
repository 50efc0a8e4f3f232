"""The server of report 2 runs on every JDK from 17 on, and is started and stopped like the other one."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from runners.targets.lab_server import ServerSpec, launch
from runners.toolchain.build import JDK17_DIST, JDK17_MAIN, prepare
from runners.toolchain.tools import Jdk, find_jdks

pytestmark = pytest.mark.e2e

OLDEST = 17
TERMINATED = (143, -15)
JDKS = [jdk for jdk in find_jdks() if jdk.major >= OLDEST]


@pytest.mark.parametrize("jdk", JDKS, ids=lambda jdk: f"jdk{jdk.major}")
@pytest.mark.parametrize("executor", ["dispatcher", "cached-pool", "fixed"])
def test_it_serves_on_every_jdk_and_keeps_its_files(
    jdk: Jdk, executor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare("truepace", print)
    monkeypatch.delenv("JAVA_TOOL_OPTIONS", raising=False)  # a JVM that is given some says so on its standard error
    spec = ServerSpec(
        jdk.java,
        JDK17_DIST,
        "files",
        tmp_path / "server",
        tmp_path / "data",
        main_class=JDK17_MAIN,
        server_flags=("--executor", executor, "--answer-text"),
        more_jvm_flags=("-Dsun.net.httpserver.nodelay=true",),
    )
    server = launch(spec)
    try:
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            assert client.put("/v0/entity", params={"id": "key1"}, content=b"value1").status_code == 201
            assert client.get("/v0/entity", params={"id": "key1"}).content == b"value1"
            assert client.get("/v0/entity", params={"id": "key2"}).status_code == 404
        status = server.status()
        assert status["jvm"].startswith(str(jdk.major))
        assert (status["execution"], status["nodelay"], status["engine"]) == (executor, "true", "files")
        assert status["store"]["entries_estimate"] == 1
    finally:
        code = server.stop()
    assert code in TERMINATED
    assert (spec.data / "key1").read_bytes() == b"value1"
    assert spec.log.read_text() == ""


def test_virtual_threads_are_refused_where_there_are_none(tmp_path: Path) -> None:
    prepare("truepace", print)
    old = next((jdk for jdk in JDKS if jdk.major < 21), None)
    if old is None:
        pytest.skip("every JDK here has virtual threads")
    spec = ServerSpec(
        old.java,
        JDK17_DIST,
        "noop",
        tmp_path / "server",
        tmp_path / "data",
        main_class=JDK17_MAIN,
        server_flags=("--executor", "virtual"),
    )
    with pytest.raises(Exception, match="needs JDK 21"):
        launch(spec)
