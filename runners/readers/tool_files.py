"""The files that load tools write for other programs, as a table: what a file is known by, and its reader.

One file is one output, or one for each operation (a JMeter label, a command of memtier or redis-benchmark). What a file
does not say stays None; a file that is none of these, or is damaged, gives nothing and a problem that names it.
"""

from __future__ import annotations

import csv
import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runners.readers import units
from runners.readers.command_line import CommandLine
from runners.readers.console_report import (
    ENOUGH_BEYOND,
    LEVELS,
    ConsoleReport,
    Footer,
    Latencies,
    SocketErrors,
    SpectrumRow,
    ThreadStats,
    beyond,
    rank,
)
from runners.readers.documents import Document, Problem
from runners.readers.summaries import memtier_section
from runners.readers.wrk_console import BUCKETS_OF_TRUEPACE

_MS, _S = 1e3, 1e6  # microseconds in a millisecond, in a second
_PEEK = 4_000  # characters, by which a file is known
_IN_FLIGHT = "aborted due to deadline"  # what oha had sent when its time was over
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileOutputs:
    """What a whole file holds: its outputs, or why it could not be read as what it looks like."""

    reports: tuple[ConsoleReport, ...] = ()
    problem: Problem | None = None


def read_tool_file(document: Document) -> FileOutputs | None:
    """Read a document as a file of a load tool; None where it looks like none."""
    text = document.text[: _PEEK + 1].lstrip("\ufeff \t\r\n")
    if not text or document.path.suffix.lower() == ".ipynb":
        return None
    first = text.partition("\n")[0].strip()
    for name, mark, remedy in _NOT_READ:
        if mark.match(first):
            return FileOutputs(problem=Problem(1, f"{name}: not read; {remedy}"))
    try:
        if first.startswith("{"):
            return _json(document)
        if _HDR_LOG.search(text):
            return _hdr_log(document)
        if (head := _HGRM.match(first)) and (document.path.suffix.lower() == ".hgrm" or head["unit"]):
            return _of(_hgrm(document.text))
        if _JTL_XML.search(text):
            return _of(_jtl_xml(document.text))
        return _table(document, first)
    except csv.Error as error:
        return FileOutputs(problem=Problem(1, f"a load tool's CSV that is damaged ({error}): not read"))


#: What is known to be a load tool's, and is not read: its name, its first line, and what to give in its place.
_NOT_READ = (
    ("Gatling's log", re.compile(r"^(?:RUN|ASSERTION|USER)\t"), "give js/stats.json"),
    ("Gatling's statistics as a script", re.compile(r"^var stats = \{"), "give js/stats.json"),
    ("Locust's history", re.compile(r"^Timestamp,User Count,Type,Name"), "give …_stats.csv"),
)


def _of(reports: Iterable[ConsoleReport]) -> FileOutputs:
    return FileOutputs(tuple(reports))


def _number(value: object, scale: float = 1.0) -> float | None:
    """Read a finite number, times a scale; None for whatever else stands there."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value) * scale
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _count(value: object) -> int | None:
    number = _number(value)
    return round(number) if number is not None and 0 <= number < 1e18 else None


def _sum(values: Iterable[object]) -> int:
    return sum(_count(value) or 0 for value in values)


def _part(value: object, *names: str) -> Json:
    """Give the object that stands under names, one in the other; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _run(
    tool: str,
    rows: Mapping[float, float],
    mean_us: float | None = None,
    stdev_us: float | None = None,
    max_us: float | None = None,
    offered_rps: float | None = None,
    **said: Any,
) -> ConsoleReport:
    """Make a run of a tool's figures; the rate is that of all requests where the file gives none."""
    if "end_s" in said:  # of clocks
        begin_s, end_s = said.pop("begin_s"), said.pop("end_s")
        said["elapsed_s"] = end_s - begin_s if begin_s and end_s and end_s > begin_s else None
    if "after_s" in said:  # the wait for the last response
        said["elapsed_s"] = (said["elapsed_s"] or 0.0) + (said.pop("after_s") or 0.0) or None
    requests, rate = said.get("requests"), said.get("requests_per_s")
    if said.get("elapsed_s") is None and requests and rate:
        said["elapsed_s"] = requests / rate
    elapsed_s = said.get("elapsed_s")
    said.setdefault("duration_s", elapsed_s)
    if rate is None:
        said["requests_per_s"] = requests / elapsed_s if requests and elapsed_s else None
    known = dict(rows) if max_us is None else {**rows, 1.0: max_us}
    return ConsoleReport(
        tool=tool,
        command=CommandLine("vegeta attack" if tool == "vegeta" else tool, tool, rate_rps=offered_rps)
        if offered_rps
        else None,
        latency=None if mean_us is None and max_us is None else ThreadStats(mean_us, stdev_us, max_us, None),
        latencies=Latencies(None, tuple(sorted(known.items())), (), said.pop("footer", None)),
        **said,
    )


def of_samples(times_us: Sequence[float]) -> tuple[Latencies, ThreadStats]:
    """Summarise recorded latencies (microseconds, at least one): percentiles by nearest rank, mean and deviation.

    Those that too few samples lie beyond are left out: nobody gave them.
    """
    ordered = sorted(times_us)
    count, mean = len(ordered), math.fsum(ordered) / len(ordered)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / count)
    rows = tuple((level, ordered[rank(count, level) - 1]) for level in _known(count))
    return Latencies(None, rows, (), Footer(total_count=count)), ThreadStats(mean, spread, ordered[-1], None)


def _known(count: int) -> Iterator[float]:
    return (level for level in LEVELS if level in (0.5, 1.0) or beyond(count, level) >= ENOUGH_BEYOND)


def _sampled(
    tool: str, samples: Sequence[tuple[float | None, float, bool]], start_scale_s: float, **said: Any
) -> Iterator[ConsoleReport]:
    """Make a run of its requests, if there are any: when each was sent, its microseconds, and whether it succeeded."""
    if not samples:
        return
    latencies, stats = of_samples([took for _, took, _ in samples])
    said.setdefault("footer", latencies.footer)
    ends = [at * start_scale_s + took / _S for at, took, _ in samples if at is not None]
    starts = [at * start_scale_s for at, _, _ in samples if at is not None]
    elapsed_s = max(ends) - min(starts) if ends else None
    yield _run(
        tool,
        dict(latencies.rows),
        stats.mean,
        stats.stdev,
        stats.max,
        requests=len(samples),
        elapsed_s=elapsed_s or None,
        non_2xx=sum(not ok for _, _, ok in samples),
        **said,
    )


# JSON: one object, or one a line


def _json(document: Document) -> FileOutputs | None:
    text = document.text.lstrip("\ufeff")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        for mark, read in _BY_LINE:
            if mark.match(text[:_PEEK].lstrip()):
                return _of(read(_objects(text)))
        if not _JSON_MARK.search(text[:_PEEK]):
            return None  # any other text that begins with a brace
        return FileOutputs(problem=Problem(1, f"a load tool's JSON that is damaged ({error}): not read"))
    if not isinstance(content, dict):
        return None
    for there, read_one in _OBJECTS:
        if all(name in content for name in there) and (reports := tuple(read_one(content))):
            return _of(reports)
    line = next((read for mark, read in _BY_LINE if mark.match(text[:_PEEK].lstrip())), None)
    return _of(line([content])) if line else None


def _objects(text: str) -> Iterator[Json]:
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line that was cut
        if isinstance(value, dict):
            yield value


@dataclass(frozen=True, slots=True)
class JsonSummary:
    """One tool's summary: the keys that it is known by, its figures, its percentiles, and how many requests failed.

    Figures are texts `name=path` or `name=path*scale`; a path leads through objects by `/`. Times without a scale are
    in `unit_us` microseconds. `lost` had no response, and where `lost_apart` are in no other count.
    """

    tool: str
    keys: tuple[str, ...]
    unit_us: float
    figures: str
    rows: Callable[[Json], Iterable[tuple[object, object]]]
    codes: Callable[[Json], Mapping[str, object]]  # how many responses had a status, by its beginning
    lost: Callable[[Json], int] = lambda content: 0
    lost_apart: bool = False

    def read(self, content: Json) -> Iterator[ConsoleReport]:
        said: dict[str, Any] = {}
        for figure in self.figures.split():
            name, _, path = figure.partition("=")
            path, _, scale = path.partition("*")
            *parts, last = path.split("/")
            value = (_part(content, *parts) if parts else content).get(last)
            by = float(scale or (self.unit_us if name.endswith("_us") else 1.0))
            said[name] = _count(value) if name in ("requests", "connections") else _number(value, by)
        levels = ((_level(level), _number(value, self.unit_us)) for level, value in self.rows(content))
        rows = {level: value for level, value in levels if level is not None and value is not None}
        codes, lost = self.codes(content), self.lost(content)
        bad = _sum(count for code, count in codes.items() if not code.startswith(("2", "3", "OK")))
        requests = said.pop("requests", None)
        if requests is None and codes:
            requests = _sum(codes.values()) + lost * (not self.lost_apart)
        if not rows and requests is None:
            return
        offered = said.pop("offered_rps", None)
        url = content.get("url") or content.get("URL")
        yield _run(
            self.tool,
            rows,
            requests=(requests or 0) + lost * self.lost_apart or None,
            non_2xx=bad + lost if codes or lost else None,
            offered_rps=offered if offered and offered > 0 else None,
            url=url if isinstance(url, str) else None,
            **said,
        )


def _level(name: object) -> float | None:
    """Read a percentile's name: 99.9, `p99.9`, `p99_9`, `p(95)` or `99th`, as a share; None for any other name."""
    found = re.fullmatch(r"p?\(?(\d{1,3}(?:[._]\d{1,7})?)(?:\)|th|%)?", str(name))
    level = round(float(found[1].replace("_", ".")) / 100, 9) if found else 2.0
    return level if level <= 1 else None


def _codes(*path: str) -> Callable[[Json], Mapping[str, object]]:
    return lambda content: _part(content, *path)


def _pairs(rows: str, level: str, value: str, *path: str) -> Callable[[Json], Iterable[tuple[object, object]]]:
    """Read percentiles that stand in a list of objects."""
    return lambda content: (
        (row.get(level), row.get(value)) for row in _list(_part({"": content}, "", *path).get(rows))
    )


def _named(*path: str) -> Callable[[Json], Iterable[tuple[object, object]]]:
    """Read percentiles that are the keys of an object."""
    return lambda content: _part(content, *path).items()


def _artillerys(content: Json) -> Iterable[tuple[object, object]]:
    times = _part(content, "aggregate", "summaries", "http.response_time")
    return ((f"{name[:3]}.{name[3:]}" if len(name) > 3 else name, value) for name, value in times.items())


def _counted(content: Json, prefix: str) -> Iterator[tuple[str, object]]:
    counters = _part(content, "aggregate", "counters").items()
    return ((name.removeprefix(prefix), count) for name, count in counters if name.startswith(prefix))


def _gatlings(content: Json) -> Iterable[tuple[object, object]]:
    """Return Gatling's percentiles: 50, 75, 95 and 99, unless gatling.conf names others."""
    return ((level, _part(content, f"percentiles{at}").get("total")) for at, level in enumerate((50, 75, 95, 99), 1))


_SUMMARIES = (
    JsonSummary(  # its rate is the offered one, and its throughput leaves errors out
        "vegeta", ("latencies", "throughput", "requests"), 1e-3,
        "mean_us=latencies/mean max_us=latencies/max offered_rps=rate requests=requests elapsed_s=duration*1e-9 "
        "after_s=wait*1e-9",
        _named("latencies"), _codes("status_codes"),
    ),
    JsonSummary(
        "oha", ("latencyPercentiles", "summary"), _S,
        "mean_us=summary/average max_us=summary/slowest elapsed_s=summary/total requests_per_s=summary/requestsPerSec",
        _named("latencyPercentiles"), _codes("statusCodeDistribution"),
        lambda content: _sum(n for why, n in _part(content, "errorDistribution").items() if why != _IN_FLIGHT),
    ),
    JsonSummary(
        "bombardier", ("spec", "result"), 1.0,
        "mean_us=result/latency/mean stdev_us=result/latency/stddev max_us=result/latency/max offered_rps=spec/rate "
        "duration_s=spec/testDurationSeconds connections=spec/numberOfConnections elapsed_s=result/timeTakenSeconds",
        _named("result", "latency", "percentiles"),
        lambda content: {name[3:]: n for name, n in _part(content, "result").items() if name[:3] == "req"},
        lambda content: _sum((_part(content, "result").get("others"),)),
    ),
    JsonSummary(  # a rate of -1, or one that is no number, is a closed loop
        "fortio", ("DurationHistogram",), _S,
        "mean_us=DurationHistogram/Avg stdev_us=DurationHistogram/StdDev max_us=DurationHistogram/Max "
        "offered_rps=RequestedQPS elapsed_s=ActualDuration*1e-9 connections=NumThreads "
        "requests=DurationHistogram/Count requests_per_s=ActualQPS",
        _pairs("Percentiles", "Percentile", "Value", "DurationHistogram"), _codes("RetCodes"),
    ),
    JsonSummary(  # what it calls errors had no response, and is in no other count
        "autocannon", ("latency", "requests", "non2xx"), _MS,
        "mean_us=latency/mean stdev_us=latency/stddev max_us=latency/max connections=connections "
        "requests=requests/total elapsed_s=duration requests_per_s=requests/mean",
        _named("latency"), lambda content: {"other": content.get("non2xx")},
        lambda content: _count(content.get("errors")) or 0, lost_apart=True,
    ),
    JsonSummary(
        "Artillery", ("aggregate",), _MS,
        "mean_us=aggregate/summaries/http.response_time/mean max_us=aggregate/summaries/http.response_time/max "
        "requests=aggregate/counters/http.requests begin_s=aggregate/firstCounterAt*1e-3 "
        "end_s=aggregate/lastCounterAt*1e-3",
        _artillerys,
        lambda content: dict(_counted(content, "http.codes.")),
        lambda content: _sum(n for _, n in _counted(content, "errors.")),
    ),
    JsonSummary(  # of before version 2
        "Artillery", ("aggregate",), _MS,
        "max_us=aggregate/latency/max requests=aggregate/requestsCompleted requests_per_s=aggregate/rps/mean",
        _named("aggregate", "latency"), _codes("aggregate", "codes"),
        lambda content: _sum(_part(content, "aggregate", "errors").values()), lost_apart=True,
    ),
    JsonSummary(  # of all responses, KO too
        "Gatling", ("numberOfRequests", "percentiles1"), _MS,
        "mean_us=meanResponseTime/total stdev_us=standardDeviation/total max_us=maxResponseTime/total "
        "requests=numberOfRequests/total requests_per_s=meanNumberOfRequestsPerSecond/total",
        _gatlings, lambda content: {"ko": _part(content, "numberOfRequests").get("ko")},
    ),
    JsonSummary(
        "ghz", ("latencyDistribution", "statusCodeDistribution"), 1e-3,
        "mean_us=average max_us=slowest offered_rps=options/rps connections=options/concurrency requests=count "
        "elapsed_s=total*1e-9 requests_per_s=rps",
        _pairs("latencyDistribution", "percentage", "latency"), _codes("statusCodeDistribution"),
    ),
    JsonSummary(
        "truepace", ("schema", "latency_us", "requests"), 1.0,
        "mean_us=latency_us/response/mean stdev_us=latency_us/response/stdev max_us=latency_us/response/max "
        "connections=connections requests=requests/completed offered_rps=offered_rps requests_per_s=achieved_rps "
        "duration_s=duration_s elapsed_s=elapsed_s",
        _named("latency_us", "response"), lambda content: {"other": _part(content, "errors").get("status")},
    ),
)  # fmt: skip


def _truepace(content: Json) -> Iterator[ConsoleReport]:
    """Read our own generator's report: response times from the intended start, in a closed loop service times."""
    closed, latencies = content.get("mode") == "closed", _part(content, "latency_us")
    kind = "service" if closed else "response"
    own = {
        **content,
        "latency_us": {"response": latencies.get(kind)},
        "offered_rps": None if closed else content.get("offered_rps"),
    }
    errors, censored = _part(content, "errors"), _count(_part(content, "requests").get("censored"))
    for run in _SUMMARIES[-1].read(own):
        yield replace(
            run,
            latencies=replace(run.latencies, footer=Footer(total_count=_count(_part(latencies, kind).get("count")))),
            threads=_count(content.get("threads")),
            socket_errors=SocketErrors(
                *(_count(errors.get(of)) or 0 for of in ("connect", "read", "write", "timeout"))
            ),
            closed_loop=closed,
            interrupted=content.get("interrupted") is True,
            extra=(f"censored {censored}",) if censored else (),
        )


def _k6(content: Json) -> Iterator[ConsoleReport]:
    """Read k6's `--summary-export` or the data of its handleSummary: milliseconds; p90 and p95 unless more is asked."""

    def values(name: str) -> Json:
        return _part(content, "metrics", name, "values") or _part(content, "metrics", name)

    times, sent = values("http_req_duration"), values("http_reqs")
    if not times:
        return
    dropped, started = _count(values("dropped_iterations").get("count")), _count(values("iterations").get("count"))
    requests, rate = _count(sent.get("count")), _number(sent.get("rate"))
    levels = ((0.5 if name == "med" else _level(name), _number(value, _MS)) for name, value in times.items())
    yield _run(
        "k6",
        {level: value for level, value in levels if level is not None and value is not None},
        _number(times.get("avg"), _MS),
        max_us=_number(times.get("max"), _MS),
        offered_rps=rate * (1 + dropped / started) if dropped and started and rate else None,  # what was due
        connections=_count(values("vus_max").get("max") or values("vus_max").get("value")),
        requests=requests,
        elapsed_s=requests / rate if requests and rate else None,
        non_2xx=_count(values("http_req_failed").get("passes")),  # of the check "has it failed?"
        requests_per_s=rate,
        extra=(f"dropped_iterations: {dropped}",) if dropped else (),
    )


def _memtier(content: Json) -> Iterator[ConsoleReport]:
    """Read memtier_benchmark's `--json-out-file`: milliseconds, one output for each operation that was sent."""
    asked = _part(content, "configuration")
    threads, clients, limit = _count(asked.get("threads")), _count(asked.get("clients")), asked.get("rate_limit")
    connections = threads * clients if threads and clients else None
    for title in content:
        section, stats = memtier_section(title), _part(content, title)
        run_s = _number(_part(stats, "Runtime").get("Total duration"), 1e-3)
        for operation in stats if section is not None else ():
            one = _part(stats, operation)
            if operation not in ("Runtime", "Totals") and _count(one.get("Count")):
                levels = ((_level(name), _number(ms, _MS)) for name, ms in _part(one, "Percentile Latencies").items())
                yield _run(
                    "memtier_benchmark",
                    {level: value for level, value in levels if level is not None and value is not None},
                    _number(one.get("Average Latency"), _MS),
                    max_us=_number(one.get("Max Latency"), _MS),
                    offered_rps=(_number(limit) or 0.0) * (connections or 0) or None,  # the limit is of one connection
                    threads=threads,
                    connections=connections,
                    requests=_count(one.get("Count")),
                    elapsed_s=run_s,
                    socket_errors=SocketErrors(_count(one.get("Connection Errors")) or 0, 0, 0, 0),
                    requests_per_s=_number(one.get("Ops/sec")),
                    operation=f"{operation}{section}",
                )


def _nighthawk(content: Json) -> Iterator[ConsoleReport]:
    """Read nighthawk's JSON: its durations are texts in seconds; the results of all its workers are `global`."""
    results = _list(content.get("results"))
    whole = next((one for one in results if one.get("name") == "global"), {})
    times = next((one for one in _list(whole.get("statistics")) if "request_to_response" in str(one.get("id"))), {})
    counts = {str(one.get("name")): one.get("value") for one in _list(whole.get("counters"))}
    levels = (
        (_number(row.get("percentile")), _text_us(row.get("duration"))) for row in _list(times.get("percentiles"))
    )
    asked, workers = _part(content, "options"), max(1, len(results) - 1)
    rate, overflow = _number(asked.get("requests_per_second")), _count(counts.get("benchmark.pool_overflow"))
    if times:
        yield _run(
            "nighthawk",
            {round(level, 9): value for level, value in levels if level is not None and value is not None},
            _text_us(times.get("mean")),
            _text_us(times.get("pstdev")),
            _text_us(times.get("max")),
            rate * workers if rate else None,  # each worker's own
            connections=(_count(asked.get("connections")) or 0) * workers or None,
            elapsed_s=units.time_s(str(whole.get("execution_duration"))),
            requests=_count(times.get("count")),
            non_2xx=_sum(counts.get(f"benchmark.http_{kind}") for kind in ("1xx", "4xx", "5xx", "xxx")),
            extra=(f"dropped_iterations: {overflow}",) if overflow else (),
        )


def _text_us(value: object) -> float | None:
    return units.go_time_us(str(value))


def _k6_points(lines: Iterable[Json]) -> Iterator[ConsoleReport]:
    """Read k6's `--out json`, a sample a line: milliseconds."""
    points = [_part(line, "data") for line in lines if line.get("metric") == "http_req_duration"]
    took = [(_number(point.get("value"), _MS), _part(point, "tags")) for point in points]
    yield from _sampled(
        "k6", [(None, us, str(tags.get("status", "200"))[:1] in "23") for us, tags in took if us is not None], 1.0
    )


def _vegeta_results(lines: Iterable[Json]) -> Iterator[ConsoleReport]:
    """Read `vegeta encode`, a JSON object a request: nanoseconds."""
    took = [(_number(line.get("latency"), 1e-3), str(line.get("code"))[:1] in "23") for line in lines]
    yield from _sampled("vegeta", [(None, us, ok) for us, ok in took if us is not None], 1.0)


#: Keys that an object has, and its reader; the first row whose keys are all there reads it.
_OBJECTS: tuple[tuple[tuple[str, ...], Callable[[Json], Iterator[ConsoleReport]]], ...] = (
    (("schema", "latency_us"), _truepace),
    *((summary.keys, summary.read) for summary in _SUMMARIES),
    (("metrics",), _k6),  # which oha has too
    (("ALL STATS",), _memtier),
    (("configuration", "run information"), _memtier),
    (("results", "options"), _nighthawk),
    (
        ("stats", "contents"),
        lambda content: next(s for s in _SUMMARIES if s.tool == "Gatling").read(_part(content, "stats")),
    ),
)
_BY_LINE: tuple[tuple[re.Pattern[str], Callable[[Iterable[Json]], Iterator[ConsoleReport]]], ...] = (
    (re.compile(r'^\{"metric":\s?"|^\{"(?:type|data)":.{0,600}"metric":'), _k6_points),
    (re.compile(r'^\{"attack":.{0,80}"seq":'), _vegeta_results),
)
_JSON_MARK = re.compile(
    r'"(?:latencies|http_req_duration|latencyPercentiles|ALL STATS|DurationHistogram|numberOfRequests|truepace/1)"'
)


# Tables: a request a line, or an operation a line

Row = Mapping[str, str]


def _jmeter(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read JMeter's samples (.jtl): whole milliseconds, one output a label."""
    by_label: dict[str, list[tuple[float | None, float, bool]]] = {}
    threads = 0
    for row in rows:
        at, took = _number(row.get("timeStamp")), _number(row.get("elapsed"), _MS)
        if took is not None and row.get("label") is not None:  # else a line that was cut
            ok = row.get("success", "true").lower() == "true"
            by_label.setdefault(row.get("label", ""), []).append((at, took, ok))
            threads = max(threads, _count(row.get("allThreads")) or 0)
    for label, samples in by_label.items():
        operation = label if len(by_label) > 1 else ""
        yield from _sampled("JMeter", samples, 1e-3, connections=threads or None, operation=operation)


def _jtl_xml(text: str) -> Iterator[ConsoleReport]:
    """Read JMeter's samples as XML; samples within one repeat their parent's time."""
    rows: list[Row] = []
    depth = 0
    for tag in _SAMPLE.finditer(text):
        if not tag["end"] and not depth:
            attributes = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(tag["attributes"])}
            rows.append({full: attributes[short] for short, full in _XML_NAMES.items() if short in attributes})
        depth = max(0, depth + (-1 if tag["end"] else 0 if tag["empty"] else 1))
    return _jmeter(rows)


_SAMPLE = re.compile(r"<(?P<end>/?)(?:httpSample|sample)\b(?P<attributes>[^<>]{0,5000}?)(?P<empty>/?)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_XML_NAMES = {"ts": "timeStamp", "t": "elapsed", "lb": "label", "s": "success", "na": "allThreads"}


def _hey(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read hey's `-o csv`: seconds; its offset is when the request was sent."""
    samples = [
        (_number(row.get("offset")), took, row.get("status-code", "200").startswith(("2", "3")))
        for row in rows
        if (took := _number(row.get("response-time"), _S)) is not None
    ]
    yield from _sampled("hey", samples, 1.0)


def _k6_csv(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read k6's `--out csv`: milliseconds, a sample of a metric a line."""
    return _k6_points(
        {"metric": row.get("metric_name"), "data": {"value": row.get("metric_value"), "tags": row}} for row in rows
    )


def _vegeta_csv(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read `vegeta encode -to csv`: nanoseconds, without a head."""
    samples = [
        (_number(row.get("at")), took, row.get("code", "").startswith(("2", "3")))
        for row in rows
        if (took := _number(row.get("took"), 1e-3)) is not None
    ]
    yield from _sampled("vegeta", samples, 1e-9)


def _ab_samples(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read ab's `-g`: whole milliseconds, and whole seconds of the clock, from which no rate can be reckoned."""
    samples = [(None, took, True) for row in rows if (took := _number(row.get("ttime"), _MS)) is not None]
    yield from _sampled("ab", samples, 1.0)


def _ab(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read ab's `-e`: milliseconds by per cent, with no number of requests."""
    levels = ((_level(row.get("Percentage served")), _number(row.get("Time in ms"), _MS)) for row in rows)
    if known := {level: value for level, value in levels if level is not None and value is not None}:
        yield _run("ab", known)


def _redis(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read redis-benchmark's `--csv`: milliseconds, a line a command."""
    for row in rows:
        levels = ((_level(name.removesuffix("_latency_ms")), _number(ms, _MS)) for name, ms in row.items())
        yield _run(
            "redis-benchmark",
            {level: us for level, us in levels if level is not None and us is not None},
            _number(row.get("avg_latency_ms"), _MS),
            max_us=_number(row.get("max_latency_ms"), _MS),
            requests_per_s=_number(row.get("rps")),
            operation=row.get("test", ""),
        )


def _locust(rows: list[Row]) -> Iterator[ConsoleReport]:
    """Read Locust's …_stats.csv: milliseconds, of which it rounds percentiles; all requests where it sums them up."""
    whole = [row for row in rows if row.get("Name") == "Aggregated"] or rows
    for row in whole:
        requests, rate = _count(row.get("Request Count")), _number(row.get("Requests/s"))
        most = _number(row.get("Max Response Time"), _MS)
        levels = ((_level(name), _number(ms, _MS)) for name, ms in row.items() if name.endswith("%"))
        yield _run(
            "Locust",
            {level: min(us, most or us) for level, us in levels if level is not None and us is not None},
            _number(row.get("Average Response Time"), _MS),
            max_us=most,
            requests=requests,
            requests_per_s=rate,
            non_2xx=_count(row.get("Failure Count")),
            operation=row.get("Name", "") if len(whole) > 1 else "",
        )


#: Columns that a table's head has, and its reader; the names of columns that have no head.
_TABLES: tuple[tuple[frozenset[str], Callable[[list[Row]], Iterator[ConsoleReport]]], ...] = (
    (frozenset({"timeStamp", "elapsed"}), _jmeter),
    (frozenset({"response-time", "DNS+dialup"}), _hey),
    (frozenset({"metric_name", "timestamp", "metric_value"}), _k6_csv),
    (frozenset({"test", "rps"}), _redis),
    (frozenset({"Percentage served", "Time in ms"}), _ab),
    (frozenset({"starttime", "seconds", "ctime", "ttime"}), _ab_samples),
    (frozenset({"Type", "Name", "Request Count", "Failure Count"}), _locust),
)
_HEADLESS: tuple[tuple[re.Pattern[str], tuple[str, ...], Callable[[list[Row]], Iterator[ConsoleReport]]], ...] = (
    (
        re.compile(r"^\d{13}(?P<by>[,;\t|])\d{1,9}(?P=by)[^\n]{1,1500}(?P=by)(?:true|false)(?P=by)"),
        ("timeStamp", "elapsed", "label", "code", "message", "thread", "type", "success", "why", "bytes"),
        _jmeter,
    ),
    (re.compile(r"^\d{19}(?P<by>,)\d{1,3},\d{1,15},\d+,\d+,"), ("at", "code", "took"), _vegeta_csv),
)


def _table(document: Document, first: str) -> FileOutputs | None:
    """Read a table by its head, whatever separates its columns and in whatever order they stand."""
    separator = max(",;\t|", key=first.count)
    head = [name.strip('" ') for name in first.split(separator)]
    reader = next((read for names, read in _TABLES if names <= set(head)), None)
    names: Sequence[str] | None = None
    if reader is None:
        for mark, columns, read in _HEADLESS:
            if match := mark.match(first):
                reader, names, separator = read, columns, match["by"]
                break
    if reader is None:
        return None
    lines = (line for line in document.text.lstrip("\ufeff \t\r\n").splitlines() if line.strip())
    rows = csv.DictReader(lines, fieldnames=names, delimiter=separator)
    return _of(reader([{name: value for name, value in row.items() if name and value is not None} for row in rows]))


# HdrHistogram: logs of intervals, and percentiles of one distribution

_HDR_LOG = re.compile(r'^(?:#\[Histogram log format version|#\[StartTime|"StartTimestamp"|#\[BaseTime)', re.MULTILINE)
_HGRM = re.compile(r"^\s*Value(?:\((?P<unit>ns|us|ms|s)\))?\s+Percentile\s+TotalCount\s+1/\(1-Percentile\)")
_HGRM_ROW = re.compile(r"^\s*(\d{1,15}(?:\.\d+)?)\s+(\d(?:\.\d+)?)\s+(\d{1,18})(?:\s+(\d[\d.]*|inf|Infinity))?\s*$")
_JTL_XML = re.compile(r"<testResults\b")


def _hgrm(text: str) -> Iterator[ConsoleReport]:
    """Read percentiles as HdrHistogram prints them: in the unit of their head, else in milliseconds, as our own."""
    first, *lines = text.lstrip("\ufeff \r\n").splitlines()
    head = _HGRM.match(first)
    named = head["unit"] if head else None
    in_ms = units.TIME_US[named or "ms"] / _MS
    rows = []
    for line in lines:
        if match := _HGRM_ROW.match(line):
            inverse = units.number((match[4] or "inf").replace("Infinity", "inf"))
            rows.append(SpectrumRow(float(match[1]) * in_ms, float(match[2]), int(match[3]), inverse))
    if not rows:
        return
    footer = re.search(r"Buckets\s*=\s*(\d{1,9})", text)
    ours = footer is not None and int(footer[1]) == BUCKETS_OF_TRUEPACE and not named
    counted = re.search(r"Total count\s*=\s*(\d{1,18})", text)
    count = int(counted[1]) if counted else rows[-1].total_count
    whole = Latencies(None, (), tuple(rows), Footer(total_count=count))
    levels = tuple((level, us) for level in _known(count) if (us := whole.at(level)) is not None)
    yield ConsoleReport(
        tool="truepace" if ours else "vegeta" if named else "HdrHistogram",
        latencies=replace(whole, rows=levels),
        requests=count,
        extra=() if ours or named else ("the unit of the values is not stated: read as milliseconds",),
    )


def _hdr_log(document: Document) -> FileOutputs:
    """Read an interval log: all its intervals of a tag as one distribution; nothing where its unit is not known."""
    from runners.errors import ReadError
    from runners.readers.hdr_log import read_hdr_log  # it needs pandas, which most audits do not

    try:
        log = read_hdr_log(document.path)
    except ReadError as error:
        return FileOutputs(problem=Problem(0, f"an HdrHistogram log that can't be read: {error.cause}"))
    if not log.unit_stated:
        remedy = "say it in a comment, e.g. #[values in microseconds]"
        return FileOutputs(problem=Problem(1, f"an HdrHistogram log that does not say its unit: not read; {remedy}"))
    return _of(_tags(log))


def _tags(log: Any) -> Iterator[ConsoleReport]:
    for kind in log.kinds:
        samples = log.merged(kind)
        if not samples.total:
            continue
        own = [interval for interval in log.intervals if interval.kind == kind]
        elapsed_s = max(one.t_s + one.duration_s for one in own) - min(one.t_s for one in own)
        yield _run(
            "HdrHistogram",
            {level: float(samples.percentile(level)) for level in _known(int(samples.total))},
            max_us=float(samples.max_us),
            footer=Footer(total_count=int(samples.total)),
            requests=int(samples.total),
            elapsed_s=elapsed_s or None,
            operation=kind if len(log.kinds) > 1 else "",
        )
