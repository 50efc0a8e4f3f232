"""Reproduce report 4: the rate ladder of the LSM store, cold and warm, up to the knee and beyond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.analysis.knee import rate_interval
from runners.claims import interleaved, profile, questions
from runners.claims.climbing import ladders
from runners.claims.published import published_outputs, with_rates
from runners.claims.questions import Answer, Evidence, Verdict, number, of_rule, verdict_of
from runners.claims.rate_steps import taken_at
from runners.design import report_4
from runners.design.block import Block, FixedRate
from runners.design.experiment import Value, listed
from runners.design.ladder import LADDERS, AroundTheKnee, WarmServer
from runners.design.load import SIZES, Workload
from runners.design.objective import Objective
from runners.design.session import step_name
from runners.design.setting import Setting
from runners.design.target import shared_workloads, targets_of
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding

#: A share of the CPU samples that has to move before it matters, as the table of questions has it.
SHARE_MARGIN = 0.02


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The load of a server that was just started, the same on the warm one, then a ladder around each load's knee."""
    size = SIZES[str(asked["size"])]
    connections, events = int(asked["connections"]), listed(asked["profile"])
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")

    def ladder(name: str, title: str, workload: Workload, setting: Setting) -> Block:
        return AroundTheKnee(
            LADDERS[size.name], objective, connections, with_rates(workload.published_rates), events,
            ("rates", "shares", "45k", "beyond"),
        ).of(name, f"{title}: the knee, and rates around it", WarmServer(setting, workload, size))  # fmt: skip

    def cold_and_warm(what: str, settings: tuple[Setting, ...], cold: Workload, warm: Workload) -> Block:
        return FixedRate(
            "cold-and-warm",
            f"{what} from the first request of a new server, then the same on the warm one",
            settings,
            warm,
            size,
            rate_rps=float(asked["rate_rps"]),
            connections=connections,
            profile=events,
            share=report_4.SHARE,
            cold=cold,
            questions=("flush-tail", "compaction-tail", "cold"),
        )

    if targets := targets_of(str(asked["target"])):
        loads = shared_workloads(targets)
        first = loads[0][1]
        cold, warm = (replace(first, name=f"{first.name}-{state}") for state in ("cold", "warm"))
        return (
            cold_and_warm(first.label, tuple(file.setting for file in targets), cold, warm),
            *(
                ladder(step_name(name, file.name), f"{workload.label} of {file.name}", workload, file.setting)
                for name, workload in loads
                for file in targets
            ),
        )
    setting = Setting.of(str(asked["engine"]))
    return (
        cold_and_warm("PUT of 1200 bytes", (setting,), report_4.PUT_COLD, report_4.PUT_WARM),
        report_4.cold_against_warm(setting, size, connections),
        ladder("put", "PUT of 1200 bytes", report_4.PUT_LARGE, setting),
        ladder("put-small", "PUT of 120 bytes", report_4.PUT_SMALL, setting),
        ladder("get", "GET on a filled store", report_4.get(size.name), setting),
    )


def published_rates(evidence: Evidence) -> Answer | None:
    """Does one connection keep the objective at the published rates? Those beyond the knee there are none to keep."""
    parts, enough, figure = [], [], None
    beyond = {output for found in evidence.all("M07") for output in found.steps}
    for ladder in ladders(evidence.run):
        found = ladder.answer
        there = [name for name in ladder.published if name not in beyond]
        rates = [float(taken_at(each) or each.offered_rps or 0) for name in there for each in published_outputs(name)]
        if ladder.base is None or found is None or not write.known(found.high_rps) or not rates:
            continue
        figure = figure or ladder.anchor
        enough.append(verdict_of(found.low_rps - max(rates), found.high_rps - max(rates)))
        parts.append(f"{ladder.steps[0].workload.upper()} up to {rate_interval(found)} of {write.rate(max(rates))}")
    if not parts:
        return None
    verdict = next((each for each in (Verdict.NO, Verdict.INCONCLUSIVE) if each in enough), Verdict.YES)
    needed = "longer searches" if verdict == Verdict.INCONCLUSIVE else ""
    basis = "one search each; another machine"
    return Answer(verdict, write.listed(parts), basis, needed, evidence.first("R02"), figure)


@of_rule("M09")
def wrong_rate(finding: Finding) -> Answer:
    """Were the percentiles published for 45 000/s taken at that rate?"""
    effect = f"taken at {write.rate(number(finding, 'ran_at_rps'))}, beyond the knee"
    return Answer(Verdict.NO, effect, "the published output", finding=finding)


@of_rule("M06")
def cold_start(finding: Finding) -> Answer:
    """Does the published cold run hold its cold start?"""
    effect = "wrk2 leaves out the first 10 s; here responses in them take up to "
    effect += f"{write.latency(number(finding, 'early_max_us'))}"
    return Answer(Verdict.NO, effect, "wrk2's source; one load", finding=finding)


def changes_with_rate(evidence: Evidence) -> Answer | None:
    """Does the work of a request change with the rate? The profiler's own share does, and is no work of a request.

    No where the intervals leave no category room for a change that matters.
    """
    found = [f for f in evidence.all("R01") if "CPU" in f.sentence]
    if not found:
        return None
    changes = [
        (abs(number(f, name)), f)
        for f in found
        for name in f.evidence
        if name.endswith(" change") and not name.startswith(profile.PROFILER)
    ]
    basis = f"{len(found)} ladders, profiled at each rate"
    most, finding = max(changes, key=lambda each: each[0], default=(0.0, found[0]))
    if (bound := max(number(f, "at most") for f in found)) < SHARE_MARGIN:
        text = f"no category of a request's work changes by more than {write.percent(bound)} of the samples"
        return Answer(Verdict.NO, text, basis, "", finding)
    if most < SHARE_MARGIN:
        text = "no category of a request's work is seen to change by more than "
        text += f"{write.given_share(SHARE_MARGIN)} of the samples"
        return Answer(Verdict.INCONCLUSIVE, text, basis, "more samples, or rates further apart", finding)
    return Answer(Verdict.YES, finding.sentence.rstrip("."), basis, "", finding)


QUESTIONS = answered_by("04", {
    "rates": published_rates,
    "warm": interleaved.differs((report_4.COMPARED,), f"lsm-{report_4.COLD}", "p50_us"),
    "shares": changes_with_rate,
    "flush-tail": questions.tail_by("flush", "put-warm-lsm"),
    "compaction-tail": questions.tail_by("compaction", "put-warm-lsm"),
    "cold": cold_start,
    "45k": wrong_rate,
    "beyond": questions.beyond_the_knee,
})  # fmt: skip
