"""The generators behind the interface of load.py: ours, wrk2, wrk, and the simplest honest clients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

from runners.errors import MeasureError
from runners.generators.load import Generator, LoadFiles, LoadSpec, LoadTarget
from runners.toolchain.tools import shown
from runners.toolchain.workshop import Workshop

#: wrk2 leaves its first ten seconds (and 5 ms a connection) out of the histogram, not out of its request count.
WRK2_CALIBRATION_S = 10.0
WRK2_CALIBRATION_A_CONNECTION_S = 0.005
#: Far above what a connection achieves, so that each waits for its responses as in a closed loop. Of such a run only
#: the achieved rate means anything.
WRK2_CLOSED_LOOP_RPS = 1_000_000.0
_OURS = "use the lab's own generator"


def digits(value: float) -> str:
    """Write a number in plain digits, as every generator takes it: 1000000, 0.05; never 1e+06 and never rounded."""
    return f"{Decimal(repr(float(value))).normalize():f}"


def _scripted(spec: LoadSpec) -> list[str]:
    return ["-s", shown(spec.script)] if spec.script is not None else []


def _arguments(spec: LoadSpec) -> list[str]:
    return ["--", *spec.script_arguments] if spec.script_arguments else []


def _target(target: LoadTarget) -> list[str]:
    script = f",script={shown(target.script)}" if target.script is not None else ""
    return ["--target", f"{target.name}={target.url},weight={digits(target.weight)}{script}"]


def _one_rate_and_server(name: str, spec: LoadSpec) -> None:
    if spec.targets:
        raise MeasureError(name, "it can't share one schedule over several targets", _OURS)
    if spec.parts_rps:
        raise MeasureError(name, "it can't change its rate within a load", _OURS)
    if spec.share or spec.start_unix_ns is not None:
        raise MeasureError(name, "it can't share a load with other generators", _OURS)


@dataclass(frozen=True, slots=True)
class Truepace:
    """The lab's own generator."""

    path: Path
    version: str
    name: str = "truepace"

    def lead_s(self, spec: LoadSpec) -> float:
        return spec.warmup_s

    def command(self, spec: LoadSpec, files: LoadFiles) -> list[str]:
        rates = spec.parts_rps or ((spec.rate_rps,) if spec.rate_rps is not None else ())
        rate = ["-R", ",".join(map(digits, rates))] if rates else []
        warmup = ["--warmup", f"{digits(spec.warmup_s)}s"] if spec.warmup_s else []
        count = ["-n", str(spec.requests)] if spec.requests is not None else []
        share = ["--share", "{}/{}".format(*spec.share)] if spec.share else []
        begin = ["--start-at", str(spec.start_unix_ns)] if spec.start_unix_ns is not None else []
        log = ["--requests-log", shown(files.requests)] if files.requests is not None else []
        shared = [word for target in spec.targets for word in _target(target)]
        interleave = f"slice={digits(spec.slice_s * 1_000)}ms" if spec.slice_s else "request"
        what = ["--seed", str(spec.seed), "--interleave", interleave, *shared] if shared else _scripted(spec)
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *rate,
            *warmup,
            *count,
            *share,
            *begin,
            *what,
            *log,
            *("-L", "--summary", "--json", shown(files.json), "--hlog", shown(files.hlog)),
            *("--slices", shown(files.slices)),
            *([] if shared else [spec.url]),
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Wrk2:
    """wrk2, where it is found. It takes whole seconds and whole rates, and warms up by itself."""

    path: Path
    version: str
    name: str = "wrk2"

    def lead_s(self, spec: LoadSpec) -> float:
        calibration_s = WRK2_CALIBRATION_S + WRK2_CALIBRATION_A_CONNECTION_S * spec.connections
        return max(spec.warmup_s, calibration_s)

    def command(self, spec: LoadSpec, files: LoadFiles) -> list[str]:
        _one_rate_and_server("wrk2", spec)
        if spec.requests is not None:
            raise MeasureError("wrk2", "it can't stop after a number of requests", _OURS)
        rate_rps = spec.rate_rps if spec.rate_rps is not None else WRK2_CLOSED_LOOP_RPS
        seconds = math.ceil(spec.duration_s + max(spec.warmup_s, WRK2_CALIBRATION_S))
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{seconds}s"),
            *("-R", str(round(rate_rps)), *_scripted(spec), "-L"),
            spec.url,
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Wrk:
    """The closed-loop wrk, where it is found. It has no rate, takes whole seconds, and records from the first on."""

    path: Path
    version: str
    name: str = "wrk"

    def lead_s(self, spec: LoadSpec) -> float:
        return 0.0

    def command(self, spec: LoadSpec, files: LoadFiles) -> list[str]:
        _one_rate_and_server("wrk", spec)
        if spec.rate_rps is not None:
            cause = f"it sends in closed loop and can't hold a rate ({spec.rate_rps:g}/s was asked for)"
            raise MeasureError("wrk", cause, f"{_OURS} or wrk2, or ask for a closed loop")
        if spec.requests is not None:
            raise MeasureError("wrk", "it can't stop after a number of requests", _OURS)
        return [
            shown(self.path),
            *("-t", str(spec.threads), "-c", str(spec.connections), "-d", f"{math.ceil(spec.duration_s)}s"),
            *(*_scripted(spec), "--latency"),
            spec.url,
            *_arguments(spec),
        ]


@dataclass(frozen=True, slots=True)
class Reference:
    """The simplest honest clients of our crate: one fixed GET at a constant rate, JSON on standard output.

    `blocking` sleeps, writes and reads on one connection; `epoll` is one plain loop over any number of them.
    """

    path: Path
    version: str
    kind: Literal["blocking", "epoll"]

    @property
    def name(self) -> str:
        return self.kind

    def lead_s(self, spec: LoadSpec) -> float:
        return spec.warmup_s

    def command(self, spec: LoadSpec, files: LoadFiles) -> list[str]:
        _one_rate_and_server(f"reference client {self.kind}", spec)
        for asked, cause in (
            (spec.rate_rps is None, "it can't send in closed loop"),
            (spec.script is not None, "it sends one fixed request and runs no script"),
            (spec.requests is not None, "it can't stop after a number of requests"),
            (spec.threads != 1, "it has one thread"),
            (self.kind == "blocking" and spec.connections != 1, "it has one connection"),
        ):
            if asked:
                raise MeasureError(f"reference client {self.kind}", cause, _OURS)
        rate_rps = spec.rate_rps or 0.0  # a load without a rate was refused above
        return [
            shown(self.path),
            *("--kind", self.kind, "-c", str(spec.connections), "-d", f"{digits(spec.duration_s)}s"),
            *("-R", digits(rate_rps), "--warmup", f"{digits(spec.warmup_s)}s"),
            spec.url,
        ]


def generators(shop: Workshop) -> dict[str, Generator]:
    """Every generator that was found, by name: the simplest client first, ours, then the others."""
    found: dict[str, Generator] = {}
    if shop.reference is not None:
        for kind in ("blocking", "epoll"):
            found[kind] = Reference(shop.reference.path, shop.reference.version, kind)
    if shop.truepace is not None:
        found["truepace"] = Truepace(shop.truepace.path, shop.truepace.version)
    if shop.wrk2 is not None:
        found["wrk2"] = Wrk2(shop.wrk2.path, shop.wrk2.version)
    if shop.wrk is not None:
        found["wrk"] = Wrk(shop.wrk.path, shop.wrk.version)
    return found
