"""Windows of time in which the machine stalled, and latencies without these windows (docs/method.md).

Windows come from the stall witness alone, a thread on each core that wakes every millisecond. They never come from
latencies, so they can favour no server. A stall of length L at utilisation u leaves a queue that drains in uL/(1-u) (a
fluid queue: D. G. Kendall, 1951, J. Royal Stat. Soc. B 13). A tenth of a second that a window touches is left out.
Percentiles have the resolution of the recorded bins, 6 %.
"""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from runners.design.block import MOST_UTILISATION
from runners.readers.run import Step
from runners.readers.samples import Samples

#: The period of the stall witness: a stall may have begun up to this much earlier than recorded.
PERIOD_S = 0.001
#: A stall shorter than SHORT_MS counts only within BURST_S (seconds) of a longer stall on any core. Alone, it may be
#: work that the kernel does for a server: such work is not preempted, and can last up to SHORT_MS.
SHORT_MS, BURST_S = 0.2, 0.05
LEVELS = (0.99, 0.999)
SLICE_S = 0.1  # length of the slices of time by which response times are recorded
#: If the disk was busy for at least this share of a sample's time, a stall in that sample or a neighbouring one may be
#: work for the disk. Forcing 32 MiB takes 130 ms, of which the kernel counts 12 to 24 ms as the disk's.
DISK_SHARE = 0.05


def not_of_the_disk(stalls: pd.DataFrame, activity: pd.DataFrame) -> pd.DataFrame:
    """Return the stalls that are neither in nor next to a sample of `activity` in which the disk was busy."""
    disk = activity[(activity["kind"] == "disk") & (activity["busy_ms"] >= DISK_SHARE * 1000 * activity["length_s"])]
    begin_s, end_s = stalls["t_s"] - PERIOD_S, stalls["t_s"] + stalls["duration_ms"] / 1000
    own = np.zeros(len(stalls), dtype=np.bool_)
    for at_s, length_s in zip(disk["t_s"], disk["length_s"], strict=True):
        own |= ((begin_s <= at_s + 2 * length_s) & (end_s >= at_s - length_s)).to_numpy(np.bool_)
    return stalls[~own]


def stalls_of(step: Step) -> pd.DataFrame:
    """Return the stalls that a step recorded, without stalls that may be work for the disk."""
    return not_of_the_disk(step.frames["stalls"], step.frames["activity"])


Span = TypeVar("Span", tuple[float, float], tuple[float, float, int])


def joined(spans: Iterable[Span]) -> list[list[Span]]:
    """Return lists of spans (begin, end, …) that overlap or touch; the lists and their spans are in order of time."""
    groups, last = list[list[Span]](), -np.inf
    for span in sorted(spans):
        if span[0] > last:
            groups.append([])
        groups[-1].append(span)
        last = max(last, span[1])
    return groups


def windows(stalls: pd.DataFrame, utilisation: float = 0.0) -> npt.NDArray[np.float64]:
    """Return disjoint windows as rows (begin, end) in s: a stall of any core, and the time until its backlog is served.

    `utilisation`: the server's, 0 to below 1; a busier one needs longer for its backlog. Short stalls: see SHORT_MS.
    """
    stalls = _long_or_in_bursts(stalls)
    ends = stalls["t_s"] + stalls["duration_ms"] / 1000
    widened: list[list[float]] = []
    for stall in joined(zip(stalls["t_s"] - PERIOD_S, ends, strict=True)):
        begin, end = stall[0][0], max(end for _, end in stall)
        drain_s = (end - begin) * utilisation / (1 - utilisation)
        if widened and begin <= widened[-1][1]:  # the queue stays while nothing is served, and grows
            widened[-1][1] += (end - begin) + drain_s
        else:
            widened.append([begin, end + drain_s])
    return np.array(widened, float).reshape(-1, 2)


def _long_or_in_bursts(stalls: pd.DataFrame) -> pd.DataFrame:
    at_s = stalls["t_s"].to_numpy(float)
    long = (stalls["duration_ms"] >= SHORT_MS).to_numpy(np.bool_)
    long_s = np.concatenate([[-np.inf], np.sort(at_s[long]), [np.inf]])
    after = np.searchsorted(long_s, at_s)
    kept: pd.DataFrame = stalls[long | (at_s - long_s[after - 1] <= BURST_S) | (long_s[after] - at_s <= BURST_S)]
    return kept


def undisturbed(stalls: pd.DataFrame, slices: pd.DataFrame, utilisation: float) -> tuple[dict[float, float], float]:
    """Return ({percentile (0..1): latency in us}, share of time left out), from tenths of a second without a stall.

    `slices`: the load's response times by tenth of a second. `utilisation`: of the server, see `windows`.
    """
    at = np.round(slices["t_s"].to_numpy(float) / SLICE_S).astype(int)
    gone = dropped(stalls, int(at.max(initial=-1)) + 1, utilisation)
    by_value = slices[~gone[at] & (slices["count"] > 0)].groupby("us")["count"].sum()
    samples = Samples(by_value.index.to_numpy(float), by_value.to_numpy(np.int64))
    percentiles = {level: samples.percentile(level) for level in LEVELS if samples.total}
    return percentiles, float(gone.mean()) if len(gone) else 0.0


def outside(requests: pd.DataFrame, stalls: pd.DataFrame) -> tuple[pd.DataFrame, float]:
    """Return (the requests that ended in a tenth of a second without a stall, the share of time left out)."""
    came_s = requests["t_s"] + requests["response_us"].where(requests["fate"] == "completed", 0.0) / 1e6
    at = (came_s.to_numpy(float) / SLICE_S).astype(int)
    gone = dropped(stalls, int(at.max(initial=-1)) + 1)
    return requests[~gone[at]], float(gone.mean()) if len(gone) else 0.0


def dropped(stalls: pd.DataFrame, blocks: int, utilisation: float = MOST_UTILISATION) -> npt.NDArray[np.bool_]:
    """Return a mask of the first `blocks` tenths of a second: True if the window of a stall touches the tenth."""
    gone = np.zeros(blocks, dtype=np.bool_)
    for begin, end in windows(stalls, utilisation):
        gone[max(0, int(np.floor(begin / SLICE_S))) : max(0, int(np.floor(end / SLICE_S)) + 1)] = True
    return gone


def watched(step: Step) -> bool:
    """Return whether the stall witness, a program that records when a core stalls, ran during the step."""
    return step.record.witness is not None and bool(step.record.witness.cpus)
