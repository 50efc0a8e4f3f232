"""Read the JSON that load tools write: one object of a whole run, or an object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Footer, SocketErrors
from runners.readers.documents import Problem
from runners.readers.figures import MS, S, count, number, percentiles, run_of, total
from runners.readers.table_files import K6, SampleTable

_PEEK = 4_000  # characters, by which a file is known
_IN_FLIGHT = "aborted due to deadline"  # what oha had sent when its time was over
Json = Mapping[str, Any]
Pairs = Iterable[tuple[object, object]]


def read_json(text: str) -> tuple[ConsoleReport, ...] | Problem | None:
    """Return the runs of a text that begins with a brace; None where it is no load tool's."""
    text = text.lstrip("\ufeff")
    by_line = next((read for mark, read in _BY_LINE if mark.match(text[:_PEEK].lstrip())), None)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        if by_line:
            return tuple(by_line(_objects(text)))
        damaged = _JSON_MARK.search(text[:_PEEK])
        return Problem(1, f"a load tool's JSON that is damaged ({error}): not read") if damaged else None
    for keys, read in _OBJECTS if isinstance(content, dict) else ():
        if all(key in content for key in keys) and (reports := tuple(read(content))):
            return reports
    return tuple(by_line([content])) if by_line and isinstance(content, dict) else None


def _objects(text: str) -> Iterator[Json]:
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line that was cut
        if isinstance(value, dict):
            yield value


def _part(value: object, *names: str) -> Json:
    """Return the object that stands under names, one in the other; an empty one where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class JsonSummary:
    """One tool's summary: the keys that it is known by, its figures, its percentiles, and how many requests failed.

    Figures are texts `name=path` or `name=path*scale+path*scale`; a path leads through objects by `/`. Times without a
    scale are in `unit_us` microseconds. `lost` had no response, and where `lost_apart` are in no other count.
    """

    tool: str
    keys: tuple[str, ...]
    unit_us: float
    figures: str
    rows: Callable[[Json], Pairs]
    codes: Callable[[Json], Mapping[str, object]]  # how many responses had a status, by its beginning
    lost: Callable[[Json], int] = lambda content: 0
    lost_apart: bool = False

    def read(self, content: Json) -> Iterator[ConsoleReport]:
        """Yield the run that an object is of, if it gives percentiles or a number of requests."""
        figures = (figure.partition("=") for figure in self.figures.split())
        values = {name: self._figure(content, name, terms) for name, _, terms in figures}
        rows = percentiles(self.rows(content), self.unit_us)
        codes, lost = self.codes(content), self.lost(content)
        bad = total(number for code, number in codes.items() if not code.startswith(("2", "3", "OK")))
        requests = count(values.pop("requests", None))
        if requests is None and codes:
            requests = total(codes.values()) + lost * (not self.lost_apart)
        if not rows and requests is None:
            return
        offered, elapsed_s = values.pop("offered_rps", None), values.pop("elapsed_s", None)
        url = content.get("url") or content.get("URL")
        fields: dict[str, Any] = values | {"connections": count(values.get("connections"))}
        yield run_of(
            self.tool,
            rows,
            requests=(requests or 0) + lost * self.lost_apart or None,
            non_2xx=bad + lost if codes or lost else None,
            offered_rps=offered if offered and offered > 0 else None,
            elapsed_s=elapsed_s if elapsed_s and elapsed_s > 0 else None,
            url=url if isinstance(url, str) else None,
            **fields,
        )

    def _figure(self, content: Json, name: str, terms: str) -> float | None:
        """Return the sum of a figure's terms; None where the first one is not there."""
        values = []
        for term in terms.split("+"):
            path, _, scale = term.partition("*")
            *parts, last = path.split("/")
            default = self.unit_us if name.endswith("_us") else 1.0
            values.append(number(_part(content, *parts).get(last), float(scale or default)))
        return None if values[0] is None else sum(value or 0.0 for value in values)


def _codes(*path: str) -> Callable[[Json], Mapping[str, object]]:
    return lambda content: _part(content, *path)


def _pairs(rows: str, level: str, value: str, *path: str) -> Callable[[Json], Pairs]:
    """Read percentiles that stand in a list of objects."""
    return lambda content: ((row.get(level), row.get(value)) for row in _list(_part(content, *path).get(rows)))


def _named(*path: str) -> Callable[[Json], Pairs]:
    """Read percentiles that are the keys of an object."""
    return lambda content: _part(content, *path).items()


def _artillery(content: Json) -> Pairs:
    times = _part(content, "aggregate", "summaries", "http.response_time")
    return ((f"{name[:3]}.{name[3:]}" if len(name) > 3 else name, value) for name, value in times.items())


def _counted(content: Json, prefix: str) -> dict[str, object]:
    counters = _part(content, "aggregate", "counters").items()
    return {name.removeprefix(prefix): number for name, number in counters if name.startswith(prefix)}


def _gatling(content: Json) -> Pairs:
    """Return Gatling's percentiles: 50, 75, 95 and 99, unless gatling.conf names others."""
    return (
        (level, _part(content, f"percentiles{place}").get("total")) for place, level in enumerate((50, 75, 95, 99), 1)
    )


_SUMMARIES = (
    JsonSummary(  # its rate is the offered one, and its throughput leaves errors out
        "vegeta", ("latencies", "throughput", "requests"), 1e-3,
        "mean_us=latencies/mean max_us=latencies/max offered_rps=rate requests=requests "
        "elapsed_s=duration*1e-9+wait*1e-9",
        _named("latencies"), _codes("status_codes"),
    ),
    JsonSummary(
        "oha", ("latencyPercentiles", "summary"), S,
        "mean_us=summary/average max_us=summary/slowest elapsed_s=summary/total requests_per_s=summary/requestsPerSec",
        _named("latencyPercentiles"), _codes("statusCodeDistribution"),
        lambda content: total(n for why, n in _part(content, "errorDistribution").items() if why != _IN_FLIGHT),
    ),
    JsonSummary(
        "bombardier", ("spec", "result"), 1.0,
        "mean_us=result/latency/mean stdev_us=result/latency/stddev max_us=result/latency/max offered_rps=spec/rate "
        "duration_s=spec/testDurationSeconds connections=spec/numberOfConnections elapsed_s=result/timeTakenSeconds",
        _named("result", "latency", "percentiles"),
        lambda content: {name[3:]: n for name, n in _part(content, "result").items() if name[:3] == "req"},
        lambda content: total((_part(content, "result").get("others"),)),
    ),
    JsonSummary(  # a rate of -1, or one that is no number, is a closed loop
        "fortio", ("DurationHistogram",), S,
        "mean_us=DurationHistogram/Avg stdev_us=DurationHistogram/StdDev max_us=DurationHistogram/Max "
        "offered_rps=RequestedQPS elapsed_s=ActualDuration*1e-9 connections=NumThreads "
        "requests=DurationHistogram/Count requests_per_s=ActualQPS",
        _pairs("Percentiles", "Percentile", "Value", "DurationHistogram"), _codes("RetCodes"),
    ),
    JsonSummary(  # what it calls errors had no response, and is in no other count
        "autocannon", ("latency", "requests", "non2xx"), MS,
        "mean_us=latency/mean stdev_us=latency/stddev max_us=latency/max connections=connections "
        "requests=requests/total elapsed_s=duration requests_per_s=requests/mean",
        _named("latency"), lambda content: {"other": content.get("non2xx")},
        lambda content: count(content.get("errors")) or 0, lost_apart=True,
    ),
    JsonSummary(
        "Artillery", ("aggregate",), MS,
        "mean_us=aggregate/summaries/http.response_time/mean max_us=aggregate/summaries/http.response_time/max "
        "requests=aggregate/counters/http.requests "
        "elapsed_s=aggregate/firstCounterAt*-1e-3+aggregate/lastCounterAt*1e-3",
        _artillery,
        lambda content: _counted(content, "http.codes."),
        lambda content: total(_counted(content, "errors.").values()),
    ),
    JsonSummary(  # of before version 2
        "Artillery", ("aggregate",), MS,
        "max_us=aggregate/latency/max requests=aggregate/requestsCompleted requests_per_s=aggregate/rps/mean",
        _named("aggregate", "latency"), _codes("aggregate", "codes"),
        lambda content: total(_part(content, "aggregate", "errors").values()), lost_apart=True,
    ),
    JsonSummary(  # of all responses, KO too
        "Gatling", ("numberOfRequests", "percentiles1"), MS,
        "mean_us=meanResponseTime/total stdev_us=standardDeviation/total max_us=maxResponseTime/total "
        "requests=numberOfRequests/total requests_per_s=meanNumberOfRequestsPerSecond/total",
        _gatling, lambda content: {"ko": _part(content, "numberOfRequests").get("ko")},
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
    content_of_kind = {
        **content,
        "latency_us": {"response": latencies.get(kind)},
        "offered_rps": None if closed else content.get("offered_rps"),
    }
    errors, censored = _part(content, "errors"), count(_part(content, "requests").get("censored"))
    for run in _SUMMARIES[-1].read(content_of_kind):
        yield replace(
            run,
            latencies=replace(run.latencies, footer=Footer(total_count=count(_part(latencies, kind).get("count")))),
            threads=count(content.get("threads")),
            socket_errors=SocketErrors(
                *(count(errors.get(cause)) or 0 for cause in ("connect", "read", "write", "timeout"))
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
    dropped, started = count(values("dropped_iterations").get("count")), count(values("iterations").get("count"))
    rate = number(sent.get("rate"))
    yield run_of(
        "k6",
        percentiles((("50" if name == "med" else name, value) for name, value in times.items()), MS),
        number(times.get("avg"), MS),
        max_us=number(times.get("max"), MS),
        offered_rps=rate * (1 + dropped / started) if dropped and started and rate else None,  # what was due
        connections=count(values("vus_max").get("max") or values("vus_max").get("value")),
        requests=count(sent.get("count")),
        non_2xx=count(values("http_req_failed").get("passes")),  # of the check "has it failed?"
        requests_per_s=rate,
        extra=(f"dropped_iterations: {dropped}",) if dropped else (),
    )


def _nighthawk(content: Json) -> Iterator[ConsoleReport]:
    """Read nighthawk's JSON: its durations are texts in seconds; the results of all its workers are `global`."""
    results = _list(content.get("results"))
    whole: Json = next((result for result in results if result.get("name") == "global"), {})
    statistics = _list(whole.get("statistics"))
    times: Json = next((item for item in statistics if "request_to_response" in str(item.get("id"))), {})
    counts = {str(counter.get("name")): counter.get("value") for counter in _list(whole.get("counters"))}
    levels = ((number(row.get("percentile")), _text_us(row.get("duration"))) for row in _list(times.get("percentiles")))
    options, workers = _part(content, "options"), max(1, len(results) - 1)
    rate, overflow = number(options.get("requests_per_second")), count(counts.get("benchmark.pool_overflow"))
    if times:
        yield run_of(
            "nighthawk",
            {round(level, 9): value for level, value in levels if level is not None and value is not None},
            _text_us(times.get("mean")),
            _text_us(times.get("pstdev")),
            _text_us(times.get("max")),
            rate * workers if rate else None,  # each worker's own
            connections=(count(options.get("connections")) or 0) * workers or None,
            elapsed_s=units.time_s(str(whole.get("execution_duration"))),
            requests=count(times.get("count")),
            non_2xx=total(counts.get(f"benchmark.http_{kind}") for kind in ("1xx", "4xx", "5xx", "xxx")),
            extra=(f"dropped_iterations: {overflow}",) if overflow else (),
        )


def _text_us(value: object) -> float | None:
    return units.go_time_us(str(value))


def _k6_points(lines: Iterable[Json]) -> Iterator[ConsoleReport]:
    """Read k6's `--out json`, a sample a line, as the rows of its `--out csv`."""
    points = ((line.get("metric"), _part(line, "data")) for line in lines)
    return K6.read(
        {**_part(point, "tags"), "metric_name": metric, "metric_value": point.get("value")} for metric, point in points
    )


#: Keys that an object has, and its reader; the first row whose keys are all there reads it.
_OBJECTS: tuple[tuple[tuple[str, ...], Callable[[Json], Iterator[ConsoleReport]]], ...] = (
    (("schema", "latency_us"), _truepace),
    *((summary.keys, summary.read) for summary in _SUMMARIES),
    (("metrics",), _k6),  # which oha has too
    (("results", "options"), _nighthawk),
    (
        ("stats", "contents"),
        lambda content: next(own for own in _SUMMARIES if own.tool == "Gatling").read(_part(content, "stats")),
    ),
)
_BY_LINE: tuple[tuple[re.Pattern[str], Callable[[Iterable[Json]], Iterator[ConsoleReport]]], ...] = (
    (re.compile(r'^\{"metric":\s?"|^\{"(?:type|data)":.{0,600}"metric":'), _k6_points),
    (re.compile(r'^\{"attack":.{0,80}"seq":'), SampleTable("vegeta", "latency", 1e-3, "code").read),
)
_JSON_MARK = re.compile(
    r'"(?:latencies|http_req_duration|latencyPercentiles|DurationHistogram|numberOfRequests|truepace/1)"'
)
