"""One output of a load generator with its place, its command or index entry, and the parts that it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runners.readers import context
from runners.readers.command_line import CommandLine, parse_command
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line, Problem
from runners.readers.tools import is_like_wrk


@dataclass(frozen=True, slots=True)
class Output:
    """One output. `report` holds its own figures; the properties add those of command, index and text above.

    `line` is 1-based, in the file or in the notebook's `cell`. `text_above` is the text since the output before, and
    `entry` what the folder's index says (see data/published/index.toml).
    """

    path: Path
    line: int
    report: ConsoleReport
    cell: int | None = None
    label: str = ""
    column: int = 0
    columns: int = 1
    headings: tuple[str, ...] = ()
    text_above: tuple[Line, ...] = ()
    stated: context.Stated | None = None
    entry: Mapping[str, Any] | None = None
    missing: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The place as editors read it: `file:line`, or `file:cell 3:line` in a notebook."""
        return f"{self.path}:{f'cell {self.cell}:' if self.cell is not None else ''}{self.line}"

    @property
    def command(self) -> CommandLine | None:
        if self.report.command is not None:
            return self.report.command
        text = self._entry("command", str)
        return parse_command(text) if text else None

    @property
    def tool(self) -> str | None:
        """The generator by the index, else by the layout of the output (truepace prints wrk2's)."""
        named: str | None = self._entry("tool", str)
        return named or self.report.tool

    @property
    def offered_rps(self) -> float | None:
        """The offered rate: of the command line, else of the index, else as the text above or a name gives it."""
        if commanded := self._commanded("rate_rps"):
            return float(commanded)
        rates = self._entry("rates_rps", list)
        if rates and self.column < len(rates) and isinstance(rates[self.column], (int, float)):
            return float(rates[self.column])
        return self.stated.rates_rps[self.column] if self.stated and not rates else None

    @property
    def offered_by(self) -> str:
        """The source of the offered rate in words; empty without a rate."""
        command = self.command
        if command is not None and command.rate_rps:
            return f"-R {command.rate_rps:g}" if is_like_wrk(command.tool) else f"as {command.tool} says"
        if self._entry("rates_rps", list):
            return "as the folder's index says"
        if self.stated is None:
            return ""
        by_name = self.stated.line is None
        return f"by {self.stated.words}" if by_name else f"line {self.stated.line}: {self.stated.words}"

    @property
    def duration_s(self) -> float | None:
        return self.report.duration_s or self._commanded("duration_s") or self._entry("duration_s", (int, float))

    @property
    def threads(self) -> int | None:
        return self.report.threads or self._commanded("threads") or self._entry("threads", int)

    @property
    def connections(self) -> int | None:
        return self.report.connections or self._commanded("connections") or self._entry("connections", int)

    @property
    def script(self) -> str:
        """The name of the script, or of the script that called the generator; empty where neither is known."""
        if script := self._commanded("script"):
            return Path(script).name
        call = str(self._entry("call", str) or (self.stated.words if self.stated else ""))
        return call.split()[0] if context.is_call(call) else ""

    @property
    def group(self) -> str:
        """The report that the index names, else the file; outputs are compared within it."""
        report: str | None = self._entry("report", str)
        return report or str(self.path)

    def _commanded(self, name: str) -> Any:
        """Return what the command says by the name of its field; None where there is no command."""
        return getattr(self.command, name, None)

    def _entry(self, name: str, kind: type | tuple[type, ...]) -> Any:
        value = self.entry.get(name) if self.entry else None
        return value if isinstance(value, kind) else None


@dataclass(frozen=True, slots=True)
class FileOutputs:
    """A file, its outputs in order, and the parts that could not be read."""

    path: Path
    outputs: tuple[Output, ...]
    problems: tuple[Problem, ...]
