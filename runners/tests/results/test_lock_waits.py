"""Who owns a wait for a lock is who takes it; nothing is said of few samples, nor of a load that is no evidence."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from runners.readers.run import Step
from runners.readers.stacks import shares_frame
from runners.results.answer import Measure, Verdict
from runners.results.profiles import STORE_WAITS, takes_most
from runners.results.results import Results
from runners.tests.report import steps

LOCK = "java/util/concurrent/locks/ReentrantLock.lock;java/util/concurrent/locks/LockSupport.park"
STORE = f"java/util/concurrent/ThreadPoolExecutor.runWorker;org/iq80/leveldb/impl/DbImpl.writeInternal;{LOCK}"
POOL = f"java/util/concurrent/ThreadPoolExecutor.runWorker;java/util/concurrent/LinkedBlockingQueue.take;{LOCK}"
OWNS = takes_most(("put", "get"), "blocking-many", STORE_WAITS)


def waiting(folder: Path, store_ms: int, pool_ms: int, samples: int = 2_000) -> Step:
    """A load whose threads waited that long for the store and for the pool."""
    rows = [
        {"event": "lock", "stack": stack, "count": ms * 1_000_000} for stack, ms in ((STORE, store_ms), (POOL, pool_ms))
    ]
    stacks = pd.DataFrame(rows)
    frames = {"stacks": stacks, "shares": shares_frame(stacks, {"lock": samples})}
    return steps.step(
        folder, "put-profiled-locks", steps.times(500), frames=frames, profiled=["lock"], treatment="blocking-many"
    )


@pytest.mark.parametrize(("store_ms", "verdict"), [(950, Verdict.YES), (50, Verdict.NO)])
def test_a_wait_for_the_mutex_of_the_store_is_the_stores(store_ms: int, verdict: Verdict, tmp_path: Path) -> None:
    answer = OWNS(Results(steps.run(tmp_path, [waiting(tmp_path, store_ms, 1_000 - store_ms)])))
    assert answer is not None and answer.verdict == verdict
    measure, *_ = answer.evidence
    assert isinstance(measure, Measure) and measure.value == pytest.approx(store_ms / 1_000)
    assert measure.other is not None and measure.other.value == pytest.approx(1 - store_ms / 1_000)


def test_a_few_waits_are_no_evidence(tmp_path: Path) -> None:
    assert OWNS(Results(steps.run(tmp_path, [waiting(tmp_path, 950, 50, samples=10)]))) is None
