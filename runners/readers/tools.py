"""Facts on load tools: open or closed loop, precision, time-outs, and the options for more percentiles."""

from __future__ import annotations

from dataclasses import dataclass

from runners.readers.console_report import ConsoleReport

WRK2, WRK, TRUEPACE = "wrk2", "wrk", "truepace"
LEAST_HIGHEST = 0.99  # a spectrum that ends below it says nothing of the tail


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `closed_loop`: its connections wait for a response before they send again; None where it does either.

    `percentiles` is the advice that gets more percentiles, `reads` a command that writes a file that can be read,
    `timeout_s` the tool's default time-out, `whole_ms` whether it prints whole milliseconds, and `mean_of_intervals`
    whether its rate is a mean of those of short intervals, not requests by duration.
    """

    closed_loop: bool | None
    percentiles: str
    reads: str
    timeout_s: float | None = None
    whole_ms: bool = False
    mean_of_intervals: bool = False


TOOLS: dict[str, Tool] = {
    WRK: Tool(True, "add --latency", "wrk -t2 -c10 -d30s --latency http://host/ > wrk.txt", 2.0),
    WRK2: Tool(False, "add -L", "wrk2 -t2 -c10 -d30s -R2000 -L http://host/ > wrk2.txt"),
    TRUEPACE: Tool(None, "add -L", "truepace -t2 -c10 -d30s -R2000 -L --json out.json --hlog out.hlog http://host/"),
    "ab": Tool(True, "give its whole output, or -e out.csv", "ab -n 1000 -c 10 http://host/ > ab.txt", 30.0, True),
    "Artillery": Tool(
        None, "give its --output report.json", "artillery run --output report.json script.yml", 10.0, False, True
    ),
    "autocannon": Tool(True, "add -l", "autocannon --json http://host/ > autocannon.json", 10.0, True, True),
    "bombardier": Tool(
        True, "add -l", "bombardier -l -o json http://host/ > bombardier.json", 2.0, mean_of_intervals=True
    ),
    "fortio": Tool(None, "add -p 50,90,99,99.9", "fortio load -json fortio.json http://host/", 3.0),
    "Gatling": Tool(None, "give js/stats.json", "target/gatling/…/js/stats.json", 60.0, True),
    "ghz": Tool(None, "give its -O json", "ghz -O json … > ghz.json", 20.0),
    "h2load": Tool(True, "measure with a tool that prints percentiles", "h2load -n1000 -c10 http://host/ > h2load.txt"),
    "HdrHistogram": Tool(
        None, "give the interval log", "out.hlog with a comment #[values in microseconds], or out.hgrm"
    ),
    "hey": Tool(True, "give its -o csv", "hey -o csv http://host/ > hey.csv", 20.0),
    "JMeter": Tool(True, "give its samples (.jtl)", "jmeter -n -t plan.jmx -l samples.jtl", None, True),
    "k6": Tool(
        None, "add --summary-trend-stats 'med,p(95),p(99),p(99.9),max'", "k6 run --summary-export k6.json a.js", 60
    ),
    "Locust": Tool(True, "give its …_stats.csv", "locust --headless --csv out …", None, True),
    "nighthawk": Tool(None, "give its JSON", "nighthawk_client --output-format json http://host/ > nighthawk.json"),
    "oha": Tool(True, "give its JSON", "oha --output-format json http://host/ > oha.json"),
    "vegeta": Tool(None, "add -type='hdrplot'", "vegeta attack … | vegeta report -type=json > vegeta.json", 30.0),
}
_ANY = Tool(None, "publish the whole output", "")


def facts(tool: str | None) -> Tool:
    """Return the facts on a tool; of one that is not known, those that hold for any."""
    return TOOLS.get(tool or "", _ANY)


def is_like_wrk(tool: str | None) -> bool:
    """Return whether a tool prints wrk's layout, or nothing says which it is."""
    return tool in (WRK, WRK2, TRUEPACE, None)


def missing_of_others(report: ConsoleReport) -> tuple[str, ...]:
    """Return the parts that a reader needs and an output lacks: percentiles to p99, a number of requests."""
    levels = [level for level, _ in report.latencies.rows if level < 1]
    if report.tool == "ab" and report.requests_per_s is None and report.diagnostics:
        return ()  # it broke off, and says why
    lacks = []
    if not levels:
        lacks.append("percentiles")
    elif max(levels) < LEAST_HIGHEST and report.latencies.count is None:  # else too few lie beyond it
        lacks.append(f"percentiles beyond p{max(levels) * 100:g}")
    if report.requests is None and report.requests_per_s is None:  # the rate and the duration give it too
        lacks.append("the number of requests")
    return (*lacks, *(line for line in report.extra if line.startswith("the unit of")))
