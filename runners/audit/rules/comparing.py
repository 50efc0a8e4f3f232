"""Where a text calls one state of a system better or worse than another: in sentences, headings, labels and tables.

English and Russian, no other. A comparison of loads, of profiles or of what somebody hopes for is none of states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runners.audit.rules.sentences import BETTER_OR_WORSE, PROFILE, Sentence
from runners.readers import context

_NUMBER = r"\d{1,6}(?:[.,]\d{1,3})?"
_UNIT = r"(?:мкс|мс|ms|us|µs|μs|секунд\w*|сек|seconds?|sec|msec|с|s)"
LONGEST_LABEL = 60  # characters; a longer line is no label of what stands below it

#: Another state of the system that a Russian sentence refers to.
_OTHER_STATE = re.compile(
    r"\b(?:по сравнению|в сравнени[ие]|относительно|по отношению к|(?:предыдущ|прошл[ыоа])\w+|(?<!по-)прежн\w+|раньше"
    r"|оптимизаци\w+|без (?:\w+ )?(?:к[еэ]ш\w*|индекс\w*|шардирования|репликации)|со? (?:к[еэ]ш|индекс)\w+"
    r"|в отличие от|чем в случае|други(?:х|ми) этап\w+|чем (?:до|без|раньше|было)\b"
    r"|(?:в|на|из) \d[- ]?\w* этап\w+|1 нод\w+|однопоточн\w+|до этого"
    r"|(?:стар|нов|перв|синхронн|асинхронн)\w+ (?:реализаци|верси|сервер|вариант|сервис)\w*|реализаци\w+ [сc] \w+"
    r"|(?:после|до) (?:добавлени|внедрени|изменени|переход|исправлени|некоторой|оптимиз|включени|индекс|замен|настройк"
    r"|применени)\w*"
    r"|при переходе|при \d+[- ]?х? (?:узл|нод)\w+"
    r"|чем (?:на|у|при|для|с) (?:остальн|друг|перв|втор|стар)\w+|использование (?:\w+ )?кластер\w*)\b",
    re.IGNORECASE,
)
#: What is measured.
_FIGURE = re.compile(
    r"\b(?:RPS|latency|задерж\w+|(?:не)?производительн\w+|быстродейств\w+|perfo\w*mance|throughput|пропускн\w+"
    r"|rate|рейт\w*"
    r"|врем\w+ (?:\w+ )?(?:ответ|отклик|обработк|выполнени)\w*|отклик\w*|(?:средн|максимальн)\w+ (?:врем|latency"
    r"|значени"
    r"|показател)\w*"
    r"|(?:п[еа]р|про)[сц]ентил\w+|точк\w+ разладки|запрос\w* в секунд\w+|нагрузк\w*|скорост\w+|в разы|по времени"
    r"|количеств\w+ (?:\w+ )?(?:запрос|заяв)\w+"
    r"|отвечать|median|p\d\d|response times?"
    r"|средн(?:ем|ие|им)|в \d+(?:[.,]\d+)? раз\w*|на \d[\d.]* ?%)(?!\w)",
    re.IGNORECASE,
)
_LOAD = re.compile(
    r"\b(?:RPS|rate|рейт\w*|пропускн\w+|latenc\w+|задерж\w+|запрос\w* в секунд\w+|производительн\w+|throughput"
    r"|(?:п[еа]р|про)[сц]ентил\w+|response times?|requests? per second|req/s|perform(?:s|ed|ance))\b",
    re.I,
)
#: What a system can do, of which a fall or a gain needs no other word.
_CAPACITY = (
    r"(?:производительно(?:ст\w+)?|perfo\w*mance|RPS|рейт\w*|rate|пропускн\w+ способност\w+|количеств\w+ запросов"
    r"|точк\w+ разладки)(?!\w)"
)
_A_STATE = r"(?:асинхронн|синхронн|стар|нов|перв|прошл)\w+ (?:сервер|реализаци|верси|вариант)\w*"
#: A fall or a gain that says by itself that something was before.
_GAIN_OR_LOSS = re.compile(
    rf"\b{_CAPACITY}[^.]{{0,60}}?\b(?:просел\w*|упал\w*|деградировал\w*|ухудшил\w*|улучш\w+|повысил\w*"
    rf"|пришлось снизить)"
    rf"|\bпросел\w*\b[^.]{{0,40}}?\b(?:{_CAPACITY}|latency|относительно|по сравнению)"
    rf"|\b{_CAPACITY}[^.]{{0,30}}?\b(?:увеличил\w*|вырос\w*)[^.]{{0,30}}?\bв (?:\d|нескольк|полтора)"
    r"|\b(?:latency|задержк\w+) (?:ухудшил|улучшил)\w*"
    r"|\b(?:get|put|latency)\b[^.]{0,30}?\b(?:просел\w*|стал\w*\b[^.]{0,20}?(?:по)?(?:лучше|хуже|быстрее|медленнее))"
    rf"|\b(?:снизил\w*|ухудш\w+|улучшил\w*|упал\w*|падени\w*|снижени\w*|прирост\w*|(?:пришлось"
    rf"|удалось) \w+)(?: \w+){{0,2}} "
    rf"{_CAPACITY}"
    rf"|\b{_A_STATE}[^;\n]{{0,60}}?{_NUMBER}\s?{_UNIT}\b[^;\n]{{0,40}}?\b{_A_STATE}[^;\n]{{0,60}}?{_NUMBER}\s?{_UNIT}\b"
    r"|\b(?:ситуаци\w|результат\w*|показател\w+)\b[^.]{0,30}?\b(?:улучш\w+|ухудш\w+)"
    r"|\bстал\w* (?:(?:ещ[её]|заметно|значительно|намного|гораздо|немного|чуть) )?(?:лучше|хуже|быстрее|медленнее)\b"
    r"|\bудалось (?:снизить|повысить|увеличить|уменьшить|улучшить|поднять)\b"
    r"|\b(?:нов|стар)\w+ (?:верси|реализаци|вариант)\w*\b[^.]{0,40}?\b(?:быстрее|медленнее|лучше|хуже)"
    r"|\bда[её]т (?:\w+ )?(?:преимуществ|выигрыш|прирост)\w*"
    r"|\bне повлия\w+ на (?:задержк|latency|производ|врем)\w*"
    r"|\bтако[ей] (?:падение|снижение|ухудшение)"
    r"|\b(?:на \d[\d.,]* ?%|в \d[\d.,]* раз\w*) (?:быстрее|медленнее|лучше|хуже)"
    r"|\b(?:быстрее|медленнее)\b[^.]{0,20}? (?:на \d[\d.,]* ?%|в \d[\d.,]* раз\w*)",
    re.IGNORECASE,
)

_FIGURE_EN = (
    r"(?:throughput|latenc(?:y|ies)|response times?|requests? per sec(?:ond)?|requests?/s(?:ec)?|req/s(?:ec)?|RPS"
    r"|QPS|TPS"
    r"|p\d{2,3}(?:\.\d+)?|(?:\d{2}(?:\.\d+)?th )?percentiles?|tail|performance|performs?|performed"
    r"|speed|median|average time)"
)
_TIMES = r"(?<![\w.])~?\d+(?:[.,]\d+)?\s?(?:%|x\b|×|times\b|percent\b)"
_DEGREE = (
    r"(?:faster|slower|better|worse|higher|lower|quicker|fewer|greater|larger|smaller|more performant|less performant)"
)
_CHANGED = (
    r"(?:improv(?:e[sd]?|ing|ements?)|regress(?:e[sd]|ions?)|degrad(?:e[sd]|ation)|increase[sd]?|decrease[sd]?"
    r"|reduc(?:e[sd]?|tions?|ing)|dropp?(?:s|ed)?|fell|rose|grew|gain(?:s|ed)?|doubl(?:e[sd]|ing)|halv(?:e[sd]|ing)"
    r"|speed-?ups?|speeds? up|sped up|slow(?:s|ed) down|slowdown|boost(?:s|ed)?|cuts?)"
)
#: A limit or a load is no state: `more than 5 ms`, `higher than at 100 connections`.
_A_LIMIT = (
    r"(?!\s*(?:[\d~<>=≈$]|(?:at|with|under|for) (?:\d|lower|higher|low|high|less|more)|expected|usual|ever|it|1 ))"
)
#: Words that alone say that two states are compared.
_COMPARES_EN = re.compile(
    rf"\b(?:{_DEGREE}\b[^.|]{{0,40}}? than\b{_A_LIMIT}|outperform\w*"
    rf"|{_TIMES}\s?(?:\w+ )?(?:faster|slower|higher|lower|better|worse|more (?:requests|throughput)|less (?:time"
    rf"|latency)|"
    rf"improvement|reduction|increase|decrease|speed-?up|slowdown|gain|drop|degradation|overhead)"
    rf"|{_CHANGED}\b[^.|]{{0,60}}?\b(?:by|of|from)\b[^.|]{{0,20}}?(?:\d|half\b|a (?:third|quarter|factor))"
    rf"|(?:compared (?:to|with)|in comparison (?:to|with)|versus|vs\.?|relative to|than the (?:old|previous|original"
    rf"|baseline))\b[^.|]{{0,80}}?\b{_FIGURE_EN}\b"
    rf"|{_FIGURE_EN}\b[^.|]{{0,80}}?\b(?:compared (?:to|with)|in comparison (?:to|with)|versus|vs\.?|relative to"
    rf"|as fast as"
    rf"|as before|(?:than|as) the (?:old|previous|original|baseline)))",
    re.IGNORECASE,
)
_TIMES_EN = re.compile(_TIMES + rf"\s?(?:\w+ )?{_DEGREE}\b", re.IGNORECASE)
_FIGURES_EN = re.compile(rf"\b{_FIGURE_EN}\b|\b(?:ms|µs|requests)\b|{_TIMES}|\b(?:faster|slower|outperform\w*)\b", re.I)
_CHANGED_FIGURE_EN = re.compile(
    rf"\b{_FIGURE_EN}\b[^.|]{{0,40}}?\b(?:{_CHANGED}|{_DEGREE}|halved|doubled)\b|\b(?:{_CHANGED}|{_DEGREE})\b"
    rf"[^.|]{{0,40}}?\b{_FIGURE_EN}\b",
    re.IGNORECASE,
)
_STATE_EN = re.compile(
    r"\b(?:before|previous(?:ly)?|originally|baseline|without|now|after (?:the |adding|enabling|switching|upgrading"
    r"|replacing|removing|applying|introducing|implementing|optimi[sz]\w+|caching|index\w+|tuning|this|these)"
    r"|instead of"
    r"|old (?:version|implementation|code)|new (?:version|implementation|code)|optimi[sz]ed|optimi[sz]ations?|changes?"
    r"|with (?:the )?(?:cach\w+|index\w*|redis|pool\w*|virtual threads|keep-?alive|compression))\b",
    re.IGNORECASE,
)
#: What is hoped for, advised or known of old was not measured here.
_NOT_MEASURED = re.compile(
    r"\b(?:should|could|would|may|might|can (?:be|further|also|help|improve|reduce)|will|recommend\w*|consider(?:ing)?"
    r"|expect(?:ed|s)? (?:to|an?|that|improvement|gain)|[<≤] ?\d|aims?|goals?|targets?|thresholds?|standards?"
    r"|if (?:we|you|the)|todo|plan(?:s|ned)? to"
    r"|in theory|theoretical\w*|next steps?|in order to|(?:^|[-*] )(?:add|use|enable|implement|optimi[sz]e"
    r"|increase|reduce"
    r"|improve|cache|tune)\b)",
    re.IGNORECASE,
)
#: More load makes latency grow: no change of the system.
_WITH_LOAD = re.compile(
    r"\b(?:as|when|with|while) (?:the )?(?:number of )?(?:load|rate|concurrency|connections|threads|users|VUs"
    r"|traffic)\b"
    r"|under (?:the )?(?:\w+ )?(?:load|stress|traffic)|(?:higher|more|increas\w+|growing) (?:load|concurrency"
    r"|connections"
    r"|users|VUs|traffic)|load increas\w+",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^#+ .*(?:\b(?:до|после) оптимиз|\bbefore\b(?! (?:you|we|run|start|begin|install))|\bafter\b(?! (?:install"
    r"|setup|clon|run))"
    r"|\bбез к[еэ]ша\b|\bcomparing\b|\bvs\.?\s|\bversus\b|\b(?:performance|benchmark|results?|latency"
    r"|throughput)\b.*\bcompar(?:ison|ed)\b"
    r"|\bcomparison (?:of|with|to|between)\b|\bсравнени[ея] (?:с|результат|производит|верси|реализац|до)\w*)",
    re.IGNORECASE,
)
#: A head of a table that gives the change between two states.
_CHANGE_HEAD = re.compile(
    r"\|[*\s]*(?:improvement|change|speed-?up|Δ|delta|diff(?:erence)?|gain|reduction|прирост|изменени[ея]"
    r"|ускорение|разница"
    r"|улучшение)\b[^|]*(?:\||$)",
    re.IGNORECASE,
)
_WITH_OR_WITHOUT = re.compile(
    r"\b(?:(?P<without>without|no|без)|(?P<with>with|со?))[ -](?:the |a )?(?P<what>[^\W\d]{4,})", re.I
)


def comparing(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find where one state is called better or worse than another, by line and by the words that say it."""
    sides: dict[str, set[str]] = {}
    for sentence in said:
        text = sentence.text
        if _HEADING.search(text) or (text.count("|") > 1 and (_CHANGE_HEAD.search(text) or _two_states(text))):
            yield sentence.line, text.strip("#| ")
        elif _completes(text, sides):
            yield sentence.line, text.strip("#*:- ")
        elif PROFILE.search(text) and not _LOAD.search(text):
            continue
        elif change := _GAIN_OR_LOSS.search(text):
            yield sentence.line, change[0]
        elif (state := _OTHER_STATE.search(text)) and BETTER_OR_WORSE.search(text) and _FIGURE.search(text):
            yield sentence.line, state[0]
        elif words := _in_english(text):
            yield sentence.line, words


def opposed(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find the labels that name the other side of a change that one above them names."""
    sides: dict[str, set[str]] = {}
    yield from ((each.line, each.text.strip("#*:- ")) for each in said if _completes(each.text, sides))


def _two_states(row: str) -> bool:
    """Tell whether cells of a table's head name a state before and one after a change."""
    sides = {context.change((cell,)) for cell in row.split("|")}
    return {"before", "after"} <= sides


def _completes(text: str, sides: dict[str, set[str]]) -> bool:
    """Tell whether a heading or a label names the other side of a change that one above it names."""
    label = text.startswith("#") or text.rstrip("* ").endswith(":") or re.match(r"(?:[-*+] )?\*\*", text)
    if len(text) > LONGEST_LABEL or "|" in text or not label:
        return False
    side = context.change((text,))
    named = {"": {side}} if side else {}
    for match in _WITH_OR_WITHOUT.finditer(text):
        what = match["what"].lower().replace("э", "е")[:3]
        named[what] = {"before" if match["without"] else "after"}
    complete = False
    for what, found in named.items():
        known = sides.setdefault(what, set())
        complete = complete or (bool(known) and not found <= known)
        known |= found
    return complete


def _in_english(text: str) -> str | None:
    """Give the words by which an English sentence compares two states; None where it does not."""
    if _NOT_MEASURED.search(text) or not _FIGURES_EN.search(text):
        return None
    strong = _COMPARES_EN.search(text)
    if strong and (_TIMES_EN.search(text) or not _WITH_LOAD.search(text)):
        return strong[0]
    changed = _CHANGED_FIGURE_EN.search(text)
    if changed and _STATE_EN.search(text) and not _WITH_LOAD.search(text):
        return changed[0]
    return None
