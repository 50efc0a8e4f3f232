"""What `claims` hands to `report`: plain data, each sentence with its evidence."""

from __future__ import annotations

from dataclasses import dataclass

from runners.claims.question import Answered
from runners.readers.finding import Finding


@dataclass(frozen=True, slots=True)
class Check:
    """One line of "Can these numbers be trusted?". `ok` is None where the run does not tell.

    `steps`: those that it is about, of a check that failed those that failed it. `note`: what a reader must know of a
    check that passed.
    """

    name: str
    ok: bool | None
    text: str
    steps: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Claims:
    """Collect what the analysis of one kind of experiment claims. `answer`: its part of the headline, or empty.

    `checks` are what it asks of its own steps, besides the checks of every run.
    """

    answer: str = ""
    findings: tuple[Finding, ...] = ()
    missed: tuple[Finding, ...] = ()
    next_steps: tuple[Finding, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Published and reproduced, side by side, for one workload.

    A row is the name of a quantity and its values; `columns` are the headings of these ("published", then a measured
    step each). `differs` names in sentences what was not the same, and so limits what a comparison can say.
    """

    workload: str
    published: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    differs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The whole explanation of a run.

    `answers` are those of the experiment's questions, `answer` is one or a few sentences, `findings` come most
    important first, `missed` are the findings on what the published report did not see,
    `next_steps` what to try, each with the evidence for it.
    """

    title: str
    answer: str
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    comparison: tuple[Comparison, ...]
    missed: tuple[Finding, ...]
    next_steps: tuple[Finding, ...]
    answers: tuple[Answered, ...] = ()

    def about(self, *anchors: str) -> tuple[Finding, ...]:
        """Return the findings that a place of the report shows, those on the published report first."""
        return tuple(finding for finding in (*self.missed, *self.findings) if finding.figure in anchors)

    def as_json(self) -> dict[str, object]:
        """Plain JSON values, as kept in the run folder."""
        return {
            "title": self.title,
            "answer": self.answer,
            "answers": [each.as_json() for each in self.answers],
            "findings": [finding.as_json() for finding in self.findings],
            "checks": [
                {"name": check.name, "ok": check.ok, "text": check.text, "steps": list(check.steps)}
                for check in self.checks
            ],
            "comparison": [
                {
                    "workload": table.workload,
                    "published": table.published,
                    "columns": list(table.columns),
                    "rows": [{"name": name, "values": values} for name, *values in table.rows],
                    "differs": list(table.differs),
                }
                for table in self.comparison
            ],
            "missed": [finding.as_json() for finding in self.missed],
            "next_steps": [finding.as_json() for finding in self.next_steps],
        }


#: A code and the question that its rule answers. A the answer, L latency, P profile, W why the tail is what it is, S
#: steadiness, M what the published report missed, I the instrument itself, K the knee, R its rate steps, E ways to
#: run a request, C treatments compared, D the delay of the JDK's HTTP server, G stores, H a cluster's changes, O a
#: node that dies, F generators on several hosts, V faults of a server, N what to try next. A rule makes a finding
#: only where the frames hold evidence for it.
RULES = {
    "A01": "Is the offered rate achieved, and with which p99?",
    "A02": "Was the offered rate beyond saturation?",
    "A03": "Is a measurement invalid, so that nothing may be quoted from it?",
    "A04": "Is a measurement missing?",
    "A05": "Which rate does a closed loop reach?",
    "A06": "Was an engine held up for a while, so that it fell short of a rate that it can achieve?",
    "L01": "How much of the median is the server, and how much the instrument's floor?",
    "L02": "Do the engines differ in p99 by more than their intervals?",
    "L03": "Does one short spike make a percentile?",
    "K01": "Which is the highest rate that meets the objective?",
    "K02": "What is missed first above it?",
    "K03": "Was the generator the limit?",
    "K04": "Is the knee known as well as was asked?",
    "K05": "At which of the fixed rates is the objective met?",
    "K06": "At which rate is latency worth measuring?",
    "C01": "By how much do two treatments differ?",
    "C02": "Which differences are inconclusive, or too small to matter?",
    "C03": "Can the treatments be compared at all?",
    "C04": "Does a second process of the baseline differ from the first?",
    "P01": "Which parts of the work take the most CPU, memory or waiting?",
    "P02": "Does a part of the work take another share in one engine than in the other?",
    "P03": "What did the profiler cost?",
    "P04": "Which frames change their share from one engine to the other, and what does that go with?",
    "W01": "Which stretches of time stand out, and how much of the tail lies in them?",
    "W02": "When was the slowest response, and what happened there?",
    "W03": "Can the tail be looked at by time at all?",
    "W04": "Which causes explain the tail beyond chance, how much of it each, and what stays unexplained?",
    "W05": "Did the machine make a tail, so that it is not compared?",
    "W06": "What is the p99 without the machine's stalls, and how much of the time is left out for it?",
    "E01": "How high is the knee of each treatment?",
    "E02": "Does a knee differ from that of the first treatment?",
    "E03": "What does a queue do when more is offered than fits?",
    "H01": "Which figure changed its level from one run to the next?",
    "H02": "How does each hash spread the keys over the nodes?",
    "H03": "Which share of its requests does a node pass on, and is it what its hash says?",
    "H04": "In which runs was the machine not as usual?",
    "H05": "How were published numbers of threads scaled to this machine?",
    "H08": "How long do threads wait for the lock around the client between nodes?",
    "O01": "What did the death of a node cost, and was it over when the node was back?",
    "R01": "Which parts of the work grow or shrink with the rate?",
    "R02": "Which published rates are out of this machine's reach?",
    "R03": "What does a cold start cost?",
    "F01": "How much of the response time is the network between a generator and the server?",
    "F02": "Does the network lose what a generator or the server sends?",
    "F03": "Did all generators of a load begin at the agreed instant, by clocks that nobody set?",
    "F04": "Did the cores of a generator's host stall, so that its response times hold that?",
    "G01": "What share of the server's own knee does a store leave?",
    "G02": "How many bytes does a store write for each byte that it is given?",
    "G03": "How much room does a live byte take?",
    "G04": "Was every store at rest when it was asked?",
    "G05": "How many tables may a read look into, and how many does it?",
    "G06": "How much memory does a store take outside the heap?",
    "G07": "Which stores are ahead of the published one?",
    "G08": "Which knees do the searches leave inconclusive?",
    "V04": "What does a response do that all requests share?",
    "S01": "From which second on is the median steady?",
    "S02": "Does a head that is not steady move the p99?",
    "S03": "Was a measurement never steady, or JIT compilation unfinished, so that its percentiles are not compared?",
    "M01": "Is the published median the generator's timer?",
    "M02": "Do the published errors agree with a number of absent keys?",
    "M03": "Is a part of the published requests missing from the published histogram?",
    "M04": "On how few samples do the published percentiles rest?",
    "M05": "Was the published measurement repeated?",
    "M06": "Does the published cold run hold its cold start?",
    "M07": "Which published latencies are the length of a queue?",
    "M08": "Which share of the published reads asked for what is not there?",
    "M09": "Do published figures stand under another rate than they were taken at?",
    "M10": "Between which published rates does the knee lie?",
    "M11": "How many things were changed between two published measurements?",
    "M12": "Do the published rate steps say what was achieved, and how?",
    "M13": "Does the published median stay where it is while the rate grows?",
    "I01": "What does our generator resolve at this rate?",
    "I02": "What does wrk2 resolve at this rate?",
    "I03": "What does our generator add to the simplest honest client?",
    "I04": "Does a generator wake by a tick, and does its spectrum show it?",
    "I05": "Does our generator see the whole of a stall, in the middle and at the end?",
    "I06": "Do the other generators see the whole of it?",
    "I07": "What CPU time do the generators take?",
    "I08": "Which generators were not there?",
    "I09": "Which intervals need more rounds?",
    "D01": "What does TCP_NODELAY alone give?",
    "D02": "Is the wait the sum of the kernel's delayed-ACK timer and a tick?",
    "D03": "Does the kernel count a delayed acknowledgement per request where there is a wait, and else none?",
    "D04": "Does the executor change anything?",
    "D05": "Does a newer JDK wait, and what spares it: its default, or one write?",
    "D06": "Does a response of one write wait?",
    "D07": "Are the 404s those that the script's numbers make?",
    "D08": "Are the published 404s those of the script's numbers too?",
    "D09": "Does anything fail when the keys exist?",
    "D10": "Is the mixed script a mix?",
    "D11": "Were the published mixed runs a mix?",
    "D12": "Can a profile of CPU time show the wait?",
    "D13": "Is the JDK of the report missing here?",
    "D14": "What cures the wait?",
    "D15": "At which rate should the cured server be measured?",
    "D16": "What has to be installed for the published stages?",
    "N01": "Was the rate too high?",
    "N02": "Did the JVM's pauses make the tail?",
    "N03": "What is left of the tail without a cause?",
    "N11": "Which other cause made the tail, and what takes it away?",
    "N04": "What could the store save at most?",
    "N05": "Is one connection the limit?",
    "N06": "Which percentiles need a longer run?",
    "N07": "Does the machine disturb the measurement?",
    "N08": "Does the profile lack kernel frames?",
    "N09": "Does the server fall back to slower sockets?",
}

#: What a finding of a rule means to a reader; the rules that a report names, those that weigh most first.
MEANINGS = {
    "A02": "This rate is beyond saturation: no response time of it is quoted.",
    "A03": "Nothing of this load is evidence.",
    "A06": "The load is no evidence for or against the server's capacity.",
    "S01": "Its percentiles depend on when the load ended, so they are not compared.",
    "M11": "A gain of several changes can't be credited to any of them until each is measured alone.",
    "M01": "The published medians measure the generator, and say nothing about the server.",
    "M13": "The published medians measure the generator, and say nothing about the server.",
    "M09": "The published figures of this rate have to be read as those of another.",
    "M06": "What the published report calls cold is a server that was already warm.",
    "M07": "Such a figure grows with the length of the run; it is no response time of the server.",
    "M08": "The published latencies mix hits and misses, and the errors are not the server's.",
    "M02": "The errors come from the script, not from the server.",
    "M12": "Without the achieved rate and the errors, a fast refusal looks like a fast response.",
    "D01": "The limit was a socket option, not the machine, the threads or the store.",
    "D03": "The kernel's own counter confirms the cause.",
    "D02": "The wait follows from two constants of the kernel, so no code of the server can shorten it.",
    "D04": "Threads were never the limit.",
    "D05": "An upgrade cures what the flag cures.",
    "D07": "Errors that a script makes have to be taken out before a server is judged.",
    "D08": "The published errors say nothing about the server.",
    "D10": "What is called a mix is GET alone.",
    "D06": "Any response that is written at once is spared.",
    "D12": "Waiting is invisible to a profile of CPU time; look at the wall clock or at the kernel.",
    "H01": "A change of level is one of the code, of the settings or of the machine.",
    "H04": "What differs in these runs may be the machine's doing.",
    "H02": "Two of three nodes had nothing to do: the cluster was one node with a detour.",
    "H03": "Each request that is passed on costs a second request between nodes.",
    "H08": "While a thread holds the lock, every other proxied request of the node waits.",
    "O01": "Sharding alone loses a dead node's keys; copies with a quorum keep them.",
    "I03": "Latencies of this generator can be read as those of the server down to its resolution.",
    "I04": "A median below the tick can't be measured with this generator.",
    "I05": "A stall of the server is seen in full, also at the end of a load.",
    "I06": "A stall is under-counted, so a tail looks shorter than it is.",
    "I07": "What a generator does not take is left to the server, where they share a machine.",
    "E01": "Where two intervals overlap, only the ratio of the knees can tell which is higher.",
    "E03": "A longer queue turns refusals into waiting.",
    "G01": "What is left is the share of the server's own maximum throughput.",
    "G02": "Writes beyond those given wear the disk and compete with the load.",
    "G03": "What is not live is the price of writing in order.",
    "G06": "Memory outside the heap is not seen by the JVM's own limits.",
    "V04": "A response object that is shared breaks every client sooner or later.",
    "C01": "The treatments differ by more than repeats of one of them do.",
    "C02": "There are too few repeats to decide, or the difference is too small to matter.",
    "C04": "A difference of this size is within what two processes of one setting differ by.",
    "W05": "The machine made the tail; it says nothing about what is compared.",
    "R03": "The first seconds have to be measured apart from the rest.",
    "K01": "Above this rate the objective is missed; below it latency can be quoted.",
    "L01": "Only what is left above the floor is the server's own.",
    "L02": "It is one run of each: repeat before relying on it.",
    "W04": "Only what explains a tail is worth changing.",
    "P02": "This is where one treatment spends time that the other does not.",
    "P01": "No change to the rest can save more than this part.",
}
