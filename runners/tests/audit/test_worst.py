"""Of a rule's findings in a document the worst is quoted, wherever it stands, and its remedy is one for the tool."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from runners.audit.audit import RULES, Digest, audit, examine
from runners.audit.listing import as_text, plain
from runners.audit.rule import Remark, Seen
from runners.audit.rules.draws import fractions
from runners.readers.console_report import ConsoleReport
from runners.readers.documents import Document
from runners.readers.output import Output
from runners.readers.outputs import outputs_of
from runners.readers.tools import TOOLS, facts
from runners.tests.audit.planted import outputs, remarks
from runners.tests.audit.test_audit_rules import CASES, COLLAPSED, QUEUE
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced

NO_RUN = (CASES / "wrk2-one-millisecond.txt").read_text(encoding="utf-8")


def table(*values: str) -> str:
    return "".join(f" {level}.000%  {value}\n" for level, value in zip((50, 75, 90), values, strict=True))


LATE = "Socket errors: connect 0, read 0, write 0, timeout 3"


def after_requests(line: str, text: str = CLOSED) -> str:
    return replaced(text, ("Requests/sec", f"  {line}\nRequests/sec"))


def short_run(seconds: int) -> str:
    return replaced(HEALTHY, ("-d60", f"-d{seconds}"), ("Running 1m", f"Running {seconds}s"))


def with_connections(threads: int, connections: int) -> str:
    heads = ("-t1 -c8", f"-t{threads} -c{connections}"), ("1 threads and 8", f"{threads} threads and {connections}")
    return replaced(HEALTHY, *heads)


def unseeded(requests: int) -> str:
    """A run that never finds nine of ten keys, because the keys are what LuaJIT draws without a seed."""
    errors = int((fractions(requests + 1)[1:] >= 0.1).sum())
    text = replaced(CLOSED, ("-t2 -c2", "-t1 -c1"), ("2 threads and 2", "1 threads and 1"))
    text = replaced(text, ("12000 requests in 1.00m", f"{requests} requests in {requests / 200:.2f}s"))
    return after_requests(f"Non-2xx or 3xx responses: {errors}", text)


def of_script(script: str, bytes_of_one: int) -> str:
    text = replaced(CLOSED, ("get.lua", script), ("980.46KB", f"{12_000 * bytes_of_one / 1024:.2f}KB"))
    return replaced(text, ("Transfer/sec:     16.34KB", ""))


#: Of each rule two documents with its fault, of which the second is the worse.
WORSE: dict[str, tuple[str, ...]] = {
    "TIM001": (table("700us", "1.05ms", "1.26ms"), table("500us", "750us", "900us")),
    "TIM002": (table("1.90ms", "1.95ms", "1.99ms"), table("1.60ms", "1.65ms", "1.70ms")),
    "NET001": (table("40.10ms", "41.00ms", "42.00ms"), table("44.10ms", "45.00ms", "46.00ms")),
    "RAT001": (QUEUE, replaced(QUEUE, ("-R2500", "-R2700"))),
    "RAT003": (replaced(CLOSED, ("-d1m", "-d1m -R5000")), replaced(CLOSED, ("-d1m", "-d1m -R50000"))),
    "RAT006": (replaced(HEALTHY, ("-R2000", "-R2600")), replaced(HEALTHY, ("-R2000", "-R4000"))),
    "RAT008": (
        replaced(HEALTHY, ("lat.: 5.199ms", "lat.: 99.000ms")), replaced(HEALTHY, ("lat.: 5.199ms", "lat.: 990.000ms")),
    ),
    "RAT009": (
        replaced(COLLAPSED, ("        10000", "        20000"), ("30080 requests", "40080 requests")), COLLAPSED,
    ),
    "RAT011": (replaced(HEALTHY, ("-R2000", "-R500")), replaced(HEALTHY, ("-R2000", "-R200"))),
    "ERR001": (after_requests("Non-2xx or 3xx responses: 70"), after_requests("Non-2xx or 3xx responses: 700")),
    "ERR002": tuple(sorted((unseeded(1_335), unseeded(5_000)), key=lambda text: remarks(text)["ERR002"].seen.size)),
    "ERR004": (
        after_requests("Socket errors: connect 0, read 0, write 0, timeout 3"),
        after_requests("Socket errors: connect 0, read 0, write 0, timeout 30"),
    ),
    "ERR005": (
        "\n".join([of_script("put.lua", 118), of_script("get.lua", 84), of_script("put_get.lua", 85)]),
        of_script("put_get.lua", 84),
    ),
    "RUN001": (short_run(10), short_run(5)),
    "RUN002": (with_connections(3, 8), with_connections(5, 9)),
    "RUN003": (
        replaced(HEALTHY, ("  Detailed", "unable to connect to h\n  Detailed")),
        replaced(HEALTHY, ("  Detailed", "unable to connect to h\ntoo many open files\n  Detailed")),
    ),
    "RUN007": (
        replaced(CLOSED, ("12000 requests in 1.00m", "2000 requests in 10.00s")),
        replaced(CLOSED, ("12000 requests in 1.00m", "1000 requests in 5.00s")),
    ),
    "RUN008": (with_connections(1, 1_600), with_connections(1, 3_200)),
    "SMP003": (
        after_requests(LATE, replaced(CLOSED, ("48.51ms", " 1.97s "))),
        after_requests(LATE, replaced(CLOSED, ("48.51ms", " 1.99s "))),
    ),
    "SUM001": (
        replaced(HEALTHY, ("Requests/sec:   2000.00", "Requests/sec:   2020.00")),
        replaced(HEALTHY, ("Requests/sec:   2000.00", "Requests/sec:   2500.00")),
    ),
    "SUM002": (
        replaced(HEALTHY, ("75.000%    6.10ms", "75.000%    4.10ms")),
        replaced(HEALTHY, ("75.000%    6.10ms", "75.000%    4.10ms"), ("99.900%   40.20ms", "99.900%   10.20ms")),
    ),
    "SUM003": (
        replaced(HEALTHY, ("Total count    =        99920", "Total count    =        99000")),
        replaced(HEALTHY, ("Total count    =        99920", "Total count    =        90000")),
    ),
    "SUM005": (replaced(NO_RUN, ("in 1.25ms", "in 2.50ms")), NO_RUN),
}  # fmt: skip


@pytest.mark.parametrize("worse_first", [False, True])
@pytest.mark.parametrize("code", WORSE)
def test_the_worst_finding_of_a_rule_is_quoted(code: str, worse_first: bool) -> None:
    mild, worse = WORSE[code]
    both = f"{worse}\n\n# Next\n\n{mild}" if worse_first else f"{mild}\n\n# Next\n\n{worse}"
    own = tuple(remark for remark in examine(outputs(both)) if remark.code == code)
    assert len(own) == 2
    assert Digest(own).worst is own[not worse_first]


def test_one_output_given_for_the_loads_that_lie_furthest_apart_is_quoted() -> None:
    rows = " 50.000%    5.00ms\n 75.000%    6.10ms\n 90.000%    9.30ms\n 99.000%   20.10ms\n"
    text = "\n".join(f"## PUT {rate} RPS\n\n{rows}" for rate in (3_000, 4_000, 9_000))
    own = tuple(remark for remark in examine(outputs(text)) if remark.code == "DOC003")
    assert "given there for 3 000/s and here for 9 000/s" in plain(Digest(own).worst.seen.text)


def test_iterations_that_never_began_weigh_by_their_share() -> None:
    k6 = "http_req_duration....: avg=9ms med=9ms max=9ms p(99)=9ms\nhttp_reqs....: {} 300/s\n"
    k6 += "dropped_iterations...: {} 9/s\n"
    many, half = k6.format(900_000, 90_000), k6.format(900, 900)
    assert remarks(half)["RAT001"].seen.size > remarks(many)["RAT001"].seen.size


def test_a_finding_has_a_size() -> None:
    with pytest.raises(TypeError, match="size"):
        Seen(outputs(HEALTHY)[0], "text")  # type: ignore[call-arg]


#: Options that a remedy may name though they are not the tool's: the server's.
OF_SERVERS = {"-Dsun.net.httpserver.nodelay=true"}
_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*(?:\.[\w.]*=\w+)?")
#: Options that the remedies of all tools like wrk name, and that of one tool alone.
SHARED = {"wrk": {"--timeout", "-v"}, "wrk2": {"--timeout", "-U"}, "truepace": {"--timeout"}, "ab": {"-l"}}
#: Rules whose findings are of these tools alone.
OF_TOOLS = {"RAT003": ("wrk",), "ERR006": ("ab",)}


def parts(remedy: str) -> list[str]:
    return [part for part in re.split(r"[;,]\s|\s\(|\bor\b", remedy) if part]


@pytest.mark.parametrize("tool", TOOLS)
def test_a_remedy_names_no_run_of_the_lab_and_no_option_of_another_tool(tool: str) -> None:
    lacking = Output(Path("a"), 1, ConsoleReport(tool=tool, requests=9_000), missing=("percentiles",))
    known = facts(tool)
    own = {option for text in (known.percentiles, known.rate, known.over_time) for option in _OPTION.findall(text)}
    others = [re.escape(name) for name in TOOLS if name != tool]
    of_another = re.compile(rf"(?i)(?<![\w-])(?:{'|'.join(others)})(?![\w-])")
    rules = [rule for code, rule in RULES.items() if tool in OF_TOOLS.get(code, (tool,))]
    for rule, output in product(rules, (lacking, replace(lacking, missing=()))):
        remedy = Remark(rule, Seen(output, "", size=0.0)).remedy
        assert not re.search(r"\blab\b", remedy)
        options = set(_OPTION.findall(remedy)) - OF_SERVERS
        assert options <= own | SHARED.get(tool, set()), remedy
        assert not [part for part in parts(remedy) if _OPTION.search(part) and of_another.search(part)], remedy


def test_no_advice_for_a_tool_names_an_option_of_another() -> None:
    for tool, known in TOOLS.items():
        for text in (known.percentiles, known.rate, known.over_time):
            named = [name for name in TOOLS if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
            assert not _OPTION.search(text) or set(named) <= {tool}, (tool, text)


def test_latency_over_time_is_looked_at_with_the_tool_that_was_used() -> None:
    k6 = "* a: 300.00 iterations/s for 30s (maxVUs: 9)\nhttp_req_duration...: avg=9ms med=1ms max=900ms p(90)=90ms\n"
    k6 += "http_reqs...: 9000 300/s\n"
    assert "over time (--out csv), and name" in remarks(k6)["RAT007"].remedy
    bursts = replaced(HEALTHY, ("50.000%    5.00ms", "50.000%  900.00us"), ("90.000%    9.30ms", "90.000%   99.30ms"))
    assert "over time, and name" in remarks(bursts)["RAT007"].remedy


def test_all_outputs_above_the_highest_rate_are_named() -> None:
    short = "\n".join(replaced(HEALTHY, ("-R2000", f"-R{rate}")) for rate in (2_600, 2_700, 2_800, 2_900, 3_000))
    text = as_text(audit([outputs_of(Document(f"{HEALTHY}\n{short}", Path("report.md")))]))
    lines = HEALTHY.count("\n") + 1
    places = ", ".join(str(2 + lines * number) for number in range(1, 6))
    assert f"above it: the latency of 5 runs at {places} [" in text
