"""The summaries that load tools print, as a table: how a tool's begins, and its lines with the figures in them.

wrk, wrk2 and truepace are read by `wrk_console`. Nothing in an input is an error; what is cut leaves its field None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from runners.readers import units
from runners.readers.figures import MS
from runners.readers.summary import DECIMAL, Summary, SummaryTool, Take, summary_tool, take_figures

NEGATIVE = "a time below zero: the clock was set during the run"
_NUMBER = re.compile(DECIMAL)


def _set(**figures: object) -> Take:
    """Return a function that takes the figures of a line, and these that the line itself says."""

    def take(summary: Summary, match: re.Match[str]) -> None:
        summary.figures.update(figures)
        take_figures(summary, match)

    return take


def _where(condition: Callable[[Summary], bool], take: Take = take_figures) -> Take:
    """Return a function that takes a line where a condition holds of the summary."""

    def guarded(summary: Summary, match: re.Match[str]) -> None:
        if condition(summary):
            take(summary, match)

    return guarded


def _failure(summary: Summary, match: re.Match[str]) -> None:
    """Take an error and how often it came; ghz has counted it as a status, and oha's were in flight at the end."""
    if summary.figures.get("tool") != "ghz" and "aborted due to deadline" not in match[0]:
        summary.failed += int(match[1])


def _broke_off(summary: Summary, match: re.Match[str]) -> None:
    """Take the line that ab prints instead of its summary; why it broke off went to standard error."""
    summary.figures["requests"] = int(match[1])
    summary.diagnostics[:] = summary.diagnostics or [match[0]]


def _ab_failed(summary: Summary, match: re.Match[str]) -> None:
    """Take ab's failures by cause; a length may vary without one."""
    summary.failed = int(match[1]) + int(match[2]) + int(match[4])
    take_figures(summary, match)


def _cells(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's row Latency: 2.5 %, 50 %, 97.5 %, 99 %, mean, standard deviation, maximum."""
    cells = match[1].split("│") if "│" in match[1] else re.findall(r"[\d.,]+ \w+", match[1])
    times = [units.go_time_us(cell) for cell in cells]
    if len(times) == 7:
        for level, time_us in zip(("2.5", "50", "97.5", "99", "100"), (*times[:4], times[6]), strict=True):
            summary.row(level, time_us)
        summary.figures.update(mean=times[4], stdev=times[5], max=times[6])


def _autocannon(summary: Summary, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        summary.figures["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        summary.figures["offered_rps"] = float(rate[1])


def _rounded_count(summary: Summary, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not summary.codes:
        summary.figures["requests"] = round(units.count(match[1]) or 0.0)
    summary.figures["elapsed_s"] = float(match[2])


def _trend(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`; an author may put commas between them."""
    times = dict(re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1]))
    for name, text in times.items():
        level, time_us = {"med": "50", "max": "100"}.get(name, name[2:-1]), units.go_time_us(text)
        if _NUMBER.fullmatch(level):
            summary.row(level, time_us)
        if name in ("avg", "max"):
            summary.figures["mean" if name == "avg" else name] = time_us
    if any(text.startswith("-") for text in times.values()):
        summary.notes.append(NEGATIVE)


def _gatling(summary: Summary, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    texts = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    if not texts:
        return
    first, *rest = (float(text.replace(",", "")) for text in texts)
    name = match[1].strip()
    if name == "request count":
        summary.figures.update(requests=int(first), non_2xx=int(rest[1]) if len(rest) > 1 else None)
    elif level := re.match(r"response time (\d[\d.]*)th percentile", name):
        summary.row(level[1], first * MS)
    elif name in ("mean requests/sec", "mean throughput"):
        summary.figures["rate_rps"] = first
    elif figure := {"max": "max", "mean": "mean", "std": "stdev", "response": "stdev"}.get(name.split()[0]):
        summary.figures[f"{figure}_ms"] = first
        if figure == "max":
            summary.row("100", first * MS)


def _jmeter(summary: Summary, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(match[group]) for group in (2, 3, 4))
    summary.figures["elapsed_s"] = float(hours * 3600 + minutes * 60 + seconds) or None
    take_figures(summary, match)


def _aggregated(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's row of all requests: their number and failures, mean, minimum, maximum and median, rate."""
    take_figures(summary, match)
    summary.figures["non_2xx"] = summary.figures.get("non_2xx") or None
    summary.rows = {0.5: float(match["n_median"]) * MS}
    summary.figures["heads"] = ()


def _locust_percentiles(summary: Summary, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    most_us = summary.time_us("max") or float("inf")
    for level, value in zip(summary.figures.get("heads", ()), match[1].split(), strict=False):
        summary.row(level, min(float(value) * MS, most_us))


def _artillery(summary: Summary, match: re.Match[str]) -> None:
    """Take a figure of Artillery's response times, in milliseconds; other sections have the same names."""
    if summary.figures.get("section") == "times":
        name, value_ms = match[1], float(match[2])
        if name in ("mean", "max"):
            summary.figures[f"{name}_ms"] = value_ms
        if name not in ("min", "mean"):
            level = {"median": "50", "max": "100"}.get(name) or f"{name[1:3]}.{name[3:]}"
            summary.row(level, value_ms * MS)


def _vegeta_times(summary: Summary, match: re.Match[str]) -> None:
    for name, value in zip(map(str.strip, match[1].split(",")), match[2].split(","), strict=False):
        time_us = units.go_time_us(value)
        if name in ("mean", "max"):
            summary.figures[name] = time_us
        if name == "max" or name.isdigit():
            summary.row("100" if name == "max" else name, time_us)


def _vegeta_codes(summary: Summary, match: re.Match[str]) -> None:
    summary.codes |= {int(code): int(count) for code, count in re.findall(r"(\d{1,3}):(\d{1,18})", match[1])}


_AB = r"^[\s*#-]*"
_K6 = r"^\s*(?:[✓✗√\u00d7] )?"

TOOLS: dict[str, SummaryTool] = {
    "hey": summary_tool(
        r"^\s*Summary:\s*$",
        r"^\s*Total:\s+<elapsed>",
        r"^\s*Slowest:\s+<max>",
        (r"^\s*Success rate:\s+\d", _set(tool="oha")),
        (r"^\s*Count:\s+<requests>", _set(tool="ghz")),
        r"^\s*Average:\s+<mean>",
        r"^\s*Requests/sec:\s+<rate_rps>",
        r"^\s*<level>%{1,2} in <value>",
        r"^\s*\[(?P<status>\d{3})\]\s+<count> responses",
        (
            r"^\s*\[([A-Za-z]{2,20})\]\s+(\d{1,15}) responses",  # of gRPC, whose statuses are names
            lambda s, m: s.codes.update({200 if m[1] == "OK" else 500 + len(s.codes): int(m[2])}),
        ),
        (r"^\s*\[(\d{1,15})\]\s+\S.*", _failure),
    ),
    "ab": summary_tool(
        r"^[\s*#-]*This is ApacheBench, Version|^[\s*#-]*(?:Concurrency Level|Time taken for tests|Server Port):\s+\d"
        r"|^[\s*#-]*(?:Server (?:Software|Hostname)|Document Path):(?:\s{2}|\s*$)",
        _AB + r"Server Hostname:\s+(?P<host>\S+)",
        _AB + r"Server Port:\s+(?P<port>\d{1,5})",
        _AB + r"Document Path:\s+(?P<path>\S+)",
        _AB + r"Time per request:\s+<mean_ms> \[ms\] \(mean\)",
        _AB + r"Concurrency Level:\s+<connections>",
        _AB + r"Time taken for tests:\s+<elapsed_s> seconds",
        _AB + r"Complete requests:\s+<requests>",
        (_AB + r"\(Connect: (\d{1,9}), Receive: (\d{1,9}), Length: <odd_length>, Exceptions: (\d{1,9})\)", _ab_failed),
        _AB + r"Failed requests:\s+<n_failed>",
        r"^(?P<diagnostic>apr_\w+: .{1,120})",
        (r"^Total of (\d{1,15}) requests completed", _broke_off),
        _AB + r"Document Length:\s+<n_document> bytes",
        _AB + r"HTML transferred:\s+<n_bodies> bytes",
        _AB + r"Non-2xx responses:\s+<non_2xx>",
        _AB + r"Requests per second:\s+<rate_rps>",
        _AB + r"Total:\s+\d+\s+<mean_ms>\s+<stdev_ms>\s+\d+\s+<max_ms>",
        _AB + r"<level>%\s+<value_ms>\s*(?:\(longest request\))?\s*$",
        repeated=True,
        proof="connections elapsed_s requests rate_rps rows",
    ),
    "vegeta": summary_tool(
        r"^\s*Requests\s+\[total, rate",
        r"^\s*Requests\s+\[total, rate[^\]]*\]\s+<requests>,\s+<offered_rps>",
        r"^\s*Duration\s+\[[^\]]*\]\s+<elapsed>",
        (r"^\s*Latencies\s+\[([^\]]*)\]\s+(\S.*)$", _vegeta_times),
        (r"^\s*Status Codes\s+\[[^\]]*\]\s+(\S.*)$", _vegeta_codes),
    ),
    "bombardier": summary_tool(
        r"^\s*Bombarding \S+ .*using \d+ connection",
        r"^\s*Bombarding \S+ (?:for <elapsed>)?.*using <connections> connection",
        r"^\s*Reqs/sec\s+<rate_rps>",
        r"^\s*Latency\s+<mean>\s+<stdev>\s+<max>\s*$",
        r"^\s*<level>%\s+<value>\s*$",
        r"^\s*1xx - <c1>, 2xx - <c2>, 3xx - <c3>, 4xx - <c4>, 5xx - <c5>",
        r"^\s*others - <failed>",
    ),
    "autocannon": summary_tool(
        r"^\s*(?:\S )?(?:npx )?autocannon\s.*\bhttps?://"
        r"|^\s*\d{1,9} connections(?: with \d+ pipelining factor)?\s*$|^\s*│ Stat\s+│ 2\.5%",
        (r"^.*\bautocannon\s.*", _autocannon),
        r"^\s*<connections> connections",
        (r"^\s*│ Latency\s+│(.*)│\s*$", _cells),
        (r"^\s*Latency\s+((?:[\d.,]{1,15} [mun]?s\s+){6}[\d.,]{1,15} [mun]?s)\s*$", _cells),  # version 2 has no bars
        r"^\s*(?:│ Req/Sec\s+│(?:[^│]*│){4}|Req/Sec\s+(?:[\d.,]{1,15}\s+){4})\s*<rate_rps>",
        r"^\s*│ <level>\s+│ <value_ms>\s+│\s*$",
        r"^\s*<c2> 2xx responses, <c5> non 2xx",
        (r"^\s*(\d[\d.]{0,15}[kM]?) requests in (\d[\d.]{0,15})s", _rounded_count),
        r"^\s*<failed> errors \(",
        repeated=True,
        proof="rows",
    ),
    "h2load": summary_tool(
        r"^\s*finished in \S+, \S+ req/s",
        r"^\s*finished in <elapsed>, <rate_rps> req/s",
        r"^\s*requests: \d+ total, \d+ started, <requests> done, \d+ succeeded, <n_failed> failed, \d+ errored",
        r"^\s*status codes: <c2> 2xx, <c3> 3xx, <c4> 4xx, <c5> 5xx",
        r"^\s*time for request:\s+\S+\s+<max>\s+<mean>\s+<stdev>\s",
        r"^\s*req/s\s+:",  # of each client
        proof="requests",
    ),
    "fortio": summary_tool(
        r"^Aggregated Function Time : count \d",
        r"^Aggregated Function Time : count <requests> avg <mean_s> \+/- <stdev_s> min \S+ max <max_s>",
        r"^# target <level>% <value_s>",
        r"^Code\s+(?P<status>\d{1,3}) : <count> ",
        r"^All done <requests> calls .*, <rate_rps> qps",
    ),
    "k6": summary_tool(
        _K6 + r"(?:checks\w*|data_received|dropped_iterations|http_req\w*)\.*\s*:\s+\S"
        r"|^\s*\* \S+: (?:[\d.]+ iterations/s for |(?:\d+ looping|Up to \d+ looping) VUs )",
        r"^\s*\* \S+: <offered_rps> iterations/s for ",
        r"^\s*(?P<section>\{.*\}|[a-z][a-z_]+(?:\{.*\})?)\s*$",
        (
            r"^\s*[✓✗] 'p\(<level>\)\s?<=?\s?\d+' p\((?P=level)\)=<value>",
            _where(lambda s: s.figures.get("section") == "http_req_duration"),
        ),
        r"^\s*(?:WARN|ERRO)\[\d+\]\s+(?P<diagnostic>\S.{0,200})",
        (r"^\s*\* \S+: (?:Up to )?\d+ looping VUs ", _set(closed_loop=True)),
        (_K6 + r"http_req_duration\.*\s*:\s+(avg=.*)", _trend),
        (  # the time to the first byte, where an author kept it alone: it is the whole of a short response
            r"^\s*http_req_waiting\.*\s*:\s+(avg=.*)",
            _where(lambda s: not s.rows, _trend),
        ),
        _K6 + r"http_req_failed\.*\s*:\s+\S+\s+(?:✓ )?\(?<non_2xx>(?: out of <requests>)?",
        r"^\s*http_reqs\.*\s*:\s+<requests>\s+\(?<rate_rps>/s",
        (
            r"^\s*dropped_iterations\.*\s*:\s+(\d{1,18})",
            lambda s, m: s.notes.append(f"dropped_iterations: {m[1]}"),
        ),
        r"^\s*vus_max\.*\s*:\s+<connections>",
        repeated=True,
        proof="rows",
    ),
    "Gatling": summary_tool(
        r"^---- Global Information -+",
        (r"^(?:> )?\s*([a-z][\w ./%]*?)(?: \(\w+\))?\s{2,}\|?\s*(\d.*)$", _gatling),
        proof="requests rate_rps rows",
    ),
    "JMeter": summary_tool(
        r"^summary [+=]\s+\d+ in ",
        (
            r"^summary =\s+<requests> in (\d\d):(\d\d):(\d\d) =\s+<rate_rps>/s Avg:\s+<mean_ms> Min:\s+\d+ "
            r"Max:\s+<max_ms> Err:\s+<non_2xx>",
            _jmeter,
        ),
        repeated=True,
        proof="requests",
    ),
    "Artillery": summary_tool(
        r"^\s*Summary report @ \d",
        r"^\s*http\.requests:[ .]*\s<requests>\s*$",
        r"^\s*Requests completed:\s+<requests>",
        r"^\s*http\.request_rate:[ .]*\s<rate_rps>/sec",
        r"^\s*(?:Mean response/sec|RPS sent):\s+<rate_rps>",
        (r"^\s*(?:http\.response_time|Response time \(msec\)|Request latency):\s*$", _set(section="times")),
        (r"^\s+(min|max|mean|median|p\d{2,3}):[ .]*\s(\d[\d.]{0,15})\s*$", _artillery),
        r"^\s*(?:http\.codes\.)?(?P<status>\d{3}):[ .]*\s<count>\s*$",
        r"^\s*(?:errors\.\S+|E[A-Z]{4,}):[ .]*\s<failed>\s*$",
        (r"^\s*(?:(?:http|vusers|plugins)\.\S+|Scenarios? [a-z]+|Codes|Errors):", _set(section="other")),
        proof="requests rate_rps",
    ),
    "Locust": summary_tool(
        r"^\s*(?:Type\s+)?Name\s+# reqs\s+# fails",
        (
            r"^\s*(?:None\s+)?Aggregated\s+<requests>\s+<non_2xx>\([\d.]+%\)\s+\|\s+<mean_ms>\s+\d+\s+<max_ms>\s+"
            r"<n_median>\s+\|\s+<rate_rps>",
            _aggregated,
        ),
        (
            r"^\s*(?:Type\s+)?Name\s+(?:[\d.]+%\s+)+# reqs",
            lambda s, m: s.figures.update(heads=re.findall(r"(\d[\d.]*)%", m[0])),
        ),
        (r"^\s*(?:None\s+)?Aggregated\s+((?:\d+\s+){2,}\d+)\s*$", _locust_percentiles),
        repeated=True,
        proof="requests rate_rps",
    ),
}  # fmt: skip
