"""Parser that turns the text of a command line of wrk, wrk2 or truepace into typed flags."""

import math
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache

from runners.readers import units
from runners.storage.step_folder import EITHER_NAME, FORMER_NAME

TOOLS = ("wrk", "wrk2", "truepace")
_SPAN = re.compile(r"`([^`]+)`")  # code within a sentence, in Markdown
_COMMAND = re.compile(rf"(?:^|[\s$%#>`!+])(?P<command>(?:[\w./~-]*/)?(?:wrk2|wrk|{EITHER_NAME})\s+[^`]*?)`*\s*$")
_NEXT = re.compile(r"\s(?:&&|;)\s")  # separates two commands in a shell
#: {long flag: short flag}: the flags that are read, and switches (flags without a value). Other flags take a value.
_LONG = {
    **{"threads": "t", "connections": "c", "duration": "d", "rate": "R", "script": "s", "timeout": "T"},
    **{"latency": "L", "u_latency": "U", "batch_latency": "B", "version": "v", "help": "h"},
}
_SWITCHES = frozenset(("L", "U", "B", "v", "h", "summary", "wrk-compat", "man"))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A load tool's command line, with the flags that define the load. A flag that was not given is None."""

    text: str
    tool: str  # the program's file name, or truepace for its former name; a binary named wrk may be wrk2
    threads: int | None = None
    connections: int | None = None
    duration_s: float | None = None
    rate_rps: float | None = None
    script: str | None = None
    timeout_s: float | None = None
    url: str | None = None


def find_command(line: str) -> CommandLine | None:
    """Return the first command of wrk, wrk2 or truepace in a line of terminal output or Markdown, else None.

    A command must have a flag, and a URL or a script. So prose that only names a tool does not count.
    """
    for match in (_COMMAND.search(part) for text in (*_SPAN.findall(line), line) for part in _NEXT.split(text)):
        command = parse_command(match["command"].strip()) if match else None
        if command and (command.url or command.script) and re.search(r"\s-{1,2}[a-zA-Z]", command.text):
            return command
    return None


@lru_cache(maxsize=256)  # each rule of the audit parses the same commands again
def parse_command(text: str) -> CommandLine:
    """Return the parsed command line. Unknown flags are ignored; if a flag is repeated, its last value counts."""
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
            break  # the words that follow are for the script
        flag, value = _flag(word)
        if flag is None:
            url = word if "://" in word else url
        elif flag not in _SWITCHES:
            values[flag] = next(following, values.get(flag, "")) if value is None else value
    return CommandLine(
        text=text, tool=program.rpartition("/")[2].replace(FORMER_NAME, "truepace"),
        threads=_whole(values.get("t", "")), connections=_whole(values.get("c", "")),
        duration_s=units.time_s(values.get("d", "")), rate_rps=units.count(values.get("R", "")),
        script=values.get("s") or None, timeout_s=units.time_s(values.get("T", "")), url=url,
    )  # fmt: skip


def _whole(text: str) -> int | None:
    value = units.count(text)
    return int(value) if value is not None and math.isfinite(value) else None


def _flag(word: str) -> tuple[str | None, str | None]:
    """Return (flag in its short form, value) of a word such as `-R100` or `--rate=100`; a missing part is None."""
    if word.startswith("--"):
        name, _, value = word[2:].partition("=")
        return _LONG.get(name, name), value if "=" in word else None
    if re.match(r"^-[a-zA-Z]", word):
        return word[1], word[2:] or None
    return None, None
