"""Progress of long work: a bar with the time left on a terminal, a live line in JupyterLab, plain lines in a log.

A notebook in batch has no terminal: `lab run` listens on a local socket named in LAB_PROGRESS, and the notebook's
kernel sends it what it would have shown. When the listener goes away, so does the kernel: no run outlives `lab run`.

A load is followed while it runs: rate, percentiles and stolen time of its last second, and a small figure of them. The
generator writes its HdrHistogram log as it goes; a second costs ten lines of a tenth each to read.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, Protocol, TextIO

import psutil
from tqdm import tqdm

from runners import words
from runners.errors import printable

SHOWN_S = 120
_TENTH_S = 0.1  # the length of a whole line of the log
WIDTH_PX, STRIP_PX, LABEL_PX = 640, 44, 190
#: Of each strip: its label and the colour of its line.
RATE, LATENCY, STOLEN = ("achieved rate", "#0072B2"), ("p50, p99", "#D55E00"), ("stolen by the host", "#57606a")


@dataclass(frozen=True, slots=True)
class Moment:
    """One second of a load. `stolen_share` is of all cores; a percentile is NaN in a second without a response."""

    rate_rps: float
    p50_us: float
    p99_us: float
    stolen_share: float

    def text(self) -> str:
        """Return the second in words, for a terminal."""
        percentiles = f"p50 {words.latency(self.p50_us)}, p99 {words.latency(self.p99_us)}"
        return f"{words.rate(self.rate_rps)}, {percentiles}, {words.percent(self.stolen_share)} stolen"


class Follower:
    """Reads what a load has added to its HdrHistogram log since the last look; several servers count together."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_bytes = 0
        self._times = _machine_s()

    def read(self) -> Moment | None:
        """Return the time since the last look; None where the generator wrote nothing, as wrk and wrk2 don't."""
        # A host of a fleet shows progress without following a load, and needs no frames for it.
        from runners.readers.hdr_log import UNTAGGED, interval_of, untargeted
        from runners.readers.samples import Samples

        found = [each for line in self._lines() if (each := interval_of(line)) and untargeted(each.kind) == UNTAGGED]
        if not found:
            return None
        (stolen_s, all_s), (stolen_before_s, all_before_s) = _machine_s(), self._times
        self._times = (stolen_s, all_s)
        passed_s = all_s - all_before_s
        times = Samples.merge(each.samples for each in found)
        return Moment(
            times.total / max(_TENTH_S, sum({each.t_s: each.duration_s for each in found}.values())),
            times.percentile(0.5),
            times.percentile(0.99),
            (stolen_s - stolen_before_s) / passed_s if passed_s > 0 else 0.0,
        )

    def _lines(self) -> list[str]:
        if not self._log.exists():
            return []
        with self._log.open(encoding="ascii", errors="replace") as file:
            file.seek(self._read_bytes)
            text = file.read()
        whole = text[: text.rfind("\n") + 1]
        self._read_bytes += len(whole)
        return whole.splitlines()


def _machine_s() -> tuple[float, float]:
    times = psutil.cpu_times()
    return getattr(times, "steal", 0.0), sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)


def drawing(moments: Sequence[Moment]) -> str:
    """Draw the last seconds as SVG: a strip for the rate, one for both percentiles (logs), one for stolen time."""
    shown = moments[-SHOWN_S:]
    latest = shown[-1]
    strips = [
        (RATE, [[each.rate_rps for each in shown]], words.rate(latest.rate_rps), False),
        (LATENCY, [[each.p50_us for each in shown], [each.p99_us for each in shown]],
         f"{words.latency(latest.p50_us)}, {words.latency(latest.p99_us)}", True),
        (STOLEN, [[each.stolen_share for each in shown]], words.percent(latest.stolen_share), False),
    ]  # fmt: skip
    parts = []
    for place, ((label, colour), lines, now, logarithmic) in enumerate(strips):
        top = place * STRIP_PX
        parts.append(f'<text x="0" y="{top + 18}" fill="currentColor" opacity="0.7">{label}</text>')
        parts.append(f'<text x="0" y="{top + 35}" fill="currentColor" font-weight="600">{now}</text>')
        for points in _points(lines, top, logarithmic):
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    height = len(strips) * STRIP_PX
    return (
        f'<svg role="img" aria-label="The load so far: {latest.text()}" viewBox="0 0 {WIDTH_PX} {height}" '
        f'width="{WIDTH_PX}" height="{height}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _points(lines: Sequence[Sequence[float]], top: float, logarithmic: bool) -> list[str]:
    """Return the lines of one strip in its own scale, from 0 or, logarithmic, from the least value on."""
    scaled = [[math.log10(value) if logarithmic and value > 0 else value for value in line] for line in lines]
    finite = [value for line in scaled for value in line if math.isfinite(value)]
    if not finite:
        return []
    low = min(finite) if logarithmic else 0.0
    high = max(*finite, low + 1e-9)
    step = (WIDTH_PX - LABEL_PX) / max(1, len(lines[0]) - 1)
    found = []
    for line in scaled:
        at = [
            (LABEL_PX + place * step, top + (STRIP_PX - 8) - (value - low) / (high - low) * (STRIP_PX - 14))
            for place, value in enumerate(line)
            if math.isfinite(value)
        ]
        found.append(" ".join(f"{x:.1f},{y:.1f}" for x, y in at))
    return found


ADDRESS = "LAB_PROGRESS"
LINE_EVERY_S = 10.0
_KILLED_EXIT = 143
#: So long is waited for what a kernel that has ended said last.
SHOWN_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Event:
    """How far the work is. Seconds of the plan done, seconds in all, what is being done, and how the load does now."""

    done_s: float
    total_s: float
    text: str
    moment: Moment | None = None

    @property
    def whole_text(self) -> str:
        return f"{self.text}: {self.moment.text()}" if self.moment else self.text


class Sink(Protocol):
    """Somewhere to show events."""

    def show(self, event: Event) -> None: ...
    def say(self, line: str) -> None:
        """Show a line about what goes on."""

    def note(self, line: str) -> None:
        """Show a line that is still of use when the work is over."""
        self.say(line)

    def rest(self) -> None:
        """Make room for what is printed next, where there is need."""
        return

    def close(self) -> None:
        """End what was begun, if anything."""
        return


class BarSink(Sink):
    """A bar, for a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._bar: tqdm[None] = tqdm(
            total=1.0,
            file=out,
            leave=False,
            dynamic_ncols=True,
            bar_format="{percentage:3.0f} % |{bar:24}| {remaining} left  {desc}",
        )

    def show(self, event: Event) -> None:
        self._bar.total = event.total_s
        self._bar.n = min(event.done_s, event.total_s)
        self._bar.set_description_str(event.whole_text, refresh=True)

    def say(self, line: str) -> None:
        self._bar.write(line, file=self._bar.fp)

    def rest(self) -> None:
        self._bar.clear()  # what is printed next begins a line of its own

    def close(self) -> None:
        self._bar.close()


class LineSink(Sink):
    """A line when the work changes and every ten seconds, for a log."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last_text = ""
        self._last_s = 0.0
        self._begin_s: float | None = None

    def show(self, event: Event) -> None:
        now_s = time.monotonic()
        if event.text == self._last_text and now_s - self._last_s < LINE_EVERY_S:
            return
        self._last_text, self._last_s = event.text, now_s
        self.say(f"{self.left(event)}  {event.whole_text}")

    def left(self, event: Event) -> str:
        """Return which share is done and how long the rest takes: `[ 50%] 03:20 left`."""
        now_s = time.monotonic()
        self._begin_s = self._begin_s or now_s
        share = min(1.0, event.done_s / event.total_s) if event.total_s else 0.0
        # until a few percent are done, the plan is a better guide than the pace
        left_s = event.total_s - event.done_s if share < 0.05 else (now_s - self._begin_s) * (1 - share) / share
        minutes, seconds = divmod(round(max(0.0, left_s)), 60)
        return f"[{share:4.0%}] {minutes:02d}:{seconds:02d} left"

    def say(self, line: str) -> None:
        print(line, file=self._out, flush=True)


class NotebookSink(LineSink):
    """One live line in a notebook's cell, and below it a figure of the load that runs; afterwards both are gone."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._moments: list[Moment] = []
        self._cell: tuple[int, Any] | None = None

    def show(self, event: Event) -> None:
        if event.moment is not None:
            self._moments.append(event.moment)
        self._update(f"{self.left(event)}  {event.text}")

    def say(self, line: str) -> None:
        self._update(line)

    def note(self, line: str) -> None:
        super().say(line)

    def rest(self) -> None:
        self._moments = []
        if self._cell is not None:
            self._update("")

    def _update(self, line: str) -> None:
        """Show a line in place of the last, in the output that the cell which runs now has for it."""
        from IPython.core.getipython import get_ipython
        from IPython.display import HTML, display

        figure = drawing(self._moments) if self._moments else ""
        shown = HTML(f"<div>{escape(line)}</div>{figure}" if line else "")  # type: ignore[no-untyped-call]
        number = getattr(get_ipython(), "execution_count", 0)
        if self._cell is not None and self._cell[0] == number:
            self._cell[1].update(shown)
        else:
            self._cell = number, display(shown, display_id=True)  # type: ignore[no-untyped-call]


class SocketSink(Sink):
    """Hands events to the `lab run` that started this kernel, and ends the kernel when that is gone.

    It is never closed: the listener must see this end close only when the kernel ends.
    """

    def __init__(self, address: str) -> None:
        self._connection: Connection = Client(address)
        threading.Thread(target=self._die_with_listener, daemon=True).start()

    def _die_with_listener(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._connection.recv()
        os._exit(_KILLED_EXIT)

    def show(self, event: Event) -> None:
        with contextlib.suppress(OSError):
            self._connection.send(event)

    def say(self, line: str) -> None:
        with contextlib.suppress(OSError):
            self._connection.send(line)

    def note(self, line: str) -> None:
        self.say(line)
        print(line)  # the executed notebook keeps it too


def sink(out: TextIO | None = None, notebook: bool = False) -> Sink:
    """The right way to show progress here: `lab run`'s socket, a bar, or lines."""
    if address := os.environ.get(ADDRESS):
        return SocketSink(address)
    stream = out or sys.stdout
    if notebook:
        return NotebookSink(stream)
    return BarSink(stream) if stream.isatty() else LineSink(stream)


class Tick(Protocol):
    """Say for how many seconds a part has gone on, and how its load does now."""

    def __call__(self, elapsed_s: float, moment: Moment | None = None) -> None: ...


class Progress:
    """The seconds of a plan, spent part by part."""

    def __init__(self, total_s: float, shown_in: Sink) -> None:
        self._total_s = total_s
        self._done_s = 0.0
        self._sink = shown_in

    @contextlib.contextmanager
    def part(self, text: str, planned_s: float, in_plan_s: float | None = None) -> Iterator[Tick]:
        """Begin a part of the work that will take about `planned_s`; give how far it is, and it counts as done
        afterwards.

        Where that is known better by now than when the whole was planned, with `in_plan_s` for this part, the whole
        becomes longer or shorter by the difference.
        """
        if in_plan_s is not None:
            self._total_s += planned_s - in_plan_s
        text = printable(text)

        def tick(elapsed_s: float, moment: Moment | None = None) -> None:
            done_s = self._done_s + min(elapsed_s, planned_s)
            self._sink.show(Event(done_s, max(self._total_s, done_s), text, moment))

        tick(0.0)
        try:
            yield tick
        finally:
            self._done_s += planned_s
            self._sink.rest()

    @contextlib.contextmanager
    def block(self, planned_s: float) -> Iterator[None]:
        """Begin a block of the plan; at its end the whole is as much longer or shorter as it was than `planned_s`."""
        total_s, done_s = self._total_s, self._done_s
        yield
        self._total_s = total_s - planned_s + self._done_s - done_s

    def lengthen(self, by_s: float) -> None:
        """A part of the plan is done once more."""
        self._total_s += by_s

    def shorten(self, by_s: float) -> None:
        """A part of the plan need not be done."""
        self._total_s = max(self._done_s, self._total_s - by_s)

    def say(self, line: str) -> None:
        self._sink.say(printable(line))

    def note(self, line: str) -> None:
        """Say what a reader of the results has to know; a notebook keeps it."""
        self._sink.note(printable(line))

    def close(self) -> None:
        self._sink.close()


@contextlib.contextmanager
def listening(shown_in: Sink) -> Iterator[str]:
    """Listen for a kernel's progress and show it; gives the address to put into LAB_PROGRESS."""
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        address = str(Path(folder) / "progress")
        listener = Listener(address, "AF_UNIX")
        serving = threading.Thread(target=_serve, args=(listener, shown_in), daemon=True)
        serving.start()
        try:
            yield address
        finally:
            with contextlib.suppress(OSError):
                Client(address, "AF_UNIX").close()  # ends the wait for a kernel that never came
            serving.join(SHOWN_WITHIN_S)  # what the kernel said before it ended is shown
            listener.close()
            shown_in.close()


def _serve(listener: Listener, shown_in: Sink) -> None:
    with contextlib.suppress(OSError, EOFError):
        connection = listener.accept()
        while True:
            message = connection.recv()
            if isinstance(message, str):
                shown_in.say(message)
            else:
                shown_in.show(message)
