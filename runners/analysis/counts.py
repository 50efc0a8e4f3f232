"""Counts of a load: offered and achieved rate, CPU use, and failed requests (no response, or an unexpected status)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from runners import words
from runners.analysis.intervals import Bounded, difference, expected_hits, student_reach
from runners.design.load import HALF_ABSENT, WRK2_CALIBRATION_A_CONNECTION_S
from runners.design.objective import MOST_FAILED
from runners.readers.run import Step
from runners.readers.stacks import wilson

RESPONSE, SERVICE = "response", "service"
#: Columns of the summary that count requests without a good response.
ERRORS = ("non_2xx", "connect_errors", "read_errors", "write_errors", "timeouts", "parse_errors")


def number(step: Step, column: str) -> float:
    """Return the number in a column of the step's `summary` frame; NaN if the frame lacks the column."""
    summary = step.frames["summary"]
    known = not summary.empty and column in summary  # older runs lack younger columns
    value: Any = summary[column].iat[0] if known else math.nan
    return math.nan if pd.isna(value) else float(value)


def errors(step: Step) -> dict[str, float]:
    """Return the number of failed requests by kind (see ERRORS); kinds that the generator does not count are absent."""
    return {column: count for column in ERRORS if words.known(count := number(step, column))}


def offered_rps(step: Step) -> float:
    """Return the offered rate in requests per second, from the summary or else from the plan; NaN in closed loop."""
    value = number(step, "offered_rps")
    planned_rps = step.record.offered_rps
    return float(planned_rps) if math.isnan(value) and isinstance(planned_rps, (int, float)) else value


def achieved_rps(step: Step) -> float:
    """Return responses per second, whatever their status."""
    return number(step, "achieved_rps")


def achieved_share(step: Step) -> float:
    """Return the achieved rate divided by the offered rate; NaN in closed loop.

    The offered rate of wrk2 is lowered, since wrk2 sends less while its threads open one connection per 5 ms (wrk.c).
    """
    record, offered, elapsed_s = step.record, offered_rps(step), number(step, "elapsed_s")
    if record.generator.tool == "wrk2" and elapsed_s > 0:
        connections = (record.connections or 1) / (record.threads or 1)
        mean_wait_s = WRK2_CALIBRATION_A_CONNECTION_S * (connections - 1) / 2
        offered *= 1 - min(0.5, mean_wait_s / elapsed_s)
    return achieved_rps(step) / offered if offered else math.nan


def per_second(step: Step) -> pd.DataFrame:
    """Return the `intervals` frame's rows on response times: one per second with responses, no partial last second."""
    rows = step.frames["intervals"]
    rows = rows[(rows["kind"] == RESPONSE) & (rows["count"] > 0)].sort_values("t_s")
    if len(rows) > 1 and rows["count"].iloc[-1] < 0.5 * rows["count"].median():
        rows = rows.iloc[:-1]
    return rows.reset_index(drop=True)


@dataclass(frozen=True, slots=True)
class Failures:
    """The number of a load's requests that ended, and how many of these requests failed, by kind of failure."""

    requests: float  # that ended
    protocol: float = 0.0  # the response is no HTTP/1.1
    connection: float = 0.0  # connect, read and write errors
    timed_out: float = 0.0
    refused: float = 0.0  # an error status that the workload does not expect

    @property
    def failed(self) -> float:
        """The number of failed requests; at most `requests`, since a late response may be counted in two ways."""
        return min(self.requests, self.protocol + self.connection + self.timed_out + self.refused)

    @property
    def share(self) -> float:
        """The share of the requests that failed; 0 without requests."""
        return self.failed / self.requests if self.requests else 0.0


def by_status(step: Step) -> dict[str, int]:
    """Return the number of responses by status code; empty if the generator does not record them."""
    rows = step.frames["status"]
    return {str(code): int(count) for code, count in zip(rows["code"], rows["count"], strict=True)}


def refused_by_status(step: Step) -> dict[str, int]:
    """Return the number of responses by error status (400 or above), without statuses that the workload expects."""
    bad = {code: count for code, count in by_status(step).items() if code.isdecimal() and int(code) >= 400}
    return {code: count for code, count in bad.items() if code not in step.record.expected_status}


def failures(step: Step) -> Failures:
    """Return the number of a load's requests that ended, and the number that failed by kind of failure."""
    counted = errors(step)
    protocol, timed_out = counted.get("parse_errors", 0.0), counted.get("timeouts", 0.0)
    connection = sum(counted.get(f"{kind}_errors", 0.0) for kind in ("connect", "read", "write"))
    refused = counted.get("non_2xx", 0.0)
    if by_status(step):
        refused = float(sum(refused_by_status(step).values()))
    elif step.record.expected_status:
        refused = 0.0
    completed = number(step, "completed")
    ended = (completed if words.known(completed) else 0.0) + protocol + connection
    return Failures(max(ended, timed_out), protocol, connection, timed_out, refused)


def server_cores(step: Step) -> float:
    """Return how many cores the server kept busy, on average; NaN if not known."""
    return _mean(step, "server_cpu_cores")


def cpu_us(step: Step) -> float:
    """Return the server's CPU time per response, in microseconds; NaN if not known."""
    return server_cores(step) / achieved_rps(step) * 1e6 if achieved_rps(step) > 0 else math.nan


def used_by_others(step: Step) -> tuple[float, float]:
    """Return (cores that other processes kept busy, share of all cores that the hypervisor took); NaN if unknown."""
    return _mean(step, "foreign_cpu_cores"), _mean(step, "steal_share")


def _mean(step: Step, column: str) -> float:
    telemetry = step.frames["telemetry"]
    return float(telemetry[column].mean()) if column in telemetry else math.nan


#: (ended, failed): the number of requests that ended, and the number of those that failed.
Counts = tuple[int, int]


def of_step(step: Step) -> Counts:
    """Return (ended, failed): the numbers of ended and of failed requests of a load on one server."""
    counted = failures(step)
    return int(counted.requests), int(counted.failed)


def of_targets(step: Step, names: Sequence[str]) -> dict[str, Counts]:
    """Return {server: (ended, failed)}: numbers of requests of each server in `names`, in a load that they share."""
    fates = step.frames["requests"].groupby("target", observed=True)["fate"].value_counts()
    counts_of = {}
    for row in step.frames["targets"].fillna({"non_2xx": 0, "completed": 0}).to_dict("records"):
        if (name := row["target"]) in names:
            completed, without = (int(fates.get((name, fate), 0)) for fate in ("completed", "failed"))
            completed, refused = completed if len(fates) else int(row["completed"]), int(row["non_2xx"])
            if step.workload == HALF_ABSENT:  # by chance, half of its keys are absent
                refused = max(0, refused - int(expected_hits(completed, 2).high))
            counts_of[name] = completed + without, refused + without
    return counts_of


def failed_share(counts: Sequence[Counts]) -> float:
    """Return the number of failed requests divided by the number of all ended requests; 0 without requests."""
    ended = sum(requests for requests, _ in counts)
    return sum(failed for _, failed in counts) / ended if ended else 0.0


def failing(sides: Mapping[str, Sequence[Counts]]) -> dict[str, float]:
    """Return the share of failed requests by side (baseline or treatment), for sides with more than MOST_FAILED."""
    shares = {name: failed_share(counts) for name, counts in sides.items()}
    return {name: failed for name, failed in shares.items() if failed > MOST_FAILED}


def more_failed(treatment: Sequence[Counts], baseline: Sequence[Counts], *, paired: bool) -> Bounded:
    """Return a treatment's share of failed requests minus the baseline's, with an interval; NaN without requests.

    A side has one `Counts` per start or run. With `paired`, counts of equal index belong to the same start. The
    interval encloses two intervals: Student's over the starts, as errors come in bursts, and Newcombe's over all
    requests (R. G. Newcombe, 1998, Statistics in Medicine 17, method 10).
    """
    if paired:
        pairs = [pair for pair in zip(treatment, baseline, strict=True) if all(ended for ended, _ in pair)]
        treatment, baseline = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    sides = [[counts for counts in side if counts[0]] for side in (treatment, baseline)]
    if not all(sides):
        return Bounded(math.nan)
    wholes = [(failed_share(side), sum(ended for ended, _ in side)) for side in sides]
    pooled = difference(*(Bounded(whole, *wilson(whole, ended)) for whole, ended in wholes))
    shares = [np.array([failed / ended for ended, failed in side]) for side in sides]
    if (fewest := min(map(len, shares))) < 2:
        return pooled
    apart = [shares[0] - shares[1]] if paired else shares
    reach = student_reach(sum(float(values.var(ddof=1)) / len(values) for values in apart), fewest - 1)
    return Bounded(pooled.value, min(pooled.low, pooled.value - reach), max(pooled.high, pooled.value + reach))
