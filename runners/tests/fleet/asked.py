"""What tests ask of a host. It imports little: a host that imports for long at its first task loses its lease."""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from pathlib import Path

import msgspec
from distributed import get_worker

from runners.execution.campaign import Job, JobOutcome
from runners.fleet import workers
from runners.fleet.shares import LostHostError

#: A folder in which the stand-in for a lab notes what it does, by a variable of the workers.
NOTES = "LAB_TEST_NOTES"
#: While a file of this name is among them, no job ends.
STALL = "stall"


def host_pid(_lease: str) -> int:
    return os.getpid()


def held(seconds: float, lease: str) -> float:
    """Work until nobody wants it any more, for so long at most."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and not workers.lease_over(lease, began):
        time.sleep(0.05)
    return time.monotonic() - began


def resources(_lease: str) -> dict[str, float]:
    return dict(get_worker().state.available_resources)


def measured(job: bytes, known: dict[str, str], lease: str) -> tuple[bytes, bytes]:
    """Stand in for a lab on a host: notes that it was begun, takes a moment, and gives a run folder."""
    asked = msgspec.json.decode(job, type=Job)
    notes = Path(os.environ[NOTES])
    (notes / f"{asked.address}-{os.getpid()}-{time.time_ns()}").touch()
    began = time.monotonic()
    while time.monotonic() - began < 0.6 or (notes / STALL).exists():
        if workers.lease_over(lease, began):
            raise LostHostError("the job's host", "its lease was not renewed", "begin again")
        time.sleep(0.02)
    manifest = json.dumps({"status": "complete", "address": asked.address, "experiment": "load"}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        about = tarfile.TarInfo(f"{asked.folder}/manifest.json")
        about.size = len(manifest)
        archive.addfile(about, io.BytesIO(manifest))
    return msgspec.json.encode(JobOutcome(address=asked.address, status="complete", trials=1)), packed.getvalue()
