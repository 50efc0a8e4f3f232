"""The rules of report 1: a code and the question that each one answers.

A the answer · L latency · P profile · W why the tail is what it is · S steadiness · M what the published report
missed · I the instrument itself · N what to try next. A rule makes a finding only where the frames hold evidence
for it.
"""

from __future__ import annotations

RULES = {
    "A01": "Is the offered rate held, and with which p99?",
    "A02": "Was the offered rate above what one connection carries?",
    "A03": "Is a measurement invalid, so that nothing may be quoted from it?",
    "A04": "Is a measurement missing?",
    "A05": "What does one connection carry in closed loop?",
    "A06": "Was an engine held up for a while, so that it fell short of a rate that it carries?",
    "L01": "How much of the median is the server, and how much the instrument's floor?",
    "L02": "Do the engines differ in p99 by more than their intervals?",
    "L03": "Does one short excursion make a percentile?",
    "P01": "Which parts of the work take the most CPU, memory or waiting?",
    "P02": "Does a part of the work take another share in one engine than in the other?",
    "P03": "What did the profiler cost?",
    "W01": "How many seconds stand out, and does a pause of the JVM lie in them?",
    "W02": "When was the slowest answer, and does a pause of the JVM lie there?",
    "W03": "Can the tail be looked at by the second at all?",
    "S01": "From which second on is the median steady?",
    "M01": "Is the published median the generator's timer?",
    "M02": "Do the published errors agree with a number of absent keys?",
    "M03": "Is a part of the published requests missing from the published histogram?",
    "M04": "On how few samples do the published percentiles rest?",
    "M05": "Was the published measurement repeated?",
    "I01": "What does our generator resolve at this rate?",
    "I02": "What does wrk2 resolve at this rate?",
    "I03": "What does our generator add to the simplest honest client?",
    "I04": "Does a generator wake by a tick, and does its spectrum show it?",
    "I05": "Does our generator see the whole of a stall, in the middle and at the end?",
    "I06": "Do the other generators?",
    "I07": "What processor time do the generators take?",
    "I08": "Which generators were not there?",
    "I09": "Which intervals need more rounds?",
    "N01": "Was the rate too high?",
    "N02": "Did the JVM's pauses make the tail?",
    "N03": "What is left of the tail without a cause?",
    "N04": "What could the store save at most?",
    "N05": "Is one connection the limit?",
    "N06": "Which percentiles need a longer run?",
    "N07": "Does the machine disturb the measurement?",
    "N08": "Does the profile lack kernel frames?",
    "N09": "Does the server fall back to slower sockets?",
}
