"""Which runs of one load were made on different things, by what names them: headings, captions, hosts, scripts, ports.

No sentence is needed: two consoles of the same threads, connections, duration, rate and path, under `### warp` and
`### actix`, compare the two. What says only how the load was made names nothing: its numbers, its number, its requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise, zip_longest
from pathlib import PurePath
from typing import NamedTuple

from runners.audit.rule import Group, finite
from runners.audit.rules.subjects import LEAST_LETTERS, LINK, LONGEST_NAME, TECHNOLOGIES, WORD
from runners.readers.context import FENCE
from runners.readers.output import Output

NEAR_LINES = 14  # from a run's caption to it: ab prints so many lines before its figures
FAR_LINES = 100
MOST_RUNS = 60
_OF_SCENARIOS = ("k6", "locust", "jmeter", "gatling", "artillery")  # whose outputs do not name their requests
_URL = re.compile(r"^(?:\w+:)?//(?:[^/@]*@)?(?P<host>\[[^\]]*\]|[^/:?#]*)(?::(?P<port>\d+))?/?(?P<path>[^?#]*)")
_ADDRESS = re.compile(r"^(?:localhost|[\d.]+|\[.*\]|host\.docker\.internal)$")
_UNDERLINE = re.compile(r"^(?:-{3,}|={3,})\s*$")
_HEADING = re.compile(r"^\s*#{1,6} ")
_NO_CAPTION = re.compile(
    r"^(?:[$>%\u276f\u279c]|\S{1,3}%|Running |\W*$)|\s-{1,2}[a-zA-Z]|https?://|[{}=;|]|[.!?]$|^[^:]{1,40}:\s+\S"
    r"|\s{2,}\S|\w/\w.*/|@"
)
_ENDPOINT = re.compile(r"(?<!\S)/\w[\w/-]*")
_PART = re.compile(r"[^\W\d_]+")
_QUANTITY = re.compile(
    r"[\d.,:/x_-]*\d[\d.,:/x_-]*(?:[a-z\u0400-\u04ff%]{1,2}|gbe|gbit|min|sec|мин|сек|мкс|rps|threads?|conn|clients"
    r"|users)?"
)
#: Words that name a load, its requests, its number or what is measured; in Russian their beginnings.
_OF_A_LOAD = re.compile(
    r"^(?:(?:an|and|of|on|in|at|the|for|to|from|by|with|without|no|per|using|via|after|before|when|is|its|my|our|head"
    r"|ab|hey|ms|port|min|sec|run|rate|rps|code|text|json|html|http|https|api|url|db|kb|mb|gb|tcp|udp|cpu|vu|log|cmd|sh"
    r"|bash|shell|console|usr|bin|key|value|row|record|file|byte|size|page|path|route|host|server|service|user|client"
    r"|stat|case|part|max|low|high|medium|long|short|small|large|big|light|heavy|hello|first|second|third|fourth|try"
    r"|again|once|twice|morning|evening|night)s?$|get|put|post|delete|patch|upsert|insert|read|writ|select|updat|quer"
    r"|request|response|search|method|test|bench|load|stress|running|result|output|perf|measur|report|statist|summar"
    r"|metric|scenario|example|wrk|latenc|through|percentil|timing|time|duration|thread|conn|concurr|parallel|sequen"
    r"|second|minute|gbe|gbit|maxim|minim|normal|peak|limit|stable|overload|satur|average|best|worst|repeat|warm|cold"
    r"|start|attempt|iteration|round|step|stage|phase|final|profil|alloc|lock|flame|index|endpoint|entit|local|loopback"
    r"|network|command|(?:на|со|по|для|без|при|через|от|до|из)$|запрос|чтени|запис|вставк|удалени|получени|поиск|данн"
    r"|метод|тест|нагруз|обстрел|запуск|прогон|результ|вывод|замер|измер|отч[её]т|случа|сценари|пример|этап|стади"
    r"|задани|част|лаб|анализ|сравнен|итог|попыт|эксперимент|задерж|пропуск|рейт|перц|персент|процентил|врем|длит|поток"
    r"|соединен|клиент|пользоват|секунд|минут|стабильн|точк|разладк|последов|параллел|низк|высок|средн|максим|предел"
    r"|больш|мал|мен|длинн|коротк|пик|тяж|л[её]гк|нормал|перв|втор|трет|четв|снова|повтор|ещ[её]|один|два|три|раз"
    r"|прогре|утр|вечер|ноч|профил|аллок|блокиров|баз|ключ|значени|файл|страниц|сервер|сервис|нод|порт|команд)|测试"
    r"|压测|[连链]接|线程|参数|场景|请求|查询|插入|结果|第.次|テスト|ツール|検索|取得|조회|주문|생성|테스트|시나리오"
    r"|결과"
)


class Named(NamedTuple):
    """What names an output: its headings and its caption, its host and the parts of its script's name."""

    titles: tuple[str, ...]
    host: str
    script: tuple[str, ...]

    @property
    def things(self) -> frozenset[str]:
        """The words that say on what a run was made, and not how."""
        return frozenset(word for title in (*self.titles, self.host) for word in _words(title))


def under_one_load(group: Group) -> tuple[int, str] | None:
    """Find two runs of one load that were made on different things, by line and by the names of both."""
    loads: dict[tuple[object, ...], dict[Named, Output]] = {}
    for output, named in zip(group[:MOST_RUNS], names(group[:MOST_RUNS]), strict=True):
        if _is_console(output):
            loads.setdefault(_load(output), {}).setdefault(named, output)
    for runs in loads.values():
        for one, other in combinations(runs, 2):
            pair = _differ(one.titles, other.titles) or _differ((one.host,), (other.host,))
            if pair := pair or _differ(one.script, other.script, of=TECHNOLOGIES):
                return runs[other].line, pair
    return _ports(group)


def names(group: Group) -> Iterator[Named]:
    """Give what names each output; a heading that is underlined holds until the next one."""
    underlined = ""
    for output in group:
        underlined = _underlined(output) or underlined
        yield Named((underlined, *output.headings, _caption(output)), _host(output), _parts(output))


def named_alike(group: Group) -> Iterator[frozenset[str]]:
    """Give on what each output was made, for counting repeats; one without a word above it is as the last one."""
    before, things = tuple[str, ...](), frozenset[str]()
    for output, named in zip(group, names(group), strict=True):
        above = named.titles[:-1]
        if above != before or any(_says(line.text) for line in output.text_above):
            before, things = above, named.things
        yield things


def _is_console(output: Output) -> bool:
    """Tell whether an output is what a tool printed of one load; a script of scenarios may hold any."""
    alone = not output.report.transcribed and output.columns == 1 and not output.entry
    return alone and (output.tool not in _OF_SCENARIOS or bool(output.script))


def _differ(first: Sequence[str], second: Sequence[str], of: frozenset[str] | None = None) -> str | None:
    """Give the words by which the names of two runs differ, if each has its own and any is one `of` those."""
    ours, theirs = set[str](), set[str]()
    for one, other in zip_longest(first, second, fillvalue=""):
        if one != other:
            ours |= _words(one)
            theirs |= _words(other)
    if not ours - theirs or not theirs - ours or (of and not of & (ours ^ theirs)):
        return None
    return f"{' '.join(sorted(ours - theirs))} and {' '.join(sorted(theirs - ours))}"


def _ports(group: Group) -> tuple[int, str] | None:
    """Find the runs of a document that were all made under one load, each on a port of its own."""
    ports = [found["port"] for output in group if _is_console(output) and (found := _URL.match(_url(output)))]
    alike = len({_load(output) for output in group}) == 1
    if len(ports) < len(group) or None in ports or len(set(ports)) < max(2, len(group)) or not alike:
        return None
    return group[1].line, f"{ports[0]} and {ports[1]}"


def _load(output: Output) -> tuple[object, ...]:
    """What a run was loaded with, but for the server's address and what else its script's name says."""
    duration = output.duration_s if output.tool != "ab" else output.report.requests
    known = finite(duration)
    rounded = None if known is None else round(known)
    script = tuple(part for part in _parts(output) if not _words(part))
    found = _URL.match(_url(output))
    path = found["path"].rstrip("/") if found else ""
    return output.tool, output.threads, output.connections, rounded, output.offered_rps, script, path


def _url(output: Output) -> str:
    return output.report.url or (output.command.url if output.command else None) or ""


def _host(output: Output) -> str:
    """Give the name of the host that a run was made on; nothing where it is an address."""
    found = _URL.match(_url(output))
    return "" if found is None or _ADDRESS.match(found["host"]) else found["host"]


def _parts(output: Output) -> tuple[str, ...]:
    return tuple(_PART.findall(PurePath(output.script).stem.lower()))


def _underlined(output: Output) -> str:
    """Give the last heading above an output that is one by the line under it."""
    above = output.text_above[-FAR_LINES:]
    found = [line.text for line, under in pairwise(above) if _UNDERLINE.match(under.text) and WORD.match(line.text)]
    return found[-1].strip() if found else ""


def _caption(output: Output) -> str:
    """Give the caption above an output, its command and what the tool prints first; nothing where a heading is."""
    for line in reversed(output.text_above[-NEAR_LINES:]):
        text = line.text.strip().removeprefix("#=>").strip(" \t*_`-")
        if _HEADING.match(line.text):
            return ""
        if text and len(text) <= LONGEST_NAME and not FENCE.match(line.text) and not _NO_CAPTION.search(text):
            return text
    return ""


def _says(line: str) -> bool:
    """Tell whether a line above an output has words, and is no command and no fence."""
    return any(map(str.isalpha, line)) and not FENCE.match(line) and not _NO_CAPTION.search(line)


@lru_cache(maxsize=1_024)
def _words(name: str) -> frozenset[str]:
    bare = _ENDPOINT.sub("", LINK.sub(r"\1", name)).lower()
    return frozenset(
        word
        for word in WORD.findall(bare)
        if len(word) >= LEAST_LETTERS and not _OF_A_LOAD.search(word) and not _QUANTITY.fullmatch(word)
    )
