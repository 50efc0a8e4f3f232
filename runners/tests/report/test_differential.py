"""Two profiles against each other: what changed is reported, what vanished is seen, and names can do no harm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from runners.readers.run import Step
from runners.report import differential, flamegraph
from runners.report.flamegraph import LEAST_SHARE, FlameGraph, boxes, stacks_of, tree
from runners.results.profiles import changes
from runners.tests.report import steps

SECONDS, RATE = 20, 300
NASTY = "a/B</script><script>alert(1)</script>.run"


def profiled(folder: Path, name: str, stacks: dict[str, float], seed: int, **meta: str) -> Step:
    """A step whose samples follow those shares, evenly over time."""
    random = np.random.default_rng(seed)
    names, shares = list(stacks), np.array(list(stacks.values()))
    rows = []
    for slot in range(SECONDS * 10):
        counts = random.multinomial(random.poisson(RATE / 10), shares / shares.sum())
        rows += [
            {"event": "cpu", "t_s": slot / 10, "stack": stack, "samples": float(count), "weight": float(count)}
            for stack, count in zip(names, counts, strict=True)
            if count
        ]
    samples = pd.DataFrame(rows)
    merged = samples.groupby(["event", "stack"])["samples"].sum().reset_index(name="count")
    frames = {"samples": samples, "stacks": merged}
    return steps.step(folder, name, steps.times(500), frames=frames, profiled=["cpu"], **meta)


BASE = {"main;run;read": 30.0, "main;run;parse": 20.0, "main;run;put;copy": 40.0, f"main;{NASTY}": 10.0}


def test_a_planted_change_is_found_and_little_else(tmp_path: Path) -> None:
    first = profiled(tmp_path, "put-rocksdb-profiled", BASE, 1)
    second = profiled(tmp_path, "put-lsm-profiled", BASE | {"main;run;put;copy": 60.0}, 2, engine="lsm")
    changed = {change.frame: change for change in changes(first, second) if change.beyond}
    assert "copy" in changed  # put and copy always stand together: one test, named by the deepest
    assert "put" not in changed
    assert changed["copy"].change.low < 60 / 120 - 40 / 100 < changed["copy"].change.high


def test_the_same_profile_twice_differs_in_nothing(tmp_path: Path) -> None:
    reported = 0
    for seed in range(30):
        first, second = (profiled(tmp_path, name, BASE, 100 * seed + k) for k, name in enumerate(("a", "b")))
        reported += any(change.beyond for change in changes(first, second))
    assert reported <= 4


def test_what_vanished_is_seen_in_the_other_direction(tmp_path: Path) -> None:
    first = profiled(tmp_path, "put-rocksdb-profiled", BASE, 1)
    second = profiled(tmp_path, "put-lsm-profiled", {"main;run;read": 1.0}, 2, engine="lsm")
    in_second, in_first = differential(first, second).graphs
    assert "parse" not in payload(in_second)["names"]
    assert "parse" in payload(in_first)["names"]
    root = tree(stacks_of(first, "cpu"), stacks_of(second, "cpu"))
    assert root.share == pytest.approx(1) and root.other == pytest.approx(1)
    assert [box.node.other for box in boxes(root) if box.node.name == "parse"] == [0]


def payload(graph: FlameGraph, least_share: float = LEAST_SHARE) -> dict[str, Any]:
    """What a page draws."""
    page, _ = graph.page(least_share)
    data: dict[str, Any] = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])  # type: ignore[index]
    return data


@pytest.mark.parametrize("least", [LEAST_SHARE, 0.05, 0.3])
def test_a_smaller_page_keeps_the_place_and_width_of_every_wide_frame(least: float, tmp_path: Path) -> None:
    graph = flamegraph(profiled(tmp_path, "put-rocksdb-profiled", BASE, 1))
    wide = [row[:3] for row in payload(graph)["rows"] if row[2] >= least * 100_000]
    assert [row[:3] for row in payload(graph, least)["rows"]] == wide
    assert {"read", "copy"} <= set(payload(graph)["names"]) and not payload(graph)["differs"]


def test_a_graph_is_one_offline_page_and_names_stay_names(tmp_path: Path) -> None:
    first = profiled(tmp_path, "put-rocksdb-profiled", BASE, 1)
    second = profiled(tmp_path, "put-lsm-profiled", BASE, 2, engine="lsm")
    for graph in (*differential(first, second).graphs, flamegraph(first)):
        page, deep = graph.page()
        assert page.count("<script") == 2 and deep == 5
        assert not re.search(r"(?:src|href)\s*=|https?://", page)
        assert NASTY in payload(graph)["names"]
        level, left, width, other, name, _ = payload(graph)["rows"][0]
        assert (level, left, width, payload(graph)["names"][name]) == (0, 0, 100000, "all")
        assert other == (100000 if graph.other else 0)
        assert 'sandbox="allow-scripts"' in graph.iframe()


def test_a_title_counts_the_samples_that_are_drawn_and_says_the_rate(tmp_path: Path) -> None:
    made = {**steps.profile_frames(["cpu"]), "summary": pd.DataFrame([{"achieved_rps": 5_070.0}])}
    whole = {"engine": "ctimer", "samples": {"cpu": 9_972}}  # of the recording, warm-up and all
    step = steps.step(tmp_path, "put-profiled", steps.times(500), frames=made, profiled=["cpu"], profiler=whole)
    title = flamegraph(step).title.replace("\u202f", " ").replace("\u00a0", " ")
    assert title == "Flame graph: RocksDB PUT at 5 070/s of 12 600/s offered, cpu, 1 818 samples"


def test_a_step_without_a_profile_is_named(tmp_path: Path) -> None:
    first = profiled(tmp_path, "put-rocksdb-profiled", BASE, 1)
    with pytest.raises(ValueError, match="put-rocksdb: no cpu profile"):
        differential(first, steps.step(tmp_path, "put-rocksdb", steps.times(500)))


def test_a_still_picture_needs_no_script_and_names_can_do_no_harm(tmp_path: Path) -> None:
    still = str(flamegraph(profiled(tmp_path, "put-rocksdb-profiled", BASE, 1)).still())
    assert "<script" not in still and still.count("<rect") == 8 and ">copy</text>" in still
