"""Where a text calls one state of a system better or worse than another: in sentences, headings, labels and tables.

English and Russian; in Chinese, Korean, Japanese, Spanish, Portuguese, German and French what says so by itself: a
figure that moved, with by how much or since when. A comparison of loads, of profiles or of what somebody hopes for is
none of states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runners.audit.rules.headings import ADVISED, OF_ONE_RUN, set_against
from runners.audit.rules.sentences import BETTER_OR_WORSE, HOPED_ZH, NUMBER, PROFILE, UNIT, Sentence

#: Another state of the system that a Russian sentence refers to.
_OTHER_STATE = re.compile(
    r"(?i)\b(?:по сравнению|в сравнени[ие]|относительно|по отношению к|(?:предыдущ|прошл[ыоа])\w+|(?<!по-)прежн\w+"
    r"|раньше|оптимизаци\w+|без (?:\w+ )?(?:к[еэ]ш\w*|индекс\w*|шардирования|репликации)|со? (?:к[еэ]ш|индекс)\w+"
    r"|в отличие от|чем (?:в случае|под)|други(?:х|ми) этап\w+|чем (?:до|без|раньше|было(?! в (?:самом )?начале))\b"
    r"|(?:в|на|из) \d[- ]?\w* этап\w+|1 нод\w+|однопоточн\w+|до этого|(?:стар|нов|перв|синхронн"
    r"|асинхронн)\w+ (?:реализаци|верси|сервер|вариант|сервис)\w*|реализаци\w+ [сc] \w+|(?:после|до) (?:добавлени"
    r"|внедрени|изменени|переход|исправлени|некоторой|оптимиз|включени|индекс|замен|настройк|применени)\w*|при переходе"
    r"|при \d+[- ]?х? (?:узл|нод)\w+|чем (?:на|у|при|для|с) (?:остальн|друг|перв|втор|стар)\w+"
    r"|использование (?:\w+ )?кластер\w*)\b"
)
#: What is measured.
_FIGURE = re.compile(
    r"(?i)\b(?:RPS|latency|задерж\w+|(?:не)?производительн\w+|быстродейств\w+|perfo\w*mance|throughput|пропускн\w+|rate"
    r"|рейт\w*|врем\w+ (?:\w+ )?(?:ответ|отклик|обработк|выполнени|ожидани)\w*|отклик\w*|(?:средн"
    r"|максимальн)\w+ (?:врем|latency|значени|показател)\w*|(?:п[еа]р|про)[сц]ентил\w+|точк\w+ разладки"
    r"|запрос\w* в секунд\w+|нагрузк\w*|скорост\w+|в разы|по времени|количеств\w+ (?:\w+ )?(?:запрос|заяв)\w+|отвечать"
    r"|median|p\d\d|response times?|средн(?:ем|ие|им)|в \d+(?:[.,]\d+)? раз\w*|на \d[\d.]* ?%)(?!\w)"
)
_LOAD = re.compile(
    r"(?i)\b(?:RPS|rate|рейт\w*|пропускн\w+|latenc\w+|задерж\w+|запрос\w* в секунд\w+|производительн\w+|throughput"
    r"|(?:п[еа]р|про)[сц]ентил\w+|response times?|requests? per second|req/s|perform(?:s|ed|ance))\b"
)
#: What a system can do, of which a fall or a gain needs no other word.
_CAPACITY = (
    r"(?:производительно(?:ст\w+)?|perfo\w*mance|RPS|рейт\w*|rate|пропускн\w+ способност\w+|количеств\w+ запросов"
    r"|точк\w+ разладки|скорост\w+)(?!\w)"
)
_A_STATE = r"(?:асинхронн|синхронн|стар|нов|перв|прошл)\w+ (?:сервер|реализаци|верси|вариант)\w*"
#: What is measured, as the object of a verb: `уменьшил максимальную задержку`.
_MEASURED = (
    rf"(?:\w+ ){{0,2}}(?:{_CAPACITY}|(?:latency|задерж\w+|отклик\w*|врем\w+ (?:\w+ )?(?:ответ|отклик|обработк"
    r"|выполнени)\w*)(?!\w))"
)
_VERB = r"(?:уменьши|снизи|сократи|увеличи|повыси|улучши|ухудши|ускори)"
#: A fall or a gain that says by itself that something was before.
_GAIN_OR_LOSS = re.compile(
    rf"(?i)\b{_CAPACITY}[^.]{{0,60}}?\b(?:просел\w*|упал\w*|деградировал\w*|ухудшил\w*|улучш\w+|повысил\w*"
    rf"|пришлось снизить)"
    rf"|\bпросел\w*\b[^.]{{0,40}}?\b(?:{_CAPACITY}|latency|относительно|по сравнению)"
    rf"|\b{_CAPACITY}[^.]{{0,30}}?\b(?:увеличил\w*|вырос\w*)[^.]{{0,30}}?\bв (?:\d|нескольк|полтора)"
    r"|\b(?:latency|задержк\w+) (?:ухудшил|улучшил)\w*"
    r"|\b(?:get|put|latency)\b[^.]{0,30}?\b(?:просел\w*|стал\w*\b[^.]{0,20}?(?:по)?(?:лучше|хуже|быстрее|медленнее))"
    rf"|\b(?:снизил\w*|ухудш\w+|улучшил\w*|упал\w*|падени\w*|снижени\w*|прирост\w*|(?:пришлось"
    rf"|удалось) \w+)(?: \w+){{0,2}} "
    rf"{_CAPACITY}"
    rf"|\b{_A_STATE}[^;\n]{{0,60}}?{NUMBER}\s?{UNIT}\b[^;\n]{{0,40}}?\b{_A_STATE}[^;\n]{{0,60}}?{NUMBER}\s?{UNIT}\b"
    r"|\b(?:ситуаци\w|результат\w*|показател\w+)\b[^.]{0,30}?\b(?:улучш\w+|ухудш\w+|(?:лучше|хуже),)"
    r"|\bстал\w* (?:(?:ещ[её]|заметно|значительно|намного|гораздо|немного|чуть) )?(?:лучше|хуже|быстрее|медленнее)\b"
    r"|\bудалось (?:снизить|повысить|увеличить|уменьшить|улучшить|поднять)\b"
    r"|\b(?:нов|стар)\w+ (?:верси|реализаци|вариант)\w*\b[^.]{0,40}?\b(?:быстрее|медленнее|лучше|хуже)"
    r"|\bда[её]т (?:\w+ )?(?:преимуществ|выигрыш|прирост)\w*"
    r"|\b(?:допустим|максимальн|предельн|выдерживаем)\w+ (?:нагрузк\w+|rate|рейт)\b[^.]{0,40}?"
    r"\b(?:вырос|выросл|возрос|увеличил|упал|снизил)\w*[^.]{0,30}?\b[сc] \d"
    r"|\bне повлия\w+ на (?:задержк|latency|производ|врем|скорост|пропускн|RPS)\w*"
    r"|\b(?:производительность|perfo\w*mance|пропускная способность)\b[^.]{0,40}?\b(?:возросла|выросла|снизилась)\b"
    r"|\bколичеств\w+ запросов\b[^.]{0,80}?\b(?:обраб|выдерж)\w+[^.]{0,40}?\b(?:возросло|выросло|увеличилось)\b"
    r"|\bбуст\w* (?:в |по )?(?:производительност|перформанс|perfo)\w*|\bкратно (?:увелич|повы)\w+ производительност\w*"
    r"|\b(?:улучшени|ухудшени)\w+ (?:результат|показател|производительн|скорост)\w*"
    r"|\bтако[ей] (?:падение|снижение|ухудшение)"
    r"|\b(?:больш|заметн|сильн|значительн)\w+ прирост\w* (?:\w+ ){0,2}(?:не )?да(?:л|вал|[её]т)\w*"
    r"|\b(?:проблем|причин)\w+ (?:деграда|дергада)ци\w+ (?:производительност|перформанс|perfo)\w*"
    r"|\b(?:теперь|стал\w*|начал\w*)\b[^.]{0,40}?\b(?:обрабатыва|обслужива|выдержива|держа)\w+ (?:\w+ )?больше\b"
    r"[^.]{0,30}?\bчем\b"
    r"|\b(?:на \d[\d.,]* ?%|в \d[\d.,]* раз\w*) (?:быстрее|медленнее|лучше|хуже)"
    r"|\b(?:быстрее|медленнее)\b[^.]{0,20}? (?:на \d[\d.,]* ?%|в \d[\d.,]* раз\w*)"
    r"|\b(?:(?:не)?значительно|заметно|существенно|сильно|ощутимо|немного|чуть|слегка|резко|кратно)"
    rf" {_VERB}л\w* {_MEASURED}"
    rf"|\b(?:помог|позволил)\w* (?:\w+ )?{_VERB}ть {_MEASURED}"
    rf"|\bприв[её]л\w* к (?:\w+ )?(?:рост|увеличени|повышени|снижени|уменьшени|падени|просадк|улучшени|ухудшени)\w*"
    rf" {_MEASURED}"
    rf"|\b(?:результат\w*|показател\w+|{_CAPACITY}|latency|задерж\w+)(?: \w+){{0,2}} не (?:\w+ )?изменил\w*"
    r"(?: \w+){0,2} (?:[сc]|по сравнению|относительно)\b"
)
#: What its author expects, or says that he did not compare.
_NOT_COMPARED = re.compile(
    r"(?i)\bпредположени[еяю]\b|\bдолжн\w+ (?:был\w* )?(?:\w+ )?(?:снизи|вырас|упа|увелич|уменьш|улучш|ухудш|повыс"
    r"|измени)\w+|\bне (?:получится|получилось|удалось|удастся|вышло|выйдет|можем|могу)\w* (?:\w+ ){0,2}сравн\w+"
    r"|\bсравн\w+ (?:\w+ ){0,4}не (?:получится|получилось|удалось|удастся|вышло|выйдет)\b"
)

_FIGURE_EN = (
    r"(?:throughput|latenc(?:y|ies)|response times?|requests? per sec(?:ond)?|requests?/s(?:ec)?|req/s(?:ec)?|RPS|QPS"
    r"|TPS|p\d{2,3}(?:\.\d+)?|(?:\d{2}(?:\.\d+)?th )?percentiles?|tail|performance|performs?|performed|speed|median"
    r"|average time)"
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
    r"(?!\s*(?:[\d~<>=≈$]|(?:at|with|under|for) (?:\d|lower|higher|low|high|less|more)|expected|usual|ever|it|1 "
    r"|(?:this|that|these)\b))"
)
#: Words that alone say that two states are compared.
_COMPARES_EN = re.compile(
    rf"(?i)\b(?:{_DEGREE}\b[^.|]{{0,40}}? than\b{_A_LIMIT}|outperform\w*|{_TIMES}\s?as (?:many|much|fast)\b"
    rf"|{_TIMES}\s?(?:\w+ )?(?:faster|slower|higher|lower|better|worse|more (?:requests|throughput)|less (?:time"
    r"|latency)|improvement|reduction|increase|decrease|speed-?up|slowdown|gain|drop|degradation|overhead)"
    rf"|{_CHANGED}\b[^.|]{{0,60}}?\b(?:by|of|from)\b[^.|]{{0,20}}?(?:\d|half\b|a (?:third|quarter|factor))"
    r"|(?:compared (?:to|with)|in comparison (?:to|with)|versus|vs\.?|relative to|than the (?:old|previous|original"
    rf"|baseline))\b[^.|]{{0,80}}?\b{_FIGURE_EN}\b|{_FIGURE_EN}\b[^.|]{{0,80}}?\b(?:compared (?:to|with)"
    r"|in comparison (?:to|with)|versus|vs\.?|relative to|as fast as|as before|(?:than|as) the (?:old|previous"
    r"|original|baseline)))"
)
_TIMES_EN = re.compile(_TIMES + rf"\s?(?:\w+ )?{_DEGREE}\b", re.IGNORECASE)
_FIGURES_EN = re.compile(rf"\b{_FIGURE_EN}\b|\b(?:ms|µs|requests)\b|{_TIMES}|\b(?:faster|slower|outperform\w*)\b", re.I)
_CHANGED_FIGURE_EN = re.compile(
    rf"(?i)\b{_FIGURE_EN}\b[^.|]{{0,40}}?\b(?:{_CHANGED}|{_DEGREE}|halved|doubled)\b|\b(?:{_CHANGED}|{_DEGREE})\b"
    rf"[^.|]{{0,40}}?\b{_FIGURE_EN}\b"
)
_STATE_EN = re.compile(
    r"(?i)\b(?:before|previous(?:ly)?|originally|baseline|without|now|after (?:the |adding|enabling|switching|upgrading"
    r"|replacing|removing|applying|introducing|implementing|optimi[sz]\w+|caching|index\w+|tuning|this|these)"
    r"|instead of|old (?:version|implementation|code)|new (?:version|implementation|code)|optimi[sz]ed"
    r"|optimi[sz]ations?|changes?|with (?:the )?(?:cach\w+|index\w*|redis|pool\w*|virtual threads|keep-?alive"
    r"|compression))\b"
)
#: What is hoped for, advised or known of old was not measured here.
NOT_MEASURED = re.compile(
    r"(?i)\b(?:should|could|would|may|might|can (?:be|further|also|help|improve|reduce)|will|recommend\w*"
    r"|consider(?:ing)?|expect(?:ed|s)? (?:to|an?|that|improvement|gain)|(?<![-=])[<>≤≥] ?\d|aims?|(?:does|do"
    r"|did) not (?:isolate|separate|distinguish|measure|compare|cover)|to (?:detect|track|monitor|prevent|catch)|goals?"
    r"|targets?|thresholds?|standards?|if (?:we|you|the)|todo|plan(?:s|ned)? to|in theory|theoretical\w*|next steps?"
    r"|in order to|(?:^|[-*] )(?:add|use|enable|implement|optimi[sz]e|increase|reduce|improve|cache|tune)\b)"
)
#: A figure that is set against a requirement is compared with no state.
_AGAINST_A_LIMIT = re.compile(
    r"(?i)\b(?:SL[AIO]s?|requirements?|требован\w+|лимит\w*|порог\w*|целев\w+|requisitos?|requerimientos?)\b"
    r"|요구 ?사항|要求|指标要求|要件"
)
#: More load makes latency grow: no change of the system.
_WITH_LOAD = re.compile(
    r"(?i)\b(?:as|when|with|while) (?:the )?(?:number of )?(?:load|rate|concurrency|connections|threads|users|VUs"
    r"|traffic)\b|under (?:the )?(?:\w+ )?(?:load|stress|traffic)|(?:higher|more|increas\w+|growing) (?:load"
    r"|concurrency|connections|users|VUs|traffic)|load increas\w+"
)
#: Which setting or thing did best, but for the load at which it did.
_BEST = re.compile(
    r"(?i)\b(?:show(?:s|ed|n)|g(?:ave|ives)|achieve[sd]|deliver(?:s|ed)|produce[sd]|yield(?:s|ed)|obtained|perform(?:s"
    r"|ed)|works?|worked|did|got|had|was|were)\b[^.|]{0,15}?\bbest\b(?: (?:overall )?(?:results?|performance|throughput"
    r"|numbers))? (?:when|with|using|by)\b(?! (?:\w+ ){0,2}\d+ (?:\w+ )?(?:connections|threads|users|VUs|clients|req))"
    r"|\bлучш\w+ (?:результат|показател|производительност)\w*[^.|]{0,20}?\b(?:показа|да|обеспечи|получи)л\w*"
    r"|\b(?:показа|да|обеспечи|получи)л\w* (?:\w+ )?лучш\w+ (?:результат|показател|производит|врем)\w*"
)
#: Why a report was made: `a small project to compare threads and coroutines`.
_AIM = re.compile(
    r"(?i)\b(?:to compare|(?:benchmark|performance|load)(?: tests?)? (?:between|comparing|comparison of))\b[^.|]{0,60}"
    r"\b(?:and|vs\.?|versus|with)\b"
    r"|\b(?:test(?:s|ed|ing)|benchmark(?:s|ed|ing)|compar(?:e[sd]?|ing|ison))\b[^.|]{1,60}? (?:vs\.?|versus) [^\W\d_]"
    r"|\b(?:micro-?)?benchmarks? (?:for|of) [\w.+#/-]+(?:, [\w.+#/-]+)+,? and [\w.+#/-]+"
)
#: An item that says what could be done: `Reduce the overhead by half`.
_TO_DO = re.compile(
    r"(?i)^[\W\d]*(?:[^*|.]{1,60}\*\*:? )?(?:reduce|improve|increase|lower|cut|decrease|boost|migrate|switch|move)\b"
)


@dataclass(frozen=True, slots=True)
class _Language:
    """How a language says that a figure moved: figure, change, by how much or since when; and what was not measured."""

    figure: re.Pattern[str]
    changed: re.Pattern[str]
    how: re.Pattern[str]
    not_measured: re.Pattern[str]


_BY_HOW_MUCH = r"\d+(?:[.,]\d+)?\s?(?:%|％|[x×]\b)|\d\s?(?:→|->|=>)\s?\d"
_FIGURE_ANYWHERE = r"\b(?:QPS|RPS|TPS|P\d{2}|req/s)|latency|throughput"
_BETTER_ZH = r"比(?![较如例重])[^，。,.；]{1,15}?[好快强高慢差]|比不[过上]|不如|逊于"
_LANGUAGES = (
    _Language(  # Chinese
        re.compile(rf"(?i){_FIGURE_ANYWHERE}|吞吐|延迟|时延|耗时|响应时间|性能|速度|并发能力|表现|(?:失败|错误)率"),
        re.compile(
            r"提升|提高|降低|下降|减少|增[加长]|改善|优于|快于|慢于|高[于出]|低于|更[快慢高低好差]|翻倍|[快慢]了"
            rf"|变[快慢高低]|差距|{_BETTER_ZH}"
        ),
        re.compile(
            rf"{_BY_HOW_MUCH}|\d\s?倍|[两三四五六七八九十数]倍|{_BETTER_ZH}|明显|显著|大幅|相比|相较|对比"
            r"|优化[前后](?!端)|之[前后]的|原来|进一步"
        ),
        re.compile(
            rf"{HOPED_ZH}|可以(?!看[出到]|发现|得出)|期望|如果|如需|若需|考虑|随着|越[高多大]|(?:高|低|大|小)于\s?[\d<>=≤≥]|超过\s?\d"
            r"|(?:并发|[连链]接|线程|用户|请求|负载|压力)(?:数|量|度)?[^，。；]{0,10}(?:增[加大长多]|提[高升]|上升)(?:[到至了]|[后时])"
        ),
    ),
    _Language(  # Korean
        re.compile(
            rf"(?i){_FIGURE_ANYWHERE}|처리량|응답 ?(?:시간|속도)|지연|레이턴시|성능|에러율|속도|\d\s?배 ?(?:느려|빨라)"
        ),
        re.compile(
            r"향상|개선|감소|증가|단축|하락|상승|빨라|느려|줄[었어]|늘[었어]|높아|낮아|떨어|절감|빠[르른]|느[리린]"
        ),
        re.compile(rf"{_BY_HOW_MUCH}|\d\s?배|대비|비해|보다|기존|이전|(?:개선|적용|도입|최적화) ?[전후]"),
        re.compile(r"예상|기대|목표|권장|가능성|필요|해야|예정|계획|할 수|효과:|때마다|수록"),
    ),
    _Language(  # Japanese
        re.compile(rf"(?i){_FIGURE_ANYWHERE}|スループット|レイテンシ|応答時間|レスポンス|性能|処理(?:速度|時間)|速度"),
        re.compile(r"向上|改善|低下|短縮|減少|増加|速[くい]|遅[くい]|高速|上回|下回|悪化"),
        re.compile(rf"{_BY_HOW_MUCH}|\d\s?倍|比べ|比較して|従来|以前|(?:改善|最適化|導入|変更)[前後]"),
        re.compile(r"予想|期待|目標|べき|必要|可能|場合|ほど|と思"),
    ),
    _Language(  # Spanish and Portuguese
        re.compile(
            rf"(?i){_FIGURE_ANYWHERE}|\b(?:performance|response times?|latencias?|latências?|rendimiento|desempenho"
            r"|vazão|tiempos? de respuesta|tempos? de resposta|solicitudes por segundo|requisições por segundo)\b"
        ),
        re.compile(
            r"(?i)\b(?:mejor(?:ó|aron|a|as)|empeor\w+|más (?:rápid|lent)\w+|mais (?:rápid|lent)\w+|redu(?:jo"
            r"|jeron|ziu|ce)\w*"
            r"|aument(?:ó|aron|ou|a)|disminuy\w+|diminuiu|increment(?:ó|aron|a)|melhor(?:ou|a)|pior(?:ou|a)|supera)\b"
        ),
        re.compile(
            rf"{_BY_HOW_MUCH}|\d\s?ve(?:ces|zes)\b|(?i:\b(?:respecto a|comparad[oa]|en comparación|que (?:el|la|o"
            rf"|a)|frente a|significativamente|la mitad|o dobro|el doble|diferencia de)\b)"
        ),
        re.compile(
            r"(?i)\b(?:debe\w*|debería|podría|deve\w*|poderia|objetivo|meta|recomiend\w+|recomend\w+|esperad[oa]"
            r"|si|se|cuando|quando)\b"
        ),
    ),
    _Language(  # German
        re.compile(
            rf"(?i){_FIGURE_ANYWHERE}|\b(?:Durchsatz\w*|Latenz\w*|Antwortzeit\w*|(?:Gesamt)?(?:Leistung|performance)\w*"
            r"|(?:Anfragen|Requests) pro Sekunde|Geschwindigkeit)\b"
        ),
        re.compile(
            r"(?i)\b(?:stieg\w*|steigt|gestiegen|sank\w*|sinkt|gesunken|fiel\w*|gefallen|erhöht\w*|verringert\w*"
            r"|verbesser\w+|\w*verschlechter\w+|reduziert\w*|verdoppelt\w*|halbiert\w*|schneller\w*|langsamer\w*"
            r"|höher\w*|niedriger\w*|geringer\w*|besser\w*|schlechter\w*|lag(?:en)?\b[^|]{0,30}\b(?:unter|über))\b"
        ),
        re.compile(
            rf"{_BY_HOW_MUCH}|(?i:\d\s?Prozent|\d\s?(?:-?fach|mal)\b|\b(?:gegenüber|im Vergleich|im Gegensatz"
            r"|(?:vor|zu)her|zuvor|doppelt|deutlich|als (?:der|die|das|bei|mit|ohne|vor|zuvor))\b)"
        ),
        re.compile(
            r"(?i)\b(?:soll(?:te)?\w*|könnte\w*|würde\w*|wäre\w*|muss|müss\w+|darf|Ziel\w*|erwarte\w*|empf[eo]\w+|wenn"
            r"|falls|sobald|je)\b|[<>≤≥]\s?\d"
        ),
    ),
    _Language(  # French
        re.compile(
            rf"(?i){_FIGURE_ANYWHERE}|\b(?:http_req\w+|performances?|latences?|débits?|temps de réponse"
            r"|requêtes par seconde)\b|\bp\d\d\b"
        ),
        re.compile(
            r"(?i)\b(?:améliorations?|amélioré\w*|s'améliore|dégrad\w+|rédui\w+|réduction|baissé?e?s?|augment\w+"
            r"|diminu\w+|plus (?:rapide|lent)\w*|gagn\w+|doubl\w+)\b"
        ),
        re.compile(rf"{_BY_HOW_MUCH}|\d\s?fois\b|(?i:\b(?:par rapport (?:à|au)|comparé\w*|contre|deux fois)\b)"),
        re.compile(
            r"(?i)\b(?:devrai\w+|doi(?:t|vent)|pourrai\w+|objectifs?|cibles?|recommand\w+|attendue?s?|si|quand"
            r"|lorsque)\b"
        ),
    ),
)


def comparing(said: Sequence[Sentence]) -> Iterator[tuple[int, str]]:
    """Find where one state is called better or worse than another, by line and by the words that say it."""
    sides: dict[str, set[str]] = {}
    for index, sentence in enumerate(said):
        text = sentence.text
        if (title := set_against(said, index, sides)) is not None:
            yield sentence.line, title
        elif _of_no_states(text):
            continue
        elif change := _AIM.search(text) or _GAIN_OR_LOSS.search(text) or _best(text):
            yield sentence.line, change[0]
        elif (state := _OTHER_STATE.search(text)) and BETTER_OR_WORSE.search(text) and _FIGURE.search(text):
            yield sentence.line, state[0]
        elif words := _in_english(text) or _elsewhere(text):
            yield sentence.line, words


def _of_no_states(text: str) -> bool:
    """Tell whether a sentence is of a profile alone, a requirement, what could be done, or what was not compared."""
    of_a_profile = PROFILE.search(text) is not None and not _LOAD.search(text)
    return of_a_profile or any(pattern.search(text) for pattern in (_AGAINST_A_LIMIT, _NOT_COMPARED, _TO_DO))


def _best(text: str) -> re.Match[str] | None:
    """Find the words that say what did best, unless they are advice."""
    return None if NOT_MEASURED.search(text) or ADVISED.search(text) else _BEST.search(text)


def _elsewhere(text: str) -> str | None:
    """Give the word by which a sentence in another language says that a figure moved; None where it does not."""
    for language in _LANGUAGES:
        changed = language.changed.search(text)
        if changed and language.figure.search(text) and language.how.search(text):
            return None if language.not_measured.search(text) else changed[0]
    return None


def _in_english(text: str) -> str | None:
    """Give the words by which an English sentence compares two states; None where it does not."""
    if NOT_MEASURED.search(text) or not _FIGURES_EN.search(text) or OF_ONE_RUN.search(text):
        return None
    strong = _COMPARES_EN.search(text)
    if strong and (_TIMES_EN.search(text) or not _WITH_LOAD.search(text)):
        return strong[0]
    changed = _CHANGED_FIGURE_EN.search(text)
    if changed and _STATE_EN.search(text) and not _WITH_LOAD.search(text):
        return changed[0]
    return None
