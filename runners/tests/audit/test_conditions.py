"""Conditions that a published document states, and how often it repeats a run: each pattern in small, read right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runners.audit.audit import audit
from runners.audit.listing import as_text
from runners.readers.documents import text_document
from runners.readers.finding import Severity
from runners.readers.outputs import find_in, outputs_of
from runners.tests.audit.planted import REPORT, remarks
from runners.tests.fixtures.outputs import CLOSED, FASTER, HEALTHY, SLOWER, replaced


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
        (("processor and cores", "warm-up"), Severity.WARNING),  # nothing of memory, neither the machine's nor the heap
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
        "Der Server hat vier Kerne und 16 GB Arbeitsspeicher; nach dem Aufwärmen, auf demselben Rechner.",
        "Le serveur a quatre cœurs et 8 GB de mémoire ; après préchauffage, sur la même machine.",
        "El servidor tiene 4 núcleos, memoria: 8 GB; calentamiento previo, en la misma máquina.",
    ],
)
def test_conditions_are_read_in_other_languages(said: str) -> None:
    far = replaced(HEALTHY, ("http://localhost:8080", "http://10.0.0.7:8080"))
    assert "RUN006" not in remarks(f"# Report\n\n{said}\n{said}\n\n{far}")


@pytest.mark.parametrize(
    ("said", "missing"),
    [
        ("CPU: [put_cpu](./profiler/put_cpu.png)", "cores"),
        ("**CPU:**\n\n![put_cpu](put_cpu.svg)", "cores"),
        ("|     | CPU | Alloc | Lock |\n| --- | --- | ----- | ---- |\n| GET | a | b | c |", "cores"),
        ("CPU: AMD", None),
        ("Изменения были доступны из java\n3.19% времени тратилось на запись.", "JDK"),
        ("Снимали async profiler под нагрузкой.", "JDK"),
        ("`./profiler.sh -e alloc -d 30 -f put.html 194`", "heap"),
        ("Характерна прогрессивная динамика.", "warm-up"),
        ('Возможно, java машина могла и не успеть, или ноутбук и JVM могли "прогреться".', "warm-up"),
        ("Сервер был прогрет.", None),
    ],
)
def test_a_link_to_a_profile_and_a_guess_state_no_condition(said: str, missing: str | None) -> None:
    found = remarks(f"{REPORT}{said}\n\n{HEALTHY}")["RUN006"].seen.text
    assert (missing or "cores") in found if missing else ("cores" not in found or "warm-up" not in found)


def test_a_figure_of_the_next_line_is_no_amount_of_memory() -> None:
    text = remarks(f"{REPORT}通过共享内存通知。\n\n任务使用共享内存\n\n5ms 性能如下。\n\n{HEALTHY}")["RUN006"].seen.text
    assert "memory" in text


def test_long_captions_of_a_record_tell_of_no_measurement() -> None:
    captions = [
        "Отдача статического документа через nginx",
        "Отдача динамического документа напрямую через gunicorn",
        "Отдача динамического документа через проксирование запроса с nginx на gunicorn, при кэшировании на nginx",
        "Отдача динамического документа через проксирование запроса с nginx на gunicorn, с ограничением памяти",
    ]
    printed = [output.partition("\n")[2] for output in (CLOSED, FASTER, FASTER, FASTER)]
    record = "".join(f"{caption}\n\n{each}____\n" for caption, each in zip(captions, printed, strict=True))
    assert not {"RUN006", "SMP004"} & {*remarks(record)}
    assert {"RUN006", "SMP004"} <= {*remarks(f"# Лабораторная работа\n\n{record}")}
    assert {"RUN006", "SMP004"} <= {*remarks(f"Сервер был нагружен на одной машине.\n\n{record}")}


def test_a_bare_record_of_the_console_is_not_called_unrepeated() -> None:
    assert "SMP004" not in remarks(HEALTHY)


def test_a_document_whose_repeats_lie_in_its_folder_is_not_called_unrepeated(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text(f"{REPORT}{HEALTHY}", encoding="utf-8")
    second = tmp_path / "second.txt"
    other = SLOWER.replace("-c8", "-c9").replace("8 connections", "9 connections")
    for text, repeated in ((HEALTHY, False), (SLOWER, True), (other, False)):
        second.write_text(text, encoding="utf-8")  # the same output again is no repeat
        codes = {remark.code for remark in audit(find_in(tmp_path)).remarks}
        assert ("SMP004" not in codes) is repeated


def test_what_a_script_was_given_is_part_of_a_setting() -> None:
    first = f"$ wrk -t2 -c2 -d1m -s a.lua http://localhost:8080 -- /one\n{CLOSED.partition(chr(10))[2]}"
    other = first.replace("/one", "/two")
    assert "SMP004" not in remarks(f"{REPORT}{first}\n{first}")
    assert "SMP004" in remarks(f"{REPORT}{first}\n{other}")


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
        ("Thus every application had 6 test runs.", True),
        ("Everything was run 10 times.", True),
        ("Каждый тест запускался по 5 раз.", True),
        ("Было по 5 прогонов на каждый вариант.", True),
        ("Taking the highest of 3 runs.", True),
        ("Each solution is given 3 runs and the best of the 3 is recorded.", True),
        ("It was taken from 2 runs.", False),
        ("The tests are run 2 times.", False),
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


@pytest.mark.parametrize(("runs", "repeated"), [(3, True), (1, False)])
def test_a_run_without_a_caption_repeats_the_one_above_it(runs: int, repeated: bool) -> None:
    run = f"```\n{replaced(CLOSED, (' -s get.lua', ''))}```\n\n"
    sides = (f"## {name}\n\nnode {name}/index.js\n\n{run * runs}" for name in ("Node", "Bun"))
    assert ("SMP004" not in remarks(f"{REPORT}{''.join(sides)}")) is repeated


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        ("Alpha hello (release):", "Beta hello (release):", False),
        ("Запуск 1:", "Запуск 2:", True),
        ("First run:", "Second run:", True),
        ("- PoolSize : 2", "- PoolSize : 4", False),
        ("- RPS : 2", "- RPS : 4", True),  # a figure, no parameter
    ],
)
def test_captions_and_listed_parameters_are_of_a_setting(first: str, second: str, repeated: bool) -> None:
    run = replaced(CLOSED, (" -s get.lua", ""))
    assert ("SMP004" not in remarks(f"{REPORT}{first}\n\n```\n{run}```\n\n{second}\n\n```\n{run}```\n")) is repeated


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [
        ("1) FOR new MyService(false);", "2) FOR new MyService(true);", False),
        ("1. С кэшем", "2. Без кэша", False),
        ("1. Node on port 8080:", "2. Node on port 8081:", True),
        ("1) Run 1", "2) Run 2", True),
    ],
)
def test_items_of_a_numbered_list_are_settings(first: str, second: str, repeated: bool) -> None:
    text = f"{REPORT}{first}\n```\n{CLOSED}```\n{second}\n```\n{CLOSED}```\n"
    assert ("SMP004" not in remarks(text)) is repeated


def test_bold_captions_are_settings() -> None:
    text = "{}**Alpha**\n\n```\n{}```\n\n**{}**\n\n```\n{}```\n"
    run = replaced(CLOSED, (" -s get.lua", ""))
    assert "SMP004" in remarks(text.format(REPORT, run, "Beta", run))
    assert "SMP004" not in remarks(text.format(REPORT, run, "Alpha", run))


def test_captions_of_outputs_without_settings_are_settings() -> None:
    bare = "".join(f"{line}\n" for line in CLOSED.splitlines()[3:6] + CLOSED.splitlines()[11:])
    assert "SMP004" in remarks(f"{REPORT}```\nAlpha\n{bare}\nBeta\n{bare}```\n")
    assert "SMP004" not in remarks(f"{REPORT}```\nFirst run\n{bare}\nSecond run\n{bare}```\n")


@pytest.mark.parametrize(("language", "jvm"), [("Java", True), ("Java-Script", False), ("JavaScript", False)])
def test_a_heap_is_asked_of_java_and_not_of_javascript(language: str, jvm: bool) -> None:
    text = f"{REPORT}## {language}\n\n{CLOSED}"
    assert ("heap" in remarks(text)["RUN006"].seen.text) is jvm


WARM = "NOTE: the tests warm the server up."
TABLE = "Server | Latency | Rate\n-|-|-\n"


@pytest.mark.parametrize(
    ("said", "reported"),
    [
        ("All tests were run on FreeBSD.", True),
        ("All tests are to be read with care.", False),
        (f"{WARM}\n\n{TABLE}a | 10.00ms | 200\nb | 5.00ms | 400", True),
        (f"{WARM}\n\n{TABLE}a | 11.00ms | 210\nb | 6.00ms | 410", False),
    ],
)
def test_who_says_that_tests_were_run_or_repeats_their_figures_in_a_table_reports(said: str, reported: bool) -> None:
    other_load = replaced(FASTER, ("-c2", "-c4"), ("2 connections", "4 connections"))
    text = f"# Servers\n\n{said}\n\n## Alpha\n\n{CLOSED}\n## Beta\n\n{other_load}"
    assert ("RUN006" in remarks(text)) is reported


@pytest.mark.parametrize(
    ("heading", "url", "reported"),
    [
        ("Macbook Pro: M2 Pro, 32GB", None, True),
        ("Servers", None, False),
        ("Macbook Pro: M2 Pro, 32GB", "http://example.com/", False),
    ],
)
def test_a_bare_record_that_states_the_machine_and_several_runs_reports(
    heading: str, url: str | None, reported: bool
) -> None:
    text = f"# {heading}\n\n## Alpha\n\n{CLOSED}\n## Beta\n\n{FASTER}"
    if url:
        text = re.sub(r"http://\S+", url, text)
    assert ("SMP004" in remarks(text)) is reported


@pytest.mark.parametrize(
    ("first", "second", "repeated"),
    [("1st try:", "2nd try:", True), ("**第一次**", "**第二次**", True), ("1 client:", "2 clients:", False)],
)
def test_captions_that_number_the_tries_are_of_repeats_in_a_comparison_too(
    first: str, second: str, repeated: bool
) -> None:
    tries = f"{first}\n\n```\n{CLOSED}```\n\n{second}\n\n```\n{CLOSED}```\n"
    text = f"{REPORT}The new server is faster.\n\n- threads: 2\n\n{tries}"
    assert ("SMP004" not in remarks(text)) is repeated


def test_the_name_of_a_package_says_no_version() -> None:
    said = f"{REPORT}В профиле one-nio и jdk.internal.net.http.\n\n"
    assert "JDK" in remarks(said + HEALTHY)["RUN006"].seen.text


def test_lines_above_the_consoles_of_a_record_name_their_settings() -> None:
    console = HEALTHY.partition("\n")[2]
    said = "Из тестирования видно, что PUT стал значительно быстрее, GET незначительно.\n"
    more = "Время теперь тратится на выполнение запросов на нескольких нодах.\nКартина профиля не изменилась.\n"

    def found(names: str) -> set[str]:
        runs = "\n".join(f"{name}\n{console}" for name in names.split(","))
        return {"SMP004", "CMP003"} & remarks(f"{runs}\n{said}{more}").keys()

    assert found("PUT service,PUT async,PUT sharding,PUT replicas") == {"SMP004", "CMP003"}
    assert not found("PUT 1,PUT 2,PUT 3,PUT 4")


def test_repeats_are_a_condition_of_the_document() -> None:
    text = as_text(audit([outputs_of(text_document(REPORT + HEALTHY, Path("report.md")))]))
    (line,) = [line for line in text.splitlines() if line.startswith("report.md") and "warning" in line]
    assert ": conditions warning: " in line
    assert line.endswith("[RUN006, SMP004]") or line.endswith("[SMP004, RUN006]")
