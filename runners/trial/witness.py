"""Run the stall witness beside a load: a thread of real-time priority on each core sees the core stand still.

The program is `stall-witness` of the generator's crate; it needs the right to real-time priority. Without it a load is
measured all the same, and its record says why there was no witness and how to get one.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runners.errors import LabError, MeasureError
from runners.process.supervisor import Child, start
from runners.storage.schema import WitnessRecord

READY = "ready"
REMEDY = "sudo setcap cap_sys_nice+ep on it, a real-time limit (ulimit -r 50), or root; or run without it"


@dataclass(frozen=True, slots=True)
class StallWitness:
    """The program that watches."""

    program: Path

    @contextlib.contextmanager
    def watching(self, cpus: Sequence[int], file: Path) -> Iterator[None]:
        """Watch cores while the body runs; afterwards the file is complete. Raises MeasureError when it can't."""
        child = self._begin(cpus, file)
        try:
            yield
        except BaseException:
            child.stop()
            raise
        self._end(child)

    @contextlib.contextmanager
    def beside(self, cpus: Sequence[int], file: Path) -> Iterator[list[WitnessRecord]]:
        """Watch cores while the body runs, where that is allowed. The list holds the record once the body is done."""
        records: list[WitnessRecord] = []
        try:
            child = self._begin(cpus, file)
        except LabError as refusal:
            yield records
            records.append(WitnessRecord(note=str(refusal)))
            return
        try:
            yield records
        except BaseException:
            child.stop()
            raise
        try:
            self._end(child)
        except MeasureError as broken:
            records.append(WitnessRecord(note=str(broken)))
        else:
            records.append(WitnessRecord(cpus=tuple(cpus)))

    def _begin(self, cpus: Sequence[int], file: Path) -> Child:
        if not cpus:
            raise MeasureError("the stall witness", "this system does not say which cores there are", "use Linux")
        if not self.program.exists():
            raise MeasureError("the stall witness", f"{self.program.name} is not built", "build truepace (cargo)")
        command = [str(self.program), ",".join(map(str, cpus)), str(file)]
        child = start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = child.stdout.readline().decode(errors="replace").strip()
        if said != READY:
            child.stop()
            raise MeasureError("the stall witness", said.removeprefix("stall-witness: ") or "it ended at once", REMEDY)
        return child

    def _end(self, child: Child) -> None:
        code = child.stop()
        if code != 0:
            raise MeasureError("the stall witness", f"it ended with {code}", "run again")
