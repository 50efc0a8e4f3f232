"""Take the folders into the package that a checkout has next to it. All else is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHARED = ("notebooks", "data/published")


class BuildPackage(build_py):
    """Build the package with the folders that runners/toolchain/tools.py finds as SHARED."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for folder in SHARED:
                shutil.copytree(folder, Path(self.build_lib) / "runners" / folder, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildPackage})
