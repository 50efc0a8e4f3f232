"""Reproduce report 2: the JDK's HTTP server in closed loop, and what its 44 ms are."""

from __future__ import annotations

from collections.abc import Mapping

from runners.analysis.quantities import factor
from runners.claims.questions import Answer, Verdict, number, of_finding, of_rule
from runners.design import report_2
from runners.design.block import Block
from runners.design.experiment import Value, listed
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding

#: What each stage helps to answer.
_STAGES = {
    "before": ("executor", "wait", "mixed", "profile"), "after": ("executor", "wait", "404", "mixed", "profile"),
    "nodelay": ("more", "wait"), "jdk25": ("jdk25",), "delayed": ("jdk25",), "one-write": ("one-write",),
}  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The stages, each on a server of its own: report 2 before and after its change, then what cures the wait."""
    size, profile = report_2.LOOP_SIZES[str(asked["size"])], listed(asked["profile"])
    return tuple(report_2.block(stage, size, profile, _STAGES[stage.name]) for stage in report_2.STAGES.values())


@of_rule("D01")
def one_flag(finding: Finding) -> Answer:
    """Is more to be had from the server with the same code?"""
    ratios = [number(finding, name) for name in finding.evidence]
    verdict = Verdict.YES if min(ratios) > 1 else Verdict.NO
    effect = f"TCP_NODELAY alone: {write.span(ratios, write.count)} times the throughput"
    return Answer(verdict, effect, f"{len(ratios)} pairs of closed loops", finding=finding)


@of_rule("D04")
def executor(finding: Finding) -> Answer:
    """Does the cached pool help?"""
    least, most = number(finding, "least_us"), number(finding, "most_us")
    effect = f"the median moves by {write.latency(least)} to {write.latency(most)}"
    verdict = Verdict.NO if least <= 0 <= most else Verdict.INCONCLUSIVE
    return Answer(verdict, effect, f"{write.count(number(finding, 'pairs'))} pairs of closed loops", finding=finding)


@of_rule("D02")
def timer_and_tick(finding: Finding) -> Answer | None:
    """Is the wait the kernel's delayed-ACK timer and one tick?"""
    if not write.known(number(finding, "expected_us")):
        return None
    low, high, expected = (number(finding, name) for name in ("least_p50_us", "most_p50_us", "expected_us"))
    verdict = Verdict.YES if max(abs(low - expected), abs(high - expected)) < 0.05 * expected else Verdict.NO
    effect = f"medians {write.span((low, high), write.latency)}; computed {write.latency(expected)}"
    return Answer(verdict, effect, "every closed loop that waits; the kernel's counter agrees", finding=finding)


@of_rule("D05")
def newer_jdk(finding: Finding) -> Answer:
    """Does a newer JDK need the flag?"""
    p50, delayed = number(finding, "p50_us"), number(finding, "delayed_p50_us")
    effect = f"JDK 25 p50 {write.latency(p50)}, with nodelay=false {write.latency(delayed)}"
    verdict = Verdict.NO if delayed < 10_000 else Verdict.YES
    return Answer(verdict, effect, "one closed loop each", finding=finding)


@of_rule("D07")
def of_the_script(finding: Finding) -> Answer:
    """Do the 404s say anything of the server?"""
    same = number(finding, "non_2xx") == number(finding, "replayed")
    effect = f"{write.count(number(finding, 'non_2xx'))} of {write.count(number(finding, 'requests'))} are 404; "
    effect += f"the script's numbers replayed make {write.count(number(finding, 'replayed'))}"
    return Answer(Verdict.NO if same else Verdict.INCONCLUSIVE, effect, "counted, and computed", finding=finding)


@of_rule("D10")
def mixed(finding: Finding) -> Answer:
    """Is the mixed script a mix?"""
    puts, asked = number(finding, "puts"), number(finding, "requests")
    effect = f"{write.count(puts)} of {write.count(asked)} are PUT"
    return Answer(Verdict.NO if puts in (0, asked) else Verdict.YES, effect, "counted", finding=finding)


@of_rule("D06")
def one_write(finding: Finding) -> Answer:
    """Does a response of one write wait too?"""
    one, two = number(finding, "one_write_us"), number(finding, "two_writes_us")
    effect = f"p50 {write.latency(one)} with one write, {write.latency(two)} with two ({factor(two / one)} as long)"
    return Answer(Verdict.NO if one < two / 2 else Verdict.YES, effect, "one closed loop each", finding=finding)


QUESTIONS = answered_by("02", {
    "more": one_flag,
    "executor": executor,
    "wait": timer_and_tick,
    "one-write": one_write,
    "jdk25": newer_jdk,
    "404": of_the_script,
    "mixed": mixed,
    "profile": lambda evidence: of_finding(
        evidence.first("D12"), Verdict.NO, "while a response waits for its acknowledgement, no thread computes"
    ),
})  # fmt: skip
