"""async-profiler's HTML flame graph made fit to stand inside a report: offline, sandboxed, searchable, small.

The page that `jfr-converter` writes is one HTML file that draws on a canvas. It has one link to the web, and its search
asks through `prompt()`, which a sandboxed frame does not have. Its frames are calls in the order of a walk through the
tree: `f(key, level, left, width)` absolute, `u(key, width)` one level up at the same place, `n(key, width)` the next
sibling; `left` is relative to the last frame and a missing `width` repeats the last one. Names lie in `cpool`, each
with the length of the prefix that it shares with the one before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
BAR = (
    '<div id="lab-find"><label>Search <input id="lab-q" type="search" placeholder="regular expression"></label>'
    '<button id="lab-reset" type="button">Reset</button>'
    "<small>click a frame to zoom in, Enter for the next match</small></div>"
)
_BLOCK = re.compile(r"(<(script|style)\b[^>]*>)(.*?)(</\2\s*>)", re.S | re.I)
_GONE = re.compile(
    r"</?(?:link|base|iframe|frame|object|embed|applet|portal)\b[^>]*>|<meta\b[^>]*http-equiv[^>]*>", re.I
)
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_REFERENCE = re.compile(
    r"""\s(?:xlink:)?(?:href|src|srcset|action|formaction|poster|data|background|ping|manifest)"""
    r"""\s*=\s*(?:"(?!\#|data:)[^"]*"|'(?!\#|data:)[^']*'|(?!["'\#])[^\s>]+)""",
    re.I,
)
_STYLE_URL = re.compile(r"@import[^;]*;?|url\([^)]*\)", re.I)
_LEVELS = re.compile(r"levels\s*=\s*Array\((\d+)\)")
_CALLS = re.compile(r"^(?:[fun]\([\d,]*\)\n)+", re.M)
_POOL = re.compile(r"(cpool\s*=\s*\[\n)(.*?)(\n\];)", re.S)


def _inert(markup: str) -> str:
    """Markup without elements and attributes that could ask the network."""
    return _TAG.sub(lambda tag: _REFERENCE.sub("", tag[0]), _GONE.sub("", markup))


def prepare(html: str) -> str:
    """The page for a sandboxed frame: nothing asks the network, drawn when first seen, with a search field.

    A policy in the page forbids every request as well, so what the rewriting should miss is still blocked.
    """
    parts, at = [], 0
    for block in _BLOCK.finditer(html):
        parts.append(_inert(html[at : block.start()]))
        at = block.end()
        opening, kind, body, closing = block[1], block[2].lower(), block[3], block[4]
        if kind == "style":
            parts.append("<style>" + _STYLE_URL.sub("none", body) + closing)
        elif not re.search(r"\ssrc\s*=", opening, re.I):
            # Scripts in the head only choose light or dark; those of the body draw, and wait until they are seen.
            waits = "<body" in html[: block.start()].lower()
            parts.append(('<script type="text/x-later">' if waits else "<script>") + body + closing)
    parts.append(_inert(html[at:]))
    page = re.sub(r"<!DOCTYPE[^>]*>|</?html[^>]*>|</?head>|</body>", "", "".join(parts), flags=re.I)
    head, body_tag, body = _split(page)
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"{head.strip()}<style>{_template('flamegraph.css')}</style></head>{body_tag}{BAR}{body.strip()}"
        f"<script>{_template('flamegraph.js')}</script></body></html>"
    )


def _split(page: str) -> tuple[str, str, str]:
    found = re.search(r"<body\b[^>]*>", page, re.I)
    return (page[: found.start()], found[0], page[found.end() :]) if found else ("", "<body>", page)


def _template(name: str) -> str:
    return resources.files("runners.report").joinpath("templates", name).read_text(encoding="utf-8")


def levels(html: str) -> int | None:
    """How many frames the deepest stack has; None for a page that is no async-profiler flame graph."""
    found = _LEVELS.search(html)
    return int(found[1]) if found else None


@dataclass(slots=True)
class _Frame:
    key: int
    level: int
    left: int
    width: int


def _frames(calls: str) -> list[_Frame]:
    frames: list[_Frame] = []
    level = left = width = 0
    for line in calls.splitlines():
        kind, numbers = line[0], [int(text or 0) for text in line[2:-1].split(",")]
        numbers += [0] * (4 - len(numbers))
        if kind == "f":
            level, left, width = numbers[1], left + numbers[2], numbers[3] or width
        elif kind == "u":
            level, width = level + 1, numbers[1] or width
        else:
            left, width = left + width, numbers[1] or width
        frames.append(_Frame(numbers[0], level, left, width))
    return frames


def _names(body: str) -> list[str]:
    names: list[str] = []
    for line in body.splitlines():
        text = re.sub(r"\\(.)", r"\1", line.strip().removesuffix(",")[1:-1])
        names.append(text if not names else names[-1][: ord(text[0]) - 32] + text[1:])
    return names


def _shared(one: str, other: str) -> int:
    """Length of the common prefix, at most 90: it is written as one printable character."""
    limit = min(len(one), len(other), 90)
    return next((index for index in range(limit) if one[index] != other[index]), limit)


def _packed(names: list[str]) -> str:
    lines = []
    for index, name in enumerate(names):
        shared = _shared(names[index - 1], name) if index else 0
        text = name if index == 0 else chr(32 + shared) + name[shared:]
        lines.append("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")
    return ",\n".join(lines)


def _calls(frames: list[_Frame]) -> str:
    lines, last = [], _Frame(0, 0, 0, 0)
    for frame in frames:
        width = f",{frame.width}" if frame.width != last.width else ""
        if frame.level == last.level + 1 and frame.left == last.left:
            lines.append(f"u({frame.key}{width})")
        elif frame.level == last.level and frame.left == last.left + last.width:
            lines.append(f"n({frame.key}{width})")
        else:
            lines.append(f"f({frame.key},{frame.level},{frame.left - last.left}{width})")
        last = frame
    return "\n".join(lines) + "\n"


def compact(html: str, least_share: float) -> str:
    """The same flame graph without frames narrower than `least_share` of the whole and the names only they use.

    What is left keeps its width and place, so shares do not change. A page of another form is returned as it is.
    """
    calls, pool = _CALLS.search(html), _POOL.search(html)
    if calls is None or pool is None:
        return html
    try:
        frames, names = _frames(calls[0]), _names(pool[2])
        whole = max(frame.width for frame in frames)
        kept = [frame for frame in frames if frame.width >= least_share * whole]
        used = sorted({0} | {frame.key >> 3 for frame in kept}, key=lambda index: names[index] if index else "")
        place = {old: new for new, old in enumerate(used)}
        for frame in kept:
            frame.key = place[frame.key >> 3] << 3 | frame.key & 7
        packed = _packed([names[index] for index in used])
    except (IndexError, ValueError, TypeError):
        return html  # another form than the one described above: better large than wrong
    depth = 1 + max(frame.level for frame in kept)
    html = html.replace(pool[0], pool[1] + packed + pool[3], 1).replace(calls[0], _calls(kept), 1)
    return _LEVELS.sub(f"levels = Array({depth})", html, count=1)
