"""Reader of the JSON report of our generator, truepace, or of its reference clients; latencies are in microseconds."""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from runners import words
from runners.errors import ReadError, text_of
from runners.readers.console_report import LEVELS, beyond
from runners.readers.figures import at, count, number, part
from runners.readers.run import frame
from runners.storage.step_folder import FORMER_NAME

#: Schemas of reports: of our generator, and of the reference clients, whose reports have only some of the fields.
SCHEMAS = tuple(f"{name}{of}/1" for name in ("truepace", FORMER_NAME) for of in ("", "-reference"))
KINDS = ("response", "service")
INTERVAL_NAMES = {name: name.replace("_9", "9") for name in ("p50_us", "p90_us", "p99_us", "p99_9_us", "max_us")}


def read_load_json(path: Path) -> "LoadReport":
    """Return the report in a generator's file. Raises ReadError if the file is no JSON or has an unknown schema."""
    remedy = "run the step again; the console output may still be read"
    text = text_of(path, remedy)
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ReadError(path, f"is no JSON ({error})", remedy) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema not in SCHEMAS:
        remedy = "read it with the version of the lab that wrote it"
        raise ReadError(path, f"has schema {schema!r}, but this lab reads {SCHEMAS[0]!r}", remedy)
    return LoadReport(document)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """A generator's JSON report. A key that the report lacks becomes a missing value in the data frames."""

    document: dict[str, Any]

    @property
    def start_unix_us(self) -> int | None:
        """The wall clock (us since 1970) at the start of the recorded window; None if the report has none."""
        return count(self.document.get("start_unix_us"))

    @property
    def elapsed_s(self) -> float | None:
        return number(self.document.get("elapsed_s"))

    def summary_frame(self) -> pd.DataFrame:
        given = partial(at, self.document)
        user, system = given("generator/cpu_user_s"), given("generator/cpu_system_s")
        of_run = ("offered_rps", "achieved_rps", "elapsed_s", "reconnects", "closed_idle")
        of_generator = ("kept_up", "kept_up_to", "receive_clock", "coalesce_us", "held")
        tells_waits = "waited_for_connection_us" in self.document and self.document.get("offered_rps") is not None
        row = {
            **{name: given(name) for name in of_run},
            **{name: given(f"requests/{name}") for name in ("scheduled", "sent", "completed", "censored", "unsent")},
            "non_2xx": given("errors/status"),
            **{f"{cause}_errors": given(f"errors/{cause}") for cause in ("connect", "read", "write", "parse")},
            "timeouts": given("errors/timeout"),
            "bytes_read": given("bytes/read"),
            **{name: given(f"generator/{name}") for name in of_generator},
            **{f"lag_{level}_us": given(f"generator/lag_us/{level}") for level in ("max", "p99")},
            "generator_cpu_s": None if user is None or system is None else user + system,
            **{f"reconnect_{level}_us": given(f"reconnect_us/{level}") for level in ("p50", "max")},
            "waited": given("waited_for_connection_us/count") or 0 if tells_waits else None,
            **{f"waited_{level}_us": given(f"waited_for_connection_us/{level}") for level in ("p50", "max")},
        }
        return frame("summary", [row])

    def failures_frame(self) -> pd.DataFrame:
        """Return the `failures` data frame, a row for each cause of failures; empty if the report has none."""
        return frame("failures", self.document.get("failures") or ())

    def targets_frame(self) -> pd.DataFrame:
        """Return the `targets` data frame, a row for each server that shared the schedule; empty if just one did."""
        rows = (
            {
                "target": str(target["name"]),
                **{rate: target.get(rate) for rate in ("offered_rps", "achieved_rps")},
                **{count: at(target, f"requests/{count}") for count in ("scheduled", "completed")},
                "served": sum(at(target, f"requests/{count}") or 0 for count in ("completed", "warmup_completed")),
                "non_2xx": at(target, "errors/status"),
            }
            for target in self.document.get("targets") or ()
        )
        return frame("targets", rows)

    def status_frame(self) -> pd.DataFrame:
        """Return the `status` data frame: numbers of responses by HTTP status code."""
        counts = part(self.document, "status")
        return frame("status", ({"code": str(code), "count": int(count)} for code, count in sorted(counts.items())))

    def spectrum_frame(self) -> pd.DataFrame:
        pairs = ((kind, row) for kind in KINDS for row in at(self.document, f"spectrum/{kind}") or ())
        rows = ({"kind": kind, "value_us": row[0], "percentile": row[1], "total_count": row[2]} for kind, row in pairs)
        return frame("spectrum", rows)

    def percentiles_frame(self) -> pd.DataFrame:
        """Return the generator's `percentiles` data frame. Bounds are NaN, because they need the HdrHistogram log."""
        rows = (
            {
                "kind": kind,
                "percentile": level,
                "value_us": values[name],
                "samples_beyond": beyond(int(values["count"]), level),
                "at_least": name in values["at_least"] if "at_least" in values else None,
            }
            for kind in KINDS
            if (values := part(self.document, f"latency_us/{kind}")).get("count")
            for level in LEVELS
            if values.get(name := words.level(level).replace(".", "_")) is not None
        )
        return frame("percentiles", rows)

    def lateness_frame(self) -> pd.DataFrame:
        """Return the `lateness` data frame: the largest send delay per tenth of a second; no rows for a closed loop."""
        rows = (
            {"t_s": interval["t_s"] + tenth / len(lags), "lag_max_us": lag_us}
            for interval in self.document.get("intervals") or ()
            if (lags := interval.get("lag_max_us"))
            for tenth, lag_us in enumerate(lags)
            if tenth / len(lags) < interval["duration_s"] or lag_us > 0
        )
        return frame("lateness", rows)

    def intervals_frame(self) -> pd.DataFrame:
        rows = (
            {
                **{name: interval.get(name) for name in ("t_s", "errors", "completed")},
                "kind": kind,
                "count": at(interval, f"{kind}/count"),
                **{column: at(interval, f"{kind}/{name}") for name, column in INTERVAL_NAMES.items()},
            }
            for interval in self.document.get("intervals") or ()
            for kind in KINDS
        )
        return frame("intervals", rows)
