"""Tell an author's report from a bare record of outputs: by prose, in any language, and by tables that he made.

Headings, captions, command lines and the fields that a tool prints say nothing by themselves; a report holds at least
one sentence besides, or a table that compares runs. Who loads a public site to show how a tool is called
reports no run. Of a report that tells of a measurement more can be asked than of a page that explains a tool or holds a
table alone: see `tells`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runners.audit.rule import Group
from runners.audit.rules.alternatives import under_one_load
from runners.audit.rules.tables import figure, read
from runners.readers.context import FENCE
from runners.readers.documents import Line
from runners.readers.output import Output
from runners.readers.wrk_console import TRUEPACE_PREFIX

SAID_LINES = 3  # fewer headings and sentences are a title and a caption
NEXT_TO = 2  # lines above an output in which its caption stands
LONGEST_CAPTION = 60  # characters; a longer line that ends with a colon is a sentence
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
_TYPED = re.compile(
    rf"[$\u276f\u279c] |^\s*(?:PS )?\S*[\w\\:)]> |{TRUEPACE_PREFIX} |^RX |^TX "
    r"|\b(?:wrk2?|ab|hey|oha|k6|autocannon|vegeta|redis-benchmark|bombardier)\b.*\s-{1,2}[a-zA-Z]"
    r"|^\s*[\w./-]+ (?:\S+ )?-{1,2}[a-zA-Z]\S*\s.*https?://"
)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\s[^>]*>")
_MARKS = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)*[*_`]*")
_FIELD = re.compile(r"^[^:.|]{1,40}:\s+(?:\S+$|[-+~]?\d)|[^\s.]\s{2,}\S")  # `Pod: ns-1`, `Failed requests:  0`, columns
_WORDS = re.compile(r"[^\W\d_]+(?:[\s,:'\u2019-]+[^\W\d_]+){2}")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{6}|[\uac00-\ud7af]{2,}\s[\uac00-\ud7af]{2,}")
_RULE = re.compile(r"^\s*\|?(?:\s*:?-+:?\s*\|)+\s*(?::?-+:?)?\s*\|?\s*$|^\s*\|?[\s:|-]*-{3,}[\s:|-]*$")
#: The head of a table that lists the figures of one run, as a script makes it out of an output.
_OF_ONE_RUN = re.compile(
    r"(?i)^\s*\|?\s*[*_]*(?:metrics?|stat(?:istic)?s?|parameters?|propert(?:y|ies)|fields?|items?|name|key)\b"
)
#: Sites that tutorials load.
_PUBLIC_SITE = re.compile(
    r"(?i)\b(?:baidu|bing|google|taobao|qq|github|yahoo|wikipedia|example|httpbin|postman-echo|jsonplaceholder)\.\w{2,}"
    r"|\btest(?:-api)?\.k6\.io|\bhttpbin\.test"
)


def is_report(output: Output) -> bool:
    """Tell whether an author says something about the output, or it is the console's record alone."""
    return bool(output.entry) or (
        (output.report.transcribed or is_authored(output.prose)) and not _PUBLIC_SITE.search(output.report.url or "")
    )


#: What is measured.
_FIGURE = re.compile(
    r"(?i)\b(?:latenc(?:y|ies)|throughput|[rqt]ps|req(?:uest)?s?(?:/| per )s\w*|requests|response times?|p\d{2}"
    r"|percentiles?|performance|speed|overhead|bottleneck|errors?|time-?outs?|load|vus|connections)\b"
    r"|задерж\w+|пропускн\w+|производительн\w+|быстродейств\w+|скорост\w+|нагрузк\w+|(?:пер|про)[сц]ентил\w+|отклик\w*"
    r"|запрос\w*|ошиб\w+|延迟|时延|吞吐|性能|响应|耗时|瓶颈|并发|请求|처리|응답|성능|지연|병목|부하|에러|요청"
    r"|スループット|応答|レイテンシ|負荷|\b(?:latencias?|latências?|rendimiento|desempenho|vazão|tiempos? de respuesta"
    r"|tempos? de resposta|solicitudes|requisições|carga|độ trễ|hiệu năng)\b"
)
#: A number, or a word that judges, compares or says how a figure moves.
_SAID_OF_IT = re.compile(
    r"(?i)\d|\b(?:fast\w*|slow\w*|better|best|worse|worst|higher|highest|lower|lowest|good|bad|poor|stable|fine"
    r"|limit\w*|handle[ds]?|held|holds|sustain\w*|survive[ds]?|saturat\w*|degrad\w*|increas\w*|decreas\w*|improv\w*"
    r"|drop\w*|gr[eo]w\w*|rose|fell|doubl\w*|halv\w*|wins?|outperform\w*|mejor\w*|peor\w*|mayor|menor|aument\w*|redu\w*"
    r"|estable|melhor\w*|pior\w*|maior|estável|bien|bem)\b|быстр\w+|медленн\w+|лучш\w+|хуже|выше|ниже|больше|меньше"
    r"|раст[её]т|вырос\w*|упал\w*|сниз\w+|улучш\w+|ухудш\w+|увелич\w+|уменьш\w+|выдерж\w+|справл\w+|держит|стабильн\w+"
    r"|упира\w+|хорош\w+|плох\w+|更|最|提升|提高|下降|降低|增加|减少|稳定|达到|优于|증가|감소|향상|개선|높|낮|빠르|느리"
    r"|안정|단축|向上|低下|増加|減少|安定|改善|速|遅"
)
#: A measurement that its author tells of: in the first person, or as done.
_REPORTED = re.compile(
    r"(?i)\b(?:I|we|you)(?:'ve| have)? (?:\w+ )?(?:ran|run|tested|measured|benchmarked|compared|loaded|saw|see|got"
    r"|found|observed|executed|performed|noticed)\b|\b(?:was|were|been|is|are) (?:\w+ )?(?:loaded|tested|measured"
    r"|benchmarked|compared|executed|performed|launched|taken|captured|collected|carried out)\b|\b(?:was"
    r"|were) (?:\w+ )?(?:run|made|done|conducted|obtained) (?:on|with|using|at|against|over|by|in)\b|\b(?:tested"
    r"|measured|benchmarked|ran|tests run) (?:on|with|using|at|against|over)\b|\b(?:results|runs?) below\b"
    r"|\b(?:тестировал|протестирова|замеря|замерил|измеря|измерил|измерен|запуска|запустил|провод|прове[лд]|нагруж"
    r"|нагрузил|обстрел|стреля|прогнал|прогон)\w*|видим|видно|получил\w*|показал\w*|(?:хорош|отличн|плох|неплох|высок"
    r"|низк)\w+ результат|\b(?:good|great|poor|bad|excellent|impressive) results?\b|进行了|测试了|压了|跑了|测得|测出"
    r"|实测|测定|測定|計測|실측|측정|테스트(?:를 (?:진행|수행)|했|하였|한 결과)|확인|\b(?:probamos|ejecut(?:amos|ó"
    r"|aron)|medimos|midió|se realiz\w+|testei|testamos|medi|foi realizad\w|foram|rodamos|executei)\b"
)
#: Advice, hopes and explanations tell of no measurement.
_NOT_REPORTED = re.compile(
    r"(?i)\b(?:should|could|would|might|may|must|expected|targets?|goals?|thresholds?|recommend\w*|means?|indicates?"
    r"|refers to|represents?|you(?:r|'ll)? (?:can|should|will|get|see|need)|how to|if you)\b"
    r"|\b(?:должн\w+|нужно|ожида\w+|рекоменд\w+|требован\w+|означает)\b|应该|建议|预期|目标|可以|表示|指的是|是指"
    r"|목표|예상|권장|해야|의미|目標|べき|意味|\b(?:debe\w*|debería|objetivo|recomend\w+|significa)\b"
)
#: A line that explains an option, or a step for the reader to take.
_STEP = re.compile(
    r"^\W*-{1,2}[a-zA-Z]|(?i:^\W*(?:\d+[.)]\s*)?(?:to (?:run|start|install|build|execute|test|reproduce)|run|install"
    r"|use|using|start|open|execute|clone|create|see|make sure|first|then|next|запуст\w+|установ\w+|откро\w+"
    r"|использу\w+|первым)\b)|^\W*(?:使用|执行|运行|安装|打开|首先|然后|启动|实行|실행|설치|시작)"
)
_OF_A_REPORT = re.compile(
    r"(?i)\b(?:report|conclusions?|findings|observations?|analysis|takeaways|verdict|informe|relatório|rapport|bericht"
    r"|fazit|conclusi[oó]n(?:es)?|conclus(?:ão|ões)|kesimpulan)\b|отч[её]т|вывод(?:ы|\b)|анализ|итог|报告|報告|结论"
    r"|总结|分析|보고서|리포트|결론|분석|レポート|まとめ|考察"
)
_MACHINE = re.compile(
    r"(?i)\bcores?\b|\bv?CPUs?\b|\bRAM\b|\bxeon|\bryzen|\bepyc|\bintel\b|\bapple m\d|\bmacbook|\bM[1-5]\b|\bi[3579]-?\d"
    r"|\bprocessor|процессор|ядер|ядр[оа]|оперативн|内存|\d\s?核|メモリ|コア|메모리|코어|núcleos|\d\s?GB?\b"
    r"|\bR[3579][ -]?\d{4}"
)
LEAST_SETTINGS = 2
_CODE = ("\t", "    ")  # which a line of code begins with outside a fence
COPIED = 1e-4  # besides half of its last digit, by which a copied figure may miss the printed one
_QUANTITY = re.compile(r"(?i)(?<![\w.,<>~/-])\d[\d.,]*\s?(?:ms|мс|µs|req/s|[rqt]ps|%)(?![^\W\d_])")
LEAST_QUANTITIES = 2
MANY_NUMBERS = 5


def tells(group: Group) -> bool:
    """Tell whether a report is of a measurement, so that its conditions and repeats may be asked for.

    It says what was measured or how, or stands under a heading of a report or of conclusions; without such a sentence
    it holds runs of one load on different things, or states the machine and compares several runs. So
    does a bare record that states it.
    """
    first = group[0]
    if first.entry:
        return True
    if not is_report(first):
        return _states_a_machine(group) and not _PUBLIC_SITE.search(first.report.url or "")
    captions = {_captioned_at(output) for output in group if not output.headings}
    lines = [line.text for line in _outside_fences(first.prose) if line.number not in captions]
    said = [text for text in lines if is_prose(text) and not _STEP.search(text)]
    if any(_is_reported(text) for text in said):
        return True
    stated = [text for text in said if not _NOT_REPORTED.search(text)]
    if sum(1 for text in stated if _QUANTITY.search(text)) >= LEAST_QUANTITIES:
        return True  # in whatever language
    if first.report.transcribed and sum(1 for text in stated if re.search(r"\d", text)) >= MANY_NUMBERS:
        return True
    if said and any(_HEADING.match(text) and _OF_A_REPORT.search(text) for text in lines):
        return True
    if said and _retells(group):
        return True
    if any(not text.startswith(_CODE) for text in said) and under_one_load(group):
        return True
    return _states_a_machine(group)


def _captioned_at(output: Output) -> int | None:
    """Give the number of the line just above an output that names it in a record, and is no sentence with its end."""
    above = [line for line in output.text_above[-NEXT_TO:] if line.text.strip()]
    if not above or output.line - above[-1].number > NEXT_TO:
        return None
    text = above[-1].text.rstrip("*_` ")
    return None if _HEADING.match(text) or text.endswith((".", "!", "?", ":", "。", ",")) else above[-1].number


def _states_a_machine(group: Group) -> bool:
    settings = {(output.headings, output.label, output.connections, output.report.url) for output in group}
    return len(settings) >= LEAST_SETTINGS and any(_MACHINE.search(line.text) for line in group[0].prose)


def _retells(group: Group) -> bool:
    """Tell whether a table of the author's repeats figures of several outputs."""
    rates = {output.place: output.report.requests_per_s for output in group if not output.report.transcribed}
    means = {output.place: output.report.latency.mean for output in group if output.report.latency}
    for table in read(group[0].prose) if len(rates) > 1 else ():
        cells = [figure(cell, head) for _, row in table.rows for head, cell in zip(table.head, row, strict=False)]
        copied = {
            place
            for found in cells
            if found
            for place, value in (means if found[1] else rates).items()
            if value and abs(found[0] - value) <= (found[2] + COPIED) * value
        }
        if len(copied) > 1:
            return True
    return False


def _is_reported(text: str) -> bool:
    if _NOT_REPORTED.search(text):
        return False
    return bool(_REPORTED.search(text) or (_FIGURE.search(text) and _SAID_OF_IT.search(text)))


def is_authored(prose: Sequence[Line]) -> bool:
    """Tell whether lines that are no output are an author's: at least one sentence or table, with what frames it."""
    lines = [line.text for line in _outside_fences(prose)]
    headings = sum(1 for text in lines if _HEADING.match(text))
    sentences = sum(1 for text in lines if is_prose(text))
    heads = [head for head, rule in pairwise(lines) if head.count("|") > 1 and _RULE.match(rule)]
    tables = len(heads) if sentences else sum(1 for head in heads if not _OF_ONE_RUN.match(head))
    return sentences + tables > 0 and headings + sentences + SAID_LINES * tables >= SAID_LINES


def is_prose(text: str) -> bool:
    """Tell whether a line is, or goes on, a sentence: no heading, caption, command, field or row of figures."""
    if _HEADING.match(text) or _TYPED.search(text) or "|" in text:
        return False
    bare = _MARKS.sub("", _PICTURE.sub("", text)).rstrip()
    if _FIELD.search(bare) or (bare.rstrip("*_ ").endswith(":") and len(bare) <= LONGEST_CAPTION):
        return False
    return bool(_WORDS.search(bare) or _WITHOUT_SPACES.search(bare))


def _outside_fences(prose: Sequence[Line]) -> Iterator[Line]:
    """Give the lines that stand in no fence and are no caption of one."""
    fenced = False
    for line, after in pairwise((*prose, Line(-1, ""))):
        opens = FENCE.match(after.text) is not None and not fenced
        caption = opens and len(line.text) <= LONGEST_CAPTION and not line.text.rstrip().endswith((".", "!", "。"))
        if FENCE.match(line.text):
            fenced = not fenced
        elif not fenced and not (caption and not _HEADING.match(line.text)):
            yield line
