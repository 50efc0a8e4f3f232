"""A run whose figures an author states, while they come in, and the report that is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runners.readers.command_line import CommandLine
from runners.readers.console_report import ConsoleReport, Latencies, SocketErrors, ThreadStats
from runners.readers.load_tools import MAY_BE_PACED, NEVER_PACED, OF_SEVERAL

LEAST_LATENCY_FIGURES = 1
LEAST_FIGURES = 2
_SHARE_BESIDE = re.compile(r"^[\s*`]*\d[\d,]*[*`]*\s*\((\d{1,3}(?:\.\d{1,3})?)\s?%\)")
_OF_ALL = re.compile(r"%[*`]*\s*\(\d[\d,]*\s?(?:/|of|out of)\s?(\d[\d,]*)(?: requests)?\)[\s*`]*$")
_TIMED_OUT = re.compile(
    r"(?i)[(\uff08](?:a |the )?(?:time-?outs?|timed out|таймаут\w*|超时|타임아웃|タイムアウト)[)\uff09]"
)
AT_TIMEOUT = "the maximum is a time-out"
DISAGREE = "counts that disagree: "
DROPPED = "iterations that were due at a rate and never began: "
OF_A_COUNT, OF_A_SHARE = 0.02, 0.001  # by which an author's counts and shares may miss each other
ROUNDED_SHARE = 0.001  # of failures, where an author gives the share of successes alone


@dataclass(slots=True)
class Run:
    """One run while its figures come in: by name, and percentiles by level."""

    label: str
    first_line: int
    last_line: int
    cell: int | None
    figures: dict[str, float] = field(default_factory=dict)
    single: bool = False  # whether its table or list holds this run alone
    by_users: bool = False  # whether its table gives the number of users, each of whom waits for a response
    of_rates: bool = False  # whether its table is said to be of rates alone
    heading: str = ""  # that it stands under

    def take(self, read: tuple[str, float], cell: str) -> None:
        """Take a figure that is not known yet, and the share that its cell gives of a count: `127 (0.28%)`."""
        name, number = read
        self.figures.setdefault(name, number)
        if name in ("success", "errors") and (share := _SHARE_BESIDE.search(cell)):
            self.figures.setdefault(f"share of {name}", float(share[1]) / 100)
        if name == "max_us" and _TIMED_OUT.search(cell):
            self.figures.setdefault("max at a time-out", number)
        if name == "error_share" and (counted := _OF_ALL.search(cell)):
            self.figures.setdefault("requests", float(counted[1].replace(",", "")))

    def is_run(self, bare: bool) -> bool:
        """Tell whether it states enough; `bare` says whether a rate alone is, if it stands beside others."""
        aside = ("duration", "dropped", "max at a time-out")  # of themselves no figures of a run
        figures = {name for name in self.figures if name not in aside and not name.startswith("share of")}
        latencies = sum(name.startswith("p:") or name in ("mean_us", "max_us") for name in figures)
        enough = latencies >= LEAST_LATENCY_FIGURES and len(figures) >= LEAST_FIGURES
        return enough or ((bare or self.of_rates) and not self.single and "rate" in self.figures)

    def report(self, tool: str, paced: bool | None, command: CommandLine | None) -> ConsoleReport:
        """Make the run a report of a tool; `paced` says whether its document names a rate that was offered."""
        said = self.figures
        rows = tuple(sorted((float(name[2:]), value) for name, value in said.items() if name.startswith("p:")))
        by_class = self._responses_by_class()
        counted = said.get("requests", said.get("iterations"))
        requests = round(counted) if counted is not None else None
        elapsed_s = said.get("duration") if "iterations" not in said else None  # several requests each
        if requests is None and len(by_class) > 1 and "2" in by_class:
            requests = round(sum(by_class.values()))
        errors = round(said["errors"]) if "errors" in said else _failed(by_class, requests)
        share = said.get("error_share")
        if errors is None and share is None:
            share = self._failed_share()
        if share is not None and requests:
            errors = round(share * requests)
        mean, largest = said.get("mean_us"), said.get("max_us")
        timed_out = round(said.get("timeouts", 0))
        if timed_out and errors is None and tool not in ("wrk", "wrk2"):
            errors = timed_out
        connections = round(said["connections"]) if "connections" in said else None
        threads = round(said["threads"]) if "threads" in said and tool in ("wrk", "wrk2") else None
        if command and connections not in (None, command.connections):
            command = None
        if paced and "offered" in said and "rate" in said and command is None:
            command = CommandLine("", tool, rate_rps=said["offered"])
        return ConsoleReport(
            tool=tool,
            command=command,
            threads=threads,
            connections=connections,
            latency=None if mean is None and largest is None else ThreadStats(mean, None, largest, None),
            latencies=Latencies(None, rows),
            requests=requests,
            elapsed_s=elapsed_s,
            non_2xx=errors,
            error_share=share if requests is None else None,
            socket_errors=SocketErrors(0, 0, 0, timed_out) if timed_out and tool in ("wrk", "wrk2") else None,
            requests_per_s=said.get("rate"),
            closed_loop=True
            if self.by_users
            else None
            if (paced and tool not in NEVER_PACED) or tool in (*MAY_BE_PACED, OF_SEVERAL)
            else True,
            transcribed=True,
            extra=(
                *self._contradictions(),
                *([f"{DROPPED}{said['dropped']:g}"] if said.get("dropped") else ()),
                *([AT_TIMEOUT] if "max at a time-out" in said else ()),
            ),
            first_line=self.first_line,
            last_line=self.last_line,
        )

    def _contradictions(self) -> Iterator[str]:
        """Say how counts of one run, and the shares beside them, contradict each other."""
        said = self.figures
        total = said.get("requests")
        if not total:
            return
        if "success" in said and "errors" in said:
            both = said["success"] + said["errors"]
            if abs(both - total) > max(1.0, OF_A_COUNT * total):
                yield f"{DISAGREE}{both:g} successes and errors of {total:g} requests"
        for name in ("success", "errors"):
            share = said.get(f"share of {name}")
            if share is not None and name in said and abs(said[name] / total - share) > OF_A_SHARE + OF_A_COUNT * share:
                yield f"{DISAGREE}{said[name]:g} of {total:g} requests are not {100 * share:g} %"

    def _responses_by_class(self) -> dict[str, float]:
        """Count the responses by the class of their status, where an author gives them so."""
        by_class: dict[str, float] = {}
        for name, count in self.figures.items():
            if name.startswith("status:"):
                first = name.split(":")[1]
                by_class[first] = by_class.get(first, 0) + count
        return by_class

    def _failed_share(self) -> float | None:
        """Give what is left of all requests beside those that are stated to have succeeded."""
        said = self.figures
        if "success_share" in said:
            share = 1 - said["success_share"]
            return share if share >= ROUNDED_SHARE else None
        if said.get("requests") and "success" in said:
            return max(0.0, 1 - said["success"] / said["requests"])
        return None


def _failed(by_class: dict[str, float], requests: int | None) -> int | None:
    """Count the responses that no success is; None where no status is given."""
    if not by_class:
        return None
    failed = by_class.get("4", 0) + by_class.get("5", 0)
    succeeded = by_class.get("2", 0) + by_class.get("3", 0)
    return round(max(failed, requests - succeeded) if requests and succeeded else failed)
