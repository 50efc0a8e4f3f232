"""Reproduce report 3: who runs a request, and what handing it over costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runners.analysis import facts, knee
from runners.claims import interleaved, questions, settings
from runners.claims.published import with_rates
from runners.claims.questions import Answer, Answering, Evidence, Verdict, number, of_rule
from runners.design import report_3
from runners.design.block import Block, Interleaved
from runners.design.experiment import Value, listed
from runners.design.ladder import AroundTheKnee, Ladder, WarmServer
from runners.design.load import SIZES, Shape
from runners.design.objective import Objective
from runners.experiments import answered_by
from runners.readers import write
from runners.readers.finding import Finding
from runners.readers.run import Step


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The hand-over on one connection, the knee of each way to run a request, and pools with more than fits."""
    size, connections = SIZES[str(asked["size"])], int(asked["connections"])
    plan, put, get = report_3.LADDERS[size.name], report_3.put(size.name), report_3.get(size.name)
    starts = report_3.STARTS[size.name]
    # on one connection nothing is done in parallel: the server's core is enough, and no generator shares it
    ways = tuple(replace(report_3.EXECUTIONS[name], all_cores=False) for name in ("selector", "blocking-one"))
    hand_over = Interleaved(
        "hand-over", "a request on the selector, and handed over to a pool that the selector waits for", ways,
        "selector", put, replace(size, probe_s=starts.server_s), Shape(1, 1, starts.load_s, starts.warmup_s),
        starts=starts.count, primary="cpu_us", margin=0.03, solo=False, loops=size.name == "full",
        questions=("hand-over", "median"),
    )  # fmt: skip
    objective = Objective.parse(f"p99<={asked['p99_ms']:f}ms")
    knees = [
        block
        for workload, names, questions in (
            (put, asked["put_executions"], ("pool", "selectors", "virtual", "beyond")),
            (get, asked["get_executions"], ("get",)),
        )
        for block in AroundTheKnee(
            plan, objective, connections, with_rates(workload.published_rates), listed(asked["profile"]), questions
        ).of_each(
            workload.name, f"{workload.label}: the knees of all ways to run a request, by slices in random order",
            [WarmServer(setting, workload, size) for setting in report_3.executions(str(names))],
        )
    ]  # fmt: skip
    queues = [
        Ladder(
            setting.name, f"{setting.name}: less and more than fits", WarmServer(setting, put, size),
            Shape(connections, 1, plan.step_s, plan.probe_warmup_s), shares=report_3.OVERLOAD_SHARES,
            questions=("queue",),
        )
        for setting in report_3.queues(size.name)
    ]  # fmt: skip
    return (hand_over, *knees, *queues)


def handed_over(quantity: str) -> Answering:
    """Does handing a request over raise a quantity, against running it on the selector?"""
    return interleaved.differs(("hand-over", "compare"), "blocking-one", quantity)


def longer_queue(evidence: Evidence) -> Answer | None:
    """Does a longer queue refuse less of what does not fit?"""
    pairs = sorted(settings.overloaded(evidence.run), key=lambda pair: settings.queue_length(pair[1]))
    if len(pairs) < 2:
        return None
    parts = [f"{facts.engine_name(high.subject)}: {_refused(high)}" for _, high in pairs]
    shares = [knee.refused_share(high) for _, high in pairs]
    verdict = Verdict.YES if shares[-1] < shares[0] else Verdict.NO
    return Answer(verdict, "; ".join(parts), "one load each", finding=evidence.first("E03"))


def _refused(load: Step) -> str:
    """The share of a load's requests that the server refused; a connection waits with one request at a time."""
    text = f"{write.percent(knee.refused_share(load))} refused"
    connections = load.record.connections or 0
    if 0 < connections <= settings.queue_length(load):
        text += f" ({write.count(connections)} connections wait with as many requests at most, and never fill it)"
    return text


@of_rule("M08")
def misses(finding: Finding) -> Answer:
    """Are the published errors the server's?"""
    shares = f"{write.percent(number(finding, 'low'))} to {write.percent(number(finding, 'high'))}"
    effect = f"{shares} at every rate: keys that were never written"
    return Answer(Verdict.NO, effect, f"{write.count(number(finding, 'outputs'))} published outputs", finding=finding)


QUESTIONS = answered_by("03", {
    "pool": questions.knees_apart("put", "blocking-one", "selector"),
    "selectors": questions.knees_apart("put", "blocking-many", "blocking-one"),
    "hand-over": handed_over("cpu_us"),
    "median": handed_over("p50_us"),
    "get": questions.knees_apart("get", "selector", "blocking-one"),
    "virtual": questions.knees_apart("put", "virtual", "blocking-one"),
    "queue": longer_queue,
    "errors": misses,
    "beyond": questions.beyond_the_knee,
})  # fmt: skip
