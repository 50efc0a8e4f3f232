"""Sampler of the activity of machine and server threads, ten JSON lines per second (Linux only).

Counters are cumulative; readers take differences. The sampling thread runs only when a core would idle (SCHED_IDLE,
see runners/docs/0001-guard-process.md). So a sample may come late; it holds its own time. The stall witness is a
program of the generator's crate: on each core, a thread of real-time priority notices when the core stalls.
"""

import contextlib
import contextvars
import itertools
import json
import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TextIO

import psutil

from runners.errors import LabError, MeasureError
from runners.process.cpu_placement import COMPILER, proc_text, usable_cpus
from runners.process.supervisor import Child, cpu_time_ns, start, tree
from runners.storage.schema import BACKGROUND, OtherProcess, WitnessRecord
from runners.toolchain.tools import TRUEPACE

#: The most files that are kept open, far below a process's usual limit of 1024; others are opened at each reading.
KEPT = 500
_LARGEST = 16_384


@contextlib.contextmanager
def kept_open() -> Iterator[Callable[[str], str | None]]:
    """Yield a function that reads a kernel file by its path, anew at every call; it returns None if reading fails."""
    kept: dict[str, int] = {}

    def text_of(path: str) -> str | None:
        try:
            if (descriptor := kept.get(path)) is None:
                if len(kept) >= KEPT:
                    return Path(path).read_bytes()[:_LARGEST].decode(errors="replace")
                descriptor = kept[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(descriptor, _LARGEST, 0).decode(errors="replace")
        except OSError:
            if path in kept:
                os.close(kept.pop(path))
            return None

    try:
        yield text_of
    finally:
        for descriptor in kept.values():
            os.close(descriptor)


PERIOD_S = 0.1
#: Threads are listed anew after this many samples, since they begin and end seldom.
RESCAN_EVERY = 10
#: Roles of threads, with a pattern that the name begins with (the kernel keeps 15 letters); the first match counts.
ROLES = (
    ("jit", COMPILER),
    ("gc", re.compile(r"GC Thread|G1 |VM Thread|Parallel|Shenandoah|Z[A-Z]")),
    ("flush", re.compile(r"lsm-flush|rocksdb:high")),
    ("compaction", re.compile(r"lsm-compact|rocksdb:(low|bottom)")),
    ("profiler", re.compile(r"JFR |Async-prof")),
    ("serving", re.compile(r"NIO |HTTP|pool|ForkJoin|worker|Cluster|Acceptor|one-nio", re.I)),
)
OTHER = "other"
THIS_PROGRAM, ENDED = "this lab", "ended processes"
SENDING = "sending"  # role of the generator's threads
#: A process outside of the load is listed once it has used this much CPU time since the sampling began.
LEAST_OTHER_NS = 1_000_000
_KWORKER = re.compile(r"kworker/.*")  # threads of the kernel's pool count as one, for chance decides which one works
MOST_OTHERS, LEAST_CORES = 3, 0.02  # a load's record names this many other processes, each with at least LEAST_CORES
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class _Other:
    first_ns: int  # CPU time at the first reading
    last_ns: int  # CPU time at the last reading
    name: str = ""  # set once it is needed


def _name(pid: int) -> str:
    if pid == os.getpid():
        return THIS_PROGRAM
    return _KWORKER.sub("kworker", proc_text(f"/proc/{pid}/comm").strip()) or ENDED


def role(name: str) -> str:
    return next((role for role, pattern in ROLES if pattern.match(name)), OTHER)


def available() -> bool:
    """Return whether this kernel counts the CPU time of threads."""
    return Path("/proc/self/schedstat").exists() and Path("/proc/stat").exists()


def run_when_idle() -> None:
    """Let the calling thread run only when a core would idle; if the system refuses that, lower its priority."""
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError:
        os.nice(10)


class BackgroundClock:
    """The CPU time of a server's background threads, by role; an ended thread keeps the time of its last reading."""

    def __init__(self, roots: Collection[int]) -> None:
        self._roots = tuple(roots)
        self._known: dict[str, str] = {}
        self._used_ns: dict[str, int] = {}

    def read_s(self) -> dict[str, float] | None:
        """Return CPU seconds so far by role, without roles that used none; None if the kernel counts no CPU time."""
        if not available():
            return None
        for pid in tree(self._roots):
            with contextlib.suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(OSError, ValueError):
                        known = self._known.get(thread.name, OTHER)
                        if known == OTHER:  # a thread takes its name after its start
                            known = role((thread / "comm").read_text(encoding="ascii", errors="replace").strip())
                            self._known[thread.name] = known
                        if known in BACKGROUND:
                            schedstat = (thread / "schedstat").read_text(encoding="ascii")
                            self._used_ns[thread.name] = int(schedstat.split()[0])
        used_by_role = dict.fromkeys(BACKGROUND, 0.0)
        for thread_id, used_ns in self._used_ns.items():
            used_by_role[self._known[thread_id]] += used_ns / 1e9
        return {role: used_s for role, used_s in used_by_role.items() if used_s}


@contextlib.contextmanager
def idle_thread(work: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """Yield a function that hands its arguments to `work`, in a thread which runs only when a core idles.

    If the thread has not begun by the next call, the caller does the work of that call. An error of the work is raised
    by the next call, or after the body.
    """
    last = done = Future[None]()
    done.set_result(None)

    def request(*arguments: Any) -> None:
        nonlocal last
        if last.cancel():
            last = done
            work(*arguments)
        elif last.done():
            last.result()
            context = contextvars.copy_context()  # the output of the work belongs to the same cell of a notebook
            last = pool.submit(lambda: context.run(work, *arguments))

    pool = ThreadPoolExecutor(1, "idle-work", run_when_idle)
    try:
        yield request
    finally:
        pool.shutdown(cancel_futures=True)
    if not last.cancelled():
        last.result()


class Activity:
    """A context manager that samples CPU time of machine and server and use of `data`'s disk into `path` (Linux)."""

    def __init__(self, path: Path, server_pids: Collection[int], data: Path | None) -> None:
        self._path, self._roots = path, tuple(server_pids)
        self._disk = _disk_counters_path(data) if data else None
        #: The caller sets this as soon as the generator runs, so that it does not count among the other processes.
        self.generator_pid: int | None = None
        self._over = threading.Event()
        self._opened = contextlib.ExitStack()
        self._roles: dict[str, str] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._others: dict[int, _Other] = {}

    def __enter__(self) -> Self:
        self._began_ns = time.monotonic_ns()
        if available():
            with contextlib.ExitStack() as opened:
                self._text_of = opened.enter_context(kept_open())
                out = opened.enter_context(self._path.open("w", encoding="utf-8", buffering=1))
                self._scan()
                self._sample(out)  # at once: readers need it as the baseline
                thread = threading.Thread(target=self._run, args=(out,), name="activity", daemon=True)
                thread.start()
                opened.callback(thread.join)
                self._opened = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._opened.close()

    def _run(self, out: TextIO) -> None:
        run_when_idle()
        due = time.monotonic()
        for count in itertools.count(1):
            due = max(due + PERIOD_S, time.monotonic())
            over = self._over.wait(max(0.0, due - time.monotonic()))
            if count % RESCAN_EVERY == 0:
                self._scan()
            self._sample(out)
            if over:
                return

    def _scan(self) -> None:
        for pid in tree(self._roots):
            for thread in self._new_threads(pid):
                with contextlib.suppress(OSError):
                    name = Path(f"{thread}/comm").read_text(encoding="ascii", errors="replace")
                    self._roles[thread] = role(name.strip())
        roots = self._roots
        if self.generator_pid is not None:
            self._roles |= dict.fromkeys(self._new_threads(self.generator_pid), SENDING)
            roots = (*roots, self.generator_pid)
        # of a process that started after the sampling began, all CPU time counts
        of_the_load, first = {*tree(roots)}, not self._others
        for pid in psutil.pids():
            if pid not in self._others and pid not in of_the_load and (used_ns := cpu_time_ns(pid)) is not None:
                self._others[pid] = _Other(used_ns if first else 0, used_ns)
        for pid in of_the_load:
            self._others.pop(pid, None)

    def busiest(self) -> tuple[OtherProcess, ...]:
        """Return the processes outside of the load with the most CPU time since the sampling began, at most three."""
        elapsed_ns = time.monotonic_ns() - self._began_ns
        used = self._others_ns().most_common(MOST_OTHERS)
        busiest = (OtherProcess(name=name, cores=round(used_ns / elapsed_ns, 3)) for name, used_ns in used)
        return tuple(process for process in busiest if process.cores >= LEAST_CORES)

    def _others_ns(self) -> Counter[str]:
        """Return {name: CPU time (ns) since sampling began} for processes outside of the load; ended ones count too."""
        used = Counter[str]()
        for pid, other in self._others.items():
            if (used_ns := cpu_time_ns(pid)) is not None and used_ns > other.last_ns:
                other.last_ns = used_ns
            grown_ns = other.last_ns - other.first_ns
            if grown_ns >= LEAST_OTHER_NS:
                other.name = other.name or _name(pid)
                used[other.name] += grown_ns
        return used

    def _new_threads(self, pid: int) -> set[str]:
        root = f"/proc/{pid}/task"
        with contextlib.suppress(OSError):
            threads = {f"{root}/{thread}" for thread in os.listdir(root)}  # noqa: PTH208 - pathlib costs three times as much
            return threads - self._roles.keys()
        return set()

    def _sample(self, out: TextIO) -> None:
        ran, waited = Counter[str](), Counter[str]()
        begin_us = time.time_ns() // 1000
        for thread, part in self._roles.items():
            if (text := self._text_of(f"{thread}/schedstat")) is not None:
                run_ns, wait_ns, _ = text.split()
                self._last[thread] = int(run_ns), int(wait_ns)
            run, wait = self._last.get(thread, (0, 0))  # an ended thread keeps its times, so that sums never fall
            ran[part] += run
            waited[part] += wait
        end_us = time.time_ns() // 1000
        ran.pop(SENDING, None)  # "generator_s" holds the generator's CPU time, from its start
        line = (self._text_of("/proc/stat") or "cpu 0 0 0 0 0 0 0 0").split("\n", 1)[0].split()[1:]
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(value) * _TICK_S for value in line[:8])
        generator_ns = cpu_time_ns(self.generator_pid) if self.generator_pid is not None else None
        generator_s = generator_ns / 1e9 if generator_ns is not None else None
        disk = self._text_of(self._disk) if self._disk else None
        sample = {
            "unix_us": (begin_us + end_us) // 2, "steal_s": steal,
            "busy_s": user + nice + system + irq + softirq, "ran_ns": ran,
            "waited_ns": waited, "others_ns": self._others_ns(), "generator_s": generator_s,
            "disk_busy_ms": int(disk.split()[9]) if disk else None, "io_stall_us": self._stalled_us("io"),
            "memory_stall_us": self._stalled_us("memory"),
        }  # fmt: skip
        out.write(json.dumps(sample) + "\n")

    def _stalled_us(self, resource: str) -> int | None:
        some = (self._text_of(f"/proc/pressure/{resource}") or "").partition("\n")[0]
        total = some.rpartition("total=")[2]
        return int(total) if total.isdecimal() else None


def _disk_counters_path(data: Path) -> str | None:
    with contextlib.suppress(OSError):
        device = data.stat().st_dev
        return f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
    return None


STALL_WITNESS = TRUEPACE.with_name("stall-witness")
READY = "ready"
REMEDY = "sudo setcap cap_sys_nice+ep on it, a real-time limit (ulimit -r 50), or root; or run without it"


@contextlib.contextmanager
def stalls_watched(file: Path, cpus: Sequence[int] = ()) -> Iterator[list[WitnessRecord]]:
    """Let the stall witness watch `cpus` (default: all usable ones) while the body runs; yield a list for its record.

    After the body, `file` is complete and the list holds the record, with the reason as `note` if no witness ran.
    """
    cores, records = tuple(cpus or usable_cpus()), list[WitnessRecord]()
    child = None
    try:
        child = _witness(cores, file)
    except LabError as refusal:
        records.append(WitnessRecord(note=str(refusal)))
    try:
        yield records
    finally:
        if child is not None:
            code = child.stop()
            broken = MeasureError("the stall witness", f"it ended with {code}", "run again")
            records.append(WitnessRecord(note=str(broken)) if code else WitnessRecord(cpus=cores))


def _witness(cpus: Sequence[int], file: Path) -> Child:
    if not STALL_WITNESS.exists():
        raise MeasureError("the stall witness", f"{STALL_WITNESS.name} is not built", "build truepace (cargo)")
    command = [str(STALL_WITNESS), ",".join(map(str, cpus)), str(file)]
    child = start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    line = child.stdout.readline().decode(errors="replace").strip()
    if line != READY:
        child.stop()
        raise MeasureError("the stall witness", line.removeprefix("stall-witness: ") or "it ended at once", REMEDY)
    return child
