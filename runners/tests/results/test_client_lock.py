"""The frame by which the client's lock is known is the one in which the server takes it."""

from __future__ import annotations

import re
from pathlib import Path

from runners.results import cluster

SOURCES = Path(__file__).parents[3] / "server-java" / "server" / "src" / "main" / "java"


def test_the_lock_is_taken_in_the_frame_that_is_looked_for() -> None:
    owner, _, method = cluster.CLIENT_FRAME.rpartition(".")
    outer, _, inner = owner.partition("$")
    source = (SOURCES / f"{outer}.java").read_text(encoding="utf-8")
    task = source[source.index(f"class {inner} ") :]
    body = re.search(rf"\n        \w+ *\w* {method}\(\) {{\n(.*?)\n        }}\n", task, re.DOTALL)
    assert body is not None and "oneAtATime.lock();" in body[1]
