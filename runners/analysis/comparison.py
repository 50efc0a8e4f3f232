"""The comparison of treatments with a baseline, by interleaved trials, run folders, or outputs of load tools.

A quantity is compared only if at most 0.1 % of the responses of each side failed, because failures may be fast.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from runners import words
from runners.analysis import counts
from runners.analysis.counts import Counts
from runners.analysis.intervals import Bounded, difference
from runners.analysis.quantities import ALL_CPU, Reason, Refusal, Row
from runners.design.block import FEWEST_STARTS
from runners.design.objective import CPU, THROUGHPUT

LEAST_COST = 0.01  # a smaller relative change for the worse is no cost
LEAST_COUNT = 0.1  # per request: a smaller difference of counts is no cost, whatever the relative change
#: The fewest runs of each side for a verdict.
FEWEST_RUNS = 2


class Form(StrEnum):
    """The kind of evidence behind a comparison."""

    REQUESTS = "requests"  # interleaved trials: each request goes to one of the servers
    SLICES = "slices"  # interleaved trials: in each slice of time a closed loop loads one server
    RUNS = "runs"  # run folders
    OUTPUTS = "outputs"  # outputs of load tools


@dataclass(frozen=True, slots=True)
class Alone:
    """Median response times in us of two loads at one rate: one on the baseline alone, one on a treatment alone."""

    rate_rps: float
    baseline: Bounded
    treatment: Bounded
    steady: bool = True  # False: a load is known not to have become steady, so the medians can't be compared

    @property
    def share(self) -> float:
        """The relative change of the median from the baseline to the treatment."""
        return self.treatment.value / self.baseline.value - 1

    @property
    def inconclusive(self) -> bool:
        return not difference(self.treatment, self.baseline).sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparison of treatments with a baseline in several quantities, and how it was measured."""

    name: str
    form: Form
    baseline: str
    treatments: tuple[str, ...]
    margin: float  # the smallest relative change that matters
    rows: tuple[Row, ...]  # one for each quantity and treatment
    failed: Mapping[str, tuple[Counts, ...]]  # by side, (ended, failed) requests of each start or run
    primary: str = "p50_us"  # the quantity that decides
    workload: str = ""
    rate_rps: float = math.nan  # offered to each side; NaN in closed loop
    refused: tuple[tuple[str, str], ...] = ()  # (quantity, reason): what is not compared
    notes: tuple[str, ...] = ()
    #: Only interleaved trials have the fields from here on.
    steps: tuple[str, ...] = ()  # names of the loads that all servers share, without starts that are left out
    alone: Mapping[str, Alone] = field(default_factory=dict)  # by treatment, loads on one server alone
    planned: int = 0  # the number of starts that were planned
    until: bool = False  # the trials end as soon as the primary quantity is decided
    starts: tuple[int, ...] = ()  # numbers of the starts that are used for the comparison
    late: tuple[int, ...] = ()  # numbers of the starts in which the generator was late
    left_out: tuple[tuple[int, str], ...] = ()  # (number, reason): starts that are not used
    control: tuple[Row, ...] = ()  # the baseline's second process against its first
    reference: Mapping[str, float] = field(default_factory=dict)  # {quantity: its value on a server that does nothing}
    cpu_groups: str = ""  # EQUAL, or why the servers had no CPU groups of equal weight
    without_stalls: float = math.nan  # share of the time that `p99_undisturbed_us` leaves out, as the machine stalled
    carried_over: Mapping[str, float] = field(default_factory=dict)  # {server: the result of treatments.carry_over}
    utilisation: float = math.nan  # of the core that the servers share: its highest value in a start
    between_starts: float = math.nan  # share of the primary quantity's variance between starts
    values: Mapping[tuple[str, str], tuple[float, ...]] = field(default_factory=dict)  # (quantity, side): one per start
    start_s: float = math.nan  # median length of a start
    slice_s: float = 0.0

    @property
    def interleaved(self) -> bool:
        return self.form in (Form.REQUESTS, Form.SLICES)

    @property
    def unit(self) -> str:
        """The word for one repeat: `start` for interleaved trials, else `run`."""
        return "start" if self.interleaved else "run"

    @property
    def fewest(self) -> int:
        """The number of starts (or runs) of each side that a verdict needs."""
        return FEWEST_STARTS if self.interleaved else FEWEST_RUNS

    @property
    def repeats(self) -> tuple[int, int]:
        """The numbers of starts (or runs): of the baseline, then of the first treatment."""
        return len(self.failed.get(self.baseline, ())), len(self.failed.get(self.treatments[0], ()))

    @property
    def failing(self) -> dict[str, float]:
        """The share of failed requests by side (baseline or treatment), for sides whose share is above MOST_FAILED."""
        return counts.failing({name: self.failed.get(name, ()) for name in (self.baseline, *self.treatments)})

    def more_errors(self, treatment: str) -> Bounded:
        """Return a treatment's share of failed requests minus the baseline's, with its 95 % interval."""
        sides = (self.failed.get(name, ()) for name in (treatment, self.baseline))
        return counts.more_failed(*sides, paired=self.interleaved)

    @property
    def dots(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """The ratios to the baseline by (quantity, treatment): one ratio for every start in which the treatment ran."""
        others = {key: own for key, own in self.values.items() if key[1] != self.baseline}
        pairs = {key: zip(own, self.values[key[0], self.baseline], strict=True) for key, own in others.items()}
        return {key: tuple(value / base for value, base in of if math.isfinite(value)) for key, of in pairs.items()}

    @property
    def leading(self) -> str:
        """The name of the quantity that reports put first: `primary`, or CPU if the generator limited throughput."""
        bounded = any(row.at_least for row in self.rows if row.quantity.name == self.primary == THROUGHPUT)
        return CPU if bounded and self.row(CPU) is not None else self.primary

    def rows_of(self, quantity: str) -> list[Row]:
        """Return the comparison's rows for a quantity such as p50_us, one row for each treatment."""
        return [row for row in self.rows if row.quantity.name == quantity]

    def row(self, quantity: str, treatment: str | None = None) -> Row | None:
        """Return the row for a quantity such as p50_us and a treatment (None: the first); None without such a row."""
        return next((row for row in self.rows_of(quantity) if treatment in (None, row.treatment)), None)

    def costs(self, treatment: str) -> list[Row]:
        """Return the rows in which the treatment is worse by LEAST_COST or more, except for the primary quantity."""
        rows = (row for row in self.rows if row.treatment == treatment and row.quantity.name != self.primary)
        worse = (row for row in rows if row.decided and not row.better and abs(row.ratio - 1) >= LEAST_COST)
        apart = ((row, abs(row.treatment_value - row.baseline_value)) for row in worse)
        return [row for row, by in apart if row.quantity.unit != "count" or by >= LEAST_COUNT]

    def contradicting(self, row: Row) -> Row | None:
        """Return the row for all threads' CPU time if its direction differs from `row`'s (request threads), or None."""
        whole = self.row(ALL_CPU, row.treatment) if row.quantity.name == CPU and row.decided else None
        return whole if whole is not None and not whole.refused and whole.direction != row.direction else None

    @property
    def trusted(self) -> bool:
        """Whether the baseline's two processes agree in the primary quantity; True if there is only one process."""
        return not any(row.decided for row in self.control if row.quantity.name == self.primary)

    @property
    def answered(self) -> bool:
        """Whether the primary quantity has a verdict for each treatment: it differs, or is the same within `margin`."""
        rows = self.rows_of(self.primary)
        return bool(rows) and not any(row.inconclusive for row in rows)

    def as_json(self) -> dict[str, object]:
        """Return the comparison as plain JSON values."""
        return {
            "name": self.name, "baseline": self.baseline, "primary": self.primary, "margin": self.margin,
            "starts": len(self.starts), "trusted": self.trusted, "start_s": words.finite(self.start_s),
            "offered_rps": words.finite(self.rate_rps), "failed": self.failed_json(),
            "rows": [row.as_json() for row in self.rows], "control": [row.as_json() for row in self.control],
        }  # fmt: skip

    def failed_json(self) -> dict[str, object]:
        """Return the numbers of ended and of failed requests by side (baseline or treatment), as plain JSON values."""
        return {
            name: {"ended": sum(ended for ended, _ in counts), "failed": sum(failed for _, failed in counts)}
            for name, counts in self.failed.items()
        }


def refuse_failing(row: Row, failed: Mapping[str, Sequence[Counts]]) -> Row:
    """Return the row, marked as refused if over MOST_FAILED of a side's requests failed. `failed`: counts by side."""
    shares = counts.failing({name: failed.get(name, ()) for name in (row.treatment, row.baseline)})
    reasons = tuple(Refusal(Reason.FAILED, name, (share,)) for name, share in shares.items())
    return replace(row, refused=reasons) if reasons else row
