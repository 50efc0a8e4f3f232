"""An archive says what its run folder says: the same steps, frames, consoles, history, audit and report."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from runners.audit.audit import audit
from runners.readers.columns import frame
from runners.readers.history import open_history
from runners.readers.outputs import find_in
from runners.readers.reading import archived_content, read_run, store_frames
from runners.report.references import concluded, keep_reference, write_report
from runners.report.report import KEPT_FIGURES
from runners.storage.archive import Archive, Content, steps_jsonl, write_archive
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
        for name, rows in before.frames.items():
            assert_frame_equal(after.frames[name], rows)


@given(
    st.lists(
        st.one_of(
            st.integers(0, 10**14).map(lambda ns: ns / 1000),
            st.floats(0, 1e12, allow_nan=False),
        ),
        min_size=1,
    )
)
def test_latencies_come_back_as_they_were_in_whole_nanoseconds_or_not(values_us: list[float]) -> None:
    written = frame("histograms", [{"t_s": 0.0, "kind": "response", "value_us": v, "count": 1} for v in values_us])
    with TemporaryDirectory() as folder:
        kept = Content({"name": "put", "started_unix_us": 0}, {"histograms": written}, None)
        write_archive(Path(folder) / "run", [kept])
        archive = Archive.at(Path(folder) / "run")
        assert archive is not None
        assert_frame_equal(archive.frames("histograms")["put"], written, check_exact=True)


def test_few_files_are_left(pair: tuple[RunFolder, RunFolder]) -> None:
    files = [path.relative_to(pair[1].path) for path in pair[1].path.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} == {
        *("manifest.json", "conclusions.json", "report.md", "steps.jsonl", "steps", "figures")
    }
    figures = [path for path in files if path.parts[0] == "figures"]
    assert 0 < sum(path.suffix == ".svg" for path in figures) <= KEPT_FIGURES
    assert sum(path.suffix == ".png" for path in figures) == 1, "the one that README.md shows"
    report = pair[1].report_md.read_text(encoding="utf-8")
    assert all(f"figures/{path.name}" in report for path in figures if path.suffix == ".svg")


def test_the_conclusion_is_the_same(pair: tuple[RunFolder, RunFolder]) -> None:
    run, archive = pair
    assert concluded(run)[1].as_json() == concluded(archive)[1].as_json()


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
        "SELECT * EXCLUDE (run) FROM measurements ORDER BY ALL",
        "SELECT step, count(*), sum(value_us), sum(count) FROM histograms GROUP BY ALL ORDER BY ALL",
    )
    one, other, both = (open_history(roots) for roots in ([run.path.parent], [archive.path.parent], _beside(pair)))
    for query in queries:
        assert_frame_equal(one.query(query), other.query(query), check_dtype=False)
    for view in ("summary", "histograms"):
        count = f"SELECT count(*) AS n FROM {view}"
        assert both.query(count)["n"][0] == 2 * one.query(count)["n"][0]
    assert audit(find_in(archive.path)).counts == audit(find_in(run.path)).counts != ()


def _beside(pair: tuple[RunFolder, RunFolder]) -> list[Path]:
    """Another run beside the archive."""
    return [_run(pair[0].path.parent.parent / "others").path.parent, pair[1].path.parent]


def test_an_archive_of_an_archive_is_the_same(pair: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    first = pair[1].path
    write_archive(tmp_path / "again", map(archived_content, read_run(pair[1]).steps))
    for path in (steps_jsonl(first), *first.rglob("*.parquet")):
        assert (tmp_path / "again" / path.relative_to(first)).read_bytes() == path.read_bytes()


def test_a_broken_list_of_steps_is_named(pair: tuple[RunFolder, RunFolder], tmp_path: Path) -> None:
    broken = RunFolder(tmp_path / "broken")
    shutil.copytree(pair[1].path, broken.path)
    steps_jsonl(broken.path).write_text('{"name": "put-lsm"', encoding="utf-8")
    with pytest.raises(StoreError, match=r"steps\.jsonl: can't be read"):
        read_run(broken)
    assert "steps.jsonl" in open_history([tmp_path]).unreadable[0]
