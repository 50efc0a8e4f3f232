"""The notebooks' first page lists every experiment with what its longest run answered."""

from __future__ import annotations

import json
from pathlib import Path

from runners.experiments import index
from runners.experiments.registry import EXPERIMENTS
from runners.tests.fixtures.fake_run import make_run


def test_the_index_lists_every_experiment_with_its_last_answer(tmp_path: Path) -> None:
    kept = {"answers": [{"question": "Does LSM <i>help</i>?", "verdict": "yes"}]}
    make_run(tmp_path, duration_s=2).conclusions.write_text(json.dumps(kept), encoding="utf-8")
    table = index.experiments((tmp_path,))._repr_markdown_()
    assert all(f"[{number}]({plan.notebook})" in table for number, plan in EXPERIMENTS.items())
    assert "Does LSM &lt;i&gt;help&lt;/i&gt;? yes." in table and "not run yet" in table


def test_a_newer_shorter_run_does_not_replace_the_answers_of_a_longer_one(tmp_path: Path) -> None:
    for size, started_unix_s in (("published", 1.8e9), ("quick", 1.9e9), ("smoke", 2.0e9)):
        run = make_run(tmp_path, engines=("rocksdb",), duration_s=2)
        run.update_manifest(size=size, started_unix_s=started_unix_s)
        run.conclusions.write_text(json.dumps({"answers": [{"question": f"{size}?", "verdict": "yes"}]}))
    table = index.experiments((tmp_path,))._repr_markdown_()
    assert "published? yes." in table and "quick? yes." not in table and "smoke? yes." not in table
