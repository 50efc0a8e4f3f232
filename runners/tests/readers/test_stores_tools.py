"""Consoles of YCSB, memtier and cassandra-stress, and outputs that people cut, tabulate or put into Markdown."""

from __future__ import annotations

import json

import pytest

from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import TOOLS

YCSB = """[OVERALL], RunTime(ms), 40000
[OVERALL], Throughput(ops/sec), 25.0
[READ], Operations, 400
[READ], AverageLatency(us), 412.5
[READ], MinLatency(us), 90
[READ], MaxLatency(us), 20111
[READ], 95thPercentileLatency(us), 800
[READ], 99thPercentileLatency(us), 1900
[READ], Return=OK, 390
[READ], Return=NOT_FOUND, 10
[CLEANUP], Operations, 1
[CLEANUP], 99thPercentileLatency(us), 70000
[UPDATE], Operations, 600
[UPDATE], AverageLatency(us), 512.5
[UPDATE], MaxLatency(us), 30111
[UPDATE], 99thPercentileLatency(us), 2900
"""


def test_ycsb_has_an_output_for_each_operation() -> None:
    read, update = outputs(YCSB)
    assert (read.tool, read.label, read.report.requests, read.report.non_2xx) == ("YCSB", "READ", 400, 10)
    assert (read.report.latencies.at(0.99), read.report.max_us) == (1_900, 20_111)
    assert (update.label, update.report.latencies.at(0.99)) == ("UPDATE", 2_900)
    assert {"RAT004", "SMP001", "ERR001"} <= set(remarks(YCSB))


MEMTIER = """[RUN #1 100%,  30 secs]  0 threads:     1500000 ops,   50000 (avg:   50000) ops/sec, 3.1MB/sec

ALL STATS
==============
Type       Ops/sec   Hits/sec  Misses/sec   Avg. Latency    p50 Latency    p99 Latency  p99.9 Latency     KB/sec
--------------
Sets      10000.00        ---         ---        0.40000        0.30000        1.50000        3.10000    1000.00
Gets      40000.00   40000.00        0.00        0.30000        0.20000        1.20000        2.10000    4000.00
Totals    50000.00   40000.00        0.00        0.32000        0.22000        1.30000        2.70000    5000.00
"""


def test_memtiers_totals_are_read() -> None:
    (output,) = outputs(MEMTIER)
    assert (output.tool, output.report.requests, output.report.requests_per_s) == ("memtier", 1_500_000, 50_000)
    assert output.report.latencies.rows == ((0.5, 220), (0.99, 1_300), (0.999, 2_700))
    assert output.report.latency is not None
    assert output.report.latency.mean == pytest.approx(320)
    assert "RAT004" in remarks(MEMTIER)


STRESS = """Results:
Op rate                   :    6,200 op/s  [READ: 6,200 op/s]
Latency mean              :    3.1 ms [READ: 3.1 ms]
Latency median            :    2.2 ms [READ: 2.2 ms]
Latency 95th percentile   :    6.6 ms [READ: 6.6 ms]
Latency 99.9th percentile :   71.9 ms [READ: 71.9 ms]
Latency max               :  241.2 ms [READ: 241.2 ms]
Total partitions          :  1,000,000 [READ: 1,000,000]
Total errors              :         20 [READ: 20]
"""


@pytest.mark.parametrize("text", [STRESS, STRESS.lower(), STRESS.replace("\n", "\\\n")])
def test_cassandra_stress_is_read(text: str) -> None:
    (output,) = outputs(text)
    report = output.report
    assert (output.tool, report.requests, report.non_2xx, report.requests_per_s) == (
        "cassandra-stress", 1_000_000, 20, 6_200,
    )  # fmt: skip
    known = [report.latencies.at(level) for level in (0.5, 0.95, 0.999, 1.0)]
    assert known == pytest.approx([2_200, 6_600, 71_900, 241_200])


def test_autocannons_table_in_markdown_is_read() -> None:
    text = """
| Stat    | 2.5% | 50%   | 97.5% | 99%   | Avg      | Stdev | Max     |
|---------|------|-------|-------|-------|----------|-------|---------|
| Latency | 11 ms| 21 ms | 47 ms | 58 ms | 24.33 ms | 12 ms | 1234 ms |

| Stat      | 1%     | 2.5%   | 50%    | 97.5%  | Avg       | Stdev  | Min    |
|-----------|--------|--------|--------|--------|-----------|--------|--------|
| Req/Sec   | 27,001 | 27,001 | 28,111 | 29,222 | 28,123.5  | 444.55 | 27,001 |

283k requests in 10.02s, 61.3 MB read
40 errors (40 timeouts)
"""
    (output,) = outputs(text)
    assert (output.tool, output.report.requests, output.report.non_2xx) == ("autocannon", 283_000, 40)
    assert (output.report.requests_per_s, output.report.latencies.at(0.99)) == (28_123.5, 58_000)


def test_a_load_tools_json_in_markdown_is_read() -> None:
    content = json.loads((TOOLS / "cases" / "autocannon.json").read_text(encoding="utf-8"))
    block = f"```json\n{json.dumps(content, indent=2)}\n```\n"
    (alone,) = outputs(json.dumps(content))
    first, second = outputs(f'# One\n\n{block}\n# Two\n\n```\n{{\n  "port": 80\n}}\n```\n\n{block}')
    assert first.report.latencies == second.report.latencies == alone.report.latencies
    assert (first.line, second.line > first.line) == (4, True)


def test_an_output_that_fences_cut_is_one() -> None:
    text = """```
Summary:
  Count:        500
  Total:        250.25 ms
  Average:      4.44 ms
  Requests/sec: 1998.00
```

```
Latency distribution:
  50% in 4.12 ms
  99% in 9.87 ms
```
"""
    (output,) = outputs(text)
    assert output.report.latencies.at(0.99) == pytest.approx(9_870)
    (output,) = outputs(text.replace("```\n\n```", "```\n\nAnd another:\n\n```"))
    assert output.report.latencies.rows == ()


def test_a_lower_running_total_is_of_jmeters_next_run() -> None:
    line = "summary =  {} in 00:00:{} =  500.0/s Avg:   12 Min:     0 Max:   780 Err:     0 (0.00%)\n"
    text = "".join(line.format(requests, seconds) for requests, seconds in ((5_000, 10), (10_000, 20), (9_500, 19)))
    assert [output.report.requests for output in outputs(text)] == [10_000, 9_500]


def test_bombardiers_table_without_its_first_line_is_read() -> None:
    text = """Statistics        Avg      Stdev        Max
  Reqs/sec      {}    333.33    4444.44
  Latency       55.55ms    22.22ms   333.33ms
  HTTP codes:
    1xx - 0, 2xx - 4000, 3xx - 0, 4xx - 100, 5xx - 0
    others - 0
"""
    first, second = outputs(text.format("1234.50") + "# Again\n" + text.format("999.00"))
    assert (first.tool, first.report.requests, first.report.non_2xx) == ("bombardier", 4_100, 100)
    assert (first.report.requests_per_s, second.report.requests_per_s) == (1_234.5, 999)
    (whole,) = outputs(f"Bombarding http://host/ for 10s using 50 connection(s)\nDone!\n{text.format('410.00')}")
    assert (whole.line, whole.connections) == (1, 50)
