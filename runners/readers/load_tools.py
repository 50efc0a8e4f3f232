"""Which load tool a document speaks of, calls or explains, and whether its requests are sent on a schedule.

An output that is shown to explain a tool is an example, and no rule looks at it: where the line above it says so, in
several languages ("you should see something like this"), where remarks stand on its own lines (`50%  2.9ms  <-- the
median`), or where the text around it explains its fields one by one (`Req/Sec: requests that each thread completed in a
second`). So are the outputs of a page whose title names a load tool and which explains its options, where no heading
announces results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from runners.readers.documents import Line
from runners.readers.wrk_console import LONGEST_LINE

#: What stands before the short name of a tool, so that it is no other word.
_BY = r"(?i:\b(?:with|using|via|by|tools?:|инструмент:?)\s\**|用 ?|工具[:\uff1a为是] ?)"
TOOLS = {
    name: re.compile(pattern, re.ASCII)  # a name may stand between characters of a language without spaces
    for name, pattern in {
        "k6": r"(?i)\bk6\b|\bhttp_req_duration\b|\b\d+ ?VUs?\b|\bVUs?:? \d",
        "autocannon": r"(?i)\bautocannon\b",
        "wrk": r"(?<![\w-])wrk\b",
        "wrk2": r"\bwrk2\b",
        "ab": rf"(?i:apache ?bench)|`ab`|\bab -[nckt]\b|{_BY}ab\b",
        "hey": rf"`hey`|\[hey\]|rakyll/hey|\bhey (?:-[nczqm]\b|commands?\b|load\b|runs?\b)|{_BY}hey\b",
        "oha": rf"`oha`|\boha (?:-[nczq]\b|https?://)|hatoo/oha|{_BY}oha\b",
        "bombardier": r"(?i)\bbombardier\b",
        "vegeta": r"(?i)\bvegeta\b",
        "Gatling": r"(?i)\bgatling\b",
        "JMeter": r"(?i)\bjmeter\b",
        "NBomber": r"(?i)\bnbomber\b",
        "Locust": r"(?i)\blocust\b",
        "Artillery": r"(?i)\bartillery\b",
        "siege": r"(?i)\bsiege\b",
        "rewrk": r"\brewrk\b",
        "go-wrk": r"\bgo-wrk\b",
        "loadtest": r"\bloadtest (?:https?://|-[cnt] \d)|npmjs\.com/package/loadtest",
        "another": r"(?i)\b(?:tsung|yandex[.-]tank|memtier|redis-benchmark|pgbench)\b",
    }.items()
}
#: A line that says with what was measured; where it names several, the first is the one.
_TOOL_FIELD = re.compile(
    r"(?i)^[\s|>*+#-]*(?:\*\*)?(?:(?:load|test|benchmark)(?:ing)? )?(?:tools?|инструмент\w*|测试工具|压测工具|工具"
    r"|테스트 도구|도구|ツール|herramientas?|ferramentas?|tooling|outils?)(?:\*\*)?\s*[:\uff1a|]"
)
#: A command that runs a tool, by which the one that made the figures is known where a document names several.
_CALLED = re.compile(
    r"(?<![\w/.-])(?P<tool>wrk2?|ab|hey|oha|bombardier|autocannon|siege|rewrk|go-wrk|k6|vegeta|locust|artillery|jmeter"
    r"|loadtest)\s+(?:run\b|attack\b|quick\b|-{1,2}[a-zA-Z]|https?://)",
    re.ASCII,
)
_NAME = {name.lower(): name for name in TOOLS}
#: What made the figures of a document that names several tools and calls none of them alone.
OF_SEVERAL = "one of several tools"
#: Tools that send requests on a schedule, or whose reports do not tell whether they do.
MAY_BE_PACED = frozenset({"Artillery", "Gatling", "NBomber", "loadtest", "vegeta", "wrk2"})
ALWAYS_PACED = frozenset({"vegeta"})
NEVER_PACED = frozenset({"ab", "go-wrk", "hey", "rewrk", "siege", "wrk"})
_BY_RATE = re.compile(
    r"(?i)arrival[- ]?rate|\bdropped[ _]iterations\b|\|\s*rate\s*\|.*\|\s*dropped\s*\||\brequests at \d[\d,]*/s for \d"
    r"|^\W*(?:요청 속도|发送速率|请求速率)\W{1,5}\d[\d,]*[05]0\s?[tqr]ps\b|throughput timer|overallRate"
    r"|^\s*rate: ?\d+,?\s*$|users?[ /]?per ?sec|iterations/s for|(?-i:-e RATE=\d|\bRATE=\d)"
    r"|(?<!not )(?<!no )(?<!vs )\bopen[- ](?:loop|model)|开环|恒定(?:速率|QPS)|固定(?:速率|QPS|RPS)|到达率"
    r"|오픈 ?(?:모델|루프)|도착률|고정 ?(?:RPS|TPS)|открыт\w+ модел\w+|(?:постоянн|фиксированн)\w+ (?:интенсивност"
    r"|частот|скорост)\w+|(?:配置|升到|维持|최대|offered|arrival)[^|。.]{0,16}\d\s?(?:[rqt]ps|req/s|iters?/s)\b"
    r"|(?:constant|fixed|steady|постоянн\w+)\s(?:load |нагрузка )?(?:of )?(?:\d[\d,.]*k? ?)?(?:[rt]ps|rate|req/s)\b"
)
#: The rate at which the text says that requests were sent.
_OFFERED = re.compile(
    r"(?i)(?:arrival[- ]rate|\boffered(?: load| rate)?|open[- ](?:model|loop)|恒定|固定|到达率|도착률|고정"
    r"|постоянн\w+|фиксированн\w+)[^|\d]{0,24}?(?P<number>\d{1,3}(?:[, ]\d{3})+|\d{1,7})(?P<kilo>k)?\s?"
    r"(?:/s\b|[rqt]ps\b|(?:req\w*|iter\w*)/s\b|요청/초|건/초|次/秒|请求/秒|запрос\w* в сек\w*)"
)
_HEADING = re.compile(r"\s*#{1,6}\s")
_OF_USERS = re.compile(
    r"(?i)\d\s?k?\+?\s(?:VUs?|(?:virtual |concurrent )?users|closed[- ]loop|пользовател\w+|usuarios|usuários)\b"
)
#: Loads whose rate grows during the run: its mean is below the highest one that was offered.
RAMPS = re.compile(r"(?i)ramping-arrival-rate|rampTo\b")


def called(text: str) -> set[str]:
    """Find the load tools that a text calls by a command."""
    return {_NAME[match["tool"]] for match in _CALLED.finditer(text)}


def named(text: str) -> list[str]:
    return [name for name, pattern in TOOLS.items() if pattern.search(text)]


def named_tool(lines: Sequence[Line]) -> str | None:
    """Name the one load tool that a document speaks of, or of several the one that it calls; None where none is."""
    text = text_of(lines)
    found = named(text)
    if len(found) > 1:
        fields = [name for line in lines if _TOOL_FIELD.match(line.text) for name in named(line.text)]
        called = Counter(_NAME[match["tool"]] for match in _CALLED.finditer(text))
        most = max(called.values(), default=0)
        often = [name for name in found if called[name] == most and 2 * most > called.total()]
        found = [name for name in found if fields and name == fields[0]] or often
    return found[0] if len(found) == 1 and found[0] != "another" else None


def by_rate(lines: Sequence[Line]) -> bool:
    """Tell whether a document says that requests are sent at a rate, whenever the responses come."""
    return any(len(line.text) <= LONGEST_LINE and _BY_RATE.search(line.text) for line in lines)


def by_rate_at(lines: Sequence[Line], first: int, last: int) -> bool:
    """Tell whether the requests of a run are sent at a rate: by its own lines, its section, else by the document.

    `first` and `last` are the lines that give the run's figures; what says how many users there were says that they
    wait.
    """
    for near in ((first, last + 1), _section(lines, first, last)):
        own = [line for line in lines if near[0] <= line.number < near[1]]
        if by_rate(own):
            return True
        if any(len(line.text) <= LONGEST_LINE and _OF_USERS.search(line.text) for line in own):
            return False  # whoever waits is sent nothing more
    return by_rate(lines)


def offered_at_rps(lines: Sequence[Line], first: int, last: int) -> float | None:
    """Read the one rate at which the section of a run says that its requests were sent."""
    begin, end = _section(lines, first, last)
    own = [line.text for line in lines if begin <= line.number < end and len(line.text) <= LONGEST_LINE]
    found = {
        float(re.sub(r"[, ]", "", match["number"])) * (1000 if match["kilo"] else 1)
        for text in own
        for match in _OFFERED.finditer(text)
    }
    return found.pop() if len(found) == 1 else None


def _section(lines: Sequence[Line], first: int, last: int) -> tuple[int, int]:
    """Give where the section begins that holds these lines, and where the next one does."""
    heads = headings(lines)
    begin = max((number for number in heads if number <= first), default=0)
    return begin, min((number for number in heads if number > last), default=lines[-1].number + 1 if lines else 0)


def headings(lines: Sequence[Line]) -> list[int]:
    """Give the lines at which headings stand."""
    return [line.number for line in lines if len(line.text) <= LONGEST_LINE and _HEADING.match(line.text)]


def loads(lines: Sequence[Line]) -> list[int]:
    """Give the lines that say of another load than that above them: the first ones of a section that do."""
    at: list[int] = []
    open_section = False
    for line in lines:
        if len(line.text) > LONGEST_LINE:
            continue
        open_section = open_section or _HEADING.match(line.text) is not None
        if open_section and (_OF_USERS.search(line.text) or _BY_RATE.search(line.text)):
            at.append(line.number)
            open_section = False
    return at


def text_of(lines: Sequence[Line]) -> str:
    return "\n".join(line.text for line in lines if len(line.text) <= LONGEST_LINE)


REACH_LINES = 3  # lines of text above an output in which it is introduced
BELOW_LINES = 40  # in which its fields are explained
LONGEST_EXAMPLE_LINE = 300  # characters that are looked at
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
    r"(?i)\b(?:sample|example|typical) (?:\w+ )?output\b|\boutput (?:example|sample)\b|\b(?:see|get|look|looks|output"
    r"|prints?) (?:\w+ )?(?:something|similar|somewhat|a bit)?\s?(?:like|similar to) (?:this|that|the following|below)"
    r"|\b(?:see|get|print) (?:something|output|a (?:report|summary)) (?:like|similar)|\bsomething like (?:this"
    r"|the following)|\b(?:understanding|interpreting|reading|how to read|explanation of|explaining) (?:the |your "
    r"|its )?(?:[`*]*\w+[`*]* )?(?:output|results?|summary|metrics|report)\b|\bпример(?:ы|ный)? (?:вывод|отч[её]т"
    r"|результат)\w*|\b(?:увидите|получите|выглядит) (?:что-то|примерно|так)|\b(?:ejemplo|exemplo"
    r"|exemple) d[ea] (?:la |una |uma |une )?(?:salida|saída|sortie|resultado|résultat)|\b(?:salida"
    r"|saída) de (?:ejemplo|exemplo)|\bBeispiel(?:ausgabe|ergebnis)|\bcontoh (?:output|hasil|keluaran)"
    r"|\bví dụ (?:về )?(?:kết quả|output)|(?:输出|结果|报告|報告|輸出|結果)(?:的)?(?:示例|样例|例子|範例|解析|解释"
    r"|说明|解读|含义|解説|説明)|(?:示例|样例|範例)(?:输出|结果|輸出|結果)|(?:出力|実行|結果)(?:結果)?(?:の)?例(?!外)"
    r"|結果の(?:見方|読み方)|(?:출력|결과|실행) ?(?:결과 )?예시?\b|예시 ?(?:출력|결과)|\bexamples? of running\b"
    r"|^\W*(?:例子?|示例|예시?|примеры?|examples?|ejemplos?|exemplos?|beispiele?|contoh)\W*$"
)
_REMARK = re.compile(
    r"\S\s*(?:<-{1,2}|←|⇐)\s*[^\W\d_]|\S\s+(?://|#)\s+(?!reqs|fails)[^\W\d_]"
    r"|\S\s*[（(][^()（）]*[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af][^()（）]*[)）]\s*$"
)
_REMARK_ALONE = re.compile(r"^\s*(?:[（(][^()（）]*[^\W\d_][^()（）]*[)）]\s*)+$")
#: A field of a tool's output, with what it means instead of a figure.
_EXPLAINED = re.compile(
    r"(?i)^[\s>|*+-]*[`*_]*(?:Thread Stats|Latency|Req/Sec|Requests/sec|Transfer/sec|(?:\+/- )?Stdev|Avg|Socket errors"
    r"|Non-2xx[^`*:：]{0,20}|(?:Complete|Failed|Keep-Alive) requests|Requests per second|Time per request|Transfer rate"
    r"|Concurrency Level|Time taken for tests|Connection Times|http_req\w+|http_reqs|iterations?(?:_duration)?"
    r"|vus(?:_max)?|data_(?:sent|received)|checks|Latencies|Success|Status Codes|Reqs/sec|Slowest"
    r"|Fastest)[^:：|=—–(]{0,30}(?:[:：|=—–]|\s-\s|是|表示)\s*[`*_]*(?=[^\W\d_])(?!(?:max|min|avg|med|p\d|NaN)\b)"
)


def begins(lines: Sequence[Line]) -> list[int]:
    """For each line, where the fenced block that it stands in begins; its own place outside of any."""
    found: list[int] = []
    fence: int | None = None
    for index, line in enumerate(lines):
        is_fence = _FENCE.match(line.text[:LONGEST_EXAMPLE_LINE]) is not None
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
    short = [line.text for line in lines if 0 < len(line.text.strip()) <= LONGEST_EXAMPLE_LINE]
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
        text = line.text[:LONGEST_EXAMPLE_LINE]
        if text.strip(" >\t") and not _FENCE.match(text):
            yield text
            left -= 1
            if not left or text.lstrip().startswith("#"):
                return


def _remarks(inside: Sequence[Line]) -> int:
    short = [line.text for line in inside if len(line.text) <= LONGEST_EXAMPLE_LINE]
    return sum(1 for text in short if _REMARK.search(text) or _REMARK_ALONE.match(text))


def _explained(below: Sequence[Line]) -> Iterator[str]:
    for line in below:
        if line.text.lstrip().startswith("#"):
            return
        if match := _EXPLAINED.match(line.text[:LONGEST_EXAMPLE_LINE]):
            yield match[0]
