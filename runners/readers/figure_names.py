"""What an author calls a figure, and the value that he gives it, in several languages.

A name is understood word by word or not at all: `p95 応答時間`, `Средний RPS`, `Error rate`, `503 Server Busy`. A value
counts with its unit, which its own text or its name holds; a limit (`<5 ms`) is none.
"""

from __future__ import annotations

import re

UNITS_US = {
    unit: scale
    for scale, units in ((1.0, "us µs μs мкс"), (1e3, "ms мс 毫秒 ミリ秒 밀리초"), (1e6, "s sec с сек 秒 초"))
    for unit in units.split()
}
TIME_UNIT = "|".join(sorted(UNITS_US, key=len, reverse=True))
_A_COUNT = (
    r"(?:http )?(?:req(?:uest)?s?|ops?|operations?|messages?|msgs?|tx|txns?|transactions?|queries|events?|orders?|hits"
    r"|calls|запрос\w*|операци\w+|сообщени\w+|событи\w+|peticiones|solicitudes|requisições|requêtes|anfragen|istek)"
)
RATE_UNIT = (
    rf"{_A_COUNT}\s?(?:/|per |в |por |par |pro )\s?"
    r"(?:s(?:ec(?:ond)?)?\b|с(?:ек\w*)?\b|sn\b|segundo|seconde|sekunde)|[rqt]ps|ops|r/s|/s(?:ec)?"
)
_MINUTE_RATE = re.compile(
    rf"(?i)^[~\u2248\u7ea6\u7d04]?\s?(?P<number>\d[\d,]*(?:\.\d+)?)\s?(?P<kilo>k)?\s?"
    rf"(?:(?:{_A_COUNT})?\s?(?:/|per )\s?(?:min(?:ute)?|мин|dk|分钟?|분)|rpm|tpm)\b"
)
_COUNTED = r"(?:[개건회次个件回]|шт\.?)"  # of what a language counts by a word of its own
#: How long a run took: `1 Hour`, `3m 20s`, `90 seconds`, `9m0s`; a part that stands in brackets says nothing.
_DURATION = re.compile(
    r"(?i)^(?:(?P<hours>\d{1,2}(?:\.\d)?)\s?(?:h|hrs?|hours?|ч|час\w*|小时|시간|時間)\.?\s?)?"
    r"(?:(?P<minutes>\d{1,3}(?:\.\d{1,2})?)\s?(?:m|mins?|minutes?|мин\w*|分钟?|분)\.?\s?)?"
    r"(?:(?P<seconds>\d{1,5}(?:\.\d{1,4})?)\s?(?:s|secs?|seconds?|с|сек\w*|秒|초)\.?)?\s*(?:\([^()]*\))?$"
)
_MINUTES = re.compile(
    r"^(?P<minutes>\d{1,3}(?:\.\d{1,3})?)\s?(?:m(?=\s?\d)|mins?|minutes?|мин|分钟?|분)\.?"
    r"(?:\s?(?P<seconds>\d{1,2}(?:\.\d+)?)\s?(?:s|sec|с|сек|秒|초))?(?!\w)[^\d|]*$"
)
#: What is written in Taiwan and Hong Kong, but not in Japan.
_SIMPLIFIED = str.maketrans("請總數錯誤遲響應測試壓併發線戶", "请总数错误迟响应测试压并发线户")
#: A value may be remarked upon in brackets and behind them, as long as the remark holds no other time.
_REMARK = rf"\s*\([^()]*\)(?:\s*[-\u2013\u2014,;](?!.*\d\s?(?:{TIME_UNIT})(?!\w)).*)?"
_VALUE = re.compile(
    r"(?i)^(?P<number>\d{1,3}(?:[, '\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)\s?(?P<kilo>k(?![a-z])|k(?=rps|qps"
    r"|tps|req))?"
    rf"\s?(?P<unit>%|{RATE_UNIT}|{TIME_UNIT})?{_COUNTED}?(?P<rest>{_REMARK}|\s+\D*)?$"
)
_WHO = re.compile(
    r"(?i)(?<=\d)\s?(?:(?:concurrent |virtual )?(?:vus?|users?|connections?|clients?)|пользовател\w+|соединени\w+|명"
    r"|用户|并发)$"
)
_OUT_OF = re.compile(r"%\s*[,(]\s*\d[\d,]*\s?(?:out of|of|/|из)\s?\d[\d,]*\)?(?: requests)?$")
_ROUGH = re.compile(
    r"(?i)^(?:[~\u2248\u223c\u7ea6\u7d04]|(?:около|примерно|about|approx\.?|circa|environ|aprox\.?)\s)\s?"
)
UNIT_IN_NAME = re.compile(rf"[(\[,\uff08]\s*({TIME_UNIT})\s*[)\]\uff09]?\s*$|[\s_](ms|us|µs|мс)$")
_OF_LATENCY = re.compile(
    r"http_req_duration|(?:\b(?:response|request|latenc(?:y|ies)|times?|duration|percentile|percentil|задержк\w*"
    r"|врем\w+|запроса|обработки|ответа|отклика|(?:пер|про)центиль|latencia|tiempo|duración|latência|tempo|resposta"
    r"|respuesta|overall|total|http|d[aeo]|del|of|the|yanıt|gecikme|süresi|antwortzeit|latenz|réponse|temps|waktu"
    r"|respon|thời gian|phản hồi|độ trễ|e2e|end-to-end|per request|each request)\b)|延迟|[响回]应[时時][间間]|耗时"
    r"|応答時間|レイテンシ|レスポンスタイム|응답 ?(?:시간|속도)|지연 ?시간|성공 ?요청|成功请求|successful requests?"
    r"|успешных запросов|[()\[\]:,]"
)
_P = re.compile(
    r"^p\s?(\d{2}(?:[.,]\d+)?|99\d|999\d)(?:th)?(?:\s?[-\u2013/]\s?\d{2}(?:th|\u00ba|\u00b0|-?й)?)?$"
    r"|^(\d{2}(?:[.,]\d+)?)\s?(?:th|-?й|º|%)(?:\s?(?:ile|line))?(?:\s?p\d{2})?$"
)
#: A percentile of some of the requests; not of another figure.
_P_OF_SOME = re.compile(
    r"^(?!.*(?:\biter|\bgroup|\bws|\bcpu|mem|\blag|\bsize|queue|blocked|connecting|sending|receiving|waiting|\btls|heap"
    r"|\bgc|age\b|delta|diff))[\w/.-]+(?: [\w/.-]+){0,2} p(9\d)$"
)
_STATISTICS = (
    (
        "median",
        re.compile(
            r"^(?:median|med|medyan|trung vị|медиана|медианн\w+|mediana(?: median)?|médiane|median p50|p50 median"
            r"|中位数|中央値|중간값|중앙값)$"
        ),
    ),
    (
        "mean_us",
        re.compile(
            r"^(?:avg\.?|average|mean|ortalama|moyenne?|durchschnitt(?:lich)?|mittelwert|rata-rata|trung bình"
            r"|средн(?:яя|ее|ий)|promedio|medi[oa]|média|médio|平均|평균|平均每个请求)(?: mean| avg)?$"
        ),
    ),
    (
        "max_us",
        re.compile(
            r"^(?:max\.?|maximum|макс\w*|máxim[oa]|máx\.?|slowest|longest|maximal|maximaal|en yüksek|maksimum"
            r"|tối đa|最大值?|最慢|最慢的一个|最长|최대)$"
        ),
    ),
)
#: What distinguishes the rate that was achieved from one that was offered, hoped for or reached for a moment.
_ACHIEVED = (
    r"(?:(?:avg\.?|average|mean|http|overall|total|actual|achieved|effective|measured|sustained|средн\w+|фактическ\w+"
    r"|общ\w+|суммарн\w+|достигнут\w+|实际|平均|実測|実際の?|실제|평균)\s?)?"
)
_NAMES = (
    (
        "offered",
        re.compile(
            r"^(?:target|offered|configured|requested|목표|目标|目標|целев\w+|заданн\w+)\s?"
            r"(?:rps|qps|tps|rate|req/s|load|부하|нагрузка|arrival rate)$"
        ),
    ),
    (
        "rate",
        re.compile(
            rf"^{_ACHIEVED}(?:{RATE_UNIT}|requests? / sec)(?:\s?\(?(?:avg|mean|total|achieved|actual|reached"
            r"|средний)\)?)?$|^(?:http )?request rate$|^(?:(?:초당|성공) )?처리량(?:\s?\([rqt]ps\))?$|^초당 (?:요청"
            r"|처리)(?: ?수)?$|^(?:吞吐量?|处理量|throughput|처리량)\s?/\s?(?:s|sec|秒|초)$|^每秒(?:处理|请求"
            r"|处理请求)数?$|^(?:solicitudes|peticiones|requisições) por segundo$|^(?:taxa de )?requisições/s$"
        ),
    ),
    (
        "throughput",
        re.compile(
            rf"^{_ACHIEVED}(?:throughput|пропускная способность|吞吐量?|vazão)"
            r"(?: (?:observado|observed|measured|medido))?(?:\s?\((?:rps|qps|req/s)\))?$"
        ),
    ),
    (
        "requests",
        re.compile(
            r"^(?:(?:total|completed?|number of|all|#)\s?)?(?:http\s)?(?:requests|reqs|http_reqs)(?:\s(?:sent|made"
            r"|processed|completed|executed|count))?$|^#?\s?samples$|^(?:всего|число|количество|общее (?:число"
            r"|количество)) запросов$|^总请求数?$|^请求数$|^请求总数$|^(?:http)?リクエスト(?:総)?数$"
            r"|^총 ?요청(?: ?수)?$|^요청 ?수$|^(?:total de )?(?:solicitudes|requisições|peticiones)$"
        ),
    ),
    (
        "errors",
        re.compile(
            r"^(?:http_req_failed|#?\s?(?:http )?(?:failed|error|failure|fail)s?(?:\s(?:requests|rate|count|responses"
            r"|percentage|%))?|% ?(?:err(?:\.|ors?)?|errores|failed|ko|ошибок)|(?:err\.?|error|ko) ?%|ko|non-2xx\b.*"
            r"|ошиб(?:ки|ок)|(?:процент|доля|количество|число) ошибок|错误[率数]?|失败率|(?:http ?)?(?:失敗|エラー)率"
            r"|에러율|오류율|실패율|에러(?: ?수)?|실패(?: ?요청)?(?: ?수)?|失败(?:请求)?数?|失敗数?|(?:процент |доля "
            r"|количество |число )?неудачн\w+(?: запрос\w+)?|fallos(?: http)?|errores|erros|(?:tasa"
            r"|taxa)(?: de)? (?:error(?:es)?|erros?|fallos|falhas?)|taux d'(?:erreurs?|échec)|hata(?: oranı| sayısı)?"
            r"|başarısız(?: istek)?|tỷ lệ lỗi|tingkat (?:error|kesalahan)|fehler(?:rate|quote)|(?:solicitudes"
            r"|peticiones) fallidas|requisições (?:com falha|falhas)|requêtes (?:échouées|en échec))$"
        ),
    ),
    (
        "success",
        re.compile(
            r"^(?:success(?:ful|es)?(?:\s(?:requests|rate|ratio|responses))?|success ?%|ok ?%"
            r"|успешност\w|успешны[хе](?: запрос\w+)?"
            r"|(?:процент|доля) успешных(?: запрос\w+)?|(?:请求)?成功[率数]?|成功リクエスト数|성공(?:률|율)?(?: ?요청)?"
            r"|(?:tasa|taxa)(?: de)? (?:éxito|sucesso)|taux de (?:succès|réussite))$"
        ),
    ),
    ("iterations", re.compile(r"^(?:количество итераций|(?:total )?iterations|イテレーション)$")),
    (
        "duration",
        re.compile(
            r"^(?:(?:test|total|run|running|execution|actual)\s)?(?:duration|time taken|run ?time|elapsed(?: time)?)$"
            r"|^(?:длительность|продолжительность)(?: теста| прогона)?$|^(?:压测|测试|持续|运行|总)(?:时长|时间)$"
            r"|^时长$|^(?:총 ?)?(?:실행|테스트|측정|진행) ?시간$|^(?:テスト|実行|計測)時間$|^duraci[oó]n$|^duração$"
            r"|^durée$|^dauer$"
        ),
    ),
    ("dropped", re.compile(r"^(?:k6 )?dropped(?:[ _]iterations?)?$")),
    ("timeouts", re.compile(r"^(?:time-?outs?|таймаут\w*)$")),
    ("threads", re.compile(r"^(?:threads?|поток(?:и|ов)|线程数?|スレッド数?|스레드(?: ?수)?|hilos)$")),
    (
        "connections",
        re.compile(
            r"^(?:(?:max|peak|concurrent|virtual|simultaneous|active)\s){0,2}(?:vus?|connections|concurrency|users"
            r"|clients|соединени[ея])(?:\s\(vus?\))?$|^并发(?:连接|用户)?数?$|^连接数$|^(?:并发 )?vus?$|^最大 ?vus?$"
            r"|^usuarios$|^usuários$|^conex(?:iones|ões)$|^동시 ?(?:접속자|사용자|연결)(?: ?수)?$|^同時(?:接続"
            r"|ユーザー)数$"
        ),
    ),
)
#: What says of all figures of a document that nobody measured them, and headings of sections that say it of theirs.
SIMULATED = re.compile(
    r"(?i)^#{1,6}\s.*[(\uff08\[](?:simulated|시뮬레이션|模拟(?:数据)?|仿真|シミュレーション|симуляци\w+"
    r"|simulad\w+)[)\uff09\]]|\b(?:values|numbers|figures|results|metrics)\b.{0,30}\bare \**(?:illustrative|simulated"
    r"|estimate[sd]|hypothetical|made up|placeholders?|projected|examples)\b"
)
EXPECTED = re.compile(
    r"(?i)[(\uff08\[](?:expected|projected|estimated|illustrative|example|예시|示例|пример|estimad\w+|exemplo|ejemplo)"
    r"[)\uff09\]]|예상|预估|预期|想定|期待される|(?:출력|결과)(?: ?결과)? ?(?:해석|예시)|出力例|结果解读"
    r"|\b(?:interpreting|understanding|reading|how to read) (?:the )?(?:output|results?|summary)\b|\btemplates?\b"
    r"|템플릿|テンプレート|模板|шаблон|\b(?:expected|projected|estimated) (?:results?|performance|metrics|output)\b"
)
NO_MEASUREMENT = re.compile(
    r"(?i)\b(?:targets?|goals?|slos?|slas?|thresholds?|expected|estimated|projected|objectives?|limits?|criteria"
    r"|requirements?|budgets?|change|improvement|delta|diff|example|theoretical|цел[ьи]|порог\w*|ожида\w+|критери\w+"
    r"|требовани\w+|изменени\w+|прирост\w*|crit[eé]rios?|metas?)\b|目标|指标要求|标准|基準|목표|기준"
)
HOPED = re.compile(
    r"(?i)\b(?:should|must|would|could|up to|expect\w*|warm-?up|ramp\w*|должн\w+|до \d)\b|应该|预计|목표|예상|해야|예열"
)
_ASIDE = re.compile(r"\s*\((?!\w{0,3}\d|[a-zµμ/]{1,5}\))[^()]*\)|\s*\(\d+t, ?\d+c\)|\s+#\s.*$")
#: A count of responses by their status: `503 Server Busy`, `HTTP 429`, `4xx`; a number of users is none.
_STATUS = re.compile(
    r"^(?:http\s?(?P<named>[1-5])(?:\d\d|xx)|(?P<class>[1-5])xx|(?P<code>[1-5])\d\d\s(?=[^\W\d_]))(?!\d)"
    r"(?!\s?(?:v?users?\b|vus?\b|conn|clients?|threads?|concurren|req|[rqt]ps|iter|times|byte|[kmg]i?b\b|[mu]?s\b|sec"
    r"|min|동시|명|연결|并发|用户|线程|连接|пользоват|соединен|поток|usu|conex))"
)
_CLASSES = re.compile(r"\b([1-5])xx\s*[:=-]\s*(\d[\d,]{0,14})")
LEAST_CLASSES = 2  # of one line


def figure_name(text: str, of_some: bool = False) -> tuple[str, float | None] | None:
    """Understand what a figure is called, and the microseconds of the unit that its name holds.

    `of_some` says whether a percentile of some of the requests (`login p95`) counts too.
    """
    name = plain(text).translate(_SIMPLIFIED)
    unit = UNIT_IN_NAME.search(name)
    scale = UNITS_US[unit[1] or unit[2]] if unit else None
    name = (name[: unit.start()] if unit else name).strip(" :")
    if status := _STATUS.match(name):
        first = status["named"] or status["class"] or status["code"]
        return f"status:{first}:{status[0].strip()}", None
    name = _ASIDE.sub("", name).strip(" :")
    for key, pattern in _NAMES:
        if pattern.match(name):
            return ("rate" if key == "throughput" and "(" in name else key), scale
    rest = re.sub(r"\s+", " ", _OF_LATENCY.sub(" ", name)).strip().replace("p ", "p")
    if level := _P.match(rest):
        digits = (level[1] or level[2]).replace(",", ".")
        percent = float(digits) if "." in digits or len(digits) == 2 else float(f"{digits[:2]}.{digits[2:]}")
        return f"p:{round(percent / 100, 9)}", scale
    if not rest and re.fullmatch(r"(?:response |request )?latency", name):
        return "mean_us", scale  # wrk, bombardier and autocannon call it so
    for key, pattern in _STATISTICS:
        if pattern.match(rest):
            return ("p:0.5" if key == "median" else key), scale
    if " / " in name:
        return next(filter(None, map(figure_name, name.split(" / "))), None)
    if of_some and (level := _P_OF_SOME.match(rest)):
        return f"p:0.{level[1]}", scale  # `login p95`, `읽기 P95`
    return None


def value(text: str, name: str, scale_us: float | None, rough: bool = False) -> tuple[str, float] | None:
    """Read a value of a figure: its final name and number; None where it is none.

    `rough` says whether a time or a rate that an author rounds (`~27 ms`) counts too.
    """
    bare = re.sub(r"[*`\u00b9\u00b2\u00b3\u2020]|\s#\s.*$|[\u2300-\u27bf\U0001f300-\U0001faff\ufe0f]", "", text).strip()
    of_time = name.startswith("p:") or name.endswith("_us")
    if name in ("rate", "throughput", "requests") and (each := _MINUTE_RATE.match(bare)):
        return "rate", float(each["number"].replace(",", "")) * (1000 if each["kilo"] else 1) / 60
    if name == "duration":
        took = _DURATION.match(bare)
        parts = [float(part or 0) for part in took.groups()] if took else []
        total = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=True)) if parts else 0.0
        return (name, total) if total else None
    if about := _ROUGH.match(bare):
        if not rough or not (of_time or name in ("rate", "throughput")):
            return None
        bare = bare[about.end() :]
    if of_time and (both := _MINUTES.match(bare)):
        return name, (float(both["minutes"]) * 60 + float(both["seconds"] or 0)) * 1e6
    if name == "connections":
        bare = _WHO.sub("", bare)
    if name in ("errors", "success"):
        bare = _OUT_OF.sub("%", bare)
    match = _VALUE.match(bare)
    if match is None:
        return None
    digits, unit = match["number"], (match["unit"] or "").lower()
    if of_time and re.fullmatch(r"\d{1,3},\d{3}", digits):
        return None  # thousands or a decimal comma
    bare_digits = re.sub(r"[ '\u00a0\u202f]|,(?=\d{3}(?:\D|$))", "", digits).replace(",", ".")
    number = float(bare_digits) * (1000 if match["kilo"] else 1)
    if of_time:
        scale = UNITS_US.get(unit, scale_us if not unit else None)
        return (name, number * scale) if scale else None
    if unit == "%" and name == "success":
        return ("success_share", number / 100) if number <= 100 else None
    if unit == "%":
        return ("error_share", number / 100) if name == "errors" and number <= 100 else None
    is_rate = bool(unit) and unit not in UNITS_US
    if name == "requests" and is_rate:
        return "rate", number
    if name in ("rate", "throughput", "offered"):
        final = "offered" if name == "offered" else "rate"
        plain_rate = not unit and name != "throughput" and not has_words(match["rest"])
        return (final, number) if is_rate or plain_rate else None
    return (name, number) if not unit and not has_words(match["rest"]) and number == int(number) else None


def status_classes(text: str) -> dict[str, float]:
    """Read the counts of responses by the class of their status, where one line gives several: `2xx: 20  4xx: 5`."""
    found = _CLASSES.findall(text)
    if len({first for first, _ in found}) != len(found) or len(found) < LEAST_CLASSES:
        return {}
    return {f"status:{first}:{first}xx": float(count.replace(",", "")) for first, count in found}


def plain(text: str) -> str:
    """Leave out emphasis, code marks and pictures, and put everything into small letters."""
    text = text.replace("\uff08", " (").replace("\uff09", ")")
    bare = re.sub(r"\s?\([45](?:\d\d|xx)\)|[*`_]{2,}|[*`]|[\u2300-\u27bf\U0001f300-\U0001faff\ufe0f]", "", text)
    return re.sub(r"\s+", " ", bare).strip().lower()


def has_words(rest: str | None) -> bool:
    """Tell whether more than brackets stands behind a number."""
    return bool(rest) and re.search(r"[^\W\d_]", re.sub(r"\([^()]*\)", "", rest or "")) is not None
