"""An author's report is distinguished from a bare record of outputs, in any language."""

from __future__ import annotations

import pytest

from runners.audit.audit import examine
from runners.audit.reports import is_authored
from runners.readers.documents import text_document
from runners.readers.outputs import outputs_of
from runners.tests.fixtures.outputs import CLOSED


@pytest.mark.parametrize(
    ("text", "authored"),
    [
        ("# Report\n\nThe server was loaded twice.\n\nNothing else ran there.\n", True),
        ("# Отчёт\n\nСервер был нагружен дважды.\nПамять была свободна всё время.\n", True),
        ("# 压测报告\n\n## 环境\n\n压测机器和服务器是同一台机器。\n", True),
        ("# 부하 테스트\n\n## 결과\n\n동시성 제어로 응답시간 증가\n", True),
        ("# Informe\n\n- El sistema maneja bien esta carga\n- Sin solicitudes fallidas en la prueba\n", True),
        ("# Results\n\n| Server | req/s |\n|---|---|\n| a | 100 |\n", True),
        ("# a\n\n## Summary\n\n| Metric | Value |\n|---|---|\n| req/s | 100 |\n\n## Output\n", False),
        ("# Servers\n\n## a\n\nTo build a self contained one\n```\nmake\n```\n\n## b\n", False),
        ("# Servers\n\n## a\n\n-> Reads are better now\n\n## b\n", True),
        ("# Servers\n\n## a\n\n![a picture of the heap](a.png)\n\n## b\n", False),
        ("# Servers\n\n## a\n\nPS C:\\Users\\me> run all of them\n\n## b\n", False),
        ("# Servers\n\n## a\n\nredis-benchmark -t set,get all of them -q\n\n## b\n", False),
        ("# Servers\n\n## a\n\nThe first one is ours.\n```\nmake\n```\n\n## b\n", True),
        ("first\n\nrewrk -t8 -c104 --host http://10.0.0.1/\n\n可能是系统参数没调对\n\n和前面的差不多吧\n", False),
        ("## Single Thread\n\n## Threading\n\n## Processes\n\n## Thread Pool\n", False),
        ("# ab\n\n## go\n\n### before the limit\n\n$ ab -n 100 -c 10 http://localhost/\n", False),
        (
            "Namespace: ns-1\nPod: vegeta-ns-1-dc87d5c9b\nError Set:\nNamespace: ns-2\nPod: vegeta-ns-2\n",
            False,
        ),
        (
            "- Complete requests:      116\n- Total transferred:   33756\nTransfer rate:   3.30 [Kbytes/sec]\n",
            False,
        ),
        ("**第一次**\n\n**第二次**\n\n**第三次**\n\n**第四次**\n", False),
        ("# Run\n\n```\nCompleted all of the requests\nand then it has ended\nwith nothing left over\n```\n", False),
    ],
)
def test_an_authors_report_is_distinguished_from_headings_captions_and_fields(text: str, authored: bool) -> None:
    lines = [line for line in text_document(text).lines if line.text.strip()]
    assert is_authored(lines) is authored


@pytest.mark.parametrize(("host", "reported"), [("localhost:8080", True), ("www.baidu.com", False)])
def test_who_loads_a_public_site_shows_how_a_tool_is_called(host: str, reported: bool) -> None:
    text = f"# wrk\n\nThe server was loaded by it.\nIt held the load.\n\n{CLOSED.replace('localhost:8080', host)}"
    codes = {remark.code for remark in examine(outputs_of(text_document(text)).outputs)}
    assert ("SMP004" in codes) is reported
    assert "RAT004" in codes
