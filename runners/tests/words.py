"""Check the words of code, docs, notebooks and report templates against the glossary (runners/docs/glossary.md).

The glossary names the field's term and the words that it takes the place of. A file that still holds such words stands
in words.json with how many; there may be fewer but never more, and a file that has fewer is written down again:

    python -m runners.tests.words            # fails, and names file, line and term, where there are more than allowed
    python -m runners.tests.words --shrink   # writes words.json with what is there now; never raises a number
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALLOWED = Path(__file__).with_name("words.json")
GLOSSARY = "runners/docs/glossary.md"
LOOKED_AT = (".py", ".md", ".j2", ".ipynb", ".rs", ".java", ".lua", ".toml")
LEFT_OUT = (
    "data/", "CHANGELOG.md", "LICENSE", "runners/tests/words.py", "runners/tests/test_words.py",
    GLOSSARY, "runners/tests/data/", "runners/loadgen/Cargo",
)  # fmt: skip

#: What is not said, as a pattern, by the term that is said in its place. "answer" stands for that of a question too.
#: Keys in quotes that recorded results have keep their names.
TERMS: dict[str, str] = {
    "next to, with, besides, during": r"\bbeside\b",
    "stall": r"\b(?:stands?|stood|standing) still\b",
    "correct, repair": r"\bmend (?:it|that|the|what)\b",
    "inconclusive": r"can't be told from|no difference seen|that can be seen|\bdifferences? can't be seen\b",
    "interleaved trials, randomised blocks": r"\btak(?:e|es|ing) turns\b|\btook turns\b|\b(?:by|in|of|whole) turns\b"
    r"|\bfor turn in\b|\bmove \|turn\||\bis a turn\b",
    "rate step": r"\brungs?\b",
    "question, verdict": r"\btellers?\b|\btellings?\b|\b(?:re|un)?told\b",
    "latency spike": r"\bexcursions?\b",
    "permutation test": r"\bshift by chance\b",
    "geometric mean, median of rounds": r"\btypically\b|\btypical (?:runs?|values?|us|rps|one|knee)\b",
    "effective sample size": r"\bworth (?:independent|fewer|of all)\b",
    "run-to-run variability": r"\bwavering\b|\bwavers?\b",
    "JIT compilation unfinished": r"\babout to go\b|\bstill compiling\b",
    "load-generator validation": r"\bproving\b",
    "benchmark fixture": r"\bbench stands?\b",
    "offered rate": r"\basked rate\b|\brate asked\b",
    "requests per second": r"\b(?:requests|responses|reads|writes) a second\b",
    "achieved rate": r"\brates?\b[^.;:]{0,40}\bcarr(?:y|ies|ied)\b"
    r"|\bcarr(?:y|ies|ied) (?:\d|the rate|their load|published)|(?<!\"highest )carried rps\b|\bheld share\b"
    r"|(?<!\")(?:least|highest) held\b|\brates? (?:(?:that )?(?:is|are|was|were) )?held\b|\b(?-i:facts\.HELD)\b",
    "maximum throughput under an SLO": r"\bwhat it holds\b|\bwhat it carries\b",
    "response": r"\banswers a second\b|\banswer time\b|\b(?:slow|late|failed|good) answers?\b",
}
_PATTERNS = {term: re.compile(pattern, re.IGNORECASE) for term, pattern in TERMS.items()}
#: All begin with a word, and nearly no file has any.
_ANY = re.compile(rf"\b(?:{'|'.join(TERMS.values())})".replace(r"(?:\b", "(?:").replace(r"|\b", "|"), re.IGNORECASE)
#: In servers and the load generator every answer is a response; flags and keys that recorded runs have keep the word.
_NO_QUESTIONS = (".java", ".rs")
_ANSWER = re.compile(r'(?<!["-])answer\w*', re.IGNORECASE)
#: Variables whose name does not say what they hold, where Python, Rust and Java introduce them.
_CODE = (".py", ".rs", ".java")
_VAGUE = re.compile(
    r"(?:\bfor (?=\w+ in )|, (?=\w+ in )|\b(?:lambda|let|let mut|def|fn) |\|&?(?=\w+[|,])"
    r"|\((?=\w+(?:\) ->|,\) = | := ))|^ *(?=\w+(?:: [^=\n]+)? = ))(each|found|those)\b"
    r"|\b(?:[A-Z]\w*(?:<[^>\n]*>)?(?:\[\])?|var|int|long|double|boolean) (each|found|those)(?= *[=:;)])",
    re.MULTILINE,
)


def found_in(text: str, name: str = "") -> list[tuple[int, str, str]]:
    """Find the words of a file that the glossary replaces, and vague names of variables: line, word, term to use."""
    vague = _VAGUE.finditer(text) if name.endswith(_CODE) else ()
    seen = [(text.count("\n", 0, at.start()) + 1, at[1] or at[2], "what it holds") for at in vague]
    text = text.replace("_", " ")  # so that parts of identifiers count too
    no_questions = name.endswith(_NO_QUESTIONS)
    if not _ANY.search(text) and not (no_questions and _ANSWER.search(text)):
        return seen
    patterns = _PATTERNS | {"response": _ANSWER} if no_questions else _PATTERNS
    for number, line in enumerate(text.splitlines(), 1):
        seen += [(number, match[0], term) for term, pattern in patterns.items() for match in pattern.finditer(line)]
    return seen


def tracked(root: Path = ROOT) -> list[str]:
    """List the files that are looked at: those that git tracks, of the kinds that people read."""
    names = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout
    return [
        name
        for name in names.splitlines()
        if name.endswith(LOOKED_AT) and not name.startswith(LEFT_OUT) and (root / name).is_file()
    ]


def counted(names: Iterable[str], root: Path = ROOT) -> dict[str, int]:
    """Count such words by file; files without any are left out."""
    counts = {name: len(found_in((root / name).read_text(encoding="utf-8", errors="replace"), name)) for name in names}
    return {name: count for name, count in sorted(counts.items()) if count}


def excess(counts: Mapping[str, int], allowed: Mapping[str, int]) -> list[str]:
    """Name the files that hold more such words than they may."""
    return [name for name, count in counts.items() if count > allowed.get(name, 0)]


def shrunk(counts: Mapping[str, int], allowed: Mapping[str, int]) -> dict[str, int]:
    """Lower the allowed numbers to what is there; none rises."""
    return {name: min(most, counts[name]) for name, most in allowed.items() if name in counts}


def main(arguments: list[str]) -> int:
    """Check, or with --shrink write down fewer."""
    allowed: dict[str, int] = json.loads(ALLOWED.read_text(encoding="utf-8"))
    counts = counted(tracked())
    if "--shrink" in arguments:
        ALLOWED.write_text(json.dumps(shrunk(counts, allowed), indent=1) + "\n", encoding="utf-8")
        return 0
    bad = excess(counts, allowed)
    for name in bad:
        lines = found_in((ROOT / name).read_text(encoding="utf-8", errors="replace"), name)
        print(f"{name}: {len(lines)} words that the glossary replaces, {allowed.get(name, 0)} are allowed")
        for number, word, term in lines:
            print(f"  {name}:{number}: {word!r}: say {term!r}")
    if bad:
        print(f"See {GLOSSARY}.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
