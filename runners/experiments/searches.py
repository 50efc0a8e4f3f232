"""The words of a notebook that offer many rates in a row: knee, ladder, climb, overload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners import report
from runners.analysis import facts, floors
from runners.claims import rate_steps
from runners.claims.climbing import Ladder, ladder_of
from runners.design import block, report_3
from runners.design.block import SEARCH_STEP_S, KneeSearch, WarmServer, around_the_knee
from runners.design.experiment import setting_of
from runners.design.ladder import LadderSize
from runners.design.objective import Objective
from runners.design.parameter import Value
from runners.design.session import PROFILED_RATE_STEP, RATE_STEP
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import SENTINEL, Size
from runners.design.workload import Workload
from runners.execution.executor import Executor
from runners.execution.finished import Finished
from runners.execution.series import Series
from runners.readers.published import rate as published_rate
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.report.notebook import draw
from runners.storage.run_folder import RunFolder


def _read(given: Setting | str) -> Setting:
    """A setting, or what text as on a command line stands for: `lsm`, `engine=lsm,--flag=value,-Xflag`."""
    return given if isinstance(given, Setting) else setting_of(given)


def outputs_with_rates(workload: Workload) -> tuple[tuple[str, float], ...]:
    """The outputs that were published for a ladder of this workload, each with the rate that it was run at."""
    return tuple((name, rps) for name in workload.published_rates if (rps := published_rate(name)))


class Searches:
    """A part of `Lab`, which sets what these words use."""

    parameters: dict[str, Value]
    folder: RunFolder
    size: Size
    events: tuple[str, ...]
    _series: Series
    _executor: Executor
    _finished: Finished

    def _nearest_floor(self, load: Step) -> Step | None:
        """What this run has read of the instrument itself nearest to a load; read back, as a run may go on later."""
        kept = [each for each in self.folder.steps() if each.name.startswith((f"{floors.KIND}-", SENTINEL))]
        return floors.nearest([read_step(each) for each in kept], load)

    def _draw_ladder(self, found: Ladder, published: Sequence[str] = ()) -> None:
        outputs = [output for _, output in rate_steps.named(published)]
        draw(lambda: report.ladder(found, outputs, self._nearest_floor(found.steps[0])))

    def knee(
        self,
        setting: Setting | str,
        workload: Workload,
        objective: str = "p99<=10ms",
        minutes: float = 10.0,
        *,
        connections: int = 64,
        threads: int = 1,
        probe_s: float = SEARCH_STEP_S,
        low_rps: float = 100,
        high_rps: float = 1_000_000,
        precision: float = 0.05,
    ) -> Ladder:
        """Search the highest rate that meets an objective, such as `p99<=10ms,achieved>=99%,errors=0`.

        Its loads go through short steps of `probe_s` in random order. It ends when the 95 % interval is narrower than
        `precision`, or after `minutes`. An interrupted search goes on from the loads that the run folder holds.
        """
        server = WarmServer(_read(setting), workload, self.size)
        shape = Shape(connections, threads, probe_s)
        return self._measure_ladder(
            KneeSearch(
                server.name, f"the knee of {server.name}", server, Objective.parse(objective), minutes, shape,
                low_rps, high_rps, precision,
            )
        )  # fmt: skip

    def ladder(
        self,
        setting: Setting | str,
        workload: Workload,
        rates: Sequence[float],
        *,
        connections: int = 64,
        threads: int = 1,
        duration_s: float | None = None,
        warmup_s: float | None = None,
        published: Sequence[str] = (),
    ) -> Ladder:
        """Offer each of these rates in turn to one warm server; `published` names outputs to draw beside them.

        Lengths that are not given are those of the run's size. Rate steps at which the generator was late are offered
        once more, up to a third of them.
        """
        server = WarmServer(Setting.of(setting), workload, self.size)
        own_warmup_s, own_s = self.size.times_s(RATE_STEP, open_loop=True)
        shape = Shape(
            connections,
            threads,
            own_s if duration_s is None else duration_s,
            own_warmup_s if warmup_s is None else warmup_s,
        )
        outputs = tuple((name, published_rate(name) or 0.0) for name in published)
        title = f"rates offered to {server.name}"
        return self._measure_ladder(
            block.Ladder(server.name, title, server, shape, tuple(float(rps) for rps in rates), published=outputs)
        )

    def climb(
        self,
        setting: Setting | str,
        workload: Workload,
        sizes: Mapping[str, LadderSize],
        *,
        profile: bool = True,
    ) -> Ladder:
        """The knee by a search, then a ladder around it: shares of the knee, and the published rates within reach.

        How long, by the run's size; a size without shares has the search alone. With `profile`, some rate steps are
        measured once more while the profiler records.
        """
        server = WarmServer(Setting.of(setting), workload, self.size)
        return self._measure_ladder(
            around_the_knee(
                server.name,
                f"the knee of {server.name} and rates around it",
                server,
                sizes[self.size.name],
                Objective.parse(f"p99<={self.parameters['p99_ms']:f}ms"),
                int(self.parameters["connections"]),
                outputs_with_rates(workload),
                self.events if profile else (),
            )
        )

    def _measure_ladder(self, asked: KneeSearch | block.Ladder) -> Ladder:
        """Run a search or a ladder, and draw it."""
        return self._drawn(asked, self._executor.run(asked))

    def _drawn(self, asked: KneeSearch | block.Ladder, steps: Sequence[Step]) -> Ladder:
        """Draw the ladder that these steps are, with what was published for it, and what the profiler saw by rate."""
        measured = [step for step in steps if step.kind == RATE_STEP]
        name = asked.server.name if isinstance(asked, KneeSearch) else asked.ladder
        found = ladder_of(
            name, [step for step in measured if step.record.ladder is not None and step.record.ladder.name == name]
        )
        self._draw_ladder(found, [output for output, _ in asked.published] if isinstance(asked, block.Ladder) else [])
        if profiled := [step for step in steps if step.kind == PROFILED_RATE_STEP]:
            draw(lambda: report.by_rate(profiled, asked.workload.name))
        return found

    def overload(
        self, setting: Setting, workload: Workload, climbed: Sequence[Ladder], shares: Sequence[float]
    ) -> Ladder:
        """Offer shares of the pool's knee, the last more than fits: what does this setting's queue do then?

        Of the ladders that were measured before, it is the pool's that counts, or without one the last.
        """
        carried = next((ladder for ladder in climbed if ladder.steps[0].subject == report_3.POOL), climbed[-1])
        base_rps = carried.base.rps if carried.base else max(facts.offered_rps(step) for step in carried.steps)
        plan = report_3.LADDERS[self.size.name]
        rates = [float(f"{share * base_rps:.3g}") for share in shares]
        return self.ladder(
            setting,
            workload,
            rates,
            connections=int(self.parameters["connections"]),
            duration_s=plan.step_s,
            warmup_s=plan.probe_warmup_s,
        )
