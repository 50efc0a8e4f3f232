"""The words of a notebook that offer many rates or settings in a row: knee, ladder, climb, overload, compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runners import report
from runners.analysis import facts, floors
from runners.claims import climbing, published_ladders
from runners.claims.climbing import Ladder
from runners.claims.comparing import Repeats
from runners.design import report_3
from runners.design.climb import CLIMBS, Climb
from runners.design.comparison import MINUTES
from runners.design.experiment import setting_of
from runners.design.objective import Objective
from runners.design.parameter import Value
from runners.design.setting import Setting
from runners.design.shape import Shape
from runners.design.size import SENTINEL, Size
from runners.design.workload import Workload
from runners.errors import MeasureError
from runners.execution.budget import PROBE_S, PROBE_WARMUP_S
from runners.execution.finished import Finished
from runners.execution.series import Series
from runners.readers.published import rate as published_rate
from runners.readers.reading import read_step
from runners.readers.run import Step
from runners.report.cell import draw
from runners.storage.run_folder import RunFolder


def _read(given: Setting | str) -> Setting:
    """A setting, or what text as on a command line stands for: `lsm`, `engine=lsm,--flag=value,-Xflag`."""
    return given if isinstance(given, Setting) else setting_of(given)


class Searches:
    """A part of `Lab`, which sets what these words use."""

    parameters: dict[str, Value]
    folder: RunFolder
    size: Size
    events: tuple[str, ...]
    _series: Series
    _finished: Finished

    def _nearest_floor(self, load: Step) -> Step | None:
        """What this run has read of the instrument itself nearest to a load; read back, as a run may go on later."""
        kept = [each for each in self.folder.steps() if each.name.startswith((f"{floors.KIND}-", SENTINEL))]
        return floors.nearest([read_step(each) for each in kept], load)

    def _draw_ladder(self, found: Ladder, published: Sequence[str] = ()) -> None:
        outputs = [output for _, output in published_ladders.named(published)]
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
        probe_s: float = PROBE_S,
        low_rps: float = 100,
        high_rps: float = 1_000_000,
        precision: float = 0.05,
    ) -> Ladder:
        """Search the highest rate that meets an objective, such as `p99<=10ms,achieved>=99%,errors=0`.

        It ends when the 95 % interval is narrower than `precision`, or after `minutes`. An interrupted search goes on
        from the probes that the run folder holds.
        """
        limits = {"low_rps": low_rps, "high_rps": high_rps, "precision": precision}
        shape = Shape(connections, threads, probe_s, PROBE_WARMUP_S)
        found = self._series.knee(_read(setting), workload, Objective.parse(objective), minutes, shape, limits)
        self._draw_ladder(found)
        return found

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

        Lengths that are not given are those of the run's size. Rungs at which the generator was late are offered once
        more, up to a third of them.
        """
        shape = Shape(connections, threads, duration_s, warmup_s)
        found = self._series.ladder(Setting.of(setting), workload, rates, shape, published)
        self._draw_ladder(found, published)
        return found

    def climb(
        self,
        setting: Setting | str,
        workload: Workload,
        climbs: Mapping[str, Climb] | None = None,
        *,
        profile: bool = True,
    ) -> Ladder:
        """The knee by a search, then a ladder around it: shares of the knee, and the published rates within reach.

        How long, by the run's size; a size without shares has the search alone. With `profile`, some rungs are measured
        once more while the profiler records.
        """
        chosen, plan = Setting.of(setting), (climbs or CLIMBS)[self.size.name]
        asked = Objective.parse(f"p99<={self.parameters['p99_ms']:f}ms")
        shape = Shape(int(self.parameters["connections"]))
        outputs = {name: rps for name in workload.published_rungs if (rps := published_rate(name))}
        events = self.events if profile else ()

        def measure() -> Ladder:
            if plan.shares:
                return self._series.climb(chosen, workload, asked, plan, shape, outputs, events)
            probes = Shape(shape.connections, 1, plan.probe_s, plan.probe_warmup_s)
            limits = {"low_rps": 100.0, "high_rps": 1_000_000.0, "precision": plan.precision}
            return self._series.knee(chosen, workload, asked, plan.knee_minutes, probes, limits)

        found = self._finished.once(f"{workload.name} of {chosen.name}", measure)
        self._draw_ladder(found, list(outputs))
        if profile and self.events:
            steps = [read_step(folder) for folder in self.folder.steps()]
            draw(
                lambda: report.by_rate(
                    [s for s in steps if s.kind == climbing.PROFILED and s.subject == chosen.name], workload.name
                )
            )
        return found

    def overload(
        self, setting: Setting, workload: Workload, climbed: Sequence[Ladder], shares: Sequence[float]
    ) -> Ladder:
        """Offer shares of the pool's knee, the last more than fits: what does this setting's queue do then?

        Of the ladders that were climbed before, it is the pool's that counts, or without one the last.
        """
        carried = next((ladder for ladder in climbed if ladder.steps[0].subject == report_3.POOL), climbed[-1])
        base_rps = carried.base.rps if carried.base else max(facts.offered_rps(step) for step in carried.steps)
        plan = report_3.CLIMBS[self.size.name]
        rates = [float(f"{share * base_rps:.3g}") for share in shares]
        return self.ladder(
            setting,
            workload,
            rates,
            connections=int(self.parameters["connections"]),
            duration_s=plan.rung_s,
            warmup_s=plan.probe_warmup_s,
        )

    def compare(
        self,
        a: Setting | str,
        b: Setting | str,
        workload: Workload,
        *,
        rate_rps: float = 0,
        minutes: float = 0,
        see: float = 0.02,
        connections: int = 64,
        threads: int = 1,
        repeat_s: float = PROBE_S,
        needed: bool = True,
    ) -> Repeats | None:
        """Measure two settings in interleaved rounds until the difference of their p99 is known, or time is up.

        A setting may be text, as in `lab compare`: an engine, or `engine=lsm,--flag=value,-Xflag`. `minutes` 0: as long
        as the run's size has for it. `see` is the smallest difference of interest, as a share. An interrupted
        comparison goes on where it ended. One that is not `needed` and has no usable round is said, and the run goes on
        without it.
        """
        shape, budget = Shape(connections, threads, repeat_s, PROBE_WARMUP_S), minutes or MINUTES[self.size.name]
        try:
            found = self._series.compare(_read(a), _read(b), workload, rate_rps, budget, see, shape)
        except MeasureError as error:
            if needed:
                raise
            print(error)
            return None
        draw(lambda: report.difference(found))
        return found
