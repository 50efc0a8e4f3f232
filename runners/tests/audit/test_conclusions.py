"""What published documents conclude and quote, held against their own figures: each pattern in small, read right."""

from __future__ import annotations

import pytest

from runners.audit.rule import Remark
from runners.tests.audit.planted import REPORT, of_two, remarks
from runners.tests.fixtures.outputs import CLOSED, FASTER, HEALTHY, SLOWER, replaced

HALF_DONE = replaced(HEALTHY, ("2000.00\n", "1400.00\n"), ("120000 requests", "84000 requests"))
TABLE = "| Metric | Before | After | Change |\n|---|---|---|---|\n"
AT_TIMER = (
    "$ wrk2 -t1 -c8 -d60 -R2000 -s put.lua -L http://localhost:8080\n 50.000%  650us\n 75.000%  960us\n"
    " 90.000%  1.14ms\n"
)


def compared(before: str, after: str, said: str) -> dict[str, Remark]:
    """Remarks on two outputs that are named as old and new, with a sentence below them."""
    return remarks(f"{REPORT}Старая реализация\n\n{before}\nНовая реализация\n\n{after}\n{said}\n")


@pytest.mark.parametrize(
    ("after", "said", "overturned"),
    [
        (SLOWER, "На 99 % новая реализация в 10 раз обгоняет старую.", "20.1 ms to 35.1 ms"),
        (SLOWER, "The new version is faster at p99.", "20.1 ms to 35.1 ms"),
        (SLOWER, "На 99 % новая реализация медленнее.", None),
        (SLOWER, "На 50 % новая реализация быстрее.", "runs of one setting differ as much"),
        (SLOWER, "The new version is faster.", None),  # at which percentile is not said, and one of three is slower
        (HALF_DONE, "Новая реализация быстрее старой.", "1 400/s where the old one achieved 2 000/s"),
        (SLOWER, "Старая реализация быстрее новой.", None),  # true
        (SLOWER, "По профилям на 99 % новая реализация лучше: меньше сэмплов.", None),
    ],
)
def test_a_conclusion_is_held_against_the_pair_above_it(after: str, said: str, overturned: str | None) -> None:
    found = compared(HEALTHY, after, said).get("DOC004")
    assert (found is not None) is (overturned is not None)
    assert found is None or (overturned or "") in found.seen.text.replace("\u202f", " ").replace("\u00a0", " ")


def test_a_sentence_on_a_change_is_held_against_the_pair_of_outputs() -> None:
    assert "says that p99 fell" in compared(HEALTHY, SLOWER, "На p99 задержка снизилась.")["DOC004"].seen.text
    assert "DOC004" not in compared(HEALTHY, SLOWER, "На p99 задержка выросла.")


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("Сервер выдерживает 2600 RPS.", True),
        ("The server sustains 2600 requests per second.", True),
        ("Сервер не выдерживает 2600 RPS.", False),
        ("The server barely handles 2600 requests per second.", False),
        ("Повышение до `put.sh 60 2600` тоже вывезлось.", True),
        ("Сервер не вывез `put.sh 60 2600`.", False),
        ("Сервер выдерживает 9000 RPS.", False),  # no run at that rate is here
    ],
)
def test_a_rate_that_was_missed_is_not_held_because_a_text_says_so(said: str, overturned: bool) -> None:
    missed = replaced(HEALTHY, ("-R2000", "-R2600"))
    assert ("DOC004" in remarks(f"{REPORT}{missed}\n{said}\n")) is overturned
    assert "DOC004" not in remarks(f"{REPORT}{HEALTHY}\nСервер выдерживает 2000 RPS.\n")


@pytest.mark.parametrize(
    "said",
    [
        "На 50% она быстрее, возможно из-за того, что JIT обработал больше кода.",
        "The median is better because of the JIT.",
    ],
)
def test_a_plateau_of_the_timer_is_not_the_compilers(said: str) -> None:
    text = REPORT
    assert "DOC004" in remarks(f"{text}{AT_TIMER}\n{said}\n")
    assert "DOC004" not in remarks(f"{text}{HEALTHY}\n{said}\n")  # its median is far above the timer
    progressive = "Медиана лучше, для неё характерна прогрессивная динамика."
    assert "DOC004" not in remarks(f"{text}{AT_TIMER}\n{progressive}\n")


def test_errors_are_not_compared_with_successes() -> None:
    failed = replaced(HEALTHY, ("Requests/sec:", "  Non-2xx or 3xx responses: 119000\nRequests/sec:"))
    said = "По сравнению с прошлой версией задержка выросла."
    assert "errors for 119" in compared(failed, HEALTHY, said)["DOC004"].seen.text
    assert "DOC004" not in compared(failed, failed, said)


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        (f"{TABLE}| p99 | 40 ms | 30 ms | -50 % |", "says -50 % of p99"),
        (f"{TABLE}| p99 | 40 ms | 30 ms | -25 % |", None),
        (f"{TABLE}| p99 | 40 ms | 30 ms | 33 % faster |", None),
        (f"{TABLE}| Throughput | 900 req/s | 1,200 req/s | +33% |", None),
        (f"{TABLE}| Throughput | 1,200 req/s | 900 req/s | +25% |", "says 25 % of Throughput"),
        (f"{TABLE}| p99 latency | 40 ms | 60 ms | |\n\nThe p99 latency improved.", "says that p99 fell"),
        (f"{TABLE}| p99 latency | 40 ms | 20 ms | |\n\nThe p99 latency improved.", None),
        (f"{TABLE}| Throughput | 900/s | 500/s | |\n\nThroughput increased.", "says that the rate rose"),
        (f"{TABLE}| Throughput | 900/s | 500/s | |\n\nThroughput should have increased.", None),
        ("The server sustains 2600 RPS.\n\nIt does not sustain 2600 RPS.", "line 9 that they are not"),
        ("Сервер держит 9000 RPS.\n\nСервер не держит 9000 RPS.", "line 9 that they are not"),
        ("For GET it sustains 2600 RPS.\n\nFor PUT it does not sustain 2600 RPS.", None),
        ("p99 latency dropped by 75 %.\n\nIn all, p99 latency dropped by 50 %.", "says 50 % of p99, line 7 75 %"),
        ("p99 latency dropped by 75 %.\n\nIn all, p99 latency dropped by 74 %.", None),
        ("p99 latency of GET dropped by 75 %.\n\nOf PUT p99 latency dropped by 50 %.", None),
        ("It improved by 80 % (from 100 ms to 60 ms).", "gives 80 % of from 100 ms to 60 ms"),
        ("It improved by 40 % (from 100 ms to 60 ms).", None),
        ("It is 67 % faster (100 ms → 60 ms).", None),
        ("It improved by 80 % (from 100 ms to 60 s).", None),
        (
            f"{TABLE}| p99 응답 시간 | 40 ms | 60 ms | |\n\np99 응답 시간이 단축되었다.",
            "says that p99 fell",
        ),
        (
            f"{TABLE}| p99 응답 시간 | 40 ms | 20 ms | |\n\np99 응답 시간이 단축되었다.",
            None,
        ),
    ],
)
def test_a_text_is_held_against_its_own_tables_and_against_itself(said: str, overturned: str | None) -> None:
    found = remarks(f"{REPORT}\n{said}\n\n{HEALTHY}").get("DOC004")
    assert (found is not None) is (overturned is not None)
    assert found is None or (overturned or "") in found.seen.text


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("Alpha is faster than Beta.", True),
        ("Beta is slower than Alpha.", True),
        ("Beta is faster than Alpha.", False),
        ("Beta is 2x faster than Alpha.", False),
        ("Beta is 1.5 to 2 times faster than Alpha.", False),
        ("Beta is 5x faster than Alpha.", True),
        ("Beta is 100 times faster than Alpha.", True),
        ("Alpha is as fast as Beta.", True),
        ("Alpha is not faster than Beta.", False),
        ("Alpha uses the CPU better than Beta.", False),
        ("Alpha should be faster than Beta.", False),
        ("Alpha is faster than Gamma.", False),
    ],
)
def test_a_sentence_on_two_things_is_held_against_their_runs(said: str, overturned: bool) -> None:
    assert ("DOC004" in of_two(CLOSED, FASTER, said)) is overturned


def test_two_things_that_are_as_fast_may_be_called_so() -> None:
    assert "DOC004" not in of_two(CLOSED, CLOSED, "Alpha is as fast as Beta.")


def test_runs_at_other_loads_overturn_nothing() -> None:
    other = FASTER.replace("-t2 -c2", "-t2 -c8").replace("2 threads and 2", "2 threads and 8")
    assert "DOC004" not in of_two(CLOSED, other, "Alpha is faster than Beta.")


@pytest.mark.parametrize(
    ("said", "stdev", "overturned"),
    [
        ("Stable performance: minimal variance in response times.", "12.13ms", True),
        ("Stable performance: minimal variance in response times.", " 2.13ms", False),
        ("The response times are consistent.", "12.13ms", True),
        ("The response times are not consistent.", "12.13ms", False),
        ("The server runs the stable release.", "12.13ms", False),
    ],
)
def test_who_calls_response_times_even_is_held_against_their_spread(said: str, stdev: str, overturned: bool) -> None:
    spread = replaced(CLOSED, (" 2.13ms", stdev))
    assert ("DOC004" in remarks(f"{REPORT}{spread}\n## Conclusion\n\n{said}\n")) is overturned


@pytest.mark.parametrize(
    ("said", "misquoted"),
    [
        ("Средняя latency 13.24ms.", True),
        ("Average latency was 5.92 ms.", False),
        ("Average latency is 6 ms.", False),
        ("При rate=2000 сервер захлебнулся и среднее latency 13.24ms.", True),
        ("При rate=9000 среднее latency 13.24ms.", False),  # of a run that is not here
        ("1% реквестов больше 2s.", True),
        ("1% занимает больше 20ms.", False),
        ("99 персентиль 40.2ms.", True),  # the figure of p99.9
        ("99 персентиль 21ms.", False),
    ],
)
def test_a_quote_is_held_against_the_output_above_it(said: str, misquoted: bool) -> None:
    text = f"{REPORT}{HEALTHY}\n{said}\n"
    assert ("DOC002" in remarks(text)) is misquoted


def test_a_row_that_is_misquoted_next_to_one_that_is_not_is_named() -> None:
    quoted = "Среднее 5.92ms, 99.000% = {}, 99.900% = {}\n\n"
    assert "DOC002" in remarks(f"{REPORT}{quoted.format('20.10ms', '61.31ms')}{HEALTHY}")
    assert "DOC002" not in remarks(f"{REPORT}{quoted.format('20.10ms', '40.20ms')}{HEALTHY}")
    assert "DOC002" not in remarks(f"{REPORT}{quoted.format('22.10ms', '61.31ms')}{HEALTHY}")  # of another run


@pytest.mark.parametrize(
    ("said", "misread"),
    [
        ("Среднеквадратичное отклонение составляет 88.38%.", True),
        ("Средняя задержка составила 6 ms при отклонении в 89%.", True),
        ("The standard deviation is 88 %.", True),
        ("Среднеквадратичное отклонение составляет 30%.", False),
        ("Среднеквадратичное отклонение составляет 88.1%.", False),
    ],
)
def test_the_share_within_a_standard_deviation_is_not_the_deviation(said: str, misread: bool) -> None:
    assert ("DOC002" in remarks(f"{REPORT}{said}\n\n{HEALTHY}")) is misread


def test_percentiles_that_are_all_those_of_other_rows_are_misquoted() -> None:
    said = "Задержка растёт между 90-ым перцентилем и 99-ым -- c {} до {}, что много.\n\n"
    more = "Далее профили.\n\n" * 9
    assert "DOC002" in remarks(f"{REPORT}{HEALTHY}\n{more}{said.format('20.10ms', '40.20ms')}")
    assert "DOC002" not in remarks(f"{REPORT}{HEALTHY}\n{more}{said.format('9.30ms', '20.10ms')}")
    assert "DOC002" not in remarks(f"{REPORT}{HEALTHY}\n{more}{said.format('12ms', '35ms')}")  # of another run


def test_a_figure_with_the_wrong_unit_is_named() -> None:
    said = "# Отчёт\n\nНагрузка ровная.\n\nНе более 99.9% запросов занимают 40.20 секунд.\n\n"
    assert "40.2" in remarks(said + HEALTHY)["DOC002"].seen.text


def test_a_percentile_in_words_is_a_quote_too() -> None:
    said = "# Отчёт\n\nНагрузка ровная.\n\nЗдесь {} персентиль 9.30ms.\n\n"
    assert "DOC002" in remarks(said.format("99.9") + HEALTHY)
    assert "DOC002" in remarks(said.format("99-ый") + HEALTHY)
    assert "DOC002" not in remarks(said.format("90-ый") + HEALTHY)


def test_a_rate_that_a_table_copies_wrongly_is_named() -> None:
    table = "| Server | Requests/sec |\n|---|---|\n| Alpha | 200.00 |\n| Beta | {} |\n"
    assert "the output has" in of_two(CLOSED, FASTER, table.format("500.00"))["DOC002"].seen.text
    assert "DOC002" not in of_two(CLOSED, FASTER, table.format("400"))
    assert "DOC002" not in of_two(CLOSED, FASTER, table.format("500.00").replace("200.00", "210.00"))


@pytest.mark.parametrize(
    ("said", "miscounted"),
    [
        ("It is a 10% improvement, from 794 ms to 199 ms.", True),
        ("It is a 10% improvement, but more importantly p99 fell from 794 ms to 199 ms.", False),
    ],
)
def test_a_change_in_percent_of_another_clause_is_of_another_figure(said: str, miscounted: bool) -> None:
    assert ("DOC004" in of_two(CLOSED, FASTER, said)) is miscounted


@pytest.mark.parametrize(("head", "copied"), [("Latency (ms)", "{}"), ("平均时延(ms)", "{}"), ("Latency", "{}ms")])
def test_a_mean_that_a_table_copies_wrongly_is_named(head: str, copied: str) -> None:
    slower = replaced(CLOSED, ("10.00ms    2.13ms", "15.00ms    2.13ms"))
    outputs = f"{REPORT}## Alpha\n\n{CLOSED}\n## Beta\n\n{FASTER}\n## Gamma\n\n{slower}\n## Conclusion\n\n"

    def table(*means: str) -> str:
        rows = zip(("Alpha", "Beta", "Gamma"), means, strict=True)
        return f"Server | {head} | Loss\n-|-|-\n" + "".join(f"{of} | {copied.format(m)} | 1%\n" for of, m in rows)

    assert "a mean of" in remarks(outputs + table("10.00", "5.40", "15.00"))["DOC002"].seen.text
    assert "DOC002" not in remarks(outputs + table("10.00", "5.00", "15.00"))
    assert "DOC002" not in remarks(outputs + table("10.00", "5.40", "15.70"))


@pytest.mark.parametrize(("asked", "named"), [("-t4 -c2", True), ("-t2 -c2", False), ("-t4 -c64", False)])
def test_the_one_command_of_a_document_is_held_against_all_its_outputs(asked: str, named: bool) -> None:
    run = CLOSED.partition("\n")[2]
    text = f"{REPORT}Measured with `wrk {asked} -d1m http://localhost:8080`.\n\n## Alpha\n\n{run}\n## Beta\n\n{run}"
    assert ("DOC001" in remarks(text)) is named


@pytest.mark.parametrize(
    ("row", "misquoted"),
    [
        ("| p95 | 10.00 ms | 5.00 ms |", True),
        ("| Mean | 10.00 ms | 5.00 ms |", False),
        ("| p95 | 10.00 ms | 6.00 ms |", False),
        ("| p50 | 10.02 ms | 5.00 ms |", False),
    ],
)
def test_means_that_a_table_calls_a_percentile_are_named(row: str, misquoted: bool) -> None:
    found = of_two(CLOSED, FASTER, f"| | Alpha | Beta |\n|---|---|---|\n{row}\n")
    assert ("DOC002" in found) is misquoted


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("Success stays at 100% at every load.", True),
        ("All loads ended with zero errors.", True),
        ("Все нагрузки прошли без ошибок.", True),
        ("All loads ended with zero 5xx errors.", False),
        ("There should be no errors at any load.", False),
    ],
)
def test_errors_that_a_conclusion_denies_are_held_against_it(said: str, overturned: bool) -> None:
    failing = HEALTHY.replace("Requests/sec:", "  Non-2xx or 3xx responses: 900\nRequests/sec:")
    text = "{}## One\n\n{}\n## Two\n\n{}\n## Conclusions\n\n{}\n"
    assert ("DOC004" in remarks(text.format(REPORT, HEALTHY, failing, said))) is overturned
    assert "DOC004" not in remarks(text.format(REPORT, HEALTHY, HEALTHY.replace("1.30ms", "1.40ms"), said))


LOADS = (
    "# Load of k6\n\nWe ran it thrice.\n\n| VUs | RPS | p95 |\n|---|---|---|\n| 10 | 900 | 2 ms |\n| 100 | {} | {} |\n"
)


@pytest.mark.parametrize(
    ("rate", "p95", "said", "overturned"),
    [
        ("900", "40 ms", "It runs without degradation.", False),  # of what is not said, and no median is given
        ("400", "40 ms", "The throughput remains stable.", True),
        ("880", "40 ms", "The throughput remains stable.", False),
        ("400", "40 ms", "The throughput remains stable up to 50 users.", False),
    ],
)
def test_who_says_that_nothing_degrades_is_held_against_the_highest_load(
    rate: str, p95: str, said: str, overturned: bool
) -> None:
    assert ("DOC004" in remarks(f"{LOADS.format(rate, p95)}\n{said}\n")) is overturned


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("We sent 1,000,000 requests at once.", True),
        ("We sent 100 requests at once.", False),
        ("It handles 5000 requests per second.", False),
        ("## 500 concurrent connections", True),
        ("## 10 concurrent connections", False),
        ("The pool keeps 500 connections open.", False),
    ],
)
def test_another_number_of_requests_or_connections_than_the_outputs_is_named(said: str, named: bool) -> None:
    ab = "Concurrency Level:      10\nTime taken for tests:   2.000 seconds\nComplete requests:      100\n"
    text = f"{REPORT}{said}\n\n{ab}Failed requests:        0\nRequests per second:    50.00 [#/sec] (mean)\n"
    assert ("DOC001" in remarks(text)) is named


@pytest.mark.parametrize(
    ("listed", "named"),
    [
        ("- c (connection) : 16", True),
        ("- c (connection) : 8", False),
        ("+ keeping 16 HTTP connections open", True),
        ("+ keeping 8 HTTP connections open", False),
        ("* 16 одновременных соединений", True),
    ],
)
def test_a_list_of_parameters_is_held_against_the_output(listed: str, named: bool) -> None:
    text = f"{REPORT}- t (thread) : 1\n{listed}\n- R (rate) : 2000\n\n{HEALTHY.partition(chr(10))[2]}"
    assert ("DOC001" in remarks(text)) is named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Проведено нагрузочное тестирование с помощью wrk2 в одно соединение.", True),
        ("Нагружаем сервер в 64 соединения.", True),
        ("Нагружаем сервер в 8 соединений.", False),
        ("На прошлом этапе нагружали в 64 соединения.", False),
        ("Проведите тестирование wrk2 в несколько соединений (не меньше 16).", False),
    ],
)
def test_a_load_over_connections_that_no_output_has_is_named(said: str, named: bool) -> None:
    assert ("DOC001" in remarks(f"{REPORT}{said}\n\n{HEALTHY}")) is named


def test_threads_in_a_heading_of_threads_and_connections_are_held_against_the_output() -> None:
    assert "DOC001" in remarks(f"{REPORT}## 4 threads and 8 connections\n\n{HEALTHY}")
    assert "DOC001" not in remarks(f"{REPORT}## 1 thread and 8 connections\n\n{HEALTHY}")
    assert "DOC001" not in remarks(f"{REPORT}## A pool of 4 threads\n\n{HEALTHY}")


def test_a_command_of_another_number_of_connections_is_not_the_outputs() -> None:
    command, _, console = HEALTHY.partition("\n")
    text = f"{REPORT}{{}}\n\nВот что вышло с новым сервером:\n{console}"
    assert "asks for 64" in remarks(text.format(command.replace("-c8", "-c64")))["DOC001"].seen.text
    assert "DOC001" not in remarks(text.format(command))
    assert "DOC001" not in remarks(text.format(command.replace("-c8", "-c64").replace("-d60", "-d10")))


def test_threads_that_had_more_responses_than_were_offered_contradict_the_text() -> None:
    cut = HEALTHY.partition("\n")[2].partition("\n  Detailed")[0]
    said = f"{REPORT}- 8 соединений\n- {{}} запросов в секунду\n\n{cut}\n"
    assert "DOC001" in remarks(said.format("1 500"))
    assert "DOC001" not in remarks(said.format("2 000"))


def test_one_output_for_two_numbers_of_connections_is_named() -> None:
    rows = "| 10 | 900 | 2.1 ms | 3.2 ms | 4.3 ms | 5.4 ms |\n| 20 | 950 | 2.1 ms | 3.2 ms | 4.3 ms | {} |\n"
    head = "# Load of k6\n\n| VUs | RPS | p50 | p90 | p95 | p99 |\n|---|---|---|---|---|---|\n"
    assert "DOC003" in remarks(head + rows.format("5.4 ms"))
    assert "DOC003" not in remarks(head + rows.format("5.5 ms"))


def test_a_console_that_stands_for_two_runs_of_a_series_is_named() -> None:
    assert "DOC003" in remarks(f"{REPORT}MAX=10\n\n{CLOSED}\n{FASTER}\nMAX=50\n\n{CLOSED}")
    assert "DOC003" not in remarks(f"{REPORT}{CLOSED}\nThe same once more, to look at its tail:\n\n{CLOSED}\n{FASTER}")


def test_columns_of_the_same_rates_are_of_one_measurement() -> None:
    rows = "| 64 | 8,101 req/s | {0} req/s |\n| 128 | 8,502 req/s | {1} req/s |\n| 256 | 8,603 req/s | 8,603 req/s |\n"
    head = f"{REPORT}\nMeasured with wrk.\n\n## Requests per second\n\n| Connections | Big | Small |\n|---|---|---|\n"
    assert "DOC003" in remarks(head + rows.format("8,101", "8,502"))
    assert "DOC003" not in remarks(head + rows.format("8,101", "7,502"))
