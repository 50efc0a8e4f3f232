"""The figures' typeface for a page: DejaVu Sans cut down to the letters that its figures use."""

from __future__ import annotations

import base64
import io
import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from html import unescape
from pathlib import Path

import matplotlib as mpl

FACES = (("DejaVuSans.ttf", "normal"), ("DejaVuSans-Bold.ttf", "bold"))


def letters(svgs: Iterable[str]) -> str:
    """Every character that the text of these figures uses, sorted."""
    found = {letter for svg in svgs for text in re.findall(r"<text[^>]*>(.*?)</text>", svg, re.S) for letter in text}
    entities = {unescape(text) for svg in svgs for text in re.findall(r"&#?\w+;", svg)}
    return "".join(sorted(found | {letter for text in entities for letter in text}))


def faces(used: str) -> str:
    """`@font-face` rules with the fonts as data, for the letters of `used`; about 10 kB a face."""
    return "".join(
        f"@font-face{{font-family:'DejaVu Sans';font-weight:{weight};"
        f"src:url(data:font/woff;base64,{_woff(name, used)}) format('woff')}}\n"
        for name, weight in FACES
    )


@lru_cache(maxsize=8)
def _woff(name: str, used: str) -> str:
    from fontTools import subset  # type: ignore[import-untyped]  # slow to import, and only a report needs it

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = subset.Options(flavor="woff", layout_features=["kern"], hinting=False, notdef_outline=True)
    font = subset.load_font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / name), options)
    cutter = subset.Subsetter(options)
    cutter.populate(text=used)
    cutter.subset(font)
    out = io.BytesIO()
    subset.save_font(font, out, options)
    return base64.b64encode(out.getvalue()).decode("ascii")
