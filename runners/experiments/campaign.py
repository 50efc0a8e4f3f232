"""Plan a campaign: a YAML file of experiments or targets x settings x repeats becomes jobs in a randomised order.

A cell is a combination of target and settings. Each repeat measures all cells once, in random order, so that a drift of
the machine favours none (randomised complete blocks).
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from runners.design.description import NAME
from runners.design.experiment import Value
from runners.design.session import in_random_order
from runners.design.target import AS_TARGET, read_target
from runners.design.yaml_file import Fault, Struct, YamlForm
from runners.errors import PlanError
from runners.execution.campaign import Job
from runners.experiments.commands import KNEE, LOAD
from runners.experiments.registry import EXPERIMENTS, plan_of

COMPARE = "compare"
_BY_TARGETS = (LOAD.number, KNEE.number, COMPARE)
_MEASURED = tuple(number for number, plan in EXPERIMENTS.items() if plan.blocks)

Scalar = str | int | float | bool
Name = Annotated[str, Meta(pattern=NAME)]
Repeats = Annotated[int, Meta(ge=1, le=10_000)]


class Entry(Struct, frozen=True):
    """One entry of a campaign: an experiment or command that is run on each of its targets and settings."""

    measure: Annotated[
        str, Meta(description=f"load, knee, compare, or an experiment's number in quotes: {', '.join(_MEASURED)}")
    ]
    targets: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(description="target.yaml files, relative to this file, as [a.yaml, b.yaml]; compare takes two"),
    ] = ()
    settings: Annotated[
        dict[str, Scalar | tuple[Scalar, ...]],
        Meta(description="parameters, as {size: smoke, rate_rps: [2000, 4000]}; of a list each value is measured"),
    ] = msgspec.field(default_factory=dict)
    repeats: Annotated[Repeats | None, Meta(description="how often, from 1, in place of the campaign's")] = None


class Campaign(Struct, frozen=True):
    """The entries of a campaign, how often they are measured, and for how long."""

    runs: Annotated[
        dict[Name, Entry],
        Meta(
            min_length=1,
            description="what is measured, by a name in small letters: {put: {measure: load, targets: [a.yaml]}}",
        ),
    ]
    repeats: Annotated[Repeats, Meta(description="how often each cell is measured, from 1")] = 1
    seed: Annotated[int, Meta(ge=0, description="a whole number; the same seed gives the same order")] = 1
    minutes: Annotated[
        Annotated[float, Meta(gt=0, le=525_600)] | None,
        Meta(description="budget of one call of `lab campaign`, above 0: what does not fit is left to the next"),
    ] = None
    report: Annotated[bool, Meta(description="write each run's report too; `lab report RUN` does it later")] = False


def _faults(campaign: Campaign) -> Iterator[Fault]:
    for name, entry in campaign.runs.items():
        at = ("runs", name)
        if entry.measure not in (*_MEASURED, *_BY_TARGETS):
            yield (*at, "measure"), f"{entry.measure!r} can't be measured", ""
            continue
        if entry.targets and entry.measure not in _BY_TARGETS:
            yield (*at, "targets"), "an experiment has servers of its own", "leave targets out, or measure load"
        if entry.measure == LOAD.number and not entry.targets:
            yield (*at, "measure"), "load needs a target", "give it targets, such as [a.yaml]"
        if entry.measure == COMPARE and len(entry.targets) not in (0, 2):
            yield (*at, "targets"), f"compare takes two, these are {len(entry.targets)}", ""
        if len(set(entry.targets)) != len(entry.targets):
            yield (*at, "targets"), "one stands twice", "give each once; repeats say how often"
        known = {parameter.name: parameter for parameter in plan_of(_plan_name(entry)).parameters}
        given = ("a", "b") if entry.measure == COMPARE else ("setting",)
        for key, values in entry.settings.items():
            where = (*at, "settings", key)
            if key not in known:
                yield where, "there is no such parameter", f"valid: {', '.join(known)}"
            elif entry.targets and key in given:
                yield where, "the targets give it", "leave it out, or the targets"
            levels = _levels(values)
            if not levels or len({*map(repr, levels)}) != len(levels):
                yield where, "a value stands twice, or there is none", "give each value once; repeats say how often"
            for value in levels if key in known else ():
                try:
                    known[key].parse(value)
                except PlanError as error:
                    yield where, error.cause, error.remedy


def _levels(values: Scalar | tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return values if isinstance(values, tuple) else (values,)


def _plan_name(entry: Entry) -> str:
    return f"target-{entry.measure}" if entry.targets and entry.measure != LOAD.number else entry.measure


FORM = YamlForm(
    Campaign, remedy="write it as runners/docs/campaigns.md shows",
    none_yet="write one as runners/docs/campaigns.md shows", entries={"runs": Entry}, parts={"runs": Entry},
    faults=_faults,
)  # fmt: skip

#: A function of a job's kind, parameters and repeat. It returns the job's content address and planned seconds.
Appraise = Callable[[str, Mapping[str, Value], int], tuple[str, float]]


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign and the file that describes it."""

    path: Path
    campaign: Campaign

    def cells(self) -> Iterator[tuple[int, str, str, dict[str, Value]]]:
        """Yield (repeats, name, kind, parameters) for each combination of target and settings. Raises PlanError."""
        for name, entry in self.campaign.runs.items():
            kind, repeats = _plan_name(entry), entry.repeats or self.campaign.repeats
            for servers in self._servers(entry):
                for values in itertools.product(*map(_levels, entry.settings.values())):
                    given = {**servers, **dict(zip(entry.settings, values, strict=True))}
                    yield repeats, name, kind, plan_of(kind).checked(given)

    def _servers(self, entry: Entry) -> list[dict[str, Any]]:
        """Return the parameters that name servers: a dict for each target, or one for both targets of a comparison."""
        if not entry.targets:
            return [{}]
        texts = [f"{AS_TARGET}{read_target(self.path.parent / target).path}" for target in entry.targets]
        if entry.measure == COMPARE:
            return [dict(zip("ab", texts, strict=True))]
        return [{"setting": text} for text in texts]

    def jobs(self, appraise: Appraise) -> tuple[Job, ...]:
        """Return the jobs in the order of measurement; equal runs become one job. `appraise`: see Appraise, above."""
        cells = list(self.cells())
        jobs: dict[str, Job] = {}
        for repeat in range(1, max(repeats for repeats, *_ in cells) + 1):
            block = in_random_order((cell for cell in cells if repeat <= cell[0]), self.campaign.seed, repeat)
            for _, name, kind, parameters in block:
                address, planned_s = appraise(kind, parameters, repeat)
                changed, report = plan_of(kind).changed(parameters), self.campaign.report
                job = Job(
                    name=name, kind=kind, parameters=parameters, repeat=repeat, planned_s=planned_s, address=address,
                    changed=changed, report=report,
                )  # fmt: skip
                jobs.setdefault(job.folder, job)
        return tuple(jobs.values())


def read_campaign(path: Path) -> CampaignFile:
    """Read a campaign. Raises PlanError, with file, line, key and remedy, if the file is no valid campaign."""
    campaign, _ = FORM.read(path)
    return CampaignFile(path.resolve(), campaign)
