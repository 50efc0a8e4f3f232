"""Comparisons of the printed outputs of load tools such as wrk or JMeter: side A against side B, with intervals.

Only loads of equal settings are compared. A closed loop is never compared with an open loop, nor service time with
response time. A side may have several runs of a load. The interval of a change is then Welch's, for independent runs
(see quantities.welch), widened by the rounding of printed digits. With one run per side, the interval covers only the
sampling of requests (order statistics), and there is no verdict.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from runners import words
from runners.analysis.comparison import FEWEST_RUNS, Comparison, Form
from runners.analysis.quantities import ALPHA, Quantity, Row, welch
from runners.analysis.tables import TABLES
from runners.audit.figures import achieved_rps, fell_short, is_open_loop, samples
from runners.audit.rules.timing import timer_line
from runners.design.objective import MOST_FAILED
from runners.errors import PlanError
from runners.readers.console_report import ENOUGH_BEYOND, beyond
from runners.readers.output import Output
from runners.readers.samples import bound_ranks

SAME = {"offered rate": 0.02, "duration": 0.1}  # relative difference of equal settings; others must match exactly
NEVER = ("loop", "latency")  # settings that `--despite` can't allow to differ
TIMER_LEVEL = 0.9  # wrk2's timer shapes the percentiles up to this one
RESPONSE_TIME = "response time from the intended start"
SERVICE_TIME = "service time from the actual send"
#: Half a unit of the last digit that a tool prints, in microseconds. For other tools it is DIGIT, a share of the value.
DIGIT_US = {"ab": 500.0, "Gatling": 500.0, "JMeter": 500.0, "hey": 50.0, "oha": 0.5}
DIGIT = 0.001
COARSE = 0.05  # a comparison notes a larger rounding, as a share of the value

Setting = Mapping[str, float | str | None]
RATE = Quantity("rate", "rate", "rps", lower_is_better=False)


@dataclass(frozen=True, slots=True)
class Compared:
    """The load generators' outputs for one load on side A and on side B, and their comparison."""

    a: tuple[Output, ...]
    b: tuple[Output, ...]
    comparison: Comparison


def loop_of(output: Output) -> str | None:
    """Return the kind of load, `closed loop` or `open loop`; None if the output does not show which one it is."""
    if not is_open_loop(output):
        return "closed loop"
    known = output.offered_rps is not None or output.tool in ("wrk2", "vegeta") or output.report.closed_loop is False
    return "open loop" if known else None


def _latency_of(output: Output) -> str | None:
    if output.tool in ("wrk2", "truepace"):
        return RESPONSE_TIME if is_open_loop(output) else SERVICE_TIME
    return SERVICE_TIME if output.tool not in (None, "HdrHistogram") else None


def setting_of(output: Output) -> Setting:
    """Return {property: value} of an output's load, by which equal loads are matched; an unstated property is None."""
    return {
        "operation": Path(output.script).stem or output.report.operation or None,
        "loop": loop_of(output),
        "latency": _latency_of(output),
        "offered rate": output.offered_rps,
        "connections": output.connections,
        "threads": output.threads,
        "duration": output.duration_s,
        "tool": output.tool,
    }


def differing(a: Setting, b: Setting) -> list[str]:
    """Return the names of the properties that both settings state and that differ by more than SAME allows."""

    def differ(name: str, own: float | str, other: float | str) -> bool:
        if isinstance(own, str) or isinstance(other, str):
            return own != other
        return abs(own - other) > SAME.get(name, 0.0) * max(own, other)

    known = ((name, own, b[name]) for name, own in a.items())
    return [name for name, own, other in known if own is not None and other is not None and differ(name, own, other)]


def _grouped_by_setting(outputs: Sequence[Output]) -> list[tuple[Output, ...]]:
    loads: list[tuple[Setting, list[Output]]] = []
    for output in outputs:
        own = setting_of(output)
        alike = (load for setting, load in loads if not differing(setting, own) and _unknown(setting) == _unknown(own))
        if (load := next(alike, None)) is None:
            loads.append((own, load := []))
        load.append(output)
    return [tuple(load) for _, load in loads]


def _unknown(setting: Setting) -> list[str]:
    return [name for name, value in setting.items() if value is None]


def compare_outputs(a: Sequence[Output], b: Sequence[Output], despite: Sequence[str] = ()) -> list[Compared]:
    """Compare loads of equal settings (`despite` aside). Raises PlanError if none match or a name is unknown."""
    known = [name for name in setting_of(a[0]) if name not in NEVER]
    if unknown := [name for name in despite if name not in known]:
        remedy = f"use one of {', '.join(known)}"
        raise PlanError(f"--despite {unknown[0]!r}", "no setting of an output that may differ", remedy)
    left, compared, apart = _grouped_by_setting(b), list[Compared](), list[tuple[list[str], Output, Output]]()
    for first in _grouped_by_setting(a):
        pairs = [(differing(setting_of(first[0]), setting_of(second[0])), second) for second in left]
        for names, second in sorted(pairs, key=lambda pair: len(pair[0])):
            apart.append((names, first[0], second[0]))
            if set(names) <= set(despite):
                left.remove(second)
                compared.append(Compared(first, second, _compared(first, second, names)))
                break
    if not compared:
        raise _refusal(*min(apart, key=lambda pair: len(pair[0])))
    return compared


def _refusal(names: Sequence[str], a: Output, b: Output) -> PlanError:
    differences = [f"{name}: {_both(setting_of(a), setting_of(b), name)}" for name in names]
    if "loop" in names:
        remedy = "a closed loop sends less while the server stalls, so its latency is none under a load: measure alike"
    elif "latency" in names:
        remedy = "one holds the wait before the send and the other does not: measure both with one tool"
    else:
        remedy = "measure them alike, or say " + " ".join(f"--despite {name!r}" for name in names)
    return PlanError("these outputs", f"they differ in {'; '.join(differences)}", remedy)


def _both(a: Setting, b: Setting, name: str) -> str:
    values = (f"{value:g}" if isinstance(value, float) else str(value) for value in (a[name], b[name]))
    return " against ".join(values)


def _compared(a: tuple[Output, ...], b: tuple[Output, ...], apart: Sequence[str]) -> Comparison:
    figures: dict[str, float | None] = {"rate": None}
    why_not = {"rate": _why_rates_not_compared(a, b)}
    if why := next((why for output in (*a, *b) if (why := _why_latency_not_compared(output))), None):
        why_not["latency"] = why
    elif "tool" not in apart or _latency_of(a[0]):
        levels = sorted({level for output in (*a, *b) for level, _ in output.report.latencies.rows})
        figures |= {words.level(level): level for level in levels}
        why_not |= {words.level(level): _why_level_not_compared(level, a, b) for level in levels}
    kept = {name: level for name, level in figures.items() if not why_not[name]}
    rows = tuple(_row(name, level, a, b, ALPHA / len(kept)) for name, level in kept.items())
    reports = {"A": [output.report for output in a], "B": [output.report for output in b]}
    failed = {
        side: tuple((r.requests or 0, r.errors if r.requests else 0) for r in own) for side, own in reports.items()
    }
    return Comparison(
        name=_heading(a, b), form=Form.OUTPUTS, baseline="A", treatments=("B",), margin=0.0, rows=rows, failed=failed,
        refused=tuple((name, why) for name, why in why_not.items() if why), notes=tuple(_notes(a, b, apart)),
    )  # fmt: skip


def _errors(output: Output) -> str | None:
    requests, errors = output.report.requests, output.report.socket_errors
    if errors and errors.timeout:
        return f"{output.place}: {words.several(errors.timeout, 'time-out')} stand in no figure"
    if requests and output.report.errors > MOST_FAILED * requests:
        share = words.percent(output.report.errors / requests)
        return f"{output.place}: {share} of the responses are errors, and stand among the others"
    return None


def _why_rates_not_compared(a: Sequence[Output], b: Sequence[Output]) -> str | None:
    if loop_of(a[0]) != "closed loop" or loop_of(b[0]) != "closed loop":
        return "it was offered, or nothing says that it was not: an achieved rate is compared of closed loops"
    if any(achieved_rps(output) is None for output in (*a, *b)):
        return "an output does not print it"
    return next((why for output in (*a, *b) if (why := _errors(output))), None)


def _why_latency_not_compared(output: Output) -> str | None:
    if not output.report.latencies.rows:
        return f"{output.place}: it prints no percentile, and a mean or a maximum stands for none"
    if fell_short(output):
        reached = f"{words.rate(achieved_rps(output))} of {words.rate(output.offered_rps)}"
        return f"{output.place}: {reached} was achieved, so its latency is not that of its rate"
    return _errors(output)


def _why_level_not_compared(level: float, a: Sequence[Output], b: Sequence[Output]) -> str | None:
    if level >= 1:
        return "a maximum grows with the length of the run"
    for output in (*a, *b):
        value = output.report.latencies.at(level)
        if value is None or not math.isfinite(value) or value <= 0:
            return f"{output.place}: it is not printed there"
        count, _ = samples(output)
        if count is not None and beyond(count, level) < ENOUGH_BEYOND:
            return f"{output.place}: {words.several(beyond(count, level), 'sample')} beyond it"
        if level <= TIMER_LEVEL and output.tool == "wrk2" and timer_line(output):
            return f"{output.place}: up to p90 the latency is that of the generator's timer"
    return None


def _row(name: str, level: float | None, a: Sequence[Output], b: Sequence[Output], alpha: float) -> Row:
    quantity = RATE if level is None else Quantity(name, name, "us")
    sides = ([achieved_rps(o) if level is None else o.report.latencies.at(level) for o in side] for side in (a, b))
    left, right = (np.array(side, float) for side in sides)
    digits = max(_rounding_share(output, value, level) for output, value in zip((*a, *b), (*left, *right), strict=True))
    row = welch(quantity, ("A", "B"), np.log(left), np.log(right), alpha, 0.0, 2 * digits)
    if len(a) == len(b) == 1 and level is not None:
        first, second = (_order_statistics(level, output, alpha) for output in (a[0], b[0]))
        if first and second:
            return replace(row, low=second[0] / first[1], high=second[1] / first[0], sampled=True)
    return row


def _rounding_share(output: Output, value: float, level: float | None) -> float:
    return DIGIT if level is None else max(DIGIT, DIGIT_US.get(output.tool or "", 0.0) / value)


def _order_statistics(level: float, output: Output, alpha: float) -> tuple[float, float] | None:
    rows, (count, _) = output.report.latencies.spectrum, samples(output)
    first, last = bound_ranks(count or 0, level, 1 - alpha / 2)
    if not count or first is None or last is None:
        return None
    low = max((row.value_ms for row in rows if row.percentile <= first / count), default=None)
    high = min((row.value_ms for row in rows if row.percentile >= last / count), default=None)
    return (low, high) if low and high else None


def _notes(a: Sequence[Output], b: Sequence[Output], apart: Sequence[str]) -> Iterator[str]:
    """Yield notes for the reader: settings that differ because the user allowed it, and limits of the outputs."""
    first, second = setting_of(a[0]), setting_of(b[0])
    for name in apart:
        yield f"{name} differs, as was allowed: {_both(first, second, name)}"
    for side, setting in (("A", first), ("B", second)):
        no_rate = "offered rate" if setting["loop"] == "closed loop" else ""
        if hidden := [name for name in _unknown(setting) if name != no_rate]:
            yield f"{side} does not say: {words.listed(hidden)}"
    if loop_of(a[0]) == "closed loop":
        yield "closed loop: a server that stalls is asked less, so no latency under a given load can be read from it"
    elif _latency_of(a[0]) == SERVICE_TIME:
        yield f"the latency is {SERVICE_TIME}: what waited before the send is not in it"
    printed = ((output, level, value) for output in (*a, *b) for level, value in output.report.latencies.rows)
    coarse = {o.tool for o, level, value in printed if value and _rounding_share(o, value, level) > COARSE}
    for tool in sorted(filter(None, coarse)):
        yield f"{tool} prints {words.latency(2 * DIGIT_US[tool])} steps: a difference of one may be rounding"
    if min(len(a), len(b)) < FEWEST_RUNS:
        yield TABLES["notes"]["one-run"]
    else:
        yield "nothing says that the runs were interleaved: what drifted between them stands in the difference"


def _heading(a: Sequence[Output], b: Sequence[Output]) -> str:
    setting, rate = setting_of(a[0]), a[0].offered_rps
    parts = [str(setting["tool"] or "unknown tool"), str(setting["operation"] or ""), str(setting["loop"] or "")]
    parts.append(f"at {words.rate(rate)}" if rate and setting["loop"] != "closed loop" else "")
    parts.append(words.connections(a[0].connections) if a[0].connections else "")
    runs = f"{words.several(len(a), 'run')} of A, {words.several(len(b), 'run')} of B"
    return f"{', '.join(filter(None, parts))}: {runs}"


def as_record(loads: Sequence[Compared]) -> list[dict[str, object]]:
    """Return comparisons as plain JSON values; an unknown bound of an interval is null."""
    return [
        {
            "a": [output.place for output in load.a],
            "b": [output.place for output in load.b],
            "setting": dict(setting_of(load.a[0])),
            "failed": load.comparison.failed_json(),
            "figures": [
                {
                    "name": row.quantity.label, "a": row.baseline_value, "b": row.treatment_value,
                    "share": row.ratio - 1, "low": words.finite(row.low - 1), "high": words.finite(row.high - 1),
                    "interval_of": ("sampling" if row.sampled else "runs") if words.known(row.low) else None,
                    "runs": [len(load.a), len(load.b)], "verdict": row.direction.value,
                }
                for row in load.comparison.rows
            ],
            "not_compared": [{"name": name, "why": why} for name, why in load.comparison.refused],
            "limits": list(load.comparison.notes),
        }
        for load in loads
    ]  # fmt: skip
