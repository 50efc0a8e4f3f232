"""The audit, which applies every rule to every output and sums up the findings; also the rules and their pages."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runners import words
from runners.audit.rule import TABLE, Group, Remark, Rule, Severity
from runners.audit.rules import arithmetic, conduct, draws, rates, responses, timing
from runners.errors import PlanError
from runners.readers.documents import Problem
from runners.readers.output import FileOutputs, Output

PAGES = Path(__file__).resolve().parents[1] / "docs" / "rules"
_MODULES = (timing, rates, responses, draws, conduct, arithmetic)
_BY_CODE = {value.code: value for module in _MODULES for value in vars(module).values() if isinstance(value, Rule)}
RULES: dict[str, Rule] = {code: _BY_CODE[code] for code in TABLE}


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Rule, ...]:
    """Return the rules that `select` names (all if it is empty), without the rules that `ignore` names.

    A text in `select` or `ignore` has codes, separated by commas: `TIM001,RAT`. `RAT` stands for all rules whose codes
    begin with RAT. Raises PlanError if no rule's code begins with a given one.
    """
    wanted, unwanted = _codes(select) or set(RULES), _codes(ignore)
    return tuple(rule for code, rule in RULES.items() if code in wanted - unwanted)


def _codes(given: Iterable[str]) -> set[str]:
    codes: set[str] = set()
    for part in (piece.strip().upper() for text in given for piece in text.split(",")):
        matching = {code for code in RULES if part and code.startswith(part)}
        if not matching:
            raise PlanError(part or "an empty code", "no rule begins with it", f"use one of {', '.join(RULES)}")
        codes |= matching
    return codes


def page(code: str) -> str:
    """Return the Markdown page on the rule `code`, for example TIM001. Raises PlanError if no rule has this code."""
    if (known := code.strip().upper()) not in RULES:
        raise PlanError(code, "no rule has this code", f"use one of {', '.join(RULES)}")
    return (PAGES / f"{known}.md").read_text(encoding="utf-8")


ORDER = (Severity.ERROR, Severity.WARNING, Severity.NOTE)
#: Rules that do not apply to an excerpt whose whole output is in another file.
OF_AN_EXCERPT = ("SMP002", "RUN005")
LEAST_EXCERPT = 3  # percentiles in an excerpt; fewer may agree with another output by chance


@dataclass(frozen=True, slots=True)
class Digest:
    """The findings of one rule in one file."""

    remarks: tuple[Remark, ...]

    @property
    def worst(self) -> Remark:
        return max(self.remarks, key=lambda remark: (-ORDER.index(remark.severity), remark.seen.size))

    @property
    def places(self) -> tuple[str, ...]:
        """The places of the findings in the file."""
        places = (remark.output.place.removeprefix(f"{remark.output.path}:") for remark in self.remarks)
        return tuple(dict.fromkeys(places))


@dataclass(frozen=True, slots=True)
class Audit:
    """The files that were read and the findings in them, in the order of files and lines."""

    files: tuple[FileOutputs, ...]
    remarks: tuple[Remark, ...]
    copies: tuple[tuple[Output, Output], ...] = ()  # a repeated output, not examined, and its examined equal

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(output for file in self.files for output in file.outputs)

    @property
    def unreadable(self) -> tuple[tuple[Path, Problem], ...]:
        return tuple((file.path, problem) for file in self.files for problem in file.problems)

    @property
    def digests(self) -> tuple[Digest, ...]:
        """The digests, file by file; a file has one per rule with errors or warnings, the gravest first."""
        by_file: dict[Path, dict[str, list[Remark]]] = {}
        for remark in self.remarks:
            if remark.severity != Severity.NOTE:
                by_file.setdefault(remark.output.path, {}).setdefault(remark.code, []).append(remark)
        digests: list[Digest] = []
        for by_code in by_file.values():
            own = (Digest(tuple(by_code[code])) for code in RULES if code in by_code)
            digests += sorted(own, key=lambda digest: ORDER.index(digest.worst.severity))
        return tuple(digests)

    @property
    def failed(self) -> bool:
        return any(remark.severity == Severity.ERROR for remark in self.remarks)

    @property
    def counts(self) -> tuple[tuple[Rule, int, int], ...]:
        """Rules with findings, gravest first: (rule with its worst severity, number of outputs, number of findings)."""
        counted = []
        for code, often in Counter(remark.code for remark in self.remarks).items():
            own = [remark for remark in self.remarks if remark.code == code]
            worst = min((remark.severity for remark in own), key=ORDER.index)
            counted.append((replace(RULES[code], severity=worst), len({id(remark.output) for remark in own}), often))
        return tuple(sorted(counted, key=lambda row: (ORDER.index(row[0].severity), -row[1], row[0].code)))

    @property
    def summary(self) -> str:
        """The audit in one sentence."""
        outputs, files = len(self.outputs), len([file for file in self.files if file.outputs])
        if not outputs:
            return f"No output of a load generator was read in {words.several(len(self.files), 'file')}."
        often = Counter(remark.severity for remark in self.remarks)
        counted = ", ".join(words.several(often[severity], severity.value) for severity in ORDER)
        clean = outputs - len({id(remark.output) for remark in self.remarks if remark.severity == Severity.ERROR})
        return (
            f"{words.several(outputs, 'run')} in {words.several(files, 'file')}: {counted}; "
            f"{words.count(clean)} of {words.count(outputs)} without an error"
            f"{f', {words.count(len(self.copies))} given twice' if self.copies else ''}."
        )


def groups(outputs: Iterable[Output]) -> list[Group]:
    """Return the outputs in groups: a group has the outputs of one report. Groups and outputs stay in order."""
    by_report: defaultdict[str, list[Output]] = defaultdict(list)
    for output in outputs:
        by_report[output.group].append(output)
    return list(by_report.values())


def examine(outputs: Sequence[Output], rules: Iterable[Rule] = tuple(RULES.values())) -> tuple[Remark, ...]:
    """Return the findings of `rules` in outputs, sorted by the order of the outputs, then of the rules."""
    rules = tuple(rules)
    place = {id(output): index for index, output in enumerate(outputs)}
    remarks = [Remark(rule, seen) for group in groups(outputs) for rule in rules for seen in rule.look(group)]
    return tuple(sorted(remarks, key=lambda remark: place[id(remark.output)]))


def audit(files: Iterable[FileOutputs], rules: Iterable[Rule] = tuple(RULES.values())) -> Audit:
    """Return the audit of files by `rules`; an output that several files contain is examined once."""
    read = tuple(files)
    outputs = [output for file in read for output in file.outputs]
    copies = tuple(_copies(outputs))
    left_out = {id(copy) for copy, _ in copies}
    remarks = examine([output for output in outputs if id(output) not in left_out], rules)
    excerpts = {id(output) for output in _excerpts(outputs)}
    kept = [remark for remark in remarks if not (remark.code in OF_AN_EXCERPT and id(remark.output) in excerpts)]
    return Audit(read, tuple(kept), copies)


def _excerpts(outputs: Sequence[Output]) -> Iterator[Output]:
    """Yield the outputs that have no number of requests and only repeat percentiles of an output in another file."""
    whole: defaultdict[tuple[float, float], list[Output]] = defaultdict(list)
    for output in outputs:
        for row in output.report.latencies.rows if output.report.requests is not None else ():
            whole[row].append(output)
    for part in outputs:
        rows = part.report.latencies.rows
        if part.report.requests is None and len(rows) >= LEAST_EXCERPT:
            others = (other.report.latencies.rows for other in whole[rows[-1]] if other.path != part.path)
            if any(set(rows) <= set(other_rows) for other_rows in others):
                yield part


def _copies(outputs: Iterable[Output]) -> Iterator[tuple[Output, Output]]:
    """Yield (output, its equal in an earlier file) for every output that an earlier file contains too."""
    same: defaultdict[object, list[Output]] = defaultdict(list)
    for output in outputs:
        report = output.report
        if report.requests and report.latencies.rows and not output.entry.report:
            same[report.latencies.rows, report.requests, report.requests_per_s, report.latency].append(output)
    for kept, *others in same.values():
        yield from ((output, kept) for output in others if output.path != kept.path)
