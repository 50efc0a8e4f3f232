"""An archive says what its run folder says: the same steps, frames, consoles, history, audit and report."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from runners.analysis.intervals import blocks_of, with_bounds
from runners.audit.audit import audit
from runners.experiments.references import concluded, keep_reference, write_report
from runners.readers.history import open_history
from runners.readers.outputs import find_in
from runners.readers.reading import archived_content, keeps_latencies, read_run, store_frames, together
from runners.readers.stacks import batches, in_batches
from runners.storage.archive import Archive, Content, steps_file, write_archive
from runners.storage.run_folder import RunFolder, StoreError
from runners.tests.fixtures.fake_run import make_run


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, RunFolder]:
    """A run folder with a failed step, and its archive."""
    root = tmp_path_factory.mktemp("archive")
    run = _run(root / "runs")
    return run, keep_reference(run, root=root / "reference")


def _run(root: Path) -> RunFolder:
    run = make_run(root, engines=("lsm",), profiled=("cpu",), died=("get-lsm",))
    for step in read_run(run).steps:
        store_frames(step)
    return run


def test_steps_frames_and_consoles_are_the_same(pair: tuple[RunFolder, RunFolder]) -> None:
    run, archive = map(read_run, pair)
    assert not pair[0].archived and pair[1].archived
    assert [step.name for step in archive.steps] == [step.name for step in run.steps]
    for before, after in zip(run.steps, archive.steps, strict=True):
        assert (after.record, after.unreadable) == (before.record, before.unreadable)
        assert after.folder.console_text() == before.folder.console_text()
        assert after.frames.keys() == before.frames.keys()
        kept = archived_content(before if keeps_latencies(before.record) else with_bounds(before)).frames
        for name in before.frames:
            assert_frame_equal(after.frames[name], kept[name])
        whole = before.kind == "load" and not before.profiled
        same = ("summary", "spectrum", "stacks", *(("slices", "percentiles") if whole else ()))
        assert all(kept[name].equals(before.frames[name]) for name in same)
        if whole:
            exact, rounded = blocks_of(before), blocks_of(after)
            assert exact is not None and rounded is not None and np.array_equal(exact.totals, rounded.totals)
            assert [rounded.percentile(level) for level in LEVELS] == pytest.approx(
                [exact.percentile(level) for level in LEVELS], rel=0.005
            )


LEVELS = (0.5, 0.9, 0.99, 1.0)
_TIMES = st.integers(-(10**14), 10**14)
_NUMBERS = st.one_of(
    st.tuples(_TIMES, st.sampled_from([1, 10**3, 10**6, 10**9])).map(lambda pair: pair[0] / pair[1]),
    st.floats(allow_nan=False),
    st.none(),
)


@given(st.lists(st.tuples(_NUMBERS, _NUMBERS, st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_numbers_come_back_to_the_bit(rows: list[tuple[float | None, float | None, int]]) -> None:
    written = pd.DataFrame(rows, columns=["double", "single", "whole"])
    written = written.astype({"double": "float64", "single": "float32", "whole": "int64"})
    assert_frame_equal(_kept(written), written, check_exact=True)
    for name in ("double", "single"):
        assert np.array_equal(np.signbit(_kept(written)[name]), np.signbit(written[name])), "the sign of zero"


@given(st.lists(st.tuples(st.sampled_from(["a", "b\n", "\u00e9;"]) | st.none(), st.booleans() | st.none()), min_size=1))
def test_texts_and_truth_values_come_back(rows: list[tuple[str | None, bool | None]]) -> None:
    written = pd.DataFrame(rows, columns=["text", "truth"]).astype({"text": "str", "truth": "boolean"})
    assert_frame_equal(_kept(written), written)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 999), st.integers(-9, 9)), min_size=1))
def test_times_of_three_digits_come_back_to_the_bit_in_whatever_order_they_are_kept(
    rows: list[tuple[str, int, int]],
) -> None:
    times = [digits * 10.0**power if power >= 0 else digits / 10.0**-power for _, digits, power in rows]
    written = pd.DataFrame({"target": [target for target, _, _ in rows], "us": times, "other_us": times[::-1]})
    written = written.astype({"target": "str", "us": "float32"})
    assert_frame_equal(_kept(written), written, check_exact=True)


@pytest.mark.parametrize("tens", [1, 10**3, 10**6, 10**9])
def test_numbers_of_few_digits_take_few_bytes(tens: int) -> None:
    values = np.random.default_rng(1).integers(0, 200, 20_000) / tens
    with TemporaryDirectory() as folder:
        assert_frame_equal(_kept(pd.DataFrame({"v": values}), Path(folder)), pd.DataFrame({"v": values}))
        assert steps_file(Path(folder) / "run").stat().st_size < 24_000, "of 160 000"


def _kept(frame: pd.DataFrame, folder: Path | None = None) -> pd.DataFrame:
    """A frame as it is read from an archive."""
    with TemporaryDirectory() as temporary:
        run = (folder or Path(temporary)) / "run"
        write_archive(run, [Content({"name": "put", "started_unix_us": 0}, {"histograms": frame}, None)])
        archive = Archive.at(run)
        assert archive is not None
        return archive.frames("histograms")["put"]


def test_requests_of_a_twentieth_of_a_second_are_put_together_and_their_responses_come_when_they_came() -> None:
    random = np.random.default_rng(1)
    requests = pd.DataFrame({"t_s": np.arange(4_000) / 1_000, "target": random.choice(["a", "b"], 4_000)})
    requests = requests.assign(
        predecessor=requests["target"].shift(), response_us=random.lognormal(8, 2, 4_000).round(),
        service_us=random.lognormal(5, 1, 4_000).round(), fate=random.choice(["completed", "failed"], 4_000),
    )  # fmt: skip
    kept = together(requests)

    def came(frame: pd.DataFrame) -> pd.DataFrame:
        waited_s = frame["response_us"].where(frame["fate"] == "completed", 0.0) / 1e6
        came_tenth = ((frame["t_s"] + waited_s).astype(float) * 10).astype(int)
        rows = frame.assign(came=came_tenth, second=(frame["t_s"] * 4).astype(int)).drop(columns="t_s")
        return rows.sort_values([*rows.columns], ignore_index=True)

    assert_frame_equal(came(kept), came(requests))
    assert kept["t_s"].nunique() < 2_000 and kept["t_s"].max() == requests["t_s"].max()
    assert (kept["t_s"].diff().dropna() >= 0).all()
    assert_frame_equal(together(kept), kept)


def test_samples_that_are_added_up_have_the_same_batches() -> None:
    random = np.random.default_rng(2)
    samples = pd.DataFrame(
        {
            "t_s": np.sort(random.integers(-10, 1_500, 3_000)) / 50,
            "stack": random.choice(["a;b", "a;c", "d"], 3_000), "samples": random.integers(1, 4, 3_000) * 1.0,
            "weight": random.integers(1, 9_000, 3_000) * 1.0,
        }
    )  # fmt: skip
    for event in ("cpu", "alloc"):
        rows = samples.assign(event=event)
        before, after = batches(rows, event), batches(in_batches(rows), event)
        assert before is not None and after is not None
        assert (before.whole.tolist(), before.samples) == (after.whole.tolist(), after.samples)
        assert {stack: sums.tolist() for stack, sums in before.by_stack.items()} == {
            stack: sums.tolist() for stack, sums in after.by_stack.items()
        }
        assert len(in_batches(rows)) == 60


def test_few_files_are_left(pair: tuple[RunFolder, RunFolder]) -> None:
    files = [path.relative_to(pair[1].path) for path in pair[1].path.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} == {
        *("manifest.json", "conclusions.json", "report.md", "steps.archive", "figures")
    }
    figures = [path for path in files if path.parts[0] == "figures"]
    assert figures and all(path.suffix == ".svg" for path in figures)
    report = pair[1].report_md.read_text(encoding="utf-8")
    assert "drawn in report.html" not in report.partition("\n# Appendix\n")[0]
    assert all(f"figures/{path.name}" in report for path in figures if path.suffix == ".svg")


def test_the_conclusion_is_the_same(pair: tuple[RunFolder, RunFolder]) -> None:
    run, archive = pair
    assert concluded(run).as_json() == concluded(archive).as_json()


def test_its_report_is_made_again_without_more_files(pair: tuple[RunFolder, RunFolder]) -> None:
    archive = pair[1]
    before = {path: path.read_bytes() for path in archive.path.rglob("*") if path.is_file()}
    write_report(archive)
    after = {path: path.read_bytes() for path in archive.path.rglob("*") if path.is_file()}
    assert after.keys() - before.keys() == {archive.report_html}
    assert before[archive.report_md] == after[archive.report_md]
    html = archive.report_html.read_text(encoding="utf-8")
    assert "figures/flame" not in html and "console.txt" not in html, "a link to what is not there"
    archive.report_html.unlink()


def test_history_and_audit_read_both(pair: tuple[RunFolder, RunFolder]) -> None:
    run, archive = pair
    queries = (
        "SELECT * EXCLUDE (folder) FROM steps ORDER BY step",
        "SELECT * EXCLUDE (run) FROM measurements WHERE kind <> 'sentinel' ORDER BY ALL",
        "SELECT step, count(DISTINCT t_s), sum(count) FROM histograms JOIN steps USING (run, step) "
        "WHERE steps.kind = 'load' AND NOT profiled GROUP BY ALL ORDER BY ALL",
        "SELECT step, text FROM console ORDER BY step",
    )
    of_run, of_archive, both = (
        open_history(roots) for roots in ([run.path.parent], [archive.path.parent], _another(pair))
    )
    for query in queries:
        assert_frame_equal(of_run.query(query), of_archive.query(query), check_dtype=False)
    for view in ("summary", "spectrum"):
        count = f"SELECT count(*) AS n FROM {view}"
        assert both.query(count)["n"][0] == 2 * of_run.query(count)["n"][0]
    assert audit(find_in(archive.path)).counts == audit(find_in(run.path)).counts != ()


def _another(pair: tuple[RunFolder, RunFolder]) -> list[Path]:
    """Another run in the archive's folder."""
    return [_run(pair[0].path.parent.parent / "others").path.parent, pair[1].path.parent]


def test_an_archive_of_an_archive_is_the_same(pair: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    first = pair[1].path
    write_archive(tmp_path / "again", map(archived_content, read_run(pair[1]).steps))
    assert steps_file(tmp_path / "again").read_bytes() == steps_file(first).read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(lambda whole: whole[: len(whole) // 2], id="cut off"),
        pytest.param(lambda whole: whole[:5], id="cut off in its head"),
        pytest.param(lambda whole: whole[:-40] + bytes(20) + whole[-20:], id="damaged"),
        pytest.param(lambda _: b'{"name": "put-lsm"', id="no archive"),
    ],
)
def test_a_broken_archive_is_named(
    pair: tuple[RunFolder, RunFolder], tmp_path: Path, content: Callable[[bytes], bytes]
) -> None:
    broken = RunFolder(tmp_path / "broken")
    shutil.copytree(pair[1].path, broken.path)
    steps_file(broken.path).write_bytes(content(steps_file(broken.path).read_bytes()))
    with pytest.raises(StoreError, match=r"steps\.archive: can't be read"):
        read_run(broken)
    assert "steps.archive" in open_history([tmp_path]).unreadable[0]
