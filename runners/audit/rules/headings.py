"""Headings, labels and heads of tables that set states of a system against each other, by what they name.

As `Before and after`, `| Framework | RPS |`, or `Without a cache` below `With a cache`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from runners.audit.rules.sentences import Sentence
from runners.readers import context

LONGEST_LABEL = 60  # characters; a longer line is no label of what stands below it
_HEADING = re.compile(
    r"(?i)^#+ .*(?:\b(?:до|после) оптимиз|\bbefore\b(?! (?:you|we|run|start|begin|install|\w+ing\b))"
    r"|\bafter\b(?! (?:install|setup|clon|run))|(?:优化|改造|改进|优化处理)[前后](?!端)|性能对比|结果对比|对比(?:结果"
    r"|分析|测试)|(?:개선|적용|도입|최적화|튜닝) ?(?:전|후)(?!\w)|전후 ?비교|성능 ?비교|(?:改善|最適化|導入"
    r"|変更)[前後]|比較結果|性能比較|(?:antes|después|despues|depois) (?:y|e|del?|do|da|vs)\b|\bcomparativ[ao]\b"
    r"|\w-vs-\w|(?<=^# )compare\b[^|]* (?:and|with|vs\.?) |\bбез к[еэ]ша\b|\bcomparing\b|\bvs\.?\s|\bversus\b"
    r"|\b(?:performance|benchmark|results?|latency|throughput)\b.*\bcompar(?:ison|ed)\b|\bcomparison (?:of|with|to"
    r"|between)\b|\bсравнени[ея] (?:с|результат|производит|верси|реализац|до)\w*)"
)
#: A heading that says no more than that what stands below it is compared.
_COMPARISON = re.compile(
    r"(?i)^#+\W*(?:\d[\d.]*\W*)?(?:comparisons?|comparative (?:results|table|summary)|сравнени[ея]"
    r"|сравнительн\w+ таблиц\w+|对比|比较|비교|比較|comparaci[oó]n|compara[cç][aã]o|comparati[vf][ao]?|perbandingan"
    r"|so sánh|vergleich|comparaison)\W*$"
)
#: A heading that sets figures against what was aimed at, or loads against each other, compares no states.
_OF_NO_STATES = re.compile(
    r"(?i)\b(?:targets?|goals?|expected|actual)\b|목표|(?:VUs?|users?|connections?|concurrency"
    r"|load)(?: levels?)? comparison|(?:VU|부하|동시 ?사용자)s?\s?별|不同并发|各并发"
)
#: A head of a table that gives the change between two states.
_CHANGE_HEAD = re.compile(
    r"(?i)\|[*\s]*(?:improvement|change|speed-?up|Δ|delta|diff(?:erence)?|gain|reduction|прирост|изменени[ея]|ускорение"
    r"|разница|улучшение|mejora|cambio|melhoria|ganho|amélioration|verbesserung|änderung)\b[^|]*(?:\||$)"
    r"|\|[*\s]*(?:变化|提升|改善率?|変化率?|差异|변화율?|개선율?|증감률?|향상률?|차이)[^|]{0,12}(?:\||$)"
)
#: The head of a column that names what is compared, and that of one which says how fast each is.
_ALTERNATIVES = re.compile(
    r"(?i)^[*_`\s]*(?:frameworks?|languages?|librar(?:y|ies)|implementations?|variants?|engines?|runtimes?|servers?"
    r"|server type|backends?|versions?|(?:api )?gateways?|(?:reverse )?prox(?:y|ies)|load balancers?|прокси|шлюзы?"
    r"|web servers?|databases?|strateg(?:y|ies)|approach(?:es)?|configurations?|stacks?|фреймворки?|языки?"
    r"|реализаци[яи]|библиотек[аи]|вариант|框架|语言|实现|方案|网关|代理|プログラム言語|フレームワーク|実装|언어"
    r"|프레임워크|구현|방식|tecnolog[íi]as?|lenguajes?|linguage(?:m|ns))[*_`\s]*$"
)
_AGAINST = re.compile(r"(?i)^[*_`\s]*(?:vs\.?|versus|compared (?:to|with)) [^\W\d_]")
_HOW_FAST = re.compile(
    r"(?i)\b(?:req(?:uest)?s?\s?(?:\/|per)\s?s\w*|[rqt]ps|throughput|latenc(?:y|ies)|response times?|p\d{2}|avg|average"
    r"|mean)\b|запросов|задержк|延迟|吞吐|响应|耗时|応答|スループット|응답|처리량|latencia|latência|vazão"
)
MOST_ROWS = 30
LEAST_OTHER_COLUMNS = 2  # columns: a table of areas and changes gives none of figures
#: A name that is no endpoint, load, percentile or state of a run.
_A_THING = re.compile(
    r"(?i)^(?!(?:GET|POST|PUT|DELETE|PATCH)\b|p\d{2}|avg|mean|median|max|min|total|run\b|test\b)[^\W\d_/][^|/]{1,40}$"
)
_TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*\|?\s*$|^[\s|:+=-]*-{3,}[\s|:+=-]*$")
#: A line that names two things and nothing else.
_TWO_THINGS = re.compile(
    r"(?i)^\W*[^\W\d_][\w.+#-]*(?: [\w.+#()-]+){0,3} (?:vs\.?|versus) [^\W\d_][\w.+#-]*(?: [\w.+#()-]+){0,3}\W*$"
)
ADVISED = re.compile(r"\b(?:recommend\w*|suggested|safety|margin|expected|estimated|targets?)\b", re.IGNORECASE)
#: Percentiles and the maximum of one run, in one row.
OF_ONE_RUN = re.compile(
    r"(?i)\b(?:max\w*|outliers?|single|p\d\d)\b[^.|]{0,60}\bvs\.? [^.|]{0,12}\bp\d\d\b(?! (?:of|at|on))"
)
_COLON = re.compile(r":(?=\s|$)")
#: What is to be done before or after something is no state of it.
_A_STEP = re.compile(r"(?i)\b(?:before|after) (?:you|we|the next|each|every|\w+ing)\b")
#: How something is installed or started is no state of it.
_OF_NO_SYSTEM = re.compile(
    r"(?i)^\W*(?:\d[\d.]*\W+)?(?:install\w*|set-?up|getting started|quick ?start|usage|установка|сборка"
    r"|локальный запуск|(?:run|start|deploy|запус[кт])\w*\b[^.|]{0,30}\bdocker|(?:with(?:out)?|using|via|без"
    r"|с) docker\W*$)"
)
#: With or without something, and what: its first letters, since words are inflected.
_WITH_OR_WITHOUT = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:(?P<without>without|no|без|sin|sem|ohne|sans)|(?P<with>with|со?|con|com|mit|avec))[ -](?:the |a )?"
        r"(?P<what>[^\W\d]{3})[^\W\d]",
        r"(?:(?P<without>[无無]|没有|[不未](?:使用|加|带|开启?|用))|(?P<with>(?<![没沒])有|添加|增加|加入|引入"
        r"|(?<![不未])使用|(?<![不未])开启))\s?(?P<what>[\u4e00-\u9fff]{2}|[a-z]{3})",
        r"(?P<what>[\uac00-\ud7af]{2}|[a-z]{3})[\uac00-\ud7af\w]*?\s?"
        r"(?:(?P<without>미적용|미사용|없음|없이|비활성화)|(?P<with>적용|사용|있음|활성화))",
        r"(?P<what>[\u3040-\u30ff\u4e00-\u9fff]{2}|[a-z]{3})[\u3040-\u30ff\u4e00-\u9fff\w]*?(?:(?P<without>なし|無し"
        r"|無効)|(?P<with>あり|有り|有効))",
    )
)
#: What a label says that a system is without, and the words that another label may name it by.
_LACKS = re.compile(
    r"(?i)\b(?:without|no|non|без|sin|sem|ohne|sans)[ -](?:the |a |any )?(?!error|failu|warni|issue|probl|outpu|chang"
    r"|ошиб|пробл)(?P<what>[^\W\d_]{5})[^\W\d_]*"
)
_STEM = re.compile(r"(?<![^\W\d_])[^\W\d_]{5}")


def set_against(said: Sequence[Sentence], index: int, sides: dict[str, set[str]]) -> str | None:
    """Give a heading, a label or a head of a table that sets states against each other; None for any other line.

    `sides` are those of changes that lines above it name, and are added to.
    """
    text = said[index].text
    head = index + 1 < len(said) and _TABLE_RULE.match(said[index + 1].text) is not None
    if _is_heading(text) or (text.count("|") > 1 and ((head and _gives_changes(text)) or _two_states(text))):
        return text.strip("#| ")
    if head and (_sets_alternatives(text) or _names_things(said, index)):
        return text.strip("| ")
    return text.strip("#*:- ") if _completes(text, sides) else None


def opposed(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find the labels that name the other side of a change that one above them names, and headings that name both."""
    sides: dict[str, set[str]] = {}
    for each in said:
        if _is_heading(each.text) or _completes(each.text, sides):
            yield each.line, each.text.strip("#*:- ")


def completed(captions: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Find the captions of runs that name the other side of a change that the caption of one above names."""
    sides: dict[str, set[str]] = {}
    for line, text in captions:
        if _completes(f"{text.rstrip(':： ')}:", sides):
            yield line, text


def _is_heading(text: str) -> bool:
    """Tell whether a heading says that what stands below it compares states."""
    heading = _HEADING.search(text) or _COMPARISON.match(text)
    titled = heading is not None or (_TWO_THINGS.match(text) is not None and not OF_ONE_RUN.search(text))
    return titled and not _OF_NO_STATES.search(text)


def _gives_changes(row: str) -> bool:
    """Tell whether the head of a table has a column of changes, and columns of what changed."""
    return row.strip().strip("|").count("|") >= LEAST_OTHER_COLUMNS and _CHANGE_HEAD.search(row) is not None


def _sets_alternatives(row: str) -> bool:
    """Tell whether the head of a table names things of one kind, and says how fast each is, or what it is set against.

    As in `| Profile | vs Kong | vs Nginx |`.
    """
    cells = row.strip().strip("|").split("|")
    if sum(1 for cell in cells if _AGAINST.match(cell)) >= LEAST_OTHER_COLUMNS:
        return True
    kinds = [index for index, cell in enumerate(cells) if _ALTERNATIVES.match(cell)]
    fast = any(_HOW_FAST.search(cell) for cell in cells[kinds[0] + 1 :]) if kinds else False
    return fast and kinds[0] <= 1 and not ADVISED.search(row)


def _names_things(said: Sequence[Sentence], head: int) -> bool:
    """Tell whether the rows of a table whose first head is empty name things, and its columns say how fast each is."""
    first, *heads = said[head].text.strip().removeprefix("|").removesuffix("|").split("|")
    rows = []
    for row in said[head + 2 : head + 2 + MOST_ROWS]:
        if row.text.count("|") < 2:
            break
        rows.append(row.text.strip().removeprefix("|").split("|")[0].strip(" *`_"))
    things = [name for name in rows if _A_THING.match(name) and not _HOW_FAST.search(name)]
    return not first.strip() and len(things) == len(rows) > 1 and sum(1 for cell in heads if _HOW_FAST.search(cell)) > 1


def _two_states(row: str) -> bool:
    """Tell whether cells of a table's head name a state before and one after a change."""
    sides = {context.change((cell,)) for cell in row.split("|")}
    return {"before", "after"} <= sides


def _completes(text: str, sides: dict[str, set[str]]) -> bool:
    """Tell whether a heading or a label names the other side of a change that one above it names."""
    label = text.startswith("#") or text.rstrip("* ").endswith(":") or re.match(r"(?:[-*+] )?\*\*", text)
    if len(text) > LONGEST_LABEL or "|" in text or not label or len(_COLON.findall(text)) > 1 or _A_STEP.search(text):
        return False
    if _OF_NO_SYSTEM.search(text):
        return False
    side = context.change((text,))
    named = {"": {side}} if side else {}
    for match in (found for pattern in _WITH_OR_WITHOUT for found in pattern.finditer(text)):
        what = match["what"].lower().replace("э", "е")
        named.setdefault(what, set()).add("before" if match["without"] else "after")
    level = len(text) - len(text.lstrip("#"))  # headings of one level name alternatives
    for stem in _STEM.findall(_LACKS.sub("", text)):
        named.setdefault(f"{level} {stem.lower()}", set()).add("after")
    for lacking in _LACKS.finditer(text):
        named.setdefault(f"{level} {lacking['what'].lower()}", set()).add("before")
    complete = False
    for what, found in named.items():
        known = sides.setdefault(what, set())
        complete = complete or (bool(known) and not found <= known)
        known |= found
    return complete
