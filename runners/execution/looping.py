"""Experiment 02's steps: closed loops on the JDK's HTTP server, with the kernel's counters beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from runners.claims.line import line
from runners.design.closed_loop import FILL, FILL_BOUND_S, FILL_CONNECTIONS, FILL_TRIES, Loop, LoopSize, Stage
from runners.errors import MeasureError
from runners.execution.campaign import Campaign
from runners.generators.load import Generator, LoadSpec
from runners.readers.run import Step
from runners.storage.schema import FillRecord, LoopRecord
from runners.targets.lab_server import RunningServer
from runners.trial.kernel import TcpWatch, timer_hz
from runners.trial.profiler import ProfileSpec

KIND = "loop"


class Looping:
    """Runs the loops of stages, each on a server that was just started on an empty store."""

    def __init__(self, campaign: Campaign, size: LoopSize, generator: Generator, events: Sequence[str]) -> None:
        self._campaign, self._size, self._generator, self._events = campaign, size, generator, tuple(events)
        self._hz = timer_hz()

    def stage(self, stage: Stage, server: RunningServer) -> list[Step]:
        """Every loop on every number of connections, then one of them with the profiler."""
        steps = []
        held = 0
        for loop in stage.loops:
            if loop.held > held:
                self._fill(server, loop.held)
                held = loop.held
            for connections in self._size.connections_of(stage):
                steps.append(self._loop(stage, loop, server, connections))
            if loop is stage.profiled and self._events:
                self._loop(stage, loop, server, connections, steps[-1])
        return steps

    def _loop(
        self, stage: Stage, loop: Loop, server: RunningServer, connections: int, clean: Step | None = None
    ) -> Step:
        seconds = self._size.seconds(stage, loop)
        spec = None
        name = f"{stage.name}-{loop.name}-{connections}"
        if clean is not None:
            rate_rps = float(clean.frames["summary"]["achieved_rps"].iloc[0]) if clean.valid else 1.0
            spec = ProfileSpec.for_load(self._events, rate_rps, seconds, self._campaign.server_cpu_share(name))
            name += "-profiled"
        watch = TcpWatch()
        published = stage.published.get(loop.name)
        extra: dict[str, Any] = {
            "label": f"{stage.title}: {loop.name} x {connections}" + (", profiled" if spec else ""),
            "role": KIND,
            "workload": loop.name,
        }
        about = LoopRecord(
            stage=stage.name,
            stage_title=stage.title,
            published=f"report-2/{published}-{connections}" if published and not spec else None,
            drawn_keys=loop.drawn,
            held_keys=loop.held,
            kernel_hz=self._hz,
        )
        load = LoadSpec(
            server.url,
            loop.script,
            None,
            seconds,
            connections=connections,
            threads=connections,
            script_arguments=(str(loop.drawn), *loop.arguments),
        )
        step = self._campaign.measured(
            name,
            extra,
            server,
            load,
            self._generator,
            profile=spec,
            tick=lambda _elapsed_s: watch.begin(),
            after=lambda _folder: {"loop": replace(about, tcp=watch.gained())},
        )
        self._campaign.say(line(step))
        return step

    def _fill(self, server: RunningServer, keys: int) -> None:
        """Write key1 to key<keys> once each. Raises MeasureError when some were not written."""
        load = LoadSpec(
            server.url,
            FILL.script,
            None,
            FILL_BOUND_S,
            connections=FILL_CONNECTIONS,
            requests=keys,
            script_arguments=(str(keys), *FILL.arguments),
        )
        extra = {"label": f"{server.subject}: fill", "role": "fill", "workload": "fill", "fill": FillRecord(keys=keys)}
        for _ in range(FILL_TRIES):  # a request that timed out on a busy machine is made up for by writing all again
            step = self._campaign.measured(f"fill-{server.subject}-{keys}", extra, server, load, self._generator)
            summary = step.frames["summary"]
            if not summary.empty and summary["completed"].iloc[0] >= keys and not summary["non_2xx"].iloc[0]:
                return
        raise MeasureError(
            f"store of {server.subject}", f"not all of {keys} keys could be written", "see the server's log"
        )
