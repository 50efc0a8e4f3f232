"""Outside a checkout: where things lie, what is not needed there, and a wheel that measures from an empty folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from runners.design.target import foreign
from runners.errors import ToolError
from runners.process.supervisor import free_port
from runners.toolchain import build
from runners.toolchain.build import build_truepace
from runners.toolchain.tools import PACKAGE, ROOT, TRUEPACE

WHERE = """
import json
from runners.toolchain import tools
from runners.storage.run_folder import RUNS
print(json.dumps([tools.CHECKOUT, *map(str, (tools.ROOT, tools.NOTEBOOKS, tools.TRUEPACE, RUNS))]))
"""
SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder with the package and nothing next to it, as in an environment."""
    left_out = shutil.ignore_patterns("loadgen", "tests", "docs", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "site" / "runners", ignore=left_out)
    return tmp_path / "site"


def where(installed: Path, folder: Path, **more: str) -> list[object]:
    env = {**os.environ, "PYTHONPATH": str(installed), **more}
    env.pop("LAB_RUNS", None)
    done = subprocess.run(
        [sys.executable, "-c", WHERE], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    places: list[object] = json.loads(done.stdout)
    return places


def test_runs_go_to_the_current_folder_and_the_generator_is_found(installed: Path, tmp_path: Path) -> None:
    folder, programs = tmp_path / "empty", tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    on_path = shutil.copy(shutil.which("true") or "/bin/true", programs / "truepace")
    notebooks, runs = str(installed / "runners" / "notebooks"), str(folder / "data" / "runs")
    places = where(installed, folder, PATH=f"{programs}:{os.environ['PATH']}")
    assert places == [False, str(folder), notebooks, str(on_path), runs]
    named = where(installed, folder, LAB_TRUEPACE="own")
    assert named[3] == str(folder / "own")


def test_the_checkout_keeps_its_own() -> None:
    assert TRUEPACE.is_relative_to(ROOT / "runners" / "loadgen" / "target")
    assert (ROOT / "notebooks").is_dir()


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"setting": "target=a.yaml"}, True),
        ({"a": "target=a.yaml", "b": "target=b.yaml"}, True),
        ({"a": "target=a.yaml", "b": "lsm"}, False),
        ({"engines": "lsm"}, False),
    ],
)
def test_who_needs_none_of_the_labs_servers(parameters: dict[str, object], expected: bool) -> None:
    assert foreign(parameters) is expected


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform != "linux", reason="the generator's own server exists on Linux only")
def test_no_jdk_is_looked_for_where_none_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise ToolError("JDK", "there is none", "install one")

    monkeypatch.setattr("runners.toolchain.tools.require_jdk", absent)
    build_truepace(print)
    shop = build.prepare("truepace", print, own_servers=False)
    assert shop.java is None and shop.reference is not None and "java" not in shop.versions()
    with pytest.raises(ToolError, match="there is none"):
        build.prepare("truepace", print)


def lab(environment: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`lab` of an environment with no cargo, JDK or Maven on the PATH."""
    tools = folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("taskset", "nice", "sh", "uname"):
        if (program := shutil.which(name)) and not (tools / name).exists():
            (tools / name).symlink_to(program)
    env = {"PATH": f"{environment / 'bin'}:{tools}", "HOME": str(folder.parent), "LANG": "C.UTF-8"}
    command = [str(environment / "bin" / "lab"), *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.skipif(sys.platform != "linux", reason="the generator's own server exists on Linux only")
def test_a_wheel_measures_from_an_empty_folder(tmp_path: Path) -> None:
    uv = [sys.executable, "-m", "uv"]
    tree = tmp_path / "tree"  # a build writes into its folder
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".venv", "target", "runs", ".git"))
    subprocess.run([*uv, "build", "--quiet", "--sdist", "-o", str(tmp_path / "dist"), str(tree)], check=True)
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(source) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"runners/loadgen/Cargo.lock", "notebooks/01_single_connection.ipynb", "setup.py"} <= names
    subprocess.run([*uv, "build", "--quiet", "--wheel", "-o", str(tmp_path / "dist"), str(source)], check=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed_wheel:
        files = set(packed_wheel.namelist())
    for name in ("notebooks/09_compare.ipynb", "docs/rules/TIM001.md", "scripts/template.lua", "design/target.py",
                 "report/templates/report.html.j2", "data/published/index.toml"):  # fmt: skip
        assert f"runners/{name}" in files
    environment = tmp_path / "environment"
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
    python = str(environment / "bin" / "python")
    pins = ["--constraint", str(ROOT / "requirements.txt")]
    subprocess.run([*uv, "pip", "install", "--quiet", "--python", python, *pins, str(wheel)], check=True)

    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "server.py").write_text(SERVER, encoding="utf-8")
    for port, name in enumerate("ab", free_port(2)):
        command = f"{python} server.py {port}"
        written = lab(environment, folder, "init", "--output", f"{name}.yaml", "--name", name, "--command", command,
                      "--url", f"http://127.0.0.1:{port}", "--path", "/x")  # fmt: skip
        assert written.returncode == 0, written.stderr
    both = ("--target", "a.yaml", "--target", "b.yaml", "--size", "smoke", "--minutes", "2", "-p", "repeat_s=2")
    done = lab(environment, folder, "compare", *both, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    run = Path(document["run"])
    assert run.parent == folder / "data" / "runs" and (run / "report.html").is_file()
    assert document["comparisons"]
    assert "java" not in json.loads((run / "manifest.json").read_text(encoding="utf-8"))["tools"]
    assert lab(environment, folder, "audit", "--explain", "TIM001").returncode == 0
    assert lab(environment, folder, "run", "01", "--size", "smoke").returncode == 1, "its servers are not there"
