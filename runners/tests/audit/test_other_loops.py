"""What other tools' outputs say of their loop, their rate and their failures, and how people publish them."""

from __future__ import annotations

import pytest

from runners.tests.audit.planted import outputs, remarks
from runners.tests.fixtures.outputs import CLOSED, HEALTHY, replaced

VEGETA = """Requests      [total, rate, throughput]         9000, 300.03, 299.02
Duration      [total, attack, wait]             30.1s, 29.997s, 103ms
Latencies     [min, mean, 50, 90, 95, 99, max]  1.1ms, 4.2ms, 3.5ms, 6.1ms, 7.2ms, 21.9ms, 110ms
Status Codes  [code:count]                      200:9000
"""


def test_vegeta_without_a_rate_is_a_closed_loop() -> None:
    assert "RAT004" not in remarks(f"vegeta attack -rate=300 -duration=30s\n\n{VEGETA}")
    command = "cat targets | vegeta attack -max-workers 20 -duration 30s -rate 0 | vegeta report"
    assert "RAT004" in remarks(f"```\n{command}\n```\n\nGave:\n\n```\n{VEGETA}```\n")
    assert "RAT004" not in remarks(f"{command}\nvegeta attack -rate=300 -duration=30s\n{VEGETA}")


def test_the_wait_for_vegetas_last_response_is_no_shortfall() -> None:
    late = replaced(VEGETA, ("30.1s, 29.997s, 103ms", "31.9s, 29.997s, 1.9s"), ("110ms", "1.9s"))
    assert {"RAT001", "RAT002"}.isdisjoint(remarks(late))
    queue = "4.2s, 5.1s, 9.3s, 9.7s, 9.9s, 10s"
    waited = replaced(late, ("31.9s", "40s"), ("4.2ms, 3.5ms, 6.1ms, 7.2ms, 21.9ms, 1.9s", queue))
    assert {"RAT001", "RAT002"} <= set(remarks(waited))


def test_time_outs_are_no_queue() -> None:
    times = ("4.2ms, 3.5ms, 6.1ms, 7.2ms, 21.9ms, 110ms", "30s, 30s, 30s, 30s, 30s, 30.01s")
    dead = replaced(VEGETA, times, ("30.1s", "60s"), ("200:9000", "0:9000"))
    remarked = remarks(dead)
    assert {"ERR001", "SMP003"} <= set(remarked)
    assert {"RAT001", "RAT002", "RAT010"}.isdisjoint(remarked)


K6 = """http_req_duration..............: avg=12ms min=2ms med=9ms max=1m0s p(90)=21ms p(95)=33ms
http_reqs......................: 9000 300/s
"""


@pytest.mark.parametrize(
    ("above", "below", "closed"),
    [
        ("", "", None),
        ("k6 run -u 20 -d 30s load.js\n\n", "", True),
        ("k6 run load.js\n\n", "", None),
        ("", "\ndefault ✓ [=====================] 20 VUs  30s\n", True),
        ("", "\ndefault ✓ [=====================] 00/20 VUs  30s\n", True),
        ("", "\nsteady ✓ [=====================] 000/020 VUs  30s  300.00 iters/s\n", False),
    ],
)
def test_k6_with_a_number_of_users_is_a_closed_loop(above: str, below: str, closed: bool | None) -> None:
    (output,) = outputs(f"{above}{K6}{below}")
    assert output.report.closed_loop is closed


def test_k6s_log_of_failed_requests_stands_between_the_lines() -> None:
    said = 'time="2020-01-01T00:00:00Z" level=warning msg="Request Failed" error="request timeout"\n'
    assert "RUN003" in remarks(f"{said}{K6}")
    assert "RUN003" not in remarks(f'time="2020-01-01T00:00:00Z" level=warning msg="the version is obsolete"\n{K6}')


def test_iterations_that_never_began_count_in_a_mixed_load_too() -> None:
    looping = "default ✓ [=====================] 20 VUs  30s\n"
    assert {"RAT001", "RAT004"} <= set(remarks(f"{K6}dropped_iterations.............: 4000 133/s\n{looping}"))


FORTIO = """Starting at 500 qps with 4 thread(s) [gomax 8] : exactly 400, 100 calls each (total 400 + 0)
Ended after 4.1s : 400 calls. qps=97.561
Aggregated Sleep Time : count 4 avg -0.01 +/- 0.001 min -0.02 max -0.01 sum -0.04
# target 50% -0.01
WARNING 100.00% of sleep were falling behind
Aggregated Function Time : count 400 avg 0.04 +/- 0.01 min 0.011 max 0.095 sum 16
# target 50% 0.039
# target 75% 0.045
# target 90% 0.052
Code 200 : 400 (100.0 %)
All done 400 calls (plus 0 warmup) 40 ms avg, 97.6 qps
"""


def test_fortio_says_its_rate() -> None:
    (output,) = outputs(FORTIO)
    assert (output.offered_rps, output.connections) == (500, 4)
    remarked = remarks(FORTIO)
    assert {"RAT001", "RUN003"} <= set(remarked)
    assert "RAT004" not in remarked
    assert "RAT004" in remarks(replaced(FORTIO, ("at 500 qps", "at max qps"), ("Aggregated Sleep Time", "Omitted")))


def test_artillery_quick_says_its_rate() -> None:
    text = """
All virtual users finished
Summary report @ 12:00:00(+0000) 2020-01-01
  Requests completed:  3000
  Mean response/sec: 61
  Response time (msec):
    max: 958
    median: 174
    p95: 265
    p99: 468
"""
    assert "RAT001" in remarks(f"$ artillery quick -d 30 -r 100 http://host/\n{text}")
    assert "RAT001" not in remarks(f"$ artillery quick -r 100 -n 5 http://host/\n{text}")
    assert "RAT001" not in remarks(f"$ artillery run script.yml\n{text}")


def test_a_queue_shows_without_percentiles() -> None:
    kept = [line for line in HEALTHY.splitlines()[1:] if "%  " not in line or "Latency  " in line or "Req/Sec" in line]
    text = "\n".join(kept[: kept.index("")] + kept[-3:]) + "\n"
    long = replaced(text, ("5.92ms    3.48ms  61.30ms", "14.10s     5.48s   25.30s"))
    assert "RAT002" not in remarks(text)
    assert "RAT002" in remarks(long)
    assert "RAT002" not in remarks(replaced(long, ("14.10s ", "1.10s ")))


def test_a_mean_that_is_not_that_of_the_footer_contradicts_it() -> None:
    assert "SUM003" not in remarks(HEALTHY)
    assert "SUM003" in remarks(replaced(HEALTHY, ("#[Mean    =        5.920", "#[Mean    =        7.920")))


def test_a_pipeline_holds_several_requests_in_a_connection() -> None:
    piped = replaced(CLOSED, ("-s get.lua http://localhost:8080", "-s pipeline.lua http://localhost:8080 -- / 16"))
    assert "SUM004" not in remarks(replaced(piped, ("10.00ms", "90.00ms")))
    assert "SUM004" in remarks(replaced(piped, ("10.00ms", "900.00ms")))
    assert "SUM004" in remarks(replaced(CLOSED, ("10.00ms", "90.00ms")))


def test_wrk_without_its_last_lines_is_known_by_its_busy_connections() -> None:
    head, _, rest = CLOSED.partition("  2 threads")
    text = f"  2 threads{rest[: rest.index('Requests/sec')]}"
    assert "RAT004" in remarks(text)
    assert head


def test_a_run_without_any_response_has_no_latency() -> None:
    nothing = "  4 threads and 40 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
    nothing += (
        "    Latency     0.00us    0.00us   0.00us     nan%\n    Req/Sec     0.10      0.20     1.00     90.00%\n"
    )
    nothing += "  12 requests in 10.01s, 3.21KB read\n  Socket errors: connect 0, read 0, write 0, timeout 12\n"
    remarked = remarks(f"wrk -t4 -c40 -d10s http://host/\n{nothing}Requests/sec:      1.20\n")
    assert "ERR004" in remarked
    assert "RAT004" not in remarked


def test_refusals_in_no_time_are_not_below_gatlings_resolution() -> None:
    text = """---- Global Information ----
> request count                                       2000 (OK={ok}   KO={ko} )
> max response time                                    900 (OK=900    KO=3     )
> mean response time                                     2 (OK=80     KO=1     )
> response time 50th percentile                          0 (OK=70     KO=0     )
> response time 95th percentile                          1 (OK=99     KO=1     )
> mean requests/sec                                     20 (OK=1      KO=19    )
"""
    assert "TIM002" in remarks(text.format(ok=1990, ko=10))
    assert "TIM002" not in remarks(text.format(ok=100, ko=1900))


def test_uncorrected_percentiles_alone_are_not_a_cut_output() -> None:
    label = "(HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))"
    assert "RUN005" not in remarks(f"  Latency Distribution {label}\n 50.000%    4.05ms\n 99.000%   11.60ms\n")


def test_a_thin_percentile_below_p99_is_a_warning_whatever_else_is_printed() -> None:
    text = (
        "Starting at 10 qps with 1 thread(s)\nAggregated Function Time : count 50 avg 0.04 +/- 0.01 min 0.01 max 0.1\n"
    )
    low, high = "# target 90% 0.05\n", "# target 99.9% 0.09\n"
    rate = "All done 50 calls (plus 0 warmup) 40 ms avg, 10.0 qps\n"
    for rows in (low, low + high):
        assert remarks(f"{text}{rows}{rate}")["SMP001"].severity == "warning"
    assert remarks(f"{text}{high}{rate}")["SMP001"].severity == "note"
