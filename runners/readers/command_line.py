"""The command line of wrk, wrk2 or truepace, as text to its flags."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache

from runners.readers import units
from runners.storage.step_folder import EITHER_NAME, present_name

TOOLS = ("wrk", "wrk2", "truepace")
_SPAN = re.compile(r"`([^`]+)`")  # what Markdown sets as code within a sentence
_COMMAND = re.compile(rf"(?:^|[\s$%#>`!+])(?P<command>(?:[\w./~-]*/)?(?:wrk2|wrk|{EITHER_NAME})\s+[^`]*?)`*\s*$")
_NEXT = re.compile(r"\s(?:&&|;)\s")  # what a shell runs after the command before it
#: Short flags by what they are called in full.
_LONG = {
    **{"threads": "t", "connections": "c", "duration": "d", "rate": "R", "script": "s", "header": "H", "latency": "L"},
    **{"u_latency": "U", "timeout": "T", "requests": "n", "batch_latency": "B", "version": "v", "help": "h"},
    **{"method": "m", "body": "b"},
}
_SWITCHES = frozenset(("L", "U", "B", "v", "h", "summary", "wrk-compat", "man"))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The flags of a generator's command. One that was not given is None (False for a switch)."""

    text: str
    program: str
    threads: int | None = None
    connections: int | None = None
    duration_s: float | None = None
    rate_rps: float | None = None
    script: str | None = None
    headers: tuple[str, ...] = ()
    latency: bool = False
    uncorrected: bool = False
    timeout_s: float | None = None
    url: str | None = None
    script_args: tuple[str, ...] = ()

    @property
    def tool(self) -> str:
        """The program's name: wrk, wrk2 or truepace; a binary called `wrk` may be wrk2."""
        return present_name(self.program.rpartition("/")[2])


def find_command(line: str) -> CommandLine | None:
    """Return the command on a line of a terminal or of Markdown, with or without a prompt; None if there is none.

    Prose that names a tool is no command: there must be a flag, and an address or a script.
    """
    return next(iter(find_commands(line)), None)


def find_commands(line: str) -> tuple[CommandLine, ...]:
    """Return the commands on a line in the order in which a shell runs them: several where `&&` joins them."""
    for part in (*_SPAN.findall(line), line):
        commands = []
        for match in map(_COMMAND.search, _NEXT.split(part)):
            command = parse_command(match["command"].strip()) if match else None
            has_flag = command is not None and re.search(r"\s-{1,2}[a-zA-Z]", command.text) is not None
            if command and has_flag and (command.url or command.script):
                commands.append(command)
        if commands:
            return tuple(commands)
    return ()


@lru_cache(maxsize=256)  # each rule of the audit asks again
def parse_command(text: str) -> CommandLine:
    """Read the flags of a command; unknown ones are passed over."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is never closed
        words = text.split()
    program, *rest = words or [""]
    values: dict[str, list[str]] = {}
    plain: list[str] = []
    script_args: tuple[str, ...] = ()
    position = 0
    while position < len(rest):
        word = rest[position]
        position += 1
        if word == "--":
            script_args = tuple(rest[position:])
            break
        flag, inline = _flag(word)
        if flag is None:
            plain.append(word)
        elif flag in _SWITCHES:
            values.setdefault(flag, []).append("")
        elif inline is not None:
            values.setdefault(flag, []).append(inline)
        elif position < len(rest):
            values.setdefault(flag, []).append(rest[position])
            position += 1

    def last(flag: str) -> str:
        return values.get(flag, [""])[-1]

    return CommandLine(
        text=text,
        program=program,
        threads=_whole(last("t")),
        connections=_whole(last("c")),
        duration_s=units.time_s(last("d")),
        rate_rps=units.count(last("R")),
        script=last("s") or None,
        headers=tuple(values.get("H", ())),
        latency="L" in values,
        uncorrected="U" in values,
        timeout_s=units.time_s(last("T")),
        url=next((word for word in reversed(plain) if "://" in word), None),
        script_args=script_args,
    )


def _whole(text: str) -> int | None:
    value = units.count(text)
    return int(value) if value is not None and math.isfinite(value) else None


def _flag(word: str) -> tuple[str | None, str | None]:
    """Return a word's flag in its short form and the value inside the same word, if any."""
    if word.startswith("--"):
        name, _, value = word[2:].partition("=")
        return _LONG.get(name, name), value if "=" in word else None
    if re.match(r"^-[a-zA-Z]", word):
        return word[1], word[2:] or None
    return None, None
