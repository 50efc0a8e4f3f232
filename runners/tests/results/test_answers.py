"""An answer follows from its interval, and every experiment's questions are answered from its run."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import re
from pathlib import Path

import msgspec
import pytest

import runners
from runners.analysis.quantities import changed
from runners.experiments.question_table import criteria
from runners.experiments.registry import EXPERIMENTS, questions_of
from runners.report.sentences import effect_words, needed_words
from runners.results.answer import Answer, Asked, Measure, Question, Unit, Verdict, answered
from runners.results.checks import CheckName
from runners.results.results import Results
from runners.results.tails import MARGIN
from runners.tests.fixtures.references import KEPT, answer, concluded, reference
from runners.tests.tiers import in_short

#: What no sentence of a report holds.
ODD = {
    "two brackets in a row": re.compile(r"\)\s\("),
    "an exponent": re.compile(r"\d[eE][-+]?\d"),
    "a zero with a sign": re.compile(r"[+\u2212]0(?:\.0+)?(?![\d.])"),
    "a value that is not known": re.compile(r"\b(?:nan|inf|None|unknown)\b"),
    "punctuation that repeats": re.compile(r"\.\.|;\s*;|,\s*,|\s[,;.]|\(\)|:\s*[.;]"),
}


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.3, Verdict.YES),
        (-0.3, -0.1, Verdict.NO),
        (-0.1, 0.3, Verdict.INCONCLUSIVE),
        (math.nan, 0.3, Verdict.INCONCLUSIVE),
        (0.1, math.nan, Verdict.YES),
    ],
)
def test_the_verdict_is_taken_from_the_interval(low: float, high: float, verdict: Verdict) -> None:
    assert Verdict.of(low, high) == verdict


def test_an_open_part_leaves_a_whole_open_unless_one_part_decides_it() -> None:
    parts = (Verdict.YES, Verdict.INCONCLUSIVE)
    assert Verdict.of_all(parts) == Verdict.INCONCLUSIVE and Verdict.of_any(parts) == Verdict.YES
    assert Verdict.of_all((*parts, Verdict.NO)) == Verdict.NO


def test_a_wide_ratio_is_reported_by_its_nearer_bound() -> None:
    assert changed(4.7, 0.228, 25.5) == "at least 22.8\u00a0% higher"
    assert changed(0.34, -0.655, 4.2) == "+34\u00a0% (\u221266 to +420)"
    assert "not bounded" in changed(0.4, math.nan, math.nan)


def test_what_a_run_did_not_measure_is_inconclusive() -> None:
    asked = Asked(Question("key", "Does it help?"), lambda _: None)
    given = answered(asked, Results(reference("09")))
    assert given.answer.verdict == Verdict.INCONCLUSIVE and not given.measured and given.answer.needed is not None


@pytest.mark.parametrize(
    ("cpus", "verdict"), [((0,), Verdict.INCONCLUSIVE), ((0, 1), Verdict.YES), (None, Verdict.YES)]
)
def test_parallelism_is_answered_where_a_server_of_the_run_had_the_cores(
    cpus: tuple[int, ...] | None, verdict: Verdict
) -> None:
    run = reference("09")
    first, *others = run.steps
    server = msgspec.structs.replace(first.record.server, command=("java",), cpus=cpus)
    with_cpus = dataclasses.replace(first, record=msgspec.structs.replace(first.record, server=server))
    results = Results(dataclasses.replace(run, steps=(with_cpus, *others)))
    pool = Asked(Question("pool", "More?", cores=2), lambda _: Answer(Verdict.YES))
    assert answered(pool, results).answer.verdict == verdict


def test_a_load_that_never_became_steady_touches_no_answer_that_only_describes_it() -> None:
    conclusion = concluded("01")
    (check,) = (check for check in conclusion.checks if check.about == CheckName.STEADY and check.failed)
    rests = {given.question.key for given in conclusion.answers if set(given.answer.steps) & set(check.steps)}
    assert {"merge-tail", "flush-tail"} <= rests and conclusion.touched(check) == ()


def test_every_experiment_has_questions_with_keys_of_their_own() -> None:
    for questions in map(questions_of, EXPERIMENTS):
        assert 2 <= len(questions) <= 16
        assert len({asked.question.key for asked in questions}) == len(questions)
        assert all(asked.question.text.endswith("?") for asked in questions)


@pytest.mark.parametrize("number", in_short(KEPT, ("01", "05")))
def test_a_reference_answers_the_questions_of_its_experiment(number: str) -> None:
    conclusion = concluded(number)
    assert len(conclusion.answers) == len(questions_of(number))
    json.dumps(conclusion.as_json(), allow_nan=False)
    for given in conclusion.answers:
        assert bool(needed_words(given.answer)) == (given.answer.verdict == Verdict.INCONCLUSIVE), given.question.text
        assert given.answer.steps or given.answer.verdict == Verdict.INCONCLUSIVE or given.answer.count, (
            given.question.text
        )
        said = effect_words(given)
        assert any(letter.isdigit() for letter in said) or not given.measured or "not compared" in said
        assert [fault for fault, odd in ODD.items() if odd.search(said)] == [], said


def test_a_number_is_written_with_its_interval_and_what_it_stands_against() -> None:
    from runners.report.sentences import words_of

    share = Measure("store", 0.242, Unit.SHARE, 0.222, 0.266)
    assert words_of(share) == "store 24.2\u00a0% (22.2\u201326.6)"
    rate = Measure("PUT", 13_753.0, Unit.RATE_RPS).out_of(25_000.0)
    assert words_of(rate) == "PUT 13\u202f800/s of 25\u202f000/s"
    with pytest.raises(TypeError, match="no words for object"):
        words_of(object())


def test_failures_of_a_dead_node_count_the_seconds_wholly_without_it() -> None:
    """A third of the keys fails; with the seconds in which the node died or was back but unused it would be less."""
    (share, *_) = answer("05", "sharded-death").evidence
    assert isinstance(share, Measure) and 0.30 < share.value < 0.37 and share.low < share.value < share.high
    assert answer("05", "copies-death").verdict == Verdict.NO


def test_the_share_of_a_tail_that_would_matter_is_that_of_the_table() -> None:
    asked = [row for by_key in criteria().values() for row in by_key.values() if "above p99" in row.quantity]
    assert len(asked) >= 3 and {row.margin for row in asked} == {MARGIN}


#: Attributes and functions that hold a text made for a reader, and the methods that look into a text.
TEXTS = {
    "about", "basis", "disturbance", "effect", "effects", "first", "in_short", "invalid_reasons", "label", "line",
    "sentence", "text", "title", "why", "why_not", "words",
}  # fmt: skip
LOOKS = {
    "contains", "endswith", "partition", "removeprefix", "removesuffix", "rpartition", "rsplit", "split", "startswith",
}  # fmt: skip
#: Rooms in which decisions are made; `report` and the interfaces only show them.
DECIDING = ("analysis", "results", "execution", "design", "experiments")
#: Modules of these rooms that use patterns, and on what.
PATTERNS = {
    "design/description.py": "headers and paths that a user writes",
    "design/objective.py": "objectives and limits that a user writes",
    "design/session.py": "characters that the name of a step can't have",
    "design/setting.py": "characters that the name of a setting can't have",
    "design/target.py": "characters that the name of a target can't have",
    "design/yaml_file.py": "where in a user's file msgspec found an error, which its message alone says",
}
#: What is done to texts for readers so that they are shown, which decides nothing.
SHOWN = {"plan.title.partition(':')", "sentence(comparison, row).removesuffix('.')"}
#: What results and analysis look into: names, commands, parameters and stacks, and numbers that they wrote themselves.
LOOKED_INTO = {
    "analysis/facts.py": {"step.workload"},
    "analysis/interleaved.py": {"QUANTITIES[quantity].column"},
    "analysis/quantities.py": {"factor(1 + side)"},
    "analysis/runs.py": {"field", "self.field"},
    "analysis/treatments.py": {"np"},
    "results/checks.py": {"str((results.run.manifest.get('parameters') or {}).get('generators') or '')"},
    "results/cluster.py": {"flag", "own['stack'].str", "rows['frame'].str"},
    "results/knees.py": {"low.subject", "step.subject"},
    "results/profiles.py": {"name", "str(stack)"},
    "results/results.py": {"item[0]"},
    "results/trends.py": {"asked"},
}


def modules(*rooms: str) -> dict[str, ast.Module]:
    """{path: what is in it}, of all modules of these rooms."""
    package = Path(runners.__file__).parent
    paths = sorted(path for room in rooms for path in (package / room).rglob("*.py"))
    return {path.relative_to(package).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def texts_judged(tree: ast.AST) -> list[str]:
    """The places where a text for a reader is compared with a literal, or where something in it is looked for."""

    def of_reader(node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in TEXTS
        named = node.func if isinstance(node, ast.Call) else node
        return isinstance(named, ast.Attribute) and named.attr in TEXTS

    judged = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            literals = [part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
            if any(map(of_reader, sides)) and any(isinstance(value, str) and value for value in literals):
                judged.append(ast.unparse(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            looked = [node.func.value] if node.func.attr in LOOKS else []
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                looked = node.args[1:]
            judged += [ast.unparse(node) for text in looked if of_reader(text)]
    return judged


@pytest.mark.parametrize(
    "source",
    [
        "check.about == 'quiet machine'",
        "check.about in ('samples', 'steady loads')",
        "'late' in why_not(step)",
        "'late' in facts.why_not(step)",
        "answer.text.startswith('no ')",
        "re.search('it looks like', row.first)",
    ],
)
def test_a_decision_by_a_sentence_is_found(source: str) -> None:
    assert texts_judged(ast.parse(source)) == [ast.unparse(ast.parse(source))]


def test_no_decision_reads_a_sentence() -> None:
    judged = {path: set(texts_judged(tree)) - SHOWN for path, tree in modules(*DECIDING, "report", "cli").items()}
    assert {path: places for path, places in judged.items() if places} == {}


def test_patterns_and_looks_into_texts_are_only_on_what_is_no_sentence() -> None:
    """Whoever adds one says here on what: a sentence is made of results, and is no result."""
    imports, looked = set(), dict[str, set[str]]()
    for path, tree in modules(*DECIDING).items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and "re" in (name.name for name in node.names):
                imports.add(path)
            called = node.func if isinstance(node, ast.Call) else None
            decides = path.startswith(("analysis/", "results/"))
            if decides and isinstance(called, ast.Attribute) and called.attr in LOOKS:
                looked.setdefault(path, set()).add(ast.unparse(called.value))
    assert imports == set(PATTERNS)
    assert looked == LOOKED_INTO
