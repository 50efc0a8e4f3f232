"""Experiment 05's sentences: planted changes are reported with their intervals, what can't be seen is not."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from runners.analysis.interleaved import SLICES, comparisons
from runners.analysis.treatments import Verdict
from runners.claims import faults
from runners.claims.conclude import conclude
from runners.design.cluster import CHANGES, PUBLISHED_KEYS, REPLICATED
from runners.design.objective import THROUGHPUT
from runners.readers.finding import Finding
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.tests.fixtures.fake_clusters import expected, group_of, load_of, outage_of, run_of
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.ladder_run import make_ladder

PLANTED = {"all-old": 6_000.0, "fewer-threads": 6_000.0, "no-lock": 7_000.0, "murmur3": 9_000.0, "all-new": 12_000.0}
COPIES = {"blocking-2of3": 4_000.0, "async-2of3": 8_000.0, "blocking-3of3": 4_000.0, "async-3of3": 4_010.0}


def reported(run: Run, code: str) -> list[Finding]:
    conclusion = conclude(run, {})
    return [finding for finding in (*conclusion.findings, *conclusion.missed) if finding.code == code]


def test_the_plan_names_what_is_planted_here() -> None:
    assert tuple(PLANTED) == CHANGES and tuple(COPIES) == REPLICATED


def test_changes_by_slices_are_compared_with_the_state_before(tmp_path: Path) -> None:
    (found,) = comparisons(run_of(tmp_path, group_of(tmp_path, PLANTED, starts=6)))
    assert (found.name, found.form, found.baseline, found.primary) == ("changes", SLICES, "all-old", THROUGHPUT)
    for name, planted in (("no-lock", 7 / 6), ("murmur3", 1.5), ("all-new", 2.0)):
        row = found.row(THROUGHPUT, name)
        assert row is not None and row.low < planted < row.high and row.verdict == Verdict.HIGHER, name
    same = found.row(THROUGHPUT, "fewer-threads")
    assert same is not None and not same.decided
    assert found.row("p50_us") is None, "a closed loop has no response times to compare"


def test_a_start_without_a_treatment_tells_of_the_others(tmp_path: Path) -> None:
    made = group_of(tmp_path, {name: PLANTED[name] for name in ("all-old", "no-lock", "all-new")})
    targets = made[1].frames["targets"]
    cut = {**made[1].frames, "targets": targets[targets["target"] != "all-new"]}
    made[1] = dataclasses.replace(made[1], frames=cut)
    (found,) = comparisons(run_of(tmp_path, made))
    rows = [found.row(THROUGHPUT, name) for name in ("no-lock", "all-new")]
    assert [row.starts for row in rows if row is not None] == [4, 3]


def test_an_asynchronous_client_is_compared_with_the_blocking_one_of_the_same_copies(tmp_path: Path) -> None:
    groups = [
        group_of(
            tmp_path, {name: rps for name, rps in COPIES.items() if name.endswith(acks)}, group=f"replication-{acks}"
        )
        for acks in ("2of3", "3of3")
    ]
    two, three = comparisons(run_of(tmp_path, [step for group in groups for step in group]))
    assert [(each.name, each.baseline, each.treatments) for each in (two, three)] == [
        ("replication-2of3", "blocking-2of3", ("async-2of3",)),
        ("replication-3of3", "blocking-3of3", ("async-3of3",)),
    ]
    row, same = two.row(THROUGHPUT), three.row(THROUGHPUT)
    assert row is not None and row.verdict == Verdict.HIGHER and same is not None and not same.decided


def test_keys_are_counted_for_the_addresses_of_the_run(tmp_path: Path) -> None:
    made = [load_of(tmp_path, name, proxied=expected(name)) for name in ("all-old", "all-new")]
    run = run_of(tmp_path, made)
    (spread,) = reported(run, "H02")
    assert spread.evidence["most_old"] == 1.0 and f"{PUBLISHED_KEYS:,}".replace(",", "\u202f") in spread.sentence
    (passed,) = reported(run, "H03")
    assert passed.evidence["all-old share"] == pytest.approx(1.0)
    assert passed.evidence["all-new share"] == pytest.approx(expected("all-new"), abs=1e-3)
    assert passed.severity.value == "note"


def test_a_proxied_share_that_its_hash_does_not_explain_is_a_warning(tmp_path: Path) -> None:
    (passed,) = reported(run_of(tmp_path, [load_of(tmp_path, "all-old", proxied=0.5)]), "H03")
    assert passed.severity.value == "warning" and "100" in passed.sentence and "50.0" in passed.sentence


def test_threads_are_said_to_be_scaled_only_where_they_are(tmp_path: Path) -> None:
    def run(threads: dict[str, int]) -> Run:
        return run_of(tmp_path, [load_of(tmp_path, name, threads=count) for name, count in threads.items()])

    (scaled,) = reported(run({"all-old": 7, "all-new": 2}), "H05")
    assert scaled.evidence == {"old_threads": 7, "new_threads": 2}
    assert not reported(run({"all-old": 20, "all-new": 6}), "H05")


def test_a_death_is_reported_with_what_failed_and_when_it_was_over(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3), outage_of(tmp_path, "async-2of3", 0.0)])
    sharded, copied = reported(run, "O01")
    assert sharded.evidence["failed_before"] == 0 and sharded.evidence["failed_after"] == 0
    assert sharded.evidence["failed_between"] == 5 * 300  # the seconds 3 to 7; 8 belongs to the return
    assert sharded.evidence["failed_without"] == 3 * 300  # 4 to 6, wholly without it
    assert sharded.evidence["down_s"] == pytest.approx(4.2)
    assert sharded.remedy and "900" in sharded.sentence and sharded.severity.value == "warning"
    assert re.search(
        r": none of [\d\u202f]+ responses failed in the 3 seconds wholly without the node", copied.sentence
    )
    assert copied.remedy is None and ") (" not in sharded.sentence


def test_a_node_that_never_came_back_has_no_after(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3, came_back=False)])
    (each,) = faults.outages(run.steps)
    assert each.part("after").empty and [word for _, word in each.events] == ["killed"]
    (finding,) = reported(run, "O01")
    assert "dead for" not in finding.sentence and "responded again" not in finding.sentence


def test_what_the_report_changed_at_once_is_named_from_its_index(tmp_path: Path) -> None:
    run = run_of(tmp_path, [load_of(tmp_path, "all-old"), *group_of(tmp_path, PLANTED)])
    (changes,) = reported(run, "M11")
    assert "murmur3" in changes.sentence and changes.evidence["changes"] == 4
    (silent,) = reported(run, "M12")
    assert silent.evidence["rates"] == len(silent.steps) == 17


def test_a_published_median_that_stays_is_reported_with_one_that_does_not(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
    folder = make_ladder(tmp_path, (800.0, 1_800.0), searched=False, name="put-all-new", subject="all-new", base=base)
    rate_steps = read_run(folder).steps
    (tick,) = reported(run_of(tmp_path, [*rate_steps, *group_of(tmp_path, PLANTED)]), "M13")
    assert "wakes by the millisecond" in tick.sentence and "1\u202f800/s" in tick.sentence
    assert isinstance(tick.evidence["own_high_us"], float) and tick.evidence["own_high_us"] < 1_000
    assert "the median here goes from" in tick.sentence
    one = [step for step in rate_steps if step.record.offered_rps == 800]
    (tick,) = reported(run_of(tmp_path, [*one, *group_of(tmp_path, PLANTED)]), "M13")
    assert tick.sentence.count("800/s") == 1 and "the median here is" in tick.sentence


def test_other_runs_have_none_of_it(tmp_path: Path) -> None:
    codes = {finding.code for finding in conclude(read_run(make_run(tmp_path)), {}).findings}
    assert not {code for code in codes if code[0] in "HO"}
