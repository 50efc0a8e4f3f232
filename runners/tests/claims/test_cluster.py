"""Experiment 05's sentences: planted changes are told with their intervals, what can't be seen is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.analysis import outages
from runners.analysis.comparison import QUANTITIES, Difference
from runners.analysis.finding import Finding
from runners.claims import turns
from runners.claims.cluster import REPLICATION
from runners.claims.conclude import conclude
from runners.design.report_5 import CHANGES, PUBLISHED_KEYS, REPLICATED
from runners.readers.columns import frame
from runners.readers.reading import read_run
from runners.readers.run import Run
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.fake_turns import expected, group_of, outage_of, run_of, turn_of
from runners.tests.fixtures.ladder_run import make_ladder

PLANTED = {"all-old": 6_000.0, "fewer-threads": 6_000.0, "no-lock": 7_000.0, "murmur3": 9_000.0, "all-new": 12_000.0}
COPIES = {"blocking-2of3": 4_000.0, "async-2of3": 8_000.0, "blocking-3of3": 4_000.0, "async-3of3": 4_010.0}


def told(run: Run, code: str) -> list[Finding]:
    conclusion = conclude(run, {})
    return [finding for finding in (*conclusion.findings, *conclusion.missed) if finding.code == code]


def test_the_plan_names_what_is_planted_here() -> None:
    assert tuple(PLANTED) == CHANGES and tuple(COPIES) == REPLICATED


def test_each_change_alone_is_told_beside_all_at_once(tmp_path: Path) -> None:
    (finding,) = told(run_of(tmp_path, group_of(tmp_path, PLANTED)), "H01")
    for name, planted in (("no-lock", 1 / 6), ("murmur3", 0.5), ("all-new", 1.0)):
        low, high = finding.evidence[f"{name} low"], finding.evidence[f"{name} high"]
        assert isinstance(low, float) and isinstance(high, float)
        assert 0 < low < planted < high, name
    assert "fewer-threads: " in finding.sentence and "murmur3: higher by" in finding.sentence
    same = finding.sentence.partition("fewer-threads: ")[2].partition(", no-lock")[0]
    assert "no change that" in same or "changes by less than" in same


def test_the_answer_says_all_at_once_and_which_change_alone_is_seen(tmp_path: Path) -> None:
    answer = conclude(run_of(tmp_path, group_of(tmp_path, PLANTED)), {}).answer
    assert answer.startswith("The report's three changes at once, closed-loop rate: higher by ")
    assert "; no-lock alone higher by " in answer and "; murmur3 alone higher by " in answer
    assert "no change by fewer-threads alone can be seen." in answer and "against" not in answer


@pytest.mark.parametrize(("high", "words"), [(0.8, "higher by 20.0 % to 80.0 %"), (25.5, "higher by at least 20.0 %")])
def test_of_a_difference_without_an_upper_bound_the_lower_is_told(high: float, words: str) -> None:
    told = turns.told(Difference(QUANTITIES[0], 100.0, 150.0, 0.5, 0.2, high, 6, 0.3, turns.SEE))
    assert told.replace("\xa0", " ") == words


def test_a_load_that_was_saturated_leaves_the_closed_loop_and_no_latency(tmp_path: Path) -> None:
    run = run_of(tmp_path, group_of(tmp_path, PLANTED, saturated=True))
    assert told(run, "H01") and not told(run, "H06")
    (rounds,) = [check for check in conclude(run, {}).checks if check.name == "changes, rounds"]
    assert rounds.ok is False and rounds.text.startswith("0 of")


def test_latency_at_one_rate_names_its_rate_and_both_values(tmp_path: Path) -> None:
    found = told(run_of(tmp_path, group_of(tmp_path, PLANTED)), "H06")
    assert len(found) == len(PLANTED) - 1
    (murmur,) = [finding for finding in found if finding.sentence.startswith("Murmur3")]
    assert "4\u202f000/s" in murmur.sentence and "p50 lower by" in murmur.sentence


def test_keys_are_counted_for_the_addresses_of_the_run(tmp_path: Path) -> None:
    made = [step for name in ("all-old", "all-new") for step in turn_of(
        tmp_path, "changes", ["all-old", "all-new"], name, 1, 5_000.0, 200.0, proxied=expected(name))]  # fmt: skip
    run = run_of(tmp_path, made)
    (spread,) = told(run, "H02")
    assert spread.evidence["most_old"] == 1.0 and f"{PUBLISHED_KEYS:,}".replace(",", "\u202f") in spread.sentence
    (passed,) = told(run, "H03")
    assert passed.evidence["all-old share"] == pytest.approx(1.0)
    assert passed.evidence["all-new share"] == pytest.approx(expected("all-new"), abs=1e-3)
    assert passed.severity.value == "note"


def test_a_proxied_share_that_its_hash_does_not_explain_is_a_warning(tmp_path: Path) -> None:
    made = turn_of(tmp_path, "changes", ["all-old"], "all-old", 1, 5_000.0, 200.0, proxied=0.5)
    (passed,) = told(run_of(tmp_path, made), "H03")
    assert passed.severity.value == "warning" and "100" in passed.sentence and "50.0" in passed.sentence


def test_threads_are_said_to_be_scaled_only_where_they_are(tmp_path: Path) -> None:
    def run(threads: dict[str, int]) -> Run:
        made = [step for name, count in threads.items() for step in turn_of(
            tmp_path, "changes", list(threads), name, 1, 5_000.0, 200.0, threads=count)]  # fmt: skip
        return run_of(tmp_path, made)

    (scaled,) = told(run({"all-old": 7, "all-new": 2}), "H05")
    assert scaled.evidence == {"old_threads": 7, "new_threads": 2}
    assert not told(run({"all-old": 20, "all-new": 6}), "H05")


def test_an_asynchronous_client_is_set_against_the_blocking_one_of_the_same_copies(tmp_path: Path) -> None:
    run = run_of(tmp_path, group_of(tmp_path, COPIES, group=REPLICATION))
    two, three = told(run, "H04")
    assert "2 of 3 copies" in two.sentence and "higher by" in two.sentence
    assert isinstance(two.evidence["low"], float) and 0.8 < two.evidence["low"] < 1.0
    assert "3 of 3" in three.sentence and "higher" not in three.sentence


def test_a_death_is_told_with_what_failed_and_when_it_was_over(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3), outage_of(tmp_path, "async-2of3", 0.0)])
    sharded, copied = told(run, "O01")
    assert sharded.evidence["failed_before"] == 0 and sharded.evidence["failed_after"] == 0
    assert sharded.evidence["failed_between"] == 5 * 300  # the seconds 3 to 7; 8 belongs to the return
    assert sharded.evidence["failed_without"] == 3 * 300  # 4 to 6, wholly without it
    assert sharded.evidence["down_s"] == pytest.approx(4.2)
    assert sharded.remedy and "900" in sharded.sentence and sharded.severity.value == "warning"
    assert "no response of" in copied.sentence and copied.remedy is None


def test_a_node_that_never_came_back_has_no_after(tmp_path: Path) -> None:
    run = run_of(tmp_path, [outage_of(tmp_path, "sharded", 0.3, came_back=False)])
    (each,) = outages.outages(run.steps)
    assert each.part("after").empty and [word for _, word in each.events] == ["killed"]
    (finding,) = told(run, "O01")
    assert "dead for" not in finding.sentence and "responded again" not in finding.sentence


def test_what_the_report_changed_at_once_is_named_from_its_index(tmp_path: Path) -> None:
    run = run_of(tmp_path, group_of(tmp_path, PLANTED))
    (changes,) = told(run, "M11")
    assert "murmur3" in changes.sentence and changes.evidence["changes"] == 4
    (untold,) = told(run, "M12")
    assert untold.evidence["rates"] == len(untold.steps) == 17


def test_a_published_median_that_stays_is_told_beside_one_that_does_not(tmp_path: Path) -> None:
    base = {"what": "knee", "rps": 2_000.0, "knee": [2_000.0, 1_950.0, 2_050.0]}
    folder = make_ladder(tmp_path, (800.0, 1_800.0), searched=False, name="put-all-new", subject="all-new", base=base)
    rate_steps = read_run(folder).steps
    (tick,) = told(run_of(tmp_path, [*rate_steps, *group_of(tmp_path, PLANTED)]), "M13")
    assert "wakes by the millisecond" in tick.sentence and "1\u202f800/s" in tick.sentence
    assert isinstance(tick.evidence["own_high_us"], float) and tick.evidence["own_high_us"] < 1_000


def test_a_group_keeps_the_order_of_its_settings_and_the_rounds_that_both_have(tmp_path: Path) -> None:
    made = group_of(tmp_path, {"all-old": 6_000.0, "all-new": 12_000.0})
    cut = [step for step in made if not (step.subject == "all-new" and step.record.round == 2)]
    (group,) = turns.groups(cut)
    assert group.settings == ("all-old", "all-new") and group.usable("all-old", "all-new") == [1, 3, 4]
    each = turns.of(group.against("all-old", "all-new"), turns.CARRIED)
    assert each is not None and each.rounds == 3


@pytest.mark.parametrize(("rounds", "told_by"), [(4, 4), (6, 5)])
def test_rounds_in_which_a_server_compiled_are_named_and_left_out_where_enough_remain(
    tmp_path: Path, rounds: int, told_by: int
) -> None:
    made = group_of(tmp_path, {"all-old": 6_000.0, "all-new": 12_000.0}, rounds=rounds)
    for step in made:
        cores = 0.3 if step.subject == "all-new" and step.record.round == 1 else 0.01
        row = {"t_s": 0.0, "length_s": 1.0, "kind": "jit", "busy_ms": 1000 * cores}
        step.frames["activity"] = frame("activity", [row])
    (group,) = turns.groups(made)
    assert {each.rounds for each in group.against("all-old", "all-new")} == {told_by}
    checks = conclude(run_of(tmp_path, made), {}).checks
    (check,) = [each for each in checks if each.name == "changes, compilers at rest"]
    assert check.ok is False and "unfinished in" in check.text


def test_fewer_rounds_than_a_comparison_takes_are_no_verdict(tmp_path: Path) -> None:
    (finding,) = told(run_of(tmp_path, group_of(tmp_path, PLANTED, rounds=3)), "H01")
    assert "higher" not in finding.sentence and "no change that 3 rounds can see" in finding.sentence


def test_other_runs_have_none_of_it(tmp_path: Path) -> None:
    codes = {finding.code for finding in conclude(read_run(make_run(tmp_path)), {}).findings}
    assert not {code for code in codes if code[0] in "HO"}
