"""Parser of load tools' console summaries, whose lines are described by patterns in load_tools.toml.

In a pattern, `<name>` stands for a figure. Its name says how to read the text: counts as whole numbers; `…_ms`, `…_s`
and rates as decimals; other figures as times with a unit. A line that needs more code is read by a method of `Summary`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from runners.readers import units
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.documents import Line
from runners.readers.figures import MS, S, command_of, level_of
from runners.readers.tools import TOOLS, Console
from runners.readers.wrk_console import LONGEST_LINE, clean

NEGATIVE = "a time below zero: the clock was set during the run"
LONGEST_BLOCK = 1_000  # lines of a summary; the longest one, k6's with metrics of many groups, has hundreds
LEAST_SUCCEEDED = 0.99  # of vegeta's requests by its throughput, which is rounded; if fewer did, some failed
MOST_BLANK = 4  # lines between two pieces of an output
MOSTLY_MISSING = 0.5  # if this share of the bytes of bodies of another length is missing, the bodies are missing
_COUNT = r"\d{1,3}(?:,\d{3})+|\d{1,18}"
_DECIMAL = r"\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?"
_COUNTS = frozenset({"requests", "connections", "non_2xx", "count", "status", "odd_length"})
_CLASSES = {f"c{digit}": 100 * digit for digit in range(1, 6)}  # of statuses: `940 2xx`
#: Figures that stay text. `section`: the part of a summary that a line is in, if lines of several parts look alike.
_TEXTS = frozenset({"section", "host", "port", "path", "operation", "url"})
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TOTAL = re.compile(r"\s*(?:summary =\s+(\d{1,18}) in |Creating summariser|Starting standalone test)")  # of JMeter
_DOTTED = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+,\d{1,2}(?![\d.,])")  # a dot separates thousands: `87.916,8`
_JOINED = re.compile(r"\s(?=Server|Doc|Conc|Time |Compl|Failed|HTML|Requests |Non-2xx|\(Conn|Total:|\d+% )")  # of ab
_SWAPPED = str.maketrans(".,", ",.")
_ONLY = 0.99  # share of the requests of a YCSB run; an operation with more has the run's rate
_STARTING_S = 0.2  # by which a YCSB run with a target takes longer than its operations at that rate
_BUSY = 0.9  # share of k6's users that had a request or pause all the time
_OF_WRK = re.compile(r"^\s*Running \S+ test @ ")
_NAME = re.compile(r"(?<!\?P)<(\w+)>")  # of a figure in a pattern
_TIMES = {"avg": "mean", "std": "stdev"} | {name: name for name in ("mean", "stdev", "min", "max", "iteration")}


def _is_count(name: str) -> bool:
    return name in _COUNTS or name in _CLASSES or name.startswith(("n_", "failed"))


def group_of(match: re.Match[str]) -> str:
    """Return the named group (a regular expression) that takes the place of `<name>` in a pattern."""
    name, text = match[1], r"\d[\d.,]{0,20}\s?[a-zµμ][\da-zµμ.]{0,20}"
    if _is_count(name):
        text = _COUNT
    elif name.endswith(("_us", "_ms", "_s", "_rps")) or name == "level":
        text = _DECIMAL
    return f"(?P<{name}>{text})"


def _time_us(name: str, text: str) -> float | None:
    scale_us = {"us": 1.0, "ms": MS, "s": S}.get(name.rpartition("_")[2]) if "_" in name else None
    return units.go_time_us(text) if scale_us is None else float(text) * scale_us


@dataclass(slots=True)
class Summary:
    """A load tool's console summary while its lines are read: the figures read so far."""

    tool: str
    first_line: int
    last_line: int = 0
    figures: dict[str, Any] = field(default_factory=dict)  # by name
    rows: dict[float, float] = field(default_factory=dict)  # latency (us) by level (0..1)
    codes: dict[int, int] = field(default_factory=dict)  # number of responses by HTTP status
    failed: int = 0
    notes: list[str] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)

    def take(self, match: re.Match[str], within: str | None = None, **figures: object) -> None:
        """Add the figures in a line, and the `figures` that the line implies.

        If `within` is given, only in a section that it names (`times|`: in `times` and before any section).
        """
        if within is not None and self.figures.get("section", "") not in within.split("|"):
            return
        self.figures.update(figures)
        texts = {name: text for name, text in match.groupdict().items() if text is not None}
        level, status = texts.pop("level", None), texts.pop("status", None)
        for name, as_printed in texts.items():
            text, base = as_printed.replace(",", ""), re.sub(r"_(?:us|ms|s)$", "", name)
            if name in _TEXTS:
                self.figures[name] = as_printed
            elif name == "diagnostic":
                self.diagnostics.append(as_printed)
            elif level is not None:
                self.time(level.lower(), _time_us(name, text))
            elif status is not None:
                self.codes[int(status)] = int(text)
            elif name in _CLASSES:
                self.codes[_CLASSES[name]] = int(text)
            elif name.startswith("failed"):
                self.failed += int(text)
            elif name == "elapsed":
                self.figures["elapsed_s"] = (units.go_time_us(text) or 0.0) / S or None
            elif base in _TIMES:
                self.figures[base] = _time_us(name, text)
            else:
                self.figures[name] = int(text) if _is_count(name) else float(text)

    def time(self, name: str, time_us: float | None) -> None:
        """Take a time by its name: a percentile, mean, standard deviation, minimum, maximum, or k6's `iteration`."""
        if name in _TIMES:
            self.figures[_TIMES[name]] = time_us
        if time_us is not None and (level := level_of(name)) is not None:
            self.rows[level] = time_us

    def has(self, proof: str) -> bool:
        """Return whether the summary has one of the figures that `proof` names, or, if `proof` is empty, any figure."""
        known = {*self.figures, *(["rows"] if self.rows else []), *(["codes"] if self.codes else [])}
        return not known.isdisjoint(proof.split()) if proof else bool(self.figures)

    def rounded_failures(self, match: re.Match[str]) -> None:
        self.failed += round(units.count(match[1]) or 0.0)  # autocannon's `9k errors`

    def cells(self, match: re.Match[str]) -> None:
        """Take percentiles, mean, standard deviation and maximum from autocannon's row Latency."""
        cut = re.split(r"[│|]", match[1])
        texts = cut if len(cut) > 1 else re.findall(r"[\d.,]+ \w+", match[1])
        if len(texts) == 7:
            for name, text in zip(("2.5", "50", "97.5", "99", "mean", "stdev", "max"), texts, strict=True):
                self.time(name, units.go_time_us(text))

    def rounded_count(self, match: re.Match[str]) -> None:
        """Take autocannon's last line; its rounded number of requests counts only if no other line gives a number."""
        if not self.codes:
            self.figures["requests"] = round(units.count(match[1]) or 0.0)
        self.take(match)

    def trend(self, match: re.Match[str]) -> None:
        """Take the times in a line of k6, with or without commas: `avg=1.2ms min=… med=… max=… p(90)=… p(95)=…`."""
        if "waiting" in match[0] and self.rows:
            return  # the time to first byte stands for the whole, which takes hardly longer, only where that is missing
        for name, text in re.findall(r"([\w().]+)=([^\s=]+?),?(?=\s|$)", match[1]):
            self.time(name, units.go_time_us(text))
            if text.startswith("-") and NEGATIVE not in self.notes:
                self.notes.append(NEGATIVE)

    def dropped(self, match: re.Match[str]) -> None:
        self.notes.append(f"dropped_iterations: {match[1]}")

    def scenario(self, match: re.Match[str]) -> None:
        """Take the rate of k6's iterations, which is not known (0) if it changes or several scenarios have one."""
        self.figures["offered_rps"] = 0.0 if "offered_rps" in self.figures else float(match[1] or 0.0)

    def gatling(self, match: re.Match[str]) -> None:
        """Take a line of Gatling's table on the whole run: figures of all requests, then of OK and of KO requests."""
        texts = re.findall(r"(?<![\w.])-?\d+(?:[.,]\d+)*", match[2].replace("\u202f", ""))
        first, *rest = (float(text.replace(",", "")) for text in texts or ["nan"])
        name = match[1].replace("response time", "").strip()
        if not texts:
            return
        if name == "request count":
            self.figures.update(requests=int(first), non_2xx=int(rest[1]) if len(rest) > 1 else None)
        elif name in ("mean requests/sec", "mean throughput"):
            self.figures["rate_rps"] = first
        else:
            self.time(name.split()[0], first * MS)

    def jmeter(self, match: re.Match[str]) -> None:
        """Take a line of JMeter: a running total replaces the earlier one; an interval counts if no total follows."""
        hours, minutes, seconds = (int(match[group]) for group in (3, 4, 5))
        elapsed_s = float(hours * 3600 + minutes * 60 + seconds)
        if match[1] == "=":
            self.figures |= {"elapsed_s": elapsed_s or None, "interval": None}
            self.take(match)
        elif self.figures.get("requests") and match["max_ms"]:
            interval = Summary(self.tool, self.first_line, figures={"elapsed_s": elapsed_s})
            interval.take(match)
            self.figures["interval"] = interval.figures

    def add(self, interval: Mapping[str, Any]) -> None:
        """Add `interval`, which JMeter printed after its last running total, to that total."""
        figures = self.figures
        requests, elapsed_s = (interval[name] + (figures[name] or 0) for name in ("requests", "elapsed_s"))
        total_us = interval["mean"] * interval["requests"] + figures["mean"] * figures["requests"]
        figures |= {"requests": requests, "elapsed_s": elapsed_s or None, "mean": total_us / requests}
        figures["max"] = max(figures.get("max") or 0.0, interval["max"])
        figures["non_2xx"] += interval["non_2xx"]
        figures["rate_rps"] = requests / elapsed_s if elapsed_s else None

    def locust(self, match: re.Match[str]) -> None:
        """Take Locust's row of all requests; it replaces the row that Locust printed before."""
        self.take(match)
        self.rows = {0.5: float(match["n_median"]) * MS}
        self.figures |= {"heads": (), "non_2xx": self.figures["non_2xx"] or None}

    def heads(self, match: re.Match[str]) -> None:
        self.figures |= {"heads": re.findall(r"\d[\d.]*(?=%| Latency)", match[0]), "parts": ()}

    def locust_percentiles(self, match: re.Match[str]) -> None:
        """Take Locust's percentiles (at most the maximum, as only percentiles are rounded), or an operation's count."""
        most_us, heads = self.figures.get("max") or float("inf"), self.figures.get("heads", ())
        name, values = match[1].split()[-1], match[2].split()
        if name != "Aggregated":
            self.figures["parts"] = (*self.figures.get("parts", ()), (name, int(values[-1])))
        for level, value in zip(heads, values, strict=False) if name == "Aggregated" else ():
            self.time(level, min(float(value) * MS, most_us))

    def memtier(self, match: re.Match[str]) -> None:
        """Take memtier's row of all operations: the rate, the mean and the percentiles that the table's head names."""
        self.take(match)
        for name, text in zip(("mean", *self.figures.get("heads", ())), match[2].split(), strict=False):
            self.time(name, float(text) * MS if units.number(text) is not None else None)

    def starts_over(self, text: str) -> bool:
        """Return whether a line belongs to JMeter's next run: it begins one, or its running total is lower."""
        total = _TOTAL.match(text) if self.tool == "JMeter" else None
        over = total is not None and int(total[1] or 0) < self.figures.get("requests", 0)
        if over and total and total[1]:
            self.figures["interval"] = None  # it is of that run
        return over

    def vegeta_times(self, match: re.Match[str]) -> None:
        for name, text in zip(map(str.strip, match[1].split(",")), match[2].split(","), strict=False):
            self.time(name, units.go_time_us(text))

    def vegeta_codes(self, match: re.Match[str]) -> None:
        self.codes |= {int(code): int(count) for code, count in re.findall(r"(\d{1,3}):(\d{1,18})", match[1])}

    def nighthawk(self, match: re.Match[str]) -> None:
        if self.figures.get("section") == "times" and (time_us := units.go_time_us(match[2])) is not None:
            self.rows[round(float(match[1]), 9)] = time_us

    def has_looping_users(self) -> bool:
        """Return whether k6's users are a closed loop: they rise to a set number, or (Little's law) all are busy."""
        names = ("n_last", "n_first", "n_most", "n_least", "connections", "rate_of_iterations_rps", "iteration")
        last, first, most, least, users, rate_rps, iteration_us = (self.figures.get(name) or 0 for name in names)
        risen, busy = first < last and most == least == users, rate_rps * iteration_us / S >= _BUSY * users
        return self.tool == "k6" and users > 0 and not self.notes and (risen or busy)

    def finish(self) -> ConsoleReport:
        """Return the report with the summary's figures."""
        figures = self.figures
        if figures.get("interval"):
            self.add(figures["interval"])
        mean_us, elapsed_s, rate = figures.get("mean"), figures.get("elapsed_s"), figures.get("rate_rps")
        counted = sum(self.codes.values()) + self.failed if self.codes else None
        requests = figures.get("requests", counted)
        if self.tool == "Artillery" and counted:  # older versions count only completed requests
            requests = max(requests or 0, counted)
        good, target = figures.get("n_good", 0), None
        if self.tool == "YCSB":
            requests, elapsed_s = max(requests or 0, good + self.failed), figures.get("run_ms", 0.0) / MS or None
            operations, whole_s = figures.get("run_rps", 0.0) * (elapsed_s or 0.0), int(elapsed_s or 0.0)
            if operations and requests >= _ONLY * operations:
                rate = figures["run_rps"]  # the run had no other operations
            asked = round(operations / (whole_s or 1), 3)
            if asked and (elapsed_s or 0.0) - whole_s <= _STARTING_S and float(f"{asked:.1e}") == asked:
                target = asked
        if self.tool in ("k6", "nighthawk", "drill") and requests and rate:
            elapsed_s = requests / rate
        if self.tool == "vegeta" and requests and elapsed_s:  # vegeta's throughput leaves errors out
            rate = min(figures.get("throughput_rps", float("inf")), requests / elapsed_s)
            if not self.codes and (succeeded := round(rate * elapsed_s)) < LEAST_SUCCEEDED * requests:
                self.failed = requests - succeeded
        odd_length, lost = figures.get("odd_length"), _without_body(figures)
        bad = sum(count for code, count in self.codes.items() if not 200 <= code < 400) + self.failed + lost
        bad += max(0, (requests or 0) - good) if self.tool == "siege" and "n_good" in figures else 0
        non_2xx, late = figures.get("non_2xx", bad or None), self.failed * (self.tool == "Gatling")  # only time-outs
        reset = figures.get("n_receive", 0) + figures.get("n_except", 0)
        errors = SocketErrors(figures.get("n_connect", 0), reset, timeout=min(late, non_2xx or 0))
        offered, connections = figures.get("offered_rps", figures.get("unknown_rps")), figures.get("connections")
        if figures.get("closed_loop"):  # of k6 with a rate, too, only some users loop
            offered, connections = None, connections if offered is None or self.tool != "k6" else None
        if self.tool == "k6" and offered and rate and (begun := figures.get("rate_of_iterations_rps")):
            offered *= rate / begun  # an iteration may send several requests
        paced = offered is not None and self.tool in ("k6", "autocannon")
        closed = False if paced else figures.get("closed_loop", self.has_looping_users() or None)
        tool = figures.get("tool", self.tool)
        port = f":{figures['port']}" if "port" in figures else ""
        address = figures.get("host", "") + port + figures.get("path", "")
        return ConsoleReport(
            tool=tool, command=command_of(self.tool, offered), duration_s=elapsed_s,
            url=f"//{address}" if address else figures.get("url"), connections=connections,
            latency=None if mean_us is None else ThreadStats(mean_us, figures.get("stdev"), figures.get("max")),
            latencies=Latencies(rows=tuple(sorted(self.rows.items()))), least_us=figures.get("min"),
            requests=requests, elapsed_s=elapsed_s, non_2xx=non_2xx and non_2xx - errors.timeout,
            failed_apart=self.failed * (TOOLS[tool].failures == "apart"), depth=figures.get("n_depth"),
            odd_length=None if lost else odd_length or None, socket_errors=errors if errors.total else None,
            requests_per_s=rate, operation=figures.get("operation", ""), parts=figures.get("parts", ()),
            without_body=lost, target_rps=target, timed_out="timed_out" in figures, closed_loop=closed,
            extra=tuple(self.notes), diagnostics=tuple(self.diagnostics),
            first_line=self.first_line, last_line=self.last_line,
        )  # fmt: skip


def _without_body(figures: Mapping[str, Any]) -> int:
    """Return how many of the responses that ab reports as of another length have no body; 0 if lengths only vary."""
    odd, length, requests, bodies = (figures.get(name) for name in ("odd_length", "n_document", "requests", "n_bodies"))
    if not (odd and length and requests) or bodies is None or figures.get("non_2xx"):
        return 0  # the first response may be an error page
    return int(odd) if length * requests - bodies >= MOSTLY_MISSING * odd * length else 0


def _pattern(console: Console, text: str) -> re.Pattern[str]:
    return re.compile(f"^{console.before}(?:{_NAME.sub(group_of, text)})")


def _lines(console: Console) -> Iterator[tuple[re.Pattern[str], Callable[[Summary, re.Match[str]], None]]]:
    for line in console.lines:
        text, taken = (line, {}) if isinstance(line, str) else line
        take = getattr(Summary, taken) if isinstance(taken, str) else partial(Summary.take, **taken)
        yield _pattern(console, text), take


_CONSOLES = {name: tool.console for name, tool in TOOLS.items() if tool.console}
_STARTS = {name: _pattern(console, "|".join(console.begins)) for name, console in _CONSOLES.items()}
_LINES = {name: tuple(_lines(console)) for name, console in _CONSOLES.items()}
_ANY_START = re.compile("|".join(f"(?:{start.pattern})" for start in _STARTS.values()))


def _is_cut(lines: Sequence[Line], index: int) -> bool:
    """Return whether the fence at `index` only cuts an output: only blank lines are between it and another fence."""
    before, after = reversed(lines[max(0, index - MOST_BLANK) : index]), lines[index + 1 : index + MOST_BLANK]
    nearest = (next((line.text for line in part if line.text.strip()), "") for part in (before, after))
    return any(_FENCE.match(text) for text in nearest)


def find_summaries(lines: Sequence[Line]) -> Iterator[tuple[int, int, ConsoleReport]]:
    """Yield (index of the first line, index of the last line, report) for each summary in a text."""
    summary: Summary | None = None
    begin = end = 0
    for index, line in enumerate(lines):
        if len(line.text) > LONGEST_LINE:
            continue
        text = clean(line.text)
        text = text.translate(_SWAPPED) if "," in text and _DOTTED.search(text) else text
        of_run: dict[str, Any] = {}
        tool = next(name for name, start in _STARTS.items() if start.match(text)) if _ANY_START.match(text) else None
        anew = tool is not None
        ended = _FENCE.match(text) is not None
        if summary:
            console = _CONSOLES[summary.tool]
            whole = not console.repeated or not summary.figures.keys().isdisjoint(console.last.split())
            ended &= not (whole and _is_cut(lines, index))
            whole |= summary.starts_over(text)
            anew &= summary.tool != tool or whole
            ended |= summary.tool != "autocannon" and _OF_WRK.match(text) is not None
        if summary and (anew or ended or index - begin > LONGEST_BLOCK):
            if summary.has(_CONSOLES[summary.tool].proof):
                yield begin, end, summary.finish()
            if anew and summary.tool == tool:
                of_run = {name: value for name, value in summary.figures.items() if name.startswith("run_")}
            summary = None
        if anew and tool:
            summary, begin, end = Summary(tool, line.number, line.number, of_run), index, index
        joined = summary is not None and summary.tool == "ab" and text.count(": ") > 4  # no line of ab's has more
        for piece in _JOINED.split(text) if joined else (text,):
            for pattern, take in _LINES[summary.tool] if summary else ():
                if summary and (match := pattern.match(piece)):
                    take(summary, match)
                    summary.last_line, end = line.number, index
                    break
    if summary and summary.has(_CONSOLES[summary.tool].proof):
        yield begin, end, summary.finish()
