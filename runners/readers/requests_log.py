"""Reader of the generator's log of HTTP requests (`--requests-log`), and the figures of each step of a rate sweep.

Format: `runners/loadgen/docs/requests.md`. Requests are written in blocks; a last block that was cut short is omitted.
"""

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from runners import words
from runners.design.session import Sweep
from runners.errors import ReadError, why
from runners.readers.console_report import rank
from runners.readers.run import COLUMNS, frame

MAGIC = b"LGREQS\x02\n"
FATES = ("completed", "failed", "censored", "unsent")
_DESCRIPTION, _REQUESTS = 1, 2
_HEAD = struct.Struct("<II")
_ROW = np.dtype([
    *((name, "<u8") for name in ("slot", "intended_ns", "wait_ns", "service_ns", "read_ns", "lag_ns")),
    ("written_bytes", "<u4"), ("read_bytes", "<u4"), ("status", "<u2"), ("target", "u1"), ("predecessor", "u1"),
    ("tag", "u1"), ("fate", "u1"), ("reserved", "V2"),
])  # fmt: skip
_REMEDY = "run the step again"


@dataclass(frozen=True, slots=True)
class RequestsLog:
    """The requests in a generator's log.

    `frame` has a row per request, sorted by `t_s`, the intended start in seconds since `start_unix_us`. `lag_us` is the
    send delay. `predecessor` is the target of the previous request; missing if targets are loaded in slices of time.
    """

    frame: pd.DataFrame
    start_unix_us: int


def read_requests_log(path: Path) -> RequestsLog:
    """Return the log in a file. Raises ReadError for any other file, an unknown block, or a target without a name."""
    description, rows = _blocks(path)
    targets = tuple(str(name) for name in description["targets"])
    if len(rows) and int(rows["target"].max()) >= len(targets):
        raise ReadError(path, f"has requests to a target beyond its {len(targets)}", _REMEDY)
    return RequestsLog(_frame(rows, targets, description["tags"]), int(description["start_unix_us"]))


def _blocks(path: Path) -> tuple[dict[str, Any], Any]:
    """Return the last JSON header in a log, and the requests of all its complete blocks; a cut block is left out."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReadError(path, f"can't be read ({why(error)})", _REMEDY) from error
    if not data.startswith(MAGIC):
        raise ReadError(path, "is no log of requests, or of a version that this lab does not read", _REMEDY)
    description: dict[str, Any] = {}
    blocks: list[Any] = []
    at = len(MAGIC)
    while at + _HEAD.size <= len(data):
        kind, length = _HEAD.unpack_from(data, at)
        body = memoryview(data)[at + _HEAD.size : at + _HEAD.size + length]
        if len(body) < length:
            break
        if kind == _DESCRIPTION:
            description = json.loads(bytes(body))
        elif kind == _REQUESTS and length % _ROW.itemsize == 0:
            blocks.append(np.frombuffer(body, _ROW))
        else:
            raise ReadError(path, f"has a block of kind {kind} and {length} bytes at byte {at}", _REMEDY)
        at += _HEAD.size + length
    if not description:
        raise ReadError(path, "has no description", _REMEDY)
    return description, np.concatenate([np.empty(0, _ROW), *blocks])


def merged_requests(paths: Sequence[Path], start_unix_us: int) -> bytes:
    """Return one log as bytes, with the requests of all logs in `paths`, whose windows all began at `start_unix_us`.

    Tags, numbers that stand for operations, are renumbered. Raises ReadError as `read_requests_log` does.
    """
    tags: list[str] = []
    merged, description = [], dict[str, Any]()
    for path in paths:
        own, rows = _blocks(path)
        description = description or own
        tags += [tag for tag in own["tags"] if tag not in tags]
        numbers = np.array([0, *(tags.index(tag) + 1 for tag in own["tags"])], np.uint8)
        rows["tag"] = numbers[rows["tag"]]
        merged.append(rows)
    rows = np.concatenate(merged).tobytes()
    head = json.dumps({**description, "tags": tags, "start_unix_us": start_unix_us}).encode()
    blocks = ((_DESCRIPTION, head), (_REQUESTS, rows))
    return MAGIC + b"".join(_HEAD.pack(kind, len(body)) + body for kind, body in blocks)


def requests_frame(path: Path) -> pd.DataFrame:
    """Return the `requests` data frame, a row per request, of the log in a file. Raises ReadError for a bad log."""
    columns = COLUMNS["requests"]
    return read_requests_log(path).frame[list(columns)].astype(columns)


BLOCKS = 40  # most blocks of time that a log of requests is cut into
LEAST_BLOCK_S = 0.25  # a block of time is longer than a burst of stalls


def successions(requests: pd.DataFrame) -> pd.DataFrame:
    """Return the `successions` data frame: median service time by server and by the server of the previous request."""
    known = requests[(requests["fate"] == "completed") & requests["predecessor"].notna()]
    medians = known.groupby(["target", "predecessor"], observed=True)["service_us"].quantile(0.5)
    table = medians.reset_index().itertuples(index=False)
    rows = (dict(zip(COLUMNS["successions"], row, strict=True)) for row in table)
    return frame("successions", rows)


def time_blocks(at_s: Any) -> tuple[Any, int]:
    """Return (for every start in `at_s`, the index of its block of time; number of blocks, 0 for a short log)."""
    length_s = float(at_s.max() - at_s.min()) if len(at_s) else 0.0
    count = min(BLOCKS, int(length_s / LEAST_BLOCK_S))
    if not count:
        return np.zeros(0, int), 0
    return np.minimum(((at_s - at_s.min()) / length_s * count).astype(int), count - 1), count


def _frame(rows: Any, targets: tuple[str, ...], tags: list[str]) -> pd.DataFrame:
    rows = rows[np.argsort(rows["intended_ns"], kind="stable")]

    def named(codes: Any, names: tuple[str, ...], first: int = 0) -> Any:
        codes = codes.astype(np.int64) - first
        codes[codes >= len(names)] = -1
        return pd.Categorical.from_codes(codes, categories=pd.Index(names, dtype=str))

    return pd.DataFrame(
        {
            "t_s": rows["intended_ns"] / 1e9,
            "target": named(rows["target"], targets),
            "predecessor": named(rows["predecessor"], targets),
            "operation": named(rows["tag"], tuple(tags), first=1),
            "fate": named(rows["fate"], FATES),
            "response_us": (rows["wait_ns"] + rows["service_ns"]) / 1e3,
            **{f"{time}_us": rows[f"{time}_ns"] / 1e3 for time in ("wait", "service", "read", "lag")},
            **{name: rows[name] for name in ("slot", "written_bytes", "read_bytes", "status")},
        }
    )


#: A response up to this long after its step's end still counts in the achieved rate.
GRACE_S = 0.01
LEVELS = {0.5: "p50_us", 0.9: "p90_us", 0.99: "p99_us", 0.999: "p999_us"}
_REFUSED = 400  # the lowest HTTP status that counts as an error


def rate_steps_frame(requests: pd.DataFrame, stalls: pd.DataFrame, sweep: Sweep) -> pd.DataFrame:
    """Return the `rate_steps` data frame: a row for each rate of a sweep, a load that changes its rate in steps.

    `requests` is the frame of RequestsLog, `stalls` that of StallLog. The pauses between rates are left out. A request
    without a response has an infinite response time.
    """
    requests = requests.sort_values("t_s", kind="stable")
    at_s = requests["t_s"].to_numpy(float)
    completed = (requests["fate"] == "completed").to_numpy()
    lost = (requests["fate"] == "failed").to_numpy() | (completed & (requests["status"] >= _REFUSED).to_numpy())
    response_us = np.where(completed, requests["response_us"].to_numpy(float), math.inf)
    least_us = least_response_us(requests)
    began_s = stalls["t_s"].to_numpy(float)
    ended_s = began_s + stalls["duration_ms"].to_numpy(float) / 1000
    rows = []
    for index, rps in enumerate(sweep.rates):
        begin = index * (sweep.step_s + sweep.rest_s)
        end = begin + sweep.step_s
        mine = slice(*np.searchsorted(at_s, [begin, end]))
        if mine.start == mine.stop:
            continue
        values, least = np.sort(response_us[mine]), np.sort(least_us[mine])
        stood_s = float(np.clip(np.minimum(ended_s, end) - np.maximum(began_s, begin), 0, None).sum())
        rows.append(
            {
                "t_s": begin,
                "length_s": sweep.step_s,
                "offered_rps": rps,
                "requests": len(values),
                "achieved": _in_time(at_s[mine], response_us[mine], end),
                "achieved_most": _in_time(at_s[mine], least_us[mine], end) if words.known(least[-1]) else math.nan,
                "lost": float(lost[mine].mean()),
                "stalled": stood_s / sweep.step_s,
                **{name: float(values[rank(len(values), level) - 1]) for level, name in LEVELS.items()},
                **{least_of(name): float(least[rank(len(least), level) - 1]) for level, name in LEVELS.items()},
            }
        )
    return frame("rate_steps", rows)


def _in_time(at_s: Any, response_us: Any, end_s: float) -> float:
    return float((at_s + response_us / 1e6 <= end_s + GRACE_S).mean())


def least_of(column: str) -> str:
    """Return the name of the column with a lower bound of a percentile: `p99_least_us` for `p99_us`."""
    return column.replace("_us", "_least_us")


def least_response_us(requests: pd.DataFrame) -> Any:
    """Return lower bounds of the response times (us) that a punctual generator would have read; NaN where unknown.

    `requests` is RequestsLog's frame. If a server serves requests in order, a late send also delays the requests after
    it. This delay is at most the longest lateness so far in the busy period, a time in which the server is never idle.
    The longest lateness is subtracted (D. Lindley, 1952, *The theory of queues with a single server*, Mathematical
    Proceedings of the Cambridge Philosophical Society 48). A request without a response has the time that it waited.
    """
    # rounded to whole nanoseconds, so that requests sent together stay in order
    sent_us = (requests["t_s"] * 1e6 + requests["wait_us"]).round(3).to_numpy(float)
    response_us, lag_us = requests["response_us"].to_numpy(float), requests["lag_us"].to_numpy(float)
    order = np.argsort(sent_us, kind="stable")
    ended_us = np.where(requests["fate"] == "completed", (requests["t_s"] * 1e6 + response_us).round(3), math.inf)
    before_us = np.concatenate(([-math.inf], np.maximum.accumulate(ended_us[order])[:-1]))
    period = np.cumsum(sent_us[order] > before_us)
    latest_us = np.empty(len(order))
    latest_us[order] = pd.Series(lag_us[order]).groupby(period).cummax()
    return np.maximum(0.0, response_us - latest_us)
