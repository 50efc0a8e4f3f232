"""Reader of the JSON report of the load generator or of its reference clients; latencies are in microseconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from runners.errors import ReadError, text_of
from runners.readers.console_report import beyond
from runners.readers.figures import count, number
from runners.readers.run import frame
from runners.storage.step_folder import FORMER_NAME

#: Schemas of the reports of our generator and of the reference clients, which write some of the fields.
SCHEMAS = tuple(f"{name}{of}/1" for name in ("truepace", FORMER_NAME) for of in ("", "-reference"))
KINDS = ("response", "service")
LEVEL_NAMES = {
    "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999, "p99_999": 0.99999, "max": 1.0,
}  # fmt: skip
INTERVAL_NAMES = {name: name.replace("_9", "9") for name in ("p50_us", "p90_us", "p99_us", "p99_9_us", "max_us")}


def read_load_json(path: Path) -> LoadReport:
    """Return the report in a generator's file. Raises ReadError if it is no JSON or has an unknown schema."""
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


def _section(document: dict[str, Any], name: str) -> dict[str, Any]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The content of a generator's report; a key that it lacks is a missing value in the frames."""

    document: dict[str, Any]

    @property
    def start_unix_us(self) -> int | None:
        """The wall clock (us since 1970) at the start of the recorded window; None if the report has none."""
        return count(self.document.get("start_unix_us"))

    @property
    def elapsed_s(self) -> float | None:
        return number(self.document.get("elapsed_s"))

    @property
    def targets(self) -> dict[str, LoadReport]:
        """Reports of the targets that shared the schedule, by name; empty if the load was on one server."""
        return {str(target["name"]): LoadReport(target) for target in self.document.get("targets") or ()}

    @property
    def completed(self) -> int:
        """The number of complete responses, in the warm-up and after it."""
        requests = _section(self.document, "requests")
        return int(requests.get("completed") or 0) + int(requests.get("warmup_completed") or 0)

    def summary_frame(self) -> pd.DataFrame:
        requests, errors, generator, reconnect_us, waited_us = (
            _section(self.document, name)
            for name in ("requests", "errors", "generator", "reconnect_us", "waited_for_connection_us")
        )
        lag_us = _section(generator, "lag_us")
        user, system = generator.get("cpu_user_s"), generator.get("cpu_system_s")
        of_run = ("offered_rps", "achieved_rps", "elapsed_s", "reconnects", "closed_idle")
        of_generator = ("kept_up", "kept_up_to", "receive_clock", "coalesce_us", "held")
        tells_waits = "waited_for_connection_us" in self.document and self.document.get("offered_rps") is not None
        row = {
            **{name: self.document.get(name) for name in of_run},
            **{name: requests.get(name) for name in ("scheduled", "sent", "completed", "censored", "unsent")},
            "non_2xx": errors.get("status"),
            **{f"{cause}_errors": errors.get(cause) for cause in ("connect", "read", "write", "parse")},
            "timeouts": errors.get("timeout"),
            "bytes_read": _section(self.document, "bytes").get("read"),
            **{name: generator.get(name) for name in of_generator},
            "lag_max_us": lag_us.get("max"),
            "lag_p99_us": lag_us.get("p99"),
            "generator_cpu_s": None if user is None or system is None else user + system,
            "reconnect_p50_us": reconnect_us.get("p50"),
            "reconnect_max_us": reconnect_us.get("max"),
            "waited": waited_us.get("count", 0) if tells_waits else None,
            "waited_p50_us": waited_us.get("p50"),
            "waited_max_us": waited_us.get("max"),
        }
        return frame("summary", [row])

    def failures_frame(self) -> pd.DataFrame:
        """Return the `failures` frame, a row for each cause; empty without failures or if no cause was reported."""
        return frame("failures", self.document.get("failures") or ())

    def targets_frame(self) -> pd.DataFrame:
        """Return the `targets` frame, a row for each target that shared the schedule; empty for one server."""
        rows = (
            {
                "target": name,
                **{rate: report.document.get(rate) for rate in ("offered_rps", "achieved_rps")},
                **{count: _section(report.document, "requests").get(count) for count in ("scheduled", "completed")},
                "served": report.completed,
                "non_2xx": _section(report.document, "errors").get("status"),
            }
            for name, report in self.targets.items()
        )
        return frame("targets", rows)

    def status_frame(self) -> pd.DataFrame:
        """Return the `status` frame: numbers of responses by HTTP status code."""
        counts = _section(self.document, "status")
        return frame("status", ({"code": str(code), "count": int(count)} for code, count in sorted(counts.items())))

    def spectrum_frame(self) -> pd.DataFrame:
        spectra = _section(self.document, "spectrum")
        rows = (
            {"kind": kind, "value_us": row[0], "percentile": row[1], "total_count": row[2]}
            for kind in KINDS
            for row in spectra.get(kind) or ()
        )
        return frame("spectrum", rows)

    def percentiles_frame(self) -> pd.DataFrame:
        """Return the `percentiles` frame as the generator computed it; the bounds, which need the log, are NaN."""
        rows = (
            {
                "kind": kind,
                "percentile": level,
                "value_us": values[name],
                "samples_beyond": beyond(int(values["count"]), level),
                "at_least": name in values["at_least"] if "at_least" in values else None,
            }
            for kind in KINDS
            if (values := _section(_section(self.document, "latency_us"), kind)).get("count")
            for name, level in LEVEL_NAMES.items()
            if values.get(name) is not None
        )
        return frame("percentiles", rows)

    def lateness_frame(self) -> pd.DataFrame:
        """Return the `lateness` frame: the largest send delay in each tenth of a second; empty in a closed loop."""
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
                "t_s": interval.get("t_s"),
                "kind": kind,
                "count": _section(interval, kind).get("count"),
                **{column: _section(interval, kind).get(name) for name, column in INTERVAL_NAMES.items()},
                "errors": interval.get("errors"),
                "completed": interval.get("completed"),
            }
            for interval in self.document.get("intervals") or ()
            for kind in KINDS
        )
        return frame("intervals", rows)
