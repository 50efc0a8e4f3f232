"""The end summaries of tools that send one request, or one operation of a store, over and over.

They are ab, autocannon, bombardier, go-wrk, hey, loadtest, oha, rewrk, siege and vegeta, and for stores
memtier_benchmark and redis-benchmark. ab and autocannon print whole milliseconds; siege's summary has no percentile,
and what rewrk calls one is the mean of the responses beyond it.
"""

from __future__ import annotations

import re
from dataclasses import replace

from runners.readers import units
from runners.readers.console_report import LEVELS, ConsoleReport, F, Latencies, N, SummaryBlock, ThreadStats, compiled

_TIME = rf"{F}\s*(secs?|ms|us|µs|μs|ns|m|h)(?!\w)"
_SHORT = r"(\d[\d.]*[nuµμm]?s)"
_LOGGED = r"(?:\[[^\]]{1,90}\] INFO )?\s*"  # as older versions of loadtest begin each line
STARTS = {
    "hey": re.compile(r"^\s*Summary:\s*$"),
    "ab": re.compile(
        r"^[\s*#-]*This is ApacheBench, Version|^[\s*#-]*(?:Concurrency Level|Time taken for tests|Server Port):\s+\d"
        r"|^[\s*#-]*(?:Server (?:Software|Hostname)|Document Path):(?:\s{2}|\s*$)"
    ),
    "vegeta": re.compile(r"^\s*Requests\s+\[total, rate"),
    "bombardier": re.compile(r"^\s*Bombarding \S+ .*using \d+ connection"),
    "autocannon": re.compile(
        r"^\s*(?:\S )?(?:npx )?autocannon\s.*\bhttps?://"
        r"|^\s*\d{1,9} connections(?: with \d+ pipelining factor)?\s*$|^\s*│ Stat\s+│ 2\.5%"
    ),
    "memtier_benchmark": re.compile(r"^\s*\d+\s+Threads\s*$|^Type\s+Ops/sec\s+Hits/sec"),
    "redis-benchmark": re.compile(
        r"^\s*====== (\S.*?) ======\s*$|^[A-Z]\S*(?: \(.*\))?: [\d.]+ requests per second(?:, p50=|\s*$)"
    ),
    "go-wrk": re.compile(
        r"^[\s*-]*(?:\d{1,9} goroutine\(s\) running concurrently|\d{1,18} requests in \S*\d\.\d{4,}m?s, )"
    ),
    "rewrk": re.compile(r"^\s*Benchmarking \d{1,9} connections @ \S+ for \d"),
    "siege": re.compile(r"^\s*Transactions:\s+\d{1,18} hits"),
    "loadtest": re.compile(rf"^{_LOGGED}Target URL:\s+\S"),
}


def _us(match: re.Match[str], first: int = 1) -> float:
    """Take a number and its unit out of a match."""
    return float(match[first]) * units.TIME_US[match[first + 1].removesuffix("secs").removesuffix("sec") or "s"]


def _latencies(block: SummaryBlock, match: re.Match[str]) -> None:
    for name, value in zip(match[1].split(","), match[2].split(","), strict=False):
        time = units.go_time_us(value)
        if name.strip() == "mean":
            block.mean_us = time
        elif name.strip() == "max":
            block.max_us = time
            block.add_row("100", time)
        elif name.strip().isdigit():
            block.add_row(name.strip(), time)


def _requests(block: SummaryBlock, match: re.Match[str]) -> None:
    block.said["requests"] = int(match[1])
    block.rate_rps = float(match[2])


def _codes(block: SummaryBlock, match: re.Match[str]) -> None:
    block.codes.update({int(code): int(count) for code, count in re.findall(rf"(\d{{1,3}}):{N}", match[1])})


def _classes(block: SummaryBlock, match: re.Match[str]) -> None:
    block.codes.update({int(first) * 100: int(count) for first, count in re.findall(rf"(\d)xx - {N}", match[0])})


def _bombarding(block: SummaryBlock, match: re.Match[str]) -> None:
    block.said["connections"] = int(match[2])
    if match[1] and (time := units.go_time_us(match[1])):
        block.said["elapsed_s"] = time / 1e6


def _go_stats(block: SummaryBlock, match: re.Match[str]) -> None:
    block.mean_us, block.stdev_us, block.max_us = (units.go_time_us(match[at]) for at in (1, 2, 3))


def _tens(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take ab's row Total, in milliseconds."""
    block.mean_us, block.stdev_us, block.max_us = (float(match[at]) * 1e3 for at in (1, 2, 3))


def _of_a_request(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take ab's mean, which it prints above the table that people cut."""
    block.mean_us = float(match[1]) * 1e3


def _broke_off(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take the line that ab prints instead of its summary; why it broke off went to standard error."""
    block.said.update(requests=int(match[1]))
    block.said.setdefault("diagnostics", (match[0],))


def _failed_of_ab(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take ab's failures by cause; a length may vary without one."""
    block.failed = int(match[1]) + int(match[2]) + int(match[4])
    block.sizes["odd"] = int(match[3])


def _rate_of_loadtest(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take loadtest's rate: the one that was asked for stands above the number of completed requests."""
    if "requests" in block.said or match[1].startswith(("Mean", "Effective")):
        block.said["requests_per_s"] = float(match[2])
    else:
        block.rate_rps = float(match[2])
        block.said["closed_loop"] = False


def _percentile_of(block: SummaryBlock, match: re.Match[str]) -> None:
    if block.listing:
        block.add_row(match[1], float(match[2]) * 1e3)


def _summary_of(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take redis-benchmark's last line: average, minimum, p50, p95, p99 and maximum in milliseconds."""
    average, _, *rest = (float(part) * 1e3 for part in match[0].split())
    block.mean_us, block.max_us = average, rest[-1]
    for level, value in zip(("50", "95", "99", "100"), rest, strict=True):
        block.add_row(level, value)


def _quiet(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take the one line a command that `redis-benchmark -q` prints."""
    block.said.update(operation=match[1], requests_per_s=float(match[2]))
    if match[3]:  # before version 6.2 there was no percentile
        block.add_row("50", float(match[3]) * 1e3)


def _autocannon(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take what the command line of autocannon says of connections and of a rate."""
    if connections := re.search(r"\s-(?:c|-connections)[ =]?(\d{1,9})", match[0]):
        block.said["connections"] = int(connections[1])
    if rate := re.search(r"\s-(?:R|-overallRate)[ =]?(\d{1,9})", match[0]):
        block.rate_rps = float(rate[1])
        block.said["closed_loop"] = False


def _cells(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take autocannon's row Latency: 2.5 %, 50 %, 97.5 %, 99 %, mean, standard deviation, maximum."""
    cells = match[1].split("│") if "│" in match[1] else re.findall(r"[\d.,]+ \w+", match[1])
    times = [units.go_time_us(cell.replace(" ", "").replace(",", "")) for cell in cells]
    if len(times) == len(_AUTOCANNON):
        for level, time in zip(_AUTOCANNON, times, strict=True):
            if level:
                block.add_row(level, time)
        block.mean_us, block.stdev_us, block.max_us = times[4], times[5], times[6]


_AUTOCANNON = ("2.5", "50", "97.5", "99", "", "", "100")  # the mean and the standard deviation stand before the maximum


def _counted(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take autocannon's last line, which rounds the requests, where the responses were not counted above it."""
    if not block.codes:
        scale = {"k": 1_000, "M": 1_000_000}.get(match[2], 1)
        block.said["requests"] = round(float(match[1]) * scale)
    block.said["elapsed_s"] = float(match[3])


def _benchmarking(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take rewrk's first line: connections, and for how long."""
    block.said["connections"] = int(match[1])
    block.said["duration_s"] = int(match[2]) * units.TIME_US[match[3][0]] / 1e6


def _rewrks_latencies(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take rewrk's mean, standard deviation, minimum and maximum."""
    block.mean_us, block.stdev_us, block.max_us = (units.go_time_us(match[at]) for at in (1, 2, 4))


def _availability(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take the share of siege's requests that did not fail."""
    block.said["error_share"] = round(1 - float(match[1]) / 100, 9) or None


def _longest(block: SummaryBlock, match: re.Match[str]) -> None:
    block.max_us = float(match[1]) * (1e3 if match[2] == "ms" else 1e6)


def _sieges_mean(block: SummaryBlock, match: re.Match[str]) -> None:
    block.mean_us = float(match[1]) * (1e3 if match[2] == "ms" else 1e6)


def _heads(block: SummaryBlock, match: re.Match[str]) -> None:
    block.heads = tuple(
        re.sub(r"(?<=\S) Latency", "", match[0]).split()
    )  # older versions print the mean as Latency alone


def _operation(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a row of memtier's table, in milliseconds."""
    named = dict(zip(block.heads, match[0].split(), strict=False))
    numbers = {name: float(value) for name, value in named.items() if re.fullmatch(F, value)}
    rows = sorted(
        (round(float(name[1:]) / 100, 9), value * 1e3)
        for name, value in numbers.items()
        if re.fullmatch(r"p\d{1,3}(?:\.\d+)?", name)
    )
    rate, mean = numbers.get("Ops/sec"), numbers.get("Avg.", numbers.get("Latency"))
    block.said.setdefault("requests", None)
    if not rate:
        return
    threads, each = block.said.get("threads"), block.said.get("connections")
    of = block.totals if named.get("Type") == "Totals" else block.operations
    of.append(
        ConsoleReport(
            tool="memtier_benchmark",
            threads=threads,
            connections=threads * each if threads and each else None,
            duration_s=block.said.get("elapsed_s"),
            latency=ThreadStats(mean * 1e3, None, None, None) if mean is not None else None,
            latencies=Latencies(None, tuple(rows)),
            requests_per_s=rate,
            first_line=block.first_line,
            last_line=block.last_line,
            operation=f"{match[0].split()[0]}{block.section}",
        )
    )


def memtier_section(title: str) -> str | None:
    """Name what a section of memtier's is of, in brackets behind its operations; None for no such section."""
    found = re.match(r"^\s*(?:ALL STATS|(BEST|WORST) RUN RESULTS|AGGREGATED AVERAGE RESULTS \((\d+) runs\))\s*$", title)
    if found is None:
        return None
    return f" ({found[1].lower()} run)" if found[1] else f" ({found[2]} runs)" if found[2] else ""


def _histogram(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a row of memtier's distribution: a command, milliseconds, and the share of requests up to them."""
    rows = block.histograms.setdefault(match[1], {})
    rows[round(float(match[3]) / 100, 9)] = float(match[2]) * 1e3


def with_histogram(report: ConsoleReport, block: SummaryBlock) -> ConsoleReport:
    """Add the usual percentiles of a command's distribution (SET) to the row of its operation (Sets).

    The distribution may lie a bucket above the table, so what the table gives is not taken from it.
    """
    rows = block.histograms.get(report.operation.upper().removesuffix("S"), {})
    rows = {level: value for level, value in rows.items() if level in LEVELS} | dict(report.latencies.rows)
    return replace(report, latencies=Latencies(None, tuple(sorted(rows.items()))), last_line=block.last_line)


TAKERS = compiled(
    {
        "hey": (
            (rf"^\s*Total:\s+{_TIME}", lambda b, m: b.said.update(elapsed_s=_us(m) / 1e6)),
            (rf"^\s*Slowest:\s+{_TIME}", lambda b, m: setattr(b, "max_us", _us(m))),
            (r"^\s*Fastest:", lambda b, m: None),
            (r"^\s*Success rate:", lambda b, m: setattr(b, "name", "oha")),  # which prints hey's layout otherwise
            (rf"^\s*Average:\s+{_TIME}", lambda b, m: setattr(b, "mean_us", _us(m))),
            (rf"^\s*Requests/sec:\s+{F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*{F}%{{1,2}} in {_TIME}", lambda b, m: b.add_row(m[1], _us(m, 2))),
            (rf"^\s*\[(\d{{3}})\]\s+{N} responses", lambda b, m: b.codes.update({int(m[1]): int(m[2])})),
            (rf"^\s*\[{N}\]\s+aborted due to deadline", lambda b, m: None),  # in flight when oha's time was over
            (rf"^\s*\[{N}\]\s+\S", lambda b, m: setattr(b, "failed", b.failed + int(m[1]))),
            (r"^\s*(?:Details|Status code|Error|Latency) distribution|^\s*(?:DNS|req|resp)[ +-]", lambda b, m: None),
        ),
        "ab": (
            (r"^[\s*#-]*Server Hostname:\s+(\S+)", lambda b, m: b.address.update(host=m[1])),
            (r"^[\s*#-]*Server Port:\s+(\d{1,5})", lambda b, m: b.address.update(port=f":{m[1]}")),
            (r"^[\s*#-]*Document Path:\s+(\S+)", lambda b, m: b.address.update(path=m[1])),
            (rf"^[\s*#-]*Time per request:\s+{F} \[ms\] \(mean\)", _of_a_request),
            (rf"^[\s*#-]*Concurrency Level:\s+{N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^[\s*#-]*Time taken for tests:\s+{F} seconds", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (rf"^[\s*#-]*Complete requests:\s+{N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^[\s*#-]*\(Connect: {N}, Receive: {N}, Length: {N}, Exceptions: {N}\)", _failed_of_ab),
            (rf"^[\s*#-]*Failed requests:\s+{N}", lambda b, m: b.sizes.update(failed=int(m[1]))),
            (r"^(apr_\w+: .{1,120})", lambda b, m: b.said.update(diagnostics=(m[1],))),
            (rf"^Total of {N} requests completed", _broke_off),
            (rf"^[\s*#-]*Document Length:\s+{N} bytes", lambda b, m: b.sizes.update(document=int(m[1]))),
            (rf"^[\s*#-]*HTML transferred:\s+{N} bytes", lambda b, m: b.sizes.update(bodies=int(m[1]))),
            (rf"^[\s*#-]*Non-2xx responses:\s+{N}", lambda b, m: b.said.update(non_2xx=int(m[1]))),
            (rf"^[\s*#-]*Requests per second:\s+{F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^[\s*#-]*Total:\s+\d+\s+{F}\s+{F}\s+\d+\s+{F}", _tens),
            (
                rf"^[\s*#-]*(\d{{1,3}})%\s+{F}\s*(?:\(longest request\))?\s*$",
                lambda b, m: b.add_row(m[1], float(m[2]) * 1e3),
            ),
        ),
        "bombardier": (
            (r"^\s*Bombarding \S+ (?:for (\S+))?.*using (\d{1,9}) connection", _bombarding),
            (rf"^\s*Reqs/sec\s+{F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (r"^\s*Latency\s+(\d\S*)\s+(\S+)\s+(\S+)\s*$", _go_stats),
            (r"^\s*Latency Distribution\s*$|^\s*Statistics\s+Avg|^\s*Throughput:|^\s*HTTP codes:", lambda b, m: None),
            (rf"^\s*{F}%\s+(\d\S*)\s*$", lambda b, m: b.add_row(m[1], units.go_time_us(m[2]))),
            (r"^\s*1xx - \d.*", _classes),
            (rf"^\s*others - {N}", lambda b, m: setattr(b, "failed", int(m[1]))),
        ),
        "autocannon": (
            (r"^.*\bautocannon\s.*", _autocannon),
            (rf"^\s*{N} connections", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*│ Latency\s+│(.*)│\s*$", _cells),
            (
                r"^\s*Latency\s+((?:[\d.,]{1,15} [mun]?s\s+){6}[\d.,]{1,15} [mun]?s)\s*$",
                _cells,
            ),  # version 2 has no bars
            (
                r"^\s*(?:│ Req/Sec\s+│(?:[^│]*│){4}|Req/Sec\s+(?:[\d.,]{1,15}\s+){4})\s*([\d,]{1,15}(?:\.\d+)?)",
                lambda b, m: b.said.update(requests_per_s=float(m[1].replace(",", ""))),
            ),
            (rf"^\s*│ {F}\s+│ {F}\s+│\s*$", _percentile_of),
            (rf"^\s*{N} 2xx responses, {N} non 2xx", lambda b, m: b.codes.update({200: int(m[1]), 500: int(m[2])})),
            (rf"^\s*{F}(k|M)? requests in {F}s", _counted),
            (rf"^\s*{N} errors \(", lambda b, m: setattr(b, "failed", int(m[1]))),
            (r"^\s*(?:│|[┌├└]─|Stat\s+\d|Bytes/Sec\s+\d|Req/Bytes counts|# of samples)", lambda b, m: None),
        ),
        "memtier_benchmark": (
            (rf"^\s*{N}\s+Threads\s*$", lambda b, m: b.said.update(threads=int(m[1]))),
            (rf"^\s*{N}\s+Connections per thread\s*$", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^\s*{N}\s+Seconds\s*$", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (
                r"^(?:ALL STATS|(?:BEST|WORST) RUN|AGGREGATED AVERAGE)\b.*",
                lambda b, m: setattr(b, "section", memtier_section(m[0]) or ""),
            ),
            (r"^Type\s+Ops/sec\s+Hits/sec.*", _heads),
            (rf"^([A-Z]+)\s+{F}\s+{F}\s*$", _histogram),
            (r"^(?:[A-Z][A-Za-z]*)\s+\d+\.\d+\s.*", _operation),
        ),
        "redis-benchmark": (
            (r"^\s*====== (\S.*?) ======\s*$", lambda b, m: b.said.update(operation=m[1])),
            (
                rf"^\s*{N} requests completed in {F} seconds",
                lambda b, m: b.said.update(requests=int(m[1]), elapsed_s=float(m[2])),
            ),
            (rf"^(\S.*): {F} requests per second(?:, p50={F} msec|\s*$)", _quiet),
            (rf"^\s*{F} requests per second\s*$", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*{N} parallel clients", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*Latency by percentile distribution", lambda b, m: setattr(b, "listing", True)),
            (r"^\s*Cumulative distribution of latencies", lambda b, m: setattr(b, "listing", False)),
            (rf"^\s*{F}% <= {F} milliseconds", _percentile_of),
            (
                rf"^\s*throughput summary: {F} requests per second",
                lambda b, m: b.said.update(requests_per_s=float(m[1])),
            ),
            (r"^\s*(?:\d+\.\d{3}\s+){5}\d+\.\d{3}\s*$", _summary_of),
        ),
        "go-wrk": (
            (rf"^[\s*-]*{N} goroutine", lambda b, m: b.said.update(connections=int(m[1]))),
            (
                rf"^[\s*-]*{N} requests in (\S+), ",
                lambda b, m: b.said.update(requests=int(m[1]), elapsed_s=(units.go_time_us(m[2]) or 0) / 1e6 or None),
            ),
            (rf"^[\s*-]*Requests/sec:\s+{F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (r"^[\s*-]*Avg Req Time:\s+(\S+)", lambda b, m: setattr(b, "mean_us", units.go_time_us(m[1]))),
            (r"^[\s*-]*Slowest Request:\s+(\S+)", lambda b, m: setattr(b, "max_us", units.go_time_us(m[1]))),
            (rf"^[\s*-]*Number of Errors:\s+{N}", lambda b, m: setattr(b, "failed", int(m[1]))),
            (rf"^[\s*-]*{F}%:\s+(\S+)\s*$", lambda b, m: b.add_row(m[1], units.go_time_us(m[2]))),
            (r"^[\s*-]*(?:Transfer/sec|Overall \S+|Fastest Request|stddev):", lambda b, m: None),
        ),
        "rewrk": (
            (rf"^\s*Benchmarking {N} connections @ \S+ for {N} (second|minute|hour)", _benchmarking),
            (rf"^\s*{_SHORT}\s+{_SHORT}\s+{_SHORT}\s+{_SHORT}\s*$", _rewrks_latencies),
            (
                rf"^\s*Total:\s*{N}\s+Req/Sec:\s*{F}",
                lambda b, m: b.said.update(requests=int(m[1]), requests_per_s=float(m[2])),
            ),
            (r"^\s*(?:Latencies:|Avg\s+Stdev|Requests:|Transfer:|Total:|\+ -{10}|\|\s+[\d.]+%\s)", lambda b, m: None),
        ),
        "siege": (
            (rf"^\s*Transactions:\s+{N} hits", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*Availability:\s+{F} %", _availability),
            (rf"^\s*Elapsed time:\s+{F} secs", lambda b, m: b.said.update(elapsed_s=float(m[1]) or None)),
            (rf"^\s*Response time:\s+{F} (secs|ms)", _sieges_mean),
            (rf"^\s*Transaction rate:\s+{F} trans/sec", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*Longest transaction:\s+{F}(?:\s+(secs|ms))?", _longest),
            (
                r"^\s*(?:Data transferred|Throughput|Concurrency|(?:Successful|Failed|Shortest) transactions?):",
                lambda b, m: None,
            ),
        ),
        "loadtest": (
            (rf"^{_LOGGED}Concurrency level:\s+{N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (rf"^{_LOGGED}Max time \(s\):\s+{F}", lambda b, m: b.said.update(duration_s=float(m[1]))),
            (rf"^{_LOGGED}Completed requests:\s+{N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^{_LOGGED}Total errors:\s+{N}", lambda b, m: setattr(b, "failed", int(m[1]))),
            (rf"^{_LOGGED}Total time:\s+{F} s", lambda b, m: b.said.update(elapsed_s=float(m[1]))),
            (
                rf"^{_LOGGED}((?:Requests per second|(?:Mean|Effective) (?:requests per second|rps)):)\s+{F}",
                _rate_of_loadtest,
            ),
            (rf"^{_LOGGED}Mean latency:\s+{F} ms", lambda b, m: setattr(b, "mean_us", float(m[1]) * 1e3)),
            (rf"^{_LOGGED}{F}%\s+{F} ms", lambda b, m: b.add_row(m[1], float(m[2]) * 1e3)),
            (rf"^{_LOGGED}(?:$|Target URL:|Agent:|Max requests:|Percentage of|Running on cores:)", lambda b, m: None),
        ),
        "vegeta": (
            (rf"^\s*Requests\s+\[total, rate[^\]]*\]\s+{N},\s+{F}", _requests),
            (
                r"^\s*Duration\s+\[[^\]]*\]\s+([^,\s]+)",
                lambda b, m: b.said.update(elapsed_s=(units.go_time_us(m[1]) or 0) / 1e6 or None),
            ),
            (r"^\s*Latencies\s+\[([^\]]*)\]\s+(.+?)\s*$", _latencies),
            (r"^\s*Bytes (?:In|Out)\s+\[|^\s*Success\s+\[", lambda b, m: None),
            (r"^\s*Status Codes\s+\[[^\]]*\]\s+(.+?)\s*$", _codes),
        ),
    }
)
