"""The command line of a server."""

from __future__ import annotations

from pathlib import Path

from runners.targets.lab_server import ONE_NIO, ServerSpec
from runners.toolchain.build import JDK17_DIST, JDK17_MAIN


def test_a_server_for_old_jdks_gets_no_flag_that_they_do_not_know() -> None:
    old = ServerSpec(Path("java"), JDK17_DIST, "files", Path("f"), Path("d"), main_class=JDK17_MAIN)
    assert not set(ONE_NIO) & set(old.command())
    assert JDK17_MAIN in old.command()
    new = ServerSpec(Path("java"), Path("dist"), "lsm", Path("f"), Path("d"))
    assert set(ONE_NIO) <= set(new.command())
