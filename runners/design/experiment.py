"""The experiments: each is a notebook, or a command such as `lab knee`, with its title and its parameters.

A parameter says what it means, and which values are sane. Experiment 09, which is `lab compare` too, has its block
here: two settings, or anybody's two servers, by one schedule.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from runners.design import ablations, report_3, report_4, report_5
from runners.design.block import COMPARED_WARMUP_S, Interleaved
from runners.design.ladder import SEARCH_STEP_S
from runners.design.load import AROUND_A_LOAD_S as AROUND_A_LOAD_S
from runners.design.load import GET, PUT, SIZES, WORKLOADS, Shape, Workload
from runners.design.objective import PRIMARIES, Objective, Until
from runners.design.setting import ENGINES, STORES, Setting
from runners.design.target import LOOPBACK, TargetFile, shared_workload, target_of, targets_of, whole_path, whole_paths
from runners.errors import PlanError

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One knob: its default fixes the type; `choices` or `low`..`high` its range.

    With `several`, the value is a comma-separated list of distinct choices. `read` makes what a text stands for, and
    raises PlanError where it stands for nothing; `kept` writes the text as a run keeps it, with whole paths.
    """

    name: str
    default: Value
    meaning: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    several: bool = False
    optional: bool = False
    read: Callable[[str], object] | None = None
    kept: Callable[[str], str] = str

    @property
    def range_text(self) -> str:
        if self.choices:
            text = " | ".join(self.choices)
            return f"one or more of {text}, joined by commas" if self.several else text
        return (
            f"{self.low:g} to {self.high:g}{' ' + self.unit if self.unit else ''}" if self.low is not None else "text"
        )

    def parse(self, value: object) -> Value:
        """`value` (of the right type, or its text) as this parameter's type. Raises PlanError."""
        parsed = self._typed(value)
        if self.choices:
            self._check_choices(str(parsed))
        elif not isinstance(parsed, str) and not self._within(parsed):
            raise self._refusal(value, f"it is out of range ({self.range_text})")
        elif self.read is not None:
            self.read(str(parsed))
        return self.kept(parsed) if isinstance(parsed, str) else parsed

    def _within(self, number: float) -> bool:
        # written so that NaN is out of every range
        return self.low is None or self.high is None or self.low <= number <= self.high

    def _typed(self, value: object) -> Value:
        if isinstance(self.default, str):
            if not isinstance(value, str):
                raise self._refusal(value, "it must be text")
            return ",".join(part.strip() for part in value.split(",")) if self.several else value.strip()
        if isinstance(value, bool):
            raise self._refusal(value, "it must be a number")
        try:
            return int(str(value)) if isinstance(self.default, int) else float(str(value))
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise self._refusal(value, f"it must be {kind}") from None

    def _check_choices(self, text: str) -> None:
        parts = text.split(",") if self.several else [text]
        if self.optional and text in ("", "none"):
            return
        for part in parts:
            if part not in self.choices:
                raise self._refusal(text, f"{part!r} is not one of {', '.join(self.choices)}")
        if len(set(parts)) != len(parts):
            raise self._refusal(text, "a value stands twice")

    def _refusal(self, value: object, cause: str) -> PlanError:
        return PlanError(f"parameter {self.name}={value!r}", cause, f"valid: {self.range_text}")


def validate(parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Value]:
    """All parameters, defaults filled in. Raises PlanError with the list of valid ones for an unknown name."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise PlanError(f"parameter {name!r}", "unknown", "valid ones:\n" + describe(parameters))
    return {
        name: parameter.parse(given[name]) if name in given else parameter.default for name, parameter in known.items()
    }


def describe(parameters: Sequence[Parameter]) -> str:
    """A line for each parameter: name, default, meaning, range."""
    return "\n".join(
        f"  {parameter.name}={parameter.default}  {parameter.meaning} ({parameter.range_text})"
        for parameter in parameters
    )


def listed(value: Value) -> tuple[str, ...]:
    """The parts of a parameter that is a list; none where it says so."""
    return tuple(part for part in str(value).split(",") if part not in ("", "none"))


EVENTS = ("cpu", "alloc", "lock")
REPORT_S = 12.0
GENERATORS = ("truepace", "wrk2")
#: Named as their drivers are; the simplest clients first.
EVERY_GENERATOR = ("blocking", "epoll", "truepace", "wrk2", "wrk")
TREND_METRICS = ("p50", "p75", "p90", "p99", "p99.9", "p99.99", "achieved")


def _parameter(name: str) -> Parameter:
    return next(each for each in COMMON if each.name == name)


def _without(parameters: Sequence[Parameter], *names: str) -> tuple[Parameter, ...]:
    return tuple(each for each in parameters if each.name not in names)


def _profile(events: str) -> Parameter:
    return Parameter("profile", events, "events, or none", choices=EVENTS, several=True, optional=True)


def _connections(default: int, meaning: str) -> Parameter:
    return Parameter("connections", default, meaning, "connections", low=1, high=10_000)


#: What every experiment on one server understands.
COMMON = (
    Parameter("size", "quick", "how long it runs", choices=tuple(SIZES)),
    Parameter("rate_rps", 0, "offered rate; 0: the published one, else what fits", "requests/s", low=0, high=1_000_000),
    Parameter("engines", "rocksdb,lsm", "stores, first one as published", choices=tuple(ENGINES), several=True),
    _profile("cpu,alloc,lock"),
    Parameter("generator", "truepace", "who sends the load", choices=GENERATORS),
    Parameter("heap_mb", 128, "the server's heap", "MiB", low=16, high=65_536),
    Parameter("selectors", 0, "selector threads; 0: one a core", "threads", low=0, high=256),
    Parameter("port", 0, "the server's port; 0: a free one", low=0, high=65_535),
)

#: What an experiment on stores understands that can also be made on anybody's servers.
TARGET = Parameter(
    "target", "", "other servers in place of the stores: descriptions, apart by commas", read=targets_of,
    kept=whole_paths,
)  # fmt: skip

#: Experiment 00: no store and no workload, but every generator that is found.
INSTRUMENT = (
    _parameter("size"),
    Parameter(
        "generators", ",".join(EVERY_GENERATOR), "who sends the load, if found", choices=EVERY_GENERATOR, several=True
    ),
    *map(_parameter, ("heap_mb", "selectors", "port")),
)

#: Experiment 02: the JDK's HTTP server, in closed loop, so there is no rate to choose.
CLOSED_LOOP = (
    _parameter("size"),
    _profile("cpu"),
    Parameter("heap_mb", 1024, "the server's heap", "MiB", low=16, high=65_536),
    _parameter("port"),
)

#: Ladders: one engine, a number of connections, and what must be kept.
LADDER = (
    *_without(COMMON, "engines", "profile"),
    _profile("cpu,alloc"),
    Parameter("p99_ms", 10.0, "p99 to keep, with 99 % of the rate achieved and no errors", "ms", low=0.01, high=60_000),
)
LADDER_4 = (
    *LADDER,
    Parameter("engine", "lsm", "the store", choices=tuple(ENGINES)),
    _connections(1, "connections of the load; 1 as published"),
    TARGET,
)
_WAYS = tuple(report_3.EXECUTIONS)
GET_WAYS = ("blocking-one", "selector")
LADDER_3 = (
    *_without(LADDER, "rate_rps", "profile", "selectors"),
    _profile(",".join(EVENTS)),
    Parameter("put_executions", ",".join(_WAYS), "ways to run a PUT, first as published", choices=_WAYS, several=True),
    Parameter("get_executions", ",".join(GET_WAYS), "ways to run a GET", choices=_WAYS, several=True),
    _connections(report_3.CONNECTIONS, "connections of the ladders"),
)
_STORES = tuple(STORES)
STORES_6 = (
    *_without(LADDER, "rate_rps"),
    Parameter("stores", ",".join(_STORES), "stores to measure", choices=_STORES, several=True),
    _connections(64, "connections of every load"),
)
_SWITCHES = (ablations.FIT, *ablations.SWITCHES)
SWITCHES_7 = (
    *_without(LADDER, "rate_rps", "p99_ms"),
    Parameter(
        "switches", ablations.FIT, "what is switched; fit: what the size has time for", choices=_SWITCHES, several=True
    ),
    _connections(64, "connections of every load"),
)

#: Three nodes share one JVM, so its heap is larger than a single server's. Ports are free ones in a row.
LADDER_5 = (
    *_without(LADDER, "rate_rps", "profile", "selectors", "heap_mb", "port"),
    _profile(",".join(EVENTS)),
    _connections(report_5.CONNECTIONS, "connections of the load"),
    Parameter("heap_mb", 256, "heap of the JVM that holds the nodes", "MiB", low=16, high=65_536),
)


def setting_of(text: str) -> Setting:
    """The setting that a text stands for, of an engine that there is or `target=FILE`. Raises PlanError."""
    target = target_of(text)
    return Setting.parse(text, tuple(ENGINES)) if target is None else target.setting


#: One load, said in full, on servers that are settings: `lab knee`, and experiment 09.
ONE_LOAD = (
    *_without(COMMON, "rate_rps", "engines", "profile"),
    Parameter("workload", "put", "what is sent", choices=tuple(WORKLOADS)),
    _connections(64, "connections of the load"),
    Parameter("threads", 1, "threads of the generator", "threads", low=1, high=256),
)
SETTINGS_9 = (
    *ONE_LOAD,
    Parameter(
        "a", "lsm", "first setting: an engine, or engine=lsm,--flag=value,-Xflag", read=setting_of, kept=whole_path
    ),
    Parameter("b", "rocksdb", "second setting", read=setting_of, kept=whole_path),
    Parameter(
        "rate_rps", 0, "offered rate to each; 0: all at half of the core or less", "requests/s", low=0, high=1_000_000
    ),
    Parameter("minutes", 0.0, "budget of all starts; 0: what the size has for it", "minutes", low=0, high=600),
    Parameter("see", 0.02, "smallest difference of interest, as a share", low=0.001, high=1.0),
    Parameter("until", "", "end when this is decided, such as p50+-2%; empty: after all starts", read=Until.parse),
    Parameter("repeat_s", 5.0, "length of the load of a start, without its warm-up", "s", low=0.5, high=600),
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One numbered notebook, or with an empty `notebook` a command. `published` names the report that it reproduces."""

    number: str
    notebook: str
    title: str
    published: str
    parameters: tuple[Parameter, ...]
    workloads: tuple[Workload, ...] = ()

    @property
    def measures(self) -> bool:
        """Whether a run loads a server; one that looks at other runs has no size."""
        return any(parameter.name == "size" for parameter in self.parameters)

    def size_of(self, parameters: Mapping[str, Value]) -> str:
        """What a run folder's name says of the size; an experiment that measures nothing has none."""
        return str(parameters.get("size", "all"))

    def checked(self, given: Mapping[str, object]) -> dict[str, Value]:
        """Check parameters, with defaults for what is not given. Raises PlanError with those that there are."""
        if TARGET.name in given and TARGET not in self.parameters:
            able = [each.number for each in EXPERIMENTS.values() if TARGET in each.parameters]
            raise PlanError(
                f"parameter target of {self.number}: {self.title}",
                NO_TARGET.get(self.number, "its server is named by --target"),
                f"lab run {' or '.join(able)} -p target=a.yaml, or lab load, knee, profile or compare --target",
            )
        return validate(self.parameters, given)

    def rerun_command(self, parameters: Mapping[str, Value]) -> str:
        """The line that makes this run again: what differs from the defaults is spelled out."""
        defaults = {parameter.name: parameter.default for parameter in self.parameters}
        sized = ["--size", str(parameters["size"])] if "size" in parameters else []
        changed = [
            f"-p {shlex.quote(f'{name}={value}')}"
            for name, value in parameters.items()
            if name != "size" and value != defaults[name]
        ]
        verb = f"lab run {self.number}" if self.notebook else f"lab {self.number}"
        return " ".join([verb, *sized, *changed])


#: Why an experiment is of the lab's own servers alone.
NO_TARGET = {
    "00": "it validates load generators, on a server that does nothing",
    "02": "it is about the JDK's own HTTP server and its lock",
    "03": "it varies the executor and the selectors of the lab's server",
    "05": "it measures the lab's cluster, a node of which it kills",
    "06": "it compares the storage engines of the lab's server",
    "07": "it changes parts of the lab's server one by one",
    "08": "it measures nothing: it reads the runs that are kept",
    "09": "its two servers are the parameters a and b",
}
EXPERIMENTS = {
    experiment.number: experiment
    for experiment in (
        Experiment(
            "00", "00_instrument.ipynb", "The instrument: what it can resolve, and what it sees of a stall",
            "report-1", INSTRUMENT,
        ),
        Experiment(
            "01", "01_single_connection.ipynb", "One connection: PUT and GET at a stable rate", "report-1",
            (*COMMON, TARGET), (PUT, GET),
        ),
        Experiment(
            "02", "02_closed_loop_jdk.ipynb", "Closed loop on the JDK's HTTP server: what the 44 ms are", "report-2",
            CLOSED_LOOP,
        ),
        Experiment(
            "03", "03_executor_and_selectors.ipynb",
            "Executors and selectors: who runs a request, and what the hand-off costs", "report-3", LADDER_3,
        ),
        Experiment(
            "04", "04_lsm_rate_ladder.ipynb", "The rate ladder of the LSM store: cold, warm, and beyond the knee",
            "report-4", LADDER_4, (report_4.PUT_COLD, report_4.PUT_WARM),
        ),
        Experiment(
            "05", "05_sharded_cluster.ipynb", "Three nodes, 120 connections: what three changes at once had hidden",
            "report-5", LADDER_5,
        ),
        Experiment(
            "06", "06_storage_engines.ipynb", "The stores side by side: what each sustains, writes and takes", "",
            STORES_6,
        ),
        Experiment("07", "07_ablations.ipynb", "What the authors proposed, one switch at a time", "", SWITCHES_7),
        Experiment(
            "08", "08_history.ipynb", "What many runs say together", "",
            (
                Parameter("roots", "", "folders of runs, apart by commas; empty: this project's runs and references"),
                Parameter("experiments", "", "experiments to look at, e.g. 01,04; empty: all"),
                Parameter("metrics", "p50,p99,p99.9,achieved", "figures", choices=TREND_METRICS, several=True),
            ),
        ),
        Experiment("09", "09_compare.ipynb", "Two settings compared by one schedule", "", SETTINGS_9),
    )
}  # fmt: skip


def experiment(number: str) -> Experiment:
    """The experiment of that number (`01` or `1`). Raises PlanError with the list of those there are."""
    found = EXPERIMENTS.get(number.zfill(2))
    if found is None:
        known = ", ".join(f"{e.number} ({e.title})" for e in EXPERIMENTS.values())
        raise PlanError(f"experiment {number!r}", "unknown", f"valid: {known}")
    return found


def _of_targets(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The same with the workloads that targets describe."""
    workload = Parameter("workload", "", "a workload of the target; empty: its first")
    return tuple(workload if each.name == workload.name else each for each in parameters)


#: Who sends a load, and who may reach its server.
SHARES = Parameter(
    "shares", 0, "generators that share a load, in a fleet on other hosts; 0: one beside the server", low=0, high=1000
)
OF_HOST = "host"
LISTEN = Parameter("listen", LOOPBACK, f"address that servers listen on; {OF_HOST}: that of their host in the fleet")

KNEE = Experiment(
    "knee", "", "The knee: the highest rate that meets an objective", "",
    (
        *ONE_LOAD,
        Parameter(
            "setting", "lsm", "the server: an engine, or engine=lsm,--flag=value,-Xflag", read=setting_of,
            kept=whole_path,
        ),
        Parameter("objective", Objective().text, "what must be kept", read=Objective.parse),
        Parameter("minutes", 10.0, "budget of the search", "minutes", low=0.2, high=600),
        Parameter("low_rps", 100, "lowest rate of interest", "requests/s", low=1, high=1_000_000),
        Parameter("high_rps", 1_000_000, "highest rate of interest", "requests/s", low=1, high=10_000_000),
        Parameter("precision", 0.05, "width of the interval to stop at, as a share of the knee", low=0.005, high=1.0),
        Parameter("probe_s", SEARCH_STEP_S, "length of one short step", "s", low=0.1, high=600),
        SHARES,
        LISTEN,
    ),
)  # fmt: skip

COMPARE = EXPERIMENTS["09"]

#: As on the lab's own servers, with the workloads that the targets describe.
TARGET_KNEE = replace(KNEE, parameters=_of_targets(KNEE.parameters))
TARGET_COMPARE = replace(
    COMPARE, number="compare", notebook="", parameters=(*_of_targets(COMPARE.parameters), SHARES, LISTEN)
)
LOAD = Experiment(
    "load", "", "One load: a constant rate on one server", "",
    (
        *_of_targets(ONE_LOAD),
        Parameter("setting", "", "the server: target=FILE", read=setting_of, kept=whole_path),
        Parameter("rate_rps", 0, "offered rate; 0: half of a closed loop", "requests/s", low=0, high=10_000_000),
        Parameter("duration_s", 0.0, "length without warm-up; 0: as the size", "s", low=0, high=86_400),
        _profile("none"),
        SHARES,
        LISTEN,
    ),
)  # fmt: skip
COMMANDS = {
    "knee": KNEE, "compare": COMPARE, "load": LOAD, "target-knee": TARGET_KNEE, "target-compare": TARGET_COMPARE,
}  # fmt: skip


def plan_of(name: str) -> Experiment:
    """The command or the notebook of that name. Raises PlanError with the list of notebooks."""
    return COMMANDS.get(name) or experiment(name)


COMPARE_BLOCK = "compare"
#: Minutes of all starts together: in the smoke size as many as tell anything at all.
MINUTES = {"smoke": 1.95, "quick": 5.5, "full": 60.0}
GENERATOR = "truepace"


def workload_of(name: str, settings: Sequence[str]) -> Workload:
    """The workload of that name: of the lab, or where the settings are targets the one that all of them describe.

    Raises PlanError.
    """
    files = [target_of(text) for text in settings]
    targets = [file for file in files if file is not None]
    if not targets:
        return WORKLOADS[name]
    if len(targets) < len(files):
        raise PlanError(" and ".join(settings), "one is a target and one is none", "compare targets with targets")
    workload = shared_workload(name, targets)
    _refuse_one_port(targets)
    return workload


def _refuse_one_port(targets: Sequence[TargetFile]) -> None:
    """Servers that are compared are up at once. Raises PlanError for two that would listen on one port."""
    paths: dict[str, Path] = {}
    names: dict[str, str] = {}
    for file in targets:
        if paths.setdefault(file.name, file.path) != file.path:
            raise PlanError(f"target {file.name}", "both have this name", "give each its own `name`")
        address = urlsplit(file.target.url).netloc or str(file.socket)
        if address in names and not file.repeatable:
            cause = f"both are at {address}, and they are compared while both are up"
            remedy = "give one of them another port, or write {port} for it, and {data} in place of a `data` folder"
            raise PlanError(f"targets {names[address]} and {file.name}", cause, remedy)
        names[address] = file.name


def compared(asked: Mapping[str, Value]) -> Interleaved:
    """Two settings compared, over as many starts as the minutes have time for. Raises PlanError."""
    if str(asked["generator"]) != GENERATOR:
        cause = "it can't share one schedule over several servers"
        raise PlanError(f"generator {asked['generator']}", cause, f"use {GENERATOR}")
    texts = [str(asked["a"]), str(asked["b"])]
    workload, (a, b) = workload_of(str(asked["workload"]), texts), map(setting_of, texts)
    if a.name == b.name:  # the same twice shows what starts alone make
        b = replace(b, name=f"{b.name[:34]}-again")
    shape = Shape(int(asked["connections"]), int(asked["threads"]), float(asked["repeat_s"]), COMPARED_WARMUP_S)
    size = SIZES[str(asked["size"])]
    until = Until.parse(str(asked["until"]))
    decides = until or Until(PRIMARIES["p50"], float(asked["see"]))
    name = next(name for name, primary in PRIMARIES.items() if primary == decides.primary)
    title = f"{workload.label} of {a.name} and {b.name} by one schedule; primary quantity {name}, margin "
    title += f"{100 * decides.margin:g} %"
    first = target_of(texts[0])
    planned = Interleaved(
        COMPARE_BLOCK, title, (a, b), a.name, workload, size, shape, rate_rps=float(asked["rate_rps"]),
        primary=decides.primary, margin=decides.margin, until=until is not None,
        control=first is None or first.repeatable,
        questions=("p50_us", "p99_us", "cpu_us", "closed_loop_rps"),
    )  # fmt: skip
    return planned.within(float(asked["minutes"]) or MINUTES[size.name])
