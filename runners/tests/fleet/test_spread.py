"""A campaign over a fleet: lost hosts change nothing of what is measured, and nothing is counted twice."""

from __future__ import annotations

import io
import json
import os
import signal
import tarfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runners.bench.local_fleet import local
from runners.errors import MeasureError
from runners.execution.campaign import Job, JobOutcome, Lines, held
from runners.fleet import hosts, workers
from runners.fleet.shares import LostHostError
from runners.fleet.workers import Fleet
from runners.tests.fleet.asked import STALL, measured
from runners.tests.waiting import until


def planned(count: int) -> list[Job]:
    return [
        Job(name="a", kind="load", parameters={"repeat": repeat}, repeat=repeat, planned_s=1.0, address=f"{repeat:04}")
        for repeat in range(count)
    ]


class Watch(Lines):
    """Notes what comes and goes."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.lost: list[str] = []
        self.ended: list[tuple[str, str, bool]] = []

    def begin(self, job: Job) -> None:
        self.begun.append(job.address)

    def lose(self, job: Job, cause: str) -> None:
        self.lost.append(job.address)

    def end(self, job: Job, outcome: JobOutcome, there: bool) -> None:
        self.ended.append((job.address, outcome.status, there))


@pytest.fixture
def notes(kept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The notes of one test, whose hosts have the stand-in for a lab."""
    monkeypatch.setattr(hosts, "_measure", measured)
    for path in kept.iterdir():
        path.unlink()
    return kept


def complete(results: Path) -> list[str]:
    """The addresses of the results that there are, and that they are whole."""
    folders = sorted(path for path in results.iterdir() if path.is_dir() and path.name.startswith("load-"))
    assert all((path / "manifest.json").exists() for path in folders), "no half of a result"
    return [path.name.removeprefix("load-") for path in folders]


def names(notes: Path) -> list[str]:
    """What was begun: address, process and time."""
    return [path.name for path in notes.iterdir() if path.name != STALL]


def tries(notes: Path) -> Counter[str]:
    return Counter(name.partition("-")[0] for name in names(notes))


def test_jobs_are_spread_over_the_hosts_and_each_is_measured_once(fleet: Fleet, notes: Path, tmp_path: Path) -> None:
    results, watch, wanted = tmp_path / "runs", Watch(), planned(7)
    (notes / STALL).touch()

    def go_on() -> None:
        """Let the hosts go on when each has begun a job: one that starts late finds none left otherwise."""
        until(lambda: len({name.split("-")[1] for name in names(notes)}) == 3)
        (notes / STALL).unlink()

    threading.Thread(target=go_on).start()
    with held(results):
        ended = hosts.spread(wanted, fleet, results, watch)
        again = hosts.spread(wanted, fleet, results, watch)
    assert [outcome.address for outcome in ended.outcomes] == [job.address for job in wanted] and not ended.left
    assert complete(results) == [job.address for job in wanted]
    assert {outcome.host for outcome in ended.outcomes} == {"0", "1", "2"}, "all hosts had a part"
    assert tries(notes) == Counter(job.address for job in wanted), "what is there is not measured again"
    assert [there for *_, there in watch.ended] == [False] * 7 + [True] * 7
    assert again.outcomes == ended.outcomes


def test_a_worker_that_is_killed_loses_nothing_and_nothing_counts_twice(
    fleet: Fleet, notes: Path, tmp_path: Path
) -> None:
    results, watch, wanted = tmp_path / "runs", Watch(), planned(6)

    (notes / STALL).touch()

    def kill() -> None:
        assert until(lambda: any(name.startswith(wanted[0].address) for name in names(notes)))
        (begun,) = (name for name in names(notes) if name.startswith(wanted[0].address))
        os.kill(int(begun.split("-")[1]), signal.SIGKILL)
        (notes / STALL).unlink()

    killing = threading.Thread(target=kill)
    killing.start()
    with held(results):
        ended = hosts.spread(wanted, fleet, results, watch)
    killing.join()
    assert complete(results) == [job.address for job in wanted]
    assert [outcome.status for outcome in ended.outcomes] == ["complete"] * 6
    assert sum(tries(notes).values()) >= 7, "the lost one was measured again"
    assert wanted[0].address in watch.lost, "and on a busy machine one whose lease was renewed too late"
    assert Counter(address for address, status, _ in watch.ended if status == "complete") == Counter(
        job.address for job in wanted
    )


@pytest.mark.long
def test_a_campaign_whose_scheduler_is_gone_ends_and_goes_on_with_another(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "ALONE_S", 1.0)
    results, watch, wanted = tmp_path / "runs", Watch(), planned(5)
    with local(2) as fleet:
        failure: list[BaseException] = []

        def carry_out() -> None:
            try:
                hosts.spread(wanted, fleet, results, watch)
            except BaseException as error:
                failure.append(error)

        carrying = threading.Thread(target=carry_out)
        carrying.start()
        assert until(lambda: len(names(notes)) >= 3)
        monkeypatch.setattr(workers, "LEASE_S", 2.0)
        (notes / STALL).touch()
        fleet.client.cluster.sync(fleet.client.cluster.scheduler.close)
        carrying.join(60)
    assert failure and isinstance(failure[0], MeasureError), failure
    there = complete(results)
    assert len(there) < 5
    (notes / STALL).unlink()
    with local(2) as fleet:
        ended = hosts.spread(wanted, fleet, results, Watch())
    assert complete(results) == [job.address for job in wanted]
    assert len({outcome.address for outcome in ended.outcomes}) == 5


def test_a_job_that_ends_its_hosts_is_given_up(fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three lost hosts are enough to suspect the job."""

    def gone(*_: object) -> JobOutcome:
        raise LostHostError("host b", "it does not respond", "see")

    monkeypatch.setattr(hosts, "measure_on", gone)
    watch, (job,) = Watch(), planned(1)
    ended = hosts.spread([job], fleet, tmp_path / "runs", watch)
    assert len(watch.begun) == hosts.ATTEMPTS and watch.lost == [job.address] * (hosts.ATTEMPTS - 1)
    assert ended.outcomes[0].status == "failed" and "host b" in ended.outcomes[0].cause and not ended.left


def test_the_second_of_two_equal_results_is_dropped(tmp_path: Path) -> None:
    def packed(text: str) -> bytes:
        content = json.dumps({"status": "complete", "address": "1", "who": text}).encode()
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            about = tarfile.TarInfo("load-1/manifest.json")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
        return out.getvalue()

    outcome = JobOutcome(address="1", status="complete", host="b")
    for who in ("first", "second"):
        hosts._unpack(packed(who), tmp_path / "load-1", "load-1", outcome)
    manifest: dict[str, Any] = json.loads((tmp_path / "load-1" / "manifest.json").read_text())
    assert manifest["who"] == "first" and manifest["host"] == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["load-1"], "nothing is left over"


def test_the_budget_is_kept_by_all_hosts_together(fleet: Fleet, notes: Path, tmp_path: Path) -> None:
    results, wanted = tmp_path / "runs", planned(4)
    ended = hosts.spread(wanted, fleet, results, Watch(), minutes=0.0)
    assert not ended.outcomes and [job.address for job in ended.left] == [job.address for job in wanted]
