"""Merge the files of several generators that shared a load into the files that one generator would have written.

Histograms are added bucket by bucket, since all record nanoseconds with the same number of digits. So percentiles are
computed from the sum, never as a mean. Of values without a histogram (lag, verdict) the worst one is taken.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from runners.errors import MeasureError
from runners.readers import hdr_log
from runners.readers.requests_log import merged_requests
from runners.storage.step_folder import StepFolder, write_json

_STARTS = re.compile(r"#\[(Start|Base)Time: [\d.]+")
#: Fields that are the same in the reports of all generators.
_OF_ANY = ("schema", "version", "command", "url", "mode", "arrival", "queue", "warmup_s", "duration_s")
_WAITS = ("reconnect_us", "waited_for_connection_us")


def merge(parts: Sequence[StepFolder], whole: StepFolder, start_unix_us: int) -> None:
    """Merge the files of `parts` into `whole`; remove merged request logs. `start_unix_us`: recorded window's start."""
    reports = [json.loads(part.load_json.read_text(encoding="utf-8")) for part in parts]
    merge_logs([part.hlog for part in parts], whole.hlog, start_unix_us)
    if all(part.requests.exists() for part in parts):
        whole.requests.write_bytes(merged_requests([part.requests for part in parts], start_unix_us))
        for part in parts:
            part.requests.unlink()  # every row of it is in the merged log
    write_json(whole.load_json, merged_report(reports, start_unix_us))
    for name in ("console", "generator_stderr"):
        texts = (getattr(part, name).read_text(encoding="utf-8", errors="replace") for part in parts)
        getattr(whole, name).write_text("\n".join(texts), encoding="utf-8")


def merge_logs(logs: Sequence[Path], to: Path, start_unix_us: int) -> None:
    """Write the sum of HdrHistogram logs, by interval and tag, to the file `to`.

    `start_unix_us`: start of the recorded window, for the head of `to`. Raises MeasureError if a line is malformed.
    """
    heads, notes = list[str](), list[str]()
    intervals: dict[tuple[float, str], list[tuple[float, float, HdrHistogram]]] = {}
    for path in logs:
        lines = path.read_text(encoding="utf-8").splitlines()
        legend = next((place for place, line in enumerate(lines) if line.startswith('"')), -1)
        if legend < 0:
            raise MeasureError(str(path), "holds no legend, so no whole log", "run the load again")
        heads = heads or lines[: legend + 1]
        for line in lines[legend + 1 :]:
            if line.startswith("#"):
                notes.append(line)
                continue
            if (match := hdr_log.INTERVAL_LINE.match(line)) is None:
                raise MeasureError(str(path), f"holds a line that is no interval: {line[:80]}", "run the load again")
            payload = HdrHistogram.decode(match["data"].encode("ascii"))
            key = (round(float(match["at"]), 3), match["tag"] or hdr_log.UNTAGGED)
            intervals.setdefault(key, []).append((float(match["length"]), float(match["max"]), payload))
    start = f"{start_unix_us / 1e6:.3f}"
    with to.open("w", encoding="utf-8") as out:
        for line in heads:
            out.write(_STARTS.sub(lambda match: f"#[{match[1]}Time: {start}", line) + "\n")
        for (at, tag), several in sorted(intervals.items(), key=lambda interval: interval[0][0]):
            lengths, maxima, histograms = zip(*several, strict=True)
            whole, length, most = added(histograms), max(lengths), max(maxima)
            out.write(f"Tag={tag},{at:.3f},{length:.3f},{most:.3f},{whole.encode().decode('ascii')}\n")
        out.writelines(f"{note}\n" for note in notes)


def added(histograms: Sequence[HdrHistogram]) -> HdrHistogram:
    """Return the bucket-wise sum of histograms. Raises MeasureError if their buckets differ."""
    layouts = {(histogram.unit_magnitude, histogram.significant_figures) for histogram in histograms}
    if len(layouts) > 1:
        cause = f"their histograms have different buckets {sorted(layouts)}"
        raise MeasureError("these generators", cause, "use one version of the generator on all hosts")
    largest = max(histograms, key=lambda histogram: histogram.counts_len)
    whole = HdrHistogram(largest.lowest_trackable_value, largest.highest_trackable_value, largest.significant_figures)
    for histogram in histograms:
        whole.add(histogram)
    return whole


def merged_report(reports: Sequence[Mapping[str, Any]], start_unix_us: int) -> dict[str, Any]:
    """Return the report of a load that generators shared; its fields are those of `runners/loadgen/docs/json.md`."""
    first = reports[0]
    elapsed_s = max(report["elapsed_s"] for report in reports)
    document = {
        **{name: first[name] for name in _OF_ANY},
        "start_unix_us": start_unix_us,
        "end_unix_us": start_unix_us + int(elapsed_s * 1e6),
        "elapsed_s": elapsed_s,
        **{name: sum(report[name] for report in reports) for name in ("threads", "connections", "requests_dropped")},
        **_counts(reports),
        "intervals": _intervals(reports),
        "generator": _merged_generator(reports),
        "interrupted": any(report["interrupted"] for report in reports),
        "failure": next((report["failure"] for report in reports if report["failure"]), None),
    }
    if first.get("targets"):
        document["targets"] = [
            {**_counts([report["targets"][place] for report in reports]), "name": target["name"], "url": target["url"]}
            for place, target in enumerate(first["targets"])
        ]
    return document


def _counts(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the merged rates, counts, failures and waits of one target, or of all targets together."""
    rates = {name: [report[name] for report in reports] for name in ("offered_rps", "achieved_rps")}
    counts = {name: Counter[str]() for name in ("requests", "bytes", "status", "errors")}
    for name, whole in counts.items():
        for report in reports:
            whole.update(report[name])
    return {
        **{name: None if None in several else sum(several) for name, several in rates.items()},
        **counts,
        "failures": _merged_failures(reports),
        "shortfall": "; ".join(dict.fromkeys(filter(None, (report.get("shortfall") for report in reports)))) or None,
        **{name: sum(report.get(name, 0) for report in reports) for name in ("connects", "reconnects", "closed_idle")},
        **{name: _worst(report.get(name) for report in reports) for name in _WAITS},
    }


def _merged_failures(reports: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    causes: dict[str, dict[str, Any]] = {}
    for failure in (failure for report in reports for failure in report.get("failures", ())):
        known = causes.get(failure["cause"])
        first = failure if known is None or failure["first_s"] < known["first_s"] else known
        causes[failure["cause"]] = first | {"count": failure["count"] + (known["count"] if known else 0)}
    return list(causes.values())


def _worst(times: Iterable[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Return the merged summaries of times: of counts the sum, of percentiles the largest; None if all are None."""
    known = [summary for summary in times if summary]
    if not known:
        return None
    highest = {name: max(summary[name] for summary in known) for name in known[0]}
    return highest | {"count": sum(summary["count"] for summary in known)}


def _intervals(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_second: dict[float, list[Mapping[str, Any]]] = {}
    for report in reports:
        for second in report["intervals"]:
            by_second.setdefault(second["t_s"], []).append(second)
    return [
        {
            "t_s": t_s,
            "duration_s": max(second["duration_s"] for second in several),
            **{name: sum(second[name] for second in several) for name in ("sent", "completed", "errors")},
            "lag_max_us": list(map(max, zip(*(second["lag_max_us"] or () for second in several), strict=True))) or None,
        }
        for t_s, several in sorted(by_second.items())
    ]


def _merged_generator(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    own = [report["generator"] for report in reports]
    worst = min(own, key=lambda about: (about["kept_up"], about["kept_up_to"] or 0.0, -about["lag_us"]["p99"]))
    several = f"of {len(own)} generators the worst " if len(own) > 1 else ""
    return {
        **{name: sum(about[name] for about in own) for name in ("cpu_user_s", "cpu_system_s", "held")},
        **{name: worst[name] for name in ("coalesce_us", "kept_up", "kept_up_to")},
        "lag_us": _worst(about["lag_us"] for about in own),
        "verdict": several + worst["verdict"],
        "receive_clock": " and ".join(sorted({about["receive_clock"] for about in own})),
    }
