"""Tell an author's report from a bare record of outputs: by prose, in any language, and by tables that he made.

Headings, captions, command lines and the fields that a tool prints say nothing by themselves; a report holds at least
one sentence besides, or a table that sets runs beside each other. Who loads a public site to show how a tool is called
reports no run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from runners.readers.documents import Line
from runners.readers.outputs import Output
from runners.readers.wrk_console import TRUEPACE_PREFIX

SAID_LINES = 3  # fewer headings and sentences are a title and a caption
LONGEST_CAPTION = 60  # characters; a longer line that ends with a colon is a sentence
_HEADING = re.compile(r"^\s*#{1,6}\s+\S")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_TYPED = re.compile(
    rf"[$\u276f\u279c] |^\s*(?:PS )?\S*[\w\\:)]> |{TRUEPACE_PREFIX} |^RX |^TX "
    r"|\b(?:wrk2?|ab|hey|oha|k6|autocannon|vegeta|redis-benchmark|bombardier)\b.*\s-{1,2}[a-zA-Z]"
    r"|^\s*[\w./-]+ (?:\S+ )?-{1,2}[a-zA-Z]\S*\s.*https?://"
)
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img\s[^>]*>")
_MARKS = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)*[*_`]*")
_FIELD = re.compile(r"^[^:.|]{1,40}:\s+(?:\S+$|[-+~]?\d)|[^\s.]\s{2,}\S")  # `Pod: ns-1`, `Failed requests:  0`, columns
_WORDS = re.compile(r"[^\W\d_]+(?:[\s,:'\u2019-]+[^\W\d_]+){2}")
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]{6}|[\uac00-\ud7af]{2,}\s[\uac00-\ud7af]{2,}")
_RULE = re.compile(r"^\s*\|?[\s:|-]*-{3,}[\s:|-]*$")
#: The head of a table that lists the figures of one run, as a script makes it out of an output.
_OF_ONE_RUN = re.compile(
    r"^\s*\|?\s*[*_]*(?:metrics?|stat(?:istic)?s?|parameters?|propert(?:y|ies)|fields?|items?|name|key)\b",
    re.IGNORECASE,
)
#: Sites that tutorials load.
_PUBLIC_SITE = re.compile(
    r"(?i)\b(?:baidu|bing|google|taobao|qq|github|yahoo|wikipedia|example|httpbin|postman-echo|jsonplaceholder)\.\w{2,}"
    r"|\btest(?:-api)?\.k6\.io|\bhttpbin\.test"
)


def is_report(output: Output) -> bool:
    """Tell whether an author says something about the output, or it is the console's record alone."""
    return bool(output.entry) or (is_authored(output.prose) and not _PUBLIC_SITE.search(output.report.url or ""))


def is_authored(prose: Sequence[Line]) -> bool:
    """Tell whether lines that are no output are an author's: at least one sentence or table, with what frames it."""
    lines = [line.text for line in _outside_fences(prose)]
    headings = sum(1 for text in lines if _HEADING.match(text))
    sentences = sum(1 for text in lines if is_prose(text))
    heads = [head for head, rule in pairwise(lines) if head.count("|") > 1 and _RULE.match(rule)]
    tables = len(heads) if sentences else sum(1 for head in heads if not _OF_ONE_RUN.match(head))
    return sentences + tables > 0 and headings + sentences + SAID_LINES * tables >= SAID_LINES


def is_prose(text: str) -> bool:
    """Tell whether a line is, or goes on, a sentence: no heading, caption, command, field or row of figures."""
    if _HEADING.match(text) or _TYPED.search(text) or "|" in text:
        return False
    bare = _MARKS.sub("", _PICTURE.sub("", text)).rstrip()
    if _FIELD.search(bare) or (bare.rstrip("*_ ").endswith(":") and len(bare) <= LONGEST_CAPTION):
        return False
    return bool(_WORDS.search(bare) or _WITHOUT_SPACES.search(bare))


def _outside_fences(prose: Sequence[Line]) -> Iterator[Line]:
    """Give the lines that stand in no fence and are no caption of one."""
    fenced = False
    for line, after in pairwise((*prose, Line(-1, ""))):
        opens = _FENCE.match(after.text) is not None and not fenced
        caption = opens and len(line.text) <= LONGEST_CAPTION and not line.text.rstrip().endswith((".", "!", "。"))
        if _FENCE.match(line.text):
            fenced = not fenced
        elif not fenced and not (caption and not _HEADING.match(line.text)):
            yield line
