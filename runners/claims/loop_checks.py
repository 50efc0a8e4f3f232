"""Can closed loops be trusted? The checks that suit them: no rate to hold, but samples, responses, counters, JDKs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runners.analysis import facts, loops
from runners.analysis.loops import Loop
from runners.claims.conclusion import Check
from runners.readers import write
from runners.readers.run import Run, Step

CLOSE = 0.05  # of a loop's requests: how far the 404s may lie from the replay, for threads do not share them out evenly
FEWEST_FOR_P90 = 10 * facts.ENOUGH_BEYOND


def checks(run: Run, found: Sequence[Loop]) -> Iterator[Check]:
    steps = run.find(kind=loops.KIND, profiled=False)
    text = (
        "every loop is closed: a connection sends when it was answered, so no rate was offered, a stall delays few "
        "requests, and no figure here is a latency under load"
    )
    yield Check("closed loop", True, write.sentence(text), tuple(step.name for step in steps))
    yield _found_jdks(steps)
    yield _samples(steps)
    yield _answers(found)
    counted = [step for step in steps if step.record.loop.tcp]
    text = (
        f"of {write.count(len(counted))} of {write.count(len(steps))} loops, before and after each; the whole machine"
    )
    yield Check("kernel counters", True if counted else None, write.sentence(text))


def _found_jdks(steps: Sequence[Step]) -> Check:
    seen: dict[str, list[str]] = {}
    for step in steps:
        ready = step.record.server.ready
        told = f"{str(ready.get('jvm') or write.UNKNOWN).strip()}, nodelay {ready.get('nodelay') or write.UNKNOWN}"
        stages = seen.setdefault(told, [])
        if step.record.loop.stage not in stages:
            stages.append(step.record.loop.stage)
    text = "; ".join(f"{write.listed(stages)}: {told}" for told, stages in seen.items())
    old = any(step.record.loop.stage == "after" for step in steps)
    return Check("JDKs", old, write.sentence(text if old else f"no JDK 17 here; {text}"))


def _samples(steps: Sequence[Step]) -> Check:
    counts = [facts.samples(step) for step in steps]
    thin = sorted({level for step in steps for level in facts.thin_levels(step) if level < 1})
    text = f"{write.count(min(counts, default=0))} to {write.count(max(counts, default=0))} samples a loop"
    if thin:
        text += (
            f"; a loop that waits has few, so in some fewer than {facts.ENOUGH_BEYOND} lie beyond "
            f"{write.listed(write.level(level) for level in thin)}"
        )
    return Check("samples", min(counts, default=0) >= FEWEST_FOR_P90, write.sentence(text))


def _answers(found: Sequence[Loop]) -> Check:
    """404s where the script makes them, in that number, and no error anywhere else."""
    planned = [loop for loop in found if write.known(loop.absent_by_script) and loop.name == "get-few"]
    other = [loop for loop in found if loop not in planned]
    columns = ("connect_errors", "read_errors", "write_errors", "timeouts", "parse_errors")
    lost = sum(v for loop in found for column in columns if write.known(v := facts.number(loop.step, column)))
    bad = sum(loop.non_2xx for loop in other if write.known(loop.non_2xx))
    off = max((abs(loop.non_2xx - loop.absent_by_script) for loop in planned), default=0.0)
    close = all(abs(loop.non_2xx - loop.absent_by_script) <= max(2, CLOSE * loop.completed) for loop in planned)
    text = f"{write.several(bad, 'response')} other than 2xx and {write.several(lost, 'error')} of connections"
    if planned:
        text += (
            f" outside the loops that ask for absent keys; there at most {write.count(off)} from what the script's "
            "numbers make"
        )
    return Check("answers", not bad and not lost and close, write.sentence(text))
