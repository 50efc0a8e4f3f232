"""Run beside the load of a trial what it plans: the faults of its server, or the kernel's TCP counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from runners.design.session import Freeze, KillNode, Trial
from runners.errors import MeasureError, ReadError
from runners.readers.load_json import read_load_json
from runners.storage.run_folder import StepFolder
from runners.storage.schema import LoopRecord, WindowRecord
from runners.targets.base import Cluster, Freezable, Target
from runners.trial.faults import Freezer, Outages, TcpWatch, timer_hz


@dataclass(frozen=True, slots=True)
class Happening:
    """Runs beside a load. `begin` is called at its start and every second; `end` when it is over, or was cut.

    `record` gives fields of the trial's record, once it has ended.
    """

    begin: Callable[[], None]
    end: Callable[[], object]
    record: Callable[[StepFolder], dict[str, Any]]


NOTHING = Happening(lambda: None, lambda: None, lambda _folder: {})


def happening(trial: Trial, server: Target, lead_s: float, stage: tuple[str, str] = ("", "")) -> Happening | None:
    """What a trial plans beside its load, which its generator sends for `lead_s` before it records; None for nothing.

    `stage`: name and title of the block that a closed loop belongs to. Raises MeasureError for a fault that this server
    can't have.
    """
    freezes = tuple(fault for fault in trial.faults if isinstance(fault, Freeze))
    kills = tuple(fault for fault in trial.faults if isinstance(fault, KillNode))
    if trial.loop is not None:
        return _counted(trial, stage)
    if len(kills) > 1 or (kills and freezes):
        raise MeasureError(
            f"trial {trial.name}", "it kills a node and has another fault too", "plan one trial for each"
        )
    if kills:
        return _killed(kills[0], server, lead_s)
    return _frozen(freezes, trial, server, lead_s) if freezes else None


def _counted(trial: Trial, stage: tuple[str, str]) -> Happening:
    watch, asked = TcpWatch(), trial.loop
    assert asked is not None, "a closed loop of report 2"
    about = LoopRecord(
        stage=stage[0],
        stage_title=stage[1],
        published=asked.published,
        drawn_keys=asked.drawn_keys,
        held_keys=asked.held_keys,
        kernel_hz=timer_hz(),
    )
    return Happening(watch.begin, lambda: None, lambda _folder: {"loop": replace(about, tcp=watch.gained() or {})})


def _frozen(freezes: tuple[Freeze, ...], trial: Trial, server: Target, lead_s: float) -> Happening:
    if not isinstance(server, Freezable):
        raise MeasureError(server.subject, "it is no process that could be frozen", "take a server that the lab starts")
    freezer, length_s = Freezer(server.child, freezes, lead_s), trial.shape.duration_s or 0.0

    def record(folder: StepFolder) -> dict[str, Any]:
        freezer.finish()
        planned_unix_us = freezer.began_unix_us + lead_s * 1e6
        window = WindowRecord(start_unix_us=_start_us(folder) or planned_unix_us, length_s=length_s)
        return {"freezes": freezer.finish(), "window": window}

    return Happening(freezer.begin, freezer.finish, record)


def _killed(kill: KillNode, server: Target, lead_s: float) -> Happening:
    if not isinstance(server, Cluster):
        raise MeasureError(server.subject, "it has no nodes of which one could die", "take a cluster of processes")
    dying = Outages(server, kill.node - 1, lead_s + kill.at_s, lead_s + kill.restart_at_s)
    return Happening(
        dying.begin,
        dying.finish,
        lambda folder: {"outage": replace(dying.finish(), start_unix_us=_start_us(folder))},
    )


def _start_us(folder: StepFolder) -> float | None:
    """When the recorded window began, where the generator says it."""
    for path in (folder.load_json, folder.console):
        try:
            start_unix_us = read_load_json(path).start_unix_us
        except ReadError:
            continue
        if start_unix_us is not None:
            return start_unix_us
    return None
