"""One output of a load tool, its line in a file, and the facts on it that an index or a step's record gives."""

import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from runners.readers import context
from runners.readers.command_line import TOOLS, CommandLine, parse_command
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Line, Problem
from runners.readers.figures import command_of
from runners.readers.tools import is_like_wrk
from runners.storage.archive import steps_file
from runners.storage.run_folder import RunFolder, StepFolder, StoreError, console_step
from runners.storage.schema import read_record

INDEX = "index.toml"
AUDITED_KINDS = ("load", "floor")  # nobody quotes a latency from a fill or a probe


class Entry(msgspec.Struct, frozen=True):
    """Facts on a file of load tools' outputs, from a step's record or from index.toml, which explains the fields."""

    report: str = ""  # the name of the report that published it
    command: str = ""
    call: str = ""  # how the script was called: seconds, then rate
    tool: str | None = None
    threads: int | None = None
    connections: int | None = None
    duration_s: int | float | None = None
    rates_rps: tuple[float, ...] = ()
    ran_at_rps: float | None = None  # if it is not the rate that was published
    treatment: str | None = None  # the setting of the lab that is like the server of the output
    source: str = ""  # where the length of the run is stated, if not in the report
    note: str = ""
    title: str = ""
    machine: str = "not stated"


_NO_COMMAND, _NO_ENTRY = CommandLine("", ""), Entry()


@dataclass(frozen=True, slots=True)
class Output:
    """One output of a load tool. Its properties add facts from the command, the index and the text above the output."""

    path: Path
    line: int  # 1-based, in the file or in the notebook's cell
    report: ConsoleReport  # the printed figures
    cell: int | None = None
    headings: tuple[str, ...] = ()
    text_above: tuple[Line, ...] = ()  # at most 40 lines, back to the previous output
    stated: context.Stated | None = None  # the offered rate in the text above or the file's name
    entry: Entry = _NO_ENTRY
    missing: tuple[str, ...] = ()  # names of needed parts that the output lacks

    @property
    def place(self) -> str:
        """File and line as editors read them: `file:line`, or `file:cell 3:line` in a notebook."""
        return f"{self.path}:{f'cell {self.cell}:' if self.cell is not None else ''}{self.line}"

    @property
    def label(self) -> str:
        """The operation's name, else the position in a table or file of several outputs (`column 2 of 3`), or empty."""
        column = f"column {self.report.column + 1} of {self.report.columns}"
        return self.report.operation or (column if self.report.columns > 1 else "")

    @property
    def command(self) -> CommandLine | None:
        return self.report.command or (parse_command(self.entry.command) if self.entry.command else None)

    @property
    def _asked(self) -> CommandLine:
        return self.command or _NO_COMMAND

    @property
    def tool(self) -> str | None:
        """The tool that the index names, else the tool that prints such an output; None if neither is known."""
        return self.entry.tool or self.report.tool

    @property
    def offered_rps(self) -> float | None:
        """The offered rate (per second) by command line, else index, else text above, else file name; else None."""
        rates_rps = self.entry.rates_rps or (self.stated.rates_rps if self.stated else ())
        return self._asked.rate_rps or (rates_rps[self.report.column] if self.report.column < len(rates_rps) else None)

    @property
    def offered_by(self) -> str:
        """The source of the offered rate, in words; empty if no source gives a rate."""
        command = self._asked
        if command.rate_rps:
            said = command == command_of(command.tool, command.rate_rps)
            says = f"as {command.tool} says{', in requests' * (command.tool == 'k6')}" if said else "by its command"
            return f"-R {command.rate_rps:g}" if is_like_wrk(command.tool) else says
        if self.entry.rates_rps:
            return "as the folder's index says"
        if self.stated is None:
            return ""
        by_name = self.stated.line is None
        return f"by {self.stated.words}" if by_name else f"line {self.stated.line}: {self.stated.words}"

    @property
    def url(self) -> str | None:
        return self.report.url or self._asked.url

    @property
    def duration_s(self) -> float | None:
        return self.report.duration_s or self._asked.duration_s or self.entry.duration_s

    @property
    def threads(self) -> int | None:
        return self.report.threads or self._asked.threads or self.entry.threads

    @property
    def connections(self) -> int | None:
        return self.report.connections or self._asked.connections or self.entry.connections

    @property
    def script(self) -> str:
        """The name of the generator's script, else of the script that called the generator, else an empty text."""
        if self._asked.script:
            return Path(self._asked.script).name
        call = self.entry.call or (self.stated.words if self.stated else "")
        return call.split()[0] if context.CALL.fullmatch(call) else ""

    @property
    def group(self) -> str:
        """The report's name in the index, else the file's path; the audit compares only outputs of one group."""
        return self.entry.report or str(self.path)


@dataclass(frozen=True, slots=True)
class FileOutputs:
    """A file, the load tools' outputs in it (in order), and the parts of the file that could not be read."""

    path: Path
    outputs: tuple[Output, ...]
    problems: tuple[Problem, ...]


def index_entry(path: Path) -> tuple[Entry, Problem | None]:
    """Return (known facts on a file of outputs; a Problem if the index or the record can't be read, else None)."""
    if step := console_step(path):
        return _of_step(step)
    for folder, name in ((path.parent, path.stem), (path.parent.parent, f"{path.parent.name}/{path.stem}")):
        index = folder / INDEX
        try:
            if isinstance(entry := _index(index, index.stat().st_mtime_ns).get(name), dict):
                return msgspec.convert(entry, Entry), None
        except FileNotFoundError:
            continue
        except (OSError, ValueError, msgspec.ValidationError) as error:
            return _NO_ENTRY, Problem(0, f"the folder's {INDEX} can't be read ({error})")
    return _NO_ENTRY, None


@lru_cache(maxsize=64)
def _index(path: Path, changed_ns: int) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def consoles(folder: Path) -> Iterator[Path] | None:
    """Return the paths of the console outputs of a run folder's loads, in order; None for any other folder."""
    run = RunFolder(folder)
    if not run.manifest_path.is_file() or not (run.steps_path.is_dir() or steps_file(folder).is_file()):
        return None
    return (step.console for step in run.complete() if _is_load(step))


def _is_load(step: StepFolder) -> bool:
    try:
        return step.console_text() is not None and read_record(step).role in AUDITED_KINDS
    except StoreError:
        return step.console_text() is not None


def _of_step(step: StepFolder) -> tuple[Entry, Problem | None]:
    try:
        record = read_record(step)
    except StoreError as error:
        return _NO_ENTRY, Problem(0, f"{error.thing}: {error.cause}")
    words = list(record.generator.command)
    begin = next((index for index, word in enumerate(words) if Path(word).name in TOOLS), 0)
    command = shlex.join(words[begin:])  # without the words that pin it to a core
    rates_rps = () if record.offered_rps is None else (record.offered_rps,)
    return Entry(step.path.parent.parent.name, command, tool=record.generator.tool, rates_rps=rates_rps), None
