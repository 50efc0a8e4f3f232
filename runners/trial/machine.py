"""Facts about this machine that may influence measurements, and the checks of the command `lab doctor`."""

import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from runners.design.setting import OLD_JDK
from runners.errors import LabError
from runners.process.cpu_placement import proc_text, usable_cpus
from runners.storage.step_folder import StepFolder
from runners.targets.lab_server import ServerSpec, launch
from runners.toolchain import tools
from runners.toolchain.build import DIST, PROFILER_JARS
from runners.trial.profiler import Profiler, ProfileSpec

_NOISE_WINDOW_S = 0.5
BUSY_LIMIT = 0.10
STEAL_LIMIT = 0.02


def _text(path: Path | str) -> str | None:
    return proc_text(path).strip() or None


def _match(path: str, pattern: str) -> str | None:
    match = re.search(pattern, proc_text(path), re.MULTILINE)
    return match[1] if match else None


def _number(path: str) -> int | None:
    text = _match(path, r"\A(-?\d+)\s*\Z")
    return int(text) if text else None


def facts() -> dict[str, Any]:
    """Return facts about this machine (None: unknown), and the shares of its cores that are busy and stolen now."""
    library, library_version = platform.libc_ver()
    governors = {_text(path) for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    hypervisor = None
    if "hypervisor" in proc_text("/proc/cpuinfo"):
        hypervisor = _text("/sys/hypervisor/type") or _text("/sys/class/dmi/id/sys_vendor") or "yes"
    percent = psutil.cpu_times_percent(interval=_NOISE_WINDOW_S)
    steal = getattr(percent, "steal", 0.0)
    idle = percent.idle + getattr(percent, "iowait", 0.0)
    return {
        "cpu_model": _match("/proc/cpuinfo", r"^model name\s*:\s*(.+)$") or platform.processor() or platform.machine(),
        "cores": len(usable_cpus()), "memory_bytes": psutil.virtual_memory().total,
        "os": _match("/etc/os-release", r'^PRETTY_NAME="?([^"\n]+)') or platform.platform(),
        "kernel": platform.release(), "architecture": platform.machine(),
        "glibc": library_version if library == "glibc" else None,
        "governor": ", ".join(sorted(filter(None, governors))) or None, "virtualised": hypervisor,
        "perf_event_paranoid": _number("/proc/sys/kernel/perf_event_paranoid"),
        "kptr_restrict": _number("/proc/sys/kernel/kptr_restrict"),
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "transparent_huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load_average": list(os.getloadavg()),
        "busy_share": max(0.0, 100.0 - idle - steal) / 100, "steal_share": steal / 100,
    }  # fmt: skip


def pinning() -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Return (cores for the server, other cores for the generator); (None, None) with one core or without taskset."""
    cpus = usable_cpus()
    if len(cpus) < 2 or shutil.which("taskset") is None:
        return None, None
    return (cpus[0],), (cpus[1],)


def noise(machine: dict[str, Any]) -> list[dict[str, str]]:
    """Return warnings, with remedies, on conditions in `machine` (see `facts`) that may disturb a measurement."""
    busy, steal = f"{machine['busy_share'] * 100:.0f}\u00a0%", f"{machine['steal_share'] * 100:.1f}\u00a0%"
    warnings = (
        (machine["busy_share"] > BUSY_LIMIT, "M-BUSY", f"other work uses {busy} of the cores", "end it and run again"),
        (machine["steal_share"] > STEAL_LIMIT, "M-STEAL", f"the hypervisor takes {steal} of the cores' time",
         "run when the host is quiet, or on hardware of your own"),
        (machine["governor"] not in (None, "performance"), "M-GOVERNOR",
         f"the frequency governor is {machine['governor']}", "cpupower frequency-set -g performance"),
        (machine["cores"] < 2, "M-ONE-CORE", "server and generator share one core",
         "use a machine with two cores or more"),
    )  # fmt: skip
    return [{"code": code, "text": text, "remedy": remedy} for applies, code, text, remedy in warnings if applies]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `lab doctor`: a tool or property of this machine, its version or value, and a remedy if needed."""

    name: str
    found: str | None  # None: it is not on this machine
    remedy: str = ""
    fatal: bool = False  # without it, the lab can't measure
    warning: bool = False

    def line(self) -> str:
        mark = "unusual" if self.warning else "ok     " if self.found else "MISSING" if self.fatal else "absent "
        remedy = f"\n{'':33}{self.remedy}" if self.remedy else ""
        return f"{mark}  {self.name:22} {self.found or 'not found'}{remedy}"


def examine() -> list[Finding]:
    return [*_toolchain(), *_machine(), *_transport()]


def _toolchain() -> Iterator[Finding]:
    jdks = tools.find_jdks()
    for jdk in jdks:
        yield Finding(f"JDK {jdk.major}", f"{jdk.version} ({jdk.vendor}) at {jdk.home}")
    try:
        yield Finding(f"JDK >= {tools.REQUIRED_JDK}", f"{tools.require_jdk(jdks).home} will be used")
    except LabError as error:
        yield Finding(f"JDK >= {tools.REQUIRED_JDK}", None, error.remedy, fatal=tools.CHECKOUT)
    if tools.find_jdk(OLD_JDK, jdks) is None:
        yield Finding(f"JDK {OLD_JDK}", None, "optional: the published stages of experiment 02")
    for name, tool, remedy, fatal in (
        ("Maven", tools.find_tool("mvn"), "install Maven 3.8 or newer", tools.CHECKOUT),
        ("cargo", tools.find_tool("cargo"), "install Rust (rustup) for our generator", not tools.TRUEPACE.exists()),
        ("wrk2", tools.find_wrk2(), "optional: a second generator, which `lab build wrk2` makes", False),
        ("wrk", tools.find_wrk(), "optional: the closed-loop peer", False),
    ):
        yield Finding(name, f"{tool.version} at {tool.path}") if tool else Finding(name, None, remedy, fatal)


def _machine() -> Iterator[Finding]:
    about = facts()
    yield Finding("processor", f"{about['cpu_model']}, {about['cores']} cores, {about['memory_bytes'] / 2**30:.0f} GiB")
    yield Finding("system", f"{about['os']}, kernel {about['kernel']}, clock source {about['clocksource']}")
    yield Finding("virtual machine", about["virtualised"] or "no")
    yield Finding("frequency governor", about["governor"] or "none shown by the kernel")
    paranoid, restrict, taskset = about["perf_event_paranoid"], about["kptr_restrict"], shutil.which("taskset")
    for name, value, well, remedy in (
        ("pinning", taskset and "taskset", taskset, "install util-linux; without it nothing is pinned"),
        ("perf_event_paranoid", paranoid, paranoid is not None and paranoid <= 1,
         "1 or less lets ordinary users profile the kernel's frames too"),
        ("kptr_restrict", restrict, True, ""),
        ("glibc", about["glibc"], about["glibc"], "one-nio's native transport needs it"),
    ):  # fmt: skip
        yield Finding(name, None if value is None else str(value), "" if well else remedy)
    for warning in noise(about):
        yield Finding(warning["code"], warning["text"], warning["remedy"], warning=True)


def _transport() -> Iterator[Finding]:
    """Yield findings on one-nio's transport and the profiler's engine, for which it starts a server if one is built."""
    if not tools.CHECKOUT:
        yield Finding("the lab's own servers", None, "clone the project to measure them; others need only --target")
        return
    if not DIST.exists():
        yield Finding("transport, profiler", None, "run `lab build` first; then both are tried on a real server")
        return
    try:
        jdk = tools.require_jdk()
        with tempfile.TemporaryDirectory(prefix="lab-") as name:
            folder = Path(name)
            server = launch(ServerSpec(jdk.java, DIST, "noop", folder / "server", folder / "data"))
            try:
                transport = server.ready["transport"]
                remedy = "its native library did not load here; Java sockets are used, and reports say so"
                transport_text = f"{transport} (one-nio {server.ready['one_nio']})"
                yield Finding("one-nio transport", transport_text, "" if transport == "native" else remedy)
                profiler, spec = Profiler(jdk, PROFILER_JARS, server.pid), ProfileSpec.for_load(("cpu",), 1_000, 1.0)
                try:
                    profiler.start(spec, StepFolder(folder))
                    server.status()
                    profiler.stop(StepFolder(folder))
                    record = profiler.convert(spec, StepFolder(folder), (0, time.time_ns() // 1_000_000))
                    yield Finding("async-profiler", f"{record.version}, engine {record.engine}")
                except LabError as error:
                    yield Finding("async-profiler", None, str(error))
            finally:
                server.stop()
    except LabError as error:
        yield Finding("server", None, str(error), fatal=True)
