"""What the audit read wrong, or called wrong, in published documents: each pattern in small, and the right reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import audit, examine
from runners.audit.listing import as_text
from runners.audit.rule import Remark
from runners.readers.documents import text_document
from runners.readers.outputs import Output, find_in, outputs_of
from runners.readers.severity import Severity
from runners.tests.fixtures.outputs import CLOSED, HEALTHY

BARE = HEALTHY.partition("\n")[2]  # no command above it


def outputs(text: str, path: str = "-") -> tuple[Output, ...]:
    return outputs_of(text_document(text, Path(path))).outputs


def remarks(text: str, path: str = "-") -> dict[str, Remark]:
    return {remark.code: remark for remark in examine(outputs(text, path))}


@pytest.mark.parametrize(
    ("text", "path", "rate"),
    [
        (f"## R 3000, eight connections\n{BARE}", "-", 3_000),
        (f"## PUT at 4'000 RPS\n{BARE}", "-", 4_000),
        (f"rate = 3000\n{BARE}", "-", 3_000),
        (f"-Rate 5000 for PUT\n{BARE}", "-", 5_000),
        (BARE, "get18000.txt", 18_000),
        (BARE, "t4_c500_R22000.txt", 22_000),
        (BARE, "put-3500rps(3-3).txt", 3_500),
        (BARE, "wrk-get-64-connections.txt", None),
        (BARE, "put_1000.txt", None),  # it achieved twice as many
        (f"# 9000 RPS\n\n## Later\n{BARE}", "-", 9_000),
        (f"5000 RPS went well.\n\n## Another section\n{BARE}", "-", None),
        (f"![](https://host/images/15000 rps.png)\n{BARE}", "-", None),
        (
            "The rate was found by going from a low one upwards in steps of 10 000 RPS until the latency of the server "
            f"grew.\n{BARE}",
            "-",
            None,
        ),
    ],
)
def test_the_offered_rate_is_read_where_it_stands_and_nowhere_else(text: str, path: str, rate: float | None) -> None:
    (output,) = outputs(text, path)
    assert output.offered_rps == rate


def test_a_heading_goes_before_a_sentence_that_names_another_rate() -> None:
    text = f"### PUT 2500 RPS\nWith some 15000 RPS responses take much longer.\n{BARE}"
    assert outputs(text)[0].offered_rps == 2_500


def test_a_rate_that_a_terminal_wrapped_is_read_whole() -> None:
    (output,) = outputs("$ wrk2 -t1 -c8 -d60 -s put.lua -L http://localhost:8080 -R 20\n00\n" + BARE)
    assert output.offered_rps == 2_000
    assert "RAT001" not in remarks("$ wrk2 -t1 -c8 -d60 -s put.lua -L http://localhost:8080 -R 20\n00\n" + BARE)


SPECTRUM_OF_MANY = HEALTHY.replace(
    "      61.311     1.000000        99920          inf\n",
    "      50.000     1.000000        99919   2097152.00\n      61.311     1.000000        99920          inf\n",
)


def test_a_row_printed_as_one_is_not_the_maximum() -> None:
    assert "1.000000        99919" in SPECTRUM_OF_MANY
    assert "SUM003" not in remarks(SPECTRUM_OF_MANY)


def test_a_third_column_of_another_percentile_is_not_a_maximum() -> None:
    text = HEALTHY.replace("Stdev     Max   +/-", "Stdev     99%   +/-").replace("61.30ms", "20.10ms")
    assert outputs(text)[0].report.latency is not None
    assert "SUM003" not in remarks(text)


def test_a_caption_between_two_pieces_does_not_make_them_one_output() -> None:
    table = "  Latency     2.37ms    1.12ms   7.68ms   68.17%\n"
    text = f"{table}\nThen for a minute:\n\n 50.000%   20.00ms\n 99.000%   90.00ms\n"
    assert len(outputs(text)) == 2
    assert "SUM003" not in remarks(text)


def test_connections_that_open_late_explain_a_small_shortfall() -> None:
    text = HEALTHY.replace("-R2000", "-R2030").replace("-c8", "-c64").replace("8 connections", "64 connections")
    assert {"RAT001", "RAT006"} & set(remarks(text)) == set()
    assert "RAT006" in remarks(HEALTHY.replace("-R2000", "-R2600"))


def test_a_rate_that_was_held_has_no_growing_queue() -> None:
    slow = BARE.replace(" 90.000%    9.30ms", " 90.000%    1.78s ").replace("100.000%   61.31ms", "100.000%   2.33s ")
    text = "$ wrk2 -t1 -c8 -d60 -R2000 -s put.lua -L http://localhost:8080\n" + slow
    found = remarks(text)
    assert "RAT002" not in found
    assert "RAT007" in found


def test_dead_connections_are_counted_by_the_checks_of_two_seconds() -> None:
    errors = "  Socket errors: connect 0, read 0, write 0, timeout 46079\nRequests/sec"
    text = HEALTHY.replace("-d60", "-d120").replace("Running 1m", "Running 2m").replace("in 1.00m", "in 2.00m")
    text = text.replace("120000 requests", "240000 requests").replace("Requests/sec", errors)
    text = text.replace("-c8", "-c1024").replace("8 connections", "1024 connections")
    assert "about 781 connections of 1\u202f024" in remarks(text)["ERR004"].seen.text


def test_connections_that_never_opened_leave_the_latency_to_the_others() -> None:
    errors = "  Socket errors: connect 11, read 0, write 0, timeout 22649\nRequests/sec"
    text = HEALTHY.replace("-c8", "-c1024").replace("8 connections", "1024 connections")
    found = remarks(text.replace("Requests/sec", errors))
    assert "latency is of 243 of 1\u202f024 connections" in found["RAT006"].seen.text
    assert "SUM003" not in found


def test_a_run_that_is_too_short_has_no_warm_up_to_be_left_out() -> None:
    found = remarks(HEALTHY.replace("-d60", "-d10").replace("Running 1m", "Running 10s"))
    assert "RUN001" in found
    assert "RUN004" not in found


@pytest.mark.parametrize("line", ["***", "99%", "[Mean = 5.9, StdDeviation = 3.4]", "Req/Sec 4.25k 0.00 4.25k"])
def test_formatting_between_the_lines_is_no_diagnostic(line: str) -> None:
    assert "RUN003" not in remarks(HEALTHY.replace("  Detailed", f"{line}\n  Detailed"))


def test_a_bare_record_of_the_console_is_not_called_unrepeated() -> None:
    assert "SMP004" not in remarks(HEALTHY)


def test_a_percentile_of_few_samples_matters_where_somebody_quotes_it() -> None:
    few = HEALTHY.replace("100.000%   61.31ms", " 99.990%   55.20ms\n100.000%   61.31ms")
    assert remarks(few)["SMP001"].severity is Severity.NOTE
    assert remarks(f"{few}\n\nThe 99.99% of 55.20 ms is fine.\n")["SMP001"].severity is Severity.WARNING


def test_three_points_on_a_line_are_mostly_the_timer() -> None:
    three = " 50.000%  650us\n 75.000%  960us\n 90.000%  1.14ms\n"
    assert "mostly the generator's timer" in remarks(three)["TIM001"].seen.text


def test_a_median_at_the_timer_is_beside_the_point_where_the_tail_is_far_away() -> None:
    text = " 50.000%  1.60ms\n 75.000%  6.00ms\n 90.000%  29.90ms\n"
    assert "TIM002" not in remarks(text)
    assert "RAT007" in remarks(text)


def test_of_a_queue_nothing_is_said_about_the_maximum() -> None:
    assert "SMP003" in remarks(CLOSED.replace("48.51ms", " 1.98s "))
    text = (
        "$ wrk2 -t1 -c8 -d60 -R100000 -s put.lua -L http://localhost:8080\nRunning 1m test @ http://localhost:8080\n"
        "  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        "    Latency    33.70s    16.00s    59.90s    60.00%\n    Req/Sec    40.00     1.00    41.00     70.00%\n"
        "  9600 requests in 1.00m, 7.53MB read\nRequests/sec:    160.00\nTransfer/sec:    128.52KB\n"
    )
    assert {"RAT001", "RAT002"} <= set(remarks(text))
    assert "SMP003" not in remarks(text)


def test_a_comparison_in_russian_is_read() -> None:
    said = "# Отчёт\n\nСервер нагружен дважды.\n\nПо сравнению с прошлым этапом задержка выросла вдвое.\n\n"
    assert "CMP003" in remarks(said + HEALTHY)


def test_a_figure_with_the_wrong_unit_is_named() -> None:
    said = "# Отчёт\n\nНагрузка ровная.\n\nНе более 99.9% запросов занимают 40.20 секунд.\n\n"
    assert "40.2" in remarks(said + HEALTHY)["DOC002"].seen.text


def test_a_server_that_was_always_too_slow_did_not_collapse() -> None:
    slow = HEALTHY.replace("-R2000", "-R2600")
    assert "RAT009" not in remarks(slow)


def test_before_and_after_are_read_from_the_names_of_consoles(tmp_path: Path) -> None:
    (tmp_path / "get_before.txt").write_text(CLOSED, encoding="utf-8")
    (tmp_path / "get_after.txt").write_text(CLOSED.replace("10.02ms", "10.10ms"), encoding="utf-8")
    assert "CMP001" in {remark.code for remark in audit(find_in(tmp_path)).remarks}
    (tmp_path / "get_after.txt").rename(tmp_path / "put_after.txt")
    assert "CMP001" not in {remark.code for remark in audit(find_in(tmp_path)).remarks}


def test_runs_at_other_rates_are_no_before_and_after() -> None:
    def at(rate: int) -> str:
        return (
            HEALTHY.replace("-R2000", f"-R{rate}")
            .replace("2000.00", f"{rate}.00")
            .replace("120000 r", f"{rate * 60} r")
        )

    assert "CMP001" not in remarks(f"# before\n{at(5500)}\n# after\n{at(7500)}")


@pytest.mark.parametrize(("first", "code"), [(9, "SMP002"), (1, "RUN005")])
def test_an_excerpt_is_not_blamed_where_the_whole_output_lies_beside_it(first: int, code: str, tmp_path: Path) -> None:
    excerpt = "".join(f"{line}\n" for line in HEALTHY.splitlines()[first:13])  # bare percentiles, or all but the end
    (tmp_path / "report.md").write_text(f"# Load\n\n{excerpt}", encoding="utf-8")
    assert code in {remark.code for remark in audit(find_in(tmp_path)).remarks}
    (tmp_path / "whole.txt").write_text(HEALTHY, encoding="utf-8")
    assert code not in {remark.code for remark in audit(find_in(tmp_path)).remarks}


def test_a_median_that_falls_from_output_to_output_is_seen() -> None:
    fast = HEALTHY.replace("-R2000", "-R4000").replace("2000.00", "4000.00").replace("120000 r", "240000 r")
    fast = fast.replace(" 50.000%    5.00ms", " 50.000%    4.00ms")
    assert "RAT005" in remarks(f"{HEALTHY}\n{fast}")
    assert "RAT005" not in remarks(f"{HEALTHY}\n{fast.replace('put.lua', 'get.lua')}")


def test_each_document_has_its_highest_rate_held_and_what_was_taken_above_it() -> None:
    short = HEALTHY.replace("-R2000", "-R2600")
    text = as_text(audit([outputs_of(text_document(f"{HEALTHY}\n{short}", Path("report.md")))]))
    assert "report.md: highest rate held: put 2 000/s; above it: the latency of 1 run, report.md:" in text


def test_a_percentile_in_words_is_a_quote_too() -> None:
    said = "# Отчёт\n\nНагрузка ровная.\n\nЗдесь 99.9 персентиль 9.30ms.\n\n"
    assert "DOC002" in remarks(said + HEALTHY)


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("Видим, что в 4 этапе заметно хуже стали работать на одном и том же rps.", True),
        ("Получили значительный прирост производительности.", True),
        ("Результат асинхронного сервера в разы лучше по времени.", True),
        ("К сожалению, perfomance деградировал.", True),
        ("Количество запросов в секунду пришлось снизить.", True),
        ("У асинхронного сервера 99% выполняется за 9.5ms, у синхронного сервера за 6.9ms.", True),
        ("При переходе к новой реализации время ответа\nзначительно сократилось.", True),
        ("После перехода на кластер сервер перестал держать нагрузку.", True),
        ("The new version is 30 % faster.", True),
        ("The cache reduced the median latency by half.", True),
        ("По сравнению с прошлым этапом вырос процент аллокаций.", False),  # of a profile
        ("Compared with the last profile, locks take more samples.", False),
        ("Заметно выросла latency, в 100 раз.", False),  # with the load
        ("При увеличении нагрузки сервер всё так же отвечает.", False),
        ("[Alloc flame graph](data/stage1/put.html): запросов больше всего здесь.", False),
    ],
)
def test_what_compares_with_another_state_is_known_from_profiles_and_addresses(said: str, compared: bool) -> None:
    text = f"# Отчёт\n\nСервер нагружен дважды.\n\n{said}\n\n{HEALTHY}"
    assert ("CMP003" in remarks(text)) is compared


#: Enough text to be a report.
REPORT = "# Отчёт\n\nСервер был нагружен долго.\nПамять была почти свободна.\n\n"


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


SLOWER = replaced(HEALTHY, ("99.000%   20.10ms", "99.000%   35.10ms"), ("20.101     0.99", "35.101     0.99"))
HALF_DONE = replaced(HEALTHY, ("2000.00\n", "1400.00\n"), ("120000 requests", "84000 requests"))


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


@pytest.mark.parametrize(
    ("said", "overturned"),
    [
        ("Сервер выдерживает 2600 RPS.", True),
        ("The server sustains 2600 requests per second.", True),
        ("Сервер не выдерживает 2600 RPS.", False),
        ("The server barely handles 2600 requests per second.", False),
        ("Сервер выдерживает 9000 RPS.", False),  # no run at that rate is here
    ],
)
def test_a_rate_that_was_missed_is_not_held_because_a_text_says_so(said: str, overturned: bool) -> None:
    missed = replaced(HEALTHY, ("-R2000", "-R2600"))
    assert ("DOC004" in remarks(f"{REPORT}{missed}\n{said}\n")) is overturned
    assert "DOC004" not in remarks(f"{REPORT}{HEALTHY}\nСервер выдерживает 2000 RPS.\n")


AT_TIMER = (
    "$ wrk2 -t1 -c8 -d60 -R2000 -s put.lua -L http://localhost:8080\n 50.000%  650us\n 75.000%  960us\n"
    " 90.000%  1.14ms\n"
)


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


def test_errors_are_not_compared_with_successes() -> None:
    failed = replaced(HEALTHY, ("Requests/sec:", "  Non-2xx or 3xx responses: 119000\nRequests/sec:"))
    said = "По сравнению с прошлой версией задержка выросла."
    assert "errors for 119" in compared(failed, HEALTHY, said)["DOC004"].seen.text
    assert "DOC004" not in compared(failed, failed, said)


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


def test_old_and_new_columns_of_a_table_are_pairs() -> None:
    table = (
        "| | PUT old | PUT new | GET old | GET new |\n|---|---|---|---|---|\n"
        "| 50.000% | 5.00ms | 5.01ms | 2.00ms | 4.00ms |\n| 90.000% | 9.00ms | 9.01ms | 3.00ms | 6.00ms |\n"
        "| 99.000% | 19.00ms | 19.01ms | 4.00ms | 8.00ms |\n| 100.000% | 29.00ms | 29.01ms | 5.00ms | 9.00ms |\n"
    )
    found = [remark for remark in examine(outputs(table)) if remark.code == "CMP001"]
    assert [remark.output.label.strip() for remark in found] == ["PUT new"]


def test_runs_that_say_nothing_of_their_setting_are_no_repeats() -> None:
    table = " 50.000%   5.00ms\n 90.000%   9.00ms\n 99.000%  19.00ms\n100.000%  29.00ms\n"
    text = REPORT + "".join(f"Опыт\n\n{table}\n" for _ in range(3))
    assert "CMP003" in remarks(f"{text}Задержка выросла по сравнению с прошлым этапом.\n")


CAPTIONS = ["```\n\nПерцентили:\n\n```\n", "#### Percentiles\n"]


@pytest.mark.parametrize("caption", CAPTIONS)
@pytest.mark.parametrize("line", ["  Latency Distribution", "  Detailed Percentile", "-" * 58 + "\n"])
def test_a_console_that_a_caption_splits_is_one_output(caption: str, line: str) -> None:
    (output,) = outputs(replaced(HEALTHY, (line, f"{caption}{line}")))
    assert output.missing == ()
    assert "RUN005" not in remarks(replaced(HEALTHY, (line, f"{caption}{line}")))


def test_pieces_whose_figures_disagree_are_two_outputs() -> None:
    other = replaced(
        HEALTHY, ("  Latency Distribution", f"{CAPTIONS[0]}  Latency Distribution"), ("61.30ms", "91.30ms")
    )
    assert len(outputs(other)) == 2


@pytest.mark.parametrize(
    ("said", "rate"), [("Both at 2000 RPS:", 2_000), ("From 2000 to 4000 RPS, 2000, 4000 RPS:", None)]
)
def test_columns_of_before_and_after_have_one_rate_or_none(said: str, rate: float | None) -> None:
    table = (
        f"{said}\n\n| | before | after |\n|---|---|---|\n| 50.000% | 5.00ms | 4.00ms |\n| 90.000% | 9.00ms | 9.01ms |\n"
        "| 99.000% | 19.00ms | 19.01ms |\n| 100.000% | 29.00ms | 29.01ms |\n"
    )
    assert [output.offered_rps for output in outputs(table)] == [rate, rate]


@pytest.mark.parametrize(
    ("said", "other"),
    [("R = 3000:", True), ("При rate = 3000", True), ("rate 2000", False), ("We later tried 3000 RPS too.", False)],
)
def test_a_rate_in_the_text_that_is_not_the_commands_is_named(said: str, other: bool) -> None:
    assert ("DOC001" in remarks(f"{said}\n\n{HEALTHY}")) is other


def test_where_the_generator_ran_is_a_condition() -> None:
    far = replaced(HEALTHY, ("http://localhost:8080", "http://10.0.0.7:8080"))
    said = "# Report\n\nIt had 8 cores and 16 GB RAM.\nA minute of warm-up went before.\nNothing else ran there.\n\n"
    assert "where the generator ran" in remarks(said + far)["RUN006"].seen.text
    assert "RUN006" not in remarks(said + HEALTHY)
    assert "RUN006" not in remarks(f"{said}The generator had a separate host.\n\n{far}")
