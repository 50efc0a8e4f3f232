"""Progress of long work: a bar with the time left on a terminal, a live line in JupyterLab, plain lines in a log.

A notebook that `lab run` executes sends its progress to a local socket, which LAB_PROGRESS names. If `lab run` ends,
the notebook's kernel ends too. Of a running load the last second is shown, from the generator's HdrHistogram log.
"""

import contextlib
import math
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any, TextIO

from runners import words
from runners.errors import printable

SHOWN_S = 120
_TENTH_S = 0.1  # the length of an interval in the generator's log
WIDTH_PX, STRIP_PX, LABEL_PX = 640, 44, 190


@dataclass(frozen=True, slots=True)
class Moment:
    """The rate and percentiles of about one second of a load; percentiles are NaN without a response."""

    rate_rps: float
    p50_us: float
    p99_us: float

    def text(self) -> str:
        """Return rate, p50 and p99 as text, for a terminal."""
        return f"{words.rate(self.rate_rps)}, p50 {words.latency(self.p50_us)}, p99 {words.latency(self.p99_us)}"


def followed(log: Path) -> Iterator[Moment | None]:
    """Yield repeatedly a `Moment` from the lines added to a load's log since the last yield, or None without any."""
    # not imported above: a host of a fleet shows progress, follows no load, and so need not import pandas
    from runners.readers.hdr_log import UNTAGGED, interval_of, untargeted
    from runners.readers.samples import Samples

    read_bytes = 0
    while True:
        added = ""
        with contextlib.suppress(FileNotFoundError), log.open(encoding="ascii", errors="replace") as file:
            file.seek(read_bytes)
            added = file.read()
        added = added[: added.rfind("\n") + 1]  # whole lines
        read_bytes += len(added)
        intervals = [interval for line in added.splitlines() if (interval := interval_of(line))]
        intervals = [interval for interval in intervals if untargeted(interval.kind) == UNTAGGED]
        length_s = max(_TENTH_S, sum({interval.t_s: interval.duration_s for interval in intervals}.values()))
        times = Samples.merge(interval.samples for interval in intervals)
        yield Moment(times.total / length_s, times.percentile(0.5), times.percentile(0.99)) if intervals else None


def drawing(moments: Sequence[Moment]) -> str:
    """Return the last SHOWN_S seconds of a load as SVG: the achieved rate, then p50 and p99 on a logarithmic scale."""
    shown, parts = moments[-SHOWN_S:], list[str]()
    latest = shown[-1]
    both = zip(*((moment.p50_us, moment.p99_us) for moment in shown), strict=True)
    percentiles = [[math.log10(us) if us > 0 else us for us in times] for times in both]
    p50_p99 = f"{words.latency(latest.p50_us)}, {words.latency(latest.p99_us)}"
    strips = (
        ("achieved rate", "#0072B2", words.rate(latest.rate_rps), [[moment.rate_rps for moment in shown]]),
        ("p50, p99", "#D55E00", p50_p99, percentiles),
    )
    for place, (label, colour, now, lines) in enumerate(strips):
        top, step = place * STRIP_PX, (WIDTH_PX - LABEL_PX) / max(1, len(shown) - 1)
        parts.append(f'<text x="0" y="{top + 18}" fill="currentColor" opacity="0.7">{label}</text>')
        parts.append(f'<text x="0" y="{top + 35}" fill="currentColor" font-weight="600">{now}</text>')
        high = max([1e-9, *(value for line in lines for value in line if math.isfinite(value))])
        for line in lines:
            points = " ".join(
                f"{LABEL_PX + at * step:.1f},{top + STRIP_PX - 8 - value / high * (STRIP_PX - 14):.1f}"
                for at, value in enumerate(line)
                if math.isfinite(value)
            )
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    height = len(strips) * STRIP_PX
    return (
        f'<svg role="img" aria-label="The load so far: {latest.text()}" viewBox="0 0 {WIDTH_PX} {height}" '
        f'width="{WIDTH_PX}" height="{height}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


ADDRESS = "LAB_PROGRESS"
LINE_EVERY_S = 10.0
_KILLED_EXIT = 143
#: How long `lab run` waits at most for the last messages of a kernel that has ended.
SHOWN_WITHIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Event:
    """The progress of a run: planned seconds done, planned in total, current part, last second of the part's load."""

    done_s: float
    total_s: float
    text: str
    moment: Moment | None = None

    @property
    def whole_text(self) -> str:
        return f"{self.text}: {self.moment.text()}" if self.moment else self.text


class Sink:
    """A display of progress; this base class shows nothing."""

    def show(self, event: Event) -> None:
        """Show the progress of a run."""

    def say(self, line: str) -> None:
        """Show a line while the work goes on."""

    def note(self, line: str) -> None:
        """Show a line that stays when the work is over."""
        self.say(line)

    def rest(self) -> None:
        """Clear the display, so that other output can be printed."""

    def close(self) -> None:
        """End the display."""


class BarSink(Sink):
    """A bar, for a terminal."""

    def __init__(self, out: TextIO) -> None:
        from tqdm import tqdm  # only a terminal needs it

        form = "{percentage:3.0f} % |{bar:24}| {remaining} left  {desc}"
        self._bar = tqdm(total=1.0, file=out, leave=False, dynamic_ncols=True, bar_format=form)

    def show(self, event: Event) -> None:
        self._bar.total = event.total_s
        self._bar.n = min(event.done_s, event.total_s)
        self._bar.set_description_str(event.whole_text, refresh=True)

    def say(self, line: str) -> None:
        self._bar.write(line, file=self._bar.fp)

    def rest(self) -> None:
        self._bar.clear()

    def close(self) -> None:
        self._bar.close()


class LineSink(Sink):
    """Lines for a log: one when another part of the work begins, and one every ten seconds."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last_text = ""
        self._last_s = 0.0
        self._begin_s: float | None = None

    def show(self, event: Event) -> None:
        now_s = time.monotonic()
        if event.text != self._last_text or now_s - self._last_s >= LINE_EVERY_S:
            self._last_text, self._last_s = event.text, now_s
            self.say(f"{self.left(event)}  {event.whole_text}")

    def left(self, event: Event) -> str:
        """Return as text the share of the work that is done and the expected time left: `[ 50%] 03:20 left`."""
        now_s = time.monotonic()
        self._begin_s = self._begin_s or now_s
        share = min(1.0, event.done_s / event.total_s) if event.total_s else 0.0
        # until a few percent are done, the plan predicts the time left better than the pace so far
        left_s = event.total_s - event.done_s if share < 0.05 else (now_s - self._begin_s) * (1 - share) / share
        minutes, seconds = divmod(round(max(0.0, left_s)), 60)
        return f"[{share:4.0%}] {minutes:02d}:{seconds:02d} left"

    def say(self, line: str) -> None:
        print(line, file=self._out, flush=True)


class NotebookSink(LineSink):
    """One live line in a notebook cell's output, above a figure of the running load; both vanish when work is over."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._moments: list[Moment] = []
        self._cell: tuple[int, Any] | None = None

    def show(self, event: Event) -> None:
        if event.moment is not None:
            self._moments.append(event.moment)
        self.say(f"{self.left(event)}  {event.text}")

    def note(self, line: str) -> None:
        super().say(line)

    def rest(self) -> None:
        self._moments = []
        if self._cell is not None:
            self.say("")

    def say(self, line: str) -> None:
        """Show a line, in place of the line before, in the output of the notebook cell that is running."""
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
    """Sends progress to the `lab run` that started this notebook kernel, and ends the kernel when `lab run` is gone."""

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
    """Return this process's display: `lab run`'s socket, else a notebook's line, a terminal's bar, or a log's lines."""
    if address := os.environ.get(ADDRESS):
        return SocketSink(address)
    stream = out or sys.stdout
    if notebook:
        return NotebookSink(stream)
    return BarSink(stream) if stream.isatty() else LineSink(stream)


class Progress:
    """The progress of a run, in seconds of its plan; it is shown part by part."""

    def __init__(self, total_s: float, shown_in: Sink) -> None:
        self._total_s = total_s
        self._done_s = 0.0
        self._sink = shown_in

    @contextlib.contextmanager
    def part(self, text: str, planned_s: float, in_plan_s: float | None = None) -> Iterator[Callable[..., None]]:
        """Show a part of the run while the body runs; yield a function to call with the seconds since the part began.

        `planned_s`: how long the part takes. `in_plan_s`: what the run's total includes for the part; None: as much.
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
        """When the body has measured a block, replace its `planned_s` in the run's total by the sum over its parts."""
        total_s, done_s = self._total_s, self._done_s
        yield
        self._total_s = total_s - planned_s + self._done_s - done_s

    def extend(self, by_s: float) -> None:
        """Add seconds to the run's plan, or with a negative number take them away."""
        self._total_s = max(self._done_s, self._total_s + by_s)

    def say(self, line: str) -> None:
        self._sink.say(printable(line))

    def note(self, line: str) -> None:
        """Show a line that readers of the results need; a notebook keeps the line in its cell's output."""
        self._sink.note(printable(line))

    def close(self) -> None:
        self._sink.close()


@contextlib.contextmanager
def listening(shown_in: Sink) -> Iterator[str]:
    """While the body runs, show the progress that a notebook kernel sends; yield the kernel's value of LAB_PROGRESS."""
    with tempfile.TemporaryDirectory(prefix="lab-") as folder:
        address = str(Path(folder) / "progress")
        listener = Listener(address, "AF_UNIX")
        serving = threading.Thread(target=_serve, args=(listener, shown_in), daemon=True)
        serving.start()
        try:
            yield address
        finally:
            with contextlib.suppress(OSError):
                Client(address, "AF_UNIX").close()  # ends the wait for a kernel that never connected
            serving.join(SHOWN_WITHIN_S)
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
