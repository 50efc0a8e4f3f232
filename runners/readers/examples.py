"""Tell a tool's output that is shown to explain it from the run of an author: no rule looks at an example.

An output is an example where the line above it says so, in several languages ("you should see something like this"),
where remarks stand on its own lines (`50%  2.9ms  <-- the median`), or where the text around it explains its fields one
by one (`Req/Sec: requests that each thread completed in a second`). So are the outputs of a page whose title names a
load tool and which explains its options, where no heading announces results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runners.readers.documents import Line

REACH_LINES = 3  # lines of text above an output in which it is introduced
BELOW_LINES = 40  # in which its fields are explained
LONGEST_LINE = 300  # characters that are looked at
LEAST_REMARKS = 3
LEAST_FIELDS = 2
LEAST_OPTIONS = 3
_TITLE = re.compile(r"^\s*(?:#{1,2}\s|title:)")
_TOOL = re.compile(
    r"(?i)(?<![\w-])(?:wrk2?|apache ?bench|ab|hey|oha|k6|vegeta|autocannon|bombardier|siege|locust|jmeter|gatling"
    r"|artillery)(?![\w.-])",
    re.ASCII,
)
#: An option with what it means: `-c, --connections <N>  connections to keep open`, `* -t: Anzahl der Threads`.
_OPTION = re.compile(
    r"^[\s>|*+-]*[`*_]*(?P<option>-{1,2}[a-zA-Z][\w-]*)[`*_]*(?:,? (?:или|or|或)? ?[`*_]*--?[\w-]+[`*_]*)?"
    r"(?:[ =]?<\w+>)?[`*_]*(?:\s*[:\uff1a=|\u2014\u2013]\s*|\s+-\s+|\s{2,}|\s+(?=[^\x00-\x7f]))[`*_]*(?=[^\W\d_])"
)
_USAGE = re.compile(r"(?i)^\W*(?:usage|使用方法|用法)\s*[:\uff1a]\s*(?:wrk|ab|hey|oha|siege|vegeta|bombardier|k6)\b")
_OF_RESULTS = re.compile(
    r"(?i)\b(?:results?|conclusions?|findings|comparison|measurements?|ergebnis\w*|resultad\w+|conclus\w+)\b"
    r"|результат|вывод|结果|结论|对比|결과|결론|비교|結果|比較"
)
_FENCE = re.compile(r"^\s*(?:>\s*)*(?:```|~~~)(?!.*(?:```|~~~))")
_INTRODUCED = re.compile(
    r"\b(?:sample|example|typical) (?:\w+ )?output\b|\boutput (?:example|sample)\b"
    r"|\b(?:see|get|look|looks|output|prints?) (?:\w+ )?(?:something|similar|somewhat|a bit)?\s?(?:like"
    r"|similar to) (?:this"
    r"|that|the following|below)"
    r"|\b(?:see|get|print) (?:something|output|a (?:report|summary)) (?:like|similar)|\bsomething like (?:this"
    r"|the following)"
    r"|\b(?:understanding|interpreting|reading|how to read|explanation of|explaining) (?:the |your |its )?"
    r"(?:[`*]*\w+[`*]* )?(?:output|results?|summary|metrics|report)\b"
    r"|\bпример(?:ы|ный)? (?:вывод|отч[её]т|результат)\w*|\b(?:увидите|получите|выглядит) (?:что-то|примерно|так)"
    r"|\b(?:ejemplo|exemplo|exemple) d[ea] (?:la |una |uma |une )?(?:salida|saída|sortie|resultado|résultat)"
    r"|\b(?:salida|saída) de (?:ejemplo|exemplo)|\bBeispiel(?:ausgabe|ergebnis)|\bcontoh (?:output|hasil|keluaran)"
    r"|\bví dụ (?:về )?(?:kết quả|output)"
    r"|(?:输出|结果|报告|報告|輸出|結果)(?:的)?(?:示例|样例|例子|範例|解析|解释|说明|解读|含义|解説|説明)|(?:示例"
    r"|样例|範例)(?:输出|结果|輸出|結果)"
    r"|(?:出力|実行|結果)(?:結果)?(?:の)?例(?!外)|結果の(?:見方|読み方)|(?:출력|결과|실행) ?(?:결과 )?예시?\b"
    r"|예시 ?(?:출력|결과)"
    r"|\bexamples? of running\b|^\W*(?:例子?|示例|예시?|примеры?|examples?|ejemplos?|exemplos?|beispiele?|contoh)\W*$",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"\S\s*(?:<-{1,2}|←|⇐)\s*[^\W\d_]|\S\s+(?://|#)\s+(?!reqs|fails)[^\W\d_]"
    r"|\S\s*[（(][^()（）]*[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af][^()（）]*[)）]\s*$"
)
_REMARK_ALONE = re.compile(r"^\s*(?:[（(][^()（）]*[^\W\d_][^()（）]*[)）]\s*)+$")
#: A field of a tool's output, with what it means instead of a figure.
_EXPLAINED = re.compile(
    r"^[\s>|*+-]*[`*_]*(?:Thread Stats|Latency|Req/Sec|Requests/sec|Transfer/sec|(?:\+/- )?Stdev|Avg"
    r"|Socket errors|Non-2xx[^`*:：]{0,20}|(?:Complete|Failed|Keep-Alive) requests|Requests per second"
    r"|Time per request"
    r"|Transfer rate|Concurrency Level|Time taken for tests|Connection Times|http_req\w+|http_reqs"
    r"|iterations?(?:_duration)?"
    r"|vus(?:_max)?|data_(?:sent|received)|checks|Latencies|Success|Status Codes|Reqs/sec|Slowest|Fastest)"
    r"[^:：|=—–(]{0,30}(?:[:：|=—–]|\s-\s|是|表示)\s*[`*_]*(?=[^\W\d_])(?!(?:max|min|avg|med|p\d|NaN)\b)",
    re.IGNORECASE,
)


def begins(lines: Sequence[Line]) -> list[int]:
    """For each line, where the fenced block that it stands in begins; its own place outside of any."""
    found: list[int] = []
    fence: int | None = None
    for index, line in enumerate(lines):
        is_fence = _FENCE.match(line.text[:LONGEST_LINE]) is not None
        found.append(index if fence is None else fence)
        if is_fence:
            fence = index if fence is None else None
    return found


def is_example(lines: Sequence[Line], begin: int, first: int, last: int) -> bool:
    """Tell whether the output in such a range of a document's lines, in a block with such a begin, explains a tool."""
    return (
        any(_INTRODUCED.search(text) for text in _above(lines, begin))
        or _remarks(lines[first : last + 1]) >= LEAST_REMARKS
        or len(set(_explained(lines[last + 1 : last + 1 + BELOW_LINES]))) >= LEAST_FIELDS
        or len(set(_explained(lines[max(0, begin - BELOW_LINES) : begin][::-1]))) >= LEAST_FIELDS
    )


def explains_a_tool(lines: Sequence[Line]) -> bool:
    """Tell whether a document is about a load tool: its title names one, and its options are explained one by one.

    Not where a heading announces results: then the explanation introduces the author's own.
    """
    short = [line.text for line in lines if 0 < len(line.text.strip()) <= LONGEST_LINE]
    titles = [text for text in short if _TITLE.match(text)][:1] or short[:1]
    if not any(_TOOL.search(title) for title in (*titles, *short[:1])):
        return False
    if any(text.lstrip().startswith("#") and _OF_RESULTS.search(text) for text in short):
        return False
    options = {match["option"] for text in short if (match := _OPTION.match(text))}
    return len(options) >= LEAST_OPTIONS or any(_USAGE.match(text) for text in short)


def _above(lines: Sequence[Line], begin: int) -> Iterator[str]:
    """Give the last lines of text above a block, up to its heading."""
    left = REACH_LINES
    for line in reversed(lines[max(0, begin - BELOW_LINES) : begin]):
        text = line.text[:LONGEST_LINE]
        if text.strip(" >\t") and not _FENCE.match(text):
            yield text
            left -= 1
            if not left or text.lstrip().startswith("#"):
                return


def _remarks(inside: Sequence[Line]) -> int:
    short = [line.text for line in inside if len(line.text) <= LONGEST_LINE]
    return sum(1 for text in short if _REMARK.search(text) or _REMARK_ALONE.match(text))


def _explained(below: Sequence[Line]) -> Iterator[str]:
    for line in below:
        if line.text.lstrip().startswith("#"):
            return
        if match := _EXPLAINED.match(line.text[:LONGEST_LINE]):
            yield match[0]
