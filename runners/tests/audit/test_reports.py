"""An author's report is distinguished from a bare record of outputs, in any language."""

from __future__ import annotations

import pytest

from runners.audit.reports import is_authored
from runners.readers.documents import text_document


@pytest.mark.parametrize(
    ("text", "authored"),
    [
        ("# Report\n\nThe server was loaded twice.\n\nNothing else ran there.\n", True),
        ("# Отчёт\n\nСервер был нагружен дважды.\nПамять была свободна всё время.\n", True),
        ("# 压测报告\n\n## 环境\n\n压测机器和服务器是同一台机器。\n", True),
        ("# 부하 테스트\n\n## 결과\n\n동시성 제어로 응답시간 증가\n", True),
        ("# Informe\n\n- El sistema maneja bien esta carga\n- Sin solicitudes fallidas en la prueba\n", True),
        ("# Results\n\n| Server | req/s |\n|---|---|\n| a | 100 |\n", True),
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
def test_an_authors_report_is_told_from_headings_captions_and_fields(text: str, authored: bool) -> None:
    lines = [line for line in text_document(text).lines if line.text.strip()]
    assert is_authored(lines) is authored
