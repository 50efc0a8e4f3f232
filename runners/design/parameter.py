"""Parameters of an experiment: what each means, and which values are sane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from runners.errors import PlanError

Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One knob: its default fixes the type; `choices` or `low`..`high` its range.

    With `several`, the value is a comma-separated list of distinct choices. `read` makes what a text stands for, and
    raises PlanError where it stands for nothing; `kept` writes the text as a run keeps it, with whole paths.
    """

    name: str
    default: Value
    meaning: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    several: bool = False
    optional: bool = False
    read: Callable[[str], object] | None = None
    kept: Callable[[str], str] = str

    @property
    def range_text(self) -> str:
        if self.choices:
            text = " | ".join(self.choices)
            return f"one or more of {text}, joined by commas" if self.several else text
        return (
            f"{self.low:g} to {self.high:g}{' ' + self.unit if self.unit else ''}" if self.low is not None else "text"
        )

    def parse(self, value: object) -> Value:
        """`value` (of the right type, or its text) as this parameter's type. Raises PlanError."""
        parsed = self._typed(value)
        if self.choices:
            self._check_choices(str(parsed))
        elif not isinstance(parsed, str) and not self._within(parsed):
            raise self._refusal(value, f"it is out of range ({self.range_text})")
        elif self.read is not None:
            self.read(str(parsed))
        return self.kept(parsed) if isinstance(parsed, str) else parsed

    def _within(self, number: float) -> bool:
        # written so that NaN is out of every range
        return self.low is None or self.high is None or self.low <= number <= self.high

    def _typed(self, value: object) -> Value:
        if isinstance(self.default, str):
            if not isinstance(value, str):
                raise self._refusal(value, "it must be text")
            return ",".join(part.strip() for part in value.split(",")) if self.several else value.strip()
        if isinstance(value, bool):
            raise self._refusal(value, "it must be a number")
        try:
            return int(str(value)) if isinstance(self.default, int) else float(str(value))
        except ValueError:
            kind = "a whole number" if isinstance(self.default, int) else "a number"
            raise self._refusal(value, f"it must be {kind}") from None

    def _check_choices(self, text: str) -> None:
        parts = text.split(",") if self.several else [text]
        if self.optional and text in ("", "none"):
            return
        for part in parts:
            if part not in self.choices:
                raise self._refusal(text, f"{part!r} is not one of {', '.join(self.choices)}")
        if len(set(parts)) != len(parts):
            raise self._refusal(text, "a value stands twice")

    def _refusal(self, value: object, cause: str) -> PlanError:
        return PlanError(f"parameter {self.name}={value!r}", cause, f"valid: {self.range_text}")


def validate(parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Value]:
    """All parameters, defaults filled in. Raises PlanError with the list of valid ones for an unknown name."""
    known = {parameter.name: parameter for parameter in parameters}
    for name in given:
        if name not in known:
            raise PlanError(f"parameter {name!r}", "unknown", "valid ones:\n" + describe(parameters))
    return {
        name: parameter.parse(given[name]) if name in given else parameter.default for name, parameter in known.items()
    }


def describe(parameters: Sequence[Parameter]) -> str:
    """A line for each parameter: name, default, meaning, range."""
    return "\n".join(
        f"  {parameter.name}={parameter.default}  {parameter.meaning} ({parameter.range_text})"
        for parameter in parameters
    )


def listed(value: Value) -> tuple[str, ...]:
    """The parts of a parameter that is a list; none where it says so."""
    return tuple(part for part in str(value).split(",") if part not in ("", "none"))
