"""Compare two server settings under one schedule, in several fresh starts of both; `lab compare` runs this too."""

from collections.abc import Mapping
from dataclasses import replace

from runners.design.block import COMPARED_WARMUP_S, Block, Interleaved
from runners.design.experiment import ONE_LOAD, Experiment, Parameter, Value, setting_of, workload_of
from runners.design.load import SIZES, Shape
from runners.design.objective import PRIMARIES, read_until
from runners.design.target import target_of, whole_path
from runners.errors import PlanError
from runners.results.answer import Asked, Question

COMPARE_BLOCK = "compare"
#: Minutes of all starts together; in the smoke size just enough for a verdict.
MINUTES = {"smoke": 1.95, "quick": 5.5, "published": 20.0, "full": 60.0}
GENERATOR = "truepace"


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return a comparison of `a`, `b` and, if possible, `a` again as control. Raises PlanError for a bad parameter."""
    if str(asked["generator"]) != GENERATOR:
        cause = "it can't share one schedule over several servers"
        raise PlanError(f"generator {asked['generator']}", cause, f"use {GENERATOR}")
    texts = [str(asked["a"]), str(asked["b"])]
    workload, (a, b) = workload_of(str(asked["workload"]), texts), map(setting_of, texts)
    if a.name == b.name:  # the same twice shows what starts alone make
        b = replace(b, name=f"{b.name[:34]}-again")
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["repeat_s"]), COMPARED_WARMUP_S)
    size = SIZES[str(asked["size"])]
    until = read_until(str(asked["until"]))
    decisive, margin = until or (PRIMARIES["p50"], float(asked["see"]))
    name = next(name for name, primary in PRIMARIES.items() if primary == decisive)
    title = f"{workload.label} of {a.name} and {b.name} by one schedule; "
    title += f"primary quantity {name}, margin {100 * margin:g} %"
    first = target_of(texts[0])
    planned = Interleaved(
        COMPARE_BLOCK, title, (a, b), a.name, workload, size, shape, rate_rps=float(asked["rate_rps"]),
        primary=decisive, margin=margin, until=until is not None,
        control=first is None or first.repeatable,
        questions=("p50_us", "p99_us", "cpu_us", "closed_loop_rps"),
    )  # fmt: skip
    return (planned.within(float(asked["minutes"]) or MINUTES[size.name]),)


EXPERIMENT = Experiment(
    "09", "09_compare.ipynb", "Two settings compared by one schedule", "",
    (
        *ONE_LOAD,
        Parameter(
            "a", "lsm", "first setting: an engine, or engine=lsm,--flag=value,-Xflag", read=setting_of, kept=whole_path
        ),
        Parameter("b", "rocksdb", "second setting", read=setting_of, kept=whole_path),
        Parameter(
            "rate_rps", 0, "offered rate to each; 0: all at half of the core or less", "requests/s", low=0,
            high=1_000_000,
        ),
        Parameter("minutes", 0.0, "budget of all starts; 0: what the size has for it", "minutes", low=0, high=600),
        Parameter("see", 0.02, "smallest difference of interest, as a share", low=0.001, high=1.0),
        Parameter("until", "", "end when this is decided, such as p50+-2%; empty: after all starts", read=read_until),
        Parameter("repeat_s", 5.0, "length of the load of a start, without its warm-up", "s", low=0.5, high=600),
    ),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """Return a question for each measured quantity: do the two treatments differ in it?"""
    from runners.analysis.quantities import OF_LOADS
    from runners.results.comparisons import DIFFERS, differs

    asked = {of.name: Question(of.name, f"Do the two treatments differ in {of.label}?") for of in OF_LOADS}
    return tuple(Asked(question, differs(None, None, name, DIFFERS)) for name, question in asked.items())
