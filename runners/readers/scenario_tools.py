"""The end summaries of tools whose virtual users play a scenario: Artillery, Gatling, JMeter, k6 and Locust.

Gatling, JMeter and Locust print whole milliseconds; JMeter's summary has no percentile.
"""

from __future__ import annotations

import math
import re

from runners.readers import units
from runners.readers.console_report import F, N, SummaryBlock, compiled

_THOUSANDS = r"\d{1,3}(?:,\d{3}){1,5}(?!\d)"  # as people write them who type an output again
_COUNT = rf"({_THOUSANDS}|\d{{1,18}})"
STARTS = {
    "k6": re.compile(
        r"^\s*(?:[✓✗√\u00d7] )?(?:checks\w*|data_received|dropped_iterations|http_req\w*)\.*\s*:\s+\S"
        r"|^\s*\* \S+: (?:[\d.]+ iterations/s for |(?:\d+ looping|Up to \d+ looping) VUs )"
    ),
    "Gatling": re.compile(r"^---- Global Information -+"),
    "JMeter": re.compile(r"^summary [+=]\s+\d+ in "),
    "Artillery": re.compile(r"^\s*Summary report @ \d"),
    "Locust": re.compile(r"^\s*(?:Type\s+)?Name\s+# reqs\s+# fails"),
}


NEGATIVE = "a time below zero: the clock was set during the run"


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _requests_of_k6(block: SummaryBlock, match: re.Match[str]) -> None:
    requests, rate = _count(match[1]), float(match[2].replace(",", ""))
    block.said.update(requests=requests, requests_per_s=rate, elapsed_s=requests / rate if rate else None)


def _trend(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a line of k6's: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`."""
    found = re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1])  # an author may put commas between them
    times = {name: units.go_time_us(value) for name, value in found}
    block.mean_us, block.max_us = times.get("avg"), times.get("max")
    block.said.setdefault("requests", None)
    if any(value.startswith("-") for _, value in found):
        block.said["extra"] = (*block.said.get("extra", ()), NEGATIVE)
    for name, value in times.items():
        level = {"med": "50", "max": "100"}.get(name) or (name[2:-1] if name.startswith("p(") else "")
        if re.fullmatch(F, level):
            block.add_row(level, value)


def _complains(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a line of k6's log that is no information."""
    block.said["diagnostics"] = (*block.said.get("diagnostics", ()), match[1])


def _failed_of_k6(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take how many requests failed, and of how many where that is printed."""
    block.said["non_2xx"] = _count(match[1])
    if match[2] and block.said.get("requests") is None:
        block.said["requests"] = _count(match[2])


def _threshold(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a percentile of the requests that k6 prints next to a threshold of theirs."""
    if block.section == "http_req_duration":
        block.add_row(match[1], units.go_time_us(match[2]))


def _waiting(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take the time to the first byte where an author kept it alone: it is the whole of a short response."""
    if not block.rows:
        _trend(block, match)


def _paced(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take k6's line of a scenario that starts iterations at a rate."""
    block.rate_rps = float(match[1])
    block.said["closed_loop"] = False


def _aggregated(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take Locust's row of all requests: their number and failures, mean, minimum, maximum and median, rate."""
    block.said.update(requests=int(match[1]), non_2xx=int(match[2]) or None, requests_per_s=float(match[6]))
    block.mean_us, block.max_us = float(match[3]) * 1e3, float(match[4]) * 1e3
    block.rows = [(0.5, float(match[5]) * 1e3)]
    block.levels = ()


def _levels(block: SummaryBlock, match: re.Match[str]) -> None:
    block.levels = tuple(re.findall(rf"{F}%", match[0]))


def _aggregated_percentiles(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take Locust's percentiles of all requests, below their heads; it rounds them, but not the maximum above them."""
    for level, value in zip(block.levels, match[1].split(), strict=False):
        block.add_row(level, min(float(value) * 1e3, block.max_us or math.inf))


def _artillery(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a figure of Artillery's response times, in milliseconds; other sections have the same names."""
    if not block.listing:
        return
    name, value_us = match[1], float(match[2]) * 1e3
    if name == "mean":
        block.mean_us = value_us
    elif name == "max":
        block.max_us = value_us
        block.add_row("100", value_us)
    elif name != "min":
        block.add_row("50" if name == "median" else name[1:] if len(name) == 3 else f"{name[1:3]}.{name[3:]}", value_us)


def _gatling(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take a line of Gatling's whole-run table: the first number is of all requests, those after of OK and KO."""
    found = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
    numbers = [float(number.replace(",", "")) for number in found]
    if not numbers:
        return
    name, first = match[1].strip(), numbers[0]
    if name == "request count":
        block.said["requests"] = int(first)
        block.said["non_2xx"] = int(numbers[2]) if len(numbers) > 2 else None
    elif name == "max response time":
        block.max_us = first * 1e3
        block.add_row("100", first * 1e3)
    elif name == "mean response time":
        block.mean_us = first * 1e3
    elif name in ("std deviation", "response time std deviation"):
        block.stdev_us = first * 1e3
    elif level := re.match(rf"response time {F}th percentile", name):
        block.add_row(level[1], first * 1e3)
    elif name in ("mean requests/sec", "mean throughput"):
        block.said["requests_per_s"] = first


def _jmeter(block: SummaryBlock, match: re.Match[str]) -> None:
    """Take JMeter's running total; the last one stands."""
    hours, minutes, seconds = (int(part) for part in match[2].split(":"))
    elapsed_s = hours * 3600 + minutes * 60 + seconds
    block.said.update(
        requests=int(match[1]),
        elapsed_s=float(elapsed_s) or None,
        requests_per_s=float(match[3]),
        non_2xx=int(match[6]),
    )
    block.mean_us, block.max_us = float(match[4]) * 1e3, float(match[5]) * 1e3


TAKERS = compiled(
    {
        "k6": (
            (r"^\s*\* \S+: ([\d.]+) iterations/s for ", _paced),
            (r"^\s*(\{.*\}|[a-z][a-z_]+(?:\{.*\})?)\s*$", lambda b, m: setattr(b, "section", m[1])),
            (r"^\s*[✓✗] 'p\((\d{2}(?:\.\d+)?)\)\s?<=?\s?\d+' p\(\1\)=(\S+)", _threshold),
            (r"^\s*(?:WARN|ERRO)\[\d+\]\s+(\S.{0,200})", _complains),
            (r"^\s*\* \S+: (?:Up to )?\d+ looping VUs ", lambda b, m: b.said.update(closed_loop=True)),
            (r"^\s*(?:[✓✗√\u00d7] )?http_req_duration\.*\s*:\s+(avg=.*)", _trend),
            (r"^\s*http_req_waiting\.*\s*:\s+(avg=.*)", _waiting),
            (
                rf"^\s*(?:[✓✗√\u00d7] )?http_req_failed\.*\s*:\s+\S+\s+(?:✓ )?\(?{_COUNT}(?: out of {_COUNT})?",
                _failed_of_k6,
            ),
            (rf"^\s*http_reqs\.*\s*:\s+{_COUNT}\s+\(?({_THOUSANDS}|\d{{1,15}}(?:\.\d{{1,12}})?)/s", _requests_of_k6),
            (
                rf"^\s*dropped_iterations\.*\s*:\s+{N}",
                lambda b, m: b.said.update(extra=(*b.said.get("extra", ()), f"dropped_iterations: {m[1]}")),
            ),
            (rf"^\s*vus_max\.*\s*:\s+{N}", lambda b, m: b.said.update(connections=int(m[1]))),
            (r"^\s*(?:iteration\w*|vus|data_sent|\{ expected_response:true \})\.*\s*:", lambda b, m: None),
        ),
        "Gatling": ((r"^(?:> )?\s*([a-z][\w ./%]*?)(?: \(\w+\))?\s{2,}\|?\s*(\d.*)$", _gatling),),
        "JMeter": (
            (rf"^summary =\s+{N} in (\d\d:\d\d:\d\d) =\s+{F}/s Avg:\s+{N} Min:\s+\d+ Max:\s+{N} Err:\s+{N}", _jmeter),
            (r"^summary \+", lambda b, m: None),
        ),
        "Artillery": (
            (rf"^\s*http\.requests:[ .]*\s{N}\s*$", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*Requests completed:\s+{N}", lambda b, m: b.said.update(requests=int(m[1]))),
            (rf"^\s*http\.request_rate:[ .]*\s{F}/sec", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (rf"^\s*(?:Mean response/sec|RPS sent):\s+{F}", lambda b, m: b.said.update(requests_per_s=float(m[1]))),
            (
                r"^\s*(?:http\.response_time|Response time \(msec\)|Request latency):\s*$",
                lambda b, m: setattr(b, "listing", True),
            ),
            (rf"^\s+(min|max|mean|median|p\d{{2,3}}):[ .]*\s{F}\s*$", _artillery),
            (rf"^\s*(?:http\.codes\.)?(\d{{3}}):[ .]*\s{N}\s*$", lambda b, m: b.codes.update({int(m[1]): int(m[2])})),
            (
                rf"^\s*(?:errors\.\S+|E[A-Z]{{4,}}):[ .]*\s{N}\s*$",
                lambda b, m: setattr(b, "failed", b.failed + int(m[1])),
            ),
            (r"^\s*(?:http|vusers|plugins|errors)\.\S+:[ .]*\s\S+\s*$", lambda b, m: None),
            (
                r"^\s*(?:(?:http|vusers|plugins)\.\S+|Scenarios? [a-z]+|Codes|Errors):",
                lambda b, m: setattr(b, "listing", False),
            ),
        ),
        "Locust": (
            (
                rf"^\s*(?:None\s+)?Aggregated\s+{N}\s+{N}\([\d.]+%\)\s+\|\s+{N}\s+\d+\s+{N}\s+{N}\s+\|\s+{F}",
                _aggregated,
            ),
            (r"^\s*(?:Type\s+)?Name\s+(?:[\d.]+%\s+)+# reqs", _levels),
            (r"^\s*(?:None\s+)?Aggregated\s+((?:\d+\s+){2,}\d+)\s*$", _aggregated_percentiles),
            (r"^\s*(?:(?:Type\s+)?Name\s+#|Response time percentiles \(|-{8}\|)", lambda b, m: None),
        ),
    }
)
