"""Leave out the time in which the machine stalled, by rules that can favour no target.

**Windows** come from the stall witness alone (a thread of real-time priority on each core), never from latencies. The
stalls of all cores are joined, for a response needs both the server's core and the generator's. A window begins at the
wake-up before, when the core may already have stopped, and ends when the queue that the stall left has drained: with
utilisation u, a stall of length L leaves u L of work, which takes u L / (1 - u) (a fluid queue: D. G. Kendall, 1951, J.
Royal Stat. Soc. B 13; stalls that come before it has drained add to it). u is that of the busiest target, a half where
the design of the load bounds it so, and the windows are the same for all targets.

**Whole blocks** are dropped: tenths of a second, by when responses came, that a window touches. Stalls too short for
the witness stay in. What is left gives the percentiles, shown with those of all requests; the share of time left out
is given.

**Short stalls alone stay in**, for they may be the server's: the kernel is not preempted while it frees a batch of
pages for it, and so held up the witness by 0.10 to 0.15 ms at the end of an unmapping. The machine's come in bursts, so
a short one next to a longer one is the machine's.

**What the disk holds up stays in.** The kernel can hold a real-time thread too when it works for the server. Planted
sleeps, spins, collections of garbage and interrupts left the witness alone, but forcing a file held it up each time
(`make bench-power ROWS=plants`). So stalls while the disk was busy are no windows: they may be the server's.

**Limits.** Percentiles have the resolution of the slices, 6 %; their bounds are order statistics and take responses for
independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from runners.analysis.intervals import Bounded
from runners.design.block import MOST_UTILISATION
from runners.readers.run import Step
from runners.readers.samples import Samples

#: How often the witness wakes: a stall may have begun so long before it was due.
PERIOD_S = 0.001
#: Shorter ones are windows only within so many seconds of one that is not, on any core: a stretch of the kernel's work
#: for a server, without preemption, is as long.
SHORT_MS, BURST_S = 0.2, 0.05
LEVELS = (0.99, 0.999)
SLICE_S = 0.1  # as response times are kept
#: A sample in which the disk worked for this share of the time: what stalled in it, or in the one before or after,
#: may have been at work for it. Forcing 32 MiB takes 130 ms, of which the kernel counts 12 to 24 ms as the disk's.
DISK_SHARE = 0.05

Windows = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """Percentiles (microseconds) of the responses outside of the machine's stalls, and the share of time left out."""

    left_out: float
    percentiles: Mapping[float, Bounded]


def not_of_the_disk(stalls: pd.DataFrame, activity: pd.DataFrame) -> pd.DataFrame:
    """Return the stalls without those near to a sample (see readers.activity) in which the disk was busy."""
    disk = activity[activity["kind"] == "disk"]
    disk = disk[disk["busy_ms"] >= DISK_SHARE * 1000 * disk["length_s"]]
    begin_s, end_s = stalls["t_s"] - PERIOD_S, stalls["t_s"] + stalls["duration_ms"] / 1000
    own = np.zeros(len(stalls), dtype=np.bool_)
    for at_s, length_s in zip(disk["t_s"], disk["length_s"], strict=True):
        own |= ((begin_s <= at_s + 2 * length_s) & (end_s >= at_s - length_s)).to_numpy(np.bool_)
    return stalls[~own]


def stalls_of(step: Step) -> pd.DataFrame:
    """Return the stalls of a step that the machine made."""
    return not_of_the_disk(step.frames["stalls"], step.frames["activity"])


def windows(stalls: pd.DataFrame, utilisation: float = 0.0) -> Windows:
    """Join the stalls of all cores, each with its drain: rows of begin and end in seconds, in order, apart."""
    if not 0 <= utilisation < 1:
        raise ValueError(f"a queue drains at a utilisation from 0 to below 1, not at {utilisation}")
    stalls = _of_bursts(stalls)
    standing: list[list[float]] = []
    ends = stalls["t_s"] + stalls["duration_ms"] / 1000
    for begin, end in sorted(zip(stalls["t_s"] - PERIOD_S, ends, strict=True)):
        if standing and begin <= standing[-1][1]:
            standing[-1][1] = max(standing[-1][1], end)
        else:
            standing.append([begin, end])
    widened: list[list[float]] = []
    for begin, end in standing:
        drain_s = (end - begin) * utilisation / (1 - utilisation)
        if widened and begin <= widened[-1][1]:  # the queue stays while nothing is served, and grows
            widened[-1][1] += (end - begin) + drain_s
        else:
            widened.append([begin, end + drain_s])
    return np.array(widened, float).reshape(-1, 2)


def _of_bursts(stalls: pd.DataFrame) -> pd.DataFrame:
    """Return the stalls without the short ones that no longer one is near to."""
    at_s = stalls["t_s"].to_numpy(float)
    long = (stalls["duration_ms"] >= SHORT_MS).to_numpy(np.bool_)
    long_s = np.concatenate([[-np.inf], np.sort(at_s[long]), [np.inf]])
    after = np.searchsorted(long_s, at_s)
    kept: pd.DataFrame = stalls[long | (at_s - long_s[after - 1] <= BURST_S) | (long_s[after] - at_s <= BURST_S)]
    return kept


def undisturbed(stalls: pd.DataFrame, slices: pd.DataFrame, utilisation: float = MOST_UTILISATION) -> Undisturbed:
    """Return the percentiles of a load's `slices`, without the blocks of time that a stall's window touches."""
    at = np.round(slices["t_s"].to_numpy(float) / SLICE_S).astype(int)
    gone = dropped(stalls, int(at.max()) + 1 if len(at) else 0, utilisation)
    by_value = slices[~gone[at] & (slices["count"] > 0)].groupby("us")["count"].sum()
    samples = Samples(by_value.index.to_numpy(float), by_value.to_numpy(np.int64))
    levels = LEVELS if samples.total else ()
    percentiles = {level: Bounded(samples.percentile(level), *samples.bounds(level)) for level in levels}
    return Undisturbed(float(gone.mean()) if len(gone) else 0.0, percentiles)


def outside(
    requests: pd.DataFrame, stalls: pd.DataFrame, utilisation: float = MOST_UTILISATION
) -> tuple[pd.DataFrame, float]:
    """Keep the requests of a log (see readers.requests_log) whose responses came in blocks that no window touches.

    Return their rows and the share of time left out, which all targets of the log have in common. A request without a
    response stays or goes by its intended start.
    """
    came_s = requests["t_s"] + requests["response_us"].where(requests["fate"] == "completed", 0.0) / 1e6
    at = (came_s.to_numpy(float) / SLICE_S).astype(int)
    gone = dropped(stalls, int(at.max()) + 1 if len(at) else 0, utilisation)
    return requests[~gone[at]], float(gone.mean()) if len(gone) else 0.0


def dropped(stalls: pd.DataFrame, blocks: int, utilisation: float = MOST_UTILISATION) -> npt.NDArray[np.bool_]:
    """Mark the blocks that a window touches, of so many from second 0 on."""
    gone = np.zeros(blocks, dtype=np.bool_)
    for begin, end in windows(stalls, utilisation):
        gone[max(0, int(np.floor(begin / SLICE_S))) : max(0, int(np.floor(end / SLICE_S)) + 1)] = True
    return gone


def watched(step: Step) -> bool:
    """Return whether the witness saw the whole step."""
    return step.record.witness is not None and bool(step.record.witness.cpus)
