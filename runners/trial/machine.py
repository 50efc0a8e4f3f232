"""Facts about this machine that change what a measurement means. A fact that isn't there is None, never a guess."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

import psutil

from runners.process.cpu_placement import usable_cpus
from runners.toolchain.tools import find_tool

_NOISE_WINDOW_S = 0.5
BUSY_LIMIT = 0.10
STEAL_LIMIT = 0.02


def _text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _number(path: str) -> int | None:
    text = _text(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    found = re.search(r"^model name\s*:\s*(.+)$", _text("/proc/cpuinfo") or "", re.MULTILINE)
    return found.group(1) if found else platform.processor() or platform.machine()


def os_name() -> str:
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', _text("/etc/os-release") or "", re.MULTILINE)
    return found.group(1) if found else platform.platform()


def glibc() -> str | None:
    """The C library's version, None where it is not glibc."""
    if sys.platform != "linux":
        return None
    try:
        version = ctypes.CDLL(None).gnu_get_libc_version
    except (OSError, AttributeError):
        return None
    version.restype = ctypes.c_char_p
    text: bytes = version()
    return text.decode()


def virtualised() -> str | None:
    """The hypervisor, `yes` when there is one without a name, None on bare metal or when unknown."""
    if "hypervisor" in (_text("/proc/cpuinfo") or ""):
        return _text("/sys/hypervisor/type") or _text("/sys/class/dmi/id/sys_vendor") or "yes"
    return None


def governors() -> str | None:
    """The frequency governor, or governors, of the cores; None where the kernel shows none."""
    found = {_text(str(path)) for path in Path("/sys/devices/system/cpu").glob("cpu*/cpufreq/scaling_governor")}
    return ", ".join(sorted(name for name in found if name)) or None


def quiet_share() -> dict[str, float]:
    """Busy and stolen share of all cores over half a second in which the lab itself does nothing."""
    percent = psutil.cpu_times_percent(interval=_NOISE_WINDOW_S)
    steal = getattr(percent, "steal", 0.0)
    idle = percent.idle + getattr(percent, "iowait", 0.0)
    return {"busy_share": max(0.0, 100.0 - idle - steal) / 100, "steal_share": steal / 100}


def facts() -> dict[str, Any]:
    """Everything about the machine that goes into the manifest."""
    return {
        "cpu_model": cpu_model(),
        "cores": len(usable_cpus()) or psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "os": os_name(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "glibc": glibc(),
        "governor": governors(),
        "virtualised": virtualised(),
        "perf_event_paranoid": _number("/proc/sys/kernel/perf_event_paranoid"),
        "kptr_restrict": _number("/proc/sys/kernel/kptr_restrict"),
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "transparent_huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load_average": list(os.getloadavg()),
        **quiet_share(),
    }


def taskset() -> Path | None:
    """The tool that pins, where there is one."""
    tool = find_tool("taskset")
    return tool.path if tool else None


def pinning() -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Cores for the server and for the generator: apart when there are two or more, else neither is pinned."""
    cpus = usable_cpus()
    if len(cpus) < 2 or taskset() is None:
        return None, None
    return (cpus[0],), (cpus[1],)


def noise(machine: dict[str, Any]) -> list[dict[str, str]]:
    """Warnings about today: what may spoil a measurement, and what cures it."""
    busy = f"{machine['busy_share'] * 100:.0f}\u00a0%"
    seen = (
        (
            machine["busy_share"] > BUSY_LIMIT,
            *("M-BUSY", f"other work uses {busy} of the cores", "end it and run again"),
        ),
        (
            machine["steal_share"] > STEAL_LIMIT,
            *("M-STEAL", f"the hypervisor takes {machine['steal_share'] * 100:.1f}\u00a0% of the cores' time"),
            "run when the host is quiet, or on hardware of your own",
        ),
        (
            machine["governor"] not in (None, "performance"),
            *("M-GOVERNOR", f"the frequency governor is {machine['governor']}"),
            "cpupower frequency-set -g performance",
        ),
        (
            machine["cores"] < 2,
            *("M-ONE-CORE", "server and generator share one core", "use a machine with two cores or more"),
        ),
    )
    return [{"code": code, "text": text, "remedy": remedy} for applies, code, text, remedy in seen if applies]
