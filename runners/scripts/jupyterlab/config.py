"""Configure JupyterLab for `make lab`: the checkout is its root, and notebooks are saved without outputs."""

import re
from pathlib import Path
from typing import Any

c = get_config()  # type: ignore[name-defined]  # noqa: F821 - JupyterLab defines it
HERE = Path(__file__).resolve().parent
#: Paths of the project's own notebooks, which are saved without outputs; copies under other names keep their outputs.
OWN = re.compile(r"notebooks/(index|\d\d_\w+)\.ipynb")
KEPT_METADATA = {"tags"}


def without_outputs(model: dict[str, Any], path: str, contents_manager: object) -> None:
    """Remove what a run added (outputs, counts, metadata) from notebook `model` if `path` is one of the project's."""
    if model["type"] != "notebook" or not OWN.fullmatch(path.strip("/")):
        return
    content = model["content"]
    content["metadata"]["language_info"] = {"name": "python"}
    for cell in content["cells"]:
        cell["metadata"] = {name: value for name, value in cell["metadata"].items() if name in KEPT_METADATA}
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None


c.ServerApp.root_dir = str(HERE.parents[2])
c.LabApp.extra_labextensions_path = [str(HERE)]
c.LabApp.app_settings_dir = str(HERE / "settings")  # which switch off news and the check for updates
c.FileContentsManager.pre_save_hook = without_outputs
