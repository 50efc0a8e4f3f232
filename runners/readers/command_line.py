"""The command line of wrk, wrk2 or truepace, as text to its flags."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache

from runners.readers import units
from runners.storage.step_folder import EITHER_NAME, FORMER_NAME

TOOLS = ("wrk", "wrk2", "truepace")
_SPAN = re.compile(r"`([^`]+)`")  # what Markdown sets as code within a sentence
_COMMAND = re.compile(rf"(?:^|[\s$%#>`!+])(?P<command>(?:[\w./~-]*/)?(?:wrk2|wrk|{EITHER_NAME})\s+[^`]*?)`*\s*$")
_NEXT = re.compile(r"\s(?:&&|;)\s")  # what a shell runs after the command before it
#: Short flags by their long names, of those that are read and of switches; any other flag takes a value.
_LONG = {
    **{"threads": "t", "connections": "c", "duration": "d", "rate": "R", "script": "s", "timeout": "T"},
    **{"latency": "L", "u_latency": "U", "batch_latency": "B", "version": "v", "help": "h"},
}
_SWITCHES = frozenset(("L", "U", "B", "v", "h", "summary", "wrk-compat", "man"))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The flags of a generator's command that say what was asked for. One that was not given is None."""

    text: str
    program: str
    threads: int | None = None
    connections: int | None = None
    duration_s: float | None = None
    rate_rps: float | None = None
    script: str | None = None
    timeout_s: float | None = None
    url: str | None = None

    @property
    def tool(self) -> str:
        """The program's name: wrk, wrk2 or truepace; a binary called `wrk` may be wrk2."""
        return self.program.rpartition("/")[2].replace(FORMER_NAME, "truepace")


def find_command(line: str) -> CommandLine | None:
    """Return the first command on a line of a terminal or of Markdown, with or without a prompt; None without one.

    Prose that names a tool is no command: there must be a flag, and an address or a script.
    """
    for match in (_COMMAND.search(part) for text in (*_SPAN.findall(line), line) for part in _NEXT.split(text)):
        command = parse_command(match["command"].strip()) if match else None
        if command and (command.url or command.script) and re.search(r"\s-{1,2}[a-zA-Z]", command.text):
            return command
    return None


@lru_cache(maxsize=256)  # each rule of the audit asks again
def parse_command(text: str) -> CommandLine:
    """Read the flags of a command; unknown ones are passed over, and the last of several alike counts."""
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is never closed
        words = text.split()
    program, *rest = words or [""]
    values: dict[str, str] = {}
    url = None
    following = iter(rest)
    for word in following:
        if word == "--":
            break  # what follows is the script's
        flag, value = _flag(word)
        if flag is None:
            url = word if "://" in word else url
        elif flag not in _SWITCHES:
            values[flag] = next(following, values.get(flag, "")) if value is None else value
    return CommandLine(
        text=text,
        program=program,
        threads=_whole(values.get("t", "")),
        connections=_whole(values.get("c", "")),
        duration_s=units.time_s(values.get("d", "")),
        rate_rps=units.count(values.get("R", "")),
        script=values.get("s") or None,
        timeout_s=units.time_s(values.get("T", "")),
        url=url,
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
