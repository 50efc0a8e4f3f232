"""What a document compares, by the names of its runs, and what its sentences say of one against another.

A run is named by the label of its column or row, else by the caption or heading above it: `| Go | 1.2 ms |`, or
`### Express`. The words that tell the names apart are looked for in the sentences, so an author is understood in his
own words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from runners.audit.rule import Group, achieved_rps
from runners.audit.rules.comparing import NOT_MEASURED
from runners.audit.rules.sentences import PROFILE, Sentence
from runners.audit.rules.tables import is_latency
from runners.readers.context import FENCE
from runners.readers.output import Output

NEAR_LINES = 4  # from a run's caption to it
LONGEST_NAME = 60  # characters
MOST_SUBJECTS = 60
LEAST_SUBJECTS = 2
LEAST_LETTERS = 2
CLEARLY = 1.05  # runs of one setting seldom agree more closely
SAME = 1.25  # what is called as fast as another differs by no more than this
ROUGHLY = 1.34  # and a factor that a sentence rounds, by no more than this from the figures'
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
WORD = re.compile(r"[^\W_](?:[\w.+#-]*[\w+#])?")
_QUANTITY = re.compile(r"\d[\d.,]*[km]?")
_NO_NAME = re.compile(r"^\s*(?:\$|>|```|~~~|Running )|\s-{1,2}[a-zA-Z]\w*\b|https?://|[{}=;|]")
_ENDPOINT = re.compile(r"^[\s*_`#\d.]*(?:GET|POST|PUT|PATCH|DELETE|HEAD)\b|(?:^|[\s`])/\w")
#: Words of captions that name no subject: what is measured, by what, and under which load.
_COMMON_WORDS = """
a ab after an and artillery at autocannon average avg baseline before bench benchmark benchmarks
bombardier by case comparison concurrent connections detailed endpoint endpoints experiment for from
full gatling get heavy hey high http https in iteration jmeter k6 latency light load local locust
low mean median medium normal of oha on output peak performance post put rate req request requests
response result results round rps run runs scenario sec second seconds server servers set siege
smoke soak spike stage stats step stress summary test tests the thread threads throughput time to
total user users vegeta vs vus with without wrk
"""
_VARIANT = re.compile(
    r"^(?P<of>[^()\uff08\uff09]*[^\W\d_]{2}[^()\uff08\uff09]*?)\s*[(\uff08](?=[^()\uff08\uff09]*[^\W\d_]{2})[^()\uff08\uff09]+[)\uff09]$"
)
#: A heading that names software with its version, and one that names what others are held against.
_RELEASE = re.compile(r"^(?P<of>[^\W\d_][^()]{1,40}?)\s*\(\W{0,2}v?\d+\.\d[\w.-]*\)$")
_BASELINE = re.compile(r"(?i)^\W*(?:the )?(?:baseline|базов\w+(?: вариант)?|基线|基准)\W*$")
_COMMAND = re.compile(r"^(?:[$%>]|\S{1,3}%|\u276f|\u279c) |\b(?:wrk2?|ab|hey|oha)\b.*\s-{1,2}[a-zA-Z]")
_BOLD = re.compile(r"^\*{2,3}[^*]+\*{2,3}$")  # a line that is a caption by its type
_MARK = re.compile(r"^[-*+]\s+")
_VERSION = re.compile(r"[-.]?v?\d[\d.]*$")
#: Systems and languages that an author compares when he measures two of them.
_TECHNOLOGY_WORDS = """
actix actix-web apache aspnet axum bun caddy c# cassandra cpp deno django dragonfly echo elixir erlang
express falcon fastapi fasthttp fastify fiber flask gin go golang gunicorn haproxy hono hyper hypercorn
java jetty kafka keydb koa kotlin laravel mariadb memcached mongo mongodb mysql nest nestjs netty nginx
node node.js nodejs phoenix php postgres postgresql python quarkus rabbitmq rails redis rocket ruby rust sanic
scala spring springboot sqlite starlette swoole tomcat tornado traefik undertow uvicorn valkey vertx warp webflux
"""
TECHNOLOGIES = frozenset(_TECHNOLOGY_WORDS.split())
_COMMON = frozenset(_COMMON_WORDS.split())
#: By which one thing is called better or worse than others, in several languages.
_RANKED = re.compile(
    r"(?i)\b(?:fast(?:er|est)|slow(?:er|est)|quick(?:er|est)|better|best|worse|worst|highest|lowest|outperform\w*|wins?"
    r"|won|winner|beats?|superior|on par|as (?:fast|good|slow) as|(?:most|more|less|least) performant|twice)\b"
    r"|\b(?:быстре\w+|медленн\w+|лучш\w+|хуже|побежда\w+|победител\w+|опережа\w+|обгоня\w+|проигрыва\w+|превосход\w+"
    r"|уступа\w+|вдвое|втрое|сопоставим\w*)|最[快慢高低好佳速]|更[快慢高低好差]|[快慢优高低]于|领先|不如|差距|持平|가장"
    r"|빠르|빨라|느리|우수|뛰어|上回|下回|最も|\b(?:m[áa]s|mais) (?:r[áa]pid|lent)|\b(?:mejor(?:es)?|melhor(?:es)?|peor"
    r"|pior|supera\w*)\b|\b(?:schnell(?:er|ste)|langsam(?:er|ste)|plus (?:rapide|lent))"
    r"|(?<![\w.])\d+(?:[.,]\d+)?\s?(?:[x\u00d7](?!\w)|times\b|倍|배|раза?\b)"
)
_MEASURED = re.compile(
    r"(?i)\b(?:latenc(?:y|ies)|throughput|[rqt]ps|requests?|req/s\w*|response times?|performance|p\d{2}|percentiles?"
    r"|задерж\w+|пропускн\w+|производительн\w+|быстродейств\w+|скорост\w+|latencia|latência|rendimiento|desempenho)\b"
    r"|延迟|吞吐|性能|响应|处理|처리|응답|성능|지연|スループット|応答|レイテンシ"
    r"|\d\s?(?:%|[x\u00d7](?!\w)|倍|배|раза?\b|ms\b|мс\b|times\b|k?\s?(?:req|rps))"
)
CONCLUDES = re.compile(
    r"(?i)^#+ .*(?:result|conclusion|summary|finding|observation|analysis|takeaway|verdict|discussion|insight|выводы"
    r"|вывод\b|результат|итог|结论|总结|结果|分析|결론|결과|분석|考察|まとめ|結果|conclusi[oó]n|conclus[ãa]o|resultado)"
)
_BETTER = re.compile(
    r"(?i)\b(?:faster|quicker|better|outperform\w*|beats?|(?:more|higher) (?:requests|throughput|rps)|lower latenc\w+"
    r"|быстрее|лучше|обгоня\w+|опережа\w+)\b"
)
_WORSE = re.compile(
    r"(?i)\b(?:slower|worse|(?:fewer|lower) (?:requests|throughput|rps)|higher latenc\w+|медленнее|хуже|проигрыва\w+"
    r"|уступа\w+)\b"
)
_EQUAL = re.compile(r"(?i)\b(?:as (?:fast|good) as|on par with|the same (?:speed|throughput|performance) as)\b")
_BEST = re.compile(
    r"(?i)\b(?:fastest|quickest|best[- ]performing|best (?:overall )?(?:performance|throughput|latency|results?)"
    r"|highest (?:throughput|rps|performance)|lowest (?:latency|response times?)|wins|winner)\b|最快|性能最[高好佳强]"
    r"|самы\w+ быстр\w+|быстрее всех|лучш\w+ (?:результат|производительн)\w*|가장 (?:빠르|빨라|높)|最速|\b(?:el|la|o"
    r"|a) (?:m[áa]s|mais) r[áa]pid[oa]\b"
)
#: What is the best of some need not be the best of all.
_OF_SOME = re.compile(
    r"(?i)\b(?:among|amongst|of the|second|except|besides|one of|кроме|среди|из|entre)\b|其中|除了|之一|第二"
)
_NOT = re.compile(r"(?i)\b(?:not?|never|neither|nor|without|less than|не|ни)\b|n't\b")
_FACTOR = re.compile(
    r"(?i)(?<![\w.])(?P<low>\d+(?:[.,]\d+)?)\s?[x\u00d7]?\s?(?:(?:-|\u2013|\u2014|to)\s?(?P<high>\d+(?:[.,]\d+)?)\s?)?"
    r"(?P<unit>[x\u00d7](?!\w)|times\b|раза?\b|%)"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """One of the things that a document compares: the words by which it is named, and its runs."""

    words: frozenset[str]
    runs: tuple[Output, ...]

    @property
    def name(self) -> str:
        return " ".join(sorted(self.words))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence that sets one subject against another: how it calls the first, and by what factor if it says one."""

    line: int
    text: str
    first: Subject
    second: Subject
    better: bool | None  # None: as good as the other
    factor: tuple[float, float] | None


def subjects(group: Group) -> tuple[Subject, ...]:
    """Find what a document compares; nothing where its runs have no different names."""
    shared = len({output.headings[-1:] for output in group}) == 1 < len({output.headings[:-1] for output in group})
    names = [(_words(_name(output, 2 if shared else 1)), output) for output in group]
    distinct = {words for words, _ in names if words}
    often = Counter(word for words in distinct for word in words)
    of: dict[frozenset[str], list[Output]] = {}
    for words, output in names:
        own = frozenset(word for word in words if len(distinct) == 1 or often[word] <= len(distinct) / 2)
        if own:
            of.setdefault(own, []).append(output)
    found = tuple(Subject(words, tuple(runs)) for words, runs in of.items())
    return found if LEAST_SUBJECTS <= len(found) <= MOST_SUBJECTS else ()


def ranked(said: Sequence[Sentence], things: Sequence[Subject]) -> Iterator[tuple[int, str]]:
    """Find the sentences that call a subject better or worse than others, by line and by the words that say it."""
    concludes = False
    for sentence in said:
        text = sentence.text
        if text.startswith("#"):
            concludes = CONCLUDES.search(text) is not None
        elif words := _ranks(text):
            measured = _MEASURED.search(text) is not None
            on_load = measured or (concludes and not PROFILE.search(text))
            if on_load and any(_at(text, thing) is not None for thing in things):
                yield sentence.line, words


def alternatives(things: Sequence[Subject]) -> tuple[str, str] | None:
    """Find two things that a document measured which are alternatives by their names: two technologies.

    So are a thing and what its author made of it: `home page`, `home page (cache on + index)`.
    """
    known = [
        thing
        for thing in things
        if {_VERSION.sub("", word.removesuffix(".js")) for word in thing.words} - {""} <= TECHNOLOGIES
    ]
    if len(known) > 1:
        return known[0].name, known[1].name
    return None


def variants(group: Group) -> tuple[str, str] | None:
    """Find two runs of which one is named like the other and, in brackets, what was changed of it."""
    labels = {re.sub(r"\s*\([^()]*\)$", "", output.label).strip() for output in group if output.report.transcribed}
    for label in sorted(labels):
        if (made := _VARIANT.match(label)) and made["of"].strip() in labels:
            return made["of"].strip(), label
    return None


def releases(group: Group) -> tuple[str, str] | None:
    """Find two runs whose headings name different software, each with its version: `fast-proxy (^1.8.0)`."""
    trails = [heading for output in group for heading in output.headings]
    made = {found["of"]: heading for heading in trails if (found := _RELEASE.match(heading))}
    first, *others = made.values() or ("",)
    return (first, others[0]) if others else None


def against_a_baseline(group: Group) -> Iterator[tuple[int, str]]:
    """Find runs under headings of one level, of which one says `baseline` alone."""
    above = {output.headings[:-1] for output in group if output.headings and _BASELINE.match(output.headings[-1])}
    for output in group:
        if output.headings and output.headings[:-1] in above and not _BASELINE.match(output.headings[-1]):
            yield output.line, output.headings[-1]


def captioned(output: Output) -> Iterator[str]:
    """Give the caption just above an output and its command, without the mark of a list; none where a heading is."""
    for line in reversed(output.text_above[-NEAR_LINES:]):
        text = line.text.strip()
        if text and not FENCE.match(text) and not _COMMAND.search(text):
            if not text.startswith("#") and len(text) <= LONGEST_NAME and not _NO_NAME.search(text):
                yield _MARK.sub("", text)
            return


def verdicts(said: Sequence[Sentence], things: Sequence[Subject]) -> Iterator[Verdict]:
    """Find the sentences that call one subject faster or slower than another, or as fast, in that order."""
    for sentence in said:
        text = sentence.text
        if _is_aside(text) or _NOT.search(text) or PROFILE.search(text):
            continue
        at = {where: thing for thing in things if (where := _at(text, thing)) is not None}
        if len(at) != LEAST_SUBJECTS:
            continue
        begin, end = sorted(at)
        first, second, between = at[begin], at[end], text[begin:end]
        ways = [way for way, pattern in ((True, _BETTER), (False, _WORSE), (None, _EQUAL)) if pattern.search(between)]
        if len(ways) == 1:
            yield Verdict(sentence.line, text, first, second, ways[0], _factor(text))


def bests(said: Sequence[Sentence], things: Sequence[Subject]) -> Iterator[Verdict]:
    """Find the sentences that call one subject the best of all, as verdicts on it and each of the others."""
    for sentence in said:
        text = sentence.text
        if not _BEST.search(text) or _OF_SOME.search(text):
            continue
        if _is_aside(text) or _NOT.search(text) or PROFILE.search(text):
            continue
        named = [thing for thing in things if _at(text, thing) is not None]
        if len(named) == 1:
            yield from (
                Verdict(sentence.line, text, named[0], other, True, None) for other in things if other != named[0]
            )


def overturned(verdict: Verdict) -> str | None:
    """Say how all pairs of runs of the two subjects under one load contradict a verdict; None where they do not."""
    latency = is_latency(verdict.text)
    of_pairs = [_gains(one, other, latency) for one, other in _pairs(verdict)]
    gains = [gain for of_pair in of_pairs for gain in of_pair]
    if not gains or not all(of_pairs):
        return None
    lowest, highest = min(gains), max(gains)
    shown = f"{lowest:.2f}" if lowest == highest else f"{lowest:.2f} to {highest:.2f}"
    called = {True: "faster than", False: "slower than", None: "as fast as"}[verdict.better]
    text = f"calls {verdict.first.name} {called} {verdict.second.name}: by its figures it is {shown} times as fast"
    if verdict.better is None:
        return text if lowest > SAME or highest < 1 / SAME else None
    better = gains if verdict.better else [1 / gain for gain in gains]
    if max(better) < 1 / CLEARLY:
        return text
    if verdict.factor is None:
        return None
    low, high = verdict.factor
    return None if any(low / ROUGHLY <= gain <= high * ROUGHLY for gain in better) else text


def _is_aside(text: str) -> bool:
    """Tell whether a sentence is none on what was measured: a row of a table, a question, a hope."""
    return text.count("|") > 1 or text.rstrip().endswith("?") or NOT_MEASURED.search(text) is not None


def _ranks(text: str) -> str | None:
    """Give the words by which a sentence ranks what was measured; None where it does not."""
    found = None if _is_aside(text) else _RANKED.search(text)
    return found[0] if found else None


def _name(output: Output, level: int = 1) -> str:
    """Name a run: the label of its column or row, else the caption just above it, else its heading.

    `level` counts headings from the innermost: where all runs share theirs ("Result"), those above it name them.
    """
    if output.label:
        return output.label
    if level > 1:
        return output.headings[-level] if len(output.headings) >= level else ""
    for line in reversed(output.text_above[-NEAR_LINES:]):
        text = line.text.strip()
        caption = (text.endswith(":") or _BOLD.match(text)) and len(text) <= LONGEST_NAME and not _NO_NAME.search(text)
        if text.startswith("#") or caption:
            return text
    captions = list(captioned(output)) if output.connections is None else ()
    return next(iter(captions), "") or (output.headings[-1] if output.headings else "")


def named(output: Output) -> frozenset[str]:
    """Name a run by the words of its label, caption or heading that say neither what is measured nor the load."""
    return _words(_name(output))


def _words(name: str) -> frozenset[str]:
    if _ENDPOINT.search(name):
        return frozenset()  # which part of one system is slower compares no systems
    bare = _ASIDE.sub("", LINK.sub(r"\1", name)).lower()
    return frozenset(
        word
        for word in WORD.findall(bare)
        if len(word) >= LEAST_LETTERS and word not in _COMMON and not _QUANTITY.fullmatch(word)
    )


@lru_cache(maxsize=1_024)
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9_-]){re.escape(word)}(?![a-z0-9_])", re.IGNORECASE)


def _at(text: str, thing: Subject) -> int | None:
    """Give where a sentence names a subject first; None where it does not name all of it."""
    found = [match.start() for word in thing.words if (match := _pattern(word).search(text))]
    return min(found) if len(found) == len(thing.words) else None


def _factor(text: str) -> tuple[float, float] | None:
    """Read the one factor, or range of factors, that a sentence gives."""
    found = list(_FACTOR.finditer(text))
    if len(found) != 1:
        return None
    low, high = (float((found[0][name] or found[0]["low"]).replace(",", ".")) for name in ("low", "high"))
    if found[0]["unit"] != "%":
        return min(low, high), max(low, high)
    if high >= 100:  # of a time, nothing is left; of a rate it may be either
        return None
    return 1 + min(low, high) / 100, 1 / (1 - max(low, high) / 100)


def _pairs(verdict: Verdict) -> Iterator[tuple[Output, Output]]:
    for one in verdict.first.runs:
        yield from ((one, other) for other in verdict.second.runs if _setting(one) == _setting(other))


def _setting(output: Output) -> tuple[object, ...]:
    """What two runs share that can be set against each other: the place, the load and the caption of their table."""
    trail = output.headings if output.label else output.headings[:-1]
    caption = _ASIDE.findall(output.label)[-1:]
    return trail, caption, output.connections, output.offered_rps, output.duration_s


def _gains(one: Output, other: Output, latency: bool | None) -> list[float]:
    """Give how many times as good one run is as another, by its rate and by each figure of its latency."""
    gains = []
    rate, other_rate = achieved_rps(one), achieved_rps(other)
    if rate and other_rate and latency is not True:
        gains.append(rate / other_rate)
    if latency is not False:
        times = _latencies(other)
        gains += [times[name] / value for name, value in _latencies(one).items() if value and times.get(name)]
    return gains


def _latencies(output: Output) -> dict[str, float]:
    found = {f"{level:g}": value for level, value in output.report.latencies.rows}
    stats = output.report.latency
    if stats and stats.mean:
        found["mean"] = stats.mean
    if stats and stats.max:
        found["max"] = stats.max
    return found
