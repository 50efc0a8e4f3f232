"""The tables of tables.toml: names of settings, quantities, causes with their texts, and conditions of a run."""

import tomllib
from pathlib import Path
from typing import Any

TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
