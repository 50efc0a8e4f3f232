"""Showing things in a notebook's cell; silent everywhere else."""

from __future__ import annotations

from collections.abc import Callable


def in_notebook() -> bool:
    """Whether this code runs in a notebook's kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return hasattr(get_ipython(), "kernel")


def draw(make: Callable[[], object]) -> None:
    """Make a figure and show it below the cell. Outside a notebook nothing is made."""
    if in_notebook():
        from IPython.display import display

        display(make())  # type: ignore[no-untyped-call]
