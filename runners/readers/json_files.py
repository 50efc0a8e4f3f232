"""Readers of the JSON that load tools write: one object for a whole run, or one object per line (per request).

Most tools' objects are described in load_tools.toml (see `JsonSummary`); the others have a function here.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from runners.readers import units
from runners.readers.console_report import ConsoleReport, SocketErrors
from runners.readers.documents import PEEK, Problem
from runners.readers.figures import Json, at, command_of, count, number, part, percentiles, run_of
from runners.readers.table_files import K6, SampleTable
from runners.readers.tools import TOOLS, TRUEPACE, JsonSummary

_IN_FLIGHT = "aborted due to deadline"  # oha's requests in flight at the end
_NIGHTHAWK = ("request_to_response", "sequencer.blocking")  # its times, and how often it could not send


def read_json(text: str) -> tuple[ConsoleReport, ...] | Problem | None:
    """Return the outputs in a load tool's JSON, or a Problem if that JSON is damaged; None for any other text."""
    text = text.lstrip("\ufeff")
    by_line = next((read for mark, read in _BY_LINE if mark.match(text[:PEEK].lstrip())), None)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        if by_line:
            return tuple(by_line(_objects(text)))
        damaged = _JSON_MARK.search(text[:PEEK])
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


def _list(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _counts(content: Json, path: str) -> dict[str, int]:
    """Return {name: count} for the counts at a path in a JSON object; a single number there has the name ''.

    A path that ends in `prefix*` stands for all names that begin with `prefix`; `prefix` is removed from them.
    """
    folder, _, last = path.rpartition("/")
    if last.endswith("*"):
        prefix, values = last[:-1], part(content, folder)
        values = {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}
    else:
        value = at(content, path) if path else None
        values = value if isinstance(value, Mapping) else {"": value}
    return {name: known for name, value in values.items() if (known := count(value)) is not None}


def _figures(content: Json, texts: str, unit: Callable[[str], float]) -> dict[str, Any]:
    """Return {name: figure} as `texts` describes (see JsonSummary): sums of terms; None if the first term is missing.

    `unit` takes a figure's name, and returns the scale of those of its terms that have no scale in `texts`.
    """
    figures = {}
    for name, _, terms in (figure.partition("=") for figure in texts.split()):
        parts = (term.partition("*") for term in terms.split("+"))
        first, *others = (number(at(content, path), float(scale or unit(name))) for path, _, scale in parts)
        figures[name] = None if first is None else first + sum(value or 0.0 for value in others)
    return figures


def _percentiles(content: Json, summary: JsonSummary) -> dict[float, float]:
    path, unit_us = summary.percentiles, summary.unit_us
    if "=" in path:
        return percentiles(_figures(content, path, lambda name: unit_us).items(), 1.0)
    if not summary.listed:
        return percentiles(part(content, path).items(), unit_us)
    level, time = summary.listed
    return percentiles(((row.get(level), row.get(time)) for row in _list(at(content, path))), unit_us)


def _read(tool: str, summary: JsonSummary, content: Json) -> Iterator[ConsoleReport]:
    """Yield the output in a tool's JSON object, by the paths in `summary`, if it has percentiles or counts requests."""
    values = _figures(content, summary.figures, lambda name: summary.unit_us if name.endswith("_us") else 1.0)
    rows, statuses = _percentiles(content, summary), _counts(content, summary.statuses)
    lost = sum(known for why, known in _counts(content, summary.lost).items() if why != _IN_FLIGHT)
    bad = sum(known for status, known in statuses.items() if not status.startswith(("2", "3", "OK")))
    requests = count(values.pop("requests", None))
    if requests is None and statuses:
        requests = sum(statuses.values()) + lost * (not summary.lost_apart)
    if not rows and requests is None:
        return
    url = content.get("url") or content.get("URL")
    positive = {name: value for name in ("offered_rps", "elapsed_s") if (value := values.pop(name, None)) and value > 0}
    yield run_of(
        tool, rows, requests=(requests or 0) + lost * summary.lost_apart or None,
        non_2xx=bad + lost if statuses or lost else None, failed_apart=lost * (TOOLS[tool].failures == "apart"),
        url=url if isinstance(url, str) else None,
        **values | positive | {name: count(values.get(name)) for name in ("connections", "depth")},
    )  # fmt: skip


def _truepace(content: Json) -> Iterator[ConsoleReport]:
    """Yield the output in truepace's report. Its latencies are response times, or for a closed loop service times."""
    closed, latencies = content.get("mode") == "closed", part(content, "latency_us")
    kind = "service" if closed else "response"
    offered_rps, of_kind = None if closed else content.get("offered_rps"), {"response": latencies.get(kind)}
    content_of_kind = {**content, "latency_us": of_kind, "offered_rps": offered_rps}
    errors, censored = part(content, "errors"), count(at(content, "requests/censored"))
    for run in _read(TRUEPACE, TOOLS[TRUEPACE].json[0], content_of_kind):
        lost = (count(errors.get(cause)) or 0 for cause in ("connect", "read", "write", "timeout"))
        yield replace(
            run, latencies=replace(run.latencies, total_count=count(at(latencies, f"{kind}/count"))),
            threads=count(content.get("threads")), socket_errors=SocketErrors(*lost),
            closed_loop=closed, interrupted=content.get("interrupted") is True,
            extra=(f"censored {censored}",) if censored else (),
        )  # fmt: skip


def _k6(content: Json) -> Iterator[ConsoleReport]:
    metrics = {name: part(metric, "values") or metric for name, metric in part(content, "metrics").items()}
    started, dropped = (count(at(metrics, f"{name}/count")) for name in ("iterations", "dropped_iterations"))
    for run in _read("k6", TOOLS["k6"].json[0], metrics) if part(metrics, "http_req_duration") else ():
        if dropped and started and run.requests_per_s:  # dropped iterations belong to the offered rate
            run = replace(run, command=command_of("k6", run.requests_per_s * (1 + dropped / started)))
        yield replace(run, extra=(f"dropped_iterations: {dropped}",) if dropped else ())


def _nighthawk(content: Json) -> Iterator[ConsoleReport]:
    """Yield the output in nighthawk's JSON, from the result `global`, which sums up all workers."""
    results = _list(content.get("results"))
    whole: Json = next((result for result in results if result.get("name") == "global"), {})
    statistics = _list(whole.get("statistics"))
    times, blocked = (next((item for item in statistics if name in str(item.get("id"))), {}) for name in _NIGHTHAWK)
    counts = {str(counter.get("name")): counter.get("value") for counter in _list(whole.get("counters"))}
    rows = _list(times.get("percentiles"))
    levels = ((number(row.get("percentile")), units.go_time_us(str(row.get("duration")))) for row in rows)
    options, workers = part(content, "options"), max(1, len(results) - 1)
    rate, held_back = number(options.get("requests_per_second")), count(blocked.get("count"))
    overflow = count(counts.get("benchmark.pool_overflow"))
    mean_us, stdev_us, max_us = (units.go_time_us(str(times.get(name))) for name in ("mean", "pstdev", "max"))
    if times:
        yield run_of(
            "nighthawk", {round(level, 9): value for level, value in levels if level is not None and value is not None},
            mean_us, stdev_us, max_us, rate * workers if rate else None,  # each worker's own
            connections=(count(options.get("connections")) or 0) * workers or None,
            elapsed_s=units.time_s(str(whole.get("execution_duration"))), requests=count(times.get("count")),
            non_2xx=sum(count(counts.get(f"benchmark.http_{kind}")) or 0 for kind in ("1xx", "4xx", "5xx", "xxx")),
            extra=(f"dropped_iterations: {overflow}",) if overflow else (),
            diagnostics=(f"Blocking. Results are skewed ({held_back} samples)",) if held_back else (),
        )  # fmt: skip


def _k6_points(lines: Iterable[Json]) -> Iterator[ConsoleReport]:
    points = ((line.get("metric"), part(line, "data")) for line in lines)
    return K6.read(
        {**part(point, "tags"), "metric_name": metric, "metric_value": point.get("value")} for metric, point in points
    )


#: Keys that an object must have, and its reader. The first row with all keys present and an output from it counts.
_OBJECTS: tuple[tuple[tuple[str, ...], Callable[[Json], Iterator[ConsoleReport]]], ...] = (
    (("schema", "latency_us"), _truepace),
    *((row.keys, partial(_read, name, row)) for name, tool in TOOLS.items() for row in tool.json if name != "k6"),
    (("metrics",), _k6),  # of `--summary-export` or handleSummary; oha has this key too
    (("results", "options"), _nighthawk),
    (("stats", "contents"), lambda content: _read("Gatling", TOOLS["Gatling"].json[0], part(content, "stats"))),
)
_BY_LINE: tuple[tuple[re.Pattern[str], Callable[[Iterable[Json]], Iterator[ConsoleReport]]], ...] = (
    (re.compile(r'^\{"metric":\s?"|^\{"(?:type|data)":.{0,600}"metric":'), _k6_points),  # of `--out json`
    (re.compile(r'^\{"attack":.{0,80}"seq":'), SampleTable("vegeta", "latency", 1e-3, "code").read),
)
_JSON_MARK = re.compile(
    r'"(?:latencies|http_req_duration|latencyPercentiles|DurationHistogram|numberOfRequests|truepace/1)"'
)
