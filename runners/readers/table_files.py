"""Readers of the tables that load tools write: one row for each request or for each operation."""

import csv
import html
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runners.readers.console_report import ConsoleReport, rank
from runners.readers.figures import MS, S, count, known_levels, number, percentiles, run_of

Row = Mapping[str, Any]
Read = Callable[[Iterable[Row]], Iterator[ConsoleReport]]


@dataclass(frozen=True, slots=True)
class SampleTable:
    """The names of the columns in a load tool's table with a row per request; "" for a column that is missing."""

    tool: str
    took: str  # the latency, in units of `unit_us`
    unit_us: float
    status: str = ""
    sent: str = ""  # when the request was sent, in units of `sent_unit_s`
    sent_unit_s: float = 1.0
    label: str = ""  # rows with the same label make one output
    connections: str = ""
    only: tuple[str, str] = ("", "")  # a column and a value: rows with other values do not count

    def read(self, rows: Iterable[Row]) -> Iterator[ConsoleReport]:
        """Yield a report for each label in the rows; cut rows and percentiles with few samples above are left out."""
        by_label: dict[str, list[tuple[float, float | None, bool]]] = {}
        connections = 0
        for row in rows:
            took_us, label = number(row.get(self.took), self.unit_us), row.get(self.label) if self.label else ""
            if took_us is None or label is None or row.get(self.only[0], "") != self.only[1]:
                continue
            succeeded = str(row.get(self.status, "200")).lower()[:1] in "23t"
            by_label.setdefault(label, []).append((took_us, number(row.get(self.sent), self.sent_unit_s), succeeded))
            connections = max(connections, count(row.get(self.connections)) or 0)
        for label, samples in by_label.items():
            times_us = sorted(took_us for took_us, _, _ in samples)
            requests, mean_us = len(times_us), math.fsum(times_us) / len(times_us)
            spans_s = [(sent_s, sent_s + took_us / S) for took_us, sent_s, _ in samples if sent_s is not None]
            elapsed_s = max(end_s for _, end_s in spans_s) - min(sent_s for sent_s, _ in spans_s) if spans_s else 0.0
            yield run_of(
                self.tool, {level: times_us[rank(requests, level) - 1] for level in known_levels(requests)},
                mean_us, math.sqrt(math.fsum((time_us - mean_us) ** 2 for time_us in times_us) / requests),
                times_us[-1], samples=requests, requests=requests, elapsed_s=elapsed_s or None,
                non_2xx=sum(not succeeded for _, _, succeeded in samples), connections=connections or None,
                operation=label if len(by_label) > 1 else "",
            )  # fmt: skip


JMETER = SampleTable("JMeter", "elapsed", MS, "success", "timeStamp", 1e-3, "label", "allThreads")
K6 = SampleTable("k6", "metric_value", MS, "status", only=("metric_name", "http_req_duration"))
HEY = SampleTable("hey", "response-time", S, "status-code", "offset")
VEGETA = SampleTable("vegeta", "took", 1e-3, "code", "at", 1e-9)  # `encode -to csv`, without a header row
AB = SampleTable("ab", "ttime", MS)  # `-g`: its clock has whole seconds, too coarse for a rate


def _ab_percentiles(rows: Iterable[Row]) -> Iterator[ConsoleReport]:
    if known := percentiles(((row.get("Percentage served"), row.get("Time in ms")) for row in rows), MS):
        yield run_of("ab", known)


def _locust(rows: Iterable[Row]) -> Iterator[ConsoleReport]:
    """Yield the output in row `Aggregated` of Locust's …_stats.csv; without that row, an output for every row."""
    by_name = list(rows)
    operations = [row for row in by_name if row.get("Name") == "Aggregated"] or by_name
    set_aside = [other for other in by_name if other not in operations]
    for row in operations:
        most_us = number(row.get("Max Response Time"), MS)
        levels = percentiles(((name, value) for name, value in row.items() if name.endswith("%")), MS)
        yield run_of(
            "Locust", {level: min(value_us, most_us or value_us) for level, value_us in levels.items()},
            number(row.get("Average Response Time"), MS), max_us=most_us,
            requests=count(row.get("Request Count")), requests_per_s=number(row.get("Requests/s")),
            non_2xx=count(row.get("Failure Count")), operation=row.get("Name", "") if len(operations) > 1 else "",
            parts=tuple((row.get("Name", ""), count(row.get("Request Count")) or 0) for row in set_aside),
        )  # fmt: skip


#: Columns by which a table's header row is recognised, and the table's reader.
_BY_HEAD: tuple[tuple[frozenset[str], Read], ...] = (
    (frozenset({"timeStamp", "elapsed"}), JMETER.read),
    (frozenset({"response-time", "DNS+dialup"}), HEY.read),
    (frozenset({"metric_name", "timestamp", "metric_value"}), K6.read),
    (frozenset({"Percentage served", "Time in ms"}), _ab_percentiles),
    (frozenset({"starttime", "seconds", "ctime", "ttime"}), AB.read),
    (frozenset({"Type", "Name", "Request Count", "Failure Count"}), _locust),
)
#: For tables without a header row: a pattern of the first row, the names of the columns, and the reader.
_HEADLESS: tuple[tuple[re.Pattern[str], str, Read], ...] = (
    (
        re.compile(r"^\d{13}(?P<by>[,;\t|])\d{1,9}(?P=by)[^\n]{1,1500}(?P=by)(?:true|false)(?P=by)"),
        "timeStamp elapsed label code message thread type success why bytes",
        JMETER.read,
    ),
    (re.compile(r"^\d{19}(?P<by>,)\d{1,3},\d{1,15},\d+,\d+,"), "at code took", VEGETA.read),
)


def read_table(text: str) -> tuple[ConsoleReport, ...] | None:
    """Return the outputs in a tool's table (columns in any order); None for other text. Raises csv.Error if damaged."""
    text = text.lstrip("\ufeff \t\r\n")
    first = text.partition("\n")[0].strip()
    separator = max(",;\t|", key=first.count)
    head = {name.strip('" ') for name in first.split(separator)}
    read, names = next((read for columns, read in _BY_HEAD if columns <= head), None), None
    if read is None:
        for mark, columns, read_headless in _HEADLESS:
            if match := mark.match(first):
                read, names, separator = read_headless, columns.split(), match["by"]
    lines = (line for line in text.splitlines() if line.strip())
    rows = csv.DictReader(lines, fieldnames=names, delimiter=separator)
    whole = ({name: value for name, value in row.items() if name and value is not None} for row in rows)
    return tuple(read(whole)) if read else None


JTL_XML = re.compile(r"<testResults\b")
_SAMPLE = re.compile(r"<(?P<end>/?)(?:httpSample|sample)\b(?P<attributes>[^<>]{0,5000}?)(?P<empty>/?)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_XML_NAMES = {"ts": "timeStamp", "t": "elapsed", "lb": "label", "s": "success", "na": "allThreads"}


def read_jtl_xml(text: str) -> Iterator[ConsoleReport]:
    """Return the outputs in JMeter's XML. Nested samples are left out: the outer sample's time includes their time."""
    samples: list[Row] = []
    depth = 0
    for tag in _SAMPLE.finditer(text):
        if not tag["end"] and not depth:
            attributes = _ATTRIBUTE.findall(tag["attributes"])
            samples.append({_XML_NAMES.get(name, name): html.unescape(value) for name, value in attributes})
        depth = max(0, depth + (-1 if tag["end"] else 0 if tag["empty"] else 1))
    return JMETER.read(samples)
