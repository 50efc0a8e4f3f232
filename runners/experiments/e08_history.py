"""Look at many runs together: trends by machine class, and where they changed their level."""

from __future__ import annotations

from runners.claims.questions import Answer, Asked, Evidence, Question, Verdict
from runners.claims.trends import JUDGED, SENTINEL, Trend, trends_of
from runners.readers import write


def changed(sentinel: bool) -> Asked:
    """Did trends change their level: those of the machine's sentinel, or those of the servers?"""

    def wanted(trend: Trend) -> bool:
        return trend.kind == SENTINEL and trend.metric == JUDGED if sentinel else trend.kind != SENTINEL

    def answer(evidence: Evidence) -> Answer | None:
        found = [trend for trend in trends_of(evidence.run) or () if wanted(trend)]
        looked = [trend for trend in found if not trend.why_not]
        if not found:
            return None
        moved = [trend for trend in looked if trend.found]
        effect = f"{write.count(len(moved))} of {write.several(len(looked), 'trend')} that are long enough"
        confidence = f"{write.several(max((len(t.frame) for t in found), default=0), 'run')} at most"
        if not looked:
            return Answer(Verdict.INCONCLUSIVE, effect, confidence, found[0].why_not, figure="trends")
        return Answer(Verdict.YES if moved else Verdict.NO, effect, confidence, figure="trends")

    text = "Did the machine change while the runs were made?" if sentinel else "Did a server's figure change its level?"
    return Asked(Question("machine" if sentinel else "servers", text), answer)


QUESTIONS = (changed(sentinel=False), changed(sentinel=True))
