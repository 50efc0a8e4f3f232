"""Whether a server was still compiling when a step ended: then its figures are those of code that is about to go."""

from __future__ import annotations

from runners.read.run import Step

SETTLED_CORES = 0.1  # a server that is warm compiles now and then too
_END_S = 1.0


def not_warm(step: Step) -> bool:
    """Whether a server was still compiling when this step ended; what no sample tells is not said."""
    cores = compiling_cores(step)
    return cores is not None and cores > SETTLED_CORES


def compiling_cores(step: Step) -> float | None:
    """Cores that the JVM's compiler used in the step's last second; None where no sample tells."""
    activity = step.frames.get("activity")
    if activity is None or activity.empty:
        return None
    jit = activity[activity["kind"] == "jit"]
    if jit.empty:
        return None
    ends_s = jit["t_s"] + jit["length_s"]
    last = jit[ends_s > ends_s.max() - _END_S]
    return float(last["busy_ms"].sum() / 1000 / last["length_s"].sum())
