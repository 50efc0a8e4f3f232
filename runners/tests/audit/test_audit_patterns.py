"""What the audit read wrong, or called wrong, in published documents: each pattern in small, and the right reading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.audit.audit import audit, examine
from runners.audit.listing import as_text
from runners.audit.rule import Remark
from runners.audit.rules.arithmetic import mean_bounds_us
from runners.readers.documents import text_document
from runners.readers.levels import rank
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


def test_a_document_whose_repeats_lie_beside_it_is_not_called_unrepeated(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(f"{REPORT}{HEALTHY}", encoding="utf-8")
    beside = tmp_path / "second.txt"
    other = SLOWER.replace("-c8", "-c9").replace("8 connections", "9 connections")
    for text, repeated in ((HEALTHY, False), (SLOWER, True), (other, False)):
        beside.write_text(text, encoding="utf-8")  # the same output again is no repeat
        codes = {remark.code for remark in audit(find_in(tmp_path)).remarks}
        assert ("SMP004" not in codes) is repeated


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
    assert "highest rate held: put 2 000/s; above it: the latency of 1 run, report.md:" in text


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
    assert remarks(said + far)["RUN006"].severity == Severity.NOTE
    assert "RUN006" not in remarks(said + HEALTHY)
    assert "RUN006" not in remarks(f"{said}The generator had a separate host.\n\n{far}")


CONDITIONS = {
    "processor and cores": "It had 8 cores.",
    "memory": "It had 16 GB RAM.",
    "warm-up": "A minute of warm-up went before.",
    "heap": "It ran with -Xmx128m.",
    "JDK": "It ran on OpenJDK 25.",
}


@pytest.mark.parametrize("left_out", CONDITIONS)
def test_each_condition_that_is_not_stated_is_named(left_out: str) -> None:
    said = "".join(f"{text}\n" for name, text in CONDITIONS.items() if name != left_out)
    report = f"# Report\n\nThe JVM was loaded for long.\n{said}\n{HEALTHY}"
    assert remarks(report)["RUN006"].seen.text == f"nowhere is said: {left_out}"


@pytest.mark.parametrize(
    ("said", "cores"),
    [
        ("a 12-Core processor", True),
        ("one core of a virtual machine", True),
        ("8 physical cores", True),
        ("ASP.NET Core 3.1", False),
        ("the core of the server", False),
    ],
)
def test_not_every_core_is_a_processors(said: str, cores: bool) -> None:
    text = f"# Report\n\nThe server was loaded for long.\nIt had 16 GB RAM, a warm-up and {said}.\n\n{HEALTHY}"
    assert ("RUN006" not in remarks(text)) is cores


@pytest.mark.parametrize(
    ("stated", "severity"),
    [
        ((), Severity.WARNING),
        (("warm-up",), Severity.WARNING),  # nothing of the machine
        (("processor and cores", "heap", "JDK"), Severity.NOTE),
        (("memory",), Severity.WARNING),  # four are not stated
        (("processor and cores", "memory", "warm-up"), Severity.NOTE),
    ],
)
def test_who_states_most_conditions_is_not_blamed_for_the_rest(stated: tuple[str, ...], severity: Severity) -> None:
    said = "".join(f"{CONDITIONS[name]}\n" for name in stated)
    report = f"# Report\n\nThe JVM was loaded for long.\nIt did well.\n{said}\n{HEALTHY}"
    assert remarks(report)["RUN006"].severity == severity


@pytest.mark.parametrize(
    "said",
    [
        "服务器 8核，内存: 16G，压测前先预热，压测机和服务器是同一台机器。",
        "使用M1芯片16GB内存压测，预热后在localhost运行。",
        "서버는 4코어, 메모리 8GB, 예열 후 로컬에서 측정했다.",
        "サーバーは 2コア、メモリ 4GB。ウォームアップの後、同じマシンで測った。",
        "El servidor tiene 4 núcleos, memoria: 8 GB; calentamiento previo, en la misma máquina.",
    ],
)
def test_conditions_are_read_in_other_languages(said: str) -> None:
    far = replaced(HEALTHY, ("http://localhost:8080", "http://10.0.0.7:8080"))
    assert "RUN006" not in remarks(f"# Report\n\n{said}\n{said}\n\n{far}")


def test_bursts_are_of_a_rate_that_was_held() -> None:
    uneven = replaced(CLOSED, ("50%   10.02ms", "50%    0.10ms"))
    assert "RAT007" not in remarks(uneven)
    k6 = "http_req_duration..............: avg=44ms min=1ms med=1ms max=380ms p(90)=98ms p(95)=99ms\n"
    assert "RAT007" not in remarks(f"{k6}http_reqs......................: 4000   66.6/s\n")


def test_commas_that_an_author_put_into_a_count_are_none_of_its_end() -> None:
    (output,) = outputs(replaced(HEALTHY, ("120000 requests in", "120,000 requests in")))
    assert output.report.requests == 120_000


def test_what_a_script_was_given_is_part_of_a_setting() -> None:
    first = f"$ wrk -t2 -c2 -d1m -s a.lua http://localhost:8080 -- /one\n{CLOSED.partition(chr(10))[2]}"
    other = first.replace("/one", "/two")
    assert "SMP004" not in remarks(f"{REPORT}{first}\n{first}")
    assert "SMP004" in remarks(f"{REPORT}{first}\n{other}")


def test_repeats_are_a_condition_of_the_document() -> None:
    text = as_text(audit([outputs_of(text_document(REPORT + HEALTHY, Path("report.md")))]))
    (line,) = [line for line in text.splitlines() if line.startswith("report.md") and "warning" in line]
    assert ": conditions warning: " in line
    assert line.endswith("[RUN006, SMP004]") or line.endswith("[SMP004, RUN006]")


@pytest.mark.parametrize(
    ("said", "compared"),
    [
        ("The new version is faster than nginx at p99.", True),
        ("Throughput is 30% higher.", True),
        ("Async handles roughly 3 times as many requests as sync.", True),
        ("The latency fell from 20 ms to 5 ms.", True),
        ("Express is 5x faster in Bun.", True),
        ("After adding the cache, throughput improved.", True),
        ("Compared to the baseline, p99 is the same.", True),
        ("## nginx vs Apache", True),
        ("| Metric | Before | After |\n|---|---|---|\n| Errors | 3 | 0 |", True),
        ("| Metric | A | B | Improvement |\n|---|---|---|---|\n| Errors | 3 | 0 | 100 % |", True),
        ("## Without cache\n\nA run.\n\n## With cache\n\nAnother run.", True),
        ("**Без кэша:**\n\nОпыт.\n\n**С кэшем:**\n\nОпыт.", True),
        ("Стало на 20 % быстрее.", True),
        ("С индексом пропускная способность выше.", True),
        ("We should improve throughput by 20 %.", False),
        ("Recommendation: an index would make it 50% faster.", False),
        ("As the load grows, latency is higher than before.", False),
        ("No response took more than 20 ms.", False),
        ("p95 must be lower than 500 ms.", False),
        ("## Before you begin", False),
        ("## With 64 connections\n\nA run.\n\n## Without pauses\n\nA run.", False),
        ("CPU usage is lower than before.", False),  # of a profile
        ("优化后吞吐量明显提升。", True),
        ("QPS 从 500 → 800，延迟降低了一半。", True),
        ("## 优化前", True),
        ("预计吞吐量提升 30%。", False),
        ("并发越高，延迟增加得越明显。", False),
        ("要求 QPS 高于 1000。", False),
        ("처리량이 2배 향상되었다.", True),
        ("기존 대비 응답 시간이 감소했다.", True),
        ("| 지표 | A | B | 변화 |\n|---|---|---|---|\n| 오류 | 3 | 0 | -3 |", True),
        ("처리량 30% 향상이 목표다.", False),
        ("改善後、応答時間は 40% 短縮された。", True),
        ("応答時間は 500ms 以下が必要。", False),
        ("La latencia se redujo un 30 %.", False),  # `se` may be of anything
        ("El servidor nuevo redujo la latencia un 30 %.", True),
        ("A vazão aumentou 2 vezes.", True),
        ("A latência deve diminuir 30%.", False),
        ("- **Latency increase:** > 20% (p95)", False),
        ("Baselines are kept to detect performance regressions.", False),
    ],
)
def test_comparisons_in_words_headings_and_tables_are_told_from_limits_and_hopes(said: str, compared: bool) -> None:
    assert ("CMP003" in remarks(f"{REPORT}{said}\n\n{HEALTHY}")) is compared


@pytest.mark.parametrize(("before", "after"), [("before", "after"), ("without_index", "with_index")])
def test_names_of_consoles_with_and_without_a_change_are_a_pair(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / f"get_{before}.txt").write_text(CLOSED, encoding="utf-8")
    (tmp_path / f"get_{after}.txt").write_text(CLOSED.replace("10.02ms", "10.10ms"), encoding="utf-8")
    assert "CMP001" in {remark.code for remark in audit(find_in(tmp_path)).remarks}


TABLE = "| Metric | Before | After | Change |\n|---|---|---|---|\n"


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
    ],
)
def test_a_text_is_held_against_its_own_tables_and_against_itself(said: str, overturned: str | None) -> None:
    found = remarks(f"{REPORT}\n{said}\n\n{HEALTHY}").get("DOC004")
    assert (found is not None) is (overturned is not None)
    assert found is None or (overturned or "") in found.seen.text


def test_a_sentence_on_a_change_is_held_against_the_pair_of_outputs() -> None:
    assert "says that p99 fell" in compared(HEALTHY, SLOWER, "На p99 задержка снизилась.")["DOC004"].seen.text
    assert "DOC004" not in compared(HEALTHY, SLOWER, "На p99 задержка выросла.")


def runs_of(*levels: str) -> str:
    """Runs of one setting with these values of p99."""
    return "\n".join(replaced(CLOSED, ("99%   24.10ms", f"99%   {level}")) for level in levels)


@pytest.mark.parametrize(
    ("text", "averaged"),
    [
        ("The average p99 was 25 ms.", True),
        ("p99 (averaged over five runs)", True),
        ("avg(histogram_quantile(0.99, rate(latency_bucket[1m])))", True),
        ("Средний 99-й перцентиль 25 мс.", True),
        ("Усреднённые перцентили приведены ниже.", True),
        ("Average latency, p99 and maximum are below.", False),
        ("avg=1.2ms p(95)=3.4ms", False),
        ("| run | p99 |\n|---|---|\n| 1 | 20 ms |\n| 2 | 30 ms |\n| Average | 25 ms |", True),
        ("| run | p99 |\n|---|---|\n| 1 | 20 ms |\n| 2 | 30 ms |\n| Average | 28 ms |", False),  # of all responses
        ("| | run 1 | run 2 | Mean |\n|---|---|---|---|\n| p99 | 20 ms | 30 ms | 25 ms |", True),
        ("| run | p50 | p99 |\n|---|---|---|\n| 1 | 5ms | 20ms |\n| 2 | 7ms | 30ms |\n| Mean | 6ms | 25ms |", True),
        (f"{runs_of('24.10ms', '30.10ms', '36.40ms')}\n99th percentile 30.2ms.", True),
        (f"{runs_of('24.10ms', '30.10ms', '36.40ms')}\n99th percentile 30.1ms.", False),  # the median run's
    ],
)
def test_an_average_of_percentiles_is_named(text: str, averaged: bool) -> None:
    assert ("SMP005" in remarks(f"{REPORT}{text}\n\n{HEALTHY}")) is averaged


def test_the_highest_rate_held_stands_in_the_line_on_load() -> None:
    text = as_text(audit([outputs_of(text_document(f"{HEALTHY}\n{FELL_SHORT}", Path("report.md")))]))
    (line,) = [line for line in text.splitlines() if "highest rate held" in line]
    assert ": load error: " in line
    assert "; highest rate held: put" in line


FELL_SHORT = replaced(HEALTHY, ("-R2000", "-R2600"))


def test_wrks_summary_alone_is_a_closed_loop_and_wrk2s_is_not() -> None:
    summary = "".join(f"{line}\n" for line in CLOSED.splitlines()[1:6] + CLOSED.splitlines()[11:])
    assert "RAT004" in remarks(summary)
    assert "RAT004" not in remarks(f"Rate: 200 RPS\n\n{summary}")
    calibrated = summary.replace(
        "  Thread Stats", "  Thread calibration: mean lat.: 5.199ms, rate sampling interval: 30ms\n  Thread Stats"
    )
    assert "RAT004" not in remarks(calibrated)
    short = replaced(summary, ("Running 1m test", "Running 10s test"), ("in 1.00m", "in 10.00s"))
    assert "RAT004" in remarks(short)
    unsampled = re.sub(r"Req/Sec .*", "Req/Sec     -nan      -nan     0.00      0.00%", short)
    assert "RAT004" not in remarks(unsampled)  # as wrk2 prints it before its calibration is over


def test_another_tools_first_line_is_no_cut_output() -> None:
    text = "Running 10s test @ http://localhost:3000\n100 connections\n\n| Stat | Avg |\n"
    assert outputs(text) == ()


def test_a_mean_near_40_ms_is_a_plateau_only_with_little_spread() -> None:
    lines = replaced(CLOSED, ("Latency    10.00ms", "Latency    41.00ms")).splitlines()
    bare = "".join(f"{line}\n" for line in lines[:6] + lines[11:])
    stdev = lines[4].split()[2]
    assert "NET001" in remarks(bare.replace(stdev, "1.10ms"))
    assert "NET001" not in remarks(bare.replace(stdev, "8.80ms"))


def test_a_plateau_at_40_ms_needs_a_percentile_above_it() -> None:
    k6 = "     http_req_duration..............: avg=44ms min=9ms med=41ms max=380ms p(90)={} p(95)=90ms\n"
    http = k6 + "     http_reqs......................: 4000   66.6/s\n"
    assert "NET001" not in remarks(http.format("58ms"))
    assert "NET001" in remarks(http.format("43ms"))


def test_a_run_of_so_many_requests_waits_for_the_last() -> None:
    text = (TOOLS / "ab-2.4.71.txt").read_text(encoding="utf-8")
    waited = replaced(text, ("100%     24", "100%    950"))
    assert "SMP003" not in remarks(waited)


TOOLS = Path(__file__).resolve().parents[1] / "data" / "tools"


def test_percentiles_of_a_stated_number_of_requests_are_counted() -> None:
    table = " 50.000%   5.00ms\n 90.000%   9.00ms\n 99.000%  19.00ms\n"
    assert "SMP002" in remarks(table)
    assert "SMP002" not in remarks(f"| **Total Requests** | 23,081 |\n\n{table}")
    assert "SMP002" not in remarks(f"- Всего запросов: 1,570\n\n{table}")
    assert "SMP002" not in remarks(f"| http_reqs      | 60 | 5.42 |\n\n{table}")


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ("The results were collected from 5 runs.", True),
        ("Figures are the median of five runs.", True),
        ("Each server was measured 3 times.", True),
        ("We did 5 runs per server.", True),
        ("Среднее по 5 запускам.", True),
        ("每个接口测试了3次。", True),
        ("각 서버를 5회 측정했다.", True),
        ("各サーバーを5回測定した。", True),
        ("Cada prueba fue ejecutada 5 veces.", True),
        ("It was taken from 2 runs.", False),
        ("Run it several times.", False),
        ("压测2次。", False),
    ],
)
def test_an_author_may_say_how_often_he_ran(said: str, repeated: bool) -> None:
    assert ("SMP004" not in remarks(f"{REPORT}{said}\n\n{HEALTHY}")) is repeated


def test_two_runs_of_a_setting_that_are_compared_are_before_and_after() -> None:
    said = "Новая версия быстрее.\n"
    assert "SMP004" not in remarks(f"{REPORT}{HEALTHY}\n{HEALTHY}")
    assert "SMP004" in remarks(f"{REPORT}{HEALTHY}\n{HEALTHY}\n{said}")


def test_a_heading_of_two_things_compares_where_nothing_else_is_said() -> None:
    assert "CMP003" in remarks(f"# one vs another\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# one and another\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# Target vs actual\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# VU별 성능 비교\n\n{CLOSED}\n{SLOW}")


def test_a_rate_in_a_table_of_percentiles_counts_its_samples() -> None:
    table = "| | one | two |\n|---|---|---|\n| 50% | 5.00ms | 6.00ms |\n| 99% | 19.00ms | 20.00ms |\n"
    assert "SMP002" in remarks(table)
    assert "SMP002" not in remarks(f"{table}| Req/sec | 1900.5 | 3630.5 |\n")


def test_labels_of_two_states_compare_where_nothing_else_is_said() -> None:
    assert "CMP003" in remarks(f"Without index:\n\n{CLOSED}\nWith index:\n\n{SLOW}")
    assert "CMP003" not in remarks(f"With index:\n\n{CLOSED}\nWith index:\n\n{SLOW}")


@pytest.mark.parametrize(
    ("without", "having"),
    [
        ("无内存池结果", "添加内存池结果"),
        ("캐시 미적용", "캐시 적용"),
        ("インデックスなし", "インデックスあり"),
        ("Sin índice", "Con índice"),
        ("Без кэша", "С кэшем"),
    ],
)
def test_headings_of_what_a_system_is_with_and_without_compare(without: str, having: str) -> None:
    assert "CMP003" in remarks(f"### {without}\n\n{CLOSED}\n### {having}\n\n{SLOW}")
    assert "CMP003" not in remarks(f"### {having}\n\n{CLOSED}\n### {having}\n\n{SLOW}")


SLOW = replaced(CLOSED, ("50%   10.02ms", "50%   10.12ms"))


@pytest.mark.parametrize(
    ("text", "at_bound"),
    [
        (
            "Loaded by Artillery.\n\n| Metric | Value |\n|---|---|\n| Median | 4,316.6 ms |\n| P95 | 9,999.2 ms |\n",
            True,
        ),
        (
            "Loaded by Artillery.\n\n| Metric | Value |\n|---|---|\n| Median | 4,316.6 ms |\n| P95 | 9,599.2 ms |\n",
            False,
        ),
        ("Loaded by k6.\n\n| Metric | Value |\n|---|---|\n| Median | 450 ms |\n| Max | 60.00 s |\n", True),
        ("Loaded by k6.\n\n| Metric | Value |\n|---|---|\n| Median | 450 ms |\n| Max | 20.00 s |\n", False),
        ("Loaded by Locust.\n\n| Metric | Value |\n|---|---|\n| Median | 450 ms |\n| Max | 10.00 s |\n", False),
    ],
)
def test_a_latency_at_the_time_out_of_its_tool_is_at_a_bound(text: str, at_bound: bool) -> None:
    assert ("SMP003" in remarks(text)) is at_bound


GO_WRK = (
    "  50 goroutine(s) running concurrently\n64782 requests in 29.98s, 8.83MB read\nRequests/sec:\t\t2160.84\n"
    "Avg Req Time:\t\t{}\nSlowest Request:\t356.5ms\n50%:\t\t\t5.6ms\n99%:\t\t\t10.8ms\n99.9%:\t\t\t10.9ms\n"
)


def test_a_mean_that_its_percentiles_do_not_allow_is_a_contradiction() -> None:
    assert "is impossible" in remarks(GO_WRK.format("23.14ms"))["SUM003"].seen.text
    assert "SUM003" not in remarks(GO_WRK.format("7.14ms"))
    assert "at least" in remarks(GO_WRK.format("0.50ms"))["SUM003"].seen.text


@given(st.lists(st.floats(1.0, 1e8), min_size=1, max_size=200), st.sets(st.integers(1, 999), max_size=8))
def test_the_mean_of_any_samples_lies_within_the_bounds_of_their_percentiles(
    samples: list[float], levels: set[int]
) -> None:
    ordered = sorted(samples)
    count = len(ordered)
    rows = [(level / 1000, ordered[rank(count, level / 1000) - 1]) for level in sorted(levels)]
    least, most = mean_bounds_us(rows, ordered[-1])
    slack = (len(rows) + 1) / count * ordered[-1]  # a percentile is that of a whole sample
    assert least - slack <= sum(ordered) / count <= most + slack


def test_a_rate_of_nothing_beside_latencies_is_a_contradiction() -> None:
    table = "Medido con JMeter.\n\n| Stack | P95 (ms) | Throughput (req/s) |\n|---|---|---|\n| one | 131 | {} |\n"
    assert "0/s" in remarks(table.format("0.0"))["SUM003"].seen.text
    assert "SUM003" not in remarks(table.format("30.0"))


def of_two(first: str, second: str, said: str) -> dict[str, Remark]:
    """Two servers measured alike, and what their author says of them."""
    return remarks(f"{REPORT}## Alpha\n\n{first}\n## Beta\n\n{second}\n## Conclusion\n\n{said}\n")


FASTER = replaced(
    CLOSED,
    ("Latency    10.00ms", "Latency     5.00ms"),
    ("10.02ms", " 5.01ms"),
    ("10.20ms", " 5.10ms"),
    ("11.58ms", " 5.79ms"),
    ("24.10ms", "12.05ms"),
    ("48.51ms", "24.25ms"),
    ("12000 requests", "24000 requests"),
    ("Requests/sec:    200.00", "Requests/sec:    400.00"),
)


@pytest.mark.parametrize(
    ("said", "compares"),
    [
        ("Beta wins in every case.", True),
        ("Beta has the highest throughput of all.", True),
        ("Beta показала лучшие результаты.", True),
        ("Beta 性能最高。", True),
        ("Alpha 400, Beta 200: 2x.", True),
        ("Beta should be the fastest.", False),
        ("Is Beta the fastest?", False),
        ("Gamma wins in every case.", False),
        ("Beta is written in another language.", False),
    ],
)
def test_a_sentence_that_ranks_what_the_document_sets_beside_each_other_compares(said: str, compares: bool) -> None:
    assert ("CMP003" in of_two(CLOSED, FASTER, said)) is compares


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


def test_a_rate_that_a_table_copies_wrongly_is_named() -> None:
    table = "| Server | Requests/sec |\n|---|---|\n| Alpha | 200.00 |\n| Beta | {} |\n"
    assert "the output has" in of_two(CLOSED, FASTER, table.format("500.00"))["DOC002"].seen.text
    assert "DOC002" not in of_two(CLOSED, FASTER, table.format("400"))
    assert "DOC002" not in of_two(CLOSED, FASTER, table.format("500.00").replace("200.00", "210.00"))


def test_consoles_beside_each_other_are_two() -> None:
    width = max(len(line) for line in CLOSED.splitlines())
    both = zip(CLOSED.splitlines()[1:], FASTER.splitlines()[1:], strict=True)
    text = "".join(f"{left:{width}} | {right}\n" for left, right in both)
    first, second = outputs(f"# Two\n\n```\n{text}```\n")
    assert [first.report.requests_per_s, second.report.requests_per_s] == [200, 400]
    assert [first.report.latencies.at(0.99), second.report.latencies.at(0.99)] == [24_100, 12_050]


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


def test_an_output_whose_lines_are_items_of_a_list_is_read() -> None:
    (output,) = outputs("".join(f"  * {line.strip()}\n" for line in CLOSED.splitlines()[1:]))
    assert (output.tool, output.report.latencies.at(0.99), output.report.requests_per_s) == ("wrk", 24_100, 200)
