"""Merge the files of several generators that shared a load into those of one: histograms added, percentiles anew.

Counts are added bucket by bucket: all histograms are recorded in nanoseconds with the same digits, so that they have
the same buckets. A percentile is taken from the sum and never averaged. Values without a histogram (lag, the verdict)
are those of the worst generator.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hdrh.histogram import HdrHistogram

from runners.errors import MeasureError
from runners.readers import hdr_log
from runners.readers.load_json import INTERVAL_NAMES, KINDS, LEVEL_NAMES
from runners.readers.requests_log import merged_requests
from runners.readers.samples import Samples
from runners.storage.step_folder import StepFolder

_STARTS = re.compile(r"#\[(Start|Base)Time: [\d.]+")
_OF_ALL = (*KINDS, hdr_log.CENSORED)


def merge(parts: Sequence[StepFolder], whole: StepFolder, start_unix_us: int) -> None:
    """Write the files of a load from those of its generators. `start_unix_us`: the start of its window, for all."""
    reports = [json.loads(part.load_json.read_text(encoding="utf-8")) for part in parts]
    merge_logs([part.hlog for part in parts], whole.hlog, start_unix_us)
    if all(part.requests.exists() for part in parts):
        whole.requests.write_bytes(merged_requests([part.requests for part in parts], start_unix_us))
        for part in parts:
            part.requests.unlink()  # every row of it is in the merged log
    report = merged_report(reports, hdr_log.read_hdr_log(whole.hlog), start_unix_us)
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in report.items())
    whole.load_json.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    for name in ("console", "generator_stderr"):
        texts = (getattr(part, name).read_text(encoding="utf-8", errors="replace") for part in parts)
        getattr(whole, name).write_text("\n".join(texts), encoding="utf-8")


def merge_logs(logs: Sequence[Path], to: Path, start_unix_us: int) -> None:
    """Add the HdrHistogram logs of several generators, interval by interval and tag by tag."""
    heads: list[str] = []
    notes: list[str] = []
    intervals: dict[tuple[float, str], list[tuple[float, float, HdrHistogram]]] = {}
    for path in logs:
        lines = path.read_text(encoding="utf-8").splitlines()
        legend = next(place for place, line in enumerate(lines) if line.startswith('"'))
        heads = heads or lines[: legend + 1]
        for line in lines[legend + 1 :]:
            if line.startswith("#"):
                notes.append(line)
                continue
            match = hdr_log.INTERVAL_LINE.match(line)
            if match is None:
                raise MeasureError(str(path), f"holds a line that is no interval: {line[:80]}", "run the load again")
            payload = HdrHistogram.decode(match["data"].encode("ascii"))
            key = (round(float(match["at"]), 3), match["tag"] or hdr_log.UNTAGGED)
            intervals.setdefault(key, []).append((float(match["length"]), float(match["max"]), payload))
    start = f"{start_unix_us / 1e6:.3f}"
    with to.open("w", encoding="utf-8") as out:
        for line in heads:
            out.write(_STARTS.sub(lambda match: f"#[{match[1]}Time: {start}", line) + "\n")
        for (at, tag), several in sorted(intervals.items(), key=lambda item: (item[0][0], _order(item[0][1]))):
            whole = added([histogram for _, _, histogram in several])
            length, most = max(part[0] for part in several), max(part[1] for part in several)
            out.write(f"Tag={tag},{at:.3f},{length:.3f},{most:.3f},{whole.encode().decode('ascii')}\n")
        out.writelines(f"{note}\n" for note in notes)


def _order(tag: str) -> tuple[int, str]:
    kind = re.split("[_:@]", tag)[0]
    return (_OF_ALL.index(kind) if kind in _OF_ALL else len(_OF_ALL), tag)


def added(histograms: Sequence[HdrHistogram]) -> HdrHistogram:
    """Add histograms bucket by bucket. Raises MeasureError for two that do not have the same buckets."""
    layouts = {(histogram.unit_magnitude, histogram.significant_figures) for histogram in histograms}
    if len(layouts) > 1:
        cause = f"their histograms have different buckets {sorted(layouts)}"
        raise MeasureError("these generators", cause, "use one version of the generator on all hosts")
    largest = max(histograms, key=lambda histogram: histogram.counts_len)
    whole = HdrHistogram(largest.lowest_trackable_value, largest.highest_trackable_value, largest.significant_figures)
    counts = counts_of(whole)
    for histogram in histograms:
        counts[: histogram.counts_len] += counts_of(histogram)
    filled = np.nonzero(counts)[0]
    if len(filled):
        whole.set_internal_tacking_values(int(filled[0]), int(filled[-1]), int(counts.sum()))
    return whole


def counts_of(histogram: HdrHistogram) -> Any:
    """Return the counts of a histogram by bucket, as an array that shares its memory."""
    return np.frombuffer(histogram.counts, dtype=f"i{histogram.word_size}", count=histogram.counts_len)


def merged_report(reports: Sequence[Mapping[str, Any]], log: hdr_log.HdrLog, start_unix_us: int) -> dict[str, Any]:
    """Return the JSON report of all generators as if one had sent the load; see `runners/loadgen/docs/json.md`."""
    first = reports[0]
    elapsed_s = max(report["elapsed_s"] for report in reports)
    ranges = [report["offered_rps_range"] for report in reports]
    document = {
        **{name: first[name] for name in ("schema", "version", "command", "url", "mode", "arrival", "queue")},
        "start_unix_us": start_unix_us,
        "end_unix_us": start_unix_us + int(elapsed_s * 1e6),
        **{name: sum(report[name] for report in reports) for name in ("threads", "connections")},
        "share": None,
        "offered_rps_range": None if None in ranges else [sum(limits[end] for limits in ranges) for end in (0, 1)],
        **{name: first[name] for name in ("warmup_s", "duration_s")},
        "elapsed_s": elapsed_s,
        **_fields(reports, log, ""),
    }
    if first.get("targets"):
        document["interleave"] = first["interleave"]
        document["targets"] = [
            {
                **_fields([report["targets"][place] for report in reports], log, hdr_log.TARGET + target["name"]),
                **{name: target[name] for name in ("name", "url", "weight")},
                "connections": sum(report["targets"][place]["connections"] for report in reports),
            }
            for place, target in enumerate(first["targets"])
        ]
    document["requests_dropped"] = sum(report["requests_dropped"] for report in reports)
    document["interrupted"] = any(report["interrupted"] for report in reports)
    document["failure"] = next((report["failure"] for report in reports if report["failure"]), None)
    return document


def _fields(reports: Sequence[Mapping[str, Any]], log: hdr_log.HdrLog, suffix: str) -> dict[str, Any]:
    """Return the fields of a target, or of all targets together; `suffix` ends the target's tags of the log."""
    waiting = _samples(log, hdr_log.CENSORED, suffix)

    def pair(part: str) -> dict[str, Any]:
        response, service = (_samples(log, kind + part, suffix) for kind in KINDS)
        return {
            KINDS[0]: _distribution(response, Samples.empty() if part else waiting),
            KINDS[1]: _distribution(service, Samples.empty()),
        }

    tags = {hdr_log.untargeted(tag) for tag in log.kinds if tag.endswith(suffix)}
    parts = sorted(tag.removeprefix(KINDS[0]) for tag in tags if tag.startswith(KINDS[0]))
    whole = pair("")
    return {
        "offered_rps": _sum(report["offered_rps"] for report in reports),
        "achieved_rps": _sum(report["achieved_rps"] for report in reports),
        "loaded_s": max(report["loaded_s"] for report in reports),
        **{name: _added(reports, name) for name in ("requests", "bytes", "status", "errors")},
        "failures": _failures(reports),
        "shortfall": "; ".join(dict.fromkeys(report["shortfall"] for report in reports if report.get("shortfall")))
        or None,
        **{name: sum(report.get(name, 0) for report in reports) for name in ("connects", "reconnects", "closed_idle")},
        **{
            name: _worst(report.get(name) for report in reports)
            for name in ("reconnect_us", "waited_for_connection_us")
        },
        "latency_us": whole,
        "latency_us_by_class": {part[1:]: pair(part) for part in parts if part.startswith("_")},
        "latency_us_by_operation": {part[1:]: pair(part) for part in parts if part.startswith(":")},
        "latency_us_by_clock": {reports[0]["generator"]["receive_clock"]: whole},
        "intervals": _intervals(reports, log, suffix),
        "generator": _generator(reports),
        "objectives": [],
    }


def _failures(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return failures by cause over all generators, each with the first of them."""
    causes: dict[str, dict[str, Any]] = {}
    for failure in (failure for report in reports for failure in report.get("failures", ())):
        known = causes.get(failure["cause"])
        first = failure if known is None or failure["first_s"] < known["first_s"] else known
        causes[failure["cause"]] = first | {"count": failure["count"] + (known["count"] if known else 0)}
    return list(causes.values())


def _worst(times: Iterable[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the count of all generators, and for every percentile the largest of any."""
    known = [summary for summary in times if summary]
    if not known:
        return None
    highest = {name: max(summary[name] for summary in known) for name in known[0] if name != "count"}
    return {"count": sum(summary["count"] for summary in known), **highest}


def _samples(log: hdr_log.HdrLog, tag: str, suffix: str) -> Samples:
    return Samples.merge(
        interval.samples
        for interval in log.intervals
        if hdr_log.untargeted(interval.kind) == tag and interval.kind.endswith(suffix)
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _added(reports: Sequence[Mapping[str, Any]], section: str) -> dict[str, int]:
    whole = Counter[str]()
    for report in reports:
        whole.update(report[section])
    return dict(whole)


def _distribution(samples: Samples, waiting: Samples) -> dict[str, Any]:
    """Return a distribution for the report; requests without a response count with the time that they waited."""
    whole = Samples.merge([samples, waiting])
    frame = samples.percentiles("", waiting)
    at = dict(zip(frame["percentile"], zip(frame["value_us"], frame["at_least"], strict=True), strict=True))
    spread = np.average((whole.values_us - whole.mean_us) ** 2, weights=whole.counts) ** 0.5 if whole.total else 0.0
    return {
        "count": whole.total,
        "censored": waiting.total,
        "min": float(whole.values_us[0]) if whole.total else 0.0,
        "mean": whole.mean_us if whole.total else 0.0,
        "stdev": float(spread),
        **{name: float(at[level][0]) if at else 0.0 for name, level in LEVEL_NAMES.items()},
        "at_least": [name for name, level in LEVEL_NAMES.items() if at and at[level][1]],
    }


def _intervals(reports: Sequence[Mapping[str, Any]], log: hdr_log.HdrLog, suffix: str) -> list[dict[str, Any]]:
    by_second: dict[float, list[Mapping[str, Any]]] = {}
    for report in reports:
        for second in report["intervals"]:
            by_second.setdefault(second["t_s"], []).append(second)
    logged: dict[tuple[float, str], list[Samples]] = {}
    for interval in log.intervals:
        if hdr_log.untargeted(interval.kind) in KINDS and interval.kind.endswith(suffix):
            logged.setdefault((int(interval.t_s + hdr_log.ROUNDED_S), hdr_log.untargeted(interval.kind)), []).append(
                interval.samples
            )
    return [
        {
            "t_s": t_s,
            "duration_s": max(second["duration_s"] for second in several),
            **{name: sum(second[name] for second in several) for name in ("sent", "completed", "errors")},
            **{kind: _second(Samples.merge(logged.get((round(t_s), kind), ()))) for kind in KINDS},
            "lag_max_us": list(map(max, zip(*(second["lag_max_us"] or () for second in several), strict=True))) or None,
        }
        for t_s, several in sorted(by_second.items())
    ]


def _second(samples: Samples) -> dict[str, Any]:
    levels = {name.removesuffix("_us"): name for name in INTERVAL_NAMES}
    at = {of: samples.percentile(LEVEL_NAMES[name]) if samples.total else 0.0 for name, of in levels.items()}
    return {"count": samples.total, **at}


def _generator(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the generators' reports on themselves: processor time together, lag and verdict of the worst."""
    own = [report["generator"] for report in reports]
    worst = min(
        own, key=lambda generator: (generator["kept_up"], generator["kept_up_to"] or 0.0, -generator["lag_us"]["p99"])
    )
    completed = sum(report["requests"]["completed"] for report in reports)
    cpu_s = sum(generator["cpu_user_s"] + generator["cpu_system_s"] for generator in own)
    clocks = dict.fromkeys(worst["cpu_us_per_request_by_clock"])
    lags = {name: max(generator["lag_us"][name] for generator in own) for name in worst["lag_us"] if name != "count"}
    several = f"of {len(own)} generators the worst " if len(own) > 1 else ""
    return {
        **{
            name: sum(generator[name] for generator in own)
            for name in ("cpu_user_s", "cpu_system_s", "held", "rested", "unstamped")
        },
        "cpu_us_per_request_by_clock": clocks | {worst["receive_clock"]: cpu_s * 1e6 / max(1, completed)},
        "peak_memory_bytes": max(generator["peak_memory_bytes"] for generator in own),
        "lag_us": {"count": sum(generator["lag_us"]["count"] for generator in own), **lags},
        "coalesce_us": worst["coalesce_us"],
        **{name: max(generator.get(name, 0.0) for generator in own) for name in ("stalled_s", "longest_stall_s")},
        "kept_up": all(generator["kept_up"] for generator in own),
        "kept_up_to": worst["kept_up_to"],
        "verdict": several + worst["verdict"],
        **{name: " and ".join(sorted({generator[name] for generator in own})) for name in ("io", "receive_clock")},
    }
