"""Whether a report's numbers can be trusted, in words: one line for what holds, one for each check that does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runners import words
from runners.report.sentences import words_of
from runners.results.checks import About, Check, Consequence
from runners.results.conclusion import Conclusion

MOST_NAMED = 2
#: What a failed check says, and what follows from it.
_FAILED: dict[About, tuple[str, str]] = {
    About.COMPLETE: ("steps are missing or not valid", "nothing of them is shown"),
    About.READABLE: ("raw files could not be read", "what they hold is missing"),
    About.ACHIEVED: ("loads fell short of the offered rate", "no latency of them is quoted"),
    About.FAILED: ("requests failed", "latencies are quoted only where at most 0.1 % did"),
    About.SAMPLES: ("loads have too few responses for their p99", "longer loads would bound it"),
    About.KEPT_UP: ("the generator was late", "response times are upper bounds there, rates lower bounds"),
    About.ONE_SECOND: ("one second makes the p99 of loads", "it says when something happened, not how often"),
    About.STEADY: ("loads never became steady", "their percentiles are not compared"),
    About.WARM: ("JIT compilation was unfinished at the end of loads", "a warm server takes less CPU time"),
    About.TRANSPORT: ("the server fell back to Java sockets", "its native transport is faster"),
    About.PROFILE_SAMPLES: ("profiles hold few samples", "their shares have wide intervals"),
    About.PROFILE_RATE: ("loads did not keep their rate while they were profiled", "those profiles are of a queue"),
    About.PROFILER_SHARE: ("the profiler itself took over 5 % of the samples", "shares of the rest are lower by that"),
    About.MACHINE: ("other processes or virtual machines used the cores", "tails may be theirs"),
    About.SENTINEL: ("the fixed load before the run lay outside its usual range", "the machine was not as usual"),
    About.DATA: ("the store was empty when it was read", "those reads are misses"),
    About.STARTS: ("not all planned starts could be used", "intervals are wider"),
    About.CONTROL: ("a second process of the baseline differs from the first", "so may the treatments, by chance"),
    About.UTILISATION: ("the servers were near their limits while compared", "one server's requests delay the other's"),
    About.CARRY_OVER: ("a request's time depends on the one before it", "the order is balanced, so the ratios hold"),
    About.PROBES: ("probes were discarded, for the generator was late", "the knees may be higher"),
    About.KNEE_AGAIN: ("a longer load missed the objective below the interval of its search", "the knee is no higher"),
    About.FASTER: ("loads are faster than a server that does nothing", "that is not the server's latency"),
    About.GENERATORS: ("generators were not found", "nothing is said of them"),
    About.JDK: ("no JDK 17 was found", "the published stages were not measured"),
    About.TOGETHER: ("generators did not begin together", "their loads did not overlap"),
}  # fmt: skip


def check_words(*checks: Check, with_values: bool = True) -> str:
    """Return failed checks of one kind in a sentence: what failed, in which places, the worst values, what follows."""
    failed, follows = _FAILED.get(checks[0].about, (checks[0].about.value, "see conclusions.json"))
    places = [part for check in checks if (part := _place_words(check, with_values))]
    return words.sentence(f"{failed}{' ' if places else ''}{words.listed(places)}; {follows}")


def _place_words(check: Check, with_values: bool) -> str:
    """Return where a check failed and its worst values; empty where neither is known."""
    values = [words_of(measure) for measure in check.measures[:MOST_NAMED]]
    if more := len(check.measures) - len(values):
        values.append(f"{more} more")
    where = [f"in {check.place}"] if check.place else []
    return " ".join([*where, *([f"({', '.join(values)})"] if values and with_values else [])])


def validity_line(checks: Sequence[Check]) -> str:
    """Return in one line how many checks passed, and which could not be made."""
    known = [check for check in checks if check.ok is not None]
    passed = sum(bool(check.ok) for check in known)
    text = f"{words.count(passed)} of {words.several(len(known), 'check')} passed"
    unknown = list(dict.fromkeys(check.about.value for check in checks if check.ok is None))
    missing = f"; {words.count(len(unknown))} more could not be made ({', '.join(unknown)})" if unknown else ""
    return words.sentence(text + missing)


def failed_checks(conclusion: Conclusion) -> Iterator[str]:
    """Yield the failed checks of each kind in words, with the questions whose answers rest on their steps; those that
    touch no answer come last, together.
    """
    harmless = list[str]()
    for about in dict.fromkeys(check.about for check in conclusion.checks if check.failed):
        checks = [check for check in conclusion.checks if check.failed and check.about == about]
        text = check_words(*checks)
        if touched := sorted({number for check in checks for number in conclusion.touched(check)}):
            yield f"{text} It touches question{'s' if len(touched) > 1 else ''} {words.listed(map(str, touched))}."
        elif conclusion.answers:
            harmless.append(text)
        else:
            yield f"{text} It counts for all of this report."
    if harmless:
        yield f"{' '.join(harmless)} {'It touches' if len(harmless) == 1 else 'They touch'} no answer."


def marks_of(number: int, conclusion: Conclusion) -> list[str]:
    """Return what failed checks say of one answer, those first that exclude its evidence."""
    touching = [check for check in conclusion.checks if check.failed and number in conclusion.touched(check)]
    touching.sort(key=lambda check: check.consequence != Consequence.EXCLUDES)
    return [check_words(check, with_values=False) for check in touching]
