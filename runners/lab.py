"""The classes that notebooks use: `Lab` measures one run of an experiment, `Past` reads the history of many runs."""

import atexit
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

import pandas as pd

from runners import report, words
from runners.analysis.steady_state import judge as judge_sentinel
from runners.design.experiment import REPORT_S, SHARES, Experiment, Value, listed
from runners.design.load import GET, NATIVE_SENTINEL, SENTINEL, SENTINEL_RPS, SENTINEL_S, SENTINEL_WARMUP_S, Rate, Shape
from runners.design.session import FLOOR, Trial
from runners.design.setting import Setting
from runners.design.target import foreign
from runners.errors import LabError, PlanError
from runners.execution.batch import reopened
from runners.execution.executor import NOOP, Executor, Servers
from runners.execution.measurement import Measurement
from runners.execution.progress import Progress, Sink, sink
from runners.experiments.references import write_report
from runners.experiments.registry import experiment, plan_of
from runners.fleet.shares import sending
from runners.measured import Measured
from runners.readers.history import History, open_history, sentinel_history
from runners.readers.reading import read_step
from runners.readers.run import Run, Step
from runners.report.concluded import Concluded
from runners.report.tables import Table, in_notebook
from runners.results.trends import Trend, trends
from runners.storage.run_folder import REFERENCE, RESUME_VARIABLE, RUN_VARIABLE, RUNS, RunFolder, run_path
from runners.toolchain.build import Workshop, git_state, prepare
from runners.trial import machine

__all__ = ["Lab", "Past", "report"]


class Lab:
    """One run of an experiment: the experiment's plan, the run's folder, and the server that is up at the moment."""

    _current: "Lab | None" = None

    def __init__(
        self, number: str, parameters: Mapping[str, object], resume: Path | str | None = None,
        folder: RunFolder | None = None, shop: Workshop | None = None, shown_in: Sink | None = None,
        about: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Begin a run as `begin` does, with parameters from `parameters` alone.

        A campaign also gives the run's `folder`, built tools (`shop`), a progress display (`shown_in`), and in `about`
        the fields that `circumstances` returns.
        """
        plan = self.experiment = plan_of(number)
        checked = self.parameters = plan.checked(parameters)
        self.blocks = {block.name: block for block in plan.blocks_of(checked)}  # PlanError if one can't be measured
        resume = resume or os.environ.get(RESUME_VARIABLE)
        earlier = RunFolder.open(run_path(str(resume))) if resume else None
        if Lab._current is not None:
            Lab._current.close()
        bar = self._progress = Progress(plan.planned_s(checked), shown_in or sink(notebook=in_notebook()))
        generator, profiled = str(checked.get("generator", "truepace")), bool(listed(checked.get("profile", "")))
        shop = shop or prepare(generator, bar.say, own_servers=not foreign(checked), profiled=profiled)
        self._opened = contextlib.ExitStack()
        send = self._opened.enter_context(sending(int(checked.get(SHARES.name, 0))))
        manifest = _described(plan, checked, about or circumstances(shop))
        if earlier is not None:
            folder = reopened(earlier, plan.number, manifest)
        elif folder is not None:
            folder.update_manifest(**manifest)
        else:
            folder = _new_folder(plan, checked, manifest)
        self.folder = folder
        server_cpus, generator_cpus = machine.pinning()
        self._servers = Servers(shop, folder, checked, server_cpus, bar.note)
        self._measurement = Measurement(shop, generator, generator_cpus, folder, bar, send)
        self._executor = Executor(folder, self._measurement, self._servers.launch, bar)
        Lab._current = self
        atexit.register(self.close)
        pinned = f"server on core {server_cpus[0]}" if server_cpus else "nothing is pinned"
        facts = manifest["machine"]
        print(f"Run {folder.name}: {facts['cpu_model']}, {facts['cores']} cores, {facts['os']}; {pinned}")
        for warning in manifest["warnings"]:
            print(f"Unusual today: {warning['text']} ({warning['remedy']})")
        self._sentinel()

    @classmethod
    def begin(
        cls, number: str, names: Mapping[str, object] | None = None, *, resume: Path | str | None = None,
        targets: Sequence[Path | str] = (), **parameters: object,
    ) -> Self:  # fmt: skip
        """Begin a run: check parameters, build missing tools, create a folder, and measure the sentinel, a small load.

        `number` names the experiment. Its parameters are keyword arguments, or taken from `names` (in a notebook
        `globals()`). `targets` are description files of servers to load in place of the lab's own servers. `resume` is
        the folder or id of an interrupted run to resume. Raises LabError on failure.
        """
        if targets:
            parameters["target"] = ",".join(map(str, targets))
        return cls(number, _parameters_in(names or {}, plan_of(number)) | parameters, resume)

    def _sentinel(self) -> None:
        """Put a small fixed load on a server that does nothing, and print whether the machine is as fast as usual."""
        name = SENTINEL if self._servers.has_own else NATIVE_SENTINEL
        earlier = sentinel_history(self.folder)
        rate, shape = Rate(SENTINEL_RPS, "fixed"), Shape(1, 1, SENTINEL_S, SENTINEL_WARMUP_S)
        idle = self._servers.launch(Setting(name, NOOP))
        step = self._measurement.step(Trial(SENTINEL, SENTINEL, GET, rate, shape), idle)
        self._servers.stop()
        sentinel = judge_sentinel(step, earlier)
        self.folder.update_manifest(sentinel={**sentinel.as_json(), "generator": "truepace"})
        print(sentinel.sentence)

    def plan(self) -> Table:
        """Return a table with a row per block: name, title, planned minutes, keys of the questions that it answers."""
        rows = tuple(
            (block.name, block.title, f"{block.planned_s / 60:.1f}", words.listed(block.questions))
            for block in self.blocks.values()
        )
        return Table("", ("block", "what it measures", "minutes", "questions"), rows, numeric=False)

    def run(self, name: str) -> Measured:
        """Measure the block called `name`, or all blocks that match a pattern such as `put-*`; return their data.

        Raises PlanError if `name` is neither a block's name nor a pattern.
        """
        blocks = [block for block in self.blocks.values() if fnmatchcase(block.name, name)]
        if not blocks and not set(name) & set("*?["):
            raise PlanError(f"block {name!r}", "unknown", f"one of {', '.join(self.blocks) or 'none'}")
        if self.folder.manifest()["status"] == "interrupted":  # the notebook's cell is run once more
            self.folder.reopen()
        steps = list[Step]()
        try:
            for block in blocks:
                measured = self._executor.run(block)
                steps += measured
                for note in {step.record.profiler_note for step in measured} - {None, ""}:
                    self._progress.note(f"No profile: {note}")
        except KeyboardInterrupt:
            self.folder.finish("interrupted")  # at once: a kernel that is shut down next has seconds to end
            self._servers.stop()
            again = f'`Lab.begin("{self.experiment.number}", globals(), resume="{self.folder.path}")`'
            raise KeyboardInterrupt(f"what was measured before is kept; {again} resumes the run") from None
        floors = [step for step in self.folder.steps() if step.name.startswith((f"{FLOOR}-", SENTINEL))]
        known_steps = {step.name: step for step in [*map(read_step, floors), *steps]}
        return Measured(name, Run(self.folder, self.folder.manifest(), tuple(known_steps.values())), tuple(steps))

    def conclude(self) -> Concluded:
        """Stop the server, write report.html and report.md; return the answers to the questions and the HTML's path."""
        self._servers.stop()
        with self._progress.part("write the report", REPORT_S):
            self.folder.finish("complete")
            conclusion = write_report(self.folder)
        self.close()
        return Concluded(conclusion, self.folder.report_html)

    def finish(self, **fields: object) -> None:
        """Mark the run complete without a report, which `lab report` can write later. `fields` go into the manifest."""
        self._servers.stop()
        self.folder.update_manifest(**fields)
        self.folder.finish("complete")
        self.close()

    def close(self) -> None:
        """Stop the server, remove the stores' data, and mark the run as interrupted unless it is complete."""
        atexit.unregister(self.close)
        self._servers.stop()
        self._servers.drop_data()
        if self.folder.manifest_path.exists() and self.folder.manifest()["status"] == "running":
            self.folder.finish("interrupted")
        self._progress.close()
        self._opened.close()


def circumstances(shop: Workshop) -> dict[str, Any]:
    """Return a manifest's fields on the machine, the tools' versions, the git state, and what may disturb the run."""
    facts = machine.facts()
    return {"machine": facts, "tools": shop.versions(), "git": git_state(), "warnings": machine.noise(facts)}


def _described(plan: Experiment, checked: dict[str, Value], more: Mapping[str, object]) -> dict[str, Any]:
    smaller = [asdict(shortfall) for shortfall in plan.shortfalls(checked)]
    described = {"title": plan.title, "parameters": checked, "shortfalls": smaller, **more}
    return described | {"rerun": plan.rerun_command(checked), "pid": os.getpid()}


def _new_folder(plan: Experiment, checked: dict[str, Value], manifest: dict[str, Any]) -> RunFolder:
    if given := os.environ.get(RUN_VARIABLE):  # `lab run` made the folder, so that it can also close it
        folder = RunFolder.open(Path(given))
        folder.update_manifest(**manifest)
        return folder
    return RunFolder.create(RUNS, plan.number, plan.size_of(checked), manifest)


def _parameters_in(names: Mapping[str, object], plan: Experiment) -> dict[str, object]:
    return {parameter.name: names[parameter.name] for parameter in plan.parameters if parameter.name in names}


class Past:
    """The recorded results of all runs below given folders, copied to a new run folder, which gets a report."""

    def __init__(self, history: History, folder: RunFolder, metrics: tuple[str, ...]) -> None:
        self._history, self.folder, self._metrics = history, folder, metrics

    @classmethod
    def begin(cls, names: Mapping[str, object] | None = None, **parameters: object) -> Self:
        """Return a `Past`, which gives access to all runs recorded below `roots`. Raises LabError for a bad parameter.

        `roots` (folders, separated by commas) and other parameters are keywords, or in `names` as for `Lab.begin`.
        """
        plan = experiment("08")
        checked = plan.checked(_parameters_in(names or {}, plan) | parameters)
        given = str(checked["roots"])
        roots = [Path(root) for root in given.split(",") if root] if given else [RUNS, REFERENCE]
        for root in roots if given else ():
            if not root.is_dir():
                raise LabError(str(root), "is not a folder", "give the folders that hold runs, apart by commas")
        history = open_history(roots)
        folder = _new_folder(plan, checked, _described(plan, checked, {}))
        wanted = [name.strip().zfill(2) for name in str(checked["experiments"]).split(",") if name.strip()]
        for view in ("runs", "measurements"):
            frame = history.query(f"FROM {view} ORDER BY started_unix_s")
            folder.write_frame(view, frame[frame["experiment"].isin(wanted)] if wanted else frame)
        for text in history.unreadable:
            print(f"Passed over: {text}")
        return cls(history, folder, tuple(str(checked["metrics"]).split(",")))

    def query(self, sql: str) -> pd.DataFrame:
        """Return the result of an SQL query over all runs; `views()` lists the tables that a query can name."""
        return self._history.query(sql)

    def views(self) -> list[str]:
        return self._history.views()

    def runs(self) -> pd.DataFrame:
        """Return the latest 30 runs as rows, newest first."""
        columns = ["run", "experiment", "size", "status", "started", "machine_class", "git_commit"]
        return self._history.query("FROM runs ORDER BY started_unix_s DESC")[columns].head(30)

    def trends(self) -> list[Trend]:
        """Return a trend (values by run) for each metric of a load that one kind of machine measured more than once."""
        frames = self.folder.read_frames()
        return trends(frames["measurements"], frames["runs"], self._metrics)

    def conclude(self) -> Concluded:
        """Write report.html and report.md; return the answers to the questions and the path of report.html."""
        self.folder.finish("complete")
        return Concluded(write_report(self.folder), self.folder.report_html)
