"""A conclusion says what the frames say, of any run, and nothing else."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from runners.claims.conclude import conclude
from runners.claims.conclusion import RULES, Conclusion
from runners.design.load import STABLE_SHARE
from runners.readers.finding import Finding
from runners.readers.published import published_of
from runners.readers.reading import read_run
from runners.storage.run_folder import RunFolder
from runners.storage.schema import OtherProcess
from runners.tests.fixtures.fake_run import make_run
from runners.tests.fixtures.references import KEPT
from runners.tests.fixtures.references import concluded as of_reference
from runners.tests.tiers import in_short

LATENCY = re.compile(r"\d\s?(us|ms)\b")
#: What no sentence of a report holds.
ODD = {
    "a capital after a colon": re.compile(r": (?:It|Its|The|This|A|An|In|Of|No|Whether) "),
    "two brackets in a row": re.compile(r"\)\s\("),
    "an exponent": re.compile(r"\d[eE][-+]?\d"),
    "a zero with a sign": re.compile(r"[+\u2212]0(?:\.0+)?(?![\d.])"),
    "one of several": re.compile(
        r"(?<![\d.,\u202f])1 (?:start|round|load|second|probe|rate|sample|stall|response|error|output|ladder|thing)s\b"
    ),
    "an interval of one value": re.compile(r"(?<![\d.\u2212])([\d.\u202f]+\s(?:us|ms|s|%)) to \1(?![\d/])"),
    "a verb that disagrees": re.compile(r"(?i)stalls of the machine explains|processes explains|1 \w+ are\b"),
    "a rate without per": re.compile(
        r"(?:requests|time|bytes|ACKs|segments|CPU|samples) an? (?:second|request|byte|round)"
    ),
    "a word that the glossary replaces": re.compile(r"\b(?:carry|carries|holds \d[\d\u202f]*/s)"),
    "punctuation that repeats": re.compile(r"\.\.|;\s*;|,\s*,|\s[,;.]|\(\)|:\s*[.;]"),
}


def concluded(folder: RunFolder) -> Conclusion:
    conclusion = conclude(read_run(folder), published_of("report-1"))
    json.dumps(conclusion.as_json(), allow_nan=False)
    for finding in everything(conclusion):
        assert finding.code in RULES
        assert finding.sentence[-1] in ".!"
        assert "nan" not in finding.sentence
        assert "None" not in finding.sentence
    for check in conclusion.checks:
        assert check.text.endswith(".")
        assert "nan" not in check.text
    return conclusion


def everything(conclusion: Conclusion) -> list[Finding]:
    return [*conclusion.findings, *conclusion.missed, *conclusion.next_steps]


def of(conclusion: Conclusion, code: str, step: str | None = None) -> list[Finding]:
    return [f for f in everything(conclusion) if f.code == code and (step is None or step in f.steps)]


def check(conclusion: Conclusion, name: str) -> bool | None:
    return next(each.ok for each in conclusion.checks if each.name == name)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Conclusion:
    return concluded(make_run(tmp_path_factory.mktemp("runs"), absent={"get-lsm": 3}))


def test_the_answer_comes_first_with_p99_and_its_interval(complete: Conclusion) -> None:
    assert complete.title == "One connection, RocksDB"
    assert re.match(r"RocksDB: PUT achieves 12\s600/s with p99 \d+\sus \(\d+\u2013\d+\); GET achieves", complete.answer)
    assert "LSM: PUT achieves" in complete.answer
    assert [finding.code for finding in complete.findings[:4]] == ["A01"] * 4


def test_a_load_that_a_complete_run_never_planned_is_not_missed(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=2, engines=("lsm",))
    folder.update_manifest(parameters={"engines": "lsm,other-store"})
    conclusion = concluded(folder)
    assert not of(conclusion, "A04") and "other-store" not in conclusion.answer
    folder.update_manifest(status="interrupted")
    missed = of(concluded(folder), "A04")
    assert missed and "Other-store: PUT was not measured" in concluded(folder).answer


def test_what_a_complete_run_tells(complete: Conclusion) -> None:
    codes = {finding.code for finding in everything(complete)}
    assert {
        "A01",
        "A05",
        "L01",
        "L02",
        "P01",
        "P02",
        "P03",
        "P04",
        "W01",
        "W02",
        "W04",
        "M01",
        "M02",
        "M03",
        "M04",
        "M05",
    } <= codes
    assert not codes & {"A02", "A03", "A04", "N01", "N07", "N09"}
    for finding in of(complete, "L01"):
        added = finding.evidence["added_us"]
        assert isinstance(added, float)
        assert 0 < added < 40
    assert check(complete, "errors") is False  # three answers 404 were planted
    assert check(complete, "compiler at rest") is None  # there are no threads to have been sampled
    others = [each for each in complete.checks if each.name not in ("errors", "compiler at rest")]
    assert [each.name for each in others if each.ok is not True] == []


def test_our_own_runs_are_held_to_the_rules_of_the_audit(tmp_path: Path, complete: Conclusion) -> None:
    saturated = concluded(make_run(tmp_path, saturated=("put-lsm",)))
    (audited,) = [each for each in saturated.checks if each.name == "audit"]
    assert (check(complete, "audit"), audited.ok, audited.steps) == (True, False, ("put-lsm",))
    assert "RAT001" in audited.text


def test_a_closed_loop_with_a_freer_compiler_says_so(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, engines=("lsm",)))
    steps = tuple(
        dataclasses.replace(step, record=replace(step.record, compiler_on_any_core=True))
        if (step.kind, step.workload) == ("probe", "put")
        else step
        for step in run.steps
    )
    run = dataclasses.replace(run, steps=steps)
    reported = [each.sentence for each in of(conclude(run, {}), "A05")]
    assert ["compiler might use the generator's cores too" in sentence for sentence in reported] == [True, False]


def test_sends_that_the_generator_held_back_are_reported(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, engines=("lsm",)))
    for step in run.find(kind="load"):
        summary = step.frames["summary"]
        step.frames["summary"] = summary.assign(held=summary["sent"] / 4, coalesce_us=30.0)
    (kept_up,) = [each.text for each in conclude(run, {}).checks if each.name == "generator kept up"]
    assert "25.0\u00a0% of its sends it held back, each for at most 30\u00a0us" in kept_up
    assert kept_up.count("its sends") == 1, "the floor, which held nothing back, is distinguished"


def test_one_reason_is_given_once_with_all_loads_that_it_holds_for(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, died=("get-rocksdb", "get-lsm")))
    (run,) = [each.text for each in conclusion.checks if each.name == "run"]
    assert run.count("server died") == 1 and "RocksDB GET and LSM GET (server died)" in run


def test_a_check_has_a_sentence_for_each_load_that_is_distinguished(complete: Conclusion) -> None:
    (held,) = [each.text for each in complete.checks if each.name == "errors"]
    assert re.fullmatch(r"LSM GET.*: 3 responses 404\. RocksDB PUT.*: none\.", held), "what failed comes first"


def test_the_planted_pauses_explain_the_tail(complete: Conclusion) -> None:
    explained = of(complete, "W04")
    assert len(explained) == 4
    for finding in explained:
        share, left = finding.evidence["GC pause: share"], finding.evidence["unexplained"]
        assert isinstance(share, float)
        assert isinstance(left, float)
        assert share > 0.85
        assert share + left == pytest.approx(1, abs=0.01)
    assert {finding.steps for finding in of(complete, "N02")} == {finding.steps for finding in explained}
    assert not of(complete, "N03")


def test_the_published_report_is_read_as_it_is(complete: Conclusion) -> None:
    put, get = of(complete, "M01")
    assert put.evidence["published_p50_us"] == 635
    assert put.figure == "spectrum-put"
    assert get.evidence["published_p50_us"] == 675
    (absent,) = of(complete, "M02")
    assert (absent.evidence["non_2xx"], absent.evidence["absent_keys"]) == (372, 1)
    assert [f.evidence["left_out"] for f in of(complete, "M03")] == [250_090, 218_273]


def test_published_and_reproduced_stand_side_by_side(complete: Conclusion) -> None:
    put = complete.comparison[0]
    assert put.columns == ("published", "RocksDB", "LSM")
    rows = {name: values for name, *values in put.rows}
    assert rows["samples"][0].replace("\u202f", "") == "4249896"
    assert rows["generator"] == ["wrk2", "truepace", "truepace"]
    assert all(len(values) == 3 for values in rows.values())
    assert any("25\u202f000/s" in text for text in put.differs)
    assert "The generator is truepace; the published one is wrk2." in put.differs
    assert all(re.fullmatch(r"(?:The|A) .*[a-z0-9]\.", text) for text in put.differs)
    assert set(rows) >= {"offered rate", "p50", "p90", "p99", "p99.9", "max", "errors", "machine"}


@pytest.mark.parametrize("number", in_short(KEPT, ("01", "05")))
def test_no_sentence_of_a_reference_is_oddly_written(number: str) -> None:
    _, conclusion, _ = of_reference(number)
    reported = [
        conclusion.answer, *(check.text for check in conclusion.checks),
        *(text for table in conclusion.comparison for text in table.differs),
        *(finding.sentence for finding in everything(conclusion)),
        *(finding.remedy for finding in everything(conclusion) if finding.remedy),
        *(text for each in conclusion.answers for text in (each.question.text, each.answer.effect, each.answer.needed)),
    ]  # fmt: skip
    assert [(fault, text) for text in reported for fault, odd in ODD.items() if odd.search(text)] == []
    assert all(finding.sentence[0].isupper() or finding.sentence[0].isdigit() for finding in everything(conclusion))
    assert not any(each.answer.effect.endswith(".") for each in conclusion.answers), "an effect is no sentence"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("PUT: It is inconclusive whether they differ.", "a capital after a colon"),
        ("33.7\u00a0% failed (dead for 3.43 s) (3 of 9).", "two brackets in a row"),
        ("Calls to read: 1.12e-05 against 0.03.", "an exponent"),
        ("A change of \u22120.00\u00a0%.", "a zero with a sign"),
        ("1 starts of each.", "one of several"),
        ("33.3\u00a0% to 33.3\u00a0% on each.", "an interval of one value"),
        ("Stalls of the machine explains 3\u00a0%.", "a verb that disagrees"),
        ("It takes 3 s of CPU time a request.", "a rate without per"),
        ("LSM carries PUT at 300/s.", "a word that the glossary replaces"),
    ],
)
def test_what_is_oddly_written_is_found(text: str, fault: str) -> None:
    assert [each for each, odd in ODD.items() if odd.search(text)] == [fault]


def test_no_latency_is_quoted_from_a_saturated_step(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, saturated=("put-lsm",), profiled=("cpu",)))
    (finding,) = of(conclusion, "A02")
    assert finding.steps == ("put-lsm",)
    assert "saturation" in finding.sentence
    for each in of(conclusion, "L01") + of(conclusion, "L02") + of(conclusion, "W01") + of(conclusion, "W02"):
        assert "put-lsm" not in each.steps
    assert not LATENCY.search(finding.sentence)
    column = conclusion.comparison[0].columns.index("LSM")
    cells = {name: values[column] for name, *values in conclusion.comparison[0].rows}
    assert cells["p50"] == cells["p99"] == cells["max"] == "saturated"
    (advice,) = of(conclusion, "N01")
    assert advice.evidence["suggested_rps"] == pytest.approx(STABLE_SHARE * 18_000, rel=0.01)


def test_saturation_is_seen_even_if_nobody_marked_it(tmp_path: Path) -> None:
    folder = make_run(tmp_path, engines=("lsm",), saturated=("put-lsm",))
    meta = folder.steps_path / "put-lsm" / "step.json"
    document = json.loads(meta.read_text()) | {"saturated": False, "valid": True, "invalid_reasons": []}
    meta.write_text(json.dumps(document))
    assert of(concluded(folder), "A02")


def test_a_stall_at_the_end_is_not_called_saturation(tmp_path: Path) -> None:
    folder = make_run(tmp_path, engines=("lsm",))
    path = folder.steps_path / "put-lsm" / "load.json"
    document = json.loads(path.read_text())
    document["achieved_rps"] *= 0.97
    document["intervals"][-1]["completed"] *= 0.85
    path.write_text(json.dumps(document))
    conclusion = concluded(folder)
    assert not of(conclusion, "A02")
    assert not of(conclusion, "N01")
    (finding,) = of(conclusion, "A06")
    assert not LATENCY.search(finding.sentence)
    assert not of(conclusion, "W01", "put-lsm")


def test_an_invalid_step_is_named_with_its_reason(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, died=("get-rocksdb",), late=("put-rocksdb",)))
    reasons = {finding.steps[0]: finding.sentence for finding in of(conclusion, "A03")}
    assert "server died" in reasons["get-rocksdb"]
    assert "generator did not keep up" in reasons["put-rocksdb"]
    assert check(conclusion, "run") is False
    assert check(conclusion, "generator kept up") is False
    for text in reasons.values():
        assert not LATENCY.search(text)


def test_an_interrupted_run_says_what_is_missing(tmp_path: Path) -> None:
    folder = make_run(tmp_path, status="interrupted", stop_after="put-rocksdb")
    folder.begin_step("put-rocksdb-profiled")
    conclusion = concluded(folder)
    missing = [finding.sentence for finding in of(conclusion, "A04")]
    assert len(missing) == 3
    assert all("interrupted" in text for text in missing)
    assert "GET was not measured" in conclusion.answer
    assert check(conclusion, "run") is False
    assert any("put-rocksdb-profiled" in each.text for each in conclusion.checks)


@pytest.mark.parametrize("stop", ["probe-put-rocksdb", "floor-put", "fill-lsm"])
def test_a_run_may_end_anywhere(tmp_path: Path, stop: str) -> None:
    conclusion = concluded(make_run(tmp_path, duration_s=2, status="failed", stop_after=stop))
    assert "the run failed" in conclusion.answer


def test_any_step_may_be_missing(tmp_path: Path) -> None:
    full = make_run(tmp_path, duration_s=2, engines=("lsm",))
    for path in sorted(full.steps_path.iterdir()):
        hidden = path.with_name(path.name + ".partial")
        path.rename(hidden)
        concluded(full)
        hidden.rename(path)


def test_without_a_floor_nothing_is_said_on_it(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, duration_s=2, engines=("lsm",), without=("floor-put", "floor-get")))
    assert not of(conclusion, "L01")
    assert check(conclusion, "instrument floor") is None


def test_a_run_made_with_wrk2_says_what_wrk2_does_not_tell(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, wrk2=True, engines=("rocksdb",)))
    assert "achieves" in conclusion.answer
    assert "(" not in conclusion.answer  # a console allows no interval
    assert of(conclusion, "W03")
    assert check(conclusion, "generator kept up") is None
    assert not of(conclusion, "L02")
    assert all("lost in wrk2's tick" in finding.sentence for finding in of(conclusion, "L01"))
    assert of(conclusion, "L01")


def test_noise_of_the_machine_is_said(tmp_path: Path) -> None:
    conclusion = concluded(make_run(tmp_path, duration_s=2, engines=("lsm",), steal_share=0.08))
    (finding,) = of(conclusion, "N07")
    assert finding.evidence["steal_share"] == pytest.approx(0.08)
    assert check(conclusion, "machine") is False
    (machine,) = [each.text for each in conclusion.checks if each.name == "machine"]
    assert machine.startswith("Steal 8.00\u00a0% (limit 1\u00a0%), "), "what is too much stands with its limit"


def test_who_else_used_the_cores_is_named(tmp_path: Path) -> None:
    run = read_run(make_run(tmp_path, duration_s=2, engines=("lsm",)))
    (step,) = [step for step in run.steps if step.name == "put-lsm"]
    step.frames["telemetry"]["foreign_cpu_cores"] = 0.47
    for others, reported in (
        (
            (OtherProcess(name="kdamond.0", cores=0.44), OtherProcess(name="backup", cores=0.03)),
            ": kdamond.0 0.44 and backup 0.03",
        ),
        ((), ""),
    ):
        changed = dataclasses.replace(step, record=replace(step.record, others=others))
        steps = tuple(changed if each is step else each for each in run.steps)
        checks = conclude(dataclasses.replace(run, steps=steps), {}).checks
        (found,) = [each for each in checks if each.name == "machine"]
        assert found.ok is False and f"0.47 cores used by others (limit 0.25; in LSM PUT{reported})" in found.text


def test_broken_raw_files_are_named_in_the_checks(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=2, engines=("lsm",))
    (folder.steps_path / "put-lsm" / "gc.log").write_text("no clock\n")
    (folder.steps_path / "get-lsm" / "load.json").write_text("{")
    (folder.steps_path / "get-lsm-profiled" / "cpu.collapsed").unlink()
    conclusion = concluded(folder)
    (readable,) = [each for each in conclusion.checks if each.name == "raw files"]
    assert readable.ok is False
    for name in ("gc.log", "load.json", "cpu.collapsed"):
        assert name in readable.text


def test_nothing_published_is_fine(tmp_path: Path) -> None:
    folder = make_run(tmp_path, duration_s=2, engines=("lsm",))
    conclusion = conclude(read_run(folder), {})
    assert conclusion.comparison == ()
    assert conclusion.missed == ()


def test_every_number_of_a_sentence_is_measured(tmp_path: Path) -> None:
    """Another rate, other latencies: every figure moves with them; none is typed by hand."""
    rates = {"put": 7_301.0, "get": 6_907.0}
    conclusion = concluded(make_run(tmp_path, duration_s=4, engines=("rocksdb",), rates=rates))
    assert "7\u202f301/s" in conclusion.answer
    assert "6\u202f907/s" in conclusion.answer
    for finding in (*conclusion.findings, *conclusion.next_steps):
        assert "12\u202f" not in finding.sentence


def test_a_median_inside_the_floor_is_no_headline_and_no_percentile_of_it_is_compared() -> None:
    _, conclusion, _ = of_reference("01")
    said = next(f.sentence for f in conclusion.findings if f.code == "A01" and f.steps == ("get-lsm",))
    text = r"with [\d.]+ us of CPU time per request in all threads; its median and its p99 are not quoted"
    assert re.search(text, said.replace("\u00a0", " "))
    assert not [f for f in conclusion.findings if f.code == "C01" and f.evidence["quantity"] == "p99_us"]
    assert any("are not compared: neither lies" in f.sentence for f in conclusion.findings if f.code == "C02")
    cells = {row[0]: row for row in conclusion.comparison[0].rows}
    assert cells["p99"][2].endswith("*") and not cells["offered rate"][2].endswith("*")
    differs = " ".join(conclusion.comparison[0].differs)
    assert re.search("50\u00a0% of what (RocksDB|LSM) reached", differs), "an engine has its label, a share its space"
