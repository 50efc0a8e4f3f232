"""Decide which aspects of a load reports may quote, and for which cause they may not quote the others.

A load gets the first cause that applies. If more than `MOST_FAILED` of its requests failed, reports may quote only
counts. A late generator is on time up to some percentile. Response times above that percentile are upper bounds of the
true ones, if requests are served in order (D. Lindley, 1952, Math. Proc. Cambridge Phil. Soc. 48). Failed requests are
not judged here in a sweep, where they count by rate step, nor in a shared schedule, where they count by server.
"""

import enum
import math

from msgspec.structs import replace

from runners import words
from runners.analysis import counts
from runners.analysis.counts import SERVICE, achieved_share, failures, number, offered_rps, per_second
from runners.analysis.tables import TABLES
from runners.design.objective import LEAST_ACHIEVED, MOST_FAILED
from runners.readers.run import Step, once_a_step
from runners.storage.schema import Ended, StepRecord

FOREIGN_LIMIT_CORES = 0.25  # kept busy by other processes
STEAL_LIMIT = 0.01  # of all cores
LEAST_NEXT_TO_OTHERS = 0.5  # of the offered rate: other processes explain no larger shortfall
GENERATOR_BUSY = 0.9  # of the cores that its threads can use, by the CPU time that the generator recorded
MEDIAN_LEVEL = 0.5


class Aspect(enum.Enum):
    """A kind of result of a load: rate, median, tail or CPU use; reports may quote some aspects and not others."""

    RATE = "rate"  # the throughput, also as a share of the offered rate
    MEDIAN = "median"
    TAIL = "tail"  # percentiles above the median
    CPU = "cpu"


class Cause(enum.Enum):
    """A cause for which reports may not quote some aspects of a load, roughly in the order of the tests."""

    UNREADABLE = "unreadable"  # its record can't be read
    SKIPPED = "skipped"  # the server was gone before the load began
    INTERRUPTED = "interrupted"
    DEATH = "death"  # the server died
    PROTOCOL = "protocol"  # responses are no HTTP/1.1
    CONNECTION = "connection"
    TIME_OUT = "time-out"
    REFUSED = "refused"  # error statuses
    DISTURBED = "disturbed"  # other processes or guests of the host used the cores
    NO_RESPONSE = "no response"
    HELD_UP = "held up"  # it fell short of its rate, but half of its seconds did not
    GENERATOR = "generator"  # the generator was at its limit
    SATURATION = "saturation"  # the server achieved less than was offered
    LATE = "late"  # the generator kept the rate, but sent late
    MARKED = "marked"  # its record says that it is not valid


_ENDED = {
    Ended.UNREADABLE: Cause.UNREADABLE, Ended.SKIPPED: Cause.SKIPPED, Ended.INTERRUPTED: Cause.INTERRUPTED,
    Ended.DIED: Cause.DEATH,
}  # fmt: skip
#: Ways in which more than MOST_FAILED of the requests failed, in the order in which they are tested.
FAILED = (Cause.PROTOCOL, Cause.CONNECTION, Cause.TIME_OUT, Cause.REFUSED)
#: Causes, other than the machine, for which a load is not as it was planned.
NOT_AS_ASKED = (*FAILED, Cause.DEATH, Cause.SKIPPED, Cause.NO_RESPONSE, Cause.GENERATOR, Cause.SATURATION)
_LATENCIES = frozenset({Aspect.MEDIAN, Aspect.TAIL})
#: Aspects that are not valid for an offered rate that the load did not achieve.
_OF_ITS_RATE = _LATENCIES | {Aspect.CPU}


@once_a_step
def cause(step: Step) -> Cause | None:
    """Return why some aspect of a step is invalid; None if all are valid. Lateness in a sweep is no reason."""
    if (ended := _ENDED.get(step.record.ended)) is not None:
        return ended
    if not number(step, "completed") > 0:
        return _main_failure(step, 0.0) or (Cause.DISTURBED if busy_elsewhere(step) else Cause.NO_RESPONSE)
    judged_apart = step.record.sweep is not None or bool(step.record.targets)
    if not judged_apart and (failed := _main_failure(step, MOST_FAILED)) is not None:
        return failed
    if fell_short(step):
        return _shortfall(step)
    if kept_up(step) is False and step.record.sweep is None:
        return Cause.LATE if words.known(offered_rps(step)) else Cause.GENERATOR
    return None if step.valid else Cause.MARKED


def _main_failure(step: Step, most_share: float) -> Cause | None:
    seen = failures(step)
    kinds = dict(zip(FAILED, (seen.protocol, seen.connection, seen.timed_out, seen.refused), strict=True))
    if seen.share > most_share:
        over = (kind for kind, count in kinds.items() if count > most_share * seen.requests)
        return next(over, max(kinds, key=lambda kind: kinds[kind]))
    return None


def _shortfall(step: Step) -> Cause:
    if busy_elsewhere(step) and achieved_share(step) >= LEAST_NEXT_TO_OTHERS:
        return Cause.DISTURBED
    seconds = per_second(step)["completed"]
    if len(seconds) > 1 and float(seconds.median()) >= LEAST_ACHIEVED * offered_rps(step):
        return Cause.HELD_UP
    cores_s = number(step, "elapsed_s") * (step.record.threads or 1)
    return Cause.GENERATOR if number(step, "generator_cpu_s") >= GENERATOR_BUSY * cores_s else Cause.SATURATION


def fell_short(step: Step) -> bool:
    """Return whether a step achieved less than LEAST_ACHIEVED of its offered rate, by its record or by its counts."""
    return step.record.saturated or achieved_share(step) < LEAST_ACHIEVED


def kept_up(step: Step) -> bool | None:
    """Return whether the generator sent on schedule or, in closed loop, was not the bottleneck; None if unknown."""
    kept = number(step, "kept_up")
    return None if math.isnan(kept) else bool(kept)


def kept_up_to(step: Step) -> float:
    """Return the percentile (0..1) up to which the generator's lateness does not matter; 0 if unknown."""
    percent = number(step, "kept_up_to")
    return percent / 100 if words.known(percent) else 0.0


def busy_elsewhere(step: Step) -> bool:
    """Return whether other processes, or other guests of the host, used more CPU time than the limits allow."""
    foreign_cores, steal_share = counts.used_by_others(step)
    return foreign_cores > FOREIGN_LIMIT_CORES or steal_share > STEAL_LIMIT


def withheld(step: Step) -> frozenset[Aspect]:
    """Return the aspects of a step (rate, median, tail, CPU use) that reports may not quote."""
    seen = cause(step)
    if seen is None:
        return frozenset()
    if seen is Cause.SATURATION:
        return _OF_ITS_RATE
    if seen is Cause.LATE:
        return _LATENCIES if kept_up_to(step) < MEDIAN_LEVEL else frozenset({Aspect.TAIL})
    if seen is Cause.GENERATOR:
        return (_OF_ITS_RATE if fell_short(step) else _LATENCIES) | {Aspect.RATE}
    return frozenset(Aspect)


def may_quote(step: Step, aspect: Aspect) -> bool:
    return aspect not in withheld(step)


def may_quote_level(step: Step, level: float, kind: str) -> bool:
    """Return whether reports may quote a step's percentile `level` (0..1); `kind` of time: response or service."""
    if may_quote(step, Aspect.MEDIAN if level <= MEDIAN_LEVEL else Aspect.TAIL):
        return True
    return cause(step) is Cause.LATE and (kind == SERVICE or level <= kept_up_to(step))


def only_late(step: Step) -> bool:
    """Return whether a step achieved its rate, with latencies that are invalid only because the generator was late."""
    return cause(step) in (Cause.LATE, Cause.GENERATOR) and not fell_short(step)


def unusable(step: Step) -> bool:
    """Return whether a step is no evidence at all: it did not run to its end, has no response, or is marked invalid."""
    return cause(step) in {*_ENDED.values(), Cause.NO_RESPONSE, Cause.MARKED} or not number(step, "completed") > 0


def succeeded(step: Step) -> bool:
    """Return whether at least one request succeeded."""
    seen = failures(step)
    return seen.requests > seen.failed


def worth_another_try(step: Step) -> bool:
    """Return whether to measure a load once more because the machine may have disturbed it."""
    seen = cause(step)
    # no response and no failure: the cores may have stalled longer than so short a load lasts
    if seen in (Cause.NO_RESPONSE, Cause.DISTURBED, Cause.HELD_UP, Cause.LATE):
        return True
    # another protocol and refusals would remain on a quieter machine
    return seen not in (Cause.PROTOCOL, Cause.REFUSED) and busy_elsewhere(step) and not unusable(step)


NOT_KEPT_UP = "the generator did not keep up with its own schedule"


def judged(step: Step) -> StepRecord:
    """Return the record of a step just measured, with `valid`, `saturated` and `invalid_reasons` (texts) filled in."""
    reasons, saturated = step.record.invalid_reasons, False
    if not number(step, "completed") > 0:
        reasons = (*reasons, "no response was recorded")
    elif step.record.sweep is None:
        saturated = achieved_share(step) < LEAST_ACHIEVED
        if not saturated and kept_up(step) is False:
            reasons = (*reasons, NOT_KEPT_UP)
    return replace(step.record, valid=not reasons, invalid_reasons=reasons, saturated=saturated)


# What is said of a cause: in the line of a load, in an error, in a report.

REMEDIES, _SHORT = ({Cause(name): str(text) for name, text in TABLES[part].items()} for part in ("remedies", "short"))


def why_not(step: Step) -> str:
    """Return as text why reports may not quote some aspects of a step; empty if they may quote all of them."""
    seen = cause(step)
    if seen in FAILED:
        return _failed_text(step, seen)
    if seen is Cause.DEATH:
        tail = [line.strip() for line in step.record.server_log_tail[-3:] if line.strip()]
        text = ", ".join(step.record.invalid_reasons) or "the server died under load"
        return f"{text}; its log ends: {' | '.join(tail)}" if tail else text
    fixed = {
        Cause.SATURATION: f"saturated{_rates(step)}", Cause.HELD_UP: f"held up for a while{_rates(step)}",
        Cause.NO_RESPONSE: "no response was recorded", Cause.LATE: NOT_KEPT_UP,
        Cause.GENERATOR: f"the generator was at its limit{_rates(step)}", Cause.DISTURBED: disturbance(step),
    }  # fmt: skip
    if seen in fixed:
        return fixed[seen]
    if seen is not None:
        return ", ".join(step.record.invalid_reasons) or "marked invalid"
    return "no latencies recorded" if step.frames["percentiles"].empty else ""


def _rates(step: Step) -> str:
    offered = offered_rps(step)
    return f" ({words.rate(number(step, 'achieved_rps'))} of {words.rate(offered)})" if words.known(offered) else ""


def in_short(step: Step) -> str:
    """Return `why_not` in a word or two, for a table; empty if reports may quote all aspects of the step."""
    seen = cause(step)
    if seen in FAILED:
        return f"{words.percent(failures(step).share)} failed"
    return _SHORT[seen] if seen in _SHORT else why_not(step)


def disturbance(step: Step) -> str:
    """Return as text what disturbed a load: other processes, the host, or else stalls of the machine."""
    (foreign_cores, steal_share), tries = counts.used_by_others(step), step.record.tries
    parts = [f"other processes kept {foreign_cores:.2f} cores busy"] if foreign_cores > FOREIGN_LIMIT_CORES else []
    parts += [f"the host took {words.percent(steal_share)} of the cores away"] if steal_share > STEAL_LIMIT else []
    again = f", measured {words.count(tries)} times" if tries > 1 else ""
    return f"disturbed: {words.listed(parts) or 'the machine stalled'}{again}"


def _failed_text(step: Step, seen: Cause) -> str:
    """Return as text how many requests failed, in total and by kind of failure."""
    counted, kinds, codes = failures(step), counts.errors(step), counts.refused_by_status(step)
    share = "all" if counted.failed >= counted.requests else words.percent(counted.share)
    parts = [f"{words.several(counted.protocol, 'response')} of another protocol"] if counted.protocol else []
    by_noun = {f"{kind} error": kinds.get(f"{kind}_errors", 0.0) for kind in ("connect", "read", "write")}
    by_noun["time-out"] = counted.timed_out
    parts += [words.several(many, noun) for noun, many in by_noun.items() if many]
    parts += [f"{words.count(many)} with status {code}" for code, many in codes.items()]
    parts += [f"{words.count(counted.refused)} with an error status"] if counted.refused and not codes else []
    whole = words.several(counted.requests, "response" if seen is Cause.REFUSED else "request")
    text = f"{share} of {whole} failed: {words.listed(parts)}"
    if seen is not Cause.PROTOCOL:
        return text
    known = [name for name in step.frames["failures"].get("protocol", ()) if isinstance(name, str)]  # not of older runs
    looks = f" (it looks like {known[0]})" if known else ""
    return f"the response is no HTTP/1.1{looks}: {text}"
