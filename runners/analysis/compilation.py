"""Whether a server was still compiling when a step ended: then its figures are those of code that is about to go."""

from __future__ import annotations

from runners.readers.run import Step

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
    jit = activity["kind"].to_numpy() == "jit"
    if not jit.any():
        return None
    began_s, length_s, busy_ms = (activity[name].to_numpy()[jit] for name in ("t_s", "length_s", "busy_ms"))
    ends_s = began_s + length_s
    last = ends_s > ends_s.max() - _END_S
    return float(busy_ms[last].sum() / 1000 / length_s[last].sum())
