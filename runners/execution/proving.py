"""Experiment 00's steps: every generator's floor in interleaved rounds, and what each says of a known stall."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runners.design.proof import FIXED_PATH, Proof
from runners.execution.campaign import Campaign
from runners.generators.load import Generator, LoadSpec
from runners.readers.errors import ReadError
from runners.readers.load_json import read_load_json
from runners.readers.run import Step
from runners.storage.run_folder import StepFolder
from runners.storage.schema import WindowRecord
from runners.targets.lab_server import RunningServer
from runners.trial.freeze import Freezer

WARM_S = 3.0
WARM_CONNECTIONS = 8
_WORKLOAD = "get"


class Proving:
    """Puts every generator that was found before the same server."""

    def __init__(self, campaign: Campaign, proof: Proof, generators: Mapping[str, Generator]) -> None:
        self._campaign, self._proof, self._generators = campaign, proof, generators

    def warm(self, server: RunningServer) -> None:
        """A closed loop that counts for nothing: afterwards the server's compiler is done with this request."""
        load = LoadSpec(_url(server), None, None, WARM_S, connections=WARM_CONNECTIONS)
        extra = {"label": "warm-up of the server", "role": "warmup", "workload": _WORKLOAD}
        name = "truepace" if "truepace" in self._generators else next(iter(set(self._generators) & {"wrk", "wrk2"}))
        self._campaign.measured("warm-server", extra, server, load, self._generators[name])

    def floors(self, server: RunningServer) -> list[Step]:
        """Round by round, every generator at every rate, so that the machine's moods meet them all alike."""
        steps = []
        for number in range(1, max(self._proof.rounds, self._proof.wrk2_rounds) + 1):
            for point in self._proof.points:
                for name, generator in self._generators.items():
                    if self._proof.can(name, point) and number <= self._proof.rounds_of(name):
                        load = self._load(server, point.rate_rps, point.connections)
                        steps.append(self._round(f"{point.name}-{name}", number, server, load, generator))
            if "wrk" in self._generators and number <= self._proof.rounds:
                for connections in sorted({point.connections for point in self._proof.points}):
                    load = self._load(server, None, connections)
                    name = f"{connections}-closed-wrk"
                    steps.append(self._round(name, number, server, load, self._generators["wrk"]))
        return steps

    def _load(self, server: RunningServer, rate_rps: float | None, connections: int) -> LoadSpec:
        warmup_s = self._proof.warmup_s if rate_rps else 0.0
        return LoadSpec(_url(server), None, rate_rps, self._proof.window_s, warmup_s, connections)

    def _round(self, name: str, number: int, server: RunningServer, load: LoadSpec, generator: Generator) -> Step:
        at = f"{load.rate_rps:,.0f}/s" if load.rate_rps else "closed loop"
        label = f"{generator.name}, {load.connections} x {at}, round {number}"
        extra = {"label": label, "role": "round", "workload": _WORKLOAD, "round": number}
        return self._campaign.measured(f"{name}-r{number}", extra, server, load, generator)

    def stalls(self, server: RunningServer) -> list[Step]:
        """One connection and a server that stands still at known times: in the middle of the load and at its end."""
        return [self._stall(server, generator) for generator in self._generators.values()]

    def _stall(self, server: RunningServer, generator: Generator) -> Step:
        proof = self._proof
        rate_rps = None if generator.name == "wrk" else proof.stall_rate_rps
        load = LoadSpec(_url(server), None, rate_rps, proof.stall_s, proof.warmup_s if rate_rps else 0.0)
        lead_s = generator.lead_s(load)
        freezer = Freezer(server.child, proof.freezes, lead_s)

        def frozen(folder: StepFolder) -> dict[str, Any]:
            return {
                "freezes": freezer.finish(),
                "window": _window(folder, freezer.began_unix_us + lead_s * 1e6, proof.stall_s),
            }

        extra = {"label": f"{generator.name}, frozen server", "role": "stall", "workload": _WORKLOAD}
        begin: Callable[[float], None] = lambda _elapsed_s: freezer.begin()  # noqa: E731 - its type is the point
        return self._campaign.measured(
            f"stall-{generator.name}", extra, server, load, generator, tick=begin, after=frozen
        )


def _url(server: RunningServer) -> str:
    return server.url + FIXED_PATH


def _window(folder: StepFolder, planned_unix_us: float, length_s: float) -> WindowRecord:
    """The recorded window: its start as the generator tells it, else as planned from the start of its process."""
    for path in (folder.load_json, folder.console):
        try:
            told = read_load_json(path).start_unix_us
        except ReadError:
            continue
        if told is not None:
            return WindowRecord(start_unix_us=told, length_s=length_s)
    return WindowRecord(start_unix_us=planned_unix_us, length_s=length_s)
