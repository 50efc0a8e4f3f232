"""Experiment 04 measures the store as its author had it, and what the compaction that he proposes would cost it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.design.block import FaultInjection, FixedRate, Interleaved
from runners.design.experiment import validate
from runners.design.ladder import Ladder
from runners.design.setting import Setting
from runners.experiments import e04_lsm_rate_ladder as e04
from runners.readers.published import published
from runners.readers.reading import read_run
from runners.results.answer import Measure, Verdict
from runners.results.results import Results
from runners.tests.execution.test_executor import Bench
from runners.tests.fixtures.fake_measurement import Server
from runners.tests.fixtures.references import reference

WARM = "report-4/put-10000-warm"
FLAGS = {
    "--wal": "off", "--compaction": "off", "--bloom-bits-per-key": "0", "--cache-bytes": "0",
    "--flush-threshold-bytes": "134217728",
}  # fmt: skip


def treatments(block: object) -> tuple[Setting, ...]:
    if isinstance(block, Ladder):
        return (block.server.treatment,)
    return block.treatments if isinstance(block, FixedRate | Interleaved) else ()


@pytest.mark.parametrize("size", ["smoke", "quick", "published", "full"])
def test_all_but_what_compaction_costs_is_measured_on_the_authors_store(size: str) -> None:
    by_name = {block.name: block for block in e04.blocks(validate(e04.EXPERIMENT.parameters, {"size": size}))}
    assert ("compaction" in by_name) == (size != "quick")
    costs = by_name.pop("compaction", None)
    assert costs is None or set(treatments(costs)) == {e04.AUTHORS, e04.COMPACTING, e04.LABS}
    by_wrk2 = by_name.pop("wrk2")
    assert isinstance(by_wrk2, FaultInjection)
    settings = {setting for block in by_name.values() for setting in treatments(block)} | {by_wrk2.treatment}
    assert {setting.name for setting in settings} == {"lsm-author", "lsm-author-cold"}
    for setting in settings:
        assert dict(flag.split("=") for flag in setting.server_flags) == FLAGS and not setting.jvm_flags
    assert dict(flag.split("=") for flag in e04.COMPACTING.server_flags) == {**FLAGS, "--compaction": "size-tiered"}


def test_another_store_is_measured_with_its_defaults_and_has_no_compaction_to_switch_on() -> None:
    blocks = e04.blocks(validate(e04.EXPERIMENT.parameters, {"size": "published", "engine": "rocksdb"}))
    assert "compaction" not in {block.name for block in blocks}
    assert {setting.server_flags for block in blocks for setting in treatments(block)} == {()}


def test_the_published_size_is_planned_for_34_minutes_at_most() -> None:
    assert e04.EXPERIMENT.planned_s(validate(e04.EXPERIMENT.parameters, {"size": "published"})) <= 34 * 60


@pytest.mark.parametrize(("compacting_rps", "verdict"), [(300.0, Verdict.YES), (500.0, Verdict.NO)])
def test_what_compaction_costs_follows_from_rounds_of_closed_loops(
    compacting_rps: float, verdict: Verdict, tmp_path: Path
) -> None:
    bench = Bench(tmp_path)
    bench.machine.servers |= {
        "lsm-author": Server(400.0),
        "lsm-compaction": Server(compacting_rps),
        "lsm": Server(200.0),
    }
    bench.session().run(e04.compaction("published"))
    rounds = e04.LOOPS["published"].starts
    launched = [server.subject for server in bench.machine.launched]
    assert len(launched) == 3 * rounds and set(launched[:3]) == {"lsm-author", "lsm-compaction", "lsm"}
    (asked,) = (row for row in e04.questions() if row.question.key == "compaction")
    answer = asked.answer(Results(read_run(bench.folder)))
    assert answer is not None and (answer.verdict, answer.count) == (verdict, rounds)
    by_label = {measure.label: measure.value for measure in answer.evidence if isinstance(measure, Measure)}
    (of_rates,) = (value for label, value in by_label.items() if label.startswith("PUT rate with compaction"))
    (of_labs,) = (value for label, value in by_label.items() if label.startswith("PUT rate with log"))
    assert [of_rates, of_labs] == pytest.approx([compacting_rps / 400, 0.5], rel=0.05)


def test_the_published_put_filled_its_memtable_ten_times() -> None:
    (asked,) = (row for row in e04.questions() if row.question.key == "flush")
    answer = asked.answer(Results(reference("04"), {f"{WARM}/put-warm": published(WARM)}))
    assert answer is not None and answer.verdict == Verdict.NO
    written, filled = (measure.value for measure in answer.evidence if isinstance(measure, Measure))
    assert (written, filled) == (10_000 * 120 * 1_200, 10)
