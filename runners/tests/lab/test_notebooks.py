"""The project's notebooks: thin, without outputs, and saved by JupyterLab as they are in the repository."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import runpy
import shutil
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from runners.design.experiment import validate
from runners.design.load import SIZES
from runners.experiments.registry import EXPERIMENTS
from runners.lab import _parameters_in
from runners.toolchain.tools import NOTEBOOKS, ROOT

CONFIG = ROOT / "runners" / "scripts" / "jupyterlab" / "config.py"
OWN = sorted(NOTEBOOKS.glob("*.ipynb"))
LOGIC = (ast.FunctionDef, ast.Lambda, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.ListComp, ast.DictComp)


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_a_notebook_has_no_logic_and_no_outputs(path: Path) -> None:
    for cell in code_cells(path):
        assert cell["outputs"] == [] and cell["execution_count"] is None
        assert not [node for node in ast.walk(ast.parse("".join(cell["source"]))) if isinstance(node, LOGIC)]


@pytest.mark.parametrize("number", [number for number, plan in EXPERIMENTS.items() if plan.blocks is not None])
@pytest.mark.parametrize("size", SIZES)
def test_every_block_that_a_size_plans_is_measured_by_a_cell(number: str, size: str) -> None:
    plan = EXPERIMENTS[number]
    if "size" not in {parameter.name for parameter in plan.parameters}:
        return
    source = "\n".join("".join(cell["source"]) for cell in code_cells(NOTEBOOKS / plan.notebook))
    patterns = re.findall(r'lab\.run\("([^"]+)"\)', source)
    planned = [block.name for block in plan.blocks_of(validate(plan.parameters, {"size": size}))]
    assert [name for name in planned if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []


def test_parameters_are_read_from_names_by_the_experiments_own_list() -> None:
    names: Mapping[str, object] = {"size": "smoke", "heap_mb": 256, "In": [], "pd": None}
    assert _parameters_in(names, EXPERIMENTS["01"]) == {"size": "smoke", "heap_mb": 256}


def configured() -> Config:
    config = Config()
    runpy.run_path(str(CONFIG), {"get_config": lambda: config})
    return config


@pytest.mark.parametrize("name", ["01_single_connection.ipynb", "index.ipynb"])
def test_saving_a_run_leaves_a_notebook_of_the_project_as_it_is(name: str, tmp_path: Path) -> None:
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copy(NOTEBOOKS / name, tmp_path / "notebooks" / "mine.ipynb")
    manager: Any = AsyncLargeFileManager(config=configured(), root_dir=str(tmp_path))

    async def run_and_save(path: str) -> bytes:
        model = await manager.get(path)
        content = model["content"]
        content["metadata"]["language_info"] = {"name": "python", "version": "3.11.2", "file_extension": ".py"}
        for cell in content["cells"]:
            cell["metadata"]["trusted"] = True
            if cell["cell_type"] == "code":
                cell["execution_count"] = 3
                cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "much"}]
        await manager.save({"type": "notebook", "content": content}, path)
        return (tmp_path / path).read_bytes()

    assert asyncio.run(run_and_save(f"notebooks/{name}")) == (NOTEBOOKS / name).read_bytes()
    assert b"much" in asyncio.run(run_and_save("notebooks/mine.ipynb")), "a copy keeps its outputs"


def test_jupyterlab_opens_the_checkout_and_asks_for_no_news() -> None:
    config = configured()
    assert config.ServerApp.root_dir == str(ROOT)
    settings = json.loads((Path(config.LabApp.app_settings_dir) / "overrides.json").read_text(encoding="utf-8"))
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
