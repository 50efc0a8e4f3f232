"""The one family of errors that a user sees: each names the thing, the cause and the remedy."""

from __future__ import annotations


class LabError(Exception):
    """Something that the user can act on. `thing: cause; remedy` is its text."""

    def __init__(self, thing: str, cause: str, remedy: str) -> None:
        super().__init__(f"{thing}: {cause}; {remedy}")
        self.thing = thing
        self.cause = cause
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[LabError], tuple[str, str, str]]:
        """Let it cross from one process to another as what it is."""
        return type(self), (self.thing, self.cause, self.remedy)


class PlanError(LabError):
    """A parameter or an experiment that can't be."""


class ToolError(LabError):
    """A tool that is missing, too old, or failed to build."""


class ServerError(LabError):
    """A server that did not start, is not the one we started, or died."""


class MeasureError(LabError):
    """A load or a profile that could not be taken."""
