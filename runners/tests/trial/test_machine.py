"""Machine facts: silent where the system is silent, loud where a measurement would be spoilt."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from runners.process.cpu_placement import usable_cpus
from runners.trial import machine
from runners.trial.profiler import MAX_INTERVAL_NS, MIN_INTERVAL_NS, TARGET_CPU_SAMPLES, ProfileSpec
from runners.trial.telemetry import telemetry


def test_facts_have_a_value_or_none() -> None:
    facts = machine.facts()
    assert facts["cores"] >= 1 and facts["memory_bytes"] > 0 and facts["cpu_model"]
    assert 0 <= facts["busy_share"] <= 1 and 0 <= facts["steal_share"] <= 1


def test_noise_is_named_with_its_remedy() -> None:
    quiet = {"busy_share": 0.01, "steal_share": 0.0, "governor": None, "cores": 8}
    assert machine.noise(quiet) == []
    noisy = {"busy_share": 0.5, "steal_share": 0.1, "governor": "powersave", "cores": 1}
    assert [w["code"] for w in machine.noise(noisy)] == ["M-BUSY", "M-STEAL", "M-GOVERNOR", "M-ONE-CORE"]
    assert all(w["remedy"] for w in machine.noise(noisy))


def test_server_and_generator_are_apart_where_there_are_two_cores() -> None:
    server, generator = machine.pinning()
    if len(usable_cpus()) >= 2 and shutil.which("taskset"):
        assert server and generator and not set(server) & set(generator)


def test_a_process_that_is_gone_gives_no_usage(tmp_path: Path) -> None:
    with telemetry(tmp_path / "t.jsonl", (os.getpid(),)) as sample:
        sample(2**22 + 1)
        sample(os.getpid())
    assert (tmp_path / "t.jsonl").read_text().count("\n") == 2


def test_the_sampling_interval_follows_the_wanted_samples() -> None:
    spec = ProfileSpec.for_load(("cpu",), 10_000, 20.0, server_cpu_share=0.5)
    assert spec.cpu_interval_ns == 10e9 / TARGET_CPU_SAMPLES
    assert ProfileSpec.for_load(("cpu",), 1, 0.1).cpu_interval_ns == MIN_INTERVAL_NS
    assert ProfileSpec.for_load(("cpu",), 1, 1e6).cpu_interval_ns == MAX_INTERVAL_NS
    assert "alloc=" not in spec.agent_options(Path("profile.jfr"), Path("profile.log"))
