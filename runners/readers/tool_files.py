"""Reads the files that load tools write for other programs: JSON summaries, CSV samples and HdrHistogram logs.

One file is one output, or one for each operation (a JMeter label, a command of memtier or redis-benchmark). What a file
does not say stays None; a file that is none of these, or is damaged, gives nothing and a problem that names it.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runners.readers.command_line import CommandLine
from runners.readers.console_report import LEVELS, ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.documents import Document, Problem
from runners.readers.request_tools import memtier_section

_MS, _S = 1e3, 1e6  # microseconds in a millisecond, in a second
_JTL = ("timeStamp", "elapsed", "label")
_HEY = ("response-time", "DNS+dialup")
_REDIS = ("test", "rps")
_AB = ("Percentage served", "Time in ms")
_HDR_LOG = ("#[Histogram log format version", "#[StartTime", '"StartTimestamp"', "#[BaseTime")
_IN_FLIGHT = "aborted due to deadline"  # what oha had sent when its time was over
_PEEK_LINES = 8


@dataclass(frozen=True, slots=True)
class FileOutputs:
    """What a whole file holds: its outputs, or why it could not be read as what it looks like."""

    reports: tuple[ConsoleReport, ...] = ()
    problem: Problem | None = None


def read_tool_file(document: Document) -> FileOutputs | None:
    """Read a document as a file of a load tool; None where it looks like none."""
    head = [line.text for line in document.lines[:_PEEK_LINES] if line.text.strip()]
    if not head or document.path.suffix.lower() == ".ipynb":
        return None
    first = head[0].lstrip("\ufeff").strip()
    if first.startswith("{"):
        return _json(document)
    if any(line.startswith(_HDR_LOG) for line in head):
        return _hdr_log(document)
    names = tuple(name.strip('" ') for name in first.split(","))
    reader = next((read for start, read in _TABLES.items() if names[: len(start)] == start), None)
    return _table(document, reader) if reader else None


def _spanning(reports: Sequence[ConsoleReport]) -> FileOutputs:
    return FileOutputs(tuple(reports)) if reports else FileOutputs()


def _number(value: object) -> float | None:
    """Read a finite number; None for whatever else stands there."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _count(value: object) -> int | None:
    number = _number(value)
    return round(number) if number is not None and 0 <= number < 1e18 else None


def _scaled(value: object, scale: float) -> float | None:
    number = _number(value)
    return None if number is None else number * scale


def _part(value: object, name: str) -> Mapping[str, Any]:
    """Give the object that stands under a name; an empty one where there is none."""
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _rows(named: Mapping[str, Any], scale: float, prefix: str, suffix: str = "") -> tuple[tuple[float, float], ...]:
    """Read percentiles that are named like `p99.9`, `p(95)` or `99th`."""
    rows: dict[float, float] = {}
    for name, value in named.items():
        text = name.removeprefix(prefix).removesuffix(suffix)
        level, time = _number(text) if text and text[0].isdigit() else None, _scaled(value, scale)
        if (
            name.startswith(prefix)
            and name.endswith(suffix)
            and level is not None
            and time is not None
            and level <= 100
        ):
            rows[round(level / 100, 9)] = time
    return tuple(sorted(rows.items()))


def _stats(mean_us: float | None, stdev_us: float | None, max_us: float | None) -> ThreadStats | None:
    return None if mean_us is None and max_us is None else ThreadStats(mean_us, stdev_us, max_us, None)


def _bad(codes: Mapping[str, Any]) -> int | None:
    counts = {code: _count(count) or 0 for code, count in codes.items()}
    return sum(count for code, count in counts.items() if not code.startswith(("2", "3"))) if codes else None


# JSON summaries


def _json(document: Document) -> FileOutputs | None:
    try:
        content = json.loads("\n".join(line.text for line in document.lines))
    except (ValueError, RecursionError) as error:
        mark = next((line for line in document.lines[:_PEEK_LINES] if _JSON_MARK(line.text)), None)
        if mark is None:
            return None  # any other text that begins with a brace
        return FileOutputs(problem=Problem(mark.number, f"a load tool's JSON that is damaged ({error}): not read"))
    if not isinstance(content, dict):
        return None
    reports = next((read(content) for there, read in _SUMMARIES if all(name in content for name in there)), None)
    return None if reports is None else _spanning(reports)


def _JSON_MARK(text: str) -> bool:  # noqa: N802
    return any(f'"{name}"' in text for name in ("latencies", "http_req_duration", "latencyPercentiles", "ALL STATS"))


def _vegeta(content: Mapping[str, Any]) -> list[ConsoleReport]:
    """Read `vegeta report -type=json`: nanoseconds; its rate is the offered one, its throughput leaves errors out."""
    times, sent_s = _part(content, "latencies"), _scaled(content.get("duration"), 1e-9)
    requests, rate = _count(content.get("requests")), _number(content.get("rate"))
    elapsed_s = None if sent_s is None else sent_s + (_scaled(content.get("wait"), 1e-9) or 0.0)
    largest = _scaled(times.get("max"), 1e-3)
    rows = _rows(times, 1e-3, "", "th")
    return [
        ConsoleReport(
            tool="vegeta",
            command=CommandLine("vegeta attack", "vegeta", rate_rps=rate) if rate else None,
            duration_s=elapsed_s,
            latency=_stats(_scaled(times.get("mean"), 1e-3), None, largest),
            latencies=Latencies(None, (*rows, (1.0, largest)) if largest is not None else rows),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=_bad(_part(content, "status_codes")),
            requests_per_s=requests / elapsed_s if requests and elapsed_s else None,
        )
    ]


def _k6(content: Mapping[str, Any]) -> list[ConsoleReport]:
    """Read k6's `--summary-export` or the data of its handleSummary: milliseconds; p90 and p95 unless more is asked."""
    metrics = _part(content, "metrics")

    def values(name: str) -> Mapping[str, Any]:
        metric = _part(metrics, name)
        return _part(metric, "values") or metric

    times, sent, failed = values("http_req_duration"), values("http_reqs"), values("http_req_failed")
    if not times:
        return []
    dropped = _count(values("dropped_iterations").get("count"))
    median, largest = _scaled(times.get("med"), _MS), _scaled(times.get("max"), _MS)
    rows = dict(_rows(times, _MS, "p(", ")"))
    if median is not None:
        rows[0.5] = median
    if largest is not None:
        rows[1.0] = largest
    requests, rate = _count(sent.get("count")), _number(sent.get("rate"))
    elapsed_s = requests / rate if requests and rate else None
    started = _count(values("iterations").get("count"))
    whole = 1 + dropped / started if dropped and started else None  # iterations that were due to those that began
    offered = rate * whole if rate and whole else None
    return [
        ConsoleReport(
            tool="k6",
            command=CommandLine("k6", "k6", rate_rps=offered) if offered else None,
            duration_s=elapsed_s,
            connections=_count(values("vus_max").get("max") or values("vus_max").get("value")),
            latency=_stats(_scaled(times.get("avg"), _MS), None, largest),
            latencies=Latencies(None, tuple(sorted(rows.items()))),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=_count(failed.get("passes")),  # of the check "has it failed?"
            requests_per_s=rate,
            extra=(f"dropped_iterations: {dropped}",) if dropped else (),
        )
    ]


def _oha(content: Mapping[str, Any]) -> list[ConsoleReport]:
    """Read oha's `--output-format json`: seconds."""
    whole, largest = _part(content, "summary"), _scaled(_part(content, "summary").get("slowest"), _S)
    rows = _rows(_part(content, "latencyPercentiles"), _S, "p")
    codes, failed = _part(content, "statusCodeDistribution"), _part(content, "errorDistribution")
    lost = sum(_count(count) or 0 for name, count in failed.items() if name != _IN_FLIGHT)
    requests = sum(_count(count) or 0 for count in codes.values()) + lost
    elapsed_s = _number(whole.get("total"))
    return [
        ConsoleReport(
            tool="oha",
            duration_s=elapsed_s,
            latency=_stats(_scaled(whole.get("average"), _S), None, largest),
            latencies=Latencies(None, (*rows, (1.0, largest)) if largest is not None else rows),
            requests=requests or None,
            elapsed_s=elapsed_s,
            non_2xx=(_bad(codes) or 0) + lost,
            requests_per_s=_number(whole.get("requestsPerSec")),
        )
    ]


def _bombardier(content: Mapping[str, Any]) -> list[ConsoleReport]:
    """Read bombardier's `-o json`: microseconds."""
    asked, result = _part(content, "spec"), _part(content, "result")
    times = _part(result, "latency")
    if not times:
        return []
    counts = {
        name: _count(result.get(name)) or 0 for name in ("req1xx", "req2xx", "req3xx", "req4xx", "req5xx", "others")
    }
    elapsed_s, requests, largest = (
        _number(result.get("timeTakenSeconds")),
        sum(counts.values()),
        _number(times.get("max")),
    )
    rows, rate = _rows(_part(times, "percentiles"), 1.0, ""), _number(asked.get("rate"))
    return [
        ConsoleReport(
            tool="bombardier",
            command=CommandLine("bombardier", "bombardier", rate_rps=rate) if rate else None,
            duration_s=_number(asked.get("testDurationSeconds")) or elapsed_s,
            connections=_count(asked.get("numberOfConnections")),
            latency=_stats(_number(times.get("mean")), _number(times.get("stddev")), largest),
            latencies=Latencies(None, (*rows, (1.0, largest)) if largest is not None else rows),
            requests=requests or None,
            elapsed_s=elapsed_s,
            non_2xx=requests - counts["req2xx"] - counts["req3xx"],
            requests_per_s=requests / elapsed_s if requests and elapsed_s else None,
        )
    ]


def _memtier(content: Mapping[str, Any]) -> list[ConsoleReport]:
    """Read memtier_benchmark's `--json-out-file`: milliseconds, one output for each operation that was sent."""
    asked = _part(content, "configuration")
    threads, clients = _count(asked.get("threads")), _count(asked.get("clients"))
    limit = _number(asked.get("rate_limit"))
    rate = limit * threads * clients if limit and threads and clients else None  # the limit is of one connection
    reports = []
    for title in content:
        if (section := memtier_section(title)) is None:
            continue
        stats = _part(content, title)
        run_s = _scaled(_part(stats, "Runtime").get("Total duration"), 1e-3)
        for operation, one in stats.items():
            if operation in ("Runtime", "Totals") or not _count(_part(stats, operation).get("Count")):
                continue
            largest = _scaled(one.get("Max Latency"), _MS)
            rows = _rows(_part(one, "Percentile Latencies"), _MS, "p")
            reports.append(
                ConsoleReport(
                    tool="memtier_benchmark",
                    command=CommandLine("memtier_benchmark", "memtier_benchmark", rate_rps=rate) if rate else None,
                    duration_s=run_s,
                    threads=threads,
                    connections=threads * clients if threads and clients else None,
                    latency=_stats(_scaled(one.get("Average Latency"), _MS), None, largest),
                    latencies=Latencies(None, (*rows, (1.0, largest)) if largest is not None else rows),
                    requests=_count(one.get("Count")),
                    elapsed_s=run_s,
                    socket_errors=SocketErrors(_count(one.get("Connection Errors")) or 0, 0, 0, 0),
                    requests_per_s=_number(one.get("Ops/sec")),
                    operation=f"{operation}{section}",
                )
            )
    return reports


_SUMMARIES: tuple[tuple[tuple[str, ...], Callable[[Mapping[str, Any]], list[ConsoleReport]]], ...] = (
    (("latencies", "throughput", "requests"), _vegeta),
    (("latencyPercentiles", "summary"), _oha),  # which has metrics too
    (("metrics",), _k6),
    (("spec", "result"), _bombardier),
    (("ALL STATS",), _memtier),
    (("configuration", "run information"), _memtier),
)


# CSV


def _table(document: Document, read: Callable[[list[dict[str, str]]], list[ConsoleReport]]) -> FileOutputs:
    lines = [line.text.lstrip("\ufeff") for line in document.lines if line.text.strip()]
    try:
        rows = [{k: v for k, v in row.items() if k is not None and v is not None} for row in csv.DictReader(lines)]
        return _spanning(read(rows))
    except csv.Error as error:
        return FileOutputs(problem=Problem(1, f"a load tool's CSV that is damaged ({error}): not read"))


def of_samples(times_us: Sequence[float]) -> tuple[Latencies, ThreadStats]:
    """Summarise recorded latencies (microseconds, at least one): percentiles by nearest rank, mean and deviation."""
    ordered = sorted(times_us)
    count, mean = len(ordered), math.fsum(ordered) / len(ordered)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / count)
    rows = tuple((level, ordered[min(count, max(1, math.ceil(level * count - 1e-9))) - 1]) for level in LEVELS)
    return Latencies(None, rows), ThreadStats(mean, spread, ordered[-1], None)


def _jtl(rows: list[dict[str, str]]) -> list[ConsoleReport]:
    """Read JMeter's samples (.jtl): whole milliseconds, one output a label; sub-samples repeat their parent's time."""
    by_label: dict[str, list[tuple[float, float, bool]]] = {}
    threads = 0
    for row in rows:
        at, took = _number(row.get("timeStamp")), _number(row.get("elapsed"))
        if at is None or took is None:
            continue  # a line that was cut
        ok = row.get("success", "true").lower() == "true"
        by_label.setdefault(row.get("label", ""), []).append((at, took, ok))
        threads = max(threads, _count(row.get("allThreads")) or 0)
    reports = []
    for label, samples in by_label.items():
        latencies, stats = of_samples([took * _MS for _, took, _ in samples])
        elapsed_s = (max(at + took for at, took, _ in samples) - min(at for at, _, _ in samples)) / 1e3
        reports.append(
            ConsoleReport(
                tool="JMeter",
                duration_s=elapsed_s or None,
                connections=threads or None,
                latency=stats,
                latencies=latencies,
                requests=len(samples),
                elapsed_s=elapsed_s or None,
                non_2xx=sum(not ok for _, _, ok in samples),
                requests_per_s=len(samples) / elapsed_s if elapsed_s else None,
                operation=label if len(by_label) > 1 else "",
            )
        )
    return reports


def _hey_samples(rows: list[dict[str, str]]) -> list[ConsoleReport]:
    """Read hey's `-o csv`: seconds, a line a request; its offset is when the request was sent."""
    found = [(_number(row.get("offset")), _number(row.get("response-time")), row) for row in rows]
    samples = [(at, took, row) for at, took, row in found if took is not None]
    if not samples:
        return []
    latencies, stats = of_samples([took * _S for _, took, _ in samples])
    ends = [at + took for at, took, _ in samples if at is not None]
    elapsed_s = max(ends) if ends else None
    bad = sum(not row.get("status-code", "200").startswith(("2", "3")) for _, _, row in samples)
    return [
        ConsoleReport(
            tool="hey",
            duration_s=elapsed_s,
            latency=stats,
            latencies=latencies,
            requests=len(samples),
            elapsed_s=elapsed_s,
            non_2xx=bad,
            requests_per_s=len(samples) / elapsed_s if elapsed_s else None,
        )
    ]


def _redis(rows: list[dict[str, str]]) -> list[ConsoleReport]:
    """Read redis-benchmark's `--csv`: milliseconds, a line a command."""
    reports = []
    for row in rows:
        largest = _scaled(row.get("max_latency_ms"), _MS)
        times = {name.removesuffix("_latency_ms"): value for name, value in row.items() if name.startswith("p")}
        levels = _rows(times, _MS, "p")
        reports.append(
            ConsoleReport(
                tool="redis-benchmark",
                latency=_stats(_scaled(row.get("avg_latency_ms"), _MS), None, largest),
                latencies=Latencies(None, (*levels, (1.0, largest)) if largest is not None else levels),
                requests_per_s=_number(row.get("rps")),
                operation=row.get("test", ""),
            )
        )
    return reports


def _ab(rows: list[dict[str, str]]) -> list[ConsoleReport]:
    """Read ab's `-e`: milliseconds by per cent, with no number of requests."""
    times = {row.get(_AB[0], ""): row.get(_AB[1]) for row in rows}
    levels = _rows(times, _MS, "")
    return [ConsoleReport(tool="ab", latencies=Latencies(None, levels))] if levels else []


_TABLES: dict[tuple[str, ...], Callable[[list[dict[str, str]]], list[ConsoleReport]]] = {
    _JTL: _jtl,
    _HEY: _hey_samples,
    _REDIS: _redis,
    _AB: _ab,
}


# HdrHistogram logs


def _hdr_log(document: Document) -> FileOutputs:
    """Read an interval log: all its intervals of a tag as one distribution."""
    from runners.errors import ReadError
    from runners.readers.hdr_log import read_hdr_log  # it needs pandas, which most audits do not

    try:
        log = read_hdr_log(document.path)
    except ReadError as error:
        return FileOutputs(problem=Problem(0, f"an HdrHistogram log that can't be read: {error.cause}"))
    return _spanning(list(_tags(log)))


def _tags(log: Any) -> Iterator[ConsoleReport]:
    for kind in log.kinds:
        samples = log.merged(kind)
        if not samples.total:
            continue
        ends = [each.t_s + each.duration_s for each in log.intervals if each.kind == kind]
        elapsed_s = max(ends) - min(each.t_s for each in log.intervals if each.kind == kind)
        rows = tuple((level, float(samples.percentile(level))) for level in LEVELS)
        yield ConsoleReport(
            tool="HdrHistogram",
            duration_s=elapsed_s or None,
            latency=ThreadStats(None, None, float(samples.max_us), None),
            latencies=Latencies(None, rows),
            requests=int(samples.total),
            elapsed_s=elapsed_s or None,
            requests_per_s=samples.total / elapsed_s if elapsed_s else None,
            operation=kind if len(log.kinds) > 1 else "",
            extra=() if log.unit_stated else ("the unit of the values is not stated: read as microseconds",),
        )
