"""What published documents compare, in words, headings, tables and file names: each pattern in small, read right."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.audit.audit import audit, examine
from runners.readers.outputs import find_in
from runners.tests.audit.planted import REPORT, of_two, outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, FASTER, HEALTHY, replaced

SLOW = replaced(CLOSED, ("50%   10.02ms", "50%   10.12ms"))


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
        ("## Исходный PUT\n\nОпыт.\n\n## Новый PUT\n\nОпыт.", True),
        ("## Исходный код\n\nОпыт.\n\n## Новый PUT\n\nОпыт.", False),
        ("Допустимая нагрузка PUT-запросами выросла с 2500 зап/с до 3000 зап/с.", True),
        ("Время ожидания значительно ниже, чем под PUT-нагрузкой.", True),
        ("Теперь наша база может обрабатывать больше запросов чем было раньше.", True),
        ("Решил увеличить размер таблиц, но большого прироста это не давало.", True),
        ("Проблемами деградации производительности являются сеть и диск.", True),
        ("Теперь обрабатываем больше 100 запросов в секунду.", False),  # a figure
        ("Нагрузка выросла с 2500 зап/с до 3000 зап/с.", False),  # what was offered
        ("С индексом пропускная способность выше.", True),
        ("We should improve throughput by 20 %.", False),
        ("Recommendation: an index would make it 50% faster.", False),
        ("As the load grows, latency is higher than before.", False),
        ("No response took more than 20 ms.", False),
        ("p95 must be lower than 500 ms.", False),
        ("## Before you begin", False),
        ("### Запуск с Docker\n\nКоманда.\n\n### Локальный запуск (без Docker)\n\nКоманда.", False),
        ("### With docker\n\nA command.\n\n### Without docker\n\nAnother.", False),
        ("## Running with Docker\n\nA command.\n\n## Running without Docker\n\nAnother.", False),
        ("## Service with Docker\n\nA run.\n\n## Service without Docker\n\nAnother.", True),
        ("- **io_uring**: Reduce syscall overhead and latency by 40 %", False),  # could be done
        ("- **io_uring**: Reduced latency by 40 % compared to epoll", True),
        ("| Path | Описание | p99 |\n|---|---|---|\n| /active | Изменение статуса | 17.59s |", False),
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
        ("可以看出性能比不过 epoll。", True),
        ("改了唤醒方式，反而导致性能进一步下降。", True),
        ("并发数从 20 增加到 100 时，性能显著提升。", False),  # of loads
        ("如需更高吞吐量，考虑优化后端处理逻辑。", False),
        ("Der Durchsatz **stieg** damit um etwa **6 %**.", True),
        ("Mit dem Cache ist die Latenz deutlich niedriger.", True),
        ("Der Durchsatz sollte um 20 % steigen.", False),
        ("Je mehr Verbindungen, desto höher die Latenz, um 20 %.", False),
        ("Gunicorn showed best results when deployed with 9 workers.", True),
        ("Лучшие результаты показал сервер с четырьмя воркерами.", True),
        ("It performed best with 100 connections.", False),
        ("For the best results, run it with a warm cache.", False),
        ("TaskWorker vs GoTask", True),
        ("Testing puma (one worker) vs thin (with pastry).", True),
        ("p99 vs p50", False),
        ("Baselines are kept to detect performance regressions.", False),
    ],
)
def test_comparisons_in_words_headings_and_tables_are_distinguished_from_limits_and_hopes(
    said: str, compared: bool
) -> None:
    assert ("CMP003" in remarks(f"{REPORT}{said}\n\n{HEALTHY}")) is compared


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
        ("Таким образом скорость выдачи ответов выросла в 6-8 раз.", True),
        ("Другие ключи никак не повлияли на скорость записи.", True),
        ("Никакого улучшения результатов не происходит.", True),
        ("Количество запросов, которое может обрабатывать наш сервер, возросло.", True),
        ("В итоге производительность выросла.", True),
        ("Отдельный пул привёл к бусту производительности.", True),
        ("Один параллельный flush значительно уменьшил максимальную задержку.", True),
        ("Отдельный поток позволил значительно снизить время ответа.", True),
        ("Индекс помог повысить производительность сервера.", True),
        ("Смена очереди привела к росту производительности.", True),
        ("Результаты особо не изменились с прошлой реализации.", True),
        ("Увы, сравнить результаты с прошлым этапом не получится, но быстродействие должно было снизиться.", False),
        ("Есть предположение, что снизилась пропускная способность.", False),
        ("К концу прогона latency выше, чем было в самом начале.", False),
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


def test_a_comparison_in_russian_is_read() -> None:
    said = "# Отчёт\n\nСервер нагружен дважды.\n\nПо сравнению с прошлым этапом задержка выросла вдвое.\n\n"
    assert "CMP003" in remarks(said + HEALTHY)


def test_before_and_after_are_read_from_the_names_of_consoles(tmp_path: Path) -> None:
    (tmp_path / "get_before.txt").write_text(CLOSED, encoding="utf-8")
    (tmp_path / "get_after.txt").write_text(CLOSED.replace("10.02ms", "10.10ms"), encoding="utf-8")
    assert "CMP001" in {remark.code for remark in audit(find_in(tmp_path)).remarks}
    (tmp_path / "get_after.txt").rename(tmp_path / "put_after.txt")
    assert "CMP001" not in {remark.code for remark in audit(find_in(tmp_path)).remarks}


@pytest.mark.parametrize(("before", "after"), [("before", "after"), ("without_index", "with_index")])
def test_names_of_consoles_with_and_without_a_change_are_a_pair(before: str, after: str, tmp_path: Path) -> None:
    (tmp_path / f"get_{before}.txt").write_text(CLOSED, encoding="utf-8")
    (tmp_path / f"get_{after}.txt").write_text(CLOSED.replace("10.02ms", "10.10ms"), encoding="utf-8")
    assert "CMP001" in {remark.code for remark in audit(find_in(tmp_path)).remarks}


def test_runs_at_other_rates_are_no_before_and_after() -> None:
    def at(rate: int) -> str:
        return (
            HEALTHY.replace("-R2000", f"-R{rate}")
            .replace("2000.00", f"{rate}.00")
            .replace("120000 r", f"{rate * 60} r")
        )

    assert "CMP001" not in remarks(f"# before\n{at(5500)}\n# after\n{at(7500)}")


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


def test_a_heading_of_two_things_compares_where_nothing_else_is_said() -> None:
    assert "CMP003" in remarks(f"# one vs another\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# one and another\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# Target vs actual\n\n{CLOSED}\n{SLOW}")
    assert "CMP003" not in remarks(f"# VU별 성능 비교\n\n{CLOSED}\n{SLOW}")


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
def test_a_sentence_that_ranks_what_the_document_sets_side_by_side_compares(said: str, compares: bool) -> None:
    other_load = replaced(FASTER, ("-c2", "-c4"), ("2 connections", "4 connections"))
    assert ("CMP003" in of_two(CLOSED, other_load, said)) is compares


TRANSCRIBED = f"{REPORT}\nMeasured with wrk.\n\n"


@pytest.mark.parametrize(
    ("things", "compared"),
    [
        (("FastAPI", "Express"), True),
        (("PostgreSQL 15", "MongoDB"), True),
        (("Home page", "Home page (cache and index)"), True),
        (("Home page", "Basket"), False),
        (("GET /a", "GET /b"), False),
    ],
)
def test_technologies_and_what_was_made_of_a_thing_are_set_side_by_side(
    things: tuple[str, str], compared: bool
) -> None:
    rows = "".join(f"| {thing} | {900 + len(thing)} req/s | 12 ms |\n" for thing in things)
    assert ("CMP003" in remarks(f"{TRANSCRIBED}| Page | RPS | p99 |\n|---|---|---|\n{rows}")) is compared


@pytest.mark.parametrize(("first", "compared"), [("Alpha", True), ("GET", False), ("p99", False)])
def test_a_table_whose_first_head_is_empty_compares_things(first: str, compared: bool) -> None:
    rows = f"| {first} | 900 req/s | 12 ms |\n| Beta | 800 req/s | 13 ms |\n"
    found = remarks(f"{REPORT}\n{CLOSED}\n\n| | Throughput | Latency |\n|---|---|---|\n{rows}")
    assert ("CMP003" in found) is compared


@pytest.mark.parametrize(
    ("first", "second", "compared"),
    [
        ("- Нагрузка без выключения реплики", "- Нагрузка с выключением реплики", True),
        ("Without the cache:", "With the cache:", True),
        ("With 64 keys", "Without pauses", False),
        ("### baseline", "### istio", True),
    ],
)
def test_captions_and_headings_of_bare_records_name_two_states(first: str, second: str, compared: bool) -> None:
    assert ("CMP003" in remarks(f"{first}\n\n```\n{CLOSED}```\n\n{second}\n\n```\n{CLOSED}```\n")) is compared


@pytest.mark.parametrize(
    ("first", "second", "compared"),
    [
        ("fast-proxy (^1.8.0)", "http-proxy (^1.18.1)", True),
        ("fast-proxy (^1.8.0)", "fast-proxy (^1.7.0)", False),  # one thing at two times
        ("Express.js", "Ruby on Rails (Ruby v. 2.1.0)", True),
        ("[Hyper](https://hyper.example) v0.14", "[Warp](https://warp.example) v0.3.1", True),
        ("Alpha (first)", "Alpha (second)", False),
    ],
)
def test_software_with_its_version_is_compared_with_other_software(first: str, second: str, compared: bool) -> None:
    found = remarks(f"{REPORT}## {first}\n\n{CLOSED}\n## {second}\n\n{FASTER}")
    assert ("CMP003" in found) is compared


@pytest.mark.parametrize(
    ("first", "second", "compared"),
    [
        ("## PHP\n\n### Result", "## Laravel\n\n### Result", True),
        ("## Morning\n\n### Result", "## Evening\n\n### Result", False),
        ("**Actix**", "***Axum***", True),
        ("## PHP\n\n### Notes\n\n```aspnet-runtime``` is needed.", "## Laravel\n\n### Notes", True),
    ],
)
def test_runs_are_named_by_what_distinguishes_them(first: str, second: str, compared: bool) -> None:
    text = f"{REPORT}{first}\n\n```\n{CLOSED}```\n\n{second}\n\n```\n{FASTER}```\n"
    assert ("CMP003" in remarks(text)) is compared


@pytest.mark.parametrize(
    ("title", "compared"),
    [
        ("# Compare HTTP requests of Java and Go", True),
        ("# akka-vs-nodejs", True),
        ("akka-vs-nodejs\n==============", True),
        ("# akka", False),
        ("akka-vs-nodejs", False),
        ("## Compare your results and ours", False),
    ],
)
def test_a_title_that_names_two_things_compares_them(title: str, compared: bool) -> None:
    assert ("CMP003" in remarks(f"{title}\n\n{CLOSED}\n{FASTER}")) is compared


@pytest.mark.parametrize(
    ("said", "compared"),
    [("A microbenchmark for asyncio, uvloop and trio.", True), ("A benchmark of one server and its client.", False)],
)
def test_a_benchmark_of_several_things_sets_them_side_by_side(said: str, compared: bool) -> None:
    assert ("CMP003" in remarks(f"{REPORT}{said}\n\n{CLOSED}")) is compared


def test_a_table_without_bars_around_its_rows_compares_what_it_names() -> None:
    rows = "Proxy | Avg Latency | Rate\n-- | -- | --\nalpha | 10.00ms | 200\nbeta | 5.00ms | 400\n"
    assert "CMP003" in remarks(f"{REPORT}{rows}\n{CLOSED}")
    assert "CMP003" not in remarks(f"{REPORT}{rows.replace('Proxy', 'Hour')}\n{CLOSED}")


def test_averages_of_several_runs_are_of_repeated_runs() -> None:
    rows = "| FastAPI | 900 req/s | 12 ms |\n| Express | 800 req/s | 13 ms |\n"
    table = f"| Page | RPS | p99 |\n|---|---|---|\n{rows}"
    assert not {"CMP003", "SMP004"} & remarks(f"{TRANSCRIBED}Each row is a 3-run average.\n\n{table}").keys()
