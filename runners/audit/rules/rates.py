"""Rules RAT: offered and achieved rates, and the meaning of latencies if the two rates differ."""

import math
from collections.abc import Iterator
from itertools import pairwise

from runners import words
from runners.audit import figures
from runners.audit.rule import TABLE, Group, Seen, rule, said
from runners.readers.output import Output
from runners.readers.tools import WRK, WRK2, facts

QUEUED = 0.15  # least median / maximum of waits in a queue that grew; it is a half if the queue grew evenly
IMPOSSIBLE_US = 1e9  # wrk2's calibration prints a number above it if there was no response
RATE_STEP, LATENCY_STEP = 1.1, 0.9  # the median falls by a tenth while the rate rises by a tenth
BURST = 10.0  # least p90 / p50; squared: least p99 / p50. Requests leave evenly: the server stalled for such a share
BURST_US = 20_000.0
DROPPED = "dropped_iterations: "
NEVER_PAUSE = (WRK, "hey", "oha", "bombardier", "h2load")
STILL = 0.6  # share of the connections; if fewer are busy on average, the others hung
ROUNDS = 10  # requests of a connection, of which the first and the last hardly count
UNEVEN, SMOOTH_RPS, LATE = 1.5, 100.0, 1.1  # wrk counts Req/Sec in each 100 ms in which a response came
BACKLOG = 10.0
BACKLOG_US = 10_000.0
LEFT_BEHIND = 0.1  # share by which the backlog after the calibration (s) may differ from the longest wait
ACHIEVED_AT_FIRST = 0.9
COLLAPSED = 0.5
WAITED_US = 1_000_000.0  # if the rate is achieved, a response takes a second only if its request waited
LONG, EVENLY = 0.5, 0.35  # shares: of the run in a long wait; of the longest wait in the median of even ones, at least


@rule("RAT001")
def _achieved_below_offered(output: Output) -> Iterator[Seen]:
    offered, achieved = output.offered_rps, figures.achieved_rps(output)
    printed = next((text.removeprefix(DROPPED) for text in output.report.extra if text.startswith(DROPPED)), "0")
    dropped, begun = int(printed), output.report.requests or 0
    many = dropped > (1 - figures.LEAST_ACHIEVED) * (begun + dropped)
    if many and not figures.never_offered(output):
        text = f"{words.count(dropped)} iterations were due and never began: the rate that was wanted was not offered"
        yield Seen(output, text, {"dropped": dropped}, size=dropped / (begun + dropped))
        return
    if not offered or achieved is None or not figures.fell_short(output):
        return
    if figures.never_offered(output) or figures.is_of_no_run(output):
        return
    share, mean, connections = achieved / offered, figures.mean_us(output), figures.opened(output)
    why = ""
    if mean and connections and figures.is_busy(output) and not figures.has_queue(output):
        senders = words.several(connections, facts(output.tool).sender)
        why = f": {senders} with a mean of {words.latency(mean)} have no more"
    text = said("RAT001", words.rate(achieved), words.rate(offered), words.percent(share), output.offered_by, why)
    evidence = {"offered_rps": offered, "achieved_rps": achieved, "share": round(share, 4)}
    yield Seen(output, text, evidence, size=1 - share)


@rule("RAT011")
def _achieved_above_offered(output: Output) -> Iterator[Seen]:
    offered, achieved = output.offered_rps, figures.achieved_rps(output)
    stated = output.stated is not None and output.command is None
    if offered and achieved and not stated and figures.exceeded(output):
        text = f"{words.rate(achieved)} was achieved of {words.rate(offered)} (offered: {output.offered_by})"
        yield Seen(output, text, {"offered_rps": offered, "achieved_rps": achieved}, size=achieved / offered)


@rule("RAT010")
def _backlog(output: Output) -> Iterator[Seen]:
    offered, achieved, mean = output.offered_rps, figures.achieved_rps(output), figures.mean_us(output)
    if not figures.is_open_loop(output) or not offered or achieved is None or mean is None or mean < WAITED_US:
        return
    if achieved < figures.LEAST_ACHIEVED * offered or figures.has_queue(output) or figures.is_of_no_run(output):
        return
    median, largest, run_s = figures.at(output, 0.5), figures.largest_us(output), words.finite(output.duration_s)
    even = median and largest and run_s and largest / 1e6 >= LONG * run_s and EVENLY <= median / largest <= 1 - EVENLY
    over = f"; waits spread evenly up to {words.latency(largest)}: a queue grew or shrank all the time" if even else ""
    text = said("RAT010", words.rate(offered), words.latency(mean), words.count(offered * mean / 1e6), over)
    yield Seen(output, text, {"offered_rps": offered, "mean_us": round(mean)}, size=mean)


@rule("RAT006")
def _never_offered(output: Output) -> Iterator[Seen]:
    """Yield a finding if requests of the offered rate were never sent: the rate was not achieved, yet none waited."""
    offered, achieved, largest = output.offered_rps, figures.achieved_rps(output), figures.largest_us(output)
    errors = output.report.socket_errors
    if figures.never_offered(output) and offered and achieved is not None and largest is not None:
        text = said("RAT006", words.rate(achieved), words.rate(offered), words.latency(largest))
        share = round(achieved / offered, 4)
        evidence = {"offered_rps": offered, "achieved_rps": achieved, "share": share, "max_us": largest}
        yield Seen(output, text, evidence, size=1 - share)
    elif output.tool == WRK2 and errors and errors.connect and errors.timeout and output.connections:
        live = max(0, output.connections - figures.dead_connections(output))
        whole = words.count(output.connections)
        text = f"latency is of {words.count(live)} of {whole} connections: the others are dead"
        counts = {"connections": output.connections, "live": live, "timeout": errors.timeout}
        yield Seen(output, text, counts, size=1 - live / output.connections)


@rule("RAT002")
def _saturation(output: Output) -> Iterator[Seen]:
    """Yield a finding if latencies only measure a queue of requests, which grew during the whole run."""
    largest = figures.largest_us(output)
    if largest is None or not figures.has_latency(output) or not figures.has_queue(output):
        return
    median, mean = figures.at(output, 0.5), figures.mean_us(output)
    named, value = ("p50", median) if median is not None else ("mean", mean)
    if value is None or value < QUEUED * largest or figures.timeout_at(output, largest):
        return
    text = said("RAT002", named, words.latency(value), words.latency(largest))
    evidence = {f"{named}_us": value, "max_us": largest}
    if duration := words.finite(output.duration_s):
        evidence["max_share_of_run"] = round(largest / 1e6 / duration, 4)
    yield Seen(output, text, evidence, size=value)


@rule("RAT007")
def _bursts(output: Output) -> Iterator[Seen]:
    """Yield a finding if p90 is at least 10 times the p50, or p99 100 times, unless the rate was missed."""
    median, upper, high = figures.at(output, 0.5), figures.at(output, 0.9), figures.at(output, 0.99)
    known, base = ("p50", median) if median is not None else ("p90", upper)
    paced = figures.is_open_loop(output) and (output.tool != "k6" or output.offered_rps is not None)
    paced &= figures.failed_share(output) <= figures.MOST_FAILED
    whole = output.tool != WRK2 or (output.duration_s or math.inf) > figures.WRK2_WARM_UP_S  # else all is warm-up
    if not (base and paced and whole) or figures.fell_short(output) or figures.has_queue(output) or _began_with(output):
        return
    if upper is not None and median is not None and upper >= BURST * median and upper >= BURST_US:
        level, value = 0.9, upper
    elif high is not None and high >= (BURST**2 if median is not None else BURST * 5) * base and high >= 5 * BURST_US:
        level, value = 0.99, high
    else:
        return
    text = said("RAT007", words.level(level), words.latency(value), value / base, known, words.latency(base))
    if output.offered_rps and figures.achieved_rps(output) is not None:
        text += ": the server stalled in bursts, and percentiles are the share of the time in them"
    yield Seen(output, text, {f"{known}_us": base, f"{words.level(level)}_us": value}, size=value / base)


@rule("RAT008")
def _start_up_backlog(output: Output) -> Iterator[Seen]:
    first, mean = _began_with(output), figures.mean_us(output)
    if first is None or not mean:
        return
    text = said("RAT008", words.latency(first), words.latency(mean))
    yield Seen(output, text, {"calibration_mean_us": round(first), "mean_us": mean}, size=first)


def _began_with(output: Output) -> float | None:
    """Return the mean latency (us) in wrk2's calibration if it shows a backlog or a cold server; else None."""
    known = [mean for mean in map(words.finite, output.report.calibrations_us) if mean is not None]
    first, mean = sum(known) / len(known) if known else 0.0, figures.mean_us(output)
    left_out, offered, largest = figures.left_out(output), output.offered_rps, figures.largest_us(output)
    behind_s = figures.warm_up_s(output) - left_out / offered if left_out is not None and offered else 0.0
    left_behind = largest is not None and abs(behind_s * 1e6 - largest) <= LEFT_BEHIND * largest
    begun = mean and max(BACKLOG_US, mean if left_behind else BACKLOG * mean) <= first <= IMPOSSIBLE_US
    return first if begun else None


@rule("RAT009")
def _collapsed(output: Output) -> Iterator[Seen]:
    """Yield a finding if a run nearly achieved its rate in wrk2's calibration, but at most half of it after that."""
    offered, unrecorded, after = output.offered_rps, figures.left_out(output), figures.rate_after_warm_up(output)
    if not offered or unrecorded is None or after is None:
        return
    before = unrecorded / figures.warm_up_s(output)
    if before < ACHIEVED_AT_FIRST * offered or after > COLLAPSED * min(before, offered):
        return
    text = said("RAT009", words.rate(before), words.rate(after), words.rate(offered))
    evidence = {"offered_rps": offered, "rate_before": round(before), "rate_after": round(after)}
    yield Seen(output, text, evidence, size=before - after)


@rule("RAT003")
def _rate_to_wrk(output: Output) -> Iterator[Seen]:
    command = output.command
    refused = any("invalid option" in line and "R" in line for line in output.report.diagnostics)
    if command is None or command.rate_rps is None or not (output.report.tool == WRK or refused):
        return
    text = f"-R {command.rate_rps:g} was given to plain wrk, which knows no rate: the run is a closed loop"
    evidence = {"asked_rps": command.rate_rps, "achieved_rps": figures.achieved_rps(output)}
    yield Seen(output, text, evidence, size=command.rate_rps)


def _standstill(output: Output) -> str:
    """Return in words what shows that connections of a closed loop without pauses hung; empty if nothing does."""
    report, rate, mean = output.report, figures.achieved_rps(output) or math.nan, figures.mean_us(output) or math.nan
    connections, threads, run_s = figures.opened(output) or 0, output.threads or 0, report.duration_s or math.inf
    busy, per_thread = rate * mean / 1e6 / (report.depth or 1), report.requests_per_thread
    in_all, elapsed_s = threads * ((per_thread.mean if per_thread else None) or math.nan), report.elapsed_s or 0.0
    counted = not report.errors or facts(output.tool).failures == "counted"  # else failures take time, too
    late = report.socket_errors.timeout if report.socket_errors and output.tool == WRK else 0  # in no mean of wrk's
    counted &= late <= figures.MOST_FAILED * (report.requests or 0)
    long = output.tool == WRK or (report.requests or 0) >= ROUNDS * connections
    shown = {
        f"rate and mean latency keep {round(busy, 2):g} busy": counted and long and busy < STILL * connections,
        f"Req/Sec makes {words.rate(in_all)} in all": in_all > UNEVEN * rate and rate >= SMOOTH_RPS * threads,
        f"{run_s:g} s took {elapsed_s:g} s": elapsed_s > max(LATE * run_s, run_s + figures.START_S),
    }
    listed = words.listed(text for text, holds in shown.items() if holds)
    return f"; {facts(output.tool).sender}s hung: {listed}" if listed else ""


@rule("RAT004", of_group=True)
def _closed_loop(group: Group) -> Iterator[Seen]:
    of_run: set[str] = set()  # operations that one run measured, in one closed loop
    able = (output for output in group if output.tool in NEVER_PAUSE)
    commanded = {WRK, *(output.tool for output in able if figures.commands_above(output))}
    for output in group:
        connections, largest, rate = figures.opened(output), figures.largest_us(output), figures.achieved_rps(output)
        operation, known = output.report.operation, rate or connections or output.report.requests
        known = known or output.report.closed_loop
        of_ycsb = output.tool == "YCSB" and output.report.closed_loop is None  # whose latency is service time
        target = output.report.target_rps or output.offered_rps if of_ycsb else None
        if (figures.is_open_loop(output) and not target) or not figures.has_latency(output) or not known:
            continue
        if operation and of_run and operation not in of_run:
            of_run.add(operation)
            continue
        of_run = {operation} - {""}
        who = f"{'looping ' * (output.tool == 'k6' and not connections)}{facts(output.tool).sender}"
        sender = f"each of the {words.several(connections, who) if connections else f'{who}s'}"
        never_pauses = output.tool in commanded and not output.script  # which may pause
        hung = _standstill(output) if never_pauses else ""
        depth = output.report.depth or 1
        piped = f", with up to {depth} requests at once," if depth > 1 else ""
        text = said("RAT004", (f"the {who}" if connections == 1 else sender) + piped, hung)
        if target:
            text = TABLE["RAT004"]["paced"].format(words.rate(target))
        evidence: dict[str, words.Value] = {"connections": connections, "requests_per_s": rate}
        if largest and rate and connections:
            unsent = max(0, round(rate / connections * largest / 1e6) - 1)
            evidence["requests_not_sent_in_the_longest_wait"] = unsent
        yield Seen(output, text, evidence, remedy=TABLE["RAT004"]["intended"] if target else "", size=float(bool(hung)))


def _neighbours(group: Group) -> Iterator[tuple[Output, Output]]:
    """Yield pairs of outputs to compare: adjacent columns of a table, or successive rates with the same settings."""
    for first, second in pairwise(group):
        if second.report.columns > 1 and second.report.column == first.report.column + 1 and second.path == first.path:
            yield first, second
    settings: dict[tuple[object, ...], list[Output]] = {}
    for output in group:
        if output.report.columns == 1 and output.script and output.offered_rps:
            key = (output.script, output.threads, output.connections, output.report.url, output.headings[:2])
            settings.setdefault(key, []).append(output)
    for outputs in settings.values():
        yield from pairwise(sorted(outputs, key=lambda output: output.offered_rps or 0.0))


@rule("RAT005", of_group=True)
def _latency_falls(group: Group) -> Iterator[Seen]:
    for first, second in _neighbours(group):
        slow, fast = first.offered_rps, second.offered_rps
        before, after = figures.at(first, 0.5), figures.at(second, 0.5)
        if figures.fell_short(first) or slow is None or fast is None or before is None or after is None:
            continue
        if fast >= RATE_STEP * slow and after <= LATENCY_STEP * before:
            text = said("RAT005", words.latency(before), words.latency(after), words.rate(slow), words.rate(fast))
            evidence = {"rate_rps_before": slow, "rate_rps": fast, "p50_us_before": before, "p50_us": after}
            yield Seen(second, text, evidence, size=before - after)
