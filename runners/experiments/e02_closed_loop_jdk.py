"""Reproduce report 2: the JDK's HTTP server in closed loop, and the cause of its response times of 44 ms."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from runners.design.block import SLICE_S, Block, FixedRate, Interleaved
from runners.design.experiment import Experiment, Parameter, Value, common, listed
from runners.design.load import SCRIPTS, Shape, Workload, random_gets
from runners.design.objective import THROUGHPUT
from runners.design.session import FILL, LOOP, ClosedLoop, Session, Trial, profiled
from runners.design.setting import JDK_FRONT, OLD_JDK, Setting
from runners.experiments.question_table import answered_by
from runners.experiments.sizes import sizes
from runners.readers.published import published_of
from runners.results.answer import Asked

#: The number of keys from which the published PUT and GET draw, and the number in the store when GET was repeated.
DRAWN_KEYS, HELD_KEYS = 10_000, 1_000
#: 100 connections: a response takes 44 ms, and the JDK closes idle connections beyond 200 (maxIdleConnections).
FILL_SHAPE = Shape(100, 1, 60.0, 0.0)
#: Nodes that the report says it has set up: a virtual machine and two containers in it.
NODES = 3
NODELAY, DELAY = "-Dsun.net.httpserver.nodelay=true", "-Dsun.net.httpserver.nodelay=false"
DISPATCHER, POOL = "dispatcher", "cached-pool"
#: By size: the seconds of a loop that was published, the seconds of any other loop, and the numbers of connections.
SIZES: dict[str, tuple[float, float, tuple[int, ...]]] = {
    "smoke": (1.0, 1.0, (1,)), "quick": (4.0, 2.5, (1, 2, 4)), "published": (60.0, 10.0, (1, 2, 4)),
    "full": (60.0, 60.0, (1, 2, 4)),
}  # fmt: skip
#: By size of run, loads that compare JDK 25 with and without its default, nodelay; the smoke size has no time for it.
COMPARED = sizes("02", "compared")
MARGIN, VALUE_BYTES = 0.1, 25


@dataclass(frozen=True, slots=True)
class Loop:
    """A closed loop whose requests go to random keys."""

    name: str
    script: str
    drawn: int  # the number of keys to draw from
    held: int = 0  # the store must hold key1 to key<held>; for `get-few`, no other key
    arguments: tuple[str, ...] = ()


PUT = Loop("put", "named_put.lua", DRAWN_KEYS)
GET = Loop("get", "named_get.lua", DRAWN_KEYS, DRAWN_KEYS)
GET_FEW = Loop("get-few", "named_get.lua", DRAWN_KEYS, HELD_KEYS)
MIXED_ONCE = Loop("mixed-once", "named_mixed.lua", HELD_KEYS, HELD_KEYS, ("once",))
MIXED = Loop("mixed", "named_mixed.lua", HELD_KEYS, HELD_KEYS, ("each",))


def server(name: str, jdk: int, executor: str, *jvm_flags: str, text: bool = True) -> Setting:
    """Return report 2's server on JDK `jdk` (0: the lab's). With `text` a response to PUT is two writes, else one."""
    flags = ("--executor", executor, *(("--answer-text",) if text else ()))
    return Setting(name, "files", flags, jvm_flags, jdk=jdk, front=JDK_FRONT)


@dataclass(frozen=True, slots=True)
class Stage:
    """Closed loops that run in this order on one server setting and one store."""

    title: str
    setting: Setting
    loops: tuple[Loop, ...]
    questions: tuple[str, ...] = ()
    published: tuple[Loop, ...] = ()  # the loops that report 2 has
    profiled: Loop | None = None  # the loop that is repeated with a profiler
    few: bool = False  # on one connection only

    @property
    def name(self) -> str:
        return self.setting.name

    def output(self, loop: Loop, connections: int) -> str | None:
        """Return the name of the generator's published output for a loop; None if the loop was not published."""
        kind = loop.name.partition("-")[0]
        return f"report-2/{self.name}-{kind}-{connections}" if loop in self.published else None

    def block(self, size: str, profile: tuple[str, ...] = ()) -> FixedRate:
        """Return a size's block: every loop on every number of connections. `profile`: kinds of event to profile."""
        published_s, other_s, connections = SIZES[size]
        trials, held = list[Trial](), 0
        for loop in self.loops:
            if loop.held > held:
                held = loop.held
                fill = Workload("fill", SCRIPTS / "fill.lua", arguments=(str(held), "own", "1", "key"))
                shape, label = replace(FILL_SHAPE, requests=held), f"{self.name}: fill"
                trials.append(Trial(f"fill-{self.name}-{held}", FILL, fill, None, shape, label=label))
            length_s = published_s if loop in self.published else other_s
            trials += [self._trial(loop, count, length_s) for count in (connections[:1] if self.few else connections)]
            if loop is self.profiled and profile:
                clean, about = trials[-1], ClosedLoop(loop.drawn, loop.held)
                again = replace(clean, label=f"{clean.label}, profiled", loop=about)
                trials += profiled(again, f"{clean.name}-profiled", profile)
        return FixedRate.known(self.name, self.title, (Session(self.setting, tuple(trials)),), self.questions)

    def _trial(self, loop: Loop, connections: int, length_s: float) -> Trial:
        workload = Workload(loop.name, SCRIPTS / loop.script, arguments=(str(loop.drawn), *loop.arguments))
        return Trial(
            f"{self.name}-{loop.name}-{connections}", LOOP, workload, None,
            Shape(connections, connections, length_s, 0.0), label=f"{self.title}: {loop.name} x {connections}",
            loop=ClosedLoop(loop.drawn, loop.held, self.output(loop, connections)),
        )  # fmt: skip


STAGES = {stage.name: stage for stage in (
    Stage("JDK 17, dispatcher thread", server("before", OLD_JDK, DISPATCHER), (MIXED_ONCE, GET, PUT),
          ("executor", "wait", "mixed", "profile"), (MIXED_ONCE, GET, PUT), MIXED_ONCE),
    # PUT writes more keys, so it comes after the GETs that must not find them
    Stage("JDK 17, cached pool", server("after", OLD_JDK, POOL), (GET_FEW, MIXED_ONCE, PUT, GET),
          ("executor", "wait", "404", "mixed", "profile"), (GET_FEW, MIXED_ONCE, PUT), MIXED_ONCE),
    Stage("JDK 17, cached pool, nodelay", server("nodelay", OLD_JDK, POOL, NODELAY), (MIXED, GET, PUT),
          ("more", "wait"), profiled=MIXED),
    Stage("JDK 25, cached pool", server("jdk25", 0, POOL), (MIXED, GET, PUT), ("jdk25",), profiled=MIXED),
    # controls: the cure taken away from the new JDK, and a response that is one write on the old one
    Stage("JDK 25, cached pool, delay", server("delayed", 0, POOL, DELAY), (GET, PUT), ("jdk25",), few=True),
    Stage("JDK 17, cached pool, one write", server("one-write", OLD_JDK, POOL, text=False), (PUT,), ("one-write",),
          few=True),
)}  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """Return the blocks for the parameters `asked`: closed loops by server; then JDK 25 with and without nodelay."""
    size, pair = str(asked["size"]), tuple(STAGES[name].setting for name in ("jdk25", "delayed"))
    stages = tuple(stage.block(size, listed(asked["profile"])) for stage in STAGES.values())
    if (compared := COMPARED.get(size)) is None:
        return stages
    return (*stages, Interleaved(
        "default", "JDK 25 with its default and without, by slices; GET", pair, pair[0].name,
        random_gets(DRAWN_KEYS, VALUE_BYTES), compared, compared.shape(1, servers=len(pair) + 1), compared.starts,
        primary=THROUGHPUT, margin=MARGIN, slice_s=SLICE_S, questions=("jdk25",),
    ))  # fmt: skip


EXPERIMENT = Experiment(
    "02", "02_closed_loop_jdk.ipynb", "Closed loop on the JDK's HTTP server: what the 44 ms are", "report-2",
    (*common("size"), Parameter.profile("cpu"), Parameter.heap(1024), *common("port")),
    blocks,
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    from runners.analysis.intervals import Direction
    from runners.results import loops
    from runners.results.comparisons import differs
    from runners.results.published import loads_several_nodes

    return answered_by("02", {
        "more": loops.one_flag,
        "executor": loops.executor,
        "wait": loops.timer_and_tick,
        "one-write": loops.one_write,
        "jdk25": differs(("default",), "delayed", THROUGHPUT, (Direction.LOWER,)),
        "404": loops.errors_are_the_scripts,
        "mixed": loops.mixed,
        "profile": loops.waits_idle,
        "nodes": loads_several_nodes(lambda: tuple(published_of("report-2")), NODES),
    })  # fmt: skip
