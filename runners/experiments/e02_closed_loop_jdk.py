"""Reproduce report 2: the JDK's HTTP server in closed loop, and what its 44 ms are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runners.design.block import Block, FixedRate
from runners.design.experiment import Experiment, Value, common, heap_parameter, listed, profile_parameter
from runners.design.load import SCRIPTS, Shape, Workload
from runners.design.session import FILL, LOOP, ClosedLoop, Session, Trial
from runners.design.setting import JDK_FRONT, OLD_JDK, Setting

if TYPE_CHECKING:
    from runners.claims.questions import Asked

#: Keys that the published PUT and GET draw from, and those that its store held when GET was measured again.
DRAWN_KEYS, HELD_KEYS = 10_000, 1_000
#: A store is filled over many connections at once: each response takes 44 ms there. The JDK's server closes idle ones
#: beyond 200 (sun.net.httpserver.maxIdleConnections).
FILL_CONNECTIONS = 100
FILL_BOUND_S = 60.0


@dataclass(frozen=True, slots=True)
class Loop:
    """Requests of one script. The store must hold key1 to key<held> before, and for `get-few` nothing else."""

    name: str
    script: Path
    drawn: int
    held: int = 0
    arguments: tuple[str, ...] = ()

    @property
    def workload(self) -> Workload:
        """What its script sends."""
        return Workload(self.name, self.script, arguments=(str(self.drawn), *self.arguments))


PUT = Loop("put", SCRIPTS / "named_put.lua", DRAWN_KEYS)
GET = Loop("get", SCRIPTS / "named_get.lua", DRAWN_KEYS, DRAWN_KEYS)
GET_FEW = Loop("get-few", SCRIPTS / "named_get.lua", DRAWN_KEYS, HELD_KEYS)
MIXED_ONCE = Loop("mixed-once", SCRIPTS / "named_mixed.lua", HELD_KEYS, HELD_KEYS, ("once",))
MIXED = Loop("mixed", SCRIPTS / "named_mixed.lua", HELD_KEYS, HELD_KEYS, ("each",))


@dataclass(frozen=True, slots=True)
class Stage:
    """Loops on one setting, in their order on one store. `published` maps a loop to the name of its published runs.

    `few` connections only: a control needs no more than one.
    """

    name: str
    title: str
    setting: Setting
    loops: tuple[Loop, ...]
    published: dict[str, str] = field(default_factory=dict)
    profiled: Loop | None = None
    few: bool = False


def _stage_setting(name: str, jdk: int, executor: str, *jvm_flags: str, text: bool = True) -> Setting:
    more = ("--answer-text",) if text else ()
    return Setting(name, "files", ("--executor", executor, *more), jvm_flags, jdk=jdk, front=JDK_FRONT)


NODELAY = "-Dsun.net.httpserver.nodelay=true"
DELAY = "-Dsun.net.httpserver.nodelay=false"
POOL = "cached-pool"
BEFORE = Stage(
    "before", "JDK 17, dispatcher thread", _stage_setting("before", OLD_JDK, "dispatcher"), (MIXED_ONCE, GET, PUT),
    {"put": "before-put", "get": "before-get", "mixed-once": "before-mixed"}, MIXED_ONCE,
)  # fmt: skip
AFTER = Stage(
    "after",
    "JDK 17, cached pool",
    _stage_setting("after", OLD_JDK, POOL),
    (GET_FEW, MIXED_ONCE, PUT, GET),  # PUT writes more keys, so it comes after the GETs that must not find them
    {"put": "after-put", "get-few": "after-get", "mixed-once": "after-mixed"},
    MIXED_ONCE,
)
FLAG = Stage(
    "nodelay", "JDK 17, cached pool, nodelay", _stage_setting("nodelay", OLD_JDK, POOL, NODELAY), (MIXED, GET, PUT),
    profiled=MIXED,
)  # fmt: skip
NEW_JDK = Stage("jdk25", "JDK 25, cached pool", _stage_setting("jdk25", 0, POOL), (MIXED, GET, PUT), profiled=MIXED)
#: Controls: the cure taken away from the new JDK, and a response that is one write on the old one.
DELAYED = Stage(
    "delayed", "JDK 25, cached pool, delay", _stage_setting("delayed", 0, POOL, DELAY), (GET, PUT), few=True
)
ONE_WRITE = Stage(
    "one-write", "JDK 17, cached pool, one write", _stage_setting("one-write", OLD_JDK, POOL, text=False), (PUT,),
    few=True,
)  # fmt: skip
STAGES = {stage.name: stage for stage in (BEFORE, AFTER, FLAG, NEW_JDK, DELAYED, ONE_WRITE)}


@dataclass(frozen=True, slots=True)
class LoopSize:
    """Seconds of a loop that was published, and of one that was not; and on how many connections each is run."""

    published_s: float
    other_s: float
    connections: tuple[int, ...] = (1, 2, 4)

    def seconds(self, stage: Stage, loop: Loop) -> float:
        """The length of one loop."""
        return self.published_s if loop.name in stage.published else self.other_s

    def connections_of(self, stage: Stage) -> tuple[int, ...]:
        """The numbers of connections of a stage."""
        return self.connections[:1] if stage.few else self.connections


LOOP_SIZES = {
    "smoke": LoopSize(1.0, 1.0, (1,)),
    "quick": LoopSize(4.0, 2.5),
    "full": LoopSize(60.0, 60.0),
}
#: What each stage helps to answer.
_STAGES = {
    "before": ("executor", "wait", "mixed", "profile"), "after": ("executor", "wait", "404", "mixed", "profile"),
    "nodelay": ("more", "wait"), "jdk25": ("jdk25",), "delayed": ("jdk25",), "one-write": ("one-write",),
}  # fmt: skip


def blocks(asked: Mapping[str, Value]) -> tuple[Block, ...]:
    """The stages, each on a server of its own: report 2 before and after its change, then what cures the wait."""
    size, profile = LOOP_SIZES[str(asked["size"])], listed(asked["profile"])
    return tuple(block(stage, size, profile, _STAGES[stage.name]) for stage in STAGES.values())


def block(stage: Stage, size: LoopSize, profile: tuple[str, ...] = (), questions: tuple[str, ...] = ()) -> FixedRate:
    """Each loop of a stage on each number of connections, one of them once more with the profiler, on one server.

    Before a loop whose store must hold more keys than the one before, these keys are written.
    """
    trials, held = list[Trial](), 0
    for loop in stage.loops:
        if loop.held > held:
            held = loop.held
            trials.append(_fill(stage, held))
        trials += [_trial(stage, loop, connections, size) for connections in size.connections_of(stage)]
        if loop is stage.profiled and profile:
            clean = trials[-1]
            label = f"{clean.label}, profiled"
            trials.append(
                replace(clean, name=f"{clean.name}-profiled", label=label, profile=profile, loop=_about(loop))
            )
    return FixedRate.known(stage.name, stage.title, (Session(stage.setting, tuple(trials)),), questions)


def _trial(stage: Stage, loop: Loop, connections: int, size: LoopSize) -> Trial:
    published = stage.published.get(loop.name)
    return Trial(
        f"{stage.name}-{loop.name}-{connections}",
        LOOP,
        loop.workload,
        None,
        Shape(connections, connections, size.seconds(stage, loop), 0.0),
        label=f"{stage.title}: {loop.name} x {connections}",
        loop=_about(loop, f"report-2/{published}-{connections}" if published else None),
    )


def _about(loop: Loop, published: str | None = None) -> ClosedLoop:
    return ClosedLoop(loop.drawn, loop.held, published)


def _fill(stage: Stage, keys: int) -> Trial:
    """Write key1 to key<keys> once each."""
    workload = Workload("fill", SCRIPTS / "fill.lua", arguments=(str(keys), "own", "1", "key"))
    shape = Shape(FILL_CONNECTIONS, 1, FILL_BOUND_S, 0.0, requests=keys)
    return Trial(f"fill-{stage.name}-{keys}", FILL, workload, None, shape, label=f"{stage.name}: fill")


EXPERIMENT = Experiment(
    "02", "02_closed_loop_jdk.ipynb", "Closed loop on the JDK's HTTP server: what the 44 ms are", "report-2",
    (*common("size"), profile_parameter("cpu"), heap_parameter(1024), *common("port")),
    blocks,
    own_servers="it is about the JDK's own HTTP server and its lock",
)  # fmt: skip


def questions() -> tuple[Asked, ...]:
    """What is asked of the report, and what answers it."""
    from runners.claims import verdicts
    from runners.claims.questions import Verdict, of_finding
    from runners.experiments.question_table import answered_by

    return answered_by("02", {
        "more": verdicts.one_flag,
        "executor": verdicts.executor,
        "wait": verdicts.timer_and_tick,
        "one-write": verdicts.one_write,
        "jdk25": verdicts.newer_jdk,
        "404": verdicts.of_the_script,
        "mixed": verdicts.mixed,
        "profile": lambda evidence: of_finding(
            evidence.first("D12"), Verdict.NO, "while a response waits for its acknowledgement, no thread computes"
        ),
    })  # fmt: skip
